//! Back-off between attempts after a failure.

use crate::{Duration, Instant};

/// Pauses between attempts that fail: each is twice as long as the one before, up to a bound.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    /// Earliest time of the next attempt; the beginning of time if none has failed.
    at: Instant,
    /// The pause before that.
    pause: Duration,
    least: Duration,
    most: Duration,
}

impl BackOff {
    /// Pauses between a second and a minute, and no failure.
    pub const NEW: Self = Self::between(Duration::from_secs(1), Duration::from_secs(60));

    /// Returns the state before any failure. The first pause will be `least`, and none longer than
    /// `most`.
    pub const fn between(least: Duration, most: Duration) -> Self {
        BackOff { at: Instant::ZERO, pause: Duration::ZERO, least, most }
    }

    /// Handles a failure.
    pub fn failed(&mut self, now: Instant) {
        self.pause = (self.pause * 2).max(self.least).min(self.most);
        self.at = now + self.pause;
    }

    /// Handles a success: the next pause is the shortest one again.
    pub const fn succeeded(&mut self) {
        *self = Self::between(self.least, self.most);
    }

    /// Returns the earliest time of the next attempt; the beginning of time if none has failed.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_followed_by_ever_longer_pauses() {
        let (mut back_off, mut now) = (BackOff::NEW, Instant::from_secs(5));
        let mut pause = |back_off: &mut BackOff| {
            back_off.failed(now);
            let pause = back_off.at() - now;
            now = back_off.at();
            pause.as_millis() / 1_000
        };
        assert_eq!([0; 8].map(|_| pause(&mut back_off)), [1, 2, 4, 8, 16, 32, 60, 60]);
        back_off.succeeded();
        assert_eq!(back_off.at(), Instant::ZERO);
        assert_eq!(pause(&mut back_off), 1);
        let mut others = BackOff::between(Duration::from_secs(3), Duration::from_secs(7));
        assert_eq!([0; 4].map(|_| pause(&mut others)), [3, 6, 7, 7]);
    }
}
