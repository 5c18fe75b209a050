//! Settings of endpoints, listeners and connections. Every default is given with its source.

use kinglet_time::Duration;

/// Settings of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct TcpConfig {
    /// 128-bit key of initial sequence numbers (RFC 6528), ephemeral ports (RFC 6056) and
    /// timestamp offsets. Must differ from node to node and from boot to boot, and stay secret.
    pub secret: [u8; 16],
    /// First port for outgoing connections; the default range is IANA's dynamic ports
    /// (RFC 6335 §6).
    pub ephemeral_first: u16,
    /// Last port for outgoing connections, not before `ephemeral_first`.
    pub ephemeral_last: u16,
    /// Duration of TIME-WAIT, 2 MSL. Default 60 s, as in FreeBSD and Linux, not the 4 minutes of
    /// RFC 9293 §3.4.2: ports and records are scarcer here than on the Internet of 1981.
    pub time_wait: Duration,
    /// True if a segment that belongs to no connection is answered with RST. Default true.
    pub reset_unknown: bool,
    /// Upper bound on the MSS of every connection, in octets: the most that the layers below can
    /// carry. Default 65,535: no bound.
    pub max_mss: u16,
}

impl TcpConfig {
    /// The defaults with this secret.
    pub const fn new(secret: [u8; 16]) -> TcpConfig {
        TcpConfig {
            secret,
            ephemeral_first: 49152,
            ephemeral_last: 65535,
            time_wait: Duration::from_secs(60),
            reset_unknown: true,
            max_mss: u16::MAX,
        }
    }
}

/// Keep-alive probes (RFC 9293 §3.8.4). Times are rounded up to whole seconds, and are 17 hours at
/// most.
//= rfc9293#MUST-24 rfc9293#MUST-25 rfc9293#MUST-27
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe. RFC 9293 requires a default of at least two hours.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Number of unanswered probes after which the connection times out.
    pub probes: u8,
}

/// Rule that sets the retransmission timeout. By every rule the RTO doubles after a timeout (RFC
/// 6298 §5.5; RFC 7252 §4.2 doubles CoAP's as well), because retransmissions at a constant rate
/// make a network collapse. By every rule the RTO of a SYN is `rto_initial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rto {
    /// From all round trips: RTO = SRTT + max(`rto_min`, 4·RTTVAR).
    RoundTrips,
    /// As [`Rto::RoundTrips`], with the bounds of RFC 6298: RTO = max(`rto_min`, SRTT + max(1 ms,
    /// 4·RTTVAR)), where 1 ms is G of §2.3 and `rto_min` stands for the second of §2.4.
    AtLeast,
    /// From no measurement: drawn once, when the connection begins, uniformly between 2 and 3 s, as
    /// in CoAP (RFC 7252 §4.2, "design criteria" III-C2 i).
    Static,
    /// From the first round trip, which is that of the handshake unless its SYN was sent twice
    /// (Karn): RTO = max(`rto_min`, 4·RTT) from then on ("design criteria" III-C2 ii).
    FirstRoundTrip,
}

/// IPv6's minimum MTU without the headers of IPv6 and TCP.
const DEFAULT_MSS: u16 = 1220;

/// Settings of one connection.
//= rfc9293#MUST-21 rfc9293#SHLD-11
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// Largest segment in either direction, payload and options together, in octets: the value of
    /// the MSS option and the bound on segments sent. 0, the default, leaves the choice to the
    /// owner of the endpoint, such as a node, which knows the link; if it makes none, the size is
    /// 1220, which fits IPv6's minimum MTU of 1280 (RFC 9293 §3.7.1). The least size used is 64.
    pub mss: u16,
    /// True if the owner of the endpoint may change the segment size between 64 octets and `mss`
    /// according to the losses: see [`crate::Endpoint::segment_loss`]. Default false.
    pub adaptive_mss: bool,
    /// Octets of the send ring to use. 0, or more than the ring has, means all of them.
    pub send_buffer: usize,
    /// Octets of the receive ring to use. 0, or more than the ring has, means all of them.
    pub receive_buffer: usize,
    /// Offers or accepts timestamps (RFC 7323). Default false: PAWS, and an RTT sample per ACK even
    /// under loss, cost 12 octets a segment, and at the rates of a low-power radio no sequence
    /// number is reused within a segment's lifetime.
    pub timestamps: bool,
    /// Offers or accepts selective acknowledgments (RFC 2018). Default true.
    pub sack: bool,
    /// Requests ECN (RFC 3168) in active opens. An offer of the peer is always accepted. Default
    /// false: Linux does not request ECN but accepts it, too. ECN costs an octet of compressed
    /// header per datagram and is of use only where a router marks.
    pub ecn: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4). Default true.
    pub nagle: bool,
    /// Longest delay of an acknowledgment. After a segment without PSH, which means that the sender
    /// has more, it is three times as long, because over several hops the segments of a stream
    /// arrive further apart. Default 100 ms, as in FreeBSD and TCPlp, and so 300 ms in a stream.
    /// RFC 9293 §3.8.6.3 requires less than 500 ms, so the delay is at most 499 ms. Zero: no delay.
    /// Rounded up to whole milliseconds.
    pub delayed_ack: Duration,
    /// Number of full-sized segments for which at least one acknowledgment is sent. Default 2 (RFC
    /// 9293 §3.8.6.3); 0 counts as 1. More deviates from SHLD-18 and RFC 5681 §4.2 (which §4.2
    /// allows after careful consideration). It is for the peer of a sleepy node, which fetches each
    /// acknowledgment in a frame. A window that is nearly used up, a gap and `delayed_ack` still
    /// cause acknowledgments, so the peer never waits for more than that delay.
    pub ack_every: u8,
    /// Offers ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11) when opening; an offer of the
    /// peer is always accepted. If the peer accepts, a connection that may have less than two full
    /// segments in flight requests an acknowledgment of each, in 8 octets of one segment, and the
    /// rate that the peer requests replaces `ack_every`. Only in a plan with
    /// [`Features::ACK_RATE`](crate::Features::ACK_RATE). Default false: the option has an
    /// experimental kind, and RFC 6994 wants such options off unless requested.
    pub ack_rate_request: bool,
    /// True if each segment with text gets an acknowledgment of its own, at once and up to that
    /// segment, whatever `delayed_ack` and `ack_every` are. Otherwise one acknowledgment covers all
    /// that has arrived before it leaves. At most 16 are owed; beyond that one covers several
    /// segments. Only in a plan with [`Features::POSITIVE_ACKS`](crate::Features::POSITIVE_ACKS).
    /// Default false.
    pub positive_acks: bool,
    /// Rule that sets the RTO. Only in a plan with
    /// [`Features::RTO_RULES`](crate::Features::RTO_RULES); other plans use [`Rto::RoundTrips`],
    /// which is the default.
    pub rto: Rto,
    /// RTO before the first RTT sample. Default 1 s (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Least distance between SRTT and RTO: RTO = SRTT + max(`rto_min`, 4·RTTVAR); with
    /// [`Rto::AtLeast`] and [`Rto::FirstRoundTrip`] the least RTO. Default 200 ms: Linux bounds the
    /// variance term with TCP_RTO_MIN = 200 ms, and FreeBSD and TCPlp add a slop of 200 ms, so that
    /// a delayed acknowledgment is not mistaken for a loss. RFC 6298 §2.4 bounds RTO itself by 1 s.
    pub rto_min: Duration,
    /// True if the segments of a window leave one by one, a share of the smoothed round-trip time
    /// apart (RFC 9002 §7.7), instead of as fast as the link takes them. The gap is at most three
    /// fifths of the shortest round trip, because a path of five hops carries 5/3 segments. Over
    /// several hops of one radio channel, the segments of a burst collide with the forwarding of
    /// earlier ones; a sleepy node has its radio off in the gaps. A node that gathers frames for
    /// bursts ends each gap ([`Endpoint::follow_at_once`](crate::Endpoint::follow_at_once)).
    /// Default true.
    pub pacing: bool,
    /// For a path that loses far more to noise than to congestion, without loss reports of a link.
    /// Two segments may be in flight after a retransmission timeout, where RFC 5681 §3.1 allows
    /// one, and the next three timeouts are not doubled, where RFC 6298 §5.5 doubles each. Later
    /// ones are doubled, so a path that is down gets few retransmissions more. After a gap,
    /// received segments are acknowledged at once for longer. Default false, as in the RFCs: where
    /// losses mean congestion, connections with this setting take bandwidth from those without.
    pub lossy_path: bool,
    /// Largest RTO, in steps of 10 ms up to 655 s. Default 60 s (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Extends each timeout that is backed off by up to half, by an amount computed from the
    /// sequence numbers of the connection and the number of tries, so that two hidden nodes that
    /// have collided do not collide again each time. RFC 6298 §5.5 does not rule out more than
    /// doubling. Default false.
    pub random_backoff: bool,
    /// Number of retransmissions of the same data in a row after which the connection times out: R2
    /// of RFC 9293 §3.8.3. Default 12, as FreeBSD, TCPlp and lwIP.
    pub max_retransmits: u8,
    /// Number of retransmissions of a SYN. Default 7: with an initial RTO of 1 s that takes 183 s,
    /// and RFC 9293 §3.8.3 requires at least 3 minutes.
    pub syn_retries: u8,
    /// Number of retransmissions of a SYN-ACK. Default 3: a SYN with a forged source address causes
    /// four SYN-ACKs, within 7 s. The half-open record is kept for as long as SYNs are
    /// retransmitted: a sleepy client may send its first text minutes after an ACK that was lost.
    pub syn_ack_retries: u8,
    /// Time without an acknowledgment of outstanding data after which the connection times out (RFC
    /// 9293 §3.9.1), checked when the retransmission timer expires. `None`: only `max_retransmits`
    /// counts. Rounded up to whole seconds. Ages are known up to 35 minutes only, so a longer time
    /// counts as `None`. Default `None`.
    pub user_timeout: Option<Duration>,
    /// Keep-alive. Default off (RFC 9293 §3.8.4).
    pub keepalive: Option<KeepAlive>,
    /// Initial window in segments, 1 to 10, bounded by RFC 6928's min(10·MSS, max(2·MSS, 14600)).
    /// 0, the default, selects the 2 to 4 segments of RFC 5681 §3.1. RFC 9006 §3.3.3 advises
    /// constrained nodes to stay below 10.
    pub initial_window: u8,
    /// Upper bound on the congestion window, in full segments, 1 to 15; 0, the default, for no
    /// bound. Only in a plan with [`Features::WINDOW_LIMIT`](crate::Features::WINDOW_LIMIT).
    pub window_limit: u8,
    /// True if that bound depends on the distance of the peer, which
    /// [`crate::Endpoint::note_distance`] reports: three segments over up to two hops, and two over
    /// more hops of one channel, where a third one collides with its own acknowledgments.
    /// `window_limit` applies until a distance is reported. Only in the same plans. Default false.
    pub window_by_hops: bool,
    /// True if acknowledgments reveal losses. Otherwise only the timer detects losses, and no
    /// timeout is undone: RFC 793 with slow start. `false` requires a plan with
    /// [`Features::SLOW_RECOVERY`](crate::Features::SLOW_RECOVERY). Losses reported by the link are
    /// retransmitted in either case, unless `link_losses` is `false`. Default true.
    pub fast_recovery: bool,
    /// Retransmits a segment at once when the link reports its loss
    /// ([`crate::Endpoint::notify_lost`]). Default true; `false` is for comparisons with stacks
    /// whose TCP gets no reports from its link.
    pub link_losses: bool,
    /// Differentiated services code point, 0 to 63 (RFC 2474), of the connection's packets; default
    /// 0. The SYN-ACKs of a listener, and replies that belong to no connection, have 0.
    pub diffserv: u8,
    /// Longest time that a connection released by its application ([`crate::Endpoint::release`])
    /// stays in FIN-WAIT-2. RFC 9293 has no such timer; Linux and FreeBSD wait 60 s, and that is
    /// the default. A connection whose application has only closed its side, and may still read,
    /// waits without limit. Zero: no limit. Rounded up to whole seconds, and 17 hours at most.
    pub fin_wait_2: Duration,
    /// Active opens request a Fast Open cookie from the server, and with a cookie send the first
    /// data in the SYN (RFC 7413). Only for applications that tolerate the arrival of this data
    /// twice (§6.1). If the server refuses, or if two such SYNs in a row get no response, the
    /// client stops using Fast Open for some minutes (§4.1.3.1). Default false.
    pub fast_open: bool,
}

impl ConnectionConfig {
    /// The defaults.
    //= rfc6298#2-1 rfc6928#12-4
    //= rfc7413#2-1
    pub const DEFAULT: ConnectionConfig = ConnectionConfig {
        mss: 0,
        adaptive_mss: false,
        send_buffer: 0,
        receive_buffer: 0,
        timestamps: false,
        sack: true,
        ecn: false,
        nagle: true,
        delayed_ack: Duration::from_millis(100),
        ack_every: 2,
        ack_rate_request: false,
        positive_acks: false,
        rto: Rto::RoundTrips,
        rto_initial: Duration::from_secs(1),
        rto_min: Duration::from_millis(200),
        pacing: true,
        lossy_path: false,
        rto_max: Duration::from_secs(60),
        random_backoff: false,
        max_retransmits: 12,
        syn_retries: 7,
        syn_ack_retries: 3,
        user_timeout: None,
        keepalive: None,
        initial_window: 0,
        window_limit: 0,
        window_by_hops: false,
        fast_recovery: true,
        link_losses: true,
        diffserv: 0,
        fin_wait_2: Duration::from_secs(60),
        fast_open: false,
    };

    /// The MSS in use: at least 64, so that full options leave room for data, and no more than the
    /// layers below can carry.
    pub(crate) fn own_mss(&self, max: u16) -> u16 {
        let wanted = if self.mss == 0 { DEFAULT_MSS } else { self.mss };
        wanted.min(max).max(64)
    }
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Settings of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenConfig {
    /// Number of connections that may wait to be accepted; at least 1. Half-open connections are in
    /// a table that all listeners share, with SYN cookies when it is full.
    pub backlog: u8,
    /// Number of connections that may accept data in a SYN with a Fast Open cookie before their
    /// handshake is over (RFC 7413 §4.2, PendingFastOpenRequests). Only for services that tolerate
    /// the arrival of this data twice (§6.1). Default 0: none, and no cookies.
    pub fast_open: u8,
    /// Settings of the connections that are accepted.
    pub connection: ConnectionConfig,
}

impl Default for ListenConfig {
    fn default() -> Self {
        //= rfc7413#2-1 rfc7413#4.2-1
        ListenConfig { backlog: 4, fast_open: 0, connection: ConnectionConfig::DEFAULT }
    }
}
