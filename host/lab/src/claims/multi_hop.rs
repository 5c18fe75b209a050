//! Tests of the claims of TCPlp §7: hidden terminals, hops, windows and losses. Each claim is
//! checked under every model of the medium.

use super::bounds::{Bounds, under_every_model};
use super::one_hop::goodputs;
use super::{Finding, Table};
use crate::experiment::{Host, Model};

/// Goodput over one hop that remains with d = 40 ms in the paper's check, in per cent.
const LEFT_OVER_ONE_HOP: (f64, f64) = (80.0, 95.0);

pub(super) fn delay_one_hop(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model| {
        let suffix = format!(" hops=1{}", model.suffix());
        let g = goodputs(t, "d_ms", &suffix, &[0, 40, 100])?;
        let left = g[1] / g[0] * 100.0;
        Bounds::default()
            .above("goodput at d = 0", g[0], g[1])
            .above("goodput at 40 ms", g[1], g[2])
            .within("per cent left at 40 ms", left, LEFT_OVER_ONE_HOP)
            .found(left, format!("d = 0, 40, 100 ms: {:.1}, {:.1}, {:.1} kb/s", g[0], g[1], g[2]))
    })
}

pub(super) fn delay_three_hops(t: &Table<'_>) -> Option<Finding> {
    let hosts = hosts_loss(t)?;
    let finding = under_every_model(|model| {
        let loss = |d: u32| t.mean(&format!("d_ms={d}{}", model.suffix()), "segment_loss");
        let (none, thirty) = (loss(0)?, loss(30)?);
        let g = goodputs(t, "d_ms", model.suffix(), &[0, 30])?;
        let compared = format!(
            "loss {none:.2} % at d = 0, {thirty:.2} % at 30 ms, goodput {:.1} and {:.1} kb/s",
            g[0], g[1]
        );
        Bounds::default()
            .within("loss at d = 0", none, (3.0, 10.0))
            .below("loss at 30 ms", thirty, 1.5)
            .below("goodput apart by", (g[0] / g[1] - 1.0).abs(), 0.2)
            .found(none, compared)
    })?;
    Some(Finding { compared: format!("{}; {hosts}", finding.compared), ..finding })
}

/// Effect of slow hosts on the loss at d = 0.
fn hosts_loss(t: &Table<'_>) -> Option<String> {
    let mut losses = Vec::new();
    for host in Host::ALL {
        let loss = t.mean(&format!("d_ms=0{}", host.suffix()), "segment_loss")?;
        losses.push(format!("{} {loss:.1} %", host.name()));
    }
    Some(format!("loss at d = 0 by host: {}", losses.join(", ")))
}

pub(super) fn control(t: &Table<'_>) -> Option<Finding> {
    let (mut bounds, mut compared, mut most) = (Bounds::default(), Vec::new(), 0.0_f64);
    for model in [Model::Sinr, Model::Strict] {
        let (name, own) = (model.name(), model.suffix());
        let suffix = format!(" control=no-hidden-terminals{own}");
        let losses = t.all("segment_loss").filter(|r| {
            r.label
                .strip_prefix("d_ms=")
                .is_some_and(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()) == suffix)
        });
        let worst = losses.map(|r| r.mean).reduce(f64::max)?;
        let g = goodputs(t, "d_ms", &suffix, &[0, 40])?;
        let one = goodputs(t, "d_ms", &format!(" hops=1{own}"), &[0, 40])?;
        let (kept, kept_one) = (g[1] / g[0] * 100.0, one[1] / one[0] * 100.0);
        // The remaining effect of d is the delay of retries, which one hop has as well.
        bounds = bounds.below(&format!("{name}: largest loss"), worst, 0.5).at_least(
            &format!("{name}: per cent left by 40 ms"),
            kept,
            kept_one - 1.0,
        );
        most = most.max(worst);
        compared.push(format!(
            "{name}: largest loss over all d {worst:.2} %, 40 ms keep {kept:.1} % of the goodput, \
             over one hop {kept_one:.1} %"
        ));
    }
    bounds.found(most, compared.join("; "))
}

pub(super) fn adaptive_delay(t: &Table<'_>) -> Option<Finding> {
    let at = |label: &str, metric| t.mean(label, metric);
    let noise = at("d=adaptive hops=1 frame_loss=0.1", "goodput")?
        / at("d_ms=0 hops=1 frame_loss=0.1", "goodput")?
        * 100.0;
    let finding = under_every_model(|model| {
        let share = |suffix: &str, d| {
            let suffix = format!("{suffix}{}", model.suffix());
            let fixed = at(&format!("d_ms={d}{suffix}"), "goodput")?;
            Some(at(&format!("d=adaptive{suffix}"), "goodput")? / fixed * 100.0)
        };
        let (one, three) = (share(" hops=1", 0)?, share("", 40)?);
        let lost = at(&format!("d=adaptive{}", model.suffix()), "segment_loss")?;
        Bounds::default()
            .at_least("per cent of d = 0 over one hop", one, 99.0)
            .at_least("per cent of 40 ms over three hops", three, 100.0)
            .below("lost over three hops", lost, 0.15)
            .found(one, format!("one hop {one:.1} %, three {three:.1} % with {lost:.2} % lost"))
    })?;
    let compared = format!("{}; with a tenth of frames lost {noise:.1} %", finding.compared);
    let besides = Bounds::default().at_least("per cent of d = 0 with noise", noise, 97.0);
    Some(Finding { compared, ..finding.and(besides) })
}

pub(super) fn delay_rtt(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model| {
        let rtt = |d: u32| t.mean(&format!("d_ms={d}{}", model.suffix()), "rtt");
        let (small, medium, large) = (rtt(5)?, rtt(40)?, rtt(100)?);
        Bounds::default()
            .above("ms at d = 100 ms", large, medium)
            .above("ms at d = 40 ms", medium, small)
            .found(
                large / small,
                format!("d = 5, 40, 100 ms: {small:.0}, {medium:.0}, {large:.0} ms"),
            )
    })
}

pub(super) fn delay_frames(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model| {
        let suffix = model.suffix();
        let frames = |d: u32| t.mean(&format!("d_ms={d}{suffix}"), "frames_per_kb");
        let (five, forty) = (frames(5)?, frames(40)?);
        let g = goodputs(t, "d_ms", suffix, &[5, 40])?;
        let compared = format!(
            "{five:.2} and {forty:.2} frames/kB at d = 5 and 40 ms; {:.1} and {:.1} kb/s",
            g[0], g[1]
        );
        Bounds::default()
            .below("frames/kB at 40 ms", forty, five)
            .below("goodput apart by", (g[0] / g[1] - 1.0).abs(), 0.1)
            .found(forty / five, compared)
    })
}

/// Minimum share of a window's goodput that remains at six per cent loss.
const ROBUST: f64 = 0.8;
/// Range of segment loss that represents the paper's six per cent, at whatever d it occurs.
const PAPERS_LOSS: (f64, f64) = (3.0, 10.0);

/// The paper has six per cent loss at d = 0. Here the d with that loss depends on the model, and
/// the claim concerns the loss. A robust small window proves the claim only if a large window is
/// not robust.
pub(super) fn robust(t: &Table<'_>) -> Option<Finding> {
    let window = |segments: u32| {
        let at = |loss: &str| t.mean(&format!("window={segments} wire_loss={loss}"), "goodput");
        Some(at("0.06")? / at("0")?)
    };
    let (small, large) = (window(4)?, window(48)?);
    let finding = under_every_model(|model| {
        let suffix = model.suffix();
        let at = |d: u32, metric| t.mean(&format!("d_ms={d}{suffix}"), metric);
        let near = |d: &&u32| {
            let loss = at(**d, "segment_loss");
            loss.is_some_and(|loss| (PAPERS_LOSS.0..=PAPERS_LOSS.1).contains(&loss))
        };
        let delays = [0, 5, 10, 20, 30];
        let share = |d: u32| Some(at(d, "goodput")? / at(40, "goodput")?);
        let (value, said) = match delays.iter().find(near) {
            Some(d) => {
                let (share, loss) = (share(*d)?, at(*d, "segment_loss")?);
                (share, format!("{share:.2} with {loss:.1} % lost at d = {d} ms"))
            }
            None => (f64::NAN, "no d loses 3 to 10 %".to_owned()),
        };
        let said = format!("{said}, {:.2} at d = 0", share(0)?);
        Bounds::default().at_least("goodput by that at 40 ms", value, ROBUST).found(value, said)
    })?;
    let compared = format!(
        "{}; with 6 % lost on a wire of 0.5 s, four segments keep {small:.2}, 48 keep {large:.2}",
        finding.compared
    );
    let what = "large window's share by half of the small one's";
    let besides = Bounds::default().at_most(what, large, small / 2.0);
    Some(Finding { compared, ..finding.and(besides) })
}

fn shares(t: &Table<'_>, hops: core::ops::RangeInclusive<u32>, suffix: &str) -> Option<Vec<f64>> {
    hops.map(|h| t.mean(&format!("hops={h}{suffix}"), "share_of_bound")).collect()
}

fn least(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(shares: &[f64]) -> f64 {
    shares.iter().copied().fold(0.0, f64::max)
}

fn listed(shares: &[f64]) -> String {
    let shares: Vec<String> = shares.iter().map(|share| format!("{share:.0}")).collect();
    shares.join(", ")
}

pub(super) fn hop_bound(t: &Table<'_>) -> Option<Finding> {
    let hidden = most(&shares(t, 2..=4, " control=no-hidden-terminals")?);
    let finding = under_every_model(|model| {
        let most = most(&shares(t, 2..=4, model.suffix())?);
        // One per cent allows for chance in B, which is a mean over seeds.
        Bounds::default()
            .at_most("largest share over two to four hops", most, 101.0)
            .found(most, format!("largest share {most:.1} %"))
    })?;
    let compared = format!("{}; without hidden nodes {hidden:.1} %", finding.compared);
    Some(Finding { compared, ..finding })
}

/// The paper's shares are 88, 91 and 82 %. Its check requires 75 to 105, and less over four hops
/// than over three.
pub(super) fn hops(t: &Table<'_>) -> Option<Finding> {
    let slow = listed(&shares(t, 2..=4, Host::Paper.suffix())?);
    let measured = listed(&shares(t, 2..=4, Host::Measured.suffix())?);
    let finding = under_every_model(|model| {
        let shares = shares(t, 2..=4, model.suffix())?;
        let g = goodputs(t, "hops", model.suffix(), &[1, 2, 3, 4])?;
        let compared = format!(
            "{} % over two to four hops; 1 to 4 hops {:.1}, {:.1}, {:.1}, {:.1} kb/s",
            listed(&shares),
            g[0],
            g[1],
            g[2],
            g[3]
        );
        Bounds::default()
            .at_least("smallest share", least(&shares), 75.0)
            .at_most("largest share", most(&shares), 105.0)
            .below("kb/s over four hops", g[3], g[2])
            .found(least(&shares), compared)
    })?;
    let compared = format!(
        "{}; with the measured host {measured} %, with 2 ms a frame {slow} %",
        finding.compared
    );
    Some(Finding { compared, ..finding })
}

pub(super) fn hops_share(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model| {
        let shares = shares(t, 2..=4, model.suffix())?;
        Bounds::default()
            .at_least("smallest share over two to four hops", least(&shares), 85.0)
            .found(least(&shares), format!("{} %", listed(&shares)))
    })
}

pub(super) fn channel_bound(t: &Table<'_>) -> Option<Finding> {
    let bound = t.mean("hops=1 no-pauses", "bound")?;
    let links = |row: &crate::row::Row| {
        t.mean(&row.label, "links_sharing").unwrap_or_else(|| row.x.min(3.0))
    };
    let share = |row: &crate::row::Row| row.mean / (bound / links(row)) * 100.0;
    let most = t.all("goodput").map(share).fold(0.0, f64::max);
    let compared = format!("largest share of {bound:.1} kb/s over the links that share, all rows");
    Bounds::default().at_most("share", most, 100.0).found(most, compared)
}

pub(super) fn window_invariance(t: &Table<'_>) -> Option<Finding> {
    let mut alone = Vec::new();
    for host in Host::ALL {
        let at = |name: &str| t.mean(&format!("hops=3{name}{}", host.suffix()), "goodput");
        let share = at(" buffer_segments=1 ack_every=1")? / at("")? * 100.0;
        alone.push(format!("{} {share:.0} %", host.name()));
    }
    let finding = under_every_model(|model| {
        let suffix = model.suffix();
        let four = t.mean(&format!("hops=3{suffix}"), "goodput")?;
        let eight = t.mean(&format!("hops=3 buffer_segments=8{suffix}"), "goodput")?;
        let rtt = t.mean(&format!("hops=3{suffix}"), "rtt")?
            / t.mean(&format!("hops=1{suffix}"), "rtt")?;
        let compared = format!(
            "{four:.1} kb/s with four, {eight:.1} with eight segments, round trip {rtt:.1} times \
             that of one hop"
        );
        let share = four / eight * 100.0;
        Bounds::default().at_least("per cent of eight", share, 90.0).found(share, compared)
    })?;
    let compared = format!(
        "{}; one segment at a time, acknowledged at once, by four: {}",
        finding.compared,
        alone.join(", ")
    );
    Some(Finding { compared, ..finding })
}
