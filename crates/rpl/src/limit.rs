//! How often others may cause work.

use kinglet_time::{Duration, Instant};

/// In such a time so many.
const WINDOW: Duration = Duration::from_secs(60);

/// So many events at once, and then so many a minute.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    between: Duration,
    /// When there may be as many at once again.
    rested: Instant,
}

impl Limit {
    pub(crate) const fn new(most: u8) -> Self {
        let between = Duration::from_micros(WINDOW.as_micros().div_ceil(most as u64));
        Limit { between, rested: Instant::ZERO }
    }

    /// Whether there may be one more.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        let allowed = now >= self.next();
        if allowed {
            self.rested = self.rested.max(now) + self.between;
        }
        allowed
    }

    /// From when on there may be one more.
    pub(crate) fn next(&self) -> Instant {
        self.rested + self.between - WINDOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_allows_so_many_at_once_or_one_after_the_other() {
        let mut limit = Limit::new(3);
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
