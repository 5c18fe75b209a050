//! A deterministic discrete-event simulator of IEEE 802.15.4 networks.
//!
//! | module | subject |
//! |---|---|
//! | [`world`] | the event loop, the [`Device`] trait, faults |
//! | [`medium`] | who hears whom; what overlapping frames do to each other |
//! | [`profile`] | radios and hosts as data, with sources; the time of one frame by parts |
//! | [`energy`], [`stats`] | time and charge per state; what became of every frame |
//! | [`observe`], [`pcap`], [`timeline`] | text trace, captures, intervals for a frame timeline |
//! | [`rng`] | one root seed, one stream per (node, purpose) |
//! | [`ber`] | bit errors of O-QPSK |
//!
//! Time is integer microseconds. Events are totally ordered by (time, class, sequence), so a run is a
//! function of its configuration and its seed.
//!
//! Not modelled: signal propagation delay (0.1 us over 30 m), interference from other systems,
//! enhanced acknowledgements, oscillator offset between symbols.

#![forbid(unsafe_code)]

pub mod ber;
mod clock;
pub mod energy;
mod engine;
mod frame;
mod host;
pub mod medium;
pub mod observe;
pub mod pcap;
pub mod profile;
mod queue;
mod radio;
pub mod rng;
pub mod stats;
pub mod timeline;
pub mod world;

pub use frame::fcs;
pub use radio::NodeConfig;
pub use world::{Device, Fault, World};
