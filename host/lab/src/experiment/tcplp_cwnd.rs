//! Fig. 6: the congestion window under small buffers, and the repair of losses.

use super::tcplp_retry_delay::DELAYS_MS;
use super::{Effort, Experiment, ExperimentResult, Metric, Model, Point, Rows, line_scenario};
use crate::chart::{Cwnd, Figure, curves};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-cwnd",
    title: "Congestion window and loss recovery",
    source: "TCPlp Fig. 6, §7.3",
    question: "Does a window of four segments hide congestion control, so that losses hardly cost \
               goodput; and which losses does the retry delay remove?",
    method: "Bulk transfer over three hops for each d; congestion window recorded, entries into \
             fast recovery and timer expiries counted. Four models of the medium: sinr-ber, \
             strict overlap, the hidden node 1 dB stronger, interference over twice the range of \
             reception. In addition to the paper's TCP: the same under sinr-ber with Kinglet's \
             TCP (stack=kinglet), which finds losses by RACK and tail loss probes as well.",
    threats: &[
        "FreeBSD's TCP is reimplemented from its published description (docs/decisions/0028).",
        "Events per run are few at large d, so intervals are wide.",
    ],
    main: "d_ms=0",
    plan,
    refine,
    figures,
};

fn plan(effort: Effort) -> Vec<Point> {
    let point = |model: Model, d: u32| {
        let mut scenario = line_scenario(effort, 3, d);
        model.apply(&mut scenario);
        Point {
            label: format!("d_ms={d}{}", model.suffix()),
            series: model.name(),
            x: f64::from(d),
            scenario,
            metrics: &[
                Metric::FastRetransmissions,
                Metric::Timeouts,
                Metric::CwndFull,
                Metric::Goodput,
                Metric::SegmentLoss,
            ],
            timeline_s: None,
        }
    };
    let points = |model: Model| DELAYS_MS.map(|d| point(model, d));
    let own = |mut paper: Point| {
        paper.scenario.tcp.stack = None;
        Point { label: format!("stack=kinglet {}", paper.label), series: OWN, ..paper }
    };
    let owns = points(Model::ALL[0]).map(own);
    Model::ALL.into_iter().flat_map(points).chain(owns).collect()
}

/// The same network with Kinglet's TCP.
const OWN: &str = "3 hops, Kinglet's TCP";

fn refine(_: &mut Rows) {}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "largest retry delay d, ms";
    let mut figures = Vec::new();
    let shown = |point: &Point| point.label == "d_ms=0" || point.label == "d_ms=40";
    for (point, run) in result.samples.iter().filter(|(point, _)| shown(point)) {
        let mss = run.flows.first().and_then(|f| f.mss).unwrap_or(0) as usize;
        let end = point.scenario.duration_s;
        figures.push(Figure::Cwnd(Cwnd {
            title: format!("Congestion window, {}", point.label.replace("d_ms=", "d = ") + " ms"),
            samples: run.cwnd.clone(),
            buffer: point.scenario.tcp.send_buffer.bytes(mss) as f64,
            range_s: ((end - 100.0).max(0.0), end),
        }));
    }
    figures.extend(curves(&result.rows, "fast_retransmissions", "Fast retransmissions", x));
    figures.extend(curves(&result.rows, "timeouts", "Timeouts", x));
    figures.extend(curves(&result.rows, "cwnd_full", "Time with a full window", x));
    figures
}
