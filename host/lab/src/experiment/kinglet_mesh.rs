//! Batches, the 24-hour run and fairness in a mesh whose nodes discover their routes.

use super::sense::{COAP, Settings, TCP, bars, metrics, office, seconds};
use kinglet::net::{QueueDiscipline, Red};
use kinglet_scenario::{Carrier, Flow, FlowKind, Mss, NodeId, Routing, Scenario, Sensor};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-mesh",
    title: "The office with mesh routing",
    source: "own; TCPlp §8.2, §8.3 ran on Thread's mesh",
    question: "Do the results about batches, a working day and fairness stand if nodes find their \
               routes by what they hear, instead of having them from the start?",
    method: "Points of tcplp-batching (batches of 64 and single readings at night), tcplp-day (an \
             hour from 2:00 and one from 11:00, TCP and CoAP in the same air) and tcplp-red (four \
             sensors at saturation), with the paper's settings but Kinglet's TCP, and with all of \
             Kinglet's, each once with the mesh (docs/decisions/0020) and once with static \
             cheapest paths as the control. Leaves keep the parent that the paper gives them.",
    threats: &[
        "The mesh is ours: it has Thread's link qualities and costs, and is not Thread.",
        "The day is two hours of it; nothing moves and no node fails.",
    ],
    main: "tcp batch=64 routing=mesh",
    plan,
    refine,
    figures,
};

const ROUTINGS: [(&str, Routing); 2] = [("static", Routing::Static), ("mesh", Routing::Mesh)];
/// An hour without interference and a busy one.
const HOURS: [(&str, f64); 2] = [("night", 2.0), ("work", 11.0)];
/// Milliseconds between readings: 12 kb/s of each sensor.
const PERIOD_MS: u32 = 55;
const FAIRNESS: &[Metric] =
    &[Metric::Fairness, Metric::FairnessOfPairs, Metric::Median, Metric::LowerQuartile];

/// Leaves: nodes 12 to 15 of the paper.
const LEAVES: core::ops::Range<NodeId> = 11..15;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, routing) in ROUTINGS {
        let mut add = |label: &str, series, mut scenario: Scenario, metrics| {
            scenario.routing = routing;
            // FreeBSD's TCP is available only on nodes with static routes; both cases use
            // Kinglet's.
            scenario.tcp.stack = None;
            let label = format!("{label} routing={name}");
            points.push(Point { label, series, x: 0.0, scenario, metrics, timeline_s: None });
        };
        for (settings, carrier) in
            [(Settings::Paper, TCP), (Settings::Paper, COAP), (Settings::Kinglet, TCP)]
        {
            for batch in [1, 64] {
                let mut scenario = office(settings, 5, [carrier; 4], batch);
                scenario.duration_s = seconds(effort);
                let series = settings.series(carrier);
                add(&format!("{series} batch={batch}"), series, scenario, metrics(carrier));
            }
        }
        for (settings, frames) in [(Settings::Paper, 3), (Settings::Kinglet, 5)] {
            for (hour, start) in HOURS {
                let mut scenario = office(settings, frames, [TCP, COAP, COAP, TCP], 64).by_day();
                (scenario.start_hour, scenario.duration_s) = (start, seconds(effort));
                for carrier in [TCP, COAP] {
                    let series = settings.series(carrier);
                    let scenario = scenario.clone();
                    add(&format!("{series} at={hour}"), series, scenario, metrics(carrier));
                }
            }
        }
        let paper = event(effort, Carrier::Tcp, PERIOD_MS);
        add("saturated tcp", "saturated", paper.clone(), FAIRNESS);
        add("saturated kinglet tcp", "saturated", paper.as_kinglet(), FAIRNESS);
    }
    points
}

/// All leaves of the office send a reading to the host every `period_ms`.
fn event(effort: Effort, carrier: Carrier, period_ms: u32) -> Scenario {
    let mut scenario = Scenario::office().as_tcplp();
    // The first interval of 40 s and four more; two more in a quick run.
    scenario.duration_s = match effort {
        Effort::Quick => 120.0,
        Effort::Full => 200.0,
    };
    scenario.net.queue = QueueDiscipline::Red(Red::DEFAULT);
    scenario.tcp.mss = Mss::Frames(3);
    scenario.tcp.connection.ecn = true;
    let to = scenario.host();
    let kind = |from| {
        let sensor = Sensor { period_ms, batch: 1, ..Sensor::new(from, to, carrier) };
        FlowKind::Anemometer(sensor)
    };
    scenario.flows = LEAVES.map(|leaf| Flow::new(1.0, kind(leaf))).collect();
    scenario
}

/// Cost or gain of the mesh compared with the control.
fn refine(rows: &mut Rows) {
    for row in rows.all.clone() {
        let Some(point) = row.label.strip_suffix(" routing=mesh") else { continue };
        let control = rows.mean(&format!("{point} routing=static"), &row.metric);
        let control = control.filter(|control| *control > 0.0);
        if let Some(control) = control {
            let metric = format!("{}_by_static", row.metric);
            rows.compute(&row.label, row.series, 0.0, (&metric, "1"), row.mean / control);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let title = "Share of time with the radio on, mesh and static paths";
    vec![bars(&result.rows, "radio_duty_cycle", title, &[])]
}
