//! Fig. 12: four flows that compete for the channel.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::apps::sense::LEN;
use crate::chart::{Figure, curves};
use crate::scenario::{Carrier, Flow, FlowKind, Mss, NodeId, Scenario, Sensor};
use kinglet::net::{QueueDiscipline, Red};
use kinglet_coap::Rto;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-flows",
    title: "Four flows that compete",
    source: "TCPlp Fig. 12, §8.3",
    question: "How do four sensors that report an event at the same time share the network, as \
               the load that each of them offers grows beyond its capacity, with TCP and with \
               CoAP?",
    method: "The office at night; leaves 12 to 15 (three and five hops away) send readings of 82 \
             octets to the host behind the border router, each the same load, from 1 to 12 kb/s. \
             Goodput of each flow in intervals of 40 s, the first left out: median and quartiles \
             over flows and intervals. Leaves poll as in §8.2, segments of three frames, buffers \
             of four segments, d = 40 ms, RED at relays and ECN in TCP. In addition to the \
             paper's settings: TCP with Kinglet's own settings of MAC, polling and TCP.",
    threats: &[
        "Positions and path loss of the office are ours: the paper's drawing has no measures.",
        "The paper's parameters of RED are unknown.",
        "Readings that find the application's queue full are lost, as events would be; goodput \
         counts what arrives.",
    ],
    main: "tcp load_kbps=8",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] =
    &[Metric::Median, Metric::LowerQuartile, Metric::UpperQuartile, Metric::Fairness];
/// Kilobits per second that each flow offers, and milliseconds between its readings.
const LOADS: [(u32, u32); 6] = [(1, 656), (2, 328), (4, 164), (6, 109), (8, 82), (12, 55)];
/// Loads of the quick plan: below and above the capacity of the network.
const QUICK: [u32; 2] = [2, 8];
/// Series, its name in labels, carrier of the readings, and whether Kinglet's settings apply.
const CARRIERS: [(&str, &str, Carrier, bool); 4] = [
    ("TCP", "tcp", Carrier::Tcp, false),
    ("CoAP", "coap", Carrier::Coap(Rto::Plain), false),
    ("CoCoA", "cocoa", Carrier::Coap(Rto::Cocoa), false),
    ("Kinglet TCP", "kinglet tcp", Carrier::Tcp, true),
];
/// Leaves: nodes 12 to 15 of the paper.
const LEAVES: core::ops::Range<NodeId> = 11..15;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, name, carrier, is_own) in CARRIERS {
        let quick = |load: &u32| effort == Effort::Full || QUICK.contains(load);
        for (load, period_ms) in LOADS.into_iter().filter(|(load, _)| quick(load)) {
            let scenario = event(effort, carrier, period_ms);
            points.push(Point {
                label: format!("{name} load_kbps={load}"),
                series,
                x: LEN as f64 * 8.0 / f64::from(period_ms),
                scenario: if is_own { scenario.as_kinglet() } else { scenario },
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    points
}

/// All leaves of the office send a reading to the host every `period_ms`.
pub(super) fn event(effort: Effort, carrier: Carrier, period_ms: u32) -> Scenario {
    let mut scenario = Scenario::office().as_tcplp();
    // The first interval of 40 s and four more; two more in a quick run.
    scenario.duration_s = match effort {
        Effort::Quick => 120.0,
        Effort::Full => 200.0,
    };
    scenario.net.queue = QueueDiscipline::Red(Red::DEFAULT);
    scenario.tcp.mss = Mss::Frames(3);
    scenario.tcp.connection.ecn = true;
    let to = scenario.host();
    let kind = |from| {
        let sensor = Sensor { period_ms, batch: 1, ..Sensor::new(from, to, carrier) };
        FlowKind::Anemometer(sensor)
    };
    scenario.flows = LEAVES.map(|leaf| Flow::new(1.0, kind(leaf))).collect();
    scenario
}

/// The bound of each flow is the load that it offers.
fn refine(rows: &mut Rows) {
    rows.bound("goodput_median", |row| Some(row.x));
    for row in rows.all.clone().into_iter().filter(|row| row.metric == "goodput_q3") {
        let Some(low) = rows.mean(&row.label, "goodput_q1") else { continue };
        let metric = ("interquartile_range", "kb/s");
        rows.compute(&row.label, row.series, row.x, metric, row.mean - low);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "offered load per flow, kb/s";
    let of = |metric, title| curves(&result.rows, metric, title, x);
    let median = of("goodput_median", "Goodput per flow in 40 s, median");
    let spread = of("interquartile_range", "Its interquartile range");
    let fairness = of("fairness", "Jain's index of the four flows in 40 s");
    [median, spread, fairness].into_iter().flatten().collect()
}
