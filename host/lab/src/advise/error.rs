//! Why there is no advice.

use crate::scenario::ScenarioError;
use crate::sweep::JournalError;
use std::fmt;

/// Why there is no advice.
#[derive(Debug)]
pub enum AdviseError {
    /// The scenario is none, or cannot be simulated.
    Scenario(ScenarioError),
    /// What was measured cannot be kept.
    Journal(JournalError),
    /// There is nothing to measure, or nothing to set, or no room.
    Pointless(String),
}

impl fmt::Display for AdviseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdviseError::Scenario(error) => error.fmt(f),
            AdviseError::Journal(error) => error.fmt(f),
            AdviseError::Pointless(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for AdviseError {}

/// Why there is no outcome.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Nobody wants it any more.
    Cancelled,
    /// It cannot be had.
    Failed(AdviseError),
}
