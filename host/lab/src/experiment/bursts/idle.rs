//! Cost of being reachable when all nodes sleep, with no traffic and with next to none.

use super::{OfBursts, measured, point, tmotes, today};
use crate::chart::Figure;
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Flow, FlowKind, Interferer, Overlap, Scenario, Source};
use kinglet::time::Duration;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "bf-idle",
    title: "What waking costs",
    source: "Duquennoy et al., §3.1.1",
    question: "For which share of the time is the radio of a node on that wakes several times a \
               second and finds nothing?",
    method: "Five nodes on a line that wake 2 to 32 times a second, without traffic; with a \
             datagram every minute over four hops; and with a Wi-Fi transfer that one of them \
             hears. On the paper's hardware and on a radio of today. The start of a radio counts \
             as on.",
    threats: &[
        "Contiki's samples are 0.19 ms each and the radio stays on between a busy one and the \
         first look; any further time of its driver is not known.",
        "The CC2420's off is its idle mode, in which it draws 0.43 mA: no duty cycle contains \
         that, and the paper's energy does not either.",
    ],
    main: "cc2420 rate=8 sparse",
    plan,
    refine: |_| {},
    figures,
};

const METRICS: &[Metric] =
    &[Metric::OfBursts(OfBursts::RadioWorst), Metric::OfBursts(OfBursts::Radio)];
const HOPS: u32 = 4;
/// Wake-ups per second.
pub(crate) const RATES: [u32; 5] = [2, 4, 8, 16, 32];

/// A line with this number of hops and one radio.
type OnLine = fn(u32) -> Scenario;
/// Radios and their names in labels.
const RADIOS: [(&str, OnLine); 2] = [("cc2420", tmotes), ("nrf52840", today)];

fn plan(_: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (radio, base) in RADIOS {
        for rate in RATES {
            let mut scenario = base(HOPS);
            // Long enough to make the initial search for neighbours negligible.
            scenario.duration_s = 1_800.0;
            if let Some(wake) = &mut scenario.wake {
                wake.settings.period = Duration::from_micros(1_000_000 / u64::from(rate));
            }
            let mut sparse = scenario.clone();
            let kind = FlowKind::datagrams(HOPS, 0, 60_000, 80);
            sparse.flows = vec![Flow::new(1.0, kind)];
            let mut noisy = scenario.clone();
            noisy.medium.overlap = Overlap::SinrBer;
            noisy.interference = vec![Interferer::heard_by(2, Source::WifiFile, -76.0)];
            for (kind, scenario) in [("", scenario), (" sparse", sparse), (" noisy", noisy)] {
                let label = format!("{radio} rate={rate}{kind}");
                points.push(point(label, radio, rate.into(), scenario, METRICS));
            }
        }
    }
    points
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let curve = |radio: &str, kind: &str| {
        let around = if kind.is_empty() { "quiet" } else { "Wi-Fi near" };
        let points = RATES.map(|rate| (f64::from(rate), format!("{radio} rate={rate}{kind}")));
        (format!("{radio}, {around}"), points.to_vec())
    };
    let curves = RADIOS.iter().flat_map(|(radio, _)| ["", " noisy"].map(|kind| curve(radio, kind)));
    let y_label = "radio on or starting, worst node, %";
    let labels = ("Radio time of nodes without traffic", "wake-ups a second", y_label);
    vec![measured(&rows, "radio_worst", labels, curves)]
}
