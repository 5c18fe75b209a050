//! Bandwidth estimates in place of a fixed limit of the window.

use super::{LIVE_METRICS, RouteKind, STATIC_METRICS, Settings, THREATS, lengths, point, scenario};
use crate::chart::{Figure, curves};
use crate::control::Control;
use crate::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use crate::scenario::{Scenario, Tcp};
use kinglet::tcp::ConnectionConfig;

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "design-bandwidth",
    title: "Estimating the capacity of a route, or limiting the window",
    source: "own question, after design criteria, §III-C3",
    question: "Does a sender that estimates the bandwidth reach a higher goodput than one whose \
               window has the best fixed limit for the length of the route?",
    method: "44 kB between nodes one to several hops apart in the grid on static routes, and \
             between random pairs with nst-AODV, both by PATH-DR; TinyOS's back-off, 3 retries. \
             New Reno with a limit of 1 to 8 segments; Westwood+ and a window of one and a half \
             times rate by round trip, limited only by buffers of 8 segments.",
    threats: &THREATS,
    main: "live cwl=2",
    plan,
    refine,
    figures,
};

/// Fixed limits in segments.
const LIMITS: std::ops::RangeInclusive<u8> = 1..=8;
/// Controllers without a fixed limit, and their names in results.
const ESTIMATES: [(Control, &str, &str); 2] =
    [(Control::Westwood, "westwood", "Westwood+"), (Control::Rate, "rate", "by rate samples")];

const fn limit_name(window: u8) -> &'static str {
    match window {
        1 => "window 1",
        2 => "window 2",
        3 => "window 3",
        4 => "window 4",
        5 => "window 5",
        6 => "window 6",
        7 => "window 7",
        _ => "window 8",
    }
}

/// The same with a sender that estimates.
fn estimating(scenario: Scenario, congestion: Control) -> Scenario {
    let connection = ConnectionConfig { window_limit: 0, ..scenario.tcp.connection };
    Scenario { tcp: Tcp { congestion, connection, ..scenario.tcp }, ..scenario }
}

/// Positions in the figures: lengths of static routes, and 0 for live ones.
fn places(effort: Effort) -> impl Iterator<Item = (String, u32, RouteKind)> {
    let fixed =
        lengths(effort).iter().map(|hops| (of_length(*hops), *hops, RouteKind::Static(*hops)));
    fixed.chain([("live".to_owned(), 0, RouteKind::Live)])
}

fn of_length(hops: u32) -> String {
    format!("hops={hops}")
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (place, x, routes) in places(effort) {
        let metrics = if routes == RouteKind::Live { LIVE_METRICS } else { STATIC_METRICS };
        for window in LIMITS {
            let settings = Settings { window, ..Settings::ON_STATIC_ROUTES };
            let scenario = scenario(effort, settings, routes);
            let label = format!("{place} cwl={window}");
            points.push(point(label, limit_name(window), x.into(), scenario, metrics));
        }
        for (control, name, series) in ESTIMATES {
            let scenario = scenario(effort, Settings::ON_STATIC_ROUTES, routes);
            let scenario = estimating(scenario, control);
            let label = format!("{place} {name}");
            points.push(point(label, series, x.into(), scenario, metrics));
        }
    }
    points
}

/// Gain of the estimates over the best fixed limit of each place, in per cent.
fn refine(rows: &mut Rows) {
    for (place, x, _) in places(Effort::Full) {
        let at = |window| rows.mean(&format!("{place} cwl={window}"), "goodput");
        let best = LIMITS.filter_map(at).fold(0.0, f64::max);
        for (_, name, series) in ESTIMATES {
            let label = format!("{place} {name}");
            let Some(goodput) = rows.mean(&label, "goodput").filter(|_| best > 0.0) else {
                continue;
            };
            let gain = (goodput / best - 1.0) * 100.0;
            rows.compute(&label, series, x.into(), ("gain", "%"), gain);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "hops of static routes; 0: live";
    [
        curves(&result.rows, "goodput", "Goodput", x),
        curves(&result.rows, "gain", "Gain in goodput of estimates over the best limit", x),
        curves(&result.rows, "rtt", "Round-trip time", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}
