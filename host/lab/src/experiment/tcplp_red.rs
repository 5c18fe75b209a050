//! §8: fairness of simultaneous flows, with and without random early detection at relays.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::chart::{Figure, curves};
use crate::scenario::{
    Buffer, Carrier, Cca, Flow, FlowKind, Mss, NodeId, NodePlace, Role, Scenario, Sensor, Wire,
    tcplp,
};
use kinglet::net::{QueueDiscipline, Red};
use kinglet::time::Duration;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-red",
    title: "Fairness, and early detection at relays",
    source: "TCPlp §8 (preliminary experiments)",
    question: "Does tail drop at relays make simultaneous TCP flows unfair to each other, do \
               random early detection and ECN prevent that, and what else limits fairness?",
    method: "The four sensors of tcplp-flows at 12 kb/s each, three times the capacity, with tail \
             drop, RED, and RED with ECN, over d. Jain's index of the goodputs in intervals of 40 \
             s: of all four, and within each pair, whose members are neighbours and equally far \
             away. Further points: other windows, more attempts, an adaptive d, Kinglet's TCP \
             (stack=kinglet), and Kinglet's own settings of MAC, polling and TCP; and four \
             always-on sensors around one relay, with a queue of ten packets and of four.",
    threats: &[
        "The paper's parameters of RED and the length of its queues are unknown.",
        "The paper gives no figures and does not say at which place in its network it measured.",
    ],
    main: "queue=red-ecn d_ms=40",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::Fairness,
    Metric::FairnessOfPairs,
    Metric::Median,
    Metric::LowerQuartile,
    Metric::UpperQuartile,
    Metric::QueueDrops,
    Metric::FramesFailed,
];
/// Random early detection with the stack's defaults.
const RED: QueueDiscipline = QueueDiscipline::Red(Red::DEFAULT);

/// Series, its name in labels, queue of relays, ECN.
const QUEUES: [(&str, &str, QueueDiscipline, bool); 3] = [
    ("tail drop", "tail-drop", QueueDiscipline::TailDrop, false),
    ("RED", "red", RED, false),
    ("RED with ECN", "red-ecn", RED, true),
];
const DELAYS_MS: [u32; 3] = [0, 40, 80];
/// Send and receive buffers in segments; all other points have four.
const WINDOWS: [u16; 2] = [2, 8];
/// Name of d in labels, whether it adapts, and retries; other points have 40 ms and 7 retries.
const ATTEMPTS: [(&str, bool, u8); 3] =
    [("d=adaptive", true, 7), ("d=adaptive", true, 15), ("d_ms=40", false, 15)];
/// Milliseconds between readings: 12 kb/s per flow, three times the rate that it gets.
const PERIOD_MS: u32 = 55;
/// The same around one relay: 33 kb/s.
const FAST_MS: u32 = 20;
/// Lengths of the relay's queue in packets.
const ROOM: [u8; 2] = [10, 4];

/// Leaves: nodes 12 to 15 of the paper.
const LEAVES: core::ops::Range<NodeId> = 11..15;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    let full = effort == Effort::Full;
    for (series, name, queue, ecn) in QUEUES.into_iter().filter(|queue| full || queue.1 != "red") {
        let of = |scenario| with_queue(scenario, queue, ecn);
        for d in DELAYS_MS.into_iter().filter(|d| full && name != "red" || *d == 40) {
            let mut scenario = event(effort, Carrier::Tcp, PERIOD_MS);
            scenario.mac.retry_delay_max = Duration::from_millis(d.into());
            points.push(point(format!("queue={name} d_ms={d}"), series, d, of(scenario)));
        }
        for packets in ROOM.into_iter().filter(|packets| full || *packets == 10) {
            let mut scenario = around_one_relay(effort);
            scenario.net.queue_limit = packets;
            let label = format!("queue={name} relay=one packets={packets}");
            points.push(point(label, "one relay", packets.into(), of(scenario)));
        }
    }
    if full {
        for window in WINDOWS {
            let mut scenario = event(effort, Carrier::Tcp, PERIOD_MS);
            scenario.tcp.send_buffer = Buffer::Segments(window);
            scenario.tcp.receive_buffer = Buffer::Segments(window);
            let label = format!("queue=red-ecn d_ms=40 window={window}");
            points.push(point(label, "windows", window.into(), scenario));
        }
        for (d, adaptive, retries) in ATTEMPTS {
            let mut scenario = event(effort, Carrier::Tcp, PERIOD_MS);
            scenario.mac.adaptive_retry_delay = adaptive;
            scenario.mac.max_frame_retries = retries;
            let label = format!("queue=red-ecn {d} retries={retries}");
            points.push(point(label, "attempts", retries.into(), scenario));
        }
        let mut scenario = event(effort, Carrier::Tcp, PERIOD_MS).as_kinglet();
        scenario.mac.max_frame_retries = tcplp::MAC.max_frame_retries;
        points.push(point("kinglet retries=7".to_owned(), "Kinglet", 7, scenario));
    }
    points.extend(own_tcp(effort));
    let ours = event(effort, Carrier::Tcp, PERIOD_MS).as_kinglet();
    points.push(point("kinglet".to_owned(), "Kinglet", 15, ours.clone()));
    let red = with_queue(ours.clone(), RED, true);
    points.push(point("kinglet queue=red-ecn".to_owned(), "Kinglet", 15, red));
    // The radio senses energy from -80 dBm on; signals from two offices away are weaker.
    let paper = event(effort, Carrier::Tcp, PERIOD_MS);
    for (label, cca, mut scenario) in [
        ("queue=red-ecn d_ms=40 cca=carrier", Cca::Carrier, paper),
        ("kinglet cca=energy", Cca::Energy, ours),
    ] {
        scenario.radio.cca = cca;
        points.push(point(label.to_owned(), "other channel assessment", 0, scenario));
    }
    points
}

/// Tail drop and early detection with Kinglet's TCP, which seldom has timeouts where the paper's
/// TCP does.
fn own_tcp(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (_, name, queue, ecn) in QUEUES.into_iter().filter(|queue| queue.1 != "red") {
        let mut office = event(effort, Carrier::Tcp, PERIOD_MS);
        office.mac.retry_delay_max = Duration::from_millis(40);
        let mut one = around_one_relay(effort);
        one.net.queue_limit = ROOM[1];
        for (place, scenario) in [("d_ms=40", office), ("relay=one packets=4", one)] {
            let mut scenario = with_queue(scenario, queue, ecn);
            scenario.tcp.stack = None;
            let label = format!("stack=kinglet queue={name} {place}");
            points.push(point(label, "Kinglet's TCP", 40, scenario));
        }
    }
    points
}

fn point(label: String, series: &'static str, x: u32, scenario: Scenario) -> Point {
    Point { label, series, x: f64::from(x), scenario, metrics: METRICS, timeline_s: None }
}

fn with_queue(mut scenario: Scenario, queue: QueueDiscipline, ecn: bool) -> Scenario {
    scenario.net.queue = queue;
    scenario.tcp.connection.ecn = ecn;
    scenario
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

/// Four senders in range of each other around a relay, the only node in range of the border router.
fn around_one_relay(effort: Effort) -> Scenario {
    let place = |(x_m, y_m), role| NodePlace { x_m, y_m, role, parent: None };
    let senders = [(14.9, -4.0), (15.9, -1.4), (15.9, 1.4), (14.9, 4.0)];
    let mut nodes = vec![place((0.0, 0.0), Role::BorderRouter), place((8.0, 0.0), Role::Router)];
    nodes.extend(senders.map(|at| place(at, Role::Router)));
    let office = event(effort, Carrier::Tcp, FAST_MS);
    let (duration_s, mac, tcp) = (office.duration_s, office.mac, office.tcp);
    let base = Scenario { duration_s, nodes, ..Scenario::default() };
    let base = Scenario { mac, tcp, ..base.as_tcplp() };
    let to = base.host();
    let kind = |from: NodeId| {
        let sensor = Sensor { period_ms: FAST_MS, batch: 1, ..Sensor::new(from, to, Carrier::Tcp) };
        FlowKind::Anemometer(sensor)
    };
    let flows = (2..6).map(|from| Flow::new(1.0, kind(from))).collect();
    Scenario { wire: Some(Wire::PERFECT), flows, ..base }
}

/// The bound: all flows get the same.
fn refine(rows: &mut Rows) {
    rows.bound("fairness", |_| Some(100.0));
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let office = |r: &&super::Row| QUEUES.iter().any(|queue| queue.0 == r.series);
    let rows: Vec<_> = result.rows.iter().filter(office).cloned().collect();
    let x = "largest retry delay d, ms";
    let all = curves(&rows, "fairness", "Jain's index of four flows in 40 s", x);
    let pairs = curves(&rows, "fairness_of_pairs", "The same of neighbours", x);
    let failed = curves(&rows, "frames_failed", "Frames given up by the link", x);
    [all, pairs, failed].into_iter().flatten().collect()
}
