//! A conformance kit for authors of radio drivers: the rules of [`kinglet_radio`] as tests.
//!
//! An author implements [`Bench`] for a radio with its driver, another end and the air between
//! them. That is a bench with two boards, or a model of the chip in a test. [`Check::run`] runs a
//! directed scenario, [`scenario`] a random one; both return the first broken [`Rule`]. An oracle
//! watches all commands, events and frames. It knows what a radio must do, may do and must not do.
//! A function that the radio does not declare ([`Capabilities`](kinglet_radio::Capabilities)) is
//! not asked of it.
//!
//! # A bench with two boards
//!
//! One board has the radio under test with its driver, the other one is the rest of [`Bench`]: it
//! sends at given times, records what it receives, and acknowledges. Both need a common clock, such
//! as an edge on a wire at the start. [`Bench::cause`], [`Bench::is_asleep`] and [`Bench::misuse`]
//! may answer that they cannot. The kit needs 8 kB of RAM.
//!
//! # Kinds of faults that it finds
//!
//! * An event is missing, repeated, or of an earlier command: [`Rule::OneEvent`],
//!   [`Rule::TimeLimit`], [`Rule::Reset`].
//! * The event does not say what was on the air: [`Rule::Truth`], [`Rule::Access`].
//! * A register has the value of an earlier transmission: channel, power, retries, backoff:
//!   [`Rule::ChannelAndPower`], [`Rule::Access`], [`Rule::Truth`].
//! * The result of the last transaction is read wrongly: [`Rule::AckResult`].
//! * A time is that of another event, or lacks a part: [`Rule::TimeOfSent`],
//!   [`Rule::TimeOfReceived`].
//! * An overrun: a frame is overwritten before it has been read: [`Rule::AckedIsReported`],
//!   [`Rule::Reception`].
//! * The filter is not written, or not after a reset: [`Rule::Acknowledgement`],
//!   [`Rule::NothingElse`].
//! * The frame-pending bit is stale, or a secured data request is not known:
//!   [`Rule::FramePending`].
//! * A reception is cut off by a command: [`Rule::ReceptionFirst`].
//! * A turnaround or a spacing is wrong: [`Rule::Acknowledgement`], [`Rule::Spacing`],
//!   [`Rule::Turnaround`].
//! * The radio does not return to its mode, or does not sleep: [`Rule::Reception`],
//!   [`Rule::Return`], [`Rule::Sleep`].
//! * An interrupt, a transfer, the supply or the chip fails for good: [`Rule::Recovery`],
//!   [`Rule::TimeLimit`].
//! * A wait blocks, or is shorter than the chip needs: [`Rule::CallTime`], [`Rule::DataSheet`].
//! * A driver asks for calls without end: [`Rule::Calls`].
//!
//! # Limits
//!
//! The kit covers `Off`, `Receive`, `Transmit`, `Pending` and `Reset` with the filter, and the
//! capabilities AUTO_ACK, ACK_WAIT and CSMA. Schedules, `Sense`, `Strobe`, `Await` and `Secure` are
//! not covered yet. Times without a figure in the standard are those of the constants of the
//! oracle: a change of mode has its effect within 3 ms, and a radio listens 1 ms after a
//! transmission.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

mod bench;
mod directed;
mod frame;
mod kit;
mod oracle;
mod random;
mod rules;

pub use bench::{Answer, Bench, Fault, Sent, Setup, Signal};
pub use directed::Check;
pub use kit::CALL_LIMIT;
pub use random::scenario;
pub use rules::{Rule, Violation};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/src/porting.md")]
struct PortingARadio;
