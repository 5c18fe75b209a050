//! §8.1.1: TCP's own clock against a fixed sleep interval.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::scenario::{Flow, Role, Scenario, polling_every, tcplp};
use kinglet::Polling;
use kinglet::time::Duration;
use kinglet_peers::Stack;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-selfclock",
    title: "Self-clocking against sleep",
    source: "TCPlp §8.1.1",
    question: "Does a bulk transfer between a leaf that sleeps for a fixed time and the rest of \
               the network see the longest possible round-trip time, one sleep interval, again \
               and again, and which polling rule ends that?",
    method: "Bulk transfer from a leaf over two hops to the border router, and in the other \
             direction, segments of five frames, buffers of four segments, over the sleep \
             interval between data requests: fixed; 100 ms while TCP expects a segment (TCPlp's \
             adaptive duty cycle), also with Kinglet's TCP (stack=kinglet); when a segment is due \
             (Kinglet's TCP and predictive polling). Bound: a window of four segments in each \
             sleep interval.",
    threats: &[
        "A sender measures a round-trip time per acknowledgement. A node that polls at fixed \
         times receives several at once, and the mean is over acknowledgements.",
        "No host cost, no other traffic.",
    ],
    main: "sleep_ms=1000",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[Metric::Rtt, Metric::Goodput, Metric::Timeouts, Metric::Mss];
/// Milliseconds between data requests. A round trip takes 0.2 s without sleep.
const SLEEPS_MS: [u32; 4] = [500, 1_000, 2_000, 4_000];
/// Polling for a given interval.
type PollingOf = fn(Duration) -> Polling;
/// TCPlp's polling: fast while a response is expected.
const ADAPTIVE: PollingOf = |base| polling_every(Polling::TCPLP, base);
/// Series, label suffix, TCP and polling. Predictive polling requires a TCP that signals when it
/// expects a response.
const POLLINGS: [(&str, &str, Option<Stack>, PollingOf); 4] = [
    ("fixed", "", TCPLP, |base| Polling::Fixed { base, fast_poll: base }),
    ("adaptive", " adaptive", TCPLP, ADAPTIVE),
    ("adaptive, Kinglet's TCP", " adaptive stack=kinglet", None, ADAPTIVE),
    ("predictive", " predictive", None, |base| Polling::Predictive { base }),
];
const TCPLP: Option<Stack> = Some(Stack::FreeBsd);
/// Octets of the scenario's window.
const WINDOW: f64 = 4.0 * 462.0;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (downlink, direction) in [(false, ""), (true, " downlink")] {
        for (series, suffix, stack, polling) in POLLINGS {
            for sleep_ms in SLEEPS_MS {
                let mut scenario = asleep(line_scenario(effort, 2, 40));
                scenario.polling = polling(Duration::from_millis(sleep_ms.into()));
                scenario.tcp.stack = stack;
                if downlink {
                    scenario.flows = vec![Flow::bulk(0, 2)];
                }
                points.push(Point {
                    label: format!("sleep_ms={sleep_ms}{suffix}{direction}"),
                    series: if downlink { "downlink" } else { series },
                    x: f64::from(sleep_ms) / 1e3,
                    scenario,
                    metrics: METRICS,
                    timeline_s: None,
                });
            }
        }
    }
    points
}

/// Makes the last node a sleepy leaf whose parent queues frames like TCPlp's.
pub(super) fn asleep(mut scenario: Scenario) -> Scenario {
    if let Some(last) = scenario.nodes.last_mut() {
        last.role = Role::Leaf;
    }
    scenario.polling = Polling::TCPLP;
    scenario.mac.indirect = tcplp::INDIRECT;
    scenario
}

fn refine(rows: &mut Rows) {
    for row in rows.all.clone().into_iter().filter(|row| row.metric == "rtt") {
        let share = row.mean / 1e3 / row.x;
        rows.compute(&row.label, row.series, row.x, ("rtt_by_sleep", "1"), share);
    }
    rows.bound("goodput", |row| {
        let fixed = row.series == "fixed";
        fixed.then(|| WINDOW * 8.0 / 1e3 / row.x)
    });
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let up: Vec<_> = result.rows.iter().filter(|r| r.series != "downlink").cloned().collect();
    let x = "sleep interval, s";
    let rtt = curves(&up, "rtt", "Round-trip time of a transfer from a leaf", x);
    let goodput = curves(&up, "goodput", "Its goodput", x);
    [rtt, goodput].into_iter().flatten().collect()
}
