//! The integration tests of this crate, one module per subject.

mod coap;
#[path = "../../../node/tests/suite/common/mod.rs"]
mod common;
mod http;
mod sense;
mod snack;
mod streams;
