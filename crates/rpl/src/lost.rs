//! Children that stopped acknowledging. In storing mode such a child does not know that its routes
//! were removed, if it sends nothing upward and was only out of range for a while: it is sent the
//! DTSN that requests DAOs (RFC 6550, 9.6) until that is acknowledged.

use core::cmp::Reverse;
use core::net::Ipv6Addr;
use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::{Duration, Instant, earliest};

/// Number of such children, the latest ones.
const CHILDREN: usize = 4;
/// Number of attempts and their interval: two minutes in all. The routes of a child that comes back
/// later are known again after its next refresh.
const TRIES: u8 = 8;
const EVERY: Duration = Duration::from_secs(15);

#[derive(Clone, Copy)]
struct Child {
    address: Ipv6Addr,
    at: Instant,
    tries: u8,
}

/// The lost children.
pub(crate) struct Lost([Option<Child>; CHILDREN]);

impl Lost {
    pub(crate) const fn new() -> Self {
        Lost([None; CHILDREN])
    }

    /// Notes that this child does not acknowledge.
    pub(crate) fn note(&mut self, now: Instant, address: Ipv6Addr) {
        if self.0.iter().flatten().any(|child| child.address == address) {
            return;
        }
        // The child with the most attempts is evicted.
        let claim = |place: &Option<Child>| match place {
            None => Claim::Free,
            Some(it) => Claim::Idle(Reverse(it.tries)),
        };
        if let Some(place) = slot_for_new(&self.0, claim).and_then(|index| self.0.get_mut(index)) {
            *place = Some(Child { address, at: now + EVERY, tries: 0 });
        }
    }

    /// Notes that this neighbour acknowledges again.
    pub(crate) fn found(&mut self, address: Ipv6Addr) {
        for place in &mut self.0 {
            let _ = place.take_if(|child| child.address == address);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.iter().flatten().fold(None, |first, child| earliest(first, Some(child.at)))
    }

    /// Returns the next child that is to get a DIO.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Ipv6Addr> {
        let is_due = |place: &&mut Option<Child>| place.is_some_and(|child| child.at <= now);
        let place = self.0.iter_mut().find(is_due)?;
        let child = place.as_mut()?;
        (child.at, child.tries) = (now + EVERY, child.tries.saturating_add(1));
        let address = child.address;
        let _ = place.take_if(|child| child.tries >= TRIES);
        Some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n)
    }

    #[test]
    fn a_child_is_tried_so_often_or_until_it_answers() {
        let (mut lost, mut now) = (Lost::new(), Instant::ZERO);
        lost.note(now, child(1));
        lost.note(now, child(2));
        assert_eq!(lost.due(now), None);
        let mut tried = std::vec::Vec::new();
        while let Some(at) = lost.deadline() {
            now = at;
            tried.extend(lost.due(now));
            if tried.len() == 6 {
                lost.found(child(2));
            }
        }
        let count = |n| tried.iter().filter(|it| **it == child(n)).count();
        assert_eq!((count(1), count(2)), (usize::from(TRIES), 3));
        (1..=5).for_each(|n| lost.note(now, child(n)));
        assert_eq!(lost.0.iter().flatten().count(), CHILDREN);
    }
}
