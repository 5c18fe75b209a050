//! App. C's open question: goodput of a sleepy sender, predicted from its path's goodput while
//! always on.

use crate::experiment::{InRust, readme};
use crate::model::{Path, WINDOW};
use kinglet::Polling;
use kinglet::time::Duration;
use kinglet_network::layout::{Format, Frame, mac_header};
use kinglet_network::radio::frame_us;
use kinglet_peers::Stack;
use kinglet_scenario::{Buffer, Flow, Mss, RadioProfile, Role, Wire, tcplp};
use kinglet_sweep::chart::{Figure, curves, overlay};
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows, line_scenario};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "kinglet-model",
    readme: readme!("kinglet-model"),
    source: "TCPlp App. C, which leaves it open",
    main: "hops=3 d_ms=40 loss=6 sleep_ms=500",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::SegmentLoss,
    Metric::Rtt,
    Metric::Mss,
    Metric::Timeouts,
    Metric::CwndFull,
];

/// Packets lost on purpose, in per cent, and the name of the curve.
const LOSSES: [(u32, &str); 4] =
    [(0, "no loss"), (2, "2 % lost"), (6, "6 % lost"), (12, "12 % lost")];
/// Intervals between data requests.
const SLEEPS_MS: [u32; 5] = [100, 250, 500, 1_000, 2_000];
/// Intervals for points at which other parameters vary.
const FEW_SLEEPS_MS: [u32; 3] = [100, 500, 1_000];

/// Parameters of a point.
#[derive(Clone, Copy)]
struct Case {
    hops: u32,
    d_ms: u32,
    /// Frames per segment.
    frames: u8,
    loss: (u32, &'static str),
    stack: Option<Stack>,
}

impl Case {
    fn label(self, duty: &str) -> String {
        let Case { hops, d_ms, frames, loss: (loss, _), stack } = self;
        let frames = if frames == 3 { String::new() } else { format!(" frames={frames}") };
        let stack = stack.map(|stack| format!(" stack={}", stack.name())).unwrap_or_default();
        format!("hops={hops} d_ms={d_ms}{frames} loss={loss} {duty}{stack}")
    }

    const fn series(self) -> &'static str {
        if self.stack.is_some() { "FreeBSD's TCP" } else { self.loss.1 }
    }

    /// Polls at this interval, or is always on.
    fn point(self, effort: Effort, sleep_ms: Option<u32>) -> Point {
        let mut scenario = line_scenario(effort, self.hops, self.d_ms);
        scenario.tcp.stack = self.stack;
        scenario.tcp.mss = Mss::Frames(self.frames);
        scenario.tcp.send_buffer = Buffer::Segments(WINDOW as u16);
        scenario.tcp.receive_buffer = Buffer::Segments(WINDOW as u16);
        scenario.flows = vec![Flow::bulk(self.hops, scenario.host())];
        let loss = f64::from(self.loss.0) / 100.0;
        scenario.wire = Some(Wire { loss, loss_to_mesh: Some(0.0), ..Wire::PERFECT });
        scenario.mac.indirect = tcplp::INDIRECT;
        if let (Some(ms), Some(last)) = (sleep_ms, scenario.nodes.last_mut()) {
            last.role = Role::Leaf;
            let base = Duration::from_millis(ms.into());
            scenario.polling = Polling::Fixed { base, fast_poll: base };
        }
        let duty = sleep_ms.map_or_else(|| AWAKE.to_owned(), |ms| format!("sleep_ms={ms}"));
        Point {
            label: self.label(&duty),
            series: self.series(),
            x: f64::from(sleep_ms.unwrap_or(0)) / 1e3,
            scenario,
            metrics: METRICS,
            timeline_s: None,
        }
    }
}

const AWAKE: &str = "awake";

/// Cases and the intervals at which each is simulated.
fn cases() -> Vec<(Case, &'static [u32])> {
    let with = |hops, d_ms, frames, loss| Case { hops, d_ms, frames, loss, stack: None };
    let mut cases = Vec::new();
    for hops in [1, 2, 3, 4] {
        cases.extend(LOSSES.map(|loss| (with(hops, 40, 3, loss), &SLEEPS_MS[..])));
    }
    for hops in [1, 3] {
        for (d_ms, frames) in [(0, 3), (10, 3), (100, 3), (40, 5)] {
            let losses = [LOSSES[0], LOSSES[2]];
            cases.extend(losses.map(|loss| (with(hops, d_ms, frames, loss), &FEW_SLEEPS_MS[..])));
        }
        for (frames, loss) in [(3, LOSSES[0]), (3, LOSSES[2]), (5, LOSSES[0]), (5, LOSSES[2])] {
            let case = with(hops, 40, frames, loss);
            let case = Case { stack: Some(Stack::FreeBsd), ..case };
            cases.push((case, &FEW_SLEEPS_MS[..]));
        }
    }
    cases
}

fn plan(effort: Effort) -> Vec<Point> {
    let points = |(case, sleeps): (Case, &[u32])| {
        let asleep = sleeps.iter().map(|ms| Some(*ms));
        [None].into_iter().chain(asleep).map(|sleep| case.point(effort, sleep)).collect::<Vec<_>>()
    };
    cases().into_iter().flat_map(points).collect()
}

/// Model of a path: hops, frame times, and goodput while always on (`kbps` at a loss of a share
/// `lost` of segments, 0 to 1) with segments of `mss` octets.
fn path(hops: u32, mss: f64, kbps: f64, lost: f64) -> Path {
    let format = Format::of(&tcplp::MAC, true);
    let time = |psdu| frame_us(RadioProfile::At86rf233, psdu, tcplp::MAC.csma_params.min_be);
    let packet = |payload| format.frames(payload).iter().map(Frame::psdu).map(time).sum::<f64>();
    let acknowledgement_us = packet(0);
    Path {
        hops,
        segment_us: packet(mss as usize),
        acknowledgement_us,
        // A data request is a link header and a command octet.
        fetch_us: time(mac_header(kinglet_scenario::LinkAddresses::Short) + 1) + acknowledgement_us,
        wire_us: f64::from(Wire::PERFECT.delay_ms) * 1e3,
        bottleneck_us: mss * 8e3 / kbps * (1.0 - lost),
    }
}

fn refine(rows: &mut Rows) {
    for (case, sleeps) in cases() {
        let alone = Case { loss: LOSSES[0], ..case }.label(AWAKE);
        let at = |metric: &str| rows.mean(&alone, metric);
        let (Some(kbps), Some(lost), Some(mss)) = (at("goodput"), at("segment_loss"), at("mss"))
        else {
            continue;
        };
        let path = path(case.hops, mss, kbps, lost / 100.0);
        compare(rows, &path, mss, case, None);
        sleeps.iter().for_each(|ms| compare(rows, &path, mss, case, Some(*ms)));
    }
}

/// Goodput by Equation 1 in kb/s, from `mss` in octets, `rtt_ms`, loss probability `p` and window
/// `w` in segments: two productive round trips are lost per loss.
fn equation_1(mss: f64, rtt_ms: f64, p: f64, w: f64) -> f64 {
    mss * 8.0 / rtt_ms / (1.0 / w + 2.0 * p)
}

/// Adds the model's predictions for one point, and the errors of the model and of Equation 1.
fn compare(rows: &mut Rows, path: &Path, mss: f64, case: Case, sleep_ms: Option<u32>) {
    let duty = sleep_ms.map_or_else(|| AWAKE.to_owned(), |ms| format!("sleep_ms={ms}"));
    let label = case.label(&duty);
    let at = |metric: &str| rows.mean(&label, metric);
    let values = (at("goodput"), at("segment_loss"), at("rtt"));
    let (Some(goodput), Some(lost), Some(rtt)) = values else { return };
    let x = f64::from(sleep_ms.unwrap_or(0)) / 1e3;
    let sleep_us = sleep_ms.map(|ms| u64::from(ms) * 1_000);
    let model = path.goodput(sleep_us, lost / 100.0) * mss * 8.0 / 1e3;
    let one = equation_1(mss, rtt, lost / 100.0, f64::from(WINDOW));
    let series = case.series();
    rows.compute(&label, series, x, ("goodput_model", "kb/s"), model);
    for (metric, predicted) in [("error_model", model), ("error_eq1", one)] {
        let error = (predicted / goodput - 1.0) * 100.0;
        rows.compute(&label, series, x, (metric, "%"), error);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let shown =
        |label: &str| label.starts_with("hops=3 d_ms=40 loss=") && !label.contains("stack=");
    let rows: Vec<_> = result.rows.iter().filter(|row| shown(&row.label)).cloned().collect();
    let title = "Goodput of a leaf three hops away, measured and by the model";
    let x = "time between data requests, s";
    let mut figure = curves(&rows, "goodput", title, x);
    if let Some(figure) = &mut figure {
        overlay(figure, &rows, "goodput_model", "model");
    }
    figure.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_a_lossless_always_on_path_is_its_input() {
        let mut rows = Rows::default();
        let case = Case { hops: 3, d_ms: 40, frames: 3, loss: LOSSES[0], stack: None };
        for (metric, value) in
            [("goodput", 25.0), ("segment_loss", 0.0), ("mss", 272.0), ("rtt", 300.0)]
        {
            rows.compute(&case.label(AWAKE), "", 0.0, (metric, ""), value);
            rows.compute(&case.label("sleep_ms=1000"), "", 0.0, (metric, ""), value);
        }
        refine(&mut rows);
        let error = |duty| rows.mean(&case.label(duty), "error_model").expect("it is computed");
        assert!(error(AWAKE).abs() < 2.0, "{}", error(AWAKE));
        // Four segments of 272 octets per second are 8.7 kb/s instead of 25.
        assert!((error("sleep_ms=1000") + 65.0).abs() < 1.0, "{}", error("sleep_ms=1000"));
    }

    #[test]
    fn frame_times_are_those_of_the_radio() {
        let path = path(1, 272.0, 100.0, 0.0);
        // Three full frames take 7 ms each, an acknowledgement half of that.
        assert!((20_000.0..22_000.0).contains(&path.segment_us), "{path:?}");
        assert!((4_000.0..5_500.0).contains(&path.acknowledgement_us), "{path:?}");
        assert!(path.fetch_us > path.acknowledgement_us + 2_000.0, "{path:?}");
    }
}
