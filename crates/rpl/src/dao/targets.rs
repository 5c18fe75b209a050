//! Targets in DAOs: the rules by which they change the table (RFC 6550, 9.4 and 9.8).

use super::{Advertised, Route, is_of};
use core::net::Ipv6Addr;
use kinglet_time::{Instant, earliest};
use kinglet_wire::rpl::Target;

/// Result of a target in a DAO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The route is new or has changed.
    Updated,
    /// The child has another parent, and so have all nodes behind it.
    Left,
    /// The route was known. The parent need not be notified of a longer lifetime: the lifetime
    /// announced to it is longer.
    Known,
    /// Newer information is known.
    Stale,
    /// The table has no place for it.
    Full,
}

/// The table of targets.
pub(crate) struct Targets<'a>(pub(crate) &'a mut [Option<Route>]);

impl Targets<'_> {
    fn position(&self, target: &Target) -> Option<usize> {
        self.0.iter().position(|place| place.is_some_and(|route| route.target == *target))
    }

    /// Processes the route that a DAO offers, or withdraws with a lifetime of 0. An equal sequence
    /// renews the lifetime and may change the next hop: a router with another parent announces the
    /// targets of its children with the sequences that they chose.
    //= rfc6550#9.4-6
    pub(crate) fn consider(&mut self, offer: Route) -> Outcome {
        let Some(index) = self.position(&offer.target) else {
            return self.insert(offer);
        };
        let Some(Some(known)) = self.0.get_mut(index) else { return Outcome::Known };
        // An incomparable sequence comes from a node that has restarted, or was away for long.
        // After a loss, older offers are accepted too: a packet detects a stale one.
        if known.leads() && offer.sequence.is_surely_before(known.sequence) {
            return Outcome::Stale;
        }
        if !offer.is_usable() {
            return self.take_back(index, offer);
        }
        let elsewhere = known.is_usable() && offer.via != known.via;
        let again = offer.sequence == known.sequence;
        // A target that has announced itself has left its neighbour only if it uses a new sequence.
        if elsewhere && again && is_of(&known.target, known.via) {
            return Outcome::Stale;
        }
        // With equal sequences it is unknown which child is right: the last offer may be late,
        // except for that of the target itself.
        let other = match elsewhere {
            true => Some(known.via),
            false => known.other.filter(|other| *other != offer.via),
        };
        let other = other.filter(|_| again && !is_of(&offer.target, offer.via));
        // The parent need not be notified of another next hop or a longer lifetime: the lifetime
        // announced to it is longer.
        let same = known.is_usable() && again && offer.external == known.external;
        let same = same && offer.local == known.local;
        let advertised = if same { known.advertised } else { Advertised::No };
        *known = Route { advertised, other, ..offer };
        if same { Outcome::Known } else { Outcome::Updated }
    }

    /// Withdraws a target for a child that has announced it before.
    fn take_back(&mut self, index: usize, offer: Route) -> Outcome {
        let leaves = !offer.local && is_of(&offer.target, offer.via) && self.is_last_of(&offer);
        let Some(Some(known)) = self.0.get_mut(index) else { return Outcome::Known };
        let _ = known.other.take_if(|other| *other == offer.via);
        if offer.via != known.via || !known.is_usable() {
            // The route has another next hop since, or was withdrawn already.
            return Outcome::Known;
        }
        if leaves {
            self.leave(offer.via, offer.expires);
            return Outcome::Left;
        }
        if offer.sequence == known.sequence && known.switch_next_hop() {
            return Outcome::Known;
        }
        *known = Route { expires: None, advertised: Advertised::No, ..offer };
        Outcome::Updated
    }

    /// Returns whether no other address of the child is known. While a network is renumbered, there
    /// is another one.
    fn is_last_of(&self, offer: &Route) -> bool {
        let others = self.0.iter().flatten().filter(|route| route.target != offer.target);
        let mut usable = others.filter(|route| route.is_usable() && route.via == offer.via);
        !usable.any(|route| is_of(&route.target, offer.via))
    }

    fn insert(&mut self, offer: Route) -> Outcome {
        if !offer.is_usable() {
            return Outcome::Known;
        }
        match self.0.iter_mut().find(|place| place.is_none()) {
            Some(place) => {
                *place = Some(offer);
                Outcome::Updated
            }
            None => Outcome::Full,
        }
    }

    /// Returns the route to an address: that with the longest prefix.
    pub(crate) fn find(table: &[Option<Route>], address: Ipv6Addr) -> Option<&Route> {
        let all = table.iter().flatten().filter(|route| route.leads());
        all.filter(|route| route.covers(address)).max_by_key(|route| route.target.prefix_len)
    }

    /// Removes the route to a target through this child, because it fails. Returns whether the
    /// target is lost, in which case the parent must be notified.
    pub(crate) fn lose_route(&mut self, target: &Target, child: Ipv6Addr) -> bool {
        let Some(index) = self.position(target) else { return false };
        let Some(Some(known)) = self.0.get_mut(index) else { return false };
        let _ = known.other.take_if(|other| *other == child);
        known.via == child && !known.switch_next_hop() && self.lose(|route| route.target == *target)
    }

    /// Removes all routes through this child. Returns whether any target is lost, in which case the
    /// parent must be notified.
    pub(crate) fn lose_child(&mut self, child: Ipv6Addr) -> bool {
        for route in self.0.iter_mut().flatten().filter(|route| !route.local) {
            let _ = route.other.take_if(|other| *other == child);
            if route.via == child && route.is_usable() {
                route.switch_next_hop();
            }
        }
        self.lose(|route| route.via == child && !route.local)
    }

    /// Marks matching routes as lost, for notice to the parent. Returns whether there were any.
    pub(crate) fn lose(&mut self, matches: impl Fn(&Route) -> bool) -> bool {
        let mut any = false;
        for route in self.0.iter_mut().flatten() {
            if route.leads() && matches(route) {
                route.lifetime = 0;
                route.advertised = Advertised::No;
                (route.expires, route.other) = (None, None);
                any = true;
            }
        }
        any
    }

    /// Records that a child has another parent now. Packets still go through it until the other
    /// routers have had time to learn the new route. A new parent of this node is not notified of
    /// these routes: otherwise routers above would have two routes of the same sequence.
    fn leave(&mut self, child: Ipv6Addr, until: Option<Instant>) {
        for route in self.0.iter_mut().flatten() {
            let _ = route.other.take_if(|other| *other == child);
            if route.is_usable() && !route.local && route.via == child && !route.switch_next_hop() {
                (route.lifetime, route.expires) = (0, until);
            }
        }
    }

    /// Removes matching routes without notice to the parent.
    pub(crate) fn forget(&mut self, matches: impl Fn(&Route) -> bool) {
        for place in self.0.iter_mut() {
            let _ = place.take_if(|route| matches(route));
        }
    }

    /// Removes lost routes whose loss the parent knows; with `all`, every lost route.
    pub(crate) fn sweep(&mut self, all: bool) {
        self.forget(|route| !route.leads() && (all || route.advertised == Advertised::Yes));
    }

    /// Replaces the mark `from` of all routes by `to`. Returns whether there were any.
    pub(crate) fn mark(&mut self, from: Advertised, to: Advertised) -> bool {
        let marked = self.0.iter_mut().flatten().filter(|route| route.advertised == from);
        marked.fold(false, |_, route| {
            route.advertised = to;
            true
        })
    }

    /// Marks all routes for announcement: the parent has changed, or requests DAOs.
    pub(crate) fn announce_all(&mut self) {
        self.0.iter_mut().flatten().for_each(|route| route.advertised = Advertised::No);
    }

    /// Marks the targets of other nodes for a refresh, because their announcement expires.
    pub(crate) fn reannounce_others(&mut self) {
        let others = self.0.iter_mut().flatten().filter(|route| !route.local);
        others
            .filter(|route| route.advertised == Advertised::Yes)
            .for_each(|route| route.advertised = Advertised::No);
    }

    /// Returns a child whose own address has expired without a refresh. The lifetimes of the other
    /// targets that it has announced are longer; they are to be removed with it.
    pub(crate) fn silent_child(&self, now: Instant) -> Option<Ipv6Addr> {
        let all = self.0.iter().flatten().filter(|route| route.is_usable() && !route.local);
        let mut silent = all.filter(|route| is_of(&route.target, route.via));
        silent.find(|route| route.expires.is_some_and(|at| at <= now)).map(|route| route.via)
    }

    pub(crate) fn deadline(table: &[Option<Route>]) -> Option<Instant> {
        table.iter().flatten().fold(None, |first, route| earliest(first, route.expires))
    }

    /// Marks routes that were not refreshed in time as lost. Returns whether there were any.
    pub(crate) fn handle_deadline(&mut self, now: Instant) -> bool {
        self.lose(|route| route.expires.is_some_and(|at| at <= now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lollipop::Counter;
    use kinglet_time::Duration;

    fn route(target: u16, via: u16, sequence: u8, lifetime: u8) -> Route {
        let address = |n| Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, n);
        Route {
            target: Target { prefix: address(target), prefix_len: 128 },
            via: address(via),
            sequence: Counter::new(sequence),
            lifetime,
            external: false,
            local: false,
            other: None,
            expires: Some(Instant::ZERO + Duration::from_secs(60) * u32::from(lifetime)),
            advertised: Advertised::No,
        }
    }

    fn via(table: &[Option<Route>], target: u16) -> Option<u16> {
        let route = Targets::find(table, route(target, 0, 0, 0).target.prefix)?;
        Some(route.via.segments()[7])
    }

    #[test]
    fn the_newest_word_on_a_target_counts() {
        let mut table = [None; 2];
        let mut targets = Targets(&mut table);
        assert_eq!(targets.consider(route(1, 7, 240, 5)), Outcome::Updated);
        assert_eq!(targets.consider(route(1, 8, 239, 5)), Outcome::Stale);
        assert_eq!(targets.consider(route(1, 8, 240, 5)), Outcome::Known);
        // Withdrawn by the former next hop.
        assert_eq!(targets.consider(route(1, 7, 240, 0)), Outcome::Known);
        assert_eq!(via(targets.0, 1), Some(8));
        assert_eq!(targets.consider(route(1, 8, 241, 0)), Outcome::Updated);
        assert_eq!(via(targets.0, 1), None);
        // An incomparable number comes from a node that has restarted.
        assert_eq!(targets.consider(route(1, 9, 130, 5)), Outcome::Updated);
        assert_eq!(targets.consider(route(2, 9, 3, 5)), Outcome::Updated);
        assert_eq!(targets.consider(route(3, 9, 3, 5)), Outcome::Full);
        assert_eq!((via(targets.0, 1), via(targets.0, 3)), (Some(9), None));
    }

    /// A router below has not learnt yet that a node has moved here, and announces it to its
    /// parent.
    #[test]
    fn a_self_announced_node_is_behind_another_only_with_a_new_sequence() {
        let mut table = [None; 1];
        let mut targets = Targets(&mut table);
        assert_eq!(targets.consider(route(1, 1, 250, 5)), Outcome::Updated);
        assert_eq!(targets.consider(route(1, 2, 250, 5)), Outcome::Stale);
        assert_eq!(targets.consider(route(1, 2, 250, 0)), Outcome::Known);
        assert_eq!(via(targets.0, 1), Some(1));
        assert_eq!(targets.consider(route(1, 2, 251, 5)), Outcome::Updated);
        assert_eq!(via(targets.0, 1), Some(2));
    }

    /// A router that changed its parent, and one that does not know that yet, use the same
    /// sequence.
    #[test]
    fn a_target_of_two_children_is_routed_through_the_other_when_the_last_withdraws_it() {
        let mut table = [None; 1];
        let mut targets = Targets(&mut table);
        targets.consider(route(1, 7, 240, 5));
        targets.mark(Advertised::No, Advertised::Yes);
        // The parent knows the target, and need not learn its next hop.
        assert_eq!(targets.consider(route(1, 8, 240, 5)), Outcome::Known);
        assert_eq!(via(targets.0, 1), Some(8));
        assert_eq!(targets.consider(route(1, 8, 240, 5)), Outcome::Known);
        assert_eq!(targets.consider(route(1, 8, 240, 0)), Outcome::Known);
        assert_eq!(via(targets.0, 1), Some(7));
        assert!(!targets.mark(Advertised::No, Advertised::Yes));
        assert_eq!(targets.consider(route(1, 7, 240, 0)), Outcome::Updated);
        assert_eq!(via(targets.0, 1), None);
        // With another sequence it is clear which child is right.
        targets.consider(route(1, 7, 240, 5));
        assert_eq!(targets.consider(route(1, 8, 241, 5)), Outcome::Updated);
        assert_eq!(targets.consider(route(1, 8, 241, 0)), Outcome::Updated);
        assert_eq!(via(targets.0, 1), None);
    }

    #[test]
    fn a_target_is_lost_when_its_last_child_or_the_target_itself_withdraws_it() {
        let mut table = [None; 2];
        let mut targets = Targets(&mut table);
        targets.consider(route(1, 7, 240, 5));
        targets.consider(route(1, 8, 240, 5));
        assert_eq!(targets.consider(route(1, 7, 240, 0)), Outcome::Known);
        assert_eq!(targets.consider(route(1, 8, 240, 0)), Outcome::Updated);
        targets.consider(route(8, 7, 240, 5));
        targets.consider(route(8, 8, 240, 5));
        assert_eq!(targets.consider(route(8, 8, 240, 0)), Outcome::Left);
        assert_eq!(targets.0.iter().flatten().filter(|route| route.is_usable()).count(), 0);
    }

    #[test]
    fn a_detaching_child_forwards_for_a_while_and_no_parent_is_notified() {
        let mut table = [None; 3];
        let mut targets = Targets(&mut table);
        for target in [7, 1, 2] {
            targets.consider(route(target, 7, 240, 5));
        }
        targets.consider(route(2, 8, 240, 5));
        targets.consider(route(2, 7, 240, 5));
        targets.mark(Advertised::No, Advertised::Yes);
        let until = Instant::from_secs(9);
        let takes_back = Route { expires: Some(until), ..route(7, 7, 241, 0) };
        assert_eq!(targets.consider(takes_back), Outcome::Left);
        targets.sweep(false);
        // A target that another child has announced as well is routed through that child.
        assert_eq!([7, 1, 2].map(|target| via(targets.0, target)), [Some(7), Some(7), Some(8)]);
        assert!([0, 1].iter().all(|index| targets.0[*index].is_some_and(|it| it.is_left())));
        assert!(!targets.handle_deadline(Instant::from_secs(8)));
        assert!(targets.handle_deadline(until));
        assert_eq!([7, 1, 2].map(|target| via(targets.0, target)), [None, None, Some(8)]);
        assert!(targets.mark(Advertised::No, Advertised::Yes));
    }

    #[test]
    fn a_node_that_withdraws_one_of_two_addresses_has_not_left() {
        let mut table = [None; 3];
        let mut targets = Targets(&mut table);
        let old = route(7, 7, 240, 5);
        let mut new = old;
        new.target.prefix = Ipv6Addr::new(0xFD01, 0, 0, 0, 0, 0, 0, 7);
        for offer in [old, new, route(1, 7, 240, 5)] {
            targets.consider(offer);
        }
        assert_eq!(targets.consider(route(7, 7, 240, 0)), Outcome::Updated);
        assert_eq!([7, 1].map(|target| via(targets.0, target)), [None, Some(7)]);
        assert!(targets.0[2].is_some_and(|other| other.is_usable()));
        assert_eq!(targets.consider(Route { lifetime: 0, ..new }), Outcome::Left);
        assert!(targets.0[2].is_some_and(|other| other.is_left()));
    }

    #[test]
    fn a_lost_child_is_replaced_by_another_that_announced_the_same() {
        let mut table = [None; 3];
        let mut targets = Targets(&mut table);
        targets.consider(route(1, 7, 240, 5));
        targets.consider(route(2, 7, 240, 5));
        targets.consider(route(2, 8, 240, 5));
        targets.consider(route(3, 8, 240, 5));
        targets.consider(route(3, 7, 240, 5));
        assert!(targets.lose_child(route(0, 7, 0, 0).via));
        assert_eq!([1, 2, 3].map(|target| via(targets.0, target)), [None, Some(8), Some(8)]);
        assert!(targets.lose_child(route(0, 8, 0, 0).via));
        assert_eq!([2, 3].map(|target| via(targets.0, target)), [None, None]);
    }

    /// A packet first comes back from the child that announced a target before the other did.
    #[test]
    fn a_dead_route_is_not_used_again() {
        let mut table = [None; 1];
        let mut targets = Targets(&mut table);
        targets.consider(route(1, 7, 240, 5));
        targets.consider(route(1, 8, 240, 5));
        let (target, child) = (route(1, 0, 0, 0).target, |n| route(0, n, 0, 0).via);
        assert!(!targets.lose_route(&target, child(7)));
        assert_eq!(via(targets.0, 1), Some(8));
        assert!(targets.lose_route(&target, child(8)));
        assert_eq!(via(targets.0, 1), None);
    }

    #[test]
    fn an_unannounced_lost_route_is_announced_with_all_others() {
        let mut table = [None; 2];
        let mut targets = Targets(&mut table);
        targets.consider(route(1, 7, 240, 5));
        targets.consider(route(2, 7, 240, 5));
        targets.mark(Advertised::No, Advertised::Yes);
        assert!(targets.lose(|route| route.target == self::route(1, 7, 0, 0).target));
        targets.announce_all();
        targets.sweep(false);
        let pending = targets.0.iter().flatten().filter(|route| route.advertised == Advertised::No);
        assert_eq!(pending.map(|route| route.lifetime).collect::<std::vec::Vec<_>>(), [0, 5]);
    }

    #[test]
    fn a_dao_that_says_nothing_new_renews_the_lifetime() {
        let mut table = [None; 1];
        let mut targets = Targets(&mut table);
        let mut offer = route(1, 7, 240, 1);
        targets.consider(offer);
        targets.mark(Advertised::No, Advertised::Yes);
        offer.expires = Some(Instant::from_secs(90));
        assert_eq!(targets.consider(offer), Outcome::Known);
        assert!(!targets.handle_deadline(Instant::from_secs(89)));
        assert!(targets.handle_deadline(Instant::from_secs(90)));
        // It is kept until the parent is notified.
        targets.sweep(false);
        assert!(targets.0[0].is_some());
        targets.mark(Advertised::No, Advertised::Yes);
        targets.sweep(false);
        assert!(targets.0[0].is_none());
    }
}
