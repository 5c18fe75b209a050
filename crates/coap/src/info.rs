//! Occupancy and counters.

/// Occupancy of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Requests of this end that are not complete.
    pub requests: usize,
    /// Requests of peers that are not answered, or whose response is not acknowledged.
    pub serving: usize,
    /// Responses that are kept only for repeated requests.
    pub kept: usize,
    /// Resets waiting to be sent.
    pub resets: usize,
}

kinglet_mem::counters! {
    /// Counters since the start; those of messages wrap.
    pub struct Stats {
        /// Messages sent, retransmissions included.
        sent,
        /// Well-formed messages received.
        received,
        /// Confirmable messages retransmitted.
        retransmissions,
    }
    reasons {
        /// Confirmable messages that timed out.
        timeouts,
        /// Messages that the transport has temporarily refused.
        refused,
    }
    discards Discard
}

kinglet_mem::reasons! {
    /// Reason for which a datagram had no effect beyond the automatic replies of the protocol.
    pub enum Discard {
        /// Not CoAP, or another version of it.
        Unknown,
        /// A format error.
        Malformed,
        /// A duplicate.
        Duplicate,
        /// An acknowledgement of or response to no outstanding message.
        Unexpected,
        /// A critical option that is not recognised.
        BadOption,
        /// No free slot for the request; the client will retransmit it.
        Busy,
    }
}

/// Reason for which a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No acknowledgement, or no response.
    TimedOut,
    /// The peer answered with a Reset.
    Reset,
}
