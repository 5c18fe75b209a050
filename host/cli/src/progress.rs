//! A progress bar on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// What takes less time needs no bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Parts that a simulated time is counted in.
const PARTS: u64 = 1_000;

/// How far it is; invisible if standard error is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
}

impl Progress {
    fn new(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Progress { bar, began: Instant::now() }
    }

    /// Counts finished simulations.
    pub(crate) fn of_simulations() -> Self {
        Progress::new("{elapsed_precise} [{bar:40}] {pos}/{len} simulations, {eta} left")
    }

    /// Follows one simulation.
    pub(crate) fn of_time() -> Self {
        Progress::new("{elapsed_precise} [{bar:40}] {percent} % of the simulated time, {eta} left")
    }

    /// To be called with finished and planned.
    pub(crate) fn update(&self, done: usize, planned: usize) {
        self.set(done as u64, planned as u64);
    }

    /// To be called with the share that is done, 0 to 1.
    pub(crate) fn update_share(&self, share: f64) {
        self.set((share * PARTS as f64) as u64, PARTS);
    }

    fn set(&self, done: u64, all: u64) {
        if self.began.elapsed() < PATIENCE {
            return;
        }
        self.bar.set_length(all);
        // Threads report out of order.
        self.bar.set_position(self.bar.position().max(done));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
