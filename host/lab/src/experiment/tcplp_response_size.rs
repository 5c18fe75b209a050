//! Fig. 8a and 8b: longer responses, where TCP's window is an advantage.

use super::requests::{Link, METRICS, PAUSE_MS, Protocol, SERVER, scenario};
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::chart::{Figure, curves};
use crate::scenario::{Buffer, FlowKind, Scenario};
use kinglet_sim::ledger::Cause;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-response-size",
    title: "Time by response size: HTTP/TCP and CoAP",
    source: "TCPlp Fig. 8a, 8b, §8.1.2",
    question: "From which size of a response on is TCP, with segments in flight, faster than \
               CoAP, which sends one block after the other, and by how much for 50 KiB?",
    method: "The host behind the office's border router requests 82 octets to 50 KiB from a leaf \
             three hops away, by HTTP over a new connection each time and by CoAP in blocks of \
             512 octets. The leaf polls its parent every 100 ms (the paper's), or every 100 ms \
             and when a packet is due (ours). The radio time of a response of 1024 octets is the \
             difference to a leaf without requests, with all routers and no other leaf; and with \
             one change: with the other leaves, which poll their parents at the same instants; in \
             one block; and one segment at a time.",
    threats: &[
        "The paper names neither the leaf nor the size of its blocks; 512 octets are those of its \
         published sensor.",
        "No interference and no other traffic.",
    ],
    main: "size=51200 poll=fixed app=http",
    plan,
    refine,
    figures,
};

/// Octets of the responses.
const SIZES: [u32; 7] = [82, 500, 1_000, 2_000, 5_000, 10_000, LARGE];
const LARGE: u32 = 51_200;
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
    points.extend(costs(effort));
    points
}

/// Octets of the response whose radio cost the paper states (§8.1.3).
const PRICED: u32 = 1_024;
/// Name and change of each case.
const CASES: [(&str, Change); 4] = [
    ("", alone),
    // The other leaves poll their parents at the same instants as the server.
    (" neighbours", |_| ()),
    (" block=1024", |scenario| {
        alone(scenario);
        for flow in &mut scenario.flows {
            if let FlowKind::CoapServer { block_bytes, .. }
            | FlowKind::CoapClient { block_bytes, .. } = &mut flow.kind
            {
                *block_bytes = PRICED as u16;
            }
        }
    }),
    // One segment at a time, as CoAP has one block in flight.
    (" window=1", |scenario| {
        alone(scenario);
        scenario.tcp.send_buffer = Buffer::Segments(1);
    }),
];

/// Change of a scenario for one case.
type Change = fn(&mut Scenario);

/// Removes the other leaves. The server is the first leaf, and the routers precede it.
fn alone(scenario: &mut Scenario) {
    scenario.nodes.truncate(SERVER as usize + 1);
    let host = scenario.host();
    for flow in &mut scenario.flows {
        if let FlowKind::CoapClient { from, .. } | FlowKind::HttpClient { from, .. } =
            &mut flow.kind
        {
            *from = host;
        }
    }
}

/// Radio time of the leaf by cause, with requests and without.
fn costs(effort: Effort) -> Vec<Point> {
    let ledger = Cause::ALL.map(Metric::ServerFor);
    let all = [[Metric::ServerDutyCycle, Metric::Responses].as_slice(), &ledger].concat();
    // Plans are made only a few times in a run of the program.
    let metrics: &'static [Metric] = Box::leak(all.into_boxed_slice());
    let link = LINKS[0].0;
    let point = |(case, change): (&str, Change), name: &str, protocol| {
        let mut scenario = scenario(effort, link, protocol, PRICED, PAUSE_MS);
        change(&mut scenario);
        if name == "idle" {
            // The server without its client.
            scenario.flows.remove(0);
        }
        let (label, x) = (format!("price={name}{case}"), f64::from(PRICED));
        scenario.name.clone_from(&label);
        Point { label, series: series(link, protocol), x, scenario, metrics, timeline_s: None }
    };
    let all = [("http", Protocol::Http), ("coap", Protocol::Coap), ("idle", Protocol::Http)];
    CASES.into_iter().flat_map(|case| all.map(|(name, by)| point(case, name, by))).collect()
}

/// Radio time per request in milliseconds, by cause and in total, above that of an idle leaf. Also
/// the additional radio time of TCP over CoAP, relative to CoAP's and relative to the leaf's total
/// radio time with one request per 100 s.
fn price(rows: &mut Rows) {
    for (case, _) in CASES {
        let [http, coap, idle] = ["http", "coap", "idle"].map(|by| format!("price={by}{case}"));
        for label in [&http, &coap] {
            let answers = rows.get(label, "responses").filter(|row| row.mean > 0.0);
            let Some(answers) = answers.cloned() else { continue };
            for (metric, each) in PER_REQUEST {
                let both = (rows.mean(label, metric), rows.mean(&idle, metric));
                let (Some(on), Some(idle)) = both else { continue };
                let ms = (on - idle) / 100.0 * 3_600e3 / answers.mean;
                rows.compute(label, answers.series, answers.x, (each, "ms"), ms);
            }
        }
        let of = |label: &str| rows.mean(label, "on_per_request");
        let idle = rows.mean(&idle, "radio_duty_cycle");
        let (Some(tcp), Some(other), Some(idle)) = (of(&http), of(&coap), idle) else { continue };
        let all_ms = idle / 100.0 * 100e3 + other;
        let series = series(LINKS[0].0, Protocol::Http);
        for (metric, more, paper) in [
            ("tcp_more", (tcp / other - 1.0) * 100.0, 35.0),
            ("tcp_more_averaged", (tcp - other) / all_ms * 100.0, 0.35),
        ] {
            let row = rows.compute(&http, series, f64::from(PRICED), (metric, "%"), more);
            row.paper = Some(paper);
        }
    }
}

/// Metrics, and the metrics per request that are computed from them.
const PER_REQUEST: [(&str, &str); 7] = [
    ("radio_duty_cycle", "on_per_request"),
    ("radio_poll", "poll_per_request"),
    ("radio_listen", "listen_per_request"),
    ("radio_send", "send_per_request"),
    ("radio_receive", "receive_per_request"),
    ("radio_retry", "retry_per_request"),
    ("radio_control", "control_per_request"),
];

/// Throughput of the largest responses, and its ratio to that of the other cases.
fn refine(rows: &mut Rows) {
    price(rows);
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
    let x = "size of the response, octets";
    let short = curves(&small, "latency_median", "Time to the last octet (Fig. 8a)", x);
    let all = curves(&result.rows, "latency_median", "The same up to 50 KiB", x);
    [short, all].into_iter().flatten().collect()
}
