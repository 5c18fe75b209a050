//! The integration tests of this crate, one module per subject.

mod advise;
mod features;
mod renamed;
mod restarts;
mod sweep;
