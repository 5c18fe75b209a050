//! TCP over RPL (Kim et al., JCN 2015): thirty nodes of a building, each with a flow of its own.
//!
//! | file | results |
//! |---|---|
//! | `metric.rs` | metrics of many flows in one tree |
//! | `cases.rs` | both transports in both directions at three loads: Figs. 4, 5, 6 and 9 |
//! | `distance.rs` | lower throughput of distant nodes: Figs. 7, 8 and 10 |
//! | `forms.rs` | formation and repair of a tree |
//! | `meters.rs` | a street of five thousand meters |
//! | `routes.rs` | upward and downward routes of a tree, for both |
//! | `rto.rs` | the fixed timeout: Fig. 11 |
//! | `bugs.rs` | the three faults of III-B |

mod bugs;
mod cases;
mod distance;
pub(crate) mod forms;
pub(crate) mod meters;
mod metric;
mod routes;
mod rto;

pub(super) use bugs::EXPERIMENT as BUGS;
pub(super) use cases::{CONTROL, ETX, QUEUE_LOSS, TCP_ETX, THROUGHPUT, UDP_LOSS};
pub(super) use distance::{FAIRNESS, SEVEN_HOPS};
pub(super) use forms::EXPERIMENT as FORMS;
pub(super) use meters::EXPERIMENT as METERS;
pub use metric::OfTree;
pub(super) use rto::EXPERIMENT as RTO;

use super::{Effort, point, with_overlap};
use crate::apps::sense::LEN;
use crate::scenario::{Building, Carrier, Flow, FlowKind, NodeId, Routing, Scenario, Sensor};
use kinglet_peers::Stack;
use kinglet_sim::rng::{Purpose, stream};

/// Transport and direction of the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    UdpDown,
    UdpUp,
    TcpDown,
    TcpUp,
}

impl Case {
    /// All cases, in the order of the paper's bars.
    pub(crate) const ALL: [Case; 4] = [Case::UdpDown, Case::UdpUp, Case::TcpDown, Case::TcpUp];
    /// The cases over TCP.
    pub(crate) const TCP: [Case; 2] = [Case::TcpDown, Case::TcpUp];

    /// Name in labels.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Case::UdpDown => "udp-down",
            Case::UdpUp => "udp-up",
            Case::TcpDown => "tcp-down",
            Case::TcpUp => "tcp-up",
        }
    }

    const fn is_tcp(self) -> bool {
        matches!(self, Case::TcpDown | Case::TcpUp)
    }

    const fn is_up(self) -> bool {
        matches!(self, Case::UdpUp | Case::TcpUp)
    }
}

/// Packets per minute and node.
pub(crate) const LOADS: [u32; 3] = [10, 30, 60];
/// Load of most results.
pub(crate) const HEAVY: u32 = 60;
/// Time for the tree to form, in seconds; TinyRPL's shortest trickle interval is a quarter of a
/// second.
const FORMATION_S: f64 = 120.0;
/// Packets in a node's queue for TCP; a packet that finds the queue full is not sent.
const QUEUE: u16 = 8;

/// Threats common to these experiments.
const THREATS: [&str; 4] = [
    "The paper has no positions, gains, sizes of packets or lengths of runs. Buildings are drawn \
     until their trees have its depth; packets are readings of 82 octets, which one frame carries.",
    "RPL is Kinglet's, in storing mode with MRHOF, and not TinyRPL: its trickle timer suppresses, \
     its DAOs are acknowledged, and its hysteresis is 1.5 and not 0.5 transmissions. The paper's \
     packets carry no RPL option here, because a reading would then take two frames.",
    "The CPU's time for a frame is that of the same mote with burst forwarding, 1.6 ms; TinyOS's \
     own was not published.",
    "Between repetitions there is a random time with the mean of BLIP's fixed 103 ms.",
];

/// Thirty flows of `load` packets per minute each, in the paper's system.
pub(crate) fn scenario(effort: Effort, building: Building, case: Case, load: u32) -> Scenario {
    // The run draws the building; this is the building of the first seed.
    let base = Scenario { routing: Routing::Rpl, ..Scenario::building(building, 1) };
    let mut scenario = Scenario {
        name: format!("{} at {load} packets a minute", case.name()),
        duration_s: FORMATION_S + measured_s(effort),
        ..base.as_tinyos(LEN as u16)
    };
    let (host, root) = (scenario.host(), building.root());
    scenario.flows =
        (0..host).filter(|node| *node != root).map(|node| flow(case, node, host, load)).collect();
    scenario
}

const fn measured_s(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 300.0,
        Effort::Full => 900.0,
    }
}

fn flow(case: Case, node: NodeId, host: NodeId, load: u32) -> Flow {
    let (from, to) = if case.is_up() { (node, host) } else { (host, node) };
    let period_ms = 60_000 / load;
    if case.is_tcp() {
        // The sensor makes its first reading at a random time within a period.
        let sensor =
            Sensor { period_ms, batch: 1, queue: QUEUE, ..Sensor::new(from, to, Carrier::Tcp) };
        return Flow::new(FORMATION_S, FlowKind::Anemometer(sensor));
    }
    let phase = stream(1, node.into(), Purpose::Application).unit();
    let kind = FlowKind::datagrams(from, to, period_ms, LEN as u16);
    // Whole milliseconds, as in scenario files.
    let start_s = FORMATION_S + (phase * f64::from(period_ms)).floor() / 1e3;
    Flow::new(start_s, kind)
}

/// The same with all settings at Kinglet's defaults.
pub(crate) fn ours(paper: Scenario) -> Scenario {
    let wire = paper.wire.clone();
    Scenario { wire, ..paper.as_kinglet() }
}

/// The same with another TCP on the nodes, with one segment in flight.
fn with_stack(scenario: Scenario, stack: Stack) -> Scenario {
    let tcp = crate::scenario::Tcp { stack: Some(stack), ..scenario.tcp };
    Scenario { tcp, ..scenario }
}

fn label(case: Case, load: u32) -> String {
    format!("{} load={load}", case.name())
}
