//! The laboratory: published results about TCP over IEEE 802.15.4 as repeatable experiments.
//!
//! * [`scenario`] — description of a simulation, from TOML or from code
//! * [`run`] — one simulation
//! * [`experiment`] — sweeps over scenarios and seeds, with the paper's figures and bounds
//! * [`sweep`] — a user's sweep over fields of one scenario
//! * [`claims`] — claims of the paper, checked against measurements
//! * [`report`], [`output`], [`tables`] — HTML, JSON, tables
//!
//! ```
//! use kinglet_lab::scenario::Scenario;
//! let text = "[topology]\nline = { hops = 3 }\n\n[mac]\nretry_dely_ms = 40\n";
//! let error = Scenario::from_toml("mine.toml", text).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "mine.toml:5:1: mac.retry_dely_ms: unknown key; did you mean `retry_delay_ms`?"
//! );
//! ```

pub mod advise;
pub mod apps;
pub mod audit;
pub mod backoff;
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
pub mod scenario;
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
