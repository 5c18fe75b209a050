//! Throughput and energy by the length of a burst (Fig. 7).

use super::{OfBursts, measured, point, tmotes, today};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Datagrams, File, Flash, Flow, FlowKind, Pace, Scenario, Wake};
use kinglet::time::Duration;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-burst-length",
    title: "Length of a burst",
    source: "Duquennoy et al., Fig. 7, §6.2; §5.1",
    question: "What do bursts of up to two seconds gain over four hops on which all nodes sleep, \
               and how does the gain depend on the wake-up rate?",
    method: "Four hops on a line, the paper's hardware, each node with a channel of its own and a \
             queue of 256 frames in flash. The source always has a datagram that fills a frame. \
             Varied: the length of bursts, from one frame to 2 s, and the wake-up rate. Further \
             points: one, two and ten hops, a queue in memory, one channel, lost frames, the \
             other direction and both at once, bursts of 20 s, which show the rate within a \
             burst, and a radio of today.",
    threats: &[
        "The paper's throughput is that of its MAC, without a definition; here it is what frames \
         carry behind the MAC's header.",
        "The time that a Tmote computes for a frame, 1.6 ms, is the rest of the paper's 3.0 ms \
         between frames. It is Contiki's, not this stack's on an MSP430, and not a prediction.",
        "Flash and radio do not share a bus here. On a Tmote they do; the paper's 3.0 ms between \
         frames contain what that costs.",
    ],
    main: "burst=2000 rate=8",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::OfFrames),
    Metric::OfBursts(OfBursts::Rate),
    Metric::OfBursts(OfBursts::EnergyPerKb),
    Metric::OfBursts(OfBursts::FlashShare),
    Metric::OfBursts(OfBursts::Radio),
];
const OF_PIP: &[Metric] = &[Metric::OfBursts(OfBursts::OfPip)];
const HOPS: u32 = 4;
/// Milliseconds; 0 means one frame per wake-up.
pub(crate) const BURSTS: [u32; 6] = [0, 125, 250, 500, 1_000, 2_000];
/// Wake-ups per second.
pub(crate) const RATES: [u32; 4] = [2, 4, 8, 16];
/// Octets that fill a frame together with the compressed headers, which contain no addresses over
/// one hop.
const fn payload(hops: u32) -> u16 {
    if hops == 1 { 108 } else { super::FULL }
}
/// Octets of a file sent by PIP: about a minute.
const BY_PIP: u32 = 500_000;
/// The paper's highest throughput, in kB/s (6.2).
const PAPER: f64 = 5.8;

fn plan(_: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for rate in RATES {
        for burst in BURSTS {
            let scenario = bulk(tmotes(HOPS), rate, burst);
            let label = format!("burst={burst} rate={rate}");
            points.push(point(label, series(rate), f64::from(burst) / 1e3, scenario, METRICS));
        }
    }
    points.extend(beside());
    points
}

/// Points outside the paper's sweep: other hardware, longer and lossier paths, fewer channels, the
/// other direction, and both directions at once.
fn beside() -> Vec<Point> {
    let usual = |hops| bulk(tmotes(hops), 8, 2_000);
    let mut memory = usual(HOPS);
    memory.flash = Flash::None;
    let mut down = usual(HOPS);
    down.flows = vec![flow(0, HOPS)];
    let mut both = usual(HOPS);
    both.flows.push(flow(0, HOPS));
    let lossy = |loss| {
        let mut scenario = usual(HOPS);
        scenario.medium.frame_loss = loss;
        scenario
    };
    let mut one_channel = usual(HOPS);
    one_channel.wake = one_channel.wake.map(|wake| Wake { channels: 1, ..wake });
    let scenarios = [
        ("hops=1", usual(1)),
        ("hops=2", usual(2)),
        ("hops=10", usual(10)),
        ("in memory", memory),
        ("down", down),
        ("both ways", both),
        ("frame_loss=0.1", lossy(0.1)),
        ("frame_loss=0.3", lossy(0.3)),
        ("channels=1", one_channel),
        ("hops=1 burst=20000", bulk(tmotes(1), 8, 20_000)),
        ("nrf52840", bulk(today(HOPS), 8, 2_000)),
        ("nrf52840 hops=1", bulk(today(1), 8, 2_000)),
        ("nrf52840 hops=1 burst=20000", bulk(today(1), 8, 20_000)),
    ];
    let named = scenarios.map(|(label, scenario)| (label.to_owned(), scenario));
    let by_pip = [("pip", pip(tmotes(HOPS))), ("pip nrf52840", pip(today(HOPS)))];
    let by_pip = by_pip.map(|(label, scenario)| (label.to_owned(), scenario));
    super::beside(named, METRICS).chain(super::beside(by_pip, OF_PIP)).collect()
}

/// The same route with PIP, which should not be faster.
pub(super) fn pip(mut scenario: Scenario) -> Scenario {
    scenario.duration_s = 300.0;
    let file = File { from: 0, to: HOPS, bytes: BY_PIP };
    scenario.flows = vec![Flow::new(0.0, FlowKind::Pip(file))];
    scenario
}

fn series(rate: u32) -> &'static str {
    match rate {
        2 => "2 wake-ups a second",
        4 => "4 wake-ups a second",
        8 => "8 wake-ups a second",
        _ => "16 wake-ups a second",
    }
}

/// Datagrams at full speed from the far end to the near one.
pub(super) fn bulk(mut scenario: Scenario, rate: u32, burst_ms: u32) -> Scenario {
    // The same length in a quick run: in one minute the neighbours' search would take 3 %.
    scenario.duration_s = 300.0;
    scenario = super::as_paper(scenario);
    if let Some(wake) = &mut scenario.wake {
        wake.settings.period = Duration::from_micros(1_000_000 / u64::from(rate));
        wake.settings.burst = Duration::from_millis(burst_ms.into());
    }
    scenario.flows = vec![flow(scenario.host() - 1, 0)];
    scenario
}

/// Datagrams from one end to the other.
fn flow(from: u32, to: u32) -> Flow {
    let payload_bytes = payload(from.max(to));
    let pace = Pace::Bulk(None);
    Flow::new(1.0, FlowKind::Udp(Datagrams { from, to, payload_bytes, pace }))
}

fn refine(rows: &mut Rows) {
    rows.paper("burst=2000 rate=8", "throughput_of_frames", PAPER);
    // The paper has 130 packets/s within a burst with flash (5.1).
    rows.paper("hops=1 burst=20000", "rate", 130.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |rate: u32| {
        let at = |burst: u32| (f64::from(burst) / 1e3, format!("burst={burst} rate={rate}"));
        (series(rate).to_owned(), BURSTS.map(at).to_vec())
    };
    let x_label = "length of a burst, s";
    let throughput = ("Throughput over four hops that sleep", x_label, "kB/s");
    let energy = ("Energy of a relay for a kilobyte", x_label, "mJ/kB");
    vec![
        measured(&rows, "throughput_of_frames", throughput, RATES.map(curve)),
        measured(&rows, "energy", energy, RATES.map(curve)),
    ]
}
