//! Tests of the claims of TCPlp §6: frames, segments and buffers over one hop.

use super::bounds::Bounds;
use super::{Finding, Table};

pub(super) fn overhead50(t: &Table<'_>) -> Option<Finding> {
    let share = t.mean("mss_frames=1", "header_share")?;
    let what = "TCP/IP headers by what a frame has room for";
    Bounds::default().above(what, share, 50.0).found(share, what.to_owned())
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
