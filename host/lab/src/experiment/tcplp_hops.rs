//! §7.2: goodput by number of hops.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::layout::one_hop_bound;
use crate::radio;
use crate::scenario::{Buffer, Cca, MAC, Overlap, Propagation, RadioProfile};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-hops",
    title: "Goodput by number of hops",
    source: "TCPlp §7.2",
    question: "Does goodput follow B/min(h, 3), as it must when any three hops in a row share the \
               channel, and does the same small buffer do for all of them?",
    method: "Bulk transfer over 1 to 4 hops with d = 40 ms, five-frame segments, buffers of four \
             segments. Bound: our own goodput over one hop, divided by min(h, 3). Overlap model: \
             sinr-ber, and for sensitivity strict. Control: nobody is hidden, so all h hops share \
             the channel. Again over three hops with twice the buffers; and with links of -85 dBm, \
             which the radio's carrier sense, by energy from -80 dBm on, does not notice, and with \
             carrier sense that does.",
    threats: &[
        "Beyond two hops nobody is disturbed here; in the testbed some were, which the paper \
         gives as the reason for its drop at four hops.",
        "The paper's B is measured on hardware with a processor that takes its time.",
        "B contains pauses (spacing, backoff, retry delays, loading) in which the channel is idle; \
         over several hops other nodes use that time, so that B/min(h, 3) is not a strict bound. B \
         without pauses is.",
        "On a unit disc all signals are equally strong, so capture would be the same as strict, \
         and under sinr-ber none of two overlapping frames survives either, unless little of it is \
         disturbed.",
    ],
    main: "hops=3",
    plan,
    refine,
    figures,
};

/// Hops and the paper's goodput in kb/s.
const PAPER: [(u32, f64); 4] = [(1, 64.1), (2, 28.3), (3, 19.5), (4, 17.5)];
const METRICS: &[Metric] =
    &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::FramesPerKb];
/// Series, label suffix, model, hidden terminals.
const MODELS: [(&str, &str, Overlap, bool); 3] = [
    ("measured", "", Overlap::SinrBer, true),
    ("strict", " overlap=strict", Overlap::Strict, true),
    (CONTROL, " control=no-hidden-terminals", Overlap::SinrBer, false),
];
const CONTROL: &str = "nobody hidden";
/// Links that are weaker than the radio's threshold of energy, and strong enough for anything else,
/// in dBm.
const WEAK_DBM: f64 = -85.0;
/// With them: series, label suffix, what makes the channel busy.
const WEAK: [(&str, &str, Cca); 2] = [
    ("weak links, energy", " rssi_dbm=-85", Cca::Energy),
    ("weak links, carrier", " rssi_dbm=-85 cca=carrier", Cca::Carrier),
];

/// How many hops share the channel: three in a row, or all if everyone senses everyone.
fn sharing(series: &str, hops: f64) -> f64 {
    if series == CONTROL { hops } else { hops.min(3.0) }
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, suffix, overlap, hidden) in MODELS {
        for (hops, _) in PAPER {
            let mut scenario = line_scenario(effort, hops, 40);
            scenario.medium.overlap = overlap;
            scenario.medium.hidden_terminals = hidden;
            points.push(Point {
                label: format!("hops={hops}{suffix}"),
                series,
                x: f64::from(hops),
                scenario,
                metrics: METRICS,
                timeline_s: (hops == 4 && suffix.is_empty()).then_some((20.0, 20.4)),
            });
        }
    }
    for (series, suffix, cca) in WEAK {
        for (hops, _) in PAPER {
            let mut scenario = line_scenario(effort, hops, 40);
            scenario.medium.propagation = Propagation::UnitDisc {
                range_m: 10.0,
                interference_range_m: 10.0,
                rssi_dbm: WEAK_DBM,
            };
            scenario.radio.cca = cca;
            points.push(Point {
                label: format!("hops={hops}{suffix}"),
                series,
                x: f64::from(hops),
                scenario,
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    let mut scenario = line_scenario(effort, 3, 40);
    scenario.tcp.send_buffer = Buffer::Segments(8);
    scenario.tcp.receive_buffer = Buffer::Segments(8);
    points.push(Point {
        label: "hops=3 buffer_segments=8".to_owned(),
        series: "twice the buffer",
        x: 3.0,
        scenario,
        metrics: METRICS,
        timeline_s: None,
    });
    points
}

fn refine(rows: &mut Rows) {
    let whole = one_hop_bound();
    let parts = radio::parts(RadioProfile::At86rf233, 127, MAC.csma_params.min_be);
    // All of this others can use: nothing of it is on the air.
    let pauses = parts.backoff + parts.spacing + parts.load + parts.state_change;
    let channel = whole.kbps_with_extra_us(-(pauses.as_micros() as f64));
    rows.compute("hops=1 no-pauses", "channel", 1.0, ("bound", "kb/s"), channel);
    let weak = WEAK.map(|(series, suffix, _)| (series, suffix));
    for (series, suffix) in MODELS.map(|model| (model.0, model.1)).into_iter().chain(weak) {
        let Some(one) = rows.mean(&format!("hops=1{suffix}"), "goodput") else { continue };
        for (hops, _) in PAPER {
            let (label, x) = (format!("hops={hops}{suffix}"), f64::from(hops));
            let best = one / sharing(series, x);
            let row = rows.0.iter_mut().find(|r| r.label == label && r.metric == "goodput");
            let Some(row) = row else { continue };
            row.bound = Some(best);
            let share = row.mean / best * 100.0;
            rows.compute(&label, series, x, ("share_of_bound", "%"), share);
        }
    }
    for (hops, kbps) in PAPER {
        let label = format!("hops={hops}");
        rows.paper(&label, "goodput", kbps);
        let share = kbps / (PAPER[0].1 / f64::from(hops.min(3))) * 100.0;
        rows.paper(&label, "share_of_bound", share);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let main: Vec<_> = result.rows.iter().filter(|r| r.series == "measured").cloned().collect();
    let x = "hops";
    let title = "Goodput against B/min(h, 3)";
    let goodput = curves(&main, "goodput", title, x);
    let models = curves(&result.rows, "goodput", "The same strictly, and with nobody hidden", x);
    let rtt = curves(&main, "rtt", "Round-trip time of segments", x);
    [goodput, rtt, models].into_iter().flatten().collect()
}
