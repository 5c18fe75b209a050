//! A radio coprocessor (RCP) behind a serial line, as a [`Driver`](kinglet_radio::Driver).
//!
//! The coprocessor has the firmware `ot-rcp` of OpenThread or one with its interface. It speaks
//! spinel in HDLC-lite.
//!
//! | module | subject |
//! |---|---|
//! | [`hdlc`] | messages on an asynchronous line |
//! | [`message`] | header, command, property and value |
//! | [`raw`] | frames in messages |
//! | [`identity`] | the coprocessor's properties, and the check that it can be used |
//! | [`rcp`] | the driver, without I/O |
//! | [`url`] | the place of a coprocessor |
//! | [`line`](mod@line) | a serial port, or a process |
//! | [`stick`] | driver and line |
//!
//! Design: `docs/decisions/0056-radio-coprocessor.md`.

#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod hdlc;
pub mod identity;
pub mod line;
pub mod message;
pub mod raw;
pub mod rcp;
pub mod stick;
pub mod url;

pub use identity::{Identity, Refusal};
pub use line::{Line, LineError};
pub use rcp::{Rcp, Stats, Trouble};
pub use stick::Stick;
pub use url::{Url, UrlError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
