//! Applications for a [`Node`](kinglet::Node), without I/O, clock or heap: the same ones run in
//! firmware, in the simulator and behind the gateway.
//!
//! An [`App`] is driven like every layer: the owner of the node calls it to do what can be done
//! now, and otherwise sleeps until its deadline. The content of a server is a [`Site`], for the web
//! server and the CoAP server alike. The table sizes of an application are types, like those of the
//! stack (`kinglet_mem`).
//!
//! | module | purpose | standard |
//! |---|---|---|
//! | [`bulk::Sender`], [`bulk::Receiver`] | a stream at full speed, and its check | |
//! | [`service::Server`] | echo, sink and source of streams | RFC 862, RFC 863, RFC 864 |
//! | [`udp::Echo`], `Sender`, `Bulk`, `Sink` | datagrams: echoed, sent, counted | RFC 862 |
//! | [`snack::Source`], [`snack::Sink`] | a file over UDP, with retransmission of missing parts | |
//! | [`http::Server`], [`http::Client`] | a web server, and a client | RFC 9110, RFC 9112 |
//! | [`coap::Server`], [`coap::Client`] | the same over CoAP | RFC 7252, 7641, 7959, 6690 |
//! | [`sense::StreamSensor`], `MessageSensor` | readings in batches, over TCP or CoAP | |
//! | [`coap::Socket`] | CoAP at a UDP port, for other clients and servers | RFC 7252 |
//!
//! # The loop of firmware
//!
//! ```
//! use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
//! use kinglet::time::{Instant, earliest};
//! use kinglet::{Config, Mote, Node, tcp::ListenConfig};
//! use kinglet_apps::{App, Page, Place, http};
//! # struct Board;
//! # impl Driver for Board {
//! #     fn capabilities(&self) -> Capabilities { Capabilities::AUTO_ACK | Capabilities::ACK_WAIT }
//! #     fn set_filter(&mut self, _: Filter) {}
//! #     fn submit(&mut self, _: Instant, _: Command, _: &[u8]) -> Result<(), Busy> { Ok(()) }
//! #     fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> { None }
//! # }
//!
//! struct Plan; // one client at a time, and lines of 96 octets
//! impl http::Sizes for Plan {
//!     type Line = [u8; 96];
//!     type Connections<C> = [Place<C>; 1];
//! }
//!
//! let mut radio = Board; // yours
//! let mut node: Node<Mote> =
//!     Node::new(Config::repeatable(1, [0; 8], 42, [7; 16]), radio.capabilities());
//! let page = Page(b"<!doctype html><title>mote</title>hello");
//! let mut web = http::Server::<Page, Plan>::new(80, ListenConfig::default(), page);
//! loop {
//!     let now = Instant::ZERO; // from your clock
//!     let busy = web.poll(now, &mut node);
//!     let wake_up_at = earliest(node.drive(now, &mut radio), web.deadline());
//!     if !busy {
//!         // … sleep until `wake_up_at`, or until the radio has an event …
//!         # let _ = wake_up_at;
//!         # break;
//!     }
//! }
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod app;
mod pattern;
mod scarce;
mod site;
mod sockets;
mod text;

pub mod bulk;
pub mod coap;
pub mod http;
pub mod sense;
pub mod service;
pub mod snack;
pub mod udp;

pub use app::{App, ReportedExpectation};
pub use pattern::{fill, is_intact, pattern};
pub use site::{Asked, Content, Format, Fresh, Link, Never, Page, Resource, Site};
pub use sockets::{Peer, Place, Sockets, StreamApp};
pub use text::{SnakeCase, number};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
