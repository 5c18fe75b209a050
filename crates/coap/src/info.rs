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

/// Counters, from the beginning; they wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Messages sent, retransmissions included.
    pub sent: u32,
    /// Well-formed messages received.
    pub received: u32,
    /// Confirmable messages sent again.
    pub retransmissions: u32,
    /// Confirmable messages given up.
    pub timeouts: u32,
    /// Messages received again.
    pub duplicates: u32,
    /// Datagrams without effect, duplicates included; see [`Discard`].
    pub discarded: u32,
    /// Messages that the transport refused for the moment.
    pub refused: u32,
}

/// Why a datagram had no effect beyond what the protocol answers by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Why a request came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No acknowledgement, or no response.
    TimedOut,
    /// The peer answered with a Reset.
    Reset,
}
