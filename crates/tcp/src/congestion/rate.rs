//! Congestion window from rate samples: the octets that the path delivers in its shortest round
//! trip, and some more, so that a higher rate is detected (BBR, draft-ietf-ccwg-bbr, without its
//! pacing and its phases).

use super::round::Round;
use super::{Acked, Controller};

/// cwnd = gain × highest rate of the last rounds × shortest round trip. A loss that is repaired
/// changes nothing, as it does not indicate the rate; a timeout leaves a window of one segment,
/// which grows again with acknowledgments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSampled {
    cwnd: u32,
    mss: u32,
    round: Round,
    /// Highest rates of the present group of rounds and of the one before, in octets a second.
    highest: [u32; 2],
    /// Rounds in the present group.
    rounds: u8,
    /// In quarters.
    gain: u8,
}

/// Rounds in a group; the highest rate of a group is remembered for as many more.
const ROUNDS: u8 = 8;
/// In quarters. BBR has twice the product, for receivers that delay acknowledgments.
const GAIN: u8 = 6;
/// Segments that may always be in flight: with one, a higher rate could not be detected.
const LEAST: u32 = 2;

impl RateSampled {
    /// Sets the octets that may be in flight, in quarters of the bandwidth-delay product; default
    /// 6.
    pub const fn set_gain(&mut self, quarters: u8) {
        self.gain = quarters;
    }

    /// Returns the bound on the octets in flight; none before the first rate sample.
    fn most(&self) -> u32 {
        let [now, before] = self.highest;
        match now.max(before) {
            0 => u32::MAX,
            rate => {
                let product = self.round.product(rate);
                let most = (product / 4).saturating_mul(u32::from(self.gain));
                most.max(self.mss.saturating_mul(LEAST))
            }
        }
    }

    fn take(&mut self, rate: u32, limited: bool) {
        let [now, before] = &mut self.highest;
        // Of a sender that had nothing to send, only a higher rate counts.
        if !limited && rate <= *now.max(before) {
            return;
        }
        if self.rounds >= ROUNDS {
            (*before, *now, self.rounds) = (*now, 0, 0);
        }
        *now = rate.max(*now);
        self.rounds = self.rounds.saturating_add(1);
    }
}

impl Controller for RateSampled {
    fn new(mss: u32, initial_window: u32) -> Self {
        let (round, highest) = (Round::NONE, [0; 2]);
        RateSampled { cwnd: initial_window, mss, round, highest, rounds: 0, gain: GAIN }
    }

    fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
        self.cwnd = self.cwnd.max(mss);
    }

    fn window(&self) -> u32 {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> u32 {
        self.most()
    }

    fn on_ack(&mut self, acked: Acked) {
        if let Some(rate) = self.round.on_ack(&acked) {
            self.take(rate, acked.limited);
        }
        let grown = match acked.limited {
            true => self.cwnd.saturating_add(acked.octets.min(self.mss.saturating_mul(2))),
            false => self.cwnd,
        };
        self.cwnd = grown.min(self.most()).max(self.mss);
    }

    fn on_loss(&mut self, _: u32) {
        self.cwnd = self.cwnd.min(self.most());
        self.round.interrupt();
    }

    fn on_mark(&mut self, flight: u32) {
        self.cwnd = (flight.min(self.cwnd) / 2).max(self.mss);
    }

    fn on_recovered(&mut self, flight: u32) {
        self.cwnd = self.cwnd.min(flight.max(self.mss).saturating_add(self.mss));
    }

    fn on_timeout(&mut self, _: u32, _: bool) {
        self.cwnd = self.mss;
        self.round.interrupt();
    }

    fn on_spurious(&mut self, window: u32, _: u32) {
        self.cwnd = self.cwnd.max(window.min(self.most()));
    }

    fn on_idle(&mut self) {
        self.cwnd = self.cwnd.min(self.mss.saturating_mul(LEAST));
        self.round.interrupt();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::steady;
    use super::*;

    #[test]
    fn the_window_is_so_much_of_what_the_path_holds() {
        let mut cc = RateSampled::new(100, 400);
        // 400 octets every 100 ms.
        steady(&mut cc, 40, 25, 100, 100);
        assert_eq!(cc.window(), 600);
        cc.set_gain(8);
        steady(&mut cc, 40, 25, 100, 100);
        assert_eq!(cc.window(), 800);
        cc.on_loss(800);
        cc.on_recovered(800);
        assert_eq!(cc.window(), 800, "a loss says nothing of the rate");
    }

    #[test]
    fn a_path_that_holds_less_than_two_segments_has_two() {
        let mut cc = RateSampled::new(100, 100);
        steady(&mut cc, 40, 50, 50, 100);
        assert_eq!(cc.window(), 200);
    }

    #[test]
    fn after_a_timeout_there_is_one_segment_and_then_what_the_path_holds() {
        let mut cc = RateSampled::new(100, 400);
        steady(&mut cc, 40, 25, 100, 100);
        cc.on_timeout(400, true);
        assert_eq!(cc.window(), 100);
        // Round trips during losses are longer and do not count.
        steady(&mut cc, 8, 25, 300, 100);
        assert_eq!(cc.window(), 600);
    }

    #[test]
    fn a_rate_that_is_gone_is_forgotten_after_sixteen_rounds() {
        let mut cc = RateSampled::new(100, 800);
        steady(&mut cc, 40, 10, 80, 100);
        let fast = cc.window();
        steady(&mut cc, 200, 40, 80, 100);
        assert!(cc.window() < fast / 2, "{} after {fast}", cc.window());
    }

    #[test]
    fn the_highest_rate_counts_for_as_long_as_it_is_remembered() {
        let mut cc = RateSampled::new(100, 400);
        steady(&mut cc, 200, 25, 100, 100);
        let most = cc.slow_start_threshold();
        assert_eq!(most, 600);
        // The rate falls to a half: the first lower samples are among the last sixteen rounds.
        cc.rounds = ROUNDS;
        cc.take(2_000, true);
        assert_eq!((cc.highest, cc.slow_start_threshold()), ([2_000, 4_000], most));
        for _ in 1..ROUNDS {
            cc.take(2_000, true);
        }
        assert_eq!(cc.slow_start_threshold(), most);
        cc.take(2_000, true);
        assert_eq!(cc.slow_start_threshold(), most / 2);
        // It rises again: the highest one is that of the present rounds.
        cc.take(8_000, true);
        assert_eq!(cc.slow_start_threshold(), most * 2);
    }

    #[test]
    fn extremes_do_no_harm() {
        let mut cc = RateSampled::new(0, 0);
        cc.on_loss(0);
        steady(&mut cc, 4, 0, 0, u32::MAX);
        cc.on_mark(u32::MAX);
    }
}
