//! Acknowledgements, timeouts and windows of the transport.

use super::{LIVE_METRICS, RouteKind, STATIC_METRICS, Settings, THREATS, lengths, point, scenario};
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Point};
use kinglet::tcp::Rto;

pub(in crate::experiment) const ACKS: Experiment = Experiment {
    id: "design-acks",
    title: "One acknowledgement for each segment, or cumulative ones",
    source: "Design criteria, Fig. 7, §III-C1",
    question: "How much do acknowledgements gain that cover all segments received until they \
               leave?",
    method: "44 kB between random pairs of the grid on static routes by PATH-DR; windows of 1 to \
             8 segments; TinyOS's back-off, 3 retries.",
    threats: &THREATS,
    main: "acks=cumulative cwl=8",
    plan: acks_plan,
    refine: |_| (),
    figures: by_window,
};

pub(in crate::experiment) const RTO: Experiment = Experiment {
    id: "design-rto",
    title: "Rules of the retransmission timeout",
    source: "Design criteria, Fig. 8, §III-C2",
    question: "Is a timeout drawn once from 2 to 3 s as good as one that follows round trips, or \
               one of four times the handshake's round trip?",
    method: "44 kB between nodes one to several hops apart in the grid on static routes; windows \
             of 1, 4 and 8 segments; TinyOS's back-off, 3 retries.",
    threats: &THREATS,
    main: "hops=3 cwl=8 rto=rfc6298",
    plan: rto_plan,
    refine: |_| (),
    figures: by_hops,
};

pub(in crate::experiment) const WINDOW: Experiment = Experiment {
    id: "design-window",
    title: "Limit of the congestion window",
    source: "Design criteria, Fig. 9, §III-C3",
    question: "From which window on does goodput not grow, by route length, and what does a \
               larger one cost where routing mistakes contention for broken links?",
    method: "44 kB between nodes one to several hops apart in the grid on static routes, and \
             between 31 random pairs with nst-AODV and PATH-DR; windows of 1 to 8 segments; \
             TinyOS's back-off, 3 retries.",
    threats: &THREATS,
    main: "live cwl=5",
    plan: window_plan,
    refine: |_| (),
    figures: by_window,
};

fn acks_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, positive_acks) in [("cumulative", false), ("positive", true)] {
        for window in 1..=8 {
            let settings = Settings { positive_acks, window, ..Settings::ON_STATIC_ROUTES };
            let scenario = scenario(effort, settings, RouteKind::StaticOfAnyLength);
            let label = format!("acks={name} cwl={window}");
            points.push(point(label, name, window.into(), scenario, STATIC_METRICS));
        }
    }
    points
}

fn rto_plan(effort: Effort) -> Vec<Point> {
    let rules =
        [("rfc6298", Rto::AtLeast), ("static", Rto::Static), ("semi-dynamic", Rto::FirstRoundTrip)];
    let mut points = Vec::new();
    for window in [1, 4, 8] {
        for (name, rto) in rules {
            for hops in lengths(effort) {
                let settings = Settings { rto, window, ..Settings::ON_STATIC_ROUTES };
                let scenario = scenario(effort, settings, RouteKind::Static(*hops));
                let label = format!("hops={hops} cwl={window} rto={name}");
                points.push(point(
                    label,
                    rto_series(window, rto),
                    (*hops).into(),
                    scenario,
                    STATIC_METRICS,
                ));
            }
        }
    }
    points
}

const fn rto_series(window: u8, rto: Rto) -> &'static str {
    match (window, rto) {
        (1, Rto::Static) => "window 1, static",
        (1, Rto::FirstRoundTrip) => "window 1, semi-dynamic",
        (1, _) => "window 1, RFC 6298",
        (4, Rto::Static) => "window 4, static",
        (4, Rto::FirstRoundTrip) => "window 4, semi-dynamic",
        (4, _) => "window 4, RFC 6298",
        (_, Rto::Static) => "window 8, static",
        (_, Rto::FirstRoundTrip) => "window 8, semi-dynamic",
        (..) => "window 8, RFC 6298",
    }
}

fn window_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for hops in lengths(effort) {
        let routes = RouteKind::Static(*hops);
        for (name, settings, x) in windows() {
            let label = format!("hops={hops} cwl={name}");
            let series = if settings.by_distance { "by distance" } else { of_length(*hops) };
            points.push(point(
                label,
                series,
                x,
                scenario(effort, settings, routes),
                STATIC_METRICS,
            ));
        }
    }
    for (name, settings, x) in windows() {
        let scenario = scenario(effort, settings, RouteKind::Live);
        let series = if settings.by_distance { "live, by distance" } else { "live" };
        points.push(point(format!("live cwl={name}"), series, x, scenario, LIVE_METRICS));
    }
    points
}

/// Fixed windows, and one derived from the number of hops.
fn windows() -> Vec<(String, Settings, f64)> {
    let fixed = (1..=8).map(|window| {
        let settings = Settings { window, ..Settings::ON_STATIC_ROUTES };
        (window.to_string(), settings, f64::from(window))
    });
    let by_distance = Settings { by_distance: true, ..Settings::ON_STATIC_ROUTES };
    fixed.chain([("distance".to_owned(), by_distance, 0.0)]).collect()
}

const fn of_length(hops: u32) -> &'static str {
    match hops {
        1 => "1 hop",
        2 => "2 hops",
        3 => "3 hops",
        4 => "4 hops",
        _ => "5 hops",
    }
}

fn by_window(result: &ExperimentResult) -> Vec<Figure> {
    let x = "congestion window limit, segments";
    let figures = [
        curves(&result.rows, "goodput", "Goodput", x),
        curves(&result.rows, "rtt", "Round-trip time", x),
        curves(&result.rows, "repairs", "Repeated route discoveries", x),
        curves(&result.rows, "goodput_hops_4", "Goodput of live routes of four hops", x),
    ];
    figures.into_iter().flatten().collect()
}

fn by_hops(result: &ExperimentResult) -> Vec<Figure> {
    [
        curves(&result.rows, "goodput", "Goodput", "hops"),
        curves(&result.rows, "timeouts", "Expiries of the timer", "hops"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
