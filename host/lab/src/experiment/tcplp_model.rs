//! Equations 1, 2 and 4: models of goodput against simulation.

use super::{
    Effort, Experiment, ExperimentResult, Host, Metric, Model, Point, Rows, line_scenario,
};
use crate::chart::{Figure, curves, overlay};
use crate::scenario::Buffer;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-model",
    title: "Models of goodput",
    source: "TCPlp Eq. 1, 2 and 4, §7.4 and App. C",
    question: "Does goodput depend on round-trip time, loss and window as Equation 1 says, and \
               does the square-root model fail where windows are small?",
    method: "Bulk transfer over one and three hops for several d; each model is evaluated with the \
             measured mean round-trip time and segment loss. Equation 1 also with the time that an \
             octet spends in the send buffer (window over goodput) for round-trip time. The l of \
             Equation 4 is solved for where losses are frequent enough (0.5 %). One hop again with \
             buffers of 2 to 8 segments. Three hops under four models of the medium: sinr-ber, \
             strict overlap, the hidden node 1 dB stronger, interference over twice the range of \
             reception. With three costs of the host: none, that of this stack on the Cortex-M0+, \
             and the paper's 2 ms a frame.",
    threats: &[
        "Means are put into equations that are not linear.",
        "The sampled round-trip time includes delayed acknowledgements and the wait for the radio, \
         as in the paper: FreeBSD's TCP queues segments at the link layer as soon as the window \
         lets it.",
        "Without loss, Equation 1 with the time in the buffer is Little's law and holds by itself; \
         only its loss term is tested.",
        "Segment loss counts data segments only; lost acknowledgements are masked by later ones.",
    ],
    main: "d_ms=40",
    plan,
    refine,
    figures,
};

/// TCPlp's window in segments (§7).
const WINDOW: f64 = 4.0;
/// Smallest loss for Equations 2 and 4; without losses Equation 4's l is undetermined.
const ENOUGH_LOSS_PERCENT: f64 = 0.5;

/// Goodput by Equation 4 in kb/s, from `mss` in octets, `rtt_ms`, loss probability `p`, window `w`
/// in segments, and `l`, the productive round trips lost per loss.
pub(super) fn equation_4(mss: f64, rtt_ms: f64, p: f64, w: f64, l: f64) -> f64 {
    mss * 8.0 / rtt_ms / (1.0 / w + l * p)
}

/// Equation 1: Equation 4 with l = 2.
pub(super) fn equation_1(mss: f64, rtt_ms: f64, p: f64, w: f64) -> f64 {
    equation_4(mss, rtt_ms, p, w, 2.0)
}

/// Equation 2, the square-root model; `None` without loss, for which it is undefined.
pub(super) fn equation_2(mss: f64, rtt_ms: f64, p: f64) -> Option<f64> {
    (p > 0.0).then(|| mss * 8.0 / rtt_ms * (3.0 / (2.0 * p)).sqrt())
}

const METRICS: &[Metric] = &[Metric::Goodput, Metric::Rtt, Metric::SegmentLoss, Metric::Mss];
const DELAYS_MS: [u32; 5] = [0, 10, 20, 40, 100];

/// Curves over all d: series, label suffix, hops, model, host cost.
fn curves_over_d() -> Vec<(&'static str, String, u32, Model, Host)> {
    let mut series = Vec::new();
    for model in Model::ALL {
        series.push((model.name(), model.suffix().to_owned(), 3, model, Host::Free));
    }
    for host in Host::SLOW {
        series.push((host.name(), host.suffix().to_owned(), 3, Model::Sinr, host));
    }
    for host in Host::ALL {
        let suffix = format!(" hops=1{}", host.suffix());
        series.push(("1 hop", suffix, 1, Model::Sinr, host));
    }
    series
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, suffix, hops, model, host) in curves_over_d() {
        for d in DELAYS_MS {
            let mut scenario = line_scenario(effort, hops, d);
            model.apply(&mut scenario);
            host.apply(&mut scenario);
            points.push(Point {
                label: format!("d_ms={d}{suffix}"),
                series,
                x: f64::from(d),
                scenario,
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    // These points show whether the RTT samples contain the wait in the send buffer: if so, a
    // larger buffer increases them.
    for segments in [2, 3, 6, 8u16] {
        let mut scenario = line_scenario(effort, 1, 0);
        scenario.tcp.send_buffer = Buffer::Segments(segments);
        scenario.tcp.receive_buffer = Buffer::Segments(segments);
        points.push(Point {
            label: format!("d_ms=0 hops=1 buffer_segments={segments}"),
            series: "buffer",
            x: f64::from(segments),
            scenario,
            metrics: METRICS,
            timeline_s: None,
        });
    }
    points
}

fn refine(rows: &mut Rows) {
    for (p, eq1, eq2) in [(0.06, 2.703, 5.0), (0.01, 3.704, 12.25)] {
        // An MSS of 1/8 octet and a round-trip time of 1 ms turn kb/s into segments per round trip.
        let label = format!("p={p}");
        let metric = ("eq1_segments_per_rtt", "segments");
        let value = equation_1(0.125, 1.0, p, WINDOW);
        rows.compute(&label, "equations", p, metric, value).paper = Some(eq1);
        let metric = ("eq2_segments_per_rtt", "segments");
        let value = equation_2(0.125, 1.0, p).unwrap_or(f64::INFINITY);
        rows.compute(&label, "equations", p, metric, value).paper = Some(eq2);
    }
    for (series, suffix, ..) in curves_over_d() {
        for d in DELAYS_MS {
            compare(rows, series, &format!("d_ms={d}{suffix}"), f64::from(d));
        }
    }
}

/// Adds the models' predictions for one point and their errors.
fn compare(rows: &mut Rows, series: &'static str, label: &str, x: f64) {
    let at = |metric: &str| rows.mean(label, metric);
    let values = (at("goodput"), at("mss"), at("rtt"), at("segment_loss"));
    let (Some(goodput), Some(mss), Some(rtt), Some(loss)) = values else { return };
    if goodput <= 0.0 || rtt <= 0.0 {
        return;
    }
    let p = loss / 100.0;
    let error = |predicted: f64| (predicted - goodput).abs() / goodput * 100.0;
    let one = equation_1(mss, rtt, p, WINDOW);
    rows.compute(label, series, x, ("goodput_eq1", "kb/s"), one);
    rows.compute(label, series, x, ("error_eq1", "%"), error(one));
    // By Little's law: segments in flight, and time of an octet in the buffer.
    let in_flight = goodput * rtt / (mss * 8.0);
    rows.compute(label, series, x, ("in_flight", "segments"), in_flight);
    let buffered = WINDOW * mss * 8.0 / goodput;
    rows.compute(label, series, x, ("time_in_buffer", "ms"), buffered);
    let other = error(equation_1(mss, buffered, p, WINDOW));
    rows.compute(label, series, x, ("error_eq1_time_in_buffer", "%"), other);
    // Below this loss Equation 2 grows without bound and would be easy to beat.
    if loss >= ENOUGH_LOSS_PERCENT
        && let Some(two) = equation_2(mss, rtt, p)
    {
        rows.compute(label, series, x, ("goodput_eq2", "kb/s"), two);
        rows.compute(label, series, x, ("error_eq2", "%"), error(two));
    }
    if loss >= ENOUGH_LOSS_PERCENT {
        let l = (mss * 8.0 / rtt / goodput - 1.0 / WINDOW) / p;
        rows.compute(label, series, x, ("eq4_l", "RTT"), l).paper = Some(2.0);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "largest retry delay d, ms";
    let mut figures = Vec::new();
    if let Some(mut goodput) = curves(&result.rows, "goodput", "Goodput and models", x) {
        overlay(&mut goodput, &result.rows, "goodput_eq1", "Eq. 1");
        figures.push(goodput);
    }
    if let Some(mut error) = curves(&result.rows, "error_eq1", "Error of Equation 1 and 2", x) {
        overlay(&mut error, &result.rows, "error_eq2", "Eq. 2");
        figures.push(error);
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equations_give_the_segments_per_round_trip_that_follow_from_the_paper() {
        let mut rows = Rows::default();
        refine(&mut rows);
        for row in &rows.all {
            let paper = row.paper.expect("all of these have one");
            assert!((row.mean - paper).abs() < 0.005, "{}: {}", row.metric, row.mean);
        }
        assert_eq!(rows.all.len(), 4);
    }

    #[test]
    fn a_window_per_round_trip_is_the_limit_without_loss() {
        // 4 × 500 octets in 100 ms = 160 kb/s.
        assert_eq!(equation_1(500.0, 100.0, 0.0, 4.0), 160.0);
        assert_eq!(equation_2(500.0, 100.0, 0.0), None);
    }

    #[test]
    fn the_l_of_equation_4_is_recovered_from_its_own_prediction() {
        let mut rows = Rows::default();
        let goodput = equation_4(462.0, 500.0, 0.06, 4.0, 3.0);
        for (metric, value) in
            [("goodput", goodput), ("mss", 462.0), ("rtt", 500.0), ("segment_loss", 6.0)]
        {
            rows.compute("d_ms=0", "3 hops", 0.0, (metric, ""), value);
        }
        compare(&mut rows, "3 hops", "d_ms=0", 0.0);
        let l = rows.mean("d_ms=0", "eq4_l").expect("there is loss");
        assert!((l - 3.0).abs() < 1e-9);
    }
}
