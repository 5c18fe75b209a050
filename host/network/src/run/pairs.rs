//! Draws the random parts of a scenario from a seed before it runs: a building, or pairs of nodes
//! and the paths between them.
//!
//! Paths are found as in "design criteria" (II-C): nst-AODV discovers them beforehand, one pair at
//! a time, and they remain fixed. The link layer of that discovery is always the same, so that
//! settings are compared on the same paths.

use super::RunError;
use crate::build::{Network, network};
use kinglet::time::{Duration, Instant};
use kinglet_scenario::{
    Addressing, Flow, FlowKind, MAC, NodeId, Pairs, RelayDeath, Route, Routing, Scenario,
};
use kinglet_sim::rng::{Purpose, Stream, stream};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// Time limit of a route discovery, enough for sixteen hops.
const SEARCH: Duration = Duration::from_secs(2);
/// Time between discoveries: all frames and routes of the previous one have expired.
const REST: Duration = Duration::from_secs(10);
/// Number of attempts for each wanted pair.
const TRIES: u32 = 100;

/// The paths between two nodes in both directions, each beginning with its sender.
struct Pair {
    there: Vec<NodeId>,
    back: Vec<NodeId>,
}

/// The scenario with the building and the pairs that `seed` draws.
///
/// # Errors
/// [`RunError::Unsupported`] if there are no such pairs.
pub fn drawn(scenario: &Scenario, seed: u64) -> Result<Cow<'_, Scenario>, RunError> {
    let scenario = scenario.drawn(seed);
    let Some(pairs) = scenario.pairs else { return Ok(scenario) };
    let found = known(&scenario, pairs, seed)?;
    Ok(Cow::Owned(with_pairs(&scenario, pairs, &found)))
}

/// Cached result of [`search`]: settings are compared on the same pairs.
fn known(scenario: &Scenario, pairs: Pairs, seed: u64) -> Result<Arc<Vec<Pair>>, RunError> {
    static KNOWN: Mutex<BTreeMap<String, Arc<Vec<Pair>>>> = Mutex::new(BTreeMap::new());
    let base = searching(scenario);
    let key = format!("{seed} {:?} {:?} {base:?}", pairs.count, pairs.hops);
    if let Ok(known) = KNOWN.lock()
        && let Some(found) = known.get(&key)
    {
        return Ok(found.clone());
    }
    let found = Arc::new(search(&base, pairs, seed)?);
    if let Ok(mut known) = KNOWN.lock() {
        known.insert(key, found.clone());
    }
    Ok(found)
}

/// The same network with nst-AODV only.
fn searching(scenario: &Scenario) -> Scenario {
    Scenario {
        mac: MAC,
        nodes: scenario.nodes.clone(),
        radio: scenario.radio.clone(),
        medium: scenario.medium.clone(),
        routing: Routing::Aodv,
        aodv_metric: scenario.aodv_metric,
        ..Scenario::default()
    }
}

/// Draws pairs until there are enough with the wanted number of hops. Long paths are rare, so there
/// may be fewer.
fn search(base: &Scenario, pairs: Pairs, seed: u64) -> Result<Vec<Pair>, RunError> {
    let (mut world, _) = network(base, seed);
    let mut random = stream(seed, 0, Purpose::Placement);
    let mut tried = BTreeSet::new();
    let mut found = Vec::new();
    let all = base.host() * base.host().saturating_sub(1);
    let most = pairs.count.saturating_mul(TRIES).min(all);
    while (found.len() as u32) < pairs.count && (tried.len() as u32) < most {
        let Some(ends) = untried(&mut random, base.host(), &mut tried) else { continue };
        if let Some(pair) = paths(&mut world, base, ends)
            && pairs.hops.is_none_or(|hops| pair.there.len() as u32 == hops + 1)
        {
            found.push(pair);
        }
    }
    if found.is_empty() {
        let hops = pairs.hops.map(|hops| format!(" with {hops} hops between them"));
        return Err(RunError::Unsupported(format!(
            "pairs of nodes{} with seed {seed}: none of the {} pairs tried fits",
            hops.unwrap_or_default(),
            tried.len(),
        )));
    }
    Ok(found)
}

/// Draws two nodes; `None` if they are equal or were tried before.
fn untried(
    random: &mut Stream,
    nodes: NodeId,
    tried: &mut BTreeSet<(NodeId, NodeId)>,
) -> Option<(NodeId, NodeId)> {
    let ends = (random.below(nodes), random.below(nodes));
    (ends.0 != ends.1 && tried.insert(ends)).then_some(ends)
}

/// Runs a route discovery from `from` to `to`, and follows the routes that it finds.
fn paths(world: &mut Network, base: &Scenario, (from, to): (NodeId, NodeId)) -> Option<Pair> {
    let begin = world.now();
    let address = base.addressing().address(to);
    let sent = world.with_device(from as usize, |station, now| {
        station.node_mut().datagrams().ping(now, address, 0, 0, &[])
    });
    let mut pair = None;
    let end = begin + SEARCH;
    // Routes are read before they expire.
    while sent.is_ok() && pair.is_none() && world.now() < end {
        world.run_until(world.now() + Duration::from_millis(100));
        pair = path(world, from, to).zip(path(world, to, from));
    }
    world.run_until(end + REST);
    pair.map(|(there, back)| Pair { there, back })
}

/// Follows the routes of the nodes; `None` if a node has none.
pub(super) fn path(world: &Network, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
    let mut path = vec![from];
    let mut at = from;
    while at != to {
        let aodv = world.device(at as usize).node().routing().aodv()?;
        let next = aodv.next_hop(Addressing::DEFAULT.short(to))?;
        at = (0..world.nodes() as NodeId).find(|node| Addressing::DEFAULT.short(*node) == next)?;
        if path.contains(&at) {
            return None;
        }
        path.push(at);
    }
    Some(path)
}

/// The scenario with a transfer for each pair, and with their paths as given routes if routing is
/// static.
fn with_pairs(scenario: &Scenario, pairs: Pairs, found: &[Pair]) -> Scenario {
    let mut drawn = Scenario { pairs: None, flows: Vec::new(), ..scenario.clone() };
    let mut routes: BTreeMap<(NodeId, NodeId), NodeId> = BTreeMap::new();
    for (index, pair) in found.iter().enumerate() {
        let (Some(from), Some(to)) = (pair.there.first(), pair.there.last()) else { continue };
        drawn.flows.extend(scenario.flows.first().map(|flow| {
            let start_s =
                flow.start_s + f64::from(index as u32 / pairs.concurrent) * pairs.interval_s;
            Flow { start_s, kind: between(&flow.kind, *from, *to), ..flow.clone() }
        }));
        if pairs.failure_after_s > 0.0
            && let Some(flow) = drawn.flows.last()
        {
            let (from_s, to_s) =
                (flow.start_s + pairs.failure_after_s, flow.start_s + pairs.interval_s);
            drawn.relay_deaths.push(RelayDeath { flow: index, from_s, to_s });
        }
        for path in [&pair.there, &pair.back] {
            let Some(destination) = path.last() else { continue };
            // If a path meets an earlier one to the same node, it follows that one.
            for hop in path.windows(2) {
                if routes.contains_key(&(hop[0], *destination)) {
                    break;
                }
                routes.insert((hop[0], *destination), hop[1]);
            }
        }
    }
    let route = |((node, destination), next_hop)| Route { node, destination, next_hop };
    drawn.given_routes =
        (scenario.routing == Routing::Static).then(|| routes.into_iter().map(route).collect());
    drawn
}

/// The same kind of flow between other nodes.
fn between(kind: &FlowKind, from: NodeId, to: NodeId) -> FlowKind {
    let mut kind = kind.clone();
    if let FlowKind::TcpBulk { from: a, to: b, .. } = &mut kind {
        (*a, *b) = (from, to);
    }
    kind
}

/// Number of hops of the routes of transfers during the transfer, if AODV discovers them.
pub(super) struct Following {
    /// Sum and number of observations, for each flow.
    looks: Vec<(f64, f64)>,
    next: Instant,
}

/// Interval between observations of routes.
const LOOK: Duration = Duration::from_secs(2);

impl Following {
    pub(super) fn new(scenario: &Scenario) -> Option<Following> {
        let looks = vec![(0.0, 0.0); scenario.flows.len()];
        (scenario.routing == Routing::Aodv).then_some(Following { looks, next: Instant::ZERO })
    }

    /// Time of the next observation.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Observes the routes if an observation is due. `lasts` returns whether a flow, by its number,
    /// is in progress.
    pub(super) fn look(
        &mut self,
        world: &Network,
        scenario: &Scenario,
        lasts: impl Fn(usize) -> bool,
    ) {
        if world.now() < self.next {
            return;
        }
        self.next = world.now() + LOOK;
        // Packets for the host leave the network at the border router.
        let inside = |node| if node == scenario.host() { scenario.root() } else { node };
        for (index, flow) in scenario.flows.iter().enumerate().filter(|(index, _)| lasts(*index)) {
            let (from, to) = flow.kind.ends();
            if let Some(path) = to.and_then(|to| path(world, inside(from), inside(to))) {
                self.looks[index].0 += (path.len() - 1) as f64;
                self.looks[index].1 += 1.0;
            }
        }
    }

    /// Mean number of hops of a flow; `None` if no observation found a route.
    pub(super) fn hops(&self, flow: usize) -> Option<f64> {
        let (sum, looks) = *self.looks.get(flow)?;
        (looks > 0.0).then(|| sum / looks)
    }
}

/// Hops of the given routes from one node to the other.
pub(super) fn given_hops(scenario: &Scenario, from: NodeId, to: NodeId) -> Option<f64> {
    let routes = scenario.given_routes.as_ref()?;
    let next = |at: NodeId| {
        routes.iter().find(|r| (r.node, r.destination) == (at, to)).map(|r| r.next_hop)
    };
    let mut at = from;
    for hops in 0..scenario.nodes.len() {
        if at == to {
            return Some(hops as f64);
        }
        at = next(at)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(routing: Routing, hops: Option<u32>) -> Scenario {
        let pairs = Some(Pairs { count: 3, hops, interval_s: 20.0, ..Pairs::USUAL });
        let mut scenario = Scenario { routing, pairs, ..Scenario::ceiling() };
        scenario.flows = vec![Flow::bulk(0, 1)];
        scenario
    }

    #[test]
    fn pairs_have_the_hops_that_are_wanted_and_the_seed_draws_them() {
        let scenario = ceiling(Routing::Static, Some(4));
        let of = |seed| drawn(&scenario, seed).expect("there are such pairs").into_owned();
        let first = of(1);
        assert_eq!((first.flows.len(), first.pairs), (3, None));
        for (index, flow) in first.flows.iter().enumerate() {
            let (from, to) = flow.kind.ends();
            let to = to.expect("a transfer has two ends");
            let after = flow.start_s - first.flows[0].start_s;
            assert!((after - index as f64 * 20.0).abs() < 1e-9);
            assert!(given_hops(&first, from, to).is_some_and(|hops| (3.0..=5.0).contains(&hops)));
            assert!(given_hops(&first, to, from).is_some());
        }
        assert!(first.warnings().is_empty());
        assert_eq!(of(1), first);
        assert_ne!(of(2).flows, first.flows);
    }

    #[test]
    fn nodes_that_discover_routes_get_no_static_ones() {
        let scenario = ceiling(Routing::Aodv, None);
        let drawn = drawn(&scenario, 1).expect("there are pairs");
        assert_eq!((drawn.flows.len(), &drawn.given_routes), (3, &None));
    }

    #[test]
    fn no_such_pairs_are_an_error() {
        let Err(error) = drawn(&ceiling(Routing::Static, Some(16)), 1) else {
            panic!("no node is that far away");
        };
        let wanted = "16 hops between them with seed 1: none of the 300 pairs tried fits";
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
