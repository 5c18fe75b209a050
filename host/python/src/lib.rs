//! Parts of the laboratory for the Python package `kinglet`: runs, experiments, advice, and the
//! parts of sweeps that must not depend on their executor. Frames, executors and documentation are
//! in Python (`python/kinglet`).

#![forbid(unsafe_code)]

mod advise;
mod errors;
mod interrupt;
mod lab;
mod run;
mod sweep;

use pyo3::prelude::*;

/// The unit of a column by its name; empty for counts and for text.
#[pyfunction]
fn unit(name: &str) -> &'static str {
    kinglet_network::table::unit(name)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(unit, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(lab::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(lab::run_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(advise::advise, module)?)?;
    module.add_class::<sweep::Session>()?;
    module.add_class::<sweep::Part>()
}
