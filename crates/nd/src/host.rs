//! What a host learns of routers (RFC 4861, 6.3; RFC 4862, 5.5; RFC 6775, 5.3 and 5.4): default
//! routers, addresses of its own, contexts and name servers, each for as long as it is said.
//!
//! Every table takes in who comes first and keeps him for as long as he says: whoever advertises
//! more than there is room for costs nobody his place.

use crate::config::Sizes;
use crate::learnt::{Advertised, Autoconfigured, Registration, Router, Server};
use crate::neighbour::MAX_UNICAST_SOLICIT;
use crate::stats::{Stats, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::nd::{self, ContextInformation, NdOption, Options, PrefixInformation};
use kinglet_wire::sixlowpan::{Context, derived_iid};

/// MAX_RTR_SOLICITATION_DELAY (RFC 4861, 10): the first solicitation leaves within it.
const DELAY: Duration = Duration::from_secs(1);
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
/// RETRANS_TIMER (RFC 4861, 10).
const RETRANS: Duration = Duration::from_secs(1);
/// Status of a registration that was taken (RFC 6775, 4.1), and of an address that somebody else
/// has.
const SUCCESS: u8 = 0;
const DUPLICATE: u8 = 1;
/// For how long a router is left alone whose table is full.
const FULL: Duration = Duration::from_secs(60);

/// For how long a context is still understood that is not to be used any more: twice the default
/// Router Lifetime (RFC 6775, 5.4.3; RFC 4861, 6.2.1).
const HOLD: Duration = Duration::from_secs(2 * 1800);

/// What routers have made of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Configured {
    /// It has this address now.
    Address(Ipv6Addr),
    /// It has this address no longer.
    NoAddress(Ipv6Addr),
    /// This context is to be understood, or forgotten.
    Context {
        /// Its identifier, 0 to 15.
        id: u8,
        /// What it stands for.
        context: Option<Context>,
    },
}

pub(crate) struct Host<S: Sizes> {
    routers: S::Routers,
    addresses: S::Addresses,
    contexts: S::Contexts,
    servers: S::Servers,
    /// When the next solicitation is due; `None` before the first look at the clock.
    next: Option<Instant>,
    /// Solicitations since the last advertisement.
    tries: u8,
    pub(crate) asks: bool,
}

impl<S: Sizes> Host<S> {
    pub(crate) const NEW: Self = Host {
        routers: S::Routers::EMPTY,
        addresses: S::Addresses::EMPTY,
        contexts: S::Contexts::EMPTY,
        servers: S::Servers::EMPTY,
        next: None,
        tries: 0,
        asks: false,
    };

    /// Whom the next solicitation is for: the first one after an advertisement is for that router,
    /// the others for all.
    pub(crate) fn asked(&self) -> Option<Ipv6Addr> {
        if self.tries > 1 { None } else { self.router() }
    }

    /// Where packets go that have no other way.
    pub(crate) fn router(&self) -> Option<Ipv6Addr> {
        self.routers.as_slice().iter().flatten().next().map(|router| router.address)
    }

    /// Whether new connections should not begin with this own address.
    pub(crate) fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        let mut own = self.addresses.as_slice().iter().flatten();
        own.any(|own| own.address == address && own.deprecated)
    }

    /// Whether a context may be used to compress: all but those that are only understood.
    pub(crate) fn compresses(&self, id: u8) -> bool {
        let mut known = self.contexts.as_slice().iter().flatten();
        known.find(|known| known.id == id).is_none_or(|known| known.compress)
    }

    /// Name servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.servers.as_slice().iter().flatten().map(|server| server.address)
    }

    /// A Router Advertisement, from a link-local address.
    pub(crate) fn advertised(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        router: &nd::Router,
        link: Address,
        options: Options<'_>,
        stats: &mut Stats,
    ) {
        let lifetime = Duration::from_secs(u64::from(router.lifetime_s));
        let mut shortest = lifetime;
        let until = now + lifetime;
        let same = |known: &Router| known.address == from;
        keep(
            self.routers.as_mut_slice(),
            same,
            (lifetime > Duration::ZERO).then_some(Router { address: from, until }),
            stats,
        );
        for option in options {
            let lifetime = match option {
                NdOption::Prefix(prefix) => {
                    self.prefix(now, &prefix, link, stats);
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
                _ => None,
            };
            if let Some(lifetime) = lifetime.filter(|it| *it > Duration::ZERO) {
                shortest = shortest.min(lifetime);
            }
        }
        // Well before the shortest of all lifetimes is over (RFC 6775, 5.4.3). Whoever is no
        // default router changes nothing of when to ask.
        if lifetime > Duration::ZERO {
            (self.asks, self.tries) = (false, 0);
            for own in self.addresses.as_mut_slice().iter_mut().flatten() {
                // Of one that has been registered the next time is known.
                if own.registration.due.is_none() {
                    own.registration =
                        Registration { tid: own.registration.tid, ..Registration::NEW };
                    own.registration.ask(now + RETRANS);
                }
            }
            self.next = Some(now + (shortest - shortest / 4).max(INTERVAL));
        }
    }

    /// RFC 4862, 5.5.3. The L flag says nothing here: what has such a prefix is sent to the router
    /// (RFC 6775, 5.4).
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
        if let Some(own) = own.find(|own| same_prefix(own.address, prefix, PREFIX_LEN)) {
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
        let (told, deprecated) = (false, preferred_s == 0);
        let registration = Registration::NEW;
        let own = Autoconfigured { address, valid, preferred, deprecated, registration, told };
        keep(self.addresses.as_mut_slice(), |_| false, (valid_s > 0).then_some(own), stats);
    }

    /// RFC 6775, 5.4.2.
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

    /// The address to register next and its transaction identifier.
    pub(crate) fn poll_registration(&mut self) -> Option<(Ipv6Addr, u8)> {
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        let own = own.find(|own| own.registration.asks)?;
        own.registration.asks = false;
        Some((own.address, own.registration.tid))
    }

    /// The router has answered for an address of this node; whether it is one that was registered.
    pub(crate) fn registered(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        answer: &nd::Registration,
    ) -> bool {
        let mut own = self.addresses.as_mut_slice().iter_mut().flatten();
        let Some(own) = own.find(|own| own.address == address) else { return false };
        if answer.tid.is_some_and(|tid| tid != own.registration.tid) {
            return false;
        }
        let minutes = u64::from(answer.lifetime_min.min(REGISTRATION_MIN));
        let lifetime = Duration::from_secs(minutes * 60);
        (own.registration.tries, own.registration.asks) = (0, false);
        own.registration.due = Some(match answer.status {
            SUCCESS => now + (lifetime - lifetime / 4).max(RETRANS),
            // Nobody may have an address that is another's: it is over.
            DUPLICATE => {
                own.valid = Some(now);
                now + FULL
            }
            _ => now + FULL,
        });
        true
    }

    /// What has changed, one thing at a time.
    pub(crate) fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        for place in self.addresses.as_mut_slice() {
            let Some(own) = place else { continue };
            let address = own.address;
            if own.valid.is_some_and(|until| until <= now) {
                *place = None;
                return Some(Configured::NoAddress(address));
            }
            if !core::mem::replace(&mut own.told, true) {
                return Some(Configured::Address(address));
            }
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
        let had_router = self.router().is_some();
        forget(self.routers.as_mut_slice(), |router| router.until <= now);
        forget(self.servers.as_mut_slice(), |it| it.until.is_some_and(|until| until <= now));
        for own in self.addresses.as_mut_slice().iter_mut().flatten() {
            own.deprecated |= own.preferred.is_some_and(|until| until <= now);
            if own.registration.due.is_some_and(|due| due <= now) {
                if own.registration.tries < MAX_UNICAST_SOLICIT {
                    own.registration.ask(now + RETRANS);
                } else {
                    // One that knows RFC 4861 only. The next advertisement is reason to ask again.
                    own.registration.due = None;
                }
            }
        }
        for known in self.contexts.as_mut_slice().iter_mut().flatten() {
            if known.until <= now && !known.gone {
                // First it is understood only, then forgotten.
                known.gone = !known.compress;
                (known.compress, known.until) = (false, now + HOLD);
            }
        }
        if had_router && self.router().is_none() {
            // The last one is gone: like a start.
            (self.next, self.tries) = (None, 0);
        }
        match self.next {
            None => {
                self.next = Some(now + random.between(Duration::from_millis(1), DELAY));
            }
            Some(next) if next <= now => {
                self.asks = true;
                self.tries = self.tries.saturating_add(1);
                // Twice as long for each that is too many, up to a minute (RFC 6775, 5.3).
                let doublings = self.tries.saturating_sub(SOLICITATIONS).min(3);
                let interval = (0..doublings).fold(INTERVAL, |interval, _| interval + interval);
                self.next = Some(now + interval.min(MAX_INTERVAL));
            }
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

fn forget<T>(table: &mut [Option<T>], over: impl Fn(&T) -> bool) {
    for place in table {
        let _ = place.take_if(|it| over(it));
    }
}
