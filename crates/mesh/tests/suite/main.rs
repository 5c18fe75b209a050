//! The integration tests of this crate, one module per subject.

mod contract;
mod data;
mod network;
mod restart;
mod settings;
