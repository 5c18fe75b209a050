//! Configuration of a MAC.

use crate::csl::Csl;
use crate::delivery_method::Indirect;
use crate::security::Security;
use kinglet_radio::{Channel, CsmaParams};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::{Address, PanId, Repr};

/// The largest number of retries that any device of the PAN may have
/// ([`MacConfig::max_frame_retries`], [`Indirect::max_retries`]).
pub(crate) const MAX_RETRIES: u8 = 15;

/// Executor of CSMA-CA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Csma {
    /// The MAC: it times the backoffs while the radio continues to listen, and requests single
    /// clear channel assessments of the radio.
    Software,
    /// The radio, which may be deaf during its backoffs (TCPlp §4.2). Without
    /// [`Capabilities::CSMA`](kinglet_radio::Capabilities::CSMA), and with a backoff that radios do
    /// not implement ([`Backoff::is_by_radios`](crate::Backoff::is_by_radios)), this means
    /// `Software`.
    Hardware,
}

/// The configuration of a [`Mac`](crate::Mac); `K` is the [`LinkSecurity::Key`] of its plan.
///
/// [`LinkSecurity::Key`]: crate::LinkSecurity::Key
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacConfig<K = Option<Security>> {
    /// Own PAN.
    pub pan_id: PanId,
    /// Own short address (macShortAddress); 0xFFFE and 0xFFFF mean none, and frames then have the
    /// extended address as their source.
    pub short: u16,
    /// Own extended address, most significant octet first.
    pub extended: [u8; 8],
    /// Channel for listening and sending; for devices that hop channels ([`Wake::channels`]), the
    /// first one.
    ///
    /// [`Wake::channels`]: crate::Wake::channels
    pub channel: Channel,
    /// Output power in dBm.
    pub power_dbm: i8,
    /// Executor of CSMA-CA.
    pub csma: Csma,
    /// CSMA-CA parameters, for an exponential backoff ([`Sizes::Backoff`](crate::Sizes::Backoff)).
    pub csma_params: CsmaParams,
    /// macMaxFrameRetries, 0 to 15: number of attempts after the first, if the acknowledgement was
    /// missing *or channel access failed*. The standard discards a frame after one channel access
    /// failure; OpenThread, and so the paper's system, does not, and on a channel that is busy with
    /// frames of 4 ms that difference is one segment in ten. Frames that do not request an
    /// acknowledgement have one attempt. The standard's default is 3 and its limit 7 (Table 8-94);
    /// OpenThread has 15, and TCPlp's code 9 (`platform_config.h`). Relays of several flows should
    /// have 15: many of their failures are channel access failures, and the frames that they would
    /// discard have come furthest (`docs/decisions/0019-adaptive-retry-delay.md`).
    pub max_frame_retries: u8,
    /// The d of TCPlp §7.1: before each retry the MAC waits a uniformly random time from 0 to this,
    /// in addition to CSMA backoff. The standard has no such delay, hence the default is zero.
    pub retry_delay_max: Duration,
    /// True if d begins at zero and grows to `retry_delay_max` only while retransmissions on strong
    /// links fail, as they do between hidden terminals; it shrinks when they succeed. Independent
    /// of that, a frame that is about to be discarded waits longer: up to four times
    /// `retry_delay_max` before its last retry, half of that before the last but one. Frames of
    /// [`Class::Indirect`](crate::Class::Indirect) keep their own delay.
    pub adaptive_retry_delay: bool,
    /// Security of frames; `None` if they are unsecured, and `()` in a plan without security
    /// ([`MacConfig::unsecured`]). A device with a key accepts no unsecured frames except
    /// acknowledgements, and one without accepts no secured frames.
    pub security: K,
    /// Octets of each frame reserved for a link security that is not used: 0, or 7 to 100. They are
    /// on the air, as [`Repr::filling`], so that air time and payload sizes are those of secured
    /// frames.
    pub reserved_security: u8,
    /// Time within which a frame from the same source with the same sequence number counts as a
    /// repetition; with a key, one with the same frame counter, up to 15 times. Must be longer than
    /// the retries of a peer and shorter than its restart.
    pub duplicate_lifetime: Duration,
    /// macRxOnWhenIdle: true if the radio listens while nothing is sent. If false, it is off, also
    /// in CSMA backoffs, except while it awaits the response to
    /// [`Mac::request_data`](crate::Mac::request_data).
    pub rx_on_when_idle: bool,
    /// Time that a device waits for a frame after the acknowledgement of its data request had the
    /// frame-pending bit set. OpenThread waits 100 ms (`mac.hpp`); TCPlp §8.4 shortens it.
    pub data_request_timeout: Duration,
    /// Parameters of indirect transmission.
    pub indirect: Indirect,
    /// Coordinated sampled listening by this device for its parent
    /// ([`Mac::set_parent`](crate::Mac::set_parent)), if any; with `rx_on_when_idle` off.
    /// Impossible values are replaced by the nearest possible ones.
    pub csl: Option<Csl>,
}

/// Reason for which a configuration is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// `reserved_security` is neither 0 nor in 7..=100.
    ReservedSecurity,
    /// `csma_params` or `indirect.min_be` are outside of the ranges of Table 8-94.
    CsmaParams,
    /// `max_frame_retries` or that of indirect frames is above 15.
    MaxFrameRetries,
}

const DEFAULT_CHANNEL: Channel = Channel::new(26).unwrap();

impl MacConfig {
    /// The standard's defaults, PAN 0xABCD, no short address, channel 26, 0 dBm.
    pub const DEFAULT: MacConfig = MacConfig {
        pan_id: PanId(0xabcd),
        short: 0xffff,
        extended: [0; 8],
        channel: DEFAULT_CHANNEL,
        power_dbm: 0,
        csma: Csma::Software,
        csma_params: CsmaParams { min_be: 3, max_be: 5, max_backoffs: 4 },
        max_frame_retries: 3,
        retry_delay_max: Duration::ZERO,
        adaptive_retry_delay: false,
        security: None,
        reserved_security: 0,
        // Sixteen transmissions, the maximum, each with the longest CSMA-CA (7 + 15 + 3 * 31
        // backoffs of 320 us = 36.8 ms), a frame and its wait (5.1 ms) and a retry delay of 80 ms
        // take 1.95 s; with one that adapts up to 60 ms, and waits 120 and 240 ms before the last
        // two, 1.81 s.
        duplicate_lifetime: Duration::from_secs(2),
        rx_on_when_idle: true,
        data_request_timeout: Duration::from_millis(100),
        indirect: Indirect::DEFAULT,
        csl: None,
    };
}

impl<K: Copy> MacConfig<K> {
    /// Returns the same configuration without a key, for a plan whose security is `()`.
    pub const fn unsecured(self) -> MacConfig<()> {
        MacConfig {
            pan_id: self.pan_id,
            short: self.short,
            extended: self.extended,
            channel: self.channel,
            power_dbm: self.power_dbm,
            csma: self.csma,
            csma_params: self.csma_params,
            max_frame_retries: self.max_frame_retries,
            retry_delay_max: self.retry_delay_max,
            adaptive_retry_delay: self.adaptive_retry_delay,
            security: (),
            reserved_security: self.reserved_security,
            duplicate_lifetime: self.duplicate_lifetime,
            rx_on_when_idle: self.rx_on_when_idle,
            data_request_timeout: self.data_request_timeout,
            indirect: self.indirect,
            csl: self.csl,
        }
    }

    /// Checks that [`Mac::new`](crate::Mac::new) will use this configuration unchanged.
    ///
    /// # Errors
    /// The first field that is out of range; `Mac::new` would use the nearest possible value.
    pub const fn check(&self) -> Result<(), ConfigError> {
        let reserved = self.reserved_security;
        if reserved != 0 && (reserved < Repr::MIN_FILLING || reserved > Repr::MAX_FILLING) {
            return Err(ConfigError::ReservedSecurity);
        }
        let CsmaParams { min_be, max_be, max_backoffs } = self.csma_params;
        if max_be < 3
            || max_be > 8
            || min_be > max_be
            || max_backoffs > 5
            || self.indirect.min_be > max_be
        {
            return Err(ConfigError::CsmaParams);
        }
        if self.max_frame_retries > MAX_RETRIES || self.indirect.max_retries > MAX_RETRIES {
            return Err(ConfigError::MaxFrameRetries);
        }
        Ok(())
    }

    /// Returns the nearest possible configuration; it reserves more octets rather than fewer. `csl`
    /// stays unchanged here, because not every type of receiver control uses it.
    pub(crate) const fn clamped(mut self) -> Self {
        if self.reserved_security != 0 {
            self.reserved_security =
                clamp(self.reserved_security, Repr::MIN_FILLING, Repr::MAX_FILLING);
        }
        self.csma_params.max_be = clamp(self.csma_params.max_be, 3, 8);
        self.csma_params.min_be = clamp(self.csma_params.min_be, 0, self.csma_params.max_be);
        self.csma_params.max_backoffs = clamp(self.csma_params.max_backoffs, 0, 5);
        self.max_frame_retries = clamp(self.max_frame_retries, 0, MAX_RETRIES);
        self.indirect.max_retries = clamp(self.indirect.max_retries, 0, MAX_RETRIES);
        self.indirect.min_be = clamp(self.indirect.min_be, 0, self.csma_params.max_be);
        self
    }

    /// Returns the source address of the frames of this device.
    pub const fn source(&self) -> Address {
        let short = Address::Short(self.short);
        if short.is_unicast() { short } else { Address::Extended(self.extended) }
    }
}

impl Default for MacConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const fn clamp(value: u8, low: u8, high: u8) -> u8 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}
