//! Places, neighbourhoods and shortest paths.

use super::{FlowKind, NodeId, NodePlace, Propagation, Role, Scenario};
use std::collections::{BTreeSet, VecDeque};

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
    NodePlace { x_m, y_m, role }
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

/// Received power below which a link is not used for routing: the AT86RF233's sensitivity of
/// -101 dBm plus a fading margin of 10 dB, as routing metrics prefer links that hold.
const ROUTABLE_DBM: f64 = -91.0;

/// Whether `b` can receive what `a` sends, well enough to route over it. Shadowing is not counted.
pub fn connected(scenario: &Scenario, a: NodeId, b: NodeId) -> bool {
    let places = (scenario.nodes.get(a as usize), scenario.nodes.get(b as usize));
    let (Some(from), Some(to)) = places else { return false };
    let distance = (from.x_m - to.x_m).hypot(from.y_m - to.y_m);
    match &scenario.medium.propagation {
        Propagation::UnitDisc { range_m, .. } => a != b && distance <= *range_m,
        Propagation::LinkMatrix { links } => links
            .iter()
            .any(|l| (l.from, l.to) == (a, b) || l.symmetric && (l.to, l.from) == (a, b)),
        Propagation::PathLoss { exponent, reference_loss_db, .. } => {
            let loss = reference_loss_db + 10.0 * exponent * distance.max(1.0).log10();
            a != b && scenario.radio.tx_power_dbm - loss >= ROUTABLE_DBM
        }
    }
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
            tree = Some((destination, tree_towards(&neighbours, destination)));
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
        match flow.kind {
            FlowKind::TcpBulk { from, to, .. } | FlowKind::UdpPeriodic { from, to, .. } => {
                add(from, to);
            }
            FlowKind::HttpServer { node, .. } => {
                if let Some(border) = border {
                    add(node, border);
                }
            }
        }
    }
    pairs
}

fn neighbourhoods(scenario: &Scenario) -> Vec<Vec<NodeId>> {
    let count = scenario.nodes.len() as NodeId;
    // A link is used only if it works both ways: acknowledgements have to come back.
    let both = |a, b| connected(scenario, a, b) && connected(scenario, b, a);
    (0..count).map(|a| (0..count).filter(|b| both(a, *b)).collect()).collect()
}

/// For each node its next hop towards `root`, by breadth-first search.
fn tree_towards(neighbours: &[Vec<NodeId>], root: NodeId) -> Vec<Option<NodeId>> {
    let mut next_hop = vec![None; neighbours.len()];
    let mut queue = VecDeque::from([root]);
    while let Some(node) = queue.pop_front() {
        for neighbour in &neighbours[node as usize] {
            let entry = &mut next_hop[*neighbour as usize];
            if *neighbour != root && entry.is_none() {
                *entry = Some(node);
                queue.push_back(*neighbour);
            }
        }
    }
    next_hop
}
