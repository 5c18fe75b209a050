//! Fig. 7a–c: latency of a small page from a sleeping node.

use super::requests::{Link, PAUSE_MS, Protocol, scenario};
use kinglet_sweep::chart::{Figure, Lines, Series, Style};
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-latency",
    title: "Latency of a request: HTTP/TCP and CoAP",
    source: "TCPlp Fig. 7a–c, §8.1.1",
    question: "How much longer does HTTP over TCP take than CoAP when the server's radio is \
               always on, when it sleeps for a second at a time, and when it sleeps less while it \
               expects a packet?",
    method: "The host behind the office's border router requests 82 octets from a leaf three hops \
             away, at random times, by HTTP over a new connection each time (with and without \
             Fast Open) and by CoAP. The leaf is always on; polls its parent every second; every \
             100 ms while a packet is expected, else every second; or when a packet is due.",
    threats: &[
        "The paper does not name the leaf, nor its distance: positions and hops of the office are \
         ours.",
        "No interference and no other traffic: tails are those of polling and of link retries.",
        "The paper's HTTP server and client are not published; the headers of request and \
         response are ours (54 and 58 octets).",
    ],
    main: "link=adaptive app=http",
    plan,
    refine,
    figures,
};

const METRICS: &[Metric] = &[
    Metric::LatencyP1,
    Metric::LatencyFirstQuartile,
    Metric::LatencyMedian,
    Metric::LatencyThirdQuartile,
    Metric::Failed,
];
/// Octets of the page.
const BYTES: u32 = 82;
/// Label, abscissa, title of the figure.
const LINKS: [(Link, &str, f64, &str); 4] = [
    (Link::AlwaysOn, "on", 0.0, "always on (Fig. 7a)"),
    (Link::Sleep(1_000), "sleep", 1.0, "sleep interval 1 s (Fig. 7b)"),
    (Link::Adaptive(1_000), "adaptive", 2.0, "1 s, 100 ms if expecting (Fig. 7c)"),
    (Link::Predictive(1_000), "predictive", 3.0, "1 s, and when a packet is due (ours)"),
];

fn label(link: &str, protocol: Protocol) -> String {
    format!("link={link} app={}", protocol.name())
}

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (link, name, x, _) in LINKS {
        for protocol in Protocol::ALL {
            let label = label(name, protocol);
            let mut scenario = scenario(effort, link, protocol, BYTES, PAUSE_MS);
            scenario.name.clone_from(&label);
            scenario.duration_s = match effort {
                Effort::Quick => 1_200.0,
                // A thousand requests, because the wait for a data request is uniform over a
                // second.
                Effort::Full => 12_000.0,
            };
            let (series, metrics) = (protocol.series(), METRICS);
            points.push(Point { label, series, x, scenario, metrics, timeline_s: None });
        }
    }
    points
}

/// Cost of TCP compared with CoAP.
fn refine(rows: &mut Rows) {
    for (_, link, x, _) in LINKS {
        let coap = label(link, Protocol::Coap);
        for protocol in [Protocol::Http, Protocol::FastOpen] {
            let http = label(link, protocol);
            let both = |metric| Some((rows.mean(&http, metric)?, rows.mean(&coap, metric)?));
            let (median, least) = (both("latency_median"), both("latency_p1"));
            if let Some((http_ms, coap_ms)) = median {
                let unit = ("latency_ratio", "of CoAP's");
                rows.compute(&http, protocol.series(), x, unit, http_ms / coap_ms);
            }
            if let Some((http_ms, coap_ms)) = least {
                let unit = ("least_difference", "ms");
                rows.compute(&http, protocol.series(), x, unit, http_ms - coap_ms);
            }
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    LINKS
        .into_iter()
        .filter_map(|(_, link, _, title)| {
            let series: Vec<Series> = Protocol::ALL
                .into_iter()
                .filter_map(|protocol| {
                    let label = label(link, protocol);
                    let (_, run) = result.samples.iter().find(|(point, _)| point.label == label)?;
                    let points = distribution(run.flows.first()?.latencies_ms());
                    let name = protocol.series().to_owned();
                    Some(Series { name, style: Style::Measured, points })
                })
                .collect();
            (!series.is_empty()).then(|| {
                Figure::Lines(Lines {
                    title: format!("Latency of a request for 82 octets: {title}"),
                    x_label: "latency, ms".to_owned(),
                    y_label: "share of requests, %".to_owned(),
                    series,
                })
            })
        })
        .collect()
}

/// Empirical distribution of the values, with a point at every twentieth of it.
fn distribution(values: &[f64]) -> Vec<(f64, f64, Option<f64>)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    let at = |part: usize| (sorted[last * part / 20], part as f64 * 5.0, None);
    (0..=20).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_goes_from_the_least_to_the_most() {
        let points = distribution(&[3.0, 1.0, 2.0]);
        assert_eq!(points.first(), Some(&(1.0, 0.0, None)));
        assert_eq!(points.last(), Some(&(3.0, 100.0, None)));
        assert!(distribution(&[]).is_empty());
    }
}
