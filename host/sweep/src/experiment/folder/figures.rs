//! Figures of a folder.

use super::Definition;
use super::error::Place;
use super::file::{Drawing, Each, Overlay, Parts, Quantity};
use super::formula::{Known, Scope};
use super::point::Planned;
use super::results::column;
use crate::chart::{Bars, Cwnd, Figure, Lines, Series, Style, Timeline, curves, ledger, overlay};
use crate::experiment::{DEFAULTS, ExperimentResult, Point};
use crate::row::Row;
use kinglet_network::run::{RunResult, Sample};
use kinglet_scenario::ScenarioError;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the columns, conditions and titles of figures.
pub(super) fn check(definition: &Definition, known: &Known<'_>) -> Result<(), ScenarioError> {
    let source = definition.source();
    for drawing in &definition.file.figure {
        if let Some(when) = &drawing.when {
            known.expression(Place::of(source, "when", when), when.get_ref())?;
        }
        if let Some(Overlay { column: name, .. }) = &drawing.overlay {
            column(definition, Place::of(source, "overlay", name), name.get_ref())?;
        }
        if let Some(name) = &drawing.against {
            column(definition, Place::of(source, "against", name), name.get_ref())?;
        }
        let place = Place::of(source, "title", &drawing.title);
        let Drawing { curves, bars, along, each, runs, .. } = drawing;
        match (curves, bars, along, each, runs) {
            (Some(name), None, None, None, None) => {
                column(definition, Place::of(source, "curves", name), name.get_ref())?;
            }
            (None, Some(parts), None, None, None) => {
                for name in parts.get_ref().all() {
                    column(definition, Place::of(source, "bars", parts), name)?;
                }
            }
            (None, None, Some(names), None, None) => {
                for name in names.get_ref() {
                    column(definition, Place::of(source, "along", names), name)?;
                }
            }
            (None, None, None, Some(_), None) => known.template(place, drawing.title.get_ref())?,
            (None, None, None, None, Some(_)) => (),
            _ => {
                let message = "give one of `curves`, `bars`, `along`, `each` and `runs`";
                return Err(place.error(message.to_owned()));
            }
        }
    }
    Ok(())
}

/// Figures of a result.
pub(super) fn all(definition: &Definition, result: &ExperimentResult) -> Vec<Figure> {
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
    let mut rows: Vec<Row> = result.rows.iter().filter(shown).cloned().collect();
    if let Some(quantity) = drawing.runs {
        let is_chosen = |point: &Point| chosen.iter().any(|planned| planned.name == point.label);
        return quantity.draw(title, result.samples.iter().filter(|(point, _)| is_chosen(point)));
    }
    if let Some(column) = &drawing.against {
        place(&mut rows, column.get_ref());
    }
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

/// Places the rows of each point at its value of a column; without one they are left out.
fn place(rows: &mut Vec<Row>, column: &str) {
    let at = rows.iter().filter(|row| row.metric == column);
    let at: BTreeMap<String, f64> = at.map(|row| (row.label.clone(), row.mean)).collect();
    rows.retain(|row| at.contains_key(&row.label));
    rows.iter_mut().for_each(|row| row.x = at[&row.label]);
}

impl Quantity {
    /// A curve for each run.
    fn draw<'a>(
        self,
        title: &str,
        runs: impl Iterator<Item = &'a (Point, RunResult)>,
    ) -> Vec<Figure> {
        let points = |run: &RunResult| match self {
            Quantity::Latency => {
                distribution(run.flows.first().map_or(&[], |it| it.latencies_ms()))
            }
            Quantity::Throughput => course(run),
        };
        let curve = |(point, run): &(Point, RunResult)| Series {
            name: point.series.to_owned(),
            style: Style::Measured,
            points: points(run),
        };
        let series: Vec<Series> = runs.map(curve).filter(|it| !it.points.is_empty()).collect();
        if series.is_empty() {
            return Vec::new();
        }
        let (x_label, y_label) = match self {
            Quantity::Latency => ("latency, ms", "share of requests, %"),
            Quantity::Throughput => ("s", "B/s"),
        };
        vec![Figure::Lines(Lines {
            title: title.to_owned(),
            x_label: x_label.to_owned(),
            y_label: y_label.to_owned(),
            series,
        })]
    }
}

/// Throughput of the first flow, a point every ten samples.
fn course(run: &RunResult) -> Vec<(f64, f64, Option<f64>)> {
    let every: Vec<_> = run.samples.iter().step_by(10).collect();
    let rate = |pair: &[&Sample]| {
        let octets = pair[1].bytes.first()? - pair[0].bytes.first()?;
        Some((pair[1].at_s, octets as f64 / (pair[1].at_s - pair[0].at_s), None))
    };
    every.windows(2).filter_map(rate).collect()
}

/// Empirical distribution of the values, with a point at every twentieth of it.
fn distribution(values: &[f64]) -> Vec<(f64, f64, Option<f64>)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    let at = |part: usize| (sorted[last * part / 20], part as f64 * 5.0, None);
    (0..=20).map(at).collect()
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
    let mut bars = Vec::new();
    for point in points {
        bars.push((point.to_owned(), columns.iter().map(|it| value(point, it)).collect()));
        let paper = rows.iter().find(|row| row.label == point).and_then(|row| row.paper);
        if let Some(paper) = paper.filter(|_| drawing.paper) {
            bars.push((format!("{point}, the paper"), vec![paper]));
        }
    }
    Some(Figure::Bars(Bars {
        title: drawing.title.get_ref().clone(),
        unit: rows.first()?.unit.clone(),
        parts: columns.iter().map(|column| column.replace('_', " ")).collect(),
        bars,
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
            Each::RadioTime => {
                let ends = point.scenario.flows.iter().map(|flow| flow.kind.ends());
                let ends: BTreeSet<_> = ends.flat_map(|(from, to)| [Some(from), to]).collect();
                let nodes = ends.into_iter().flatten();
                let nodes: Vec<_> = nodes.filter_map(|it| run.nodes.get(it as usize)).collect();
                ledger(&title, &nodes, true, run.sim_seconds)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_goes_from_the_least_to_the_most() {
        let points = distribution(&[3.0, 1.0, 2.0]);
        assert_eq!(points.first(), Some(&(1.0, 0.0, None)));
        assert_eq!(points.last(), Some(&(3.0, 100.0, None)));
        assert!(distribution(&[]).is_empty());
    }

    #[test]
    fn throughput_is_that_of_ten_seconds() {
        let sample = |second: u64| Sample {
            at_s: second as f64,
            bytes: vec![if second <= 10 { 0 } else { 500 * (second - 10) }],
            on_s: Vec::new(),
            power: Vec::new(),
            waiting: Vec::new(),
            rtt_ms: None,
            retransmitted: 0,
        };
        let run = RunResult { samples: (0..=25).map(sample).collect(), ..RunResult::default() };
        assert_eq!(course(&run), [(10.0, 0.0, None), (20.0, 500.0, None)]);
        assert!(course(&RunResult::default()).is_empty());
    }
}
