//! Checks of §6 and §7 with results that meet them, and with one result that does not.

use super::{Outcome, Verdict, check, sample};
use crate::experiment::{ExperimentResult, Host, Model};
use crate::row::Row;

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

    /// Adds values of a metric at these values of `key`.
    fn over(self, key: &str, suffix: &str, metric: &'static str, values: &[(u32, f64)]) -> Found {
        let add = |found: Found, (x, value): &(u32, f64)| {
            found.with(&format!("{key}={x}{suffix}"), metric, *value)
        };
        values.iter().fold(self, add)
    }

    /// Adds the same values for each model.
    fn everywhere(self, key: &str, metric: &'static str, values: &[(u32, f64)]) -> Found {
        let add = |found: Found, model: Model| found.over(key, model.suffix(), metric, values);
        Model::ALL.into_iter().fold(self, add)
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

    /// Asserts that the claim depends on the model if the value applies under one model only.
    fn depends(&self, claim: &str, label: &str, metric: &'static str, value: f64) {
        let label = format!("{label}{}", Model::Strict.suffix());
        assert!(self.1.iter().any(|row| (row.0.as_str(), row.1) == (label.as_str(), metric)));
        let verdict = self.clone().with(&label, metric, value).verdict(claim);
        assert_eq!(verdict.outcome(), Outcome::DependsOnModel, "{claim}: {}", verdict.reason);
        assert!(verdict.failed.iter().all(|failed| failed.starts_with("strict overlap: ")));
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

fn retry_delays() -> Found {
    let loss = [(0, 6.0), (5, 4.0), (10, 2.0), (20, 1.0), (30, 0.8), (40, 0.1), (100, 0.1)];
    let goodput = [(0, 26.), (5, 27.), (10, 28.), (20, 28.), (30, 28.), (40, 28.), (100, 20.)];
    let rtt = [(5, 300.0), (40, 400.0), (100, 500.0)];
    let one = [(0, 100.0), (40, 90.0), (100, 80.0)];
    let mut found = Found::of("tcplp-retry-delay")
        .everywhere("d_ms", "segment_loss", &loss)
        .everywhere("d_ms", "goodput", &goodput)
        .everywhere("d_ms", "rtt", &rtt)
        .everywhere("d_ms", "frames_per_kb", &[(5, 58.0), (40, 47.0)])
        .with("d=adaptive hops=1 frame_loss=0.1", "goodput", 80.0)
        .with("d_ms=0 hops=1 frame_loss=0.1", "goodput", 81.0);
    for model in Model::ALL {
        let one_hop = format!(" hops=1{}", model.suffix());
        let control = format!(" control=no-hidden-terminals{}", model.suffix());
        found = found
            .over("d_ms", &one_hop, "goodput", &one)
            .over("d_ms", &control, "goodput", &[(0, 33.0), (40, 30.0)])
            .over("d_ms", &control, "segment_loss", &[(0, 0.1), (40, 0.0)])
            .with(&format!("d=adaptive{one_hop}"), "goodput", 100.0)
            .with(&format!("d=adaptive{}", model.suffix()), "goodput", 29.0)
            .with(&format!("d=adaptive{}", model.suffix()), "segment_loss", 0.1);
    }
    for host in Host::SLOW {
        found = found.with(&format!("d_ms=0{}", host.suffix()), "segment_loss", 5.0);
    }
    for (window, lost, kbps) in
        [(4, "0", 10.0), (4, "0.06", 7.0), (48, "0", 60.0), (48, "0.06", 8.0)]
    {
        found = found.with(&format!("window={window} wire_loss={lost}"), "goodput", kbps);
    }
    found
}

#[test]
fn delays_between_retries() {
    let found = retry_delays();
    let one_hop = "tcplp.fig5a.singlehop-delay";
    found.holds(one_hop);
    found.but(one_hop, "d_ms=40 hops=1", "goodput", 97.0, "per cent left");
    found.but(one_hop, "d_ms=100 hops=1", "goodput", 91.0, "goodput at 40 ms");
    let label = format!("d_ms=40 hops=1{}", Model::Strict.suffix());
    let depends = found.clone().with(&label, "goodput", 99.0).verdict(one_hop);
    assert_eq!((depends.outcome(), depends.ours), (Outcome::DependsOnModel, Some(99.0)));
    let three_hops = "tcplp.fig5b.threehop-delay";
    found.holds(three_hops);
    found.but(three_hops, "d_ms=0", "segment_loss", 28.0, "loss at d = 0");
    found.but(three_hops, "d_ms=30", "segment_loss", 2.0, "loss at 30 ms");
    found.but(three_hops, "d_ms=0", "goodput", 19.0, "goodput apart");
    found.depends(three_hops, "d_ms=0", "segment_loss", 28.0);
    found.holds("tcplp.fig5c.rtt");
    found.but("tcplp.fig5c.rtt", "d_ms=40", "rtt", 290.0, "ms at d = 40 ms");
    found.depends("tcplp.fig5c.rtt", "d_ms=100", "rtt", 390.0);
    found.holds("tcplp.fig5d.frames");
    found.but("tcplp.fig5d.frames", "d_ms=40", "frames_per_kb", 59.0, "frames/kB");
    found.depends("tcplp.fig5d.frames", "d_ms=5", "goodput", 20.0);
}

#[test]
fn controls_adaptation_and_windows() {
    let found = retry_delays();
    found.holds("kinglet.control");
    let label = "d_ms=40 control=no-hidden-terminals";
    found.but("kinglet.control", label, "segment_loss", 0.6, "largest loss");
    found.but("kinglet.control", label, "goodput", 25.0, "per cent left");
    let adaptive = "kinglet.adaptive-delay";
    found.holds(adaptive);
    found.but(adaptive, "d=adaptive hops=1", "goodput", 98.0, "over one hop");
    found.but(adaptive, "d=adaptive hops=1 frame_loss=0.1", "goodput", 70.0, "with noise");
    found.but(adaptive, "d=adaptive", "segment_loss", 0.2, "lost over three hops");
    found.depends(adaptive, "d=adaptive", "goodput", 27.0);
    let robust = "tcplp.sec7.3.robust";
    found.holds(robust);
    found.but(robust, "window=48 wire_loss=0.06", "goodput", 40.0, "large window");
    found.but(robust, "d_ms=0", "goodput", 20.0, "goodput by that at 40 ms");
    // The claim depends on the loss, not on the d that causes it.
    let later = found.clone().with("d_ms=0", "segment_loss", 28.0);
    later.clone().with("d_ms=0", "goodput", 10.0).holds(robust);
    later.but(robust, "d_ms=5", "goodput", 15.0, "goodput by that at 40 ms");
}

fn hops() -> Found {
    let goodput = [(1, 97.0), (2, 43.0), (3, 29.0), (4, 27.0)];
    let shares = [(2, 89.0), (3, 90.0), (4, 86.0)];
    let mut found = Found::of("tcplp-hops")
        .everywhere("hops", "goodput", &goodput)
        .everywhere("hops", "share_of_bound", &shares)
        .everywhere("hops", "rtt", &[(1, 100.0), (3, 400.0)])
        .over("hops", " control=no-hidden-terminals", "share_of_bound", &shares)
        .with("hops=1 no-pauses", "bound", 141.0);
    for model in Model::ALL {
        let label = format!("hops=3 buffer_segments=8{}", model.suffix());
        found = found.with(&label, "goodput", 29.5);
    }
    for host in Host::ALL {
        let label = format!("hops=3 buffer_segments=1 ack_every=1{}", host.suffix());
        found = found
            .over("hops", host.suffix(), "share_of_bound", &shares)
            .with(&format!("hops=3{}", host.suffix()), "goodput", 29.0)
            .with(&label, "goodput", 28.0);
    }
    found
}

#[test]
fn hops_of_the_paper() {
    let found = hops();
    for claim in ["tcplp.sec7.2.bound", "tcplp.sec7.2.hops", "tcplp.sec7.2.window-invariance"] {
        found.holds(claim);
    }
    found.holds("kinglet.hops-share");
    found.holds("kinglet.channel-bound");
    found.but("tcplp.sec7.2.bound", "hops=2", "share_of_bound", 102.0, "largest share");
    found.depends("tcplp.sec7.2.bound", "hops=2", "share_of_bound", 102.0);
    found.but("tcplp.sec7.2.hops", "hops=4", "goodput", 29.5, "kb/s over four hops");
    found.depends("tcplp.sec7.2.hops", "hops=4", "share_of_bound", 70.0);
    found.depends("kinglet.hops-share", "hops=4", "share_of_bound", 84.0);
    found.but("kinglet.channel-bound", "hops=4", "goodput", 48.0, "share");
    found.depends("tcplp.sec7.2.window-invariance", "hops=3", "goodput", 26.0);
}

#[test]
fn protocols_on_a_leaf() {
    let losses = [0, 3, 6, 9, 12, 15, 18, 21];
    let at = |found: Found, (protocol, share): (&str, f64)| {
        losses.iter().fold(found, |found, loss| {
            found.with(&format!("{protocol} loss={loss}"), "cpu_without_cipher", share)
        })
    };
    let found = [("tcp", 0.3), ("coap", 0.2)].into_iter().fold(Found::of("tcplp-loss"), at);
    found.holds("tcplp.fig10d.cpu-dc");
    found.but("tcplp.fig10d.cpu-dc", "tcp loss=21", "cpu_without_cipher", 0.5, "2.50");
}
