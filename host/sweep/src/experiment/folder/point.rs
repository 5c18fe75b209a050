//! A planned point.

use crate::metric::Metric;
use minijinja::Value;
use std::collections::BTreeMap;

/// Values of all fields at a point, by the fields' names.
pub(super) type Values = BTreeMap<String, Value>;

/// A planned point.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Values of its fields.
    pub(super) at: Values,
    /// Name in tables, unique in its experiment.
    pub name: String,
    /// Curve in figures.
    pub(super) curve: &'static str,
    /// Abscissa.
    pub(super) x: f64,
    /// Measured columns.
    pub(super) metrics: &'static [Metric],
    /// Index of its group.
    pub(super) group: usize,
}

impl Planned {
    /// Names and values of its fields, by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, String)> {
        self.at.iter().map(|(name, value)| (name.as_str(), value.to_string()))
    }
}
