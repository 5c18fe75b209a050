//! Westwood+ (Mascolo, Grieco, "Performance Evaluation and Comparison of Westwood+, New Reno, and
//! Vegas TCP", 2004): after a loss the window is the measured capacity of the path, and not half of
//! the data in flight.

use super::round::Round;
use super::{Acked, Controller, NewReno};

/// New Reno whose threshold after a loss is the estimated bandwidth times the shortest round trip.
/// The estimate is the rate of rounds, filtered twice with a weight of 1/8 as in Linux
/// (tcp_westwood.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Westwood {
    reno: NewReno,
    round: Round,
    /// Filtered once, in octets a second; 0 before the first round.
    once: u32,
    /// BWE: filtered twice.
    estimate: u32,
}

/// Returns the average with a weight of 1/8 for `new`.
fn filter(old: u32, new: u32) -> u32 {
    old.saturating_sub(old / 8).saturating_add(new / 8)
}

impl Westwood {
    /// Sets ssthresh after a loss; without an estimate, that of New Reno stays.
    fn set_threshold(&mut self) {
        if self.estimate > 0 {
            let product = self.round.product(self.estimate);
            self.reno.set_threshold(product);
        }
    }
}

impl Controller for Westwood {
    fn new(mss: u32, initial_window: u32) -> Self {
        let reno = NewReno::new(mss, initial_window);
        Westwood { reno, round: Round::NONE, once: 0, estimate: 0 }
    }

    fn set_mss(&mut self, mss: u32) {
        self.reno.set_mss(mss);
    }

    fn window(&self) -> u32 {
        self.reno.window()
    }

    fn slow_start_threshold(&self) -> u32 {
        self.reno.slow_start_threshold()
    }

    fn on_ack(&mut self, acked: Acked) {
        if let Some(rate) = self.round.on_ack(&acked) {
            let first = self.estimate == 0;
            self.once = if first { rate } else { filter(self.once, rate) };
            self.estimate = if first { rate } else { filter(self.estimate, self.once) };
        }
        self.reno.on_ack(acked);
    }

    fn on_loss(&mut self, flight: u32) {
        self.reno.on_loss(flight);
        self.set_threshold();
        self.reno.begin_at_threshold();
        self.round.interrupt();
    }

    fn on_mark(&mut self, flight: u32) {
        self.reno.on_mark(flight);
    }

    fn on_recovered(&mut self, flight: u32) {
        self.reno.on_recovered(flight);
    }

    fn on_timeout(&mut self, flight: u32, first: bool) {
        self.reno.on_timeout(flight, first);
        if first {
            self.set_threshold();
            self.round.interrupt();
        }
    }

    fn on_spurious(&mut self, window: u32, threshold: u32) {
        self.reno.on_spurious(window, threshold);
    }

    fn on_idle(&mut self) {
        self.reno.on_idle();
        self.round.interrupt();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::steady;
    use super::*;

    #[test]
    fn after_a_loss_the_window_is_what_the_path_carries() {
        let mut cc = Westwood::new(100, 400);
        // 400 octets every 100 ms.
        steady(&mut cc, 40, 25, 100, 100);
        cc.on_loss(1_200);
        assert!((380..=400).contains(&cc.window()), "{}", cc.window());
        assert_eq!(cc.window(), cc.slow_start_threshold());
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_the_same_threshold() {
        let mut cc = Westwood::new(100, 400);
        steady(&mut cc, 40, 25, 100, 100);
        cc.on_timeout(1_200, true);
        assert_eq!(cc.window(), 100);
        let threshold = cc.slow_start_threshold();
        assert!((380..=400).contains(&threshold), "{threshold}");
        cc.on_timeout(100, false);
        assert_eq!(cc.slow_start_threshold(), threshold);
    }

    #[test]
    fn before_anything_is_known_it_is_new_reno() {
        let mut cc = Westwood::new(100, 400);
        cc.on_loss(1_000);
        assert_eq!(cc.window(), 500);
    }

    #[test]
    fn two_segments_are_the_least_threshold() {
        let mut cc = Westwood::new(100, 400);
        steady(&mut cc, 40, 1_000, 100, 10);
        cc.on_loss(800);
        assert_eq!(cc.window(), 200);
    }
}
