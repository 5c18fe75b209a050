//! Solicitation of DIOs (RFC 6550, 8.4) without a parent, at growing intervals. A leaf that sleeps
//! listens for answers after each DIS, and sleeps until the next one: a parent that is off for a
//! night must not cost the leaf its battery.

use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};

/// Longest delay of the first DIS, so that nodes that are switched on together do not send
/// together.
const FIRST: Duration = Duration::from_secs(1);
/// Time for DIS and answers on a busy channel, in addition to Imin.
const ON_AIR: Duration = Duration::from_millis(500);

/// Intervals of solicitations; each is drawn from its upper half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    shortest: Duration,
    longest: Duration,
    /// True if the intervals go on growing until a parent has acknowledged a frame.
    keeps: bool,
}

impl Pace {
    /// A router receives DIOs at any time. Its DIS resets the Trickle timers of all neighbours.
    pub(crate) const ROUTER: Pace =
        Pace { shortest: Duration::from_secs(4), longest: Duration::from_secs(64), keeps: false };
    /// A leaf that sleeps receives nothing else. It finds a parent that comes back within half a
    /// minute, even if one DIS is lost.
    pub(crate) const LEAF: Pace =
        Pace { shortest: Duration::from_secs(1), longest: Duration::from_secs(15), keeps: true };
}

/// The timer of solicitations.
pub(crate) struct Solicit {
    next: Option<Instant>,
    pause: Duration,
    /// True if a DIS is to be sent.
    pub(crate) due: bool,
    /// End of the time in which the last DIS may be answered.
    answers_until: Option<Instant>,
}

impl Solicit {
    pub(crate) const fn new() -> Self {
        Solicit {
            next: Some(Instant::ZERO),
            pause: Duration::ZERO,
            due: false,
            answers_until: None,
        }
    }

    /// Starts solicitations, the first one at `at`: there is no parent. It comes later if the last
    /// parent was never confirmed: over a link that works in one direction only, a leaf would
    /// otherwise solicit, be answered and lose its parent without a pause.
    pub(crate) fn start(&mut self, at: Instant, pace: Pace) {
        let kept = if pace.keeps { self.pause } else { Duration::ZERO };
        (self.next, self.pause) = (Some(at + kept / 2), kept.max(pace.shortest));
    }

    /// Notes that the parent acknowledges frames: the next search begins with short intervals.
    pub(crate) fn confirm(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// Stops solicitations: there is a parent, whose link may not work in both directions.
    pub(crate) fn stop(&mut self) {
        (self.next, self.due, self.answers_until) = (None, false, None);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(self.next, self.answers_until)
    }

    /// Returns whether the last DIS may still be answered.
    pub(crate) const fn listens(&self) -> bool {
        self.answers_until.is_some()
    }

    /// Notes that a DIS is sent now, which neighbours with this Imin answer.
    pub(crate) fn expect_answers(&mut self, now: Instant, shortest: Duration) {
        let until = now + shortest + ON_AIR;
        self.answers_until = self.answers_until.max(Some(until));
    }

    /// Returns whether a DIS is sent now.
    pub(crate) fn handle_deadline(
        &mut self,
        now: Instant,
        pace: Pace,
        random: &mut Random,
    ) -> bool {
        self.answers_until.take_if(|until| *until <= now);
        if self.next.is_none_or(|at| at > now) {
            return false;
        }
        let pause = if self.pause == Duration::ZERO { FIRST } else { self.pause };
        // The first call only provides the time.
        self.due = self.pause != Duration::ZERO;
        self.next = Some(now + random.between(pause / 2, pause));
        self.pause = if self.due { (pause * 2).min(pace.longest) } else { pace.shortest };
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solicitations_come_soon_and_then_more_seldom_until_there_is_a_parent() {
        for pace in [Pace::ROUTER, Pace::LEAF] {
            let (mut solicit, mut random) = (Solicit::new(), Random::new(1, 1));
            let mut asked = std::vec::Vec::new();
            while asked.len() < 8 {
                let now = solicit.deadline().unwrap();
                if solicit.handle_deadline(now, pace, &mut random) {
                    assert!(core::mem::take(&mut solicit.due));
                    asked.push(now);
                }
            }
            assert!(asked[0] <= Instant::from_secs(1));
            let gap = |n: usize| asked[n + 1] - asked[n];
            assert!(gap(0) <= pace.shortest);
            assert!(gap(6) >= pace.longest / 2 && gap(6) <= pace.longest);
            solicit.stop();
            assert_eq!(solicit.deadline(), None);
            // To a leaf a parent that has acknowledged nothing makes no difference.
            let now = asked[7];
            let mut gaps = |solicit: &mut Solicit| {
                solicit.start(now, pace);
                let first = solicit.deadline().unwrap();
                assert!(solicit.handle_deadline(first, pace, &mut random));
                (first - now, solicit.deadline().unwrap() - first)
            };
            let (first, second) = gaps(&mut solicit);
            if pace.keeps {
                assert!(first == pace.longest / 2 && second >= pace.longest / 2);
            } else {
                assert!(first == Duration::ZERO && second <= pace.shortest);
            }
            solicit.stop();
            solicit.confirm();
            let (first, second) = gaps(&mut solicit);
            assert!(first == Duration::ZERO && second <= pace.shortest);
        }
    }

    #[test]
    fn answers_are_awaited_for_imin_and_the_time_on_the_air() {
        let (mut solicit, mut random) = (Solicit::new(), Random::new(1, 1));
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        solicit.start(at(60_000), Pace::LEAF);
        assert!(!solicit.listens());
        solicit.expect_answers(at(1_000), Duration::from_millis(512));
        solicit.expect_answers(at(1_000), Duration::from_millis(8));
        assert_eq!((solicit.listens(), solicit.deadline()), (true, Some(at(2_012))));
        assert!(!solicit.handle_deadline(at(2_011), Pace::LEAF, &mut random));
        assert!(solicit.listens());
        assert!(!solicit.handle_deadline(at(2_012), Pace::LEAF, &mut random));
        assert_eq!((solicit.listens(), solicit.deadline()), (false, Some(at(60_000))));
        solicit.expect_answers(at(3_000), Duration::ZERO);
        solicit.stop();
        assert!(!solicit.listens());
    }
}
