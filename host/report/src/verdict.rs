//! Verdicts on claims.

use crate::number::short;
use core::fmt;
use serde::{Deserialize, Serialize};

/// Result of the check of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Id of the claim.
    pub id: String,
    /// Experiment that tested it.
    pub experiment: String,
    /// The paper's value.
    pub paper: Option<f64>,
    /// Our value.
    pub ours: Option<f64>,
    /// Unit of both values.
    pub unit: String,
    /// True if it passes under every model of the medium that applies; null if it was not tested.
    pub holds: Option<bool>,
    /// True if it passes under some of these models and fails under others.
    pub depends_on_model: bool,
    /// Unmet bounds as text.
    pub failed: Vec<String>,
    /// Compared values, and the reason if the claim fails.
    pub reason: String,
    /// Statement of the paper.
    #[serde(skip)]
    pub statement: String,
    /// Section, figure or table of the paper.
    #[serde(skip)]
    pub place: String,
    /// True if a failed claim is an error.
    #[serde(skip)]
    pub expected: bool,
    /// Range of our value of a known failure.
    #[serde(skip)]
    pub known: Option<Range>,
}

/// Possible outcomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The claim passes.
    Holds,
    /// The claim passes under some models of the medium but not under all that apply.
    DependsOnModel,
    /// The claim fails.
    Fails,
    /// The claim was not tested.
    NotTested,
}

impl Verdict {
    /// Outcome of the claim.
    pub const fn outcome(&self) -> Outcome {
        match self.holds {
            Some(true) => Outcome::Holds,
            Some(false) if self.depends_on_model => Outcome::DependsOnModel,
            Some(false) => Outcome::Fails,
            None => Outcome::NotTested,
        }
    }

    /// True if the claim should pass but failed or was not tested, or if our value of a known
    /// failure has left its range: a known failure hides neither a regression nor a repair.
    pub fn is_failure(&self) -> bool {
        self.expected && self.holds != Some(true) || self.left().is_some()
    }

    /// The range that our value has left, if it has.
    pub fn left(&self) -> Option<Range> {
        let ours = self.ours?;
        self.known.filter(|range| !range.contains(ours))
    }
}

/// Least and largest value of a known failure.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "[f64; 2]")]
pub struct Range {
    /// Least value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
}

impl From<[f64; 2]> for Range {
    fn from([least, most]: [f64; 2]) -> Self {
        Range { least, most }
    }
}

impl Range {
    /// True if `value` is in it, its ends included.
    pub fn contains(self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (short(self.least), short(self.most));
        write!(f, "Outside of {least} to {most}, where this failure is known")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_belong_to_a_range() {
        let range = Range::from([-1.0, 2.5]);
        assert!([-1.0, 0.0, 2.5].into_iter().all(|value| range.contains(value)));
        assert!([-1.1, 2.6, f64::NAN].into_iter().all(|value| !range.contains(value)));
        assert_eq!(range.to_string(), "Outside of -1.00 to 2.50, where this failure is known");
    }
}
