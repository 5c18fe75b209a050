//! The listening times of neighbours: a parent's end of coordinated sampled listening (see
//! `csl.rs`).
//!
//! A leaf listens long enough for the drift between two clocks of the accuracy that it assumes.
//! Unacknowledged frames at samples indicate that the clocks are less accurate. The parent then
//! tries other rates of the leaf's clock in addition to the expected one, a rate at each sample,
//! and keeps the one at which the leaf acknowledges. A leaf that acknowledges at none of them gets
//! few frames after each synchronisation; the other frames are sent when it polls.

use crate::csl::AHEAD;
use crate::rhythm::next_after;
use crate::sleepers::Schedule;
use kinglet_time::{Duration, Instant};

/// Time without a frame from the leaf after which it no longer samples (OpenThread's CSL timeout,
/// `mac.hpp`).
const TIMEOUT: Duration = Duration::from_secs(100);

/// Distance between two rates that are tried, in parts per million. A leaf that allows for 40, the
/// default, acknowledges at one of two neighbouring rates.
const STEP_PPM: i16 = 60;
/// Number of frames at the expected rate before others are tried, because frames also get lost.
const AT_FIRST: u8 = 4;
/// Number of frames at other rates, and at the expected one in between: the rates on either side
/// extend to 480, for two clocks of 250 parts per million.
const SEARCH: u8 = 3 * 8;
/// Number of unacknowledged frames after which samples are not used: two searches, because an
/// acknowledgement gets lost too.
const MAX_UNANSWERED: u8 = AT_FIRST + 2 * SEARCH;
/// Number of frames after each later synchronisation.
const AFTERWARDS: u8 = 3;
/// Least distance between the samples of two rates at which an acknowledgement distinguishes them:
/// shortly after a synchronisation a leaf acknowledges at all of them.
const APART: Duration = Duration::from_micros(200);

/// Sampling schedule of a neighbour, if it has announced one.
#[derive(Clone, Copy, Debug)]
pub struct Samples(Option<Listener>);

#[derive(Clone, Copy, Debug)]
struct Listener {
    /// Time of the announcement.
    heard: Instant,
    /// The next sample, if both clocks run at the same rate.
    sample: Instant,
    period: Duration,
    /// True if a frame for the next sample was requested from the user.
    asked: bool,
    /// True if that request still has to be reported to the user.
    due: bool,
    /// Number of unacknowledged frames since an acknowledgement at the expected rate, or since the
    /// search started again.
    unanswered: u8,
    /// Number of frames until samples are not used.
    left: u8,
    /// The rate at which the leaf has last acknowledged: its clock is slower by this number of
    /// parts per million.
    slower_ppm: i16,
}

impl Schedule for Samples {
    const UNKNOWN: Self = Samples(None);
    const ANY: bool = true;

    fn is_known(&self) -> bool {
        self.0.is_some()
    }

    fn learn(&mut self, now: Instant, sample: Instant, period: Duration) {
        let before = self.0.unwrap_or(Listener {
            heard: now,
            sample,
            period,
            asked: false,
            due: false,
            unanswered: 0,
            left: MAX_UNANSWERED,
            slower_ppm: 0,
        });
        let (asked, due, left) = (false, false, before.left.max(AFTERWARDS));
        self.0 = Some(Listener { heard: now, sample, period, asked, due, left, ..before });
    }

    fn next(&self) -> Option<Instant> {
        self.0.map(Listener::next)
    }

    fn note_sent(&mut self, answered: bool) {
        if let Some(listener) = &mut self.0 {
            listener.note_sent(answered);
        }
    }

    fn take_due(&mut self) -> bool {
        self.0.as_mut().is_some_and(|listener| core::mem::take(&mut listener.due))
    }

    fn deadline(&self) -> Option<Instant> {
        let listener = self.0.filter(Listener::is_reliable)?;
        let sample = listener.next();
        Some(if listener.asked { sample } else { sample - AHEAD })
    }

    fn handle_deadline(&mut self, now: Instant, pending: bool) {
        if self.0.is_some_and(|listener| now - listener.heard > TIMEOUT) {
            self.0 = None;
        }
        if let Some(listener) = self.0.as_mut().filter(|it| pending && it.is_reliable()) {
            listener.handle_deadline(now);
        }
    }
}

impl Listener {
    /// Advances to the sample after `now`, and requests a frame in time.
    fn handle_deadline(&mut self, now: Instant) {
        let passed = self.next();
        if now >= passed {
            // The sample of a fast clock precedes that of this clock, possibly by several periods.
            let ahead = self.sample.checked_since(passed).unwrap_or(Duration::ZERO);
            let after = (now + ahead).max(self.sample) + Duration::from_micros(1);
            self.sample = next_after(self.sample, self.period, after);
            if self.next() <= now {
                // The leaf's clock has gained so much since the last sample that this one has
                // passed too.
                self.sample += self.period;
            }
            self.asked = false;
            self.due = false;
        }
        if !self.asked && now >= self.next() - AHEAD {
            self.asked = true;
            self.due = true;
        }
    }

    const fn is_reliable(&self) -> bool {
        self.left > 0
    }

    fn note_sent(&mut self, answered: bool) {
        if !answered {
            let next = self.unanswered.saturating_add(1);
            self.unanswered = if next < AT_FIRST + SEARCH { next } else { AT_FIRST };
            self.left = self.left.saturating_sub(1);
            return;
        }
        self.left = MAX_UNANSWERED;
        let deviation = self.deviation_ppm();
        if deviation == 0 || self.apart(deviation) >= APART {
            self.slower_ppm = self.slower_ppm.saturating_add(deviation);
            self.unanswered = 0;
        }
    }

    /// Returns the next sample at the rate to be tried.
    fn next(self) -> Instant {
        let ppm = self.slower_ppm.saturating_add(self.deviation_ppm());
        let apart = self.apart(ppm);
        if ppm < 0 { self.sample - apart } else { self.sample + apart }
    }

    /// Returns the offset at the next sample between two clocks whose rates differ by `ppm` parts
    /// per million.
    fn apart(&self, ppm: i16) -> Duration {
        let age = self.sample.checked_since(self.heard).unwrap_or(Duration::ZERO);
        let apart = age.as_micros().saturating_mul(ppm.unsigned_abs().into()) / 1_000_000;
        Duration::from_micros(apart)
    }

    /// Returns the distance of the rate to be tried from the expected one: zero at first, then
    /// growing distances on both sides, with zero in between.
    const fn deviation_ppm(&self) -> i16 {
        let Some(after) = self.unanswered.checked_sub(AT_FIRST) else { return 0 };
        let steps = (after / 3).saturating_add(1) as i16;
        let distance = STEP_PPM.saturating_mul(steps);
        match after % 3 {
            0 => distance,
            1 => distance.saturating_neg(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(1);
    const SYNCED: Instant = Instant::from_secs(1_000);

    /// A parent with a pending frame for a leaf whose clock is slower by `slower_ppm` parts per
    /// million.
    struct Parent {
        samples: Samples,
        slower_ppm: i64,
        synced: Instant,
        now: Instant,
    }

    impl Parent {
        fn new(slower_ppm: i64) -> Self {
            let mut parent =
                Parent { samples: Samples(None), slower_ppm, synced: SYNCED, now: SYNCED };
            parent.learn(SYNCED);
            parent
        }

        /// Handles a synchronisation of the leaf.
        fn learn(&mut self, now: Instant) {
            self.samples.learn(now, now + PERIOD / 2, PERIOD);
            (self.synced, self.now) = (now, now);
        }

        /// Returns the time of the next frame, if one is to be sent before `end`.
        fn next(&mut self, end: Instant) -> Option<Instant> {
            while let Some(at) = self.samples.deadline().filter(|&at| at < end) {
                self.now = self.now.max(at);
                self.samples.handle_deadline(self.now, true);
                if self.samples.take_due() {
                    let sample = self.samples.next()?;
                    assert!(sample >= self.now && sample - self.now <= AHEAD);
                    return Some(sample);
                }
            }
            None
        }

        /// Returns whether the leaf listens at this time, if it allows for 40 parts per million.
        fn listens(&self, at: Instant) -> bool {
            let age = (at - self.synced).as_micros() as i64;
            let guard = 32 + age * 40 / 1_000_000;
            // The leaf's own samples, on this clock.
            let first = PERIOD.as_micros() as i64 / 2;
            let period = PERIOD.as_micros() as i64;
            let leafs = age - age * self.slower_ppm / 1_000_000;
            let off = (leafs - first + period / 2).rem_euclid(period) - period / 2;
            off.abs() <= guard
        }

        /// Sends frames until one is acknowledged, and returns their number.
        fn frames_until_answered(&mut self) -> Option<usize> {
            (1..).find_map(|count| {
                let Some(at) = self.next(self.synced + PERIOD * 50) else { return Some(None) };
                let answered = self.listens(at);
                self.samples.note_sent(answered);
                answered.then_some(Some(count))
            })?
        }
    }

    #[test]
    fn a_leaf_is_found_whose_clock_is_less_exact_than_it_takes_it_to_be() {
        for slower_ppm in -500..=500_i64 {
            let mut parent = Parent::new(slower_ppm);
            // While the guard time is only a symbol for each end, the leaf acknowledges at any
            // rate.
            parent.now = SYNCED + PERIOD * 5;
            let frames = parent.frames_until_answered().expect("it is found");
            let steps = (slower_ppm.unsigned_abs() as usize).saturating_sub(36).div_ceil(60);
            assert!(frames <= 4 + 3 * steps, "{slower_ppm}: {frames}");
            assert!(frames == 1 || slower_ppm.abs() > 40, "{slower_ppm}: {frames}");
            assert!(frames > 1 || slower_ppm.abs() < 50, "{slower_ppm}: {frames}");
            for round in 1..10 {
                if round % 3 == 0 {
                    parent.learn(SYNCED + PERIOD * 40 * round);
                }
                parent.now += PERIOD * 4;
                let again = parent.frames_until_answered().expect("its rate is known");
                assert!(again <= 7, "{slower_ppm} {round}: {again}");
            }
        }
    }

    #[test]
    fn a_leaf_that_answers_at_no_sample_is_sent_few_frames_after_each_synchronisation() {
        let mut parent = Parent::new(0);
        parent.slower_ppm = 5_000;
        parent.now = SYNCED + PERIOD * 5;
        let unanswered = |parent: &mut Parent| {
            let mut count = 0;
            while parent.next(parent.synced + PERIOD * 99).is_some() {
                parent.samples.note_sent(false);
                count += 1;
            }
            count
        };
        assert_eq!(unanswered(&mut parent), usize::from(MAX_UNANSWERED));
        assert_eq!(parent.samples.deadline(), None);
        for round in 1..4 {
            parent.learn(SYNCED + PERIOD * 60 * round);
            assert_eq!(unanswered(&mut parent), usize::from(AFTERWARDS));
        }
        parent.slower_ppm = 0;
        let found = (6..60).find(|&round| {
            parent.learn(SYNCED + PERIOD * 60 * round);
            parent.now += PERIOD * 20;
            parent.frames_until_answered().is_some()
        });
        assert!(found.is_some_and(|round| round < 10), "each frame tries another rate: {found:?}");
        parent.slower_ppm = 5_000;
        assert_eq!(unanswered(&mut parent), usize::from(MAX_UNANSWERED));
    }

    #[test]
    fn rates_are_tried_at_growing_distances_and_the_expected_one_between() {
        let mut listener = Parent::new(0).samples.0.expect("it is known");
        let tried: [i16; 12] = core::array::from_fn(|_| {
            let deviation = listener.deviation_ppm();
            listener.note_sent(false);
            deviation
        });
        assert_eq!(tried, [0, 0, 0, 0, 60, -60, 0, 120, -120, 0, 180, -180]);
        (12..AT_FIRST + SEARCH - 2).for_each(|_| listener.note_sent(false));
        assert_eq!(listener.deviation_ppm(), -480);
        (0..2).for_each(|_| listener.note_sent(false));
        assert_eq!(listener.deviation_ppm(), 60, "from the beginning");
    }

    #[test]
    fn the_next_sample_of_a_fast_clock_is_to_come_however_short_the_period_is() {
        let mut listener = Parent::new(0).samples.0.expect("it is known");
        (listener.period, listener.slower_ppm) = (Duration::from_millis(10), -480);
        for ms in (500..60_000).step_by(97) {
            let now = SYNCED + Duration::from_millis(ms);
            listener.handle_deadline(now);
            let ahead = listener.next().checked_since(now).expect("it is to come");
            assert!(ahead <= listener.period, "{ms}: {ahead:?}");
        }
    }

    #[test]
    fn an_answer_shortly_after_a_synchronisation_shows_no_rate() {
        let mut listener = Parent::new(0).samples.0.expect("it is known");
        listener.unanswered = AT_FIRST;
        for (ms, ppm) in [(3_333, 0), (3_334, 60)] {
            listener.sample = SYNCED + Duration::from_millis(ms);
            listener.note_sent(true);
            assert_eq!(listener.slower_ppm, ppm, "after {ms} ms");
            assert_eq!(listener.next(), listener.sample + APART.min(listener.apart(60)));
        }
        assert_eq!(listener.unanswered, 0);
    }
}
