//! Neighbours that do not acknowledge frames, including those that cannot be parents: a root has no
//! candidates, and the table of other nodes may be full.

use core::net::Ipv6Addr;
use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::{Duration, Instant};

/// Number of neighbours in the table.
const NEIGHBOURS: usize = 4;
/// Consecutive frames without acknowledgement that make a neighbour silent.
const FAILURES: u8 = 2;
/// Time for which nothing is sent to it by source routes.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct Neighbour {
    address: Ipv6Addr,
    failures: u8,
    since: Instant,
}

/// The neighbours with unacknowledged frames.
pub(crate) struct Silent([Option<Neighbour>; NEIGHBOURS]);

impl Silent {
    pub(crate) const fn new() -> Self {
        Silent([None; NEIGHBOURS])
    }

    /// Notes that a frame to this neighbour was acknowledged or given up. Returns the number of
    /// consecutive frames that were given up.
    pub(crate) fn note(&mut self, now: Instant, address: Ipv6Addr, acked: bool) -> u8 {
        let is_it = |place: &Option<Neighbour>| place.is_some_and(|it| it.address == address);
        let known = self.0.iter().position(is_it);
        if acked {
            if let Some(place) = known.and_then(|index| self.0.get_mut(index)) {
                *place = None;
            }
            return 0;
        }
        // Its place, a free one, or that of the neighbour with the fewest failures, the oldest of
        // them.
        let claim = |place: &Option<Neighbour>| match place {
            None => Claim::Free,
            Some(it) => Claim::Idle((it.failures, it.since)),
        };
        let index = known.or_else(|| slot_for_new(&self.0, claim));
        let Some(place) = index.and_then(|index| self.0.get_mut(index)) else { return 0 };
        let before = place.filter(|it| it.address == address).map_or(0, |it| it.failures);
        let failures = before.saturating_add(1);
        *place = Some(Neighbour { address, failures, since: now });
        failures
    }

    /// Returns whether the neighbour is silent now.
    pub(crate) fn has(&self, now: Instant, address: Ipv6Addr) -> bool {
        let silent = |it: &Neighbour| it.failures >= FAILURES && now < it.since + PATIENCE;
        self.0.iter().flatten().any(|it| it.address == address && silent(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n)
    }

    #[test]
    fn two_frames_in_a_row_make_a_neighbour_silent_for_some_time() {
        let (mut silent, now) = (Silent::new(), Instant::from_secs(1));
        assert_eq!(silent.note(now, neighbour(1), false), 1);
        assert_eq!(silent.note(now, neighbour(1), true), 0);
        assert_eq!(silent.note(now, neighbour(1), false), 1);
        assert!(!silent.has(now, neighbour(1)));
        assert_eq!(silent.note(now, neighbour(1), false), 2);
        assert!(silent.has(now, neighbour(1)) && !silent.has(now, neighbour(2)));
        assert!(!silent.has(now + PATIENCE, neighbour(1)));
        assert_eq!(silent.note(now + PATIENCE, neighbour(1), false), 3);
    }

    #[test]
    fn the_place_of_who_has_failed_least_is_taken_first() {
        let (mut silent, now) = (Silent::new(), Instant::from_secs(1));
        for n in 1..=4 {
            assert_eq!([0; 3].map(|_| silent.note(now, neighbour(n), false)), [1, 2, 3]);
        }
        let later = now + PATIENCE / 2;
        assert_eq!(silent.note(later, neighbour(5), false), 1);
        assert_eq!(silent.note(later, neighbour(6), false), 1);
        assert_eq!(silent.note(later, neighbour(2), false), 4);
        assert!(!silent.has(later, neighbour(1)) && silent.has(later, neighbour(3)));
    }
}
