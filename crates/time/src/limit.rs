//! Rate limit for work that other nodes cause.

use crate::{Duration, Instant};

/// Allows a burst of events, and the same number in each window after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    window: Duration,
    between: Duration,
    /// Time from which a full burst is allowed again.
    full_at: Instant,
}

impl Limit {
    /// Creates a limit of `most` events in `window`; 0 counts as 1.
    pub const fn new(most: u8, window: Duration) -> Self {
        let most = if most == 0 { 1 } else { most };
        let between = Duration::from_micros(window.as_micros().div_ceil(most as u64));
        Limit { window, between, full_at: Instant::ZERO }
    }

    /// Returns whether one more event is allowed, and counts it if it is.
    pub fn allows(&mut self, now: Instant) -> bool {
        let allowed = now >= self.next();
        if allowed {
            self.full_at = self.full_at.max(now) + self.between;
        }
        allowed
    }

    /// Returns the time from which one more event is allowed.
    pub fn next(&self) -> Instant {
        self.full_at + self.between - self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_allows_so_many_at_once_or_one_after_the_other() {
        let mut limit = Limit::new(3, Duration::from_secs(60));
        let allowed = |limit: &mut Limit, secs| {
            (0..9).filter(|_| limit.allows(Instant::from_secs(secs))).count()
        };
        assert_eq!(
            [5, 24, 25, 64, 66, 200].map(|secs| allowed(&mut limit, secs)),
            [3, 0, 1, 1, 1, 3]
        );
        assert_eq!(limit.next(), Instant::from_secs(220));
    }
}
