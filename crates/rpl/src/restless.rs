//! Back-off of parent changes that merely improve the rank. Each change is announced, in storing
//! mode for all nodes below. Many changes at once delay frames by their announcements: links seem
//! worse than they are, and more parents change. So parent changes back off exponentially, as after
//! collisions.

use kinglet_time::{Duration, Instant};

/// Time without another change after the first one.
const FIRST: Duration = Duration::from_secs(1);
/// It doubles with each further change, up to this number of doublings.
const DOUBLINGS: u8 = 8;
/// It halves each time that this time has passed without a change.
const CALM: Duration = Duration::from_secs(300);

/// The recent parent changes of a node.
pub(crate) struct Restless {
    last: Option<Instant>,
    changes: u8,
}

impl Restless {
    pub(crate) const fn new() -> Self {
        Restless { last: None, changes: 0 }
    }

    /// Notes a change to a better parent.
    pub(crate) fn note(&mut self, now: Instant) {
        self.changes = self.lately(now).saturating_add(1).min(DOUBLINGS + 1);
        self.last = Some(now);
    }

    /// Returns whether the node keeps its parent for now.
    pub(crate) fn stays(&self, now: Instant) -> bool {
        let doublings = self.lately(now).checked_sub(1).map(u32::from);
        let stay = doublings.map_or(Duration::ZERO, |doublings| FIRST * (1u32 << doublings));
        self.last.is_some_and(|last| now < last + stay)
    }

    /// Returns the number of changes that are not forgotten yet.
    fn lately(&self, now: Instant) -> u8 {
        let calm = self.last.map_or(Duration::ZERO, |last| now - last);
        let forgotten = calm.as_micros().checked_div(CALM.as_micros()).unwrap_or(0);
        self.changes.saturating_sub(u8::try_from(forgotten).unwrap_or(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns for how many seconds a node keeps its parent from now on.
    fn stay(restless: &Restless, now: Instant) -> u64 {
        (0..).find(|&secs| !restless.stays(now + Duration::from_secs(secs))).unwrap()
    }

    #[test]
    fn a_node_that_changes_often_stays_longer_each_time_and_calm_shortens_that() {
        let (mut restless, mut now) = (Restless::new(), Instant::from_secs(9));
        assert_eq!(stay(&restless, now), 0);
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
            restless.note(now);
            assert_eq!(stay(&restless, now), expected);
            now += Duration::from_secs(expected);
        }
        // Three of nine changes are forgotten in 900 s without a change since the last one.
        now += CALM * 3 - Duration::from_secs(256);
        restless.note(now);
        assert_eq!(stay(&restless, now), 64);
        now += CALM * 7;
        restless.note(now);
        assert_eq!(stay(&restless, now), 1);
    }
}
