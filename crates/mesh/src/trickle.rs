//! When to advertise: Trickle (RFC 6206) without suppression, as OpenThread paces its
//! advertisements.

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Imin: OpenThread's `kAdvIntervalMin`.
pub(crate) const SHORTEST: Duration = Duration::from_secs(1);
/// Imax: OpenThread's of 2018, when TCPlp was measured.
pub(crate) const LONGEST: Duration = Duration::from_secs(32);

#[derive(Clone, Copy)]
struct Interval {
    len: Duration,
    /// When to advertise, until that is done.
    fire: Option<Instant>,
    end: Instant,
}

/// The timer; `None` before it was first asked, because a constant knows no time.
pub(crate) struct Trickle(Option<Interval>);

impl Trickle {
    pub(crate) const fn new() -> Self {
        Trickle(None)
    }

    fn begin(&mut self, now: Instant, len: Duration, random: &mut Random) {
        let fire = Some(now + random.between(len / 2, len));
        self.0 = Some(Interval { len, fire, end: now + len });
    }

    /// There is news. RFC 6206, 4.2, rule 6, leaves an interval of Imin alone; here it begins again
    /// if its advertisement has left, or bad news would wait for the next, twice as long.
    pub(crate) fn reset(&mut self, now: Instant, random: &mut Random) {
        let soon = |i: Interval| i.len <= SHORTEST && i.fire.is_some();
        if !self.0.is_some_and(soon) {
            self.begin(now, SHORTEST, random);
        }
    }

    /// Whether it is time to advertise.
    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) -> bool {
        let Some(interval) = &mut self.0 else {
            self.begin(now, SHORTEST, random);
            return false;
        };
        let fires = interval.fire.take_if(|at| *at <= now).is_some();
        if interval.end <= now {
            let len = (interval.len * 2).min(LONGEST);
            self.begin(now, len, random);
        }
        fires
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.0.map_or(Instant::ZERO, |interval| interval.fire.unwrap_or(interval.end))
    }

    /// The length of the current interval.
    pub(crate) fn interval(&self) -> Duration {
        self.0.map_or(SHORTEST, |interval| interval.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_and_news_shorten_them() {
        let (mut trickle, mut random) = (Trickle::new(), Random::new(1, 0));
        trickle.handle_deadline(Instant::ZERO, &mut random);
        let mut fired = std::vec::Vec::new();
        while trickle.deadline() < Instant::from_secs(200) {
            let now = trickle.deadline();
            if trickle.handle_deadline(now, &mut random) {
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
        trickle.reset(now, &mut random);
        assert!(trickle.deadline() >= now + SHORTEST / 2 && trickle.deadline() <= now + SHORTEST);
        // Not put off by more news, and not held up by having just advertised.
        let first = trickle.deadline();
        trickle.reset(first - Duration::from_millis(1), &mut random);
        assert_eq!(trickle.deadline(), first);
        assert!(trickle.handle_deadline(first, &mut random));
        trickle.reset(first, &mut random);
        assert!(trickle.deadline() > first && trickle.deadline() <= first + SHORTEST);
    }
}
