//! All duty cycles with the same nodes and the same traffic: latency, energy and throughput.

use super::kinglet_sleep::LeafMode;
use super::requests::{BLOCK, FIRST_TIMEOUT_MS, Protocol, flows};
use kinglet::time::Duration;
use kinglet_scenario::{
    Datagrams, Flow, FlowKind, Fragments, HostCost, HostTcp, LINE_SPACING_M, Pace, RadioProfile,
    Role, Scenario, Wake, Wire,
};
use kinglet_sweep::chart::{Figure, Lines, Series, Style};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Metric, OfBursts, OfNode};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-duty-cycles",
    title: "Which duty cycle when",
    source: "own",
    question: "What do latency, energy and throughput of a node cost each other with each of the \
               duty cycles, one hop from its parent and behind three relays?",
    method: "A line of one and of four hops, nRF52840, secured frames; the border router at one \
             end has mains power. The node at the other end is always on, polls its parent, \
             samples the channel at instants that its parent knows (CSL), or wakes as in \
             ContikiMAC, with bursts and without. Relays are duty-cycled in the last two cases, \
             and always on in the others. Varied: the longest time for which a node cannot be \
             reached. Traffic: a reading a minute and a request a minute by CoAP; a request a \
             minute by HTTP; a bulk transfer by TCP upwards, and one downwards.",
    threats: &[
        "One node talks at a time, no other network is in range, and neighbours have strong \
         signals.",
        "Clocks are wrong by a constant that is at most 20 ppm each.",
        "The energy is that of radio and CPU; sensors and regulators have none.",
        "TCP has buffers of four segments everywhere. Over relays that sleep larger ones carry \
         more.",
    ],
    main: "sparse hops=4 wake ms=125",
    plan,
    refine: |_| {},
    figures,
};

const LIGHT: &[Metric] = &[
    Metric::OfNode(OfNode::Latency),
    Metric::LatencyThirdQuartile,
    Metric::Failed,
    Metric::OfNode(OfNode::EndRadio),
    Metric::OfNode(OfNode::EndPower),
    Metric::OfNode(OfNode::RelayRadio),
    Metric::OfNode(OfNode::RelayPower),
];
const SPARSE: &[Metric] = &[
    LIGHT[0],
    LIGHT[1],
    LIGHT[2],
    Metric::OfBursts(OfBursts::CollectionDelay),
    Metric::OfBursts(OfBursts::CollectionLoss),
    LIGHT[3],
    LIGHT[4],
    LIGHT[5],
    LIGHT[6],
];
const BULK: &[Metric] = &[
    Metric::Goodput,
    Metric::OfNode(OfNode::EndEnergy),
    Metric::OfNode(OfNode::RelayEnergy),
    Metric::OfNode(OfNode::EndRadio),
    Metric::OfNode(OfNode::RelayRadio),
    Metric::Mss,
];

/// One hop, and three relays.
pub(crate) const HOPS: [u32; 2] = [1, 4];
/// Longest times for which a leaf is unreachable, in microseconds.
const ASKED: [u32; 5] = [125_000, 250_000, 500_000, 1_000_000, 2_000_000];
/// The same for nodes that all wake up periodically: 32 to 2 times a second.
const WOKEN: [u32; 5] = [31_250, 62_500, 125_000, 250_000, 500_000];
/// Times of the quick plan.
const QUICK: [u32; 2] = [125_000, 500_000];
/// Cases in which several frames may follow one data request or one CSL sample.
const PENDING: [(Cycle, u32); 4] = [
    (Cycle::Poll, 1_000_000),
    (Cycle::Csl, 125_000),
    (Cycle::Samples, 125_000),
    (Cycle::Samples, 500_000),
];
/// Octets of a response and of a reading: TCPlp's reading (§8.2).
const BYTES: u16 = 82;
/// Mean interval between requests or readings.
const PAUSE_MS: u32 = 60_000;

/// Default window in segments.
pub(crate) const WINDOW: u16 = 4;

/// Schedule of the radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cycle {
    /// Always on.
    On,
    /// The last node polls its parent, at an interval and when a response is expected.
    Poll,
    /// The last node samples the channel at an interval, and polls when a response is expected.
    Csl,
    /// The last node samples the channel and does not poll.
    Samples,
    /// All nodes wake up at an interval and send bursts.
    Wake,
    /// The same with one frame per wake-up.
    Single,
}

impl Cycle {
    /// Cycles that are compared at all intervals.
    pub(crate) const ALL: [Cycle; 5] =
        [Cycle::On, Cycle::Poll, Cycle::Csl, Cycle::Wake, Cycle::Single];

    /// Name in labels.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Cycle::On => "on",
            Cycle::Poll => "poll",
            Cycle::Csl => "csl",
            Cycle::Samples => "samples",
            Cycle::Wake => "wake",
            Cycle::Single => "wake-single",
        }
    }

    const fn series(self) -> &'static str {
        match self {
            Cycle::On => "always on",
            Cycle::Poll => "data requests",
            Cycle::Csl => "CSL and data requests",
            Cycle::Samples => "CSL alone",
            Cycle::Wake => "ContikiMAC with bursts",
            Cycle::Single => "ContikiMAC without bursts",
        }
    }

    /// Intervals in microseconds; an always-on node has only the value 0.
    pub(crate) fn intervals(self, effort: Effort) -> Vec<u32> {
        let all = match self {
            Cycle::On => return vec![0],
            Cycle::Poll | Cycle::Csl | Cycle::Samples => ASKED,
            Cycle::Wake | Cycle::Single => WOKEN,
        };
        let shown = |us: &u32| effort == Effort::Full || QUICK.contains(us);
        all.into_iter().filter(shown).collect()
    }

    /// A line whose last node (with `Wake` and `Single` all nodes) is unreachable for at most this
    /// time.
    fn on_line(self, hops: u32, us: u32) -> Scenario {
        let mut scenario = Scenario::default().on_line(hops, LINE_SPACING_M);
        scenario.radio.profile = RadioProfile::Nrf52840;
        scenario.radio.host_cost = HostCost::Measured;
        scenario.radio.drift_ppm = 20;
        // Longer than the round trip over sleeping nodes, so that segments in flight are not
        // resent.
        scenario.tcp.connection.rto_initial = Duration::from_millis(FIRST_TIMEOUT_MS.into());
        match self {
            Cycle::On => {}
            Cycle::Poll => be_leaf(&mut scenario, LeafMode::Predictive, us / 1_000),
            Cycle::Csl => be_leaf(&mut scenario, LeafMode::Both, us / 1_000),
            Cycle::Samples => be_leaf(&mut scenario, LeafMode::Csl, us / 1_000),
            Cycle::Wake | Cycle::Single => {
                let mut wake = Wake::DEFAULT;
                wake.settings.period = Duration::from_micros(us.into());
                if self == Cycle::Single {
                    wake.settings.burst = Duration::ZERO;
                }
                scenario.wake = Some(wake);
                scenario.fragments = Fragments::Forwarded;
            }
        }
        scenario
    }
}

/// Turns the last node into a leaf.
fn be_leaf(scenario: &mut Scenario, mode: LeafMode, ms: u32) {
    if let Some(last) = scenario.nodes.last_mut() {
        last.role = Role::Leaf;
    }
    (scenario.polling, scenario.mac.csl) = mode.within(ms);
}

/// Traffic of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// A reading and a request per minute.
    Sparse,
    /// A page per minute, each over its own connection.
    Http,
    /// The same from a host with Linux's TCP, whose initial RTO is one second.
    Linux,
    /// Bulk transfer to the border router.
    Up,
    /// Bulk transfer from the border router.
    Down,
}

impl Traffic {
    const ALL: [Traffic; 5] =
        [Traffic::Sparse, Traffic::Http, Traffic::Linux, Traffic::Up, Traffic::Down];

    const fn name(self) -> &'static str {
        match self {
            Traffic::Sparse => "sparse",
            Traffic::Http => "http",
            Traffic::Linux => "http-linux",
            Traffic::Up => "up",
            Traffic::Down => "down",
        }
    }

    const fn metrics(self) -> &'static [Metric] {
        match self {
            Traffic::Sparse => SPARSE,
            Traffic::Http | Traffic::Linux => LIGHT,
            Traffic::Up | Traffic::Down => BULK,
        }
    }

    fn of(self, scenario: &mut Scenario, effort: Effort, hops: u32) {
        scenario.duration_s = match (self, effort) {
            (Traffic::Up | Traffic::Down, effort) => effort.seconds(),
            (_, Effort::Quick) => 1_800.0,
            (_, Effort::Full) => 7_200.0,
        };
        let ask = |scenario: &mut Scenario, protocol, host| {
            scenario.wire = Some(Wire { host, ..Wire::PERFECT });
            scenario.flows = flows(scenario, hops, protocol, BLOCK, BYTES.into(), PAUSE_MS);
        };
        match self {
            Traffic::Sparse => {
                ask(scenario, Protocol::Coap, HostTcp::Same);
                let pace = Pace::Between(PAUSE_MS / 2, PAUSE_MS * 3 / 2);
                let reading = Datagrams { from: hops, to: 0, payload_bytes: BYTES, pace };
                scenario.flows.push(Flow::new(1.0, FlowKind::Udp(reading)));
            }
            Traffic::Http => ask(scenario, Protocol::Http, HostTcp::Same),
            Traffic::Linux => ask(scenario, Protocol::Http, HostTcp::Linux),
            Traffic::Up => scenario.flows = vec![Flow::bulk(hops, 0)],
            Traffic::Down => scenario.flows = vec![Flow::bulk(0, hops)],
        }
    }
}

/// Label of a point.
pub(crate) fn label(traffic: &str, hops: u32, cycle: Cycle, us: u32) -> String {
    let interval = if us == 0 { String::new() } else { format!(" ms={}", f64::from(us) / 1e3) };
    format!("{traffic} hops={hops} {}{interval}", cycle.name())
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (traffic, hops) in Traffic::ALL.into_iter().flat_map(|t| HOPS.map(|hops| (t, hops))) {
        for cycle in Cycle::ALL {
            let intervals = cycle.intervals(effort).into_iter();
            points.extend(intervals.map(|us| point(effort, (traffic, hops), (cycle, us))));
        }
    }
    points.extend(pending(effort));
    points
}

/// Points with and without several frames per data request or sample.
fn pending(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for traffic in [Traffic::Up, Traffic::Down] {
        for (hops, (cycle, us)) in (1..=4).flat_map(|hops| PENDING.map(|cycle| (hops, cycle))) {
            for (several, burst) in [("several", true), ("one", false)] {
                let mut point = point(effort, (traffic, hops), (cycle, us));
                point.label = format!("{} frames={several}", point.label);
                point.x = hops.into();
                point.scenario.name.clone_from(&point.label);
                point.scenario.mac.indirect.burst = burst;
                points.push(point);
            }
        }
    }
    points
}

fn point(effort: Effort, (traffic, hops): (Traffic, u32), (cycle, us): (Cycle, u32)) -> Point {
    let mut scenario = cycle.on_line(hops, us);
    traffic.of(&mut scenario, effort, hops);
    let label = label(traffic.name(), hops, cycle, us);
    scenario.name.clone_from(&label);
    Point {
        label,
        series: cycle.series(),
        x: f64::from(us) / 1e3,
        scenario,
        metrics: traffic.metrics(),
        timeline_s: None,
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let mut figures = Vec::new();
    for hops in HOPS {
        let over = if hops == 1 { "one hop".to_owned() } else { format!("{hops} hops") };
        let title = format!("Mean response time by CoAP and power of the responder, {over}");
        let axes = ("latency_mean", "power_end");
        let labels = ("mean time to the answer, ms", "mean power of the last node, mW");
        figures.push(against(&rows, Traffic::Sparse, hops, axes, (title, labels)));
        for (traffic, mode) in [(Traffic::Up, "from"), (Traffic::Down, "to")] {
            let title = format!("Bulk transfer {mode} the last node, {over}");
            let labels = ("goodput, kb/s", "energy of the last node, mJ/kB");
            let axes = ("goodput", "energy_end");
            figures.push(against(&rows, traffic, hops, axes, (title, labels)));
        }
    }
    figures
}

/// One metric against another; each curve is a cycle over its intervals.
fn against(
    rows: &Rows,
    traffic: Traffic,
    hops: u32,
    (across, up): (&str, &str),
    (title, (x_label, y_label)): (String, (&str, &str)),
) -> Figure {
    let curve = |cycle: Cycle| {
        let point = |us: u32| {
            let label = label(traffic.name(), hops, cycle, us);
            let y = rows.get(&label, up)?;
            Some((rows.mean(&label, across)?, y.mean, y.ci95))
        };
        let points = cycle.intervals(Effort::Full).into_iter().filter_map(point).collect();
        Series { name: cycle.series().to_owned(), style: Style::Measured, points }
    };
    Figure::Lines(Lines {
        title,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        series: Cycle::ALL.map(curve).into(),
    })
}
