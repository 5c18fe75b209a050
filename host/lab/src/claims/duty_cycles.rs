//! Tests of the claims about the costs of Kinglet's duty cycles relative to each other.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::duty_cycles::{Cycle, HOPS, WINDOW, label};
use kinglet::radio::CCA;
use kinglet_sim::profile::NRF52840;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.cycles-latency" => latency,
        "kinglet.cycles-price" => price,
        "kinglet.cycles-window" => window,
        "kinglet.cycles-relays" => relays,
        _ => return None,
    })
}

/// An interval that every cycle has in quick and full plans, and one four times as long; us.
const USUAL: u32 = 125_000;
const LONGER: u32 = 500_000;

fn at(t: &Table<'_>, traffic: &str, hops: u32, cycle: Cycle, us: u32, metric: &str) -> Option<f64> {
    t.mean(&label(traffic, hops, cycle, us), metric)
}

/// Allowance per strobe, ms: a strobe begins before the wake-up by its uncertainty, and a packet
/// that comes later waits for the next wake-up; the strobe ends with the second repetition after
/// it.
const AROUND: f64 = 20.0;

/// A request waits half an interval on average. On a hop between two sleeping nodes, the waits of
/// the two directions add up to one interval, whatever the phases of the two are.
fn latency(t: &Table<'_>) -> Option<Finding> {
    let (mut bounds, mut compared) = (Bounds::default(), Vec::new());
    let mut ours = 0.0;
    for (hops, cycle) in HOPS.iter().flat_map(|h| SLEEPING.map(|cycle| (*h, cycle))) {
        for us in [USUAL, LONGER] {
            let interval = f64::from(us) / 1e3;
            // The border router has mains power and is always on.
            let relays = if cycle == Cycle::Wake { f64::from(hops - 1) } else { 0.0 };
            let waits = 0.5 + relays;
            let on = at(t, "sparse", hops, Cycle::On, 0, "latency_mean")?;
            let took = at(t, "sparse", hops, cycle, us, "latency_mean")? - on;
            let beyond = took - waits * interval;
            let early = if cycle == Cycle::Wake { AROUND * (2.0 * relays + 1.0) } else { 0.0 };
            let label = label("sparse", hops, cycle, us);
            let room = (-0.1 * interval, 0.1 * interval + early);
            bounds = bounds.within(&format!("ms beyond, {label}"), beyond, room);
            if (hops, us) == (1, LONGER) {
                compared.push(format!("{} {:.2}", cycle.name(), took / interval));
                ours = took / interval;
            }
        }
    }
    bounds.found(ours, format!("one hop, 0.5 s, of it: {}", compared.join(", ")))
}

/// Cycles with a sleeping node. The length of bursts does not matter for a single frame.
const SLEEPING: [Cycle; 3] = [Cycle::Poll, Cycle::Csl, Cycle::Wake];

/// Radio time of one data request, sample or wake-up, from the difference between two rates.
fn price(t: &Table<'_>) -> Option<Finding> {
    let of = |cycle| {
        let share = |us| Some(at(t, "sparse", 1, cycle, us, "radio_end")? / 100.0);
        let per_second = |us: u32| 1e6 / f64::from(us);
        let more = per_second(USUAL) - per_second(LONGER);
        Some((share(USUAL)? - share(LONGER)?) / more * 1e6)
    };
    let [poll, csl, wake] = [of(Cycle::Poll)?, of(Cycle::Csl)?, of(Cycle::Wake)?];
    let samples = 2.0 * (CCA.as_micros() + NRF52840.synthesiser_us) as f64;
    Bounds::default()
        .within("of two samples and starts", wake / samples, (0.95, 1.05))
        .at_least("times a sample of CSL", poll / csl, 3.0)
        .at_least("times a wake-up", poll / wake, 3.0)
        .found(poll, format!("a sample of CSL {csl:.0}, a wake-up {wake:.0}"))
}

/// One hop: a burst carries a window of TCP, and the next one waits for a wake-up. A transfer
/// leaves two of eleven wake-ups to others (decision 64). Without bursts one carries a frame.
fn window(t: &Table<'_>) -> Option<Finding> {
    let mut bounds = Bounds::default();
    // kb/s times us are octets times 8e3.
    let octets = |traffic: &str, cycle, us| {
        let goodput = at(t, traffic, 1, cycle, us, "goodput")?;
        Some(goodput * f64::from(us) / 8e3)
    };
    let window = f64::from(WINDOW) * at(t, "down", 1, Cycle::Wake, USUAL, "mss")?;
    for (traffic, us) in ["up", "down"].into_iter().flat_map(|t| [USUAL, LONGER].map(|us| (t, us)))
    {
        let each = octets(traffic, Cycle::Wake, us)?;
        let share = each / window / USED;
        bounds = bounds.within("of a window in a used wake-up", share, (0.95, 1.05));
    }
    let [one, longer] = [USUAL, LONGER].map(|us| octets("down", Cycle::Single, us));
    let (one, longer) = (one?, longer?);
    let burst = octets("down", Cycle::Wake, USUAL)?;
    bounds
        .at_most("octets in a wake-up without bursts", one.max(longer), FRAME)
        .found(burst, format!("without bursts {one:.0} down, at 0.5 s {longer:.0}"))
}

/// Share of the wake-ups that a transfer alone uses.
const USED: f64 = 9.0 / 11.0;
/// Maximum octets of a segment in a frame: 127 less the headers of the MAC and of a fragment.
const FRAME: f64 = 104.0;

/// Four hops: radio time of sleeping relays with hardly any traffic, and their energy per kilobyte.
fn relays(t: &Table<'_>) -> Option<Finding> {
    let idle = at(t, "sparse", 4, Cycle::Wake, USUAL, "radio_relays")?;
    let mut bounds = Bounds::default().at_most("% of the time", idle, 1.0);
    let mut shares = Vec::new();
    for traffic in ["up", "down"] {
        let of = |cycle, us| at(t, traffic, 4, cycle, us, "energy_relays");
        let (on, wake) = (of(Cycle::On, 0)?, of(Cycle::Wake, USUAL)?);
        let single = of(Cycle::Single, USUAL)?;
        bounds = bounds.below("of the energy with radios always on", wake / on, 1.0).above(
            "times as much without bursts",
            single / wake,
            1.3,
        );
        shares.push(format!("{traffic} {wake:.1}, always on {on:.1}, no bursts {single:.1}"));
    }
    bounds.found(idle, format!("mJ/kB of a relay: {}", shares.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::super::sample::{holds, row};
    use super::*;
    use kinglet_sweep::row::Row;

    /// Change of a result.
    type Change = fn(&mut Row);

    /// Checks the claim with the results that follow from the mechanisms, after a change.
    fn found(id: &str, change: Change) -> Option<bool> {
        let mut rows = Vec::new();
        for (traffic, hops) in ["sparse", "up", "down"].iter().flat_map(|t| HOPS.map(|h| (t, h))) {
            let mut add = |cycle: Cycle, us: u32, metric: &str, value: f64| {
                rows.push(row(&label(traffic, hops, cycle, us), metric, value));
            };
            add(Cycle::On, 0, "latency_mean", 60.0);
            add(Cycle::On, 0, "energy_relays", 6.0);
            for us in [USUAL, LONGER] {
                let ms = f64::from(us) / 1e3;
                for (cycle, each) in [(Cycle::Poll, 1.6), (Cycle::Csl, 0.4), (Cycle::Wake, 0.336)] {
                    let waits = if cycle == Cycle::Wake { f64::from(hops) - 0.5 } else { 0.5 };
                    add(cycle, us, "latency_mean", 60.0 + waits * ms);
                    add(cycle, us, "radio_end", 0.02 + 100.0 * each / ms);
                }
                add(Cycle::Wake, us, "radio_relays", 0.4);
                add(Cycle::Wake, us, "mss", 450.0);
                add(Cycle::Wake, us, "goodput", USED * 4.0 * 450.0 * 8.0 / ms);
                add(Cycle::Single, us, "goodput", 90.0 * 8.0 / ms);
                add(Cycle::Wake, us, "energy_relays", 4.0);
                add(Cycle::Single, us, "energy_relays", 8.0);
            }
        }
        rows.iter_mut().for_each(change);
        holds("kinglet-duty-cycles", id, rows)
    }

    #[test]
    fn results_of_the_mechanisms_pass_their_claims() {
        for id in ["latency", "price", "window", "relays"] {
            assert_eq!(found(&format!("kinglet.cycles-{id}"), |_| ()), Some(true), "{id}");
        }
    }

    #[test]
    fn a_value_outside_a_bound_fails() {
        fn set(row: &mut Row, label: &str, metric: &str, value: f64) {
            if (row.label.as_str(), row.metric.as_str()) == (label, metric) {
                row.mean = value;
            }
        }
        let broken: [(&str, Change); 8] = [
            ("latency", |r| set(r, "sparse hops=1 csl ms=500", "latency_mean", 400.0)),
            ("latency", |r| set(r, "sparse hops=4 wake ms=125", "latency_mean", 310.0)),
            ("latency", |r| set(r, "sparse hops=4 wake ms=500", "latency_mean", 2_100.0)),
            ("price", |r| set(r, "sparse hops=1 wake ms=125", "radio_end", 0.4)),
            ("price", |r| set(r, "sparse hops=1 poll ms=125", "radio_end", 0.9)),
            ("window", |r| set(r, "down hops=1 wake ms=500", "goodput", 20.0)),
            ("window", |r| set(r, "down hops=1 wake-single ms=500", "goodput", 3.0)),
            ("relays", |r| set(r, "up hops=4 wake ms=125", "energy_relays", 6.5)),
        ];
        for (id, change) in broken {
            assert_eq!(found(&format!("kinglet.cycles-{id}"), change), Some(false), "{id}");
        }
    }
}
