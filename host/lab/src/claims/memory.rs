//! Tests of the claims of TCPlp's tables about memory, and of App. A.2 about timers.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.table1.zerocopy" => zero_copy,
        "tcplp.table1.inplace-reassembly" => in_place,
        "tcplp.table2.platforms" => platforms,
        "tcplp.table3.memory-riot" => riot,
        "tcplp.table8.memory-tinyos" => tiny_os,
        "tcplp.sec2.1.listen-cost" => listening,
        "tcplp.appA2.tickless" => tickless,
        "tcplp.appA2.timer-drop" => timer_drop,
        _ => return None,
    })
}

/// Memory of a kind of window relative to its baseline.
fn share(t: &Table<'_>, label: &str, baseline: &str) -> Option<(f64, String)> {
    let (mine, other) = (t.mean(label, "ram")?, t.mean(baseline, "ram")?);
    Some((mine / other, format!("{mine:.0} instead of {other:.0} octets for four segments of 462")))
}

fn zero_copy(t: &Table<'_>) -> Option<Finding> {
    let (share, compared) = share(t, "send zero-copy", "send baseline")?;
    Bounds::default().at_most("share", share, 0.55).found((1.0 - share) * 100.0, compared)
}

fn in_place(t: &Table<'_>) -> Option<Finding> {
    let (share, compared) = share(t, "receive in-place", "receive baseline")?;
    Bounds::default().within("share", share, (0.55, 0.70)).found((1.0 - share) * 100.0, compared)
}

const KIB: f64 = 1_024.0;
/// ROM and RAM in octets of Hamilton (Cortex-M0+) and Firestorm (Cortex-M4), Table 2.
const PLATFORMS: [(&str, f64, f64); 2] =
    [("m0plus", 256.0 * KIB, 32.0 * KIB), ("m4", 512.0 * KIB, 64.0 * KIB)];

fn platforms(t: &Table<'_>) -> Option<Finding> {
    let mut holds = true;
    for (target, rom, ram) in PLATFORMS {
        let label = format!("image=mote {target}");
        holds &= t.mean(&label, "flash")? <= rom && t.mean(&label, "ram")? <= ram;
    }
    let of = |metric| t.mean("image=mote m0plus", metric);
    let (flash, ram) = (of("flash")?, of("ram")?);
    let compared = format!(
        "of Hamilton's RAM, stack included: {ram:.0} octets of a mote with two connections, mesh, \
         security and sleep; {flash:.0} of its ROM"
    );
    Bounds::default()
        .is(holds, "every image on its platform")
        .found(ram / PLATFORMS[0].2 * 100.0, compared)
}

/// State of a connection and of a listening port on a processor.
fn records(t: &Table<'_>, target: &str) -> Option<(f64, f64, String)> {
    let active = t.mean(&format!("connection {target}"), "ram")?;
    let passive = t.mean(&format!("listener {target}"), "ram")?;
    Some((active, passive, format!("without buffers; a port that waits {passive:.0} octets")))
}

fn riot(t: &Table<'_>) -> Option<Finding> {
    let (active, passive, compared) = records(t, "m0plus")?;
    // 2 % of Hamilton's RAM are 655 octets, but the paper's total is half a KiB.
    Bounds::default()
        .at_most("octets", active, 512.0_f64.min(0.02 * PLATFORMS[0].2))
        .at_most("octets of a port", passive, active / 3.0)
        .found(active, compared)
}

fn tiny_os(t: &Table<'_>) -> Option<Finding> {
    let (active, passive, compared) = records(t, "m4")?;
    // Less than 1 % of Firestorm's RAM (§5.1), and at most the table's 564.
    Bounds::default()
        .at_most("octets", active, 564.0_f64.min(0.01 * PLATFORMS[1].2))
        .at_most("octets of a port", passive, active / 3.0)
        .found(active, compared)
}

fn listening(t: &Table<'_>) -> Option<Finding> {
    let of = |radio: &str| t.mean(&format!("radio={radio}"), "listening_by_sending");
    let (paper, other) = (of("at86rf233")?, of("nrf52840")?);
    let compared = format!("nRF52840 {other:.2}; data sheets");
    Bounds::default()
        .at_least("ratio", paper, 0.8)
        .at_least("ratio of the nRF52840", other, 0.8)
        .found(paper, compared)
}

/// Wake-ups per second of an idle connection: at most one per minute, for its handshake.
const IDLE_PER_S: f64 = 1.0 / 60.0;

fn tickless(t: &Table<'_>) -> Option<Finding> {
    let at =
        |method: &str, what: &str, metric: &str| t.mean(&format!("timers={method} {what}"), metric);
    let idle = at("deadline", "idle", "wake_ups")?;
    let late = at("deadline", "loss=5", "late")?;
    let goodput = at("deadline", "loss=5", "goodput")?;
    let mut bounds =
        Bounds::default().at_most("idle", idle, IDLE_PER_S).at_most("ms late", late, 1.0);
    let mut compared = vec![format!("idle; {late:.1} ms late, {goodput:.1} kb/s with 5 % lost")];
    for ms in [200, 500] {
        let tick = format!("tick_ms={ms}");
        let (woken, late) = (at(&tick, "idle", "wake_ups")?, at(&tick, "loss=5", "late")?);
        let goodput = at(&tick, "loss=5", "goodput")?;
        // A tick delays timers by half of it on average, or by a quarter if other events wake the
        // node earlier.
        bounds = bounds
            .at_least(&format!("{tick}: wake-ups"), woken, 0.9 * 1e3 / f64::from(ms))
            .at_least(&format!("{tick}: ms late"), late, f64::from(ms) / 4.0);
        compared.push(format!("tick of {ms} ms {woken:.1}, {late:.0} ms, {goodput:.1} kb/s"));
    }
    bounds.found(idle, compared.join("; "))
}

fn timer_drop(t: &Table<'_>) -> Option<Finding> {
    let at = |method: &str, metric: &str| t.mean(&format!("timers={method} loss=5 flood"), metric);
    let (lost, left) =
        (at("shared-queue", "expiries_lost")?, at("shared-queue", "goodput_at_end")?);
    let (own, kept) = (at("deadline", "expiries_lost")?, at("deadline", "goodput_at_end")?);
    let compared = format!(
        "{kept:.1} kb/s after the flood; in a queue that packets share {lost:.1} are lost and \
         {left:.1} kb/s are left"
    );
    Bounds::default()
        .at_most("expiries lost", own, 0.0)
        .above("kb/s kept", kept, 0.0)
        .above("lost in a queue", lost, 0.0)
        .below("kb/s left by a queue", left, kept)
        .found(own, compared)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{self, row};

    fn holds(experiment: &'static str, id: &str, rows: &[(&str, &str, f64)]) -> Option<bool> {
        let rows = rows.iter().map(|(label, metric, mean)| row(label, metric, *mean)).collect();
        sample::holds(experiment, id, rows)
    }

    fn memory(id: &str, rows: &[(&str, &str, f64)]) -> Option<bool> {
        holds("tcplp-memory", id, rows)
    }

    #[test]
    fn buffers_that_save_too_little_fail() {
        let send = |mine| {
            let rows = [("send zero-copy", "ram", mine), ("send baseline", "ram", 100.0)];
            memory("tcplp.table1.zerocopy", &rows)
        };
        assert_eq!((send(50.0), send(60.0)), (Some(true), Some(false)));
        let receive = |mine| {
            let rows = [("receive in-place", "ram", mine), ("receive baseline", "ram", 100.0)];
            memory("tcplp.table1.inplace-reassembly", &rows)
        };
        assert_eq!([62.0, 75.0, 50.0].map(receive), [true, false, false].map(Some));
    }

    #[test]
    fn a_connection_of_more_than_half_a_kibibyte_fails_and_so_does_a_large_listener() {
        for (id, target) in
            [("tcplp.table3.memory-riot", "m0plus"), ("tcplp.table8.memory-tinyos", "m4")]
        {
            let of = |active, passive| {
                let (one, other) = (format!("connection {target}"), format!("listener {target}"));
                memory(id, &[(&one, "ram", active), (&other, "ram", passive)])
            };
            assert_eq!(of(400.0, 40.0), Some(true));
            assert_eq!((of(600.0, 40.0), of(400.0, 300.0)), (Some(false), Some(false)));
        }
    }

    #[test]
    fn an_image_that_does_not_fit_and_a_radio_that_listens_for_nothing_fail() {
        let image = |ram| {
            let small = ("image=mote m4", "ram", 20_000.0);
            let flash = ["m0plus", "m4"].map(|target| format!("image=mote {target}"));
            let rows = [
                ("image=mote m0plus", "ram", ram),
                small,
                (&*flash[0], "flash", 100_000.0),
                (&*flash[1], "flash", 100_000.0),
            ];
            memory("tcplp.table2.platforms", &rows)
        };
        assert_eq!((image(30_000.0), image(40_000.0)), (Some(true), Some(false)));
        let radio = |ratio| {
            let rows = ["at86rf233", "nrf52840"].map(|radio| format!("radio={radio}"));
            let rows = [&*rows[0], &*rows[1]].map(|r| (r, "listening_by_sending", ratio));
            memory("tcplp.sec2.1.listen-cost", &rows)
        };
        assert_eq!((radio(0.9), radio(0.1)), (Some(true), Some(false)));
    }

    #[test]
    fn timers_that_wake_or_are_lost_fail() {
        let tick = |idle, late_200| {
            let mut rows = vec![
                ("timers=deadline idle", "wake_ups", idle),
                ("timers=deadline loss=5", "late", 0.5),
                ("timers=deadline loss=5", "goodput", 60.0),
                ("timers=tick_ms=200 idle", "wake_ups", 5.0),
                ("timers=tick_ms=200 loss=5", "late", late_200),
                ("timers=tick_ms=200 loss=5", "goodput", 50.0),
            ];
            rows.extend([
                ("timers=tick_ms=500 idle", "wake_ups", 2.0),
                ("timers=tick_ms=500 loss=5", "late", 250.0),
                ("timers=tick_ms=500 loss=5", "goodput", 40.0),
            ]);
            holds("tcplp-timers", "tcplp.appA2.tickless", &rows)
        };
        assert_eq!(
            [tick(0.0, 100.0), tick(1.0, 100.0), tick(0.0, 49.0)],
            [Some(true), Some(false), Some(false)]
        );
        let flood = |lost, left| {
            let rows = [
                ("timers=deadline loss=5 flood", "expiries_lost", 0.0),
                ("timers=deadline loss=5 flood", "goodput_at_end", 50.0),
                ("timers=shared-queue loss=5 flood", "expiries_lost", lost),
                ("timers=shared-queue loss=5 flood", "goodput_at_end", left),
            ];
            holds("tcplp-timers", "tcplp.appA2.timer-drop", &rows)
        };
        assert_eq!((flood(3.0, 0.0), flood(0.0, 50.0)), (Some(true), Some(false)));
    }
}
