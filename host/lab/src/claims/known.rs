//! Ranges of the values of known failures (`host/lab/known.toml`).

use kinglet_report::verdict::Range;
use std::collections::BTreeMap;

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
}
