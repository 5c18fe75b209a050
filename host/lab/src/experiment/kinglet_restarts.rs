//! Restarts of each node of a working network.

use crate::experiment::{InRust, readme};
use kinglet::time::Duration;
use kinglet_scenario::{Flow, FlowKind, LinkAddresses};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;
use kinglet_sweep::restarts::{Cell, Changed, Part, Routing, Traffic, Verdict, run, scenario};
use rayon::prelude::*;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "kinglet-restarts",
    readme: readme!("kinglet-restarts"),
    source: "own",
    main: "storing",
    plan,
    refine,
    figures: no_figures,
};

/// Names of the rows.
pub(crate) const RECOVERED: &str = "recovered";
pub(crate) const LATE: &str = "late";
pub(crate) const MESSAGES: &str = "messages";
/// Seeds of these runs.
const SEEDS: [u64; 6] = [401, 402, 403, 601, 602, 603];
/// Control messages per node that a restart may cost.
const MOST_MESSAGES: f64 = 10.0;

const ROUTINGS: [(Routing, &str); 5] = [
    (Routing::Storing, "storing"),
    (Routing::NonStoring, "non-storing"),
    (Routing::Mesh, "mesh"),
    (Routing::Aodv, "aodv"),
    (Routing::Static, "static"),
];

fn plan(effort: Effort) -> Vec<Point> {
    let routings = if effort == Effort::Quick { 1 } else { ROUTINGS.len() };
    let point = |(routing, label): (Routing, &str)| {
        let cell = Cell {
            part: Part::Border,
            off: Duration::ZERO,
            traffic: Traffic::Both,
            routing,
            asleep: false,
            lossy: false,
            addresses: LinkAddresses::Short,
            changed: Changed::Nothing,
        };
        let mut scenario = scenario(&cell);
        scenario.duration_s = 180.0;
        let datagrams = |node| [(0, node), (node, 0)];
        let pairs = (1..scenario.nodes.len() as u32).flat_map(datagrams);
        let kinds = pairs.map(|(from, to)| FlowKind::datagrams(from, to, 2_000, 32));
        scenario.flows = kinds.map(|kind| Flow::new(60.0, kind)).collect();
        Point {
            label: label.to_owned(),
            series: "datagrams",
            x: 0.0,
            scenario,
            metrics: &[Metric::SegmentLoss, Metric::FramesFailed],
            timeline_s: None,
        }
    };
    ROUTINGS.into_iter().take(routings).map(point).collect()
}

fn refine(rows: &mut Rows) {
    // A quick plan has only the first point.
    let is_whole = rows.get(ROUTINGS[1].1, "segment_loss").is_some();
    let (cells, seeds) = match is_whole {
        true => (Cell::all().collect(), &SEEDS[..]),
        false => (Cell::pairwise(), &SEEDS[..1]),
    };
    let runs = cells.iter().flat_map(|cell| seeds.iter().map(move |seed| (cell, *seed)));
    let runs: Vec<_> = runs.collect();
    // A network that does not form before the restart counts as not recovered.
    let judged = |(cell, seed): &(&Cell, u64)| (**cell, run(cell, *seed).unwrap_or(Verdict::NEVER));
    let verdicts: Vec<(Cell, Verdict)> = runs.par_iter().map(judged).collect();
    let losses = [(false, ""), (true, " lossy")];
    let routings = ROUTINGS.into_iter().flat_map(|it| losses.map(|loss| (it, loss)));
    for ((routing, name), (lossy, suffix)) in routings {
        for part in [Part::Border, Part::Relay, Part::Parent, Part::Leaf] {
            let is_here = |(cell, _): &&(Cell, Verdict)| {
                (cell.routing, cell.part, cell.lossy) == (routing, part, lossy)
            };
            let mine: Vec<_> = verdicts.iter().filter(is_here).collect();
            if mine.is_empty() {
                continue;
            }
            let label = format!("{name} {}{suffix}", format!("{part:?}").to_lowercase());
            let count = mine.len() as f64;
            let worst =
                |of: fn(&Verdict) -> f64| mine.iter().map(|it| of(&it.1)).fold(0.0, f64::max);
            let share = |is: fn(&(Cell, Verdict)) -> bool| {
                mine.iter().filter(|it| is(it)).count() as f64 / count * 100.0
            };
            let mean =
                |of: fn(&Verdict) -> f64| mine.iter().map(|it| of(&it.1)).sum::<f64>() / count;
            let found = [
                ((RECOVERED, "s"), worst(|it| it.seconds.unwrap_or(f64::INFINITY))),
                ((LATE, "%"), share(|(cell, it)| !it.is_in_time(cell))),
                ((MESSAGES, "a node"), mean(|it| it.control)),
                (("most_messages", "a node"), worst(|it| it.control)),
                (("many_messages", "%"), share(|(_, it)| it.control > MOST_MESSAGES)),
                (("lost", "datagrams"), mean(|it| f64::from(it.lost))),
            ];
            for (metric, value) in found {
                rows.compute(&label, "restart", 0.0, metric, value);
            }
        }
    }
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
