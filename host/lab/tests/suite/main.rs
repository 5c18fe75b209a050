//! The integration tests of this crate, one module per subject.

mod air;
mod claims;
mod recorded;
