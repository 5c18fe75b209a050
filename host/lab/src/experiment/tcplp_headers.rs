//! Tables 4 and 5: comparison of links, and header octets per frame.

use super::headers_on_air::{Headers, longest, on_air};
use super::nothing_to_simulate;
use crate::experiment::{InRust, readme};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{ExperimentResult, Rows};

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-headers",
    readme: readme!("tcplp-headers"),
    source: "TCPlp Tables 4 and 5, §6.1",
    main: "",
    plan: nothing_to_simulate,
    refine,
    figures: no_figures,
};

/// Name, capacity in Mb/s, MTU in octets, the paper's time in ms.
const LINKS: [(&str, f64, f64, f64); 3] = [
    ("Fast Ethernet", 100.0, 1_500.0, 0.12),
    ("Wi-Fi", 54.0, 1_500.0, 0.22),
    ("Ethernet", 10.0, 1_500.0, 1.2),
];
/// The paper's figures for 802.15.4: time of a whole PSDU of 127 octets, and its maximum payload.
const PAPER_MS: f64 = 4.1;
const PAPER_ROOM: f64 = 116.0;

/// The paper's minimum and maximum in Table 5: link, 6LoWPAN and IPv6, TCP, total.
const FIRST: [(f64, f64); 4] = [(11.0, 23.0), (7.0, 33.0), (20.0, 44.0), (38.0, 107.0)];
const LATER: [(f64, f64); 4] = [(11.0, 23.0), (5.0, 12.0), (0.0, 0.0), (16.0, 35.0)];

fn refine(rows: &mut Rows) {
    for (index, (name, mbps, mtu, paper)) in LINKS.into_iter().enumerate() {
        let (label, x) = (format!("link={name}"), index as f64);
        let ms = mtu * 8.0 / mbps / 1e3;
        rows.compute(&label, "Table 4", x, ("time", "ms"), ms).paper = Some(paper);
        rows.compute(&label, "Table 4", x, ("room", "B"), mtu);
    }
    // Neither depends on the simulated points; without them claims lack their points.
    if let (Some(on_air), Some(longest)) = (on_air(), longest()) {
        let (label, x) = ("link=802.15.4", LINKS.len() as f64);
        let time = ("time", "ms");
        rows.compute(label, "Table 4", x, time, on_air.longest_ms).paper = Some(PAPER_MS);
        let room = on_air.room as f64;
        rows.compute(label, "Table 4", x, ("room", "B"), room).paper = Some(PAPER_ROOM);
        add(rows, "first", (on_air.shortest.first, longest.first), FIRST);
        add(rows, "nth", (on_air.shortest.later, longest.later), LATER);
    }
    let mac = kinglet_scenario::tcplp::MAC;
    let format = kinglet_network::layout::Format::of(&mac, true);
    let frame = format.frames(format.mss_for_frames(1));
    let headers: usize = frame.iter().map(|f| f.l3 + f.l4).sum();
    let payload: usize = frame.iter().map(|f| f.payload).sum();
    let share = headers as f64 / (headers + payload) as f64 * 100.0;
    rows.compute("mss_frames=1", "§6.1", 1.0, ("header_share", "%"), share).paper = Some(50.0);
}

/// Adds the rows of one kind of frame in Table 5.
fn add(rows: &mut Rows, frame: &str, (low, high): (Headers, Headers), paper: [(f64, f64); 4]) {
    let by_layer = |h: Headers| [h.link, h.adaptation, h.tcp, h.link + h.adaptation + h.tcp];
    let names = ["802.15.4", "6LoWPAN and IPv6", "TCP", "total"];
    let ends = by_layer(low).into_iter().zip(by_layer(high));
    for (index, ((name, (low, high)), paper)) in names.iter().zip(ends).zip(paper).enumerate() {
        let (label, x) = (format!("frame={frame} header={name}"), index as f64);
        let metric = ("header_min", "B");
        rows.compute(&label, "Table 5", x, metric, low as f64).paper = Some(paper.0);
        let metric = ("header_max", "B");
        rows.compute(&label, "Table 5", x, metric, high as f64).paper = Some(paper.1);
    }
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_ends_of_table_5_come_out_exactly() {
        let mut rows = Rows::default();
        refine(&mut rows);
        for (label, paper) in [("first", 38.0), ("nth", 16.0)] {
            let label = format!("frame={label} header=total");
            assert_eq!(rows.mean(&label, "header_min"), Some(paper));
        }
    }

    #[test]
    fn table_4_comes_out_within_rounding() {
        let mut rows = Rows::default();
        refine(&mut rows);
        for (name, _, _, paper) in LINKS.into_iter().chain([("802.15.4", 0.0, 0.0, PAPER_MS)]) {
            let ours = rows.mean(&format!("link={name}"), "time").expect("computed");
            assert!((ours - paper).abs() <= 0.05 * paper, "{name}: {ours} against {paper}");
        }
    }

    #[test]
    fn totals_are_sums() {
        let mut rows = Rows::default();
        refine(&mut rows);
        for frame in ["first", "nth"] {
            for end in ["header_min", "header_max"] {
                let at = |h: &str| rows.mean(&format!("frame={frame} header={h}"), end);
                let sum: f64 =
                    ["802.15.4", "6LoWPAN and IPv6", "TCP"].iter().filter_map(|h| at(h)).sum();
                assert_eq!(at("total"), Some(sum));
            }
        }
    }
}
