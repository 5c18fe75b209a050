//! Goodput of the defaults over one to eight hops, under each model of the medium.

use super::models::against_bound;
use super::{Effort, Experiment, ExperimentResult, Metric, Model, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-hops",
    title: "The defaults over one to eight hops",
    source: "own",
    question: "Which share of the capacity of a path do the defaults reach over two to eight \
               hops, and does it depend on the model of interference between nodes?",
    method: "Bulk transfer over a line of 1 to 8 hops with all defaults, under each of four \
             models of the medium: sinr-ber; strict overlap; each link 1 dB weaker than the one \
             before it, so that the hidden node is 1 dB stronger; interference over twice the \
             range of reception. Bound: goodput over one hop under the same model, B, divided by \
             the number of links of the path that exclude each other there (two links do if they \
             share a node, or if an end of one senses or disturbs an end of the other): three, \
             and four where frames disturb over two hops. The rest is divided into the frames in \
             excess of those of one hop for the same octets (retransmissions and \
             acknowledgments), and the time in which the channel waits.",
    threats: &[
        "A line is the worst case of hidden nodes: every second neighbour is one.",
        "B contains pauses (spacing, backoff, loading) which over several hops others can use: a \
         share may exceed 100 %.",
        "The links that exclude each other are known for the model, and for no building.",
        "The time spent on repetitions is estimated from the count of frames: a collision costs \
         both of them, also if it destroyed an acknowledgment.",
    ],
    main: "hops=4",
    plan,
    refine,
    figures,
};

/// Hops of the longest line.
const MOST: u32 = 8;
const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::Rtt,
    Metric::SegmentLoss,
    Metric::FramesPerKb,
    Metric::Unacknowledged,
    Metric::AccessFailures,
    Metric::Timeouts,
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for model in Model::ALL {
        for hops in 1..=MOST {
            let mut scenario = line_scenario(effort, hops, 40).as_kinglet();
            scenario.name = format!("{hops} hops, defaults");
            model.apply(&mut scenario);
            points.push(Point {
                label: format!("hops={hops}{}", model.suffix()),
                series: model.name(),
                x: f64::from(hops),
                scenario,
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    points
}

fn refine(rows: &mut Rows) {
    for model in Model::ALL {
        let (series, suffix) = (model.name(), model.suffix());
        against_bound(rows, (series, suffix), 2..=MOST, |hops| model.sharing(hops));
        let Some(once) = rows.mean(&format!("hops=1{suffix}"), "frames_per_kb") else { continue };
        for hops in 2..=MOST {
            let (label, x) = (format!("hops={hops}{suffix}"), f64::from(hops));
            let at = |metric: &str| rows.mean(&label, metric);
            let (Some(share), Some(frames)) = (at("share_of_bound"), at("frames_per_kb")) else {
                continue;
            };
            let again = share * (frames / (once * x) - 1.0);
            rows.compute(&label, series, x, ("repeating", "%"), again);
            rows.compute(&label, series, x, ("waiting", "%"), 100.0 - share - again);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "hops";
    let share = curves(&result.rows, "share_of_bound", "Share of what the path can carry, %", x);
    let goodput = curves(&result.rows, "goodput", "Goodput", x);
    [share, goodput].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_share_of_the_bound_is_repetitions_or_waiting() {
        let mut rows = Rows::default();
        for (label, kbps, frames) in [("hops=1", 100.0, 10.0), ("hops=2", 40.0, 25.0)] {
            rows.compute(label, "", 0.0, ("goodput", "kb/s"), kbps);
            rows.compute(label, "", 0.0, ("frames_per_kb", "frames/kB"), frames);
        }
        refine(&mut rows);
        let at = |metric| rows.mean("hops=2", metric).expect("computed");
        assert_eq!([at("links_sharing"), at("share_of_bound")], [2.0, 80.0]);
        // 25 frames are a quarter more than twice the 10 of one hop.
        assert_eq!([at("repeating"), at("waiting")], [20.0, 0.0]);
    }
}
