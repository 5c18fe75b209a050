//! Other TCPs as peers in the simulation: small senders and receivers of real segments, written
//! from published sources, so that experiments can compare the stacks of the papers with Kinglet.
//!
//! A peer has the behaviour that is visible on the wire: the times of transmissions and
//! retransmissions, acknowledgements and their times, options, and known faults. It has none of the
//! original's code, sizes or costs. A [`Connection`] consists of a control block that all stacks
//! share (sequence numbers, queues, handshake, options, acknowledgements) and the sending half of
//! one stack. Only the latter differs between stacks.
//!
//! | stack | in flight | retransmits | receives | source |
//! |---|---|---|---|---|
//! | [`Stack::Uip`] | one segment | 1.5 s, doubled to 24 s | in order | Contiki 2.6, `uip6.c` |
//! | [`Stack::Blip`] | its buffer | all, 3 s or 2 duplicates | in order | TinyOS, `tcplib.c` |
//! | [`Stack::Gnrc`] | one segment | RFC 6298, at least 1 s | in order | RIOT, `gnrc_tcp` |
//! | [`Stack::FreeBsd`] | a window | New Reno, SACK | all, delayed ACKs | FreeBSD 10.3, TCPlp |
//! | [`Stack::Linux`] | a window | CUBIC, SACK | all, delayed ACKs | `include/net/tcp.h` |
//!
//! [`Host`] has the connections of an address and its IPv6 packets. Like every layer it is driven:
//! `handle_…` takes input, `poll_…` returns output and must be drained, `deadline` returns the time
//! of the next call.

#![forbid(unsafe_code)]

mod block;
mod connection;
mod host;
mod info;
mod queue;
mod rtt;
mod sender;
mod seq;
mod settings;
mod stack;

pub use block::Segment;
pub use connection::Connection;
pub use host::{Handle, Host};
pub use info::{Counters, Failure, Info, Repair, State};
pub use settings::{Faults, Quirks, Settings, Stack};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
