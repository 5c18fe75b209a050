//! Trickle (RFC 6206): a timer that transmits often after a change and less and less often without
//! one.
//!
//! When an interval ends, the next one is twice as long, up to a maximum. Once in each interval, at
//! a random time in its second half, the node transmits, unless it has received enough consistent
//! messages in that interval.
//!
//! ```
//! use kinglet_random::Random;
//! use kinglet_time::{Duration, Instant};
//! use kinglet_trickle::{Parameters, Trickle};
//!
//! let (mut random, second) = (Random::new(1, 0), Duration::from_secs(1));
//! let pace = Parameters { shortest: second, longest: second * 32, redundancy: 0 };
//! let mut timer: Trickle = Trickle::new();
//! assert!(!timer.handle_deadline(Instant::ZERO, &pace, &mut random));
//! let first = timer.deadline();
//! assert!(first >= Instant::from_millis(500) && first <= Instant::from_secs(1));
//! assert!(timer.handle_deadline(first, &pace, &mut random));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Parameters of a timer (RFC 6206, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Imin: shortest interval.
    pub shortest: Duration,
    /// Longest interval. RFC 6206 gives it as a number of doublings, Imax.
    pub longest: Duration,
    /// k: number of consistent messages that suppress the node's own. 0: never suppressed.
    pub redundancy: u8,
}

/// c: number of consistent messages received in an interval. `()` is for a timer that never
/// receives any; the counter then takes no memory.
pub trait Heard: Copy {
    /// None received.
    const NONE: Self;
    /// Counts one more.
    fn hear(&mut self);
    /// Returns their number.
    fn count(self) -> u8;
}

impl Heard for () {
    const NONE: Self = ();

    fn hear(&mut self) {}

    fn count(self) -> u8 {
        0
    }
}

impl Heard for u8 {
    const NONE: Self = 0;

    fn hear(&mut self) {
        *self = self.saturating_add(1);
    }

    fn count(self) -> u8 {
        self
    }
}

#[derive(Clone, Copy)]
struct Interval<H> {
    len: Duration,
    /// Time of the transmission, until it is done.
    fire: Option<Instant>,
    end: Instant,
    heard: H,
}

/// The timer. Its owner keeps the parameters and passes them with every call. A new timer is due at
/// once, because a constant has no current time.
pub struct Trickle<H: Heard = u8>(Option<Interval<H>>);

impl<H: Heard> Default for Trickle<H> {
    fn default() -> Self {
        Trickle::new()
    }
}

impl<H: Heard> Trickle<H> {
    /// Creates a timer that starts at the first call of [`Trickle::handle_deadline`].
    #[must_use]
    pub const fn new() -> Self {
        Trickle(None)
    }

    fn begin(&mut self, now: Instant, len: Duration, random: &mut Random) {
        let fire = Some(now + random.between(len / 2, len));
        self.0 = Some(Interval { len, fire, end: now + len, heard: H::NONE });
    }

    /// Handles an inconsistency (RFC 6206, 4.2, rule 6): starts again with the shortest interval,
    /// unless the current one is the shortest.
    pub fn reset(&mut self, now: Instant, pace: &Parameters, random: &mut Random) {
        let shortest = pace.shortest;
        if self.0.is_none_or(|interval| interval.len > shortest) {
            self.begin(now, shortest, random);
        }
    }

    /// As [`Trickle::reset`], but restarts a shortest interval in which the node has already
    /// transmitted; otherwise bad news would wait for the next interval, twice as long. This
    /// deviates from RFC 6206, for protocols that must announce a change within a bound.
    pub fn hasten(&mut self, now: Instant, pace: &Parameters, random: &mut Random) {
        let shortest = pace.shortest;
        let soon = |interval: Interval<H>| interval.len <= shortest && interval.fire.is_some();
        if !self.0.is_some_and(soon) {
            self.begin(now, shortest, random);
        }
    }

    /// Counts a consistent message (rule 3).
    pub fn hear_consistent(&mut self) {
        if let Some(interval) = &mut self.0 {
            interval.heard.hear();
        }
    }

    /// Returns whether the node transmits now; starts the next interval when one has ended.
    pub fn handle_deadline(
        &mut self,
        now: Instant,
        pace: &Parameters,
        random: &mut Random,
    ) -> bool {
        let Parameters { shortest, longest, redundancy } = *pace;
        let Some(interval) = &mut self.0 else {
            self.begin(now, shortest, random);
            return false;
        };
        let redundant = redundancy > 0 && interval.heard.count() >= redundancy;
        let fires = interval.fire.take_if(|at| *at <= now).is_some();
        if interval.end <= now {
            let len = (interval.len * 2).min(longest);
            self.begin(now, len, random);
        }
        fires && !redundant
    }

    /// Returns the time of the next call of [`Trickle::handle_deadline`].
    pub fn deadline(&self) -> Instant {
        self.0.map_or(Instant::ZERO, |interval| interval.fire.unwrap_or(interval.end))
    }

    /// Returns the length of the current interval; `None` before the first.
    pub fn interval(&self) -> Option<Duration> {
        self.0.map(|interval| interval.len)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(32);

    const fn pace(redundancy: u8) -> Parameters {
        Parameters { shortest: SHORTEST, longest: LONGEST, redundancy }
    }

    fn timer() -> (Trickle, Random) {
        (Trickle::new(), Random::new(1, 0))
    }

    #[test]
    fn intervals_double_and_changes_shorten_them() {
        let (mut trickle, mut random) = timer();
        let pace = pace(0);
        trickle.handle_deadline(Instant::ZERO, &pace, &mut random);
        let mut fired = std::vec::Vec::new();
        while trickle.deadline() < Instant::from_secs(200) {
            let now = trickle.deadline();
            if trickle.handle_deadline(now, &pace, &mut random) {
                fired.push(now.as_millis());
            }
        }
        let mut start = 0;
        for (at, len) in fired.iter().zip([1, 2, 4, 8, 16, 32, 32, 32, 32]) {
            let (from, to) = (start + len * 500, start + len * 1_000);
            assert!((from..=to).contains(at), "{fired:?}");
            start = to;
        }
        let now = Instant::from_secs(200);
        trickle.hasten(now, &pace, &mut random);
        assert!(trickle.deadline() >= now + SHORTEST / 2 && trickle.deadline() <= now + SHORTEST);
        // The transmission is neither delayed by further news, nor by one just made.
        let first = trickle.deadline();
        trickle.hasten(first - Duration::from_millis(1), &pace, &mut random);
        assert_eq!(trickle.deadline(), first);
        assert!(trickle.handle_deadline(first, &pace, &mut random));
        trickle.hasten(first, &pace, &mut random);
        assert!(trickle.deadline() > first && trickle.deadline() <= first + SHORTEST);
    }

    #[test]
    fn a_reset_leaves_a_shortest_interval_alone() {
        let (mut trickle, mut random) = timer();
        let pace = pace(0);
        trickle.reset(Instant::ZERO, &pace, &mut random);
        let first = trickle.deadline();
        assert!(trickle.handle_deadline(first, &pace, &mut random));
        trickle.reset(first, &pace, &mut random);
        assert_eq!(trickle.deadline(), Instant::ZERO + SHORTEST);
        trickle.handle_deadline(Instant::from_secs(1), &pace, &mut random);
        assert_eq!(trickle.interval(), Some(SHORTEST * 2));
        trickle.reset(Instant::from_secs(1), &pace, &mut random);
        assert_eq!(trickle.interval(), Some(SHORTEST));
    }

    #[test]
    fn a_transmission_is_suppressed_for_one_interval_by_consistent_messages() {
        let (mut trickle, mut random) = timer();
        let pace = pace(2);
        trickle.handle_deadline(Instant::ZERO, &pace, &mut random);
        trickle.hear_consistent();
        trickle.hear_consistent();
        assert!(!trickle.handle_deadline(trickle.deadline(), &pace, &mut random));
        let end = trickle.deadline();
        assert_eq!(end, Instant::ZERO + SHORTEST);
        assert!(!trickle.handle_deadline(end, &pace, &mut random));
        trickle.hear_consistent();
        assert!(trickle.handle_deadline(trickle.deadline(), &pace, &mut random));
    }
}
