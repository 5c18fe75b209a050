//! Linux's `struct tcp_info`, as far as [`kinglet_tcp::Info`] fills it.

use kinglet_tcp::{Info, Repair, State};
use kinglet_time::Duration;
use std::ops::Deref;

/// Length of Linux's structure, and of the additional fields of this stack.
pub const TCP_INFO_LEN: usize = 552;

/// Offset of the additional fields.
const OWN: usize = 512;

/// Linux's initial value of the threshold.
const INFINITE: i64 = 0x7fff_ffff;

/// A connection with the data of its socket.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) info: &'a Info,
    /// The MSS that the socket announces.
    pub(super) announced: u16,
    /// Octets that the socket holds back.
    pub(super) held: u32,
}

impl Deref for Seen<'_> {
    type Target = Info;

    fn deref(&self) -> &Info {
        self.info
    }
}

type Value = fn(Seen<'_>) -> i64;

/// Name, offset, octets, value. Windows count segments, times microseconds; names that begin with
/// `octets_` or `count_` are additional fields.
const FIELDS: &[(&str, usize, usize, Value)] = &[
    ("tcpi_state", 0, 1, |i| state_number(i.state)),
    ("tcpi_ca_state", 1, 1, |i| repair_number(i.repair)),
    ("tcpi_retransmits", 2, 1, |i| i64::from(i.retransmits)),
    ("tcpi_probes", 3, 1, |i| i64::from(i.keepalive_probes)),
    ("tcpi_backoff", 4, 1, |i| i64::from(i.backoff)),
    ("tcpi_options", 5, 1, options),
    ("tcpi_rto", 8, 4, |i| micros(i.rto)),
    ("tcpi_snd_mss", 16, 4, |i| i64::from(i.mss)),
    ("tcpi_rcv_mss", 20, 4, |i| i64::from(i.rcv_mss)),
    ("tcpi_unacked", 24, 4, |i| begun(i, i.bytes_in_flight)),
    ("tcpi_sacked", 28, 4, |i| begun(i, i.bytes_sacked)),
    ("tcpi_lost", 32, 4, lost),
    ("tcpi_retrans", 36, 4, |i| begun(i, i.bytes_retransmitted)),
    ("tcpi_rtt", 68, 4, |i| micros(i.srtt)),
    ("tcpi_rttvar", 72, 4, |i| micros(i.rttvar)),
    ("tcpi_snd_ssthresh", 76, 4, ssthresh),
    ("tcpi_snd_cwnd", 80, 4, |i| segments(i, i.cwnd)),
    ("tcpi_advmss", 84, 4, |i| i64::from(i.announced)),
    ("tcpi_reordering", 88, 4, |_| DUP_THRESH),
    ("tcpi_total_retrans", 100, 4, |i| i64::from(i.counters.retransmits())),
    ("tcpi_bytes_acked", 120, 8, |i| i.bytes_acked.into()),
    ("tcpi_bytes_received", 128, 8, |i| i.bytes_received.into()),
    ("tcpi_segs_out", 136, 4, |i| i64::from(i.counters.segments_sent)),
    ("tcpi_segs_in", 140, 4, |i| i64::from(i.counters.segments_received)),
    ("tcpi_notsent_bytes", 144, 4, |i| i64::from(i.bytes_unsent + i.held)),
    ("tcpi_delivered", 192, 4, delivered),
    ("tcpi_snd_wnd", 228, 4, |i| i64::from(i.snd_wnd)),
    ("tcpi_rcv_wnd", 232, 4, |i| i64::from(i.rcv_wnd)),
    ("octets_cwnd", OWN, 4, |i| i64::from(i.cwnd)),
    ("octets_ssthresh", OWN + 4, 4, |i| i64::from(i.ssthresh)),
    ("octets_in_flight", OWN + 8, 4, |i| i64::from(i.bytes_in_flight)),
    ("count_timeouts", OWN + 12, 4, |i| i64::from(i.counters.timeouts)),
    ("count_recoveries", OWN + 16, 4, |i| i64::from(i.counters.fast_recoveries)),
    ("count_marks", OWN + 20, 4, |i| i64::from(i.counters.marks)),
];

fn micros(d: Duration) -> i64 {
    i64::try_from(d.as_micros()).unwrap_or(i64::MAX)
}

/// Returns the number of segments that fit into a window.
fn segments(seen: Seen<'_>, octets: u32) -> i64 {
    i64::from(octets.checked_div(seen.mss).unwrap_or(0))
}

/// Returns the number of segments of these octets, if all but the last are full.
fn begun(seen: Seen<'_>, octets: u32) -> i64 {
    i64::from(octets.div_ceil(seen.mss.max(1)))
}

/// Retransmitted octets count as lost until they are acknowledged, except in a tail loss probe.
fn lost(seen: Seen<'_>) -> i64 {
    let repairs = matches!(seen.repair, Repair::Fast | Repair::Timeout);
    begun(seen, seen.bytes_lost + if repairs { seen.bytes_retransmitted } else { 0 })
}

/// A handshake counts as one.
fn delivered(seen: Seen<'_>) -> i64 {
    let opening = matches!(seen.state, State::SynSent | State::SynReceived);
    i64::from(!opening) + begun(seen, seen.bytes_acked.wrapping_add(seen.bytes_sacked))
}

/// Number of segments above a hole that prove its loss as long as no reordering has been detected
/// (RFC 8985 §6.2). Linux keeps counting; here a timer decides after that.
const DUP_THRESH: i64 = 3;

/// `TCPI_OPT_TIMESTAMPS`, `TCPI_OPT_SACK`, `TCPI_OPT_ECN`, `TCPI_OPT_SYN_DATA`.
fn options(seen: Seen<'_>) -> i64 {
    let bits = [(seen.timestamps, 0), (seen.sack, 1), (seen.ecn, 3), (seen.fast_open, 5)];
    bits.into_iter().map(|(is, bit)| i64::from(is) << bit).sum()
}

fn ssthresh(seen: Seen<'_>) -> i64 {
    if seen.ssthresh == u32::MAX { INFINITE } else { segments(seen, seen.ssthresh) }
}

/// Returns Linux's number of `TCP_CA_…`.
fn repair_number(repair: Repair) -> i64 {
    match repair {
        Repair::None => 0,
        Repair::Doubt => 1,
        Repair::Marked => 2,
        Repair::Fast => 3,
        Repair::Timeout => 4,
    }
}

/// Returns Linux's number of a state.
fn state_number(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Closing => 11,
    }
}

/// Returns the structure; without a connection, that of a closed one.
pub(super) fn encode(seen: Option<Seen<'_>>) -> Vec<u8> {
    let mut out = vec![0; TCP_INFO_LEN];
    let Some(seen) = seen else {
        out[0] = 7;
        return out;
    };
    for (_, at, len, value) in FIELDS {
        // The less significant octets, in this machine's order.
        let octets = value(seen).to_le_bytes();
        let place = &mut out[*at..*at + *len];
        place.copy_from_slice(&octets[..*len]);
        if cfg!(target_endian = "big") {
            place.reverse();
        }
    }
    out
}

/// Returns the structure of a listening socket.
pub(super) fn listening() -> Vec<u8> {
    let mut out = vec![0; TCP_INFO_LEN];
    out[0] = 10;
    out
}

/// The words of Linux's `SO_MEMINFO`, in order.
const MEMORY: [&str; 9] = [
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_RCVBUF",
    "SK_MEMINFO_WMEM_ALLOC",
    "SK_MEMINFO_SNDBUF",
    "SK_MEMINFO_FWD_ALLOC",
    "SK_MEMINFO_WMEM_QUEUED",
    "SK_MEMINFO_OPTMEM",
    "SK_MEMINFO_BACKLOG",
    "SK_MEMINFO_DROPS",
];

/// Returns the structure of `SO_MEMINFO`: only octets of data; Linux also counts the overhead of
/// its buffers.
pub(super) fn memory(info: Option<&Info>, receive_buffer: usize, send_buffer: usize) -> Vec<u8> {
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let count = |value: fn(&Info) -> u32| info.map_or(0, value);
    let words = [
        count(|i| i.bytes_readable),
        size(receive_buffer),
        count(|i| i.bytes_in_flight),
        size(send_buffer),
        0,
        count(|i| i.bytes_queued),
        0,
        0,
        0,
    ];
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// Returns the field `name` of the structures of `TCP_INFO` and `SO_MEMINFO`, one after the other;
/// `None` if this stack does not fill it.
pub fn field(octets: &[u8], name: &str) -> Option<i64> {
    let memory = MEMORY.iter().position(|known| *known == name);
    let (at, len) = match memory {
        Some(index) => (TCP_INFO_LEN + 4 * index, 4),
        None => FIELDS.iter().find(|(known, ..)| *known == name).map(|f| (f.1, f.2))?,
    };
    let place = octets.get(at..at + len)?;
    let mut value = [0; 8];
    for (at, octet) in place.iter().enumerate() {
        value[if cfg!(target_endian = "big") { len - 1 - at } else { at }] = *octet;
    }
    Some(i64::from_le_bytes(value))
}
