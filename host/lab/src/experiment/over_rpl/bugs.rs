//! The faults that Kim et al. found in BLIP and TinyRPL (III-B), each with and without the fix.

use super::{Case, FORMATION_S, LOADS, OfTree, THREATS, point};
use crate::apps::sense::LEN;
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::scenario::{
    Building, Carrier, Fault, Flow, FlowKind, HostTcp, Role, Scenario, Sensor, Wire, tinyos,
};
use kinglet_peers::{Faults, Quirks};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "rpl-bugs",
    title: "Three faults of TinyOS",
    source: "Kim et al., §III-B",
    question: "What were the effects of the faults that the paper corrected before it measured?",
    method: "BLIP's TCP one hop from the border router, a reading of 82 octets a second: with a \
             count of transmissions that no acknowledgment resets, and without; with a first SYN \
             that is lost, because the node receives nothing in the first two seconds of its \
             connection, and the number of a repeated SYN as it was, and corrected. Thirty nodes \
             as in rpl-udp-loss, to each of which ten datagrams a minute go: with downward routes \
             that expire twenty minutes after their creation in spite of DAOs, and with those \
             that DAOs refresh.",
    threats: &WITH_TINYRPL,
    main: "count=mended",
    plan,
    refine: |_: &mut Rows| (),
    figures: |_: &ExperimentResult| Vec::<Figure>::new(),
};

/// Threats including those of the third fault.
const WITH_TINYRPL: [&str; 6] = {
    let [buildings, rpl, cpu, delay] = THREATS;
    [
        buildings,
        rpl,
        cpu,
        delay,
        "TinyRPL's timers are added to Kinglet's RPL (`host/lab/src/tinyrpl.rs`): RPL itself \
         loses no route. A packet without a route is dropped; TinyRPL's routers may send it up \
         again.",
        "The interval of TinyRPL's DAOs is not published. Kinglet's nodes send them after 15 to \
         22.5 minutes, and when their parents change; the longer the interval, the longer routes \
         are missing.",
    ]
};

const METRICS: &[Metric] = &[
    Metric::OfTree(OfTree::Connections),
    Metric::OfTree(OfTree::SegmentsPerConnection),
    Metric::OfTree(OfTree::Throughput),
];
const DOWN: &[Metric] = &[Metric::OfTree(OfTree::Loss), Metric::OfTree(OfTree::LossSpread)];
/// Start of the flow in seconds, and end of the partition of a node that loses its first SYN: it
/// ends before BLIP's timeout, so the second SYN arrives.
const START_S: f64 = 1.0;
const ALONE_UNTIL_S: f64 = START_S + 2.5;
const MENDED: Faults = Faults { counts_all_segments: false, renumbers_syn: false };

fn plan(effort: Effort) -> Vec<Point> {
    let counts = Faults { counts_all_segments: true, ..MENDED };
    let renumbers = Faults { renumbers_syn: true, ..MENDED };
    let both = [
        ("count=mended", MENDED, false),
        ("count=for-ever", counts, false),
        ("syn=lost number=mended", MENDED, true),
        ("syn=lost number=another", renumbers, true),
    ];
    let of = |(label, faults, alone): (&str, Faults, bool)| {
        let scenario = one_hop(effort, faults, alone);
        point(label.to_owned(), "faults", 0.0, scenario, METRICS)
    };
    let routes = [("ways=mended", false), ("ways=not-renewed", true)];
    let down = routes.map(|(label, routes_expire)| {
        let scenario = downward(effort, routes_expire);
        point(label.to_owned(), "ways", 0.0, scenario, DOWN)
    });
    both.into_iter().map(of).chain(down).collect()
}

/// Datagrams to thirty nodes, over several lifetimes of a route.
fn downward(effort: Effort, routes_expire: bool) -> Scenario {
    let mut scenario = super::scenario(effort, Building::Middle, Case::UdpDown, LOADS[0]);
    scenario.name = "Ways down".to_owned();
    scenario.duration_s = FORMATION_S
        + match effort {
            Effort::Quick => 3_600.0,
            Effort::Full => 7_200.0,
        };
    scenario.rpl.routes_expire = routes_expire;
    scenario
}

fn one_hop(effort: Effort, faults: Faults, alone: bool) -> Scenario {
    let mut scenario = line_scenario(effort, 1, 0).as_tinyos(LEN as u16);
    scenario.name = "BLIP one hop away".to_owned();
    scenario.nodes[0].role = Role::BorderRouter;
    scenario.wire = Some(Wire { host: HostTcp::Linux, ..Wire::PERFECT });
    scenario.tcp.quirks = Quirks { faults, ..tinyos::QUIRKS };
    let sensor = Sensor { batch: 1, ..Sensor::new(1, scenario.host(), Carrier::Tcp) };
    scenario.flows = vec![Flow::new(START_S, FlowKind::Anemometer(sensor))];
    if alone {
        let (nodes, to_s) = (vec![1], Some(ALONE_UNTIL_S));
        scenario.faults = vec![Fault::Partition { nodes, from_s: 0.0, to_s }];
    }
    scenario
}
