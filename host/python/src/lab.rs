//! Experiments.

use crate::{errors, interrupt};
use kinglet_lab::claims;
use kinglet_lab::experiment;
use kinglet_report::output;
use kinglet_scenario as scenario;
use kinglet_sweep::experiment::{Effort, ExperimentConfig, run};
use pyo3::exceptions::{PyKeyError, PyKeyboardInterrupt};
use pyo3::prelude::*;
use std::sync::atomic::AtomicBool;

/// Id, title, source and question of each experiment.
#[pyfunction]
pub(crate) fn experiments() -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
    experiment::all().iter().map(|e| (e.id, e.title, e.source, e.question)).collect()
}

/// Runs an experiment; returns its results as in `kinglet lab run --json`, and true if Ctrl-C has
/// ended it: the results are then those of the finished part.
#[pyfunction]
pub(crate) fn run_experiment(
    py: Python<'_>,
    id: &str,
    quick: bool,
    seeds: Option<u32>,
    first_seed: u32,
    jobs: usize,
) -> PyResult<(String, bool)> {
    let Some(found) = experiment::find(id) else {
        let known: Vec<&str> = experiment::all().iter().map(|e| e.id).collect();
        let hint = match scenario::nearest(id, &known) {
            Some(near) => format!("did you mean {near}?"),
            None => "see kinglet.lab.experiments()".to_owned(),
        };
        return Err(PyKeyError::new_err(format!("no experiment is called {id}; {hint}")));
    };
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let seeds = seeds.unwrap_or(effort.default_seeds());
    let cancel = AtomicBool::new(false);
    let measure = || {
        let progress = &|_, _| ();
        let config =
            ExperimentConfig { effort, seeds, first_seed, jobs, cancel: &cancel, progress };
        run(&[found], config)
    };
    let (done, raised) = interrupt::work(py, &cancel, |_| Ok(()), measure);
    let interrupted =
        raised.as_ref().is_err_and(|error| error.is_instance_of::<PyKeyboardInterrupt>(py));
    let raised = if interrupted { Ok(()) } else { raised };
    let outcome = interrupt::ended((done, raised))?;
    let outcome = outcome.map_err(|error| errors::run(py, &error.error))?;
    let verdicts = claims::check(&outcome.experiments);
    Ok((output::json(&outcome.experiments, &verdicts), interrupted))
}
