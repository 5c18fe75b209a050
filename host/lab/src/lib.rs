//! Scenarios.
pub mod scenario;
