//! How often a node goes to a parent that is merely better. Each change is told, in storing mode
//! for all that are below, and where many change, what they tell delays frames: links seem worse
//! than they are, and more change. So who has changed often waits longer each time, as after
//! collisions.

use kinglet_time::{Duration, Instant};

/// After the first change a node stays for so long,
const FIRST: Duration = Duration::from_secs(1);
/// after each that follows for twice as long, up to so many doublings,
const DOUBLINGS: u8 = 8;
/// and for half as long once it has stayed for so long, each time.
const CALM: Duration = Duration::from_secs(300);

/// The changes of one node.
pub(crate) struct Restless {
    last: Option<Instant>,
    changes: u8,
}

impl Restless {
    pub(crate) const fn new() -> Self {
        Restless { last: None, changes: 0 }
    }

    /// The node goes to a better parent.
    pub(crate) fn note(&mut self, now: Instant) {
        self.changes = self.lately(now).saturating_add(1).min(DOUBLINGS + 1);
        self.last = Some(now);
    }

    /// Whether it stays with the one that it has.
    pub(crate) fn stays(&self, now: Instant) -> bool {
        let doublings = self.lately(now).checked_sub(1).map(u32::from);
        let stay = doublings.map_or(Duration::ZERO, |doublings| FIRST * (1u32 << doublings));
        self.last.is_some_and(|last| now < last + stay)
    }

    /// Changes that are not forgotten yet.
    fn lately(&self, now: Instant) -> u8 {
        let calm = self.last.map_or(Duration::ZERO, |last| now - last);
        let forgotten = calm.as_micros().checked_div(CALM.as_micros()).unwrap_or(0);
        self.changes.saturating_sub(u8::try_from(forgotten).unwrap_or(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For how long a node stays from now on.
    fn stay(restless: &Restless, now: Instant) -> u64 {
        (0..).find(|&secs| !restless.stays(now + Duration::from_secs(secs))).unwrap()
    }

    #[test]
    fn who_changes_often_stays_for_longer_each_time_and_calm_is_rewarded() {
        let (mut restless, mut now) = (Restless::new(), Instant::from_secs(9));
        assert_eq!(stay(&restless, now), 0);
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
            restless.note(now);
            assert_eq!(stay(&restless, now), expected);
            now += Duration::from_secs(expected);
        }
        // Three of nine changes are forgotten in 900 s of calm, since the last of them.
        now += CALM * 3 - Duration::from_secs(256);
        restless.note(now);
        assert_eq!(stay(&restless, now), 64);
        now += CALM * 7;
        restless.note(now);
        assert_eq!(stay(&restless, now), 1);
    }
}
