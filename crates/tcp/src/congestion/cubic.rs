//! CUBIC (RFC 9438) in integers: octets and milliseconds.
//!
//! C = 0.4 and β = 0.7. Slow start is that of [`super::NewReno`]; HyStart++ (RFC 9406) counts
//! rounds of eight samples, which windows of a few segments do not have. Fast convergence (§4.7) is
//! on. `host/testkit/tests/cubic.rs` compares with the formulas in floating point.
//!
//! Time in which the application limited the sender must not count (§4.2), so it ends the stage.
//! The next one begins from the same window towards the same W_max, which in the concave region is
//! the same curve at the same place; beyond W_max it begins with the plateau.

use super::{Acked, Controller, after_recovery, restart_window, slow_start};
use kinglet_time::Instant;

/// Longest distance from the plateau that is computed, in milliseconds. The cube of 65 s is worth
/// 110,000 segments.
const FARTHEST_MS: u64 = 65_535;
/// 1 / C for times in milliseconds: 10^9 / 0.4.
const INVERSE_C: u64 = 2_500_000_000;

/// RFC 9438. Windows in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubic {
    cwnd: u32,
    ssthresh: u32,
    mss: u32,
    initial_window: u32,
    w_max: u32,
    /// cwnd_prior: before the last reduction.
    prior: u32,
    w_est: u32,
    /// Octets acknowledged that are not in `w_est` yet.
    credit: u32,
    /// K
    k_ms: u32,
    /// t_epoch; `None` until a stage of congestion avoidance begins.
    epoch: Option<Instant>,
}

impl Cubic {
    /// β of `window` (§4.6).
    fn beta(window: u32) -> u32 {
        (window / 10).saturating_mul(7).saturating_add((window % 10).saturating_mul(7) / 10)
    }

    fn begin_stage(&mut self, now: Instant) -> Instant {
        self.w_max = self.w_max.max(self.cwnd);
        let missing = u64::from(self.w_max.saturating_sub(self.cwnd)).saturating_mul(INVERSE_C);
        // Figure 2.
        self.k_ms = cube_root(missing.checked_div(u64::from(self.mss)).unwrap_or(0));
        self.w_est = self.cwnd;
        self.credit = 0;
        self.epoch = Some(now);
        now
    }

    /// Figure 1.
    fn w_cubic(&self, t_ms: u64) -> u32 {
        let k = u64::from(self.k_ms);
        let far = t_ms.abs_diff(k).min(FARTHEST_MS);
        // 48 bits and 16.
        let cube = far.saturating_mul(far).saturating_mul(far);
        let by = cube.saturating_mul(u64::from(self.mss)) / INVERSE_C;
        let by = u32::try_from(by).unwrap_or(u32::MAX);
        if t_ms < k { self.w_max.saturating_sub(by) } else { self.w_max.saturating_add(by) }
    }

    /// Figure 4: α = 3·(1 − β) / (1 + β) = 9/17, and 1 from the prior window on. Computed twice per
    /// window, so that rounding errors do not add up.
    fn estimate_reno(&mut self, octets: u32) {
        self.credit = self.credit.saturating_add(octets);
        if self.credit < self.cwnd / 2 {
            return;
        }
        let octets = core::mem::take(&mut self.credit);
        let (alpha, of) = if self.w_est < self.prior { (9, 17) } else { (1, 1) };
        let share = u64::from(self.mss).saturating_mul(u64::from(octets)).saturating_mul(alpha);
        let whole = u64::from(self.cwnd).saturating_mul(of);
        let more = share.checked_div(whole).unwrap_or(0);
        self.w_est = self.w_est.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
    }

    fn avoid_congestion(&mut self, acked: Acked) {
        let since = self.epoch.unwrap_or_else(|| self.begin_stage(acked.now));
        let t = (acked.now - since).as_millis();
        self.estimate_reno(acked.octets);
        if self.w_cubic(t) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
            return;
        }
        let most = self.cwnd.saturating_add(self.cwnd / 2);
        let target = self.w_cubic(t.saturating_add(acked.srtt.as_millis())).clamp(self.cwnd, most);
        let missing = u64::from(target.saturating_sub(self.cwnd));
        let share = missing.saturating_mul(u64::from(acked.octets.min(self.cwnd)));
        // The remainder of the division is part of the next target.
        let more = share.checked_div(u64::from(self.cwnd)).unwrap_or(0);
        self.cwnd = self.cwnd.saturating_add(u32::try_from(more).unwrap_or(0));
    }

    /// §4.6 and §4.7; `least` bounds the window.
    fn reduce(&mut self, flight: u32, least: u32) {
        self.w_max = if self.cwnd < self.w_max {
            // (1 + β) / 2
            (self.cwnd / 20).saturating_mul(17)
        } else {
            self.cwnd
        };
        self.prior = self.cwnd;
        self.ssthresh = Self::beta(flight).max(self.mss.saturating_mul(2));
        self.cwnd = Self::beta(flight).max(least);
        self.epoch = None;
    }
}

impl Controller for Cubic {
    fn new(mss: u32, initial_window: u32) -> Self {
        Cubic {
            cwnd: initial_window,
            ssthresh: u32::MAX,
            mss,
            initial_window,
            w_max: 0,
            prior: 0,
            w_est: 0,
            credit: 0,
            k_ms: 0,
            epoch: None,
        }
    }

    fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
        self.cwnd = self.cwnd.max(mss);
        // K counts in segments.
        self.epoch = None;
    }

    fn window(&self) -> u32 {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> u32 {
        self.ssthresh
    }

    fn on_ack(&mut self, acked: Acked) {
        if !acked.limited {
            self.epoch = None;
        } else if self.cwnd < self.ssthresh {
            self.cwnd = slow_start(self.cwnd, self.mss, acked);
        } else {
            self.avoid_congestion(acked);
        }
    }

    fn on_loss(&mut self, flight: u32) {
        self.reduce(flight, self.mss.saturating_mul(2));
    }

    fn on_mark(&mut self, flight: u32) {
        self.reduce(flight.min(self.cwnd), self.mss);
    }

    fn on_recovered(&mut self, flight: u32) {
        self.cwnd = after_recovery(self.ssthresh, self.mss, flight);
    }

    fn on_timeout(&mut self, flight: u32, first: bool) {
        if first {
            self.reduce(flight, self.mss);
        }
        self.cwnd = self.mss;
        // §4.8: the next stage begins with K = 0 and its own window as W_max.
        self.w_max = 0;
        self.epoch = None;
    }

    fn on_spurious(&mut self, window: u32, threshold: u32) {
        self.cwnd = self.cwnd.max(window);
        self.ssthresh = self.ssthresh.max(threshold);
        self.w_max = self.w_max.max(window);
        self.epoch = None;
    }

    fn on_idle(&mut self) {
        self.cwnd = self.cwnd.min(restart_window(self.initial_window, self.mss, self.ssthresh));
        self.epoch = None;
    }
}

/// The largest number whose cube is at most `x`, up to 2^21 − 1.
fn cube_root(x: u64) -> u32 {
    let mut root: u64 = 0;
    for bit in (0..21_u32).rev() {
        let more = root | 1 << bit;
        if more.saturating_mul(more).saturating_mul(more) <= x {
            root = more;
        }
    }
    u32::try_from(root).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Duration;

    const MSS: u32 = 1000;

    fn acked(now_ms: u64, octets: u32) -> Acked {
        Acked {
            now: Instant::from_millis(now_ms),
            srtt: Duration::from_millis(100),
            rtt: Duration::from_millis(100),
            flight: 0,
            octets,
            limited: true,
            after_timeout: false,
        }
    }

    #[test]
    fn small_windows_grow_like_those_of_reno() {
        let mut cubic = Cubic::new(MSS, 4 * MSS);
        cubic.on_loss(4 * MSS);
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (2800, 2800));
        // 9/17 of a segment for a window acknowledged, up to the prior window.
        for now in 1..=3 {
            cubic.on_ack(acked(now, MSS));
        }
        assert!((3000..3400).contains(&cubic.window()), "{}", cubic.window());
        while cubic.w_est < 4 * MSS {
            cubic.on_ack(acked(4, MSS));
        }
        // Then a whole one: nine segments are two windows.
        let before = cubic.window();
        for now in 5..14 {
            cubic.on_ack(acked(now, MSS));
        }
        let grown = cubic.window() - before;
        assert!((1700..2200).contains(&grown), "{grown}");
    }

    #[test]
    fn a_window_that_shrinks_releases_more() {
        let mut cubic = Cubic::new(MSS, 100 * MSS);
        cubic.on_loss(100 * MSS);
        assert_eq!(cubic.w_max, 100 * MSS);
        cubic.on_loss(70 * MSS);
        assert_eq!((cubic.w_max, cubic.window()), (70_000 * 17 / 20, 49_000));
    }

    #[test]
    fn time_without_a_reason_to_grow_does_not_count() {
        let mut cubic = Cubic::new(MSS, 100 * MSS);
        cubic.on_loss(100 * MSS);
        cubic.on_ack(acked(0, MSS));
        let before = cubic.window();
        cubic.on_ack(Acked { limited: false, ..acked(30_000, MSS) });
        cubic.on_ack(acked(30_001, MSS));
        assert!(cubic.window() - before < MSS, "{} after {before}", cubic.window());
    }

    #[test]
    fn after_a_timeout_it_begins_with_the_plateau() {
        let mut cubic = Cubic::new(MSS, 100 * MSS);
        cubic.on_timeout(100 * MSS, true);
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (MSS, 70 * MSS));
        while cubic.window() < 70 * MSS {
            cubic.on_ack(acked(1_000, MSS));
        }
        cubic.on_ack(acked(1_001, MSS));
        assert_eq!((cubic.k_ms, cubic.w_max), (0, 70 * MSS));
        cubic.on_timeout(MSS, false);
        assert_eq!(cubic.slow_start_threshold(), 70 * MSS, "a repeated timeout does not move it");
    }

    #[test]
    fn marks_bring_it_down_to_one_segment_and_mistakes_are_taken_back() {
        let mut cubic = Cubic::new(MSS, 2 * MSS);
        cubic.on_mark(2 * MSS);
        cubic.on_mark(1400);
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (MSS, 2 * MSS));
        cubic.on_spurious(10 * MSS, 20 * MSS);
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (10 * MSS, 20 * MSS));
    }

    #[test]
    fn idle_time_brings_the_window_back_to_four_segments_at_most() {
        let mut cubic = Cubic::new(MSS, 100 * MSS);
        cubic.on_loss(100 * MSS);
        cubic.on_ack(acked(1, MSS));
        assert!(cubic.window() >= 70 * MSS && cubic.epoch.is_some());
        cubic.on_idle();
        assert!(cubic.window() == 4 * MSS && cubic.epoch.is_none());
    }

    #[test]
    fn the_window_is_at_least_a_segment_of_the_size_that_is_agreed_on() {
        for (mss, window) in [(MSS / 2, 4 * MSS), (4 * MSS, 4 * MSS), (6 * MSS, 6 * MSS)] {
            let mut cubic = Cubic::new(MSS, 4 * MSS);
            cubic.set_mss(mss);
            assert_eq!(cubic.window(), window, "{mss}");
        }
    }

    #[test]
    fn cube_roots_are_exact() {
        for root in [0_u64, 1, 2, 3, 1000, 65_535, (1 << 21) - 1] {
            let cube = root * root * root;
            assert_eq!(u64::from(cube_root(cube)), root);
            if root > 1 {
                assert_eq!(u64::from(cube_root(cube - 1)), root - 1);
            }
        }
        assert_eq!(cube_root(u64::MAX), (1 << 21) - 1);
    }

    #[test]
    fn extremes_do_no_harm() {
        let mut cubic = Cubic::new(u32::from(u16::MAX), u32::MAX);
        cubic.on_loss(u32::MAX);
        cubic.on_ack(acked(1, u32::MAX));
        cubic.on_ack(acked(u64::MAX / 2000, u32::MAX));
        let mut cubic = Cubic::new(0, 0);
        cubic.on_loss(0);
        cubic.on_ack(acked(1, 1));
    }
}
