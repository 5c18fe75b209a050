//! Curves with intervals, and congestion windows over time.

use super::draw::{Axis, COLOURS, abscissa, ordinate};
use super::drawing::{Drawing, Key, NARROW};
use super::escape;
use crate::number::short;
use kinglet_sweep::chart::{Cwnd, Lines, Series, Style};
use std::fmt::Write;

const SIZE: (f64, f64) = (NARROW, 320.0);
const LEFT: f64 = 52.0;
const RIGHT: f64 = 546.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 276.0;

/// Curves over an abscissa.
pub(super) fn draw(lines: &Lines) -> Drawing {
    let mut body = String::new();
    let page = &mut body;
    let points = || lines.series.iter().flat_map(|s| &s.points);
    let y = y_axis(lines);
    let x = x_axis(points().map(|p| p.0));
    ordinate(page, &y, LEFT, RIGHT, &lines.y_label);
    abscissa(page, &x, 1.0, BOTTOM, &lines.x_label);
    let colours = colours(&lines.series);
    for (series, colour) in lines.series.iter().zip(&colours) {
        curve(page, series, *colour, &x, &y);
    }
    let key = |(series, colour): (&Series, &usize)| {
        let key = match series.style {
            Style::Measured => Key::Box(*colour),
            Style::Bound => Key::Dash(*colour),
            Style::Model => Key::Dot(*colour),
            Style::Paper => Key::Cross(*colour),
        };
        (key, series.name.clone())
    };
    let legend = lines.series.iter().zip(&colours).map(key).collect();
    Drawing { title: lines.title.clone(), size: SIZE, body, legend }
}

/// From zero to above the highest interval; a percentage near 100 % ends there.
fn y_axis(lines: &Lines) -> Axis {
    let points = || lines.series.iter().flat_map(|s| &s.points);
    let most = points().map(|(_, y, _)| *y).fold(0.0, f64::max);
    if lines.y_label.ends_with('%') && (80.0..=100.0).contains(&most) {
        return Axis { low: 0.0, high: 100.0, pixels: (BOTTOM, TOP) };
    }
    Axis::from_zero(points().map(|(_, y, ci)| y + ci.unwrap_or(0.0)), (BOTTOM, TOP))
}

/// From the first to the last point with a margin, or from zero if that is near.
fn x_axis(values: impl Iterator<Item = f64> + Clone) -> Axis {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || high <= low {
        let middle = if low.is_finite() { low } else { 0.0 };
        return Axis { low: middle - 1.0, high: middle + 1.0, pixels: (LEFT, RIGHT) };
    }
    let margin = (high - low) * 0.04;
    Axis { low: low - margin, high: high + margin, pixels: (LEFT, RIGHT) }
}

/// A colour per series. Bounds, models and published values take the colour of their curve: the one
/// whose name is a suffix of theirs, or else the first.
fn colours(series: &[Series]) -> Vec<usize> {
    let measured: Vec<&str> =
        series.iter().filter(|s| s.style == Style::Measured).map(|s| s.name.as_str()).collect();
    let of = |s: &Series| match s.style {
        Style::Measured => measured.iter().position(|m| *m == s.name),
        _ => measured.iter().position(|m| s.name.ends_with(&format!(", {m}"))),
    };
    series.iter().map(|s| of(s).unwrap_or(0) % COLOURS).collect()
}

fn curve(page: &mut String, series: &Series, colour: usize, x: &Axis, y: &Axis) {
    let finite = series.points.iter().filter(|(a, b, _)| a.is_finite() && b.is_finite());
    let points: Vec<_> = finite.copied().collect();
    if series.style != Style::Paper {
        let path: Vec<String> =
            points.iter().map(|p| format!("{:.1},{:.1}", x.at(p.0), y.at(p.1))).collect();
        let dash = match series.style {
            Style::Bound => " dash",
            Style::Model => " dot",
            Style::Measured | Style::Paper => "",
        };
        let path = path.join(" ");
        let _ = writeln!(page, "<polyline class=\"line{dash} c{colour}\" points=\"{path}\"/>");
    }
    for (px, py, ci) in points {
        let (cx, cy) = (x.at(px), y.at(py));
        let interval = ci.map_or_else(String::new, |ci| format!(" ± {}", short(ci)));
        let tip = escape(&format!("{}: {}{interval} at {}", series.name, short(py), short(px)));
        match series.style {
            Style::Measured => {
                if let Some(ci) = ci.filter(|ci| *ci > 0.0) {
                    let (low, high) = (y.at((py - ci).max(0.0)), y.at((py + ci).min(y.high)));
                    let _ = writeln!(
                        page,
                        "<path class=\"ci c{colour}\" d=\"M{cx:.1} {low:.1}V{high:.1}M{:.1} \
                         {low:.1}h8M{:.1} {high:.1}h8\"/>",
                        cx - 4.0,
                        cx - 4.0
                    );
                }
                let _ = writeln!(
                    page,
                    "<circle class=\"f{colour}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.6\" \
                     data-tip=\"{tip}\"><title>{tip}</title></circle>"
                );
            }
            Style::Paper => {
                let _ = writeln!(
                    page,
                    "<path class=\"paper c{colour}\" d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\" \
                     data-tip=\"{tip}\"><title>{tip}</title></path>",
                    cx - 5.0,
                    cy - 5.0
                );
            }
            Style::Bound | Style::Model => {}
        }
    }
}

/// Largest number of samples drawn: more than pixels would not be visible.
const MAX_SAMPLES: usize = 4_000;

/// A congestion window over time, as steps.
pub(super) fn cwnd(cwnd: &Cwnd) -> Drawing {
    let mut body = String::new();
    let page = &mut body;
    let (from, to) = cwnd.range_s;
    // There is a sample per change: the last one before the range is still valid in it.
    let before = cwnd.samples.iter().rev().find(|s| s.at_s < from);
    let inside = cwnd.samples.iter().filter(|s| (from..=to).contains(&s.at_s));
    let inside: Vec<_> = before.into_iter().chain(inside).collect();
    // A window beyond the buffer has no effect. It is cut there, as in the paper.
    let top = cwnd.buffer;
    let y = Axis::from_zero([top * 1.1].into_iter(), (200.0, TOP));
    let x = Axis { low: from, high: to.max(from + 1e-6), pixels: (LEFT, RIGHT) };
    ordinate(page, &y, LEFT, RIGHT, "congestion window, octets (cut at the send buffer)");
    abscissa(page, &x, 1.0, 200.0, "time, s");
    let limit = y.at(top);
    let _ = writeln!(
        page,
        "<line class=\"line dash c3\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{limit:.1}\" \
         y2=\"{limit:.1}\"/>"
    );
    let every = inside.len().div_ceil(MAX_SAMPLES).max(1);
    let mut path = String::new();
    for (index, sample) in inside.iter().step_by(every).enumerate() {
        let (px, py) = (x.at(sample.at_s.max(from)), y.at(f64::from(sample.cwnd).min(top)));
        let _ = match index {
            0 => write!(path, "M{px:.1} {py:.1}"),
            _ => write!(path, "H{px:.1}V{py:.1}"),
        };
    }
    let end = if path.is_empty() { String::new() } else { format!("H{:.1}", x.at(to)) };
    let _ = writeln!(page, "<path class=\"line c0\" d=\"{path}{end}\"/>");
    Drawing { title: cwnd.title.clone(), size: (NARROW, 244.0), body, legend: Vec::new() }
}
