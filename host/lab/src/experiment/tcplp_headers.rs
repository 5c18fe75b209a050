//! Tables 4 and 5: links compared, and header octets per frame.

use super::{Experiment, ExperimentResult, Rows, nothing_to_simulate};
use crate::chart::Figure;
use crate::layout::{Addresses, FRAG1, FRAGN, TCP, mac_header};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-headers",
    title: "Header overhead",
    source: "TCPlp Tables 4 and 5, §6.1",
    question: "How small is the 802.15.4 frame beside other links, and how much of it do headers \
               take in the first and in later fragments?",
    method: "Arithmetic on the formats that the stack emits. Minimum: short addresses, identifiers \
             elided, no TCP options. Maximum: extended addresses, every IPHC field inline, all \
             forty octets of TCP options. Link security is not counted, as in the paper.",
    threats: &[
        "The paper splits IPHC between its columns \"6LoWPAN\" and \"IPv6\" differently: totals \
         can be compared, the two columns only together.",
        "The paper's upper ends are what its stack used, ours are what the formats admit.",
    ],
    main: "",
    plan: nothing_to_simulate,
    refine,
    figures: no_figures,
};

/// IPHC with everything elided but the next header (RFC 6282 §3.1.1): TCP has no compressed form.
const IPHC_MIN: usize = 2 + 1;
/// IPHC with context identifiers, traffic class and flow label, next header, hop limit and both
/// addresses inline.
const IPHC_MAX: usize = 2 + 1 + 4 + 1 + 1 + 16 + 16;
/// TCP with a full option space (RFC 9293 §3.1: the data offset ends at 15 words).
const TCP_MAX: usize = 60;

/// Name, capacity in Mb/s, MTU in octets, the paper's time in ms.
const LINKS: [(&str, f64, f64, f64); 4] = [
    ("Fast Ethernet", 100.0, 1_500.0, 0.12),
    ("Wi-Fi", 54.0, 1_500.0, 0.22),
    ("Ethernet", 10.0, 1_500.0, 1.2),
    // The paper's 4.1 ms is the whole PSDU of 127 octets, not its payload of 104 to 116.
    ("802.15.4", 0.25, 127.0, 4.1),
];

fn refine(rows: &mut Rows) {
    for (index, (name, mbps, mtu, paper)) in LINKS.into_iter().enumerate() {
        let ms = mtu * 8.0 / mbps / 1e3;
        let label = format!("link={name}");
        rows.compute(&label, "Table 4", index as f64, ("time", "ms"), ms).paper = Some(paper);
    }
    let (short, long) = (mac_header(Addresses::Short), mac_header(Addresses::Extended));
    let first = [
        ("802.15.4", (short, long), (11.0, 23.0)),
        ("6LoWPAN and IPv6", (FRAG1 + IPHC_MIN, FRAG1 + IPHC_MAX), (7.0, 33.0)),
        ("TCP", (TCP, TCP_MAX), (20.0, 44.0)),
        (
            "total",
            (short + FRAG1 + IPHC_MIN + TCP, long + FRAG1 + IPHC_MAX + TCP_MAX),
            (38.0, 107.0),
        ),
    ];
    let later = [
        ("802.15.4", (short, long), (11.0, 23.0)),
        ("6LoWPAN and IPv6", (FRAGN, FRAGN), (5.0, 12.0)),
        ("TCP", (0, 0), (0.0, 0.0)),
        ("total", (short + FRAGN, long + FRAGN), (16.0, 35.0)),
    ];
    for (frame, table) in [("first", first), ("nth", later)] {
        for (index, (name, ours, paper)) in table.into_iter().enumerate() {
            let label = format!("frame={frame} header={name}");
            let x = index as f64;
            let low = ours.0 as f64;
            rows.compute(&label, "Table 5", x, ("header_min", "B"), low).paper = Some(paper.0);
            let high = ours.1 as f64;
            rows.compute(&label, "Table 5", x, ("header_max", "B"), high).paper = Some(paper.1);
        }
    }
    let mac = crate::scenario::tcplp::MAC;
    let format = crate::layout::Format::of(&mac, true);
    let frame = format.frames(format.mss_for_frames(1));
    let headers: usize = frame.iter().map(|f| f.l3 + f.l4).sum();
    let payload: usize = frame.iter().map(|f| f.payload).sum();
    let share = headers as f64 / (headers + payload) as f64 * 100.0;
    rows.compute("mss_frames=1", "§6.1", 1.0, ("header_share", "%"), share).paper = Some(50.0);
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
        for (name, _, _, paper) in LINKS {
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
