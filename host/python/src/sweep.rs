//! Sweeps: runs for any executor, and their results.

use crate::{errors, interrupt, run};
use kinglet_network::table::{self, Cells, Record};
use kinglet_scenario::ScenarioError;
use kinglet_sweep::sweep::{self, Finished, Journal, Plan, Sweep, SweepConfig};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A sweep with its finished runs.
#[pyclass(module = "kinglet._native")]
pub(crate) struct Session {
    plan: Plan,
    finished: Finished,
    journal: Option<Journal>,
}

/// A column: name, unit, kind of values, and the values.
type Column<'py> = (String, &'static str, &'static str, Bound<'py, PyAny>);

#[pymethods]
impl Session {
    /// Checks a sweep and reads its journal, whose runs must be from the program in the file
    /// `program`. Values of fields are lists as JSON.
    #[new]
    fn new(
        py: Python<'_>,
        file: PathBuf,
        json: Option<&str>,
        fields: Vec<(String, String)>,
        seeds: Option<Vec<u64>>,
        journal: Option<PathBuf>,
        program: PathBuf,
    ) -> PyResult<Self> {
        let field = |(name, values): (String, String)| {
            let values = serde_json::from_str(&values);
            values.map(|values| (name.clone(), values)).map_err(|error| {
                errors::value(format!(
                    "{name}: not the values of a scenario: \
                                                        {error}"
                ))
            })
        };
        let fields = fields.into_iter().map(field).collect::<PyResult<Vec<_>>>()?;
        let refused = |error: ScenarioError| errors::scenario(py, &error);
        let sweep = Sweep::new(run::base(py, &file, json)?, fields, seeds).map_err(refused)?;
        errors::warn_renamed(py, sweep.renamed())?;
        let plan = Plan::new(sweep).map_err(refused)?;
        let (journal, finished) = match journal {
            Some(path) => {
                let program = sweep::digest(&program)?;
                let opened = Journal::open(&path, &program);
                let (journal, finished) = opened.map_err(|error| errors::journal(py, &error))?;
                (Some(journal), finished)
            }
            None => (None, Finished::new()),
        };
        Ok(Session { plan, finished, journal })
    }

    /// The sweep as text for [`Part`].
    fn sent(&self) -> PyResult<String> {
        self.plan.sweep().to_json().map_err(errors::value)
    }

    /// Number of runs.
    fn __len__(&self) -> usize {
        self.plan.runs().len()
    }

    /// Key, point and seed of the unfinished runs, each once.
    fn pending(&self) -> Vec<(String, usize, u64)> {
        let runs = self.plan.pending(&self.finished).into_iter();
        runs.map(|run| (run.key.clone(), run.point, run.seed)).collect()
    }

    /// Records a run that has ended elsewhere, with its rows as JSON.
    fn put(&mut self, py: Python<'_>, key: String, rows: &str) -> PyResult<()> {
        let rows: Vec<Record> = serde_json::from_str(rows).map_err(errors::value)?;
        if let Some(journal) = &mut self.journal {
            journal.append(&key, &rows).map_err(|error| errors::journal(py, &error))?;
        }
        self.finished.insert(key, rows);
        Ok(())
    }

    /// Runs all pending runs in threads of this process. `progress` is called with finished and
    /// planned runs.
    fn run(&mut self, py: Python<'_>, jobs: usize, progress: Py<PyAny>) -> PyResult<()> {
        let (cancel, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        let planned = self.plan.pending(&self.finished).len();
        let Session { plan, finished, journal } = self;
        let count = |finished, _| done.store(finished, Ordering::Relaxed);
        let all = || {
            let config = SweepConfig { jobs, cancel: &cancel, progress: &count };
            sweep::run(plan, finished, journal.as_mut(), config)
        };
        let look =
            |py: Python<'_>| progress.call1(py, (done.load(Ordering::Relaxed), planned)).map(drop);
        let ended = interrupt::work(py, &cancel, look, all);
        interrupt::ended(ended)?.map_err(|error| errors::sweep(py, &error))
    }

    /// Releases the journal: a traceback may keep this object as long as the interpreter runs.
    fn close(&mut self) {
        self.journal = None;
    }

    /// The columns of the finished runs, in order.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Vec<Column<'py>>> {
        let columns = self.plan.table(&self.finished).columns.into_iter();
        let column = |column: table::Column| {
            let (kind, cells) = match column.cells {
                Cells::Whole(cells) => ("whole", cells.into_pyobject(py)?),
                Cells::Number(cells) => ("number", cells.into_pyobject(py)?),
                Cells::Flag(cells) => ("flag", cells.into_pyobject(py)?),
                Cells::Text(cells) => ("text", cells.into_pyobject(py)?),
            };
            Ok((column.name, column.unit, kind, cells))
        };
        columns.map(column).collect()
    }
}

/// A sweep in the process that runs a part of it.
#[pyclass(module = "kinglet._native", frozen)]
pub(crate) struct Part(Sweep);

#[pymethods]
impl Part {
    /// Creates it from the text of [`Session::sent`].
    #[new]
    fn new(sent: &str) -> PyResult<Self> {
        Ok(Part(Sweep::from_json(sent).map_err(errors::value)?))
    }

    /// Simulates a point with a seed, without the interpreter's lock; returns the rows as JSON.
    fn run(&self, py: Python<'_>, point: usize, seed: u64) -> PyResult<String> {
        let scenario = self.0.scenario(point).map_err(|error| errors::scenario(py, &error))?;
        let never = AtomicBool::new(false);
        let rows = py.detach(|| sweep::simulate(&scenario, seed, &never));
        let rows = rows.map_err(|error| errors::run(py, &error))?.unwrap_or_default();
        serde_json::to_string(&rows).map_err(errors::value)
    }
}
