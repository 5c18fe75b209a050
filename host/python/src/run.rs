//! One run.

use crate::{errors, interrupt};
use kinglet_network::run::{Options, run as simulated};
use kinglet_scenario::{Scenario, ScenarioError};
use kinglet_sweep::sweep::{Base, Sweep};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A scenario to vary, from a file, or from JSON if it has no file.
pub(crate) fn base(py: Python<'_>, file: &Path, json: Option<&str>) -> PyResult<Base> {
    let base = match json {
        Some(json) => Base::from_table(file, serde_json::from_str(json).map_err(errors::value)?),
        None => Base::from_file(file),
    };
    base.map_err(|error| errors::scenario(py, &error))
}

fn scenario_of(py: Python<'_>, file: &Path, json: Option<&str>) -> PyResult<Scenario> {
    let refused = |error: ScenarioError| errors::scenario(py, &error);
    if json.is_none() {
        let scenario = Scenario::from_file(file).map_err(refused)?;
        errors::warn_renamed(py, &scenario.renamed)?;
        return Ok(scenario);
    }
    let sweep = Sweep::new(base(py, file, json)?, Vec::new(), None).map_err(refused)?;
    errors::warn_renamed(py, sweep.renamed())?;
    sweep.scenario(0).map_err(refused)
}

/// Simulates a scenario once; returns the seed and the output of `kinglet sim --json`.
#[pyfunction]
#[pyo3(signature = (file, json, seed, pcap, trace, timeline_s, samples, cwnd))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of Python's function")]
pub(crate) fn run(
    py: Python<'_>,
    file: PathBuf,
    json: Option<&str>,
    seed: Option<u64>,
    pcap: Option<PathBuf>,
    trace: Option<PathBuf>,
    timeline_s: Option<(f64, f64)>,
    samples: bool,
    cwnd: bool,
) -> PyResult<(u64, String)> {
    let scenario = scenario_of(py, &file, json)?;
    let seed = seed.unwrap_or(scenario.seed);
    let cancel = AtomicBool::new(false);
    let simulate = || {
        let cancel = Some(&cancel);
        let options =
            Options { pcap, trace, timeline_s, samples, cwnd, cancel, ..Options::default() };
        simulated(&scenario, seed, &options)
    };
    let result = interrupt::ended(interrupt::work(py, &cancel, |_| Ok(()), simulate))?;
    let result = result.map_err(|error| errors::run(py, &error))?;
    if !result.cut_short.is_empty() {
        return Err(pyo3::exceptions::PyOSError::new_err(result.cut_short.join("; ")));
    }
    Ok((seed, serde_json::to_string(&result).map_err(errors::value)?))
}
