//! Transfers that cross a collection (Fig. 12) or each other (Fig. 13).

use super::{OfBursts, SETTINGS, bulk, in_range, point, tmotes, today};
use crate::experiment::{Effort, Experiment, Metric, Point, Rows};
use crate::scenario::{
    Datagrams, Flow, FlowKind, NodeId, NodePlace, Pace, RadioProfile, Role, Scenario,
};

pub(in crate::experiment) const CROSS: Experiment = Experiment {
    id: "bf-cross",
    title: "A transfer that crosses a collection",
    source: "Duquennoy et al., Fig. 11 and 12, §6.5",
    question: "What does a transfer over four hops cost a collection with which it shares a node, \
               and what does the collection cost the transfer?",
    method: "Four hops north to south, along which every node sends a datagram to the end every 5 \
             to 7.5 s, and four hops west to east, along which 240 kB go; the middle is the same \
             node. All nine are in range of each other. Each alone and both, with the paper's \
             settings and ours, and on a radio of today. Delays are compared for nodes that have \
             met before (`met`): a busy relay takes long to find.",
    threats: &[
        "The paper's figure of its network cannot be read, and the paper does not name the \
         senders in its tree of four hops. Here all nodes send.",
        "Delays are the mean of 80 s (50 on an nRF52840); the transfer takes some five sixths of \
         that. Delays of nodes that have not met are compared with those of 300 s.",
    ],
    main: "both ours",
    plan: cross,
    refine: refine_cross,
    figures: |_| Vec::new(),
};

pub(in crate::experiment) const TWO_BULKS: Experiment = Experiment {
    id: "bf-two-bulks",
    title: "Two transfers that cross",
    source: "Duquennoy et al., Fig. 11 and 13, §6.5",
    question: "How do two transfers share a node?",
    method: "One transfer without end west to east over four hops; another one of 100 kB north to \
             south from 60 s on, through the same node in the middle. All nine nodes are in range \
             of each other. 170 s; with the paper's settings and ours, and on a radio of today. \
             In addition, the second transfer from south to north, and against the first one over \
             the same hops.",
    threats: &["Positions are ours: the paper's figure of its network cannot be read."],
    main: "ours",
    plan: two_bulks,
    refine: refine_two,
    figures: |_| Vec::new(),
};

/// The line from west to east is 0 to 4, from north to south 5 to 8; both contain node 2.
const MIDDLE: NodeId = 2;
const NORTH: NodeId = 5;
const SOUTH: NodeId = 8;
const EAST: NodeId = 4;
/// Octets of the transfer that crosses a collection, and of the second of two transfers.
const CROSSING: u32 = 240_000;
const SECOND: u32 = 100_000;
/// Senders to the south.
const COLLECTED: [NodeId; 4] = [NORTH, 6, MIDDLE, 7];
/// Octets of the transfers by which neighbours find each other, and the time when they have.
const MEETING: u32 = 300;
const MET_S: f64 = 30.0;

/// Nine nodes on two lines that cross.
fn crossed(line: OnLine) -> Scenario {
    let mut scenario = in_range(line(EAST));
    let place = |x_m, y_m| NodePlace { x_m, y_m, role: Role::Router, parent: None };
    let middle_m = scenario.nodes[MIDDLE as usize].x_m;
    let south = [-16.0, -8.0, 8.0, 16.0].map(|y_m| place(middle_m, y_m));
    scenario.nodes.extend(south);
    scenario
}

/// Every node between north and south sends datagrams occasionally.
fn collection(start_s: f64) -> Vec<Flow> {
    let pace = Pace::Between(5_000, 7_500);
    let from_node = |from| {
        let kind = FlowKind::Udp(Datagrams { from, to: SOUTH, payload_bytes: 60, pace });
        Flow::new(start_s + f64::from(from) * 0.7, kind)
    };
    COLLECTED.map(from_node).into()
}

/// These nodes and the first one of the other line send some datagrams beforehand.
fn meeting() -> Vec<Flow> {
    let few = |from, to| bulk(from, to, 1.0 + f64::from(from), Some(MEETING));
    COLLECTED.map(|from| few(from, SOUTH)).into_iter().chain([few(0, EAST)]).collect()
}

/// A line with this number of hops and one radio.
type OnLine = fn(u32) -> Scenario;
/// Radios with their names in labels.
const LINES: [(&str, OnLine); 2] = [("", tmotes), (" nrf52840", today)];

const OF_COLLECTION: &[Metric] = &[
    Metric::OfBursts(OfBursts::CollectionLoss),
    Metric::OfBursts(OfBursts::CollectionDelay),
    Metric::OfBursts(OfBursts::RadioOfMiddle),
];
const OF_MET: &[Metric] =
    &[Metric::OfBursts(OfBursts::CollectionLoss), Metric::OfBursts(OfBursts::CollectionDelay)];
const OF_BOTH: &[Metric] = &[
    Metric::OfBursts(OfBursts::First),
    Metric::OfBursts(OfBursts::CollectionLoss),
    Metric::OfBursts(OfBursts::CollectionDelay),
    Metric::OfBursts(OfBursts::RadioOfMiddle),
];
const OF_BULK: &[Metric] =
    &[Metric::OfBursts(OfBursts::First), Metric::OfBursts(OfBursts::RadioOfMiddle)];

fn cross(_: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (radio, line) in LINES {
        for (setting, set) in SETTINGS {
            let base = set(crossed(line));
            // As long as the transfer takes, or slightly longer.
            let both_s = if base.radio.profile == RadioProfile::Nrf52840 { 50.0 } else { 80.0 };
            let mut alone = base.clone();
            (alone.duration_s, alone.flows) = (both_s, vec![bulk(0, EAST, 1.0, Some(CROSSING))]);
            let mut quiet = base.clone();
            (quiet.duration_s, quiet.flows) = (300.0, collection(1.0));
            let mut both = alone.clone();
            both.flows.extend(collection(1.0));
            let scenarios = [
                ("bulk", alone, OF_BULK),
                ("collection", quiet, OF_COLLECTION),
                ("both", both, OF_BOTH),
            ];
            for (what, scenario, metrics) in scenarios {
                let label = format!("{what} {setting}{radio}");
                points.push(point(label, setting, 0.0, scenario, metrics));
            }
            for (what, transfer) in [("collection", None), ("both", Some(CROSSING))] {
                let mut met = base.clone();
                let transfer = transfer.map(|octets| bulk(0, EAST, MET_S, Some(octets)));
                met.duration_s = MET_S + both_s;
                met.flows =
                    transfer.into_iter().chain(collection(MET_S)).chain(meeting()).collect();
                let label = format!("{what} {setting}{radio} met");
                points.push(point(label, setting, 0.0, met, OF_MET));
            }
        }
    }
    points
}

fn refine_cross(rows: &mut Rows) {
    rows.paper("bulk paper", "first", 5.6);
    rows.paper("both paper", "first", 4.6);
    rows.paper("both paper", "collection_loss", 0.0);
    rows.paper("collection paper", "radio_2", 4.0);
    rows.paper("both paper", "radio_2", 80.0);
}

const OF_TWO: &[Metric] = &[
    Metric::OfBursts(OfBursts::FirstAlone),
    Metric::OfBursts(OfBursts::FirstConcurrent),
    Metric::OfBursts(OfBursts::Second),
    Metric::OfBursts(OfBursts::RadioAlone),
    Metric::OfBursts(OfBursts::RadioConcurrent),
];

fn two_bulks(_: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    let with = |mut scenario: Scenario, second: Flow| {
        scenario.duration_s = 170.0;
        scenario.flows = vec![bulk(0, EAST, 1.0, None), second];
        scenario
    };
    let second = |from, to| bulk(from, to, 60.0, Some(SECOND));
    for (radio, line) in LINES {
        for (setting, set) in SETTINGS {
            let scenario = with(set(crossed(line)), second(NORTH, SOUTH));
            points.push(point(format!("{setting}{radio}"), setting, 0.0, scenario, OF_TWO));
        }
    }
    let beside = [("south to north", second(SOUTH, NORTH)), ("head-on", second(EAST, 0))];
    let named = beside.map(|(label, second)| (label.to_owned(), with(crossed(tmotes), second)));
    points.extend(super::beside(named, OF_TWO));
    points
}

fn refine_two(rows: &mut Rows) {
    rows.paper("paper", "first_alone", 5.6);
    rows.paper("paper", "first_beside", 1.5);
    rows.paper("paper", "second", 1.6);
    rows.paper("paper", "radio_2_alone", 67.0);
    rows.paper("paper", "radio_2_beside", 50.0);
}
