//! Router functions for neighbouring hosts (RFC 4861, 6.2; RFC 6775, 6 to 8; RFC 8505): Router
//! Advertisements, and the registration of addresses.
//!
//! An address is registered at once or, if the border router is another node, after that has
//! confirmed in duplicate address messages over several hops that no other node has it.
//! Registrations are never evicted: if the table is full, new ones are refused. A pending request
//! takes one of four entries, and all hosts repeat their requests.

mod offer;
mod registry;

pub use offer::{Border, NameServer, Offer, Offered};
pub use registry::Registered;

use crate::derive::link_local;
use crate::message::Message;
use crate::neighbour::MAX_UNICAST_SOLICIT;
use crate::role::{Claim, Role};
use crate::stats::{Discard, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_routing::RegisteredHost;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_NODES, is_link_local};
use kinglet_wire::nd::{Advertisement, Builder, ContextInformation, Duplicate, Kind, NdOption};
use kinglet_wire::nd::{Options, PrefixInformation, Registration, status};
use offer::{Offers, Written};
use registry::poll_routed;
use registry::{Entry, Finding, Site, expire, find, forget, forget_older, keep, look};

/// Responses that wait to be sent; registrations that await the border router.
const ANSWERS: usize = 4;
const ASKED: usize = 4;
/// MULTIHOP_HOPLIMIT (RFC 6775, 9).
const MULTIHOP: u8 = 64;
/// RETRANS_TIMER (RFC 4861, 10): time until the request to the border router is repeated.
const RETRANS: Duration = Duration::from_secs(1);
/// MAX_RTR_ADVERTISEMENTS (RFC 6775, 9): multicast advertisements after a change.
const ADVERTISEMENTS: u8 = 3;
/// MIN_DELAY_BETWEEN_RAS and MAX_RA_DELAY_TIME (RFC 6775, 9).
const BETWEEN: Duration = Duration::from_secs(10);
const DELAY: Duration = Duration::from_secs(2);

/// Table sizes of a router.
pub trait RouterSizes {
    /// Addresses of neighbours; in a border router also those registered with other routers.
    type Registrations: Array<Option<Registered>>;
    /// Advertised prefixes.
    type Prefixes: Array<Option<Offered<PrefixInformation>>>;
    /// Advertised contexts.
    type Contexts: Array<Option<Offered<ContextInformation>>>;
    /// Advertised name servers.
    type Servers: Array<Option<Offered<NameServer>>>;
}

/// The table has no free entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

kinglet_mem::counters! {
    /// Event counters of a router; they stop at their maximum.
    pub struct RouterStats {
        /// Advertisements sent, unicast and multicast.
        advertised,
        /// Registrations accepted, new and renewed.
        registered,
    }
    reasons {
        /// Registrations of addresses that another node has.
        duplicates,
        /// Registrations refused because a table was full, here or at the border router.
        full,
        /// Registrations refused for their source, their prefix, or a later registration.
        refused,
        /// Registrations accepted because the border router did not respond.
        unconfirmed,
    }
}

/// A response that waits to be sent.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// An advertisement that starts with the option `next`.
    Router { dst: Ipv6Addr, via: Address, next: usize },
    /// The response to a registration.
    Registration { claim: Claim, status: u8 },
    /// The border router's response to a duplicate address request.
    Confirmation { dst: Ipv6Addr, message: Duplicate },
}

impl Answer {
    /// Returns whether it replaces the other.
    fn is_for_same(&self, other: &Answer) -> bool {
        match (self, other) {
            (Answer::Router { dst, .. }, Answer::Router { dst: other, .. }) => dst == other,
            (Answer::Registration { claim: a, .. }, Answer::Registration { claim: b, .. }) => {
                (a.src, a.target, a.link) == (b.src, b.target, b.link)
            }
            _ => false,
        }
    }
}

/// A registration that awaits the border router's response.
#[derive(Clone, Copy, Debug)]
struct Asked {
    claim: Claim,
    /// True if its host awaits the response: the address is not registered here yet.
    new: bool,
    /// True if a request is to be sent.
    asks: bool,
    tries: u8,
    due: Instant,
}

/// Timing of multicast advertisements.
#[derive(Clone, Copy, Debug)]
struct AdvertisementSchedule {
    /// Number of advertisements still to be sent.
    left: u8,
    /// Time of the next one; `None` before the timer is set.
    due: Option<Instant>,
    last: Option<Instant>,
    /// First option of the part that is to be sent next.
    next: Option<usize>,
}

/// Functions of a router: [`Role`] of a node that serves others.
pub struct Serving<S: RouterSizes> {
    offers: Offers<S>,
    registrations: S::Registrations,
    asked: [Option<Asked>; ASKED],
    answers: [Option<Answer>; ANSWERS],
    schedule: AdvertisementSchedule,
    stats: RouterStats,
}

impl<S: RouterSizes> Serving<S> {
    /// Returns a router with this offer and no prefixes.
    pub const fn new(offer: Offer) -> Self {
        Serving {
            offers: Offers::new(offer),
            registrations: S::Registrations::EMPTY,
            asked: [None; ASKED],
            answers: [None; ANSWERS],
            schedule: AdvertisementSchedule {
                left: ADVERTISEMENTS,
                due: None,
                last: None,
                next: None,
            },
            stats: RouterStats {
                advertised: 0,
                registered: 0,
                duplicates: 0,
                full: 0,
                refused: 0,
                unconfirmed: 0,
            },
        }
    }

    /// Returns the configured offer.
    pub const fn offer(&self) -> &Offer {
        self.offers.offer()
    }

    /// Returns the event counters.
    pub const fn stats(&self) -> &RouterStats {
        &self.stats
    }

    /// Returns the registered addresses.
    pub fn registrations(&self) -> impl Iterator<Item = &Registered> {
        self.registrations.as_slice().iter().flatten().filter(|known| !known.is_over())
    }

    /// Advertises a prefix, or updates it; multicast advertisements announce the change, and a
    /// lifetime of 0 withdraws the prefix. The on-link flag is never set (RFC 6775, 6.1).
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn offer_prefix(
        &mut self,
        now: Instant,
        prefix: PrefixInformation,
    ) -> Result<(), TableFull> {
        let kept = self.offers.put_prefix(now, prefix);
        self.note_change(kept)
    }

    /// Advertises a context, or updates it.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn offer_context(
        &mut self,
        now: Instant,
        context: ContextInformation,
    ) -> Result<(), TableFull> {
        let kept = self.offers.put_context(now, context);
        self.note_change(kept)
    }

    /// Advertises a name server.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn offer_server(&mut self, now: Instant, server: NameServer) -> Result<(), TableFull> {
        let kept = self.offers.put_server(now, server);
        self.note_change(kept)
    }

    fn note_change(&mut self, kept: bool) -> Result<(), TableFull> {
        if !kept {
            return Err(TableFull);
        }
        // Before the first advertisement no node knows a version.
        if self.schedule.due.is_some() {
            self.offers.raise_version();
        }
        (self.schedule.left, self.schedule.due) = (ADVERTISEMENTS, None);
        Ok(())
    }

    /// Queues a response. A full queue drops the oldest; its sender will repeat the request.
    fn answer(&mut self, answer: Answer) {
        let waiting =
            self.answers.iter().position(|it| it.is_some_and(|it| answer.is_for_same(&it)));
        let free = self.answers.iter().position(Option::is_none);
        let index = waiting.or(free).unwrap_or_else(|| {
            self.answers.rotate_left(1);
            ANSWERS.saturating_sub(1)
        });
        if let Some(place) = self.answers.get_mut(index) {
            *place = Some(answer);
        }
    }

    fn conclude(&mut self, claim: Claim, status: u8) {
        let counter = match status {
            status::SUCCESS => &mut self.stats.registered,
            status::DUPLICATE => &mut self.stats.duplicates,
            status::FULL | status::SATURATED => &mut self.stats.full,
            _ => &mut self.stats.refused,
        };
        bump(counter);
        self.answer(Answer::Registration { claim, status });
    }

    /// Returns the refusal of a registration that is invalid regardless of the table.
    fn fault(&self, now: Instant, claim: &Claim, address: Ipv6Addr) -> Option<u8> {
        let Claim { src, target, own, asked, .. } = *claim;
        if asked.tid.is_some() && !is_link_local(src) && src != target {
            return Some(status::INVALID_SOURCE);
        }
        if asked.tid.is_some() && own {
            return Some(status::DUPLICATE);
        }
        if address.is_multicast() || !self.offers.is_correct(now, address) {
            return Some(status::INCORRECT);
        }
        None
    }

    /// Returns whether there is a free entry, and one within the limit of this neighbour.
    fn has_room(&self, link: Address) -> bool {
        let asked = self.asked.iter().flatten().filter(|it| it.new);
        let of = asked.clone().filter(|it| it.claim.link == link).count();
        let taken = self.registrations.as_slice().iter().flatten();
        let taken = taken.count().saturating_add(asked.count());
        let of = self
            .registrations()
            .filter(|it| it.site == Site::Here(link))
            .count()
            .saturating_add(of);
        taken < S::Registrations::LEN && of < usize::from(self.offers.offer().per_node)
    }

    /// Queues a request to the border router, or updates a pending one. False if there is no entry.
    //= rfc6775#8.2-1
    fn ask(&mut self, now: Instant, claim: Claim, new: bool) -> bool {
        let address = claim.address();
        let same = |it: &Option<Asked>| it.is_some_and(|it| it.claim.address() == address);
        let index = self.asked.iter().position(same);
        let index = index.or_else(|| self.asked.iter().position(Option::is_none));
        let Some(place) = index.and_then(|index| self.asked.get_mut(index)) else { return false };
        if let Some(asked) = place {
            // The host repeats its request. Of two hosts that want the same address the first is
            // served (RFC 6775, 8.2).
            if asked.claim.asked.rovr != claim.asked.rovr {
                return false;
            }
            asked.claim = claim;
            return true;
        }
        *place = Some(Asked { claim, new, asks: true, tries: 1, due: now + RETRANS });
        true
    }

    /// Processes the border router's response to a registration, or three missing responses.
    fn confirmed(&mut self, now: Instant, asked: &Asked, status: u8) {
        let Asked { claim, new, .. } = *asked;
        let entry = Entry::of(claim.address(), &claim.asked);
        if status != status::SUCCESS {
            // The host already had a success response and now gets the refusal. A full table of the
            // border router does not affect what is registered here.
            if new || status != status::SATURATED {
                forget(self.registrations.as_mut_slice(), entry.address);
                self.conclude(claim, status);
            }
        } else if new {
            let kept = {
                let site = Site::Here(claim.link);
                keep(self.registrations.as_mut_slice(), now, &entry, site)
            };
            self.conclude(claim, if kept { status::SUCCESS } else { status::FULL });
        }
    }

    /// Compares an address with the table of this border router (RFC 6775, 8.2.4).
    //= rfc6775#8.2.3-2
    fn compare(&mut self, now: Instant, from: Ipv6Addr, message: &Duplicate) -> u8 {
        let entry = Entry::of_duplicate(message);
        let finding = look(self.registrations.as_slice(), &entry);
        if finding == Finding::Same {
            self.notify_former(Site::Behind(from), message);
        }
        let table = self.registrations.as_mut_slice();
        match finding {
            Finding::Another => status::DUPLICATE,
            Finding::Older => status::MOVED,
            Finding::New | Finding::Same => {
                // It is now at that other router, wherever it was before.
                let kept = keep(table, now, &entry, Site::Behind(from));
                if kept { status::SUCCESS } else { status::SATURATED }
            }
        }
    }

    /// Notifies the router where an address was registered before that it has moved (RFC 8505,
    /// 5.7).
    fn notify_former(&mut self, site: Site, message: &Duplicate) {
        let known = find(self.registrations.as_slice(), message.address);
        let former = known.map(|known| known.site).filter(|former| *former != site);
        if let Some(Site::Behind(dst)) = former {
            let message = Duplicate { confirmation: true, status: status::MOVED, ..*message };
            self.answer(Answer::Confirmation { dst, message });
        }
    }

    fn write(
        &mut self,
        now: Instant,
        link: Address,
        answer: Answer,
        buf: &mut [u8],
    ) -> Option<Message> {
        match answer {
            Answer::Router { dst, via, next } => {
                let Written { len, next } = self.offers.write(now, link, next, buf)?;
                if let Some(next) = next {
                    self.answer(Answer::Router { dst, via, next });
                }
                bump(&mut self.stats.advertised);
                Some(Message::near(dst, via, len))
            }
            Answer::Registration { claim, status } => write_registration(&claim, status, buf),
            Answer::Confirmation { dst, message } => {
                let len = Builder::new(buf, &Kind::Duplicate(message)).ok()?.len();
                Some(Message { src: None, dst, via: None, hop_limit: MULTIHOP, len })
            }
        }
    }

    /// Writes a request to the border router (RFC 6775, 8.2.3).
    //= rfc6775#4.4-3 rfc6775#8.2.3-1 rfc8505#6.2-2 rfc8505#6.4-2
    fn request(&mut self, buf: &mut [u8]) -> Option<Message> {
        let dst = self.offers.remote_border()?;
        let asked = self.asked.iter_mut().flatten().find(|it| it.asks)?;
        asked.asks = false;
        let claim = &asked.claim;
        let Registration { tid, lifetime_min, rovr, .. } = claim.asked;
        let (address, confirmation) = (claim.address(), false);
        let message = Duplicate { confirmation, status: 0, tid, lifetime_min, rovr, address };
        let len = Builder::new(buf, &Kind::Duplicate(message)).ok()?.len();
        Some(Message { src: None, dst, via: None, hop_limit: MULTIHOP, len })
    }

    /// Writes a part of a multicast advertisement (RFC 6775, 6.4 and 8.1.5).
    fn advertise_all(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        let next = self.schedule.next?;
        let Written { len, next } = self.offers.write(now, link, next, buf)?;
        self.schedule.next = next;
        bump(&mut self.stats.advertised);
        Some(Message::near(ALL_NODES, Address::BROADCAST, len))
    }
}

/// Writes the response to a registration (RFC 6775, 6.5.2 and 6.5.3): a copy of the request, with a
/// status.
//= rfc8505#6-4 rfc8505#6.2-3
fn write_registration(claim: &Claim, status: u8, buf: &mut [u8]) -> Option<Message> {
    let Claim { src, link, target, asked, .. } = *claim;
    // A refused address and its link address may be another node's: the EUI-64 gets the response.
    let doubtful = status != status::SUCCESS && !is_link_local(src);
    let (dst, via) = if doubtful {
        let via = Address::Extended(asked.rovr);
        (link_local(via)?, via)
    } else {
        (src, link)
    };
    let (router, solicited, overriding) = (true, true, false);
    let message = Advertisement { router, solicited, overriding, target };
    let mut out = Builder::new(buf, &Kind::NeighbourAdvertisement(message)).ok()?;
    out.option(&NdOption::Registration(Registration { status, ..asked })).ok()?;
    Some(Message::near(dst, via, out.len()))
}

impl<S: RouterSizes> Role for Serving<S> {
    const NONE: Self = Serving::new(Offer::new(Border::Learnt));
    const SERVES: bool = true;

    fn serves(&self) -> bool {
        true
    }

    fn is_router(&self) -> bool {
        self.offers.is_ready()
    }

    //= rfc6775#6.5.4-1
    fn link(&self, address: Ipv6Addr) -> Option<Address> {
        let known = find(self.registrations.as_slice(), address)?;
        Some(known.link()).filter(|link| *link != Address::None)
    }

    fn handle_solicitation(&mut self, now: Instant, src: Ipv6Addr, link: Address) {
        if !self.is_router() {
            return;
        }
        if !src.is_unspecified() {
            return self.answer(Answer::Router { dst: src, via: link, next: 0 });
        }
        // A node without an address gets the multicast advertisement.
        let soon = self.schedule.last.map_or(now, |last| (last + BETWEEN).max(now));
        self.schedule.left = self.schedule.left.max(1);
        self.schedule.due = Some(self.schedule.due.map_or(soon, |due| due.min(soon)));
    }

    fn handle_advertisement(&mut self, now: Instant, options: Options<'_>) -> bool {
        let before = self.offers.count(now);
        if self.offers.learn(now, options) {
            (self.schedule.left, self.schedule.due) = (ADVERTISEMENTS, None);
        }
        self.offers.count(now) < before
    }

    //= rfc8505#5.6-6 rfc8505#5.7-1 rfc8505#5.7-3 rfc8505#6.2-1
    fn handle_registration(
        &mut self,
        now: Instant,
        claim: &Claim,
        is_derived: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard> {
        let Claim { own, asked, link, .. } = *claim;
        // In the form of RFC 6775 the target is the router, and the source is registered.
        if !self.is_router() || asked.tid.is_none() && !own {
            return Err(Discard::NotConcerned);
        }
        if asked.status != 0 {
            return Err(Discard::Invalid);
        }
        let address = claim.address();
        if let Some(status) = self.fault(now, claim, address) {
            self.conclude(*claim, status);
            return Ok(());
        }
        // An address that contains the link address needs no entry (RFC 6775, 5.2).
        if is_link_local(address) && is_derived(address, link) {
            self.conclude(*claim, status::SUCCESS);
            return Ok(());
        }
        let entry = Entry::of(address, &asked);
        let finding = look(self.registrations.as_slice(), &entry);
        let new = finding == Finding::New;
        let remote = self.offers.remote_border().is_some() && !is_link_local(address);
        let status = match finding {
            Finding::Another => status::DUPLICATE,
            Finding::Older => status::MOVED,
            Finding::New if asked.lifetime_min > 0 && !self.has_room(link) => status::FULL,
            // The border router is notified of every registration (RFC 8505, 5.7).
            _ if remote && !self.ask(now, *claim, new) => return Err(Discard::NotConcerned),
            // The response waits for the border router's.
            Finding::New if remote => return Ok(()),
            Finding::New | Finding::Same => {
                let site = Site::Here(link);
                self.notify_former(site, &entry.moved());
                keep(self.registrations.as_mut_slice(), now, &entry, site);
                status::SUCCESS
            }
        };
        self.conclude(*claim, status);
        Ok(())
    }

    //= rfc6775#3.4-2 rfc6775#8.2.1-1 rfc6775#8.2.5-1
    fn handle_duplicate(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        message: &Duplicate,
    ) -> Result<(), Discard> {
        if from.is_unspecified() || from.is_multicast() || message.address.is_multicast() {
            return Err(Discard::Invalid);
        }
        if !message.confirmation {
            if !matches!(self.offers.offer().border, Border::This(_)) {
                return Err(Discard::NotConcerned);
            }
            let status = self.compare(now, from, message);
            let message = Duplicate { confirmation: true, status, ..*message };
            self.answer(Answer::Confirmation { dst: from, message });
            return Ok(());
        }
        if self.offers.remote_border() != Some(from) {
            return Err(Discard::NotConcerned);
        }
        let is = |it: &Asked| {
            it.claim.address() == message.address && it.claim.asked.rovr == message.rovr
        };
        let place = self.asked.iter_mut().find(|place| place.as_ref().is_some_and(is));
        if let Some(asked) = place.and_then(Option::take) {
            self.confirmed(now, &asked, message.status);
            return Ok(());
        }
        let entry = Entry::of_duplicate(message);
        let moved = message.status == status::MOVED
            && forget_older(self.registrations.as_mut_slice(), &entry);
        if moved { Ok(()) } else { Err(Discard::NotConcerned) }
    }

    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        if let Some(answer) = self.answers.first_mut().and_then(Option::take) {
            self.answers.rotate_left(1);
            return self.write(now, link, answer, buf);
        }
        self.request(buf).or_else(|| self.advertise_all(now, link, buf))
    }

    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        poll_routed(self.registrations.as_mut_slice(), now)
    }

    fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.stats.reasons()
    }

    fn registered(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.registrations().map(Registered::address)
    }

    fn deadline(&self) -> Option<Instant> {
        let schedule = self.is_router() && self.schedule.left > 0;
        let schedule = schedule.then(|| self.schedule.due.unwrap_or(Instant::ZERO));
        let first = earliest(schedule, self.offers.deadline());
        let first = self.registrations().fold(first, |it, next| earliest(it, Some(next.until)));
        self.asked.iter().flatten().fold(first, |it, next| earliest(it, Some(next.due)))
    }

    fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        self.offers.handle_deadline(now);
        expire(self.registrations.as_mut_slice(), now);
        for index in 0..ASKED {
            let Some(place) = self.asked.get_mut(index) else { continue };
            let Some(asked) = place.as_mut().filter(|asked| asked.due <= now) else { continue };
            if asked.tries < MAX_UNICAST_SOLICIT {
                asked.tries = asked.tries.saturating_add(1);
                (asked.asks, asked.due) = (true, now + RETRANS);
            } else if let Some(asked) = place.take() {
                // RFC 6775, 8.2.6.
                bump(&mut self.stats.unconfirmed);
                self.confirmed(now, &asked, status::SUCCESS);
            }
        }
        if !self.is_router() || self.schedule.left == 0 {
            return;
        }
        match self.schedule.due {
            None => {
                let soon = now + random.up_to(DELAY);
                let earliest = self.schedule.last.map_or(soon, |last| (last + BETWEEN).max(soon));
                self.schedule.due = Some(earliest);
            }
            Some(due) if due <= now => {
                let next = now + BETWEEN + random.up_to(DELAY);
                (self.schedule.due, self.schedule.last) = (Some(next), Some(now));
                self.schedule.left = self.schedule.left.saturating_sub(1);
                self.schedule.next = Some(0);
            }
            Some(_) => {}
        }
    }
}
