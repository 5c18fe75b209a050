//! How often others may cause work.

use crate::{Duration, Instant};

/// So many events at once, and then so many in each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    window: Duration,
    between: Duration,
    /// When there may be as many at once again.
    rested: Instant,
}

impl Limit {
    /// `most` in `window`; as one if it is 0.
    pub const fn new(most: u8, window: Duration) -> Self {
        let most = if most == 0 { 1 } else { most };
        let between = Duration::from_micros(window.as_micros().div_ceil(most as u64));
        Limit { window, between, rested: Instant::ZERO }
    }

    /// Whether there may be one more; then it counts.
    pub fn allows(&mut self, now: Instant) -> bool {
        let allowed = now >= self.next();
        if allowed {
            self.rested = self.rested.max(now) + self.between;
        }
        allowed
    }

    /// From when on there may be one more.
    pub fn next(&self) -> Instant {
        self.rested + self.between - self.window
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
