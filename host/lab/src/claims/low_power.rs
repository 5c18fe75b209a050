//! Tests of the claims of TCPlp §4.2 and §8: radios that do not always listen, and flows that share
//! the channel.

use super::bounds::Bounds;
use super::{Finding, Table, Test, requests};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.sleep-price" => sleep_price,
        "kinglet.sleep-rounds" => sleep_rounds,
        _ => return requests::test_of(id),
    })
}

fn sleep_price(t: &Table<'_>) -> Option<Finding> {
    let at =
        |method: &str, ms: u32, metric: &str| t.mean(&format!("way={method} ms={ms} coap"), metric);
    let (mut worst, mut slowest) = (0.0_f64, 0.0_f64);
    for ms in [250, 500, 1_000] {
        let share = |metric| Some(at("csl", ms, metric)? / at("predictive", ms, metric)?);
        worst = worst.max(share("price")?);
        slowest = slowest.max(share("latency_median")?);
    }
    let compared = format!(
        "reached within 0.25, 0.5 or 1 s: at most this share of what polling costs; the answer \
         takes at most {slowest:.2} times as long"
    );
    Bounds::default()
        .at_most("price by polling's", worst, 1.0 / 3.0)
        .at_most("time of the answer by", slowest, 1.1)
        .found(worst * 100.0, compared)
}

/// Samples alone: a wait in each of two round trips, half an interval of a second on average. With
/// polling: one such wait, and then three frames to the leaf, each within 100 ms of being due.
const WAITS_MS: (f64, f64) = (2.0 * 500.0, 500.0 + 3.0 * 100.0);

fn sleep_rounds(t: &Table<'_>) -> Option<Finding> {
    let at = |method: &str| t.mean(&format!("way={method} ms=1000 http"), "latency_median");
    let (alone, both) = (at("csl")?, at("csl+predictive")?);
    let compared = format!("samples alone {alone:.0} ms, with predictive polling {both:.0} ms");
    Bounds::default()
        .at_least("ms with samples alone", alone, WAITS_MS.0)
        .at_most("ms with both", both, WAITS_MS.1)
        .found(alone / both, compared)
}
