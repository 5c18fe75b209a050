//! Rows of an experiment's results.

use serde::Serialize;

/// One line of the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The point's label.
    pub label: String,
    /// The abscissa.
    pub x: f64,
    /// The measured or computed quantity.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Mean over seeds, or the computed value.
    pub mean: f64,
    /// Half-width of the 95 % interval; null with one seed or for computed values.
    pub ci95: Option<f64>,
    /// A bound that cannot be exceeded, or the ideal.
    pub bound: Option<f64>,
    /// The published value.
    pub paper: Option<f64>,
    /// The curve it belongs to.
    #[serde(skip)]
    pub series: &'static str,
}
