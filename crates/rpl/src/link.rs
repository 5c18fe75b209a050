//! Link cost: expected transmissions, from those that were made.

use crate::objective::{ETX, MAX_LINK_ETX};
use kinglet_time::{Duration, Instant};

/// Margins above noise in dB, for an unprobed link that is expected to take four, two and one
/// transmissions: Thread's link costs (OpenThread's `link_quality.hpp`). A weaker link is expected
/// to fail.
const THRESHOLDS_DB: [(i16, u16); 3] = [(20, ETX), (10, 2 * ETX), (2, 4 * ETX)];
/// Weight of the expected value, in samples.
const EXPECTATION: u16 = 4;
/// Transmissions that a frame which was given up counts for (Contiki's `ETX_NOACK_PENALTY`).
const GIVEN_UP: u16 = 10 * ETX;
/// Frames given up, one after the other, until a link counts as dead.
pub(crate) const MAX_FAILURES: u8 = 4;
/// Window of the average: the newest sample has one part in this many of the weight; fewer samples
/// all have the same weight.
const WINDOW: u16 = 16;
/// If samples are frequent, those within this time count, but at most `LONGEST_WINDOW`: otherwise a
/// router with fifty frames a second would rate a link by a third of a second, and all nodes below
/// it would change their parents for a state that is over by then.
const REMEMBERED: Duration = Duration::from_secs(32);
const LONGEST_WINDOW: u16 = 1024;
/// Parts of [`ETX`]'s units in which an estimate is counted, as it changes by less than a unit.
const FINE: u32 = 256;
/// Time for which a link that takes too many transmissions counts as bad without new ones: as long
/// as Contiki-NG trusts its counts (`FRESHNESS_EXPIRATION_TIME`).
pub(crate) const SUSPENSION: Duration = Duration::from_secs(600);
/// Time for which a dead link is not used; then one more failure is enough.
const DEAD: Duration = Duration::from_secs(15);

/// A link to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// In units of 1/128 and [`FINE`].
    etx: u32,
    /// Expected value, from the power at which the neighbour is received.
    expected: u16,
    /// Samples in the estimate.
    samples: u16,
    failures: u8,
    /// Until this time the link counts as bad.
    suspended_until: Option<Instant>,
    /// Time of the last frame over it.
    pub(crate) sampled: Option<Instant>,
}

impl Link {
    /// Creates a link to a neighbour that is received with this margin above noise.
    pub(crate) fn new(margin_db: i16) -> Self {
        let expected = expected(margin_db);
        let (samples, failures) = (EXPECTATION, 0);
        Link {
            etx: fine(expected),
            expected,
            samples,
            failures,
            suspended_until: None,
            sampled: None,
        }
    }

    /// Returns the expected transmissions in units of 1/128.
    pub(crate) const fn etx(&self) -> u16 {
        (self.etx / FINE) as u16
    }

    /// Returns whether a neighbour is at its other end, as far as is known.
    pub(crate) const fn is_usable(&self) -> bool {
        !self.is_dead()
    }

    /// Returns whether the link is unprobed: only the neighbour's received power is known.
    pub(crate) const fn is_untried(&self) -> bool {
        self.sampled.is_none()
    }

    /// Returns whether it is as good as that of a parent should be (RFC 6719, 3.2.2).
    pub(crate) const fn is_good(&self) -> bool {
        self.suspended_until.is_none() && self.etx() <= MAX_LINK_ETX
    }

    /// Returns whether it is good, and the last frame over it was acknowledged.
    pub(crate) const fn works(&self) -> bool {
        self.is_good() && self.failures == 0
    }

    /// Returns whether `MAX_FAILURES` frames in a row were given up: no node is at its other end.
    pub(crate) const fn is_dead(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Processes the margin of a frame from the neighbour. The estimate follows at once as long as
    /// the link is unprobed.
    pub(crate) fn heard(&mut self, margin_db: i16) {
        self.expected = expected(margin_db);
        if self.is_untried() {
            self.etx = fine(self.expected);
        }
    }

    /// Processes a frame that was acknowledged after `transmissions` attempts, or was given up.
    pub(crate) fn sent(&mut self, now: Instant, transmissions: u8, acked: bool) {
        let sample = match acked {
            true => u16::from(transmissions.max(1)).saturating_mul(ETX).min(GIVEN_UP),
            false => GIVEN_UP,
        };
        let apart = self.sampled.map_or(REMEMBERED, |before| now - before).as_micros().max(1);
        let within = REMEMBERED.as_micros().checked_div(apart).unwrap_or(0);
        let window = within.clamp(WINDOW.into(), LONGEST_WINDOW.into()) as u16;
        self.samples = self.samples.saturating_add(1).min(window);
        let weight = u32::from(self.samples);
        let sum = self.etx.saturating_mul(weight.saturating_sub(1)).saturating_add(fine(sample));
        self.etx = sum.checked_div(weight).unwrap_or(0);
        self.failures = if acked { 0 } else { self.failures.saturating_add(1) };
        self.sampled = Some(now);
        if self.is_dead() {
            self.suspended_until = Some(now + DEAD);
        } else if self.etx() > MAX_LINK_ETX {
            self.suspend(now);
        } else if acked {
            self.suspended_until = None;
        }
    }

    /// Marks the link as bad for a while.
    pub(crate) fn suspend(&mut self, now: Instant) {
        self.suspended_until = Some(now + SUSPENSION);
    }

    /// Makes a dead link usable, as its neighbour has restarted and the cause of missing
    /// acknowledgements may be over. One more failure ends that.
    pub(crate) fn revive(&mut self) {
        if self.is_dead() {
            self.renew();
            self.suspended_until = None;
        }
    }

    /// Resets the estimate to the expected value, and remembers that the link has failed before.
    fn renew(&mut self) {
        (self.etx, self.samples) = (fine(self.expected), EXPECTATION);
        self.failures = self.failures.min(MAX_FAILURES.saturating_sub(1));
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.suspended_until
    }

    /// Returns whether the link may be used again as of now.
    pub(crate) fn handle_deadline(&mut self, now: Instant) -> bool {
        let resumed = self.suspended_until.take_if(|until| *until <= now).is_some();
        if resumed {
            self.renew();
        }
        resumed
    }
}

const fn fine(etx: u16) -> u32 {
    (etx as u32).saturating_mul(FINE)
}

/// Returns the transmissions expected at this margin above noise.
fn expected(margin_db: i16) -> u16 {
    let enough = THRESHOLDS_DB.iter().find(|(threshold, _)| margin_db > *threshold);
    enough.map_or(GIVEN_UP, |(_, etx)| *etx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_etx_weighs_as_four_samples_and_the_average_spans_sixteen() {
        let (mut link, mut now) = (Link::new(15), Instant::ZERO);
        assert_eq!(link.etx(), 2 * ETX);
        link.sent(now, 1, true);
        assert_eq!(link.etx(), (4 * 256 + 128) / 5);
        for _ in 0..100 {
            now += REMEMBERED / 8;
            link.sent(now, 1, true);
        }
        let calm = link.etx();
        assert!(calm < ETX + ETX / 8, "{calm}");
        link.sent(now + REMEMBERED / 8, 4, true);
        assert_eq!(link.etx(), (15 * calm + 4 * ETX) / 16);
    }

    #[test]
    fn a_busy_link_is_not_judged_by_a_moment() {
        let (mut link, mut now) = (Link::new(30), Instant::ZERO);
        let mut send = |link: &mut Link, count: u32, transmissions| {
            for _ in 0..count {
                now += Duration::from_millis(20);
                link.sent(now, transmissions, true);
            }
            link.etx()
        };
        send(&mut link, 3_000, 1);
        let moment = send(&mut link, 50, 4);
        assert!(moment < ETX + ETX / 4, "a second: {moment}");
        let lasting = send(&mut link, 3_000, 4);
        assert!(lasting > 4 * ETX - ETX / 4, "a minute: {lasting}");
    }

    #[test]
    fn the_signal_level_of_a_neighbour_counts_until_the_first_transmission() {
        let mut link = Link::new(21);
        assert_eq!(link.etx(), ETX);
        link.heard(5);
        assert!(link.etx() == 4 * ETX && link.is_good());
        link.heard(2);
        assert!(!link.is_good() && link.is_usable());
        link.heard(30);
        (0..100).for_each(|_| link.sent(Instant::ZERO, 2, true));
        let known = link.etx();
        assert!(known.abs_diff(2 * ETX) < ETX / 8, "{known}");
        link.heard(5);
        assert_eq!(link.etx(), known);
    }

    #[test]
    fn a_link_is_dead_after_four_failures_and_returns_on_trial() {
        let (mut link, now) = (Link::new(30), Instant::ZERO);
        (0..40).for_each(|_| link.sent(now, 1, true));
        (0..3).for_each(|_| link.sent(now, 4, false));
        assert!(link.is_good() && link.is_usable());
        link.sent(now, 4, false);
        assert!(link.is_dead());
        assert!(!link.is_usable() && !link.handle_deadline(now));
        let mut other = link;
        other.revive();
        assert!(other.is_good() && other.deadline().is_none(), "its neighbour has restarted");
        other.sent(now, 4, false);
        assert!(other.is_dead());
        assert!(link.handle_deadline(now + DEAD) && link.is_usable() && link.is_good());
        assert_eq!(link.deadline(), None);
        link.sent(now + DEAD, 4, false);
        assert!(link.is_dead() && !link.is_usable());
    }

    #[test]
    fn a_link_that_is_not_dead_keeps_its_estimate_when_its_neighbour_restarts() {
        let (mut link, now) = (Link::new(15), Instant::ZERO);
        (0..16).for_each(|_| link.sent(now, 7, true));
        let before = link;
        link.revive();
        assert_eq!(link, before);
    }

    #[test]
    fn a_suspended_link_is_good_again_once_a_frame_is_acknowledged() {
        let (mut link, now) = (Link::new(30), Instant::ZERO);
        (0..40).for_each(|_| link.sent(now, 1, true));
        link.suspend(now);
        link.sent(now, 1, false);
        assert!(link.etx() <= MAX_LINK_ETX && !link.is_good(), "a lost frame ends no suspension");
        link.sent(now, 1, true);
        assert!(link.is_good() && link.deadline().is_none());
    }

    #[test]
    fn a_link_that_takes_too_many_transmissions_is_tried_again_as_if_it_were_new() {
        let (mut link, now) = (Link::new(15), Instant::ZERO);
        (0..16).for_each(|_| link.sent(now, 7, true));
        assert!(!link.is_good() && link.is_usable());
        assert!(!link.handle_deadline(now + SUSPENSION / 2) && !link.is_good());
        assert!(link.handle_deadline(now + SUSPENSION) && link.is_good());
        assert_eq!(link.etx(), 2 * ETX);
    }
}
