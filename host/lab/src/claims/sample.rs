//! Sample results of experiments for tests of claims.

use super::check;
use kinglet_sweep::experiment::ExperimentResult;
use kinglet_sweep::row::Row;

/// A computed value without interval or paper's figure.
pub(super) fn row(label: &str, metric: &str, mean: f64) -> Row {
    Row {
        label: label.to_owned(),
        x: 0.0,
        metric: metric.to_owned(),
        unit: String::new(),
        mean,
        ci95: None,
        bound: None,
        paper: None,
        series: "",
    }
}

/// Returns whether a claim passes with these results; `None` if they do not suffice.
pub(super) fn holds(experiment: &'static str, id: &str, rows: Vec<Row>) -> Option<bool> {
    let result = ExperimentResult { id: experiment, rows, samples: Vec::new(), seeds: 5 };
    check(&[result]).into_iter().find(|verdict| verdict.id == id).expect("listed").holds
}
