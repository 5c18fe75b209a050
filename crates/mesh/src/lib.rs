//! Mesh routing in the manner of Thread, without I/O: a [`Mesh`] returns the next hop to a node.
//!
//! * **Routers** are always on. Each advertises, paced by Trickle, the link quality of its
//!   neighbours, its route cost to every other router, and the parent of each leaf. Routes are a
//!   distance vector over link costs that count the worse direction of a link. Each router decides
//!   for itself, so the routes of the two directions may differ.
//! * **Leaves** have a parent that carries all their traffic. A leaf selects the best router,
//!   reports to it from time to time, and searches again when the parent no longer responds.
//!
//! * **Network data** are up to [`MAX_DATA`] octets that a border router announces
//!   ([`Mesh::announce`]) and that every other node gets, leaves included: the prefix of the
//!   addresses, and 6LoWPAN contexts.
//!
//! Parameters are OpenThread's, with their names in the code. Differences from Thread: short
//! addresses are configured, so there is no leader and no router identifier; a border router is a
//! destination like any other; every router knows every leaf, so there are no address queries; and
//! a rise in cost is advertised before another route is accepted (see [`HOLD`]), so that no loop
//! forms while advertisements arrive.
//!
//! The caller carries messages between neighbours, one hop, best with a higher priority than data.
//! It reports every received frame and the result of every sent one. Like every layer this is
//! `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use kinglet_mesh::{Destination, Leaf, Mesh, MeshConfig, Neighbour, Role, Route, Sizes};
//! use kinglet_time::Instant;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Neighbours = [Option<Neighbour>; 4];
//!     type Routes = [Option<Route>; 4];
//!     type Leaves = [Option<Leaf>; 4];
//!     type Data = [u8; 8];
//! }
//!
//! let mut border: Mesh<Plan> = Mesh::new(MeshConfig::new(1, Role::BorderRouter, 1));
//! let mut router: Mesh<Plan> = Mesh::new(MeshConfig::new(2, Role::Router, 2));
//! let mut now = Instant::ZERO;
//! while now < Instant::from_secs(8) {
//!     now = now.max(border.deadline().unwrap().min(router.deadline().unwrap()));
//!     border.handle_deadline(now);
//!     router.handle_deadline(now);
//!     let mut buf = [0; kinglet_mesh::MAX_LEN];
//!     while let Some(out) = border.poll_message(now, &mut buf) {
//!         assert_eq!(out.to, Destination::Broadcast);
//!         router.handle_heard(now, 1, -60);
//!         router.handle_message(now, 1, -60, &buf[..out.len]).unwrap();
//!     }
//!     while let Some(out) = router.poll_message(now, &mut buf) {
//!         border.handle_heard(now, 2, -60);
//!         border.handle_message(now, 2, -60, &buf[..out.len]).unwrap();
//!     }
//! }
//! assert_eq!(router.default_next_hop(), Some(1));
//! assert_eq!(border.next_hop(2), Some(2));
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `message.rs` | message format |
//! | `mesh.rs` | input, output and timers |
//! | `link.rs` | quality and cost of a link |
//! | `route.rs` | distance vector |
//! | `leaves.rs` | leaves and their parents |
//! | `attach.rs` | attachment of a leaf to a parent |
//! | `data.rs` | versions and storage of the network data |
//! | `distribution.rs` | their announcement, requests and responses |
//! | `pace.rs` | advertisement intervals |
//! | `change.rs` | changes reported to the node |
//! | `meshed.rs` | the mesh among the layers of a node |
//! | `network_data.rs` | their content: prefix and 6LoWPAN contexts |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod attach;
mod change;
mod config;
mod data;
mod distribution;
mod leaves;
mod link;
mod mesh;
mod meshed;
mod message;
mod network_data;
mod pace;
mod route;
mod stats;

pub use change::Change;
pub use config::{MeshConfig, Role, Sizes};
pub use leaves::Leaf;
pub use link::{Neighbour, UNREACHABLE};
pub use mesh::{Destination, Mesh, Out};
pub use meshed::{Meshed, UnfitData};
pub use message::{Field, MAX_DATA, MAX_LEN};
pub use route::{HOLD, Route};
pub use stats::{Discard, Info, NeighbourInfo, RouteInfo, Stats};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
