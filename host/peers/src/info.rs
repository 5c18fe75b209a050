//! Snapshots of a connection.

use kinglet_time::Duration;

/// State of a connection (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has ended.
    Closed,
    /// It has sent a SYN.
    SynSent,
    /// It has received a SYN and sent a SYN-ACK.
    SynReceived,
    /// It is established.
    Established,
    /// It has sent a FIN.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// The peer has sent a FIN.
    CloseWait,
    /// Both ends have sent a FIN, and the own one is not acknowledged.
    LastAck,
    /// Both ends have sent a FIN, and both are acknowledged.
    TimeWait,
}

/// Reason for which a connection ended prematurely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer responded to a SYN with a reset.
    Refused,
    /// The peer sent a reset.
    Reset,
    /// Segments were not acknowledged.
    TimedOut,
    /// The network had no route for its SYN.
    Unreachable,
}

/// State of loss recovery of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// No loss is known.
    None,
    /// It retransmits the data that are lost according to duplicate acknowledgements.
    Fast,
    /// Its timer has expired, and the data in flight at that time are not yet acknowledged.
    Timeout,
}

/// A snapshot of a connection; in octets unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// Reason, if it ended prematurely.
    pub failure: Option<Failure>,
    /// Payload of a full segment.
    pub mss: u32,
    /// Congestion window; for a stack without one the segment that may be in flight.
    pub cwnd: u32,
    /// Slow start threshold; `u32::MAX` until the first loss, and for a stack without one.
    pub ssthresh: u32,
    /// State of loss recovery, as far as the stack distinguishes it from sending.
    pub repair: Repair,
    /// Smoothed round-trip time, as far as the stack measures it.
    pub srtt: Duration,
    /// The last round-trip time sample.
    pub last_rtt: Duration,
    /// The retransmission timeout.
    pub rto: Duration,
    /// Octets sent and not acknowledged.
    pub in_flight: u32,
    /// Octets of these that have arrived according to selective acknowledgments.
    pub sacked: u32,
    /// Send window of the peer beyond SND.UNA.
    pub snd_wnd: u32,
    /// Octets in the send queue, sent or not.
    pub queued: u32,
    /// Earliest expiry of the sender's timers, if one runs.
    pub resends: Option<kinglet_time::Instant>,
    /// Octets acknowledged by the peer since the connection began, modulo 2³².
    pub bytes_acked: u32,
    /// Octets received in order since the connection began, modulo 2³².
    pub bytes_received: u32,
    /// Timestamps are in use.
    pub timestamps: bool,
    /// Selective acknowledgments are in use.
    pub sack: bool,
    /// ECN is in use.
    pub ecn: bool,
    /// Counters of events.
    pub counters: Counters,
}

/// Counters of events of a connection since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments sent.
    pub segments_sent: u32,
    /// Segments received that belonged to the connection.
    pub segments_received: u32,
    /// Segments retransmitted because of duplicate acknowledgements.
    pub fast_retransmits: u32,
    /// Segments retransmitted because a timer had expired.
    pub timeout_retransmits: u32,
    /// Number of retransmissions triggered by duplicate acknowledgements.
    pub fast_recoveries: u32,
    /// Expiries of the timer with a retransmission, including SYNs.
    pub timeouts: u32,
    /// Duplicate acknowledgements received.
    pub dup_acks: u32,
    /// Probes of a closed window.
    pub probes: u32,
    /// Reductions undone because they were spurious.
    pub undone: u32,
    /// Reductions because of congestion marks.
    pub marks: u32,
}
