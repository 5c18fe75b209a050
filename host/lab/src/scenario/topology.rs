//! Places, neighbourhoods and shortest paths.

use super::{NodeId, NodePlace, Propagation, Role, Scenario};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A static route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The node that has it.
    pub node: NodeId,
    /// For packets to this node.
    pub destination: NodeId,
    /// The neighbour they go to.
    pub next_hop: NodeId,
}

pub(super) fn line(hops: u32, spacing_m: f64) -> Vec<NodePlace> {
    (0..=hops).map(|i| place(f64::from(i) * spacing_m, 0.0, i)).collect()
}

pub(super) fn grid(columns: u32, rows: u32, spacing_m: f64) -> Vec<NodePlace> {
    let spot = |i: u32| {
        let (column, row) = (i % columns, i / columns);
        place(f64::from(column) * spacing_m, f64::from(row) * spacing_m, i)
    };
    (0..columns * rows).map(spot).collect()
}

fn place(x_m: f64, y_m: f64, index: u32) -> NodePlace {
    let role = if index == 0 { Role::BorderRouter } else { Role::Router };
    NodePlace { x_m, y_m, role, parent: None }
}

/// The node closest to `from`, the lowest number if several are; `from` itself if it is alone.
pub(super) fn nearest(nodes: &[NodePlace], from: NodeId) -> NodeId {
    let Some(here) = nodes.get(from as usize) else { return from };
    let distance = |n: &NodePlace| (n.x_m - here.x_m).hypot(n.y_m - here.y_m);
    let others = nodes.iter().enumerate().filter(|(i, _)| *i != from as usize);
    others
        .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
        .map_or(from, |(index, _)| index as NodeId)
}

/// Received power from which on a link has cost 1, 2 or 4, in dBm: Thread's link qualities 3, 2 and
/// 1 ask for a margin of more than 20, 10 and 2 dB above a noise floor of -100 dBm, and for 2 dB
/// more to be reached from below (OpenThread, `link_quality.hpp`). Weaker links are not used.
const COSTS: [(f64, u32); 3] = [(-78.0, 1), (-88.0, 2), (-96.0, 4)];

/// Whether `b` can receive what `a` sends, well enough to route over it. Shadowing is not counted.
pub fn connected(scenario: &Scenario, a: NodeId, b: NodeId) -> bool {
    cost(scenario, a, b).is_some()
}

/// What Thread's routing charges for a link; 1 for every link where signal strength says nothing.
fn cost(scenario: &Scenario, a: NodeId, b: NodeId) -> Option<u32> {
    let (from, to) = (scenario.nodes.get(a as usize)?, scenario.nodes.get(b as usize)?);
    let distance = (from.x_m - to.x_m).hypot(from.y_m - to.y_m);
    let reached = match &scenario.medium.propagation {
        Propagation::UnitDisc { range_m, .. } => distance <= *range_m,
        Propagation::LinkMatrix { links } => links
            .iter()
            .any(|l| (l.from, l.to) == (a, b) || l.symmetric && (l.to, l.from) == (a, b)),
        Propagation::PathLoss { .. } => {
            let dbm = expected_dbm(scenario, a, b)?;
            let costs = COSTS.iter().filter(|_| a != b);
            return costs.into_iter().find(|(least, _)| dbm > *least).map(|(_, cost)| *cost);
        }
    };
    (reached && a != b).then_some(1)
}

/// Received power at `b` of what `a` sends under path loss, in dBm, without shadowing.
fn expected_dbm(scenario: &Scenario, a: NodeId, b: NodeId) -> Option<f64> {
    let (from, to) = (scenario.nodes.get(a as usize)?, scenario.nodes.get(b as usize)?);
    let distance = (from.x_m - to.x_m).hypot(from.y_m - to.y_m);
    let Propagation::PathLoss { exponent, reference_loss_db, .. } = scenario.medium.propagation
    else {
        return None;
    };
    let loss = reference_loss_db + 10.0 * exponent * distance.max(1.0).log10();
    Some(scenario.radio.tx_power_dbm - loss)
}

/// Routes for every flow; see [`Scenario::routes`].
pub(super) fn routes(scenario: &Scenario) -> Vec<Route> {
    let pairs = wanted_pairs(scenario);
    if pairs.is_empty() {
        return Vec::new();
    }
    let neighbours = neighbourhoods(scenario);
    let mut routes = BTreeSet::new();
    let mut tree: Option<(NodeId, Vec<Option<NodeId>>)> = None;
    // Pairs are ordered by destination, so that each tree is built once.
    for (destination, source) in pairs {
        if tree.as_ref().is_none_or(|(root, _)| *root != destination) {
            tree = Some((destination, tree_towards(scenario, &neighbours, destination)));
        }
        let Some((_, towards)) = &tree else { continue };
        let mut node = source;
        while node != destination {
            let Some(next_hop) = towards.get(node as usize).copied().flatten() else { break };
            routes.insert(Route { node, destination, next_hop });
            node = next_hop;
        }
    }
    routes.into_iter().collect()
}

/// Says of every pair of nodes that a flow needs a path for and has none which link it lacks.
pub(super) fn missing_paths(scenario: &Scenario) -> Vec<String> {
    let islands = islands(&neighbourhoods(scenario));
    let apart = |(to, from): &(NodeId, NodeId)| {
        from > to && islands[*from as usize] != islands[*to as usize]
    };
    let pairs = wanted_pairs(scenario).into_iter().filter(apart);
    pairs
        .map(|(to, from)| {
            format!("no path from node {from} to node {to}{}", why(scenario, from, to))
        })
        .collect()
}

/// For each node the least of those that links connect it with.
fn islands(neighbours: &[Vec<(NodeId, u32)>]) -> Vec<NodeId> {
    let mut islands = vec![NodeId::MAX; neighbours.len()];
    for first in 0..neighbours.len() as NodeId {
        let mut reached = vec![first];
        while let Some(node) = reached.pop() {
            if islands[node as usize] == NodeId::MAX {
                islands[node as usize] = first;
                reached.extend(neighbours[node as usize].iter().map(|(next, _)| *next));
            }
        }
    }
    islands
}

/// What keeps two nodes from each other, if it is the strength of the link between them.
fn why(scenario: &Scenario, a: NodeId, b: NodeId) -> String {
    let Some(dbm) = expected_dbm(scenario, a, b) else { return String::new() };
    let weakest = COSTS[COSTS.len() - 1].0;
    format!(
        ": their own link has {dbm:.1} dBm, and links above {weakest} dBm, which routes are made \
         of, do not connect them"
    )
}

/// (destination, source) of every path that is needed.
fn wanted_pairs(scenario: &Scenario) -> BTreeSet<(NodeId, NodeId)> {
    let mut pairs = BTreeSet::new();
    let border = scenario.nodes.iter().position(|n| n.role == Role::BorderRouter);
    let border = border.map(|i| i as NodeId);
    // Packets for the host leave the mesh at the border router.
    let inside = |node: NodeId| if node == scenario.host() { border.unwrap_or(node) } else { node };
    let mut add = |a: NodeId, b: NodeId| {
        let (a, b) = (inside(a), inside(b));
        if a != b {
            pairs.insert((a, b));
            pairs.insert((b, a));
        }
    };
    for flow in &scenario.flows {
        let (from, to) = flow.kind.ends();
        if let Some(to) = to.or(border) {
            add(from, to);
        }
    }
    pairs
}

/// For each node who can hear it and be heard, with the cost of that link. A leaf has its parent
/// only.
fn neighbourhoods(scenario: &Scenario) -> Vec<Vec<(NodeId, u32)>> {
    neighbourhoods_with(scenario, &parents(scenario))
}

/// See [`Scenario::parents`].
pub(super) fn parents(scenario: &Scenario) -> Vec<Option<NodeId>> {
    let given: Vec<_> = scenario.nodes.iter().map(|place| place.parent).collect();
    let lacks = |(place, parent): (&NodePlace, &Option<NodeId>)| {
        place.role == Role::Leaf && parent.is_none()
    };
    if !scenario.nodes.iter().zip(&given).any(lacks) {
        return given;
    }
    let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let neighbours = neighbourhoods_with(scenario, &given);
    let towards = tree_towards(scenario, &neighbours, border.unwrap_or(0) as NodeId);
    let nodes = scenario.nodes.iter().zip(&given).zip(towards);
    nodes.map(|((place, given), next)| if lacks((place, given)) { next } else { *given }).collect()
}

fn neighbourhoods_with(scenario: &Scenario, parents: &[Option<NodeId>]) -> Vec<Vec<(NodeId, u32)>> {
    let count = scenario.nodes.len() as NodeId;
    let parent = |node: NodeId| parents.get(node as usize).copied().flatten();
    let allowed = |a, b| parent(a).is_none_or(|p| p == b) && parent(b).is_none_or(|p| p == a);
    // A link is used only if it works both ways: acknowledgements have to come back.
    let both = |a, b| Some((b, cost(scenario, a, b)?.max(cost(scenario, b, a)?)));
    let of = |a| (0..count).filter(|b| allowed(a, *b)).filter_map(|b| both(a, b)).collect();
    (0..count).map(of).collect()
}

/// For each node its next hop towards `root` on the cheapest path; of equal ones on that with more
/// and therefore better links, then on that through the lower node numbers.
fn tree_towards(
    scenario: &Scenario,
    neighbours: &[Vec<(NodeId, u32)>],
    root: NodeId,
) -> Vec<Option<NodeId>> {
    let mut next_hop = vec![None; neighbours.len()];
    let mut best = vec![(u32::MAX, Reverse(0)); neighbours.len()];
    best[root as usize] = (0, Reverse(0));
    let mut queue = BinaryHeap::from([Reverse((0, Reverse(0), root))]);
    while let Some(Reverse((cost, Reverse(hops), node))) = queue.pop() {
        let forwards = node == root || scenario.nodes[node as usize].role != Role::Leaf;
        if best[node as usize] != (cost, Reverse(hops)) || !forwards {
            continue;
        }
        for (neighbour, link) in &neighbours[node as usize] {
            let through = (cost + link, Reverse(hops + 1));
            if through < best[*neighbour as usize] {
                best[*neighbour as usize] = through;
                next_hop[*neighbour as usize] = Some(node);
                queue.push(Reverse((through.0, through.1, *neighbour)));
            }
        }
    }
    next_hop
}
