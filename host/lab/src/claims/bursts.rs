//! Tests of the claims of Duquennoy et al. about bursts over sleeping nodes, and of Kinglet's own.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::bursts::{BURSTS, IDLE_RATES, RATES};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "bf.contikimac.idle" => idle,
        "bf.abstract.radio-off" => off,
        "bf.fig7a.burst-throughput" => throughput,
        "bf.fig7b.burst-energy" => energy,
        "kinglet.bf-idle" => ours_idle,
        "kinglet.bf-rate" => ours_rate,
        "kinglet.bf-bulk" => ours_bulk,
        _ => return None,
    })
}

/// Radio time of the worst node at eight wake-ups per second, %.
fn at_eight(t: &Table<'_>, radio: &str, kind: &str) -> Option<f64> {
    t.mean(&format!("{radio} rate=8{kind}"), "radio_worst")
}

fn idle(t: &Table<'_>) -> Option<Finding> {
    let ours = at_eight(t, "cc2420", "")?;
    Bounds::default()
        .below("%", ours, 0.6)
        .found(ours, format!("with a datagram a minute {:.2}", at_eight(t, "cc2420", " sparse")?))
}

fn off(t: &Table<'_>) -> Option<Finding> {
    let (nothing, sparse) = (at_eight(t, "cc2420", "")?, at_eight(t, "cc2420", " sparse")?);
    Bounds::default()
        .above("% off without traffic", 100.0 - nothing, 99.0)
        .above("with a datagram a minute", 100.0 - sparse, 99.0)
        .found(100.0 - nothing, format!("with a datagram a minute {:.2}", 100.0 - sparse))
}

/// The paper's figure on its hardware, and half of it on a current radio. The cost is proportional
/// to the rate of wake-ups on both radios.
fn ours_idle(t: &Table<'_>) -> Option<Finding> {
    let (paper, today) = (at_eight(t, "cc2420", "")?, at_eight(t, "nrf52840", "")?);
    let noisy = at_eight(t, "nrf52840", " noisy")?;
    let mut bounds =
        Bounds::default().at_most("cc2420", paper, 0.6).at_most("nrf52840", today, 0.3);
    for radio in ["cc2420", "nrf52840"] {
        for rate in IDLE_RATES {
            let each = t.mean(&format!("{radio} rate={rate}"), "radio_worst")? / f64::from(rate);
            let usual = at_eight(t, radio, "")? / 8.0;
            bounds = bounds.within("of what a wake-up costs", each / usual, (0.9, 1.1));
        }
    }
    bounds.found(today, format!("cc2420 {paper:.2}; node near Wi-Fi {noisy:.2}"))
}

fn of(t: &Table<'_>, burst: u32, rate: u32, metric: &str) -> Option<f64> {
    t.mean(&format!("burst={burst} rate={rate}"), metric)
}

/// Highest difference in % between rates with bursts of 2 s: before each burst a node waits for at
/// most one wake-up of the next one, which takes half a second at two a second and a sixteenth at
/// sixteen.
const BY_ONE_WAIT: f64 = 100.0 * (1.0 - (2.0 + 1.0 / 16.0) / (2.0 + 1.0 / 2.0));
/// The paper's throughput in kB/s, and the relative difference of ours up to which they are equal.
const OF_PAPER: f64 = 5.8;
const EQUAL: f64 = 0.1;

/// Bursts of seconds are needed; with them the rate of wake-ups hardly matters.
fn throughput(t: &Table<'_>) -> Option<Finding> {
    const METRIC: &str = "throughput_of_frames";
    let longest = *BURSTS.last()?;
    let (most, none) = (of(t, longest, 8, METRIC)?, of(t, 0, 8, METRIC)?);
    let at_two: Option<Vec<f64>> = RATES.iter().map(|rate| of(t, longest, *rate, METRIC)).collect();
    let at_two = at_two?;
    let (low, high) = (
        at_two.iter().copied().fold(f64::INFINITY, f64::min),
        at_two.iter().copied().fold(0.0, f64::max),
    );
    Bounds::default()
        .within("kB/s", most, (OF_PAPER * (1.0 - EQUAL), OF_PAPER * (1.0 + EQUAL)))
        .above("times what single frames have", most / none, 2.0)
        .below("% between rates at 2 s", 100.0 * (high - low) / high, BY_ONE_WAIT)
        .found(most, format!("without bursts {none:.2}; at 2 s {low:.2} to {high:.2}"))
}

/// Bursts of a few hundred milliseconds suffice.
fn energy(t: &Table<'_>) -> Option<Finding> {
    let (half, two) = (of(t, 500, 8, "energy")?, of(t, 2_000, 8, "energy")?);
    let none = of(t, 0, 8, "energy")?;
    Bounds::default()
        .at_most("of that of 2 s", half / two, 1.15)
        .above("without bursts, of that of 2 s", none / two, 1.15)
        .found(half, format!("{two:.1} with 2 s, {none:.1} without bursts"))
}

fn ours_rate(t: &Table<'_>) -> Option<Finding> {
    let paper = t.mean("hops=1 burst=20000", "rate")?;
    let today = t.mean("nrf52840 hops=1 burst=20000", "rate")?;
    Bounds::default()
        .at_least("cc2420", paper, 130.0)
        .at_least("nrf52840", today, 200.0)
        .found(paper, format!("nrf52840 {today:.0}"))
}

fn ours_bulk(t: &Table<'_>) -> Option<Finding> {
    let beside = |label: &str| t.mean(label, "throughput_of_frames");
    let (ours, today) = (of(t, 2_000, 8, "throughput_of_frames")?, beside("nrf52840")?);
    let (pip, pip_today) = (beside("pip")?, beside("pip nrf52840")?);
    Bounds::default()
        .at_least("kB/s", ours, 5.8)
        .at_least("of PIP on an nRF52840", today / pip_today, 1.0)
        .found(ours, format!("PIP {pip:.2}; nrf52840 {today:.2}, PIP {pip_today:.2}"))
}
