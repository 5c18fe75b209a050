//! Tests of the claims of Kim et al. about TCP over RPL, and of Kinglet's own in the same networks.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::over_rpl::forms::{
    self, EXPIRED, FORMED, HEALED, UNREACHED, UNREACHED_AFTER,
};
use crate::experiment::over_rpl::meters;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "rpl.setup.load" => load,
        "rpl.fig4a.etx" => link_etx,
        "rpl.fig4b.queue-loss" => queue_loss,
        "rpl.fig5a.udp-loss" => udp_loss,
        "rpl.fig5b.throughput" => throughput,
        "rpl.tcp.prr" => delivered,
        "rpl.fig6a.tcp-etx" => tcp_etx,
        "rpl.fig6b.total-overhead" => overhead,
        "rpl.fig7.unfairness" => unfairness,
        "rpl.fig8.rtt" => round_trips,
        "rpl.fig9a.control-overhead" => control,
        "rpl.fig9b.parent-changes" => parent_changes,
        "rpl.fig10.loadbalance" => deeper,
        "rpl.fig11a.rto-throughput" => best_timeout,
        "rpl.fig11b.rto-etx" => timeout_etx,
        "rpl.bug1.six-transmissions" => six_transmissions,
        "rpl.bug2.syn-loss" => syn_loss,
        "rpl.bug3.route-lifetime" => route_lifetime,
        "rpl.headline.reliability-vs-throughput" => headline,
        "kinglet.rpl-throughput" => ours_throughput,
        "kinglet.rpl-fairness" => ours_fairness,
        "kinglet.rpl-seven-hops" => ours_deeper,
        "kinglet.rpl-queue-loss" => ours_queue_loss,
        "kinglet.rpl-forms" => forms,
        "kinglet.rpl-meters" => meters,
        _ => return None,
    })
}

const CASES: [&str; 4] = ["udp-down", "udp-up", "tcp-down", "tcp-up"];
const TCP: [&str; 2] = ["tcp-down", "tcp-up"];
/// Load in packets per minute and node.
const OFFERED: f64 = 60.0;

/// Value of a case at a load.
fn at(t: &Table<'_>, case: &str, load: u32, metric: &str) -> Option<f64> {
    t.mean(&format!("{case} load={load}"), metric)
}

/// Values of several cases at 60 packets per minute.
fn heavy<const N: usize>(t: &Table<'_>, cases: [&str; N], metric: &str) -> Option<[f64; N]> {
    let values = cases.map(|case| at(t, case, 60, metric));
    values.iter().all(Option::is_some).then(|| values.map(Option::unwrap_or_default))
}

/// Loads of the plan; the quick plan omits the middle one.
fn loads(t: &Table<'_>, metric: &str) -> impl Iterator<Item = u32> {
    let there = |load: &u32| CASES.iter().any(|case| at(t, case, *load, metric).is_some());
    [10, 30, 60].into_iter().filter(there).collect::<Vec<_>>().into_iter()
}

/// At 60 packets per minute at least one class of flows gets less than its load.
fn load(t: &Table<'_>) -> Option<Finding> {
    let mut least = f64::INFINITY;
    for case in CASES {
        let share = |load| Some(at(t, case, load, "throughput")? / f64::from(load) * 100.0);
        least = least.min(share(60)?);
    }
    Bounds::default()
        .below("% of what is offered, the least of four", least, 95.0)
        .found(least, "the least of four cases at 60 packets a minute".to_owned())
}

/// Limit of a low ETX: a link that loses half of its frames has two.
const LOW_ETX: f64 = 2.0;

fn link_etx(t: &Table<'_>) -> Option<Finding> {
    let mut most = f64::NEG_INFINITY;
    let mut worst = [0.0; 4];
    let mut count = 0.0;
    for load in loads(t, "link_etx") {
        count += 1.0;
        for (sum, case) in worst.iter_mut().zip(CASES) {
            most = most.max(at(t, case, load, "link_etx")?);
            *sum += at(t, case, load, "link_etx_worst")?;
        }
    }
    let [down, others @ ..] = worst.map(|sum| sum / count);
    let other = others.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Bounds::default()
        .below("median, the most", most, LOW_ETX)
        .at_least("worst node of UDP down", down, other)
        .found(most, format!("worst node of UDP down {down:.2}, of others {other:.2}"))
}

/// Negligible on the paper's axis, in packets per hour and node.
const NEGLIGIBLE: f64 = 10.0;

fn queue_loss(t: &Table<'_>) -> Option<Finding> {
    let mut most = (f64::NEG_INFINITY, String::new());
    for load in loads(t, "queue_loss") {
        for case in CASES {
            let value = at(t, case, load, "queue_loss")?;
            if value > most.0 {
                most = (value, format!("{case} at {load}"));
            }
        }
    }
    let [down, up] = heavy(t, TCP, "queue_loss")?;
    Bounds::default()
        .below("an hour and node, the most", most.0, NEGLIGIBLE)
        .above("TCP up", up, down)
        .found(most.0, format!("the most is {}; TCP up {up:.1}, down {down:.1}", most.1))
}

fn udp_loss(t: &Table<'_>) -> Option<Finding> {
    let [down, up] = heavy(t, ["udp-down", "udp-up"], "loss")?;
    let [spread] = heavy(t, ["udp-down"], "loss_spread")?;
    let [border] = heavy(t, ["udp-down"], "border_share")?;
    let dropped = |wire| t.mean(&format!("udp-down load=60 wire={wire}"), "border_loss");
    let (slow, fast) = (dropped("slow")?, dropped("fast")?);
    Bounds::default()
        .above("% down", down, 5.0)
        .above("% down", down, 3.0 * up)
        .below("its spread over nodes", spread, down)
        .at_least("% of the drops at the border router", border, 80.0)
        .below("drops there behind a slow wire", slow, fast / 10.0)
        .found(down, format!("up {up:.1} %; {border:.0} % of the drops at the border router"))
}

/// Factor by which TCP's throughput varies more over nodes.
const TIMES_MORE_VARIED: f64 = 3.0;

fn throughput(t: &Table<'_>) -> Option<Finding> {
    let [udp_down, udp_up, down, up] = heavy(t, CASES, "throughput")?;
    let [varied_udp_down, varied_udp_up, varied_down, varied_up] = heavy(t, CASES, "variation")?;
    Bounds::default()
        .at_least("UDP up", udp_up, udp_down)
        .above("UDP down", udp_down, up)
        .above("TCP up", up, down)
        .above("variation of TCP up", varied_up, TIMES_MORE_VARIED * varied_udp_up)
        .above("variation of TCP down", varied_down, TIMES_MORE_VARIED * varied_udp_down)
        .found(
            down,
            format!("UDP up {udp_up:.1}, down {udp_down:.1}; TCP up {up:.1}, down {down:.1}"),
        )
}

fn delivered(t: &Table<'_>) -> Option<Finding> {
    let mut least = f64::INFINITY;
    for load in loads(t, "delivered") {
        for case in TCP {
            least = least.min(at(t, case, load, "delivered")?);
        }
    }
    Bounds::default().at_least("%", least, 99.95).found(least, "the least".to_owned())
}

fn tcp_etx(t: &Table<'_>) -> Option<Finding> {
    let value = |case, load| at(t, case, load, "tcp_etx");
    let (down, up, heavy) = (value("tcp-down", 10)?, value("tcp-up", 10)?, value("tcp-up", 60)?);
    Bounds::default()
        .above("down at 10", down, up)
        .above("up at 60", heavy, up)
        .found(down, format!("up {up:.2} at 10, {heavy:.2} at 60"))
}

fn overhead(t: &Table<'_>) -> Option<Finding> {
    let [down, up] = heavy(t, TCP, "overhead")?;
    let [etx] = heavy(t, ["tcp-down"], "tcp_etx")?;
    Bounds::default()
        .above("down", down, up)
        .above("down", down, etx)
        .found(down, format!("up {up:.2}; down without pieces {etx:.2}"))
}

/// Rank correlations that count as clear, and as none.
const CLEAR: f64 = 0.6;
const NONE: f64 = 0.3;

fn unfairness(t: &Table<'_>) -> Option<Finding> {
    let [udp_down, udp_up, down, up] = heavy(t, CASES, "throughput_by_hops")?;
    Bounds::default()
        .below("TCP down", down, -CLEAR)
        .below("TCP up", up, -CLEAR)
        .within("UDP down", udp_down, (-NONE, NONE))
        .within("UDP up", udp_up, (-NONE, NONE))
        .found(down, format!("TCP up {up:.2}; UDP down {udp_down:.2}, up {udp_up:.2}"))
}

fn round_trips(t: &Table<'_>) -> Option<Finding> {
    let value = |metric| at(t, "tcp-down", 60, metric);
    let wide = |metric| t.mean("tcp-down load=60 window=8", metric);
    let (by_hops, by_rtt) = (value("rtt_by_hops")?, value("throughput_by_rtt")?);
    let mut bounds = Bounds::default()
        .above("by hops", by_hops, CLEAR)
        .above(
            "throughput by round trip with a window of eight",
            wide("throughput_by_rtt")?,
            by_rtt,
        )
        .above("fairness with a window of eight", wide("fairness")?, value("fairness")?);
    let heavy = value("rtt")?;
    // The quick plan has no light load.
    if let Some(light) = at(t, "tcp-down", 10, "rtt") {
        bounds = bounds.above("ms at 60", heavy, light);
    }
    bounds.found(by_hops, format!("throughput by round-trip time {by_rtt:.2}, {heavy:.0} ms"))
}

/// Allowed relative difference between TCP's and UDP's messages.
const ABOUT: f64 = 0.25;

fn control(t: &Table<'_>) -> Option<Finding> {
    let mut most: f64 = 0.0;
    for load in loads(t, "control") {
        for method in ["down", "up"] {
            let of = |transport: &str| at(t, &format!("{transport}-{method}"), load, "control");
            let (tcp, udp) = (of("tcp")?, of("udp")?);
            most = most.max((tcp / udp - 1.0).abs());
        }
    }
    Bounds::default()
        .below("of UDP's, the most", most, ABOUT)
        .found(most * 100.0, "the most of all loads, in either direction".to_owned())
}

fn parent_changes(t: &Table<'_>) -> Option<Finding> {
    let mut apart: f64 = 0.0;
    for load in loads(t, "parent_changes") {
        for method in ["down", "up"] {
            let of = |transport: &str| {
                t.row(&format!("{transport}-{method} load={load}"), "parent_changes")
            };
            let (tcp, udp) = (of("tcp")?, of("udp")?);
            let both = tcp.ci95.unwrap_or(0.0) + udp.ci95.unwrap_or(0.0);
            apart = apart.max((tcp.mean - udp.mean).abs() - both);
        }
    }
    Bounds::default()
        .at_most("changes an hour beyond the intervals", apart, 0.0)
        .found(apart, "distance of the means less both intervals, the most".to_owned())
}

fn deeper(t: &Table<'_>) -> Option<Finding> {
    let [udp_down, udp_up, ..] = heavy(t, CASES, "throughput")?;
    let seven = |case: &str, metric| t.mean(&format!("{case} load=60 hops=7"), metric);
    let udp =
        (seven("udp-down", "throughput")? + seven("udp-up", "throughput")?) / (udp_down + udp_up);
    let [down, up] = heavy(t, TCP, "fairness")?;
    let (deep_down, deep_up) = (seven("tcp-down", "fairness")?, seven("tcp-up", "fairness")?);
    Bounds::default()
        .below("UDP's share of what five hops carry", udp, 0.85)
        .below("index of TCP down", deep_down, down)
        .below("index of TCP up", deep_up, up)
        .above(
            "% of queue losses at three of thirty nodes",
            seven("tcp-up", "queue_loss_of_three")?,
            50.0,
        )
        .found(
            udp * 100.0,
            format!("TCP's index {down:.1} to {deep_down:.1} down, {up:.1} to {deep_up:.1} up"),
        )
}

fn best_timeout(t: &Table<'_>) -> Option<Finding> {
    let at = |seconds: u32| t.mean(&format!("rto_s={seconds}"), "throughput");
    let all = [at(1)?, at(2)?, at(3)?, at(5)?, at(7)?];
    let best = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let adaptive = t.mean("rto=adaptive", "throughput")?;
    Bounds::default()
        .below("at 1 s", all[0], best)
        .below("at 7 s", all[4], best)
        // If a timeout one or two seconds off the best made no difference, there would be no
        // optimum.
        .at_least("adaptive", adaptive, all[1].min(all[3]))
        .found(best, format!("1 to 7 s: {all:.1?}; adaptive {adaptive:.1}"))
}

fn timeout_etx(t: &Table<'_>) -> Option<Finding> {
    let at = |seconds: u32| t.mean(&format!("rto_s={seconds}"), "tcp_etx");
    let (one, three, seven) = (at(1)?, at(3)?, at(7)?);
    Bounds::default()
        .above("at 1 s", one, three)
        .at_least("at 3 s", three, seven)
        .found(one, format!("{three:.2} at 3 s, {seven:.2} at 7 s"))
}

/// Segments of a connection that ends after six transmissions: these, each of one record, which is
/// all that BLIP's buffer holds, the SYN, and the acknowledgement of the SYN-ACK. The end of the
/// run may cut off up to six of the last connection.
const SIX: (f64, f64) = (7.0, 8.0);

fn six_transmissions(t: &Table<'_>) -> Option<Finding> {
    let [mended, broken] = ["count=mended", "count=for-ever"].map(|l| t.mean(l, "connections"));
    let segments = t.mean("count=for-ever", "segments")?;
    let (mended, broken) = (mended?, broken?);
    Bounds::default()
        .within("mended, connections", mended, (1.0, 1.0))
        .above("connections", broken, 1.0)
        .within("segments of each", segments, SIX)
        .found(segments, format!("{broken:.0} connections instead of {mended:.0}"))
}

/// Share of the readings that BLIP carries over one hop after a SYN that was lost. In the three
/// seconds before the second SYN its queue of eight takes all readings; the last two of the run may
/// be in flight.
const OVER_ONE_HOP: f64 = 0.99;

fn syn_loss(t: &Table<'_>) -> Option<Finding> {
    let [mended, broken] =
        ["syn=lost number=mended", "syn=lost number=another"].map(|l| t.mean(l, "throughput"));
    let (mended, broken) = (mended?, broken?);
    Bounds::default()
        .at_least("packets a minute, mended", mended, OVER_ONE_HOP * OFFERED)
        .at_most("packets a minute", broken, 0.0)
        .found(broken, format!("mended {mended:.1} packets a minute"))
}

/// Highest share of time without a route, %. The route lives twenty minutes. Then it is missing for
/// at most the longest interval of a DAO, which begins before the twenty minutes end.
const LONGEST_GONE: f64 = 22.5 / (20.0 + 22.5) * 100.0;
/// Difference in per cent that exceeds the variation of frame losses.
const CLEARLY_MORE: f64 = 5.0;

fn route_lifetime(t: &Table<'_>) -> Option<Finding> {
    let [mended, broken] = ["ways=mended", "ways=not-renewed"].map(|l| t.mean(l, "loss"));
    let (mended, broken) = (mended?, broken?);
    Bounds::default()
        .above("% of the datagrams", broken, mended + CLEARLY_MORE)
        .below("% of the datagrams", broken, mended + LONGEST_GONE)
        .found(broken, format!("mended {mended:.1} %"))
}

fn headline(t: &Table<'_>) -> Option<Finding> {
    let [udp_down, udp_up, down, up] = heavy(t, CASES, "throughput_min")?;
    let worst = (down / udp_down).max(up / udp_up);
    Bounds::default().below("TCP's worst node of UDP's", worst, 0.7).found(
        worst * 100.0,
        format!("worst node of TCP down {down:.1}, up {up:.1}; of UDP {udp_down:.1}, {udp_up:.1}"),
    )
}

/// Value of Kinglet's rows, downward and upward.
fn ours(t: &Table<'_>, metric: &str, tree: &str) -> Option<[f64; 2]> {
    let of = |case: &str| t.mean(&format!("{case} load=60 kinglet{tree}"), metric);
    Some([of("tcp-down")?, of("tcp-up")?])
}

fn ours_throughput(t: &Table<'_>) -> Option<Finding> {
    let [down, up] = ours(t, "throughput", "")?.map(|rate| rate / OFFERED * 100.0);
    let [their_down, their_up] = heavy(t, TCP, "throughput")?.map(|rate| rate / OFFERED * 100.0);
    Bounds::default().at_least("% up", up, 98.0).at_least("% down", down, 95.0).found(
        up,
        format!("down {down:.1} %; the paper's system {their_up:.1} and {their_down:.1} %"),
    )
}

fn ours_fairness(t: &Table<'_>) -> Option<Finding> {
    let [down, up] = ours(t, "fairness", "")?;
    let [their_down, their_up] = heavy(t, TCP, "fairness")?;
    Bounds::default()
        .at_least("index up", up, 97.0)
        .at_least("index down", down, 95.0)
        .found(up, format!("down {down:.1}; the paper's system {their_up:.1} and {their_down:.1}"))
}

fn ours_deeper(t: &Table<'_>) -> Option<Finding> {
    const TREE: &str = " hops=7";
    let [down, up] = ours(t, "fairness", TREE)?;
    let [mean_down, mean_up] = ours(t, "throughput", TREE)?;
    let [least_down, least_up] = ours(t, "throughput_min", TREE)?;
    Bounds::default()
        .at_least("index, the lesser way", up.min(down), 90.0)
        .at_least("worst node of the mean, up", least_up / mean_up, 0.5)
        .at_least("worst node of the mean, down", least_down / mean_down, 0.5)
        .found(up.min(down), format!("worst node {least_up:.1} up, {least_down:.1} down"))
}

fn ours_queue_loss(t: &Table<'_>) -> Option<Finding> {
    let paper = |case: &str| t.mean(&format!("{case} load=60 hops=7"), "queue_loss");
    let theirs = paper("tcp-down")? + paper("tcp-up")?;
    let [down, up] = ours(t, "queue_loss", " hops=7")?;
    let change = ((down + up) / theirs - 1.0) * 100.0;
    Bounds::default().at_most("%", change, -85.0).found(
        change,
        format!("{:.0} instead of {theirs:.0} an hour, in both directions", down + up),
    )
}

/// Time limits in seconds for the formation and for the repair of a tree.
const FORMING_S: f64 = 30.0;
const HEALING_S: f64 = 20.0;

/// Worst case over all buildings, modes and seeds.
fn forms(t: &Table<'_>) -> Option<Finding> {
    let worst = |metric: &str| {
        let of = |label: String| t.mean(&label, metric);
        forms::labels().map(of).try_fold(0.0, |worst, value| Some(f64::max(worst, value?)))
    };
    let (formed, healed) = (worst(FORMED)?, worst(HEALED)?);
    Bounds::default()
        .at_most("s to form", formed, FORMING_S)
        .at_most("s to repair", healed, HEALING_S)
        .at_most("packets whose hop limit was exceeded", worst(EXPIRED)?, 0.0)
        .at_most("% of flows without any delivery then", worst(UNREACHED)?, 0.0)
        .at_most("% of those of survivors", worst(UNREACHED_AFTER)?, 0.0)
        .found(healed, format!("formed in {formed:.1} s at the most"))
}

/// Minimum share of received readings in %, and maximum memory of 5,000 meters in MiB.
const READINGS: f64 = 99.9;
const MEMORY_MIB: f64 = 600.0;
/// Allowed growth of RPL messages per node in larger networks.
const GROWTH: f64 = 1.1;

/// Worst case over all sizes; a quick plan lacks the largest ones.
fn meters(t: &Table<'_>) -> Option<Finding> {
    let (mut bounds, mut least, mut reported) = (Bounds::default(), f64::INFINITY, Vec::new());
    for mode in ["non-storing", "storing"] {
        let of = |meters, metric| t.mean(&meters::label(meters, mode), metric);
        let small = of(meters::SMALLEST, meters::MESSAGES)?;
        for town in meters::SIZES.into_iter().filter(|town| of(*town, meters::FORMED).is_some()) {
            let (arrived, sent) = (of(town, meters::ARRIVED)?, of(town, meters::MESSAGES)?);
            least = least.min(arrived);
            bounds = bounds
                .at_least("% of readings", arrived, READINGS)
                .is(of(town, meters::FORMED)?.is_finite(), "all formed")
                .at_most("messages a node and hour", sent, GROWTH * small);
            reported.push(format!("{sent:.1} with {town}"));
            if let Some(speed) = of(town, meters::SPEED) {
                bounds = bounds.above("s a second", speed, 1.0);
            }
            if let Some(mib) = of(town, meters::MEMORY) {
                bounds = bounds.at_most("MiB", mib, MEMORY_MIB);
            }
        }
    }
    bounds.found(least, format!("messages a node and hour: {}", reported.join(", ")))
}
