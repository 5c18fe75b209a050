//! IPv6 neighbour discovery (RFC 4861, RFC 4862) on IEEE 802.15.4, without I/O: a [`Discovery`]
//! says which link address a neighbour has, and answers who asks for this node's.
//!
//! | part | state |
//! |---|---|
//! | solicitations answered, of both kinds, for short and extended link addresses | done |
//! | addresses defended against duplicate address detection, given ones detected | done |
//! | resolution of addresses that do not tell the link address | done |
//! | unreachability detection, fed by the MAC's acknowledgements and by upper layers | done |
//! | redirects | ignored and counted: a LoWPAN has no use for them (RFC 6775, 3.3) |
//! | multicast groups told to routers (MLDv2, RFC 3810), by type | done |
//! | hosts: default routers, SLAAC, contexts, name servers, all with lifetimes | done |
//! | hosts: addresses registered with the router (RFC 6775, RFC 8505) | done |
//! | routers: advertisements, registrations, duplicate address messages | done |
//!
//! The caller carries messages between neighbours, with hop limit 255, and keeps the packets that
//! wait for an address; it tells what came of the frames that it sent. Like every layer this is
//! `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use core::net::Ipv6Addr;
//! use kinglet_nd::{Advertised, Autoconfigured, Change, Config, Discovery, MAX_LEN};
//! use kinglet_nd::{Neighbour, Router, Server, Sizes, Way};
//! use kinglet_time::Instant;
//! use kinglet_wire::ieee802154::Address;
//! use kinglet_wire::ipv6::Header;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Neighbours = [Option<Neighbour>; 4];
//!     type Routers = [Option<Router>; 2];
//!     type Addresses = [Option<Autoconfigured>; 2];
//!     type Contexts = [Option<Advertised>; 2];
//!     type Servers = [Option<Server>; 1];
//!     type Role = ();
//!     type Listener = ();
//! }
//!
//! let (here, there) = (Address::Short(1), Address::Short(2));
//! let mut alice: Discovery<Plan> = Discovery::new(Config::new(here, [1; 8], 0xABCD, 1));
//! let mut bob: Discovery<Plan> = Discovery::new(Config::new(there, [2; 8], 0xABCD, 2));
//! let (from, to): (Ipv6Addr, Ipv6Addr) =
//!     ("fe80::ff:fe00:1".parse().unwrap(), "2001:db8::b0b".parse().unwrap());
//! let now = Instant::ZERO;
//! assert_eq!(alice.way(to), Way::Unknown);
//! assert!(alice.want(now, to));
//!
//! let mut buf = [0; MAX_LEN];
//! let header = |src, dst, len| Header {
//!     traffic_class: 0,
//!     flow_label: 0,
//!     payload_len: len as u16,
//!     next_header: 58,
//!     hop_limit: 255,
//!     src,
//!     dst,
//! };
//! let asks = alice.poll_message(now, &mut buf).unwrap();
//! let heard = header(from, asks.dst, asks.len);
//! bob.handle_message(now, here, &heard, &buf[..asks.len], |own| *own == to).unwrap();
//! let tells = bob.poll_message(now, &mut buf).unwrap();
//! let heard = header(to, tells.dst, tells.len);
//! alice.handle_message(now, there, &heard, &buf[..tells.len], |own| *own == from).unwrap();
//! assert_eq!(alice.poll_change(), Some(Change::Found(to)));
//! assert_eq!(alice.way(to), Way::To(there));
//! ```
//!
//! # What a flood may cost
//!
//! A neighbour that nobody here has sent anything to takes a free place or that of another such
//! neighbour: no solicitation costs an entry that is in use. Answers need no entry, four wait at a
//! time.
//!
//! At a router a registration lasts for as long as it was asked for, whoever asks for what. One
//! link address has as many as [`Offer::per_node`] says, so that with link security nobody fills
//! the table; without it, who can send can take what is free. Of four newcomers at a time the
//! border router is asked, and others wait until they ask again. To all it speaks once in ten
//! seconds at most, however often it is solicited.
//!
//! | file | subject |
//! |---|---|
//! | `discovery/` | what comes in, what goes out, when |
//! | `role.rs`, `serving/` | what a router does for others: what it offers, who is registered |
//! | `host.rs`, `learnt.rs` | what is learnt of routers |
//! | `listener.rs` | who tells of multicast groups |
//! | `neighbour.rs` | what is known of a neighbour, and its states (RFC 4861, 7.3.2) |
//! | `cache.rs` | the table of neighbours, and who gives way |
//! | `detection.rs` | whether another node has an own address |
//! | `derive.rs` | addresses that tell the link address |
//! | `config.rs`, `message.rs`, `stats.rs` | what it is told, what it sends, what it counts |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod cache;
mod config;
mod derive;
mod detection;
mod discovery;
mod host;
mod learnt;
mod listener;
mod message;
mod neighbour;
mod role;
mod serving;
mod stats;

pub use config::{Config, Sizes};
pub use derive::derived;
pub use discovery::{Change, Discovery, Way};
pub use host::Configured;
pub use learnt::{Advertised, Autoconfigured, Router, Server};
pub use listener::{Listener, Reporting};
pub use message::{MAX_LEN, Message};
pub use neighbour::{Neighbour, State};
pub use role::{Claim, Role, Routed};
pub use serving::{Border, NameServer, Offer, Offered, Registered, RouterSizes, RouterStats};
pub use serving::{Serving, TableFull};
pub use stats::{Discard, Stats};
