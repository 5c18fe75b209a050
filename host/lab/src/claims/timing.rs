//! Tests of the claims of Duquennoy et al. about the time and energy of a frame, and the raw link.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "bf.fig1.prior-throughput" => raw_link,
        "bf.sec2.2.lossperiod-energy" => loss_period,
        "bf.sec3.1.3.flash-energy" => packet_energy,
        "bf.sec3.2.3.channel-discovery" => discovery,
        "bf.sec5.2.footprint" => queue,
        _ => return None,
    })
}

/// Share of the link that PIP reaches: half of it is left to the second of two slots. The bound and
/// the share of conditional immediate transmission are computed, and no claims.
fn raw_link(t: &Table<'_>) -> Option<Finding> {
    let bound = t.mean("cc2420 raw theoretical", "throughput_of_frames")?;
    let conditional = t.mean("cc2420 raw conditional", "of_bound")?;
    let pip = t.mean("cc2420 pip", "of_bound")?;
    Bounds::default()
        .within("% by PIP", pip, (47.0, 57.0))
        .found(pip, format!("of {bound:.2} kB/s; conditional transmission {conditional:.0} %"))
}

/// A radio that stays on draws about a hundred times as much as an idle one, so half a second of
/// loss costs as much as a minute.
fn loss_period(t: &Table<'_>) -> Option<Finding> {
    let of = |metric| t.mean("500 ms of loss", metric);
    let (ratio, seconds) = (of("always_on_to_idle")?, of("of_idle")?);
    Bounds::default()
        .within("times as much", ratio, (50.0, 200.0))
        .within("s", seconds, (30.0, 120.0))
        .found(seconds, format!("{ratio:.0} times as much"))
}

fn packet_energy(t: &Table<'_>) -> Option<Finding> {
    let of = |metric| t.mean("cc2420 relays", metric);
    let (flash, radio, erase) = (of("flash_energy")?, of("radio_energy")?, of("erase_energy")?);
    Bounds::default()
        .within("mJ of the flash", flash, (0.08, 0.13))
        .within("mJ of the radio", radio, (0.45, 0.60))
        .found(flash, format!("radio {radio:.3}; erasing {erase:.3}"))
}

/// Only the first datagram includes the search.
fn discovery(t: &Table<'_>) -> Option<Finding> {
    let of = |what: &str, channels| t.mean(&format!("{what} channels={channels}"), "frames");
    let (first, later) = (of("first", 11)?, of("later", 11)?);
    let on_one = of("later", 1)?;
    Bounds::default()
        .above("times the later ones", first / later, 5.0)
        .within("of the later ones on one channel", later / on_one, (0.5, 2.0))
        .found(first, format!("later ones {later:.1}, and {on_one:.1} on one channel"))
}

fn queue(t: &Table<'_>) -> Option<Finding> {
    let of = |metric| t.mean("queue", metric);
    let (seconds, octets) = (of("burst_of_256")?, of("memory_for_a_packet")?);
    Bounds::default()
        .at_most("octets of memory for a packet", octets, 8.0)
        .within("s", seconds, (1.9, 2.4))
        .found(seconds, format!("{octets:.0} octets of memory for each packet"))
}
