//! Other TCPs, as peers on the air: small senders and receivers of real segments, written from what
//! was published of them, so that experiments can put the stacks of the papers beside Kinglet.
//!
//! A peer has the behaviour that can be seen on the wire: when it sends and sends again, what it
//! acknowledges and when, which options it has, and its known faults. It has none of the original's
//! code, sizes or costs. Each stack is what differs: a [`Connection`] is a control block that all
//! share (sequence numbers, queues, handshake, options, acknowledgements) and the sending half of
//! one stack.
//!
//! | stack | in flight | sends again | receives | source |
//! |---|---|---|---|---|
//! | [`Stack::Uip`] | one segment | 1.5 s, doubled to 24 s | in order | Contiki 2.6, `uip6.c` |
//! | [`Stack::Blip`] | its buffer | all, 3 s or 2 duplicates | in order | TinyOS, `tcplib.c` |
//! | [`Stack::Gnrc`] | one segment | RFC 6298, at least 1 s | in order | RIOT, `gnrc_tcp` |
//! | [`Stack::FreeBsd`] | a window | New Reno, SACK | all, delayed ACKs | FreeBSD 10.3, TCPlp |
//! | [`Stack::Linux`] | a window | CUBIC, SACK | all, delayed ACKs | `include/net/tcp.h` |
//!
//! [`Host`] has the connections of an address and speaks IPv6. Like every layer it is driven:
//! `handle_…` takes, `poll_…` gives and is drained, `deadline` says when to come back.

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
