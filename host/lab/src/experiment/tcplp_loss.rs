//! §8.2.2: packets lost at the border router.

use super::sense::{COAP, COCOA, IDEAL, Settings, TCP, metrics, office, seconds};
use super::{Effort, Experiment, ExperimentResult, Point, Rows};
use crate::chart::{Figure, curves};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-loss",
    title: "Sense and send while packets are lost",
    source: "TCPlp §8.2.2, Fig. 10",
    question: "How do reliability, retransmissions, radio and CPU change if up to 21 % of all \
               packets are lost after link retries and reassembly?",
    method: "The office at night, four sensors at once with the same protocol, batches of 64, \
             five-frame segments and messages. Every packet is lost with the given probability on \
             the wire behind the border router, both ways. Kinglet's own settings beside.",
    threats: &[
        "The office is ours: the paper gives no distances.",
        "The paper does not say whether both directions lose; here they do.",
        "A CoAP message that was given up begins anew here, so that only a full queue loses \
         readings, as the paper says; its published code goes on with the next message.",
    ],
    main: "tcp loss=9",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

/// Loss in per cent.
const LOSSES: [u32; 8] = [0, 3, 6, 9, 12, 15, 18, 21];

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
                metrics: metrics(carrier),
                timeline_s: None,
            });
        }
    }
    points
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    [
        ("reliability", "Readings that arrived"),
        ("resent", "Segments and messages sent again, per sensor"),
        ("radio_duty_cycle", "Share of time with the radio on"),
        ("cpu_duty_cycle", "Share of time with the CPU working"),
    ]
    .into_iter()
    .filter_map(|(metric, title)| curves(&result.rows, metric, title, "injected loss, %"))
    .collect()
}
