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
        "tcplp.fig8a.response-size" => response_size,
        "tcplp.fig8b.throughput50k" => throughput_50k,
        "tcplp.sec8.1.3.power" => power,
        "kinglet.throughput50k-due" => throughput_50k_due,
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

/// Finds the size from which on HTTP is faster. The curves must cross exactly once, and HTTP's time
/// must grow more slowly than CoAP's.
fn response_size(t: &Table<'_>) -> Option<Finding> {
    let curve = |app: &str| -> Vec<(f64, f64)> {
        let end = format!("poll=fixed app={app}");
        let rows = t.all("latency_median").filter(|row| row.label.ends_with(&end));
        rows.map(|row| (row.x, row.mean)).collect()
    };
    let (http, coap) = (curve("http"), curve("coap"));
    let faster: Vec<bool> = http.iter().zip(&coap).map(|(h, c)| h.1 < c.1).collect();
    let crossing = faster.iter().position(|faster| *faster)?;
    let slope = |curve: &[(f64, f64)]| {
        let (first, last) = (curve.first()?, curve.last()?);
        Some((last.1 - first.1) / (last.0 - first.0) * 1e3)
    };
    let (http_slope, coap_slope) = (slope(&http)?, slope(&coap)?);
    let compared = format!("{http_slope:.0} ms per 1000 octets by HTTP, {coap_slope:.0} by CoAP");
    Bounds::default()
        .is(crossing > 0, "CoAP is faster at first")
        .is(faster.is_sorted(), "the curves cross once")
        .below("slope of HTTP", http_slope, coap_slope)
        .found(http.get(crossing)?.0, compared)
}

fn throughput_50k(t: &Table<'_>) -> Option<Finding> {
    let ratio = t.mean("size=51200 poll=fixed app=http", "throughput_ratio")?;
    Bounds::default()
        .within("ratio", ratio, (1.2, 2.0))
        .found(ratio, "a data request every 100 ms".to_owned())
}

fn power(t: &Table<'_>) -> Option<Finding> {
    let at = |name: &str, metric| t.mean(&format!("price={name}"), metric);
    let (more, averaged) = (at("http", "tcp_more")?, at("http", "tcp_more_averaged")?);
    let compared = format!(
        "{:.0} ms by HTTP and {:.0} ms by CoAP; with one in 100 s {averaged:.2} %",
        at("http", "on_per_request")?,
        at("coap", "on_per_request")?
    );
    Bounds::default()
        .within("per cent more", more, (20.0, 60.0))
        .below("per cent more of all", averaged, 2.0)
        .found(more, compared)
}

fn throughput_50k_due(t: &Table<'_>) -> Option<Finding> {
    let ratio = t.mean("size=51200 poll=due app=http", "throughput_ratio")?;
    Bounds::default().at_least("ratio", ratio, 1.4).found(ratio, "predictive polling".to_owned())
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
