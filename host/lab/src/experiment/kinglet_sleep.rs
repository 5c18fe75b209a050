//! Sleepy leaves: polling at intervals, polling when a response is expected, channel sampling.

use kinglet::Polling;
use kinglet::mac::Csl;
use kinglet::time::Duration;
use kinglet_apps::coap::PORT;
use kinglet_coap::Rto;
use kinglet_scenario::{
    Carrier, Flow, FlowKind, Method, RadioProfile, Scenario, Sensor, csl_every, polling_every,
};
use kinglet_sweep::chart::{Figure, Lines, Series, Style, ledger};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;
use kinglet_sweep::row::Row;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-sleep",
    title: "Polling or sampling",
    source: "own",
    question: "How much radio time does it cost a sleeping node to be reached within a given \
               time, if it polls its parent at intervals as in the paper, if it polls when a \
               response is due, and if it samples the channel at instants that its parent knows?",
    method: "The office at night. One leaf sends readings by TCP in batches of 64; its radio duty \
             cycle is one axis. The host requests 82 octets from another leaf near it, which \
             sleeps by the same rule, at random times by CoAP or by HTTP; the median response \
             time is the other axis. Varied: the longest time for which a leaf cannot be reached, \
             0.25 to 2 s. For comparison, leaves without requests, which poll every four minutes.",
    threats: &[
        "Clocks are wrong by a constant that is at most 20 ppm; no temperature changes it. The \
         leaf assumes that its measurement is within 2 ppm in all cases.",
        "A sample is taken to cost 0.16 ms of listening and the uncertainty of the clocks; the \
         chip's ramp-up is counted as neither on nor asleep.",
        "At night there is no interference with a sample. A frame that misses one waits for the \
         next.",
    ],
    main: "way=csl ms=1000 coap",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::LatencyMedian,
    Metric::RadioDutyCycle(Carrier::Tcp),
    Metric::Reliability(Carrier::Tcp),
];
/// Longest times for which a leaf is unreachable, in milliseconds.
const INTERVALS_MS: [u32; 4] = [250, 500, 1_000, 2_000];
/// Seconds between data requests while no response is expected (TCPlp §8.2).
const BASE_S: u32 = 240;
const BASE: Duration = Duration::from_secs(BASE_S as u64);
/// Interval between data requests so long that expected responses arrive at a sample.
const NEVER: Duration = Duration::from_secs(60);
/// Neighbours at three hops from the border router: numbers 12 and 13 in the paper.
const SERVER: u32 = 11;
const SENSOR: u32 = 12;

/// Method by which a leaf is reached.
#[derive(Clone, Copy)]
pub(super) enum LeafMode {
    Fixed,
    Predictive,
    Csl,
    Both,
}

impl LeafMode {
    const ALL: [LeafMode; 4] =
        [LeafMode::Fixed, LeafMode::Predictive, LeafMode::Csl, LeafMode::Both];

    const fn name(self) -> &'static str {
        match self {
            LeafMode::Fixed => "fixed",
            LeafMode::Predictive => "predictive",
            LeafMode::Csl => "csl",
            LeafMode::Both => "csl+predictive",
        }
    }

    /// Polling and CSL settings of a leaf that is reachable within this time.
    pub(super) fn within(self, ms: u32) -> (Polling, Option<Csl>) {
        let interval = Duration::from_millis(ms.into());
        let csl = Some(csl_every(ms));
        match self {
            LeafMode::Fixed => (polling_every(Polling::TCPLP, interval), None),
            LeafMode::Predictive => (Polling::Predictive { base: interval }, None),
            LeafMode::Csl => (Polling::Fixed { base: BASE, fast_poll: NEVER }, csl),
            LeafMode::Both => (Polling::Predictive { base: BASE }, csl),
        }
    }
}

/// Protocols of the host's requests, by their names in labels and figures.
const PROTOCOLS: [&str; 2] = ["coap", "http"];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for mode in LeafMode::ALL {
        for ms in INTERVALS_MS {
            for protocol in PROTOCOLS {
                let label = format!("way={} ms={ms} {protocol}", mode.name());
                let mut scenario = office(effort, &label, mode.within(ms));
                scenario.flows.splice(0..0, requests(&scenario, protocol));
                points.push(Point {
                    label,
                    series: mode.name(),
                    x: f64::from(ms) / 1e3,
                    scenario,
                    metrics: METRICS,
                    timeline_s: None,
                });
            }
        }
    }
    for mode in [LeafMode::Fixed, LeafMode::Predictive] {
        let label = format!("way={} unasked", mode.name());
        let scenario = office(effort, &label, mode.within(BASE_S * 1_000));
        let metrics = &METRICS[1..];
        points.push(Point {
            label,
            series: "unasked",
            x: f64::from(BASE_S),
            scenario,
            metrics,
            timeline_s: None,
        });
    }
    points
}

/// The office at night with a sensor.
fn office(effort: Effort, name: &str, (polling, csl): (Polling, Option<Csl>)) -> Scenario {
    let mut scenario = Scenario::office();
    scenario.name = name.to_owned();
    scenario.duration_s = match effort {
        Effort::Quick => 600.0,
        Effort::Full => 3_600.0,
    };
    scenario.radio.profile = RadioProfile::Nrf52840;
    scenario.radio.drift_ppm = 20;
    scenario.polling = polling;
    scenario.mac.csl = csl;
    let sensor = Sensor::new(SENSOR, scenario.host(), Carrier::Tcp);
    scenario.flows = vec![Flow::new(1.0, FlowKind::Anemometer(sensor))];
    scenario
}

/// A client at the host and its server.
fn requests(scenario: &Scenario, protocol: &str) -> [Flow; 2] {
    let (from, to, bytes, pause_ms) = (scenario.host(), SERVER, 82, 10_000);
    let kinds = if protocol == "http" {
        let client = FlowKind::HttpClient { from, to, port: 80, bytes, pause_ms, fast_open: false };
        [client, FlowKind::HttpServer { node: to, port: 80 }]
    } else {
        let client = FlowKind::CoapClient {
            from,
            to,
            port: PORT,
            method: Method::Get,
            bytes,
            block_bytes: 512,
            pause_ms,
            rto: Rto::Plain,
            ack_timeout_ms: 3_000,
        };
        [client, FlowKind::CoapServer { node: to, port: PORT, block_bytes: 512 }]
    };
    kinds.map(|kind| Flow::new(1.0, kind))
}

/// Price of being reachable: duty cycle above that of a leaf that receives no requests.
fn refine(rows: &mut Rows) {
    let Some(least) = rows.mean("way=predictive unasked", "radio_duty_cycle") else { return };
    let asked = |r: &&Row| r.metric == "radio_duty_cycle" && r.series != "unasked";
    for row in rows.all.iter().filter(asked).cloned().collect::<Vec<_>>() {
        let price = ("price", "% of the time");
        rows.compute(&row.label, row.series, row.x, price, row.mean - least);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |mode: LeafMode, protocol: &str| {
        let point = |ms: u32| {
            let label = format!("way={} ms={ms} {protocol}", mode.name());
            let latency = rows.get(&label, "latency_median")?;
            Some((rows.mean(&label, "radio_duty_cycle")?, latency.mean, latency.ci95))
        };
        Series {
            name: format!("{}, {protocol}", mode.name()),
            style: Style::Measured,
            points: INTERVALS_MS.into_iter().filter_map(point).collect(),
        }
    };
    let curves = |protocol| LeafMode::ALL.map(|mode| curve(mode, protocol));
    let mut figures = PROTOCOLS
        .map(|protocol| {
            Figure::Lines(Lines {
                title: format!("Price of an answer by {protocol} within a time"),
                x_label: "radio duty cycle of sense and send, %".to_owned(),
                y_label: "median time to the answer, ms".to_owned(),
                series: curves(protocol).into(),
            })
        })
        .to_vec();
    let at = |mode: LeafMode| {
        let label = format!("way={} ms=1000 coap", mode.name());
        let (_, run) = result.samples.iter().find(|(point, _)| point.label == label)?;
        let nodes = [run.nodes.get(SERVER as usize)?, run.nodes.get(SENSOR as usize)?];
        let title = format!("Radio time by cause, {}: node 11 responds, 12 sends", mode.name());
        ledger(&title, &nodes, true, run.sim_seconds)
    };
    figures.extend(LeafMode::ALL.into_iter().filter_map(at));
    figures
}
