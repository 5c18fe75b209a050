//! All keys of a scenario file whose section is a table of settings: see [`super::table`].

mod air;
mod asleep;
mod net;

pub(super) use air::{DISC, INTERFERENCE, LINK, MEDIUM, OFFICE_LOSS, PATH_LOSS, RADIO, UNIT_DISC};
pub(super) use asleep::{LEAF, WAKE};
pub(super) use net::NET;

use super::error::Result;
use super::presets::{SECURITY, Tcp};
use super::read::Reader;
use super::table::{Bound, Key, Value, choice, flag, millis, number, read, whole};
use super::{Buffer, HostTcp, LinkAddresses, Mss, Pairs, Scenario, Tunnel, Wire};
use crate::Control;
use crate::EitherBackoff;
use kinglet::mac::Csma;
use kinglet::tcp::Rto;
use kinglet::wire::ieee802154::PanId;
use kinglet_peers::Stack;

/// A year; a longer time is a mistake of units.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Keys outside all sections.
pub(super) const TOP: &[Key<Scenario>] = &[
    Key::<Scenario>::new(
        "name",
        Value::Text { get: |t| &t.name, set: |t, text| t.name = text },
        "name of the scenario in results and reports",
    ),
    Key::<Scenario>::new(
        "start_hour",
        number!(0.0..=24.0, start_hour),
        "hour of the day at the start of the run; interference depends on it",
    ),
    Key::<Scenario>::new(
        "duration_s",
        number!(0.001..=MAX_SECONDS, duration_s),
        "simulated time, s",
    ),
    Key::<Scenario>::new(
        "seed",
        whole!(0..=i64::MAX as u64, seed: u64),
        "seed of all random numbers",
    )
    .allowed("0 to 2⁶³−1"),
];

/// `[mac]`.
pub(super) const MAC: &[Key<Scenario>] = &[
    Key::<Scenario>::new("max_be", whole!(3..=8, mac.csma_params.max_be: u8), "macMaxBE"),
    Key::<Scenario>::new(
        "min_be",
        whole!(0..=8, mac.csma_params.min_be: u8, Bound::Most("max_be", max_be)),
        "macMinBE",
    ),
    Key::<Scenario>::new(
        "max_csma_backoffs",
        whole!(0..=5, mac.csma_params.max_backoffs: u8),
        "macMaxCsmaBackoffs",
    ),
    Key::<Scenario>::new(
        "max_frame_retries",
        whole!(0..=15, mac.max_frame_retries: u8),
        "macMaxFrameRetries: attempts after the first",
    ),
    Key::<Scenario>::new(
        "retry_delay_ms",
        millis!(0.0..=10_000.0, mac.retry_delay_max),
        "a retry waits a random time between 0 and this (TCPlp's *d*)",
    ),
    Key::<Scenario>::new(
        "adaptive_retry_delay",
        flag!(mac.adaptive_retry_delay),
        "*d* starts at 0 and grows up to `retry_delay_ms` while retries fail",
    ),
    Key::<Scenario>::new(
        "csma",
        choice!(mac.csma; "software" => Csma::Software, "hardware" => Csma::Hardware),
        "CSMA-CA by the MAC in software (the radio receives during the backoff), or by the radio \
         (it is deaf during the backoff)",
    ),
    Key::<Scenario>::new(
        "backoff",
        choice!(backoff;
            "exponential" => EitherBackoff::EXPONENTIAL, "tinyos" => EitherBackoff::TINYOS),
        "length of the CSMA-CA backoff: 0 to 2^BE − 1 units of 320 µs, BE growing from `min_be` \
         to `max_be` with each busy channel; or TinyOS's, 20 to 640 symbols of 16 µs, then 20 to \
         140 after each of up to 23 busy channels, in software whatever `csma` is",
    ),
    Key::<Scenario>::new(
        "pan",
        Value::Whole {
            range: 0..=65_534,
            bound: Bound::No,
            get: |t| Some(t.mac.pan_id.0.into()),
            set: |t, pan| t.mac.pan_id = PanId(pan as u16),
        },
        "PAN identifier; RIOT's is 35",
    ),
    Key::<Scenario>::new(
        "addresses",
        choice!(link_addresses;
            "short" => LinkAddresses::Short, "eui64" => LinkAddresses::Extended),
        "link-layer addresses of all nodes: 16 bits, or EUI-64 without short ones, with static \
         routes or RPL and without leaves",
    ),
    Key::<Scenario>::new(
        "security",
        Value::Flag {
            get: |t| t.mac.security.is_some(),
            set: |t, secured| t.mac.security = secured.then_some(SECURITY),
        },
        "frames are encrypted and authenticated (AES-CCM\\*, level 5), which takes 10 octets of \
         each",
    ),
    Key::<Scenario>::new(
        "reserved_security_bytes",
        whole!(0..=60, mac.reserved_security: u8),
        "octets of every data frame reserved for a link security that is not simulated",
    )
    .allowed("0, or 7 to 60"),
    Key::<Scenario>::new("indirect", Value::Apart, "a table of its own:"),
];

fn max_be(of: &Scenario) -> f64 {
    of.mac.csma_params.max_be.into()
}

/// `[mac.indirect]`.
pub(super) const INDIRECT: &[Key<Scenario>] = &[
    Key::<Scenario>::new(
        "retries",
        whole!(0..=7, mac.indirect.max_retries: u8),
        "attempts after the first; a frame that still fails waits for the next data request",
    ),
    Key::<Scenario>::new(
        "retry_delay_ms",
        millis!(0.0..=10_000.0, mac.indirect.retry_delay_max),
        "a retry waits a random time between 0 and this",
    ),
    Key::<Scenario>::new(
        "min_be",
        whole!(0..=8, mac.indirect.min_be: u8, Bound::Most("max_be", max_be)),
        "macMinBE of these frames",
    ),
    Key::<Scenario>::new(
        "preempt",
        flag!(mac.indirect.preempt),
        "an indirect frame is sent between two attempts of the frame in progress",
    ),
    Key::<Scenario>::new(
        "burst",
        flag!(mac.indirect.burst),
        "one data request fetches all waiting frames instead of one",
    ),
];

/// `[tcp]`, except [`BUFFERS`].
pub(super) const TCP: &[Key<Tcp>] = &[
    Key::<Tcp>::new(
        "stack",
        choice!(stack;
            "kinglet" => None,
            "uip" => Some(Stack::Uip),
            "blip" => Some(Stack::Blip),
            "gnrc" => Some(Stack::Gnrc),
            "freebsd" => Some(Stack::FreeBsd),
            "linux" => Some(Stack::Linux)),
        "TCP of the connecting end: Kinglet's; that of uIP, BLIP or GNRC; FreeBSD's, which TCPlp \
         ports; Linux's. Of the keys below, a peer stack uses the sizes, `timestamps`, `sack`, \
         `ecn`, and `ack_every = 1`; everything else is its own",
    ),
    Key::<Tcp>::new(
        "peer_stack",
        choice!(peer_stack;
            "kinglet" => Some(None),
            "uip" => Some(Some(Stack::Uip)),
            "blip" => Some(Some(Stack::Blip)),
            "gnrc" => Some(Some(Stack::Gnrc)),
            "freebsd" => Some(Some(Stack::FreeBsd)),
            "linux" => Some(Some(Stack::Linux))),
        "TCP of the accepting end, as `stack`",
    )
    .default("`stack`"),
    Key::<Tcp>::new(
        "blip_rto_ms",
        Value::Time {
            range: 500.0..=60_000.0,
            per_second: 1e3,
            whole: true,
            get: |t| Some(t.quirks.blip_rto),
            set: |t, time| t.quirks.blip_rto = time,
        },
        "BLIP's fixed retransmission timeout; its timer has a resolution of half a second",
    ),
    Key::<Tcp>::new(
        "blip_counts_all_segments",
        flag!(quirks.faults.counts_all_segments),
        "BLIP's first fault: every segment is counted as a retransmission, so a connection ends \
         after six timeouts",
    ),
    Key::<Tcp>::new(
        "blip_renumbers_syn",
        flag!(quirks.faults.renumbers_syn),
        "BLIP's second fault: a retransmitted SYN has another sequence number",
    ),
    Key::<Tcp>::new(
        "linux_tiny_segments",
        flag!(quirks.tiny_segments),
        "Linux splits data into segments of eight octets if the peer's window is one segment and \
         the round trip is long, as observed with the Linux of 2013",
    ),
    Key::<Tcp>::new(
        "mss",
        Value::Whole {
            range: 32..=1492,
            bound: Bound::No,
            get: |t| match t.mss {
                Mss::Bytes(bytes) => Some(bytes.into()),
                Mss::Frames(_) => None,
            },
            set: |t, bytes| t.mss = Mss::Bytes(bytes as u16),
        },
        "largest segment, octets of payload; at most 60 less than `[net] mtu`",
    )
    .instead_of("mss_frames"),
    Key::<Tcp>::new(
        "mss_frames",
        Value::Whole {
            range: 1..=12,
            bound: Bound::No,
            get: |t| match t.mss {
                Mss::Bytes(_) => None,
                Mss::Frames(frames) => Some(frames.into()),
            },
            set: |t, frames| t.mss = Mss::Frames(frames as u8),
        },
        "largest segment as the payload of this many frames on any hop",
    ),
    Key::<Tcp>::new(
        "link_losses",
        flag!(connection.link_losses),
        "a segment that the node's own MAC reports as lost is retransmitted at once; the paper's \
         TCP had no such reports",
    ),
    Key::<Tcp>::new(
        "adaptive_segments",
        flag!(connection.adaptive_mss),
        "segments span fewer frames while the loss rate is high; `mss` is the upper limit",
    ),
    Key::<Tcp>::new(
        "ack_delay_ms",
        millis!(0.0..=500.0, connection.delayed_ack),
        "longest delay of an acknowledgement",
    ),
    Key::<Tcp>::new(
        "ack_every",
        whole!(1..=8, connection.ack_every: u8),
        "at least every n-th full segment is acknowledged at once",
    ),
    Key::<Tcp>::new(
        "ack_rate_request",
        flag!(connection.ack_rate_request),
        "ACK Rate Request is offered (draft-ietf-tcpm-ack-rate-request): with windows of less \
         than two segments each segment is acknowledged at once",
    ),
    Key::<Tcp>::new(
        "acks",
        choice!(connection.positive_acks; "cumulative" => false, "positive" => true),
        "an acknowledgement covers all data received until it is sent; or each segment gets its \
         own acknowledgement at once",
    ),
    Key::<Tcp>::new("nagle", flag!(connection.nagle), "Nagle's algorithm"),
    Key::<Tcp>::new(
        "initial_rto_ms",
        millis!(10.0..=60_000.0, connection.rto_initial),
        "retransmission timeout before the first round-trip sample",
    ),
    Key::<Tcp>::new(
        "pacing",
        flag!(connection.pacing),
        "segments of a window are sent with a gap of at most SRTT / window / 1.25 instead of in a \
         burst; not where all nodes sleep",
    ),
    Key::<Tcp>::new(
        "rto",
        choice!(connection.rto;
            "linux" => Rto::RoundTrips,
            "rfc6298" => Rto::AtLeast,
            "static" => Rto::Static,
            "semi-dynamic" => Rto::FirstRoundTrip),
        "computation of the retransmission timeout: SRTT plus at least `min_rto_ms`, as Linux; \
         RFC 6298 with the minimum `min_rto_ms`; a constant drawn from 2 to 3 s for each \
         connection (CoAP); or a constant of four times the round-trip time of the handshake, at \
         least `min_rto_ms`",
    ),
    Key::<Tcp>::new(
        "min_rto_ms",
        millis!(1.0..=60_000.0, connection.rto_min),
        "minimum of the retransmission timeout less SRTT; with other values of `rto` than \
         `\"linux\"`, minimum of the timeout",
    ),
    Key::<Tcp>::new(
        "window_limit",
        whole!(0..=15, connection.window_limit: u8),
        "maximum number of full segments in flight, whatever the congestion window; 0: no limit",
    ),
    Key::<Tcp>::new(
        "congestion",
        choice!(congestion;
            "new-reno" => Control::NewReno, "cubic" => Control::Cubic,
            "westwood" => Control::Westwood, "rate" => Control::Rate),
        "congestion control of a bulk sender with Kinglet's TCP: RFC 5681, RFC 9438, Westwood+, \
         or by samples of the delivery rate, as BBR",
    ),
    Key::<Tcp>::new(
        "window_by_hops",
        flag!(connection.window_by_hops),
        "the window limit is 3 over up to two hops and 2 over more",
    ),
    Key::<Tcp>::new(
        "recovery",
        choice!(connection.fast_recovery; "fast" => true, "timeout" => false),
        "loss detection by acknowledgements and timer; or by the retransmission timer alone, \
         without undoing spurious timeouts (RFC 793 with slow start). With both, segments \
         reported by `link_losses` are retransmitted",
    ),
    Key::<Tcp>::new(
        "initial_window",
        whole!(0..=10, connection.initial_window: u8),
        "initial window, segments; 0: the 2 to 4 of RFC 5681",
    ),
    Key::<Tcp>::new(
        "max_retransmits",
        whole!(1..=255, connection.max_retransmits: u8),
        "retransmissions of the same data before the connection is aborted",
    ),
    Key::<Tcp>::new("timestamps", flag!(connection.timestamps), "timestamps option (RFC 7323)"),
    Key::<Tcp>::new("sack", flag!(connection.sack), "selective acknowledgements (RFC 2018)"),
    Key::<Tcp>::new(
        "ecn",
        flag!(connection.ecn),
        "explicit congestion notification is requested (RFC 3168)",
    ),
];

/// Buffers of connections, where given.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) send: Option<Buffer>,
    pub(super) receive: Option<Buffer>,
}

impl Buffers {
    /// Reads the buffers that `t` gives.
    pub(super) fn read(t: &mut Reader<'_>) -> Result<Buffers> {
        let mut buffers = Buffers::default();
        read(t, BUFFERS, &mut buffers)?;
        Ok(buffers)
    }
}

/// A buffer in octets or in segments.
macro_rules! buffer {
    ($range:expr, $field:ident, $unit:ident, $type:ty) => {
        Value::Whole {
            range: $range,
            bound: Bound::No,
            get: |t| match t.$field {
                Some(Buffer::$unit(number)) => Some(number.into()),
                _ => None,
            },
            set: |t, number| t.$field = Some(Buffer::$unit(number as $type)),
        }
    };
}

/// Buffers of connections: in `[tcp]`, and of a flow in `[[flow]]`.
pub(super) const BUFFERS: &[Key<Buffers>] = &[
    Key::<Buffers>::new(
        "send_buffer_segments",
        buffer!(1..=1_024, send, Segments, u16),
        "send buffer in segments",
    ),
    Key::<Buffers>::new(
        "send_buffer_bytes",
        buffer!(64..=1_048_576, send, Bytes, u32),
        "the same in octets",
    )
    .instead_of("send_buffer_segments"),
    Key::<Buffers>::new(
        "receive_buffer_segments",
        buffer!(1..=1_024, receive, Segments, u16),
        "receive buffer in segments",
    ),
    Key::<Buffers>::new(
        "receive_buffer_bytes",
        buffer!(64..=1_048_576, receive, Bytes, u32),
        "the same in octets",
    )
    .instead_of("receive_buffer_segments"),
];

/// `[wire]`.
pub(super) const WIRE: &[Key<Wire>] = &[
    Key::<Wire>::new(
        "delay_ms",
        whole!(0..=60_000, delay_ms: u32),
        "delay of a packet on the wire",
    ),
    Key::<Wire>::new(
        "rate_kbps",
        Value::Number {
            range: 0.0..=4_000_000.0,
            bound: Bound::No,
            get: |t| t.rate_kbps,
            set: |t, kbps| t.rate_kbps = (kbps > 0.0).then_some(kbps),
        },
        "capacity of each direction, kb/s; 0: no limit; the queue before it has no limit",
    )
    .default("no limit"),
    Key::<Wire>::new("loss", number!(0.0..=1.0, loss), "probability that a packet is lost"),
    Key::<Wire>::new(
        "loss_to_mesh",
        Value::Number {
            range: 0.0..=1.0,
            bound: Bound::No,
            get: |t| t.loss_to_mesh,
            set: |t, loss| t.loss_to_mesh = Some(loss),
        },
        "loss towards the mesh, if it differs",
    )
    .default("`loss`"),
    Key::<Wire>::new(
        "duplicate",
        number!(0.0..=1.0, duplicate),
        "probability that a packet is duplicated",
    ),
    Key::<Wire>::new(
        "mark",
        number!(0.0..=1.0, mark),
        "probability that a packet of an ECN-capable sender is marked (CE)",
    ),
    Key::<Wire>::new(
        "reorder",
        number!(0.0..=1.0, reorder),
        "probability that a packet is held back, so that later ones overtake it",
    ),
    Key::<Wire>::new(
        "reorder_delay_ms",
        whole!(0..=60_000, reorder_delay_ms: u32),
        "maximum time that a packet is held back; uniformly random",
    ),
    Key::<Wire>::new(
        "host",
        choice!(host; "same" => HostTcp::Same, "linux" => HostTcp::Linux),
        "the host's TCP: as `[tcp]`, or Linux's",
    ),
];

/// `[pairs]`.
pub(super) const PAIRS: &[Key<Pairs>] = &[
    Key::<Pairs>::new(
        "count",
        whole!(1..=1_000, count: u32),
        "number of pairs of nodes drawn by the seed; fewer if `hops` leaves fewer. The only flow, \
         a bulk transfer, runs between each",
    ),
    Key::<Pairs>::new(
        "hops",
        Value::Whole {
            range: 1..=16,
            bound: Bound::No,
            get: |t| t.hops.map(u64::from),
            set: |t, hops| t.hops = Some(hops as u32),
        },
        "only pairs this many hops apart by AODV route discovery before the run (`aodv_metric`); \
         static routes are those found",
    )
    .default("any"),
    Key::<Pairs>::new(
        "concurrent",
        whole!(1..=100, concurrent: u32),
        "number of transfers that start at the same time",
    ),
    Key::<Pairs>::new(
        "interval_s",
        number!(0.001..=MAX_SECONDS, interval_s),
        "time from the start of one transfer (or group of `concurrent`) to that of the next, s",
    ),
    Key::<Pairs>::new(
        "failure_after_s",
        number!(0.0..=MAX_SECONDS, failure_after_s),
        "time from a transfer's start to the failure of the node in the middle of its current \
         route, s; the node returns when the next transfer starts; 0: no failure",
    ),
];

/// `[tunnel]`.
pub(super) const TUNNEL: &[Key<Tunnel>] = &[
    Key::<Tunnel>::new("node", Value::Apart, "the router in front of the second computer")
        .allowed("an existing node")
        .default("required"),
    Key::<Tunnel>::new(
        "rate_kbps",
        Value::Number {
            range: 1.0..=4_000_000.0,
            bound: Bound::No,
            get: |t| t.rate_kbps,
            set: |t, kbps| t.rate_kbps = Some(kbps),
        },
        "capacity of the serial lines between computers and nodes, at both ends and in each \
         direction, kb/s; packets queue at the computer or node before the line",
    )
    .default("no limit"),
];
