//! When to acknowledge (RFC 9293 §3.8.6.3, RFC 5681 §4.2).

use crate::timer::Timer;
use kinglet_time::{Duration, Instant};

/// What is owed to the peer.
//= rfc9293#MUST-58 rfc9293#MUST-59 rfc9293#SHLD-18
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckState {
    /// An acknowledgment is to be sent now.
    pub(crate) now: bool,
    /// Octets received since the last acknowledgment; more than this can count have had theirs.
    unacked: u16,
    pub(crate) timer: Timer,
}

impl AckState {
    pub(crate) const NONE: AckState = AckState { now: false, unacked: 0, timer: Timer::OFF };

    /// In-order data has arrived. `threshold` octets make an immediate acknowledgment.
    //= rfc9293#SHLD-18
    pub(crate) fn received(&mut self, now: Instant, octets: u32, threshold: u32, delay: Duration) {
        let unacked = u32::from(self.unacked).saturating_add(octets);
        self.unacked = u16::try_from(unacked).unwrap_or(u16::MAX);
        if unacked >= threshold || delay == Duration::ZERO {
            self.now = true;
        } else if !self.timer.is_set() {
            self.timer.set(now, delay);
        }
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        if self.timer.is_due(now) {
            self.timer.clear();
            self.now = true;
        }
    }

    /// A segment that carries the acknowledgment has been formed.
    pub(crate) fn sent(&mut self) {
        *self = AckState::NONE;
    }
}
