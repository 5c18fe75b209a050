//! Advice.

use crate::{errors, interrupt, run};
use kinglet_scenario as scenario;
use kinglet_sweep::advise::{AdviceConfig, AdviseError, Kept, Objective, advise as search};
use kinglet_sweep::sweep::{self, Journal};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The finished simulations in a journal, for the program in the file `program`.
fn kept_in(py: Python<'_>, journal: &Path, program: &Path) -> PyResult<Mutex<Kept>> {
    let opened = Journal::open(journal, &sweep::digest(program)?);
    let (journal, finished) = opened.map_err(|error| errors::journal(py, &error))?;
    Ok(Mutex::new(Kept::new(journal, finished)))
}

fn objective_called(name: &str) -> PyResult<Objective> {
    Objective::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| {
        let known = Objective::ALL.map(Objective::name);
        let near = scenario::nearest(name, &known);
        let hint = near.map_or_else(|| known.join(", "), |near| format!("did you mean {near}?"));
        errors::value(format!("no objective is called {name}; {hint}"))
    })
}

/// Searches settings for a scenario; returns the output of `kinglet advise --json`. `progress` is
/// called with finished and planned simulations.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of Python's function")]
pub(crate) fn advise(
    py: Python<'_>,
    file: PathBuf,
    json: Option<&str>,
    objective: &str,
    budget: Option<usize>,
    runs: usize,
    confirmations: u64,
    journal: Option<PathBuf>,
    program: PathBuf,
    jobs: usize,
    progress: Py<PyAny>,
) -> PyResult<String> {
    let objective = objective_called(objective)?;
    let base = run::base(py, &file, json)?;
    errors::warn_renamed(py, base.renamed())?;
    let kept = journal.map(|journal| kept_in(py, &journal, &program)).transpose()?;
    let cancel = AtomicBool::new(false);
    let (done, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let run = || {
        let count = |finished, planned| {
            done.store(finished, Ordering::Relaxed);
            all.store(planned, Ordering::Relaxed);
        };
        let config = AdviceConfig {
            budget,
            runs,
            confirmations,
            jobs,
            kept: kept.as_ref(),
            cancel: &cancel,
            progress: &count,
            ..AdviceConfig::new(objective)
        };
        search(&base, &config)
    };
    let look = |py: Python<'_>| {
        let counts = (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
        progress.call1(py, counts).map(drop)
    };
    let ended = interrupt::ended(interrupt::work(py, &cancel, look, run))?;
    let advice = ended.map_err(|error| match error {
        AdviseError::Scenario(error) => errors::scenario(py, &error),
        AdviseError::Journal(error) => errors::journal(py, &error),
        AdviseError::Pointless(why) => errors::value(why),
    })?;
    // Only Ctrl-C cancels it, and that has been raised above.
    let advice = advice.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
    serde_json::to_string(&advice).map_err(errors::value)
}
