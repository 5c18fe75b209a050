//! §8.2.1: readings sent in batches or one by one, at night.

use super::sense::{COAP, COCOA, IDEAL, NON, Settings, TCP, bars, metrics, office, seconds};
use super::{Effort, Experiment, ExperimentResult, Point, Rows};
use crate::chart::Figure;
use crate::scenario::FlowKind;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-batching",
    title: "Batches or one by one",
    source: "TCPlp §8.2.1, Fig. 9",
    question: "What do TCP, CoAP and CoCoA cost a sensor in radio and CPU time, if readings are \
               sent one by one and in batches of 64?",
    method: "The office at night, four sensors at once with the same protocol, five-frame \
             segments and messages, a reading of 82 octets per second. Leaves sleep for four \
             minutes, and for 100 ms while a response is expected. For comparison, Kinglet's TCP \
             alone (stack=kinglet), and all of Kinglet's own settings: prediction, bursts, paced \
             segments, fewer acknowledgements, no timestamps, other shares of the same RAM. In \
             addition, batches with a reading every 20 s.",
    threats: &[
        "The office is ours: the paper gives no distances.",
        "CPU time is that of the stack's instructions; the application, UDP, CoAP and the \
         interrupts of the real chip are not in it.",
        "The paper does not say how much of its final queue management (§8.2.3) was in use here; \
         all of it is.",
    ],
    main: "tcp batch=64",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

fn plan(effort: Effort) -> Vec<Point> {
    let paper = [TCP, COAP, COCOA, NON, IDEAL].map(|carrier| (Settings::Paper, carrier));
    let ours = [TCP, COAP].map(|carrier| (Settings::Kinglet, carrier));
    let mut points = Vec::new();
    for (settings, carrier) in paper.into_iter().chain(ours) {
        for batch in [1, 64] {
            let mut scenario = office(settings, 5, [carrier; 4], batch);
            scenario.duration_s = seconds(effort);
            points.push(Point {
                label: format!("{} batch={batch}", settings.series(carrier)),
                series: settings.series(carrier),
                x: f64::from(batch),
                scenario,
                metrics: metrics(carrier),
                timeline_s: None,
            });
        }
    }
    points.push(own_tcp(effort));
    points.extend(seldom(effort));
    points
}

/// The paper's settings with Kinglet's TCP.
fn own_tcp(effort: Effort) -> Point {
    let mut scenario = office(Settings::Paper, 5, [TCP; 4], 64);
    scenario.duration_s = seconds(effort);
    scenario.tcp.stack = None;
    let (label, series) = ("tcp batch=64 stack=kinglet".to_owned(), "Kinglet's TCP");
    Point { label, series, x: 64.0, scenario, metrics: metrics(TCP), timeline_s: None }
}

/// Batches of readings at 0.05 Hz: one batch in 1280 s.
fn seldom(effort: Effort) -> impl Iterator<Item = Point> {
    [TCP, COAP, NON].into_iter().map(move |carrier| {
        let series = Settings::Paper.series(carrier);
        let mut scenario = office(Settings::Paper, 5, [carrier; 4], 64);
        for flow in &mut scenario.flows {
            if let FlowKind::Anemometer(sensor) = &mut flow.kind {
                sensor.period_ms = 20_000;
            }
        }
        scenario.duration_s = match effort {
            Effort::Quick => 4_000.0,
            Effort::Full => 36_000.0,
        };
        let label = format!("{series} batch=64 period_ms=20000");
        Point { label, series, x: 64.0, scenario, metrics: metrics(carrier), timeline_s: None }
    })
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    vec![
        bars(&result.rows, "radio_duty_cycle", "Share of time with the radio on", &[]),
        bars(&result.rows, "cpu_duty_cycle", "Share of time with the CPU working", &[]),
    ]
}
