//! Sweeps of scenarios, advice and statistics: many runs from one description.
//!
//! * [`sweep`] — lists of values for fields of one scenario, in all combinations, and seeds
//! * [`advise`] — a search for the best settings, confirmed with other seeds
//! * [`stats`], [`effects`] — means with intervals, effects of fields; [`seeds`] by purpose
//! * [`chart`], [`row`] — results as figures and rows, independent of their drawing
//!
//! [`kinglet_network`] runs each simulation.

pub mod advise;
pub mod chart;
pub mod effects;
pub mod row;
pub mod seeds;
pub mod stats;
pub mod sweep;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
