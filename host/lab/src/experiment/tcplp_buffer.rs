//! Fig. 3b: goodput by buffer size.

use super::{Effort, Experiment, ExperimentResult, Host, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::layout::one_hop_bound;
use crate::scenario::{Buffer, Flow};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-buffer",
    title: "Goodput by buffer size",
    source: "TCPlp Fig. 3b, §6.2",
    question: "How many segments of buffer fill one hop, and what does delaying acknowledgements \
               cost a sender that can have only one segment in flight?",
    method: "Bulk transfer over one hop, segments of five frames. Uplink: a send buffer of 1 to 8 \
             segments, a receive buffer of eight. Downlink: a send buffer of eight, a receive \
             buffer of 1 to 8. With three costs of the host: none, that of this stack on the \
             Cortex-M0+, and the paper's 2 ms a frame. Overlap model: sinr-ber.",
    threats: &[
        "The delayed acknowledgement's timer (100 ms, FreeBSD's default) decides the uplink \
         figure at one segment.",
        "Without CPU cost our round trip is shorter than the paper's, so fewer segments fill it.",
    ],
    main: "buffer_segments=4",
    plan,
    refine,
    figures,
};

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for host in Host::ALL {
        for (suffix, down) in [("", false), (" downlink", true)] {
            for segments in 1..=8u16 {
                let mut scenario = line_scenario(effort, 1, 0);
                let (varied, other) = (Buffer::Segments(segments), Buffer::Segments(8));
                scenario.tcp.send_buffer = if down { other } else { varied };
                scenario.tcp.receive_buffer = if down { varied } else { other };
                host.apply(&mut scenario);
                if down {
                    scenario.flows = vec![Flow::bulk(0, 1)];
                }
                points.push(Point {
                    label: format!("buffer_segments={segments}{suffix}{}", host.suffix()),
                    series: series(host, down),
                    x: f64::from(segments),
                    scenario,
                    metrics: &[Metric::Goodput, Metric::Rtt, Metric::FramesPerKb],
                    timeline_s: None,
                });
            }
        }
    }
    points
}

const fn series(host: Host, down: bool) -> &'static str {
    match (host, down) {
        (Host::Free, false) => "uplink",
        (Host::Free, true) => "downlink",
        (Host::Measured, false) => "uplink, measured host",
        (Host::Measured, true) => "downlink, measured host",
        (Host::Paper, false) => "uplink, 2 ms a frame",
        (Host::Paper, true) => "downlink, 2 ms a frame",
    }
}

fn refine(rows: &mut Rows) {
    let best = one_hop_bound().kbps;
    rows.bound("goodput", |row| (!row.label.contains("host_cost")).then_some(best));
    rows.paper("buffer_segments=1", "rtt", 130.0);
    rows.paper("buffer_segments=1 downlink", "rtt", 70.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "buffer, segments";
    let goodput = curves(&result.rows, "goodput", "Goodput over one hop", x);
    let rtt = curves(&result.rows, "rtt", "Round-trip time of segments", x);
    [goodput, rtt].into_iter().flatten().collect()
}
