//! What an application or a node can set. Every default has its source.

use kinglet_time::Duration;

/// Settings of an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// 128-bit key of initial sequence numbers (RFC 6528), ephemeral ports (RFC 6056) and
    /// timestamp offsets. Must differ from node to node and from boot to boot, and stay secret.
    pub secret: [u8; 16],
    /// First port for outgoing connections; the default range is IANA's dynamic ports
    /// (RFC 6335 §6).
    pub ephemeral_first: u16,
    /// Last port for outgoing connections, not before `ephemeral_first`.
    pub ephemeral_last: u16,
    /// How long TIME-WAIT lasts: 2 MSL. Default 60 s, as FreeBSD and Linux have it, not the 4
    /// minutes of RFC 9293 §3.4.2: port and record are scarcer here than on the Internet of 1981.
    pub time_wait: Duration,
    /// Whether a segment for which there is no connection is answered with RST. Default true.
    pub reset_unknown: bool,
    /// Bound on the MSS of every connection, in octets: what the layers below can carry. Default
    /// 65,535, which is none.
    pub max_mss: u16,
}

impl Config {
    /// The defaults with this secret.
    pub const fn new(secret: [u8; 16]) -> Config {
        Config {
            secret,
            ephemeral_first: 49152,
            ephemeral_last: 65535,
            time_wait: Duration::from_secs(60),
            reset_unknown: true,
            max_mss: u16::MAX,
        }
    }
}

/// Keep-alive probes (RFC 9293 §3.8.4). Times count in whole seconds, rounded up, and are 17 hours
/// at most.
//= rfc9293#MUST-24 rfc9293#MUST-25 rfc9293#MUST-27
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe. RFC 9293 wants at least two hours as a default.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Unanswered probes after which the connection has timed out.
    pub probes: u8,
}

/// What a retransmission timeout follows from. After one it doubles whatever it follows from
/// (RFC 6298 §5.5; RFC 7252 §4.2 doubles CoAP's as well): repetitions that come no less often are
/// what makes a network collapse. And whatever it follows from, a SYN waits for `rto_initial`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rto {
    /// The round trips: RTO = SRTT + max(`rto_min`, 4·RTTVAR).
    RoundTrips,
    /// The same with RFC 6298's bounds: RTO = max(`rto_min`, SRTT + max(1 ms, 4·RTTVAR)), where 1
    /// ms is G of §2.3 and `rto_min` the second of §2.4.
    AtLeast,
    /// Nothing: drawn once, when the connection begins, uniformly between 2 and 3 s, as CoAP does
    /// (RFC 7252 §4.2, "design criteria" III-C2 i).
    Static,
    /// The first round trip, which is that of the handshake unless its SYN was sent twice (Karn):
    /// RTO = max(`rto_min`, 4·RTT) ever after ("design criteria" III-C2 ii).
    FirstRoundTrip,
}

/// IPv6's minimum MTU without the headers of IPv6 and TCP.
const DEFAULT_MSS: u16 = 1220;

/// Settings of one connection.
//= rfc9293#MUST-21 rfc9293#SHLD-11
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// Largest segment in either direction, payload and options together, in octets: what is
    /// announced in the MSS option and the bound on what is sent. 0, the default, leaves it to
    /// whoever knows the link, as a node does; without one it is 1220, which fits IPv6's minimum
    /// MTU of 1280 (RFC 9293 §3.7.1). At least 64 is used.
    pub mss: u16,
    /// Whether the owner of the endpoint may change the segment size between 64 octets and `mss`
    /// by what is lost: see [`crate::Endpoint::segment_loss`]. Default false.
    pub adaptive_mss: bool,
    /// Octets of the send ring to use; 0 or more than there are: all.
    pub send_buffer: usize,
    /// Octets of the receive ring to use; 0 or more than there are: all.
    pub receive_buffer: usize,
    /// Offer or accept timestamps (RFC 7323). Default false: PAWS, and an RTT sample per ACK even
    /// under loss, cost 12 octets a segment, and at the rates of a low-power radio no sequence
    /// number comes again within a segment's lifetime.
    pub timestamps: bool,
    /// Offer or accept selective acknowledgments (RFC 2018). Default true.
    pub sack: bool,
    /// Ask for ECN (RFC 3168) when opening. An offer of the peer is always accepted. Default false:
    /// off when asking and on when asked is what Linux does; it costs an octet of compressed header
    /// per datagram and tells something only where a router marks.
    pub ecn: bool,
    /// Nagle's algorithm (RFC 9293 §3.7.4). Default true.
    pub nagle: bool,
    /// Longest delay of an acknowledgment; after a segment without PSH, behind which more waits at
    /// the sender, the double, as over several hops the segments of a stream come further apart.
    /// Default 100 ms, FreeBSD's and TCPlp's, and so 200 ms in a stream. RFC 9293 §3.8.6.3 wants
    /// less than 500 ms, so more than 499 ms count as that. Zero: never delayed. Whole
    /// milliseconds count, rounded up.
    pub delayed_ack: Duration,
    /// An acknowledgment is sent at least for every so many full-sized segments. Default 2
    /// (RFC 9293 §3.8.6.3); 0 counts as 1. More deviates from SHLD-18 and RFC 5681 §4.2 (which
    /// §4.2 allows after careful consideration): for the peer of a node that sleeps, to which each
    /// acknowledgment is a frame to be fetched. A window that is nearly used up, a gap and
    /// `delayed_ack` still have theirs sent, so the peer never waits for more than that delay.
    pub ack_every: u8,
    /// Offers ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11) when opening; an offer of the
    /// peer is always accepted. Where the peer accepts, a connection that may have less than two
    /// full segments in flight requests an acknowledgment of each, in 8 octets of one segment; and
    /// the rate that the peer requests replaces `ack_every`. In a plan with
    /// [`Features::ACK_RATE`](crate::Features::ACK_RATE). Default false: the option has the kind of
    /// experiments, which RFC 6994 wants off unless asked for.
    pub ack_rate_request: bool,
    /// Whether each segment with text is acknowledged by an acknowledgment of its own, at once and
    /// up to that segment, whatever `delayed_ack` and `ack_every` say. Otherwise one acknowledges
    /// all that has come until it leaves. At most 16 are owed; after that the next ones say more.
    /// In a plan with [`Features::POSITIVE_ACKS`](crate::Features::POSITIVE_ACKS). Default false.
    pub positive_acks: bool,
    /// What RTO follows from; in a plan with
    /// [`Features::RTO_RULES`](crate::Features::RTO_RULES), otherwise
    /// [`Rto::RoundTrips`], which is the default.
    pub rto: Rto,
    /// RTO before the first RTT sample. Default 1 s (RFC 6298 §2.1).
    pub rto_initial: Duration,
    /// Least distance between SRTT and RTO: RTO = SRTT + max(`rto_min`, 4·RTTVAR); or the least
    /// RTO, if `rto` says so. Default 200 ms:
    /// Linux bounds the variance term with TCP_RTO_MIN = 200 ms, and FreeBSD and TCPlp add a slop
    /// of 200 ms, because a delayed acknowledgment must not look like a loss. RFC 6298 §2.4 would
    /// bound RTO itself by 1 s.
    pub rto_min: Duration,
    /// Whether the segments of a window leave one by one, a share of the smoothed round-trip time
    /// apart (RFC 9002 §7.7), instead of as fast as the link takes them; less where that would be
    /// longer than five in three of the shortest round trips, as many as a path of five hops
    /// carries. Over several hops of one radio channel a burst meets its own forwarding; a node
    /// that sleeps has its radio off in the gaps. Default true.
    pub pacing: bool,
    /// For a path on which far more is lost by noise than by congestion, and no link tells of it:
    /// two segments may be in flight after a retransmission timeout, where RFC 5681 §3.1 has one,
    /// and the next three timeouts are not doubled, where RFC 6298 §5.5 doubles each. Later ones
    /// are, so a path that is down is not asked much more often. What is received is acknowledged
    /// at once for longer after a gap. Default false, as the RFCs have it: where losses are
    /// congestion, connections with this setting take from those without.
    pub lossy_path: bool,
    /// Largest RTO, in steps of 10 ms up to 655 s. Default 60 s (RFC 6298 §2.5).
    pub rto_max: Duration,
    /// Whether a timeout that is backed off lasts up to half as long again, by an amount that the
    /// initial sequence number and the try decide, so that two nodes that do not hear each other
    /// and have collided once do not again each time. RFC 6298 §5.5 leaves more than the double
    /// open. Default false.
    pub random_backoff: bool,
    /// Retransmissions of the same data in a row after which the connection has timed out: R2 of
    /// RFC 9293 §3.8.3. Default 12, as FreeBSD, TCPlp and lwIP.
    pub max_retransmits: u8,
    /// Retransmissions of a SYN. Default 7: with an initial RTO of 1 s that is 183 s, and RFC 9293
    /// §3.8.3 wants at least 3 minutes.
    pub syn_retries: u8,
    /// Retransmissions of a SYN-ACK. Default 3, so that a SYN from a forged address has four of
    /// them sent there, within 7 s. The half-open record is kept for as long as SYNs are repeated:
    /// a client that sleeps may send its first text minutes after an ACK that was lost.
    pub syn_ack_retries: u8,
    /// Time without an acknowledgment of outstanding data after which the connection has timed out
    /// (RFC 9293 §3.9.1), measured when the retransmission timer expires; `None`: only
    /// `max_retransmits` counts. Whole seconds count, rounded up. A connection tells ages apart up
    /// to 35 minutes, so a longer time counts as `None`. Default `None`.
    pub user_timeout: Option<Duration>,
    /// Keep-alive. Default off (RFC 9293 §3.8.4).
    pub keepalive: Option<KeepAlive>,
    /// Initial window in segments, 1 to 10, bounded by RFC 6928's min(10·MSS, max(2·MSS, 14600)).
    /// 0, the default: the 2 to 4 segments of RFC 5681 §3.1. RFC 9006 §3.3.3 advises constrained
    /// nodes to stay under 10.
    pub initial_window: u8,
    /// The most that may be in flight, in full segments, 1 to 15, whatever the congestion window
    /// has grown to; 0, the default, for no limit. In a plan with
    /// [`Features::WINDOW_LIMIT`](crate::Features::WINDOW_LIMIT).
    pub window_limit: u8,
    /// Whether that limit follows from the distance of the peer, which
    /// [`crate::Endpoint::note_distance`] reports: three segments to a neighbour, and two over
    /// several hops of one channel, where a third one meets its own acknowledgments. `window_limit`
    /// applies until something has come from the peer. In the same plans. Default false.
    pub window_by_distance: bool,
    /// Whether losses are found by what arrives; otherwise by the timer alone, and nothing is taken
    /// back: RFC 793 with slow start. To be `false` it takes a plan with
    /// [`Features::SLOW_RECOVERY`](crate::Features::SLOW_RECOVERY). What the link tells of is sent
    /// again all the same, unless `link_losses` says otherwise. Default true.
    pub fast_recovery: bool,
    /// Whether a segment is sent again at once when the link has given it up:
    /// [`crate::Endpoint::notify_lost`]. Default true; false is for comparing with stacks whose TCP
    /// learns nothing from its link.
    pub link_losses: bool,
    /// Differentiated services code point, 0 to 63 (RFC 2474), of the connection's packets; default
    /// 0. A listener's SYN-ACKs, and answers that belong to no connection, have 0.
    pub diffserv: u8,
    /// How long a connection that its application has released ([`crate::Endpoint::release`])
    /// stays in FIN-WAIT-2 before it is given up. RFC 9293 has no such timer; Linux and FreeBSD
    /// wait 60 s, and that is the default. One that has only closed its side, and may still read,
    /// waits for as long as it likes. Zero: for ever. Whole seconds count, rounded up, and 17 hours
    /// at most.
    pub fin_wait_2: Duration,
    /// Active opens ask the server for a Fast Open cookie, and with one send the first data in the
    /// SYN (RFC 7413). Only for applications to which it does not matter if that data arrives
    /// twice (§6.1). A server that refuses, or two such SYNs in a row without an answer, and the
    /// client does without for some minutes (§4.1.3.1). Default false.
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
        window_by_distance: false,
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
    /// Connections that may wait to be accepted; at least 1. Half-open ones have a table for all
    /// listeners, and SYN cookies when it is full.
    pub backlog: u8,
    /// Connections that may take data in a SYN with a Fast Open cookie before their handshake is
    /// over (RFC 7413 §4.2, PendingFastOpenRequests). Only for services to which it does not matter
    /// if that data arrives twice (§6.1). Default 0: none, and no cookies.
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
