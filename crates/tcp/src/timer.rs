//! Time in four octets: instants modulo 2^32 units of 32 µs, which is 38 hours.
//!
//! Two such instants can be compared while they are less than 19 hours apart. Two rules ensure
//! that: no timer is set further ahead than [`LONGEST`], and the endpoint, which knows the whole
//! time, visits all stored instants at least every [`HORIZON`] and makes older ones just that old
//! ([`Tick::age`]). So a connection may be idle for any length of time.

use core::num::NonZeroU32;
use kinglet_time::{Duration, Instant};

/// Microseconds in a unit, as a power of two. The unit is 32 µs, so that multiples of 4 ms, which
/// are usual in settings, are exact.
const UNIT: u32 = 5;

/// Largest age that is distinguishable: 2^26 units, 35.8 minutes.
pub(crate) const HORIZON: Duration = Duration::from_micros(1 << 31);

/// The furthest that a timer can be set: half of the range, less twice the horizon, which is the
/// greatest age of a timer that was not handled. 17.9 hours.
const LONGEST: Duration = Duration::from_micros((1 << 36) - (1 << 32));

/// The lower half of a number: the number modulo 2^32.
pub(crate) fn low_half(value: u64) -> u32 {
    let [_, _, _, _, a, b, c, d] = value.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// Units from the origin to `at`.
#[inline(never)]
fn count(at: Instant) -> u32 {
    low_half(at.as_micros() >> UNIT)
}

fn units(count: u32) -> Duration {
    Duration::from_micros(u64::from(count) << UNIT)
}

/// An instant modulo 38 hours. Never 0, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick(NonZeroU32);

impl Tick {
    /// Returns the unit that contains `at`.
    pub(crate) fn at(at: Instant) -> Tick {
        Tick(NonZeroU32::new(count(at)).unwrap_or(NonZeroU32::MIN))
    }

    /// Returns the unit `delay` after `now`, or a little later; at most [`LONGEST`] is added.
    #[inline(never)]
    pub(crate) fn after(now: Instant, delay: Duration) -> Tick {
        let rounding = Duration::from_micros((1 << UNIT) - 1);
        Tick::at(now + (delay.min(LONGEST) + rounding))
    }

    fn before(self, other: Tick) -> bool {
        // As with sequence numbers: the sign of the difference.
        self.0.get().wrapping_sub(other.0.get()) >> 31 == 1
    }

    /// Returns whether this instant has come.
    pub(crate) fn is_past(self, now: Instant) -> bool {
        count(now).wrapping_sub(self.0.get()) >> 31 == 0
    }

    /// Returns the time from this to `now`, in whole units; zero if this is yet to come.
    pub(crate) fn elapsed(self, now: Instant) -> Duration {
        let passed = count(now).wrapping_sub(self.0.get());
        if passed >> 31 == 0 { units(passed) } else { Duration::ZERO }
    }

    /// Returns the instant that this stands for: the one nearest to `epoch`.
    #[inline(never)]
    pub(crate) fn near(self, epoch: Instant) -> Instant {
        let ahead = self.0.get().wrapping_sub(count(epoch));
        let begin = Instant::from_micros(epoch.as_micros() >> UNIT << UNIT);
        if ahead >> 31 == 0 { begin + units(ahead) } else { begin - units(ahead.wrapping_neg()) }
    }

    /// Makes this no older than [`HORIZON`], when instants that stand for those nearest to `epoch`
    /// will stand for those nearest to `now`.
    #[inline(never)]
    pub(crate) fn age(&mut self, epoch: Instant, now: Instant) {
        let oldest = now - HORIZON;
        if self.near(epoch) < oldest {
            *self = Tick::at(oldest);
        }
    }
}

/// A timer: the instant at which it is due, or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer(Option<Tick>);

impl Timer {
    pub(crate) const OFF: Timer = Timer(None);

    /// Due `delay` after `now`, but after [`LONGEST`] at the latest.
    #[inline(never)]
    pub(crate) fn set(&mut self, now: Instant, delay: Duration) {
        self.0 = Some(Tick::after(now, delay));
    }

    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    pub(crate) fn is_set(self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn is_due(self, now: Instant) -> bool {
        self.0.is_some_and(|at| at.is_past(now))
    }

    /// Returns the timer that is due first.
    pub(crate) fn earliest(self, other: Timer) -> Timer {
        match (self.0, other.0) {
            (Some(a), Some(b)) if b.before(a) => other,
            (None, _) => other,
            _ => self,
        }
    }

    /// Returns the timer that is due last; one that is off comes before all others.
    pub(crate) fn latest(self, other: Timer) -> Timer {
        match (self.0, other.0) {
            (Some(a), Some(b)) if a.before(b) => other,
            (None, _) => other,
            _ => self,
        }
    }

    /// Returns the time at which it is due; see [`Tick::near`].
    pub(crate) fn deadline(self, epoch: Instant) -> Option<Instant> {
        self.0.map(|at| at.near(epoch))
    }

    /// See [`Tick::age`]: a timer that is long overdue stays due.
    pub(crate) fn age(&mut self, epoch: Instant, now: Instant) {
        if let Some(at) = &mut self.0 {
            at.age(epoch, now);
        }
    }
}

impl From<Tick> for Timer {
    fn from(at: Tick) -> Timer {
        Timer(Some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const UNIT_US: u64 = 32;

    #[test]
    fn a_timer_takes_four_octets() {
        assert_eq!((size_of::<Timer>(), size_of::<Option<Tick>>()), (4, 4));
    }

    proptest! {
        /// At any time in the life of a node.
        #[test]
        fn a_timer_is_due_when_it_says_and_at_most_a_unit_late(
            now in 0..1_u64 << 50, delay in 0..1_u64 << 36, later in 0..1_u64 << 34,
        ) {
            let (now, delay) = (Instant::from_micros(now), Duration::from_micros(delay));
            let mut timer = Timer::OFF;
            timer.set(now, delay);
            let at = timer.deadline(now).unwrap();
            let wanted = now + delay.min(LONGEST);
            prop_assert!(at >= wanted && at - wanted < Duration::from_micros(2 * UNIT_US));
            prop_assert!(timer.is_due(at) && !timer.is_due(at - Duration::from_micros(1)));
            prop_assert!(timer.is_due(at + Duration::from_micros(later)));
        }

        #[test]
        fn elapsed_time_is_exact_to_one_unit(then in 0..1_u64 << 50, ago in 0..1_u64 << 35) {
            let now = Instant::from_micros(then.saturating_add(ago));
            let elapsed = Tick::at(Instant::from_micros(then)).elapsed(now).as_micros();
            prop_assert!(elapsed.abs_diff(ago) <= UNIT_US, "{} for {}", elapsed, ago);
        }

        /// The endpoint ages all instants once per horizon, or after a gap of any length.
        #[test]
        fn an_instant_that_is_aged_in_time_never_becomes_young(
            start in 0..1_u64 << 50, gaps in proptest::collection::vec(0..1_u64 << 45, 1..8),
        ) {
            let mut epoch = Instant::from_micros(start);
            let (then, mut stamp) = (epoch, Tick::at(epoch));
            let mut timer = Timer::OFF;
            timer.set(epoch, HOUR * 17);
            let due = timer.deadline(epoch).unwrap();
            for gap in gaps {
                let now = epoch + Duration::from_micros(gap);
                stamp.age(epoch, now);
                timer.age(epoch, now);
                let seen = stamp.elapsed(now);
                let real = (now - then).min(HORIZON);
                prop_assert!(seen.as_micros().abs_diff(real.as_micros()) <= UNIT_US);
                prop_assert_eq!(timer.is_due(now), due <= now);
                epoch = now;
            }
        }
    }

    #[test]
    fn the_timer_that_is_due_first_wins_across_the_wrap() {
        // 2^32 units of 32 µs.
        let now = Instant::from_micros(1 << 37) - HOUR;
        let (mut a, mut b) = (Timer::OFF, Timer::OFF);
        a.set(now, Duration::from_micros(1));
        b.set(now, HOUR * 2);
        assert_eq!((a.earliest(b), b.earliest(a)), (a, a));
        assert_eq!((a.earliest(Timer::OFF), Timer::OFF.earliest(a)), (a, a));
        assert_eq!(b.deadline(now), Some(now + HOUR * 2));
        assert!(!b.is_due(now + HOUR) && b.is_due(now + HOUR * 2));
    }
}
