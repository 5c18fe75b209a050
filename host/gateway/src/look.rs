//! A snapshot of a network: what the screen shows and a status file contains.

use crate::bridge;
use crate::network::{Mesh, NodeCounters};
use crate::policy::Drops;
use crate::status::Status;
use crate::stick::RadioLook;
use kinglet_network::run::{BorderResult, FlowResult, LossResult, Reasons};
use kinglet_time::Duration;
use kinglet_zep::console::Report;
use serde::Serialize;

/// A network that the screen shows: a simulated one, or the one behind a border router.
pub(crate) trait Shown: bridge::Network {
    /// Returns the time since the network was announced.
    fn uptime(&self) -> Duration;
    /// Returns a snapshot. It has no side effects on the network.
    fn look(&mut self) -> Look;
    /// Returns the relations that nodes have lost since the last call.
    fn losses(&mut self) -> Vec<LossResult>;
    /// Returns the records of the flows, if the network has flows of its own.
    fn flows(&self) -> Option<Vec<FlowResult>>;
}

/// A snapshot of a network.
#[derive(Serialize)]
pub(crate) struct Look {
    /// Queue of packets for the radio; `None` if they wait together with the packets that the
    /// border router relays.
    pub(crate) border_queue: Option<BorderResult>,
    /// Packets that all nodes together have dropped because of their origin.
    pub(crate) policy: Drops,
    /// Reasons for which all these nodes together have lost frames and packets.
    pub(crate) reasons: Reasons,
    /// The nodes whose state is known.
    pub(crate) nodes: Vec<Row>,
    /// A coprocessor, if it is the radio of a border router.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) radio: Option<RadioLook>,
    /// Tables of a border router: its routes, and its neighbours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tables: Vec<Report>,
}

/// A node in the live table.
#[derive(Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) counters: NodeCounters,
    #[serde(flatten)]
    pub(crate) status: Status,
    /// Reasons for which it has lost frames and packets; in a snapshot those that occurred. Unknown
    /// for a node behind a serial line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasons: Option<Reasons>,
}

impl Look {
    /// Returns the snapshot of a network with these nodes.
    pub(crate) fn new(mut nodes: Vec<Row>, border_queue: Option<BorderResult>) -> Self {
        let policy = Drops::sum(nodes.iter().map(|row| &row.status.policy));
        let mut all = Reasons::default();
        for reasons in nodes.iter_mut().filter_map(|row| row.reasons.as_mut()) {
            all.merge(reasons);
            *reasons = reasons.occurred();
        }
        Look { border_queue, policy, reasons: all, nodes, radio: None, tables: Vec::new() }
    }
}

impl Shown for Mesh {
    fn uptime(&self) -> Duration {
        Mesh::uptime(self)
    }

    fn look(&mut self) -> Look {
        let nodes = self.counters().into_iter().zip(self.status()).zip(self.reasons());
        let row = |((counters, status), reasons)| Row { counters, status, reasons };
        Look::new(nodes.map(row).collect(), self.border_queue())
    }

    fn losses(&mut self) -> Vec<LossResult> {
        Mesh::losses(self)
    }

    fn flows(&self) -> Option<Vec<FlowResult>> {
        Some(Mesh::flows(self))
    }
}
