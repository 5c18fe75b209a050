//! Objective Function Zero (RFC 6552).

use super::{ETX, MAX_LINK_ETX, Objective, Path};
use crate::rank::{INFINITE_RANK, below};

/// MINIMUM_STEP_OF_RANK and MAXIMUM_STEP_OF_RANK.
const STEPS: (u16, u16) = (1, 9);

/// step_of_rank is 3 × ETX − 2, as of RFC 8180, 5.1.1; no stretch, and a rank_factor of 1.
//= rfc6550#16.3-1
pub struct Of0;

impl Objective for Of0 {
    fn serves(code: u16) -> bool {
        code == 0
    }

    fn rank_through(_: u16, path: &Path, min_hop_rank_increase: u16) -> u16 {
        if path.etx > MAX_LINK_ETX {
            return INFINITE_RANK;
        }
        let etx = path.etx.max(ETX);
        let step = (etx.saturating_mul(3) / ETX).saturating_sub(2).clamp(STEPS.0, STEPS.1);
        below(path.rank, step.saturating_mul(min_hop_rank_increase))
    }

    /// A rank that is lower by at least one step is preferred (RFC 6552, 4.2.1, 8); an equal one
    /// keeps the parent.
    fn threshold(_: u16, min_hop_rank_increase: u16) -> u16 {
        min_hop_rank_increase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_link_is_one_step_and_a_bad_one_many() {
        let through = |etx| Of0::rank_through(0, &Path { rank: 256, etx, overloaded: false }, 256);
        assert_eq!([0, ETX, 2 * ETX, 3 * ETX].map(through), [512, 512, 1280, 2048]);
        assert_eq!(through(4 * ETX), 256 + 9 * 256);
        assert_eq!(through(4 * ETX + 1), INFINITE_RANK);
    }
}
