//! Which stack a peer runs, and with which sizes.

use kinglet_time::Duration;

/// A TCP that others have published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stack {
    /// uIP of Contiki 2.6 (`core/net/uip6.c`).
    Uip,
    /// BLIP of TinyOS (`libtcp/tcplib.c`).
    Blip,
    /// GNRC of RIOT (`gnrc_tcp`).
    Gnrc,
    /// FreeBSD 10.3, which TCPlp ports (TCPlp §4.1 and Appendix B).
    FreeBsd,
    /// Linux, as far as it matters behind a border router.
    Linux,
}

/// The two faults of BLIP's TCP (Kim et al., "TCP over RPL", III-B), which were never mended in
/// TinyOS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// What is sent is counted with every expiry of the timer, the first transmission included, and
    /// no acknowledgement takes the count back: the connection ends when it exceeds six.
    pub counts_for_ever: bool,
    /// A SYN that is sent again has another sequence number than the first.
    pub renumbers_syn: bool,
}

/// What can be another way with a stack, and is the same on all of a network's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// BLIP's faults.
    pub faults: Faults,
    /// BLIP's retransmission timeout, which never adapts: whole half seconds, as its timer has.
    pub blip_rto: Duration,
    /// Linux cuts text into pieces of eight octets when the peer's window is a segment at most and
    /// the round trip is long, as Kim et al. (V-A) saw the Linux of 2013 do. It takes more of the
    /// air and gains nothing.
    pub tiny_pieces: bool,
}

impl Quirks {
    /// BLIP mended, with its 3 s (`tcplib.c`, `retx`), and the Linux of today.
    pub const NONE: Quirks = Quirks {
        faults: Faults { counts_for_ever: false, renumbers_syn: false },
        blip_rto: Duration::from_secs(3),
        tiny_pieces: false,
    };
}

/// What one end of a connection is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whose TCP it is.
    pub stack: Stack,
    /// The largest segment in octets, as the MSS option has it: options are counted with the
    /// payload (RFC 6691).
    pub mss: u16,
    /// Octets that the application can write ahead.
    pub send_buffer: u32,
    /// Octets of the receive buffer, at most 65,535: none of them scales its window here.
    pub receive_buffer: u32,
    /// Timestamps are asked for and answered (RFC 7323); FreeBSD and Linux only.
    pub timestamps: bool,
    /// Selective acknowledgments are asked for and used (RFC 2018); FreeBSD and Linux only.
    pub sack: bool,
    /// Congestion notification is asked for and answered (RFC 3168); FreeBSD and Linux only.
    pub ecn: bool,
    /// Acknowledgements are not delayed, whatever the stack does.
    pub never_delays: bool,
    /// What can be another way with it.
    pub quirks: Quirks,
    /// Where in each half second the periodic timer of uIP and BLIP lies.
    pub phase: Duration,
}

impl Settings {
    /// What a stack has as it was published.
    ///
    /// * uIP on a Sky: MSS and window of 48 octets (Contiki 2.6, `platform/sky/contiki-conf.h`).
    /// * BLIP: MSS and window of 200 octets, a send buffer of 150 in its example.
    /// * GNRC: MSS and window of 1220 octets (`GNRC_TCP_MSS`).
    /// * FreeBSD: TCPlp's 462 octets with timestamps, and buffers of four segments (TCPlp §6).
    /// * Linux: an MSS of 1220, which IPv6's smallest MTU leaves, and buffers that bound nothing.
    pub const fn published(stack: Stack) -> Settings {
        let (mss, send_buffer, receive_buffer) = match stack {
            Stack::Uip => (48, 48, 48),
            Stack::Blip => (200, 150, 200),
            Stack::Gnrc => (1220, 1220, 1220),
            Stack::FreeBsd => (474, 4 * 462, 4 * 462),
            Stack::Linux => (1220, 65_535, 65_535),
        };
        Settings::new(stack, mss, send_buffer, receive_buffer)
    }

    /// The same with other sizes. A stack with one segment in flight has room for that segment
    /// only: its application makes again what has to be sent again.
    pub const fn new(stack: Stack, mss: u16, send_buffer: u32, receive_buffer: u32) -> Settings {
        let full = matches!(stack, Stack::FreeBsd | Stack::Linux);
        let send_buffer = match stack {
            Stack::Uip | Stack::Gnrc => mss as u32,
            _ => send_buffer,
        };
        Settings {
            stack,
            mss,
            send_buffer,
            receive_buffer: if receive_buffer > 65_535 { 65_535 } else { receive_buffer },
            timestamps: full,
            sack: full,
            ecn: false,
            never_delays: false,
            quirks: Quirks::NONE,
            phase: Duration::ZERO,
        }
    }
}

/// How a stack acknowledges and what it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receiving {
    /// The longest delay of an acknowledgement, if it delays any; every second full segment is
    /// acknowledged at once.
    pub(crate) delay: Option<Duration>,
    /// At the beginning and after a pause it delays none, up to so many in a row.
    pub(crate) quick: u32,
    /// What comes out of order is kept.
    pub(crate) reassembles: bool,
    /// What arrives twice is told of (RFC 2883), with selective acknowledgements.
    pub(crate) tells_duplicates: bool,
    /// A reset with another sequence number than RCV.NXT is challenged (RFC 5961).
    pub(crate) challenges: bool,
    /// It gives up a SYN that finds no way.
    pub(crate) despairs: bool,
    /// Small windows are not advertised (RFC 9293 §3.8.6.2.2).
    pub(crate) avoids_silly_windows: bool,
    /// How long it remembers a connection that both have closed.
    pub(crate) time_wait: Duration,
}

impl Stack {
    pub(crate) const fn receiving(self) -> Receiving {
        let simple = Receiving {
            delay: None,
            quick: 0,
            reassembles: false,
            tells_duplicates: false,
            challenges: false,
            despairs: false,
            avoids_silly_windows: false,
            time_wait: Duration::from_secs(60),
        };
        match self {
            // 120 ticks of half a second.
            Stack::Uip => simple,
            // One tick.
            Stack::Blip => Receiving { time_wait: Duration::from_millis(500), ..simple },
            // CONFIG_GNRC_TCP_MSL_MS is 30 s.
            Stack::Gnrc => Receiving { challenges: true, ..simple },
            // tcp_delacktime; TCPTV_MSL is 30 s.
            Stack::FreeBsd => Receiving {
                delay: Some(Duration::from_millis(100)),
                reassembles: true,
                challenges: true,
                avoids_silly_windows: true,
                ..simple
            },
            // TCP_DELACK_MIN, TCP_MAX_QUICKACKS and TCP_TIMEWAIT_LEN of `include/net/tcp.h`;
            // sysctl_tcp_dsack is 1; `tcp_v6_err` ends a connection in SYN-SENT.
            Stack::Linux => Receiving {
                delay: Some(Duration::from_millis(40)),
                quick: 16,
                reassembles: true,
                tells_duplicates: true,
                challenges: true,
                despairs: true,
                avoids_silly_windows: true,
                ..simple
            },
        }
    }

    /// What it is called in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Stack::Uip => "uip",
            Stack::Blip => "blip",
            Stack::Gnrc => "gnrc",
            Stack::FreeBsd => "freebsd",
            Stack::Linux => "linux",
        }
    }
}
