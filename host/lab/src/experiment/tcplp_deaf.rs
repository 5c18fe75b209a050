//! §4.2: a radio that does not receive during its backoff.

use super::tcplp_selfclock::asleep;
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::scenario::{Flow, FlowKind, Scenario};
use kinglet::mac::Csma;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-deaf",
    title: "Deaf while backing off",
    source: "TCPlp §4.2",
    question: "Does TCP, whose packets go in both directions, suffer from a radio that does \
               CSMA-CA by itself and receives nothing during backoff?",
    method: "Bulk transfer over 1 to 3 hops of always-on nodes, CSMA-CA in software (the radio \
             receives during backoff) and in the radio (it does not), with d = 0 and d = 40 ms, \
             five-frame segments, buffers of four segments. Again with a leaf that sleeps, polls \
             every 100 ms and sends over one hop. Control: datagrams of 462 octets in one \
             direction only, at a rate below the capacity of the channel.",
    threats: &[
        "The chip would also repeat unacknowledged frames by itself; here the MAC does that, with \
         the same backoff each time and up to seven times, so that only reception differs. The \
         chip's own retries are those of d = 0.",
        "No host cost: a processor that adds time between frames spends a smaller share of it in \
         backoff, so that the effect is smaller.",
    ],
    main: "csma=hardware d_ms=0 hops=1",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::Goodput,
    Metric::SegmentLoss,
    Metric::Rtt,
    Metric::FramesPerKb,
    Metric::FastRetransmissions,
    Metric::Timeouts,
];
const HOPS: [u32; 3] = [1, 2, 3];
/// Location of CSMA-CA, its label, d in milliseconds, series.
const MODES: [(Csma, &str, u32, &str); 4] = [
    (Csma::Software, "software", 0, "software, d = 0"),
    (Csma::Hardware, "hardware", 0, "hardware, d = 0"),
    (Csma::Software, "software", 40, "software, d = 40 ms"),
    (Csma::Hardware, "hardware", 40, "hardware, d = 40 ms"),
];
/// The control: hops, and milliseconds between datagrams. 100 kb/s over one hop and 31 kb/s over
/// three are 91 and 75 % of the goodput of TCP there.
const ONE_WAY: [(u32, u32); 2] = [(1, 37), (3, 120)];
/// Octets of a datagram, equal to those of a segment.
const DATAGRAM: u16 = 462;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (csma, name, d, series) in MODES {
        for hops in HOPS {
            let scenario = line(effort, hops, d, csma);
            points.push(Point {
                label: format!("csma={name} d_ms={d} hops={hops}"),
                series,
                x: f64::from(hops),
                scenario,
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    for (csma, name, d, _) in MODES.into_iter().filter(|mode| mode.2 == 0) {
        for (hops, period_ms) in ONE_WAY {
            let mut scenario = line(effort, hops, d, csma);
            let kind = FlowKind::datagrams(hops, 0, period_ms, DATAGRAM);
            scenario.flows = vec![Flow::new(1.0, kind)];
            points.push(Point {
                label: format!("csma={name} d_ms={d} hops={hops} one-way"),
                series: "one way",
                x: f64::from(hops),
                scenario,
                metrics: &[Metric::Goodput, Metric::SegmentLoss, Metric::FramesPerKb],
                timeline_s: None,
            });
        }
    }
    for (csma, name, d, _) in MODES {
        points.push(Point {
            label: format!("csma={name} d_ms={d} hops=1 leaf"),
            series: "leaf",
            x: 1.0,
            scenario: asleep(line(effort, 1, d, csma)),
            metrics: METRICS,
            timeline_s: None,
        });
    }
    points
}

fn line(effort: Effort, hops: u32, retry_delay_ms: u32, csma: Csma) -> Scenario {
    let mut scenario = line_scenario(effort, hops, retry_delay_ms);
    scenario.mac.csma = csma;
    scenario
}

/// Goodput of a deaf radio relative to one that listens.
fn refine(rows: &mut Rows) {
    let deaf: Vec<_> =
        rows.all.iter().filter(|r| r.label.contains("csma=hardware")).cloned().collect();
    for row in deaf.into_iter().filter(|r| r.metric == "goodput") {
        let listening = row.label.replace("csma=hardware", "csma=software");
        let Some(whole) = rows.mean(&listening, "goodput") else { continue };
        let share = row.mean / whole * 100.0;
        rows.compute(&row.label, row.series, row.x, ("goodput_kept", "%"), share);
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows: Vec<_> = result
        .rows
        .iter()
        .filter(|r| MODES.iter().any(|mode| mode.3 == r.series))
        .cloned()
        .collect();
    let x = "hops";
    let goodput = curves(&rows, "goodput", "Goodput, with and without reception during backoff", x);
    let loss = curves(&rows, "segment_loss", "Segments lost", x);
    let frames = curves(&rows, "frames_per_kb", "Frames sent per kilobyte that arrived", x);
    [goodput, loss, frames].into_iter().flatten().collect()
}
