//! What a host learns of routers (RFC 4861, 6.3; RFC 4862, 5.5; RFC 6775, 5.3 and 5.4): default
//! routers, addresses of its own, contexts and name servers, each for as long as it is said.
//!
//! Every table takes in who comes first and keeps him for as long as he says: whoever advertises
//! more than there is room for costs nobody his place.

use crate::config::Sizes;
use crate::derive::link_local;
use crate::detection::{DELAY, Detection};
use crate::learnt::{Advertised, Autoconfigured, RETRANS, Registration, Router, Server};
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
/// MAX_RTR_SOLICITATIONS (RFC 4861, 10): so many before the interval grows.
const SOLICITATIONS: u8 = 3;
/// No advertisement makes the rest of an address's life shorter than this (RFC 4862, 5.5.3 (e)).
const TWO_HOURS: Duration = Duration::from_secs(2 * 3600);
/// Bits of the prefix of an address that is made here.
const PREFIX_LEN: u8 = 64;
/// For how long an address is registered, in minutes: what RFC 6775 leaves open, as long as twice
/// the default Router Lifetime.
pub(crate) const REGISTRATION_MIN: u16 = 60;
/// For how long a router is left alone whose table is full.
const FULL: Duration = Duration::from_secs(60);
/// For how long it is left alone with an address that is another's: as a registration lasts.
const TAKEN: Duration = Duration::from_secs(REGISTRATION_MIN as u64 * 60);

/// For how long a context is still understood that is not to be used any more: twice the default
/// Router Lifetime (RFC 6775, 5.4.3; RFC 4861, 6.2.1).
const HOLD: Duration = Duration::from_secs(2 * 1800);

/// So often at most a router is asked for a context.
const CONTEXT_INTERVAL: Duration = Duration::from_secs(60);

/// What routers have made of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configured {
    /// It has this address now.
    Address(Ipv6Addr),
    /// It has this address no longer.
    NoAddress(Ipv6Addr),
    /// Packets are to begin with this hop limit, if the node was not told a higher one: nobody
    /// is to keep its packets from arriving (RFC 3756, 4.2.7).
    HopLimit(u8),
    /// This context is to be understood, or forgotten.
    Context {
        /// Its identifier, 0 to 15.
        id: u8,
        /// What it stands for.
        context: Option<Context>,
    },
}

/// The node that is a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    /// Its link address.
    pub(crate) link: Address,
    /// It is to be a router itself.
    pub(crate) serves: bool,
}

pub(crate) struct Host<S: Sizes> {
    routers: S::Routers,
    addresses: S::Addresses,
    contexts: S::Contexts,
    servers: S::Servers,
    /// The one router that is to be used, by its link address; `None`: any, or none yet if it has
    /// to be one.
    preferred: Option<Address>,
    has_parent: bool,
    /// The registration of the link-local address, by which RFC 8505, 5.6, begins.
    local: Registration,
    /// The hop limit that was last heard, and whether that was told.
    hop_limit: (u8, bool),
    /// When routers were last solicited.
    asked: Option<Instant>,
    /// From when on routers are solicited, if the node is awake anyway.
    early: Option<Instant>,
    /// When the next solicitation is due; `None` before the first look at the clock.
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

    /// Whom the next solicitation is for: the first one after an advertisement is for that router,
    /// or the one that is preferred, the others for all.
    pub(crate) fn asked(&self) -> Option<Ipv6Addr> {
        if self.tries > 1 {
            return None;
        }
        self.router().or_else(|| link_local(self.preferred?))
    }

    /// Where packets go that have no other way.
    pub(crate) fn router(&self) -> Option<Ipv6Addr> {
        self.first().map(|router| router.address)
    }

    fn first(&self) -> Option<&Router> {
        let mut known = self.routers.as_slice().iter().flatten();
        known.find(|router| self.prefers(router.address))
    }

    /// Whether it may be used: any, or the one that is preferred, whose address tells its link
    /// address.
    fn prefers(&self, router: Ipv6Addr) -> bool {
        self.preferred.map_or(!self.has_parent, |link| link_address_of(router) == link)
    }

    /// Only the router with this link address is to be used, or `None`: any. If nothing was heard
    /// of it, it is asked.
    pub(crate) fn prefer(&mut self, now: Instant, link: Option<Address>) {
        let (before, started) = (self.router(), self.next.is_some());
        self.preferred = link;
        self.follow(now, before);
        if self.router().is_none() && started && link.is_some() {
            self.tries = 0;
            self.solicit(now);
        }
    }

    /// The router that is preferred takes the place of one that is not, if there is no other.
    fn make_way(&mut self, new: Router) {
        let table = self.routers.as_mut_slice();
        let known = table.iter().flatten().any(|router| router.address == new.address);
        let full = !known && table.iter().all(Option::is_some);
        if let Some(last) = table.last_mut().filter(|_| full && self.preferred.is_some()) {
            *last = None;
        }
    }

    /// Whether new connections should not begin with this own address.
    pub(crate) fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        own.any(|own| own.address == address && own.deprecated)
    }

    /// Whether a context may be used to compress: all but those that are only understood.
    //= rfc6775#4.2-2 rfc6775#5.4.2-1
    pub(crate) fn compresses(&self, id: u8) -> bool {
        let mut known = self.contexts.as_slice().iter().flatten();
        known.find(|known| known.id == id).is_none_or(|known| known.compress)
    }

    /// Name servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.servers.as_slice().iter().flatten().map(|server| server.address)
    }

    /// A router as its advertisement describes it.
    fn as_router(&self, address: Ipv6Addr, until: Instant, mut options: Options<'_>) -> Router {
        let mut known = self.routers.as_slice().iter().flatten();
        let known = known.any(|known| known.address == address && known.registers);
        let extended = options.clone().any(
            |option| matches!(option, NdOption::Capabilities(it) if it.has(Capabilities::EXTENDED)),
        );
        let lowpan = options
            .any(|option| matches!(option, NdOption::BorderRouter(_) | NdOption::Context(_)));
        Router { address, until, extended, registers: extended || lowpan || known, failures: 0 }
    }

    /// A Router Advertisement, from a link-local address.
    pub(crate) fn advertised(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        router: &nd::Router,
        own: Interface,
        options: Options<'_>,
        stats: &mut Stats,
    ) {
        let lifetime = Duration::from_secs(u64::from(router.lifetime_s));
        let mut shortest = lifetime;
        let until = now + lifetime;
        let same = |known: &Router| known.address == from;
        let new = self.as_router(from, until, options);
        // The ways of a router are those of its routing.
        let is_default = lifetime > Duration::ZERO && !own.serves;
        let (new, before) = (is_default.then_some(new), self.router());
        if let (Some(new), true) = (new, self.prefers(from)) {
            self.make_way(new);
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
        // others do not end the search for a router that may be used.
        if lifetime > Duration::ZERO && (own.serves || self.router().is_some()) {
            (self.asks, self.tries) = (false, 0);
            self.register(now);
            self.next = Some(now + (shortest - shortest / 4).max(INTERVAL));
            self.early = Some(now + (shortest / 2).max(INTERVAL));
        }
    }

    /// RFC 4862, 5.5.3. The L flag says nothing here: what has such a prefix is sent to the router
    /// (RFC 6775, 5.4).
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
            let told = life(valid_s);
            let longer = match (told, rest) {
                (None, _) => true,
                (Some(told), rest) => told > TWO_HOURS || rest.is_some_and(|rest| told > rest),
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
        let (told, taken, deprecated) = (false, false, preferred_s == 0);
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
            told,
        };
        keep(self.addresses.as_mut_slice(), |_| false, (valid_s > 0).then_some(own), stats);
    }

    /// RFC 6775, 5.4.2.
    //= rfc6775#4.2-4
    fn context(&mut self, now: Instant, told: &ContextInformation, stats: &mut Stats) {
        let ContextInformation { id, compress, prefix, len, valid_min } = *told;
        let context = Context { prefix, len };
        let until = now + Duration::from_secs(u64::from(valid_min) * 60);
        let table = self.contexts.as_mut_slice();
        if let Some(known) = table.iter_mut().flatten().find(|known| known.id == id) {
            known.gone = valid_min == 0;
            known.told &= !known.gone && known.context == context;
            (known.context, known.compress, known.until) = (context, compress, until);
            return;
        }
        let (told, gone) = (false, false);
        let new = Advertised { id, context, compress, until, told, gone };
        keep(table, |_| false, (valid_min > 0).then_some(new), stats);
    }

    /// The first router may not be the one of before. Another one gets all registrations; if there
    /// is none, one is searched for.
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

    /// The last router, or something that routers advertise, is lost: they are solicited soon, as
    /// after a start (RFC 6775, 5.3; RFC 4861, 6.3.7). A node that has to have a parent and has
    /// none could use no answer.
    pub(crate) fn search(&mut self) {
        if !self.has_parent || self.preferred.is_some() {
            (self.next, self.tries) = (None, 0);
        }
    }

    /// This router does not answer, or has said that it is none (RFC 4861, 7.2.5 and 7.3.3).
    /// Another may be there, so that all are asked (RFC 6775, 5.8.2).
    pub(crate) fn lose_router(&mut self, now: Instant, address: Ipv6Addr) {
        let before = self.router();
        if forget(self.routers.as_mut_slice(), |router| router.address == address) {
            self.follow(now, before);
            self.search();
            self.tries = 1;
        }
    }

    /// Asks for the registrations of which no next time is known.
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

    /// The address to register next, and its transaction identifier if the router wants one.
    /// `local` is the link-local address.
    //= rfc8505#5.6-1 rfc8505#5.6-4 rfc8505#5.6-5 rfc8505#6-1 rfc8505#6-2
    pub(crate) fn poll_registration(&mut self, local: Ipv6Addr) -> Option<(Ipv6Addr, Option<u8>)> {
        let extended = self.is_extended();
        if extended && self.local.tries > 0 {
            // It is what the others are registered from.
            let asks = core::mem::take(&mut self.local.asks);
            return asks.then_some((local, Some(self.local.tid.value())));
        }
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        // An answer in the form of RFC 6775 may not say which address it is about.
        let own = if extended {
            own.find(|own| own.registration.asks)
        } else {
            own.find(|own| own.registration.tries > 0)
        }?;
        let asks = core::mem::take(&mut own.registration.asks);
        asks.then_some((own.address, extended.then(|| own.registration.tid.value())))
    }

    /// A router has answered about an address, or in the form of RFC 6775 to one; whether that is
    /// the answer to a question of this node's.
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
                // One after the other is asked for.
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
            // Others only as answers.
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
            // An address that is another's is not used. The other's registration may end, and is
            // asked about again in the form that does so from another address.
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

    /// A frame to the first router was acknowledged, so that the node is awake and what is due soon
    /// need not wake it again; or it was not.
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

    /// There is a context that the router may know and this node does not. That is asked once in a
    /// while, as anybody may send what nobody can read.
    pub(crate) fn handle_unknown_context(&mut self, now: Instant) {
        let lately = self.asked.is_some_and(|asked| now < asked + CONTEXT_INTERVAL);
        if self.router().is_some() && self.tries == 0 && !lately {
            self.solicit(now);
        }
    }

    /// Looks for routers, and again later: after twice as long for each time that is too many, up
    /// to a minute (RFC 6775, 5.3).
    //= rfc6775#3.4-1 rfc6775#8.1.2-1
    fn solicit(&mut self, now: Instant) {
        (self.asks, self.asked, self.early) = (true, Some(now), None);
        self.tries = self.tries.saturating_add(1);
        let doublings = self.tries.saturating_sub(SOLICITATIONS).min(3);
        let interval = (0..doublings).fold(INTERVAL, |interval, _| interval + interval);
        self.next = Some(now + interval.min(MAX_INTERVAL));
    }

    /// Whether something was asked and not answered.
    pub(crate) fn is_waiting(&self) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        self.tries > 0 || self.local.tries > 0 || own.any(|own| own.registration.tries > 0)
    }

    /// Watches over an address that this node was given, and whether another has it. If there is no
    /// place it is used all the same.
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
            told: true,
        };
        let same = |own: &Autoconfigured| own.address == address;
        keep(self.addresses.as_mut_slice(), same, Some(own), stats);
    }

    /// Whether it is being found out if another node has this address.
    pub(crate) fn is_tentative(&self, address: Ipv6Addr) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        own.any(|own| own.address == address && own.detection.is_on() && !own.taken)
    }

    /// Another node has this address, or wants it at the same time (RFC 4862, 5.4.5).
    pub(crate) fn lose(&mut self, address: Ipv6Addr) {
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            if own.address == address {
                (own.taken, own.detection) = (true, Detection::Over);
                own.registration.due = None;
            }
        }
    }

    /// An address that all are to be asked for, whether they have it.
    pub(crate) fn poll_detection(&mut self) -> Option<Ipv6Addr> {
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        own.find_map(|own| own.detection.poll().then_some(own.address))
    }

    /// When there is more to find out about addresses that were given.
    pub(crate) fn detection_deadline(&self) -> Option<Instant> {
        let own = self.addresses.as_slice().iter().flatten();
        own.fold(None, |first, own| earliest(first, own.detection.deadline()))
    }

    /// Finds out more (RFC 4862, 5.4.2).
    pub(crate) fn detect(&mut self, now: Instant, retrans: Duration, random: &mut Random) {
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            own.detection.handle_deadline(now, retrans, random);
        }
    }

    /// What has changed, one thing at a time.
    pub(crate) fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        for place in self.addresses.as_mut_slice() {
            let Some(own) = place else { continue };
            let address = own.address;
            if own.taken && core::mem::take(&mut own.told) {
                return Some(Configured::NoAddress(address));
            }
            if own.valid.is_some_and(|until| until <= now) {
                let told = own.told;
                *place = None;
                if told {
                    return Some(Configured::NoAddress(address));
                }
                continue;
            }
            if !own.taken && !core::mem::replace(&mut own.told, true) {
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
            if !core::mem::replace(&mut known.told, true) {
                return Some(Configured::Context { id, context });
            }
        }
        None
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        // Before the first look at the clock there is everything to do.
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

    /// Forgets what is over, and asks for more. Addresses that are over are told first.
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
                // First it is understood only, then forgotten.
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
                // No advertisement has routers solicited more often than that.
                let earliest = self.asked.map_or(soon, |asked| asked + INTERVAL);
                self.next = Some(soon.max(earliest));
            }
            Some(next) if next <= now => self.solicit(now),
            Some(_) => {}
        }
    }
}

/// A lifetime in seconds; `None`: for ever.
fn life(seconds: u32) -> Option<Duration> {
    (seconds != u32::MAX).then(|| Duration::from_secs(u64::from(seconds)))
}

/// Keeps `new` in the place of the same one, or a free one; nothing of it if it is `None`.
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

/// Forgets what is over; whether there was anything.
fn forget<T>(table: &mut [Option<T>], over: impl Fn(&T) -> bool) -> bool {
    table.iter_mut().filter_map(|place| place.take_if(|it| over(it))).count() > 0
}
