//! Objective functions: the rank through a neighbour, and the hysteresis of parent changes.
//!
//! A custom function can wrap another one and add a term, based on what the neighbour announces
//! ([`Path::overloaded`]) or on anything else.

mod mrhof;
mod of0;

pub use mrhof::Mrhof;
pub use of0::Of0;

/// A transmission in the units of ETX (RFC 6551, 4.3.2).
pub const ETX: u16 = 128;

/// MAX_LINK_METRIC of RFC 6719, 5: a link that takes more than four transmissions is not used.
pub const MAX_LINK_ETX: u16 = 4 * ETX;

/// The path to the root through a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The rank that it advertised.
    pub rank: u16,
    /// Expected transmissions to it, in units of 1/128.
    pub etx: u16,
    /// True if its last DIO announced overload (RFC 6551, 3.1).
    pub overloaded: bool,
}

/// An objective function, or several.
pub trait Objective {
    /// Returns whether the function with this objective code point is known. A node that does not
    /// know it may join as a leaf only (RFC 6550, 8.5).
    fn serves(code: u16) -> bool;

    /// Returns the rank through the neighbour, at least MinHopRankIncrease above its own;
    /// [`INFINITE_RANK`](crate::INFINITE_RANK) if it cannot be used.
    fn rank_through(code: u16, path: &Path, min_hop_rank_increase: u16) -> u16;

    /// Returns by how much the rank through another must be lower to replace the preferred parent.
    fn threshold(code: u16, min_hop_rank_increase: u16) -> u16;
}

/// OF0 or MRHOF, as the network configures it.
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
