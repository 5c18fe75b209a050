//! Tests of the claims of TCPlp §6: frames, segments and buffers over one hop.

use super::bounds::Bounds;
use super::{Finding, Table};
use crate::experiment::Host;

pub(super) fn goodputs(t: &Table<'_>, key: &str, suffix: &str, xs: &[u32]) -> Option<Vec<f64>> {
    xs.iter().map(|x| t.mean(&format!("{key}={x}{suffix}"), "goodput")).collect()
}

pub(super) fn overhead50(t: &Table<'_>) -> Option<Finding> {
    let share = t.mean("mss_frames=1", "header_share")?;
    let what = "TCP/IP headers by what a frame has room for";
    Bounds::default().above(what, share, 50.0).found(share, what.to_owned())
}

/// "Rises steeply": four to five times by the paper's Table 1, less a quarter.
const STEEP: f64 = 3.0;

pub(super) fn mss(t: &Table<'_>) -> Option<Finding> {
    let g = goodputs(t, "mss_frames", "", &[1, 2, 3, 4, 5, 6, 7, 8])?;
    let best = g.iter().copied().fold(0.0, f64::max);
    let least_step = g[..5].windows(2).map(|w| w[1] / w[0]).fold(f64::INFINITY, f64::min);
    let by_formula = |frames: u32| t.row(&format!("mss_frames={frames}"), "goodput")?.bound;
    let compared = format!(
        "goodput at 1, 3, 5, 8 frames: {:.1}, {:.1}, {:.1}, {:.1} kb/s; five frames carry {:.2} \
         times what one does, by the arithmetic of their headers {:.2}",
        g[0],
        g[2],
        g[4],
        g[7],
        g[4] / g[0],
        by_formula(5)? / by_formula(1)?
    );
    Bounds::default()
        .at_least("step up to five frames by a factor of", least_step, 1.0)
        .at_least("five frames over one", g[4] / g[0], STEEP)
        .at_least("five frames by the best", g[4] / best, 0.9)
        .below("gain from five to eight frames", g[7] / g[4] - 1.0, 0.1)
        .found(g[4] / best * 100.0, compared)
}

pub(super) fn mss_reliability(t: &Table<'_>) -> Option<Finding> {
    let at = |frames: u32| t.mean(&format!("mss_frames={frames} frame_loss=0.3"), "segment_loss");
    let (three, five) = (at(3)?, at(5)?);
    let compared = format!("{three:.2} % of segments lost at three frames, {five:.2} % at five");
    Bounds::default().above("loss at five frames", five, three).found(five - three, compared)
}

pub(super) fn buffer(t: &Table<'_>) -> Option<Finding> {
    let (mut bounds, mut compared) = (Bounds::default(), Vec::new());
    let mut ours = None;
    for method in ["", " downlink"] {
        let g = goodputs(t, "buffer_segments", method, &[1, 2, 3, 4, 8])?;
        let name = if method.is_empty() { "uplink" } else { "downlink" };
        ours = ours.or(Some(g[3] / g[4] * 100.0));
        // It levels off at three to four: four are enough, two are not.
        bounds = bounds
            .at_least(&format!("{name}, four segments by eight"), g[3] / g[4], 0.9)
            .below(&format!("{name}, two segments by eight"), g[1] / g[4], 0.9);
        if method.is_empty() {
            // One segment on the downlink is the subject of another claim.
            bounds = bounds.at_most(&format!("{name}, one segment by four"), g[0] / g[3], 0.7);
        }
        compared.push(format!(
            "{name} at 1, 2, 3, 4, 8 segments: {:.1}, {:.1}, {:.1}, {:.1}, {:.1} kb/s",
            g[0], g[1], g[2], g[3], g[4]
        ));
    }
    compared.push(two_segments(t)?);
    bounds.found(ours?, compared.join("; "))
}

/// Goodput of two segments relative to eight, for each host.
fn two_segments(t: &Table<'_>) -> Option<String> {
    let mut shares = Vec::new();
    for host in Host::ALL {
        let g = goodputs(t, "buffer_segments", host.suffix(), &[2, 8])?;
        shares.push(format!("{} {:.1} %", host.name(), g[0] / g[1] * 100.0));
    }
    Some(format!("two segments by eight, uplink: {}", shares.join(", ")))
}

pub(super) fn one_segment(t: &Table<'_>) -> Option<Finding> {
    let up = t.mean("buffer_segments=1", "goodput")?;
    let down = t.mean("buffer_segments=1 downlink", "goodput")?;
    let compared = format!("downlink {down:.1}, uplink {up:.1} kb/s");
    Bounds::default().above("downlink by uplink", down / up, 1.3).found(down / up, compared)
}

/// The paper's window in KiB: two to three KiB hold the bandwidth-delay product.
const WINDOW_KIB: f64 = 3.0;
const MSS: f64 = 462.0;

/// The product of the hop's highest goodput and the round-trip time of a single segment. It is the
/// window that fills the hop if a buffer of that size fills it and one segment less does not.
pub(super) fn bandwidth_delay(t: &Table<'_>) -> Option<Finding> {
    let (mut bounds, mut compared, mut ours) = (Bounds::default(), Vec::new(), None);
    for host in Host::ALL {
        let g: Option<Vec<f64>> = (1..=8)
            .map(|n| t.mean(&format!("buffer_segments={n}{}", host.suffix()), "goodput"))
            .collect();
        let g = g?;
        let best = g.iter().copied().fold(0.0, f64::max);
        let alone = format!("buffer_segments=1 downlink{}", host.suffix());
        // Stop and wait with immediate acknowledgements sends one segment per round trip.
        let round_trip_ms = MSS * 8.0 / t.mean(&alone, "goodput")?;
        let kib = best * round_trip_ms / 8.0 / 1_024.0;
        let segments = (kib * 1_024.0 / MSS).ceil().clamp(1.0, 8.0) as usize;
        ours = ours.or(Some(kib));
        let name = host.name();
        let filled = |segments: usize| g.get(segments - 1).copied().unwrap_or(0.0) / best;
        bounds = bounds.at_most(&format!("{name}, KiB"), kib, WINDOW_KIB).at_least(
            &format!("{name}, filled by {segments} segments"),
            filled(segments),
            0.9,
        );
        if segments > 1 {
            let less = segments - 1;
            bounds = bounds.below(&format!("{name}, filled by {less}"), filled(less), 0.9);
        }
        compared.push(format!(
            "{name}: {best:.1} kb/s times {round_trip_ms:.1} ms are {kib:.2} KiB, {segments} \
             segments, which reach {:.1} %",
            filled(segments) * 100.0
        ));
    }
    bounds.found(ours?, compared.join("; "))
}

pub(super) fn frame_time(t: &Table<'_>) -> Option<Finding> {
    let ms = t.mean("psdu=127", "frame_time")?;
    Bounds::default()
        .within("ms", ms, (7.0, 7.4))
        .found(ms, "sum of the parts given by data sheet and standard".to_owned())
}

pub(super) fn upper_bound(t: &Table<'_>) -> Option<Finding> {
    let bound = t.mean("mss_frames=5", "bound")?;
    let slow = t.mean("mss_frames=5 frame_time=paper", "bound")?;
    let reached = t.mean("hops=1", "share_of_bound")?;
    let compared = format!(
        "we reach {reached:.1} % of our bound, the paper 79 % of its; with the paper's 7.2 ms per \
         frame our formula gives {slow:.1} kb/s"
    );
    Bounds::default()
        .within("bound", bound, (95.0 * 0.9, 95.0 * 1.1))
        .within("share reached", reached, (75.0, 100.0))
        .found(bound, compared)
}

pub(super) fn bound_formula(t: &Table<'_>) -> Option<Finding> {
    let slow = t.mean("mss_frames=5 frame_time=paper", "bound")?;
    Bounds::default()
        .within("bound", slow, (95.0 * 0.95, 95.0 * 1.05))
        .found(slow, "7.2 ms per full frame".to_owned())
}

pub(super) fn one_hop_share(t: &Table<'_>) -> Option<Finding> {
    let share = t.mean("hops=1", "share_of_bound")?;
    let compared = format!("{:.1} kb/s, d = 0", t.mean("hops=1", "goodput")?);
    Bounds::default().at_least("share", share, 93.0).found(share, compared)
}

pub(super) fn goodput75(t: &Table<'_>) -> Option<Finding> {
    let kbps = t.mean("hops=1 host_cost=fitted_tcplp", "goodput")?;
    let driver = t.mean("hops=1 host_cost=fitted_tcplp+driver", "goodput")?;
    let (free, measured) =
        (t.mean("hops=1", "goodput")?, t.mean("hops=1 host_cost=measured", "goodput")?);
    let compared = format!(
        "without CPU cost {free:.1} kb/s, with that of this stack on the Cortex-M0+ \
         {measured:.1}, with the driver's time too {driver:.1} kb/s"
    );
    Bounds::default().within("kb/s", kbps, (67.0, 85.0)).found(kbps, compared)
}

pub(super) fn links(t: &Table<'_>) -> Option<Finding> {
    let at = |metric: &'static str| move |link: &str| t.mean(&format!("link={link}"), metric);
    let (time, room) = (at("time"), at("room"));
    let (ours, octets) = (time("802.15.4")?, room("802.15.4")?);
    let (mut slowest, mut least_room) = (0.0_f64, f64::INFINITY);
    for link in ["Fast Ethernet", "Wi-Fi", "Ethernet"] {
        slowest = slowest.max(time(link)?);
        least_room = least_room.min(room(link)?);
    }
    let compared = format!(
        "the longest frame of a simulated transfer has room for {octets:.0} octets; the slowest \
         other link needs {slowest:.2} ms"
    );
    Bounds::default()
        .above("other links' room by 802.15.4's", least_room / octets, 10.0)
        .above("ms", ours, slowest)
        .within("ms", ours, (4.1 * 0.95, 4.1 * 1.05))
        .found(ours, compared)
}

/// The minima, and the maxima of the totals, are the paper's.
pub(super) fn headers(t: &Table<'_>) -> Option<Finding> {
    let at = |frame: &str, end: &str| t.mean(&format!("frame={frame} header=total"), end);
    let (first, later) = (at("first", "header_min")?, at("nth", "header_min")?);
    let (longest_first, longest) = (at("first", "header_max")?, at("nth", "header_max")?);
    let compared = format!(
        "first frame {first:.0} to {longest_first:.0}, later frames {later:.0} to {longest:.0} B"
    );
    Bounds::default()
        .within("first frame at least", first, (38.0, 38.0))
        .within("later frames at least", later, (16.0, 16.0))
        .at_most("first frame at most", longest_first, 107.0)
        .at_most("later frames at most", longest, 35.0)
        .found(first, compared)
}
