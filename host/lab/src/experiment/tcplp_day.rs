//! §8.2.3 and §8.2.4: a 24-hour run in an office with people at work.

use super::radio_time;
use super::sense::{COAP, IDEAL, NON, Settings, TCP, bars, metrics, office};
use kinglet_scenario::{Carrier, Scenario};
use kinglet_sweep::chart::{Bars, Figure, curves};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;
use kinglet_sweep::row::Row;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-day",
    title: "A day in the office",
    source: "TCPlp §8.2.3, §8.2.4, Table 7, Fig. 11",
    question: "What does reliability cost over a day with people at work, with TCP, with CoAP, \
               without any of it, and for a protocol that is notified of losses without cost?",
    method: "The office with interference by the hour of the day, batches of 64, three-frame \
             segments and messages. TCP and CoAP share the air: of each pair of adjacent leaves \
             with the same first hop one has TCP and one CoAP, and a second point has them \
             exchanged. Kinglet's own settings on the same seeds: prediction, bursts, immediate \
             retransmission of losses reported by the link, five-frame segments.",
    threats: &[
        "Interference follows published models and an assumed profile of the day, not the paper's \
         building.",
        "The office is ours: the paper gives no distances.",
        "CPU time is that of the stack's instructions; the application, UDP, CoAP and the \
         interrupts of the real chip are not in it.",
        "Quick simulates less than an hour of the busy time.",
    ],
    main: "tcp",
    plan,
    refine,
    figures,
};

/// Frames per segment: the paper's and Kinglet's.
const fn frames(settings: Settings) -> u8 {
    match settings {
        Settings::Paper => 3,
        Settings::Kinglet => 5,
    }
}

/// Start of the run in hours after midnight, and its length in seconds.
const fn time(effort: Effort) -> (f64, f64) {
    match effort {
        Effort::Quick => (11.0, 600.0),
        Effort::Full => (0.0, 86_400.0),
    }
}

fn day(effort: Effort, settings: Settings, carriers: [Carrier; 4], batch: u16) -> Scenario {
    let mut scenario = office(settings, frames(settings), carriers, batch).by_day();
    (scenario.start_hour, scenario.duration_s) = time(effort);
    scenario
}

fn plan(effort: Effort) -> Vec<Point> {
    let point = |label: String, settings: Settings, carrier: Carrier, scenario: Scenario| Point {
        label,
        series: settings.series(carrier),
        x: 0.0,
        scenario,
        metrics: with_counted(carrier),
        timeline_s: None,
    };
    let mut points = Vec::new();
    for settings in [Settings::Paper, Settings::Kinglet] {
        for (suffix, carriers) in
            [("", [TCP, COAP, COAP, TCP]), (" swapped", [COAP, TCP, TCP, COAP])]
        {
            let scenario = day(effort, settings, carriers, 64);
            for carrier in [TCP, COAP] {
                let label = format!("{}{suffix}", settings.series(carrier));
                let metrics = with_hours(carrier);
                let point = point(label, settings, carrier, scenario.clone());
                points.push(Point { metrics, ..point });
            }
        }
        let scenario = day(effort, settings, [IDEAL; 4], 64);
        points.push(point(settings.series(IDEAL).to_owned(), settings, IDEAL, scenario));
    }
    for batch in [1, 64] {
        let scenario = day(effort, Settings::Paper, [NON; 4], batch);
        let label = format!("non-confirmable batch={batch}");
        points.push(point(label, Settings::Paper, NON, scenario));
    }
    points.extend(hours(effort));
    points.extend(radio_time::points(effort));
    points
}

/// Metrics of all carriers.
fn with_counted(carrier: Carrier) -> &'static [Metric] {
    let all = [metrics(carrier), &radio_time::counted(carrier)].concat();
    // Plans are made only a few times in a run of the program.
    Box::leak(all.into_boxed_slice())
}

/// Metrics of TCP and CoAP: also by night and during working hours.
fn with_hours(carrier: Carrier) -> &'static [Metric] {
    let hours = [Metric::RadioDutyCycleAtNight(carrier), Metric::RadioDutyCycleAtWork(carrier)];
    // Plans are made only a few times in a run of the program.
    Box::leak([with_counted(carrier), &hours].concat().into_boxed_slice())
}

/// Duty cycle of each hour, from runs that other points need anyway.
fn hours(effort: Effort) -> Vec<Point> {
    let (start, seconds) = time(effort);
    let mut points = Vec::new();
    for settings in [Settings::Paper, Settings::Kinglet] {
        let scenario = day(effort, settings, [TCP, COAP, COAP, TCP], 64);
        for carrier in [TCP, COAP] {
            let count = (seconds / 3_600.0).ceil() as u8;
            points.extend((0..count).map(|hour| {
                let x = start + f64::from(hour);
                Point {
                    label: format!("{} hour={x}", settings.series(carrier)),
                    series: settings.series(carrier),
                    x,
                    scenario: scenario.clone(),
                    // Plans are made only a few times in a run of the program.
                    metrics: Box::leak(Box::new([Metric::RadioDutyCycleInHour(carrier, hour)])),
                    timeline_s: None,
                }
            }));
        }
    }
    points
}

fn refine(rows: &mut Rows) {
    radio_time::refine(rows);
    // Table 7; for the ideal protocol the middle of 0.63 and 0.70 %.
    for (label, reliability, radio, cpu) in [
        ("tcp", Some(99.3), 2.29, Some(0.973)),
        ("coap", Some(99.5), 1.84, Some(0.834)),
        ("non-confirmable batch=1", Some(93.4), 1.13, Some(0.52)),
        ("non-confirmable batch=64", Some(95.3), 0.734, Some(0.30)),
        ("ideal", None, 0.665, None),
    ] {
        rows.paper(label, "radio_duty_cycle", radio);
        rows.paper(label, "radio_as_counted", radio);
        for (metric, value) in [("reliability", reliability), ("cpu_duty_cycle", cpu)] {
            value.into_iter().for_each(|value| rows.paper(label, metric, value));
        }
    }
}

/// Points compared with Table 7: label and name of the bar.
const EXTRA_POINTS: [(&str, &str); 7] = [
    ("tcp", "TCP, the paper's settings"),
    ("kinglet tcp", "TCP, Kinglet's"),
    ("kinglet tcp host=linux", "TCP, Kinglet's, to a host with Linux's TCP"),
    ("coap", "CoAP, the paper's settings"),
    ("kinglet coap", "CoAP, Kinglet's"),
    ("ideal", "no loss at all, the paper's settings"),
    ("kinglet ideal", "no loss at all, Kinglet's"),
];

/// Radio time compared with the paper's.
fn extra_points(result: &ExperimentResult) -> Figure {
    let metric = "radio_duty_cycle";
    let row = |label: &str| result.rows.iter().find(|r| r.label == label && r.metric == metric);
    let mut bars = Vec::new();
    for (label, name) in EXTRA_POINTS {
        let Some(row) = row(label) else { continue };
        let what = name.split(',').next().unwrap_or_default();
        bars.extend(row.paper.map(|paper| (format!("{what}, the paper"), vec![0.0, paper])));
        bars.push((name.to_owned(), vec![row.mean]));
    }
    Figure::Bars(Bars {
        title: "Share of the time in which a sensor's radio is on, 24 h, and the paper's Table 7"
            .to_owned(),
        unit: "% of the time".to_owned(),
        parts: vec!["here".to_owned(), "the paper".to_owned()],
        bars,
        marks: Vec::new(),
    })
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let day = |row: &&Row| !row.label.contains(" at=");
    let rows: Vec<_> = result.rows.iter().filter(day).cloned().collect();
    let mut figures = vec![extra_points(result)];
    figures.push(bars(&rows, "radio_duty_cycle", "Share of time with the radio on", &[]));
    let title = "The same as the paper's driver counts, and with single parameters changed";
    figures.push(bars(&result.rows, "radio_as_counted", title, &[]));
    let title = "Share of time with the radio on, by hour";
    figures.extend(curves(&result.rows, "radio_duty_cycle_in_hour", title, "hour of the day"));
    figures
}
