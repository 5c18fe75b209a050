//! What the fuzz targets do, as plain functions, so that tests can run them as well.
//!
//! `tools/fuzz MINUTES` fuzzes all targets, `tools/fuzz --runs EXECUTIONS` each for so long. `cargo
//! test` here feeds every target its corpus and twenty thousand random inputs, `tcp_pair`, whose
//! inputs are whole lives of connections, a hundred. A target may not panic on any input.

pub mod files;
pub mod input;
pub mod layers;
pub mod wire;
