//! Time and cost of route discovery in a large mesh.

use crate::experiment::{InRust, readme};
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Network, network};
use kinglet_scenario::{Addressing, Flow, FlowKind, NodeId, Role, Routing, Scenario};
use kinglet_sim::Fault;
use kinglet_sim::energy::RadioState;
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;
use rayon::prelude::*;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "kinglet-formation",
    readme: readme!("kinglet-formation"),
    source: "own",
    main: "nodes=200",
    plan,
    refine,
    figures: no_figures,
};

/// Nodes, columns and rows.
const GRIDS: [(u32, u32, u32); 3] = [(200, 20, 10), (500, 25, 20), (1_000, 40, 25)];
/// All nodes within two rows and columns, except the corners, are within the range of 10 m: twenty.
const SPACING_M: f64 = 4.4;
pub(crate) const AROUND: f64 = 20.0;
/// Names of the rows.
pub(crate) const FORMED: &str = "formed";
pub(crate) const SHARE: &str = "channel_share";
pub(crate) const REPAIRED: &str = "repaired";
/// Seeds of the runs in this file; a mesh for which each run takes a minute has only the first.
const SEEDS: [u64; 3] = [101, 102, 103];
const LARGE: u32 = 1_000;
/// By then the mesh has long formed.
const SETTLED: Instant = Instant::from_secs(90);
/// Span in which the share of the channel is measured: two of the longest intervals.
const INTERVALS: Duration = Duration::from_secs(2 * 32);
/// Start of the datagrams.
const DATA: Instant = Instant::from_secs(160);
/// Death of a router.
const DEATH: Instant = Instant::from_secs(165);
/// Longest time for a mesh to form or repair itself.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn label(nodes: u32) -> String {
    format!("nodes={nodes}")
}

/// Hops from the farthest corner to the middle of a grid with this number of nodes; each hop covers
/// up to three rows and columns.
pub(crate) fn most_hops(nodes: f64) -> f64 {
    let grid = GRIDS.into_iter().find(|(count, ..)| f64::from(*count) == nodes);
    grid.map_or(f64::NAN, |(_, columns, rows)| f64::from((columns / 2 + rows / 2).div_ceil(3)))
}

fn plan(effort: Effort) -> Vec<Point> {
    let sizes = if effort == Effort::Quick { 1 } else { 2 };
    let point = |&(nodes, columns, rows): &(u32, u32, u32)| Point {
        label: label(nodes),
        series: "datagrams",
        x: f64::from(nodes),
        scenario: scenario(columns, rows),
        metrics: &[Metric::Goodput, Metric::SegmentLoss, Metric::FramesFailed],
        timeline_s: None,
    };
    GRIDS.iter().take(sizes).map(point).collect()
}

/// The mesh, with a datagram per second in both directions between its corner and its middle.
fn scenario(columns: u32, rows: u32) -> Scenario {
    let mut scenario = Scenario::default().as_kinglet().on_grid(columns, rows, SPACING_M);
    let middle = rows / 2 * columns + columns / 2;
    for (place, number) in scenario.nodes.iter_mut().zip(0..) {
        place.role = if number == middle { Role::BorderRouter } else { Role::Router };
    }
    scenario.name = format!("a mesh of {} routers", columns * rows);
    scenario.routing = Routing::Mesh;
    scenario.duration_s = 120.0;
    let datagrams = |from, to| FlowKind::datagrams(from, to, 1_000, 80);
    let flows = [datagrams(0, middle), datagrams(middle, 0)];
    scenario.flows = flows.map(|kind| Flow::new(60.0, kind)).into();
    scenario
}

/// Results of a run.
struct Formation {
    formed_s: f64,
    /// Per node, until the mesh has formed.
    messages: f64,
    air_ms: f64,
    /// Share of time in which the channel around a node is occupied once nothing changes, %.
    share: f64,
    repaired_s: f64,
}

fn refine(rows: &mut Rows) {
    // A quick plan has only the smallest grid.
    let is_whole = rows.get(&label(GRIDS[1].0), "goodput").is_some();
    for (nodes, columns, lines) in GRIDS.into_iter().take(if is_whole { GRIDS.len() } else { 1 }) {
        let (label, scenario) = (label(nodes), scenario(columns, lines));
        let seeds = if nodes < LARGE { &SEEDS[..] } else { &SEEDS[..1] };
        let runs: Vec<Formation> = seeds.par_iter().map(|seed| watch(&scenario, *seed)).collect();
        let mean = |of: fn(&Formation) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let longest = |of: fn(&Formation) -> f64| runs.iter().map(of).fold(0.0, f64::max);
        let found = [
            ((FORMED, "s"), longest(|run| run.formed_s)),
            (("messages", "a node"), mean(|run| run.messages)),
            (("air_time", "ms a node"), mean(|run| run.air_ms)),
            ((SHARE, "%"), longest(|run| run.share)),
            ((REPAIRED, "s"), longest(|run| run.repaired_s)),
        ];
        for (metric, value) in found {
            rows.compute(&label, "formation", f64::from(nodes), metric, value);
        }
    }
}

fn watch(scenario: &Scenario, seed: u64) -> Formation {
    let mut scenario = scenario.clone();
    for flow in &mut scenario.flows {
        flow.start_s = DATA.as_micros() as f64 / 1e6;
    }
    let middle = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let middle = middle.unwrap_or(0);
    let (mut world, _) = network(&scenario, seed);
    let all: Vec<usize> = (0..world.nodes()).collect();
    let formed_s = run_until(&mut world, |world| {
        all.iter().all(|&node| bidirectional_path(world, node, middle).is_some())
    });
    let count = all.len() as f64;
    let mesh = |node: &usize| world.device(*node).node().routing().mesh();
    let sent = |node: &usize| mesh(node).map_or(0, |mesh| mesh.stats().sent);
    let messages = all.iter().map(sent).map(f64::from).sum::<f64>() / count;
    let air_ms = on_air_us(&mut world) / count / 1e3;
    world.run_until(SETTLED);
    let before = on_air_us(&mut world);
    world.run_until(SETTLED + INTERVALS);
    let each = (on_air_us(&mut world) - before) / count;
    let share = each * (AROUND + 1.0) / INTERVALS.as_micros() as f64 * 100.0;
    world.run_until(DEATH);
    Formation { formed_s, messages, air_ms, share, repaired_s: repair(&mut world, middle) }
}

/// Time until the routes between the corner and the middle avoid a relay that has died.
fn repair(world: &mut Network, middle: usize) -> f64 {
    let Some(path) = bidirectional_path(world, 0, middle) else { return f64::INFINITY };
    let dead = path[path.len() / 2];
    world.schedule_fault(world.now(), Fault::Partition(vec![dead]));
    run_until(world, |world| {
        let avoids = |path: Option<Vec<usize>>| path.is_some_and(|path| !path.contains(&dead));
        avoids(bidirectional_path(world, 0, middle)) && avoids(bidirectional_path(world, middle, 0))
    })
}

/// Runs until the condition holds. Returns the seconds that it took; infinity after [`PATIENCE`].
fn run_until(world: &mut Network, holds: impl Fn(&Network) -> bool) -> f64 {
    let start = world.now();
    while !holds(world) {
        if world.now() >= start + PATIENCE {
            return f64::INFINITY;
        }
        world.run_until(world.now() + Duration::from_millis(100));
    }
    (world.now() - start).as_micros() as f64 / 1e6
}

/// Route from one node to another, if there is also a route back.
fn bidirectional_path(world: &Network, from: usize, to: usize) -> Option<Vec<usize>> {
    path(world, to, from)?;
    path(world, from, to)
}

/// Nodes of a route; `None` if it ends early or loops.
fn path(world: &Network, from: usize, to: usize) -> Option<Vec<usize>> {
    let short = |node: usize| Addressing::DEFAULT.short(node as NodeId);
    let mut path = vec![from];
    while *path.last()? != to {
        let mesh = world.device(*path.last()?).node().routing().mesh()?;
        path.push(usize::from(mesh.next_hop(short(to))?).checked_sub(1)?);
        if path.len() > world.nodes() {
            return None;
        }
    }
    Some(path)
}

/// Time for which all radios together have transmitted.
fn on_air_us(world: &mut Network) -> f64 {
    let sent = |node| world.energy(node).radio.of(RadioState::Transmit) as f64;
    (0..world.nodes()).map(sent).sum()
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
