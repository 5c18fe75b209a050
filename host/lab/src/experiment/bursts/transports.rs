//! PIP, Snack and TCP by how much is lost (Fig. 17 to 19).

use super::{OfBursts, SETTINGS, heard_by, point, tmotes, today};
use crate::chart::{Figure, Lines, Series, Style};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Buffer, File, Flow, FlowKind, HostTcp, Mss, Scenario, Source, Tcp, Wire};
use kinglet_peers::Stack;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-transports",
    title: "PIP, Snack and TCP",
    source: "Duquennoy et al., Fig. 1 and 17 to 19, §7.2 and §7.3",
    question: "Which transport carries how much over ten hops, at which radio time and energy of a \
               relay, by how much interference one node hears?",
    method: "Ten hops, of which the sixth node hears none to three Wi-Fi transfers: 0, 58, 82 and \
             92 % of full frames are lost there. A file by PIP, whose radios are always on; a file \
             by Snack and a stream by Linux's TCP over nodes that sleep, with the paper's settings \
             and ours. 600 s, or as long as PIP needs for 500 kB. Radio and energy are those of \
             the third node, before the interference.",
    threats: &[
        "Levels of interference are numbers of interferers and not strengths of one, as loss \
         hardly depends on the strength of our models.",
        "PIP's CPU takes neither time nor energy here.",
        "The serial line of the paper's tunnel is at the receiver's end of TCP only.",
    ],
    main: "tcp ours sources=0",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::OfBursts(OfBursts::RadioOf(3)),
    Metric::OfBursts(OfBursts::EnergyPerKbOf(3)),
];
const HOPS: u32 = 10;
/// Who hears interference.
const WHO: u32 = 6;
/// Wi-Fi transfers that it hears.
pub(crate) const LEVELS: [u8; 4] = [0, 1, 2, 3];
/// More than Snack carries in the time: it goes on to the end.
const LONG: u32 = 4_000_000;
const BY_PIP: u32 = 500_000;

/// Linux's TCP over ten hops, from the far end to a host behind node 0.
pub(super) fn tunnel() -> Scenario {
    with_linux(tmotes(HOPS))
}

fn with_linux(mut scenario: Scenario) -> Scenario {
    scenario.tcp = Tcp {
        stack: Some(Stack::Linux),
        // With timestamps and the longest headers that is IPv6's minimum MTU.
        mss: Mss::Bytes(1_208),
        send_buffer: Buffer::Segments(50),
        receive_buffer: Buffer::Segments(50),
        ..Tcp::default()
    };
    let (host, rate_kbps) = (HostTcp::Linux, Some(115.2));
    scenario.wire = Some(Wire { host, rate_kbps, ..Wire::PERFECT });
    scenario.flows = vec![Flow::bulk(HOPS, scenario.host())];
    scenario
}

fn file(bytes: u32) -> File {
    File { from: 0, to: HOPS, bytes, payload_bytes: 1_200 }
}

fn plan(_: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for level in LEVELS {
        let sources = vec![(Source::WifiBursts, -80.0); level.into()];
        let heard = |mut scenario: Scenario| {
            scenario.duration_s = 600.0;
            heard_by(scenario, WHO, &sources)
        };
        let mut pip = tmotes(HOPS);
        pip.flows = vec![Flow::new(0.0, FlowKind::Pip(file(BY_PIP)))];
        let mut scenarios = vec![("pip".to_owned(), "PIP", pip)];
        for (setting, set) in SETTINGS {
            let mut snack = set(tmotes(HOPS));
            snack.flows = vec![Flow::new(1.0, FlowKind::Snack(file(LONG)))];
            scenarios.push((format!("snack {setting}"), "Snack", snack));
            scenarios.push((format!("tcp {setting}"), "TCP", set(tunnel())));
        }
        scenarios.push(("tcp nrf52840".to_owned(), "TCP", with_linux(today(HOPS))));
        for (name, series, scenario) in scenarios {
            let mut scenario = heard(scenario);
            if name.starts_with("tcp") {
                // Its connection begins before.
                for source in &mut scenario.interference {
                    source.from_s = 30.0;
                }
            }
            let label = format!("{name} sources={level}");
            points.push(point(label, series, level.into(), scenario, METRICS));
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
    let names = ["pip", "snack paper", "snack ours", "tcp paper", "tcp ours"];
    let of = |metric: &'static str, y_label: &str, title: &str| {
        let curve = |name: &str| {
            let at = |level: u8| {
                let row = rows.get(&format!("{name} sources={level}"), metric)?;
                Some((f64::from(level), row.mean, row.ci95))
            };
            let points = LEVELS.into_iter().filter_map(at).collect();
            Series { name: name.to_owned(), style: Style::Measured, points }
        };
        Figure::Lines(Lines {
            title: title.to_owned(),
            x_label: "Wi-Fi transfers at the sixth node".to_owned(),
            y_label: y_label.to_owned(),
            series: names.map(curve).to_vec(),
        })
    };
    vec![
        of("goodput", "kb/s", "Goodput over ten hops"),
        of("radio_3", "%", "Radio on or starting, third node"),
        of("energy_3", "mJ/kB", "Energy of the third node for a kilobyte"),
    ]
}
