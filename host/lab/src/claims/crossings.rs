//! Tests of the claims of Duquennoy et al. about several flows, interference and transports over
//! bursts, and of Kinglet's own.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::bursts::{LEVELS, cell_label};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "bf.fig8.contributions" => contributions,
        "bf.fig9.reassembly" => reassembly,
        "bf.fig9.goodput" => goodput,
        "bf.fig9.latency" => latency,
        "bf.fig6.loss-vs-interference" => loss,
        "bf.jamlab.garetto" => cell,
        "bf.fig10a.microwave" => oven,
        "bf.fig10b.wifi" => wifi,
        "bf.fig12.crosstraffic" => cross,
        "bf.fig12.dutycycle" => crossing_node,
        "bf.fig13.two-bulks" => two_bulks,
        "bf.fig15.timeline" => timeline,
        "bf.fig15.queues" => queues,
        "bf.fig17.pip" => transports,
        "bf.pip.reimpl" => pip,
        "bf.fig18.dutycycle" => duty_cycle,
        "bf.fig19.energy-per-byte" => energy,
        "kinglet.bf-interference" => ours_interference,
        "kinglet.bf-cross" => ours_cross,
        "kinglet.bf-two-bulks" => ours_two_bulks,
        "kinglet.bf-tcp" => ours_tcp,
        "kinglet.bf-energy" => ours_energy,
        _ => return None,
    })
}

/// Longest and shortest path: the gain from channels grows with the hops, and bursts carry several
/// times as much as single frames at every length.
fn contributions(t: &Table<'_>) -> Option<Finding> {
    let of = |hops: u32, what: &str| t.mean(&format!("hops={hops} {what}"), "throughput_of_frames");
    let gain = |hops, what| Some(of(hops, "ours")? / of(hops, what)?);
    let (short, long) = (gain(4, "one channel")?, gain(8, "one channel")?);
    let (few, many) = (gain(4, "without bursts")?, gain(8, "without bursts")?);
    Bounds::default()
        .above("times over four hops by channels", short, 1.2)
        .above("of that over eight", long / short, 1.0)
        .above("times over four hops by bursts", few, 2.0)
        .above("times over eight hops by bursts", many, 2.0)
        .found(few, format!("{many:.1} over eight hops; channels {short:.1} and {long:.1}"))
}

fn fragments(t: &Table<'_>, payload: u16, attempts: &str, metric: &str) -> Option<f64> {
    t.mean(&format!("payload={payload} attempts={attempts}"), metric)
}

/// Many fragments rarely arrive with few retransmissions and always arrive with all of them.
fn reassembly(t: &Table<'_>) -> Option<Finding> {
    let of = |payload, attempts| fragments(t, payload, attempts, "arrived");
    let (small, large) = (of(76, "2")?, of(1_504, "2")?);
    let all = of(1_504, "all")?;
    Bounds::default()
        .below("of one fragment's share with two strobes", large / small, 0.5)
        .above("of what two strobes have with all", all / large.max(0.1), 2.0)
        .at_least("% with all", all.min(of(76, "all")?), 99.9)
        .found(all, format!("with two strobes {large:.1} of fifteen fragments, {small:.0} of one"))
}

/// Goodput is highest for large datagrams with all retransmissions, and lower with small ones.
fn goodput(t: &Table<'_>) -> Option<Finding> {
    let of = |payload, attempts| fragments(t, payload, attempts, "throughput");
    let (best, small) = (of(1_504, "all")?, of(76, "all")?);
    let few = of(76, "1")?;
    Bounds::default()
        .above("of what small ones have", best / small, 1.0)
        .below("small ones, of what they have with one strobe", small / few, 1.0)
        .found(best, format!("small ones {small:.2}, and {few:.2} with one strobe"))
}

/// Either takes longer while the other one is constant.
fn latency(t: &Table<'_>) -> Option<Finding> {
    let of = |payload, attempts| fragments(t, payload, attempts, "delay");
    let (most, one) = (of(1_504, "all")?, of(76, "all")?);
    let once = of(76, "1")?;
    Bounds::default()
        .above("s of fifteen fragments with all retransmissions", most, one)
        .above("s of one fragment with all retransmissions", one, once)
        .above("s of fifteen fragments with all retransmissions", most, of(1_504, "8")?)
        .found(most, format!("one fragment {one:.0} s, and {once:.0} tried once"))
}

/// The four points in the paper.
fn loss(t: &Table<'_>) -> Option<Finding> {
    let of = |kind: &str, level: i32| t.mean(&format!("loss {kind} dbm={level}"), "segment_loss");
    let (oven, wifi) = (of("oven", -98)?, of("wifi", -98)?);
    let strong = of("wifi", -76)?;
    Bounds::default()
        .within("% oven at -98 dBm", oven, (45.0, 60.0))
        .within("% Wi-Fi at -98 dBm", wifi, (45.0, 60.0))
        .within("% Wi-Fi at -76 dBm", strong, (75.0, 85.0))
        .found(oven, format!("Wi-Fi {wifi:.0} at -98 and {strong:.0} at -76 dBm"))
}

/// Loss near a saturated cell of 25 stations.
fn cell(t: &Table<'_>) -> Option<Finding> {
    let at = |level| t.mean(&cell_label(level), "segment_loss");
    let (ours, step) = (at(-76)?, [at(-72)?, at(-70)?, at(-68)?]);
    Bounds::default()
        .within("% at -76 dBm", ours, (75.0, 85.0))
        .found(ours, format!("at -72, -70 and -68 dBm {step:.0?}"))
}

/// Bursts absorb regular interference.
fn oven(t: &Table<'_>) -> Option<Finding> {
    let ours = t.mean("oven paper", "throughput_of_frames")?;
    let failed = t.mean("oven paper", "not_heard")?;
    let wifi = t.mean("wifi paper", "throughput_of_frames")?;
    Bounds::default()
        .below("% of strobes fail", failed, 8.0)
        .above("of the goodput left near Wi-Fi", ours / wifi, 1.4)
        .found(ours, format!("{failed:.1} % of strobes fail; near Wi-Fi {wifi:.2}"))
}

fn wifi(t: &Table<'_>) -> Option<Finding> {
    let ours = t.mean("wifi paper", "throughput_of_frames")?;
    let failed = t.mean("wifi paper", "not_heard")?;
    Bounds::default()
        .within("% of strobes fail", failed, (12.0, 30.0))
        .within("kB/s", ours, (1.2, 2.0))
        .found(ours, format!("{failed:.1} % of strobes fail"))
}

fn ours_interference(t: &Table<'_>) -> Option<Finding> {
    let of = |label: &str| t.mean(label, "throughput_of_frames");
    let (oven, wifi) = (of("oven ours")?, of("wifi ours")?);
    let (oven_today, wifi_today) = (of("oven nrf52840")?, of("wifi nrf52840")?);
    Bounds::default()
        .at_least("kB/s near an oven", oven, 2.9)
        .at_least("kB/s near Wi-Fi", wifi, 1.6)
        .at_least("kB/s near an oven on an nRF52840", oven_today, 3.6)
        .at_least("kB/s near Wi-Fi on an nRF52840", wifi_today, 2.4)
        .found(oven, format!("Wi-Fi {wifi:.2}; nrf52840 {oven_today:.2} and {wifi_today:.2}"))
}

/// Remaining share of the transfer, loss of the collection, and additional delay of the collection
/// in seconds.
fn crossing(t: &Table<'_>, which: &str) -> Option<(f64, f64, f64)> {
    let of = |what: &str, metric| t.mean(&format!("{what} {which}"), metric);
    let left = 100.0 * of("both", "first")? / of("bulk", "first")?;
    let lost = of("both", "collection_loss")?;
    let lost_met = t.mean(&format!("both {which} met"), "collection_loss")?;
    Some((left, lost.max(lost_met), later(t, &format!("{which} met"))?))
}

fn later(t: &Table<'_>, which: &str) -> Option<f64> {
    let delay = |what: &str| t.mean(&format!("{what} {which}"), "collection_delay");
    Some(delay("both")? - delay("collection")?)
}

fn cross(t: &Table<'_>) -> Option<Finding> {
    let (left, lost, later) = crossing(t, "paper")?;
    let quiet = t.mean("collection paper", "radio_2")?;
    Bounds::default()
        .at_least("% left of the transfer", left, 70.0)
        .at_most("% of the collection lost", lost, 0.0)
        .at_most("s later", later, 4.0)
        .below("% of radio without the transfer", quiet, 4.0)
        .found(left, format!("collection {later:.1} s later, nothing lost"))
}

/// Radio of the crossing node without the transfer and during it.
fn crossing_node(t: &Table<'_>) -> Option<Finding> {
    let (quiet, busy) = (t.mean("collection paper", "radio_2")?, t.mean("both paper", "radio_2")?);
    Bounds::default()
        .below("% without the transfer", quiet, 4.0)
        .within("% during it", busy, (70.0, 90.0))
        .found(busy, format!("without it {quiet:.1}"))
}

fn ours_cross(t: &Table<'_>) -> Option<Finding> {
    let (left, lost, met) = crossing(t, "ours")?;
    let (left_today, lost_today, met_today) = crossing(t, "ours nrf52840")?;
    let (strange, strange_today) = (later(t, "ours")?, later(t, "ours nrf52840")?);
    Bounds::default()
        .at_least("% left of the transfer", left.min(left_today), 82.0)
        .at_most("% of the collection lost", lost.max(lost_today), 0.0)
        .at_most("s later", met, 2.0)
        .at_most("s later on an nRF52840", met_today, 0.5)
        .found(
            left,
            format!(
                "collection {met:.1} s later, {strange:.1} if nodes have not met; nrf52840 \
                 {left_today:.0}, {met_today:.1} and {strange_today:.1}"
            ),
        )
}

fn two(t: &Table<'_>, which: &str) -> Option<(f64, f64)> {
    Some((t.mean(which, "first_beside")?, t.mean(which, "second")?))
}

/// The paper's rates differ by 6 %, and are 55 % of one transfer alone. One node sends and receives
/// for both, so they cannot exceed what one transfer has alone.
fn two_bulks(t: &Table<'_>) -> Option<Finding> {
    let (first, second) = two(t, "paper")?;
    let alone = t.mean("paper", "first_alone")?;
    let radio = |when: &str| t.mean("paper", &format!("radio_2_{when}"));
    Bounds::default()
        .below("of each other", (first - second).abs() / first, 0.1)
        .within("together, of one alone", (first + second) / alone, (0.45, 0.65))
        .below("of the radio of one alone", radio("beside")? / radio("alone")?, 1.0)
        .found(first, format!("and {second:.2}; one alone {alone:.2}"))
}

fn ours_two_bulks(t: &Table<'_>) -> Option<Finding> {
    let (first, second) = two(t, "ours")?;
    let sum = first + second;
    Bounds::default()
        .at_least("kB/s together", sum, 4.5)
        .at_most("of each other", (first - second).abs() / first.max(second), 0.1)
        .found(sum, format!("{first:.2} and {second:.2}"))
}

fn timeline(t: &Table<'_>) -> Option<Finding> {
    let of = |metric| t.mean("paper", metric);
    let (before, during, after) = (of("before")?, of("during")?, of("after")?);
    let resent = of("retransmitted")?;
    Bounds::default()
        .within("times what is left during interference", before / during, (5.0, 20.0))
        .above("after it, of before", after / before, 0.8)
        .below("% sent again", resent, 15.0)
        .found(before, format!("{during:.0} during, {after:.0} after it; {resent:.0} % sent again"))
}

/// Frames of a queue of a relay. "Saturated" is more than half of it on average, as it empties and
/// fills with TCP's rate; "almost empty" is less than a tenth.
const QUEUE: f64 = 256.0;

/// In the row `down` node 5 sends to node 6, as in the paper.
fn queues(t: &Table<'_>) -> Option<Finding> {
    let at = |node: u8| t.mean("down", &format!("queue_{node}_during"));
    let (before, inside) = (at(5)?, at(6)?);
    Bounds::default()
        .above("frames at node 5", before, QUEUE / 2.0)
        .below("frames at node 6", inside, QUEUE / 10.0)
        .found(before, format!("at node 6 {inside:.1}"))
}

fn at(t: &Table<'_>, name: &str, level: u8, metric: &str) -> Option<f64> {
    t.mean(&format!("{name} sources={level}"), metric)
}

fn transports(t: &Table<'_>) -> Option<Finding> {
    let of = |name: &str, level| at(t, name, level, "goodput");
    let mut bounds = Bounds::default();
    for level in LEVELS {
        let best = of("snack paper", level)?.max(of("tcp paper", level)?);
        bounds = bounds.at_least("of the best of the others", of("pip", level)? / best, 1.0);
    }
    let (tcp, snack) = (of("tcp paper", 0)?, of("snack paper", 0)?);
    bounds
        .below("TCP, of Snack", tcp / snack, 0.85)
        .found(of("pip", 0)?, format!("Snack {snack:.1}, TCP {tcp:.1}"))
}

fn pip(t: &Table<'_>) -> Option<Finding> {
    let ours = at(t, "pip", 0, "goodput")?;
    Bounds::default().within("kb/s", ours, (60.0, 76.0)).found(ours, "of the file".to_owned())
}

fn duty_cycle(t: &Table<'_>) -> Option<Finding> {
    let of = |name: &str, level| at(t, name, level, "radio_3");
    let (snack, worse) = (of("snack paper", 2)?, of("snack paper", 3)?);
    let tcp = of("tcp paper", 3)?;
    Bounds::default()
        .within("% PIP", of("pip", 3)?, (99.9, 100.0))
        .within("Snack, of that with less loss", worse / snack, (0.7, 1.3))
        .below("TCP, of Snack", tcp / worse, 0.5)
        .found(tcp, format!("Snack {worse:.0}, PIP 100"))
}

/// Highest energy of a kilobyte over 0, 58 and 82 % of loss, and its ratio to the lowest.
fn over_levels(t: &Table<'_>, name: &str) -> Option<(f64, f64)> {
    let all: Option<Vec<f64>> = (0..3).map(|level| at(t, name, level, "energy_3")).collect();
    let all = all?;
    let most = all.iter().copied().fold(0.0, f64::max);
    Some((most, most / all.iter().copied().fold(f64::INFINITY, f64::min)))
}

fn energy(t: &Table<'_>) -> Option<Finding> {
    let (most, ratio) = over_levels(t, "tcp paper")?;
    let of = |name: &str, level| at(t, name, level, "energy_3");
    Bounds::default()
        .below("times from the least to the most", ratio, 1.5)
        .within("PIP, of TCP at 82 %", of("pip", 2)? / of("tcp paper", 2)?, (4.0, 8.0))
        .below("PIP, of TCP without loss", of("pip", 0)? / of("tcp paper", 0)?, 1.0)
        .found(
            most,
            format!(
                "{:.1} without loss, PIP {:.1} to {:.0}",
                of("tcp paper", 0)?,
                of("pip", 0)?,
                of("pip", 2)?
            ),
        )
}

fn ours_energy(t: &Table<'_>) -> Option<Finding> {
    let (most, ratio) = over_levels(t, "tcp ours")?;
    let mut bounds = Bounds::default().at_most("mJ/kB", most, 16.0).at_most(
        "times from the least to the most",
        ratio,
        1.3,
    );
    for level in 0..3 {
        let of = |name: &str| at(t, name, level, "energy_3");
        bounds = bounds.below("of PIP", of("tcp ours")? / of("pip")?, 1.0);
    }
    bounds.found(most, format!("{:.1} without loss", at(t, "tcp ours", 0, "energy_3")?))
}

fn ours_tcp(t: &Table<'_>) -> Option<Finding> {
    let rate = |name: &str, level| Some(at(t, name, level, "goodput")? * 125.0);
    let (clear, lossy) = (rate("tcp ours", 0)?, rate("tcp ours", 2)?);
    let (today, lossy_today) = (rate("tcp nrf52840", 0)?, rate("tcp nrf52840", 2)?);
    let (again, again_today) =
        (at(t, "tcp ours", 2, "sent_again")?, at(t, "tcp nrf52840", 2, "sent_again")?);
    Bounds::default()
        .at_least("B/s without loss", clear, 1_488.0)
        .at_least("B/s with 82 %", lossy, 151.0)
        .at_least("B/s on an nRF52840", today, 3_000.0)
        .at_least("B/s with 82 % on an nRF52840", lossy_today, 600.0)
        .at_most("% sent again with 82 %", again, 8.0)
        .at_most("% sent again with 82 % on an nRF52840", again_today, 1.0)
        .found(clear, format!("with 82 % {lossy:.0}; nrf52840 {today:.0} and {lossy_today:.0}"))
}
