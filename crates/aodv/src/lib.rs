//! nst-AODV routing without I/O: an [`Aodv`] seeks ways when packets need them (RFC 3561).
//!
//! * A node without a way floods a request. Its best copy marks the way back; the destination
//!   answers along it, and so both have a way to each other, as TCP needs it.
//! * Ways are as long as their hops, or as good as the product of their links' delivery ratios
//!   (PATH-DR), which are told from the link quality indications of frames ([`Metric`]).
//! * A frame that the MAC has given up means that a link is broken. Nothing is repaired where it
//!   breaks: whoever sends packets over it is told, and the source seeks a way again.
//!
//! What differs from RFC 3561, beside the formats ([`kinglet_wire::aodv`]):
//!
//! | there | here |
//! |---|---|
//! | whoever knows a way may answer | the destination alone (the D flag, always set) |
//! | the first copy of a request counts | the best of those that come until it is passed on, once |
//! | a request is answered at once | after 60 ms, on the best way by then |
//! | the destination counts on if it must | with each answer |
//! | Hello messages, RREP-ACK | the MAC's acknowledgements |
//! | precursors are who was sent a reply | who has sent packets |
//! | neighbours are destinations once heard | when they are sought |
//! | expanding rings, local repair | none, as in "design criteria" (II-B, III-C3) |
//! | who starts anew is silent for 50 s | neighbours tell it how far it had counted |
//!
//! The caller carries messages between neighbours, one hop, reports every frame that it hears and
//! how those that it sends end, asks for a way when a packet has none and holds the packet
//! meanwhile. Like every layer this is `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use kinglet_aodv::{Aodv, Config, Link, Request, Role, Route, Search, Sizes};
//! use kinglet_time::Instant;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Routes = [Option<Route>; 4];
//!     type Requests = [Option<Request>; 4];
//!     type Searches = [Option<Search>; 2];
//!     type Links = [Option<Link>; 4];
//! }
//!
//! let mut here: Aodv<Plan> = Aodv::new(Config::new(1, Role::Router, 1));
//! let mut there: Aodv<Plan> = Aodv::new(Config::new(2, Role::Router, 2));
//! let (mut now, mut buf) = (Instant::ZERO, [0; kinglet_aodv::MAX_LEN]);
//! assert!(here.seek(now, 2));
//! while here.is_seeking(2) {
//!     while let Some(out) = here.poll_message(now, &mut buf) {
//!         there.handle_heard(now, 1, 255);
//!         there.handle_message(now, 1, &buf[..out.len]).unwrap();
//!     }
//!     while let Some(out) = there.poll_message(now, &mut buf) {
//!         here.handle_heard(now, 2, 255);
//!         here.handle_message(now, 2, &buf[..out.len]).unwrap();
//!     }
//!     now = here.deadline().unwrap().min(there.deadline().unwrap());
//!     here.handle_deadline(now);
//!     there.handle_deadline(now);
//! }
//! assert!(here.poll_change());
//! assert_eq!((here.next_hop(2), there.next_hop(1)), (Some(2), Some(1)));
//! ```
//!
//! Without link security whoever is in range can forge messages. What they cost is bounded:
//! requests are passed on ten times a second at most, for one neighbour and in all; replies that
//! nobody awaits are not believed; and ways that packets take give their places to nobody.
//!
//! | file | subject |
//! |---|---|
//! | `engine/mod.rs` | what is asked and told, when something is due |
//! | `engine/input.rs`, `output.rs` | messages in and out |
//! | `route.rs` | what is believed of whom, who gives way to whom |
//! | `request.rs`, `search.rs` | floods that go on, destinations that are sought |
//! | `metric.rs` | which way is better |
//! | `link.rs` | neighbours |
//! | `precursors.rs` | who is told of lost ways |
//! | `sequence.rs` | numbers that wrap |
//! | `params.rs` | times and limits, with their sources |
//! | `due.rs` | when something is to be done |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod config;
mod due;
mod engine;
mod link;
mod metric;
mod params;
mod precursors;
mod request;
mod route;
mod search;
mod sequence;
mod stats;

pub use config::{Config, Role, Sizes};
pub use engine::{Aodv, Destination, Out};
pub use kinglet_wire::aodv::OUTSIDE;
pub use link::Link;
pub use metric::{Metric, Quality};
pub use params::NET_DIAMETER;
pub use request::Request;
pub use route::Route;
pub use search::Search;
pub use stats::{Discard, Info, RouteInfo, Stats};

/// The most octets of a message: one 802.15.4 frame also with security and uncompressed addresses.
pub const MAX_LEN: usize = 80;
