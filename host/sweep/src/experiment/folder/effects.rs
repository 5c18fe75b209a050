//! Effects of fields on columns: main effects and pairwise interactions.

use super::Definition;
use super::error::Place;
use super::file::EffectsOf;
use super::formula::Known;
use super::points::Points;
use super::results::column;
use crate::chart::{Bars, Figure};
use crate::effects::{Effects, Run};
use crate::experiment::{ExperimentResult, Rows};
use kinglet_scenario::ScenarioError;

/// Bars of a figure with shares of the variance: those of the largest ones.
const SHOWN: usize = 12;

/// Checks columns, conditions and levels.
pub(super) fn check(definition: &Definition, known: &Known<'_>) -> Result<(), ScenarioError> {
    let source = definition.source();
    for effects in &definition.file.effects {
        for name in &effects.columns {
            column(definition, Place::of(source, "columns", name), name.get_ref())?;
        }
        let when = &effects.when;
        known.expression(Place::of(source, "when", when), when.get_ref())?;
        levels(definition, effects)?;
    }
    Ok(())
}

/// The levels of each factor as they are written in rows.
fn levels(definition: &Definition, effects: &EffectsOf) -> Result<Vec<Vec<String>>, ScenarioError> {
    let (source, file, fields) = (definition.source(), &definition.file, &definition.fields);
    let points = Points { source, file, fields };
    let of = |factor: &super::file::Factor| {
        let levels = points.values(factor.field.get_ref(), &factor.levels)?;
        Ok(levels.iter().map(ToString::to_string).collect())
    };
    effects.factors.iter().map(of).collect()
}

/// Adds the effects on each column, for each curve of the points.
pub(super) fn refine(definition: &Definition, rows: &mut Rows) {
    for effects in &definition.file.effects {
        // They were checked when the file was read.
        let Ok(levels) = levels(definition, effects) else { continue };
        let counts: Vec<usize> = levels.iter().map(Vec::len).collect();
        for curve in curves(definition, effects) {
            for metric in effects.columns.iter().map(|name| name.get_ref().as_str()) {
                let runs = runs(definition, effects, &levels, rows, (curve, metric));
                if let Some(found) = Effects::of(&runs, &counts) {
                    add(rows, effects, &levels, &found, (curve, metric));
                }
            }
        }
    }
}

/// The curves of the points of a design, in their order.
fn curves(definition: &Definition, effects: &EffectsOf) -> Vec<&'static str> {
    let mut curves = Vec::new();
    for point in definition.at(Some(&effects.when)) {
        if !curves.contains(&point.curve) {
            curves.push(point.curve);
        }
    }
    curves
}

/// The points of a curve that have a value.
fn runs(
    definition: &Definition,
    effects: &EffectsOf,
    levels: &[Vec<String>],
    rows: &Rows,
    (curve, metric): (&str, &str),
) -> Vec<Run> {
    let points = definition.at(Some(&effects.when)).filter(|point| point.curve == curve);
    let run = |point: &super::Planned| {
        let level = |(factor, levels): (&super::file::Factor, &Vec<String>)| {
            let value = point.at.get(factor.field.get_ref())?.to_string();
            levels.iter().position(|level| *level == value)
        };
        let levels = effects.factors.iter().zip(levels).map(level).collect::<Option<_>>()?;
        Some(Run { levels, value: rows.mean(&point.name, metric)? })
    };
    points.filter_map(run).collect()
}

/// Adds effects and shares of the variance to the rows.
fn add(
    rows: &mut Rows,
    effects: &EffectsOf,
    levels: &[Vec<String>],
    found: &Effects,
    (curve, metric): (&'static str, &str),
) {
    let (effect, variance) = (format!("{metric}_effect"), format!("{metric}_variance"));
    let names: Vec<&str> = effects.factors.iter().map(|factor| factor.name.as_str()).collect();
    for (factor, name) in names.iter().enumerate() {
        for (level, of) in levels[factor].iter().enumerate() {
            let (mean, half) = found.main(factor, level);
            let label = format!("{curve} {name}={of}");
            let row = rows.compute(&label, curve, level as f64, (&effect, "%"), mean);
            row.ci95 = Some(half);
        }
        let (label, x) = (format!("{curve} {name}"), factor as f64);
        let best = format!("{metric}_best");
        rows.compute(&label, curve, x, (&variance, "%"), found.share(factor));
        rows.compute(&label, curve, x, (&best, "level"), found.best(factor) as f64);
    }
    for (a, one) in names.iter().enumerate() {
        for (b, other) in names.iter().enumerate().skip(a + 1) {
            let label = format!("{curve} {one} and {other}");
            rows.compute(&label, curve, a as f64, (&variance, "%"), found.shared((a, b)));
        }
    }
}

/// Effects on the first column: shares of its variance and levels, for each curve.
pub(super) fn figures(definition: &Definition, result: &ExperimentResult) -> Vec<Figure> {
    let mut figures = Vec::new();
    for effects in &definition.file.effects {
        let Some(metric) = effects.columns.first().map(|name| name.get_ref()) else { continue };
        let curves = curves(definition, effects);
        let bars = |curve: &str, what: &str| {
            let name = format!("{metric}_{what}");
            let rows = result.rows.iter().filter(|row| row.metric == name && row.series == curve);
            rows.map(|row| (row.label.clone(), vec![row.mean])).collect::<Vec<_>>()
        };
        for curve in &curves {
            let mut bars = bars(curve, "variance");
            bars.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
            bars.truncate(SHOWN);
            figures.push(Figure::Bars(Bars {
                title: format!("Variance of {metric} by setting, {curve}"),
                unit: "% of the variance of its logarithm".to_owned(),
                parts: vec!["share".to_owned()],
                bars,
                marks: Vec::new(),
            }));
        }
        for curve in &curves {
            figures.push(Figure::Bars(Bars {
                title: format!("{metric} of each level against the mean over all, {curve}"),
                unit: "%".to_owned(),
                parts: vec!["effect".to_owned()],
                bars: bars(curve, "effect"),
                marks: Vec::new(),
            }));
        }
    }
    figures
}
