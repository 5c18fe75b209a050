//! Stack and sizes of a peer.

use kinglet_time::Duration;

/// A published TCP of another project.
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

/// The two faults of BLIP's TCP (Kim et al., "TCP over RPL", III-B), which were never fixed in
/// TinyOS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Every expiry of the timer with data to send is counted, also that of the first transmission,
    /// and no acknowledgement resets the count: the connection ends when it exceeds six.
    pub counts_all_segments: bool,
    /// A retransmitted SYN has another sequence number than the first.
    pub renumbers_syn: bool,
}

/// Deviations of a stack, the same on all nodes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// BLIP's faults.
    pub faults: Faults,
    /// BLIP's retransmission timeout, which never adapts: a multiple of half a second, the period
    /// of its timer.
    pub blip_rto: Duration,
    /// Linux splits data into segments of eight octets when the peer's window is at most a segment
    /// and the round-trip time is long, as Kim et al. (V-A) observed with the Linux of 2013. It
    /// takes more air time without a benefit.
    pub tiny_segments: bool,
}

impl Quirks {
    /// BLIP with its faults fixed and its 3 s (`tcplib.c`, `retx`), and present-day Linux.
    pub const NONE: Quirks = Quirks {
        faults: Faults { counts_all_segments: false, renumbers_syn: false },
        blip_rto: Duration::from_secs(3),
        tiny_segments: false,
    };
}

/// Settings of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The stack.
    pub stack: Stack,
    /// The largest segment in octets, as in the MSS option: options count with the payload (RFC
    /// 6691).
    pub mss: u16,
    /// Octets that the application can write ahead.
    pub send_buffer: u32,
    /// Octets of the receive buffer, at most 65,535: no stack scales its window here.
    pub receive_buffer: u32,
    /// Timestamps are offered and accepted (RFC 7323); FreeBSD and Linux only.
    pub timestamps: bool,
    /// Selective acknowledgments are offered and used (RFC 2018); FreeBSD and Linux only.
    pub sack: bool,
    /// ECN is offered and accepted (RFC 3168); FreeBSD and Linux only.
    pub ecn: bool,
    /// Acknowledgements are never delayed, independent of the stack.
    pub never_delays: bool,
    /// Deviations of the stack.
    pub quirks: Quirks,
    /// Phase of the periodic timer of uIP and BLIP within each half second.
    pub phase: Duration,
}

impl Settings {
    /// Settings of a stack as it was published.
    ///
    /// * uIP on a Sky: MSS and window of 48 octets (Contiki 2.6, `platform/sky/contiki-conf.h`).
    /// * BLIP: MSS and window of 200 octets, a send buffer of 150 in its example.
    /// * GNRC: MSS and window of 1220 octets (`GNRC_TCP_MSS`).
    /// * FreeBSD: TCPlp's 462 octets with timestamps, and buffers of four segments (TCPlp §6).
    /// * Linux: an MSS of 1220, which IPv6's minimum MTU allows, and buffers that set no limit.
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

    /// Settings with other sizes. A stack with one segment in flight has room for that segment
    /// only: its application regenerates the data of a retransmission.
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

/// Acknowledgements and receive buffer of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receiving {
    /// Longest delay of an acknowledgement, if it delays any; every second full segment is
    /// acknowledged at once.
    pub(crate) delay: Option<Duration>,
    /// Largest number of consecutive immediate acknowledgements at the beginning and after a pause.
    pub(crate) quick: u32,
    /// True if data out of order are kept.
    pub(crate) reassembles: bool,
    /// True if duplicates are reported (RFC 2883), with selective acknowledgements.
    pub(crate) reports_duplicates: bool,
    /// True if a reset with a sequence number other than RCV.NXT is challenged (RFC 5961).
    pub(crate) challenges: bool,
    /// True if an unreachable error ends a connection in SYN-SENT.
    pub(crate) despairs: bool,
    /// True if small windows are not advertised (RFC 9293 §3.8.6.2.2).
    pub(crate) avoids_silly_windows: bool,
    /// Time for which it remembers a connection that both ends have closed.
    pub(crate) time_wait: Duration,
}

impl Stack {
    pub(crate) const fn receiving(self) -> Receiving {
        let simple = Receiving {
            delay: None,
            quick: 0,
            reassembles: false,
            reports_duplicates: false,
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
                reports_duplicates: true,
                challenges: true,
                despairs: true,
                avoids_silly_windows: true,
                ..simple
            },
        }
    }

    /// Name in scenarios.
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
