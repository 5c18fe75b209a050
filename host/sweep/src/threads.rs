//! Work on a number of threads.

/// Runs `work`, whose parallel iterators have so many threads; 0 = one per core.
pub(crate) fn on<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        // Without threads of its own it shares those of the program.
        Err(_) => work(),
    }
}
