//! The form of `experiment.toml`. Positions are kept for messages.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Table, Value};

/// A text with its position: an expression, a template or a name.
pub(super) type Text = Spanned<String>;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Section or figure of the paper.
    pub(super) source: String,
    /// Scenario file of the main point, in the same folder.
    pub(super) base: Text,
    /// Measured columns of all groups without their own.
    pub(super) columns: Vec<Text>,
    /// Settings of the short form.
    #[serde(default)]
    pub(super) quick: Table,
    /// Varied fields.
    pub(super) fields: BTreeMap<String, Spanned<Value>>,
    /// Groups of points, in the order of the results.
    pub(super) points: Vec<Group>,
    /// Bounds of measured columns.
    #[serde(default)]
    pub(super) bound: Vec<BoundOf>,
    /// Computed rows that belong to no point.
    #[serde(default)]
    pub(super) row: Vec<Alone>,
    /// Computed columns.
    #[serde(default)]
    pub(super) computed: Vec<Computed>,
    /// Effects of fields on columns.
    #[serde(default)]
    pub(super) effects: Vec<EffectsOf>,
    /// The paper's figures.
    #[serde(default)]
    pub(super) paper: Vec<Published>,
    /// Figures of the result.
    #[serde(default)]
    pub(super) figure: Vec<Drawing>,
    /// Claims.
    pub(super) claim: Vec<ClaimOf>,
}

/// Points with values of the fields in all combinations.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    /// Template: curve in figures.
    pub(super) curve: Text,
    /// Expression: abscissa.
    pub(super) x: Text,
    /// Template: name in tables.
    pub(super) name: Text,
    /// Values of fields, one or a list; the last field varies fastest. Others have their default.
    pub(super) at: BTreeMap<String, Spanned<Value>>,
    /// Condition of the combinations that are points.
    pub(super) when: Option<Text>,
    /// The same for the short form; fields that it lacks have the values of `at`.
    #[serde(default)]
    pub(super) quick_at: BTreeMap<String, Spanned<Value>>,
    /// Further settings of the scenario.
    #[serde(default)]
    pub(super) with: Table,
    /// The same for the short form.
    #[serde(default)]
    pub(super) quick: Table,
    /// Measured columns.
    pub(super) columns: Option<Vec<Text>>,
    /// Seconds in which the first seed's run records radio activity.
    pub(super) timeline_s: Option<(f64, f64)>,
}

/// A number, or the expression of one.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Real(f64),
    Expression(String),
}

/// Bound of a column's values that cannot be exceeded.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundOf {
    pub(super) column: Text,
    /// Points that have it; all of them without a condition.
    pub(super) when: Option<Text>,
    pub(super) value: Spanned<Number>,
}

/// Columns computed from others, at the points of a condition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Computed {
    pub(super) when: Option<Text>,
    pub(super) columns: Vec<ComputedColumn>,
}

/// A computed column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ComputedColumn {
    pub(super) name: Text,
    pub(super) unit: String,
    pub(super) value: Spanned<Number>,
    /// Points that have it, of those of the group.
    pub(super) when: Option<Text>,
    /// The paper's figure, the same for all points.
    pub(super) paper: Option<f64>,
}

/// Effects of factors on columns: a row for each level, each factor and each pair of factors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectsOf {
    pub(super) columns: Vec<Text>,
    /// Condition of the points, a balanced part of all combinations.
    pub(super) when: Text,
    pub(super) factors: Vec<Factor>,
}

/// A field whose values are the levels of a factor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Factor {
    /// Name in rows.
    pub(super) name: String,
    pub(super) field: Text,
    /// Values of the field, in the order of the rows.
    pub(super) levels: Spanned<Value>,
}

/// A row that belongs to no point.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alone {
    pub(super) name: String,
    pub(super) curve: String,
    pub(super) x: f64,
    pub(super) columns: Vec<ComputedColumn>,
}

/// The paper's figure of a column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub(super) column: Text,
    /// Values of fields, one or a list each; others have their default.
    #[serde(default)]
    pub(super) at: BTreeMap<String, Spanned<Value>>,
    pub(super) value: f64,
}

/// A figure of one of six kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Drawing {
    /// Title; a template where there is a figure for each point.
    pub(super) title: Text,
    /// Column that is drawn as curves.
    pub(super) curves: Option<Text>,
    /// Column that is drawn as bars, or columns that are the parts of bars.
    pub(super) bars: Option<Spanned<Parts>>,
    /// Columns that are the abscissae 1, 2, …: a curve for each point.
    pub(super) along: Option<Spanned<Vec<String>>>,
    /// One figure for each point: its congestion window, or the radios' activity.
    pub(super) each: Option<Each>,
    /// A quantity of the first run of each point, a curve each.
    pub(super) runs: Option<Quantity>,
    /// Column whose values are the abscissae of curves.
    pub(super) against: Option<Text>,
    /// Curves of another column, drawn as a model.
    pub(super) overlay: Option<Overlay>,
    /// Label of the abscissa of curves.
    #[serde(default)]
    pub(super) x: String,
    /// Points that are drawn; all of them without a condition.
    pub(super) when: Option<Text>,
    /// The points with all defaults are drawn as well.
    #[serde(default)]
    pub(super) beside: bool,
    /// After each bar comes one with the paper's figure.
    #[serde(default)]
    pub(super) paper: bool,
    /// Single marks of bars.
    #[serde(default)]
    pub(super) marks: Vec<Mark>,
}

/// One column, or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Parts {
    One(String),
    Several(Vec<String>),
}

/// Drawing of each point.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Each {
    CongestionWindow,
    RadioActivity,
    RadioTime,
}

/// A quantity with several values in a run: the distribution of latencies, or throughput by time.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Quantity {
    Latency,
    Throughput,
}

/// A column that is drawn over curves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Overlay {
    pub(super) column: Text,
    pub(super) name: String,
}

/// A mark in a figure with bars.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) value: f64,
}

/// A claim and the expressions that judge it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimOf {
    pub(super) id: Text,
    #[serde(rename = "where")]
    pub(super) place: String,
    pub(super) statement: String,
    pub(super) unit: String,
    pub(super) paper: Option<f64>,
    #[serde(default = "yes")]
    pub(super) expected: bool,
    /// False if nothing is measured; `reason` says why, and nothing is compared.
    #[serde(default = "yes")]
    pub(super) tested: bool,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default = "one")]
    pub(super) seeds: u32,
    /// The claim must pass under every model of the medium, each as the field `model`.
    #[serde(default)]
    pub(super) every_model: bool,
    /// Fields and their values in all combinations: the claim is judged for each, and its bounds
    /// must be met for all.
    #[serde(default)]
    pub(super) each: BTreeMap<String, Spanned<Value>>,
    /// Named values, in the order in which they are evaluated.
    #[serde(default)]
    pub(super) values: BTreeMap<String, Text>,
    /// Expression: the quantity that is compared with the paper's.
    pub(super) ours: Option<Text>,
    /// Template: the compared values in words.
    pub(super) compared: Option<Text>,
    /// The same under the default model alone, if `every_model` is set.
    pub(super) once: Option<Text>,
    /// Bounds that must all be met.
    #[serde(default)]
    pub(super) bound: Vec<Limit>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

/// A bound of a claim: a value with one of the comparisons, or a condition that holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    /// Template: the compared value in words.
    pub(super) what: Text,
    /// Expression: the compared value.
    pub(super) value: Option<Text>,
    /// Condition that is not about one value.
    pub(super) holds: Option<Text>,
    /// Condition of the bound.
    pub(super) when: Option<Text>,
    /// Fields and their values in all combinations: the bound must be met at each point at which
    /// its columns have values. There must be at least one such point.
    #[serde(default)]
    pub(super) each: BTreeMap<String, Spanned<Value>>,
    /// Judged under the default model alone, if the claim has `every_model`.
    #[serde(default)]
    pub(super) once: bool,
    pub(super) at_least: Option<Spanned<Number>>,
    pub(super) at_most: Option<Spanned<Number>>,
    pub(super) above: Option<Spanned<Number>>,
    pub(super) below: Option<Spanned<Number>>,
    pub(super) within: Option<(Spanned<Number>, Spanned<Number>)>,
}
