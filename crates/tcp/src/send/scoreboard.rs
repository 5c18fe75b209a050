//! What a sender knows of what is in flight: a table of segments ([`Flight`]), or as much as New
//! Reno needs ([`Plain`]).
//!
//! [`Flight`]: super::flight::Flight

use super::arrival::{Arrival, Stamp};
use crate::seq::SeqNum;

/// What is in flight, from SND.UNA to SND.NXT. What only a table can know has an answer here for
/// those that have none.
pub trait Scoreboard {
    /// Nothing is in flight any more, and what follows begins at `una`.
    fn reset(&mut self, una: SeqNum);
    /// A segment was sent for the first time: it ends at `end`.
    fn push(&mut self, end: SeqNum, at: Stamp);
    /// `start..end` was sent again as one segment, perhaps with new octets at the end.
    fn retransmit(&mut self, start: SeqNum, end: SeqNum, at: Stamp);
    /// SND.UNA has moved to `una`.
    fn advance(&mut self, una: SeqNum, arrival: &mut Arrival);
    /// Takes `left..right` for lost, as far as the peer does not hold it.
    fn lose(&mut self, left: SeqNum, right: SeqNum);
    /// Takes the first segment for lost, which ends at `end` if nothing more is known of it.
    fn lose_first(&mut self, end: SeqNum);
    /// The timer has expired (RFC 8985 §6.3). The first is lost, and what was sent at least
    /// `wait_us` ago.
    fn time_out(&mut self, now: Stamp, wait_us: u32);
    /// The first stretch that is lost.
    fn first_lost(&self) -> Option<(SeqNum, SeqNum)>;
    /// Where the first segment ends, as far as it is known from the rest.
    fn first_end(&self) -> SeqNum;
    /// The last segment sent: where it begins, as far as it is known from the rest.
    fn last_start(&self) -> SeqNum;
    /// RACK.fack: after the highest octet known to have arrived.
    fn fack(&self) -> SeqNum;
    /// Octets taken for lost and not sent again.
    fn lost(&self) -> u32;
    /// Makes what is older than the horizon just that old.
    fn age(&mut self, now: Stamp);

    /// Whether this is `una..nxt`, without gaps.
    fn covers(&self, una: SeqNum, nxt: SeqNum) -> bool;

    /// The peer holds `left..right`.
    fn sack(&mut self, _left: SeqNum, _right: SeqNum, _arrival: &mut Arrival) {}

    /// RACK_detect_loss (RFC 8985 §6.2 step 5): takes for lost what was sent before `newest` and at
    /// least `wait_us` ago. Answers whether there was any, and after how many microseconds there
    /// will be.
    fn detect(&mut self, _now: Stamp, _newest: (Stamp, SeqNum), _wait_us: u32) -> (bool, u32) {
        (false, 0)
    }

    /// Nothing is lost after all.
    fn find_all(&mut self) {}

    /// Forgets what the peer has said that it holds (RFC 2018 §8).
    fn forget(&mut self) {}

    /// Whether the peer says that it holds what it does not acknowledge.
    fn is_reneged(&self) -> bool {
        false
    }

    /// Octets that are neither in the network nor with the peer. None are both: what arrives is no
    /// longer lost.
    fn gone(&self) -> u32 {
        self.lost()
    }

    /// Octets held by the peer above SND.UNA.
    fn sacked(&self) -> u32 {
        0
    }

    /// Octets sent again, of which nothing has been heard since.
    fn retransmitted(&self) -> u32 {
        0
    }
}

/// For New Reno: one stretch that is to be sent again, and one segment whose round trip is timed.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    una: SeqNum,
    nxt: SeqNum,
    /// What is taken for lost and not sent again; empty if both are the same.
    lost_from: SeqNum,
    lost_to: SeqNum,
    /// The segment that is timed ends here, if that is after SND.UNA.
    timed_end: SeqNum,
    /// When that was sent, or what was sent again last.
    timed_at: Stamp,
}

impl Plain {
    /// Nothing is in flight.
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

    fn retransmit(&mut self, start: SeqNum, end: SeqNum, at: Stamp) {
        // Karn's algorithm (RFC 6298 §3): whatever was timed is ambiguous now, since an
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
        // Of two stretches the later one has to be found lost once more.
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
