//! The integration tests of this crate, one module per subject.

mod advise;
mod renamed;
mod sweep;
