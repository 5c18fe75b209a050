//! Mesh routing in the manner of Thread, without I/O: a [`Mesh`] says who is the next hop to whom.
//!
//! * **Routers** are always on. Each advertises, paced by Trickle, how well it hears its
//!   neighbours, what a way to every other router costs, and which leaf is whose child. Routes are
//!   a distance vector over link costs that count the worse direction of a link; everybody decides
//!   for himself, so the ways there and back may differ.
//! * **Leaves** have a parent through which everything goes. They look for the best, say from time
//!   to time that they are there, and look again when it no longer answers.
//!
//! Parameters are OpenThread's, named where they stand. What differs from Thread: addresses are
//! given, so there is no leader and no router identifier; a border router is a destination like any
//! other; every router knows every leaf, so nobody has to ask for addresses; and a rise in cost is
//! told before another way is believed (see [`HOLD`]), so that no loop forms while
//! advertisements arrive.
//!
//! The caller carries messages between neighbours, one hop, best with a higher priority than data,
//! and reports every frame that it hears and how those that it sends end. Like every layer this is
//! `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use kinglet_mesh::{Config, Destination, Leaf, Mesh, Neighbour, Role, Route, Sizes};
//! use kinglet_time::Instant;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Neighbours = [Option<Neighbour>; 4];
//!     type Routes = [Option<Route>; 4];
//!     type Leaves = [Option<Leaf>; 4];
//! }
//!
//! let mut border: Mesh<Plan> = Mesh::new(Config::new(1, Role::BorderRouter, 1));
//! let mut router: Mesh<Plan> = Mesh::new(Config::new(2, Role::Router, 2));
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
//! | `message.rs` | the format |
//! | `mesh.rs` | what comes in, what goes out, when |
//! | `link.rs` | quality and cost of a link |
//! | `route.rs` | the distance vector |
//! | `leaves.rs` | whose child is who |
//! | `attach.rs` | how a leaf gets and keeps a parent |
//! | `pace.rs` | when to advertise |
//! | `change.rs` | what the node is told of it |

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
mod leaves;
mod link;
mod mesh;
mod message;
mod pace;
mod route;
mod stats;

pub use change::Change;
pub use config::{Config, Role, Sizes};
pub use leaves::Leaf;
pub use link::{Neighbour, UNREACHABLE};
pub use mesh::{Destination, Mesh, Out};
pub use message::{Field, MAX_LEN};
pub use route::{HOLD, Route};
pub use stats::{Discard, Info, NeighbourInfo, RouteInfo, Stats};
