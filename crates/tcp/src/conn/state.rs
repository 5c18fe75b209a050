//! The states of RFC 9293 §3.3.2.

/// State of a connection. LISTEN is missing: a listener is not a connection here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// A SYN was sent, none has come.
    SynSent,
    /// A SYN was sent and one has come; its acknowledgment is awaited.
    SynReceived,
    /// Open.
    Established,
    /// A FIN is queued or sent and not acknowledged.
    FinWait1,
    /// Our FIN is acknowledged; the peer may go on sending.
    FinWait2,
    /// The peer has sent FIN; we may go on sending.
    CloseWait,
    /// Both have sent FIN; ours is not acknowledged.
    Closing,
    /// The peer's FIN came first; ours is queued or sent and not acknowledged.
    LastAck,
    /// Both FINs are acknowledged; old segments must die.
    TimeWait,
}
