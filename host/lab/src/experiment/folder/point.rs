//! A planned point.

use super::super::Metric;
use minijinja::Value;
use std::collections::BTreeMap;

/// Values of all fields at a point, by the fields' names.
pub(crate) type Values = BTreeMap<String, Value>;

/// A planned point.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Values of its fields.
    pub(crate) at: Values,
    /// Name in tables, unique in its experiment.
    pub(crate) name: String,
    /// Curve in figures.
    pub(super) curve: &'static str,
    /// Abscissa.
    pub(super) x: f64,
    /// Measured columns.
    pub(super) metrics: &'static [Metric],
    /// Index of its group.
    pub(super) group: usize,
}
