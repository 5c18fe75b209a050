//! Fig. 4b: overheads that reduce the capacity of one hop, and the share of the bound that is
//! reached.

use crate::experiment::{InRust, readme};
use kinglet_network::layout::one_hop_bound;
use kinglet_network::radio::driver_us;
use kinglet_scenario::HostCost;
use kinglet_sim::cpu::FITTED_TCPLP_HOST_COST;
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows, line_scenario};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-bound",
    readme: readme!("tcplp-bound"),
    source: "TCPlp Fig. 4b, §6.3",
    main: "hops=1",
    plan,
    refine,
    figures,
};

fn plan(effort: Effort) -> Vec<Point> {
    let with_driver = FITTED_TCPLP_HOST_COST.frame_sent_ns / 1_000 + driver_us() as u32;
    let point = |label: &str, series, x, host_cost| {
        let mut scenario = line_scenario(effort, 1, 0);
        scenario.radio.host_cost = host_cost;
        Point {
            label: label.to_owned(),
            series,
            x,
            scenario,
            metrics: &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::FramesPerKb],
            timeline_s: Some((20.0, 20.2)),
        }
    };
    vec![
        point("hops=1", "no CPU cost", 0.0, HostCost::Micros(0)),
        point("hops=1 host_cost=measured", "measured CPU cost", 0.5, HostCost::Measured),
        point("hops=1 host_cost=fitted_tcplp", "fitted CPU cost", 1.0, HostCost::FittedTcplp),
        point(
            "hops=1 host_cost=fitted_tcplp+driver",
            "CPU and driver",
            2.0,
            HostCost::Micros(with_driver),
        ),
    ]
}

fn refine(rows: &mut Rows) {
    let best = one_hop_bound();
    rows.bound("goodput", |_| Some(best.kbps));
    rows.paper("hops=1", "goodput", 75.0);
    rows.paper("hops=1 host_cost=fitted_tcplp", "goodput", 75.0);
    rows.paper("hops=1 host_cost=fitted_tcplp+driver", "goodput", 75.0);
    let label = "mss_frames=5 acks=in pauses";
    rows.compute(label, "bound", 0.0, ("bound", "kb/s"), best.kbps);
    let sequence = best.kbps_in_sequence;
    rows.compute("mss_frames=5", "bound", 0.0, ("bound", "kb/s"), sequence).paper = Some(95.0);
    let bare = best.kbps_without_tcp_headers;
    rows.compute("mss_frames=5 no-tcp-headers", "bound", 1.0, ("bound", "kb/s"), bare).paper =
        Some(100.0);
    let slow = best.kbps_with_extra_us(driver_us());
    rows.compute("mss_frames=5 frame_time=paper", "bound", 2.0, ("bound", "kb/s"), slow).paper =
        Some(95.0);
    rows.compute("mss_frames=5", "bound", 0.0, ("mss", "B"), best.mss as f64).paper = Some(462.0);
    for (index, (name, us)) in best.parts.into_iter().enumerate() {
        // In s/kb as in the paper: microseconds per segment over kilobits per segment.
        let per_kb = us / 1e6 / (best.mss as f64 * 8.0 / 1e3);
        let label = format!("overhead={name}");
        rows.compute(&label, "ladder", index as f64, ("inverse_goodput", "s/kb"), per_kb);
    }
    let reached: Vec<(String, &'static str, f64, f64)> = rows
        .all
        .iter()
        .filter(|r| r.metric == "goodput")
        .map(|r| (r.label.clone(), r.series, r.x, r.mean))
        .collect();
    for (label, series, x, kbps) in reached {
        let share = kbps / best.kbps * 100.0;
        rows.compute(&label, series, x, ("share_of_bound", "%"), share);
    }
    rows.paper("hops=1", "share_of_bound", 78.9);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let ladder: Vec<_> = result.rows.iter().filter(|r| r.metric == "inverse_goodput").collect();
    let mut names: Vec<String> =
        ladder.iter().map(|r| r.label.trim_start_matches("overhead=").to_owned()).collect();
    let bound: Vec<f64> = ladder.iter().map(|r| r.mean).collect();
    let total: f64 = bound.iter().sum();
    names.push("the rest: queueing, collisions, CPU".to_owned());
    let mut bars = vec![("bound".to_owned(), bound.clone())];
    for row in result.rows.iter().filter(|r| r.metric == "goodput" && r.mean > 0.0) {
        let mut parts = bound.clone();
        parts.push((1.0 / row.mean - total).max(0.0));
        bars.push((row.series.to_owned(), parts));
    }
    vec![Figure::Bars(Bars {
        title: "Time per kilobit of payload: lower is better".to_owned(),
        unit: "s/kb".to_owned(),
        parts: names,
        bars,
        marks: vec![
            ("paper, bound 95 kb/s".to_owned(), 1.0 / 95.0),
            ("paper, measured 75 kb/s".to_owned(), 1.0 / 75.0),
        ],
    })]
}
