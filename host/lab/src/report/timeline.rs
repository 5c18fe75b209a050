//! Lanes of radio activity that can be zoomed and inspected.

use super::draw::{Axis, abscissa};
use super::drawing::{Drawing, Key, WIDE, legend};
use super::escape;
use crate::chart::Timeline;
use crate::run::{Activity, ActivityKind};
use std::fmt::Write;

/// The data for the script, an empty canvas for it, and a table for those who cannot see it.
pub(super) fn draw(page: &mut String, timeline: &Timeline, name: &str) {
    let (from, to) = timeline.range_us;
    let intervals = shown(timeline);
    let _ = writeln!(
        page,
        "<figure class=\"wide timeline\" id=\"t-{name}\"><figcaption>{}</figcaption>\n\
         <p class=\"hint\">Wheel or <kbd>+</kbd> <kbd>−</kbd> zooms, drag or <kbd>←</kbd> \
         <kbd>→</kbd> moves, double click or <kbd>0</kbd> shows all; the strip below shows \
         where you are.</p>\n\
         <svg class=\"lanes\" tabindex=\"0\" role=\"img\" aria-label=\"Radio activity of {} nodes \
         from {:.3} to {:.3} s\" data-nodes=\"{}\" data-from=\"{from}\" data-to=\"{to}\"></svg>",
        escape(&timeline.title),
        timeline.nodes,
        from as f64 / 1e6,
        to as f64 / 1e6,
        timeline.nodes
    );
    legend(page, &legend_of_kinds());
    page.push_str("<script type=\"application/json\">[");
    for (index, a) in intervals.iter().enumerate() {
        let kind = class(a.kind);
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(page, "{comma}[{},{},{},\"{kind}\"]", a.node, a.from_us, a.to_us);
    }
    page.push_str("]</script></figure>\n");
}

/// What the kinds of activity are called.
fn legend_of_kinds() -> Vec<(Key, String)> {
    let kinds = [
        (ActivityKind::Transmit, "sends data"),
        (ActivityKind::Ack, "sends acknowledgement"),
        (ActivityKind::Receive, "receives"),
        (ActivityKind::Collision, "hears a collision"),
        (ActivityKind::On, "radio on"),
    ];
    kinds.map(|(kind, text)| (Key::Radio(class(kind)), text.to_owned())).into()
}

const fn class(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Transmit => "tx",
        ActivityKind::Ack => "ack",
        ActivityKind::Receive => "rx",
        ActivityKind::Collision => "col",
        ActivityKind::On => "on",
    }
}

/// What can be seen, in the order in which it is drawn.
fn shown(timeline: &Timeline) -> Vec<&Activity> {
    let (from, to) = timeline.range_us;
    let inside = |a: &&Activity| a.to_us >= from && a.from_us <= to;
    let mut intervals: Vec<&Activity> = timeline.activity.iter().filter(inside).collect();
    // What a radio is on for is drawn over its being on.
    intervals.sort_by_key(|a| (a.kind != ActivityKind::On, a.from_us, a.node));
    intervals
}

/// The whole of it as a picture, which cannot be zoomed.
pub(super) fn still(timeline: &Timeline) -> Drawing {
    const LEFT: f64 = 64.0;
    const LANE: f64 = 30.0;
    let (from, to) = timeline.range_us;
    let bottom = LANE * timeline.nodes as f64;
    let x = Axis { low: from as f64 / 1e6, high: to as f64 / 1e6, pixels: (LEFT, WIDE - 30.0) };
    let mut body = String::new();
    for node in 0..timeline.nodes {
        let y = LANE * node as f64;
        let _ = writeln!(
            body,
            "<rect class=\"lane\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\"/>\
             <text class=\"name\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">node {node}</text>",
            x.pixels.1 - LEFT,
            LANE - 4.0,
            LEFT - 8.0,
            y + 17.0
        );
    }
    for a in shown(timeline) {
        let left = x.at(a.from_us.max(from) as f64 / 1e6);
        let right = x.at(a.to_us.min(to) as f64 / 1e6);
        let _ = writeln!(
            body,
            "<rect class=\"k-{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\"/>",
            class(a.kind),
            LANE * f64::from(a.node),
            (right - left).max(0.8),
            LANE - 4.0
        );
    }
    abscissa(&mut body, &x, 0.0, bottom, "time, s");
    Drawing {
        title: timeline.title.clone(),
        size: (WIDE, bottom + 44.0),
        body,
        legend: legend_of_kinds(),
    }
}
