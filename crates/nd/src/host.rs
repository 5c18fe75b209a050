//! Host functions (RFC 4861, 6.3; RFC 4862, 5.5; RFC 6775, 5.3 and 5.4): default routers, own
//! addresses, contexts and name servers, each for its advertised lifetime.
//!
//! Tables are filled in order of arrival, and entries stay for their lifetime: a router that
//! advertises more than fits evicts no entry.

use crate::config::Sizes;
use crate::derive::link_local;
use crate::detection::{DELAY, Detection};
use crate::learnt::{Advertised, Autoconfigured, DefaultRouter, RETRANS, Registration, Server};
use crate::neighbour::MAX_UNICAST_SOLICIT;
use crate::stats::{Stats, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::nd::{self, Capabilities, ContextInformation, NdOption, Options};
use kinglet_wire::nd::{PrefixInformation, status};
use kinglet_wire::sixlowpan::{Context, derived_iid, link_address_of};

/// RTR_SOLICITATION_INTERVAL of a LoWPAN (RFC 6775, 9).
const INTERVAL: Duration = Duration::from_secs(10);
/// MAX_RTR_SOLICITATION_INTERVAL (RFC 6775, 9).
const MAX_INTERVAL: Duration = Duration::from_secs(60);
/// MAX_RTR_SOLICITATIONS (RFC 4861, 10): number of solicitations before the interval grows.
const SOLICITATIONS: u8 = 3;
/// No advertisement reduces the remaining lifetime of an address below this (RFC 4862, 5.5.3 (e)).
const TWO_HOURS: Duration = Duration::from_secs(2 * 3600);
/// Bits of the prefix of an autoconfigured address.
const PREFIX_LEN: u8 = 64;
/// Lifetime of a registration in minutes: RFC 6775 leaves it open; this is twice the default Router
/// Lifetime.
pub(crate) const REGISTRATION_MIN: u16 = 60;
/// Time until the next request to a router with a full table.
const FULL: Duration = Duration::from_secs(60);
/// Time until the next request for another node's address: the lifetime of a registration.
const TAKEN: Duration = Duration::from_secs(REGISTRATION_MIN as u64 * 60);

/// Time for which a context is still understood after it is no longer used: twice the default
/// Router Lifetime (RFC 6775, 5.4.3; RFC 4861, 6.2.1).
const HOLD: Duration = Duration::from_secs(2 * 1800);

/// Minimum time between solicitations for an unknown context.
const CONTEXT_INTERVAL: Duration = Duration::from_secs(60);

/// A setting that routers have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configured {
    /// The node has this address now.
    Address(Ipv6Addr),
    /// The node no longer has this address.
    NoAddress(Ipv6Addr),
    /// Initial hop limit of packets, unless a higher one is configured: no router may prevent
    /// packets from arriving (RFC 3756, 4.2.7).
    HopLimit(u8),
    /// This context is to be understood; `None`: it is to be removed.
    Context {
        /// Its identifier, 0 to 15.
        id: u8,
        /// The prefix that it stands for.
        context: Option<Context>,
    },
}

/// The node's own properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    /// Its link address.
    pub(crate) link: Address,
    /// True if it is configured as a router.
    pub(crate) serves: bool,
}

pub(crate) struct Host<S: Sizes> {
    routers: S::Routers,
    addresses: S::Addresses,
    contexts: S::Contexts,
    servers: S::Servers,
    /// Link address of the only router to be used; `None`: any router, or none yet if a parent is
    /// required.
    preferred: Option<Address>,
    has_parent: bool,
    /// The registration of the link-local address, which comes first in RFC 8505, 5.6.
    local: Registration,
    /// The last advertised hop limit, and whether it was reported.
    hop_limit: (u8, bool),
    /// Time of the last Router Solicitation.
    asked: Option<Instant>,
    /// Time from which routers are solicited if the node is awake anyway.
    early: Option<Instant>,
    /// Time of the next solicitation; `None` before the timer is set.
    next: Option<Instant>,
    /// Solicitations since the last advertisement.
    tries: u8,
    pub(crate) asks: bool,
}

impl<S: Sizes> Host<S> {
    pub(crate) const fn new(has_parent: bool) -> Self {
        Host {
            routers: S::Routers::EMPTY,
            addresses: S::Addresses::EMPTY,
            contexts: S::Contexts::EMPTY,
            servers: S::Servers::EMPTY,
            preferred: None,
            has_parent,
            local: Registration::NEW,
            hop_limit: (0, true),
            asked: None,
            early: None,
            next: None,
            tries: 0,
            asks: false,
        }
    }

    /// Returns the destination of the next solicitation: the first one after an advertisement goes
    /// to that router, or to the preferred one; `None`: to all routers.
    pub(crate) fn asked(&self) -> Option<Ipv6Addr> {
        if self.tries > 1 {
            return None;
        }
        self.router().or_else(|| link_local(self.preferred?))
    }

    /// Returns the default router, the next hop of packets without another route.
    pub(crate) fn router(&self) -> Option<Ipv6Addr> {
        self.first().map(|router| router.address)
    }

    fn first(&self) -> Option<&DefaultRouter> {
        let mut known = self.routers.as_slice().iter().flatten();
        known.find(|router| self.prefers(router.address))
    }

    /// Returns whether this router may be used: any, or the preferred one, whose address contains
    /// its link address.
    fn prefers(&self, router: Ipv6Addr) -> bool {
        self.preferred.map_or(!self.has_parent, |link| link_address_of(router) == link)
    }

    /// Sets the link address of the only router to be used; `None`: any. If that router has not
    /// advertised yet, it is solicited.
    pub(crate) fn prefer(&mut self, now: Instant, link: Option<Address>) {
        let (before, started) = (self.router(), self.next.is_some());
        self.preferred = link;
        self.follow(now, before);
        if self.router().is_none() && started && link.is_some() {
            self.tries = 0;
            self.solicit(now);
        }
    }

    /// Evicts the last router of a full table in favour of the preferred one.
    fn evict_last(&mut self, new: DefaultRouter) {
        let table = self.routers.as_mut_slice();
        let known = table.iter().flatten().any(|router| router.address == new.address);
        let full = !known && table.iter().all(Option::is_some);
        if let Some(last) = table.last_mut().filter(|_| full && self.preferred.is_some()) {
            *last = None;
        }
    }

    /// Returns whether new connections should not use this own address.
    pub(crate) fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        own.any(|own| own.address == address && own.deprecated)
    }

    /// Returns whether a context may be used to compress: false for those that are only understood.
    //= rfc6775#4.2-2 rfc6775#5.4.2-1
    pub(crate) fn compresses(&self, id: u8) -> bool {
        let mut known = self.contexts.as_slice().iter().flatten();
        known.find(|known| known.id == id).is_none_or(|known| known.compress)
    }

    /// Returns the name servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.servers.as_slice().iter().flatten().map(|server| server.address)
    }

    /// Returns a router as its advertisement describes it.
    fn as_router(
        &self,
        address: Ipv6Addr,
        until: Instant,
        mut options: Options<'_>,
    ) -> DefaultRouter {
        let mut known = self.routers.as_slice().iter().flatten();
        let known = known.any(|known| known.address == address && known.registers);
        let extended = options.clone().any(
            |option| matches!(option, NdOption::Capabilities(it) if it.has(Capabilities::EXTENDED)),
        );
        let lowpan = options
            .any(|option| matches!(option, NdOption::BorderRouter(_) | NdOption::Context(_)));
        DefaultRouter {
            address,
            until,
            extended,
            registers: extended || lowpan || known,
            failures: 0,
        }
    }

    /// Processes a Router Advertisement from a link-local address.
    pub(crate) fn advertised(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        router: &nd::RouterAdvertisement,
        own: Interface,
        options: Options<'_>,
        stats: &mut Stats,
    ) {
        let lifetime = Duration::from_secs(u64::from(router.lifetime_s));
        let mut shortest = lifetime;
        let until = now + lifetime;
        let same = |known: &DefaultRouter| known.address == from;
        let new = self.as_router(from, until, options);
        // The routes of a router come from its routing.
        let is_default = lifetime > Duration::ZERO && !own.serves;
        let (new, before) = (is_default.then_some(new), self.router());
        if let (Some(new), true) = (new, self.prefers(from)) {
            self.evict_last(new);
        }
        keep(self.routers.as_mut_slice(), same, new, stats);
        self.follow(now, before);
        if router.hop_limit > 0 && router.hop_limit != self.hop_limit.0 {
            self.hop_limit = (router.hop_limit, false);
        }
        for option in options {
            let lifetime = match option {
                NdOption::Prefix(prefix) => {
                    self.prefix(now, &prefix, own.link, stats);
                    life(prefix.valid_s)
                }
                NdOption::Context(context) => {
                    self.context(now, &context, stats);
                    Some(Duration::from_secs(u64::from(context.valid_min) * 60))
                }
                NdOption::RecursiveDns { lifetime_s, servers } => {
                    let until = life(lifetime_s).map(|life| now + life);
                    for address in servers.iter() {
                        let same = |known: &Server| known.address == address;
                        let server = (lifetime_s > 0).then_some(Server { address, until });
                        keep(self.servers.as_mut_slice(), same, server, stats);
                    }
                    life(lifetime_s)
                }
                NdOption::BorderRouter(it) if own.serves => {
                    Some(Duration::from_secs(u64::from(it.valid_min) * 60))
                }
                _ => None,
            };
            if let Some(lifetime) = lifetime.filter(|it| *it > Duration::ZERO) {
                shortest = shortest.min(lifetime);
            }
        }
        if let Some(first) = self.first() {
            shortest = shortest.min(first.until - now);
        }
        // Well before the shortest of all lifetimes is over (RFC 6775, 5.4.3). Advertisements of
        // other routers do not end the search for one that may be used.
        if lifetime > Duration::ZERO && (own.serves || self.router().is_some()) {
            (self.asks, self.tries) = (false, 0);
            self.register(now);
            self.next = Some(now + (shortest - shortest / 4).max(INTERVAL));
            self.early = Some(now + (shortest / 2).max(INTERVAL));
        }
    }

    /// Processes a prefix (RFC 4862, 5.5.3). The L flag has no effect: packets for such a prefix
    /// are sent to the router (RFC 6775, 5.4).
    //= rfc6775#14-2
    fn prefix(
        &mut self,
        now: Instant,
        prefix: &PrefixInformation,
        link: Address,
        stats: &mut Stats,
    ) {
        let PrefixInformation { prefix, len, autonomous, valid_s, preferred_s, .. } = *prefix;
        let usable = autonomous && len == PREFIX_LEN && preferred_s <= valid_s;
        if !usable || is_link_local(prefix) || prefix.is_multicast() {
            return;
        }
        let until = |seconds| life(seconds).map(|life| now + life);
        let (valid, preferred) = (until(valid_s), until(preferred_s));
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        let same = |own: &Autoconfigured| same_prefix(own.address, prefix, PREFIX_LEN);
        if let Some(own) = own.find(|own| !own.given && same(own)) {
            if own.taken {
                own.valid = valid;
                return;
            }
            (own.preferred, own.deprecated) = (preferred, preferred_s == 0);
            let rest = own.valid.map(|valid| valid - now);
            let announced = life(valid_s);
            let longer = match (announced, rest) {
                (None, _) => true,
                (Some(announced), rest) => {
                    announced > TWO_HOURS || rest.is_some_and(|rest| announced > rest)
                }
            };
            if longer {
                own.valid = valid;
            } else if rest.is_none_or(|rest| rest > TWO_HOURS) {
                own.valid = Some(now + TWO_HOURS);
            }
            return;
        }
        let ([a, b, c, d, e, f, g, h, ..], Some(iid)) = (prefix.octets(), derived_iid(link)) else {
            return;
        };
        let [i, j, k, l, m, n, o, p] = iid;
        let address = Ipv6Addr::from([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]);
        let (reported, taken, deprecated) = (false, false, preferred_s == 0);
        let registration = Registration::NEW;
        let (given, detection) = (false, Detection::Over);
        let own = Autoconfigured {
            address,
            valid,
            preferred,
            deprecated,
            taken,
            given,
            detection,
            registration,
            reported,
        };
        keep(self.addresses.as_mut_slice(), |_| false, (valid_s > 0).then_some(own), stats);
    }

    /// Processes a context (RFC 6775, 5.4.2).
    //= rfc6775#4.2-4
    fn context(&mut self, now: Instant, option: &ContextInformation, stats: &mut Stats) {
        let ContextInformation { id, compress, prefix, len, valid_min } = *option;
        let context = Context { prefix, len };
        let until = now + Duration::from_secs(u64::from(valid_min) * 60);
        let table = self.contexts.as_mut_slice();
        if let Some(known) = table.iter_mut().flatten().find(|known| known.id == id) {
            known.gone = valid_min == 0;
            known.reported &= !known.gone && known.context == context;
            (known.context, known.compress, known.until) = (context, compress, until);
            return;
        }
        let (reported, gone) = (false, false);
        let new = Advertised { id, context, compress, until, reported, gone };
        keep(table, |_| false, (valid_min > 0).then_some(new), stats);
    }

    /// Processes a possible change of the router in use. A new one gets all registrations; if there
    /// is none, the search starts.
    fn follow(&mut self, now: Instant, before: Option<Ipv6Addr>) {
        let router = self.router();
        if router == before {
            return;
        }
        self.local.restart();
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            own.registration.restart();
        }
        if router.is_some() {
            self.register(now);
        } else {
            self.search();
        }
    }

    /// Starts the search after the loss of the last router, or of something that routers advertise:
    /// routers are solicited soon, as after a start (RFC 6775, 5.3; RFC 4861, 6.3.7). A node that
    /// requires a parent and has none could not use a response.
    pub(crate) fn search(&mut self) {
        if !self.has_parent || self.preferred.is_some() {
            (self.next, self.tries) = (None, 0);
        }
    }

    /// Removes a router that does not respond, or has advertised that it is none (RFC 4861, 7.2.5
    /// and 7.3.3). All routers are solicited, as there may be another (RFC 6775, 5.8.2).
    pub(crate) fn lose_router(&mut self, now: Instant, address: Ipv6Addr) {
        let before = self.router();
        if forget(self.routers.as_mut_slice(), |router| router.address == address) {
            self.follow(now, before);
            self.search();
            self.tries = 1;
        }
    }

    /// Requests the registrations that have no next time.
    fn register(&mut self, now: Instant) {
        if self.router().is_none() {
            return;
        }
        let (again, extended) = (now + RETRANS, self.is_extended());
        if extended && self.local.due.is_none() {
            self.local.restart();
            self.local.ask(again);
        }
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            let lost = own.taken && (own.given || !extended);
            if own.registration.due.is_none() && !lost {
                own.registration.restart();
                own.registration.ask(again);
            }
        }
    }

    fn is_extended(&self) -> bool {
        self.first().is_some_and(|router| router.extended)
    }

    /// Returns the address to register next, and its transaction identifier if the router uses
    /// them. `local` is the link-local address.
    //= rfc8505#5.6-1 rfc8505#5.6-4 rfc8505#5.6-5 rfc8505#6-1 rfc8505#6-2
    pub(crate) fn poll_registration(&mut self, local: Ipv6Addr) -> Option<(Ipv6Addr, Option<u8>)> {
        let extended = self.is_extended();
        if extended && self.local.tries > 0 {
            // The other addresses are registered from it.
            let asks = core::mem::take(&mut self.local.asks);
            return asks.then_some((local, Some(self.local.tid.value())));
        }
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        // A response in the form of RFC 6775 need not contain the address.
        let own = if extended {
            own.find(|own| own.registration.asks)
        } else {
            own.find(|own| own.registration.tries > 0)
        }?;
        let asks = core::mem::take(&mut own.registration.asks);
        asks.then_some((own.address, extended.then(|| own.registration.tid.value())))
    }

    /// Processes a router's response about `address`, or in the form of RFC 6775 to `address`.
    /// Returns whether it is the response to a request of this node.
    //= rfc6775#5.5.3-1
    pub(crate) fn registered(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        local: Ipv6Addr,
        answer: &nd::Registration,
    ) -> bool {
        let (extended, first) = (self.is_extended(), self.router());
        if extended != answer.tid.is_some() {
            return false;
        }
        let table = self.addresses.as_mut_slice();
        let mut router = self.routers.as_mut_slice().iter_mut().flatten();
        let router = router.find(|router| Some(router.address) == first);
        let (registration, taken) = if extended && address == local {
            (&mut self.local, None)
        } else {
            let mut own = table.iter_mut().flatten();
            let is = |own: &Autoconfigured| match extended {
                true => own.address == address,
                // Requests are sent one at a time.
                false => own.registration.tries > 0,
            };
            let Some(own) = own.find(|own| is(own)) else { return false };
            (&mut own.registration, Some(&mut own.taken))
        };
        if answer.tid.is_some_and(|tid| tid != registration.tid.value()) {
            return false;
        }
        let minutes = u64::from(answer.lifetime_min.clamp(1, REGISTRATION_MIN));
        let lifetime = Duration::from_secs(minutes * 60);
        let pending = registration.tries > 0;
        match answer.status {
            // These come at any time (RFC 8505, 4.1).
            status::MOVED | status::REMOVED => {
                registration.leap();
                registration.refuse(now, INTERVAL);
            }
            // Others only as responses.
            _ if !pending => return false,
            status::SUCCESS => {
                let early = now + (lifetime - lifetime / 3);
                let due = now + (lifetime - lifetime / 12);
                registration.refusals = 0;
                registration.rest(Some(early), due);
                if let Some(taken) = taken {
                    *taken = false;
                }
            }
            // An address of another node is not used. Its registration may end: the request is
            // repeated in the form of RFC 8505, which registers from a different address.
            status::DUPLICATE => {
                registration.refuse(now, FULL);
                if let Some(taken) = taken {
                    *taken = true;
                    registration.due = extended.then(|| now + TAKEN);
                }
            }
            _ => registration.refuse(now, FULL),
        }
        if let Some(router) = router {
            router.registers = true;
        }
        true
    }

    /// Processes the result of a frame to the router in use. After an acknowledgement the node is
    /// awake, so requests that are due soon are sent now and need no wake-up of their own.
    pub(crate) fn handle_sent(&mut self, now: Instant, acked: bool) {
        let Some(first) = self.router() else { return };
        let mut known = self.routers.as_mut_slice().iter_mut().flatten();
        let Some(router) = known.find(|router| router.address == first) else { return };
        if !acked {
            router.failures = router.failures.saturating_add(1);
            if router.failures >= MAX_UNICAST_SOLICIT {
                self.lose_router(now, first);
            }
            return;
        }
        router.failures = 0;
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let again = now + RETRANS;
        if is_due(self.local.early) {
            self.local.ask(again);
        }
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            if is_due(own.registration.early) {
                own.registration.ask(again);
            }
        }
        if is_due(self.early) {
            self.solicit(now);
        }
    }

    /// Solicits the router for a context that this node does not know. The rate is limited, as any
    /// node can send undecodable frames.
    pub(crate) fn handle_unknown_context(&mut self, now: Instant) {
        let lately = self.asked.is_some_and(|asked| now < asked + CONTEXT_INTERVAL);
        if self.router().is_some() && self.tries == 0 && !lately {
            self.solicit(now);
        }
    }

    /// Solicits routers, and sets the next time: the interval doubles after the first three, up to
    /// a minute (RFC 6775, 5.3).
    //= rfc6775#3.4-1 rfc6775#8.1.2-1
    fn solicit(&mut self, now: Instant) {
        (self.asks, self.asked, self.early) = (true, Some(now), None);
        self.tries = self.tries.saturating_add(1);
        let doublings = self.tries.saturating_sub(SOLICITATIONS).min(3);
        let interval = (0..doublings).fold(INTERVAL, |interval, _| interval + interval);
        self.next = Some(now + interval.min(MAX_INTERVAL));
    }

    /// Returns whether a request is unanswered.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        self.tries > 0 || self.local.tries > 0 || own.any(|own| own.registration.tries > 0)
    }

    /// Adds an assigned address, with duplicate address detection. If the table is full, the
    /// address is used all the same.
    pub(crate) fn add_given(&mut self, address: Ipv6Addr, stats: &mut Stats) {
        let own = Autoconfigured {
            address,
            valid: None,
            preferred: None,
            deprecated: false,
            taken: false,
            given: true,
            detection: Detection::New,
            registration: Registration::NEW,
            reported: true,
        };
        let same = |own: &Autoconfigured| own.address == address;
        keep(self.addresses.as_mut_slice(), same, Some(own), stats);
    }

    /// Returns whether duplicate address detection for this address is in progress.
    pub(crate) fn is_tentative(&self, address: Ipv6Addr) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        own.any(|own| own.address == address && own.detection.is_on() && !own.taken)
    }

    /// Processes another node's use, or simultaneous detection, of this address (RFC 4862, 5.4.5).
    pub(crate) fn lose(&mut self, address: Ipv6Addr) {
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            if own.address == address {
                (own.taken, own.detection) = (true, Detection::Over);
                own.registration.due = None;
            }
        }
    }

    /// Returns an address for which a detection solicitation is to be sent.
    pub(crate) fn poll_detection(&mut self) -> Option<Ipv6Addr> {
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        own.find_map(|own| own.detection.poll().then_some(own.address))
    }

    /// Returns the time of the next step of a detection.
    pub(crate) fn detection_deadline(&self) -> Option<Instant> {
        let own = self.addresses.as_slice().iter().flatten();
        own.fold(None, |first, own| earliest(first, own.detection.deadline()))
    }

    /// Runs detection timers (RFC 4862, 5.4.2).
    pub(crate) fn detect(&mut self, now: Instant, retrans: Duration, random: &mut Random) {
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            own.detection.handle_deadline(now, retrans, random);
        }
    }

    /// Returns the next change.
    pub(crate) fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        for place in self.addresses.as_mut_slice() {
            let Some(own) = place else { continue };
            let address = own.address;
            if own.taken && core::mem::take(&mut own.reported) {
                return Some(Configured::NoAddress(address));
            }
            if own.valid.is_some_and(|until| until <= now) {
                let reported = own.reported;
                *place = None;
                if reported {
                    return Some(Configured::NoAddress(address));
                }
                continue;
            }
            if !own.taken && !core::mem::replace(&mut own.reported, true) {
                return Some(Configured::Address(address));
            }
        }
        if !core::mem::replace(&mut self.hop_limit.1, true) {
            return Some(Configured::HopLimit(self.hop_limit.0));
        }
        for place in self.contexts.as_mut_slice() {
            let Some(known) = place else { continue };
            let (id, context) = (known.id, Some(known.context));
            if known.gone {
                *place = None;
                return Some(Configured::Context { id, context: None });
            }
            if !core::mem::replace(&mut known.reported, true) {
                return Some(Configured::Context { id, context });
            }
        }
        None
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        // Before the timer is first set everything is due.
        let mut first = Some(self.next.unwrap_or(Instant::ZERO));
        first = earliest(first, self.local.due);
        for router in self.routers.as_slice().iter().flatten() {
            first = earliest(first, Some(router.until));
        }
        for own in self.addresses.as_slice().iter().flatten() {
            let preferred = own.preferred.filter(|_| !own.deprecated);
            first = earliest(first, earliest(own.valid, preferred));
            first = earliest(first, own.registration.due);
        }
        for known in self.contexts.as_slice().iter().flatten() {
            first = earliest(first, Some(known.until).filter(|_| !known.gone));
        }
        for server in self.servers.as_slice().iter().flatten() {
            first = earliest(first, server.until);
        }
        first
    }

    /// Removes expired entries, and solicits more. The expiry of addresses is reported first.
    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        let before = self.router();
        forget(self.routers.as_mut_slice(), |router| router.until <= now);
        self.follow(now, before);
        let is_over = |until: Option<Instant>| until.is_some_and(|until| until <= now);
        let mut lost = forget(self.servers.as_mut_slice(), |server| is_over(server.until));
        let registers = self.first().is_some_and(|router| router.registers);
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            own.deprecated |= is_over(own.preferred);
            lost |= is_over(own.valid);
            own.registration.handle_deadline(now, registers);
        }
        self.local.handle_deadline(now, registers);
        for known in self.contexts.as_mut_slice().iter_mut().flatten() {
            if known.until <= now && !known.gone {
                // At first it is only understood; it is removed later.
                lost = true;
                known.gone = !known.compress;
                (known.compress, known.until) = (false, now + HOLD);
            }
        }
        if lost {
            self.search();
        }
        match self.next {
            None => {
                let soon = now + random.between(Duration::from_millis(1), DELAY);
                // Advertisements cannot trigger solicitations more often than that.
                let earliest = self.asked.map_or(soon, |asked| asked + INTERVAL);
                self.next = Some(soon.max(earliest));
            }
            Some(next) if next <= now => self.solicit(now),
            Some(_) => {}
        }
    }
}

/// Converts a lifetime in seconds; `None`: infinite.
fn life(seconds: u32) -> Option<Duration> {
    (seconds != u32::MAX).then(|| Duration::from_secs(u64::from(seconds)))
}

/// Stores `new` in the entry of the same one, or in a free entry; `None` removes the same one.
fn keep<T>(table: &mut [Option<T>], same: impl Fn(&T) -> bool, new: Option<T>, stats: &mut Stats) {
    let known = table.iter().position(|place| place.as_ref().is_some_and(&same));
    if new.is_none() && known.is_none() {
        return;
    }
    let free = || table.iter().position(Option::is_none);
    match known.or_else(free).and_then(|index| table.get_mut(index)) {
        Some(place) => *place = new,
        None => bump(&mut stats.refused),
    }
}

/// Removes entries that are over. Returns whether there were any.
fn forget<T>(table: &mut [Option<T>], over: impl Fn(&T) -> bool) -> bool {
    table.iter_mut().filter_map(|place| place.take_if(|it| over(it))).count() > 0
}
