//! Tests of the papers' statements against the measured results.
//!
//! `claims.toml` contains the statements; [`check`] evaluates those whose experiment was run.

mod air;
mod bounds;
mod formulas;
mod known;
mod memory;
mod model;
mod one_hop;
mod over_rpl;
#[cfg(test)]
mod sample;
mod sharing;
mod stacks;
mod tests_of;
mod timing;

use crate::experiment;
use kinglet_report::verdict::Verdict;
use kinglet_sweep::experiment::folder::Absent;
use kinglet_sweep::experiment::{ExperimentResult, Results};
use kinglet_sweep::row::Row;
use serde::Deserialize;

/// A statement of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Stable name.
    pub id: String,
    /// Experiment that tests the claim.
    pub experiment: String,
    /// Section, figure or table of the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Statement of the paper.
    pub statement: String,
    /// Unit of the compared quantity.
    pub unit: String,
    /// The paper's value of that quantity, if it states one.
    pub paper: Option<f64>,
    /// True if the claim should pass.
    #[serde(default = "yes")]
    pub expected: bool,
    /// True if the claim is tested.
    #[serde(default = "yes")]
    pub tested: bool,
    /// Reason why the claim is not expected to pass or is not tested.
    #[serde(default)]
    pub reason: String,
    /// Minimum number of seeds per point for a test. Claims need it if they bound an average, an
    /// interval or a count of rare events.
    #[serde(default = "one")]
    pub seeds: u32,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// All claims, in the order of the files: `claims.toml`, then those of the folders.
///
/// # Panics
/// Never: the file is part of the program and a test parses it.
pub fn all() -> Vec<Claim> {
    let file: Result<File, _> = toml::from_str(include_str!("../../claims.toml"));
    let mut claims = file.expect("claims.toml is tested").claim;
    claims.extend(experiment::all().iter().flat_map(|it| formulas::claims(it.id)));
    claims
}

/// Result of a test.
struct Finding {
    ours: f64,
    holds: bool,
    /// Unmet bounds as text.
    failed: Vec<String>,
    /// True if the bounds are met only under some models of the medium.
    depends_on_model: bool,
    compared: String,
}

/// A test of a claim; `None` without the results that it needs.
type Test = fn(&Table<'_>) -> Option<Finding>;

/// Tests every claim whose experiment is among `results`.
pub fn check(results: Results<'_>) -> Vec<Verdict> {
    let ran = |claim: &Claim| results.iter().any(|r| r.id == claim.experiment);
    all().into_iter().filter(ran).map(|claim| verdict(claim, results)).collect()
}

fn verdict(claim: Claim, results: Results<'_>) -> Verdict {
    let rows = results.iter().find(|r| r.id == claim.experiment).map(Table);
    let few_seeds = rows.as_ref().is_some_and(|table| table.0.seeds < claim.seeds);
    let judged = rows.filter(|_| claim.tested && !few_seeds).map(|table| {
        let in_rust = || {
            let test = tests_of::test_of(&claim.id);
            test.and_then(|test| test(&table)).ok_or(Absent::Missing)
        };
        formulas::judge(&claim, &table).unwrap_or_else(in_rust)
    });
    let (finding, absent) = match judged {
        Some(Ok(finding)) => (Some(finding), None),
        Some(Err(absent)) => (None, Some(absent)),
        None => (None, None),
    };
    let depends_on_model = finding.as_ref().is_some_and(|f| f.depends_on_model);
    let failed = finding.as_ref().map_or_else(Vec::new, |f| f.failed.clone());
    let (ours, holds, mut reason) = match finding {
        Some(f) => (Some(f.ours), Some(f.holds), f.compared),
        None if few_seeds => (None, None, format!("needs {} seeds", claim.seeds)),
        None => (None, None, absent.map_or_else(String::new, |absent| absent.to_string())),
    };
    if !failed.is_empty() {
        reason = format!("{reason}. Not met: {}", failed.join("; "));
    }
    if holds != Some(true) && !claim.reason.is_empty() {
        let separator = if reason.is_empty() { "" } else { ". " };
        reason = format!("{reason}{separator}{}", claim.reason);
    }
    let known = known::range(&claim.id).filter(|_| !few_seeds);
    let verdict = Verdict {
        id: claim.id,
        experiment: claim.experiment,
        paper: claim.paper,
        ours,
        unit: claim.unit,
        holds,
        depends_on_model,
        failed,
        reason,
        statement: claim.statement,
        place: claim.place,
        expected: claim.expected && !few_seeds,
        known,
    };
    match verdict.left() {
        Some(range) => Verdict { reason: format!("{range}. {}", verdict.reason), ..verdict },
        None => verdict,
    }
}

/// Rows of one experiment, by label and metric.
struct Table<'a>(&'a ExperimentResult);

impl Table<'_> {
    fn row(&self, label: &str, metric: &str) -> Option<&Row> {
        self.0.rows.iter().find(|r| r.label == label && r.metric == metric)
    }

    fn mean(&self, label: &str, metric: &str) -> Option<f64> {
        self.row(label, metric).map(|r| r.mean)
    }

    /// All planned rows of a metric: claims do not concern the additional points with the defaults.
    fn all<'b>(&'b self, metric: &'b str) -> impl Iterator<Item = &'b Row> {
        let planned = |row: &&Row| row.series != kinglet_sweep::experiment::DEFAULTS;
        self.0.rows.iter().filter(move |r| r.metric == metric).filter(planned)
    }
}

#[cfg(test)]
mod outcomes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use kinglet_report::verdict::Outcome;
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_names_an_experiment_and_has_a_test_or_a_reason() {
        let mut ids = BTreeSet::new();
        for claim in all() {
            assert!(ids.insert(claim.id.clone()), "{} twice", claim.id);
            assert!(experiment::find(&claim.experiment).is_some(), "{}", claim.id);
            let in_folder =
                kinglet_sweep::experiment::folder::definition(&claim.experiment).is_some();
            let has_test = tests_of::test_of(&claim.id).is_some();
            assert!(in_folder || has_test == claim.tested, "{}", claim.id);
            assert_eq!(claim.expected, claim.reason.is_empty(), "{}: reason", claim.id);
        }
    }

    #[test]
    fn every_experiment_tests_a_claim() {
        let claims = all();
        for experiment in experiment::all() {
            assert!(claims.iter().any(|c| c.experiment == experiment.id), "{}", experiment.id);
        }
    }

    #[test]
    fn a_claim_without_points_is_a_failure_and_not_a_pass() {
        let empty =
            ExperimentResult { id: "tcplp-mss", rows: Vec::new(), samples: Vec::new(), seeds: 1 };
        let verdicts = check(&[empty]);
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.iter().all(|v| v.holds.is_none() && v.is_failure() == v.expected));
        assert!(verdicts.iter().any(Verdict::is_failure));
    }

    #[test]
    fn a_claim_is_judged_from_the_seeds_that_it_needs() {
        let with = |seeds| {
            let rows = Vec::new();
            let result = ExperimentResult { id: "kinglet-fair", rows, samples: Vec::new(), seeds };
            check(&[result]).into_iter().find(|v| v.id == "kinglet.line-fairness").unwrap()
        };
        let few = with(4);
        assert_eq!((few.outcome(), few.is_failure()), (Outcome::NotTested, false));
        assert_eq!(few.reason, "needs 5 seeds");
        assert!(with(5).is_failure(), "points are missing");
    }
}
