//! Tests of the claims of TCPlp §8.1: pages from a sleeping node.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.fig7a.latency-alwayson" => latency_always_on,
        "tcplp.fig7b.latency-sleep1s" => latency_sleeping,
        "tcplp.fig7c.latency-adaptive" => latency_adaptive,
        "tcplp.table1.adaptive-dc" => adaptive_gain,
        "kinglet.http-one-round-trip" => one_round_trip,
        "kinglet.throughput50k-everywhere" => throughput_50k_everywhere,
        _ => return super::sharing::test_of(id).or_else(|| super::stacks::test_of(id)),
    })
}

fn median(t: &Table<'_>, link: &str, app: &str) -> Option<f64> {
    t.mean(&format!("link={link} app={app}"), "latency_median")
}

fn latency_always_on(t: &Table<'_>) -> Option<Finding> {
    let (http, coap) = (median(t, "on", "http")?, median(t, "on", "coap")?);
    Bounds::default()
        .below("ms by HTTP", http, 1_000.0)
        .below("ms by CoAP", coap, http)
        .found(http, format!("HTTP; CoAP takes {coap:.0} ms"))
}

fn latency_sleeping(t: &Table<'_>) -> Option<Finding> {
    let more = t.mean("link=sleep app=http", "least_difference")?;
    Bounds::default()
        .at_least("ms more", more, 900.0)
        .found(more, "HTTP less CoAP at a sleep interval of 1 s".to_owned())
}

fn latency_adaptive(t: &Table<'_>) -> Option<Finding> {
    let excess = |link| Some(median(t, link, "http")? - median(t, link, "coap")?);
    let (fixed, adaptive) = (excess("sleep")?, excess("adaptive")?);
    let compared = format!("HTTP takes {adaptive:.0} ms more than CoAP; without, {fixed:.0} ms");
    Bounds::default()
        .below("excess left", adaptive / fixed, 0.4)
        .found(adaptive / fixed * 100.0, compared)
}

fn adaptive_gain(t: &Table<'_>) -> Option<Finding> {
    let (fixed, adaptive) = (median(t, "sleep", "http")?, median(t, "adaptive", "http")?);
    let compared = format!("{fixed:.0} and {adaptive:.0} ms");
    Bounds::default().at_least("gain", fixed / adaptive, 1.5).found(fixed / adaptive, compared)
}

fn one_round_trip(t: &Table<'_>) -> Option<Finding> {
    let ratio = t.mean("link=predictive app=http-tfo", "latency_ratio")?;
    Bounds::default()
        .at_most("ratio", ratio, 1.1)
        .found(ratio, "both with predictive polling".to_owned())
}

/// Metrics and their minima; the first one is printed.
const EVERYWHERE: [(&str, f64); 3] =
    [("of_coap_512", 1.15), ("of_coap_1024", 1.0), ("of_always_on", 0.9)];

fn throughput_50k_everywhere(t: &Table<'_>) -> Option<Finding> {
    let worst = |metric: &'static str| {
        t.all(metric).map(|row| (row.mean, &row.label)).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let [coap, large, on] = EVERYWHERE.map(|(metric, _)| worst(metric));
    let (coap, large, on) = (coap?, large?, on?);
    let compared = format!(
        "least at {}; {:.2} of CoAP's in blocks of 1024 at {}; {:.2} of an always-on leaf's at {}",
        coap.1, large.0, large.1, on.0, on.1
    );
    let least = [coap.0, large.0, on.0];
    let asked = least.iter().zip(EVERYWHERE);
    let bounds = asked.fold(Bounds::default(), |bounds, (least, (metric, bound))| {
        bounds.at_least(&metric.replace('_', " "), *least, bound)
    });
    bounds.found(coap.0, compared)
}
