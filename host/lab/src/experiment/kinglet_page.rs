//! A page of 50 KiB from a sleepy leaf, at each sleep interval.

use super::requests::{self, Link, METRICS, PAUSE_MS, Protocol};
use kinglet_scenario::{HostTcp, NodeId, Scenario, Wire};
use kinglet_sweep::chart::{Figure, curves};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::SERVER;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-page",
    title: "50 KiB from a leaf that sleeps",
    source: "own",
    question: "How fast is the transfer of a page of 50 KiB from a leaf, by its sleep interval \
               without requests, compared with CoAP in blocks and with a leaf that is always on?",
    method: "The host behind the office's border router asks a leaf three or five hops away, at \
             random times, by HTTP over a new connection each time and by CoAP in blocks of 512 \
             and of 1024 octets; all defaults. Until a request arrives the leaf polls its parent \
             every 50 ms to 4 s. The host has Linux's TCP. Throughput is 50 KiB in the median \
             time from the request to the last octet. The always-on leaf has the same place, the \
             same neighbour and the same other leaves, which poll as often. It is compared with \
             the page's time less the wait for the wake-up, half an interval on average.",
    threats: &[
        "No interference and no other traffic.",
        "Linux's TCP is a model from what was published, not its code (docs/decisions/0028).",
    ],
    main: "hops=3 poll_ms=1000 app=http",
    plan,
    refine,
    figures,
};

const PAGE: u32 = 51_200;
/// Interval between data requests while no response is expected, in milliseconds.
const INTERVALS_MS: [u32; 7] = [50, 100, 200, 500, 1_000, 2_000, 4_000];
/// Interval of the quick plan.
const QUICK_MS: u32 = 1_000;
/// Hops, and the leaf at that distance.
const LEAVES: [(u32, NodeId); 2] = [(3, SERVER), (5, 13)];
/// Name in labels, protocol, and octets of a CoAP block.
const APPS: [(&str, Protocol, u16); 4] = [
    ("http", Protocol::Http, requests::BLOCK),
    ("coap-512", Protocol::Coap, 512),
    ("coap-1024", Protocol::Coap, 1_024),
    (ALWAYS_ON, Protocol::Http, requests::BLOCK),
];
/// Label of the point whose HTTP server is always on.
const ALWAYS_ON: &str = "http-on";

fn plan(effort: Effort) -> Vec<Point> {
    let intervals = |ms: &u32| effort == Effort::Full || *ms == QUICK_MS;
    let mut points = Vec::new();
    for (leaf, app) in LEAVES.into_iter().flat_map(|leaf| APPS.map(|app| (leaf, app))) {
        for ms in INTERVALS_MS.into_iter().filter(intervals) {
            points.push(point(effort, leaf, ms, app));
        }
    }
    points
}

fn label(hops: u32, ms: u32, app: &str) -> String {
    format!("hops={hops} poll_ms={ms} app={app}")
}

fn point(
    effort: Effort,
    (hops, leaf): (u32, NodeId),
    ms: u32,
    (app, protocol, block): (&'static str, Protocol, u16),
) -> Point {
    let label = label(hops, ms, app);
    let mut scenario = Scenario::office();
    scenario.name.clone_from(&label);
    scenario.duration_s = effort.seconds() * 2.0;
    scenario.wire = Some(Wire { host: HostTcp::Linux, ..Wire::PERFECT });
    requests::serve(&mut scenario, leaf, Link::Predictive(ms));
    if app == ALWAYS_ON {
        requests::stay_awake(&mut scenario, leaf);
    }
    scenario.flows = requests::flows(&scenario, leaf, protocol, block, PAGE, PAUSE_MS);
    let x = f64::from(ms);
    Point { label, series: app, x, scenario, metrics: METRICS, timeline_s: None }
}

/// Throughput, and its ratio to that of the other cases.
fn refine(rows: &mut Rows) {
    for ((hops, _), ms) in LEAVES.into_iter().flat_map(|leaf| INTERVALS_MS.map(|ms| (leaf, ms))) {
        let x = f64::from(ms);
        let times = APPS.map(|(app, ..)| rows.mean(&label(hops, ms, app), "latency_median"));
        for ((app, ..), time) in APPS.into_iter().zip(times) {
            let Some(time) = time else { continue };
            let rate = f64::from(PAGE) * 8.0 / time;
            rows.compute(&label(hops, ms, app), app, x, ("throughput", "kb/s"), rate);
        }
        let [Some(http), Some(small), Some(large), Some(on)] = times else { continue };
        let label = label(hops, ms, "http");
        for (metric, ratio) in [
            ("of_coap_512", small / http),
            ("of_coap_1024", large / http),
            // A request waits half an interval on average until the leaf polls.
            ("of_always_on", (on + x / 2.0) / http),
        ] {
            rows.compute(&label, "http", x, (metric, "ratio"), ratio);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "time between data requests without a request, ms";
    let near: Vec<_> =
        result.rows.iter().filter(|row| row.label.starts_with("hops=3")).cloned().collect();
    curves(&near, "throughput", "50 KiB over three hops", x).into_iter().collect()
}
