//! Setup of a connection: the settings of [`ConnectionConfig`], reduced to the values used. A
//! listener keeps them for future connections, in a third of the octets of the original.

use crate::config::{ConnectionConfig, Rto};
use crate::features::Features;
use crate::recv::ack::MAX_DELAYED_ACK_MS;
use crate::rtt::{RtoBounds, in_units};

/// Settings of a connection in as few octets as they need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    pub(super) delayed_ack_ms: u16,
    pub(super) user_timeout_s: u16,
    pub(super) keep_idle_s: u16,
    pub(super) keep_interval_s: u16,
    pub(super) fin_wait_2_s: u16,
    /// The MSS to announce.
    pub(crate) own_mss: u16,
    /// The boolean settings, one bit each.
    switches: u16,
    pub(super) ack_every: u8,
    pub(super) max_retransmits: u8,
    pub(crate) syn_retries: u8,
    pub(super) keep_probes: u8,
    /// Initial window and, in the upper half, the window limit, both in segments.
    windows: u8,
    pub(super) diffserv: u8,
}

/// Limits of the segments in flight over up to [`NEAR`] hops, and over more: with more segments
/// the goodput is not higher, or even lower (`experiments/design-window`).
const NEAR_WINDOW: u8 = 3;
const FAR_WINDOW: u8 = 2;
const NEAR: u8 = 2;

/// Microseconds.
const SECOND: u32 = 1_000_000;

impl Params {
    pub(super) const NAGLE: u16 = 1;
    pub(super) const ADAPTIVE_MSS: u16 = 2;
    pub(super) const LINK_LOSSES: u16 = 4;
    pub(crate) const TIMESTAMPS: u16 = 8;
    /// Before the end of the handshake: it is offered. After it: both sides use it. The same
    /// applies to `ACK_RATE`.
    pub(crate) const SACK: u16 = 16;
    pub(super) const RANDOM_BACKOFF: u16 = 32;
    pub(super) const ECN: u16 = 64;
    pub(super) const PACING: u16 = 128;
    pub(super) const FAST_OPEN: u16 = 256;
    pub(super) const LOSSY_PATH: u16 = 512;
    pub(super) const POSITIVE_ACKS: u16 = 1024;
    pub(super) const SLOW_RECOVERY: u16 = 2048;
    /// Two bits: an [`Rto`].
    const RTO: u16 = 4096;
    const RTO_MASK: u16 = 3 * Params::RTO;
    const BY_DISTANCE: u16 = 16_384;
    pub(crate) const ACK_RATE: u16 = 32_768;

    pub(super) fn new<F: Features>(config: &ConnectionConfig, own_mss: u16) -> Params {
        let keep = config.keepalive;
        Params {
            delayed_ack_ms: in_units(config.delayed_ack, 1_000).min(MAX_DELAYED_ACK_MS),
            user_timeout_s: config.user_timeout.map_or(0, |t| in_units(t, SECOND)),
            keep_idle_s: keep.map_or(0, |k| in_units(k.idle, SECOND).max(1)),
            keep_interval_s: keep.map_or(0, |k| in_units(k.interval, SECOND)),
            fin_wait_2_s: in_units(config.fin_wait_2, SECOND),
            own_mss,
            ack_every: config.ack_every.max(1),
            max_retransmits: config.max_retransmits,
            syn_retries: config.syn_retries,
            keep_probes: keep.map_or(0, |k| k.probes),
            windows: config.initial_window.min(10) | Params::limit::<F>(config) << 4,
            diffserv: config.diffserv & 0x3F,
            switches: [
                (config.nagle, Params::NAGLE),
                (config.adaptive_mss, Params::ADAPTIVE_MSS),
                (config.link_losses, Params::LINK_LOSSES),
                (config.timestamps, Params::TIMESTAMPS),
                (config.sack, Params::SACK),
                (config.random_backoff, Params::RANDOM_BACKOFF),
                (config.ecn, Params::ECN),
                (config.pacing, Params::PACING),
                (config.fast_open, Params::FAST_OPEN),
                (config.lossy_path, Params::LOSSY_PATH),
                (F::ACK_RATE && config.ack_rate_request, Params::ACK_RATE),
            ]
            .iter()
            .fold(
                Params::policies::<F>(config),
                |all, (on, bit)| if *on { all | bit } else { all },
            ),
        }
    }

    fn limit<F: Features>(config: &ConnectionConfig) -> u8 {
        if F::WINDOW_LIMIT { config.window_limit.min(15) } else { 0 }
    }

    /// The switches of [`WithPolicies`](crate::WithPolicies).
    fn policies<F: Features>(config: &ConnectionConfig) -> u16 {
        let acks = F::POSITIVE_ACKS && config.positive_acks;
        let slow = F::SLOW_RECOVERY && !config.fast_recovery;
        let rto = match config.rto {
            _ if !F::RTO_RULES => 0,
            Rto::RoundTrips => 0,
            Rto::AtLeast => Params::RTO,
            Rto::Static => 2 * Params::RTO,
            Rto::FirstRoundTrip => 3 * Params::RTO,
        };
        let acks = if acks { Params::POSITIVE_ACKS } else { 0 };
        let near = F::WINDOW_LIMIT && config.window_by_hops;
        let near = if near { Params::BY_DISTANCE } else { 0 };
        acks | if slow { Params::SLOW_RECOVERY } else { 0 } | rto | near
    }

    /// Returns the initial window in segments; 0 for that of RFC 5681.
    pub(super) const fn initial_window(&self) -> u8 {
        self.windows & 15
    }

    /// Notes that the peer's segments take `hops` hops.
    pub(super) fn note_distance(&mut self, hops: u8) {
        if self.has(Params::BY_DISTANCE) {
            let limit = if hops > NEAR { FAR_WINDOW } else { NEAR_WINDOW };
            self.windows = self.initial_window() | limit << 4;
        }
    }

    /// Returns the limit of the window in segments, if there is one.
    pub(super) fn window_limit<F: Features>(&self) -> Option<u8> {
        Some(self.windows >> 4).filter(|&limit| F::WINDOW_LIMIT && limit > 0)
    }

    /// Returns the rule that sets the RTO.
    pub(super) fn rto<F: Features>(&self) -> Rto {
        match self.switches & Params::RTO_MASK {
            _ if !F::RTO_RULES => Rto::RoundTrips,
            0 => Rto::RoundTrips,
            Params::RTO => Rto::AtLeast,
            Params::RTO_MASK => Rto::FirstRoundTrip,
            _ => Rto::Static,
        }
    }

    pub(super) fn put(&mut self, switch: u16, to: bool) {
        self.switches = self.switches & !switch | if to { switch } else { 0 };
    }

    pub(crate) const fn has(&self, switch: u16) -> bool {
        self.switches & switch != 0
    }
}

/// Setup of a connection; a listener keeps it for future connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) params: Params,
    pub(crate) rto: RtoBounds,
    /// Octets of the rings to use.
    pub(crate) send: usize,
    pub(crate) receive: usize,
}

impl Setup {
    pub(crate) fn new<F: Features>(
        config: &ConnectionConfig,
        own_mss: u16,
        send: usize,
        receive: usize,
    ) -> Setup {
        let (params, rto) = (Params::new::<F>(config, own_mss), Setup::rto_bounds(config));
        Setup { params, rto, send, receive }
    }

    pub(super) fn rto_bounds(config: &ConnectionConfig) -> RtoBounds {
        RtoBounds::new(config.rto_initial, config.rto_min, config.rto_max)
    }
}
