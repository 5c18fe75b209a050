//! PIP, Snack and TCP by the rate of loss (Fig. 17 to 19).

use super::{OfBursts, SETTINGS, heard_by, measured, point, tmotes, today};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{
    Buffer, File, Flow, FlowKind, HostTcp, Mss, SECURITY, Scenario, Source, Tcp, Wake, Wire,
};
use kinglet::time::Duration;
use kinglet_peers::Stack;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-transports",
    title: "PIP, Snack and TCP",
    source: "Duquennoy et al., Fig. 1 and 17 to 19, §7.2 and §7.3",
    question: "How much does each transport carry over ten hops, with how much radio time and \
               energy of a relay, by the interference at one node?",
    method: "Ten hops; the sixth node is in range of none to three Wi-Fi transfers and loses 0, \
             58, 82 and 92 % of full frames. A file by PIP, whose radios are always on; a file by \
             Snack and a stream by Linux's TCP over duty-cycled nodes, with the paper's settings \
             and ours. 600 s, or the time that PIP needs for 500 kB. Radio and energy are those \
             of the third node, before the interference. Further points with TCP: fewer hops, the \
             other direction, lost frames everywhere, one channel, half the wake-ups, security, \
             small windows, packets of 1500 octets, and a second transfer from the middle.",
    threats: &[
        "The level of interference is the number of interferers and not the strength of one, as \
         loss hardly depends on the strength of our models.",
        "TCP's connection is opened before the interference begins, at 30 s: during it Linux may \
         give up its SYN.",
        "PIP's CPU takes neither time nor energy here.",
        "The serial line of the paper's tunnel takes time at the receiver's end of TCP only. At \
         the sender's end it takes none, and the computer waits while its mote has no room, as \
         with flow control. The paper does not say that its line had flow control.",
    ],
    main: "tcp ours sources=0",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::OfBursts(OfBursts::RadioOfThird),
    Metric::OfBursts(OfBursts::EnergyOfThird),
];
const OF_TCP: &[Metric] = &[
    Metric::Goodput,
    Metric::OfBursts(OfBursts::RadioOfThird),
    Metric::OfBursts(OfBursts::EnergyOfThird),
    Metric::OfBursts(OfBursts::Resent),
];
pub(super) const HOPS: u32 = 10;
/// Node in range of the interference.
const WHO: u32 = 6;
/// Number of Wi-Fi transfers in its range.
pub(crate) const LEVELS: [u8; 4] = [0, 1, 2, 3];
/// More octets than Snack carries in the run, so that it sends until the end.
const LONG: u32 = 4_000_000;
const BY_PIP: u32 = 500_000;

/// TCP of Linux over ten hops, from the far end to a host behind node 0.
pub(super) fn tunnel() -> Scenario {
    with_linux(tmotes(HOPS))
}

pub(super) fn with_linux(mut scenario: Scenario) -> Scenario {
    scenario.tcp = Tcp {
        stack: Some(Stack::Linux),
        // With timestamps and the longest headers this is IPv6's minimum MTU.
        mss: Mss::Bytes(1_208),
        send_buffer: Buffer::Segments(50),
        receive_buffer: Buffer::Segments(50),
        ..Tcp::default()
    };
    scenario.tcp.connection.timestamps = true;
    let (host, rate_kbps) = (HostTcp::Linux, Some(115.2));
    scenario.wire = Some(Wire { host, rate_kbps, ..Wire::PERFECT });
    scenario.flows = vec![Flow::bulk(scenario.host() - 1, scenario.host())];
    scenario
}

fn file(bytes: u32) -> File {
    File { from: 0, to: HOPS, bytes }
}

fn plan(effort: Effort) -> Vec<Point> {
    match effort {
        // Long enough to make two segments less than one in a hundred: they are retransmitted
        // before a round-trip time is known.
        Effort::Quick => by_level(400.0),
        Effort::Full => {
            let mut points = by_level(600.0);
            points.extend(super::beside(beside(), OF_TCP));
            points
        }
    }
}

/// TCP with our settings and without interference, in addition to the point that is compared.
fn beside() -> impl Iterator<Item = (String, Scenario)> {
    let over = |hops| with_linux(tmotes(hops));
    let mut down = tunnel();
    down.flows = vec![Flow::bulk(down.host(), HOPS)];
    let lossy = |loss| {
        let mut scenario = tunnel();
        scenario.medium.frame_loss = loss;
        scenario
    };
    let woken = |change: fn(&mut Wake)| {
        let mut scenario = tunnel();
        scenario.wake.iter_mut().for_each(change);
        scenario
    };
    let mut secured = tunnel();
    secured.mac.security = Some(SECURITY);
    let mut small = tunnel();
    (small.tcp.send_buffer, small.tcp.receive_buffer) = (Buffer::Segments(8), Buffer::Segments(8));
    let mut long = tunnel();
    long.net.mtu = 1_500;
    // MSS of Linux on Ethernet.
    long.tcp.mss = Mss::Bytes(1_428);
    let mut two = tunnel();
    two.flows.push(Flow::bulk(HOPS / 2, two.host()));
    let scenarios = [
        ("tcp hops=2", over(2)),
        ("tcp hops=4", over(4)),
        ("tcp hops=6", over(6)),
        ("tcp down", down),
        ("tcp frame_loss=0.1", lossy(0.1)),
        ("tcp frame_loss=0.3", lossy(0.3)),
        ("tcp channels=1", woken(|wake| wake.channels = 1)),
        ("tcp rate=4", woken(|wake| wake.settings.period = Duration::from_millis(250))),
        ("tcp secured", secured),
        ("tcp window=8", small),
        ("tcp mtu=1500", long),
        ("tcp two", two),
    ];
    scenarios.into_iter().map(|(label, mut scenario)| {
        scenario.duration_s = 300.0;
        (label.to_owned(), scenario)
    })
}

/// Each transport at each level of interference.
fn by_level(duration_s: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for level in LEVELS {
        let sources = vec![(Source::WifiBursts, -80.0); level.into()];
        let heard = |mut scenario: Scenario| {
            scenario.duration_s = duration_s;
            heard_by(scenario, WHO, &sources)
        };
        let mut pip = tmotes(HOPS);
        pip.flows = vec![Flow::new(0.0, FlowKind::Pip(file(BY_PIP)))];
        let mut scenarios = vec![("pip".to_owned(), "PIP", pip)];
        for (setting, set) in SETTINGS {
            let mut snack = set(tmotes(HOPS));
            snack.flows =
                vec![Flow::new(1.0, FlowKind::Snack { file: file(LONG), payload_bytes: 1_200 })];
            scenarios.push((format!("snack {setting}"), "Snack", snack));
            scenarios.push((format!("tcp {setting}"), "TCP", set(tunnel())));
        }
        scenarios.push(("tcp nrf52840".to_owned(), "TCP", with_linux(today(HOPS))));
        for (name, series, scenario) in scenarios {
            let mut scenario = heard(scenario);
            let by_tcp = series == "TCP";
            if by_tcp {
                // The connection begins before the interference.
                for source in &mut scenario.interference {
                    source.from_s = 30.0;
                }
            }
            let metrics = if by_tcp { OF_TCP } else { METRICS };
            let label = format!("{name} sources={level}");
            points.push(point(label, series, level.into(), scenario, metrics));
        }
    }
    points
}

fn refine(rows: &mut Rows) {
    rows.paper("pip sources=0", "goodput", 73.0);
    rows.paper("tcp paper sources=0", "goodput", 16.0);
    for level in LEVELS {
        rows.paper(&format!("tcp paper sources={level}"), "energy_3", 16.0);
    }
    rows.paper("pip sources=0", "energy_3", 13.0);
    rows.paper("pip sources=2", "energy_3", 99.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |name: &str| {
        let points = LEVELS.map(|level| (level.into(), format!("{name} sources={level}")));
        (name.to_owned(), points.to_vec())
    };
    let curves = || ["pip", "snack paper", "snack ours", "tcp paper", "tcp ours"].map(curve);
    let x_label = "Wi-Fi transfers at the sixth node";
    let radio = ("Radio on or starting, third node", x_label, "%");
    let energy = ("Energy of the third node for a kilobyte", x_label, "mJ/kB");
    vec![
        measured(&rows, "goodput", ("Goodput over ten hops", x_label, "kb/s"), curves()),
        measured(&rows, "radio_3", radio, curves()),
        measured(&rows, "energy_3", energy, curves()),
    ]
}
