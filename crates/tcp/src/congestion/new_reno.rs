//! Slow start and congestion avoidance (RFC 5681) with appropriate byte counting (RFC 3465).

use super::{Acked, Controller, after_recovery, restart_window, slow_start};

/// RFC 5681 with RFC 3465, L = 2·SMSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    mss: u16,
    initial_window: u16,
    /// Octets acknowledged towards the next increase in congestion avoidance (RFC 3465 §2.1).
    bytes_acked: u32,
}

/// A size that headers can express, in two octets.
fn in_header(size: u32) -> u16 {
    u16::try_from(size).unwrap_or(u16::MAX)
}

impl NewReno {
    /// RFC 5681 §3.1, equation 4: never under two segments.
    fn half(&self, flight: u32) -> u32 {
        (flight / 2).max(self.mss().saturating_mul(2))
    }

    /// Sets ssthresh to the estimate of another algorithm, but to at least two segments.
    pub(super) fn set_threshold(&mut self, octets: u32) {
        self.ssthresh = octets.max(self.mss().saturating_mul(2));
    }

    /// cwnd = ssthresh.
    pub(super) fn begin_at_threshold(&mut self) {
        self.cwnd = self.ssthresh;
    }

    fn mss(&self) -> u32 {
        u32::from(self.mss)
    }
}

impl Controller for NewReno {
    //= rfc5681#3.1-8
    fn new(mss: u32, initial_window: u32) -> Self {
        // RFC 5681 §3.1: ssthresh starts arbitrarily high.
        let mss = in_header(mss);
        let cwnd = initial_window;
        let initial_window = in_header(initial_window);
        NewReno { cwnd, ssthresh: u32::MAX, mss, initial_window, bytes_acked: 0 }
    }

    fn set_mss(&mut self, mss: u32) {
        self.mss = in_header(mss);
        self.cwnd = self.cwnd.max(mss);
    }

    fn window(&self) -> u32 {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> u32 {
        self.ssthresh
    }

    //= rfc9293#MUST-19
    //= rfc5681#3.1-1 rfc5681#3.1-11 rfc5681#3.1-12 rfc5681#3.1-13 rfc5681#3.1-14 rfc5681#4.3-4
    fn on_ack(&mut self, acked: Acked) {
        if !acked.limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = slow_start(self.cwnd, self.mss(), acked);
        } else {
            self.bytes_acked = self.bytes_acked.saturating_add(acked.octets);
            if self.bytes_acked >= self.cwnd {
                self.bytes_acked = self.bytes_acked.saturating_sub(self.cwnd);
                self.cwnd = self.cwnd.saturating_add(self.mss());
            }
        }
    }

    //= rfc5681#3.1-9
    fn on_loss(&mut self, flight: u32) {
        self.ssthresh = self.half(flight);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0;
    }

    //= rfc3168#5-2
    fn on_mark(&mut self, flight: u32) {
        let cwnd = (flight.min(self.cwnd) / 2).max(self.mss());
        self.on_loss(flight.min(self.cwnd));
        // Unlike after a loss, the minimum is one segment (RFC 3168 §6.1.2).
        self.cwnd = cwnd;
    }

    fn on_recovered(&mut self, flight: u32) {
        self.cwnd = after_recovery(self.ssthresh, self.mss(), flight);
    }

    //= rfc5681#3.1-16 rfc5681#3.1-17 rfc6928#2-4
    fn on_timeout(&mut self, flight: u32, first: bool) {
        if first {
            self.ssthresh = self.half(flight);
        }
        self.cwnd = self.mss();
        self.bytes_acked = 0;
    }

    fn on_spurious(&mut self, window: u32, threshold: u32) {
        self.cwnd = self.cwnd.max(window);
        self.ssthresh = self.ssthresh.max(threshold);
    }

    //= rfc5681#4.1-1
    fn on_idle(&mut self) {
        // RFC 5681 §4.1.
        let initial = u32::from(self.initial_window);
        self.cwnd = self.cwnd.min(restart_window(initial, self.mss(), self.ssthresh));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::{Duration, Instant};

    fn acked(octets: u32) -> Acked {
        let (now, srtt, rtt) = (Instant::ZERO, Duration::ZERO, Duration::ZERO);
        Acked { now, srtt, rtt, flight: 0, octets, limited: true, after_timeout: false }
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged_but_two_segments_at_most() {
        let mut cc = NewReno::new(100, 400);
        cc.on_ack(acked(50));
        assert_eq!(cc.window(), 450);
        cc.on_ack(acked(1000));
        assert_eq!(cc.window(), 650);
        cc.on_ack(Acked { after_timeout: true, ..acked(1000) });
        assert_eq!(cc.window(), 750);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut cc = NewReno::new(100, 400);
        cc.on_ack(Acked { limited: false, ..acked(100) });
        assert_eq!(cc.window(), 400);
    }

    //= rfc5681#3.1-13 rfc5681#3.1-14 type=test
    #[test]
    fn congestion_avoidance_grows_by_a_segment_per_window() {
        let mut cc = NewReno::new(100, 400);
        cc.on_loss(800);
        assert_eq!((cc.window(), cc.slow_start_threshold()), (400, 400));
        for _ in 0..3 {
            cc.on_ack(acked(100));
        }
        assert_eq!(cc.window(), 400);
        cc.on_ack(acked(100));
        assert_eq!(cc.window(), 500);
    }

    //= rfc6582#3.2-4 type=test
    #[test]
    fn the_threshold_is_half_of_the_flight_but_two_segments_at_least() {
        let mut cc = NewReno::new(100, 400);
        cc.on_timeout(250, true);
        assert_eq!((cc.window(), cc.slow_start_threshold()), (100, 200));
        cc.on_timeout(1000, false);
        assert_eq!(cc.slow_start_threshold(), 200, "a repeated timeout does not move it");
        cc.on_loss(1000);
        cc.on_recovered(100);
        assert_eq!(cc.window(), 200, "no burst after recovery");
    }

    #[test]
    fn a_mark_halves_the_window_down_to_one_segment() {
        let mut cc = NewReno::new(100, 400);
        cc.on_mark(400);
        assert_eq!((cc.window(), cc.slow_start_threshold()), (200, 200));
        cc.on_mark(200);
        assert_eq!((cc.window(), cc.slow_start_threshold()), (100, 200));
        cc.on_mark(100);
        assert_eq!(cc.window(), 100, "and does not raise it");
    }

    #[test]
    fn idle_time_brings_the_window_back_to_the_initial_one() {
        let mut cc = NewReno::new(100, 400);
        cc.on_ack(acked(200));
        cc.on_idle();
        assert_eq!(cc.window(), 400);
    }
}
