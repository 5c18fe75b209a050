//! A progress bar on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Shorter simulations have no progress bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Resolution of the simulated time in the bar.
const PARTS: u64 = 1_000;

/// A progress bar; invisible if standard error is not a terminal.
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

    /// Updates it with the numbers of finished and planned simulations.
    pub(crate) fn update(&self, done: usize, planned: usize) {
        self.set(done as u64, planned as u64);
    }

    /// Updates it with the finished share, 0 to 1.
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
