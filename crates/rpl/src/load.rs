//! How full a node's queue is, and what that changes: after the idea of QU-RPL (queue
//! utilisation), the most that waited in a while decides, not how it is at one instant. What is
//! said is a single bit, the overload of RFC 6551, 3.1, so that others understand it, with two
//! limits apart so that it does not flutter.

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// The most that waited in such a time counts.
const WINDOW: Duration = Duration::from_secs(10);
/// A queue that was so full, of four parts, is overloaded; one that was less full than the other is
/// not any more.
const FULL: usize = 3;
const EMPTY: usize = 1;
const PARTS: usize = 4;

/// A node thinks of leaving a parent for that once in this time to twice this time, and leaves one
/// time of four, so that not all children leave together.
const THINK: Duration = Duration::from_secs(120);
/// Who has left does not leave again so soon: if its new parent is overloaded in its turn, the load
/// has moved with it.
const STAY: Duration = Duration::from_secs(3600);

/// What is known of the own queue, and when the last parent was left for its queue.
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

    /// So many of `room` packets wait. Whether the node is overloaded, when a window is over that
    /// has changed it.
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

    /// Whether the parent may be left because of its queue.
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
}
