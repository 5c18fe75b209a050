//! What a connection looks like from outside.

use kinglet_time::Duration;

/// Where a connection is (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is over.
    Closed,
    /// It has sent a SYN.
    SynSent,
    /// It has answered a SYN.
    SynReceived,
    /// It stands.
    Established,
    /// It has sent a FIN.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// The peer has sent a FIN.
    CloseWait,
    /// Both have, and the own FIN is not acknowledged.
    LastAck,
    /// Both have, all is acknowledged.
    TimeWait,
}

/// Why a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer answered a SYN with a reset.
    Refused,
    /// The peer sent a reset.
    Reset,
    /// What was sent was not acknowledged.
    TimedOut,
    /// The network had no way for its SYN.
    Unreachable,
}

/// What a sender does about a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It knows of none.
    None,
    /// It sends again what duplicate acknowledgements say is lost.
    Fast,
    /// Its timer has expired, and what was then in flight is not yet acknowledged.
    Timeout,
}

/// A snapshot of a connection; octets unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Where it is.
    pub state: State,
    /// Why it ended, if it did before its time.
    pub failure: Option<Failure>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Congestion window; the segment that may be in flight for a stack without one.
    pub cwnd: u32,
    /// Slow start threshold; `u32::MAX` until the first loss and for a stack without one.
    pub ssthresh: u32,
    /// What it does about a loss, as far as the stack tells it from sending.
    pub repair: Repair,
    /// Smoothed round-trip time, as far as the stack measures it.
    pub srtt: Duration,
    /// The last sample of it.
    pub last_rtt: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Sent and not acknowledged.
    pub in_flight: u32,
    /// Of this, what selective acknowledgments say has arrived.
    pub sacked: u32,
    /// What the peer can take beyond SND.UNA.
    pub snd_wnd: u32,
    /// In the send queue, sent or not.
    pub queued: u32,
    /// The first moment at which a timer of the sender expires, if one runs.
    pub resends: Option<kinglet_time::Instant>,
    /// Acknowledged by the peer since the connection began, modulo 2³².
    pub bytes_acked: u32,
    /// Received in order since the connection began, modulo 2³².
    pub bytes_received: u32,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// Selective acknowledgments are in use.
    pub sack: bool,
    /// Congestion notification is in use.
    pub ecn: bool,
    /// Events.
    pub counters: Counters,
}

/// Events of a connection since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent.
    pub segments_sent: u32,
    /// Segments received that belonged to the connection.
    pub segments_received: u32,
    /// Segments sent again because of duplicate acknowledgements.
    pub fast_retransmits: u32,
    /// Segments sent again because a timer had expired.
    pub timeout_retransmits: u32,
    /// Times that duplicate acknowledgements made it send again.
    pub fast_recoveries: u32,
    /// Times that the timer expired and something was sent again, SYNs included.
    pub timeouts: u32,
    /// Duplicate acknowledgements received.
    pub dup_acks: u32,
    /// Probes of a closed window.
    pub probes: u32,
    /// Reductions taken back because they turned out to be needless.
    pub undone: u32,
    /// Reductions because of marks.
    pub marks: u32,
}
