//! What was discarded, and what passed.

kinglet_mem::reasons! {
    /// Why a message was discarded.
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
}

kinglet_mem::counters! {
    /// Counters since the start; they stop at their maximum.
    pub struct Stats {
        /// Messages sent.
        sent,
        /// Solicitations for addresses of this node.
        solicited,
    }
    reasons {
        /// Advertisements by others of addresses of this node.
        conflicts,
        /// Frames whose headers need a context that is not known.
        unknown_contexts,
        /// Neighbours forgotten for others.
        evicted,
        /// Neighbours that were not taken in, for want of a place.
        refused,
        /// Neighbours that did not answer.
        unreachable,
    }
    discards Discard
}

/// Counts one more.
pub(crate) const fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
