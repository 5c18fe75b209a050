//! Large datagrams when most frames are lost (Fig. 9).

use super::{OfBursts, as_paper, heard_by, measured, point, tmotes};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Datagrams, Flow, FlowKind, Pace, Scenario, Source};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-fragmentation",
    title: "Fragments under interference",
    source: "Duquennoy et al., Fig. 9, §6.3",
    question: "Which share of datagrams of one to fifteen fragments arrives over four hops if one \
               relay loses four frames of five, by how often a frame is tried?",
    method: "Datagrams at the highest rate over four hops, the second relay near two Wi-Fi \
             transfers. Varied: octets in a datagram, and strobes of a frame before it is given \
             up. The paper's bursts of 2 s, and four transmissions in each strobe.",
    threats: &[
        "The paper's largest IP payload of 1512 octets fills 16 frames, here 15: headers are \
         compressed, and addresses short.",
        "Loss comes of two models of Wi-Fi transfers, 82 % of full frames; the paper's generator \
         had 81 %.",
    ],
    main: "payload=1504 attempts=all",
    plan,
    refine: |_| {},
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::Arrived),
    Metric::OfBursts(OfBursts::Throughput),
    Metric::OfBursts(OfBursts::Delay),
];
const HOPS: u32 = 4;
/// Octets of UDP payload: one, four, eight and fifteen fragments.
const PAYLOADS: [u16; 4] = [76, 360, 744, 1_504];
/// Octets of the longest packet: the paper's IP payload of 1512 is the UDP payload and header.
const MTU: u16 = 1_552;
/// Maximum strobes of a frame, with their names in labels; the last is unlimited.
const ATTEMPTS: [(&str, Option<u8>); 5] =
    [("1", Some(1)), ("2", Some(2)), ("4", Some(4)), ("8", Some(8)), ("all", None)];

fn label(payload: u16, attempts: &str) -> String {
    format!("payload={payload} attempts={attempts}")
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    let ends = [PAYLOADS[0], PAYLOADS[3]];
    for payload in PAYLOADS.into_iter().filter(|p| effort == Effort::Full || ends.contains(p)) {
        for (x, (attempts, most)) in (0..).zip(ATTEMPTS) {
            let scenario = transfer(payload, most);
            let series = match payload {
                76 => "76 octets",
                360 => "360 octets",
                744 => "744 octets",
                _ => "1504 octets",
            };
            points.push(point(label(payload, attempts), series, f64::from(x), scenario, METRICS));
        }
    }
    points
}

fn transfer(payload_bytes: u16, most: Option<u8>) -> Scenario {
    let mut scenario = as_paper(tmotes(HOPS));
    scenario.duration_s = 300.0;
    scenario.net.mtu = MTU;
    if let Some(wake) = &mut scenario.wake {
        wake.settings.max_attempts = most;
    }
    let (from, to, pace) = (0, HOPS, Pace::Bulk(None));
    let kind = FlowKind::Udp(Datagrams { from, to, payload_bytes, pace });
    scenario.flows = vec![Flow::new(1.0, kind)];
    heard_by(scenario, 2, &[(Source::WifiBursts, -80.0); 2])
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |payload: u16| {
        let at = |(x, (attempts, _)): (u32, (&str, _))| (f64::from(x), label(payload, attempts));
        (format!("{payload} octets"), (0..).zip(ATTEMPTS).map(at).collect())
    };
    let curves = || PAYLOADS.map(curve);
    let x_label = "strobes of a frame: 1, 2, 4, 8, all";
    vec![
        measured(&rows, "arrived", ("Datagrams that arrived", x_label, "%"), curves()),
        measured(&rows, "throughput", ("Payload that arrived", x_label, "kB/s"), curves()),
        measured(&rows, "delay", ("Delay", x_label, "s"), curves()),
    ]
}
