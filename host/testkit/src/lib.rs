//! Test equipment of the Kinglet project; nothing here ships.
//!
//! [`contract`] checks on any layer the ten laws that all layers of the stack obey;
//! [`script`] runs segment scripts in packetdrill's notation against the TCP; [`socket`] is what
//! they call: sockets over the TCP in virtual time.

#![forbid(unsafe_code)]

pub mod contract;
pub mod script;
pub mod socket;
