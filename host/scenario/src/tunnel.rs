//! A second computer at the far end of a path: packets between the two computers cross the network
//! in a tunnel (Duquennoy et al., Fig. 14).

use super::{Flow, NodeId, Role, Routing, Scenario};
use kinglet::rpl::Mode;

/// Place of the second computer; the first one is behind the border router. Only the gateway has
/// computers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tunnel {
    /// The router in front of it, whose address it has.
    pub node: NodeId,
    /// Rate of the serial lines between computers and nodes at both ends, in each direction, in
    /// thousands of bits per second; `None` is no limit.
    pub rate_kbps: Option<f64>,
}

impl Tunnel {
    /// A tunnel without a limit of its lines.
    pub const fn to(node: NodeId) -> Tunnel {
        Tunnel { node, rate_kbps: None }
    }
}

impl Scenario {
    /// Returns true if the computer at the far end of a tunnel is behind `node`.
    pub fn is_far_end(&self, node: NodeId) -> bool {
        self.tunnel.is_some_and(|tunnel| tunnel.node == node)
    }

    /// Returns true if the address of `node` is not its own, but that of a peer stack or a computer
    /// behind its host interface.
    pub fn stands_before(&self, node: NodeId) -> bool {
        self.is_far_end(node) || self.stack_at(node).is_some()
    }

    /// Reason why the tunnel of this scenario is misplaced, if it is.
    pub(crate) fn misplaced_tunnel(&self) -> Option<String> {
        let node = self.tunnel?.node;
        let role = self.nodes.get(node as usize)?.role;
        if !self.nodes.iter().any(|place| place.role == Role::BorderRouter) {
            return Some(
                "needs a node with `role = \"border-router\"` as its other end".to_owned(),
            );
        }
        if role != Role::Router {
            let what = match role {
                Role::BorderRouter => "is the border router, which is the tunnel's other end",
                _ => "is not a router",
            };
            return Some(format!("node {node} {what}; give a router"));
        }
        // In both, its node would send messages of its own from the address of the computer.
        if self.routing.by_short() {
            return Some("needs `routing = \"static\"` or `\"rpl\"`".to_owned());
        }
        if self.routing == Routing::Rpl && self.rpl.mode == Mode::NonStoring {
            return Some("needs `rpl_mode = \"storing\"`".to_owned());
        }
        let ends_there = |flow: &&Flow| {
            let (from, to) = flow.kind.ends();
            from == node || to == Some(node)
        };
        let flow = self.flows.iter().find(ends_there)?;
        Some(format!(
            "a flow of kind \"{}\" has an end at node {node}, where a computer replaces the \
             applications; remove that flow, or give another node",
            flow.kind.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[topology]\nline = { hops = 3 }\n";

    fn read(text: &str) -> Result<Scenario, String> {
        Scenario::from_toml("t.toml", text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tunnel_needs_its_node_and_has_lines_without_limit() {
        let scenario = read(&format!("{LINE}[tunnel]\nnode = 3\n")).expect("a tunnel");
        assert_eq!(scenario.tunnel, Some(Tunnel::to(3)));
        let scenario = read(&format!("{LINE}[tunnel]\nnode = 2\nrate_kbps = 92.16\n"));
        let tunnel = scenario.expect("a tunnel").tunnel;
        assert_eq!(tunnel, Some(Tunnel { node: 2, rate_kbps: Some(92.16) }));
        assert_eq!(read(LINE).expect("a line").tunnel, None);
    }

    #[test]
    fn a_tunnel_that_leads_nowhere_is_refused_with_its_place_and_what_would_be_right() {
        let leaf = "[[node]]\nrole = \"border-router\"\n[[node]]\n[[node]]\nrole = \"leaf\"\n";
        let wrong = [
            (LINE, "", "t.toml:3:1: tunnel.node: missing; give a node number, 0 to 3"),
            (LINE, "node = 4", "t.toml:4:8: tunnel.node: 4 is out of range; allowed are 0 to 3"),
            (LINE, "node = 3\nrate_kpbs = 9", "tunnel.rate_kpbs: unknown key; did you mean"),
            (LINE, "node = 3\nrate_kbps = 0", "tunnel.rate_kbps: 0 is out of range"),
            (
                LINE,
                "node = 0",
                "tunnel: node 0 is the border router, which is the tunnel's other end",
            ),
            (leaf, "node = 2", "tunnel: node 2 is not a router; give a router"),
            ("[[node]]\n[[node]]\nx_m = 8\n", "node = 1", "tunnel: needs a node with `role = "),
            (LINE, "node = 3\n[net]\nrouting = \"mesh\"", "needs `routing = \"static\"`"),
            (
                LINE,
                "node = 3\n[net]\nrouting = \"rpl\"\nrpl_mode = \"non-storing\"",
                "needs `rpl_mode = \"storing\"`",
            ),
            (
                LINE,
                "node = 3\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 3",
                "tunnel: a flow of kind \"tcp-bulk\" has an end at node 3",
            ),
            (LINE, "node = 3\n[[flow]]\nkind = \"http-server\"\nnode = 3", "end at node 3"),
        ];
        for (nodes, tunnel, why) in wrong {
            let text = format!("{nodes}[tunnel]\n{tunnel}\n");
            let message = read(&text).expect_err(&text);
            assert!(message.contains(why), "{message}\n{text}");
        }
    }

    #[test]
    fn static_routes_lead_from_end_to_end_in_both_directions() {
        let routes = read(&format!("{LINE}[tunnel]\nnode = 2\n")).expect("a tunnel").routes();
        let found: Vec<_> = routes.iter().map(|r| (r.node, r.destination, r.next_hop)).collect();
        assert_eq!(found, [(0, 2, 1), (1, 0, 0), (1, 2, 2), (2, 0, 1)]);
    }
}
