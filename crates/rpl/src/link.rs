//! What a link costs: expected transmissions, from those that were made.

use crate::objective::{ETX, MAX_LINK_ETX};
use kinglet_time::{Duration, Instant};

/// Of a link over which nothing was sent yet: what Contiki-NG takes.
const UNKNOWN: u16 = 2 * ETX;
/// A frame that was given up counts as so many transmissions (Contiki's `ETX_NOACK_PENALTY`).
const GIVEN_UP: u16 = 10 * ETX;
/// Frames given up, one after the other, until a link counts as dead.
const MAX_FAILURES: u8 = 4;
/// So long a link that takes too many transmissions is remembered as such without new ones.
pub(crate) const REST: Duration = Duration::from_secs(60);
/// So long a dead one is not used; then one more failure is enough.
const DEAD: Duration = Duration::from_secs(15);

/// A link to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    etx: u16,
    failures: u8,
    /// Until when it counts as bad.
    rests: Option<Instant>,
    /// When something was last sent over it.
    pub(crate) sampled: Option<Instant>,
}

impl Link {
    pub(crate) const NEW: Link = Link { etx: UNKNOWN, failures: 0, rests: None, sampled: None };

    /// Expected transmissions in units of 1/128.
    pub(crate) const fn etx(&self) -> u16 {
        self.etx
    }

    /// Whether somebody is at its other end, as far as is known.
    pub(crate) const fn is_usable(&self) -> bool {
        !self.is_dead()
    }

    /// Whether it is as good as that of a parent should be (RFC 6719, 3.2.2).
    pub(crate) const fn is_good(&self) -> bool {
        self.rests.is_none() && self.etx <= MAX_LINK_ETX
    }

    /// Whether so many frames in a row were given up that nobody can be there.
    pub(crate) const fn is_dead(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// A frame took so many transmissions and was acknowledged, or was given up. The newest sample
    /// has a weight of 1/5, as in TinyRPL.
    pub(crate) fn sent(&mut self, now: Instant, transmissions: u8, acked: bool) {
        let sample = match acked {
            true => u16::from(transmissions.max(1)).saturating_mul(ETX).min(GIVEN_UP),
            false => GIVEN_UP,
        };
        let sum = self.etx.saturating_mul(4).saturating_add(sample);
        self.etx = sum / 5;
        self.failures = if acked { 0 } else { self.failures.saturating_add(1) };
        self.sampled = Some(now);
        if self.is_dead() {
            self.rests = Some(now + DEAD);
        } else if self.etx > MAX_LINK_ETX {
            self.rest(now);
        } else if acked {
            self.rests = None;
        }
    }

    /// Counts as bad for a while.
    pub(crate) fn rest(&mut self, now: Instant) {
        self.rests = Some(now + REST);
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.rests
    }

    /// Whether it may be used again as of now.
    pub(crate) fn handle_deadline(&mut self, now: Instant) -> bool {
        let rested = self.rests.take_if(|until| *until <= now).is_some();
        if rested {
            // Nothing is known of it, but that it has failed before.
            self.etx = UNKNOWN;
            self.failures = self.failures.min(MAX_FAILURES.saturating_sub(1));
        }
        rested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_are_averaged_with_a_weight_of_a_fifth() {
        let (mut link, now) = (Link::NEW, Instant::ZERO);
        link.sent(now, 1, true);
        assert_eq!(link.etx(), (4 * 256 + 128) / 5);
        for _ in 0..40 {
            link.sent(now, 1, true);
        }
        assert_eq!(link.etx(), ETX);
        link.sent(now, 3, true);
        assert_eq!(link.etx(), (4 * 128 + 3 * 128) / 5);
    }

    #[test]
    fn what_is_given_up_takes_the_link_out_of_use_and_time_brings_it_back_on_trial() {
        let (mut link, now) = (Link::NEW, Instant::ZERO);
        (0..40).for_each(|_| link.sent(now, 1, true));
        link.sent(now, 4, false);
        assert!(link.is_good());
        link.sent(now, 4, false);
        assert!(!link.is_good() && link.is_usable());
        link.sent(now, 4, false);
        link.sent(now, 4, false);
        assert!(link.is_dead());
        assert!(!link.is_usable() && !link.handle_deadline(now));
        assert!(link.handle_deadline(now + DEAD) && link.is_usable() && link.is_good());
        assert_eq!(link.deadline(), None);
        link.sent(now + DEAD, 4, false);
        assert!(link.is_dead() && !link.is_usable());
    }
}
