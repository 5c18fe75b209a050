//! Whose TCP each node has.

use super::{Carrier, FlowKind, HostTcp, NodeId, Routing, Scenario, Sensor};
use kinglet_peers::Stack;

impl Scenario {
    /// The peer stack of `node`, or of the host; `None` for Kinglet's own TCP.
    pub fn stack_at(&self, node: NodeId) -> Option<Stack> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let host = self.wire.as_ref().filter(|_| node == self.host()).map(|wire| wire.host);
        let linux = (host == Some(HostTcp::Linux)).then_some(Some(Stack::Linux));
        let has = |(from, to): (NodeId, NodeId)| {
            let sends = (from == node).then_some(tcp.stack);
            sends.or((to == node).then_some(receives)).map(|stack| linux.unwrap_or(stack))
        };
        self.streams().find_map(has).flatten()
    }

    /// Ends of streams that are at the host.
    pub(crate) fn streams_at_host(&self) -> usize {
        let host = self.host();
        self.streams().map(|(from, to)| usize::from(from == host) + usize::from(to == host)).sum()
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
    /// a peer's it speaks nothing but that; the host has both, one for TCP and one for the rest.
    pub(crate) fn misplaced_peer(&self) -> Option<String> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let ends = self.streams().flat_map(|(from, to)| [from, to]);
        let by_peer: Vec<_> = ends.filter(|node| self.stack_at(*node).is_some()).collect();
        if by_peer.is_empty() {
            return None;
        }
        // The host is not in the mesh.
        if self.routing == Routing::Mesh && by_peer.iter().any(|node| *node != self.host()) {
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
        let unspoken = self.flows.iter().find_map(|flow| {
            let is_datagrams = match &flow.kind {
                FlowKind::TcpBulk { .. } => return None,
                FlowKind::Anemometer(sensor) if sensor.carrier == Carrier::Tcp => return None,
                FlowKind::HttpServer { .. }
                | FlowKind::HttpClient { .. }
                | FlowKind::Services { .. } => false,
                _ => true,
            };
            let (from, to) = flow.kind.ends();
            let by_peer = |node: &NodeId| {
                self.stack_at(*node).is_some() && !(is_datagrams && *node == self.host())
            };
            [Some(from), to].into_iter().flatten().find(by_peer)
        });
        unspoken.map(|node| {
            format!(
                "node {node} has a flow that peer stacks do not carry: they carry `tcp-bulk` and \
                     `anemometer` with `carrier = \"tcp\"`"
            )
        })
    }
}
