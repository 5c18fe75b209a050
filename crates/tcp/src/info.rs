//! What a connection looks like from outside, in the spirit of Linux's TCP_INFO (RFC 4898 names).
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
//! | `retrans`, `lost` (segments) | `bytes_retransmitted`, which and `bytes_lost` together |
//! | `ca_state` | `repair` |
//! | `notsent_bytes` | `bytes_unsent` |
//! | `last_data_sent` | `last_sent`, which counts acknowledgments too |
//! | `last_ack_recv` | `last_progress`: the last new one |
//! | `total_retrans` | [`Counters::retransmits`] |
//! | `segs_in`, `segs_out` | `segments_received`, `segments_sent` in [`Counters`] |
//! | `bytes_acked`, `bytes_received` | the same |
//! | `rcv_space`, `snd_wnd`, `rcv_wnd` | `receive_buffer`, `snd_wnd`, `rcv_wnd` |
//! | `delivered` (segments) | `bytes_acked + bytes_sacked` |
//! | `ato`, `fackets`, `rcv_ssthresh` | not of this TCP's making |
//! | `min_rtt`, `last_data_recv`, `busy_time`, `reord_seen`, … | not kept: each takes RAM |

use crate::error::{ConnectionError, SoftError};
use crate::state::State;
use kinglet_time::{Duration, Instant};

/// A snapshot of a connection. Octets unless said otherwise.
//= rfc9293#MUST-47 rfc9293#SHLD-9 rfc9293#SHLD-10 rfc9293#SHLD-25
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// State of RFC 9293 §3.3.2.
    pub state: State,
    /// Why it ended, if it did before its time.
    pub error: Option<ConnectionError>,
    /// What the network has reported since the peer last acknowledged something. It may pass, and
    /// ends nothing: the application decides.
    pub soft_error: Option<SoftError>,
    /// The data of a SYN was taken by the peer, or from it (RFC 7413).
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
    /// Send window: what the peer can take beyond SND.UNA.
    pub snd_wnd: u32,
    /// Receive window: what the peer has been allowed beyond RCV.NXT.
    pub rcv_wnd: u32,
    /// Effective segment size: payload of a full segment without SACK blocks.
    pub mss: u32,
    /// The largest segment size, options included, that [`crate::Endpoint::set_mss`] can choose.
    pub mss_limit: u16,
    /// The peer's full segments, as far as they have been seen.
    pub rcv_mss: u16,
    /// Timestamps are in use (RFC 7323).
    pub timestamps: bool,
    /// Selective acknowledgments are in use (RFC 2018).
    pub sack: bool,
    /// Shift of the peer's windows (RFC 7323).
    pub snd_scale: u8,
    /// Shift of the own windows.
    pub rcv_scale: u8,
    /// Doublings of the RTO since the peer last acknowledged something.
    pub backoff: u8,
    /// Retransmissions in a row without a sign of life from the peer.
    pub retransmits: u8,
    /// Keep-alive probes without an answer.
    pub keepalive_probes: u8,
    /// Recent share of data segments that were sent again, in 1/65,536.
    pub retransmitted_share: u16,
    /// Whether both sides use ECN (RFC 3168).
    pub ecn: bool,
    /// Sent and not yet acknowledged.
    pub bytes_in_flight: u32,
    /// Of these, selectively acknowledged.
    pub bytes_sacked: u32,
    /// Of these, taken for lost and not sent again yet.
    pub bytes_lost: u32,
    /// Of these, sent again and not heard of since.
    pub bytes_retransmitted: u32,
    /// What is thought of what is in flight.
    pub repair: Repair,
    /// In the send queue, sent or not, copied or by reference.
    pub bytes_queued: u32,
    /// In the send queue and not sent yet.
    pub bytes_unsent: u32,
    /// Received in order and not read yet.
    pub bytes_readable: u32,
    /// Receive buffer in use.
    pub receive_buffer: u32,
    /// When anything was last sent. If that was long ago, at most 36 minutes are told.
    pub last_sent: Instant,
    /// When the peer last acknowledged something new, or when what is in flight was sent after
    /// there was nothing; at most 36 minutes back.
    pub last_progress: Instant,
    /// Acknowledged by the peer since the connection began, modulo 2^32.
    pub bytes_acked: u32,
    /// Received in order since the connection began, modulo 2^32.
    pub bytes_received: u32,
    /// Counters of events.
    pub counters: Counters,
}

/// What a sender thinks of what is in flight, with Linux's name for it (`TCP_CA_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// All is well (`Open`).
    None,
    /// Something has arrived out of order or twice; perhaps something is lost (`Disorder`).
    Doubt,
    /// A mark of congestion has reduced the window, and what was then in flight is not yet
    /// acknowledged (`CWR`).
    Marked,
    /// Fast recovery (`Recovery`).
    Fast,
    /// The retransmission timer has expired, and what was then in flight is not yet acknowledged
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
    /// Recoveries that turned out to be needless and were taken back.
    pub undone: u16,
    /// Times that the window was reduced because the peer reported marks (ECE).
    pub marks: u16,
}

impl Counters {
    /// All segments sent again, tail loss probes left out: `tcpi_total_retrans`.
    pub const fn retransmits(&self) -> u16 {
        self.fast_retransmits.wrapping_add(self.timeout_retransmits)
    }
}
