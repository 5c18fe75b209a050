//! The interface of a routing protocol: one trait, [`Routing`].
//!
//! A protocol is a type that implements [`Routing`], in a crate of its own that depends on this
//! one. A node uses it if its memory plan names the type as `routing`; neither the node nor any
//! layer knows its name. It obeys the contract of every layer: no clock, no I/O, no heap, and
//! `handle_*`, `poll_*`, `deadline`, `handle_deadline`.
//!
//! The smallest protocol has two neighbours and no messages:
//!
//! ```
//! use core::net::Ipv6Addr;
//! use kinglet_mem::Array;
//! use kinglet_routing::{Learnt, NextHop, NoHeaders, Routing};
//! use kinglet_wire::ieee802154::Address;
//!
//! /// All packets go to the neighbour with this short address.
//! struct Upstream(Option<u16>);
//!
//! impl Routing for Upstream {
//!     const NONE: Self = Upstream(None);
//!     type Additions = NoHeaders;
//!     type Waiting<H: Copy + core::fmt::Debug> = [Option<H>; 0];
//!
//!     fn is_on(&self) -> bool {
//!         self.0.is_some()
//!     }
//!
//!     fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
//!         let via = NextHop::Link(Address::Short(self.0?));
//!         Some(Learnt { prefix_len: 0, via: Some(via) })
//!     }
//! }
//!
//! assert!(Upstream(Some(1)).route("2001:db8::1".parse().unwrap()).is_some());
//! ```
//!
//! `examples/routing` of the repository explains a whole one: messages between neighbours, reports
//! of the MAC, timers, tests in the simulator.
//!
//! # Calls
//!
//! | caller | call | when |
//! |---|---|---|
//! | network layer | [`route`](Routing::route) | a packet needs its next hop |
//! | network layer | `discover`, `handle_use` and others | routes are discovered on demand |
//! | network layer | `add`, `relay` and others | packets carry routing data |
//! | node | `handle_heard`, `handle_sent`, `handle_asked` | the MAC has received or sent a frame |
//! | node | `handle_message`, `poll_message` | messages by UDP ([`PORT`]) between neighbours |
//! | node | `handle_icmpv6`, `poll_icmpv6` | messages by ICMPv6 |
//! | node | `poll_change` | after each event: what else has to change at this node |
//! | node | `deadline`, `handle_deadline` | timers |
//!
//! | file | subject |
//! |---|---|
//! | `routing.rs` | the trait |
//! | `types.rs` | routes, messages, changes |
//! | `additions.rs` | the headers that a protocol adds to packets |
//! | `choice.rs` | a choice among protocols at run time |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

mod additions;
pub mod choice;
mod routing;
mod types;

pub use additions::{AddedHeaders, Additions, MAX_ADDED, MAX_HEAD, NoHeaders};
pub use routing::Routing;
pub use types::{
    Added, Change, Each, EachRelation, Icmpv6In, Icmpv6Out, Identity, Learnt, MAX_ICMPV6,
    MAX_MESSAGE, Message, NextHop, Origin, PORT, Refusal, RegisteredHost, link_local,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
