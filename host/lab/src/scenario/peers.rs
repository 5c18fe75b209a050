//! Whose TCP each node has.

use super::{Carrier, FlowKind, NodeId, Routing, Scenario, Sensor};
use kinglet_peers::Stack;

impl Scenario {
    /// The peer stack of `node`, or of the host; `None` for Kinglet's own TCP.
    pub fn stack_at(&self, node: NodeId) -> Option<Stack> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let has = |(from, to): (Option<NodeId>, NodeId)| {
            (from == Some(node)).then_some(tcp.stack).or((to == node).then_some(receives))
        };
        self.flows.iter().filter_map(|flow| streams(&flow.kind)).find_map(has).flatten()
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
        let ends = || self.flows.iter().filter_map(|flow| streams(&flow.kind));
        if tcp.stack != receives {
            let answers = |node: &NodeId| ends().any(|(_, to)| to == *node);
            if let Some(node) = ends().filter_map(|(from, _)| from).find(answers) {
                return Some(format!("node {node} sends and receives: it can have one stack only"));
            }
        }
        let by_peer = |node| self.stack_at(node).is_some();
        let mut others = self.flows.iter().filter(|flow| streams(&flow.kind).is_none());
        let first = others.find_map(|flow| {
            let (from, to) = flow.kind.ends();
            (by_peer(from) || to.is_some_and(by_peer)).then_some(from)
        });
        first.map(|node| {
            format!(
                "node {node} has a flow that peer stacks do not carry: they carry TCP alone, so no \
                 datagrams, no CoAP, and `anemometer` only with `carrier = \"tcp\"`"
            )
        })
    }
}

/// The ends of a flow over TCP, which peer stacks can carry: who begins, if that is part of it, and
/// who answers.
const fn streams(kind: &FlowKind) -> Option<(Option<NodeId>, NodeId)> {
    match *kind {
        FlowKind::TcpBulk { from, to, .. }
        | FlowKind::HttpClient { from, to, .. }
        | FlowKind::Anemometer(Sensor { from, to, carrier: Carrier::Tcp, .. }) => {
            Some((Some(from), to))
        }
        FlowKind::HttpServer { node, .. } | FlowKind::Services { node } => Some((None, node)),
        FlowKind::UdpPeriodic { .. }
        | FlowKind::CoapServer { .. }
        | FlowKind::CoapClient { .. }
        | FlowKind::Anemometer(_) => None,
    }
}
