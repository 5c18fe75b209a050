//! The integration tests of this crate, one module per subject.

#[macro_use]
mod common;

mod ack_rate;
mod api;
mod clock;
mod contract;
mod cubic;
mod data;
mod ecn;
mod estimates;
mod fast_open;
mod link;
mod opening;
mod pacing;
mod policies;
mod recovery;
mod slots;
mod small;
mod soak;
mod states;
mod timestamps;
mod transfer;
mod windows;
