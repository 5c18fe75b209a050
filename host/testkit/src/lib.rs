//! Test equipment of the Kinglet project; it is not part of a release.
//!
//! [`contract`] checks on any layer the laws that all layers of the stack obey; [`pair`] runs two
//! TCP endpoints over a bad link from beginning to end and checks them; [`attacker`] makes the
//! packets and frames of an adversary without the key; [`script`] runs segment scripts in
//! packetdrill's notation against the TCP; [`socket`] has the sockets that they call, over the TCP
//! in virtual time; [`namespace`] runs tests that need a network device in a network namespace of
//! their own.

#![forbid(unsafe_code)]

pub mod attacker;
pub mod contract;
pub mod namespace;
pub mod pair;
pub mod script;
pub mod socket;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
