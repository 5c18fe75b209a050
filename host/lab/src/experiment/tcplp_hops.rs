//! §7.2: goodput by number of hops.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::scenario::{Buffer, Overlap};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-hops",
    title: "Goodput by number of hops",
    source: "TCPlp §7.2",
    question: "Does goodput follow B/min(h, 3), as it must when any three hops in a row share the \
               channel, and does the same small buffer do for all of them?",
    method: "Bulk transfer over 1 to 4 hops with d = 40 ms, five-frame segments, buffers of four \
             segments. Bound: our own goodput over one hop, divided by min(h, 3). Again over three \
             hops with twice the buffers, and with the two other overlap models (main: sinr-ber).",
    threats: &[
        "Beyond two hops nobody is disturbed here; in the testbed some were, which the paper gives as \
         the reason for its drop at four hops.",
        "The paper's B is measured on hardware with a processor that takes its time.",
    ],
    plan,
    refine,
    figures,
};

/// Hops and the paper's goodput in kb/s.
const PAPER: [(u32, f64); 4] = [(1, 64.1), (2, 28.3), (3, 19.5), (4, 17.5)];
const METRICS: &[Metric] =
    &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::FramesPerKb];
/// Series, label suffix, model.
const MODELS: [(&str, &str, Overlap); 3] = [
    ("measured", "", Overlap::SinrBer),
    ("strict", " overlap=strict", Overlap::Strict),
    ("capture", " overlap=capture", Overlap::Capture),
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, suffix, overlap) in MODELS {
        for (hops, _) in PAPER {
            let mut scenario = line_scenario(effort, hops, 40);
            scenario.medium.overlap = overlap;
            points.push(Point {
                label: format!("hops={hops}{suffix}"),
                series,
                x: f64::from(hops),
                scenario,
                metrics: METRICS,
                timeline_s: (hops == 4 && suffix.is_empty()).then_some((20.0, 20.4)),
            });
        }
    }
    let mut scenario = line_scenario(effort, 3, 40);
    scenario.tcp.send_buffer = Buffer::Segments(8);
    scenario.tcp.receive_buffer = Buffer::Segments(8);
    points.push(Point {
        label: "hops=3 buffer_segments=8".to_owned(),
        series: "twice the buffer",
        x: 3.0,
        scenario,
        metrics: METRICS,
        timeline_s: None,
    });
    points
}

fn refine(rows: &mut Rows) {
    for (series, suffix, _) in MODELS {
        let Some(one) = rows.mean(&format!("hops=1{suffix}"), "goodput") else { continue };
        for row in rows.0.iter_mut().filter(|r| r.series == series && r.metric == "goodput") {
            row.bound = Some(one / row.x.min(3.0));
        }
    }
    let one = rows.mean("hops=1", "goodput");
    for (hops, kbps) in PAPER {
        let label = format!("hops={hops}");
        rows.paper(&label, "goodput", kbps);
        if let (Some(one), Some(here)) = (one, rows.mean(&label, "goodput")) {
            let share = here / (one / f64::from(hops.min(3))) * 100.0;
            let paper = kbps / (PAPER[0].1 / f64::from(hops.min(3))) * 100.0;
            let metric = ("share_of_bound", "%");
            rows.compute(&label, "measured", f64::from(hops), metric, share).paper = Some(paper);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let main: Vec<_> = result.rows.iter().filter(|r| r.series == "measured").cloned().collect();
    let x = "hops";
    let title = "Goodput against B/min(h, 3)";
    let goodput = curves(&main, "goodput", title, x);
    let models = curves(&result.rows, "goodput", "The same by overlap model", x);
    let rtt = curves(&main, "rtt", "Round-trip time of segments", x);
    [goodput, rtt, models].into_iter().flatten().collect()
}
