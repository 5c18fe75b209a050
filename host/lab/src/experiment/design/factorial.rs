//! All settings together: main effects and interactions.
//!
//! The full design has 768 combinations for each kind of route. This experiment has an eighth of
//! them: the window follows from the other levels, so that the levels of any two factors occur
//! together (nearly) equally often. `experiments/design-factorial/sweep.toml` has all of them.

use super::{RouteKind, Settings, THREATS, point, scenario};
use kinglet::aodv;
use kinglet::tcp::Rto;
use kinglet_scenario::EitherBackoff;
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::effects::{Effects, Run};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::{Metric, OfPairs};

pub(in crate::experiment) const EXPERIMENT: Experiment = Experiment {
    id: "design-factorial",
    title: "All settings together",
    source: "Design criteria, §II and §IV: \"would exceed the limits of this paper\"",
    question: "Which settings matter, which only with others, and which of the paper's \
               recommendations remain valid with good values of the others?",
    method: "44 kB between random pairs of the grid, in an eighth of all combinations of \
             back-off, retries, metric, acknowledgements, timeout and window, on static and on \
             live routes. Effects are means of the logarithm of goodput over all combinations \
             with a level, against the mean over all. For comparison, the paper's defaults and \
             the best combination.",
    threats: &THREATS,
    main: "live defaults of the paper",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::OfPairs(OfPairs::Goodput),
    Metric::OfPairs(OfPairs::GoodputAt(2)),
    Metric::OfPairs(OfPairs::GoodputAt(4)),
    Metric::OfPairs(OfPairs::Success),
    Metric::OfPairs(OfPairs::Repairs),
];

/// Factors and the names of their levels.
const FACTORS: [(&str, &[&str]); 6] = [
    ("back-off", &["TinyOS", "exponential"]),
    ("retries", &["1", "3", "5", "7"]),
    ("metric", &["hop count", "PATH-DR"]),
    ("acks", &["cumulative", "positive"]),
    ("timeout", &["RFC 6298", "static", "semi-dynamic"]),
    ("window", &["1", "2", "3", "4", "5", "6", "7", "8"]),
];
/// Weights that generate the level of the window. They were found by trying all: with these, pairs
/// of levels are closest to equally frequent.
const GENERATOR: [usize; 5] = [1, 1, 2, 4, 3];

const ROUTE_KINDS: [(&str, RouteKind); 2] =
    [("static", RouteKind::Static), ("live", RouteKind::Live)];

/// The levels of every combination of the fraction.
fn combinations() -> Vec<[usize; 6]> {
    let mut all = vec![[0; 6]];
    for factor in 0..GENERATOR.len() {
        let levels = 0..FACTORS[factor].1.len();
        all = levels
            .flat_map(|level| {
                all.iter().map(move |before| {
                    let mut with = *before;
                    with[factor] = level;
                    with
                })
            })
            .collect();
    }
    for levels in &mut all {
        let sum: usize = levels.iter().zip(GENERATOR).map(|(level, times)| level * times).sum();
        levels[5] = sum % FACTORS[5].1.len();
    }
    all
}

fn settings(levels: [usize; 6]) -> Settings {
    let [backoff, retries, metric, acks, rto, window] = levels;
    Settings {
        backoff: [EitherBackoff::TINYOS, EitherBackoff::EXPONENTIAL][backoff],
        retries: [1, 3, 5, 7][retries],
        metric: [aodv::Metric::HopCount, aodv::Metric::PathDr][metric],
        positive_acks: acks == 1,
        rto: [Rto::AtLeast, Rto::Static, Rto::FirstRoundTrip][rto],
        window: window as u8 + 1,
    }
}

fn label(routes: &str, levels: [usize; 6]) -> String {
    let names = levels
        .iter()
        .zip(FACTORS)
        .map(|(level, (name, levels))| format!("{name}={}", levels[*level]));
    format!("{routes} {}", names.collect::<Vec<_>>().join(" "))
}

/// The best of 48 settings on live routes, by the mean of the logarithm of goodput over three
/// models of overlapping frames (tuning seeds 11 to 13;
/// `experiments/design-defaults/search-paper.toml`).
const TUNED: Settings = Settings {
    backoff: EitherBackoff::EXPONENTIAL,
    retries: 7,
    metric: aodv::Metric::HopCount,
    positive_acks: false,
    rto: Rto::AtLeast,
    window: 3,
};

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (name, routes) in ROUTE_KINDS {
        for levels in combinations() {
            // The quick plan has one kind of route and half of the combinations.
            if effort == Effort::Quick && (routes == RouteKind::Live || levels[4] == 1) {
                continue;
            }
            let scenario = fewer(scenario(effort, settings(levels), routes));
            points.push(point(label(name, levels), name, points.len() as f64, scenario, METRICS));
        }
        for (what, settings) in [("defaults of the paper", Settings::TABLE_1), ("tuned", TUNED)] {
            let scenario = scenario(effort, settings, routes);
            points.push(point(format!("{name} {what}"), "settings", 0.0, scenario, METRICS));
        }
    }
    points
}

/// The same with fewer pairs: there are many combinations, and each level occurs in many of them.
fn fewer(mut scenario: kinglet_scenario::Scenario) -> kinglet_scenario::Scenario {
    if let Some(pairs) = &mut scenario.pairs {
        pairs.count = pairs.count.min(MOST_PAIRS);
        scenario.duration_s = f64::from(pairs.count) * pairs.interval_s;
    }
    scenario
}

const MOST_PAIRS: u32 = 8;

fn refine(rows: &mut Rows) {
    for (name, _) in ROUTE_KINDS {
        for metric in ["goodput", "goodput_hops_2", "goodput_hops_4"] {
            let run = |levels: [usize; 6]| {
                let value = rows.mean(&label(name, levels), metric)?;
                Some(Run { levels: levels.to_vec(), value })
            };
            let runs: Vec<_> = combinations().into_iter().filter_map(run).collect();
            let counts = FACTORS.map(|(_, levels)| levels.len());
            if let Some(effects) = Effects::of(&runs, &counts) {
                add_effects(rows, name, metric, &effects);
            }
        }
    }
}

/// Adds effects and shares of the variance to the rows.
fn add_effects(rows: &mut Rows, routes: &'static str, metric: &str, effects: &Effects) {
    for (factor, (name, levels)) in FACTORS.iter().enumerate() {
        for (level, of) in levels.iter().enumerate() {
            let (effect, half) = effects.main(factor, level);
            let label = format!("{routes} {name}={of}");
            let row = rows.compute(
                &label,
                routes,
                level as f64,
                (&format!("{metric}_effect"), "%"),
                effect,
            );
            row.ci95 = Some(half);
        }
        let (best, share) = (effects.best(factor), effects.share(factor));
        let label = format!("{routes} {name}");
        rows.compute(&label, routes, factor as f64, (&format!("{metric}_variance"), "%"), share);
        rows.compute(
            &label,
            routes,
            factor as f64,
            (&format!("{metric}_best"), "level"),
            best as f64,
        );
    }
    for a in 0..FACTORS.len() {
        for b in a + 1..FACTORS.len() {
            let label = format!("{routes} {} and {}", FACTORS[a].0, FACTORS[b].0);
            let share = effects.shared((a, b));
            rows.compute(&label, routes, a as f64, (&format!("{metric}_variance"), "%"), share);
        }
    }
}

/// Share of the variance of each factor and each pair of factors.
fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let bars = |(routes, _): (&str, RouteKind)| {
        let rows =
            result.rows.iter().filter(|r| r.metric == "goodput_variance" && r.series == routes);
        let mut bars: Vec<_> = rows.map(|r| (r.label.clone(), vec![r.mean])).collect();
        bars.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        bars.truncate(12);
        Figure::Bars(Bars {
            title: format!("Variance of goodput by setting, {routes} routes"),
            unit: "% of the variance of its logarithm".to_owned(),
            parts: vec!["share".to_owned()],
            bars,
            marks: Vec::new(),
        })
    };
    let effects = |(routes, _): (&str, RouteKind)| {
        let rows =
            result.rows.iter().filter(|r| r.metric == "goodput_effect" && r.series == routes);
        let bars = rows.map(|r| (r.label.clone(), vec![r.mean])).collect();
        Figure::Bars(Bars {
            title: format!("Goodput of each level against the mean over all, {routes} routes"),
            unit: "%".to_owned(),
            parts: vec!["effect".to_owned()],
            bars,
            marks: Vec::new(),
        })
    };
    ROUTE_KINDS.map(bars).into_iter().chain(ROUTE_KINDS.map(effects)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn levels_of_two_factors_meet_about_equally_often() {
        let all = combinations();
        assert_eq!(all.len(), 96);
        for a in 0..FACTORS.len() {
            for b in a + 1..FACTORS.len() {
                let mut met: BTreeMap<(usize, usize), f64> = BTreeMap::new();
                for levels in &all {
                    *met.entry((levels[a], levels[b])).or_default() += 1.0;
                }
                let (of_a, of_b) = (FACTORS[a].1.len(), FACTORS[b].1.len());
                let even = 96.0 / (of_a * of_b) as f64;
                assert_eq!(met.len(), of_a * of_b, "{a} {b}");
                assert!(met.values().all(|count| (count - even).abs() <= 1.0), "{a} {b} {met:?}");
            }
        }
    }

    #[test]
    fn names_of_levels_are_those_of_the_settings() {
        let last = settings([1, 3, 1, 1, 2, 7]);
        assert_eq!(last.backoff, EitherBackoff::EXPONENTIAL);
        assert_eq!((last.retries, last.positive_acks, last.window), (7, true, 8));
        assert_eq!((last.metric, last.rto), (aodv::Metric::PathDr, Rto::FirstRoundTrip));
        let name = label("live", [1, 3, 1, 1, 2, 7]);
        assert_eq!(
            name,
            "live back-off=exponential retries=7 metric=PATH-DR acks=positive \
             timeout=semi-dynamic window=8"
        );
    }
}
