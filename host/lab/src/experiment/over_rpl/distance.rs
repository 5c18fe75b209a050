//! Throughput of distant nodes in trees of five and of seven hops.

use super::{Case, HEAVY, LOADS, OfTree, THREATS, label, ours, point, scenario};
use crate::chart::{Figure, Lines, Series, Style, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Buffer, Building};

const METRICS: &[Metric] = &[
    Metric::OfTree(OfTree::Throughput),
    Metric::OfTree(OfTree::ThroughputMin),
    Metric::OfTree(OfTree::Fairness),
    Metric::OfTree(OfTree::ThroughputByHops),
    Metric::OfTree(OfTree::ThroughputAt(1)),
    Metric::OfTree(OfTree::ThroughputAt(2)),
    Metric::OfTree(OfTree::ThroughputAt(3)),
    Metric::OfTree(OfTree::ThroughputAt(4)),
    Metric::OfTree(OfTree::ThroughputAt(5)),
    Metric::OfTree(OfTree::ThroughputAt(6)),
    Metric::OfTree(OfTree::ThroughputAt(7)),
    Metric::OfTree(OfTree::Rtt),
    Metric::OfTree(OfTree::RttByHops),
    Metric::OfTree(OfTree::ThroughputByRtt),
    Metric::OfTree(OfTree::QueueLoss),
    Metric::OfTree(OfTree::QueueLossConcentrated),
    Metric::OfTree(OfTree::Depth),
];
/// Segments of a receive window that does not limit the throughput at this load.
const WIDE: u16 = 8;

pub(in crate::experiment) const FAIRNESS: Experiment = Experiment {
    id: "rpl-fairness",
    title: "Throughput and distance",
    source: "Kim et al., Figs. 7 and 8, §V-C",
    question: "Do nodes that are farther away get less, and is the round-trip time the cause?",
    method: "As rpl-throughput, by hops of the tree as they were in the run; rank correlations \
             over the thirty nodes. For comparison, receivers with a window of eight segments, \
             and Kinglet on the same nodes.",
    threats: &THREATS,
    main: "tcp-up load=60",
    plan: |effort| {
        let mut points = plan(effort, Building::Middle);
        for load in LOADS.into_iter().filter(|load| *load != HEAVY && effort == Effort::Full) {
            let down = scenario(effort, Building::Middle, Case::TcpDown, load);
            points.push(point(
                label(Case::TcpDown, load),
                "round trips",
                load.into(),
                down,
                METRICS,
            ));
        }
        points
    },
    refine: |_: &mut Rows| (),
    figures,
};

pub(in crate::experiment) const SEVEN_HOPS: Experiment = Experiment {
    id: "rpl-seven-hops",
    title: "A deeper tree",
    source: "Kim et al., Fig. 10, §V-E",
    question: "How do throughput and fairness change if the border router is at the end of the \
               building and the tree is seven hops deep?",
    method: "As rpl-fairness, and the same buildings with the border router at their end and all \
             nodes at -17 dBm.",
    threats: &THREATS,
    main: "tcp-up load=60 hops=7",
    plan: |effort| {
        let mut points = plan(effort, Building::Middle);
        points.extend(
            plan(effort, Building::End)
                .into_iter()
                .map(|point| Point { label: format!("{} hops=7", point.label), ..point }),
        );
        points
    },
    refine: |_: &mut Rows| (),
    figures,
};

fn plan(effort: Effort, building: Building) -> Vec<Point> {
    let mut points = Vec::new();
    let paper = |case| scenario(effort, building, case, HEAVY);
    for case in Case::ALL {
        points.push(point(label(case, HEAVY), "paper", HEAVY.into(), paper(case), METRICS));
    }
    let mut wide = paper(Case::TcpDown);
    wide.tcp.receive_buffer = Buffer::Segments(WIDE);
    let name = format!("{} window={WIDE}", label(Case::TcpDown, HEAVY));
    points.push(point(name, "wide window", HEAVY.into(), wide, METRICS));
    for case in Case::TCP {
        let name = format!("{} kinglet", label(case, HEAVY));
        points.push(point(name, "Kinglet", HEAVY.into(), ours(paper(case)), METRICS));
    }
    points
}

/// Throughput over hops with a curve for each point.
fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let mut series: Vec<Series> = Vec::new();
    for row in &result.rows {
        let Some(hops) = row.metric.strip_prefix("throughput_hops_") else { continue };
        let Ok(hops) = hops.parse::<f64>() else { continue };
        let of = (hops, row.mean, row.ci95);
        match series.iter_mut().find(|one| one.name == row.label) {
            Some(one) => one.points.push(of),
            None => series.push(Series {
                name: row.label.clone(),
                style: Style::Measured,
                points: vec![of],
            }),
        }
    }
    let lines = Lines {
        title: "Throughput by distance".to_owned(),
        x_label: "hops".to_owned(),
        y_label: "packets/min".to_owned(),
        series,
    };
    let rtt = curves(&result.rows, "rtt", "Round-trip time", "packets a minute and node");
    [Some(Figure::Lines(lines)), rtt].into_iter().flatten().collect()
}
