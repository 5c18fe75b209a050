//! A full-scale TCP (RFC 9293) for microcontrollers. It is independent of addresses, IP, radio and
//! clock, and uses no heap: the caller passes in the time and the octets.
//!
//! | done | |
//! |---|---|
//! | RFC 9293 | all states, half close, simultaneous open and close, silly-window avoidance |
//! | RFC 6298, 7323 | RTO, timestamps, PAWS, window scale |
//! | RFC 2018, 8985 | SACK received and sent, RACK-TLP with a bounded table of segments |
//! | RFC 5681, 6582, 3465, 9937 | slow start, congestion avoidance, New Reno, byte counting, PRR |
//! | RFC 2883, 3522, 4015, 5682 | D-SACK sent and processed, spurious recoveries undone |
//! | RFC 3168 | ECN on data: negotiation with fallback, echo, one reaction a window |
//! | RFC 3042, 5827 | limited transmit, early retransmit |
//! | RFC 1122 | delayed ACK, Nagle, zero-window probes, keep-alive, user timeout |
//! | RFC 5961, 6528, 6056, 1337 | challenge ACKs, ISNs, ports, TIME-WAIT assassination |
//!
//! | RFC 7413, 4987 | Fast Open with cookies, client and server; SYN cookies |
//! | draft-ietf-tcpm-ack-rate-request-11 | ACK Rate Request, if configured (decision 53) |
//! | RFC 8201, 5927, 5461 | path MTU from ICMPv6, validated; soft errors that end no connection |
//! | RFC 9438 | CUBIC in integers, selectable instead of New Reno |
//!
//! Deliberately left out: urgent data for applications (RFC 6093). Not implemented yet: AccECN (RFC
//! 9768). `COMPLIANCE.md` has the state of each requirement of RFC 9293. The [manual] describes
//! use, memory, defaults and differences from other stacks.
//!
//! **Zero-copy send.** [`Endpoint::poll_packet`] hands out a header, whose checksum is right, and a
//! [`PayloadRef`]. The payload stays in the send ring until [`Endpoint::read_payload`] copies it,
//! fragment by fragment, into the output buffer. Constant data need not even be in the ring
//! ([`Endpoint::send_static`]). **In-place reassembly.** Out-of-order octets wait in
//! the receive ring itself, marked in a bitmap; none inside the window is ever dropped.
//!
//! The loop of a caller:
//!
//! ```
//! use kinglet_tcp::{congestion::NewReno, *};
//! use kinglet_time::{Duration, Instant};
//!
//! /// What TCP knows of addresses.
//! #[derive(Clone, Copy, PartialEq, Eq)]
//! struct Wire;
//! impl Peer for Wire {
//!     fn pseudo_header_sum(&self, tcp_len: usize) -> u16 { tcp_len as u16 + 6 }
//!     fn hash_into<H: core::hash::Hasher>(&self, _: &mut H) {}
//! }
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Congestion = NewReno;
//!     type Features = Full;
//!     type SendBuffer = [u8; 1024];
//!     type Pieces = [Piece; 0];
//!     type ReceiveBuffer = [u8; 1024];
//!     type ReceiveMap = [u8; 128];
//!     type Segments = [SegmentRecord; 4];
//!     type Connections<K: Peer> = [Slot<K, Self>; 1];
//!     type Listeners = [Option<Listener>; 1];
//!     type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 1];
//!     type TimeWait<K: Peer> = [Option<TimeWait<K>>; 1];
//!     type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
//! }
//!
//! let mut ends: [Endpoint<Wire, Plan>; 2] =
//!     [Endpoint::new(TcpConfig::new([1; 16])), Endpoint::new(TcpConfig::new([2; 16]))];
//! let mut now = Instant::ZERO;
//! ends[1].listen(80, ListenConfig::default()).unwrap();
//! let client = ends[0].connect(now, Wire, 80, ConnectionConfig::default()).unwrap();
//! ends[0].send(client, b"hello").unwrap();
//! let mut server = None;
//! for _ in 0..20 {
//!     for side in 0..2 {
//!         while let Some(packet) = ends[side].poll_packet(now) {
//!             let mut segment = packet.header.to_vec();
//!             let start = segment.len();
//!             segment.resize(start + usize::from(packet.payload.len), 0);
//!             if packet.payload.len > 0 {
//!                 ends[side].read_payload(packet.payload, 0, &mut segment[start..]).unwrap();
//!             }
//!             let _ = ends[1 - side].handle_packet(now, packet.peer, packet.ecn, &segment);
//!         }
//!         if ends[side].deadline().is_some_and(|d| d <= now) {
//!             ends[side].handle_deadline(now);
//!         }
//!     }
//!     server = server.or_else(|| ends[1].accept(80));
//!     now += Duration::from_millis(10);
//! }
//! let mut data = [0; 5];
//! assert_eq!(ends[1].recv(server.unwrap(), &mut data), Ok(5));
//! assert_eq!(&data, b"hello");
//! ```

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
mod features;
mod info;
mod paws;
mod recv;
mod rtt;
mod send;
mod seq;
mod state;
mod stats;
mod steps;
mod timer;

pub mod congestion;

#[doc = include_str!("manual.md")]
pub mod manual {}

pub use config::{ConnectionConfig, KeepAlive, ListenConfig, Rto, TcpConfig};
pub use conn::{LossRecovery, SegmentLoss};
pub use endpoint::{
    Endpoint, HalfOpen, Handle, HeaderBytes, KnownServer, Listener, Packet, PayloadRef, Peer,
    Readiness, Ready, Sizes, Slot, TimeWait,
};
pub use error::{
    ConnectError, ConnectionError, Discard, InvalidHandle, ListenError, RecvError, SendError,
    SoftError, Stale, Violation,
};
pub use features::{Features, Full, Place, Small, Usual, WithPolicies};
pub use info::{Counters, Info, Repair};
pub use kinglet_time::Expected;
pub use kinglet_wire::Ecn;
pub use send::buffer::Piece;
pub use send::flight::SegmentRecord;
pub use send::recovery::ByTimeout;
pub use seq::SeqNum;
pub use state::State;
pub use stats::Stats;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
