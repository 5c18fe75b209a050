//! Kinglet on the same grid: its defaults, probing of links before they count as broken, and
//! several transfers at once.

use super::{LIVE_METRICS, OfPairs, RouteKind, Settings, THREATS, point, scenario, with_overlap};
use crate::backoff::EitherBackoff;
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Overlap, Pairs, Scenario};

pub(in crate::experiment) const DEFAULTS: Experiment = Experiment {
    id: "design-defaults",
    title: "Kinglet's defaults, the paper's defaults and the best of the paper's settings",
    source: "own question",
    question: "Does a stack with adaptive settings need tuning for the grid?",
    method: "44 kB between random pairs of the grid, on static and on live routes: with the \
             paper's defaults (Table I), with the best of 48 of its settings on three models of \
             overlapping frames, and with all defaults of Kinglet, whose frames are encrypted. \
             With all three models.",
    threats: &THREATS,
    main: "live kinglet",
    plan: defaults_plan,
    refine: |_: &mut Rows| (),
    figures: by_case,
};

pub(in crate::experiment) const LINK_FAILURE: Experiment = Experiment {
    id: "design-link-failure",
    title: "Frames that were given up, and broken links",
    source: "Design criteria, §III-C3, and own question",
    question: "How many links break if a neighbour that has worked lately is probed first, and \
               does this delay the route around a relay that fails?",
    method: "44 kB between random pairs of the grid with nst-AODV and PATH-DR, TinyOS's back-off, \
             3 retries; windows of 1 to 8 segments; each frame that is given up breaks its link, \
             or its neighbour is probed first. Further points: the node in the middle of the \
             current route fails from the third second on, and the time until the source has a \
             route without it is measured.",
    threats: &THREATS,
    main: "doubts cwl=8",
    plan: link_failure_plan,
    refine: |_: &mut Rows| (),
    figures: by_window,
};

pub(in crate::experiment) const MULTIFLOW: Experiment = Experiment {
    id: "design-multiflow",
    title: "Several transfers at once",
    source: "Design criteria, §II-C and §IV (future work), and own question",
    question: "Do settings that are good for one transfer stay good for two, four and eight at \
               once, and are the transfers fair to each other?",
    method: "44 kB between random pairs of the grid, one, two, four or eight transfers at a time, \
             with live routes: the paper's defaults, its best settings, and Kinglet's defaults.",
    threats: &THREATS,
    main: "kinglet concurrent=4",
    plan: multiflow_plan,
    refine: |_: &mut Rows| (),
    figures: by_number,
};

const BROKEN_METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Repairs),
    Metric::OfPairs(OfPairs::Recovery),
    Metric::OfPairs(OfPairs::Timeouts),
];

const FAIR_METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::Fairness),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Repairs),
    Metric::OfPairs(OfPairs::Timeouts),
];

/// The best of the paper's settings on all models.
const TUNED: Settings = super::factorial::TUNED;

/// All defaults of Kinglet on the same grid.
fn kinglet(effort: Effort, routes: RouteKind) -> Scenario {
    let paper = scenario(effort, Settings::ON_STATIC_ROUTES, routes);
    let mac = crate::scenario::MAC;
    Scenario {
        backoff: EitherBackoff::EXPONENTIAL,
        aodv_link_probes: true,
        mac,
        ..paper.as_kinglet()
    }
}

fn cases(effort: Effort, routes: RouteKind) -> [(&'static str, Scenario); 3] {
    [
        ("paper", scenario(effort, Settings::TABLE_1, routes)),
        ("tuned", scenario(effort, TUNED, routes)),
        ("kinglet", kinglet(effort, routes)),
    ]
}

fn defaults_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (place, (name, routes)) in
        [("static", RouteKind::StaticOfAnyLength), ("live", RouteKind::Live)]
            .into_iter()
            .enumerate()
    {
        for (case, scenario) in cases(effort, routes) {
            for overlap in [Overlap::SinrBer, Overlap::Strict, Overlap::Capture] {
                let label = match overlap {
                    Overlap::SinrBer => format!("{name} {case}"),
                    _ => format!("{name} {case} overlap={}", overlap.name()),
                };
                let scenario = with_overlap(scenario.clone(), overlap);
                points.push(point(label, case, place as f64, scenario, LIVE_METRICS));
            }
        }
    }
    points
}

/// Time of the failure of the node in the middle, in seconds after the start.
const DEATH_S: f64 = 3.0;

fn link_failure_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, aodv_link_probes) in [("at-once", false), ("doubts", true)] {
        for window in 1..=8 {
            let settings = Settings { window, ..Settings::ON_STATIC_ROUTES };
            let scenario =
                Scenario { aodv_link_probes, ..scenario(effort, settings, RouteKind::Live) };
            let label = format!("{name} cwl={window}");
            points.push(point(label, name, window.into(), scenario.clone(), BROKEN_METRICS));
            if matches!(window, 2 | 8) {
                let pairs = scenario.pairs.map(|pairs| Pairs { failure_after_s: DEATH_S, ..pairs });
                let scenario = Scenario { pairs, ..scenario };
                let label = format!("{name} cwl={window} a relay dies");
                points.push(point(label, "a relay dies", window.into(), scenario, BROKEN_METRICS));
            }
        }
    }
    points
}

fn multiflow_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (case, scenario) in cases(effort, RouteKind::Live) {
        for concurrent in [1, 2, 4, 8] {
            let mut scenario = scenario.clone();
            if let Some(pairs) = &mut scenario.pairs {
                pairs.count = if effort == Effort::Full { 32 } else { 8 };
                // The same time for each transfer.
                (pairs.concurrent, pairs.interval_s) =
                    (concurrent, pairs.interval_s * f64::from(concurrent));
                scenario.duration_s = pairs.interval_s * f64::from(pairs.count / concurrent);
            }
            let label = format!("{case} concurrent={concurrent}");
            points.push(point(label, case, concurrent.into(), scenario, FAIR_METRICS));
        }
    }
    points
}

fn by_case(result: &ExperimentResult) -> Vec<Figure> {
    let x = "0: static routes, 1: live";
    curves(&result.rows, "goodput", "Goodput", x).into_iter().collect()
}

fn by_window(result: &ExperimentResult) -> Vec<Figure> {
    let x = "congestion window limit, segments";
    [
        curves(&result.rows, "repairs", "Links that broke", x),
        curves(&result.rows, "goodput", "Goodput", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn by_number(result: &ExperimentResult) -> Vec<Figure> {
    let x = "transfers at once";
    [
        curves(&result.rows, "goodput", "Goodput of each", x),
        curves(&result.rows, "fairness", "Jain's index", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}
