//! Failures as the exceptions of `kinglet.errors`.

use kinglet_network::run::RunError;
use kinglet_scenario::ScenarioError;
use kinglet_scenario::renamed::Change;
use kinglet_sweep::sweep::{JournalError, SweepError};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyFutureWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// An exception with this name and these arguments.
fn exception<'py, A>(py: Python<'py>, name: &str, arguments: A) -> PyErr
where
    A: PyCallArgs<'py>,
{
    let made = || -> PyResult<Bound<'py, PyAny>> {
        let class = py.import("kinglet.errors")?.getattr(name)?;
        class.call1(arguments)
    };
    made().map_or_else(|error| error, PyErr::from_value)
}

/// An error in a scenario or a sweep, with its place.
pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let (line, column) = error.position.unzip();
    let file = error.file.display().to_string();
    let arguments =
        (error.to_string(), file, line, column, error.field.clone(), error.nearest.as_deref());
    exception(py, "ScenarioError", arguments)
}

/// Warns of each old name that was read: a `FutureWarning`, which Python shows to all users.
pub(crate) fn warn_renamed<'a>(
    py: Python<'_>,
    changes: impl IntoIterator<Item = &'a Change>,
) -> PyResult<()> {
    let category = py.get_type::<PyFutureWarning>();
    changes.into_iter().try_for_each(|change| {
        let text = CString::new(change.to_string())?;
        // Above the function of the package that the user calls.
        PyErr::warn(py, &category, &text, 2)
    })
}

/// A failed simulation.
pub(crate) fn run(py: Python<'_>, error: &RunError) -> PyErr {
    exception(py, "RunError", (error.to_string(),))
}

/// A journal that cannot be used.
pub(crate) fn journal(py: Python<'_>, error: &JournalError) -> PyErr {
    exception(py, "JournalError", (error.to_string(),))
}

/// A sweep that has ended early.
pub(crate) fn sweep(py: Python<'_>, error: &SweepError) -> PyErr {
    match error {
        SweepError::Scenario(error) => scenario(py, error),
        SweepError::Run(error) => run(py, error),
        SweepError::Journal(error) => journal(py, error),
    }
}

/// Any other invalid argument.
pub(crate) fn value(error: impl std::fmt::Display) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
