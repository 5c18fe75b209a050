//! Lanes of radio activity that can be zoomed and inspected.
//!
//! If nodes are duty-cycled a lane has three rows. The upper row shows bursts with their numbers of
//! frames. The middle row shows the radio, with strobes behind the frames that they repeat. The
//! lower row shows the flash.

use super::draw::{Axis, abscissa};
use super::drawing::{Drawing, Key, WIDE, legend};
use super::escape;
use kinglet_network::run::{Activity, ActivityKind, Lane, LaneItem, LaneKind};
use kinglet_sweep::chart::Timeline;
use std::fmt::Write;

/// The data for the script, an empty canvas for it, and a table for users who cannot see it.
pub(super) fn draw(page: &mut String, timeline: &Timeline, name: &str, caption: &str) {
    let (from, to) = timeline.range_us;
    let intervals = shown(timeline);
    let _ = writeln!(
        page,
        "<figure class=\"wide timeline\" id=\"t-{name}\"><figcaption>{}</figcaption>\n\
         <p class=\"hint\">Wheel or <kbd>+</kbd> <kbd>−</kbd> zooms, drag or <kbd>←</kbd> \
         <kbd>→</kbd> moves, double click or <kbd>0</kbd> shows all; the strip below shows \
         where you are.{}{}</p>\n\
         <svg class=\"lanes\" tabindex=\"0\" role=\"img\" aria-label=\"Radio activity of {} nodes \
         from {:.3} to {:.3} s\" data-nodes=\"{}\" data-from=\"{from}\" data-to=\"{to}\"></svg>",
        escape(&timeline.title),
        if in_rows(&intervals) { IN_ROWS } else { "" },
        if timeline.lanes.is_empty() { "" } else { FOLLOW },
        timeline.nodes,
        from as f64 / 1e6,
        to as f64 / 1e6,
        timeline.nodes
    );
    let mut keys = legend_of_kinds(&intervals);
    keys.extend(legend_of_lanes(&timeline.lanes));
    legend(page, &keys);
    page.push_str("<script type=\"application/json\">[");
    for (index, a) in intervals.iter().enumerate() {
        let kind = class(a.kind);
        let comma = if index == 0 { "" } else { "," };
        let count = a.count.map_or_else(String::new, |count| format!(",{count}"));
        let _ = write!(page, "{comma}[{},{},{},\"{kind}\"{count}]", a.node, a.from_us, a.to_us);
    }
    page.push_str("]</script>");
    if !timeline.lanes.is_empty() {
        draw_lanes(page, timeline);
    }
    let _ = writeln!(page, "<p class=\"caption\">{}</p></figure>", escape(caption));
}

/// The data of lanes below those of the radios, and of frames over them.
fn draw_lanes(page: &mut String, timeline: &Timeline) {
    let own = timeline.lanes.iter().filter(|lane| lane.radio.is_none());
    let names: Vec<&str> = own.map(|lane| lane.name.as_str()).collect();
    let names = serde_json::json!(names).to_string();
    let _ = write!(page, "<script type=\"application/json\" class=\"lanes\">[{names},[");
    let (mut place, mut comma) = (timeline.nodes, "");
    for lane in &timeline.lanes {
        let number = lane.radio.map_or(place, |node| node as usize);
        for item in &lane.items {
            let LaneItem { from_us, to_us, .. } = item;
            let count = item.count.map_or("null".to_owned(), |count| count.to_string());
            let packet = item.packet.map_or("null".to_owned(), |packet| packet.to_string());
            let kind = lane_class(item.kind);
            let _ = write!(page, "{comma}[{number},{from_us},{to_us},\"{kind}\",{count},{packet}]");
            comma = ",";
        }
        place += usize::from(lane.radio.is_none());
    }
    page.push_str("]]</script>");
}

const fn lane_class(kind: LaneKind) -> &'static str {
    match kind {
        LaneKind::Segment => "seg",
        LaneKind::Again => "ret",
        LaneKind::Ack => "pak",
        LaneKind::Lost => "gone",
        LaneKind::Window => "wnd",
        LaneKind::Queue => "que",
        LaneKind::Source => "src",
        LaneKind::Frame => "frm",
    }
}

/// Names of the item kinds that occur in lanes.
fn legend_of_lanes(lanes: &[Lane]) -> Vec<(Key, String)> {
    let kinds = [
        (LaneKind::Segment, "segment, until it arrives"),
        (LaneKind::Again, "retransmission"),
        (LaneKind::Ack, "segment without data"),
        (LaneKind::Lost, "segment that did not arrive"),
        (LaneKind::Window, "congestion window"),
        (LaneKind::Queue, "packet in a queue"),
        (LaneKind::Source, "burst of interference"),
    ];
    let seen = |kind| lanes.iter().flat_map(|lane| &lane.items).any(|item| item.kind == kind);
    let kinds = kinds.into_iter().filter(|(kind, _)| seen(*kind));
    kinds.map(|(kind, text)| (Key::Radio(lane_class(kind)), text.to_owned())).collect()
}

/// Effect of a click.
const FOLLOW: &str = " A click on a segment shows where else it is: its frames on each hop, and \
                      the queues that it waits in.";

/// Explanation of lanes with rows.
const IN_ROWS: &str = " In each lane: above, bursts with the number of their frames; in the \
                       middle, the radio, each strobe behind the frames that it repeats; \
                       below, the flash.";

/// Names of the activity kinds: first those of every network, then the others that occur.
fn legend_of_kinds(intervals: &[&Activity]) -> Vec<(Key, String)> {
    const EVERYWHERE: usize = 5;
    let kinds = [
        (ActivityKind::Transmit, "sends data"),
        (ActivityKind::Ack, "sends acknowledgement"),
        (ActivityKind::Receive, "receives"),
        (ActivityKind::Collision, "hears a collision"),
        (ActivityKind::On, "radio on"),
        (ActivityKind::Busy, "finds the channel busy"),
        (ActivityKind::Sample, "wakes and samples the channel"),
        (ActivityKind::Notice, "wakes and notices something"),
        (ActivityKind::Strobe, "strobe, until it was acknowledged"),
        (ActivityKind::Unheard, "strobe that nobody acknowledged"),
        (ActivityKind::Burst, "burst"),
        (ActivityKind::FlashRead, "flash reads"),
        (ActivityKind::FlashWrite, "flash writes"),
        (ActivityKind::FlashErase, "flash erases"),
    ];
    let seen = |kind: ActivityKind| intervals.iter().any(|a| a.kind == kind);
    let kinds = kinds.into_iter().enumerate();
    let kinds = kinds.filter(|(index, (kind, _))| *index < EVERYWHERE || seen(*kind));
    kinds.map(|(_, (kind, text))| (Key::Radio(class(kind)), text.to_owned())).collect()
}

const fn class(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Transmit => "tx",
        ActivityKind::Ack => "ack",
        ActivityKind::Receive => "rx",
        ActivityKind::Collision => "col",
        ActivityKind::On => "on",
        ActivityKind::Busy => "busy",
        ActivityKind::Sample => "smp",
        ActivityKind::Notice => "ntc",
        ActivityKind::Strobe => "str",
        ActivityKind::Unheard => "lost",
        ActivityKind::Burst => "bst",
        ActivityKind::FlashRead => "fr",
        ActivityKind::FlashWrite => "fw",
        ActivityKind::FlashErase => "fe",
    }
}

/// True if lanes have rows: there is activity that only rows show.
fn in_rows(intervals: &[&Activity]) -> bool {
    use ActivityKind::{Burst, FlashErase, FlashRead, FlashWrite, Notice, Sample, Strobe, Unheard};
    let rows = [Burst, FlashErase, FlashRead, FlashWrite, Notice, Sample, Strobe, Unheard];
    intervals.iter().any(|a| rows.contains(&a.kind))
}

/// Position and height of an activity kind in its lane, with and without rows.
const fn row(kind: ActivityKind, rows: bool) -> (f64, f64) {
    match kind {
        _ if !rows => (0.0, 26.0),
        ActivityKind::Burst => (2.0, 13.0),
        ActivityKind::FlashRead | ActivityKind::FlashWrite | ActivityKind::FlashErase => {
            (38.0, 8.0)
        }
        ActivityKind::Strobe | ActivityKind::Unheard => (17.0, 19.0),
        ActivityKind::On => (31.0, 4.0),
        _ => (19.0, 15.0),
    }
}

/// Visible activity, in drawing order.
fn shown(timeline: &Timeline) -> Vec<&Activity> {
    let (from, to) = timeline.range_us;
    let inside = |a: &&Activity| a.to_us >= from && a.from_us <= to;
    let mut intervals: Vec<&Activity> = timeline.activity.iter().filter(inside).collect();
    // Radio activity is drawn over the radio-on interval, and frames over the strobe that sends
    // them.
    let layer = |kind| match kind {
        ActivityKind::On => 0,
        ActivityKind::Burst | ActivityKind::Strobe | ActivityKind::Unheard => 1,
        _ => 2,
    };
    intervals.sort_by_key(|a| (layer(a.kind), a.from_us, a.node));
    intervals
}

/// The whole timeline as a picture without zoom.
pub(super) fn still(timeline: &Timeline) -> Drawing {
    const LEFT: f64 = 64.0;
    let (from, to) = timeline.range_us;
    let intervals = shown(timeline);
    let rows = in_rows(&intervals);
    let lane = if rows { 52.0 } else { 30.0 };
    let bottom = lane * timeline.nodes as f64;
    let x = Axis { low: from as f64 / 1e6, high: to as f64 / 1e6, pixels: (LEFT, WIDE - 30.0) };
    let mut body = String::new();
    for node in 0..timeline.nodes {
        let y = lane * node as f64;
        let _ = writeln!(
            body,
            "<rect class=\"lane\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\"/>\
             <text class=\"name\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">node {node}</text>",
            x.pixels.1 - LEFT,
            lane - 4.0,
            LEFT - 8.0,
            y + lane / 2.0 + 2.0
        );
    }
    for a in &intervals {
        let left = x.at(a.from_us.max(from) as f64 / 1e6);
        let right = x.at(a.to_us.min(to) as f64 / 1e6);
        let (above, height) = row(a.kind, rows);
        let (top, width) = (lane * f64::from(a.node) + above, (right - left).max(0.8));
        let _ = writeln!(
            body,
            "<rect class=\"k-{}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height}\"/>",
            class(a.kind)
        );
        if let (ActivityKind::Burst, Some(frames)) = (a.kind, a.count)
            && width > ROOM_FOR_COUNT
        {
            let _ = writeln!(
                body,
                "<text class=\"count\" x=\"{:.1}\" y=\"{:.1}\">{frames} frames</text>",
                left + 4.0,
                top + height - 3.0
            );
        }
    }
    abscissa(&mut body, &x, 0.0, bottom, "time, s");
    Drawing {
        title: timeline.title.clone(),
        size: (WIDE, bottom + 44.0),
        body,
        legend: legend_of_kinds(&intervals),
    }
}

/// Width of a burst in pixels from which its number of frames is legible.
const ROOM_FOR_COUNT: f64 = 64.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_radio_is_drawn_first_and_frames_last_whenever_they_begin() {
        use ActivityKind::*;
        let of = |(from_us, kind)| Activity { node: 0, from_us, to_us: 9, kind, count: None };
        let activity = [(1, Transmit), (2, Burst), (2, Strobe), (3, On), (4, On)].map(of).to_vec();
        let timeline = Timeline {
            title: String::new(),
            nodes: 1,
            activity,
            lanes: Vec::new(),
            range_us: (0, 9),
        };
        let kinds: Vec<_> = shown(&timeline).iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [On, On, Burst, Strobe, Transmit]);
    }
}
