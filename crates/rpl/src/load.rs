//! Queue utilisation of a node and its announcement, after the idea of QU-RPL: the maximum over a
//! while decides, not the length at one instant. The announcement is a single bit, the overload of
//! RFC 6551, 3.1, so that other implementations understand it. Two limits prevent flutter.

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Time over which the maximum is taken.
const WINDOW: Duration = Duration::from_secs(10);
/// A queue that was filled to `FULL` of four parts is overloaded. It is no longer overloaded after
/// a window with a maximum of at most `EMPTY` parts.
const FULL: usize = 3;
const EMPTY: usize = 1;
const PARTS: usize = 4;

/// A node considers leaving a congested parent once in this time to twice this time, and leaves it
/// in one of four cases, so that not all children leave together.
const THINK: Duration = Duration::from_secs(120);
/// Minimum time until a node leaves a congested parent again: if the new parent becomes overloaded
/// in turn, the load has moved with the node.
const STAY: Duration = Duration::from_secs(3600);

/// The state of the own queue, and the time until which congestion changes no parent.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// The most parts that were full in this window.
    most: usize,
    since: Instant,
    stays: Instant,
}

impl Load {
    pub(crate) const fn new() -> Self {
        Load { most: 0, since: Instant::ZERO, stays: Instant::ZERO }
    }

    /// Notes that `waiting` of `room` packets wait. Returns whether the node is overloaded, if the
    /// end of a window has changed that.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        waiting: usize,
        room: usize,
        overloaded: bool,
    ) -> Option<bool> {
        let parts = waiting.saturating_mul(PARTS).checked_div(room).unwrap_or(0);
        self.most = self.most.max(parts);
        if now < self.since + WINDOW {
            return None;
        }
        let most = core::mem::replace(&mut self.most, parts);
        self.since = now;
        let is = if overloaded { most > EMPTY } else { most >= FULL };
        (is != overloaded).then_some(is)
    }

    /// Returns whether the parent may be replaced because of its queue.
    pub(crate) fn may_leave(&mut self, now: Instant, random: &mut Random) -> bool {
        if now < self.stays {
            return false;
        }
        let leaves = random.between(Duration::ZERO, THINK) < THINK / 4;
        let wait = if leaves { STAY } else { THINK };
        self.stays = now + random.between(wait, wait + wait);
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_in_a_window_counts_and_limits_are_apart() {
        let mut load = Load::new();
        let mut overloaded = false;
        let mut note = |secs, waiting| {
            let now = Instant::from_secs(secs);
            if let Some(is) = load.note(now, waiting, 8, overloaded) {
                overloaded = is;
            }
            overloaded
        };
        assert!(!note(1, 7), "the window is not over");
        assert!(note(11, 0), "it was full once");
        assert!(note(15, 5) && note(21, 0), "half full is not empty");
        assert!(note(25, 3) && !note(31, 0));
        assert!(!note(35, 5) && !note(41, 0), "half full is not full");
    }

    #[test]
    fn a_congested_parent_is_left_in_one_of_four_cases_and_not_soon_again() {
        let mut random = Random::new(7, 1);
        let mut left = 0;
        for _ in 0..1_000 {
            let (mut load, now) = (Load::new(), Instant::from_secs(1));
            let leaves = load.may_leave(now, &mut random);
            let wait = if leaves { STAY } else { THINK };
            assert!((now + wait..=now + wait * 2).contains(&load.stays));
            assert!(!load.may_leave(load.stays - Duration::from_micros(1), &mut random));
            left += u32::from(leaves);
        }
        assert!((200..300).contains(&left), "{left}");
    }
}
