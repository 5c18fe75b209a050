//! Register-level models of IEEE 802.15.4 radio chips, in which the real code of a driver runs,
//! and a model of a radio coprocessor.
//!
//! A model follows the data sheet of its chip: registers, states with their transition times, frame
//! buffer, interrupts, automatic functions. It shares no code with the driver, and its constants
//! name their sources. The crate is a library of its own, and not part of the tests of a driver,
//! because the kit ([`kinglet_drivers`]) has no `std` and a simulator can run a modelled chip as
//! one of its nodes.

#![forbid(unsafe_code)]

mod air;
mod at86rf233;
mod bench;
mod coprocessor;
mod model;
mod nrf52840;
mod ports;
mod unit;

pub use at86rf233::{Bus, Chip, Failed, Interrupt, Reset, Shared, SleepTransmit};
pub use bench::{Board, Hooks};
pub use coprocessor::{Coprocessor, LineFaults, SharedCoprocessor};
pub use model::Antenna;
pub use nrf52840::{SharedSoc, Soc};
pub use ports::Ports;
pub use unit::{Heard, Unit};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
