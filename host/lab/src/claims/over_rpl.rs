//! Tests of Kinglet's own claims about trees of RPL.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::over_rpl::forms::{
    self, EXPIRED, FORMED, HEALED, UNREACHED, UNREACHED_AFTER,
};
use crate::experiment::over_rpl::meters;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.rpl-forms" => forms,
        "kinglet.rpl-meters" => meters,
        _ => return None,
    })
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
