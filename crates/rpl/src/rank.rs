//! Ranks (RFC 6550, 3.5).

/// Rank of a node without a route to the root, the highest one.
pub const INFINITE_RANK: u16 = 0xFFFF;

/// Returns the part of a rank that is compared: how many times it contains MinHopRankIncrease.
pub const fn dag_rank(rank: u16, min_hop_rank_increase: u16) -> u16 {
    match rank.checked_div(min_hop_rank_increase) {
        Some(whole) if rank != INFINITE_RANK => whole,
        _ => INFINITE_RANK,
    }
}

/// Returns the rank of a child; stops at [`INFINITE_RANK`].
//= rfc6550#3.5.2-1
pub(crate) const fn below(rank: u16, increase: u16) -> u16 {
    rank.saturating_add(increase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_compared_in_whole_hops_and_infinity_is_above_all() {
        assert_eq!([255, 256, 511, 512].map(|rank| dag_rank(rank, 256)), [0, 1, 1, 2]);
        assert_eq!((dag_rank(INFINITE_RANK, 256), dag_rank(7, 0)), (INFINITE_RANK, INFINITE_RANK));
        assert_eq!(below(INFINITE_RANK, 1), INFINITE_RANK);
        assert_eq!(below(65_000, 1_000), INFINITE_RANK);
    }
}
