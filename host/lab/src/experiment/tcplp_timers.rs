//! App. A.2: timers that are served at their deadlines, compared with a tick and a shared queue.

use super::nothing_to_simulate;
use crate::experiment::{InRust, readme};
use crate::timers::{Course, Found, Service, run};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{ExperimentResult, Rows};
use kinglet_sweep::stats::Estimate;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "tcplp-timers",
    readme: readme!("tcplp-timers"),
    source: "TCPlp App. A.2",
    main: "",
    plan: nothing_to_simulate,
    refine,
    figures,
};

const SERVICES: [(&str, Service); 4] = [
    ("deadline", Service::Deadline),
    ("tick_ms=200", Service::Tick(200)),
    ("tick_ms=500", Service::Tick(500)),
    ("shared-queue", Service::SharedQueue(8)),
];
/// Start and end of the flood, if there is one, in seconds.
type Flood = Option<(u64, u64)>;
/// Name of a transfer with 5 % loss, whether it is idle, and its flood.
const COURSES: [(&str, bool, Flood); 3] =
    [("idle", true, None), ("loss=5", false, None), ("loss=5 flood", false, Some((120, 180)))];
/// Fixed seeds, independent of those of other experiments; nothing else is random.
const SEEDS: [u64; 5] = [101, 102, 103, 104, 105];
const SECONDS: u64 = 300;

type Value = fn(&Found) -> f64;
const VALUES: [(&str, &str, Value); 5] = [
    ("goodput", "kb/s", |found| found.goodput_kbps),
    ("goodput_at_end", "kb/s", |found| found.last_kbps),
    ("wake_ups", "per second", |found| found.wake_ups_per_s),
    ("late", "ms", |found| found.late_ms),
    ("expiries_lost", "events", |found| found.dropped as f64),
];

fn refine(rows: &mut Rows) {
    for (what, idle, flood_s) in COURSES {
        for (service_name, service) in SERVICES {
            let run =
                |seed| run(Course { service, loss: 0.05, idle, flood_s, seconds: SECONDS, seed });
            let found = SEEDS.map(run);
            for (metric, unit, value) in VALUES {
                let values: Vec<f64> = found.iter().map(value).collect();
                let Some(estimate) = Estimate::from_values(&values) else { continue };
                let label = format!("timers={service_name} {what}");
                rows.compute(&label, "timers", 0.0, (metric, unit), estimate.mean).ci95 =
                    estimate.ci95;
            }
        }
    }
}

fn figures(_: &ExperimentResult) -> Vec<Figure> {
    Vec::new()
}
