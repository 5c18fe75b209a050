//! The laboratory: published results about TCP over IEEE 802.15.4 as repeatable experiments.
//!
//! * [`experiment`] — sweeps over scenarios and seeds, with the paper's figures and bounds
//! * [`claims`] — claims of the paper, checked against measurements
//!
//! [`kinglet_scenario`] describes a simulation.

pub mod audit;
pub mod claims;
pub mod demonstration;
pub mod experiment;
mod model;
mod probe;
mod timers;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
