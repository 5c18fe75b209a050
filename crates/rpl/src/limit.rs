//! How often others may cause work.

use kinglet_time::{Duration, Instant};

/// In such a time so many.
const WINDOW: Duration = Duration::from_secs(60);

/// At most so many events a minute.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    most: u8,
    taken: u8,
    since: Instant,
}

impl Limit {
    pub(crate) const fn new(most: u8) -> Self {
        Limit { most, taken: 0, since: Instant::ZERO }
    }

    /// Whether there may be one more.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if now >= self.since + WINDOW {
            (self.since, self.taken) = (now, 0);
        }
        let allowed = self.taken < self.most;
        self.taken = self.taken.saturating_add(u8::from(allowed));
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_allows_so_many_and_the_next_as_many_again() {
        let mut limit = Limit::new(3);
        let allowed = |limit: &mut Limit, secs| {
            (0..9).filter(|_| limit.allows(Instant::from_secs(secs))).count()
        };
        assert_eq!([5, 50, 66, 70].map(|secs| allowed(&mut limit, secs)), [3, 0, 3, 0]);
    }
}
