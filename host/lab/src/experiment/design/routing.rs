//! Routing metrics with on-demand routes of nst-AODV.

use super::{OfPairs, RouteKind, Settings, THREATS, point, scenario};
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point};
use kinglet::aodv;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "design-metric",
    title: "Shortest routes or routes with good links",
    source: "Design criteria, Fig. 6, §III-B",
    question: "How much do routes with the best links by LQI gain over those with fewest hops?",
    method: "44 kB between 31 random pairs of the grid, one after the other, with nst-AODV; \
             windows of 1 to 5 segments; TinyOS's back-off, 3 retries.",
    threats: &THREATS,
    main: "metric=hop-count cwl=5",
    plan,
    refine: |_| (),
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Hops),
    Metric::OfPairs(OfPairs::HopsSpread),
    Metric::OfPairs(OfPairs::Repairs),
    Metric::OfPairs(OfPairs::Dropped),
    Metric::OfPairs(OfPairs::Timeouts),
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, metric) in [("hop-count", aodv::Metric::HopCount), ("path-dr", aodv::Metric::PathDr)]
    {
        for window in 1..=5 {
            let settings = Settings { metric, window, ..Settings::TABLE_1 };
            let scenario = scenario(effort, settings, RouteKind::Live);
            let label = format!("metric={name} cwl={window}");
            points.push(point(label, name, window.into(), scenario, METRICS));
        }
    }
    points
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "congestion window limit, segments";
    [
        curves(&result.rows, "hops", "Hops of ways", x),
        curves(&result.rows, "success", "Transfers that ended", x),
        curves(&result.rows, "goodput", "Goodput", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}
