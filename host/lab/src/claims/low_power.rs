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
        _ => return None,
    })
}

fn deaf(t: &Table<'_>) -> Option<Finding> {
    let always_on = |row: &&Row| !row.label.ends_with("one-way");
    let kept: Vec<f64> = t.all("goodput_kept").filter(always_on).map(|row| row.mean).collect();
    let worst = kept.iter().copied().reduce(f64::min)?;
    let best = kept.iter().copied().reduce(f64::max)?;
    let compared = format!("{worst:.1} to {best:.1} % over 1 to 3 hops, d = 0 and 40 ms");
    found(worst, best < 95.0, compared)
}

fn deaf_one_way(t: &Table<'_>) -> Option<Finding> {
    let one_way = |row: &&Row| row.label.ends_with("one-way");
    let kept = t.all("goodput_kept").filter(one_way).map(|row| row.mean);
    let worst = kept.reduce(f64::min)?;
    found(worst, worst > 99.0, "datagrams over one and three hops".to_owned())
}
