//! Definitions for both ends of coordinated sampled listening (IEEE 802.15.4-2015, 6.12.2), as
//! Thread uses it: a leaf listens for an instant in every period, and its parent, which knows the
//! schedule, sends at one of these instants. No data request is needed; the leaf only synchronises
//! again, before the clocks have drifted too far apart, with an empty frame that has a CSL IE. The
//! leaf's end is `sampled.rs`, the parent's `samples.rs`.
//!
//! A *sample* is the instant of the first symbol of a frame that the leaf would receive.

use kinglet_radio::SYMBOL;
use kinglet_time::{Duration, Instant};

/// The unit of phase and period: ten symbols.
pub(crate) const UNIT_US: u64 = 10 * SYMBOL.as_micros();
/// Time before a sample, or before a frame that names one, at which the radio gets the frame.
/// OpenThread's request-ahead time (`config/mac.h`).
pub(crate) const AHEAD: Duration = Duration::from_millis(2);

/// Sampling of the channel by a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csl {
    /// Period of the samples, 10 ms to 10 s; used in multiples of 160 us.
    pub period: Duration,
    /// Largest drift between both clocks, in parts per million: the sum of the specified tolerances
    /// of their crystals. Until the leaf has measured the drift, it listens earlier and longer by
    /// this.
    pub drift_ppm: u16,
    /// Longest time between synchronisations, 1 to 50 s. The leaf synchronises earlier if the
    /// clocks may be 0.4 ms apart by then as far as it knows, but at most once in a period.
    pub sync_interval: Duration,
}

impl Csl {
    /// Returns the nearest possible one.
    pub(crate) const fn clamped(self) -> Self {
        let units = in_range(self.period.as_micros() / UNIT_US, 63, 62_500);
        let sync = in_range(self.sync_interval.as_micros(), 1_000_000, 50_000_000);
        Csl {
            period: Duration::from_micros(units.saturating_mul(UNIT_US)),
            drift_ppm: self.drift_ppm,
            sync_interval: Duration::from_micros(sync),
        }
    }
}

const fn in_range(value: u64, low: u64, high: u64) -> u64 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

/// Returns whether the radio would hold a frame for this SFD for so long that other frames had to
/// wait.
pub(crate) fn is_far(now: Instant, sfd: Instant) -> bool {
    sfd > now + AHEAD * 2
}
