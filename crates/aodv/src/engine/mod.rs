//! The engine: what it knows, what it is asked and told, and when something is due.

mod input;
mod output;

pub use output::{Destination, Out};

use crate::config::{Config, Role, Sizes};
use crate::due::Due;
use crate::link::Link;
use crate::metric::Worth;
use crate::params::{RERR_RATELIMIT, RREQ_RATELIMIT, RREQ_RETRIES, SECOND, Times};
use crate::route::{self, Offer, Route, Taken};
use crate::search::Search;
use crate::stats::{Info, RouteInfo, Stats, count};
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, Limit, earliest};
use kinglet_wire::aodv::{OUTSIDE, Rrep};

/// The stream of this layer's dice: "aodvaodv".
const DICE: u64 = 0x616f_6476_616f_6476;
/// Replies that may wait to be sent. Who gets none asks again.
const REPLIES: usize = 4;

/// A reply on its way.
#[derive(Clone, Copy)]
struct Reply {
    to: u16,
    rrep: Rrep,
}

/// A node's part in the network; see the crate's documentation for the loop around it.
pub struct Aodv<S: Sizes> {
    config: Config,
    random: Random,
    /// Own sequence number.
    sequence: u32,
    /// RREQ ID of the last request; a random one comes first, as neighbours may remember those of
    /// a node that starts anew.
    id: Option<u32>,
    routes: S::Routes,
    requests: S::Requests,
    searches: S::Searches,
    links: S::Links,
    replies: [Option<Reply>; REPLIES],
    /// When lost ways are told.
    errors_due: Due,
    seeking: Limit,
    relaying: Limit,
    erring: Limit,
    /// No way expires before that.
    first_expiry: Option<Instant>,
    /// Ways were found, lost or given up.
    has_changed: bool,
    stats: Stats,
}

impl<S: Sizes> Aodv<S> {
    /// A node that knows nobody.
    pub const fn new(config: Config) -> Self {
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
            seeking: Limit::new(RREQ_RATELIMIT, SECOND),
            relaying: Limit::new(RREQ_RATELIMIT, SECOND),
            erring: Limit::new(RERR_RATELIMIT, SECOND),
            first_expiry: None,
            has_changed: false,
            stats: Stats::ZERO,
        }
    }

    /// What it was told when it was made.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    const fn times(&self) -> Times {
        Times::new(self.config.broadcast)
    }

    /// Sets the time for which a broadcast is repeated; see [`Config::broadcast`].
    pub const fn set_broadcast(&mut self, broadcast: Duration) {
        self.config.broadcast = broadcast;
    }

    fn is_on(&self) -> bool {
        self.config.role != Role::Off
    }

    /// The neighbour that is next on the way to the device with this short address, or to what
    /// lies outside ([`OUTSIDE`]); `None` if no way is known.
    pub fn next_hop(&self, destination: u16) -> Option<u16> {
        let route = route::find(self.routes.as_slice(), destination)?;
        route.is_valid.then_some(route.next_hop)
    }

    /// Whether a way there is being sought.
    pub fn is_seeking(&self, destination: u16) -> bool {
        self.searches.as_slice().iter().flatten().any(|it| it.destination == destination)
    }

    /// A packet of this node's needs a way that is not known; whether one is being sought from now
    /// on. If not, there is no hope.
    pub fn seek(&mut self, now: Instant, destination: u16) -> bool {
        if !self.is_on() || destination > OUTSIDE || self.config.answers_for(destination) {
            return false;
        }
        if self.is_seeking(destination) {
            return true;
        }
        let mut places = self.searches.as_mut_slice().iter_mut();
        let Some(place) = places.find(|place| place.is_none()) else {
            count(&mut self.stats.refused_searches);
            return false;
        };
        let due = Due::within(&mut self.seeking, now);
        *place = Some(Search { destination, attempts: 0, due });
        count(&mut self.stats.searches);
        true
    }

    /// A packet from `source`, which the neighbour `from` has sent here or which begins here, goes
    /// on to `destination`; `None` for what this node has ways of its own to.
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

    /// The neighbour `from` has sent a packet that is to go on to `destination`, and there is no
    /// way: it is told so (RFC 3561, 6.11).
    pub fn handle_stray(&mut self, now: Instant, destination: u16, from: u16) {
        if !self.is_on() || self.config.answers_for(destination) {
            return;
        }
        count(&mut self.stats.strays);
        let times = self.times();
        let (worth, routes) = (Worth::start(self.config.metric), self.routes.as_mut_slice());
        if route::find(routes, destination).is_none() {
            // Without a place nobody is told, and the next packet tries again.
            let Some(place) = route::place(routes, now) else { return };
            *place = Some(Route::unknown(now, destination, worth, times));
        }
        let Some(route) = route::find_mut(routes, destination).filter(|it| !it.is_valid) else {
            return;
        };
        route.precursors.add(from);
        if !route.is_untold {
            route.break_off(now, times);
        }
        self.handle_losses(now);
    }

    /// A packet to `destination` has come back: the way leads in a circle, as it does only if
    /// somebody has forged what it was made of. It is none any more.
    pub fn handle_loop(&mut self, now: Instant, destination: u16) {
        let times = self.times();
        if let Some(route) = self.valid_route_mut(Some(destination)) {
            route.break_off(now, times);
            count(&mut self.stats.loops);
            self.has_changed = true;
            self.handle_losses(now);
        }
    }

    /// A frame of this quality was received from `from`, of whatever content.
    pub fn handle_heard(&mut self, now: Instant, from: u16, lqi: u8) {
        if !self.is_on() {
            return;
        }
        let links = self.links.as_mut_slice();
        if let Some(link) = links.iter_mut().flatten().find(|link| link.short == from) {
            return link.hear(now, lqi);
        }
        // A free place is older than all.
        let heard = |place: &&mut Option<Link>| place.as_ref().map(|link| link.heard);
        if let Some(place) = links.iter_mut().min_by_key(heard) {
            *place = Some(Link::new(now, from, lqi));
        }
    }

    /// A frame that asked `to` for an acknowledgement got one, or was given up after all attempts:
    /// then the link is broken, or in doubt ([`Config::doubts`]).
    pub fn handle_sent(&mut self, now: Instant, to: u16, acked: bool) {
        let (doubts, times) = (self.config.doubts, self.times());
        let is_broken = match self.link_mut(to) {
            Some(link) => link.sent(now, acked, doubts, times),
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

    /// Ways were lost: has errors sent if there are any, as soon as that may be, and other ways
    /// sought for what begins here.
    fn handle_losses(&mut self, now: Instant) {
        if self.config.doubts {
            self.seek_missed(now);
        }
        let any = self.routes.as_slice().iter().flatten().any(|route| route.is_untold);
        if any && self.errors_due == Due::No {
            self.errors_due = Due::within(&mut self.erring, now);
        }
    }

    /// Seeks other ways to where packets that begin here went until now, before the next one needs
    /// them. That pays where a link counts as broken only when its end does not answer: a transport
    /// that has lost what was under way sends nothing before its timer expires.
    fn seek_missed(&mut self, now: Instant) {
        let missed = |route: &mut Route| route.take_missed().then_some(route.destination);
        while let Some(destination) =
            self.routes.as_mut_slice().iter_mut().flatten().find_map(missed)
        {
            self.seek(now, destination);
        }
    }

    /// Believes in a way, or not; what was sought there is found.
    fn consider(&mut self, now: Instant, offer: &Offer) -> Taken {
        let taken = route::consider(self.routes.as_mut_slice(), now, offer);
        if taken == Taken::Yes {
            self.first_expiry = earliest(self.first_expiry, Some(now + offer.lifetime));
            let sought =
                |it: &&mut Option<Search>| it.is_some_and(|it| it.destination == offer.destination);
            if let Some(place) = self.searches.as_mut_slice().iter_mut().find(sought) {
                *place = None;
                self.has_changed = true;
            }
        }
        taken
    }

    /// Whether ways were found, lost or given up since this was asked.
    pub fn poll_change(&mut self) -> bool {
        core::mem::take(&mut self.has_changed)
    }

    /// When [`Aodv::handle_deadline`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        let requests = self.requests.as_slice().iter().flatten().map(|request| request.due);
        let searches = self.searches.as_slice().iter().flatten().map(|search| search.due);
        let due = requests.chain(searches).filter_map(Due::at).min();
        earliest(earliest(due, self.errors_due.at()), self.first_expiry)
    }

    /// Does what is due.
    pub fn handle_deadline(&mut self, now: Instant) {
        for place in self.requests.as_mut_slice() {
            let Some(request) = place.as_mut().filter(|it| it.due.has_come(now)) else { continue };
            let answers = self.config.answers_for(request.rreq.destination);
            request.due = if answers { Due::Now } else { Due::within(&mut self.relaying, now) };
            if request.forgotten <= now {
                *place = None;
            }
        }
        for place in self.searches.as_mut_slice() {
            let Some(search) = place.as_mut().filter(|it| it.due.has_come(now)) else { continue };
            if search.attempts > RREQ_RETRIES {
                *place = None;
                count(&mut self.stats.failed_searches);
                self.has_changed = true;
            } else {
                search.due = Due::within(&mut self.seeking, now);
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

    /// How full the tables are.
    pub fn info(&self) -> Info {
        Info {
            sequence: self.sequence,
            routes: self.routes.as_slice().iter().flatten().count(),
            requests: self.requests.as_slice().iter().flatten().count(),
            searches: self.searches.as_slice().iter().flatten().count(),
            links: self.links.as_slice().iter().flatten().count(),
        }
    }

    /// The ways that are known, and those that were lost lately.
    pub fn ways(&self) -> impl Iterator<Item = RouteInfo> {
        self.routes.as_slice().iter().flatten().map(|route| RouteInfo {
            destination: (route.destination != OUTSIDE).then_some(route.destination),
            next_hop: route.next_hop,
            hops: route.worth.hops,
            path_dr: route.worth.delivery,
            is_valid: route.is_valid,
        })
    }

    /// What happened.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
