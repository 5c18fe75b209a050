//! Parent candidates (RFC 6550, 8.2.1), and the choice of the best.

use crate::link::Link;
use crate::lollipop::Counter;
use crate::objective::Path;
use crate::rank::INFINITE_RANK;
use core::cmp::Reverse;
use core::net::Ipv6Addr;
use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::Instant;

/// A neighbour that has sent a DIO of this node's DODAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its link-local address.
    pub(crate) address: Ipv6Addr,
    /// Its routable address.
    pub(crate) global: Option<Ipv6Addr>,
    /// The rank that it advertised last.
    pub(crate) rank: u16,
    pub(crate) version: Counter,
    pub(crate) dtsn: Counter,
    pub(crate) overloaded: bool,
    /// It has restarted, so that its next DIO counts as a request for DAOs.
    pub(crate) restarted: bool,
    pub(crate) link: Link,
    /// Time of its first DIO, for probes.
    pub(crate) since: Instant,
}

impl Candidate {
    pub(crate) const fn path(&self) -> Path {
        Path { rank: self.rank, etx: self.link.etx(), overloaded: self.overloaded }
    }
}

/// The table of candidates, with the logic that needs no more than it.
pub(crate) struct Parents<'a>(pub(crate) &'a mut [Option<Candidate>]);

impl Parents<'_> {
    pub(crate) fn get(&self, address: Ipv6Addr) -> Option<&Candidate> {
        self.0.iter().flatten().find(|candidate| candidate.address == address)
    }

    pub(crate) fn get_mut(&mut self, address: Ipv6Addr) -> Option<&mut Candidate> {
        self.0.iter_mut().flatten().find(|candidate| candidate.address == address)
    }

    /// Inserts a candidate. In a full table it evicts the one with the highest `cost` other than
    /// `kept`, if its own is less. Returns whether it was inserted.
    pub(crate) fn insert(
        &mut self,
        new: Candidate,
        kept: Option<Ipv6Addr>,
        cost: impl Fn(&Candidate) -> u16,
    ) -> bool {
        let claim = |place: &Option<Candidate>| match place {
            None => Claim::Free,
            Some(it) if Some(it.address) == kept || cost(it) <= cost(&new) => Claim::InUse,
            Some(it) => Claim::Idle(Reverse(cost(it))),
        };
        let place = slot_for_new(self.0, claim).and_then(|index| self.0.get_mut(index));
        place.is_some_and(|place| {
            *place = Some(new);
            true
        })
    }

    /// Returns the least `cost` and its candidate's address; `None` if all cost [`INFINITE_RANK`].
    pub(crate) fn best(&self, cost: impl Fn(&Candidate) -> u16) -> Option<(u16, Ipv6Addr)> {
        let all = self.0.iter().flatten().map(|c| (cost(c), c.address));
        all.filter(|(cost, _)| *cost != INFINITE_RANK).min_by_key(|(cost, _)| *cost)
    }

    /// Discards the ranks of all candidates and keeps their link estimates.
    pub(crate) fn forget_ranks(&mut self) {
        self.0.iter_mut().flatten().for_each(|candidate| candidate.rank = INFINITE_RANK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(n: u16, rank: u16) -> Candidate {
        Candidate {
            address: Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n),
            global: None,
            rank,
            version: Counter::FIRST,
            dtsn: Counter::FIRST,
            overloaded: false,
            restarted: false,
            link: Link::new(30),
            since: Instant::ZERO,
        }
    }

    #[test]
    fn a_full_table_gives_up_its_worst_for_a_better_one_but_never_the_parent() {
        let mut table = [None; 2];
        let mut parents = Parents(&mut table);
        let cost = |c: &Candidate| c.rank;
        let parent = candidate(1, 900);
        assert!(parents.insert(parent, None, cost));
        assert!(parents.insert(candidate(2, 800), Some(parent.address), cost));
        assert!(!parents.insert(candidate(3, 850), Some(parent.address), cost));
        assert!(parents.insert(candidate(4, 700), Some(parent.address), cost));
        assert_eq!(parents.best(cost), Some((700, candidate(4, 0).address)));
        assert!(parents.get_mut(parent.address).is_some());
        parents.forget_ranks();
        assert_eq!(parents.best(cost), None);
    }
}
