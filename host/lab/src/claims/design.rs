//! Tests of the claims of "design criteria" about its settings.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::stats::rank_correlation;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "design.fig2.beb-cwl1" => gain_with_window_1,
        "design.fig2.beb-cwl8" => gain_with_windows,
        "design.fig3.beb-failures" => failures,
        "design.backoff.fairness" => won_again,
        "design.retries.cwl1" => retries_alone,
        "design.fig4a.retries-goodput" => retries_goodput,
        "design.fig4b.retries-rtt" => retries_rtt,
        "design.fig5.success99" => success,
        "design.fig6a.route-length" => path_lengths,
        "design.fig6b.success" => metric_success,
        "design.fig6c.goodput" => metric_goodput,
        "design.fig7a.cumack-goodput" => acks_goodput,
        "design.fig7b.cumack-rtt" => acks_rtt,
        "design.fig8.rto-algorithms" => timeouts,
        "design.fig8.onehop" => timeouts_over_one_hop,
        "design.fig8.cwl1" => timeouts_alone,
        "design.fig9a.cwl-static" => flattens,
        "design.fig9b.cwl-dynamic" => falls,
        "kinglet.design-bandwidth" => estimates,
        "design.headline.defaults-not-best" => headline,
        "kinglet.design-window" => window_by_hops,
        "kinglet.design-link-failure" => link_failure,
        "kinglet.design-multiflow" => multiflow,
        "kinglet.design-defaults" => defaults,
        _ => return None,
    })
}

/// Route lengths; the quick plan omits some.
const HOPS: std::ops::RangeInclusive<u32> = 1..=6;
const RETRIES: [u32; 4] = [1, 3, 5, 7];

/// Values at every route length in the results.
fn over_hops(
    t: &Table<'_>,
    metric: &str,
    label: impl Fn(u32) -> String,
) -> Option<Vec<(f64, f64)>> {
    let at = |hops| Some((f64::from(hops), t.mean(&label(hops), metric)?));
    let values: Vec<_> = HOPS.filter_map(at).collect();
    (values.len() > 1).then_some(values)
}

fn mean(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|(_, value)| value).sum::<f64>() / values.len().max(1) as f64
}

fn least(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
}

fn most(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max)
}

fn gain(t: &Table<'_>, window: u32) -> Option<Vec<(f64, f64)>> {
    over_hops(t, "gain", |hops| format!("hops={hops} cwl={window}"))
}

fn gain_with_window_1(t: &Table<'_>) -> Option<Finding> {
    let gain = gain(t, 1)?;
    let rank = rank_correlation(&gain)?;
    let far = gain.last()?.1;
    Bounds::default()
        .above("% at the worst length", least(&gain), 0.0)
        .above("rank correlation of gain and hops", rank, 0.0)
        .found(far, format!("over one hop {:.0} %", gain.first()?.1))
}

fn variance(values: &[(f64, f64)]) -> f64 {
    let middle = mean(values);
    let squares = values.iter().map(|(_, value)| (value - middle).powi(2));
    squares.sum::<f64>() / values.len().max(1) as f64
}

fn gain_with_windows(t: &Table<'_>) -> Option<Finding> {
    let [one, four, eight] = [gain(t, 1)?, gain(t, 4)?, gain(t, 8)?];
    let name = |overlap, backoff| {
        t.mean(&format!("hops=3 cwl=8 backoff={backoff} overlap={overlap}"), "goodput")
    };
    let beside = |overlap| Some((name(overlap, "beb")? / name(overlap, "tinyos")? - 1.0) * 100.0);
    let (strict, capture) = (beside("strict")?, beside("capture")?);
    let heard = |backoff| t.mean(&format!("hops=3 cwl=8 backoff={backoff} all heard"), "goodput");
    let heard = (heard("beb")? / heard("tinyos")? - 1.0) * 100.0;
    Bounds::default()
        .at_least("% mean with window 4", mean(&four), 0.0)
        .at_least("% mean with window 8", mean(&eight), 0.0)
        .above("variance over lengths with window 8", variance(&eight), variance(&one))
        .found(
            mean(&eight),
            format!(
                "window 4 {:.0} %; over three hops with other overlaps {strict:.0} and \
                 {capture:.0} %, and {heard:.0} % where carrier sense hears all",
                mean(&four)
            ),
        )
}

fn failures(t: &Table<'_>) -> Option<Finding> {
    let failed = |window, backoff: &str| {
        let label = |hops| format!("hops={hops} cwl={window} backoff={backoff}");
        over_hops(t, "failed_transmissions", label).map(|values| mean(&values))
    };
    let [one, four, eight] = [failed(1, "beb")?, failed(4, "beb")?, failed(8, "beb")?];
    let [tinyos_4, tinyos_8] = [failed(4, "tinyos")?, failed(8, "tinyos")?];
    Bounds::default()
        .at_least("% with window 4", four, tinyos_4)
        .at_least("% with window 8", eight, tinyos_8)
        .above("% with window 4", four, one)
        .at_least("% with window 8", eight, four)
        .found(eight, format!("TinyOS {tinyos_8:.1} %; windows 1 and 4 {one:.1}, {four:.1} %"))
}

fn won_again(t: &Table<'_>) -> Option<Finding> {
    let at = |backoff: &str| t.mean(&format!("contention backoff={backoff}"), "won_again");
    let (exponential, tinyos) = (at("beb")?, at("tinyos")?);
    Bounds::default()
        .above("% with exponential back-off", exponential, tinyos)
        .found(exponential, format!("TinyOS {tinyos:.1} %"))
}

fn by_retries(t: &Table<'_>, metric: &str, window: u32) -> Option<Vec<(f64, f64)>> {
    let at = |retries| {
        let label = |hops| format!("hops={hops} cwl={window} retries={retries}");
        Some((f64::from(retries), mean(&over_hops(t, metric, label)?)))
    };
    RETRIES.into_iter().map(at).collect()
}

/// Relative decrease between points up to which a curve does not count as falling: the mean of
/// fifteen transfers is no more precise.
const NOISE: f64 = 0.02;

fn does_not_fall(values: &[(f64, f64)]) -> bool {
    values.windows(2).all(|pair| pair[1].1 >= pair[0].1 * (1.0 - NOISE))
}

fn retries_alone(t: &Table<'_>) -> Option<Finding> {
    let goodput = by_retries(t, "goodput", 1)?;
    let spread = (most(&goodput) / least(&goodput) - 1.0) * 100.0;
    Bounds::default()
        .below("% between the best and the worst", spread, 5.0)
        .found(spread, "goodput with a window of one segment".to_owned())
}

fn retries_goodput(t: &Table<'_>) -> Option<Finding> {
    let [four, eight] = [by_retries(t, "goodput", 4)?, by_retries(t, "goodput", 8)?];
    let gain = eight.last()?.1 / eight.get(1)?.1;
    Bounds::default()
        .is(does_not_fall(&four), "with window 4 goodput falls somewhere as retries grow")
        .is(does_not_fall(&eight), "with window 8 goodput falls somewhere as retries grow")
        .above("times that of 3 retries, with 7", gain, 1.0)
        .found(gain, "7 retries against 3, window 8".to_owned())
}

fn retries_rtt(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let mut grown = 0.0;
    for window in [4, 8] {
        let rtt = by_retries(t, "rtt", window)?;
        let [one, three, five, seven] = rtt.as_slice() else { return None };
        grown = seven.1 / three.1;
        let (first, then) = (three.1 - one.1, five.1 - three.1);
        bounds = bounds.above(&format!("ms from 3 to 5 retries, window {window},"), then, first);
        bounds = bounds.above(&format!("ms with 7 retries, window {window},"), seven.1, three.1);
    }
    bounds.found(grown, "round trips with 7 retries against 3, window 8".to_owned())
}

fn success(t: &Table<'_>) -> Option<Finding> {
    let [four, eight] = [by_retries(t, "success", 4)?, by_retries(t, "success", 8)?];
    let (worst, few) = (four.last()?.1.min(eight.last()?.1), eight.first()?.1);
    Bounds::default()
        .at_least("% with 7 retries", worst, 97.0)
        .is(does_not_fall(&four) && does_not_fall(&eight), "it falls somewhere as retries grow")
        .found(worst, format!("with 1 retry {few:.0} %"))
}

/// Values of both metrics at every window.
fn by_metric(t: &Table<'_>, metric: &str) -> Option<Vec<(f64, f64)>> {
    let at = |window| {
        let of = |name: &str| t.mean(&format!("metric={name} cwl={window}"), metric);
        Some((of("hop-count")?, of("path-dr")?))
    };
    (1..=5).map(at).collect()
}

fn path_lengths(t: &Table<'_>) -> Option<Finding> {
    let (hops, spread) = (by_metric(t, "hops")?, by_metric(t, "hops_spread")?);
    let longer = hops.iter().filter(|(short, good)| good > short).count();
    let wider = spread.iter().filter(|(short, good)| good > short).count();
    let (short, good) = *hops.last()?;
    Bounds::default()
        .is(longer == hops.len(), "routes by PATH-DR are not longer with every window")
        .is(wider == spread.len(), "their lengths do not vary more with every window")
        .found(good, format!("by hop count {short:.2}"))
}

fn metric_success(t: &Table<'_>) -> Option<Finding> {
    let success = by_metric(t, "success")?;
    let worse = success.iter().filter(|(short, good)| good < short).count();
    let sum = success.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let (short, good) = (sum.0 / success.len() as f64, sum.1 / success.len() as f64);
    Bounds::default()
        .is(worse == 0, "with some window fewer transfers end by PATH-DR")
        .above("% of transfers that end, mean over windows,", good, short)
        .found(good, format!("by hop count {short:.1} %"))
}

fn metric_goodput(t: &Table<'_>) -> Option<Finding> {
    let goodput = by_metric(t, "goodput")?;
    let gains = goodput.iter().map(|(short, good)| (0.0, (good / short - 1.0) * 100.0));
    let gains: Vec<_> = gains.collect();
    Bounds::default()
        .above("% gained with the worst window", least(&gains), 0.0)
        .found(mean(&gains), "mean over windows of 1 to 5 segments".to_owned())
}

/// Gain of cumulative acknowledgements over positive ones at every window, in %.
fn acks(t: &Table<'_>, metric: &str) -> Option<Vec<(f64, f64)>> {
    let at = |window: u32| {
        let of = |name: &str| t.mean(&format!("acks={name} cwl={window}"), metric);
        Some((window.into(), (of("cumulative")? / of("positive")? - 1.0) * 100.0))
    };
    (1..=8).map(at).collect()
}

/// Slope of the regression line, and the share of the variance that it explains.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let sum = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let (x, y) = (sum(|p| p.0), sum(|p| p.1));
    let (xx, yy, xy) = (sum(|p| p.0 * p.0), sum(|p| p.1 * p.1), sum(|p| p.0 * p.1));
    let (of_x, of_y, both) = (n * xx - x * x, n * yy - y * y, n * xy - x * y);
    (both / of_x, both * both / (of_x * of_y))
}

fn acks_goodput(t: &Table<'_>) -> Option<Finding> {
    let gain = acks(t, "goodput")?;
    let (slope, explained) = line(&gain);
    Bounds::default()
        .within("% with window 1", gain.first()?.1, (-2.0, 2.0))
        .at_least("% with the worst window", least(&gain), -2.0)
        .above("% more with each segment of the window", slope, 0.0)
        .above("of the variance that a line explains", explained, 0.8)
        .found(gain.last()?.1, format!("window 8; {slope:.1} % with each segment"))
}

fn acks_rtt(t: &Table<'_>) -> Option<Finding> {
    let change = acks(t, "rtt")?;
    let from_2 = change.get(1..)?;
    let (slope, _) = line(from_2);
    Bounds::default()
        .at_most("% longer with the worst window from 2 on", most(from_2), 0.0)
        .below("% more with each segment of the window", slope, 0.0)
        .found(change.last()?.1, "change of round trips with window 8".to_owned())
}

/// Goodput relative to that with RFC 6298 at every length.
fn relative(t: &Table<'_>, window: u32, rule: &str) -> Option<Vec<(f64, f64)>> {
    let at = |hops: u32| {
        let of = |rule: &str| t.mean(&format!("hops={hops} cwl={window} rto={rule}"), "goodput");
        Some((f64::from(hops), of(rule)? / of("rfc6298")?))
    };
    let values: Vec<_> = HOPS.filter_map(at).collect();
    (values.len() > 1).then_some(values)
}

fn timeouts(t: &Table<'_>) -> Option<Finding> {
    let far = |window, rule| -> Option<Vec<_>> {
        let values = relative(t, window, rule)?;
        Some(values.into_iter().filter(|(hops, _)| *hops > 1.5).collect())
    };
    let mut bounds = Bounds::default();
    let mut fixed = 0.0;
    for window in [4, 8] {
        let (coap, handshake) = (far(window, "static")?, far(window, "semi-dynamic")?);
        fixed = mean(&coap);
        bounds = bounds
            .below(&format!("times, static, window {window}, the best length,"), most(&coap), 1.0)
            .below(&format!("times, semi-dynamic, window {window}, mean,"), mean(&handshake), 1.0);
    }
    bounds.found(fixed, "static against RFC 6298, window 8, mean from two hops on".to_owned())
}

fn timeouts_over_one_hop(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let mut farthest: f64 = 0.0;
    for window in [1, 4, 8] {
        for rule in ["static", "semi-dynamic"] {
            let one = relative(t, window, rule)?.first()?.1;
            farthest = farthest.max((one - 1.0).abs());
            let what = format!("times, {rule}, window {window},");
            bounds = bounds.within(&what, one, (0.95, 1.05));
        }
    }
    bounds.found(farthest * 100.0, "the most that goodput differs over one hop".to_owned())
}

fn timeouts_alone(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let mut farthest: f64 = 0.0;
    for rule in ["static", "semi-dynamic"] {
        let all = relative(t, 1, rule)?;
        farthest = farthest.max(1.0 - least(&all)).max(most(&all) - 1.0);
        bounds = bounds.within(&format!("times, {rule}, the least,"), least(&all), (0.97, 1.03));
        bounds = bounds.within(&format!("times, {rule}, the most,"), most(&all), (0.97, 1.03));
    }
    bounds.found(farthest * 100.0, "the most that goodput differs with window 1".to_owned())
}

/// Relative growth of goodput from one window to the next up to which it counts as flat (III-C3).
const FLAT: f64 = 0.01;

/// First window after which goodput does not grow, and its goodput.
fn recommended(goodput: &[f64]) -> Option<(usize, f64)> {
    let flat = goodput.windows(2).position(|pair| pair[1] <= pair[0] * (1.0 + FLAT));
    let place = flat.unwrap_or(goodput.len().checked_sub(1)?);
    Some((place + 1, *goodput.get(place)?))
}

fn flattens(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let (mut worst, mut windows): (f64, Vec<String>) = (0.0, Vec::new());
    for hops in HOPS {
        let at = |window, metric| t.mean(&format!("hops={hops} cwl={window}"), metric);
        let Some(goodput) = (1..=8).map(|window| at(window, "goodput")).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let (window, best) = recommended(&goodput)?;
        let change = (goodput.last()? / best - 1.0).abs() * 100.0;
        worst = worst.max(change);
        windows.push(format!("{window} at {hops}"));
        bounds = bounds.below(&format!("% from there to window 8 over {hops} hops"), change, 5.0);
        let failed = (at(8, "failed_transmissions")?, at(2, "failed_transmissions")?);
        bounds = bounds.at_least(&format!("% fail with window 8 over {hops}"), failed.0, failed.1);
    }
    (windows.len() > 1).then_some(())?;
    bounds.found(worst, format!("recommended windows, by hops: {}", windows.join(", ")))
}

fn falls(t: &Table<'_>) -> Option<Finding> {
    let at = |window, metric: &str| t.mean(&format!("live cwl={window}"), metric);
    let mut bounds = Bounds::default();
    let mut worst = 0.0;
    for hops in 3..=5 {
        let metric = format!("goodput_hops_{hops}");
        let Some(goodput) = (1..=5).map(|window| at(window, &metric)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let (_, best) = recommended(&goodput)?;
        let share = goodput.last()? / best;
        worst = share;
        bounds = bounds.below(&format!("times that of the best window over {hops}"), share, 1.0);
    }
    let (few, many) = (at(1, "repairs")?, at(5, "repairs")?);
    bounds
        .above("repairs with window 5", many, few)
        .found(worst, format!("repairs of a transfer {few:.1} with window 1, {many:.1} with 5"))
}

/// Gain of the estimates over the best fixed limit of each length, and on live routes, in %.
fn estimates(t: &Table<'_>) -> Option<Finding> {
    let places: Vec<_> =
        HOPS.map(|hops| format!("hops={hops}")).chain(["live".to_owned()]).collect();
    let gains = |name: &str| -> Option<Vec<(f64, f64)>> {
        let of = |place: &String| t.mean(&format!("{place} {name}"), "gain");
        let values: Vec<_> = places.iter().filter_map(of).map(|gain| (0.0, gain)).collect();
        (values.len() > 2).then_some(values)
    };
    let [westwood, rate] = [gains("westwood")?, gains("rate")?];
    Bounds::default()
        .at_most("% by Westwood+ at its best length", most(&westwood), 2.0)
        .at_most("% by rate samples at their best length", most(&rate), 2.0)
        .at_least("% by rate samples, mean", mean(&rate), -5.0)
        .found(mean(&rate), format!("by rate samples, mean; Westwood+ {:.0} %", mean(&westwood)))
}

/// The best settings by tuning seeds, on those of the report: the gain exceeds both intervals.
fn headline(t: &Table<'_>) -> Option<Finding> {
    let of = |directions: &str| {
        let row = |what: &str| t.row(&format!("{directions} {what}"), "goodput");
        let (tuned, paper) = (row("tuned")?, row("defaults of the paper")?);
        let noise = tuned.ci95.unwrap_or(0.0) + paper.ci95.unwrap_or(0.0);
        Some(((tuned.mean / paper.mean - 1.0) * 100.0, noise / paper.mean * 100.0))
    };
    let ((fixed, fixed_noise), (live, live_noise)) = (of("static")?, of("live")?);
    Bounds::default()
        .above("% gained on static routes", fixed, fixed_noise)
        .above("% gained on live routes", live, live_noise)
        .found(live, format!("on static routes {fixed:.0} %"))
}

/// Requirement for a window derived from the route: within 2 % of the best fixed one, and a fifth
/// better than 8 segments over four or more hops.
fn window_by_hops(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let mut worst = f64::INFINITY;
    for hops in HOPS {
        let at = |window: &str| t.mean(&format!("hops={hops} cwl={window}"), "goodput");
        let fixed: Option<Vec<_>> = (1..=8).map(|window| at(&window.to_string())).collect();
        let Some((fixed, ours)) = fixed.zip(at("distance")) else { continue };
        let share = ours / fixed.into_iter().fold(0.0, f64::max);
        worst = worst.min(share);
        bounds =
            bounds.at_least(&format!("of the best fixed window over {hops} hops"), share, 0.98);
    }
    let mut gains = Vec::new();
    for hops in 4..=5 {
        let at =
            |window: &str| t.mean(&format!("live cwl={window}"), &format!("goodput_hops_{hops}"));
        let Some((ours, eight)) = at("distance").zip(at("8")) else { continue };
        let gain = (ours / eight - 1.0) * 100.0;
        bounds =
            bounds.at_least(&format!("% over window 8 on live routes of {hops} hops"), gain, 20.0);
        gains.push(format!("{gain:.0} % over {hops} hops"));
    }
    bounds.found(worst, format!("against window 8 on live routes {}", gains.join(", ")))
}

fn link_failure(t: &Table<'_>) -> Option<Finding> {
    let at = |label: &str, metric: &str| t.mean(label, metric);
    let (before, after) = (at("at-once cwl=8", "repairs")?, at("doubts cwl=8", "repairs")?);
    let fewer = (1.0 - after / before) * 100.0;
    let mut bounds = Bounds::default().at_least("% fewer repairs with window 8", fewer, 80.0);
    let mut found = Vec::new();
    for window in [2, 8] {
        let around = |name: &str| at(&format!("{name} cwl={window} a relay dies"), "recovery");
        let (at_once, doubts) = (around("at-once")?, around("doubts")?);
        let what = format!("s to a route around a failed relay, window {window}");
        bounds = bounds.at_most(&what, doubts, at_once);
        found.push(format!("window {window}: {doubts:.2} s, {at_once:.2} without asking"));
    }
    bounds.found(fewer, format!("a route around the failed relay, {}", found.join("; ")))
}

fn multiflow(t: &Table<'_>) -> Option<Finding> {
    let at = |case: &str, flows, metric| t.mean(&format!("{case} concurrent={flows}"), metric);
    let mut bounds = Bounds::default();
    let mut fairness = 0.0;
    let mut goodput = Vec::new();
    for flows in [2, 4, 8] {
        let (ours, paper) = (at("kinglet", flows, "goodput")?, at("paper", flows, "goodput")?);
        fairness = at("kinglet", flows, "fairness")?;
        let theirs = at("paper", flows, "fairness")?;
        bounds = bounds.above(&format!("kb/s each with {flows}"), ours, paper).at_least(
            &format!("% fair with {flows}"),
            fairness,
            theirs,
        );
        goodput.push(format!("{flows}: {ours:.1} and {paper:.1} kb/s"));
    }
    bounds
        .found(fairness, format!("of Kinglet and of the paper's defaults, {}", goodput.join(", ")))
}

fn defaults(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    let mut live = 0.0;
    for directions in ["static", "live"] {
        for overlap in ["", " overlap=strict", " overlap=capture"] {
            let at = |case: &str| t.mean(&format!("{directions} {case}{overlap}"), "goodput");
            let (ours, tuned) = (at("kinglet")?, at("tuned")?);
            if overlap.is_empty() {
                live = ours;
            }
            bounds = bounds.at_least(&format!("kb/s {directions}{overlap}"), ours, tuned);
        }
    }
    let (tuned, paper) = (t.mean("live tuned", "goodput")?, t.mean("live paper", "goodput")?);
    bounds.found(live, format!("the best of the paper's {tuned:.1}, its defaults {paper:.1}"))
}
