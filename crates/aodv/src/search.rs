//! What this node seeks ways to.

use crate::due::Due;

/// A destination that is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    pub(crate) destination: u16,
    /// Requests that were sent.
    pub(crate) attempts: u8,
    /// When the next one is sent, or hope is given up.
    pub(crate) due: Due,
}
