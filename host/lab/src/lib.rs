//! The laboratory: published results about TCP over IEEE 802.15.4 as repeatable experiments.
//!
//! * [`run`] — one simulation
//! * [`experiment`] — sweeps over scenarios and seeds, with the paper's figures and bounds
//! * [`sweep`] — a user's sweep over fields of one scenario
//! * [`claims`] — claims of the paper, checked against measurements
//! * [`report`], [`output`], [`tables`] — HTML, JSON, tables
//!
//! [`kinglet_scenario`] describes a simulation.

pub mod advise;
pub mod apps;
pub mod audit;
pub mod build;
pub mod capture;
pub mod chart;
pub mod claims;
mod conflict;
pub mod control;
mod cpu;
pub mod demonstration;
pub mod discovery;
mod effects;
pub mod experiment;
pub mod features;
mod flows;
pub mod layout;
pub mod markdown;
pub mod memory;
mod model;
pub mod output;
mod probe;

pub mod profile;
pub mod protocols;
mod radio;
pub mod report;
pub mod restarts;
pub mod row;
pub mod run;
pub mod seeds;
pub mod stats;
pub mod store;
pub mod sweep;
pub mod tables;
mod timers;
pub mod tinyrpl;
pub mod trace;
pub mod tree;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
