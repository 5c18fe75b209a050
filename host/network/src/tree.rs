//! The routing tree to the border router at one instant: next hops, hop counts, load.

use crate::build::Network;
use crate::profile::LabProfile;
use crate::run::result::{Branch, Tree};
use kinglet::Node;
use kinglet::Routing as _;
use kinglet::net::NextHop;
use kinglet::time::{Duration, Instant};
use kinglet_scenario::{Addressing, NodeId, Role, Routing, Scenario};
use kinglet_sim::{Device, World};
use std::collections::BTreeMap;

/// Next hops of all nodes.
#[derive(Clone, Debug)]
pub struct NextHops {
    nodes: usize,
    addressing: Addressing,
    /// Static routes, by node and destination; `None` if a protocol finds the routes.
    routes: Option<BTreeMap<(NodeId, NodeId), NodeId>>,
}

impl NextHops {
    /// Reads the routes of `scenario`.
    pub fn new(scenario: &Scenario) -> NextHops {
        let routes = scenario.routes().into_iter().map(|r| ((r.node, r.destination), r.next_hop));
        let routes = (scenario.routing == Routing::Static).then(|| routes.collect());
        NextHops { nodes: scenario.nodes.len(), addressing: scenario.addressing(), routes }
    }

    /// Returns true if routes are static.
    pub const fn are_static(&self) -> bool {
        self.routes.is_some()
    }

    /// Next hop from `from` to `to`. If a protocol finds the routes it is that of the `stack` of
    /// `from`, if given.
    pub fn next_hop(
        &self,
        stack: Option<&Node<LabProfile>>,
        from: NodeId,
        to: NodeId,
    ) -> Option<NodeId> {
        if let Some(routes) = &self.routes {
            return routes.get(&(from, to)).copied();
        }
        let learnt = stack?.routing().route(self.addressing.address(to))?;
        let Some(NextHop::Link(next)) = learnt.via else { return None };
        (0..self.nodes as NodeId).find(|node| self.addressing.link(*node) == next)
    }
}

/// Pairs of nodes that receive each other, the smaller number first.
pub fn links<D: Device>(world: &World<D>, scenario: &Scenario) -> Vec<(NodeId, NodeId)> {
    let links = world.links(scenario.radio.tx_power_dbm as i8).into_iter();
    links.map(|(a, b)| (a as NodeId, b as NodeId)).collect()
}

/// The last observation of a tree. The frames that nodes send after it are their load at the next
/// one.
#[derive(Clone, Debug)]
pub struct Look {
    root: NodeId,
    at: Instant,
    /// Frames on the air by each node until then.
    sent: Vec<u64>,
}

impl Look {
    /// Records that nodes have `sent` these numbers of frames at `now`; the tree's root is `root`.
    pub const fn new(root: NodeId, now: Instant, sent: Vec<u64>) -> Self {
        Look { root, at: now, sent }
    }

    /// The tree at `now`, from the next hop of each node to the root, and the frames that each has
    /// sent until now.
    pub fn again(&mut self, now: Instant, parents: &[Option<NodeId>], sent: Vec<u64>) -> Tree {
        let seconds = (now - self.at).as_micros().max(1) as f64 / 1e6;
        let frames = sent.iter().zip(&self.sent);
        let nodes = (0..).zip(parents.iter().zip(frames)).map(|(node, (parent, frames))| Branch {
            parent: *parent,
            hops: hops(parents, self.root, node),
            frames_per_s: frames.0.saturating_sub(*frames.1) as f64 / seconds,
        });
        let tree = Tree { at_s: now.as_micros() as f64 / 1e6, nodes: nodes.collect() };
        (self.at, self.sent) = (now, sent);
        tree
    }
}

/// Observes the tree from time to time.
pub(crate) struct Sampler {
    next_hops: NextHops,
    period: Duration,
    next: Instant,
    last: Look,
    trees: Vec<Tree>,
}

/// Instants of a run: a page with this number is still fast.
const SAMPLES: u64 = 200;
/// Shortest interval between trees: shorter ones would be indistinguishable.
const SHORTEST: Duration = Duration::from_millis(100);

impl Sampler {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
        let each = Duration::from_micros((scenario.duration_s * 1e6) as u64 / SAMPLES);
        let period = each.max(SHORTEST);
        Sampler {
            next_hops: NextHops::new(scenario),
            period,
            next: Instant::ZERO + period,
            last: Look::new(
                border.unwrap_or(0) as NodeId,
                Instant::ZERO,
                vec![0; scenario.nodes.len()],
            ),
            trees: Vec::new(),
        }
    }

    /// Time of the next observation.
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// Observes the tree, if that is due.
    pub(crate) fn look(&mut self, world: &Network) {
        let now = world.now();
        if now < self.next {
            return;
        }
        self.next = now + self.period;
        let root = self.last.root;
        let ids = 0..self.last.sent.len() as NodeId;
        let parent = |node: NodeId| {
            let stack = world.device(node as usize).node();
            (node != root).then(|| self.next_hops.next_hop(Some(stack), node, root)).flatten()
        };
        let parents: Vec<_> = ids.clone().map(parent).collect();
        let sent = ids.map(|node| world.counters(node as usize).frames_sent).collect();
        self.trees.push(self.last.again(now, &parents, sent));
    }

    pub(crate) fn into_trees(self) -> Vec<Tree> {
        self.trees
    }
}

/// Hops from `node` to `root` by these parents.
fn hops(parents: &[Option<NodeId>], root: NodeId, node: NodeId) -> Option<u32> {
    let (mut at, mut hops) = (node, 0);
    while at != root {
        at = parents[at as usize].filter(|_| hops < parents.len() as u32)?;
        hops += 1;
    }
    Some(hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};

    #[test]
    fn paths_that_end_or_loop_have_no_hops() {
        let parents = [None, Some(0), Some(1), Some(4), Some(3), None];
        let all: Vec<_> = (0..6).map(|node| hops(&parents, 0, node)).collect();
        assert_eq!(all, [Some(0), Some(1), Some(2), None, None, None]);
    }

    #[test]
    fn load_is_what_was_sent_since_the_look_before() {
        let mut look = Look::new(0, Instant::from_secs(10), vec![100, 7]);
        let parents = [None, Some(0)];
        let per_s = |tree: &Tree| tree.nodes.iter().map(|node| node.frames_per_s).collect();
        let tree = look.again(Instant::from_secs(12), &parents, vec![150, 7]);
        let loads: Vec<f64> = per_s(&tree);
        assert_eq!((tree.at_s, loads), (12.0, vec![25.0, 0.0]));
        assert_eq!((tree.nodes[1].parent, tree.nodes[1].hops), (Some(0), Some(1)));
        let loads: Vec<f64> = per_s(&look.again(Instant::from_secs(13), &parents, vec![150, 8]));
        assert_eq!(loads, [0.0, 1.0]);
    }

    #[test]
    fn the_tree_of_a_line_is_the_line_whoever_makes_the_routes() {
        for routing in [Routing::Static, Routing::Mesh, Routing::Rpl] {
            let mut scenario = Scenario { duration_s: 60.0, routing, ..Scenario::default() }
                .on_line(3, kinglet_scenario::LINE_SPACING_M);
            scenario.nodes[0].role = Role::BorderRouter;
            scenario.flows = vec![kinglet_scenario::Flow::bulk(3, 0)];
            let options = Options { tree: true, ..Options::default() };
            let result = run(&scenario, 1, &options).expect("it can be simulated");
            assert_eq!(result.trees.len(), 200);
            let last = result.trees.last().expect("one");
            let hops: Vec<_> = last.nodes.iter().map(|node| node.hops).collect();
            assert_eq!(hops, [Some(0), Some(1), Some(2), Some(3)]);
            assert_eq!(last.nodes[3].parent, Some(2));
            assert_eq!(result.links, [(0, 1), (1, 2), (2, 3)]);
            let per_s: f64 = result.trees.iter().map(|tree| tree.nodes[3].frames_per_s).sum();
            let sent = per_s * 0.3;
            assert!((sent - result.nodes[3].frames_sent as f64).abs() < 1.0, "{sent}");
        }
    }
}
