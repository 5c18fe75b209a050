//! Places, neighbourhoods and shortest paths.

use super::near::Cells;
use super::{Cca, NodeId, NodePlace, Propagation, Role, Scenario};
use crate::simulated::profile_of;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A static route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The node that has it.
    pub node: NodeId,
    /// Destination of the packets.
    pub destination: NodeId,
    /// Neighbour that they are sent to.
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

/// Largest length of a hop, in metres.
pub(super) const ANY_HOP_M: f64 = 100_000.0;

/// Received power from which on a link has cost 1, 2 or 4, in dBm: Thread's link qualities 3, 2 and
/// 1 ask for a margin of more than 20, 10 and 2 dB above a noise floor of -100 dBm, and for 2 dB
/// more to be reached from below (OpenThread, `link_quality.hpp`). Weaker links are not used.
const COSTS: [(f64, u32); 3] = [(-78.0, 1), (-88.0, 2), (-96.0, 4)];

/// Returns whether `b` can receive the frames of `a`, well enough to route over the link. Shadowing
/// is not counted.
pub fn connected(scenario: &Scenario, a: NodeId, b: NodeId) -> bool {
    Costs::of(scenario).cost(a, b).is_some()
}

/// Costs of the links.
struct Costs<'a> {
    scenario: &'a Scenario,
    /// The links of a matrix, each direction by itself, with their strength.
    links: BTreeMap<(NodeId, NodeId), f64>,
    /// Weaker links are not used, dBm.
    least_dbm: f64,
}

/// Returns the strength below which nodes that sleep do not wake for a frame, dBm: their samples of
/// the channel are CCAs, and one by energy does not detect less than the threshold.
fn least_to_wake(scenario: &Scenario) -> Option<f64> {
    let wants_energy = matches!(scenario.radio.cca, Cca::Energy | Cca::Both);
    let profile = profile_of(scenario.radio.profile);
    let threshold = scenario.radio.cca_threshold_dbm.unwrap_or(profile.cca.threshold_dbm);
    (scenario.wake.is_some() && wants_energy).then_some(threshold)
}

/// Reports the node that has no link to the others that its samples would detect, if there is one.
pub(super) fn cannot_wake(scenario: &Scenario) -> Option<String> {
    let least_dbm = least_to_wake(scenario)?;
    let costs = Costs::of(scenario);
    let awake = islands(&neighbourhoods_by(&costs, &[]));
    let costs = Costs { least_dbm: f64::NEG_INFINITY, ..costs };
    let audible = islands(&neighbourhoods_by(&costs, &[]));
    let apart = |node: &usize| awake[*node] != audible[*node];
    (0..awake.len()).find(apart).map(|node| {
        format!(
            "node {node} is joined to node {} only by links below {least_dbm} dBm, which CCA by \
             energy does not detect, so that sleeping nodes would not wake; cca = \"either\" and \
             \"carrier\" detect each frame, and cca_threshold_dbm may be lower",
            audible[node]
        )
    })
}

impl<'a> Costs<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let links = match &scenario.medium.propagation {
            Propagation::LinkMatrix { links } => {
                let back = links.iter().filter(|l| l.symmetric);
                let back = back.map(|l| ((l.to, l.from), l.rssi_dbm));
                links.iter().map(|l| ((l.from, l.to), l.rssi_dbm)).chain(back).collect()
            }
            _ => BTreeMap::new(),
        };
        let least_dbm = least_to_wake(scenario).unwrap_or(f64::NEG_INFINITY);
        Costs { scenario, links, least_dbm }
    }

    /// Returns the cost of a link in Thread's routing; 1 for every link where signal strength is no
    /// criterion.
    fn cost(&self, a: NodeId, b: NodeId) -> Option<u32> {
        let nodes = &self.scenario.nodes;
        let (from, to) = (nodes.get(a as usize)?, nodes.get(b as usize)?);
        let distance = (from.x_m - to.x_m).hypot(from.y_m - to.y_m);
        let (dbm, cost) = match &self.scenario.medium.propagation {
            Propagation::UnitDisc { range_m, rssi_dbm, .. } => {
                ((distance <= *range_m).then_some(*rssi_dbm)?, 1)
            }
            Propagation::LinkMatrix { .. } => (*self.links.get(&(a, b))?, 1),
            Propagation::PathLoss { .. } => {
                let dbm = expected_dbm(self.scenario, a, b)?;
                (dbm, COSTS.iter().find(|(least, _)| dbm > *least)?.1)
            }
        };
        (a != b && dbm >= self.least_dbm).then_some(cost)
    }
}

/// Returns the received power at `b` of a frame of `a` under path loss, in dBm, without shadowing.
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

/// Returns routes for every flow; see [`Scenario::routes`].
pub(super) fn routes(scenario: &Scenario) -> Vec<Route> {
    let pairs = wanted_pairs(scenario);
    if pairs.is_empty() {
        return Vec::new();
    }
    let mut trees = Trees::new(scenario, neighbourhoods(scenario));
    let mut routes = BTreeSet::new();
    let pairs: Vec<_> = pairs.into_iter().collect();
    // Pairs are ordered by destination, so that each tree is grown once.
    for pairs in pairs.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(destination, _)) = pairs.first() else { continue };
        let sources: BTreeSet<_> = pairs.iter().map(|(_, source)| *source).collect();
        let towards = trees.towards(destination, Some(&sources));
        for &(_, source) in pairs {
            let mut node = source;
            while node != destination {
                let Some(next_hop) = towards.get(node as usize).copied().flatten() else { break };
                routes.insert(Route { node, destination, next_hop });
                node = next_hop;
            }
        }
    }
    routes.into_iter().collect()
}

/// Reports every pair of nodes that needs a path for a flow and has none, with the link it lacks.
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

/// Reports the node at which the given routes end, or a routing loop, for every pair of nodes that
/// needs a path for a flow and has none.
pub(super) fn missing_routes(scenario: &Scenario) -> Vec<String> {
    let routes = scenario.routes();
    let next = |node: NodeId, to: NodeId| {
        routes.iter().find(|r| (r.node, r.destination) == (node, to)).map(|r| r.next_hop)
    };
    let missing = |(to, from): (NodeId, NodeId)| {
        let mut node = from;
        for _ in 0..scenario.nodes.len() {
            match next(node, to) {
                _ if node == to => return None,
                Some(hop) => node = hop,
                None => return Some(format!("no route from node {node} to node {to}")),
            }
        }
        Some(format!("the routes from node {from} to node {to} form a loop"))
    };
    wanted_pairs(scenario).into_iter().filter_map(missing).collect()
}

/// Implements [`Scenario::farther_than`].
pub(super) fn farther_than(scenario: &Scenario, most: u32) -> Option<(NodeId, NodeId, u32)> {
    let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let border = border.map(|place| place as NodeId);
    let mut sources: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for (to, from) in wanted_pairs(scenario) {
        sources.entry(to).or_default().insert(from);
    }
    if let Some(border) = border {
        sources.entry(border).or_default().extend(0..scenario.nodes.len() as NodeId);
    }
    let mut trees = Trees::new(scenario, neighbourhoods(scenario));
    sources.into_iter().find_map(|(to, sources)| {
        trees.towards(to, Some(&sources));
        // A leaf has no path of its own but its parent's.
        let is_router = |node: &NodeId| scenario.nodes[*node as usize].role.relays();
        let costs =
            sources.into_iter().filter(is_router).map(|from| (from, trees.best[from as usize]));
        let costs = costs.filter(|(_, best)| *best != NOWHERE);
        let far = costs.max_by_key(|(_, best)| best.0).filter(|(_, best)| best.0 > most);
        far.map(|(from, best)| (from, to, best.0))
    })
}

/// Returns for each node the least of those that links connect it with.
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

/// Explains the missing link between two nodes, if its strength is the reason.
fn why(scenario: &Scenario, a: NodeId, b: NodeId) -> String {
    let Some(dbm) = expected_dbm(scenario, a, b) else { return String::new() };
    let weakest = COSTS[COSTS.len() - 1].0;
    format!(
        ": their own link has {dbm:.1} dBm, and links above {weakest} dBm, which routes need, do \
         not connect them"
    )
}

/// Returns (destination, source) of every path that is needed.
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
    if let (Some(tunnel), Some(border)) = (scenario.tunnel, border) {
        add(tunnel.node, border);
    }
    if scenario.registration {
        // Routers query the root about addresses.
        let places = (0..).zip(&scenario.nodes);
        let routers = places.filter(|(_, place)| place.role.relays());
        routers.for_each(|(node, _)| add(scenario.root(), node));
    }
    pairs
}

/// Returns for each node its neighbours in both directions, with the cost of the link. A leaf has
/// its parent only.
fn neighbourhoods(scenario: &Scenario) -> Vec<Vec<(NodeId, u32)>> {
    neighbourhoods_with(scenario, &parents(scenario))
}

/// Implements [`Scenario::parents`].
pub(super) fn parents(scenario: &Scenario) -> Vec<Option<NodeId>> {
    let given: Vec<_> = scenario.nodes.iter().map(|place| place.parent).collect();
    let lacks = |(place, parent): (&NodePlace, &Option<NodeId>)| {
        place.role == Role::Leaf && parent.is_none()
    };
    if !scenario.nodes.iter().zip(&given).any(lacks) {
        return given;
    }
    let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let mut trees = Trees::new(scenario, neighbourhoods_with(scenario, &given));
    let towards = trees.towards(border.unwrap_or(0) as NodeId, None);
    let nodes = scenario.nodes.iter().zip(&given).zip(towards);
    nodes.map(|((place, given), next)| if lacks((place, given)) { *next } else { *given }).collect()
}

fn neighbourhoods_with(scenario: &Scenario, parents: &[Option<NodeId>]) -> Vec<Vec<(NodeId, u32)>> {
    neighbourhoods_by(&Costs::of(scenario), parents)
}

fn neighbourhoods_by(costs: &Costs<'_>, parents: &[Option<NodeId>]) -> Vec<Vec<(NodeId, u32)>> {
    let scenario = costs.scenario;
    let parent = |node: NodeId| parents.get(node as usize).copied().flatten();
    let allowed = |a, b| parent(a).is_none_or(|p| p == b) && parent(b).is_none_or(|p| p == a);
    // A link is used only if it works in both directions: acknowledgements have to come back.
    let both = |a, b| Some((b, costs.cost(a, b)?.max(costs.cost(b, a)?)));
    let places = &scenario.nodes;
    let is_near = |a: NodeId, b: NodeId| {
        let (a, b) = (&places[a as usize], &places[b as usize]);
        (a.x_m - b.x_m).hypot(a.y_m - b.y_m) <= scenario.hop_m
    };
    let candidates = candidates(scenario).into_iter().zip(0..);
    let of = |(near, a): (Vec<NodeId>, NodeId)| {
        let usable = near.into_iter().filter(|b| allowed(a, *b) && is_near(a, *b));
        usable.filter_map(|b| both(a, b)).collect()
    };
    candidates.map(of).collect()
}

/// Returns for each node, by number, all others that it may have a link with, and maybe more.
fn candidates(scenario: &Scenario) -> Vec<Vec<NodeId>> {
    let reach_m = match &scenario.medium.propagation {
        Propagation::UnitDisc { range_m, .. } => *range_m,
        Propagation::PathLoss { exponent, reference_loss_db, .. } => {
            let weakest = COSTS[COSTS.len() - 1].0;
            let budget = scenario.radio.tx_power_dbm - reference_loss_db - weakest;
            // No node is nearer than a metre in this model; rounding may not lose a node.
            10f64.powf(budget / (10.0 * exponent)).max(1.0) * 1.000_001
        }
        Propagation::LinkMatrix { links } => {
            let mut near = vec![BTreeSet::new(); scenario.nodes.len()];
            for (a, b) in links.iter().flat_map(|l| [(l.from, l.to), (l.to, l.from)]) {
                if let Some(near) = near.get_mut(a as usize) {
                    near.insert(b);
                }
            }
            return near.into_iter().map(|near| near.into_iter().collect()).collect();
        }
    };
    let cells = Cells::new(&scenario.nodes, reach_m);
    scenario.nodes.iter().map(|place| cells.around(place, 1)).collect()
}

/// The cheapest paths to one node after the other, over the same links.
struct Trees<'a> {
    scenario: &'a Scenario,
    neighbours: Vec<Vec<(NodeId, u32)>>,
    /// Cost and hops of the best known path.
    best: Vec<(u32, Reverse<u32>)>,
    /// The next hop on it.
    next_hop: Vec<Option<NodeId>>,
    /// Nodes whose entries the previous tree has changed.
    touched: Vec<NodeId>,
}

/// The cost of no path.
const NOWHERE: (u32, Reverse<u32>) = (u32::MAX, Reverse(0));

impl<'a> Trees<'a> {
    fn new(scenario: &'a Scenario, neighbours: Vec<Vec<(NodeId, u32)>>) -> Self {
        let count = neighbours.len();
        let (best, next_hop) = (vec![NOWHERE; count], vec![None; count]);
        Trees { scenario, neighbours, best, next_hop, touched: Vec::new() }
    }

    /// Returns for each node its next hop towards `root` on the cheapest path. Of equal paths it is
    /// the one with more and therefore better links, then the one through the lower node numbers.
    /// With `sources` only the nodes on their paths matter, and the tree does not grow beyond them:
    /// a node that the search visits has its final next hop, because every link has a cost.
    fn towards(&mut self, root: NodeId, sources: Option<&BTreeSet<NodeId>>) -> &[Option<NodeId>] {
        for node in self.touched.drain(..) {
            self.best[node as usize] = NOWHERE;
            self.next_hop[node as usize] = None;
        }
        let mut missing = sources.map_or(usize::MAX, BTreeSet::len);
        self.best[root as usize] = (0, Reverse(0));
        self.touched.push(root);
        let mut queue = BinaryHeap::from([Reverse((0, Reverse(0), root))]);
        while let Some(Reverse((cost, Reverse(hops), node))) = queue.pop() {
            if self.best[node as usize] != (cost, Reverse(hops)) {
                continue;
            }
            missing -= usize::from(sources.is_some_and(|sources| sources.contains(&node)));
            if missing == 0 {
                break;
            }
            if node != root && !self.scenario.nodes[node as usize].role.relays() {
                continue;
            }
            for (neighbour, link) in &self.neighbours[node as usize] {
                let through = (cost + link, Reverse(hops + 1));
                if through < self.best[*neighbour as usize] {
                    self.best[*neighbour as usize] = through;
                    self.next_hop[*neighbour as usize] = Some(node);
                    self.touched.push(*neighbour);
                    queue.push(Reverse((through.0, through.1, *neighbour)));
                }
            }
        }
        &self.next_hop
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fading;
    use super::*;
    use crate::Link;
    use kinglet_sim::rng::{Purpose, stream};

    /// Forty nodes anywhere, every fifth of them a leaf, under each model.
    fn layouts() -> Vec<Scenario> {
        let mut random = stream(3, 0, Purpose::Application);
        let mut number = |below: f64| random.unit() * below;
        let role = |i| if i % 5 == 4 { Role::Leaf } else { Role::Router };
        let nodes: Vec<_> = (0..40)
            .map(|i| NodePlace { x_m: number(60.0), y_m: number(40.0), ..place(0.0, 0.0, i + 1) })
            .zip(0..)
            .map(|(place, i)| NodePlace { role: role(i), ..place })
            .collect();
        let link = |i: u32| Link { from: i % 40, to: (i * 7 + i / 40) % 40, ..Link::USUAL };
        let links = (0..90).map(link).filter(|link| link.from != link.to);
        let links = links.map(|link| Link { symmetric: link.from % 3 > 0, ..link }).collect();
        let disc = Scenario::default().medium.propagation;
        let (exponent, reference_loss_db) = (3.83, 26.77);
        let (shadowing_db, noise_floor_dbm) = (0.0, -100.0);
        let loss = Propagation::PathLoss {
            exponent,
            reference_loss_db,
            shadowing_db,
            asymmetry_db: 0.0,
            fading: Fading::NONE,
            noise_floor_dbm,
        };
        let models = [disc, Propagation::LinkMatrix { links }, loss];
        models
            .map(|propagation| {
                let mut scenario = Scenario { nodes: nodes.clone(), ..Scenario::default() };
                scenario.medium.propagation = propagation;
                scenario.radio.tx_power_dbm = -8.0;
                scenario
            })
            .into()
    }

    #[test]
    fn cells_lose_no_link() {
        for scenario in layouts() {
            let all = vec![(0..40).collect::<Vec<NodeId>>(); 40];
            let linked = |near: Vec<Vec<NodeId>>| -> Vec<(NodeId, NodeId)> {
                let pairs = near.into_iter().zip(0..).flat_map(|(near, a)| {
                    near.into_iter().map(move |b| (a, b)).collect::<Vec<_>>()
                });
                pairs.filter(|(a, b)| connected(&scenario, *a, *b)).collect()
            };
            let expected = linked(all);
            assert!(expected.len() > 40, "{}", expected.len());
            assert_eq!(linked(candidates(&scenario)), expected);
        }
    }

    #[test]
    fn a_tree_that_stops_at_its_sources_has_the_same_paths_as_a_whole_one() {
        for scenario in layouts() {
            let mut trees = Trees::new(&scenario, neighbourhoods_with(&scenario, &[]));
            for (root, source) in (0..40).flat_map(|root| (0..40).map(move |s| (root, s))) {
                let path = |towards: &[Option<NodeId>]| {
                    let next = |node: &NodeId| towards[*node as usize];
                    std::iter::successors(Some(source), next).collect::<Vec<_>>()
                };
                let whole = path(trees.towards(root, None));
                let sources = BTreeSet::from([source]);
                assert_eq!(path(trees.towards(root, Some(&sources))), whole, "{source} to {root}");
            }
        }
    }

    #[test]
    fn comparisons_and_searches_grow_with_the_number_of_nodes() {
        let text = "[topology]\ngrid = { columns = 200, rows = 100 }\n\
                    [[flow]]\nkind = \"udp-neighbours\"\n";
        let scenario = Scenario::from_toml("large", text).expect("a scenario");
        assert!(scenario.warnings().is_empty());
        // Nine cells of ten metres, each with four nodes at most that are eight metres apart.
        let compared = candidates(&scenario).iter().map(Vec::len).max();
        assert!(compared <= Some(36), "{compared:?}");
        // The search for a neighbour ends among its neighbours: four, and three more of each.
        let mut trees = Trees::new(&scenario, neighbourhoods_with(&scenario, &[]));
        for root in (0..20_000).step_by(97) {
            let beside = if root % 200 == 199 { root - 1 } else { root + 1 };
            trees.towards(root, Some(&BTreeSet::from([beside])));
            assert!(trees.touched.len() <= 1 + 4 + 4 * 3, "{root}: {}", trees.touched.len());
        }
        trees.towards(0, None);
        assert_eq!(trees.touched.len(), 20_000, "one that looks for nobody finds everybody");
        // Each node has a neighbour, with a route in both directions.
        assert!(scenario.routes().len() >= 20_000);
        assert_eq!(scenario.parents().len(), 20_000);
    }

    #[test]
    fn links_of_a_matrix_lead_where_they_say() {
        let link = |from, to, symmetric| Link { from, to, symmetric, ..Link::USUAL };
        let mut scenario = layouts().swap_remove(1);
        let links = vec![link(0, 1, true), link(1, 2, false)];
        scenario.medium.propagation = Propagation::LinkMatrix { links };
        let pairs = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 0)];
        let there = pairs.map(|(a, b)| connected(&scenario, a, b));
        assert_eq!(there, [true, true, true, false, false]);
    }
}
