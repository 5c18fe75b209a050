//! BLIP's fixed retransmission timeout, from one second to seven.

use super::{Case, HEAVY, OfTree, THREATS, point, scenario, with_stack};
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::Building;
use kinglet::time::Duration;
use kinglet_peers::Stack;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "rpl-rto",
    title: "The fixed retransmission timeout",
    source: "Kim et al., Fig. 11, §V-E",
    question: "Is there a best fixed timeout, and does TCP need one?",
    method: "As rpl-throughput, upward at 60 packets a minute, with BLIP's timeout at 1, 2, 3, 5 \
             and 7 s; and with FreeBSD's TCP, whose timeout follows round trips, in segments and \
             buffers of the same sizes.",
    threats: &THREATS,
    main: "rto_s=3",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfTree(OfTree::Throughput),
    Metric::OfTree(OfTree::ThroughputMin),
    Metric::OfTree(OfTree::TcpEtx),
    Metric::OfTree(OfTree::QueueLoss),
];
/// Seconds.
const TIMEOUTS: [u32; 5] = [1, 2, 3, 5, 7];

fn plan(effort: Effort) -> Vec<Point> {
    let paper = || scenario(effort, Building::Middle, Case::TcpUp, HEAVY);
    let fixed = TIMEOUTS.map(|seconds| {
        let mut scenario = paper();
        scenario.tcp.quirks.blip_rto = Duration::from_secs(seconds.into());
        point(format!("rto_s={seconds}"), "fixed", seconds.into(), scenario, METRICS)
    });
    let adaptive = with_stack(paper(), Stack::FreeBsd);
    let adaptive = point("rto=adaptive".to_owned(), "adaptive", 0.0, adaptive, METRICS);
    fixed.into_iter().chain([adaptive]).collect()
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "retransmission timeout, s";
    let rows: Vec<_> = result.rows.iter().filter(|row| row.series == "fixed").cloned().collect();
    let throughput = curves(&rows, "throughput", "Throughput", x);
    let etx = curves(&rows, "tcp_etx", "Segments sent for each that was sent once", x);
    [throughput, etx].into_iter().flatten().collect()
}
