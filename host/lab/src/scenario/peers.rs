//! Whose TCP each node has.

use super::{Carrier, FlowKind, NodeId, Routing, Scenario, Sensor};
use kinglet_peers::Stack;

impl Scenario {
    /// The peer stack of `node`, or of the host; `None` for Kinglet's own TCP.
    pub fn stack_at(&self, node: NodeId) -> Option<Stack> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let has = |(from, to): (NodeId, NodeId)| {
            (from == node).then_some(tcp.stack).or((to == node).then_some(receives))
        };
        self.streams().find_map(has).flatten()
    }

    /// The ends of flows that peer stacks can carry: who sends, who receives.
    fn streams(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        self.flows.iter().filter_map(|flow| match flow.kind {
            FlowKind::TcpBulk { from, to, .. }
            | FlowKind::Anemometer(Sensor { from, to, carrier: Carrier::Tcp, .. }) => {
                Some((from, to))
            }
            _ => None,
        })
    }

    /// Why peer stacks cannot be where this scenario wants them, if so. A node has one stack: with
    /// a peer's it speaks nothing but that.
    pub(super) fn misplaced_peer(&self) -> Option<String> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        if tcp.stack.is_none() && receives.is_none() {
            return None;
        }
        if self.routing == Routing::Mesh {
            return Some("peer stacks need `routing = \"static\"`".to_owned());
        }
        if tcp.stack != receives {
            let both = self
                .streams()
                .find_map(|(from, _)| self.streams().find(|(_, to)| *to == from).map(|_| from));
            if let Some(node) = both {
                return Some(format!("node {node} sends and receives: it can have one stack only"));
            }
        }
        let (wanted, streams) = (self.flows.len(), self.streams().count());
        let others = self.flows.iter().filter(|flow| {
            let (from, to) = flow.kind.ends();
            let is_stream = match &flow.kind {
                FlowKind::TcpBulk { .. } => true,
                FlowKind::Anemometer(sensor) => sensor.carrier == Carrier::Tcp,
                _ => false,
            };
            let by_peer = |node| self.stack_at(node).is_some();
            !is_stream && (by_peer(from) || to.is_some_and(by_peer))
        });
        let first =
            if wanted == streams { None } else { others.map(|flow| flow.kind.ends().0).next() };
        first.map(|node| {
            format!(
                "node {node} has a flow that peer stacks do not carry: they carry `tcp-bulk` and \
                     `anemometer` with `carrier = \"tcp\"`"
            )
        })
    }
}
