//! Gain from bursts and from separate channels, by the number of hops (Fig. 8).

use super::{OfBursts, SETTINGS, bulk, in_range, measured, point, tmotes};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Flash, Scenario, Wake};
use kinglet::time::Duration;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-mechanisms",
    title: "Gain of bursts and channels",
    source: "Duquennoy et al., Fig. 8, §6.2",
    question: "How much do bursts, several channels, and the queue in flash change throughput and \
               energy over two to eight hops?",
    method: "A transfer without end over two to eight hops, all nodes in range of each other; \
             without bursts, on one channel, and with the queue in memory. With the paper's bursts \
             of 2 s and with ours.",
    threats: &[
        "Nodes that are not neighbours disturb each other on one channel, but their frames cannot \
         be received. In the paper's room they could.",
        "Flash is always read and written while the radio works. This cannot be switched off, so \
         the paper's 32 % is not tested.",
    ],
    main: "hops=4 ours",
    plan,
    refine: |_| {},
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfBursts(OfBursts::OfFrames),
    Metric::OfBursts(OfBursts::EnergyPerKb),
    Metric::OfBursts(OfBursts::Radio),
];
/// Lengths of the path.
const HOPS: [u32; 4] = [2, 4, 6, 8];
/// Variants of the settings with all mechanisms.
const WITHOUT: [&str; 3] = ["without bursts", "one channel", "in memory"];

fn without(mut scenario: Scenario, what: &str) -> Scenario {
    match what {
        "in memory" => scenario.flash = Flash::None,
        "one channel" => {
            scenario.wake = scenario.wake.map(|wake| Wake { channels: 1, ..wake });
        }
        _ => {
            if let Some(wake) = &mut scenario.wake {
                wake.settings.burst = Duration::ZERO;
            }
        }
    }
    scenario
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for hops in HOPS.into_iter().filter(|hops| effort == Effort::Full || hops % 4 != 2) {
        let mut base = in_range(tmotes(hops));
        base.duration_s = 300.0;
        base.flows = vec![bulk(0, hops, 1.0, None)];
        let x = f64::from(hops);
        for (name, set) in SETTINGS {
            let label = format!("hops={hops} {name}");
            points.push(point(label, name, x, set(base.clone()), METRICS));
        }
        for what in WITHOUT {
            let label = format!("hops={hops} {what}");
            points.push(point(label, what, x, without(base.clone(), what), METRICS));
        }
    }
    points
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |name: &str| {
        let points = HOPS.map(|hops| (f64::from(hops), format!("hops={hops} {name}")));
        (name.to_owned(), points.to_vec())
    };
    let curves = || SETTINGS.map(|(name, _)| name).into_iter().chain(WITHOUT).map(curve);
    let throughput = ("Throughput, all nodes in range", "hops", "kB/s");
    let energy = ("Energy of a relay for a kilobyte", "hops", "mJ/kB");
    vec![
        measured(&rows, "throughput_of_frames", throughput, curves()),
        measured(&rows, "energy", energy, curves()),
    ]
}
