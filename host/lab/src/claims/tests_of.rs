//! One test per claim. Thresholds are those suggested in the reference list, not fitted to our
//! results.

use super::{Test, air, one_hop, over_rpl, sharing, stacks, timing};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.table4.links" => one_hop::links,
        "tcplp.table5.headers" => one_hop::headers,
        "tcplp.sec6.1.overhead50" => one_hop::overhead50,
        "tcplp.fig4a.frametime" => one_hop::frame_time,
        "tcplp.fig4b.upperbound" => one_hop::upper_bound,
        "tcplp.sec6.3.goodput75" => one_hop::goodput75,
        "kinglet.one-hop-share" => one_hop::one_hop_share,
        "kinglet.bound-formula" => one_hop::bound_formula,
        _ => {
            let rpl = || over_rpl::test_of(id);
            return air::test_of(id)
                .or_else(|| sharing::test_of(id))
                .or_else(|| stacks::test_of(id))
                .or_else(rpl)
                .or_else(|| timing::test_of(id));
        }
    })
}
