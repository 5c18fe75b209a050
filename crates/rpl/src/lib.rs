//! RPL (RFC 6550) for one instance, without I/O: an [`Rpl`] determines the next hops of packets.
//!
//! | subject | |
//! |---|---|
//! | modes | storing, non-storing, upward routes only; multicast routes are not kept |
//! | roles | root, router, leaf; leaves that do not know RPL behind a router (RFC 9010) |
//! | objective functions | OF0 (RFC 6552), MRHOF with ETX (RFC 6719), or one's own |
//! | repair | poisoning and rejoining below a bound, new versions by the root |
//! | packets | RPL option (RFC 6553) with detection of loops, source routes (RFC 6554) |
//! | not supported | secure messages, local instances, floating DODAGs, several DAO parents |
//!
//! Neighbours are link-local addresses. The caller carries ICMPv6 messages, reports the results of
//! frames to neighbours, and requests the routes of packets. Like every layer this is `handle_*`,
//! `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use core::net::Ipv6Addr;
//! use kinglet_rpl::{Candidate, MAX_LEN, Mode, Role, Root, Route, Rpl, RplConfig, Sizes};
//! use kinglet_rpl::{Standard, NextHop};
//! use kinglet_time::Instant;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Objective = Standard;
//!     type Candidates = [Option<Candidate>; 4];
//!     type Routes = [Option<Route>; 4];
//! }
//!
//! let address = |n| Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n);
//! let near = |n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n);
//! let role = Role::Root(Root::new(address(1), Mode::Storing));
//! let mut root: Rpl<Plan> = Rpl::new(RplConfig::new(role, 1, 1));
//! let mut router: Rpl<Plan> = Rpl::new(RplConfig::new(Role::Router, 2, 2));
//! let mut now = Instant::ZERO;
//! while now < Instant::from_secs(8) {
//!     now = now.max(root.deadline().unwrap().min(router.deadline().unwrap()));
//!     root.handle_deadline(now);
//!     router.handle_deadline(now);
//!     let mut buf = [0; MAX_LEN];
//!     while let Some(out) = root.poll_message(now, &mut buf) {
//!         let (all, body) = (out.to.is_multicast(), &buf[..out.len]);
//!         let _ = router.handle_message(now, near(1), -60, all, out.code, body);
//!     }
//!     while let Some(out) = router.poll_message(now, &mut buf) {
//!         let (all, body) = (out.to.is_multicast(), &buf[..out.len]);
//!         let _ = root.handle_message(now, near(2), -60, all, out.code, body);
//!     }
//! }
//! assert_eq!(router.parent(), Some(near(1)));
//! assert_eq!(root.route(address(2)), NextHop::Neighbour(near(2)));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod change;
mod config;
mod dao;
mod datapath;
mod dis;
mod dodag;
mod engine;
mod link;
mod load;
mod lost;
pub mod objective;
mod parents;
mod rank;
mod restless;
mod rpled;
mod silent;
mod start;
mod stats;

pub use change::Change;
pub use config::{CONFIGURATION, Mode, Probing, Role, Root, RplConfig, Sequence, Sizes};
pub use dao::Route;
pub use datapath::{Needs, NextHop, Onward, Refusal};
pub use engine::{MAX_LEN, Out, Rpl};
use kinglet_wire::lollipop;
pub use kinglet_wire::lollipop::Counter;
pub use objective::{Objective, Standard};
pub use parents::Candidate;
pub use rank::{INFINITE_RANK, dag_rank};
pub use rpled::Rpled;
pub use stats::{CandidateInfo, Discard, Info, Stats};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
