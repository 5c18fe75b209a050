//! Networks that contain each pair of two features.

use crate::experiment::{InRust, readme};
use kinglet_network::run::{Options, run};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::features::{Row, START_S, worst};
use kinglet_sweep::metric::Metric;
use rayon::prelude::*;
use std::collections::BTreeMap;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "kinglet-features",
    readme: readme!("kinglet-features"),
    source: "own",
    main: "first",
    plan,
    refine,
    figures: no_figures,
};

/// Names of the rows.
pub(crate) const WORST: &str = "worst_flow";
pub(crate) const BELOW: &str = "networks_below";
/// A network counts as below if a flow delivers less than this share, 0 to 1.
const LEAST: f64 = 0.95;
/// Seeds of these runs. Nothing was tuned with them.
const SEEDS: [u64; 3] = [701, 702, 703];
/// Sets of networks; each set covers all pairs. Nothing was tuned with the sets from the second one
/// on.
const VARIANTS: usize = 6;

fn duration_s(is_whole: bool) -> u32 {
    START_S + if is_whole { 3_600 } else { 600 }
}

fn plan(effort: Effort) -> Vec<Point> {
    let rows = Row::pairwise(0);
    let transfers = || rows.iter().filter(|row| row.has("flow=bulk up"));
    let count = if effort == Effort::Quick { 1 } else { 2 };
    let labels = [("first", "host=none"), ("second", "host=linux")].into_iter().take(count);
    let point = |(label, host): (&str, &str)| {
        let row = transfers().find(|row| row.has(host)).expect("each pair is in a row");
        let mut scenario = row.scenario(600);
        // Flows begin early: a look at the frames needs less than an hour.
        for flow in &mut scenario.flows {
            flow.start_s = (flow.start_s - f64::from(START_S - 1)).max(1.0);
        }
        Point {
            label: label.to_owned(),
            series: "network",
            x: 0.0,
            scenario,
            metrics: &[Metric::FramesFailed],
            timeline_s: None,
        }
    };
    labels.map(point).collect()
}

fn refine(rows: &mut Rows) {
    // A quick plan has only the first point.
    let is_whole = rows.get("second", "frames_failed").is_some();
    let (seeds, variants) = if is_whole { (&SEEDS[..], VARIANTS) } else { (&SEEDS[..1], 1) };
    let networks: Vec<Row> = (0..variants).flat_map(Row::pairwise).collect();
    let runs = networks.iter().flat_map(|row| seeds.iter().map(move |seed| (row, *seed)));
    let runs: Vec<_> = runs.collect();
    let judged = |(row, seed): &(&Row, u64)| {
        let result = run(&row.scenario(duration_s(is_whole)), *seed, &Options::default());
        ((*row).clone(), result.map_or(0.0, |result| worst(&result).1))
    };
    let verdicts: Vec<(Row, f64)> = runs.par_iter().map(judged).collect();
    let mut by_value = BTreeMap::<String, Vec<f64>>::new();
    for (row, share) in &verdicts {
        row.values().for_each(|value| by_value.entry(value).or_default().push(*share));
    }
    for (value, shares) in by_value {
        let below = shares.iter().filter(|share| **share < LEAST).count() as f64;
        let least = shares.iter().copied().fold(1.0, f64::min);
        rows.compute(&value, "features", 0.0, (WORST, "%"), least * 100.0);
        rows.compute(&value, "features", 0.0, (BELOW, "%"), below / shares.len() as f64 * 100.0);
    }
}

fn no_figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
