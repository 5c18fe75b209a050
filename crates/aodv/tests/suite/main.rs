//! The integration tests of this crate, one module per subject.

mod contract;
mod network;
mod routing;
