//! Default settings of nodes, and settings of TCPlp's nodes.

use super::{Buffer, Mss};
use kinglet::mac;
use kinglet::net;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::{Config, Polling};
use kinglet_peers::{Quirks, Stack};

/// Scenarios have no secret key. A mote that joins the gateway by a serial line has the same.
pub const SECURITY: mac::Security = mac::Security {
    key: mac::Key(*b"Kinglet scenario"),
    eui64_prefix: [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00],
    first_counter: 0,
};

/// Link layer of a node ([`kinglet::Config::new`]; `docs/decisions/0024` gives the reasons):
/// secured as every real network is, and with fast responses as a parent: [`tcplp::INDIRECT`] with
/// bursts.
pub const MAC: mac::MacConfig = mac::MacConfig {
    security: Some(SECURITY),
    indirect: mac::Indirect { burst: true, ..tcplp::INDIRECT },
    ..Config::repeatable(0xffff, [0; 8], 0, [0; 16]).mac
};

/// Network layer of a node, with the queue length of the stack's profile for routers
/// ([`kinglet::Router`]).
pub const NET: net::NetConfig =
    net::NetConfig { queue_limit: 10, ..net::NetConfig::new(Address::None) };

/// CSL between crystals of 20 ppm, with a channel sample every `period_ms` milliseconds, and the
/// longest synchronisation interval that may fail once within OpenThread's CSL timeout of 100 s.
pub const fn csl_every(period_ms: u32) -> mac::Csl {
    let period = Duration::from_millis(period_ms as u64);
    mac::Csl { period, drift_ppm: 40, sync_interval: Duration::from_secs(50) }
}

/// Congestion controller of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// New Reno (RFC 5681).
    #[default]
    NewReno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// Westwood+.
    Westwood,
    /// Based on rate samples.
    Rate,
}

/// Transport settings: those of the stack, and sizes that depend on the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// Largest segment.
    pub mss: Mss,
    /// Send buffer.
    pub send_buffer: Buffer,
    /// Receive buffer.
    pub receive_buffer: Buffer,
    /// TCP of the senders of streams; `None` is Kinglet's.
    pub stack: Option<Stack>,
    /// TCP of the receivers of streams, if it differs.
    pub peer_stack: Option<Option<Stack>>,
    /// Deviations of peer stacks.
    pub quirks: Quirks,
    /// Congestion controller of the senders of bulk transfers, if their TCP is Kinglet's.
    pub congestion: Control,
    /// All other settings; its sizes are replaced by those above, in octets, in a built network.
    pub connection: ConnectionConfig,
}

impl Default for Tcp {
    /// Default settings of a connection: segments of five frames and buffers of four segments, as
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

/// TCPlp's nodes, as far as the paper and its authors' code describe them. Their polling is
/// [`Polling::TCPLP`].
pub mod tcplp {
    use super::*;

    /// The frames of TCPlp's §6 and §7, not secured. The reserved octets are the most with which
    /// five frames carry its 462 octets; `docs/decisions/0002` has the arithmetic. Retries are the
    /// most that table 8-94 allows, as TCPlp's port of OpenThread makes 10 attempts; d is that of
    /// §7.1.
    pub const MAC: mac::MacConfig = mac::MacConfig {
        max_frame_retries: 7,
        retry_delay_max: Duration::from_millis(40),
        adaptive_retry_delay: false,
        security: None,
        reserved_security: 7,
        indirect: INDIRECT,
        ..super::MAC
    };

    /// TCPlp's change of OpenThread (§8.4), whose own settings are [`mac::Indirect::DEFAULT`]: five
    /// attempts (its authors' `platform_config.h`), with up to 20 ms between them, before the frame
    /// in progress.
    pub const INDIRECT: mac::Indirect = mac::Indirect {
        max_retries: 4,
        retry_delay_max: Duration::from_millis(20),
        preempt: true,
        ..mac::Indirect::DEFAULT
    };

    /// Settings for Kinglet's TCP in place of FreeBSD's: timestamps; no pacing and no loss reports
    /// of the MAC. It inherits FreeBSD's delayed acknowledgement of 100 ms for every second
    /// segment, and the slop of 200 ms between SRTT and RTO.
    pub const CONNECTION: ConnectionConfig = ConnectionConfig {
        link_losses: false,
        pacing: false,
        timestamps: true,
        ..ConnectionConfig::DEFAULT
    };
}

/// CPU time of the motes of the papers. Each experiment of a paper takes that of its mote from
/// here.
///
/// | mote | papers | CPU time |
/// |---|---|---|
/// | Tmote Sky, TelosB | bursts, TCP over RPL, design criteria | [`TMOTE`](motes::TMOTE) |
/// | Hamilton | TCPlp | counted instructions, [`HostCost::Measured`](super::HostCost) |
pub mod motes {
    use crate::HostCost;

    /// Computation of a Tmote Sky or TelosB for each frame. With burst forwarding
    /// the gap between two frames is 3.0 ms (5.1); copying a frame takes 1.2 ms of it, and the
    /// transceiver's turnaround 0.2 ms. The other two papers have no time of their mote.
    pub const TMOTE: HostCost = HostCost::Micros(1_600);
}

/// TinyOS's nodes in Kim et al., "TCP over RPL" (2015).
pub mod tinyos {
    use super::*;
    use kinglet_peers::Faults;

    /// BLIP repeats a frame five times after 103 ms (`BLIP_L2_RETRIES`, `BLIP_L2_DELAY`); here a
    /// random time has this mean. The backoff is that of CC2420's driver (`kinglet::mac::TinyOs`).
    pub const MAC: mac::MacConfig = mac::MacConfig {
        max_frame_retries: 5,
        retry_delay_max: Duration::from_millis(206),
        adaptive_retry_delay: false,
        security: None,
        reserved_security: 0,
        ..super::MAC
    };

    /// BLIP with its faults mended (III-B), and the Linux that it was measured with (V-A).
    pub const QUIRKS: Quirks = Quirks { tiny_segments: true, ..Quirks::NONE };

    /// BLIP with both of its faults.
    pub const FAULTS: Faults = Faults { counts_all_segments: true, renumbers_syn: true };

    /// Octets of the send buffer in BLIP's example.
    pub const SEND_BUFFER: u32 = 150;
}

/// The same with another polling interval for times without an expected response.
#[must_use]
pub const fn polling_every(polling: Polling, base: Duration) -> Polling {
    match polling {
        Polling::Fixed { fast_poll, .. } => Polling::Fixed { base, fast_poll },
        Polling::Predictive { .. } => Polling::Predictive { base },
    }
}

/// Polling interval for times without an expected response.
pub const fn base_of(polling: Polling) -> Duration {
    match polling {
        Polling::Fixed { base, .. } | Polling::Predictive { base } => base,
    }
}
