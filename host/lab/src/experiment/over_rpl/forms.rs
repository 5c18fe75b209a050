//! Time for a tree of thirty nodes to form, and to be repaired when its busiest router dies.

use super::point;
use super::routes::Routes;
use crate::experiment::{InRust, readme};
use kinglet::net::Discard;
use kinglet::rpl::Mode;
use kinglet::time::{Duration, Instant};
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Network, app_at, network};
use kinglet_scenario::{Building, Flow, FlowKind, NodeId, Routing, Rpl, Scenario, motes};
use kinglet_sim::Fault;
use kinglet_sim::rng::{Purpose, stream};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Metric, OfTree};
use rayon::prelude::*;

pub(in crate::experiment) const EXPERIMENT: InRust = InRust {
    id: "rpl-forms",
    readme: readme!("rpl-forms"),
    source: "own; Kim et al., III-A",
    main: "storing",
    plan,
    refine,
    figures: no_figures,
};

/// Names of the rows.
pub(crate) const FORMED: &str = "formed";
pub(crate) const HEALED: &str = "healed";
pub(crate) const CIRCLE: &str = "circle";
const WITHOUT_ROUTE: &str = "wayless";
pub(crate) const EXPIRED: &str = "expired";
pub(crate) const UNREACHED: &str = "unreached";
pub(crate) const UNREACHED_AFTER: &str = "unreached_after";

/// Number of seeds, independent of the effort, because the worst counts.
const SEEDS: u64 = 5;
/// Start of the datagrams.
const DATA_S: f64 = 30.0;
const PERIOD_MS: u32 = 10_000;
/// Death of a router.
const DEATH: Instant = Instant::from_secs(90);
/// Time within which the tree should be repaired.
const HEALING: Duration = Duration::from_secs(20);
/// Time in which datagrams are awaited: three of each flow.
const WATCH: Duration = Duration::from_secs(30);
/// Longest time for a tree to form or be repaired.
const PATIENCE: Duration = Duration::from_secs(180);
/// Interval between checks of the routes.
const STEP: Duration = Duration::from_millis(100);

const MODES: [(Mode, &str); 2] = [(Mode::Storing, "storing"), (Mode::NonStoring, "non-storing")];

/// Label, building and mode of each point.
fn cases() -> impl Iterator<Item = (String, Building, Mode)> {
    let of = |building| MODES.map(|(mode, name)| (label(building, name), building, mode));
    Building::ALL.into_iter().flat_map(of)
}

/// Labels of all points.
pub(crate) fn labels() -> impl Iterator<Item = String> {
    cases().map(|(label, ..)| label)
}

fn label(building: Building, mode: &str) -> String {
    match building {
        Building::Middle => mode.to_owned(),
        Building::End => format!("{mode} hops=7"),
    }
}

fn plan(effort: Effort) -> Vec<Point> {
    const METRICS: &[Metric] = &[
        Metric::OfTree(OfTree::Loss),
        Metric::OfTree(OfTree::Control),
        Metric::OfTree(OfTree::ParentChanges),
        Metric::OfTree(OfTree::Depth),
    ];
    let point = |(label, building, mode): (String, Building, Mode)| {
        point(label, "datagrams", building.hops().into(), scenario(effort, building, mode), METRICS)
    };
    cases().map(point).collect()
}

/// Datagrams between the border router and all other nodes, in both directions.
fn scenario(effort: Effort, building: Building, mode: Mode) -> Scenario {
    let mut scenario = Scenario::building(building, 1).as_kinglet();
    scenario.radio.host_cost = motes::TMOTE;
    scenario.name = format!("a tree of thirty, {} hops", building.hops());
    scenario.routing = Routing::Rpl;
    scenario.rpl = Rpl { mode, ..scenario.rpl };
    scenario.duration_s = if effort == Effort::Quick { 150.0 } else { 900.0 };
    let root = building.root();
    let datagrams = |from, to| FlowKind::datagrams(from, to, PERIOD_MS, 40);
    let nodes = (0..scenario.nodes.len() as NodeId).filter(|node| *node != root);
    let both = nodes.flat_map(|node| [datagrams(node, root), datagrams(root, node)]);
    let mut phases = stream(1, 0, Purpose::Application);
    let flow = |kind| {
        // Whole milliseconds, as in scenario files.
        let phase_s = f64::from(phases.below(PERIOD_MS)) / 1e3;
        Flow::new(DATA_S + phase_s, kind)
    };
    scenario.flows = both.map(flow).collect();
    scenario
}

/// Results of a run.
struct Formation {
    formed_s: f64,
    healed_s: f64,
    /// Longest time with a routing loop among the ancestors of any node.
    circle_s: f64,
    /// Time in which any node had no route while all nodes were alive.
    without_route_s: f64,
    /// Packets whose hop limit was exceeded.
    expired: f64,
    /// Flows without a received datagram, in % of the flows that should have one.
    unreached: f64,
    unreached_after: f64,
}

fn refine(rows: &mut Rows) {
    for (label, building, mode) in cases() {
        let scenario = scenario(Effort::Quick, building, mode);
        let seeds: Vec<u64> = (rows.first_seed..rows.first_seed + SEEDS).collect();
        let watched = |seed: &u64| watch(&scenario, building, *seed);
        let runs: Vec<Formation> = seeds.par_iter().map(watched).collect();
        let worst = |of: fn(&Formation) -> f64| runs.iter().map(of).fold(0.0, f64::max);
        let found = [
            ((FORMED, "s"), worst(|run| run.formed_s)),
            ((HEALED, "s"), worst(|run| run.healed_s)),
            ((CIRCLE, "s"), worst(|run| run.circle_s)),
            ((WITHOUT_ROUTE, "s"), worst(|run| run.without_route_s)),
            ((EXPIRED, "packets"), worst(|run| run.expired)),
            ((UNREACHED, "%"), worst(|run| run.unreached)),
            ((UNREACHED_AFTER, "%"), worst(|run| run.unreached_after)),
        ];
        for (metric, value) in found {
            rows.compute(&label, "formation", building.hops().into(), metric, value);
        }
    }
}

fn watch(scenario: &Scenario, building: Building, seed: u64) -> Formation {
    let scenario = &*scenario.drawn(seed);
    let (world, ends) = network(scenario, seed);
    let root = building.root();
    let [circle, longest, without_route] = [Duration::ZERO; 3];
    let mut watch = Watch { world, scenario, root, circle, longest, without_route };
    let all = watch.all();
    let formed_s = watch.until(|watch| watch.routes().all_reach(root, &all, None));
    let unreached = watch.unreached(&ends, &all);
    watch.run_to(DEATH);
    let (dead, left) = watch.busiest(root, |dead| building.survivors(seed, dead));
    watch.world.schedule_fault(DEATH, Fault::Partition(vec![dead as usize]));
    let healed_s = watch.until(|watch| watch.routes().all_reach(root, &left, Some(dead)));
    watch.run_to(DEATH + HEALING);
    let unreached_after = watch.unreached(&ends, &left);
    let expired =
        |node: usize| watch.world.device(node).node().net().stats().discarded(Discard::HopLimit);
    let expired = (0..watch.world.nodes()).map(expired).map(f64::from).sum();
    let [circle_s, without_route_s] =
        [watch.longest, watch.without_route].map(|span| span.as_micros() as f64 / 1e6);
    Formation { formed_s, healed_s, circle_s, without_route_s, expired, unreached, unreached_after }
}

/// A network under observation.
struct Watch<'a> {
    world: Network,
    scenario: &'a Scenario,
    root: NodeId,
    /// Duration of the current routing loop, and of the longest one.
    circle: Duration,
    longest: Duration,
    /// Time without an upward or downward route at any node, from the start of datagrams until a
    /// router dies.
    without_route: Duration,
}

impl Watch<'_> {
    fn routes(&self) -> Routes<'_> {
        Routes { world: &self.world, scenario: self.scenario }
    }

    fn step(&mut self) {
        self.world.run_until(self.world.now() + STEP);
        let count = self.world.nodes();
        let circles = (0..count as NodeId).any(|node| self.routes().above(node).count() > count);
        self.circle = if circles { self.circle + STEP } else { Duration::ZERO };
        self.longest = self.longest.max(self.circle);
        let now = self.world.now();
        let alive = now.as_micros() as f64 > DATA_S * 1e6 && now <= DEATH;
        if alive && !self.routes().all_reach(self.root, &self.all(), None) {
            self.without_route += STEP;
        }
    }

    fn all(&self) -> Vec<NodeId> {
        (0..self.world.nodes() as NodeId).collect()
    }

    fn run_to(&mut self, end: Instant) {
        while self.world.now() < end {
            self.step();
        }
    }

    /// Runs until the condition holds. Returns the seconds that it took; infinity after
    /// [`PATIENCE`].
    fn until(&mut self, holds: impl Fn(&Self) -> bool) -> f64 {
        let start = self.world.now();
        while !holds(self) {
            if self.world.now() >= start + PATIENCE {
                return f64::INFINITY;
            }
            self.step();
        }
        (self.world.now() - start).as_micros() as f64 / 1e6
    }

    /// The router with the most descendants that links would still join to the root without it.
    /// Returns it and all nodes that would stay joined.
    fn busiest(
        &self,
        root: NodeId,
        survivors: impl Fn(NodeId) -> Vec<NodeId>,
    ) -> (NodeId, Vec<NodeId>) {
        let routers = (0..self.world.nodes() as NodeId).filter(|node| *node != root);
        let all = routers.map(|router| (router, survivors(router)));
        let below = |(router, left): &(NodeId, Vec<NodeId>)| {
            left.iter().filter(|node| self.routes().above(**node).any(|at| at == *router)).count()
        };
        all.max_by_key(below).unwrap_or((root, Vec::new()))
    }

    /// Share of the flows between these nodes without a received datagram, from now on or from the
    /// start of all flows on, %.
    fn unreached(&mut self, ends: &[Ends], nodes: &[NodeId]) -> f64 {
        let begun = Instant::from_micros((DATA_S * 1e6) as u64);
        self.run_to(begun);
        let arrived = |world: &Network| -> Vec<u64> {
            let sink =
                |ends: &Ends| app_at::<UdpSink>(world, ends.to).map_or(0, |sink| sink.bytes());
            ends.iter().map(sink).collect()
        };
        let before = arrived(&self.world);
        self.run_to(self.world.now() + WATCH);
        let after = arrived(&self.world);
        let there = |node: &NodeId| nodes.contains(node);
        let watched = ends.iter().map(|ends| there(&ends.from.node) && there(&ends.to.node));
        let watched = watched.zip(before.iter().zip(&after)).filter(|(watched, _)| *watched);
        let (mut silent, mut all) = (0.0, 0.0);
        for (_, (before, after)) in watched {
            all += 1.0;
            silent += f64::from(u8::from(before == after));
        }
        silent / all * 100.0
    }
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
