//! ZEP version 2, the simulated channel that RIOT's native boards share by UDP, and a Kinglet node
//! on it, or on a radio coprocessor.
//!
//! | module | subject |
//! |---|---|
//! | [`datagram`] | one frame as one UDP datagram |
//! | [`air`] | the socket, and the thread that acknowledges frames |
//! | [`radio`] | a [`Driver`](kinglet_radio::Driver) over it |
//! | [`link`](mod@link), [`device`] | the URL of a radio: this one, or a coprocessor |
//! | [`key`] | the file with the key of a network |
//! | [`state`] | the directory with what a device keeps over restarts |
//! | [`settings`] | the configuration file of a node |
//! | [`profile`] | the table sizes of a node |
//! | [`mote`] | a node as a process |
//! | [`reload`] | its configuration, read again |
//! | [`console`] | the commands and reports of its console |
//! | [`reports`] | reports about routing and neighbour discovery |
//!
//! Design: `docs/decisions/0036-zep.md`.

#![forbid(unsafe_code)]

pub mod air;
mod bell;
pub mod console;
pub mod datagram;
pub mod device;
pub mod key;
mod layers;
pub mod link;
pub mod mote;
pub mod profile;
pub mod radio;
mod reasons;
pub mod reload;
pub mod reports;
pub mod settings;
pub mod state;
mod tasks;
