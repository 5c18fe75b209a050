//! What a MAC is told when it is made.

use crate::csl::Csl;
use crate::reach::Indirect;
use crate::security::Security;
use kinglet_radio::{Channel, CsmaParams};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::{Address, PanId, Repr};

/// The largest number of retries that any device of the PAN may have
/// ([`Config::max_frame_retries`], [`Indirect::max_retries`]).
pub(crate) const MAX_RETRIES: u8 = 15;

/// Who runs CSMA-CA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Csma {
    /// The MAC: it times the backoffs while the radio keeps listening, and asks the radio for
    /// single clear channel assessments.
    Software,
    /// The radio, which may be deaf during its backoffs (TCPlp §4.2). Without
    /// [`Capabilities::CSMA`](kinglet_radio::Capabilities::CSMA), and with a back-off that is not
    /// [by radios](crate::Backoff::is_by_radios), this means `Software`.
    Hardware,
}

/// The configuration of a [`Mac`](crate::Mac); `K` is the [`LinkSecurity::Key`] of its plan.
///
/// [`LinkSecurity::Key`]: crate::LinkSecurity::Key
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config<K = Option<Security>> {
    /// Own PAN.
    pub pan_id: PanId,
    /// Own short address (macShortAddress); 0xFFFE and 0xFFFF mean none, and the extended address
    /// is then the source of frames.
    pub short: u16,
    /// Own extended address, most significant octet first.
    pub extended: [u8; 8],
    /// Where to listen and send; of devices that go round channels ([`Wake::channels`]) where they
    /// begin.
    ///
    /// [`Wake::channels`]: crate::Wake::channels
    pub channel: Channel,
    /// Output power in dBm.
    pub power_dbm: i8,
    /// Who runs CSMA-CA.
    pub csma: Csma,
    /// How CSMA-CA is run, by an exponential back-off ([`Sizes::Backoff`](crate::Sizes::Backoff)).
    pub csma_params: CsmaParams,
    /// macMaxFrameRetries, 0 to 15: attempts after the first, when the acknowledgement was missing
    /// *or the channel could not be won*. The standard gives a frame up after one channel
    /// access failure; OpenThread, and so the paper's system, does not, and on a channel that
    /// is busy with frames of 4 ms that difference is one segment in ten. Frames that ask for
    /// no acknowledgement have one attempt. The standard's default is 3 and its limit 7 (Table
    /// 8-94); OpenThread has 15, and TCPlp's code 9 (`platform_config.h`). Relays that several
    /// flows load should have 15: much of what fails there are attempts to win the channel, and
    /// what is given up is what has come furthest
    /// (`docs/decisions/0019-adaptive-retry-delay.md`).
    pub max_frame_retries: u8,
    /// The d of TCPlp §7.1: before each retry the MAC waits a uniformly random time from 0 to
    /// this, in addition to CSMA backoff. The standard has no such delay, hence zero by
    /// default.
    pub retry_delay_max: Duration,
    /// Whether d begins at zero and grows to `retry_delay_max` only while repetitions on strong
    /// links fail, as they do where terminals are hidden from each other; it shrinks when they do
    /// not. Whatever it has grown to, a frame that is about to be given up waits longer: up to four
    /// times `retry_delay_max` before its last retry, half of that before the one before.
    /// Frames of [`Class::Indirect`](crate::Class::Indirect) keep their own delay.
    pub adaptive_retry_delay: bool,
    /// How frames are secured; `None` if they are not, and `()` in a plan that cannot
    /// ([`Config::unsecured`]). A device with a key takes no unsecured frame but acknowledgements,
    /// and one without takes no secured frame.
    pub security: K,
    /// Octets of each frame kept for a link security that is not used: 0, or 7 to 100. They are on
    /// the air, as [`Repr::filling`], so that air time and payload sizes are those of secured
    /// frames.
    pub reserved_security: u8,
    /// How long after a frame another one from the same source with the same sequence number
    /// counts as its repetition; with a key, one with the same frame counter, of which 15 count.
    /// Must be longer than a peer's retries take and shorter than a peer's restart.
    pub duplicate_lifetime: Duration,
    /// macRxOnWhenIdle: whether the radio listens while nothing is sent. Without, it is off, also
    /// in CSMA backoffs, except for what [`Mac::request_data`](crate::Mac::request_data) awaits.
    pub rx_on_when_idle: bool,
    /// How long a device that has asked for data waits for the frame that the acknowledgement has
    /// promised. OpenThread waits 100 ms (`mac.hpp`); TCPlp §8.4 shortens it.
    pub data_request_timeout: Duration,
    /// How frames are sent to devices that have asked for them.
    pub indirect: Indirect,
    /// How this device samples the channel for its parent
    /// ([`Mac::set_parent`](crate::Mac::set_parent)), if it does; with
    /// `rx_on_when_idle` off. Impossible values are replaced by the nearest possible ones.
    pub csl: Option<Csl>,
}

/// Why a configuration is not possible.
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

impl Config {
    /// The standard's defaults, PAN 0xABCD, no short address, channel 26, 0 dBm.
    pub const DEFAULT: Config = Config {
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
        // Sixteen transmissions, the most that are allowed, each with the longest CSMA-CA (7 + 15 +
        // 3 * 31 backoffs of 320 us = 36.8 ms), a frame and its wait (5.1 ms) and a retry delay of
        // 80 ms take 1.95 s; with one that adapts up to 60 ms, and waits 120 and 240 ms before the
        // last two, 1.81 s.
        duplicate_lifetime: Duration::from_secs(2),
        rx_on_when_idle: true,
        data_request_timeout: Duration::from_millis(100),
        indirect: Indirect::DEFAULT,
        csl: None,
    };
}

impl<K: Copy> Config<K> {
    /// The same, without a key, for a plan whose security is `()`.
    pub const fn unsecured(self) -> Config<()> {
        Config {
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

    /// Whether [`Mac::new`](crate::Mac::new) will use this as it is.
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

    /// The nearest possible configuration; more octets reserved rather than fewer. How a device
    /// samples the channel is left to its listening, if that does.
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

    /// The address that frames of this device carry as their source.
    pub const fn source(&self) -> Address {
        let short = Address::Short(self.short);
        if short.is_unicast() { short } else { Address::Extended(self.extended) }
    }
}

impl Default for Config {
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
