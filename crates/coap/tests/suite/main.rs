//! The integration tests of this crate, one module per subject.

mod amplification;
mod block_wise;
mod codec;
mod common;
mod contract;
mod interfaces;
mod leisure;
mod observe;
mod observing;
mod reliability;
mod settings;
