//! Tests of the claims about meshes: formation, restarts, features.

use super::bounds::Bounds;
use super::{Finding, Table, Test, model};
use crate::experiment::kinglet_features::{BELOW, WORST};
use crate::experiment::kinglet_formation::{AROUND, FORMED, REPAIRED, SHARE, most_hops};
use crate::experiment::kinglet_restarts::{LATE, MESSAGES, RECOVERED};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "kinglet.formation" => formation,
        "kinglet.mesh-share" => mesh_share,
        "kinglet.mesh-repair" => mesh_repair,
        "kinglet.features" => features,
        "kinglet.restarts" => restarts,
        _ => return model::test_of(id),
    })
}

/// Seconds per hop for routing information: the shortest interval, and the same again because a
/// message may be lost. Two more hops allow for neighbour discovery and its announcement.
const HOP_S: f64 = 2.0;

fn formation(t: &Table<'_>) -> Option<Finding> {
    let worst = worst(t, FORMED, |nodes| (most_hops(nodes) + 2.0) * HOP_S)?;
    let compared = format!("{:.0} s are allowed at {}", worst.1, worst.2);
    Bounds::default().at_most("s", worst.0, worst.1).found(worst.0, compared)
}

/// Microseconds of a frame that advertises twenty-six destinations. Its octets are: message 80, UDP
/// header 6, IPv6 header 3, checksum 2, link header 9, preamble and PHY header 6. Backoff is not on
/// the air.
const FRAME_US: f64 = (80.0 + 6.0 + 3.0 + 2.0 + 9.0 + 6.0) * 32.0;
const DESTINATIONS: f64 = 26.0;
/// Every route is advertised once in each of the longest intervals.
const INTERVAL_US: f64 = 32e6;

fn mesh_share(t: &Table<'_>) -> Option<Finding> {
    // All destinations and the default route; a tenth more allows for longer headers.
    let share = |nodes: f64| (nodes / DESTINATIONS).ceil() * FRAME_US * (AROUND + 1.0);
    let worst = worst(t, SHARE, |nodes| share(nodes) / INTERVAL_US * 110.0)?;
    let compared = format!("{:.1} % are allowed at {}", worst.1, worst.2);
    Bounds::default().at_most("%", worst.0, worst.1).found(worst.0, compared)
}

/// Time limit that decision 20 allows for a route in use: four frames are given up, and the loss is
/// advertised within a second, held for four seconds, and advertised to the nodes behind.
const REPAIR_S: f64 = 30.0;

fn mesh_repair(t: &Table<'_>) -> Option<Finding> {
    let worst = worst(t, REPAIRED, |_| REPAIR_S)?;
    let compared = format!("longest of the seeds, at {}", worst.2);
    Bounds::default().at_most("s", worst.0, worst.1).found(worst.0, compared)
}

/// Share of restarts that may take longer, in per cent: some are detected late, when nodes happen
/// to receive each other's frames.
const MOST_LATE: f64 = 0.5;

fn restarts(t: &Table<'_>) -> Option<Finding> {
    let most = |metric: &'static str| t.all(metric).max_by(|a, b| a.mean.total_cmp(&b.mean));
    let (late, longest, messages) = (most(LATE)?, most(RECOVERED)?, most(MESSAGES)?);
    let mean = t.all(LATE).map(|row| row.mean).sum::<f64>() / t.all(LATE).count() as f64;
    let compared = format!(
        "most at {}: {:.1} %; longest {:.0} s at {}; {:.1} messages a node at {}",
        late.label, late.mean, longest.mean, longest.label, messages.mean, messages.label
    );
    Bounds::default().at_most("% late", mean, MOST_LATE).found(mean, compared)
}

/// Minimum of delivered readings, datagrams or responses, in per cent.
const LEAST_DELIVERED: f64 = 95.0;

fn features(t: &Table<'_>) -> Option<Finding> {
    let worst = t.all(WORST).min_by(|a, b| a.mean.total_cmp(&b.mean))?;
    let below = t.all(BELOW).max_by(|a, b| a.mean.total_cmp(&b.mean))?;
    let compared = format!(
        "least with {}; most networks with a flow below that: {:.1} % of those with {}",
        worst.label, below.mean, below.label
    );
    Bounds::default()
        .at_least("% delivered", worst.mean, LEAST_DELIVERED)
        .found(worst.mean, compared)
}

/// Value closest to its limit, or farthest above it, over all sizes; with its limit and label.
fn worst(
    t: &Table<'_>,
    metric: &'static str,
    allowed: impl Fn(f64) -> f64,
) -> Option<(f64, f64, String)> {
    let rows = t.all(metric).map(|row| (row.mean, allowed(row.x), row.label.clone()));
    rows.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sweep::experiment::{ExperimentResult, Rows};

    #[test]
    fn a_mesh_is_judged_by_the_size_that_is_worst_for_its_bound() {
        let holds = |metric: &str, values: [f64; 2], test: Test| {
            let mut rows = Rows::default();
            for (nodes, value) in [200.0, 1_000.0].into_iter().zip(values) {
                rows.compute(&format!("nodes={nodes}"), "formation", nodes, (metric, ""), value);
            }
            let result = ExperimentResult {
                id: "kinglet-formation",
                rows: rows.all,
                samples: Vec::new(),
                seeds: 3,
            };
            test(&Table(&result)).map(|finding| finding.holds)
        };
        // Five and eleven hops.
        assert_eq!(holds(FORMED, [13.9, 25.9], formation), Some(true));
        assert_eq!(holds(FORMED, [14.1, 3.0], formation), Some(false));
        assert_eq!(holds(FORMED, [3.0, f64::INFINITY], formation), Some(false));
        // Eight and thirty-nine frames of 3.4 ms, twenty-one times in 32 s.
        assert_eq!(holds(SHARE, [1.9, 9.5], mesh_share), Some(true));
        assert_eq!(holds(SHARE, [2.1, 9.5], mesh_share), Some(false));
        assert_eq!(holds(REPAIRED, [29.0, 12.0], mesh_repair), Some(true));
        assert_eq!(holds(REPAIRED, [31.0, 12.0], mesh_repair), Some(false));
        assert_eq!(holds("another", [1.0, 1.0], mesh_repair), None);
    }
}
