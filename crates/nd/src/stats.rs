//! Counters and discard reasons.

kinglet_mem::reasons! {
    /// Reason why a message was discarded.
    pub enum Discard {
        /// This node takes no part in neighbour discovery.
        Off,
        /// A hop limit other than 255: the message was forwarded, or is forged (RFC 4861, 7.1).
        HopLimit,
        /// Its octets are not a valid message.
        Malformed,
        /// Invalid combination of addresses, flags or options (RFC 4861, 7.1).
        Invalid,
        /// It concerns an address that is not this node's, or a neighbour that is of no interest.
        NotConcerned,
        /// A message that this node does not use: redirects, and messages that are not implemented.
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
        /// Advertisements by other nodes of addresses of this node.
        conflicts,
        /// Frames whose headers need an unknown context.
        unknown_contexts,
        /// Neighbours evicted for others.
        evicted,
        /// Entries refused by a full table, or by the limit for unregistered addresses.
        refused,
        /// Neighbours that did not respond.
        unreachable,
    }
    discards Discard
}

/// Increments a counter.
pub(crate) const fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
