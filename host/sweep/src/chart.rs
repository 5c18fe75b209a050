//! Contents of the figures of a report, independent of their rendering.

use crate::row::Row;
use kinglet_network::run::{Activity, CwndSample, Lane, NodeResult};
use kinglet_sim::ledger::Cause;

/// A figure.
#[derive(Clone, Debug)]
pub enum Figure {
    /// Curves over an abscissa.
    Lines(Lines),
    /// Stacked horizontal bars.
    Bars(Bars),
    /// A congestion window over time.
    Cwnd(Cwnd),
    /// State of each radio over time.
    Timeline(Timeline),
}

impl Figure {
    /// Its heading.
    pub fn title(&self) -> &str {
        match self {
            Figure::Lines(lines) => &lines.title,
            Figure::Bars(bars) => &bars.title,
            Figure::Cwnd(cwnd) => &cwnd.title,
            Figure::Timeline(timeline) => &timeline.title,
        }
    }

    /// One sentence on how to read it.
    pub fn caption(&self) -> String {
        match self {
            Figure::Lines(lines) => lines.caption(),
            Figure::Bars(bars) => match bars.parts.len() {
                0 | 1 => format!("The length of a bar is its value, in {}.", bars.unit),
                _ => format!(
                    "A bar has one colour per part, and its number is the sum, in {}.",
                    bars.unit
                ),
            },
            Figure::Cwnd(_) => "The line is the congestion window of the first seed's run; the \
                                dashed line is the send buffer."
                .to_owned(),
            Figure::Timeline(timeline) => format!(
                "One lane per radio: {:.3} s of the first seed's run.",
                (timeline.range_us.1 - timeline.range_us.0) as f64 / 1e6
            ),
        }
    }
}

/// Curves over an abscissa.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Heading.
    pub title: String,
    /// With unit.
    pub x_label: String,
    /// With unit.
    pub y_label: String,
    /// In drawing order.
    pub series: Vec<Series>,
}

impl Lines {
    fn caption(&self) -> String {
        let drawn = |style| self.series.iter().any(|series| series.style == style);
        let mut signs = Vec::new();
        if drawn(Style::Measured) {
            signs.push("points are means with 95 % intervals");
        }
        if drawn(Style::Bound) {
            signs.push("dashed lines are bounds");
        }
        if drawn(Style::Model) {
            signs.push("dotted lines are computed by a model");
        }
        if drawn(Style::Paper) {
            signs.push("crosses are the paper's figures");
        }
        format!("{} by {}: {}.", self.y_label, self.x_label, signs.join(", "))
    }
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Line and marker style.
    pub style: Style,
    /// (x, y, half-width of the interval).
    pub points: Vec<(f64, f64, Option<f64>)>,
}

/// Line and marker style of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Solid with markers and intervals: measured here.
    Measured,
    /// Dashed: a bound.
    Bound,
    /// Dotted: a model.
    Model,
    /// Crosses: the paper's figures.
    Paper,
}

/// Stacked horizontal bars.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Heading.
    pub title: String,
    /// Unit of the abscissa.
    pub unit: String,
    /// Names of the parts, the same for every bar.
    pub parts: Vec<String>,
    /// Name and parts of each bar.
    pub bars: Vec<(String, Vec<f64>)>,
    /// Single marks, such as the published figure: name and value.
    pub marks: Vec<(String, f64)>,
}

/// A congestion window over time.
#[derive(Clone, Debug)]
pub struct Cwnd {
    /// Heading.
    pub title: String,
    /// Samples in order of time.
    pub samples: Vec<CwndSample>,
    /// Send buffer in octets: a larger window has no effect.
    pub buffer: f64,
    /// Seconds shown.
    pub range_s: (f64, f64),
}

/// State of each radio over time.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// Heading.
    pub title: String,
    /// Number of lanes.
    pub nodes: usize,
    /// Activity in any order.
    pub activity: Vec<Activity>,
    /// Lanes below those of the radios, and frames drawn over them.
    pub lanes: Vec<Lane>,
    /// Microseconds shown.
    pub range_us: (u64, u64),
}

/// Curves of `metric`, one per series of `rows`, with bound and the paper's figures where given.
pub fn curves(rows: &[Row], metric: &str, title: &str, x_label: &str) -> Option<Figure> {
    let rows: Vec<&Row> = rows.iter().filter(|r| r.metric == metric).collect();
    let unit = &rows.first()?.unit;
    let mut names: Vec<&str> = Vec::new();
    for row in &rows {
        if !names.contains(&row.series) {
            names.push(row.series);
        }
    }
    let mut series: Vec<Series> = Vec::new();
    for name in &names {
        let points =
            rows.iter().filter(|r| r.series == *name).map(|r| (r.x, r.mean, r.ci95)).collect();
        series.push(Series { name: (*name).to_owned(), style: Style::Measured, points });
    }
    let mut extra = |suffix: &str, style, value: fn(&Row) -> Option<f64>| {
        for name in &names {
            let mine = rows.iter().filter(|r| r.series == *name);
            let points: Vec<_> = mine.filter_map(|r| Some((r.x, value(r)?, None))).collect();
            let known = series.iter().any(|s| s.style == style && s.points == points);
            if !points.is_empty() && !known {
                let name = match names.len() {
                    1 => suffix.to_owned(),
                    _ => format!("{suffix}, {name}"),
                };
                series.push(Series { name, style, points });
            }
        }
    };
    extra("bound", Style::Bound, |r| r.bound);
    extra("paper", Style::Paper, |r| r.paper);
    Some(Figure::Lines(Lines {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: format!("{}, {unit}", metric.replace('_', " ")),
        series,
    }))
}

/// Adds another metric's rows to curves as series of a model.
pub fn overlay(figure: &mut Figure, rows: &[Row], metric: &str, name: &str) {
    let Figure::Lines(lines) = figure else { return };
    let mut names: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|r| r.metric == metric) {
        if !names.contains(&row.series) {
            names.push(row.series);
        }
    }
    for series in names {
        let mine = rows.iter().filter(|r| r.metric == metric && r.series == series);
        lines.series.push(Series {
            name: format!("{name}, {series}"),
            style: Style::Model,
            points: mine.map(|r| (r.x, r.mean, None)).collect(),
        });
    }
}

/// Radio-on time of `nodes` by purpose, in per cent of `sim_seconds`. Idle listening is optional:
/// it dwarfs all else if a radio never sleeps.
pub fn ledger(
    title: &str,
    nodes: &[&NodeResult],
    listening: bool,
    sim_seconds: f64,
) -> Option<Figure> {
    let shown = |node: &NodeResult| {
        let (vain, mut parts): (Vec<_>, Vec<_>) =
            node.radio_s.parts().into_iter().partition(|(name, _)| *name == Cause::Listen.name());
        // It comes last, so that the other parts have the same colours without it.
        parts.extend(vain.into_iter().filter(|_| listening));
        parts
    };
    let parts = shown(nodes.first()?).into_iter().map(|(name, _)| name.to_owned());
    let bar = |node: &&NodeResult| {
        let share = |(_, seconds): (&str, f64)| 100.0 * seconds / sim_seconds.max(1e-9);
        (format!("node {}", node.id), shown(node).into_iter().map(share).collect())
    };
    Some(Figure::Bars(Bars {
        title: title.to_owned(),
        unit: "% of the time".to_owned(),
        parts: parts.collect(),
        bars: nodes.iter().map(bar).collect(),
        marks: Vec::new(),
    }))
}

/// Average power of `nodes` over `sim_seconds`, part by part, in milliwatts.
pub fn power(title: &str, nodes: &[&NodeResult], sim_seconds: f64) -> Option<Figure> {
    let names = nodes.first()?.power.parts().map(|(name, _)| name.to_owned());
    let bar = |node: &&NodeResult| {
        let parts = node.power.parts().map(|(_, spent)| spent.mj / sim_seconds.max(1e-9));
        (format!("node {}", node.id), parts.into())
    };
    Some(Figure::Bars(Bars {
        title: title.to_owned(),
        unit: "mW".to_owned(),
        parts: names.into(),
        bars: nodes.iter().map(bar).collect(),
        marks: Vec::new(),
    }))
}

/// The radio duty cycle of `nodes` in each hour of a run that began at `start_hour`; `None` if it
/// took less than two hours.
pub fn duty_by_hour(title: &str, nodes: &[&NodeResult], start_hour: f64) -> Option<Figure> {
    let hours = nodes.iter().map(|node| node.duty_by_hour.len()).max().filter(|n| *n > 1)?;
    let series = nodes.iter().map(|node| Series {
        name: format!("node {}", node.id),
        style: Style::Measured,
        points: (0..hours as u32)
            .zip(&node.duty_by_hour)
            .map(|(hour, duty)| (start_hour + f64::from(hour), 100.0 * duty, None))
            .collect(),
    });
    Some(Figure::Lines(Lines {
        title: title.to_owned(),
        x_label: "hours since midnight".to_owned(),
        y_label: "radio duty cycle, %".to_owned(),
        series: series.collect(),
    }))
}
