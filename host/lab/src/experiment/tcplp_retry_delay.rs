//! Fig. 5: random delay between link retries as a remedy for hidden terminals.

use super::models::{self, Model};
use super::{Effort, Experiment, ExperimentResult, Host, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, Timeline, curves, overlay};
use crate::layout::one_hop_bound;
use crate::scenario::{Buffer, Flow, HostTcp, Mss, Overlap, Propagation, Scenario, Wire};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-retry-delay",
    title: "Delay between link retries",
    source: "TCPlp Fig. 5a–d, §7.1",
    question: "Does waiting a random time between 0 and d before each link retry remove the losses \
               that hidden terminals cause, and at what price?",
    method: "Bulk transfer over one and over three hops, d from 0 to 100 ms, five-frame segments, \
             buffers of four segments. Equation 1 is computed from each point's measured \
             round-trip time and segment loss. Four models of the medium: sinr-ber, strict \
             overlap, the hidden node 1 dB stronger, interference over twice the range of \
             reception; in addition, capture, and links whose strengths differ by other amounts \
             from hop to hop. Control: the same three hops with carrier sense that detects all \
             nodes, so that none is hidden. Three costs of the host: none, that of this stack on \
             the Cortex-M0+, and the paper's 2 ms a frame. In addition to the paper's settings: \
             Kinglet's TCP (stack=kinglet); d that adapts, from 0 to 40 ms, over the same lines \
             and over one hop that loses a tenth of all frames. A window of many segments with \
             the paper's loss: over one hop and a wire of 250 ms in each direction, segments of \
             one frame, windows of 4 and of 48 of them, none or six per cent of packets lost on \
             the wire.",
    threats: &[
        "In the line every node receives exactly its neighbours; the testbed's links were not so \
         sharp.",
        "The cost of hidden terminals depends on the reception of overlapping frames: compare the \
         models. On a unit disc all signals are equally strong, so capture is the same as strict, \
         and under sinr-ber neither of two frames survives either, unless little of it is \
         disturbed.",
        "A window has many segments only with short segments and a long wire.",
        "The control changes carrier sense only; nodes that draw the same backoff still collide.",
    ],
    main: "d_ms=40",
    plan,
    refine,
    figures,
};

/// TCPlp's axis extends to about 100 ms; 5, 30 and 40 ms are mentioned in its text.
pub(super) const DELAYS_MS: [u32; 9] = [0, 5, 10, 20, 30, 40, 60, 80, 100];

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::SegmentLoss,
    Metric::Rtt,
    Metric::Frames,
    Metric::FramesPerKb,
    Metric::Mss,
];

const ONE_HOP: &str = " hops=1";
/// Label suffix of the control in which all nodes sense each other.
const CONTROL: &str = " control=no-hidden-terminals";
/// Delays with Kinglet's TCP.
const OWN_DELAYS_MS: [u32; 4] = [0, 5, 30, 40];
/// Delays for the cost of d over one hop.
const ONE_HOP_DELAYS_MS: [u32; 3] = [0, 40, 100];
/// Sensitivity to signal strength in addition to [`Model::Louder`]: each link is weaker by this
/// many dB than the previous one, counted from the receiver's end. Below zero, a relay receives its
/// predecessor stronger than the hidden node.
const SLOPES_DB: [i8; 3] = [-4, -1, 4];
const SLOPES: &str = "3 hops, unequal links";
const ADAPTIVE: &str = "d adapts";
/// Share of frames lost in the control with noise.
const NOISE: f64 = 0.1;
/// Windows in segments of one frame, and their loss on a wire.
const WINDOWS: [u16; 2] = [4, 48];
const LOSSES: [f64; 2] = [0.0, 0.06];
/// Delay of the wire in each direction; with it 48 segments of one frame do not fill one hop.
const WIRE_MS: u32 = 250;

/// Goodput by Equation 1 in kb/s, from `mss` in octets, `rtt_ms`, loss probability `p` and window
/// `w` in segments: two productive round trips are lost per loss.
pub(super) fn equation_1(mss: f64, rtt_ms: f64, p: f64, w: f64) -> f64 {
    mss * 8.0 / rtt_ms / (1.0 / w + 2.0 * p)
}

/// Curves over all d: series, hops, label suffix, model, host cost.
fn curves_over_d() -> Vec<(&'static str, u32, String, Model, Host)> {
    let mut series = Vec::new();
    for model in Model::ALL {
        series.push((model.name(), 3, model.suffix().to_owned(), model, Host::Free));
    }
    for host in Host::SLOW {
        series.push((host.name(), 3, host.suffix().to_owned(), Model::Sinr, host));
    }
    series.push(("1 hop", 1, ONE_HOP.to_owned(), Model::Sinr, Host::Free));
    series
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, hops, suffix, model, host) in curves_over_d() {
        for d in DELAYS_MS {
            let mut scenario = line_scenario(effort, hops, d);
            model.apply(&mut scenario);
            host.apply(&mut scenario);
            let shown = suffix.is_empty() && (d == 0 || d == 40);
            points.push(Point {
                timeline_s: shown.then_some((20.0, 20.4)),
                ..point(format!("d_ms={d}{suffix}"), series, d, scenario)
            });
        }
    }
    points.extend(own_tcp(effort));
    points.extend(one_hop(effort));
    points.extend(controls(effort));
    points.extend(adaptive(effort));
    points.extend(windows(effort));
    points
}

/// Points with Kinglet's TCP instead of the paper's.
fn own_tcp(effort: Effort) -> impl Iterator<Item = Point> {
    OWN_DELAYS_MS.into_iter().map(move |d| {
        let mut scenario = line_scenario(effort, 3, d);
        scenario.tcp.stack = None;
        point(format!("d_ms={d} stack=kinglet"), "3 hops, Kinglet's TCP", d, scenario)
    })
}

/// The same loss for a small window and for a large one.
fn windows(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for window in WINDOWS {
        for loss in LOSSES {
            let mut scenario = line_scenario(effort, 1, 0);
            scenario.tcp.mss = Mss::Frames(1);
            scenario.tcp.send_buffer = Buffer::Segments(window);
            scenario.tcp.receive_buffer = Buffer::Segments(window);
            // Only data is lost, because the claim concerns data.
            scenario.wire = Some(Wire {
                delay_ms: WIRE_MS,
                loss,
                loss_to_mesh: Some(0.0),
                host: HostTcp::Linux,
                ..Wire::PERFECT
            });
            scenario.flows = vec![Flow::bulk(1, scenario.host())];
            let label = format!("window={window} wire_loss={loss}");
            points.push(point(label, "windows", 0, scenario));
        }
    }
    points
}

/// Cost of d without hidden nodes, under each model and with each host.
fn one_hop(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for d in ONE_HOP_DELAYS_MS {
        for model in &Model::ALL[1..] {
            let mut scenario = line_scenario(effort, 1, d);
            model.apply(&mut scenario);
            let label = format!("d_ms={d}{ONE_HOP}{}", model.suffix());
            points.push(point(label, "1 hop, models", d, scenario));
        }
        for host in Host::SLOW {
            let mut scenario = line_scenario(effort, 1, d);
            host.apply(&mut scenario);
            let label = format!("d_ms={d}{ONE_HOP}{}", host.suffix());
            points.push(point(label, "1 hop, slow hosts", d, scenario));
        }
    }
    points
}

/// Controls without hidden nodes, with other models of overlap, and with unequal links.
fn controls(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for model in [Model::Sinr, Model::Strict] {
        for d in DELAYS_MS {
            let mut scenario = line_scenario(effort, 3, d);
            model.apply(&mut scenario);
            scenario.medium.hidden_terminals = false;
            let label = format!("d_ms={d}{CONTROL}{}", model.suffix());
            points.push(point(label, "3 hops, nobody hidden", d, scenario));
        }
    }
    for d in [0, 40] {
        let mut scenario = line_scenario(effort, 3, d);
        scenario.medium.overlap = Overlap::Capture;
        points.push(point(format!("d_ms={d} overlap=capture"), "3 hops, capture", d, scenario));
        for slope in SLOPES_DB {
            let mut scenario = line_scenario(effort, 3, d);
            let links = models::slope(4, slope);
            scenario.medium.propagation = Propagation::LinkMatrix { links };
            points.push(point(format!("d_ms={d} slope_db={slope}"), SLOPES, d, scenario));
        }
    }
    points
}

/// Kinglet's adaptive d: from 0 to the paper's 40 ms, depending on the failures of retries.
fn adaptive(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for model in Model::ALL {
        for (suffix, hops) in [("", 3), (ONE_HOP, 1)] {
            let mut scenario = line_scenario(effort, hops, 40);
            scenario.mac.adaptive_retry_delay = true;
            model.apply(&mut scenario);
            let label = format!("d=adaptive{suffix}{}", model.suffix());
            points.push(point(label, ADAPTIVE, 40, scenario));
        }
    }
    for (name, d, adapts) in
        [("d=adaptive", 40, true), ("d_ms=0", 0, false), ("d_ms=40", 40, false)]
    {
        let mut scenario = line_scenario(effort, 1, d);
        scenario.mac.adaptive_retry_delay = adapts;
        scenario.medium.frame_loss = NOISE;
        let label = format!("{name}{ONE_HOP} frame_loss=0.1");
        points.push(point(label, "1 hop, noise", d, scenario));
    }
    points
}

fn point(label: String, series: &'static str, d: u32, scenario: Scenario) -> Point {
    Point { label, series, x: f64::from(d), scenario, metrics: METRICS, timeline_s: None }
}

fn refine(rows: &mut Rows) {
    let best = one_hop_bound().kbps;
    // The bound in the paper is B/3, where B is its ideal one-hop goodput (§7.2).
    rows.bound("goodput", |r| match r.label.as_str() {
        label if label.starts_with("window=") => None,
        label if label.contains(ONE_HOP) => Some(best),
        _ => Some(best / 3.0),
    });
    for (series, _, suffix, ..) in curves_over_d() {
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
    let main = |r: &&super::Row| r.series == Model::Sinr.name() || r.series == "1 hop";
    let shown: Vec<_> = result.rows.iter().filter(main).cloned().collect();
    if let Some(mut goodput) = curves(&shown, "goodput", "Goodput, and Equation 1", x) {
        overlay(&mut goodput, &shown, "goodput_eq1", "Eq. 1");
        figures.push(goodput);
    }
    let three = |r: &&super::Row| Model::ALL.iter().any(|model| model.name() == r.series);
    let three: Vec<_> = result.rows.iter().filter(three).cloned().collect();
    figures.extend(curves(&three, "segment_loss", "Segments lost in spite of link retries", x));
    figures.extend(curves(&shown, "rtt", "Round-trip time of segments", x));
    figures.extend(curves(&three, "frames_per_kb", "Frames on the air per kilobyte delivered", x));
    figures.extend(curves(&three, "goodput", "Goodput over three hops by model", x));
    for (point, run) in result.samples.iter().filter(|(_, run)| !run.timeline.is_empty()) {
        let Some((from, to)) = point.timeline_s else { continue };
        figures.push(Figure::Timeline(Timeline {
            title: format!("Radios over three hops, d = {} ms", point.x),
            nodes: point.scenario.nodes.len(),
            lanes: Vec::new(),
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
            assert!(flow.segments_sent > Some(80), "{flow:?}");
            assert_eq!(
                (flow.segments_sent, flow.segment_loss),
                (flow.segments_received, Some(0.0))
            );
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
