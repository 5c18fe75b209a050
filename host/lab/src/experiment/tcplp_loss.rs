//! §8.2.2: packet loss at the border router.

use super::radio_time::{counted, refine};
use super::sense::{COAP, COCOA, IDEAL, Settings, TCP, metrics, office, seconds};
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Row};
use crate::chart::{Figure, curves};
use crate::scenario::Carrier;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-loss",
    title: "Sense and send while packets are lost",
    source: "TCPlp §8.2.2, Fig. 10",
    question: "How do reliability, retransmissions, radio and CPU change if up to 21 % of all \
               packets are lost after link retries and reassembly?",
    method: "The office at night, four sensors at once with the same protocol, batches of 64, \
             five-frame segments and messages. Every packet is lost with the given probability on \
             the wire behind the border router, in both directions; and in the direction of the \
             sensors alone. For comparison, Kinglet's own settings, and its TCP alone with the \
             paper's (stack=kinglet).",
    threats: &[
        "The office is ours: the paper gives no distances.",
        "The paper does not say whether both directions lose; here they do.",
        "A CoAP message that was given up starts again here, so that only a full queue loses \
         readings, as the paper says; its published code continues with the next message.",
    ],
    main: "tcp loss=9",
    plan,
    refine,
    figures,
};

/// Loss in per cent.
const LOSSES: [u32; 8] = [0, 3, 6, 9, 12, 15, 18, 21];
/// Losses with Kinglet's TCP, in per cent.
const OWN_LOSSES: [u32; 4] = [6, 9, 15, 21];

fn plan(effort: Effort) -> Vec<Point> {
    let paper = [TCP, COAP, COCOA, IDEAL].map(|carrier| (Settings::Paper, carrier));
    let ours = [TCP, COAP].map(|carrier| (Settings::Kinglet, carrier));
    let mut points = Vec::new();
    for (settings, carrier) in paper.into_iter().chain(ours) {
        for loss in LOSSES {
            let mut scenario = office(settings, 5, [carrier; 4], 64);
            scenario.duration_s = seconds(effort);
            if let Some(wire) = &mut scenario.wire {
                wire.loss = f64::from(loss) / 100.0;
            }
            points.push(Point {
                label: format!("{} loss={loss}", settings.series(carrier)),
                series: settings.series(carrier),
                x: f64::from(loss),
                scenario,
                metrics: with_estimates(carrier),
                timeline_s: None,
            });
        }
    }
    points.extend(answers_lost(effort));
    points.extend(OWN_LOSSES.map(|loss| own_tcp(effort, loss)));
    points.extend(causes(effort));
    points
}

/// All metrics: those of the office, those that the paper's driver counts in addition, and the
/// estimate of the round trip or timeout.
fn with_estimates(carrier: Carrier) -> &'static [Metric] {
    let estimate = match carrier {
        TCP => Metric::RttOf(carrier),
        _ => Metric::TimeoutOf(carrier),
    };
    // Plans are made only a few times in a run of the program.
    Box::leak([metrics(carrier), &counted(carrier), &[estimate]].concat().into_boxed_slice())
}

/// The highest loss with one change: without selective acknowledgements, by which TCP detects most
/// losses in time, or with loss only in the direction from the sensors.
fn causes(effort: Effort) -> Vec<Point> {
    let point = |(carrier, sack, answers)| {
        let mut scenario = office(Settings::Paper, 5, [carrier; 4], 64);
        scenario.duration_s = seconds(effort);
        scenario.tcp.connection.sack = sack;
        if let Some(wire) = &mut scenario.wire {
            wire.loss = 0.21;
            wire.loss_to_mesh = if answers { None } else { Some(0.0) };
        }
        let series = Settings::Paper.series(carrier);
        let loss = if answers { "loss=21" } else { "uplink_loss=21" };
        let suffix = if sack { "" } else { " sack=false" };
        Point {
            label: format!("{series} {loss}{suffix}"),
            series,
            x: 21.0,
            scenario,
            metrics: metrics(carrier),
            timeline_s: None,
        }
    };
    let cases = [(TCP, false, true), (TCP, true, false), (TCP, false, false), (COAP, true, false)];
    cases.map(point).into()
}

/// The paper's settings with Kinglet's TCP.
fn own_tcp(effort: Effort, loss: u32) -> Point {
    let mut scenario = office(Settings::Paper, 5, [TCP; 4], 64);
    scenario.duration_s = seconds(effort);
    scenario.tcp.stack = None;
    if let Some(wire) = &mut scenario.wire {
        wire.loss = f64::from(loss) / 100.0;
    }
    Point {
        label: format!("tcp loss={loss} stack=kinglet"),
        series: "Kinglet's TCP",
        x: f64::from(loss),
        scenario,
        metrics: with_estimates(TCP),
        timeline_s: None,
    }
}

/// Loses only acknowledgements and responses, but no data.
fn answers_lost(effort: Effort) -> Vec<Point> {
    let point = |(carrier, loss): (Carrier, u32)| {
        let mut scenario = office(Settings::Paper, 5, [carrier; 4], 64);
        scenario.duration_s = seconds(effort);
        if let Some(wire) = &mut scenario.wire {
            wire.loss_to_mesh = Some(f64::from(loss) / 100.0);
        }
        let series = Settings::Paper.series(carrier);
        let share = [Metric::RetransmittedShare(carrier)];
        Point {
            label: format!("{series} answers_lost={loss}"),
            series,
            x: f64::from(loss),
            scenario,
            // Plans are made only a few times in a run of the program.
            metrics: Box::leak([metrics(carrier), &share].concat().into_boxed_slice()),
            timeline_s: None,
        }
    };
    [TCP, COAP].into_iter().flat_map(|c| [6, 9, 12].map(|loss| (c, loss))).map(point).collect()
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    // Curves contain one point for each rate of loss.
    let other = ["answers_lost", "uplink_loss", "sack=false"];
    let curve = |row: &&Row| !other.iter().any(|other| row.label.contains(other));
    let both_ways: Vec<_> = result.rows.iter().filter(curve).cloned().collect();
    [
        ("reliability", "Readings that arrived"),
        ("retransmitted", "Segments and messages sent again, per sensor"),
        ("radio_duty_cycle", "Share of time with the radio on"),
        ("cpu_duty_cycle", "Share of time with the CPU working"),
        ("timeout", "First timeouts of messages are drawn from"),
        ("rtt", "TCP's round-trip times"),
    ]
    .into_iter()
    .filter_map(|(metric, title)| curves(&both_ways, metric, title, "injected loss, %"))
    .collect()
}
