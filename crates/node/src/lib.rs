//! Full-scale TCP/IPv6 for IEEE 802.15.4 devices: the whole Kinglet stack in one value.
//!
//! A [`Node`] owns a MAC, a network layer and a TCP endpoint, all of them without I/O, clock, heap or
//! callbacks. How much of everything it holds is its [`Profile`]: [`Mote`] for 32 KiB of RAM,
//! [`Router`] for one that relays, [`BorderRouter`] for one with a second interface to a host. The
//! same crate runs in firmware, in the simulator and behind a Linux TUN device.
//!
//! # The canonical loop
//!
//! ```
//! use kinglet::{Config, Mote, Node};
//! use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
//! use kinglet::time::Instant;
//! # struct Board;
//! # impl Driver for Board {
//! #     fn capabilities(&self) -> Capabilities { Capabilities::AUTO_ACK | Capabilities::ACK_WAIT }
//! #     fn set_filter(&mut self, _: Filter) {}
//! #     fn submit(&mut self, _: Instant, _: Command, _: &[u8]) -> Result<(), Busy> { Ok(()) }
//! #     fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> { None }
//! # }
//!
//! let mut radio = Board; // yours
//! let config = Config::new(0x0001, [0; 8], 42, [7; 16]);
//! let mut node: Node<Mote> = Node::new(config, radio.capabilities());
//! radio.set_filter(node.filter());
//!
//! // On every wake-up: first what happened, then what is due, then what the stack wants.
//! let now = Instant::ZERO; // from your clock
//! let mut frame = [0; MAX_FRAME];
//! while let Some(event) = radio.poll_event(now, &mut frame) {
//!     node.handle_radio(now, event, &frame);
//! }
//! if node.deadline().is_some_and(|at| at <= now) {
//!     node.handle_deadline(now);
//! }
//! // … the application reads and writes its sockets here …
//! while let Some(submission) = node.poll_radio(now) {
//!     if radio.submit(now, submission.command, submission.frame).is_err() {
//!         node.radio_refused(now);
//!     }
//! }
//! let wake_up_at = node.deadline(); // sleep until then, or until the radio has an event
//! # let _ = wake_up_at;
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `node.rs` | how the layers are joined: a frame's way in, a segment's way out |
//! | `sockets.rs` | byte streams and datagrams by handle |
//! | `profile.rs` | the memory plans |
//! | `peer.rs` | what TCP calls a peer: a pair of IPv6 addresses |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod node;
mod peer;
mod profile;
mod sockets;

pub use node::{Config, Info, Node, Stats};
pub use peer::AddressPair;
pub use profile::{BorderRouter, Mote, Profile, Router};
pub use sockets::ConnectError;

pub use kinglet_mac as mac;
pub use kinglet_mem as mem;
pub use kinglet_net as net;
pub use kinglet_radio as radio;
pub use kinglet_tcp as tcp;
pub use kinglet_time as time;
pub use kinglet_wire as wire;
