//! What was discarded, and what passed.

/// Why a message was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// This node takes no part.
    Off,
    /// A hop limit other than 255: a router has let it through, or somebody pretends (RFC 4861,
    /// 7.1).
    HopLimit,
    /// Its octets are no such message.
    Malformed,
    /// Addresses, flags or options that do not go together (RFC 4861, 7.1).
    Invalid,
    /// It is about an address that is not this node's, or a neighbour that is of no interest.
    NotConcerned,
    /// A message that this node has no use for: redirects, and what is not implemented.
    Ignored,
}

/// Counters since the start; they stop at their maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages sent.
    pub sent: u32,
    /// Solicitations for addresses of this node.
    pub solicited: u32,
    /// Messages discarded for what they say, not for whom they concern.
    pub discarded: u32,
    /// Redirects, ignored.
    pub redirects: u32,
    /// Advertisements by others of addresses of this node.
    pub conflicts: u32,
    /// Frames whose headers need a context that is not known.
    pub unknown_contexts: u32,
    /// Neighbours forgotten for others.
    pub evicted: u32,
    /// Neighbours that were not taken in, for want of a place.
    pub refused: u32,
    /// Neighbours that did not answer.
    pub unreachable: u32,
}

/// Counts one more.
pub(crate) const fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
