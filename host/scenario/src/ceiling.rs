//! Sixty nodes under a ceiling, as in "design criteria" (II-A): 6 rows of 10, 8.1 m by 5.4 m, each
//! a TelosB with its CC2420 at the lowest power, on channel 26 at night.
//!
//! The paper shows its propagation only as a drawing of irregular links, without figures. A
//! published model of a cluttered corridor with the same nodes replaces it: TOSSIM's "building
//! aisle" (exponent 3.3, shadowing of 5.5 dB, 52.1 dB at 1 m). Its asymmetry is TOSSIM's lower one,
//! with variances of 0.9 and 1.2 dB for receivers and transmitters. Each seed draws other walls.
//!
//! Two figures are not published anywhere. At its lowest setting the radio sends with "less than
//! -25 dBm", and coplanar antennas close under a ceiling receive each other badly:
//! [`FITTED_LOSS_DB`] covers both. [`FADING`] is the variation of links in a quiet night: OTNS has
//! up to 4 dB every 150 s in the daytime, which its authors call unverified.

use super::{Fading, NodeId, NodePlace, Propagation, RadioProfile, Role, Scenario};

/// Columns and rows of the grid.
const COLUMNS: u32 = 10;
const ROWS: u32 = 6;
/// Distance of neighbours along and across, in metres: 8.1 m are nine such distances, 5.4 m five.
const ALONG_M: f64 = 0.9;
const ACROSS_M: f64 = 1.08;
/// Additional loss in comparison with TOSSIM's corridor at -25 dBm, in dB. It is high enough that
/// paths have up to six or seven hops ("the longest route lengths possible"), and low enough that
/// nearly all nodes reach each other.
pub(super) const FITTED_LOSS_DB: f64 = 10.0;
/// Variation of links in time.
pub(super) const FADING: Fading = Fading { sigma_db: 1.5, period_s: 30.0 };

impl Scenario {
    /// The grid with its radios, without applications.
    pub fn ceiling() -> Self {
        let mut scenario = Scenario { name: "ceiling".to_owned(), ..Scenario::default() };
        scenario.nodes = (0..COLUMNS * ROWS).map(place).collect();
        scenario.radio.profile = RadioProfile::Cc2420;
        scenario.radio.channel = 26;
        scenario.radio.tx_power_dbm = -25.0;
        scenario.medium.propagation = Propagation::PathLoss {
            exponent: 3.3,
            reference_loss_db: 52.1 + FITTED_LOSS_DB,
            shadowing_db: 5.5,
            asymmetry_db: 1.0,
            fading: FADING,
            // Noise floor of the radio: see `kinglet_sim::profile::CC2420`.
            noise_floor_dbm: -100.0,
        };
        scenario
    }
}

fn place(node: NodeId) -> NodePlace {
    NodePlace {
        x_m: f64::from(node % COLUMNS) * ALONG_M,
        y_m: f64::from(node / COLUMNS) * ACROSS_M,
        role: Role::Router,
        parent: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::medium_of;
    use kinglet_sim::medium::Connectivity;
    use kinglet_sim::place::{PathLoss, Position};

    /// Hops of the shortest paths from `from` over links whose mean is at least the sensitivity.
    fn hops(loss: &PathLoss, at: &[Position], seed: u64, from: usize) -> Vec<Option<u32>> {
        let is_link = |a: usize, b: usize| {
            let distance = at[a].distance_m(at[b]);
            a != b && -25.0 - loss.loss_db(seed, (a.min(b), a.max(b)), distance) >= -95.0
        };
        let mut hops = vec![None; at.len()];
        hops[from] = Some(0);
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            for to in (0..at.len()).filter(|to| is_link(node, *to)) {
                if hops[to].is_none() {
                    hops[to] = hops[node].map(|hops| hops + 1);
                    reached.push(to);
                }
            }
        }
        hops
    }

    #[test]
    fn in_each_building_nearly_all_reach_each_other_over_four_to_seven_hops() {
        let ceiling = Scenario::ceiling();
        let Connectivity::PathLoss(loss) = medium_of(&ceiling).connectivity else {
            panic!("the ceiling has path loss");
        };
        let at: Vec<_> =
            ceiling.nodes.iter().map(|p| Position { x_m: p.x_m, y_m: p.y_m }).collect();
        assert_eq!((at.len(), at[59].x_m, at[59].y_m), (60, 9.0 * ALONG_M, 5.0 * ACROSS_M));
        for seed in (1..=20).chain(101..=110) {
            let lengths: Vec<_> =
                (0..at.len()).flat_map(|from| hops(&loss, &at, seed, from)).collect();
            let known = lengths.iter().flatten().count();
            // An isolated node takes a thirtieth of all pairs with it.
            assert!(known * 30 >= lengths.len() * 29, "seed {seed}: {known} ways");
            let farthest = lengths.into_iter().flatten().max();
            assert!(farthest.is_some_and(|hops| (4..=7).contains(&hops)), "{seed}: {farthest:?}");
        }
    }
}
