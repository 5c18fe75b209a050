//! Trickle (RFC 6206): a timer that speaks often while there is news and ever less without.
//!
//! An interval ends with the next, twice as long, up to a longest. Once in each, at a random time
//! in its second half, it is time to speak, unless enough others have said the same before.
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

/// How a timer is set (RFC 6206, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Imin: the shortest interval.
    pub shortest: Duration,
    /// The longest interval. RFC 6206 gives it as a number of doublings, Imax.
    pub longest: Duration,
    /// k: after so many of others that say the same, one's own is left out. 0: never.
    pub redundancy: u8,
}

/// c: how many others have said the same in an interval. `()` for a timer that nobody tells of
/// others, in which the number takes no room.
pub trait Heard: Copy {
    /// Nobody yet.
    const NONE: Self;
    /// One more.
    fn hear(&mut self);
    /// How many they are.
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
    /// When to speak, until that is done.
    fire: Option<Instant>,
    end: Instant,
    heard: H,
}

/// The timer; its owner knows the parameters, which it gives with every call. Until it was first
/// asked it is due at once, because a constant knows no time.
pub struct Trickle<H: Heard = u8>(Option<Interval<H>>);

impl<H: Heard> Default for Trickle<H> {
    fn default() -> Self {
        Trickle::new()
    }
}

impl<H: Heard> Trickle<H> {
    /// A timer that begins when it is first asked.
    #[must_use]
    pub const fn new() -> Self {
        Trickle(None)
    }

    fn begin(&mut self, now: Instant, len: Duration, random: &mut Random) {
        let fire = Some(now + random.between(len / 2, len));
        self.0 = Some(Interval { len, fire, end: now + len, heard: H::NONE });
    }

    /// There is news or an inconsistency (RFC 6206, 4.2, rule 6): begins anew with the shortest
    /// interval, unless it is in one.
    pub fn reset(&mut self, now: Instant, pace: &Parameters, random: &mut Random) {
        let shortest = pace.shortest;
        if self.0.is_none_or(|interval| interval.len > shortest) {
            self.begin(now, shortest, random);
        }
    }

    /// As [`Trickle::reset`], but a shortest interval in which has been spoken begins again, or bad
    /// news would wait for the next, twice as long. A deviation from RFC 6206, for those who must
    /// tell a change within a bound.
    pub fn hasten(&mut self, now: Instant, pace: &Parameters, random: &mut Random) {
        let shortest = pace.shortest;
        let soon = |interval: Interval<H>| interval.len <= shortest && interval.fire.is_some();
        if !self.0.is_some_and(soon) {
            self.begin(now, shortest, random);
        }
    }

    /// Another has said what this one would say (rule 3).
    pub fn hear_consistent(&mut self) {
        if let Some(interval) = &mut self.0 {
            interval.heard.hear();
        }
    }

    /// Whether it is time to speak; goes on to the next interval when one has ended.
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

    /// When to call [`Trickle::handle_deadline`].
    pub fn deadline(&self) -> Instant {
        self.0.map_or(Instant::ZERO, |interval| interval.fire.unwrap_or(interval.end))
    }

    /// The length of the current interval; `None` before the first.
    pub fn interval(&self) -> Option<Duration> {
        self.0.map(|interval| interval.len)
    }
}

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
    fn intervals_double_and_news_shorten_them() {
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
        // Not put off by more news, and not held up by having just spoken.
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
    fn what_others_have_said_often_enough_is_left_out_for_one_interval() {
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
