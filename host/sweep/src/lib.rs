//! Sweeps, experiments and advice: many runs from one description.
//!
//! * [`sweep`] — lists of values for fields of one scenario, in all combinations, and seeds
//! * [`experiment`] — plans of points, their runs, and experiments that are folders; [`metric`] has
//!   their quantities
//! * [`features`], [`restarts`] — networks with each pair of features; restarts of each node
//! * [`advise`] — a search for the best settings, confirmed with other seeds
//! * [`stats`], [`effects`] — means with intervals, effects of fields; [`seeds`] by purpose
//! * [`conflict`] — links of a path that exclude each other
//! * [`chart`], [`row`] — results as figures and rows, independent of their drawing
//!
//! [`kinglet_network`] runs each simulation.

pub mod advise;
pub mod chart;
pub mod conflict;
pub mod effects;
pub mod experiment;
pub mod features;
pub mod metric;
pub mod restarts;
pub mod row;
pub mod seeds;
pub mod stats;
pub mod sweep;
mod threads;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
