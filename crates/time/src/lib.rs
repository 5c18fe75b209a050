//! Time types of the Kinglet stack: [`Instant`] and [`Duration`] in integer microseconds;
//! [`Expected`], with which transports announce when a response is due; [`Limit`], with which
//! layers limit the rate of work that other nodes cause; and [`BackOff`], with which applications
//! limit the rate of attempts that fail.
//!
//! No layer reads a clock. Every call that depends on time takes `now: Instant` as its first
//! argument, and every layer returns from `deadline() -> Option<Instant>` the time of its next
//! call. Arithmetic saturates, so no timestamp, however hostile, can panic or wrap.
//!
//! ```
//! use kinglet_time::{Duration, Instant};
//! let start = Instant::from_millis(2);
//! let timeout = start + Duration::from_micros(864); // macAckWaitDuration
//! assert_eq!(timeout.as_micros(), 2_864);
//! assert_eq!(timeout - start, Duration::from_micros(864));
//! ```

#![no_std]
#![forbid(unsafe_code)]

mod back_off;
mod limit;

pub use back_off::BackOff;
pub use limit::Limit;

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time: microseconds since an origin that the caller chose (usually start-up).
///
/// An `Option<Instant>` is no larger than an `Instant`, and `None` is all zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// Microseconds since the origin, plus one.
    NonZeroU64,
);

impl Instant {
    /// The origin.
    pub const ZERO: Instant = Instant(NonZeroU64::MIN);
    /// Later than any instant that can occur; useful as the start of a minimum search.
    pub const MAX: Instant = Instant(NonZeroU64::MAX);

    /// The instant `micros` microseconds after the origin.
    pub const fn from_micros(micros: u64) -> Self {
        Instant(NonZeroU64::MIN.saturating_add(micros))
    }

    /// The instant `millis` milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Instant::from_micros(millis.saturating_mul(1_000))
    }

    /// The instant `secs` seconds after the origin.
    pub const fn from_secs(secs: u64) -> Self {
        Instant::from_micros(secs.saturating_mul(1_000_000))
    }

    /// Microseconds since the origin.
    pub const fn as_micros(self) -> u64 {
        self.0.get().saturating_sub(1)
    }

    /// Whole milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.as_micros() / 1_000
    }

    /// Time elapsed since `earlier`, or `None` if `earlier` is later than `self`.
    pub const fn checked_since(self, earlier: Instant) -> Option<Duration> {
        match self.0.get().checked_sub(earlier.0.get()) {
            Some(us) => Some(Duration(us)),
            None => None,
        }
    }
}

impl Default for Instant {
    /// The origin.
    fn default() -> Self {
        Instant::ZERO
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, rhs: Duration) -> Instant {
        Instant(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, rhs: Duration) -> Instant {
        Instant(NonZeroU64::new(self.0.get().saturating_sub(rhs.0)).unwrap_or(NonZeroU64::MIN))
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    /// Zero if `rhs` is later.
    fn sub(self, rhs: Instant) -> Duration {
        Duration(self.0.get().saturating_sub(rhs.0.get()))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.as_micros();
        write!(f, "{}.{:06}s", micros / 1_000_000, micros % 1_000_000)
    }
}

/// A span of time in microseconds; never negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// No time.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any span that can occur.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis.saturating_mul(1_000))
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs.saturating_mul(1_000_000))
    }

    /// The span in microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Zero if `rhs` is longer.
    fn sub(self, rhs: Duration) -> Duration {
        Duration(self.0.saturating_sub(rhs.0))
    }
}

impl Mul<u32> for Duration {
    type Output = Duration;
    fn mul(self, rhs: u32) -> Duration {
        Duration(self.0.saturating_mul(u64::from(rhs)))
    }
}

impl Div<u32> for Duration {
    type Output = Duration;
    /// Rounds down; division by zero gives [`Duration::MAX`].
    fn div(self, rhs: u32) -> Duration {
        Duration(self.0.checked_div(u64::from(rhs)).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

/// The earlier of two optional deadlines; `None` means "never".
pub const fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(x), Some(y)) => Some(if x.0.get() <= y.0.get() { x } else { y }),
        (Some(x), None) => Some(x),
        (None, y) => y,
    }
}

/// Window in which a response from a peer is expected, for the code that decides when the radio
/// listens. The transport that expects the response defines its meaning and the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Time at which the message was sent that is to be answered.
    pub since: Instant,
    /// Earliest likely time of the response.
    pub from: Instant,
    /// Latest likely time of the response.
    pub until: Instant,
}

impl Expected {
    /// Returns the window that spans both.
    pub fn and(self, other: Expected) -> Expected {
        Expected {
            since: self.since.min(other.since),
            from: self.from.min(other.from),
            until: self.until.max(other.until),
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::ZERO - Instant::from_secs(1), Duration::ZERO);
        assert_eq!(Duration::MAX * 2, Duration::MAX);
        assert_eq!(Duration::from_secs(1) / 0, Duration::MAX);
    }

    #[test]
    fn no_instant_takes_no_room_of_its_own() {
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
        assert_eq!(Instant::from_micros(u64::MAX), Instant::MAX);
        assert_eq!(Instant::ZERO.as_micros(), 0);
        assert_eq!(Instant::from_micros(7).as_micros(), 7);
    }

    #[test]
    fn checked_since_refuses_the_future() {
        let (early, late) = (Instant::from_millis(1), Instant::from_millis(3));
        assert_eq!(late.checked_since(early), Some(Duration::from_millis(2)));
        assert_eq!(early.checked_since(late), None);
    }

    #[test]
    fn the_span_of_two_expectations_begins_with_the_first_and_ends_with_the_last() {
        let expected = |[since, from, until]: [u64; 3]| Expected {
            since: Instant::from_secs(since),
            from: Instant::from_secs(from),
            until: Instant::from_secs(until),
        };
        let (one, other) = (expected([1, 5, 6]), expected([2, 3, 9]));
        assert_eq!(one.and(other), expected([1, 3, 9]));
        assert_eq!(other.and(one), one.and(other));
    }

    #[test]
    fn earliest_treats_none_as_never() {
        let t = Some(Instant::from_secs(1));
        assert_eq!(earliest(t, None), t);
        assert_eq!(earliest(None, t), t);
        assert_eq!(earliest(t, Some(Instant::ZERO)), Some(Instant::ZERO));
        assert_eq!(earliest(None, None), None);
    }
}
