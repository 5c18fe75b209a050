//! Upward and downward routes of a tree, followed from next hop to next hop.

use kinglet::rpl::{Mode, NextHop, Rpl};
use kinglet_network::build::Network;
use kinglet_network::protocols::Tables;
use kinglet_scenario::{NodeId, Scenario};
use std::net::Ipv6Addr;

/// Maximum hops of a source route.
const HOPS: usize = 64;

/// Current routes of a scenario's network.
pub(super) struct Routes<'a> {
    pub(super) world: &'a Network,
    pub(super) scenario: &'a Scenario,
}

impl Routes<'_> {
    pub(super) fn rpl(&self, node: NodeId) -> Option<&Rpl<Tables>> {
        self.world.device(node as usize).node().routing().rpl()
    }

    /// The node and its ancestors; more than the number of nodes if they form a routing loop.
    pub(super) fn above(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let parent = |node: &NodeId| Some(node_of(self.rpl(*node)?.parent()?));
        std::iter::successors(Some(node), parent).take(self.world.nodes() + 1)
    }

    /// Nodes of the downward route from the root, if there is one.
    fn down(&self, root: NodeId, node: NodeId) -> Option<Vec<NodeId>> {
        let destination = self.scenario.addressing().address(node);
        if self.scenario.rpl.mode == Mode::NonStoring {
            let mut hops = [Ipv6Addr::UNSPECIFIED; HOPS];
            let len = self.rpl(root)?.source_route(destination, &mut hops)?;
            return Some(hops[..len].iter().copied().map(node_of).collect());
        }
        let mut path = vec![root];
        while *path.last()? != node {
            let NextHop::Neighbour(next) = self.rpl(*path.last()?)?.route(destination) else {
                return None;
            };
            path.push(node_of(next));
            if path.len() > self.world.nodes() {
                return None;
            }
        }
        Some(path)
    }

    /// True if all these nodes have upward and downward routes that avoid a dead node.
    pub(super) fn all_reach(&self, root: NodeId, nodes: &[NodeId], dead: Option<NodeId>) -> bool {
        let avoids = |node: &NodeId| Some(*node) != dead;
        let reaches = |&node: &NodeId| {
            self.above(node).all(|at| avoids(&at))
                && self.above(node).last() == Some(root)
                && self.down(root, node).is_some_and(|path| path.iter().all(avoids))
        };
        nodes.iter().filter(|node| **node != root).all(reaches)
    }
}

/// Node with this address; its short address counts from 1.
fn node_of(address: Ipv6Addr) -> NodeId {
    NodeId::from((address.to_bits() as u16).wrapping_sub(1))
}
