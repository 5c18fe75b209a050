//! Back-off and retries of the link layer on static routes.

use super::{
    OfPairs, RouteKind, STATIC_METRICS, Settings, THREATS, backoff_name, lengths, point, scenario,
    with_overlap,
};
use crate::backoff::EitherBackoff;
use crate::chart::{Figure, curves};
use crate::experiment::{Effort, Experiment, ExperimentResult, Metric, Point, Rows};
use crate::scenario::{Flow, FlowKind, Overlap, Scenario};

pub(in crate::experiment) const BACKOFF: Experiment = Experiment {
    id: "design-backoff",
    title: "Duration of the CSMA-CA backoff",
    source: "Design criteria, Figs. 2 and 3, §III-A1",
    question: "How much does the standard's exponential back-off gain over TinyOS's, which starts \
               long and continues short, by route length and window?",
    method: "44 kB between nodes one to several hops apart in the grid of sixty, buildings drawn \
             by the seed, on routes found by nst-AODV before the run; windows of 1, 4 and 8 \
             segments; 3 retries. At three hops also with other models of overlapping frames, and \
             with carrier sense that detects all transmissions. Shares of the channel: two \
             saturated senders to a third node.",
    threats: &THREATS,
    main: "hops=3 cwl=8 backoff=tinyos",
    plan: backoff_plan,
    refine: gains,
    figures: backoff_figures,
};

pub(in crate::experiment) const RETRIES: Experiment = Experiment {
    id: "design-retries",
    title: "Number of link retries",
    source: "Design criteria, Figs. 4 and 5, §III-A2",
    question: "How much do more retries gain, by route length and window, and what do they cost?",
    method: "As design-backoff with TinyOS's back-off, and 1, 3, 5 and 7 retries; windows of 1, 4 \
             and 8 segments.",
    threats: &THREATS,
    main: "hops=3 cwl=8 retries=3",
    plan: retries_plan,
    refine: |_| (),
    figures: retries_figures,
};

/// Windows of the paper's figures.
const WINDOWS: [u8; 3] = [1, 4, 8];
const BACKOFFS: [EitherBackoff; 2] = [EitherBackoff::TINYOS, EitherBackoff::EXPONENTIAL];
const RETRIES_OF: [u8; 4] = [1, 3, 5, 7];
/// Length of the routes on which other models of overlap are tried.
const OTHER_MODELS_HOPS: u32 = 3;

const fn series(backoff: EitherBackoff, window: u8) -> &'static str {
    match (backoff, window) {
        (EitherBackoff::TinyOs(_), 1) => "TinyOS, window 1",
        (EitherBackoff::TinyOs(_), 4) => "TinyOS, window 4",
        (EitherBackoff::TinyOs(_), _) => "TinyOS, window 8",
        (EitherBackoff::Exponential(_), 1) => "exponential, window 1",
        (EitherBackoff::Exponential(_), 4) => "exponential, window 4",
        (EitherBackoff::Exponential(_), _) => "exponential, window 8",
    }
}

fn backoff_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for window in WINDOWS {
        for backoff in BACKOFFS {
            for hops in lengths(effort) {
                let settings = Settings { backoff, window, ..Settings::ON_STATIC_ROUTES };
                let label = format!("hops={hops} cwl={window} backoff={}", backoff_name(backoff));
                let scenario = scenario(effort, settings, RouteKind::Static(*hops));
                let series = series(backoff, window);
                points.push(point(label, series, f64::from(*hops), scenario, STATIC_METRICS));
            }
        }
    }
    for overlap in [Overlap::Strict, Overlap::Capture] {
        for backoff in BACKOFFS {
            let settings = Settings { backoff, ..Settings::ON_STATIC_ROUTES };
            let (name, overlaps) = (backoff_name(backoff), overlap.name());
            let label = format!("hops={OTHER_MODELS_HOPS} cwl=8 backoff={name} overlap={overlaps}");
            let scenario = scenario(effort, settings, RouteKind::Static(OTHER_MODELS_HOPS));
            let scenario = with_overlap(scenario, overlap);
            points.push(point(
                label,
                "other overlaps",
                f64::from(OTHER_MODELS_HOPS),
                scenario,
                STATIC_METRICS,
            ));
        }
    }
    for backoff in BACKOFFS {
        let settings = Settings { backoff, ..Settings::ON_STATIC_ROUTES };
        let name = backoff_name(backoff);
        let label = format!("hops={OTHER_MODELS_HOPS} cwl=8 backoff={name} all heard");
        let mut scenario = scenario(effort, settings, RouteKind::Static(OTHER_MODELS_HOPS));
        scenario.medium.hidden_terminals = false;
        points.push(point(
            label,
            "all heard",
            f64::from(OTHER_MODELS_HOPS),
            scenario,
            STATIC_METRICS,
        ));
    }
    points.extend(BACKOFFS.map(contention));
    points
}

/// Simulated seconds of two contending nodes.
const CONTENTION_S: (f64, f64) = (5.0, 65.0);

/// Two nodes that send to a third one at full speed.
fn contention(backoff: EitherBackoff) -> Point {
    let base = scenario(
        Effort::Quick,
        Settings { backoff, ..Settings::ON_STATIC_ROUTES },
        RouteKind::Live,
    );
    let mut scenario = Scenario { pairs: None, ..base }.on_line(2, 1.0);
    scenario.medium = Scenario::default().medium;
    scenario.routing = crate::scenario::Routing::Static;
    scenario.duration_s = CONTENTION_S.1;
    scenario.flows = [0, 2].map(|from| Flow::new(1.0, FlowKind::datagrams(from, 1, 4, 60))).into();
    Point {
        label: format!("contention backoff={}", backoff_name(backoff)),
        series: "contention",
        x: 0.0,
        scenario,
        metrics: &[Metric::OfPairs(OfPairs::WonAgain)],
        timeline_s: Some(CONTENTION_S),
    }
}

/// Gain of the exponential back-off, in per cent.
fn gains(rows: &mut Rows) {
    for window in WINDOWS {
        for hops in 1..=16u32 {
            let at = |backoff| {
                let name = backoff_name(backoff);
                rows.mean(&format!("hops={hops} cwl={window} backoff={name}"), "goodput")
            };
            let [Some(tinyos), Some(exponential)] = BACKOFFS.map(at) else { continue };
            let gain = (exponential / tinyos - 1.0) * 100.0;
            let series = series(EitherBackoff::EXPONENTIAL, window);
            let label = format!("hops={hops} cwl={window}");
            rows.compute(&label, series, hops.into(), ("gain", "%"), gain);
        }
    }
}

fn backoff_figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "hops";
    [
        curves(&result.rows, "gain", "Gain in goodput of exponential back-off", x),
        curves(&result.rows, "failed_transmissions", "Transmissions that failed", x),
        curves(&result.rows, "dropped_frames", "Frames given up", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn retries_plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for window in WINDOWS {
        for retries in RETRIES_OF {
            for hops in lengths(effort) {
                let settings = Settings { retries, window, ..Settings::ON_STATIC_ROUTES };
                let label = format!("hops={hops} cwl={window} retries={retries}");
                let scenario = scenario(effort, settings, RouteKind::Static(*hops));
                let series = retries_series(window, retries);
                points.push(point(label, series, f64::from(*hops), scenario, STATIC_METRICS));
            }
        }
    }
    points
}

const fn retries_series(window: u8, retries: u8) -> &'static str {
    match (window, retries) {
        (1, 1) => "window 1, 1 retry",
        (1, 3) => "window 1, 3 retries",
        (1, 5) => "window 1, 5 retries",
        (1, _) => "window 1, 7 retries",
        (4, 1) => "window 4, 1 retry",
        (4, 3) => "window 4, 3 retries",
        (4, 5) => "window 4, 5 retries",
        (4, _) => "window 4, 7 retries",
        (_, 1) => "window 8, 1 retry",
        (_, 3) => "window 8, 3 retries",
        (_, 5) => "window 8, 5 retries",
        (..) => "window 8, 7 retries",
    }
}

fn retries_figures(result: &ExperimentResult) -> Vec<Figure> {
    let x = "hops";
    [
        curves(&result.rows, "goodput", "Goodput", x),
        curves(&result.rows, "rtt", "Round-trip time", x),
        curves(&result.rows, "success", "Transfers that ended", x),
    ]
    .into_iter()
    .flatten()
    .collect()
}
