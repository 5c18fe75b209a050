//! Power of each part of every relay before, during and after interference (Fig. 16).

use super::timeline::{HOPS, disturb, down, tunnel, with_linux};
use super::{SETTINGS, Set, point, today};
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Drawn, Metric, OfBursts, RELAYS};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-power",
    title: "Power of relays by component",
    source: "Duquennoy et al., Fig. 16, §7.1",
    question: "How much power do CPU, receiver, transmitter and flash of every relay draw while \
               interference reaches one of them, and before and after?",
    method: "The ten hops of bf-timeline, with TCP towards lower node numbers as in the paper: \
             node 5 sends to node 6, which receives two Wi-Fi transfers from 60 to 300 of 500 s. \
             The mean power of each part of every relay from 20 to 60 s, from 60 to 300 and from \
             320 to 500. With the paper's settings, ours, and on a radio of today.",
    threats: &[
        "Linux's TCP is the lab's model of it (IW10, CUBIC), and not the kernel.",
        "The time that a Tmote computes for a frame, 1.6 ms, is the rest of the paper's 3.0 ms \
         between frames. Computation for a wake-up without traffic is not included.",
        "The current of a sleeping nRF52840 and its CPU is not known here and counted as zero.",
        "A CC2420 that is off is in its idle mode, at 0.43 mA. That is most of the current at \
         rest; the paper's energy does not contain it.",
    ],
    main: "paper",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &{
    let mut all = [Metric::OfBursts(OfBursts::Before); 3 + Drawn::COUNT];
    all[1] = Metric::OfBursts(OfBursts::During);
    all[2] = Metric::OfBursts(OfBursts::After);
    let mut index = 0;
    while index < Drawn::COUNT {
        all[3 + index] = Metric::OfBursts(OfBursts::Drawn(Drawn::number(index)));
        index += 1;
    }
    all
};
/// Node in range of the interference.
const WHO: u32 = 6;
/// Label of the current radio.
const TODAY: &str = "nrf52840";
/// Parts of the power, in the order in which they are stacked.
const PARTS: [&str; 5] = ["rest", "CPU", "receive", "transmit", "flash"];

fn plan(effort: Effort) -> Vec<Point> {
    let of = |(setting, set): (&'static str, Set)| {
        let scenario = set(down(disturb(tunnel(), WHO)));
        point(setting.to_owned(), setting, 0.0, scenario, METRICS)
    };
    let mut points: Vec<Point> = SETTINGS.into_iter().map(of).collect();
    if effort == Effort::Quick {
        // Claims concern the first point.
        points.truncate(1);
        return points;
    }
    let scenario = down(disturb(with_linux(today(HOPS)), WHO));
    points.push(point(TODAY.to_owned(), TODAY, 0.0, scenario, METRICS));
    points
}

/// Gives every relay a label of its own.
fn refine(rows: &mut Rows) {
    for row in &mut rows.all {
        let Some((metric, node)) = row.metric.split_once('@') else { continue };
        row.label = format!("{} node={node}", row.label);
        row.x = node.parse().unwrap_or_default();
        row.metric = metric.to_owned();
    }
    for node in RELAYS {
        let share = match node {
            6 => 21.0,
            // The paper has no figure for the node before the disturbed one and the node after it.
            5 | 7 => continue,
            _ => 4.0,
        };
        rows.paper(&format!("paper node={node}"), "radio_during", share);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let of = |(setting, when, title): (&str, &str, &str)| {
        let bar = |node: u8| {
            let label = format!("{setting} node={node}");
            let part = |part: &str| {
                rows.mean(&label, &format!("{}_{when}", part.to_lowercase())).unwrap_or(0.0)
            };
            (format!("node {node}"), PARTS.map(part).into())
        };
        Figure::Bars(Bars {
            title: title.to_owned(),
            unit: "mW".to_owned(),
            parts: PARTS.map(str::to_owned).into(),
            bars: RELAYS.map(bar).into(),
            marks: Vec::new(),
        })
    };
    let shown = [
        ("paper", "before", "Before interference, the paper's settings"),
        ("paper", "during", "While node 6 hears interference, the paper's settings"),
        ("paper", "after", "After it, the paper's settings"),
        ("ours", "during", "While node 6 hears interference, our settings"),
        (TODAY, "during", "While node 6 hears interference, a radio of today"),
    ];
    let measured = |(setting, ..): &(&str, &str, &str)| {
        rows.get(&format!("{setting} node=1"), "rest_before").is_some()
    };
    shown.into_iter().filter(measured).map(of).collect()
}
