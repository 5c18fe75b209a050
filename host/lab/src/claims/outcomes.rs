//! Checks of §6 with results that meet them, and with one result that does not.

use super::{Verdict, check, sample};
use kinglet_report::verdict::Outcome;
use kinglet_sweep::experiment::ExperimentResult;
use kinglet_sweep::row::Row;

/// Results of an experiment: label, metric, value.
#[derive(Clone)]
struct Found(&'static str, Vec<(String, &'static str, f64)>);

impl Found {
    fn of(experiment: &'static str) -> Found {
        Found(experiment, Vec::new())
    }

    fn with(mut self, label: &str, metric: &'static str, value: f64) -> Found {
        self.1.retain(|row| (row.0.as_str(), row.1) != (label, metric));
        self.1.push((label.to_owned(), metric, value));
        self
    }

    fn verdict(&self, claim: &str) -> Verdict {
        let row = |(label, metric, mean): &(String, &str, f64)| Row {
            x: label.split(['=', ' ']).nth(1).and_then(|x| x.parse().ok()).unwrap_or(0.0),
            ci95: Some(0.1),
            bound: Some(*mean * 1.1),
            ..sample::row(label, metric, *mean)
        };
        let rows = self.1.iter().map(row).collect();
        let result = ExperimentResult { id: self.0, rows, samples: Vec::new(), seeds: 5 };
        check(&[result]).into_iter().find(|v| v.id == claim).expect("it is listed")
    }

    fn holds(&self, claim: &str) {
        let verdict = self.verdict(claim);
        assert_eq!(verdict.outcome(), Outcome::Holds, "{claim}: {}", verdict.reason);
    }

    /// Asserts that the claim fails with this value, and that this bound is unmet.
    fn but(&self, claim: &str, label: &str, metric: &'static str, value: f64, bound: &str) {
        assert!(self.1.iter().any(|row| (row.0.as_str(), row.1) == (label, metric)), "{label}");
        let verdict = self.clone().with(label, metric, value).verdict(claim);
        assert_eq!(verdict.holds, Some(false), "{claim} with {label} {metric} {value}");
        let said = verdict.failed.iter().any(|failed| failed.contains(bound));
        assert!(said && verdict.reason.contains(bound), "{:?} lacks {bound}", verdict.failed);
    }
}

#[test]
fn links_and_headers() {
    let found = Found::of("tcplp-headers")
        .with("link=802.15.4", "time", 4.2)
        .with("link=802.15.4", "room", 116.0)
        .with("frame=first header=total", "header_min", 38.0)
        .with("frame=first header=total", "header_max", 99.0)
        .with("frame=nth header=total", "header_min", 16.0)
        .with("frame=nth header=total", "header_max", 28.0)
        .with("mss_frames=1", "header_share", 52.0);
    let others = [("Fast Ethernet", 0.12), ("Wi-Fi", 0.22), ("Ethernet", 1.2)];
    let found = others.into_iter().fold(found, |found, (link, ms)| {
        let label = format!("link={link}");
        found.with(&label, "time", ms).with(&label, "room", 1_500.0)
    });
    found.holds("tcplp.table4.links");
    found.but("tcplp.table4.links", "link=802.15.4", "time", 4.4, "ms 4.40");
    found.but("tcplp.table4.links", "link=802.15.4", "room", 150.0, "room");
    found.but("tcplp.table4.links", "link=Ethernet", "time", 5.0, "not more than 5.00");
    found.holds("tcplp.table5.headers");
    let headers = "tcplp.table5.headers";
    found.but(headers, "frame=first header=total", "header_min", 37.0, "first frame at least");
    found.but(headers, "frame=first header=total", "header_max", 108.0, "first frame at most");
    found.but(headers, "frame=nth header=total", "header_min", 17.0, "later frames at least");
    found.but(headers, "frame=nth header=total", "header_max", 36.0, "later frames at most");
    found.holds("tcplp.sec6.1.overhead50");
    found.but("tcplp.sec6.1.overhead50", "mss_frames=1", "header_share", 49.0, "49.0");
}

#[test]
fn bounds_over_one_hop() {
    let found = Found::of("tcplp-bound")
        .with("mss_frames=5", "bound", 96.0)
        .with("mss_frames=5 frame_time=paper", "bound", 96.0)
        .with("hops=1", "share_of_bound", 94.0)
        .with("hops=1", "goodput", 90.0)
        .with("hops=1 host_cost=measured", "goodput", 88.0)
        .with("hops=1 host_cost=fitted_tcplp", "goodput", 75.0)
        .with("hops=1 host_cost=fitted_tcplp+driver", "goodput", 74.0);
    for claim in [
        "tcplp.fig4b.upperbound",
        "tcplp.sec6.3.goodput75",
        "kinglet.one-hop-share",
        "kinglet.bound-formula",
    ] {
        found.holds(claim);
    }
    found.but("tcplp.fig4b.upperbound", "hops=1", "share_of_bound", 101.0, "share reached");
    found.but("tcplp.fig4b.upperbound", "mss_frames=5", "bound", 110.0, "bound 110");
    let label = "hops=1 host_cost=fitted_tcplp";
    found.but("tcplp.sec6.3.goodput75", label, "goodput", 90.0, "kb/s 90.0");
    found.but("kinglet.one-hop-share", "hops=1", "share_of_bound", 92.0, "share 92.0");
    let label = "mss_frames=5 frame_time=paper";
    found.but("kinglet.bound-formula", label, "bound", 90.0, "bound 90.0");
}
