//! Fig. 6: the congestion window under small buffers, and how losses are repaired.

use super::tcplp_retry_delay::DELAYS_MS;
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Cwnd, Figure, curves};
use crate::scenario::Scenario;
use kinglet_peers::Stack;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-cwnd",
    title: "Congestion window and loss recovery",
    source: "TCPlp Fig. 6, §7.3",
    question: "Does a window of four segments hide congestion control, so that losses hardly cost \
               goodput; and which losses does the retry delay remove?",
    method: "Bulk transfer over three hops for each d; congestion window recorded, entries into \
             fast recovery and timer expiries counted. Overlap model: sinr-ber. The cause of what \
             differs: the same with FreeBSD's TCP (stack=freebsd), which knows neither RACK nor \
             tail loss probes.",
    threats: &[
        "FreeBSD sets the window to one segment during recovery; ours reduces it by RFC 9937 and \
         detects losses by RFC 8985, so dips look different.",
        "Events per run are few at large d: mind the intervals.",
    ],
    main: "d_ms=0",
    plan,
    refine,
    figures,
};

fn plan(effort: Effort) -> Vec<Point> {
    let point = |prefix: &str, series, d: &u32, stack| Point {
        label: format!("{prefix}d_ms={d}"),
        series,
        x: f64::from(*d),
        scenario: with_stack(line_scenario(effort, 3, *d), stack),
        metrics: &[
            Metric::FastRetransmissions,
            Metric::Timeouts,
            Metric::CwndFull,
            Metric::Goodput,
            Metric::SegmentLoss,
        ],
        timeline_s: None,
    };
    let paper = DELAYS_MS.iter().map(|d| point("", "3 hops", d, None));
    let freebsd = Some(Stack::FreeBsd);
    let cause = DELAYS_MS.iter().map(|d| point("stack=freebsd ", CAUSE, d, freebsd));
    paper.chain(cause).collect()
}

/// The same network with the TCP that the paper's is a port of.
const CAUSE: &str = "3 hops, FreeBSD's TCP";

fn with_stack(mut scenario: Scenario, stack: Option<Stack>) -> Scenario {
    scenario.tcp.stack = stack;
    scenario
}

fn refine(_: &mut Rows) {}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "largest retry delay d, ms";
    let mut figures = Vec::new();
    for (point, run) in result.samples.iter().filter(|(p, _)| p.x == 0.0 || p.x == 40.0) {
        let mss = run.flows.first().map_or(0, |f| f.mss as usize);
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
