//! Starvation of distant nodes by nearer ones: on a line, and in a grid of sixty.

use kinglet_network::layout::one_hop_bound;
use kinglet_scenario::{Flow, LINE_SPACING_M, NodeId, Overlap, Scenario, Wire};
use kinglet_sim::rng::{Purpose, stream};
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows, line_scenario};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-fair",
    title: "Near and far sources of one channel",
    source: "own",
    question: "Does a source one hop away leave capacity to those two to five hops away on the \
               same line? How do 31 flows at once share a grid of sixty nodes?",
    method: "Bulk transfers to a host behind the border router at one end of a line: from each of \
             five nodes at once, and from those one and four hops away; and in both directions \
             between the host and a node two hops away. With the defaults and with the paper's \
             settings, each with both models of overlap. Then 31 transfers between nodes of a \
             grid of 6 by 10, the pairs drawn at random (three drawings) with one to three hops \
             in between, and once with any number. A share is the goodput of a flow if all had \
             the same time on the air: B/min(h, 3), divided by the number of flows.",
    threats: &[
        "The defaults were chosen with seeds 1 to 3 on these lines, and with other drawings of \
         the grid; the seeds are the same, so figures of lines are not independent of the choice.",
        "On a unit disc every neighbour has the same signal strength and no other node is in \
         range; in a building fewer nodes are hidden.",
        "The drawings of pairs are ours. The grid is that of design.setup.grid in the list of \
         claims, whose drawing of pairs is not given either.",
    ],
    main: "sources=all",
    plan,
    refine,
    figures,
};

const LINE: &[Metric] = &[
    Metric::GoodputOf(0),
    Metric::GoodputOf(1),
    Metric::GoodputOf(2),
    Metric::GoodputOf(3),
    Metric::GoodputOf(4),
    Metric::SegmentLossOfAll,
    Metric::RetransmissionsPerLoss,
];
const GRID: &[Metric] = &[
    Metric::GoodputSum,
    Metric::GoodputMin,
    Metric::FairnessOfFlows,
    Metric::Starved,
    Metric::SegmentLossOfAll,
    Metric::RetransmissionsPerLoss,
];
/// Name in labels, hops of the sources, and whether the host sends to them too.
const SOURCES: [(&str, &[u32], bool); 3] =
    [("all", &[1, 2, 3, 4, 5], false), ("1,4", &[1, 4], false), ("2 both-ways", &[2], true)];
const MODELS: [(&str, Overlap); 2] = [("", Overlap::SinrBer), (" overlap=strict", Overlap::Strict)];
/// Columns and rows of the grid, and its flows.
const COLUMNS: u32 = 10;
const ROWS: u32 = 6;
const FLOWS: usize = 31;
/// Seeds of the pairs, and the highest number of hops between two nodes of a pair.
const DRAWINGS: [(u32, u32); 4] = [(21, 3), (22, 3), (23, 3), (24, COLUMNS + ROWS)];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (suffix, ours) in [("", true), (" paper", false)] {
        for (name, hops, both) in SOURCES {
            for (model, overlap) in MODELS {
                let mut scenario = line(effort, hops, both, ours);
                scenario.medium.overlap = overlap;
                let label = format!("sources={name}{model}{suffix}");
                points.push(point(label, if ours { "defaults" } else { "paper" }, scenario, LINE));
            }
        }
        for (drawing, most) in DRAWINGS {
            if effort == Effort::Full || drawing == DRAWINGS[0].0 {
                let label = format!("grid drawing={drawing} hops<={most}{suffix}");
                let scenario = grid(effort, drawing, most, ours);
                points.push(point(label, if ours { "defaults" } else { "paper" }, scenario, GRID));
            }
        }
    }
    points
}

fn point(label: String, series: &'static str, scenario: Scenario, of: &'static [Metric]) -> Point {
    Point { label, series, x: 0.0, scenario, metrics: of, timeline_s: None }
}

/// Sources at these numbers of hops from the host's border router.
fn line(effort: Effort, hops: &[u32], both_ways: bool, ours: bool) -> Scenario {
    let last = hops.iter().copied().max().unwrap_or(1);
    let paper = line_scenario(effort, last, 40);
    let mut scenario = if ours { paper.as_kinglet() } else { paper };
    scenario.wire = Some(Wire { delay_ms: 1, ..Wire::PERFECT });
    let host = scenario.host();
    let up = hops.iter().map(|from| Flow::bulk(*from, host));
    let down = hops.iter().filter(|_| both_ways).map(|to| Flow::bulk(host, *to));
    scenario.flows = up.chain(down).collect();
    scenario
}

fn grid(effort: Effort, drawing: u32, most: u32, ours: bool) -> Scenario {
    let paper = line_scenario(effort, 1, 40).on_grid(COLUMNS, ROWS, LINE_SPACING_M);
    let mut scenario = if ours { paper.as_kinglet() } else { paper };
    scenario.flows = pairs(drawing, most).into_iter().map(|(a, b)| Flow::bulk(a, b)).collect();
    scenario
}

/// Different random pairs with at most this number of hops between them; no node is in more than
/// three pairs.
fn pairs(drawing: u32, most: u32) -> Vec<(NodeId, NodeId)> {
    let mut random = stream(drawing.into(), 0, Purpose::Application);
    let mut pairs = Vec::new();
    while pairs.len() < FLOWS {
        let pair = (random.below(COLUMNS * ROWS), random.below(COLUMNS * ROWS));
        let place = |node: NodeId| (node % COLUMNS, node / COLUMNS);
        let ((x, y), (to_x, to_y)) = (place(pair.0), place(pair.1));
        let hops = x.abs_diff(to_x) + y.abs_diff(to_y);
        let busy = |node| pairs.iter().filter(|(a, b)| *a == node || *b == node).count() >= 3;
        if (1..=most).contains(&hops) && !pairs.contains(&pair) && !busy(pair.0) && !busy(pair.1) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Names of the metrics of single flows, in order.
const EACH: [&str; 5] =
    ["goodput_first", "goodput_second", "goodput_third", "goodput_fourth", "goodput_fifth"];

/// Goodput of each flow relative to its share, and the lowest of these.
fn refine(rows: &mut Rows) {
    let whole = one_hop_bound().kbps;
    for (name, hops, both_ways) in SOURCES {
        let hops: Vec<u32> = if both_ways { [hops, hops].concat() } else { hops.to_vec() };
        let share = |one: u32| whole / f64::from(one.min(3)) / hops.len() as f64;
        for suffix in
            MODELS.iter().flat_map(|(model, _)| ["", " paper"].map(|s| format!("{model}{s}")))
        {
            let label = format!("sources={name}{suffix}");
            let mut least = f64::INFINITY;
            for (metric, hops) in EACH.iter().zip(&hops) {
                let Some(row) =
                    rows.all.iter_mut().find(|r| r.label == label && r.metric == *metric)
                else {
                    continue;
                };
                row.bound = Some(share(*hops));
                least = least.min(row.mean / share(*hops) * 100.0);
            }
            if least.is_finite() {
                rows.compute(&label, "share", 0.0, ("least_share", "%"), least);
            }
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let least = result.rows.iter().filter(|row| row.metric == "least_share");
    vec![Figure::Bars(Bars {
        title: "Least share of a flow".to_owned(),
        unit: "%".to_owned(),
        parts: vec!["least share".to_owned()],
        bars: least.map(|row| (row.label.clone(), vec![row.mean])).collect(),
        marks: vec![("a third".to_owned(), 100.0 / 3.0)],
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_directions_over_two_hops_have_a_quarter_of_the_bound_each() {
        let (label, whole) = ("sources=2 both-ways", one_hop_bound().kbps);
        let mut rows = Rows::default();
        for (metric, share) in [("goodput_first", 0.25), ("goodput_second", 0.125)] {
            rows.compute(label, "defaults", 0.0, (metric, "kb/s"), whole * share);
        }
        refine(&mut rows);
        for metric in ["goodput_first", "goodput_second"] {
            let bound = rows.get(label, metric).and_then(|row| row.bound).expect("a share");
            assert!((bound - whole / 4.0).abs() < 1e-9, "{bound} of {whole}");
        }
        let least = rows.get(label, "least_share").expect("of both").mean;
        assert!((least - 50.0).abs() < 1e-9, "{least}");
    }

    #[test]
    fn drawings_are_different_and_keep_to_their_hops() {
        let all: Vec<_> = DRAWINGS.iter().map(|(drawing, most)| pairs(*drawing, *most)).collect();
        for (pairs, (_, most)) in all.iter().zip(DRAWINGS) {
            assert_eq!(pairs.len(), FLOWS);
            for (a, b) in pairs {
                let hops =
                    (a % COLUMNS).abs_diff(b % COLUMNS) + (a / COLUMNS).abs_diff(b / COLUMNS);
                assert!((1..=most).contains(&hops), "{a} {b}");
            }
        }
        assert!(all.windows(2).all(|two| two[0] != two[1]));
    }
}
