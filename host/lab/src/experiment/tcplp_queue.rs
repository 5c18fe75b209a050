//! §8.2.3: behaviour of the parent while a leaf waits.

use super::sense::{COAP, Settings, TCP, bars, metrics, office};
use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::chart::Figure;
use crate::scenario::{Carrier, tcplp};
use kinglet::mac::Indirect;
use kinglet_sim::ledger::Cause;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-queue",
    title: "A leaf that waits goes first",
    source: "TCPlp §8.2.3, Table 1",
    question: "What does a leaf's radio cost if its parent first finishes the frame in progress, \
               and if the leaf's frame may be sent between its attempts, with retries of its own?",
    method: "The office in its busiest hours, TCP and CoAP side by side, batches of 64, \
             three-frame segments, the paper's polling. OpenThread's one attempt; the same with \
             pre-emption; and with five attempts up to 20 ms apart.",
    threats: &[
        "Interference follows published models and an assumed profile of the day, not the paper's \
         building.",
        "The paper's stock OpenThread handled one message after the other in other respects too.",
    ],
    main: "tcp queue=stock",
    plan,
    refine,
    figures,
};

/// Start of the run in hours after midnight.
const BUSY: f64 = 11.0;

fn plan(effort: Effort) -> Vec<Point> {
    let stock = Indirect::DEFAULT;
    let variants = [
        ("stock", stock),
        ("preempt", Indirect { preempt: true, ..stock }),
        ("retries", Indirect { preempt: false, ..tcplp::INDIRECT }),
        ("both", tcplp::INDIRECT),
    ];
    let mut points = Vec::new();
    for (x, (name, indirect)) in variants.into_iter().enumerate() {
        let mut scenario = office(Settings::Paper, 3, [TCP, COAP, COAP, TCP], 64).by_day();
        scenario.mac.indirect = indirect;
        scenario.start_hour = BUSY;
        scenario.duration_s = match effort {
            Effort::Quick => 600.0,
            Effort::Full => 7_200.0,
        };
        for carrier in [TCP, COAP] {
            let series = Settings::Paper.series(carrier);
            points.push(Point {
                label: format!("{series} queue={name}"),
                series,
                x: x as f64,
                scenario: scenario.clone(),
                metrics: with_listening(carrier),
                timeline_s: None,
            });
        }
    }
    points
}

/// All metrics, including the one that the queue affects: the time in which a leaf waits for its
/// parent.
fn with_listening(carrier: Carrier) -> &'static [Metric] {
    let listening = [Metric::RadioFor(carrier, Cause::Listen)];
    // Plans are made only a few times in a run of the program.
    Box::leak([metrics(carrier), &listening].concat().into_boxed_slice())
}

fn refine(rows: &mut Rows) {
    rows.paper("tcp queue=stock", "radio_duty_cycle", 3.0);
    rows.paper("tcp queue=preempt", "radio_duty_cycle", 2.0);
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let marks = [("paper, stock", 3.0), ("paper, pre-emption", 2.0)];
    vec![bars(&result.rows, "radio_duty_cycle", "Share of time with the radio on", &marks)]
}
