//! Readings of sleepy leaves at increasing rates.

use super::sense::{Settings, TCP, office, seconds};
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::chart::{Figure, curves};
use crate::scenario::{FlowKind, HostTcp, Scenario, Wire};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-load",
    title: "Sensors under load",
    source: "own",
    question: "How many readings a second do leaves that sleep deliver by day, with the paper's \
               settings and with the defaults, and what does that cost their radios?",
    method: "The office at eleven in the morning, four leaves, batches of 64 over TCP, 1 to 6 \
             readings of 82 octets a second each. Readings that find the queue full are lost. The \
             worst of the four leaves is judged, in the mean of the seeds. Kinglet's settings in \
             the same RAM; again with a host that has Linux's TCP.",
    threats: &[
        "Interference follows published models and an assumed profile of the day.",
        "Readings are lost at the source, in a full queue. A longer queue would lose less of \
         bursts and as much of a load that is too high.",
    ],
    main: "kinglet tcp rate=4",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

const METRICS: &[Metric] = &[
    Metric::ReliabilityMin(TCP),
    Metric::Reliability(TCP),
    Metric::RadioDutyCycle(TCP),
    Metric::RetransmittedShare(TCP),
];
/// Readings per second.
const RATES: [u32; 6] = [1, 2, 3, 4, 5, 6];
/// Rate of the quick plan.
const QUICK: u32 = 4;
/// Start of the run, in hours after midnight.
const BUSY: f64 = 11.0;
/// Series, settings and TCP of the host.
const DIRECTIONS: [(&str, Settings, HostTcp); 3] = [
    ("tcp", Settings::Paper, HostTcp::Same),
    ("kinglet tcp", Settings::Kinglet, HostTcp::Same),
    ("kinglet tcp host=linux", Settings::Kinglet, HostTcp::Linux),
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (series, settings, host) in DIRECTIONS {
        for rate in RATES.into_iter().filter(|rate| effort == Effort::Full || *rate == QUICK) {
            points.push(Point {
                label: format!("{series} rate={rate}"),
                series,
                x: f64::from(rate),
                scenario: scenario(effort, settings, host, rate),
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    points
}

fn scenario(effort: Effort, settings: Settings, host: HostTcp, rate: u32) -> Scenario {
    let mut scenario = office(settings, 5, [TCP; 4], 64).by_day();
    scenario.start_hour = BUSY;
    scenario.duration_s = seconds(effort);
    scenario.wire = Some(Wire { host, ..Wire::PERFECT });
    for flow in &mut scenario.flows {
        if let FlowKind::Anemometer(sensor) = &mut flow.kind {
            sensor.period_ms = 1_000 / rate;
        }
    }
    scenario
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "readings a second and leaf";
    let worst = curves(&result.rows, "reliability_min", "Delivered by the worst leaf", x);
    let radio = curves(&result.rows, "radio_duty_cycle", "Share of time with the radio on", x);
    [worst, radio].into_iter().flatten().collect()
}
