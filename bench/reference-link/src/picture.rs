//! The table as curves: goodput of the stacks against the loss of frames.

use kinglet_sweep::chart::{Figure, Lines, Series, Style};
use kinglet_report::page;

/// Rows that are drawn, with the names of their curves: every peer in the better of its settings,
/// Kinglet with and without loss reports of its MAC.
pub const ROWS: [(&str, &str); 6] = [
    ("kinglet-feedback", "Kinglet, its MAC reports lost frames"),
    ("kinglet-adaptive", "Kinglet without that, adaptive segments"),
    ("kinglet", "Kinglet without either"),
    ("tcplp", "TCPlp (OpenThread), 16-bit addresses"),
    ("smoltcp-4x300ms", "smoltcp, four short reassembly slots"),
    ("lwip", "lwIP"),
];

/// A picture of curves: their names with points of loss (%), goodput and its deviation (kb/s).
pub fn svg(curves: Vec<(&str, Vec<(f64, f64, f64)>)>) -> String {
    let series = |(name, points): (&str, Vec<(f64, f64, f64)>)| Series {
        name: name.to_owned(),
        style: Style::Measured,
        points: points.into_iter().map(|(x, y, deviation)| (x, y, Some(deviation))).collect(),
    };
    page::picture(&Figure::Lines(Lines {
        title: "Goodput on one lossy link, five-frame segments".to_owned(),
        x_label: "frames lost after the link's retries, %".to_owned(),
        y_label: "goodput, kb/s (± standard deviation)".to_owned(),
        series: curves.into_iter().map(series).collect(),
    }))
}
