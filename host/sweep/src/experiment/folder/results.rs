//! Additions of a folder to the measured rows: bounds, computed columns, and the paper's figures.

use super::Definition;
use super::error::{Place, hint};
use super::file::{Number, Text};
use super::formula::{Absent, Known, Scope};
use super::point::{Planned, Values};
use crate::experiment::Rows;
use crate::row::Row;
use kinglet_scenario::ScenarioError;
use std::collections::BTreeSet;
use toml::Spanned;

/// Checks the parts of the file that this module evaluates.
pub(super) fn check(definition: &Definition, known: &Known<'_>) -> Result<(), ScenarioError> {
    let source = definition.source();
    let file = &definition.file;
    let condition = |when: &Option<Text>| match when {
        Some(when) => known.expression(Place::of(source, "when", when), when.get_ref()),
        None => Ok(()),
    };
    for bound in &file.bound {
        column(definition, Place::of(source, "column", &bound.column), bound.column.get_ref())?;
        condition(&bound.when)?;
        number(definition, known, "value", &bound.value)?;
    }
    for computed in &file.computed {
        condition(&computed.when)?;
    }
    let alone = file.row.iter().flat_map(|row| &row.columns);
    for column in file.computed.iter().flat_map(|it| &it.columns).chain(alone) {
        condition(&column.when)?;
        number(definition, known, "value", &column.value)?;
    }
    for published in &file.paper {
        let place = Place::of(source, "column", &published.column);
        column(definition, place, published.column.get_ref())?;
        published_at(definition, published)?;
    }
    Ok(())
}

/// Checks the name of a column.
pub(super) fn column(
    definition: &Definition,
    place: Place<'_>,
    name: &str,
) -> Result<(), ScenarioError> {
    if definition.columns.contains(name) {
        return Ok(());
    }
    let names: Vec<&str> = definition.columns.iter().map(String::as_str).collect();
    Err(place.error(format!("no column `{name}`; {}", hint(name, &names))))
}

/// Checks a number or an expression.
pub(super) fn number(
    definition: &Definition,
    known: &Known<'_>,
    key: &str,
    value: &Spanned<Number>,
) -> Result<(), ScenarioError> {
    match value.get_ref() {
        Number::Expression(text) => {
            known.expression(Place::of(definition.source(), key, value), text)
        }
        _ => Ok(()),
    }
}

/// The points of the paper's figure.
fn published_at<'a>(
    definition: &'a Definition,
    published: &super::file::Published,
) -> Result<Vec<&'a Planned>, ScenarioError> {
    let defaults = definition.fields.iter().map(|(name, field)| (name.clone(), field.default()));
    let found = definition.vary(&published.at, &defaults.collect())?.into_iter().map(|at| {
        definition.full.iter().find(|point| point.at == at).ok_or_else(|| {
            let message = "no point has these values".to_owned();
            Place::of(definition.source(), "paper", &published.column).error(message)
        })
    });
    found.collect()
}

impl Number {
    /// Its value at a point.
    pub(super) fn value(&self, scope: &Scope) -> Result<f64, Absent> {
        match self {
            Number::Whole(number) => Ok(*number as f64),
            Number::Real(number) => Ok(*number),
            Number::Expression(text) => scope.number(text),
        }
    }
}

impl Definition {
    /// Returns the names in expressions about `point`.
    pub(super) fn scope(&self, rows: &[Row], point: &Planned) -> Scope {
        let columns: BTreeSet<&str> = self.columns.iter().map(String::as_str).collect();
        let scope = Scope::new(&self.full, rows, &columns, &point.at);
        scope.with("x", point.x.into())
    }

    /// The points that meet a condition.
    pub(super) fn at(&self, when: Option<&Text>) -> impl Iterator<Item = &Planned> {
        let condition = when.map(|when| when.get_ref().as_str());
        self.full.iter().filter(move |point| {
            let scope = Scope::of_fields(&point.at).with("x", point.x.into());
            condition.is_none_or(|condition| scope.is(condition) == Ok(true))
        })
    }
}

/// Adds bounds, computed columns and the paper's figures to measured rows.
pub(super) fn refine(definition: &Definition, rows: &mut Rows) {
    for bound in &definition.file.bound {
        for point in definition.at(bound.when.as_ref()) {
            let value = bound.value.get_ref().value(&definition.scope(&rows.all, point)).ok();
            let is_it =
                |row: &&mut Row| row.label == point.name && row.metric == *bound.column.get_ref();
            rows.all.iter_mut().filter(is_it).for_each(|row| row.bound = value);
        }
    }
    for row in &definition.file.row {
        let curve: &'static str = Box::leak(row.curve.clone().into_boxed_str());
        for column in &row.columns {
            let Ok(value) = column.value.get_ref().value(&Scope::of_fields(&Values::new())) else {
                continue;
            };
            let metric = (column.name.get_ref().as_str(), column.unit.as_str());
            rows.compute(&row.name, curve, row.x, metric, value).paper = column.paper;
        }
    }
    for computed in &definition.file.computed {
        for point in definition.at(computed.when.as_ref()) {
            for column in &computed.columns {
                let scope = definition.scope(&rows.all, point);
                let condition = column.when.as_ref().map(|when| scope.is(when.get_ref()));
                if condition.is_some_and(|met| met != Ok(true)) {
                    continue;
                }
                let Ok(value) = column.value.get_ref().value(&scope) else { continue };
                let metric = (column.name.get_ref().as_str(), column.unit.as_str());
                rows.compute(&point.name, point.curve, point.x, metric, value).paper = column.paper;
            }
        }
    }
    for published in &definition.file.paper {
        for point in published_at(definition, published).into_iter().flatten() {
            rows.paper(&point.name, published.column.get_ref(), published.value);
        }
    }
}
