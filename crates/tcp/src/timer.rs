//! A timer in eight octets.

use kinglet_time::Instant;

/// An instant, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer(Instant);

impl Timer {
    pub(crate) const OFF: Timer = Timer(Instant::MAX);

    pub(crate) fn set(&mut self, at: Instant) {
        self.0 = at;
    }

    pub(crate) fn clear(&mut self) {
        *self = Timer::OFF;
    }

    pub(crate) fn is_set(self) -> bool {
        self != Timer::OFF
    }

    pub(crate) fn is_due(self, now: Instant) -> bool {
        self.is_set() && self.0 <= now
    }

    pub(crate) fn deadline(self) -> Option<Instant> {
        self.is_set().then_some(self.0)
    }
}
