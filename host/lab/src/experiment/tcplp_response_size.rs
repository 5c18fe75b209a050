//! Fig. 8a and 8b: longer answers, where TCP's window pays.

use super::requests::{Link, Protocol, scenario};
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::chart::{Figure, curves};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-response-size",
    title: "Time by response size: HTTP/TCP and CoAP",
    source: "TCPlp Fig. 8a, 8b, §8.1.2",
    question: "From which size of an answer on is TCP, with segments in flight, faster than CoAP, \
               which sends one block after the other, and by how much for 50 KiB?",
    method: "The host behind the office's border router asks a leaf three hops away for 82 octets \
             to 50 KiB, by HTTP over a new connection each time and by CoAP in blocks of 512 \
             octets. The leaf asks its parent every 100 ms (the paper's), or every 100 ms and when \
             something is due (ours).",
    threats: &[
        "The paper does not say which leaf it asked, nor the size of its blocks; 512 octets are \
         those of its published sensor.",
        "No interference and no other traffic.",
    ],
    main: "size=51200 poll=fixed app=http",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::LatencyFirstQuartile,
    Metric::LatencyMedian,
    Metric::LatencyThirdQuartile,
    Metric::Failed,
];
/// Octets of the answers.
const SIZES: [u32; 7] = [82, 500, 1_000, 2_000, 5_000, 10_000, LARGE];
const LARGE: u32 = 51_200;
const PAUSE_MS: u32 = 10_000;
const LINKS: [(Link, &str); 2] = [(Link::Sleep(100), "fixed"), (Link::Predictive(100), "due")];

fn label(size: u32, link: &str, protocol: Protocol) -> String {
    format!("size={size} poll={link} app={}", protocol.name())
}

const fn series(link: Link, protocol: Protocol) -> &'static str {
    match (link, protocol) {
        (Link::Predictive(_), Protocol::Coap) => "CoAP, when due",
        (Link::Predictive(_), _) => "HTTP/TCP, when due",
        (_, protocol) => protocol.series(),
    }
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (link, poll) in LINKS {
        for protocol in [Protocol::Http, Protocol::Coap] {
            for size in SIZES {
                let label = label(size, poll, protocol);
                let mut scenario = scenario(effort, link, protocol, size, PAUSE_MS);
                scenario.name.clone_from(&label);
                points.push(Point {
                    label,
                    series: series(link, protocol),
                    x: f64::from(size),
                    scenario,
                    metrics: METRICS,
                    timeline_s: None,
                });
            }
        }
    }
    points
}

/// Throughput of the largest answers, and how it compares.
fn refine(rows: &mut Rows) {
    let x = f64::from(LARGE);
    for (link, poll) in LINKS {
        let rate = |rows: &Rows, protocol| {
            let ms = rows.mean(&label(LARGE, poll, protocol), "latency_median")?;
            Some(f64::from(LARGE) * 8.0 / ms)
        };
        let both = (rate(rows, Protocol::Http), rate(rows, Protocol::Coap));
        let (Some(http), Some(coap)) = both else { continue };
        for (protocol, rate) in [(Protocol::Http, http), (Protocol::Coap, coap)] {
            let label = label(LARGE, poll, protocol);
            rows.compute(&label, series(link, protocol), x, ("throughput", "kb/s"), rate);
        }
        let label = label(LARGE, poll, Protocol::Http);
        let row = rows.compute(
            &label,
            series(link, Protocol::Http),
            x,
            ("throughput_ratio", "of CoAP's"),
            http / coap,
        );
        row.paper = (poll == "fixed").then_some(1.4);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let small: Vec<_> =
        result.rows.iter().filter(|row| row.x < f64::from(LARGE)).cloned().collect();
    let x = "size of the answer, octets";
    let short = curves(&small, "latency_median", "Time to the last octet (Fig. 8a)", x);
    let all = curves(&result.rows, "latency_median", "The same up to 50 KiB", x);
    [short, all].into_iter().flatten().collect()
}
