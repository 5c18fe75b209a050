//! nst-AODV routing without I/O: an [`Aodv`] discovers routes when packets need them (RFC 3561).
//!
//! * A node without a route floods a request. Its best copy sets up the reverse route; the
//!   destination replies along it. Both ends then have a route to each other, as TCP needs it.
//! * Routes are compared by their hops, or by the product of their links' delivery ratios
//!   (PATH-DR). The ratios are estimated from the link quality indications of frames ([`Metric`]).
//! * A frame that the MAC gives up means that a link is broken; a link that has worked within the
//!   last second is probed first ([`AodvConfig::link_probes`]). There is no local repair: the
//!   senders of packets over the link are notified, and the originator searches for a route again.
//!
//! The differences from RFC 3561, in addition to the formats ([`kinglet_wire::aodv`]):
//!
//! | RFC 3561 | this crate |
//! |---|---|
//! | any node with a route may reply | only the destination replies (the D flag is always set) |
//! | the first copy of a request counts | the best copy received before it is passed on counts |
//! | a request is answered at once | after 60 ms + 4 [`AodvConfig::broadcast`], on the best route |
//! | the destination increments its number if it must | with each reply |
//! | Hello messages, RREP-ACK | the MAC's acknowledgements |
//! | precursors are the nodes to which a reply was sent | the nodes that have sent packets |
//! | a neighbour becomes a destination once received from | once it is searched for |
//! | expanding rings, local repair | none, as in "design criteria" (II-B, III-C3) |
//! | a restarted node is silent for 50 s | neighbours report its last sequence number |
//!
//! The caller carries messages between neighbours, one hop. It reports every received frame and the
//! result of every sent one. It requests a route when a packet has none, and holds the packet
//! meanwhile. Like every layer this is `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use kinglet_aodv::{Aodv, AodvConfig, Link, Request, Role, Route, Search, Sizes};
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
//! let mut here: Aodv<Plan> = Aodv::new(AodvConfig::new(1, Role::Router, 1));
//! let mut there: Aodv<Plan> = Aodv::new(AodvConfig::new(2, Role::Router, 2));
//! let (mut now, mut buf) = (Instant::ZERO, [0; kinglet_aodv::MAX_LEN]);
//! assert!(here.discover(now, 2));
//! while here.is_discovering(2) {
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
//! Without link security any node in range can forge messages. Their cost is bounded: requests are
//! passed on ten times a second at most, for one neighbour and in all; replies that no request
//! awaits are not accepted; and routes that packets use are never evicted.
//!
//! | file | subject |
//! |---|---|
//! | `engine/mod.rs` | state, calls and deadlines of the layer |
//! | `engine/input.rs`, `output.rs` | input and output of messages |
//! | `route.rs` | routing table: updates and eviction |
//! | `request.rs`, `search.rs` | floods in progress, route discovery of this node |
//! | `metric.rs` | comparison of routes |
//! | `link.rs` | neighbours |
//! | `precursors.rs` | nodes that are notified of lost routes |
//! | `sequence.rs` | numbers that wrap |
//! | `params.rs` | times and limits, with their sources |
//! | `aoded.rs` | AODV among the layers of a node |
//! | `due.rs` | times at which actions are due |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod aoded;
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

pub use aoded::Aoded;
pub use config::{AodvConfig, Role, Sizes};
pub use engine::{Aodv, Destination, Out};
pub use kinglet_wire::aodv::OUTSIDE;
pub use link::Link;
pub use metric::{Metric, Quality};
pub use params::NET_DIAMETER;
pub use request::Request;
pub use route::Route;
pub use search::Search;
pub use stats::{Discard, Info, RouteInfo, Stats};

/// Maximum octets of a message: one 802.15.4 frame also with security and uncompressed addresses.
pub const MAX_LEN: usize = 80;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
