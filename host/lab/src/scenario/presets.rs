//! What nodes are set to unless a scenario says otherwise, and what TCPlp's nodes are set to.

use super::{Buffer, Mss};
use crate::control::Control;
use kinglet::mac;
use kinglet::net;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::{Config, Polling};
use kinglet_peers::{Quirks, Stack};

/// Scenarios are no secret. A mote that joins the gateway by a serial line has the same.
pub const SECURITY: mac::Security = mac::Security {
    key: mac::Key(*b"Kinglet scenario"),
    eui64_prefix: [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00],
    first_counter: 0,
};

/// The link layer of a node ([`kinglet::Config::new`]; `docs/decisions/0024` says why), secured as
/// every real network is, and as a parent fast in answering: as [`tcplp::INDIRECT`], and in bursts.
pub const MAC: mac::Config = mac::Config {
    security: Some(SECURITY),
    indirect: mac::Indirect { burst: true, ..tcplp::INDIRECT },
    ..Config::new(0xffff, [0; 8], 0, [0; 16]).mac
};

/// The network layer of a node, with the length of the queue that the stack's profile for routers
/// has ([`kinglet::Router`]).
pub const NET: net::Config = net::Config { queue_limit: 10, ..net::Config::new(Address::None) };

/// Between crystals of 20 ppm, a sample of the channel every so many milliseconds, and
/// synchronisation at the longest interval that OpenThread's CSL timeout of 100 s lets fail once.
pub const fn csl_every(period_ms: u32) -> mac::Csl {
    let period = Duration::from_millis(period_ms as u64);
    mac::Csl { period, drift_ppm: 40, sync_interval: Duration::from_secs(50) }
}

/// Transport settings: those of the stack, and the sizes that it leaves to whoever knows the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// Largest segment.
    pub mss: Mss,
    /// Send buffer.
    pub send_buffer: Buffer,
    /// Receive buffer.
    pub receive_buffer: Buffer,
    /// Whose TCP senders of streams have; `None` is Kinglet's.
    pub stack: Option<Stack>,
    /// Whose TCP receivers of streams have, if not the same.
    pub peer_stack: Option<Option<Stack>>,
    /// What is another way with peer stacks.
    pub quirks: Quirks,
    /// How senders of bulk transfers find how much may be in flight, if their TCP is Kinglet's.
    pub congestion: Control,
    /// All the rest; its own sizes are those above, in octets, once a network is built.
    pub connection: ConnectionConfig,
}

impl Default for Tcp {
    /// What a connection has by default. Segments of five frames and buffers of four segments, as
    /// in TCPlp §6.2 and §7.
    fn default() -> Self {
        Tcp {
            mss: Mss::Frames(5),
            send_buffer: Buffer::Segments(4),
            receive_buffer: Buffer::Segments(4),
            stack: None,
            peer_stack: None,
            quirks: Quirks::NONE,
            congestion: Control::NewReno,
            connection: ConnectionConfig::DEFAULT,
        }
    }
}

/// TCPlp's nodes, as far as the paper and its authors' code tell. Their polling is
/// [`Polling::TCPLP`].
pub mod tcplp {
    use super::*;

    /// The frames of TCPlp's §6 and §7, not secured. The octets reserved are the most with which
    /// five frames carry its 462 octets; `docs/decisions/0002` has the arithmetic. Retries: the
    /// most that table 8-94 allows, as TCPlp's port of OpenThread makes 10 attempts; d is its
    /// §7.1's.
    pub const MAC: mac::Config = mac::Config {
        max_frame_retries: 7,
        retry_delay_max: Duration::from_millis(40),
        adaptive_retry_delay: false,
        security: None,
        reserved_security: 7,
        indirect: INDIRECT,
        ..super::MAC
    };

    /// What TCPlp §8.4 has made of OpenThread, whose own is [`mac::Indirect::DEFAULT`]: five
    /// attempts (its authors' `platform_config.h`), with up to 20 ms between them, before the frame
    /// in progress.
    pub const INDIRECT: mac::Indirect = mac::Indirect {
        max_retries: 4,
        retry_delay_max: Duration::from_millis(20),
        preempt: true,
        ..mac::Indirect::DEFAULT
    };

    /// Timestamps; no pacing, and nothing heard from the link, where Kinglet's TCP stands in place
    /// of FreeBSD's. It inherits FreeBSD's delayed acknowledgement of 100 ms and every second
    /// segment, and the slop of 200 ms between SRTT and RTO.
    pub const CONNECTION: ConnectionConfig = ConnectionConfig {
        link_losses: false,
        pacing: false,
        timestamps: true,
        ..ConnectionConfig::DEFAULT
    };
}

/// TinyOS's nodes in Kim et al., "TCP over RPL" (2015).
pub mod tinyos {
    use super::*;
    use kinglet::radio::CsmaParams;
    use kinglet_peers::Faults;

    /// CC2420's driver and BLIP. The first backoff is up to 310 jiffies of 30.5 us (`CC2420.h`),
    /// which are 31 unit backoff periods; those after a busy channel have up to 7 there and are
    /// without limit, and here as long and five at most. BLIP repeats a frame five times after 103
    /// ms (`BLIP_L2_RETRIES`, `BLIP_L2_DELAY`); here a random time has this mean.
    pub const MAC: mac::Config = mac::Config {
        csma_params: CsmaParams { min_be: 5, max_be: 5, max_backoffs: 5 },
        max_frame_retries: 5,
        retry_delay_max: Duration::from_millis(206),
        adaptive_retry_delay: false,
        security: None,
        reserved_security: 0,
        ..super::MAC
    };

    /// BLIP mended (III-B), and the Linux that it was measured with (V-A).
    pub const QUIRKS: Quirks = Quirks { tiny_pieces: true, ..Quirks::NONE };

    /// BLIP with both of its faults.
    pub const FAULTS: Faults = Faults { counts_for_ever: true, renumbers_syn: true };

    /// Octets of BLIP's send buffer, in its example.
    pub const SEND_BUFFER: u32 = 150;
}

/// The same with another time between data requests while nothing is expected.
#[must_use]
pub const fn polling_every(polling: Polling, base: Duration) -> Polling {
    match polling {
        Polling::Fixed { expecting, .. } => Polling::Fixed { base, expecting },
        Polling::Predictive { .. } => Polling::Predictive { base },
    }
}

/// The time between data requests while nothing is expected.
pub const fn base_of(polling: Polling) -> Duration {
    match polling {
        Polling::Fixed { base, .. } | Polling::Predictive { base } => base,
    }
}
