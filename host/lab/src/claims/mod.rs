//! What papers say, tested against what was measured.
//!
//! `claims.toml` holds the statements; [`check`] evaluates those whose experiment was run.

mod air;
mod bounds;
mod bursts;
mod context;
mod crossings;
mod design;
mod duty_cycles;
mod equations;
mod low_power;
mod memory;
mod model;
mod multi_hop;
mod one_hop;
mod over_rpl;
mod requests;
#[cfg(test)]
mod sample;
mod sharing;
mod stacks;
mod tests_of;
mod timing;

use crate::experiment::{ExperimentResult, Results};
use crate::row::Row;
use serde::{Deserialize, Serialize};

/// A statement of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Stable name.
    pub id: String,
    /// The experiment that tests it.
    pub experiment: String,
    /// Its place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// What is claimed.
    pub statement: String,
    /// Unit of the compared quantity.
    pub unit: String,
    /// The paper's figure for it, if it prints one.
    pub paper: Option<f64>,
    /// Whether it should hold here.
    #[serde(default = "yes")]
    pub expected: bool,
    /// Whether anything is measured for it.
    #[serde(default = "yes")]
    pub tested: bool,
    /// Why not, if it is not expected to hold.
    #[serde(default)]
    pub reason: String,
    /// Seeds per point below which the claim is not judged, because it bounds an average, an
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

/// All claims, in the order of the file.
///
/// # Panics
/// Never: the file is part of the program and a test parses it.
pub fn all() -> Vec<Claim> {
    let file: Result<File, _> = toml::from_str(include_str!("../../claims.toml"));
    file.expect("claims.toml is tested").claim
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Which claim.
    pub id: String,
    /// Which experiment tested it.
    pub experiment: String,
    /// The paper's figure.
    pub paper: Option<f64>,
    /// Ours.
    pub ours: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// Whether it holds, under every model of the medium that it is judged under; null if nothing
    /// was measured for it.
    pub holds: Option<bool>,
    /// It holds under some of these models and not under others.
    pub depends_on_model: bool,
    /// The bounds that were not met, in words.
    pub failed: Vec<String>,
    /// What was compared, and why it does not hold if it does not.
    pub reason: String,
    /// What the paper claims.
    #[serde(skip)]
    pub statement: String,
    /// Where.
    #[serde(skip)]
    pub place: String,
    /// Whether not holding is a failure.
    #[serde(skip)]
    pub expected: bool,
}

/// What can become of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// It holds under some models of the medium, and not under all that it is judged under.
    DependsOnModel,
    /// It does not hold.
    Fails,
    /// Nothing was measured for it.
    NotTested,
}

impl Verdict {
    /// What became of the claim.
    pub const fn outcome(&self) -> Outcome {
        match self.holds {
            Some(true) => Outcome::Holds,
            Some(false) if self.depends_on_model => Outcome::DependsOnModel,
            Some(false) => Outcome::Fails,
            None => Outcome::NotTested,
        }
    }

    /// A claim that should hold does not, or could not be tested.
    pub fn is_failure(&self) -> bool {
        self.expected && self.holds != Some(true)
    }
}

/// What a test of a claim found.
struct Finding {
    ours: f64,
    holds: bool,
    /// The bounds that were not met, in words.
    failed: Vec<String>,
    /// Met under some models of the medium only.
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
    let finding = match (rows, claim.tested && !few_seeds) {
        (Some(table), true) => tests_of::test_of(&claim.id).and_then(|test| test(&table)),
        _ => None,
    };
    let depends_on_model = finding.as_ref().is_some_and(|f| f.depends_on_model);
    let failed = finding.as_ref().map_or_else(Vec::new, |f| f.failed.clone());
    let (ours, holds, mut reason) = match finding {
        Some(f) => (Some(f.ours), Some(f.holds), f.compared),
        None if few_seeds => (None, None, format!("needs {} seeds", claim.seeds)),
        None if claim.tested => (None, None, "points are missing".to_owned()),
        None => (None, None, String::new()),
    };
    if !failed.is_empty() {
        reason = format!("{reason}. Not met: {}", failed.join("; "));
    }
    if holds != Some(true) && !claim.reason.is_empty() {
        let separator = if reason.is_empty() { "" } else { ". " };
        reason = format!("{reason}{separator}{}", claim.reason);
    }
    Verdict {
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
    }
}

/// The rows of one experiment, by label and metric.
struct Table<'a>(&'a ExperimentResult);

impl Table<'_> {
    fn row(&self, label: &str, metric: &str) -> Option<&Row> {
        self.0.rows.iter().find(|r| r.label == label && r.metric == metric)
    }

    fn mean(&self, label: &str, metric: &str) -> Option<f64> {
        self.row(label, metric).map(|r| r.mean)
    }

    /// What the plan has of a metric: claims are not about the defaults beside it.
    fn all<'b>(&'b self, metric: &'b str) -> impl Iterator<Item = &'b Row> {
        let planned = |row: &&Row| row.series != crate::experiment::DEFAULTS;
        self.0.rows.iter().filter(move |r| r.metric == metric).filter(planned)
    }
}

#[cfg(test)]
mod outcomes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use std::collections::BTreeSet;

    #[test]
    fn every_claim_names_an_experiment_and_has_a_test_or_a_reason() {
        let mut ids = BTreeSet::new();
        for claim in all() {
            assert!(ids.insert(claim.id.clone()), "{} twice", claim.id);
            assert!(experiment::find(&claim.experiment).is_some(), "{}", claim.id);
            assert_eq!(tests_of::test_of(&claim.id).is_some(), claim.tested, "{}", claim.id);
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
