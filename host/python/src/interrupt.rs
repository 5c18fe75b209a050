//! Work without the interpreter's lock, which Ctrl-C cancels.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Interval of checks for signals, and of progress reports.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs `work` in a separate thread, without the lock. An exception that Python raises meanwhile,
/// such as `KeyboardInterrupt`, sets `cancel`; when the work has ended the exception is returned
/// together with the result. `look` is called now and then, with the lock.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    cancel: &AtomicBool,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> (thread::Result<T>, PyResult<()>) {
    thread::scope(|scope| {
        let (ended, end) = channel();
        let worker = scope.spawn(move || {
            // Dropped when the work has ended, also by a panic.
            let _ended = ended;
            work()
        });
        let (mut end, mut raised) = (Some(end), Ok(()));
        while let Some(waiting) = end.take() {
            let (waiting, outcome) = py.detach(move || {
                let outcome: Result<(), _> = waiting.recv_timeout(LOOK_EVERY);
                (waiting, outcome)
            });
            if outcome != Err(RecvTimeoutError::Disconnected) {
                end = Some(waiting);
            }
            let looked = py.check_signals().and_then(|()| look(py));
            if let (Ok(()), Err(error)) = (&raised, looked) {
                cancel.store(true, Ordering::Relaxed);
                raised = Err(error);
            }
        }
        (worker.join(), raised)
    })
}

/// Returns the result of the work, or the exception that has ended it.
pub(crate) fn ended<T>((done, raised): (thread::Result<T>, PyResult<()>)) -> PyResult<T> {
    raised?;
    done.map_err(|_| pyo3::exceptions::PyRuntimeError::new_err("the simulation has panicked"))
}
