//! What both ends of coordinated sampled listening share (IEEE 802.15.4-2015, 6.12.2), as Thread
//! uses it: a leaf listens for an instant in every period, and its parent, which knows when, sends
//! at one of these instants. No data request is needed; the leaf only tells the time again, before
//! the clocks have drifted too far apart, by an empty frame with a CSL IE. The leaf's end is
//! `sampled.rs`, the parent's `samples.rs`.
//!
//! A *sample* is the instant of the first symbol of a frame that the leaf would hear.

use kinglet_radio::SYMBOL;
use kinglet_time::{Duration, Instant};

/// The unit of phase and period: ten symbols.
pub(crate) const UNIT_US: u64 = 10 * SYMBOL.as_micros();
/// How long before a sample, or before a frame that names one, the radio gets the frame.
/// OpenThread's request-ahead time (`config/mac.h`).
pub(crate) const AHEAD: Duration = Duration::from_millis(2);

/// How a leaf samples the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csl {
    /// From one sample to the next, 10 ms to 10 s; used in multiples of 160 us.
    pub period: Duration,
    /// How far both clocks may drift apart, in parts per million: the sum of what their crystals
    /// are specified for. Decides how much earlier and longer than needed the leaf listens until
    /// it has measured how far they do.
    pub drift_ppm: u16,
    /// After what time the leaf synchronises again at the latest, 1 to 50 s; earlier if the clocks
    /// may be 0.4 ms apart by then for all that is known, but not more than once in a period.
    pub sync_interval: Duration,
}

impl Csl {
    /// The nearest possible one.
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

/// Whether the radio would hold a frame for this SFD for so long that others had to wait.
pub(crate) fn is_far(now: Instant, sfd: Instant) -> bool {
    sfd > now + AHEAD * 2
}
