//! Every byte format below the application, as views that validate once and then cannot fail.
//!
//! | module | format |
//! |---|---|
//! | [`ieee802154`] | IEEE 802.15.4-2015 MAC frames |
//! | [`sixlowpan`] | 6LoWPAN: fragmentation (RFC 4944), IPHC and UDP NHC (RFC 6282) |
//! | [`ipv6`] | IPv6 (RFC 8200) and its extension headers |
//! | [`Ecn`] | the two bits of congestion notification (RFC 3168) |
//! | [`icmpv6`] | ICMPv6 (RFC 4443) |
//! | [`nd`] | neighbour discovery (RFC 4861) for 6LoWPAN (RFC 6775, 8505) |
//! | [`mld`] | queries and reports of multicast listeners (RFC 3810) |
//! | [`lollipop`] | sequence counters of RPL and of address registrations (RFC 6550, 7.2) |
//! | [`rpl`] | RPL (RFC 6550, 6551), its packet option (RFC 6553) and source routes (RFC 6554) |
//! | [`aodv`] | AODV (RFC 3561) between short addresses |
//! | [`udp`] | UDP (RFC 768) |
//! | [`tcp`] | TCP (RFC 9293) and its options |
//! | [`checksum`] | the Internet checksum (RFC 1071) |
//!
//! Each format has a *view* (`parse(&[u8]) -> Result<View, Error>`, then infallible accessors) and
//! a *repr*, a plain struct with `buffer_len()` and `emit(&mut [u8])`.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

pub mod aodv;
#[cfg(test)]
mod assigned;
pub mod checksum;
mod ecn;
mod error;
pub mod icmpv6;
pub mod ieee802154;
pub mod ipv6;
pub mod lollipop;
pub mod mld;
pub mod nd;
pub mod rpl;
pub mod sixlowpan;
pub mod tcp;
pub mod udp;

pub use ecn::Ecn;
pub use error::{Error, Field};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
