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
use super::{Buffer, HostTcp, Mss, Pairs, Scenario, Tunnel, Wire};
use crate::backoff::EitherBackoff;
use crate::control::Control;
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
        "for people and reports",
    ),
    Key::<Scenario>::new(
        "start_hour",
        number!(0.0..=24.0, start_hour),
        "hour of the day at which it begins; interference depends on it",
    ),
    Key::<Scenario>::new(
        "duration_s",
        number!(0.001..=MAX_SECONDS, duration_s),
        "simulated time, s",
    ),
    Key::<Scenario>::new("seed", whole!(0..=i64::MAX as u64, seed: u64), "root of all randomness")
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
        "*d* begins at 0 and grows to `retry_delay_ms` only while repetitions fail",
    ),
    Key::<Scenario>::new(
        "csma",
        choice!(mac.csma; "software" => Csma::Software, "hardware" => Csma::Hardware),
        "who does the backoff: the MAC, and the radio listens meanwhile; the radio, which is deaf \
         meanwhile",
    ),
    Key::<Scenario>::new(
        "backoff",
        choice!(backoff;
            "exponential" => EitherBackoff::EXPONENTIAL, "tinyos" => EitherBackoff::TINYOS),
        "how long it is: 0 to 2^BE − 1 units of 320 µs, BE growing from `min_be` to `max_be` with \
         each busy channel; or TinyOS's, 20 to 640 symbols of 16 µs, then 20 to 140 after each of \
         up to 23 busy channels, which the MAC does whatever `csma` says",
    ),
    Key::<Scenario>::new(
        "pan",
        Value::Whole {
            range: 0..=65_534,
            bound: Bound::No,
            get: |t| Some(t.mac.pan_id.0.into()),
            set: |t, pan| t.mac.pan_id = PanId(pan as u16),
        },
        "the PAN's identifier; RIOT's is 35",
    ),
    Key::<Scenario>::new(
        "security",
        Value::Flag {
            get: |t| t.mac.security.is_some(),
            set: |t, secured| t.mac.security = secured.then_some(SECURITY),
        },
        "frames are encrypted and authenticated (AES-CCM\\*, level 5): 10 octets of each",
    ),
    Key::<Scenario>::new(
        "reserved_security_bytes",
        whole!(0..=60, mac.reserved_security: u8),
        "octets of every data frame kept free for a link security that is not used",
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
        "attempts after the first; what has failed then waits for the next data request",
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
        "such a frame goes between two attempts of the frame being sent",
    ),
    Key::<Scenario>::new(
        "burst",
        flag!(mac.indirect.burst),
        "one data request fetches all that waits, not one frame",
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
        "whose TCP those have that open connections: Kinglet's; that of uIP, BLIP or GNRC; \
         FreeBSD's, which TCPlp ports; Linux's. Of the keys below, a peer stack takes the sizes, \
         `timestamps`, `sack`, `ecn`, and `ack_every = 1`; all else is its own",
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
        "the same of those that accept them",
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
        "BLIP's retransmission timeout, which is fixed; its timer has half seconds",
    ),
    Key::<Tcp>::new(
        "blip_counts_for_ever",
        flag!(quirks.faults.counts_for_ever),
        "BLIP's first fault: what it sends is counted as if sent again, so that a connection ends \
         after six expiries of its timer",
    ),
    Key::<Tcp>::new(
        "blip_renumbers_syn",
        flag!(quirks.faults.renumbers_syn),
        "BLIP's second fault: a SYN that is sent again has another number",
    ),
    Key::<Tcp>::new(
        "linux_tiny_pieces",
        flag!(quirks.tiny_pieces),
        "Linux cuts text into pieces of eight octets against a window of one segment and long \
         round trips, as the Linux of 2013 was seen to",
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
        "the same as what fits into so many frames on any hop",
    ),
    Key::<Tcp>::new(
        "link_losses",
        flag!(connection.link_losses),
        "a segment that the own link has given up is sent again at once; the paper's TCP did not \
         hear of it",
    ),
    Key::<Tcp>::new(
        "adaptive_segments",
        flag!(connection.adaptive_mss),
        "segments span fewer frames while many get lost; `mss` is the most",
    ),
    Key::<Tcp>::new(
        "ack_delay_ms",
        millis!(0.0..=500.0, connection.delayed_ack),
        "longest delay of an acknowledgement",
    ),
    Key::<Tcp>::new(
        "ack_every",
        whole!(1..=8, connection.ack_every: u8),
        "acknowledge at the latest every n-th full segment",
    ),
    Key::<Tcp>::new(
        "ack_rate_request",
        flag!(connection.ack_rate_request),
        "offer ACK Rate Request (draft-ietf-tcpm-ack-rate-request): with windows of less than two \
         segments each is acknowledged at once",
    ),
    Key::<Tcp>::new(
        "acks",
        choice!(connection.positive_acks; "cumulative" => false, "positive" => true),
        "one acknowledges all that has come until it leaves; or each segment has one of its own, \
         at once",
    ),
    Key::<Tcp>::new("nagle", flag!(connection.nagle), "Nagle's algorithm"),
    Key::<Tcp>::new(
        "initial_rto_ms",
        millis!(10.0..=60_000.0, connection.rto_initial),
        "the retransmission timeout before a round trip has been measured",
    ),
    Key::<Tcp>::new(
        "pacing",
        flag!(connection.pacing),
        "segments of a window leave a gap apart, at most SRTT / window / 1.25, instead of in a \
         burst",
    ),
    Key::<Tcp>::new(
        "rto",
        choice!(connection.rto;
            "distance" => Rto::RoundTrips,
            "rfc6298" => Rto::AtLeast,
            "static" => Rto::Static,
            "semi-dynamic" => Rto::FirstRoundTrip),
        "what the retransmission timeout follows from: round trips, with a distance of \
         `min_rto_ms`, as Linux has it; the same, but `min_rto_ms` is the least timeout (RFC \
         6298); nothing, it is drawn once for each connection from 2 to 3 s (CoAP); or it is four \
         times the round trip of the handshake, at least `min_rto_ms`, and stays so",
    ),
    Key::<Tcp>::new(
        "min_rto_ms",
        millis!(1.0..=60_000.0, connection.rto_min),
        "least distance of the retransmission timeout from the smoothed round-trip time; or the \
         least timeout, if `rto` says so",
    ),
    Key::<Tcp>::new(
        "window_limit",
        whole!(0..=15, connection.window_limit: u8),
        "at most so many full segments are in flight, however far the congestion window has \
         grown; 0: no limit",
    ),
    Key::<Tcp>::new(
        "congestion",
        choice!(congestion;
            "new-reno" => Control::NewReno, "cubic" => Control::Cubic,
            "westwood" => Control::Westwood, "rate" => Control::Rate),
        "how the sender of a bulk transfer finds how much may be in flight: RFC 5681, RFC 9438, \
         Westwood+, or by samples of the rate, as BBR; if its TCP is Kinglet's",
    ),
    Key::<Tcp>::new(
        "window_by_distance",
        flag!(connection.window_by_distance),
        "that limit is 3 to a neighbour and 2 over several hops",
    ),
    Key::<Tcp>::new(
        "recovery",
        choice!(connection.fast_recovery; "fast" => true, "timeout" => false),
        "losses are found by what arrives; or by the retransmission timer alone, and nothing is \
         taken back (RFC 793 with slow start); what `link_losses` tells of is sent again in both",
    ),
    Key::<Tcp>::new(
        "initial_window",
        whole!(0..=10, connection.initial_window: u8),
        "segments of the first window; 0: the 2 to 4 of RFC 5681",
    ),
    Key::<Tcp>::new(
        "max_retransmits",
        whole!(1..=255, connection.max_retransmits: u8),
        "repetitions of the same data after which a connection is given up",
    ),
    Key::<Tcp>::new("timestamps", flag!(connection.timestamps), "timestamps option (RFC 7323)"),
    Key::<Tcp>::new("sack", flag!(connection.sack), "selective acknowledgements (RFC 2018)"),
    Key::<Tcp>::new(
        "ecn",
        flag!(connection.ecn),
        "ask for explicit congestion notification (RFC 3168)",
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
        "time that a packet takes once it is on the wire",
    ),
    Key::<Wire>::new(
        "rate_kbps",
        Value::Number {
            range: 1.0..=4_000_000.0,
            bound: Bound::No,
            get: |t| t.rate_kbps,
            set: |t, kbps| t.rate_kbps = Some(kbps),
        },
        "what each direction carries, in kb/s; packets wait for those before them, without limit",
    )
    .default("no limit"),
    Key::<Wire>::new("loss", number!(0.0..=1.0, loss), "probability that it is lost"),
    Key::<Wire>::new(
        "loss_to_mesh",
        Value::Number {
            range: 0.0..=1.0,
            bound: Bound::No,
            get: |t| t.loss_to_mesh,
            set: |t, loss| t.loss_to_mesh = Some(loss),
        },
        "the same on the way to the mesh, if it differs",
    )
    .default("`loss`"),
    Key::<Wire>::new(
        "duplicate",
        number!(0.0..=1.0, duplicate),
        "probability that it arrives twice",
    ),
    Key::<Wire>::new(
        "mark",
        number!(0.0..=1.0, mark),
        "probability that it is marked (CE) if its sender is ECN-capable",
    ),
    Key::<Wire>::new(
        "reorder",
        number!(0.0..=1.0, reorder),
        "probability that it is held back, so that later ones overtake it",
    ),
    Key::<Wire>::new(
        "reorder_delay_ms",
        whole!(0..=60_000, reorder_delay_ms: u32),
        "longest time that it is held back; uniformly random",
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
        "how many pairs of nodes the seed draws, at most, as those far apart are rare; the only \
         flow, a bulk transfer, goes between each",
    ),
    Key::<Pairs>::new(
        "hops",
        Value::Whole {
            range: 1..=16,
            bound: Bound::No,
            get: |t| t.hops.map(u64::from),
            set: |t, hops| t.hops = Some(hops as u32),
        },
        "only pairs with so many hops between them, as AODV finds them beforehand (`aodv_metric`); \
         static routes follow what it finds",
    )
    .default("any"),
    Key::<Pairs>::new(
        "at_once",
        whole!(1..=100, at_once: u32),
        "how many transfers begin at the same time",
    ),
    Key::<Pairs>::new(
        "every_s",
        number!(0.001..=MAX_SECONDS, every_s),
        "from the start of one transfer, or so many, to that of the next, s",
    ),
    Key::<Pairs>::new(
        "dies_s",
        number!(0.0..=MAX_SECONDS, dies_s),
        "so long after a transfer's start the node in the middle of its live way falls out until \
         the next one starts, s; 0: never",
    ),
];

/// `[tunnel]`.
pub(super) const TUNNEL: &[Key<Tunnel>] = &[
    Key::<Tunnel>::new("node", Value::Apart, "the router that the second computer stands behind")
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
        "what the serial lines between computers and nodes carry at both ends, each way, in kb/s; \
         what waits for a line waits at its computer or node",
    )
    .default("no limit"),
];
