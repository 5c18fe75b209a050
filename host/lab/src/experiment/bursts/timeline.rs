//! TCP over ten hops of sleeping nodes, before, during and after interference (Fig. 15).

use super::{as_paper, point, tmotes};
use kinglet_peers::Stack;
use kinglet_scenario::{Buffer, Flash, Flow, HostTcp, Mss, Scenario, Source, Tcp, Wire};
use kinglet_sweep::chart::{Figure, Lines, Series, Style};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Metric, OfBursts};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-timeline",
    title: "TCP over ten hops, and interference",
    source: "Duquennoy et al., Fig. 15, §7",
    question: "How does Linux's TCP behave over ten duty-cycled hops while one of them loses four \
               frames of five for four minutes, and which nodes pay for it?",
    method: "Ten hops, Linux's TCP at both ends with windows of 50 segments of 1208 octets, behind \
             the last node a serial line of 115.2 kb/s. The sixth node hears two Wi-Fi transfers \
             from 60 to 300 of 500 s. With the paper's settings and its queue of 64 frames, with \
             ours and 256 frames, up and down, and with the interferers at other nodes.",
    threats: &[
        "Linux's TCP is the lab's model of it (IW10, CUBIC), and not the kernel.",
        "The serial line takes time at the receiver's end only. At the sender's end the computer \
         waits while its mote has no room.",
    ],
    main: "ours",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::Before),
    Metric::OfBursts(OfBursts::During),
    Metric::OfBursts(OfBursts::After),
    Metric::OfBursts(OfBursts::RetransmittedDuring),
    Metric::OfBursts(OfBursts::RadioDuring(3)),
    Metric::OfBursts(OfBursts::RadioDuring(5)),
    Metric::OfBursts(OfBursts::RadioDuring(6)),
    Metric::OfBursts(OfBursts::RadioDuring(7)),
    Metric::OfBursts(OfBursts::RadioDuring(9)),
    Metric::OfBursts(OfBursts::QueueDuring(5)),
    Metric::OfBursts(OfBursts::QueueDuring(6)),
];

/// Hops of the path.
pub(super) const HOPS: u32 = 10;

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

fn plan(_: Effort) -> Vec<Point> {
    let short = |scenario| Scenario { flash: Flash::QuarterOfM25p80, ..scenario };
    let both = [("paper", short(as_paper(disturbed(6)))), ("ours", disturbed(6))];
    let points = both.map(|(name, scenario)| point(name.to_owned(), name, 0.0, scenario, METRICS));
    let beside = [
        ("paper queue=256", as_paper(disturbed(6))),
        ("ours queue=64", short(disturbed(6))),
        ("down", down(disturbed(6))),
        ("at=3", disturbed(3)),
        ("at=8", disturbed(8)),
    ];
    let named = beside.map(|(label, scenario)| (label.to_owned(), scenario));
    points.into_iter().chain(super::beside(named, METRICS)).collect()
}

/// The tunnel with two Wi-Fi transfers in range of one node for some time.
fn disturbed(node: u32) -> Scenario {
    disturb(tunnel(), node)
}

/// Sends the stream from the near end to the far one.
pub(super) fn down(mut scenario: Scenario) -> Scenario {
    scenario.flows = vec![Flow::bulk(scenario.host(), scenario.host() - 1)];
    scenario
}

/// Puts two Wi-Fi transfers in range of a node for some time.
pub(super) fn disturb(scenario: Scenario, node: u32) -> Scenario {
    let mut scenario = super::heard_by(scenario, node, &[(Source::WifiBursts, -80.0); 2]);
    scenario.duration_s = 500.0;
    for source in &mut scenario.interference {
        (source.from_s, source.until_s) = (60.0, Some(300.0));
    }
    scenario
}

fn refine(rows: &mut Rows) {
    rows.paper("paper", "before", 1_488.0);
    rows.paper("paper", "during", 151.0);
    rows.paper("paper", "after", 1_488.0);
    rows.paper("paper", "retransmitted", 8.0);
    rows.paper("paper", "radio_6_during", 21.0);
    rows.paper("paper", "radio_3_during", 4.0);
}

/// Course of the first seed's run of each setting.
fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let of = |label: &str| {
        let (_, run) = result.samples.iter().find(|(point, _)| point.label == label)?;
        let rate = |pair: &[kinglet_network::run::Sample]| {
            let octets = pair[1].bytes.first()? - pair[0].bytes.first()?;
            Some((pair[1].at_s, octets as f64 / (pair[1].at_s - pair[0].at_s), None))
        };
        // One point every ten seconds.
        let every: Vec<_> = run.samples.iter().step_by(10).cloned().collect();
        Some(Series {
            name: label.to_owned(),
            style: Style::Measured,
            points: every.windows(2).filter_map(rate).collect(),
        })
    };
    let series: Vec<_> = ["paper", "ours"].into_iter().filter_map(of).collect();
    let empty = series.iter().all(|series| series.points.is_empty());
    let figure = Figure::Lines(Lines {
        title: "Octets that arrive, interference from 60 to 300 s".to_owned(),
        x_label: "s".to_owned(),
        y_label: "B/s".to_owned(),
        series,
    });
    if empty { Vec::new() } else { vec![figure] }
}
