//! The sender's knowledge of the data in flight: a table of segments ([`Flight`]), or as much as
//! New Reno needs ([`Plain`]).
//!
//! [`Flight`]: super::flight::Flight

use super::arrival::{Arrival, Stamp};
use crate::seq::SeqNum;

/// State of the data in flight, from SND.UNA to SND.NXT. Functions that need a table have a default
/// here for implementations without one.
pub trait Scoreboard {
    /// Starts over: nothing is in flight any more, and the next octet is `una`.
    fn reset(&mut self, una: SeqNum);
    /// Records a segment that was sent for the first time and ends at `end`.
    fn push(&mut self, end: SeqNum, at: Stamp);
    /// Records that `start..end` was sent again as one segment, perhaps with new octets at the end.
    fn retransmit(&mut self, start: SeqNum, end: SeqNum, at: Stamp);
    /// Records that SND.UNA has moved to `una`.
    fn advance(&mut self, una: SeqNum, arrival: &mut Arrival);
    /// Marks `left..right` as lost, as far as the peer does not hold it.
    fn lose(&mut self, left: SeqNum, right: SeqNum);
    /// Marks the first segment as lost, which ends at `end` if nothing more is known of it.
    fn lose_first(&mut self, end: SeqNum);
    /// Marks losses after a timeout (RFC 8985 §6.3): the first segment, and those sent at least
    /// `wait_us` ago.
    fn time_out(&mut self, now: Stamp, wait_us: u32);
    /// Returns the first stretch that is lost.
    fn first_lost(&self) -> Option<(SeqNum, SeqNum)>;
    /// Returns the end of the first segment, as far as it is distinguishable from the rest.
    fn first_end(&self) -> SeqNum;
    /// Returns the beginning of the last segment sent, as far as it is distinguishable from the
    /// rest.
    fn last_start(&self) -> SeqNum;
    /// Returns RACK.fack: the end of the highest octet known to have arrived.
    fn fack(&self) -> SeqNum;
    /// Returns the octets marked as lost and not sent again.
    fn lost(&self) -> u32;
    /// Makes instants beyond the horizon just as old as the horizon.
    fn age(&mut self, now: Stamp);

    /// Returns whether this covers `una..nxt`, without gaps.
    fn covers(&self, una: SeqNum, nxt: SeqNum) -> bool;

    /// Records that the peer holds `left..right`.
    fn sack(&mut self, _left: SeqNum, _right: SeqNum, _arrival: &mut Arrival) {}

    /// Detects losses by RACK_detect_loss (RFC 8985 §6.2 step 5): segments sent before `newest` and
    /// at least `wait_us` ago are lost. Returns whether there was any, and the microseconds until
    /// there will be one.
    fn detect(&mut self, _now: Stamp, _newest: (Stamp, SeqNum), _wait_us: u32) -> (bool, u32) {
        (false, 0)
    }

    /// Clears all marks of losses: nothing is lost after all.
    fn find_all(&mut self) {}

    /// Forgets the octets that the peer has reported to hold (RFC 2018 §8).
    fn forget(&mut self) {}

    /// Returns whether the peer reports to hold the first segment but does not acknowledge it.
    fn is_reneged(&self) -> bool {
        false
    }

    /// Returns the octets that are not in the network: lost, or held by the peer. No octet is both:
    /// one that arrives is no longer lost.
    fn gone(&self) -> u32 {
        self.lost()
    }

    /// Returns the octets held by the peer above SND.UNA.
    fn sacked(&self) -> u32 {
        0
    }

    /// Returns the octets sent again, about which there has been no report since.
    fn retransmitted(&self) -> u32 {
        0
    }
}

/// State for New Reno: one stretch that is to be sent again, and one segment whose round trip is
/// timed.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    una: SeqNum,
    nxt: SeqNum,
    /// Stretch that is marked as lost and not sent again; empty if both are the same.
    lost_from: SeqNum,
    lost_to: SeqNum,
    /// End of the segment that is timed, if that is after SND.UNA.
    timed_end: SeqNum,
    /// Time at which that was sent, or at which the last retransmission was.
    timed_at: Stamp,
}

impl Plain {
    /// Creates the state with nothing in flight.
    pub(crate) fn new(una: SeqNum) -> Self {
        let timed_at = Stamp::default();
        Plain { una, nxt: una, lost_from: una, lost_to: una, timed_end: una, timed_at }
    }
}

impl Scoreboard for Plain {
    fn reset(&mut self, una: SeqNum) {
        *self = Plain::new(una);
    }

    fn push(&mut self, end: SeqNum, at: Stamp) {
        if !self.timed_end.after(self.una) {
            (self.timed_end, self.timed_at) = (end, at);
        }
        self.nxt = end;
    }

    //= rfc6298#3-1 rfc6298#3-2
    fn retransmit(&mut self, start: SeqNum, end: SeqNum, at: Stamp) {
        // Karn's algorithm (RFC 6298 §3): the timed segment is ambiguous now, since an
        // acknowledgment of it may have waited for this.
        (self.timed_end, self.timed_at) = (self.una, at);
        if start.at_or_before(self.lost_from) {
            self.lost_from = self.lost_from.later(end).earlier(self.lost_to);
        }
        self.nxt = self.nxt.later(end);
    }

    fn advance(&mut self, una: SeqNum, arrival: &mut Arrival) {
        arrival.octets = una.since(self.una);
        arrival.last_us = arrival.now.since(self.timed_at);
        if self.timed_end.after(self.una) && self.timed_end.at_or_before(una) {
            arrival.rtt_us = Some(arrival.last_us);
        }
        self.una = self.una.later(una);
        self.timed_end = self.timed_end.later(self.una);
        self.lost_from = self.lost_from.later(self.una);
        self.lost_to = self.lost_to.later(self.una);
        self.nxt = self.nxt.later(self.una);
    }

    fn lose(&mut self, left: SeqNum, right: SeqNum) {
        let (left, right) = (left.later(self.una), right.earlier(self.nxt));
        if !left.before(right) {
            return;
        }
        let apart = left.after(self.lost_to) || right.before(self.lost_from);
        if self.lost() == 0 || (apart && left.before(self.lost_from)) {
            (self.lost_from, self.lost_to) = (left, right);
        } else if !apart {
            self.lost_from = self.lost_from.earlier(left);
            self.lost_to = self.lost_to.later(right);
        }
        // Of two stretches the later one has to be detected as lost again.
    }

    fn lose_first(&mut self, end: SeqNum) {
        self.lose(self.una, end);
    }

    fn time_out(&mut self, _: Stamp, _: u32) {
        self.lose(self.una, self.nxt);
    }

    fn first_lost(&self) -> Option<(SeqNum, SeqNum)> {
        self.lost_from.before(self.lost_to).then_some((self.lost_from, self.lost_to))
    }

    fn covers(&self, una: SeqNum, nxt: SeqNum) -> bool {
        let ordered = una.at_or_before(self.lost_from) && self.lost_from.at_or_before(self.lost_to);
        (self.una, self.nxt) == (una, nxt) && ordered && self.lost_to.at_or_before(nxt)
    }

    fn first_end(&self) -> SeqNum {
        self.nxt
    }

    fn last_start(&self) -> SeqNum {
        self.una
    }

    fn fack(&self) -> SeqNum {
        self.una
    }

    fn lost(&self) -> u32 {
        self.lost_to.since(self.lost_from)
    }

    fn age(&mut self, now: Stamp) {
        if !self.timed_at.is_recent(now) {
            self.timed_end = self.una;
        }
    }
}
