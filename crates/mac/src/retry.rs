//! The delay between link retries.
//!
//! A fixed maximum delay d (TCPlp §7.1) costs time wherever there are no hidden terminals. The
//! adaptive delay follows the purpose of d: two nodes that cannot receive each other and have
//! collided collide again if both retransmit at once. So d is too short if *retransmissions* fail
//! more often than first transmissions, which also fail because of noise and load; otherwise it may
//! be shorter. Links with a weak signal do not count: they have most of the retransmissions and few
//! of the first transmissions, at any d.

use kinglet_time::Duration;

/// Number of steps from no delay to the longest, and its logarithm.
const STEPS: i32 = 1 << LOG_STEPS;
const LOG_STEPS: u32 = 14;
/// Number of steps for each 1/255 by which a retransmission fails more or less than expected. One
/// failure adds 1/32 of the longest delay or less, so 32 failures or more reach the longest delay.
const GAIN: i32 = 4;
/// 1/2, in 1/255. Two nodes that cannot receive each other and retransmit at once collide nearly
/// always. Two in range of each other that have collided retransmit at the same time with
/// probability 1/8, because the backoff has 8 slots. In a chain of relays every third node sends at
/// the same time, and a retransmission collides with another frame of the same transfer more often
/// than that. There a longer wait costs more than another attempt.
const LEAST_EXPECTED: i32 = 128;
/// The sensitivity that the standard requires of every receiver (IEEE 802.15.4-2006, 6.5.3.3).
/// Below it, noise explains a loss.
pub(crate) const STRONG_DBM: i8 = -85;

/// Fraction of the longest delay that is in force.
#[derive(Clone, Copy)]
pub(crate) struct Adaptation {
    /// The delay in steps, 0 to [`STEPS`].
    steps: u16,
    /// Fraction of first transmissions that fail, in 1/255; the newest has weight 1/16.
    first: u8,
}

impl Adaptation {
    pub(crate) const NONE: Adaptation = Adaptation { steps: 0, first: 0 };

    /// Updates the estimate from the result of a frame's first transmission.
    pub(crate) fn sent(&mut self, acknowledged: bool) {
        let old = i32::from(self.first);
        let change = failure(acknowledged).saturating_sub(old);
        // Rounded away from zero, so that both ends are reached.
        let change = change.saturating_add(15_i32.saturating_mul(change.signum())) / 16;
        self.first = u8::try_from(old.saturating_add(change)).unwrap_or(u8::MAX);
    }

    /// Updates the delay from the result of a retransmission.
    pub(crate) fn repeated(&mut self, acknowledged: bool) {
        let first = i32::from(self.first);
        // An excess of a quarter over the expected failures counts as chance.
        let expected = first.saturating_add(first / 4).max(LEAST_EXPECTED);
        let change = failure(acknowledged).saturating_sub(expected).saturating_mul(GAIN);
        let steps = i32::from(self.steps).saturating_add(change).clamp(0, STEPS);
        self.steps = u16::try_from(steps).unwrap_or(u16::MAX);
    }

    /// Returns the delay in force, for this longest delay.
    pub(crate) fn of(self, longest: Duration) -> Duration {
        let micros = longest.as_micros().saturating_mul(u64::from(self.steps));
        Duration::from_micros(micros >> LOG_STEPS)
    }
}

/// Returns the least d of a retransmission that at most `left` more can follow, for this longest
/// delay: four times as long for the last one, and half of that for the one before. A discarded
/// frame wastes the transmissions of all previous hops, for whatever reason it fails, and the
/// interference may last for longer than a frame.
pub(crate) fn before_loss(longest: Duration, left: u8) -> Duration {
    let last = longest.as_micros().saturating_mul(4);
    Duration::from_micros(last.checked_shr(left.into()).unwrap_or(0))
}

/// Returns the failure as a fraction in 1/255.
const fn failure(acknowledged: bool) -> i32 {
    if acknowledged { 0 } else { 255 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(40);

    /// Returns the delay after a thousand frames whose first transmission fails `first` times in a
    /// hundred and whose retransmissions fail `second` times.
    fn after(first: u32, second: u32) -> Duration {
        let mut adaptation = Adaptation::NONE;
        for n in 0..1_000u32 {
            // 37 has no factor in common with 100: every hundredth occurs once, well mixed.
            let dice = n * 37 % 100;
            adaptation.sent(dice >= first);
            if dice < first {
                adaptation.repeated((n / 100 * 37 + n) * 61 % 100 >= second);
            }
        }
        adaptation.of(LONGEST)
    }

    #[test]
    fn repetitions_that_fail_more_often_than_first_transmissions_make_it_long() {
        assert!(after(20, 80) > LONGEST * 9 / 10, "{:?}", after(20, 80));
        assert!(after(5, 80) > LONGEST * 9 / 10, "{:?}", after(5, 80));
        assert!(after(60, 90) > LONGEST * 9 / 10, "{:?}", after(60, 90));
    }

    #[test]
    fn noise_and_collisions_with_others_leave_it_short() {
        for (first, second) in [(0, 0), (2, 12), (10, 10), (30, 30), (10, 40), (60, 60), (60, 70)] {
            let d = after(first, second);
            assert!(d < LONGEST / 8, "{first}, {second}: {d:?}");
        }
    }

    #[test]
    fn the_last_repetition_waits_four_times_as_long_and_each_before_it_half_of_that() {
        let d = |left| before_loss(LONGEST, left);
        assert_eq!([0, 1, 2].map(d), [4, 2, 1].map(|times| LONGEST * times));
        assert_eq!([17, 63, 64, 255].map(|left| d(left).as_micros()), [1, 0, 0, 0]);
    }

    #[test]
    fn it_shrinks_again_to_nothing_and_never_exceeds_the_longest() {
        let mut adaptation = Adaptation::NONE;
        (0..200).for_each(|_| adaptation.repeated(false));
        assert_eq!(adaptation.of(LONGEST), LONGEST);
        (0..200).for_each(|_| adaptation.repeated(true));
        assert_eq!(adaptation.of(LONGEST), Duration::ZERO);
        (0..200).for_each(|_| adaptation.sent(false));
        assert_eq!(adaptation.first, 255);
        (0..200).for_each(|_| adaptation.sent(true));
        assert_eq!(adaptation.first, 0);
    }
}
