//! The fuzz targets as plain functions, so that tests can run them as well.
//!
//! `tools/fuzz MINUTES` fuzzes all targets, `tools/fuzz --runs EXECUTIONS` runs each that often.
//! `cargo test` here runs every target on its corpus and twenty thousand random inputs, except for
//! `tcp_pair` with a hundred, because its inputs are whole connections. A target may not panic on
//! any input.

pub mod files;
pub mod input;
pub mod layers;
pub mod spinel;
pub mod wire;
