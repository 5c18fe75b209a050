//! Sixty nodes under a ceiling, as in "design criteria" (II-A): 6 rows of 10, 8.1 m by 5.4 m, each
//! a TelosB with its CC2420 at the lowest power, on channel 26 at night.
//!
//! How signals go there the paper shows as a drawing of irregular links, and no figure. What is
//! published of a cluttered corridor with the same nodes stands in for it: TOSSIM's "building aisle"
//! (exponent 3.3, shadowing of 5.5 dB, 52.1 dB at 1 m) with its quieter asymmetry, which has
//! variances of 0.9 and 1.2 dB for receivers and transmitters. Each seed draws other walls.
//!
//! Two figures are nowhere published. At its lowest setting the radio sends with "less than -25
//! dBm", and antennas that lie in one plane, close under a ceiling, hear each other badly: both
//! together are [`FITTED_LOSS_DB`]. And how far links change in a quiet night is [`FADING`]:
//! OTNS has up to 4 dB every 150 s by day, which its authors call unverified.

use super::{Fading, NodeId, NodePlace, Propagation, RadioProfile, Role, Scenario};

/// Nodes of the grid, along and across.
const COLUMNS: u32 = 10;
const ROWS: u32 = 6;
/// Distance of neighbours along and across, in metres: 8.1 m have nine of them, 5.4 m five.
const ALONG_M: f64 = 0.9;
const ACROSS_M: f64 = 1.08;
/// What is lost more than at -25 dBm in TOSSIM's corridor, in dB: so much that the longest of the
/// shortest ways has about six hops ("the longest route lengths possible"), and so little that all
/// nodes reach each other.
pub(super) const FITTED_LOSS_DB: f64 = 10.0;
/// How links change in time.
pub(super) const FADING: Fading = Fading { sigma_db: 1.5, period_s: 30.0 };

impl Scenario {
    /// The grid with its radios, and no application.
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
            // The radio's: see `kinglet_sim::profile::CC2420`.
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
    use crate::build::medium_of;
    use kinglet_sim::medium::Connectivity;
    use kinglet_sim::place::Position;

    /// Hops of the shortest ways between all pairs over links of at least -95 dBm in both
    /// directions, and how many such links a node has.
    fn ways(seed: u64, more_db: f64) -> (Vec<u32>, f64) {
        let ceiling = Scenario::ceiling();
        let Connectivity::PathLoss(loss) = medium_of(&ceiling).connectivity else {
            panic!("the ceiling has path loss");
        };
        let count = ceiling.nodes.len();
        let at: Vec<_> =
            ceiling.nodes.iter().map(|p| Position { x_m: p.x_m, y_m: p.y_m }).collect();
        let is_link = |a: usize, b: usize| {
            a != b
                && -25.0 - more_db - loss.loss_db(seed, (a.min(b), a.max(b)), at[a].distance_m(at[b]))
                    >= -95.0
        };
        let mut hops = Vec::new();
        let mut links = 0;
        for from in 0..count {
            let mut far = vec![u32::MAX; count];
            far[from] = 0;
            let mut reached = vec![from];
            let mut next = 0;
            while let Some(&at) = reached.get(next) {
                next += 1;
                for to in (0..count).filter(|to| is_link(at, *to)) {
                    if far[to] == u32::MAX {
                        far[to] = far[at] + 1;
                        reached.push(to);
                    }
                }
            }
            links += (0..count).filter(|to| is_link(from, *to)).count();
            hops.extend(far.into_iter().enumerate().filter(|(to, _)| *to != from).map(|(_, h)| h));
        }
        (hops, links as f64 / count as f64)
    }

    #[test]
    fn probe() {
        for more in [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0] {
            for seed in [1, 2, 3, 11, 12, 13, 101, 102, 103] {
                let (hops, links) = ways(seed, more);
                let lost = hops.iter().filter(|h| **h == u32::MAX).count();
                let known: Vec<_> = hops.iter().filter(|h| **h != u32::MAX).collect();
                let mean = known.iter().map(|h| f64::from(**h)).sum::<f64>() / known.len() as f64;
                println!("{more} seed {seed} links {links:.1} mean {mean:.2} most {:?} lost {lost}", known.iter().max());
            }
        }
    }
}
