//! Bulk transfers from and to a sleepy leaf, compared with polling every 100 ms, over a grid of all
//! relevant parameters.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Figure, curves};
use crate::scenario::{Buffer, Flow, Role, Scenario, polling_every};
use kinglet::Polling;
use kinglet::time::Duration;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "kinglet-asleep",
    title: "Bulk transfers of a leaf that sleeps",
    source: "own",
    question: "Does a leaf that polls when a response is due reach the goodput of one that polls \
               every 100 ms, at no more radio time, for every direction, number of hops, sleep \
               interval and window?",
    method: "Bulk transfer from a leaf to the border router and back, over 1 to 5 hops, windows \
             of 4, 6 and 8 segments of five frames, sleep intervals of 0.1 to 240 s (to the leaf: \
             10 s); all defaults. For comparison, a data request every 100 ms while a response is \
             expected. A minute, plus the sleep interval before the leaf learns of the connection.",
    threats: &[
        "No other traffic, no interference, and no delayed responses: the response of a distant \
         host comes later, but equally for both.",
    ],
    main: "up hops=3 window=4 sleep_ms=1000 poll=due",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

const METRICS: &[Metric] = &[Metric::Goodput, Metric::LeafRadioPerKb, Metric::Rtt];
const HOPS: [u32; 5] = [1, 2, 3, 4, 5];
const WINDOWS: [u16; 3] = [4, 6, 8];
const SLEEPS_MS: [u32; 4] = [100, 1_000, 10_000, 240_000];
const DIRECTIONS: [&str; 2] = ["up", "down"];
/// Values of the quick plan.
const QUICK: ([u32; 2], u16, u32) = ([1, 3], 4, 1_000);

fn label(direction: &str, hops: u32, window: u16, sleep_ms: u32, schedule: &str) -> String {
    format!("{direction} hops={hops} window={window} sleep_ms={sleep_ms} poll={schedule}")
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    let (quick_hops, quick_window, quick_sleep) = QUICK;
    for direction in DIRECTIONS {
        for (hops, window) in HOPS.into_iter().flat_map(|h| WINDOWS.map(|w| (h, w))) {
            for sleep_ms in SLEEPS_MS {
                let quick =
                    quick_hops.contains(&hops) && (window, sleep_ms) == (quick_window, quick_sleep);
                // A connection attempt times out before the longest interval ends.
                let reached = direction == "up" || sleep_ms <= 10_000;
                if reached && (effort == Effort::Full || quick) {
                    points.extend(pair(effort, direction, (hops, window, sleep_ms)));
                }
            }
        }
    }
    points
}

/// A leaf that polls when a response is expected, and one that polls every 100 ms.
fn pair(
    effort: Effort,
    direction: &'static str,
    (hops, window, sleep_ms): (u32, u16, u32),
) -> [Point; 2] {
    let base = Duration::from_millis(sleep_ms.into());
    let fixed = polling_every(Polling::TCPLP, base);
    [("due", Polling::Predictive { base }), ("fixed", fixed)].map(|(schedule, polling)| {
        let mut scenario = asleep(effort, hops, window, sleep_ms);
        scenario.polling = polling;
        let down = direction == "down";
        scenario.flows = vec![if down { Flow::bulk(0, hops) } else { Flow::bulk(hops, 0) }];
        Point {
            label: label(direction, hops, window, sleep_ms, schedule),
            series: match (schedule, down) {
                ("due", false) => "when due",
                ("due", true) => "when due, down",
                (_, false) => "every 100 ms",
                (_, true) => "every 100 ms, down",
            },
            x: f64::from(hops),
            scenario,
            metrics: METRICS,
            timeline_s: None,
        }
    })
}

fn asleep(effort: Effort, hops: u32, window: u16, sleep_ms: u32) -> Scenario {
    let mut scenario = line_scenario(effort, hops, 40).as_kinglet();
    scenario.duration_s = 60.0 + f64::from(sleep_ms) / 1e3;
    if let Some(last) = scenario.nodes.last_mut() {
        last.role = Role::Leaf;
    }
    scenario.tcp.send_buffer = Buffer::Segments(window);
    scenario.tcp.receive_buffer = Buffer::Segments(window);
    scenario
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let shown = |label: &str| label.contains("window=4 sleep_ms=1000 ");
    let rows: Vec<_> = result.rows.iter().filter(|row| shown(&row.label)).cloned().collect();
    let title = "Goodput of a leaf that sleeps, window of four segments";
    curves(&rows, "goodput", title, "hops").into_iter().collect()
}
