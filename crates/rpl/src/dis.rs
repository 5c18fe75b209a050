//! Solicitation of DIOs (RFC 6550, 8.4) without a parent, at growing intervals.

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Longest delay of the first DIS, so that nodes that are switched on together do not send
/// together.
const FIRST: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_secs(4);
const LONGEST: Duration = Duration::from_secs(64);

/// The timer of solicitations.
pub(crate) struct Solicit {
    next: Option<Instant>,
    pause: Duration,
    /// True if a DIS is to be sent.
    pub(crate) due: bool,
}

impl Solicit {
    pub(crate) const fn new() -> Self {
        Solicit { next: Some(Instant::ZERO), pause: Duration::ZERO, due: false }
    }

    /// Starts solicitations, the first one at `at`: there is no parent.
    pub(crate) fn start(&mut self, at: Instant) {
        (self.next, self.pause) = (Some(at), SHORTEST);
    }

    /// Stops solicitations: there is a parent.
    pub(crate) fn stop(&mut self) {
        (self.next, self.due) = (None, false);
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        if self.next.is_none_or(|at| at > now) {
            return;
        }
        let pause = if self.pause == Duration::ZERO { FIRST } else { self.pause };
        // The first call only provides the time.
        self.due = self.pause != Duration::ZERO;
        self.next = Some(now + random.between(pause / 2, pause));
        self.pause = if self.due { (pause * 2).min(LONGEST) } else { SHORTEST };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solicitations_come_soon_and_then_more_seldom_until_there_is_a_parent() {
        let (mut solicit, mut random) = (Solicit::new(), Random::new(1, 1));
        let mut asked = std::vec::Vec::new();
        while asked.len() < 8 {
            let now = solicit.deadline().unwrap();
            solicit.handle_deadline(now, &mut random);
            if core::mem::take(&mut solicit.due) {
                asked.push(now);
            }
        }
        assert!(asked[0] <= Instant::from_secs(1));
        let gap = |n: usize| asked[n + 1] - asked[n];
        assert!(gap(0) <= SHORTEST && gap(6) >= LONGEST / 2 && gap(6) <= LONGEST);
        solicit.stop();
        assert_eq!(solicit.deadline(), None);
    }
}
