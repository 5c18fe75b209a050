//! Slow start and congestion avoidance (RFC 5681) with appropriate byte counting (RFC 3465).

use super::{Acked, Controller};

/// RFC 5681 with RFC 3465, L = 2·SMSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    cwnd: u32,
    ssthresh: u32,
    mss: u32,
    initial_window: u32,
    /// Octets acknowledged towards the next increase in congestion avoidance (RFC 3465 §2.1).
    bytes_acked: u32,
}

impl NewReno {
    /// RFC 5681 §3.1, equation 4: never under two segments.
    fn half(&self, flight: u32) -> u32 {
        (flight / 2).max(self.mss.saturating_mul(2))
    }
}

impl Controller for NewReno {
    fn new(mss: u32, initial_window: u32) -> Self {
        // RFC 5681 §3.1: ssthresh starts arbitrarily high.
        NewReno { cwnd: initial_window, ssthresh: u32::MAX, mss, initial_window, bytes_acked: 0 }
    }

    fn window(&self) -> u32 {
        self.cwnd
    }

    fn slow_start_threshold(&self) -> u32 {
        self.ssthresh
    }

    fn on_ack(&mut self, acked: Acked) {
        if !acked.limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            // RFC 3465 §2.2 and §2.3: L is 2·SMSS, but 1·SMSS in the slow start after a timeout.
            let limit = if acked.after_timeout { self.mss } else { self.mss.saturating_mul(2) };
            self.cwnd = self.cwnd.saturating_add(acked.octets.min(limit));
        } else {
            self.bytes_acked = self.bytes_acked.saturating_add(acked.octets);
            if self.bytes_acked >= self.cwnd {
                self.bytes_acked = self.bytes_acked.saturating_sub(self.cwnd);
                self.cwnd = self.cwnd.saturating_add(self.mss);
            }
        }
    }

    fn on_loss(&mut self, flight: u32) {
        self.ssthresh = self.half(flight);
        self.cwnd = self.ssthresh;
        self.bytes_acked = 0;
    }

    fn on_recovered(&mut self, flight: u32) {
        // RFC 6582 §3.2 step 3, first choice: no burst if little is in flight.
        let little = flight.max(self.mss).saturating_add(self.mss);
        self.cwnd = self.ssthresh.min(little);
    }

    fn on_timeout(&mut self, flight: u32, first: bool) {
        if first {
            self.ssthresh = self.half(flight);
        }
        self.cwnd = self.mss;
        self.bytes_acked = 0;
    }

    fn on_idle(&mut self) {
        // RFC 5681 §4.1.
        self.cwnd = self.cwnd.min(self.initial_window);
    }
}
