//! TCP alone: no addresses, no IP, no radio, no clock, no heap.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod config;
mod conn;
mod endpoint;
mod error;
mod info;
mod paws;
mod recv;
mod rtt;
mod send;
mod seq;
mod stats;
mod timer;

pub mod congestion;

pub use config::{Config, ConnectionConfig, KeepAlive, ListenConfig};
pub use conn::State;
pub use endpoint::{
    Endpoint, HalfOpen, Handle, HeaderBytes, Listener, Packet, PayloadRef, Peer, Sizes, Slot,
    TimeWait,
};
pub use error::{
    ConnectError, ConnectionError, Discard, InvalidHandle, ListenError, RecvError, SendError, Stale,
};
pub use info::{Counters, Info};
pub use seq::SeqNum;
pub use stats::Stats;
