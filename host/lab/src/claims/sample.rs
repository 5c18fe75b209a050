//! Results as an experiment may have them, for tests of claims.

use super::check;
use crate::experiment::ExperimentResult;
use crate::row::Row;

/// A value without anything to compare it with.
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

/// Whether a claim holds if its experiment found this; `None` if that is too little to say.
pub(super) fn holds(experiment: &'static str, id: &str, rows: Vec<Row>) -> Option<bool> {
    let result = ExperimentResult { id: experiment, rows, samples: Vec::new(), seeds: 5 };
    check(&[result]).into_iter().find(|verdict| verdict.id == id).expect("listed").holds
}
