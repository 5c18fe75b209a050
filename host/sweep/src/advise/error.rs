//! Reasons for a failure of the advice.

use crate::sweep::JournalError;
use kinglet_scenario::ScenarioError;
use std::fmt;

/// Reason for a failure of the advice.
#[derive(Debug)]
pub enum AdviseError {
    /// The scenario is invalid or cannot be simulated.
    Scenario(ScenarioError),
    /// Results cannot be stored.
    Journal(JournalError),
    /// No flow can be measured, no setting can be changed, no combination fits the budget, or the
    /// scenario's seed is not for choosing ([`crate::seeds`]).
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

/// Reason for a missing outcome.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The caller cancelled the search.
    Cancelled,
    /// The search failed.
    Failed(AdviseError),
}
