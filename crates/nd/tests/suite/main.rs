//! The integration tests of this crate, one module per subject.

mod common;
mod compliance;
mod contract;
mod detection;
mod listening;
mod registering;
mod serving;
mod states;
mod strays;
mod versions;
