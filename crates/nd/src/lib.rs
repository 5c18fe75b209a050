//! IPv6 neighbour discovery (RFC 4861, RFC 4862) on IEEE 802.15.4, without I/O: a [`Discovery`]
//! resolves the link addresses of neighbours, and answers solicitations for its own.
//!
//! | part | state |
//! |---|---|
//! | responses to solicitations, of both kinds, for short and extended link addresses | done |
//! | defence of addresses, and duplicate address detection for assigned ones | done |
//! | resolution of addresses from which the link address does not follow | done |
//! | unreachability detection, fed by the MAC's acknowledgements and by upper layers | done |
//! | redirects | ignored and counted: a LoWPAN has no use for them (RFC 6775, 3.3) |
//! | multicast groups reported to routers (MLDv2, RFC 3810), by type | done |
//! | hosts: default routers, SLAAC, contexts, name servers, all with lifetimes | done |
//! | hosts: addresses registered with the router (RFC 6775, RFC 8505) | done |
//! | routers: advertisements, registrations, duplicate address messages | done |
//!
//! The caller carries messages between neighbours, with hop limit 255, and keeps the packets that
//! wait for an address. It reports the result of every sent frame. Like every layer this is
//! `handle_*`, `poll_*`, `deadline`, `handle_deadline`:
//!
//! ```
//! use core::net::Ipv6Addr;
//! use kinglet_nd::{Advertised, Autoconfigured, Change, Discovery, MAX_LEN, NdConfig};
//! use kinglet_nd::{Neighbour, DefaultRouter, Server, Sizes, Resolution};
//! use kinglet_time::Instant;
//! use kinglet_wire::ieee802154::Address;
//! use kinglet_wire::ipv6::Header;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Neighbours = [Option<Neighbour>; 4];
//!     type Routers = [Option<DefaultRouter>; 2];
//!     type Addresses = [Option<Autoconfigured>; 2];
//!     type Contexts = [Option<Advertised>; 2];
//!     type Servers = [Option<Server>; 1];
//!     type Role = ();
//!     type Listener = ();
//! }
//!
//! let (here, there) = (Address::Short(1), Address::Short(2));
//! let mut alice: Discovery<Plan> = Discovery::new(NdConfig::new(here, [1; 8], 0xABCD, 1));
//! let mut bob: Discovery<Plan> = Discovery::new(NdConfig::new(there, [2; 8], 0xABCD, 2));
//! let (from, to): (Ipv6Addr, Ipv6Addr) =
//!     ("fe80::ff:fe00:1".parse().unwrap(), "2001:db8::b0b".parse().unwrap());
//! let now = Instant::ZERO;
//! assert_eq!(alice.resolution(to), Resolution::Unknown);
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
//! let request = alice.poll_message(now, &mut buf).unwrap();
//! let heard = header(from, request.dst, request.len);
//! bob.handle_message(now, here, &heard, &buf[..request.len], |own| *own == to).unwrap();
//! let reply = bob.poll_message(now, &mut buf).unwrap();
//! let heard = header(to, reply.dst, reply.len);
//! alice.handle_message(now, there, &heard, &buf[..reply.len], |own| *own == from).unwrap();
//! assert_eq!(alice.poll_change(), Some(Change::Found(to)));
//! assert_eq!(alice.resolution(to), Resolution::To(there));
//! ```
//!
//! # Cost of a flood
//!
//! A neighbour to which this node has sent no packet takes a free entry or that of another such
//! neighbour: no solicitation evicts an entry in use. Responses need no entry; up to four wait at a
//! time.
//!
//! At a router a registration lasts for the requested lifetime, regardless of other requests.
//! [`Offer::per_node`] limits the registrations of one link address, so that with link security no
//! node can fill the table; without it any sender can take the free entries. Up to four new
//! registrations at a time await the border router; others wait until their hosts repeat the
//! request. Multicast advertisements are sent at most once in ten seconds, however often the router
//! is solicited.
//!
//! | file | subject |
//! |---|---|
//! | `discovery/` | input, output and timers |
//! | `role.rs`, `serving/` | router functions: offered parameters, registrations |
//! | `host.rs`, `learnt.rs` | information learned from routers |
//! | `listener.rs` | reports of multicast groups |
//! | `neighbour.rs` | a neighbour and its states (RFC 4861, 7.3.2) |
//! | `cache.rs` | the neighbour table and its evictions |
//! | `detection.rs` | duplicate address detection |
//! | `derive.rs` | addresses from which the link address follows |
//! | `config.rs`, `message.rs`, `stats.rs` | configuration, messages, counters |

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

pub use config::{NdConfig, Sizes};
pub use derive::derived;
pub use discovery::{Change, Discovery, Resolution};
pub use host::Configured;
pub use kinglet_routing::RegisteredHost;
pub use learnt::{Advertised, Autoconfigured, DefaultRouter, Server};
pub use listener::{Listener, Reporting};
pub use message::{MAX_LEN, Message};
pub use neighbour::{Neighbour, State};
pub use role::{Claim, Role};
pub use serving::{Border, NameServer, Offer, Offered, Registered, RouterSizes, RouterStats};
pub use serving::{Serving, TableFull};
pub use stats::{Discard, Stats};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
