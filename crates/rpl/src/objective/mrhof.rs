//! The Minimum Rank with Hysteresis Objective Function (RFC 6719) with ETX, so without a metric
//! container (3.5): the rank is the path's cost.

use super::{MAX_LINK_ETX, Objective, Path};
use crate::rank::{INFINITE_RANK, below};

/// MAX_PATH_COST (5): 256 expected transmissions.
const MAX_PATH_COST: u16 = 32_768;
/// PARENT_SWITCH_THRESHOLD (5): one and a half.
const PARENT_SWITCH_THRESHOLD: u16 = 192;

/// MRHOF with the parameters that RFC 6719 recommends.
pub struct Mrhof;

impl Objective for Mrhof {
    fn serves(code: u16) -> bool {
        code == 1
    }

    fn rank_through(_: u16, path: &Path, min_hop_rank_increase: u16) -> u16 {
        let cost = below(path.rank, path.etx);
        if path.etx > MAX_LINK_ETX || cost > MAX_PATH_COST {
            return INFINITE_RANK;
        }
        // 3.3: at least MinHopRankIncrease below the parent.
        cost.max(below(path.rank, min_hop_rank_increase))
    }

    fn threshold(_: u16, _: u16) -> u16 {
        PARENT_SWITCH_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_add_up_and_a_hop_counts_at_least_one_increase() {
        let through =
            |rank, etx| Mrhof::rank_through(1, &Path { rank, etx, overloaded: false }, 128);
        assert_eq!(through(128, 128), 256);
        assert_eq!(through(128, 10), 256);
        assert_eq!(through(128, 300), 428);
        assert_eq!(through(128, 513), INFINITE_RANK);
        assert_eq!(through(32_700, 128), INFINITE_RANK);
    }
}
