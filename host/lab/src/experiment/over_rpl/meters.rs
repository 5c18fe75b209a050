//! A street of smart meters; each sends a reading over TCP every 10 to 15 min.

use super::point;
use super::routes::Routes;
use crate::experiment::{InRust, readme};
use kinglet::rpl::Mode;
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Ends, Network, network};
use kinglet_network::flows;
use kinglet_network::memory::peak_mib;
use kinglet_network::tree;
use kinglet_scenario::{NodeId, Routing, Rpl, Scenario};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Metric, OfTree};
use rayon::prelude::*;

pub(in crate::experiment) const EXPERIMENT: InRust = InRust {
    id: "rpl-meters",
    readme: readme!("rpl-meters"),
    source: "own; Kim et al., I and V",
    main: MAIN,
    plan,
    refine,
    figures: no_figures,
};

/// Names of the rows.
pub(crate) const FORMED: &str = "formed";
pub(crate) const ARRIVED: &str = "arrived";
pub(crate) const SPEED: &str = "speed";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const MESSAGES: &str = "messages";

const SEED: u64 = 101;
/// Meters of the plan's network, and of the other networks.
pub(crate) const SMALLEST: u32 = 250;
const OTHERS: [u32; 2] = [500, 1_000];
/// Meters of the paper's network.
const ALL: u32 = 5_000;
/// All sizes.
pub(crate) const SIZES: [u32; 4] = [SMALLEST, OTHERS[0], OTHERS[1], ALL];
const MAIN: &str = "meters=250";
/// Metric by which a whole plan is recognised: only a whole plan measures it.
const WHOLE: Metric = Metric::OfTree(OfTree::Depth);
const WHOLE_NAME: &str = OfTree::Depth.name().0;
/// Start of the readings.
const READINGS_S: f64 = 600.0;
/// The same in the plan, whose networks form faster.
const SOON_S: f64 = 60.0;
/// Start of the count of RPL messages, and end of the run. In storing mode a router refreshes all
/// its targets after 127 to 190 minutes; in non-storing mode it never does.
const STORING: Span = (Instant::from_secs(3_600), Instant::from_secs(4 * 3_600));
const NON_STORING: Span = (Instant::from_secs(3_600), Instant::from_secs(2 * 3_600));
/// The same for the largest network, whose mode is the usual one of such networks (Wi-SUN).
const OF_ALL: Span = (Instant::from_secs(3_600), Instant::from_secs(600 + 24 * 3_600));
/// Longest time for a tree to form.
const PATIENCE: Instant = Instant::from_secs(3_600);
/// Interval between checks of the routes.
const STEP: Duration = Duration::from_secs(1);

type Span = (Instant, Instant);

/// A network under observation: meters, mode and its name, span.
type Case = (u32, Mode, &'static str, Span);

/// Label of a network in a mode.
pub(crate) fn label(meters: u32, mode: &str) -> String {
    format!("{mode} meters={meters}")
}

fn plan(effort: Effort) -> Vec<Point> {
    const METRICS: &[Metric] = &[
        Metric::OfTree(OfTree::Delivered),
        Metric::OfTree(OfTree::Control),
        Metric::OfTree(OfTree::ParentChanges),
        WHOLE,
    ];
    let mut scenario = town(SMALLEST, Mode::NonStoring, SOON_S);
    let (duration_s, metrics) = match effort {
        Effort::Quick => (1_800.0, &METRICS[..METRICS.len() - 1]),
        Effort::Full => (3_600.0, METRICS),
    };
    scenario.duration_s = duration_s;
    vec![point(MAIN.to_owned(), "readings", SMALLEST.into(), scenario, metrics)]
}

/// Meters that send readings from this time on.
fn town(meters: u32, mode: Mode, start_s: f64) -> Scenario {
    let mut scenario = Scenario::street(meters, 1);
    scenario.routing = Routing::Rpl;
    scenario.rpl = Rpl { mode, ..scenario.rpl };
    scenario.flows = scenario.meters(start_s);
    scenario
}

/// Results of a run.
struct Town {
    formed_s: f64,
    /// Received readings as a share of those whose fate is known; %.
    arrived: f64,
    /// Simulated seconds per second of computation.
    speed: f64,
    memory_mib: Option<f64>,
    /// Per meter and hour: RPL messages, its own DAOs, and transmissions of DAOs, where one to the
    /// root counts once per hop.
    control: f64,
    daos: f64,
    dao_frames: f64,
    /// DAOs of the meters that relay for no other node.
    daos_of_leaves: f64,
    /// Hops of the upward route, mean over meters.
    hops: f64,
}

fn refine(rows: &mut Rows) {
    if rows.get(MAIN, WHOLE_NAME).is_some() {
        // It runs alone, so that memory and core are its own.
        measure(rows, &[(ALL, Mode::NonStoring, "non-storing", OF_ALL)]);
    }
    let of = |meters| {
        [
            (meters, Mode::Storing, "storing", STORING),
            (meters, Mode::NonStoring, "non-storing", NON_STORING),
        ]
    };
    // The longest runs begin first.
    let towns: Vec<Case> = OTHERS.into_iter().rev().chain([SMALLEST]).flat_map(of).collect();
    measure(rows, &towns);
}

fn measure(rows: &mut Rows, towns: &[Case]) {
    let watched = |&(meters, mode, _, span): &Case| watch(meters, mode, span);
    let found: Vec<Town> = towns.par_iter().with_max_len(1).map(watched).collect();
    for (&(meters, _, mode, (_, end)), town) in towns.iter().zip(found) {
        let hours = (end - Instant::ZERO).as_micros() as f64 / 3.6e9;
        let mut values = vec![
            ((FORMED, "s"), town.formed_s),
            ((ARRIVED, "%"), town.arrived),
            (("watched", "h"), hours),
            (("hops", "mean"), town.hops),
            ((MESSAGES, "per hour"), town.control),
            (("daos", "per hour"), town.daos),
            (("daos_of_leaves", "per hour"), town.daos_of_leaves),
            (("dao_frames", "per hour"), town.dao_frames),
        ];
        if meters == ALL {
            values.push(((SPEED, "s/s"), town.speed));
            values.extend(town.memory_mib.map(|mib| ((MEMORY, "MiB"), mib)));
        }
        for (metric, value) in values {
            rows.compute(&label(meters, mode), "town", meters.into(), metric, value);
        }
    }
}

fn watch(meters: u32, mode: Mode, (from, end): Span) -> Town {
    let scenario = town(meters, mode, READINGS_S);
    let begun = std::time::Instant::now();
    let (mut world, ends) = network(&scenario, SEED);
    let formed_s = formed(&mut world, &scenario);
    world.run_until(from);
    let before = Sent::of(&world, &scenario);
    world.run_until(end);
    let after = Sent::of(&world, &scenario);
    let seconds = (world.now() - Instant::ZERO).as_micros() as f64 / 1e6;
    let count = f64::from(meters);
    let hours = (end - from).as_micros() as f64 / 3.6e9;
    let daos = after.daos.iter().zip(&before.daos);
    let daos: Vec<f64> = daos.map(|(after, before)| (after - before) / hours).collect();
    let hops = &after.hops;
    // A DAO to the root travels all hops; a DAO to a parent travels one.
    let path = |hops: f64| if mode == Mode::NonStoring { hops } else { 1.0 };
    let on_air = daos.iter().zip(hops).map(|(daos, hops)| daos * path(*hops)).sum::<f64>();
    let leaves = || daos.iter().zip(&after.relays).filter(|(_, relays)| !**relays);
    Town {
        formed_s,
        arrived: arrived(&world, &scenario, &ends, seconds),
        speed: seconds / begun.elapsed().as_secs_f64(),
        memory_mib: peak_mib(),
        control: (after.messages - before.messages) / count / hours,
        daos: daos.iter().sum::<f64>() / count,
        daos_of_leaves: leaves().map(|(daos, _)| daos).sum::<f64>() / leaves().count() as f64,
        dao_frames: on_air / count,
        hops: hops.iter().sum::<f64>() / count,
    }
}

/// Seconds until all nodes have upward and downward routes; infinity after [`PATIENCE`].
fn formed(world: &mut Network, scenario: &Scenario) -> f64 {
    let (root, count) = (scenario.root(), scenario.nodes.len());
    let all: Vec<NodeId> = (0..count as NodeId).collect();
    while world.now() < PATIENCE {
        world.run_until(world.now() + STEP);
        let routes = Routes { world, scenario };
        // Following all routes takes long, so first all must be known to the root.
        let known = routes.rpl(root).map_or(0, |rpl| rpl.routes().count());
        if known + 1 >= count && routes.all_reach(root, &all, None) {
            return world.now().as_micros() as f64 / 1e6;
        }
    }
    f64::INFINITY
}

/// Messages that meters had sent at an instant, and their distances.
struct Sent {
    messages: f64,
    daos: Vec<f64>,
    hops: Vec<f64>,
    /// True if any node's upward route leads through the meter.
    relays: Vec<bool>,
}

impl Sent {
    fn of(world: &Network, scenario: &Scenario) -> Self {
        let routes = Routes { world, scenario };
        let root = scenario.root();
        // The border router is the last node.
        let meters = 0..root;
        let mut sent = Sent {
            messages: 0.0,
            daos: Vec::new(),
            hops: Vec::new(),
            relays: vec![false; scenario.nodes.len()],
        };
        for meter in meters {
            let Some(rpl) = routes.rpl(meter) else { continue };
            let stats = rpl.stats();
            let all = [stats.dios, stats.diss, stats.daos, stats.dao_acks];
            sent.messages += f64::from(all.iter().sum::<u32>());
            sent.daos.push(stats.daos.into());
            sent.hops.push(routes.above(meter).count() as f64 - 1.0);
            for router in routes.above(meter).skip(1) {
                sent.relays[router as usize] = true;
            }
        }
        sent
    }
}

/// Received readings as a share of those whose fate is known; %.
fn arrived(world: &Network, scenario: &Scenario, ends: &[Ends], seconds: f64) -> f64 {
    let (mut delivered, mut lost) = (0.0, 0.0);
    for record in flows::records(world, (scenario, ends), &tree::NextHops::new(scenario), seconds) {
        let Some(readings) = record.readings else { continue };
        delivered += f64::from(readings.delivered);
        lost += f64::from(readings.lost);
    }
    delivered / (delivered + lost) * 100.0
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
