//! ZEP version 2, the air that RIOT's native boards share by UDP, and a Kinglet node on it.
//!
//! | module | subject |
//! |---|---|
//! | [`datagram`] | one frame as one UDP datagram |
//! | [`air`] | the socket, and the thread that answers acknowledgements |
//! | [`radio`] | a [`Driver`](kinglet_radio::Driver) over that air |
//! | [`settings`] | what a node is told by its file |
//! | [`profile`] | how much of everything it has |
//! | [`mote`] | a node as a process |
//! | [`console`] | what its console can be asked |
//!
//! Design: `docs/decisions/0036-zep.md`.

#![forbid(unsafe_code)]

pub mod air;
pub mod console;
pub mod datagram;
mod layers;
pub mod mote;
pub mod profile;
pub mod radio;
pub mod settings;
mod tasks;
