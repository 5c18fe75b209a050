//! Test equipment of the Kinglet project; nothing here ships.
//!
//! [`contract`] checks on any layer the ten laws that all layers of the stack obey.

#![forbid(unsafe_code)]

pub mod contract;
