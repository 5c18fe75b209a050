//! Timestamps and protection against wrapped sequence numbers (RFC 7323 §3 to §5).

use crate::seq::SeqNum;
use crate::timer::low_half;
use core::num::NonZeroU16;
use kinglet_time::{Duration, Instant};

/// Age from which on TS.Recent is invalid (RFC 7323 §5.5): 24 days of silence, in units of 2^32 µs
/// (72 min).
const STALE: u16 = 482;

/// Microseconds of a tick of the timestamp clock, as a power of two: a shift where milliseconds
/// would be a division. RFC 7323 §5.4 allows 1 ms to 1 s.
//= rfc7323#5.4-1 rfc7323#5.4-2 rfc7323#5.4-3
const TICK: u32 = 10;
/// Time by which an echo can seem older than it is.
pub(crate) const CLOCK: Duration = Duration::from_micros(1 << TICK);
/// Ten minutes in ticks.
const LONGEST: u32 = 600_000_000 >> TICK;

/// Timestamp state of a connection that has agreed upon the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paws {
    /// TS.Recent in halves, the upper one first, so that all of this takes six octets.
    recent: [u16; 2],
    /// Time at which `recent` was taken, in units of 2^32 µs: two octets last for nine years of
    /// silence.
    recent_at: NonZeroU16,
}

impl Paws {
    pub(crate) fn new(recent: u32, now: Instant) -> Self {
        Paws { recent: halves(recent), recent_at: coarse(now) }
    }

    pub(crate) fn recent(&self) -> u32 {
        let [upper, lower] = self.recent;
        u32::from(upper) << 16 | u32::from(lower)
    }

    /// Returns whether a segment with this TSval is an old duplicate (§5.3 R1).
    pub(crate) fn rejects(&self, now: Instant, val: u32) -> bool {
        is_before(val, self.recent()) && !self.rejects_nothing(now)
    }

    /// Remembers TSval of a segment that begins at or before Last.ACK.sent (§4.3).
    //= rfc7323#5.2-1
    pub(crate) fn update(&mut self, now: Instant, val: u32, seq: SeqNum, last_ack_sent: SeqNum) {
        let newer = !is_before(val, self.recent()) || self.rejects_nothing(now);
        if newer && seq.at_or_before(last_ack_sent) {
            self.recent = halves(val);
            self.recent_at = coarse(now);
        }
    }

    //= rfc7323#5.5-1
    fn rejects_nothing(&self, now: Instant) -> bool {
        coarse(now).get().wrapping_sub(self.recent_at.get()) >= STALE
    }
}

/// Returns whether one TSval comes before another (§5.2): by less than 2^31, so that of two that
/// are exactly as far apart neither does. (For [`SeqNum::before`] both do.)
pub(crate) const fn is_before(val: u32, other: u32) -> bool {
    val != other && !SeqNum::new(other).before(SeqNum::new(val))
}

/// Returns TSval: ticks of 1,024 µs, shifted by `offset` so that it does not reveal the time since
/// boot (RFC 7323 §7.1).
//= rfc7323#4.1-1
#[inline(never)]
pub(crate) fn timestamp(offset: u32, now: Instant) -> u32 {
    low_half(now.as_micros() >> TICK).wrapping_add(offset)
}

/// Returns the ticks since an echoed timestamp was sent, a round trip; `None` for an invalid echo.
pub(crate) fn echo_age(offset: u32, now: Instant, ecr: u32) -> Option<u32> {
    let ticks = timestamp(offset, now).wrapping_sub(ecr);
    // An echo older than ten minutes is of something that this side never sent.
    (ticks < LONGEST).then_some(ticks)
}

/// Returns whether an echo of this age is of something sent longer than `us` microseconds ago.
pub(crate) fn is_older(age: u32, us: u32) -> bool {
    // Both instants are known to the tick.
    age > (us >> TICK).saturating_add(1)
}

/// Returns the time of `count` ticks.
pub(crate) fn ticks(count: u32) -> Duration {
    Duration::from_micros(u64::from(count) << TICK)
}

fn halves(value: u32) -> [u16; 2] {
    let [a, b, c, d] = value.to_be_bytes();
    [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
}

/// Returns the time in units of 2^32 µs, never 0, so that an `Option` of [`Paws`] takes no more
/// room.
fn coarse(now: Instant) -> NonZeroU16 {
    let [_, _, a, b, ..] = now.as_micros().to_be_bytes();
    NonZeroU16::new(u16::from_be_bytes([a, b])).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Instant = Instant::from_secs(100);

    fn seq(n: u32) -> SeqNum {
        SeqNum::new(n)
    }

    #[test]
    fn older_timestamps_are_rejected_modulo_2_to_the_32() {
        let paws = Paws::new(5, T0);
        assert!(paws.rejects(T0, 4) && paws.rejects(T0, u32::MAX));
        assert!(!paws.rejects(T0, 5) && !paws.rejects(T0, 6) && !paws.rejects(T0, 0x8000_0000));
        // "s is considered to be less than t if 0 < (t - s) < 2^31".
        assert!(!paws.rejects(T0, 0x8000_0005) && paws.rejects(T0, 0x8000_0006));
        let mut paws = paws;
        paws.update(T0, 0x8000_0005, seq(0), seq(0));
        assert_eq!(paws.recent(), 0x8000_0005);
    }

    //= rfc7323#5.5-1 type=test
    #[test]
    fn after_24_days_of_silence_anything_is_accepted() {
        let mut paws = Paws::new(5, T0);
        let later = T0 + Duration::from_secs(25 * 24 * 3600);
        assert!(!paws.rejects(later, 4));
        paws.update(later, 4, seq(0), seq(0));
        assert_eq!(paws.recent(), 4);
    }

    //= rfc7323#5.2-1 type=test
    #[test]
    fn only_segments_that_the_last_ack_reaches_update_ts_recent() {
        let mut paws = Paws::new(5, T0);
        paws.update(T0, 9, seq(101), seq(100));
        assert_eq!(paws.recent(), 5, "out of order");
        paws.update(T0, 9, seq(100), seq(100));
        assert_eq!(paws.recent(), 9);
        paws.update(T0, 8, seq(100), seq(100));
        assert_eq!(paws.recent(), 9, "older");
    }

    //= rfc7323#4.1-1 rfc7323#5.4-1 rfc7323#5.4-2 rfc7323#5.4-3 type=test
    #[test]
    fn the_clock_is_neither_too_fast_nor_too_slow() {
        // Proportional to real time: so many ticks of 1,024 µs, also where the number wraps.
        for (start, count) in [(0, 1), (3, 1000), (u64::from(u32::MAX), 7)] {
            let (from, offset) = (Instant::from_micros(start << 10), 99);
            let passed =
                timestamp(offset, from + ticks(count)).wrapping_sub(timestamp(offset, from));
            assert_eq!(passed, count);
        }
        // A 250 kbit/s radio sends 32 octets in a tick: no window is as small, 2^31 is more.
        let octets_per_tick = ticks(1).as_micros() * 250_000 / 8 / 1_000_000;
        assert!(octets_per_tick < 64);
        let cycle = ticks(u32::MAX);
        assert!(cycle > Duration::from_secs(255), "MSL is 255 s at worst");
    }

    #[test]
    fn an_echo_measures_the_round_trip_and_nonsense_does_not() {
        let sent = timestamp(1234, T0);
        let now = T0 + ticks(75);
        assert_eq!(echo_age(1234, now, sent), Some(75));
        assert!(!is_older(75, 74 << TICK) && is_older(75, 73 << TICK));
        assert_eq!(echo_age(1234, now, timestamp(1234, now) + 1), None, "from the future");
        let late = T0 + Duration::from_secs(601);
        assert_eq!(echo_age(1234, late, sent), None, "too old");
    }
}
