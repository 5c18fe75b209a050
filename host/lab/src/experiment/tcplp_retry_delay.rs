//! Fig. 5: a random delay between link retries against hidden terminals.

use super::tcplp_model::equation_1;
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, Timeline, curves, overlay};
use crate::layout::one_hop_bound;
use crate::scenario::{Link, Overlap, Propagation, Scenario};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-retry-delay",
    title: "Delay between link retries",
    source: "TCPlp Fig. 5a–d, §7.1",
    question: "Does waiting a random time between 0 and d before each link retry remove the losses \
               that hidden terminals cause, and at what price?",
    method: "Bulk transfer over one and over three hops, d from 0 to 100 ms, five-frame segments, \
             buffers of four segments. Equation 1 is computed from each point's measured \
             round-trip time and segment loss. Control: the same three hops with everyone's \
             carrier sense hearing everyone, so that nobody is hidden. Overlap model: sinr-ber; \
             for sensitivity strict and capture, and links whose strengths differ by 1 or 4 dB \
             from hop to hop. Beside the paper: d that adapts, from 0 to 40 ms, over the same \
             lines and over one hop that loses a tenth of all frames.",
    threats: &[
        "In the line every node hears exactly its neighbours; the testbed's links were not so \
         sharp.",
        "How overlapping frames fare decides how much hidden terminals cost: compare the models. \
         On a unit disc all signals are equally strong, so capture is the same as strict, and \
         under sinr-ber most frames survive an overlap; a decibel more or less changes that.",
        "The control changes carrier sense only; nodes that draw the same backoff still collide.",
    ],
    main: "d_ms=40",
    plan,
    refine,
    figures,
};

/// TCPlp's axis runs to about 100 ms; 5, 30 and 40 ms are named in its text.
pub(super) const DELAYS_MS: [u32; 9] = [0, 5, 10, 20, 30, 40, 60, 80, 100];

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::SegmentLoss,
    Metric::Rtt,
    Metric::Frames,
    Metric::FramesPerKb,
    Metric::Mss,
];

/// What overlapping frames do unless a series says otherwise.
const MAIN: Overlap = Overlap::SinrBer;
/// Series, label suffix, hops, hidden terminals, overlap model.
const SERIES: [(&str, &str, u32, bool, Overlap); 4] = [
    ("3 hops", "", 3, true, MAIN),
    ("1 hop", " hops=1", 1, true, MAIN),
    ("3 hops, nobody hidden", " control=no-hidden-terminals", 3, false, MAIN),
    ("3 hops, strict", " overlap=strict", 3, true, Overlap::Strict),
];
/// Sensitivity to signal strength: each link weaker by so many dB than the one before it, counted
/// from the receiver's end. At +1 dB a relay hears its predecessor 1 dB below the hidden node.
const SLOPES_DB: [i8; 4] = [-4, -1, 1, 4];
const SLOPES: &str = "3 hops, unequal links";
const ADAPTIVE: &str = "d adapts";
/// Frames that are lost in the control with noise, of all.
const NOISE: f64 = 0.1;
/// Signal strength of the link at the receiver's end, dBm; far above the noise.
const RSSI_DBM: f64 = -60.0;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, suffix, hops, hidden, overlap) in SERIES {
        for d in DELAYS_MS {
            let mut scenario = line_scenario(effort, hops, d);
            scenario.medium.hidden_terminals = hidden;
            scenario.medium.overlap = overlap;
            let shown = suffix.is_empty() && (d == 0 || d == 40);
            points.push(Point {
                timeline_s: shown.then_some((20.0, 20.4)),
                ..point(format!("d_ms={d}{suffix}"), series, d, scenario)
            });
        }
    }
    for d in [0, 40] {
        let mut scenario = line_scenario(effort, 3, d);
        scenario.medium.overlap = Overlap::Capture;
        points.push(point(format!("d_ms={d} overlap=capture"), "3 hops, capture", d, scenario));
        for slope in SLOPES_DB {
            let mut scenario = line_scenario(effort, 3, d);
            let links = (0..3).map(|link| link_of(link, slope)).collect();
            scenario.medium.propagation = Propagation::LinkMatrix { links };
            points.push(point(format!("d_ms={d} slope_db={slope}"), SLOPES, d, scenario));
        }
    }
    points.extend(adaptive(effort));
    points
}

/// What Kinglet does by itself: d from 0 to the paper's 40 ms, as repetitions fail or not.
fn adaptive(effort: Effort) -> Vec<Point> {
    let point = |suffix: &str, hops, change: fn(&mut Scenario)| {
        let mut scenario = line_scenario(effort, hops, 40);
        scenario.mac.adaptive_retry_delay = true;
        change(&mut scenario);
        point(format!("d=adaptive{suffix}"), ADAPTIVE, 40, scenario)
    };
    let noisy = |d| {
        let mut scenario = line_scenario(effort, 1, d);
        scenario.medium.frame_loss = NOISE;
        self::point(format!("d_ms={d} hops=1 frame_loss=0.1"), "1 hop, noise", d, scenario)
    };
    vec![
        point("", 3, |_| ()),
        point(" hops=1", 1, |_| ()),
        point(" overlap=strict", 3, |scenario| scenario.medium.overlap = Overlap::Strict),
        point(" hops=1 frame_loss=0.1", 1, |scenario| scenario.medium.frame_loss = NOISE),
        noisy(0),
        noisy(40),
    ]
}

fn point(label: String, series: &'static str, d: u32, scenario: Scenario) -> Point {
    Point { label, series, x: f64::from(d), scenario, metrics: METRICS, timeline_s: None }
}

fn link_of(from: u32, slope_db: i8) -> Link {
    let rssi_dbm = RSSI_DBM - f64::from(slope_db) * f64::from(from);
    Link { from, to: from + 1, loss: 0.0, rssi_dbm, symmetric: true }
}

fn refine(rows: &mut Rows) {
    let best = one_hop_bound().kbps;
    // The paper draws B/3 with B its ideal one-hop goodput (§7.2).
    rows.bound("goodput", |r| Some(if r.label.contains("hops=1") { best } else { best / 3.0 }));
    for (series, suffix, ..) in SERIES {
        for d in DELAYS_MS {
            let label = format!("d_ms={d}{suffix}");
            let at = |metric: &str| rows.mean(&label, metric);
            let inputs = (at("mss"), at("rtt"), at("segment_loss"));
            if let (Some(mss), Some(rtt), Some(loss)) = inputs {
                let kbps = equation_1(mss, rtt, loss / 100.0, 4.0);
                rows.compute(&label, series, f64::from(d), ("goodput_eq1", "kb/s"), kbps);
            }
        }
    }
    rows.paper("d_ms=0 hops=1", "goodput", 75.0);
    rows.paper("d_ms=40 hops=1", "goodput", 64.1);
    rows.paper("d_ms=40", "goodput", 19.5);
    rows.paper("d_ms=0", "segment_loss", 6.0);
    rows.paper("d_ms=30", "segment_loss", 1.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "largest retry delay d, ms";
    let mut figures = Vec::new();
    let main = |r: &&super::Row| r.series == "3 hops" || r.series == "1 hop";
    let shown: Vec<_> = result.rows.iter().filter(main).cloned().collect();
    if let Some(mut goodput) = curves(&shown, "goodput", "Goodput, and Equation 1", x) {
        overlay(&mut goodput, &shown, "goodput_eq1", "Eq. 1");
        figures.push(goodput);
    }
    let three = |r: &&super::Row| r.series != "1 hop" && SERIES.iter().any(|s| s.0 == r.series);
    let three: Vec<_> = result.rows.iter().filter(three).cloned().collect();
    figures.extend(curves(&three, "segment_loss", "Segments lost in spite of link retries", x));
    figures.extend(curves(&shown, "rtt", "Round-trip time of segments", x));
    figures.extend(curves(&three, "frames_per_kb", "Frames on the air per kilobyte delivered", x));
    figures.extend(curves(&three, "goodput", "Goodput over three hops by overlap model", x));
    for (point, run) in result.samples.iter().filter(|(_, run)| !run.timeline.is_empty()) {
        let Some((from, to)) = point.timeline_s else { continue };
        figures.push(Figure::Timeline(Timeline {
            title: format!("Radios over three hops, d = {} ms", point.x),
            nodes: point.scenario.nodes.len(),
            activity: run.timeline.clone(),
            range_us: ((from * 1e6) as u64, (to * 1e6) as u64),
        }));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};

    #[test]
    fn over_one_hop_nothing_is_lost_whenever_the_run_ends() {
        for seed in 1..=8 {
            let mut scenario = line_scenario(Effort::Quick, 1, 40);
            scenario.duration_s = 5.0 + seed as f64 * 0.13;
            let run = run(&scenario, seed, &Options::default()).expect("a plain scenario");
            let flow = &run.flows[0];
            assert!(flow.segments_sent > 80, "{flow:?}");
            assert_eq!((flow.segments_sent, flow.segment_loss), (flow.segments_received, 0.0));
        }
    }

    #[test]
    fn on_a_unit_disc_capture_is_strict() {
        let loss = |overlap| {
            let mut scenario = line_scenario(Effort::Quick, 3, 0);
            scenario.duration_s = 20.0;
            scenario.medium.overlap = overlap;
            let run = run(&scenario, 1, &Options::default()).expect("a plain scenario");
            (run.events, run.flows[0].bytes, run.flows[0].segments_sent)
        };
        assert_eq!(loss(Overlap::Capture), loss(Overlap::Strict));
        assert_ne!(loss(Overlap::SinrBer), loss(Overlap::Strict));
    }
}
