//! What a connection looks like from outside, in the spirit of Linux's TCP_INFO (RFC 4898 names).

use crate::conn::State;
use crate::error::ConnectionError;
use kinglet_time::Duration;

/// A snapshot of a connection. Octets unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of RFC 9293 §3.3.2.
    pub state: State,
    /// Why it ended, if it did before its time.
    pub error: Option<ConnectionError>,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow start threshold; `u32::MAX` until the first loss.
    pub ssthresh: u32,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// Round-trip time variation.
    pub rttvar: Duration,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Last round-trip time sample.
    pub last_rtt: Duration,
    /// Send window: what the peer can take beyond SND.UNA.
    pub snd_wnd: u32,
    /// Receive window: what the peer has been allowed beyond RCV.NXT.
    pub rcv_wnd: u32,
    /// Effective segment size: payload of a full segment without SACK blocks.
    pub mss: u32,
    /// Sent and not yet acknowledged.
    pub bytes_in_flight: u32,
    /// In the send ring, sent or not.
    pub bytes_queued: u32,
    /// Acknowledged by the peer, ever.
    pub bytes_acked: u64,
    /// Received in order, ever.
    pub bytes_received: u64,
    /// Counters of events.
    pub counters: Counters,
}

/// Events of a connection, counted since it began; they wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Segments sent, retransmissions and acknowledgments included.
    pub segments_sent: u32,
    /// Segments received that belonged to the connection.
    pub segments_received: u32,
    /// Segments sent again in fast recovery.
    pub fast_retransmits: u32,
    /// Segments sent again because of a timeout.
    pub timeout_retransmits: u32,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u32,
    /// Times that the retransmission timer expired.
    pub timeouts: u32,
    /// Duplicate acknowledgments received.
    pub dup_acks: u32,
    /// Zero-window probes sent.
    pub probes: u32,
}
