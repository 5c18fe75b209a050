//! How fast a path delivers and how long it takes: what estimates of its bandwidth are made of.
//!
//! A round begins with an acknowledgment and ends when what was sent after that is acknowledged. So
//! its rate is a delivery rate of draft-cheng-iccrg-delivery-rate-estimation, one for each round
//! trip instead of one for each segment; between them no acknowledgment is counted twice, and one
//! that comes late together with the next counts for the time of both. How fast the segments were
//! sent is not looked at: it could only make a rate smaller that many acknowledgments at once show,
//! and a round is never shorter than a round trip.

use super::Acked;
use kinglet_time::Instant;

/// The round that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// When it began, if it did.
    since: Option<Instant>,
    /// What was in flight then, in octets.
    before: u32,
    /// What has been acknowledged since, in octets.
    delivered: u32,
    /// The shortest round trip in milliseconds; 0 before the first. It is never forgotten: what is
    /// measured amid losses is a queue, and a way that has grown longer is used less.
    least_ms: u32,
}

impl Round {
    pub(super) const NONE: Round = Round { since: None, before: 0, delivered: 0, least_ms: 0 };

    /// The rate in octets a second, if a round ends with this acknowledgment.
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

    /// What comes next belongs to no round: something was lost, or nothing was to be sent.
    pub(super) fn interrupt(&mut self) {
        self.since = None;
        self.delivered = 0;
    }

    /// What a path with this rate, in octets a second, holds without a queue, in octets.
    pub(super) fn product(&self, rate: u32) -> u32 {
        rate.saturating_mul(self.least_ms) / 1_000
    }
}
