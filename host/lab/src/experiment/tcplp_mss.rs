//! Fig. 3a: goodput by segment size.

use super::{Effort, Experiment, ExperimentResult, Host, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::layout::{Format, bound};
use crate::scenario::{Flow, Mss, RadioProfile, tcplp};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-mss",
    title: "Goodput by segment size",
    source: "TCPlp Fig. 3a, §6.1",
    question: "How many frames should a TCP segment fill, and what does a larger one cost under \
               loss?",
    method: "Bulk transfer over one hop in both directions, segments of 1 to 8 frames, buffers of \
             four segments each, no retry delay. Again with 30 % of all frames lost and only \
             three link retries, so that some loss is left for TCP to repair; and without loss \
             with two more costs of the host: that of this stack on the Cortex-M0+, and the \
             paper's 2 ms a frame. Overlap model: sinr-ber.",
    threats: &[
        "The buffer grows with the segment (four of them); the paper does not say what it did.",
        "Added loss is independent per frame; interference comes in bursts.",
        "Both directions run the same code on equal nodes, so they differ by chance only.",
    ],
    main: "mss_frames=5",
    plan,
    refine,
    figures,
};

/// Series, label suffix, downlink, added loss, host cost.
const SERIES: [(&str, &str, bool, f64, Host); 5] = [
    ("uplink", "", false, 0.0, Host::Free),
    ("downlink", " downlink", true, 0.0, Host::Free),
    ("uplink, 30 % frame loss", " frame_loss=0.3", false, 0.3, Host::Free),
    (Host::Measured.name(), Host::Measured.suffix(), false, 0.0, Host::Measured),
    (Host::Paper.name(), Host::Paper.suffix(), false, 0.0, Host::Paper),
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, suffix, down, loss, host) in SERIES {
        for frames in 1..=8u8 {
            let mut scenario = line_scenario(effort, 1, 0);
            scenario.tcp.mss = Mss::Frames(frames);
            scenario.medium.frame_loss = loss;
            host.apply(&mut scenario);
            if loss > 0.0 {
                scenario.mac.max_frame_retries = 3;
            }
            if down {
                scenario.flows = vec![Flow::bulk(0, 1)];
            }
            points.push(Point {
                label: format!("mss_frames={frames}{suffix}"),
                series,
                x: f64::from(frames),
                scenario,
                metrics: &[Metric::Goodput, Metric::SegmentLoss, Metric::Rtt, Metric::Mss],
                timeline_s: None,
            });
        }
    }
    points
}

fn refine(rows: &mut Rows) {
    let mac = tcplp::MAC;
    let format = Format::between_neighbours(&mac, true);
    rows.bound("goodput", |row| {
        // A segment is as long as fits on any hop; between neighbours its headers are shorter.
        let mss = Format::of(&mac, true).mss_for_frames(row.x as usize);
        Some(bound(RadioProfile::At86rf233, &mac, format, mss, 2).kbps)
    });
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "segment size, frames";
    let goodput = curves(&result.rows, "goodput", "Goodput over one hop", x);
    let loss = curves(&result.rows, "segment_loss", "Segments lost in spite of link retries", x);
    [goodput, loss].into_iter().flatten().collect()
}
