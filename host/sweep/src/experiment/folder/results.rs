//! What a folder adds to the measured rows: bounds, computed columns, the paper's figures, and
//! figures.

use super::Definition;
use super::error::{Place, hint};
use super::file::{Drawing, Each, Number, Overlay, Parts, Text};
use super::formula::{Absent, Known, Scope};
use super::point::{Planned, Values};
use crate::chart::{Bars, Cwnd, Figure, Lines, Series, Style, Timeline, curves, overlay};
use crate::experiment::{DEFAULTS, ExperimentResult, Point, Rows};
use crate::row::Row;
use kinglet_network::run::RunResult;
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
    for drawing in &file.figure {
        condition(&drawing.when)?;
        if let Some(Overlay { column: name, .. }) = &drawing.overlay {
            column(definition, Place::of(source, "overlay", name), name.get_ref())?;
        }
        let place = Place::of(source, "title", &drawing.title);
        match (&drawing.curves, &drawing.bars, &drawing.along, drawing.each) {
            (Some(name), None, None, None) => {
                column(definition, Place::of(source, "curves", name), name.get_ref())?;
            }
            (None, Some(parts), None, None) => {
                for name in parts.get_ref().all() {
                    column(definition, Place::of(source, "bars", parts), name)?;
                }
            }
            (None, None, Some(names), None) => {
                for name in names.get_ref() {
                    column(definition, Place::of(source, "along", names), name)?;
                }
            }
            (None, None, None, Some(_)) => known.template(place, drawing.title.get_ref())?,
            _ => {
                let message = "give one of `curves`, `bars`, `along` and `each`";
                return Err(place.error(message.to_owned()));
            }
        }
    }
    Ok(())
}

/// Checks the name of a column.
fn column(definition: &Definition, place: Place<'_>, name: &str) -> Result<(), ScenarioError> {
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
    /// What expressions about `point` see.
    pub(super) fn scope(&self, rows: &[Row], point: &Planned) -> Scope {
        let columns: BTreeSet<&str> = self.columns.iter().map(String::as_str).collect();
        let scope = Scope::new(&self.full, rows, &columns, &point.at);
        scope.with("x", point.x.into())
    }

    /// The points that meet a condition.
    fn at(&self, when: Option<&Text>) -> impl Iterator<Item = &Planned> {
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

/// Figures of a result.
pub(super) fn figures(definition: &Definition, result: &ExperimentResult) -> Vec<Figure> {
    let all = definition.file.figure.iter();
    all.flat_map(|drawing| draw(definition, drawing, result)).collect()
}

fn draw(definition: &Definition, drawing: &Drawing, result: &ExperimentResult) -> Vec<Figure> {
    let chosen: Vec<&Planned> = definition.at(drawing.when.as_ref()).collect();
    let title = drawing.title.get_ref();
    if let Some(each) = drawing.each {
        let of = |(point, run): &(Point, RunResult)| {
            let planned = chosen.iter().find(|planned| planned.name == point.label)?;
            let title = Scope::of_fields(&planned.at).text(title).unwrap_or_default();
            each.draw(title, point, run)
        };
        return result.samples.iter().filter_map(of).collect();
    }
    let is_chosen = |row: &&Row| chosen.iter().any(|point| point.name == row.label);
    let is_beside = |row: &&Row| drawing.beside && row.series == DEFAULTS;
    let shown = |row: &&Row| drawing.when.is_none() || is_chosen(row) || is_beside(row);
    let rows: Vec<Row> = result.rows.iter().filter(shown).cloned().collect();
    let figure = match (&drawing.curves, &drawing.bars) {
        (Some(column), _) => {
            let mut figure = curves(&rows, column.get_ref(), title, &drawing.x);
            if let (Some(figure), Some(Overlay { column, name })) = (&mut figure, &drawing.overlay)
            {
                overlay(figure, &rows, column.get_ref(), name);
            }
            figure
        }
        (None, Some(parts)) => bars(drawing, &rows, &parts.get_ref().all()),
        (None, None) => drawing.along.as_ref().and_then(|along| {
            let columns = along.get_ref();
            alongside(drawing, &rows, columns)
        }),
    };
    figure.into_iter().collect()
}

/// A curve for each point over these columns, whose abscissae count from 1.
fn alongside(drawing: &Drawing, rows: &[Row], columns: &[String]) -> Option<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let Some(place) = columns.iter().position(|column| *column == row.metric) else { continue };
        let point = (place as f64 + 1.0, row.mean, row.ci95);
        match series.iter_mut().find(|one| one.name == row.label) {
            Some(one) => one.points.push(point),
            None => {
                let (name, style) = (row.label.clone(), Style::Measured);
                series.push(Series { name, style, points: vec![point] });
            }
        }
    }
    let unit = &rows.iter().find(|row| columns.contains(&row.metric))?.unit;
    Some(Figure::Lines(Lines {
        title: drawing.title.get_ref().clone(),
        x_label: drawing.x.clone(),
        y_label: unit.clone(),
        series,
    }))
}

/// A bar for each point that has one of the columns; these are its parts.
fn bars(drawing: &Drawing, rows: &[Row], columns: &[&str]) -> Option<Figure> {
    let rows: Vec<&Row> = rows.iter().filter(|row| columns.contains(&&*row.metric)).collect();
    let mut points: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
    points.dedup();
    let value = |point: &str, column: &str| {
        let it = rows.iter().find(|row| row.label == point && row.metric == column);
        it.map_or(0.0, |row| row.mean)
    };
    let bar = |point: &&str| {
        ((*point).to_owned(), columns.iter().map(|column| value(point, column)).collect())
    };
    Some(Figure::Bars(Bars {
        title: drawing.title.get_ref().clone(),
        unit: rows.first()?.unit.clone(),
        parts: columns.iter().map(|column| column.replace('_', " ")).collect(),
        bars: points.iter().map(bar).collect(),
        marks: drawing.marks.iter().map(|mark| (mark.name.clone(), mark.value)).collect(),
    }))
}

impl Parts {
    fn all(&self) -> Vec<&str> {
        match self {
            Parts::One(column) => vec![column],
            Parts::Several(columns) => columns.iter().map(String::as_str).collect(),
        }
    }
}

/// Seconds at the end of a run whose congestion window is drawn.
const SHOWN_S: f64 = 100.0;

impl Each {
    fn draw(self, title: String, point: &Point, run: &RunResult) -> Option<Figure> {
        match self {
            Each::CongestionWindow => {
                let mss = run.flows.first().and_then(|flow| flow.mss).unwrap_or(0) as usize;
                let end = point.scenario.duration_s;
                Some(Figure::Cwnd(Cwnd {
                    title,
                    samples: run.cwnd.clone(),
                    buffer: point.scenario.tcp.send_buffer.bytes(mss) as f64,
                    range_s: ((end - SHOWN_S).max(0.0), end),
                }))
            }
            Each::RadioActivity => {
                let (from, to) = point.timeline_s.filter(|_| !run.timeline.is_empty())?;
                Some(Figure::Timeline(Timeline {
                    title,
                    nodes: point.scenario.nodes.len(),
                    lanes: Vec::new(),
                    activity: run.timeline.clone(),
                    range_us: ((from * 1e6) as u64, (to * 1e6) as u64),
                }))
            }
        }
    }
}
