//! Ranges of the values of known failures (`host/lab/known.toml`).

use crate::output::short;
use core::fmt;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Least and largest value of a known failure.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(from = "[f64; 2]")]
pub struct Range {
    least: f64,
    most: f64,
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

/// All ranges, by claim.
///
/// # Panics
/// Never: the file is part of the program and a test parses it.
pub(super) fn all() -> BTreeMap<String, Range> {
    toml::from_str(include_str!("../../known.toml")).expect("known.toml is tested")
}

/// The range of a claim, if it is a known failure.
pub(super) fn range(claim: &str) -> Option<Range> {
    all().get(claim).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_known_failure_has_a_range_and_nothing_else_has() {
        let failures = super::super::all().into_iter().filter(|c| c.tested && !c.expected);
        let failures: BTreeSet<_> = failures.map(|claim| claim.id).collect();
        let ranges: BTreeSet<_> = all().into_keys().collect();
        assert_eq!(failures, ranges);
        assert!(all().values().all(|range| range.least < range.most));
    }

    #[test]
    fn the_ends_belong_to_a_range() {
        let range = Range::from([-1.0, 2.5]);
        assert!([-1.0, 0.0, 2.5].into_iter().all(|value| range.contains(value)));
        assert!([-1.1, 2.6, f64::NAN].into_iter().all(|value| !range.contains(value)));
        assert_eq!(range.to_string(), "Outside of -1.00 to 2.50, where this failure is known");
    }
}
