//! Route discovery of this node.

use crate::due::Due;

/// A destination for which a route is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    pub(crate) destination: u16,
    /// Number of requests sent.
    pub(crate) attempts: u8,
    /// Time at which the next request is sent, or the search fails.
    pub(crate) due: Due,
}
