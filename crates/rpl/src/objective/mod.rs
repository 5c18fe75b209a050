//! Objective functions: what rank a node would have through a neighbour, and how much less it must
//! be for another parent.
//!
//! One of one's own wraps another and adds a term, of what the neighbour says of itself
//! ([`Path::overloaded`]) or of anything else.

mod mrhof;
mod of0;

pub use mrhof::Mrhof;
pub use of0::Of0;

/// A transmission in the units of ETX (RFC 6551, 4.3.2).
pub const ETX: u16 = 128;

/// MAX_LINK_METRIC of RFC 6719, 5: a link that takes more than four transmissions is none.
pub const MAX_LINK_ETX: u16 = 4 * ETX;

/// The way to the root through a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The rank that it advertised.
    pub rank: u16,
    /// Expected transmissions to it, in units of 1/128.
    pub etx: u16,
    /// It said in its last DIO that it has more to do than it can (RFC 6551, 3.1).
    pub overloaded: bool,
}

/// An objective function, or several.
pub trait Objective {
    /// Whether the function with this objective code point is known. Who does not know it may join
    /// as a leaf only (RFC 6550, 8.5).
    fn serves(code: u16) -> bool;

    /// The rank through the neighbour, at least MinHopRankIncrease above its own;
    /// [`INFINITE_RANK`](crate::INFINITE_RANK) if it cannot be used.
    fn rank_through(code: u16, path: &Path, min_hop_rank_increase: u16) -> u16;

    /// How much less the rank through another must be to leave the preferred parent.
    fn threshold(code: u16, min_hop_rank_increase: u16) -> u16;
}

/// OF0 or MRHOF, as the network says.
pub struct Standard;

impl Objective for Standard {
    fn serves(code: u16) -> bool {
        Of0::serves(code) || Mrhof::serves(code)
    }

    fn rank_through(code: u16, path: &Path, min_hop_rank_increase: u16) -> u16 {
        let of = if Of0::serves(code) { Of0::rank_through } else { Mrhof::rank_through };
        of(code, path, min_hop_rank_increase)
    }

    fn threshold(code: u16, min_hop_rank_increase: u16) -> u16 {
        let of = if Of0::serves(code) { Of0::threshold } else { Mrhof::threshold };
        of(code, min_hop_rank_increase)
    }
}
