//! Lanes of radio activity that can be zoomed and inspected.

use super::escape;
use crate::chart::Timeline;
use crate::run::{Activity, ActivityKind};
use std::fmt::Write;

/// The data for the script, an empty canvas for it, and a table for those who cannot see it.
pub(super) fn draw(page: &mut String, timeline: &Timeline, name: &str) {
    let (from, to) = timeline.range_us;
    let inside = |a: &&Activity| a.to_us >= from && a.from_us <= to;
    let mut intervals: Vec<&Activity> = timeline.activity.iter().filter(inside).collect();
    // What a radio is on for is drawn over its being on.
    intervals.sort_by_key(|a| (a.kind != ActivityKind::On, a.from_us, a.node));
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
    page.push_str("<ul class=\"legend\">");
    for (class, text) in [
        ("tx", "sends data"),
        ("ack", "sends acknowledgement"),
        ("rx", "receives"),
        ("col", "hears a collision"),
        ("on", "radio on"),
    ] {
        let _ = write!(page, "<li><i class=\"k-{class}\"></i>{text}</li>");
    }
    page.push_str("</ul>\n<script type=\"application/json\">[");
    for (index, a) in intervals.iter().enumerate() {
        let kind = match a.kind {
            ActivityKind::Transmit => "tx",
            ActivityKind::Ack => "ack",
            ActivityKind::Receive => "rx",
            ActivityKind::Collision => "col",
            ActivityKind::On => "on",
        };
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(page, "{comma}[{},{},{},\"{kind}\"]", a.node, a.from_us, a.to_us);
    }
    page.push_str("]</script></figure>\n");
}
