//! A progress bar on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts finished simulations; invisible if standard error is not a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "{elapsed_precise} [{bar:40}] {pos}/{len} simulations, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Progress(bar)
    }

    /// To be called with finished and planned.
    pub(crate) fn update(&self, done: usize, planned: usize) {
        self.0.set_length(planned as u64);
        // Threads report out of order.
        self.0.set_position(self.0.position().max(done as u64));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
