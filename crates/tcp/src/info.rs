//! Snapshot of a connection, modelled on Linux's TCP_INFO (RFC 4898 names).
//!
//! | `tcpi_…` | here |
//! |---|---|
//! | `state`, `backoff`, `retransmits` | the same |
//! | `probes` | `keepalive_probes` |
//! | `options`, `snd_wscale`, `rcv_wscale` | `timestamps`, `sack`, `snd_scale`, `rcv_scale` |
//! | `rto`, `rtt`, `rttvar` | `rto`, `srtt`, `rttvar` |
//! | `snd_mss`, `rcv_mss`, `advmss` | `mss`, `rcv_mss`, `mss_limit` |
//! | `snd_cwnd`, `snd_ssthresh` (segments) | `cwnd`, `ssthresh` (octets) |
//! | `unacked`, `sacked` (segments) | `bytes_in_flight`, `bytes_sacked` |
//! | `retrans`, `lost` (segments) | `bytes_retransmitted`; `bytes_lost + bytes_retransmitted` |
//! | `ca_state` | `repair` |
//! | `notsent_bytes` | `bytes_unsent` |
//! | `last_data_sent` | `last_sent`, which counts acknowledgments too |
//! | `last_ack_recv` | `last_progress`: the last new one |
//! | `total_retrans` | [`Counters::retransmits`] |
//! | `segs_in`, `segs_out` | `segments_received`, `segments_sent` in [`Counters`] |
//! | `bytes_acked`, `bytes_received` | the same |
//! | `rcv_space`, `snd_wnd`, `rcv_wnd` | `receive_buffer`, `snd_wnd`, `rcv_wnd` |
//! | `delivered` (segments) | `bytes_acked + bytes_sacked` |
//! | `ato`, `fackets`, `rcv_ssthresh` | not part of this TCP |
//! | `min_rtt`, `last_data_recv`, `busy_time`, `reord_seen`, … | not kept: each takes RAM |

use crate::error::{ConnectionError, SoftError};
use crate::state::State;
use kinglet_time::{Duration, Instant};

/// A snapshot of a connection. Sizes are in octets unless stated otherwise.
//= rfc9293#MUST-47 rfc9293#SHLD-9 rfc9293#SHLD-10 rfc9293#SHLD-25
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of RFC 9293 §3.3.2.
    pub state: State,
    /// Reason for the early end of the connection, if it has ended early.
    pub error: Option<ConnectionError>,
    /// Error that the network has reported since the peer last acknowledged something. It may be
    /// temporary and does not end the connection: the application decides.
    pub soft_error: Option<SoftError>,
    /// The data of a SYN was accepted: by the peer, or from it (RFC 7413).
    pub fast_open: bool,
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
    /// Send window: octets that the peer can take beyond SND.UNA.
    pub snd_wnd: u32,
    /// Receive window: octets that the peer may send beyond RCV.NXT.
    pub rcv_wnd: u32,
    /// Effective segment size: payload of a full segment without SACK blocks.
    pub mss: u32,
    /// The largest segment size, options included, that [`crate::Endpoint::set_mss`] can choose.
    pub mss_limit: u16,
    /// Size of the peer's full segments, as far as they have been received.
    pub rcv_mss: u16,
    /// Timestamps are in use (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgments are in use (RFC 2018).
    pub sack: bool,
    /// Shift of the peer's windows (RFC 7323).
    pub snd_scale: u8,
    /// Shift of this side's windows.
    pub rcv_scale: u8,
    /// Doublings of the RTO since an RTT was measured, or since the window closed.
    pub backoff: u8,
    /// Retransmissions in a row without a sign of life from the peer.
    pub retransmits: u8,
    /// Keep-alive probes without a response.
    pub keepalive_probes: u8,
    /// Recent share of retransmissions among data segments, in 1/65,536.
    pub retransmitted_share: u16,
    /// ECN is in use (RFC 3168).
    pub ecn: bool,
    /// Sent and not yet acknowledged.
    pub bytes_in_flight: u32,
    /// Of these, selectively acknowledged.
    pub bytes_sacked: u32,
    /// Of these, considered lost and not sent again yet.
    pub bytes_lost: u32,
    /// Of these, sent again, without a report since.
    pub bytes_retransmitted: u32,
    /// State of loss recovery.
    pub repair: Repair,
    /// In the send queue, sent or not, copied or by reference.
    pub bytes_queued: u32,
    /// In the send queue and not sent yet.
    pub bytes_unsent: u32,
    /// Received in order and not read yet.
    pub bytes_readable: u32,
    /// Receive buffer in use.
    pub receive_buffer: u32,
    /// Time at which a segment was last sent; at most 36 minutes back.
    pub last_sent: Instant,
    /// Time at which the peer last acknowledged something new, or at which the present flight
    /// began; at most 36 minutes back.
    pub last_progress: Instant,
    /// Acknowledged by the peer since the connection began, modulo 2^32.
    pub bytes_acked: u32,
    /// Received in order since the connection began, modulo 2^32.
    pub bytes_received: u32,
    /// Counters of events.
    pub counters: Counters,
}

/// State of loss recovery, with Linux's name for it (`TCP_CA_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// No sign of loss or congestion (`Open`).
    None,
    /// Data has arrived out of order or twice; perhaps a segment is lost (`Disorder`).
    Doubt,
    /// A congestion mark has reduced the window, and the data then in flight is not yet
    /// acknowledged (`CWR`).
    Marked,
    /// Fast recovery (`Recovery`).
    Fast,
    /// The retransmission timer has expired, and the data then in flight is not yet acknowledged
    /// (`Loss`).
    Timeout,
}

/// Events of a connection, counted since it began; they wrap, the rarer ones at 2^16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counters {
    /// Segments sent, retransmissions and acknowledgments included.
    pub segments_sent: u32,
    /// Segments received that belonged to the connection.
    pub segments_received: u32,
    /// Segments sent again in fast recovery.
    pub fast_retransmits: u16,
    /// Segments sent again because of a timeout.
    pub timeout_retransmits: u16,
    /// Times that fast recovery was entered.
    pub fast_recoveries: u16,
    /// Times that the retransmission timer expired.
    pub timeouts: u16,
    /// Duplicate acknowledgments received.
    pub dup_acks: u16,
    /// Zero-window probes sent.
    pub probes: u16,
    /// Recoveries that turned out to be needless and were undone.
    pub undone: u16,
    /// Times that the window was reduced because the peer reported marks (ECE).
    pub marks: u16,
}

impl Counters {
    /// Returns the number of segments sent again, without tail loss probes: `tcpi_total_retrans`.
    pub const fn retransmits(&self) -> u16 {
        self.fast_retransmits.wrapping_add(self.timeout_retransmits)
    }
}
