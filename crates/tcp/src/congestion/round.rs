//! Delivery rate and shortest round trip of a path, from which its bandwidth is estimated.
//!
//! A round begins with an acknowledgment and ends when data sent after it is acknowledged. Its rate
//! is a delivery rate of draft-cheng-iccrg-delivery-rate-estimation, one for each round trip
//! instead of one for each segment. No acknowledgment counts in two rounds, and one that comes
//! late, together with the next, counts for the time of both. The send rate is not measured: it
//! could only reduce the rate that many acknowledgments at once show, and a round is never shorter
//! than a round trip.

use super::Acked;
use kinglet_time::Instant;

/// The round in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// Time at which the round began, if it has.
    since: Option<Instant>,
    /// Octets in flight at that time.
    before: u32,
    /// Octets acknowledged since.
    delivered: u32,
    /// Shortest round trip in milliseconds; 0 before the first. It never expires: longer samples
    /// during losses measure a queue, and a path that has become longer is merely used less.
    least_ms: u32,
}

impl Round {
    pub(super) const NONE: Round = Round { since: None, before: 0, delivered: 0, least_ms: 0 };

    /// Returns the rate in octets a second, if a round ends with this acknowledgment.
    pub(super) fn on_ack(&mut self, acked: &Acked) -> Option<u32> {
        let rtt = u32::try_from(acked.rtt.as_millis()).unwrap_or(u32::MAX);
        if rtt > 0 && (self.least_ms == 0 || rtt < self.least_ms) {
            self.least_ms = rtt;
        }
        self.delivered = self.delivered.saturating_add(acked.octets);
        let rate = match self.since {
            Some(_) if self.delivered <= self.before => return None,
            Some(since) => {
                let ms = u32::try_from((acked.now - since).as_millis()).unwrap_or(u32::MAX);
                self.delivered.saturating_mul(1_000).checked_div(ms)
            }
            None => None,
        };
        (self.since, self.before, self.delivered) = (Some(acked.now), acked.flight, 0);
        rate
    }

    /// Ends the round without a rate: a segment was lost, or there was nothing to send.
    pub(super) fn interrupt(&mut self) {
        self.since = None;
        self.delivered = 0;
    }

    /// Returns the octets that a path with this rate, in octets a second, holds without a queue.
    pub(super) fn product(&self, rate: u32) -> u32 {
        rate.saturating_mul(self.least_ms) / 1_000
    }
}
