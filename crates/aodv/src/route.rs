//! The routing table: known routes, their updates, and eviction.

use crate::metric::RouteQuality;
use crate::params::{LATELY, Times};
use crate::precursors::Precursors;
use crate::sequence::{is_newer, newest};
use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::{Duration, Instant, earliest};

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) destination: u16,
    /// Its newest known sequence number.
    pub(crate) sequence: Option<u32>,
    pub(crate) next_hop: u16,
    pub(crate) quality: RouteQuality,
    pub(crate) is_valid: bool,
    /// True if packets have used the route.
    is_used: bool,
    /// Time of the last packet to it that began here.
    began: Option<Instant>,
    /// True if the route was lost while packets that begin here needed it.
    is_missed: bool,
    /// True if the loss of the route is still to be reported to its precursors.
    pub(crate) is_unreported: bool,
    /// Time until which the route is valid, or until which its loss is remembered.
    expires: Instant,
    pub(crate) precursors: Precursors,
}

/// A route that a neighbour offers.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) destination: u16,
    pub(crate) sequence: u32,
    pub(crate) next_hop: u16,
    pub(crate) quality: RouteQuality,
    pub(crate) lifetime: Duration,
}

/// Result of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is the route from now on.
    Yes,
    /// The known route is as new and at least as good.
    NoBetter,
    /// The known sequence number is newer.
    Stale,
    /// The table has no place for it.
    Full,
}

impl Route {
    fn new(now: Instant, offer: &Offer) -> Self {
        let Offer { destination, sequence, next_hop, quality, lifetime } = *offer;
        Route {
            destination,
            sequence: Some(sequence),
            next_hop,
            quality,
            is_valid: true,
            is_used: false,
            began: None,
            is_missed: false,
            is_unreported: false,
            expires: now + lifetime,
            precursors: Precursors::None,
        }
    }

    /// Returns an invalid entry for a destination to which a neighbour has sent a packet through
    /// this node, which has no route.
    pub(crate) fn unknown(
        now: Instant,
        destination: u16,
        quality: RouteQuality,
        times: Times,
    ) -> Self {
        let (sequence, next_hop, lifetime) = (0, destination, times.delete_period());
        let offer = Offer { destination, sequence, next_hop, quality, lifetime };
        Route { sequence: None, is_valid: false, ..Route::new(now, &offer) }
    }

    /// Returns the time at which it expires, if it is valid.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        self.is_valid.then_some(self.expires)
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        !self.is_valid && self.expires <= now
    }

    /// Marks it as used by a packet.
    pub(crate) fn touch(&mut self, now: Instant, times: Times) {
        self.is_used = true;
        self.keep(now + times.active_route());
    }

    /// Marks it as used by a packet that begins here.
    pub(crate) const fn begin(&mut self, now: Instant) {
        self.began = Some(now);
    }

    /// Returns whether it was lost while packets that begin here needed it, and clears that mark.
    pub(crate) const fn take_missed(&mut self) -> bool {
        core::mem::replace(&mut self.is_missed, false)
    }

    /// Extends its lifetime to this instant at least.
    pub(crate) fn keep(&mut self, until: Instant) {
        self.expires = self.expires.max(until);
    }

    /// Invalidates it; its precursors are to be notified. Its sequence number becomes at least
    /// `sequence`, the number that other nodes know, so that older information does not make it
    /// valid again.
    pub(crate) fn lose(&mut self, now: Instant, sequence: Option<u32>, times: Times) {
        self.sequence = newest(self.sequence, sequence);
        (self.is_valid, self.is_used) = (false, false);
        self.is_unreported = self.precursors != Precursors::None;
        self.is_missed = self.began.is_some_and(|at| now - at < LATELY);
        self.expires = now + times.delete_period();
    }

    /// Invalidates it because of an event at this node. The sequence number is incremented, so that
    /// no node with a route through this one is accepted as an alternative (RFC 3561, 6.11).
    pub(crate) fn break_off(&mut self, now: Instant, times: Times) {
        self.lose(now, self.sequence.map(|sequence| sequence.wrapping_add(1)), times);
    }

    /// Returns its claim to its slot. Routes that packets use are never evicted, so a flood of
    /// requests takes away none of them. Of the others those that are over go first, then the
    /// invalid ones, each in the order of their expiry.
    fn claim(&self, now: Instant) -> Claim<(bool, bool, Instant)> {
        match self.is_unreported || self.is_valid && self.is_used {
            true => Claim::InUse,
            false => Claim::Idle((!self.is_forgotten(now), self.is_valid, self.expires)),
        }
    }

    fn take(&mut self, now: Instant, offer: &Offer) -> Taken {
        let known = self.sequence.filter(|_| !self.is_forgotten(now));
        if known.is_some_and(|known| is_newer(known, offer.sequence)) {
            return Taken::Stale;
        }
        let is_newer = known.is_none_or(|known| is_newer(offer.sequence, known));
        if self.is_valid && !is_newer && !offer.quality.is_better_than(&self.quality) {
            self.keep(now + offer.lifetime);
            return Taken::NoBetter;
        }
        let before = *self;
        *self = Route::new(now, offer);
        if before.is_valid {
            (self.is_used, self.precursors) = (before.is_used, before.precursors);
            self.began = before.began;
            self.keep(before.expires);
        }
        Taken::Yes
    }
}

pub(crate) fn find(table: &[Option<Route>], destination: u16) -> Option<&Route> {
    table.iter().flatten().find(|route| route.destination == destination)
}

pub(crate) fn find_mut(table: &mut [Option<Route>], destination: u16) -> Option<&mut Route> {
    table.iter_mut().flatten().find(|route| route.destination == destination)
}

/// Takes an offered route, or not (RFC 3561, 6.2).
pub(crate) fn consider(table: &mut [Option<Route>], now: Instant, offer: &Offer) -> Taken {
    if let Some(route) = find_mut(table, offer.destination) {
        return route.take(now, offer);
    }
    match place(table, now) {
        Some(place) => {
            *place = Some(Route::new(now, offer));
            Taken::Yes
        }
        None => Taken::Full,
    }
}

/// Returns a place for another destination: a free one, or that of the entry that is evicted first.
pub(crate) fn place(table: &mut [Option<Route>], now: Instant) -> Option<&mut Option<Route>> {
    let claim = |place: &Option<Route>| place.map_or(Claim::Free, |route| route.claim(now));
    table.get_mut(slot_for_new(table, claim)?)
}

/// Invalidates routes that were not used until their expiry; returns the next expiry.
pub(crate) fn expire(table: &mut [Option<Route>], now: Instant, times: Times) -> Option<Instant> {
    let mut first = None;
    for route in table.iter_mut().flatten() {
        if route.is_valid && route.expires <= now {
            (route.is_valid, route.is_used) = (false, false);
            route.precursors = Precursors::None;
            route.expires = now + times.delete_period();
        }
        first = earliest(first, route.expiry());
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;

    const T0: Instant = Instant::from_secs(100);
    const TIMES: Times = Times::new(Duration::ZERO);

    fn offer(destination: u16, sequence: u32, hops: u8) -> Offer {
        let quality = RouteQuality { hops, delivery: None };
        let lifetime = Duration::from_secs(3);
        Offer { destination, sequence, next_hop: u16::from(hops) + 100, quality, lifetime }
    }

    #[test]
    fn a_newer_sequence_number_wins_and_an_equal_one_with_fewer_hops() {
        let mut table = [None; 1];
        let mut take = |sequence, hops| {
            let taken = consider(&mut table, T0, &offer(1, sequence, hops));
            (taken, find(&table, 1).unwrap().next_hop)
        };
        assert_eq!(take(u32::MAX, 3), (Taken::Yes, 103));
        assert_eq!(take(u32::MAX, 3), (Taken::NoBetter, 103));
        assert_eq!(take(u32::MAX, 2), (Taken::Yes, 102));
        assert_eq!(take(0, 9), (Taken::Yes, 109));
        assert_eq!(take(u32::MAX, 1), (Taken::Stale, 109));
        assert_eq!(take(0, 10), (Taken::NoBetter, 109));
    }

    #[test]
    fn only_an_equally_new_sequence_restores_a_lost_route() {
        let mut table = [None; 1];
        assert_eq!(consider(&mut table, T0, &offer(1, 7, 3)), Taken::Yes);
        let route = find_mut(&mut table, 1).unwrap();
        route.precursors.add(9);
        route.lose(T0, Some(8), TIMES);
        assert!(!route.is_valid && route.is_unreported);
        assert_eq!(consider(&mut table, T0, &offer(1, 7, 1)), Taken::Stale);
        assert_eq!(consider(&mut table, T0, &offer(1, 8, 9)), Taken::Yes);
        let route = find_mut(&mut table, 1).unwrap();
        assert_eq!((route.is_unreported, route.precursors), (false, Precursors::None));
        // An entry that has expired does not count.
        route.lose(T0, Some(500), TIMES);
        let later = T0 + TIMES.delete_period();
        assert_eq!(consider(&mut table, later, &offer(1, 1, 9)), Taken::Yes);
    }

    #[test]
    fn a_used_route_is_not_evicted() {
        let mut table = [None; 3];
        for destination in 1..=3 {
            assert_eq!(consider(&mut table, T0, &offer(destination, 1, 1)), Taken::Yes);
        }
        find_mut(&mut table, 1).unwrap().touch(T0, TIMES);
        find_mut(&mut table, 2).unwrap().lose(T0, Some(2), TIMES);
        // A lost route is evicted first, then an unused one.
        for (new, gone) in [(4, 2), (5, 3)] {
            assert_eq!(consider(&mut table, T0, &offer(new, 1, 1)), Taken::Yes);
            assert!(find(&table, gone).is_none() && find(&table, new).is_some());
            find_mut(&mut table, new).unwrap().touch(T0, TIMES);
        }
        assert_eq!(consider(&mut table, T0, &offer(6, 1, 1)), Taken::Full);
        assert_eq!(
            expire(&mut table, T0 + Duration::from_secs(9), TIMES),
            Some(T0 + TIMES.active_route())
        );
        assert_eq!(expire(&mut table, T0 + TIMES.active_route(), TIMES), None);
        assert_eq!(consider(&mut table, T0 + TIMES.delete_period(), &offer(6, 1, 1)), Taken::Yes);
    }

    #[test]
    fn an_unreported_lost_route_keeps_its_place() {
        let mut table = [None; 1];
        let quality = RouteQuality::start(Metric::HopCount);
        let mut route = Route::unknown(T0, 1, quality, TIMES);
        route.precursors.add(9);
        route.lose(T0, None, TIMES);
        assert_eq!((route.is_unreported, route.sequence), (true, None));
        table[0] = Some(route);
        assert_eq!(consider(&mut table, T0, &offer(6, 1, 1)), Taken::Full);
        table[0].as_mut().unwrap().is_unreported = false;
        assert_eq!(consider(&mut table, T0, &offer(6, 1, 1)), Taken::Yes);
    }
}
