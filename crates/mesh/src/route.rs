//! The distance vector: a router's route to another, and the rule for accepting a different one.
//!
//! A node accepts a cheaper route only from a neighbour that is *nearer to the destination than
//! this node has been*: its advertised cost is below the least cost that this node has had. No loop
//! can form because that number falls along any route. When the cost has risen above it, this node
//! first advertises the rise, and discards the number after [`HOLD`], when all nodes with a route
//! through it know. OpenThread lacks this rule and counts up instead.

use crate::link::UNREACHABLE;
use kinglet_time::{Duration, Instant, earliest};

/// Destination of the route out of the mesh: the nearest border router. No device has this address.
pub(crate) const OUTSIDE: u16 = 0xFFFE;

/// Time for which a risen cost is advertised before any other route is accepted: two
/// advertisements, with a margin for the loss of one (the second comes at most 3 s after a reset of
/// the timer).
pub const HOLD: Duration = Duration::from_secs(4);

/// Advertisements that carry a change before the next complete one: as many as are sent within
/// [`HOLD`].
pub(crate) const ANNOUNCEMENTS: u8 = 2;

/// Lifetime of a route that its next hop does not advertise, and time for which a lost route is
/// advertised. At the longest interval four to six advertisements come in that time. A router that
/// loses a route announces the loss; this is for neighbours that missed it.
pub(crate) const LIFETIME: Duration = Duration::from_secs(200);

/// The route to one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) destination: u16,
    pub(crate) next_hop: u16,
    /// The next hop's own cost.
    advertised: u8,
    /// Sum of that and the link's cost; at most [`UNREACHABLE`].
    pub(crate) cost: u8,
    /// The least cost that other nodes may still use.
    least: u8,
    /// Advertisements that still have to carry a change.
    pub(crate) announcements_left: u8,
    /// Time at which the least cost is discarded; set while the cost is higher.
    hold: Option<Instant>,
    expires: Instant,
}

/// A route that a neighbour offers.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) destination: u16,
    pub(crate) via: u16,
    /// Its own cost.
    pub(crate) advertised: u8,
    /// The cost of the link to it.
    pub(crate) link: u8,
}

const fn total(advertised: u8, link: u8) -> u8 {
    let sum = advertised.saturating_add(link);
    if sum < UNREACHABLE { sum } else { UNREACHABLE }
}

impl Route {
    fn new(now: Instant, offer: Offer) -> Self {
        let Offer { destination, via: next_hop, advertised, link } = offer;
        let cost = total(advertised, link);
        let expires = now + LIFETIME;
        let (least, announcements_left, hold) = (cost, ANNOUNCEMENTS, None);
        Route { destination, next_hop, advertised, cost, least, announcements_left, hold, expires }
    }

    pub(crate) const fn is_usable(&self) -> bool {
        self.cost < UNREACHABLE
    }

    /// Sets the next hop and its cost. Returns whether others should be notified soon.
    fn set(&mut self, now: Instant, via: u16, advertised: u8, link: u8) -> bool {
        let cost = total(advertised, link);
        let moved = via != self.next_hop && cost < UNREACHABLE;
        let changed = moved || cost > self.cost || self.is_usable() != (cost < UNREACHABLE);
        if cost <= self.least {
            (self.least, self.hold) = (cost, None);
        } else if cost > self.cost {
            self.hold = Some(now + HOLD);
        }
        if self.is_usable() && cost >= UNREACHABLE {
            self.expires = now + LIFETIME;
        }
        if via != self.next_hop || cost != self.cost {
            self.announcements_left = ANNOUNCEMENTS;
        }
        (self.next_hop, self.advertised, self.cost) = (via, advertised, cost);
        changed
    }

    /// Sets a new cost of the link to `neighbour`.
    pub(crate) fn relink(&mut self, now: Instant, neighbour: u16, link: u8) -> bool {
        self.next_hop == neighbour && self.follow(now, self.advertised, link)
    }

    /// Invalidates a route that `neighbour` has advertised.
    pub(crate) fn forget_advertised(&mut self, now: Instant, neighbour: u16) -> bool {
        self.next_hop == neighbour && self.set(now, neighbour, UNREACHABLE, UNREACHABLE)
    }

    /// Sets a new cost of the next hop. A lost route is restored under the conditions of a new one.
    fn follow(&mut self, now: Instant, advertised: u8, link: u8) -> bool {
        let is_back = !self.is_usable() && total(advertised, link) < UNREACHABLE;
        if is_back && advertised >= self.least {
            return false;
        }
        self.set(now, self.next_hop, advertised, link)
    }

    fn consider(&mut self, now: Instant, offer: Offer) -> bool {
        let Offer { destination, via, advertised, link } = offer;
        if via == self.next_hop {
            // A neighbour that is received stays in the table even if it does not receive this
            // node: it must learn that it is received.
            if advertised < UNREACHABLE && (link < UNREACHABLE || via == destination) {
                self.expires = now + LIFETIME;
            }
            return self.follow(now, advertised, link);
        }
        if total(advertised, link) < self.cost && advertised < self.least {
            self.expires = now + LIFETIME;
            return self.set(now, via, advertised, link);
        }
        // A node that has lost a destination learns a route from those that have not.
        let asked = advertised >= UNREACHABLE && link < UNREACHABLE && self.is_usable();
        if asked {
            self.announcements_left = ANNOUNCEMENTS;
        }
        asked
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.hold, Some(self.expires))
    }
}

/// Processes a neighbour's offer. Returns whether others should be notified soon. A full table
/// takes no new destination. `near` is the index of the neighbour's last offer: destinations
/// advertised together were learned together, and have adjacent entries in large tables too.
pub(crate) fn consider(
    table: &mut [Option<Route>],
    near: &mut usize,
    now: Instant,
    offer: Offer,
) -> bool {
    let is_it = |place: &Option<Route>| {
        place.as_ref().is_some_and(|route| route.destination == offer.destination)
    };
    let next = near.saturating_add(1);
    let found = match table.get(next) {
        Some(place) if is_it(place) => Some(next),
        _ => table.iter().position(is_it),
    };
    if let Some(index) = found
        && let Some(Some(route)) = table.get_mut(index)
    {
        *near = index;
        return route.consider(now, offer);
    }
    let usable = total(offer.advertised, offer.link) < UNREACHABLE;
    if !usable && offer.destination != offer.via {
        return false;
    }
    let Some(index) = table.iter().position(Option::is_none) else { return false };
    if let Some(place) = table.get_mut(index) {
        *place = Some(Route::new(now, offer));
        *near = index;
    }
    // A neighbour that is only received must learn that soon, too.
    true
}

pub(crate) fn deadline(table: &[Option<Route>]) -> Option<Instant> {
    table.iter().flatten().fold(None, |first, route| earliest(first, route.deadline()))
}

/// Result of [`handle_deadline`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forgotten {
    /// True if others should be notified soon of a loss.
    pub(crate) changed: bool,
    /// True if a lost route would now be accepted from any neighbour; earlier offers of it were
    /// refused.
    pub(crate) asks: bool,
}

/// Expires routes and holds that are due.
pub(crate) fn handle_deadline(table: &mut [Option<Route>], now: Instant) -> Forgotten {
    let mut forgotten = Forgotten::default();
    for place in table {
        let Some(route) = place else { continue };
        if route.hold.take_if(|at| *at <= now).is_some() {
            route.least = route.cost;
            if !route.is_usable() {
                route.announcements_left = ANNOUNCEMENTS;
                forgotten.asks = true;
            }
        }
        if route.expires <= now {
            if route.is_usable() {
                forgotten.changed |= route.set(now, route.next_hop, UNREACHABLE, UNREACHABLE);
            } else {
                *place = None;
            }
        }
    }
    forgotten
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: u16 = 9;

    fn offer(via: u16, advertised: u8, link: u8) -> Offer {
        Offer { destination: D, via, advertised, link }
    }

    fn consider(table: &mut [Option<Route>], now: Instant, offer: Offer) -> bool {
        super::consider(table, &mut 0, now, offer)
    }

    fn best(table: &[Option<Route>]) -> (u16, u8) {
        let route = table[0].unwrap();
        (route.next_hop, route.cost)
    }

    #[test]
    fn the_cheapest_route_is_taken_and_its_next_hop_accepted() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        assert!(consider(&mut table, now, offer(1, 4, 2)));
        assert_eq!(best(&table), (1, 6));
        assert!(!consider(&mut table, now, offer(2, 5, 1)), "not cheaper");
        assert!(consider(&mut table, now, offer(3, 4, 1)));
        assert_eq!(best(&table), (3, 5));
        assert!(!consider(&mut table, now, offer(3, 3, 1)), "an improvement can wait");
        assert!(consider(&mut table, now, offer(3, 5, 4)), "a rise cannot");
        assert_eq!(best(&table), (3, 9));
        let full = Offer { destination: 8, ..offer(1, 1, 1) };
        assert!(!consider(&mut table, now, full));
    }

    #[test]
    fn a_neighbour_that_is_not_nearer_is_accepted_only_after_the_hold() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        consider(&mut table, now, offer(1, 1, 1));
        assert!(consider(&mut table, now, offer(1, UNREACHABLE, 1)));
        assert_eq!(best(&table), (1, UNREACHABLE));
        // It may come through this node itself.
        assert!(!consider(&mut table, now, offer(2, 2, 1)));
        assert_eq!(best(&table), (1, UNREACHABLE));
        consider(&mut table, now, offer(1, 2, 1));
        assert_eq!(best(&table), (1, UNREACHABLE), "nor the one that had lost it");
        handle_deadline(&mut table, now + HOLD - Duration::from_micros(1));
        assert!(!consider(&mut table, now, offer(2, 2, 1)));
        assert_eq!(deadline(&table), Some(now + HOLD));
        assert_eq!(
            handle_deadline(&mut table, now + HOLD),
            Forgotten { changed: false, asks: true }
        );
        assert!(consider(&mut table, now + HOLD, offer(2, 2, 1)));
        assert_eq!(best(&table), (2, 3));
        // A neighbour that is nearer than this node ever was is accepted at once.
        consider(&mut table, now, offer(2, UNREACHABLE, 1));
        assert!(consider(&mut table, now, offer(3, 1, 2)));
        assert_eq!(best(&table), (3, 3));
    }

    #[test]
    fn a_destination_that_is_not_advertised_is_lost_then_forgotten() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        consider(&mut table, now, offer(1, 1, 1));
        assert!(handle_deadline(&mut table, now + LIFETIME).changed);
        assert_eq!(best(&table).1, UNREACHABLE);
        // An advertisement of the loss does not keep it.
        consider(&mut table, now + LIFETIME * 3 / 2, offer(1, UNREACHABLE, 1));
        handle_deadline(&mut table, now + LIFETIME * 2);
        assert_eq!(table, [None]);
    }

    #[test]
    fn a_neighbour_that_has_lost_it_is_answered() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        consider(&mut table, now, offer(1, 1, 1));
        assert!(consider(&mut table, now, offer(2, UNREACHABLE, 1)));
        assert!(!consider(&mut table, now, offer(2, UNREACHABLE, UNREACHABLE)), "in vain");
        assert_eq!(best(&table), (1, 2));
    }
}
