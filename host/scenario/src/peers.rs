//! TCP stack of each node.

use super::{Carrier, FlowKind, HostTcp, NodeId, Routing, Scenario, Sensor};
use kinglet::rpl::Mode;
use kinglet_peers::Stack;

impl Scenario {
    /// Peer stack of `node`, or of the host; `None` for Kinglet's own TCP.
    pub fn stack_at(&self, node: NodeId) -> Option<Stack> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let host = self.wire.as_ref().filter(|_| node == self.host()).map(|wire| wire.host);
        let linux = (host == Some(HostTcp::Linux)).then_some(Some(Stack::Linux));
        let has = |(from, to): Ends| {
            let sends = (from == Some(node)).then_some(tcp.stack);
            sends.or((to == node).then_some(receives)).map(|stack| linux.unwrap_or(stack))
        };
        self.streams().find_map(has).flatten()
    }

    /// Number of ends of streams at the host.
    pub fn streams_at_host(&self) -> usize {
        let host = self.host();
        let at_host = |(from, to)| usize::from(from == Some(host)) + usize::from(to == host);
        self.streams().map(at_host).sum()
    }

    fn streams(&self) -> impl Iterator<Item = Ends> {
        self.flows.iter().filter_map(|flow| streams(&flow.kind))
    }

    /// Reason why the peer stacks of this scenario are misplaced, if they are. A node has one
    /// stack, and with a peer's stack it runs no other protocol. The host has both, one for TCP and
    /// one for the rest.
    pub fn misplaced_peer(&self) -> Option<String> {
        let tcp = &self.tcp;
        let receives = tcp.peer_stack.unwrap_or(tcp.stack);
        let ends = self.streams().flat_map(|(from, to)| from.into_iter().chain([to]));
        let by_peer: Vec<_> = ends.filter(|node| self.stack_at(*node).is_some()).collect();
        if by_peer.is_empty() {
            return None;
        }
        // The host is not part of mesh and AODV, and RPL advertises addresses behind a node as its
        // own.
        if self.routing.by_short() && by_peer.iter().any(|node| *node != self.host()) {
            return Some("peer stacks need `routing = \"static\"` or `\"rpl\"`".to_owned());
        }
        // Their DAOs are sent from a node's address to the root's, which would be those of their
        // peers.
        let far = self.routing == Routing::Rpl && self.rpl.mode == Mode::NonStoring;
        if far && by_peer.iter().any(|node| *node != self.host()) {
            return Some("peer stacks behind RPL need `rpl_mode = \"storing\"`".to_owned());
        }
        if tcp.stack != receives {
            let answers = |node: &NodeId| self.streams().any(|(_, to)| to == *node);
            if let Some(node) = self.streams().filter_map(|(from, _)| from).find(answers) {
                return Some(format!(
                    "node {node} both sends and receives, and can have one stack \
                                     only"
                ));
            }
        }
        // The host has both: a peer's TCP, and Kinglet's stack for the rest.
        let by_peer = |node: &NodeId| *node != self.host() && self.stack_at(*node).is_some();
        let mut others = self.flows.iter().filter(|flow| streams(&flow.kind).is_none());
        let unspoken = others.find_map(|flow| {
            let (from, to) = flow.kind.ends();
            [Some(from), to].into_iter().flatten().find(by_peer)
        });
        unspoken.map(|node| {
            format!(
                "node {node} has a flow that peer stacks do not support: they have TCP alone, so \
                 no datagrams, no CoAP, and `anemometer` only with `carrier = \"tcp\"`"
            )
        })
    }
}

/// The client or sender, if it is part of the flow, and the server or receiver.
type Ends = (Option<NodeId>, NodeId);

/// The ends of a flow over TCP, which peer stacks can carry.
const fn streams(kind: &FlowKind) -> Option<Ends> {
    match *kind {
        FlowKind::TcpBulk { from, to, .. }
        | FlowKind::HttpClient { from, to, .. }
        | FlowKind::Anemometer(Sensor { from, to, carrier: Carrier::Tcp, .. }) => {
            Some((Some(from), to))
        }
        FlowKind::HttpServer { node, .. } | FlowKind::Services { node } => Some((None, node)),
        FlowKind::Udp(_)
        | FlowKind::Snack { .. }
        | FlowKind::Pip(_)
        | FlowKind::CoapServer { .. }
        | FlowKind::CoapClient { .. }
        | FlowKind::Anemometer(_) => None,
    }
}
