//! Back-off between attempts after a refusal.

use kinglet_time::{Duration, Instant};

/// Back-off before a refused connection is tried again: one second, then twice as long each time,
/// at most a minute.
#[derive(Clone, Copy, Debug)]
pub struct BackOff {
    /// Earliest time of the next attempt; the beginning of time if nothing was refused.
    at: Instant,
    /// The pause before that.
    pause: Duration,
}

impl BackOff {
    /// State before any refusal.
    pub const NEW: Self = BackOff { at: Instant::ZERO, pause: Duration::ZERO };

    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(60);

    /// Handles a refusal.
    pub fn refused(&mut self, now: Instant) {
        self.pause = (self.pause * 2).clamp(Self::LEAST, Self::MOST);
        self.at = now + self.pause;
    }

    /// Returns the earliest time of the next attempt; the beginning of time if nothing was refused.
    pub const fn at(&self) -> Instant {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn refusals_are_followed_by_ever_longer_pauses() {
        let (mut back_off, mut now) = (BackOff::NEW, Instant::from_secs(5));
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                back_off.refused(now);
                let pause = back_off.at() - now;
                now = back_off.at();
                pause.as_millis() / 1_000
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
