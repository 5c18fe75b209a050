//! The engine: its state, the calls of the layer, and its deadlines.

mod input;
mod output;

pub use output::{Destination, Out};

use crate::config::{AodvConfig, Role, Sizes};
use crate::due::Due;
use crate::link::Link;
use crate::metric::RouteQuality;
use crate::params::{RERR_RATELIMIT, RREQ_RATELIMIT, RREQ_RETRIES, SECOND, Times};
use crate::route::{self, Offer, Route, Taken};
use crate::search::Search;
use crate::stats::{Info, RouteInfo, Stats, count};
use kinglet_mem::{Array, Claim, slot_for_new};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, Limit, earliest};
use kinglet_wire::aodv::{OUTSIDE, Rrep};

/// Stream of this layer's random numbers: "aodvaodv".
const DICE: u64 = 0x616f_6476_616f_6476;
/// Number of replies that may wait to be sent. An originator that gets none repeats its request.
const REPLIES: usize = 4;

/// A reply that waits to be sent.
#[derive(Clone, Copy)]
struct Reply {
    to: u16,
    rrep: Rrep,
}

/// An AODV node; see the crate's documentation for the loop around it.
pub struct Aodv<S: Sizes> {
    config: AodvConfig,
    random: Random,
    /// Own sequence number.
    sequence: u32,
    /// RREQ ID of the last request. The first one is random, because neighbours may remember those
    /// of a node that restarts.
    id: Option<u32>,
    routes: S::Routes,
    requests: S::Requests,
    searches: S::Searches,
    links: S::Links,
    replies: [Option<Reply>; REPLIES],
    /// Time at which lost routes are reported.
    errors_due: Due,
    /// Earliest time of the next flood.
    next_flood: Instant,
    discovering: Limit,
    relaying: Limit,
    erring: Limit,
    /// Earliest time at which a route expires.
    first_expiry: Option<Instant>,
    /// True if routes were found, lost or given up.
    has_changed: bool,
    stats: Stats,
}

impl<S: Sizes> Aodv<S> {
    /// Creates a node with empty tables.
    pub const fn new(config: AodvConfig) -> Self {
        Aodv {
            config,
            random: Random::new(config.seed, DICE),
            sequence: 0,
            id: None,
            routes: S::Routes::EMPTY,
            requests: S::Requests::EMPTY,
            searches: S::Searches::EMPTY,
            links: S::Links::EMPTY,
            replies: const { [None; REPLIES] },
            errors_due: Due::No,
            next_flood: Instant::ZERO,
            discovering: Limit::new(RREQ_RATELIMIT, SECOND),
            relaying: Limit::new(RREQ_RATELIMIT, SECOND),
            erring: Limit::new(RERR_RATELIMIT, SECOND),
            first_expiry: None,
            has_changed: false,
            stats: Stats::ZERO,
        }
    }

    /// Returns its configuration.
    pub const fn config(&self) -> &AodvConfig {
        &self.config
    }

    const fn times(&self) -> Times {
        Times::new(self.config.broadcast)
    }

    /// Sets the time for which a broadcast is repeated; see [`AodvConfig::broadcast`].
    pub const fn set_broadcast(&mut self, broadcast: Duration) {
        self.config.broadcast = broadcast;
    }

    fn is_on(&self) -> bool {
        self.config.role != Role::Off
    }

    /// Returns the next hop towards the device with this short address, or towards all destinations
    /// outside ([`OUTSIDE`]); `None` if there is no route.
    pub fn next_hop(&self, destination: u16) -> Option<u16> {
        let route = route::find(self.routes.as_slice(), destination)?;
        route.is_valid.then_some(route.next_hop)
    }

    /// Returns whether a search for a route to a destination is in progress.
    pub fn is_discovering(&self, destination: u16) -> bool {
        self.searches.as_slice().iter().flatten().any(|it| it.destination == destination)
    }

    /// Starts a search for a route that a packet of this node needs, unless one is in progress.
    /// Returns whether one is in progress now; if not, the packet has no prospect of a route.
    pub fn discover(&mut self, now: Instant, destination: u16) -> bool {
        if !self.is_on() || destination > OUTSIDE || self.config.answers_for(destination) {
            return false;
        }
        if self.is_discovering(destination) {
            return true;
        }
        let spacing = self.times().flood_spacing();
        let mut places = self.searches.as_mut_slice().iter_mut();
        let Some(place) = places.find(|place| place.is_none()) else {
            count(&mut self.stats.refused_discoveries);
            return false;
        };
        let due = Due::spaced(&mut self.next_flood, spacing, &mut self.discovering, now);
        *place = Some(Search { destination, attempts: 0, due });
        count(&mut self.stats.route_discoveries);
        true
    }

    /// Handles a packet from `source` that goes on to `destination`. The neighbour `from` has sent
    /// it here; with `None` it begins here. The `source` or the `destination` is `None` if AODV has
    /// no name for it, as for destinations to which this node has routes of its own.
    pub fn handle_use(
        &mut self,
        now: Instant,
        source: Option<u16>,
        destination: Option<u16>,
        from: Option<u16>,
    ) {
        let times = self.times();
        if let Some(route) = self.valid_route_mut(destination) {
            route.touch(now, times);
            match from {
                Some(from) => route.precursors.add(from),
                None => route.begin(now),
            }
        }
        if let Some(route) = self.valid_route_mut(source) {
            route.touch(now, times);
        }
    }

    fn valid_route_mut(&mut self, destination: Option<u16>) -> Option<&mut Route> {
        let route = route::find_mut(self.routes.as_mut_slice(), destination?)?;
        route.is_valid.then_some(route)
    }

    /// Handles a packet that the neighbour `from` has sent here for `destination`, to which there
    /// is no route: `from` is notified by a route error (RFC 3561, 6.11).
    pub fn handle_stray(&mut self, now: Instant, destination: u16, from: u16) {
        if !self.is_on() || self.config.answers_for(destination) {
            return;
        }
        count(&mut self.stats.no_route);
        let times = self.times();
        let (quality, routes) =
            (RouteQuality::start(self.config.metric), self.routes.as_mut_slice());
        if route::find(routes, destination).is_none() {
            // Without a place no error is sent; the next packet tries again.
            let Some(place) = route::place(routes, now) else { return };
            *place = Some(Route::unknown(now, destination, quality, times));
        }
        let Some(route) = route::find_mut(routes, destination).filter(|it| !it.is_valid) else {
            return;
        };
        route.precursors.add(from);
        if !route.is_unreported {
            route.break_off(now, times);
        }
        self.handle_losses(now);
    }

    /// Handles a packet to `destination` that has come back: the route is a loop, which arises only
    /// from forged messages. The route becomes invalid.
    pub fn handle_loop(&mut self, now: Instant, destination: u16) {
        let times = self.times();
        if let Some(route) = self.valid_route_mut(Some(destination)) {
            route.break_off(now, times);
            count(&mut self.stats.loops);
            self.has_changed = true;
            self.handle_losses(now);
        }
    }

    /// Handles the reception of any frame from `from` with this link quality indication.
    pub fn handle_heard(&mut self, now: Instant, from: u16, lqi: u8) {
        if !self.is_on() {
            return;
        }
        let links = self.links.as_mut_slice();
        if let Some(link) = links.iter_mut().flatten().find(|link| link.short == from) {
            return link.hear(now, lqi);
        }
        let claim = |place: &Option<Link>| match place {
            None => Claim::Free,
            Some(link) => Claim::Idle(link.heard),
        };
        if let Some(place) = slot_for_new(links, claim).and_then(|index| links.get_mut(index)) {
            *place = Some(Link::new(now, from, lqi));
        }
    }

    /// Handles the result of a frame to `to` that requests an acknowledgement. A frame that is
    /// given up after all attempts breaks the link, or puts it in doubt
    /// ([`AodvConfig::link_probes`]).
    pub fn handle_sent(&mut self, now: Instant, to: u16, acked: bool) {
        let (link_probes, times) = (self.config.link_probes, self.times());
        let is_broken = match self.link_mut(to) {
            Some(link) => link.sent(now, acked, link_probes, times),
            None => !acked,
        };
        if !is_broken {
            return;
        }
        let mut lost = false;
        for route in self.routes.as_mut_slice().iter_mut().flatten() {
            if route.is_valid && route.next_hop == to {
                route.break_off(now, times);
                count(&mut self.stats.lost_routes);
                lost = true;
            }
        }
        if lost {
            count(&mut self.stats.broken_links);
            self.has_changed = true;
            self.handle_losses(now);
        }
    }

    fn link_mut(&mut self, short: u16) -> Option<&mut Link> {
        self.links.as_mut_slice().iter_mut().flatten().find(|link| link.short == short)
    }

    /// Handles lost routes: schedules errors for their precursors, as soon as the limit allows it,
    /// and starts searches for packets that begin here.
    fn handle_losses(&mut self, now: Instant) {
        if self.config.link_probes {
            self.rediscover_missed(now);
        }
        let any = self.routes.as_slice().iter().flatten().any(|route| route.is_unreported);
        if any && self.errors_due == Due::No {
            self.errors_due = Due::within(&mut self.erring, now);
        }
    }

    /// Searches for routes to destinations to which packets that begin here were sent recently,
    /// before the next packet needs them. The search pays if a link counts as broken only when the
    /// neighbour does not respond: a transport whose segments in flight are lost sends nothing
    /// before its timer expires.
    fn rediscover_missed(&mut self, now: Instant) {
        let missed = |route: &mut Route| route.take_missed().then_some(route.destination);
        while let Some(destination) =
            self.routes.as_mut_slice().iter_mut().flatten().find_map(missed)
        {
            self.discover(now, destination);
        }
    }

    /// Takes an offered route, or not. A route that is taken ends the search for its destination.
    fn consider(&mut self, now: Instant, offer: &Offer) -> Taken {
        let taken = route::consider(self.routes.as_mut_slice(), now, offer);
        if taken == Taken::Yes {
            self.first_expiry = earliest(self.first_expiry, Some(now + offer.lifetime));
            let discovering =
                |it: &&mut Option<Search>| it.is_some_and(|it| it.destination == offer.destination);
            if let Some(place) = self.searches.as_mut_slice().iter_mut().find(discovering) {
                *place = None;
                self.has_changed = true;
            }
        }
        taken
    }

    /// Returns whether routes were found, lost or given up since the last call.
    pub fn poll_change(&mut self) -> bool {
        core::mem::take(&mut self.has_changed)
    }

    /// Returns the time at which [`Aodv::handle_deadline`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        let requests = self.requests.as_slice().iter().flatten().map(|request| request.due);
        let searches = self.searches.as_slice().iter().flatten().map(|search| search.due);
        let due = requests.chain(searches).filter_map(Due::at).min();
        earliest(earliest(due, self.errors_due.at()), self.first_expiry)
    }

    /// Handles all timers that have expired.
    pub fn handle_deadline(&mut self, now: Instant) {
        let spacing = self.times().flood_spacing();
        for place in self.requests.as_mut_slice() {
            let Some(request) = place.as_mut().filter(|it| it.due.has_come(now)) else { continue };
            let answers = self.config.answers_for(request.rreq.destination);
            request.due = if answers {
                Due::Now
            } else {
                Due::spaced(&mut self.next_flood, spacing, &mut self.relaying, now)
            };
            if request.forgotten <= now {
                *place = None;
            }
        }
        for place in self.searches.as_mut_slice() {
            let Some(search) = place.as_mut().filter(|it| it.due.has_come(now)) else { continue };
            if search.attempts > RREQ_RETRIES {
                *place = None;
                count(&mut self.stats.failed_discoveries);
                self.has_changed = true;
            } else {
                search.due = Due::spaced(&mut self.next_flood, spacing, &mut self.discovering, now);
            }
        }
        if self.errors_due.has_come(now) {
            self.errors_due = Due::within(&mut self.erring, now);
        }
        if self.first_expiry.is_some_and(|at| at <= now) {
            let times = self.times();
            self.first_expiry = route::expire(self.routes.as_mut_slice(), now, times);
        }
    }

    /// Returns the fill levels of the tables.
    pub fn info(&self) -> Info {
        Info {
            sequence: self.sequence,
            routes: self.routes.as_slice().iter().flatten().count(),
            requests: self.requests.as_slice().iter().flatten().count(),
            searches: self.searches.as_slice().iter().flatten().count(),
            links: self.links.as_slice().iter().flatten().count(),
        }
    }

    /// Returns the known routes, those that were lost recently included.
    pub fn routes(&self) -> impl Iterator<Item = RouteInfo> {
        self.routes.as_slice().iter().flatten().map(|route| RouteInfo {
            destination: (route.destination != OUTSIDE).then_some(route.destination),
            next_hop: route.next_hop,
            hops: route.quality.hops,
            path_dr: route.quality.delivery,
            is_valid: route.is_valid,
        })
    }

    /// Returns the counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
