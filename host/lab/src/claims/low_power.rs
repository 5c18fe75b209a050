//! Tests of the claims of TCPlp §4.2 and §8: radios that do not always listen, and flows that
//! share the air.

use super::tests_of::{Test, found};
use super::{Finding, Table};
use crate::experiment::Row;

/// The test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.sec4.2.deaf-listening" => deaf,
        "kinglet.deaf-one-way" => deaf_one_way,
        "tcplp.sec8.1.1.selfclock-batch" => self_clock,
        "kinglet.selfclock-predictive" => prediction,
        "tcplp.sec8.red-fairness" => red_fairness,
        "kinglet.fairness" => saturation,
        "kinglet.fairness-of-pairs" => pairs,
        "tcplp.fig12.competing-flows" => competing,
        _ => return None,
    })
}

fn deaf(t: &Table<'_>) -> Option<Finding> {
    let kept = |leaf: bool| {
        let mine = move |row: &&Row| {
            !row.label.ends_with("one-way") && row.label.ends_with("leaf") == leaf
        };
        let kept = t.all("goodput_kept").filter(mine).map(|row| row.mean);
        kept.map(|kept| (kept, kept)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    let ((worst, best), (low, high)) = (kept(false)?, kept(true)?);
    let compared = format!(
        "{worst:.1} to {best:.1} % over 1 to 3 hops, d = 0 and 40 ms; {low:.1} to {high:.1} % for \
         a leaf that sleeps"
    );
    found(worst, best < 95.0 && low > 95.0 && high < 105.0, compared)
}

fn deaf_one_way(t: &Table<'_>) -> Option<Finding> {
    let one_way = |row: &&Row| row.label.ends_with("one-way");
    let kept = t.all("goodput_kept").filter(one_way).map(|row| row.mean);
    let worst = kept.reduce(f64::min)?;
    found(worst, worst > 99.0, "datagrams over one and three hops".to_owned())
}

fn self_clock(t: &Table<'_>) -> Option<Finding> {
    let share = |ms: u32| t.mean(&format!("sleep_ms={ms}"), "rtt_by_sleep");
    let shares = [share(1_000)?, share(2_000)?, share(4_000)?];
    let [one, two, four] = shares;
    let compared = format!("round-trip times at 1, 2, 4 s: {one:.2}, {two:.2}, {four:.2} of it");
    found(one, shares.iter().all(|share| *share >= 0.9), compared)
}

fn prediction(t: &Table<'_>) -> Option<Finding> {
    let at = |way: &str, metric: &str| t.mean(&format!("sleep_ms=4000{way}"), metric);
    let (predicted, adaptive) = (at(" predictive", "goodput")?, at(" adaptive", "goodput")?);
    let rtt = at(" predictive", "rtt")?;
    let compared = format!(
        "at 4 s {predicted:.1} kb/s, with 100 ms {adaptive:.1} kb/s; round-trip time {rtt:.0} ms"
    );
    found(predicted / adaptive * 100.0, predicted >= 0.95 * adaptive, compared)
}

fn red_fairness(t: &Table<'_>) -> Option<Finding> {
    let at = |queue: &str, place: &str| t.mean(&format!("queue={queue} {place}"), "fairness");
    let office = (at("tail-drop", "d_ms=40")?, at("red-ecn", "d_ms=40")?);
    let relay = "relay=one packets=10";
    let one = (at("tail-drop", relay)?, at("red-ecn", relay)?);
    let compared = format!(
        "Jain's index with tail drop and with RED and ECN: office {:.1}, {:.1}; one relay {:.1}, \
         {:.1} %",
        office.0, office.1, one.0, one.1
    );
    // A gain that one could see: a tenth of what lacks.
    let better = |(tail, red): (f64, f64)| red - tail > (100.0 - tail) * 0.1;
    found(office.1, better(office) || better(one), compared)
}

fn saturation(t: &Table<'_>) -> Option<Finding> {
    let all = t.mean("queue=red-ecn d_ms=40", "fairness")?;
    found(all, all >= 95.0, "four sensors three and five hops away, d = 40 ms".to_owned())
}

fn pairs(t: &Table<'_>) -> Option<Finding> {
    let pairs = t.mean("queue=red-ecn d_ms=40", "fairness_of_pairs")?;
    found(pairs, pairs >= 95.0, "within pairs of neighbours, d = 40 ms".to_owned())
}

fn competing(t: &Table<'_>) -> Option<Finding> {
    let median =
        |name: &str, load: u32| t.mean(&format!("{name} load_kbps={load}"), "goodput_median");
    let loads = [1, 2, 4, 6, 8, 12];
    let curve = |name| loads.into_iter().filter_map(|load| median(name, load)).collect::<Vec<_>>();
    let low = t.row("tcp load_kbps=2", "goodput_median")?;
    let linear = (low.mean / low.x - 1.0).abs() < 0.05;
    let mut compared = Vec::new();
    let mut holds = linear;
    for name in ["tcp", "coap", "cocoa"] {
        let curve = curve(name);
        let (peak, last) = (curve.iter().copied().reduce(f64::max)?, *curve.last()?);
        holds &= last >= 0.7 * peak;
        compared.push(format!("{name} {peak:.2} at best and {last:.2} at last"));
    }
    let (tcp, coap) = (*curve("tcp").last()?, *curve("coap").last()?);
    holds &= (tcp / coap - 1.0).abs() < 0.3;
    found(tcp / coap * 100.0, holds, format!("median kb/s per flow: {}", compared.join(", ")))
}
