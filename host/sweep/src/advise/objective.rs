//! Quantities to improve, each a number per run.

use super::outcome::Outcome;
use crate::stats::quantile;
use kinglet_network::build::connection;
use kinglet_network::run::{FlowResult, NodeResult, RunResult};
use kinglet_network::table::Record;
use kinglet_scenario::{FlowKind, NodeId, Role, Scenario, Transport};
use serde::Serialize;
use std::collections::BTreeMap;

/// Quantity to improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// Goodput: the mean over flows. A transfer that has not ended counts as zero.
    Goodput,
    /// Energy of nodes without mains power for the received data. These are the leaves, or without
    /// leaves the routers, and the border router if it sleeps.
    Energy,
    /// Latency of applications: for requests the time that 95 % of them do not exceed, for
    /// datagrams their mean delay, otherwise the mean round-trip time.
    Latency,
    /// Share of readings, datagrams, requests or transfers that succeeded.
    Reliability,
}

impl Objective {
    /// All objectives.
    pub const ALL: [Objective; 4] =
        [Objective::Goodput, Objective::Energy, Objective::Latency, Objective::Reliability];

    /// Name of the objective.
    pub const fn name(self) -> &'static str {
        match self {
            Objective::Goodput => "goodput",
            Objective::Energy => "energy",
            Objective::Latency => "latency",
            Objective::Reliability => "reliability",
        }
    }

    /// Unit of the objective.
    pub const fn unit(self) -> &'static str {
        match self {
            Objective::Goodput => "kb/s",
            Objective::Energy => "mJ/kB",
            Objective::Latency => "ms",
            Objective::Reliability => "%",
        }
    }

    const fn higher_is_better(self) -> bool {
        matches!(self, Objective::Goodput | Objective::Reliability)
    }

    /// Outcome of a run; `None` if the run lacks this quantity.
    pub(super) fn of(self, measured: &Record) -> Option<Outcome> {
        let number = |name: &str| measured.get(name)?.as_f64();
        let (value, arrived) = (number(self.name())?, number(ARRIVED)?);
        Some(Outcome { value, arrived, higher_is_better: self.higher_is_better() })
    }
}

/// Name of the received share in a record.
const ARRIVED: &str = "arrived";

/// All quantities of a run by name.
pub(super) fn measured(scenario: &Scenario, result: &RunResult) -> Record {
    let mut record = Record::new();
    let Some(arrived) = mean(result.flows.iter().filter_map(arrived_of)) else { return record };
    let values = [
        (ARRIVED, Some(arrived)),
        (Objective::Goodput.name(), mean(result.flows.iter().filter_map(goodput_of))),
        (Objective::Energy.name(), Some(energy(scenario, result))),
        (Objective::Latency.name(), mean(result.flows.iter().filter_map(latency_of))),
        (Objective::Reliability.name(), Some(arrived * 100.0)),
    ];
    record.extend(values.map(|(name, value)| (name.to_owned(), value.into())));
    record
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// True if the flow is only the server side of others.
fn serves(flow: &FlowResult) -> bool {
    matches!(flow.kind, "services" | "http-server" | "coap-server")
}

fn goodput_of(flow: &FlowResult) -> Option<f64> {
    // An endless flow with some data is as expected.
    let is_well = flow.complete.unwrap_or(!flow.is_dead());
    (!serves(flow)).then(|| flow.goodput_kbps.filter(|_| is_well).unwrap_or(0.0))
}

/// Received share of a flow's data.
fn arrived_of(flow: &FlowResult) -> Option<f64> {
    if serves(flow) {
        return None;
    }
    if let Some(readings) = &flow.readings {
        return Some(readings.reliability().unwrap_or(1.0));
    }
    let (answered, failed) =
        (flow.latencies_ms().len() as f64, f64::from(flow.failed.unwrap_or(0)));
    if answered + failed > 0.0 {
        return Some(answered / (answered + failed));
    }
    if let (Some(_), Some(lost)) = (flow.delay_ms, flow.segment_loss) {
        return Some(1.0 - lost);
    }
    let is_well = flow.complete.unwrap_or(true) && flow.bytes.unwrap_or(0) > 0;
    Some(f64::from(u8::from(is_well)))
}

fn latency_of(flow: &FlowResult) -> Option<f64> {
    quantile(flow.latencies_ms(), 0.95).or(flow.delay_ms).or(flow.rtt_ms)
}

/// Millijoules of nodes without mains power per thousand octets received.
fn energy(scenario: &Scenario, result: &RunResult) -> f64 {
    let leaves = scenario.nodes.iter().any(|node| node.role == Role::Leaf);
    let has_battery = |node: &&NodeResult| {
        let role = scenario.nodes.get(node.id as usize).map(|place| place.role);
        match role {
            Some(Role::Leaf) => true,
            Some(Role::BorderRouter) => scenario.wake.is_some_and(|wake| wake.border_duty_cycled),
            Some(Role::Router) => !leaves,
            _ => false,
        }
    };
    let nodes = result.nodes.iter().filter(has_battery);
    let spent: f64 = nodes.map(NodeResult::whole_mj).sum();
    let bytes: u64 = result.flows.iter().filter_map(|flow| flow.bytes).sum();
    // At least one octet, so that a run without data has the worst value.
    spent / (bytes.max(1) as f64 / 1_000.0)
}

/// Octets of the connections' buffers at the node with most of them.
pub(super) fn buffers_of(scenario: &Scenario) -> usize {
    let mut at: BTreeMap<NodeId, usize> = BTreeMap::new();
    for flow in &scenario.flows {
        let (send, receive) = match &flow.kind {
            FlowKind::TcpBulk { send_buffer, receive_buffer, .. } => {
                (*send_buffer, *receive_buffer)
            }
            _ => (None, None),
        };
        if flow.target(0).is_none_or(|at| at.transport != Transport::Tcp) {
            continue;
        }
        let connection = connection(scenario, send, receive);
        let (from, to) = flow.kind.ends();
        for node in [Some(from), to].into_iter().flatten().filter(|node| *node < scenario.host()) {
            *at.entry(node).or_default() += connection.send_buffer + connection.receive_buffer;
        }
    }
    at.into_values().max().unwrap_or(0)
}
