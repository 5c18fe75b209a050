//! What the layer looks like from outside.

/// Occupancy of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Requests of this end that are not over.
    pub requests: usize,
    /// Requests of others that are not answered, or whose response is not acknowledged.
    pub serving: usize,
    /// Responses that are kept only in case that a request is repeated.
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
        /// Confirmable messages sent again.
        retransmissions,
    }
    reasons {
        /// Confirmable messages given up.
        timeouts,
        /// Messages that the transport refused for the moment.
        refused,
    }
    discards Discard
}

kinglet_mem::reasons! {
    /// Why a datagram had no effect beyond what the protocol answers by itself.
    pub enum Discard {
        /// Not CoAP, or another version of it.
        Unknown,
        /// A format error.
        Malformed,
        /// It was seen before.
        Duplicate,
        /// An acknowledgement or a response to nothing that is under way.
        Unexpected,
        /// A critical option that is not recognised.
        BadOption,
        /// No place to remember the request; the client will repeat it.
        Busy,
    }
}

/// Why a request came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No acknowledgement, or no response.
    TimedOut,
    /// The peer answered with a Reset.
    Reset,
}
