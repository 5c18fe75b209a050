//! Networks of scenarios: simulated nodes with their applications, their runs and observations.
//!
//! * [`build`] — a network of simulated nodes from a scenario; [`profile`] is the type of its nodes
//! * [`apps`] — applications of `kinglet-apps` with their measurements
//! * [`run`] — one simulation, and its results
//! * [`trace`], [`capture`] — events of all layers, and files for Wireshark
//! * [`table`] — results as typed columns, written as CSV, JSON or Parquet
//! * [`layout`], [`radio`] — closed-form arithmetic of frames
//!
//! [`kinglet_scenario`] describes a simulation.

pub mod apps;
pub mod build;
pub mod capture;
mod chip;
pub mod control;
pub mod cpu;
pub mod discovery;
pub mod flows;
pub mod layout;
pub mod memory;
pub mod profile;
pub mod protocols;
pub mod radio;
pub mod run;
pub mod store;
pub mod table;
pub mod tinyrpl;
pub mod trace;
pub mod tree;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
