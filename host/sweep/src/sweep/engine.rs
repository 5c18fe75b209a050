//! Runs all unfinished runs, on all cores.

use super::journal::{Journal, JournalError};
use super::plan::{Plan, Run};
use super::record::{Finished, simulate};
use crate::threads;
use kinglet_network::run::RunError;
use kinglet_network::table::Record;
use kinglet_scenario::ScenarioError;
use rayon::prelude::*;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Settings of the execution of a sweep.
#[derive(Clone, Copy)]
pub struct SweepConfig<'a> {
    /// Threads; 0 = one per core.
    pub jobs: usize,
    /// Runs that have not ended when this becomes true are abandoned; a failure sets it as well.
    pub cancel: &'a AtomicBool,
    /// Called from any thread with the numbers of finished and planned runs, without those that
    /// were finished before.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Reason for which a sweep has ended early. Finished runs are kept.
#[derive(Debug)]
pub enum SweepError {
    /// A scenario is no longer valid.
    Scenario(ScenarioError),
    /// A run failed.
    Run(RunError),
    /// A result cannot be stored.
    Journal(JournalError),
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Scenario(error) => error.fmt(f),
            SweepError::Run(error) => error.fmt(f),
            SweepError::Journal(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SweepError {}

/// State that threads share: results and their journal.
struct Kept<'a> {
    finished: &'a mut Finished,
    journal: Option<&'a mut Journal>,
    failure: Option<SweepError>,
}

/// Runs those of `plan` that are not `finished`. Writes each to `journal` as soon as it has ended,
/// and adds it to `finished`.
///
/// # Errors
/// The first failure; no run begins after it.
pub fn run(
    plan: &Plan,
    finished: &mut Finished,
    journal: Option<&mut Journal>,
    config: SweepConfig<'_>,
) -> Result<(), SweepError> {
    let pending: Vec<Run> = plan.pending(finished).into_iter().cloned().collect();
    let done = AtomicUsize::new(0);
    let kept = Mutex::new(Kept { finished, journal, failure: None });
    let one = |run: &Run| {
        if config.cancel.load(Ordering::Relaxed) {
            return;
        }
        let scenario = plan.scenario(run).map_err(SweepError::Scenario);
        let result =
            scenario.and_then(|s| simulate(&s, run.seed, config.cancel).map_err(SweepError::Run));
        // A panic of a thread has ended the sweep as well.
        let Ok(mut kept) = kept.lock() else { return };
        if kept.failure.is_some() {
            return;
        }
        let kept_it = result.and_then(|rows| kept.keep(run, rows.as_deref()));
        if let Err(error) = kept_it {
            kept.failure = Some(error);
            config.cancel.store(true, Ordering::Relaxed);
        }
        drop(kept);
        (config.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, pending.len());
    };
    // One at a time: some runs take a hundred times as long as others.
    threads::on(config.jobs, || pending.par_iter().with_max_len(1).for_each(one));
    let kept = kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match (kept.failure, kept.journal) {
        (Some(error), _) => Err(error),
        (None, Some(journal)) => journal.sync().map_err(SweepError::Journal),
        (None, None) => Ok(()),
    }
}

impl Kept<'_> {
    fn keep(&mut self, run: &Run, rows: Option<&[Record]>) -> Result<(), SweepError> {
        let Some(rows) = rows else { return Ok(()) };
        if let Some(journal) = &mut self.journal {
            journal.append(&run.key, rows).map_err(SweepError::Journal)?;
        }
        self.finished.insert(run.key.clone(), rows.to_vec());
        Ok(())
    }
}
