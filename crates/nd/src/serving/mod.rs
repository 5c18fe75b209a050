//! What a router does for the hosts near it (RFC 4861, 6.2; RFC 6775, 6 to 8; RFC 8505): it says
//! what it offers, and keeps whose address is where.
//!
//! A host's addresses are registered at once, or, if another router is the border router, when that
//! has said that nobody else in the network has them, in duplicate address messages over several
//! hops. Registrations are never dropped for others: what there is no room for is refused. Who only
//! asks takes one of four places, and everybody asks again.

mod offer;
mod registry;

pub use offer::{Border, NameServer, Offer, Offered};
pub use registry::Registered;

use crate::derive::link_local;
use crate::message::{ALL_NODES, Message};
use crate::neighbour::MAX_UNICAST_SOLICIT;
use crate::role::{Claim, Role, Routed};
use crate::stats::{Discard, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::nd::{Advertisement, Builder, ContextInformation, Duplicate, Kind, NdOption};
use kinglet_wire::nd::{Options, PrefixInformation, Registration, status};
use offer::{Offers, Written};
use registry::poll_routed;
use registry::{Entry, Finding, Site, expire, find, forget, forget_older, keep, look};

/// Answers that wait to be sent; registrations of which the border router is asked.
const ANSWERS: usize = 4;
const ASKED: usize = 4;
/// MULTIHOP_HOPLIMIT (RFC 6775, 9).
const MULTIHOP: u8 = 64;
/// RETRANS_TIMER (RFC 4861, 10): the border router is asked again.
const RETRANS: Duration = Duration::from_secs(1);
/// MAX_RTR_ADVERTISEMENTS (RFC 6775, 9): so often news are told to all.
const ADVERTISEMENTS: u8 = 3;
/// MIN_DELAY_BETWEEN_RAS and MAX_RA_DELAY_TIME (RFC 6775, 9).
const BETWEEN: Duration = Duration::from_secs(10);
const DELAY: Duration = Duration::from_secs(2);

/// How much a router keeps.
pub trait RouterSizes {
    /// Addresses of neighbours, and in a border router those of all others that ask it.
    type Registrations: Array<Option<Registered>>;
    /// Prefixes that are advertised.
    type Prefixes: Array<Option<Offered<PrefixInformation>>>;
    /// Contexts.
    type Contexts: Array<Option<Offered<ContextInformation>>>;
    /// Name servers.
    type Servers: Array<Option<Offered<NameServer>>>;
}

/// There is no place for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

kinglet_mem::counters! {
    /// What passed at a router; counters stop at their maximum.
    pub struct RouterStats {
        /// What passed at a router; counters stop at their maximum.
        /// Advertisements sent, to one or to all.
        advertised,
        /// Registrations that were taken, the first time and again.
        registered,
    }
    reasons {
        /// Registrations of addresses that are another node's.
        duplicates,
        /// Registrations for which there was no room, here or at the border router.
        full,
        /// Registrations refused for what they say: their source, their prefix, one that is later.
        refused,
        /// Registrations over which the border router did not answer, and which were taken.
        unconfirmed,
    }
}

/// An answer that is owed.
#[derive(Clone, Copy, Debug)]
enum Answer {
    /// An advertisement, from its `next` option on.
    Router { dst: Ipv6Addr, via: Address, next: usize },
    /// What has become of a registration.
    Registration { claim: Claim, status: u8 },
    /// What the border router has to say of one.
    Confirmation { dst: Ipv6Addr, told: Duplicate },
}

impl Answer {
    /// Whether it takes the place of the other.
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

/// A registration of which the border router is asked.
#[derive(Clone, Copy, Debug)]
struct Asked {
    claim: Claim,
    /// Its host waits for the answer: the address is not registered here yet.
    new: bool,
    /// A request is to be sent.
    asks: bool,
    tries: u8,
    due: Instant,
}

/// When advertisements go to all.
#[derive(Clone, Copy, Debug)]
struct News {
    /// So often more.
    left: u8,
    /// The next time; `None` before the first look at the clock.
    due: Option<Instant>,
    last: Option<Instant>,
    /// With which option the one begins that is being sent.
    next: Option<usize>,
}

/// What a router does: [`Role`] of a node that serves others.
pub struct Serving<S: RouterSizes> {
    offers: Offers<S>,
    registrations: S::Registrations,
    asked: [Option<Asked>; ASKED],
    answers: [Option<Answer>; ANSWERS],
    news: News,
    stats: RouterStats,
}

impl<S: RouterSizes> Serving<S> {
    /// One that offers this, and no prefix yet.
    pub const fn new(offer: Offer) -> Self {
        Serving {
            offers: Offers::new(offer),
            registrations: S::Registrations::EMPTY,
            asked: [None; ASKED],
            answers: [None; ANSWERS],
            news: News { left: ADVERTISEMENTS, due: None, last: None, next: None },
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

    /// What it was told.
    pub const fn offer(&self) -> &Offer {
        self.offers.offer()
    }

    /// What passed.
    pub const fn stats(&self) -> &RouterStats {
        &self.stats
    }

    /// Who is registered.
    pub fn registrations(&self) -> impl Iterator<Item = &Registered> {
        self.registrations.as_slice().iter().flatten().filter(|known| !known.is_over())
    }

    /// Offers a prefix, or says something else of it; all who listen are told, and a lifetime of 0
    /// takes it back. The on-link flag is never set (RFC 6775, 6.1).
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

    /// Offers a context, or says something else of it.
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

    /// Offers a name server.
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
        // Before the first advertisement nobody knows a version.
        if self.news.due.is_some() {
            self.offers.raise_version();
        }
        (self.news.left, self.news.due) = (ADVERTISEMENTS, None);
        Ok(())
    }

    /// Owes an answer. If there are too many, the oldest is not sent: who asked asks again.
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

    /// What is wrong with a registration, whatever else is known of the address.
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

    /// Whether there is a place for one more address, and for one more of this neighbour.
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

    /// Asks the border router, or again with what was last heard; whether there is a place.
    //= rfc6775#8.2-1
    fn ask(&mut self, now: Instant, claim: Claim, new: bool) -> bool {
        let address = claim.address();
        let same = |it: &Option<Asked>| it.is_some_and(|it| it.claim.address() == address);
        let index = self.asked.iter().position(same);
        let index = index.or_else(|| self.asked.iter().position(Option::is_none));
        let Some(place) = index.and_then(|index| self.asked.get_mut(index)) else { return false };
        if let Some(asked) = place {
            // The host asks again. Of two that want the same address the first is heard out (RFC
            // 6775, 8.2).
            if asked.claim.asked.rovr != claim.asked.rovr {
                return false;
            }
            asked.claim = claim;
            return true;
        }
        *place = Some(Asked { claim, new, asks: true, tries: 1, due: now + RETRANS });
        true
    }

    /// The border router has said what it thinks of a registration, or nothing three times.
    fn confirmed(&mut self, now: Instant, asked: &Asked, status: u8) {
        let Asked { claim, new, .. } = *asked;
        let entry = Entry::of(claim.address(), &claim.asked);
        if status != status::SUCCESS {
            // The host was answered before, and learns that it was wrong; that there is no room
            // changes nothing of what is registered here.
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

    /// A border router is asked for an address (RFC 6775, 8.2.4).
    //= rfc6775#8.2.3-2
    fn compare(&mut self, now: Instant, from: Ipv6Addr, told: &Duplicate) -> u8 {
        let entry = Entry::told(told);
        let finding = look(self.registrations.as_slice(), &entry);
        if finding == Finding::Same {
            self.tell_former(Site::Behind(from), told);
        }
        let table = self.registrations.as_mut_slice();
        match finding {
            Finding::Another => status::DUPLICATE,
            Finding::Older => status::MOVED,
            Finding::New | Finding::Same => {
                // It is at that other router, wherever it was before.
                let kept = keep(table, now, &entry, Site::Behind(from));
                if kept { status::SUCCESS } else { status::SATURATED }
            }
        }
    }

    /// An address is registered elsewhere now: the router where it was need not keep it (RFC 8505,
    /// 5.7).
    fn tell_former(&mut self, site: Site, told: &Duplicate) {
        let known = find(self.registrations.as_slice(), told.address);
        let former = known.map(|known| known.site).filter(|former| *former != site);
        if let Some(Site::Behind(dst)) = former {
            let told = Duplicate { confirmation: true, status: status::MOVED, ..*told };
            self.answer(Answer::Confirmation { dst, told });
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
            Answer::Registration { claim, status } => tell(&claim, status, buf),
            Answer::Confirmation { dst, told } => {
                let len = Builder::new(buf, &Kind::Duplicate(told)).ok()?.len();
                Some(Message { src: None, dst, via: None, hop_limit: MULTIHOP, len })
            }
        }
    }

    /// Asks the border router (RFC 6775, 8.2.3).
    //= rfc6775#4.4-3 rfc6775#8.2.3-1 rfc8505#6.2-2 rfc8505#6.4-2
    fn request(&mut self, buf: &mut [u8]) -> Option<Message> {
        let dst = self.offers.remote_border()?;
        let asked = self.asked.iter_mut().flatten().find(|it| it.asks)?;
        asked.asks = false;
        let claim = &asked.claim;
        let Registration { tid, lifetime_min, rovr, .. } = claim.asked;
        let (address, confirmation) = (claim.address(), false);
        let told = Duplicate { confirmation, status: 0, tid, lifetime_min, rovr, address };
        let len = Builder::new(buf, &Kind::Duplicate(told)).ok()?.len();
        Some(Message { src: None, dst, via: None, hop_limit: MULTIHOP, len })
    }

    /// Tells all (RFC 6775, 6.4 and 8.1.5).
    fn tell_all(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        let next = self.news.next?;
        let Written { len, next } = self.offers.write(now, link, next, buf)?;
        self.news.next = next;
        bump(&mut self.stats.advertised);
        Some(Message::near(ALL_NODES, Address::BROADCAST, len))
    }
}

/// The answer to a registration (RFC 6775, 6.5.2 and 6.5.3): a copy of what was asked, with a
/// status.
//= rfc8505#6-4 rfc8505#6.2-3
fn tell(claim: &Claim, status: u8, buf: &mut [u8]) -> Option<Message> {
    let Claim { src, link, target, asked, .. } = *claim;
    // An address that is another's, under a link address that may be, is nobody to answer.
    let doubtful = status != status::SUCCESS && !is_link_local(src);
    let (dst, via) = if doubtful {
        let via = Address::Extended(asked.rovr);
        (link_local(via)?, via)
    } else {
        (src, link)
    };
    let (router, solicited, overriding) = (true, true, false);
    let told = Advertisement { router, solicited, overriding, target };
    let mut out = Builder::new(buf, &Kind::NeighbourAdvertisement(told)).ok()?;
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
        // Who has no address yet hears what all hear.
        let soon = self.news.last.map_or(now, |last| (last + BETWEEN).max(now));
        self.news.left = self.news.left.max(1);
        self.news.due = Some(self.news.due.map_or(soon, |due| due.min(soon)));
    }

    fn handle_advertisement(&mut self, now: Instant, options: Options<'_>) -> bool {
        let before = self.offers.count(now);
        if self.offers.learn(now, options) {
            (self.news.left, self.news.due) = (ADVERTISEMENTS, None);
        }
        self.offers.count(now) < before
    }

    //= rfc8505#5.6-6 rfc8505#5.7-1 rfc8505#5.7-3 rfc8505#6.2-1
    fn handle_registration(
        &mut self,
        now: Instant,
        claim: &Claim,
        tells: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard> {
        let Claim { own, asked, link, .. } = *claim;
        // In the form of RFC 6775 the target is the router, and the source what is registered.
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
        // What everybody can tell from the address needs no place (RFC 6775, 5.2).
        if is_link_local(address) && tells(address, link) {
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
            // The border router is told of every registration (RFC 8505, 5.7).
            _ if remote && !self.ask(now, *claim, new) => return Err(Discard::NotConcerned),
            // The answer waits for the border router's.
            Finding::New if remote => return Ok(()),
            Finding::New | Finding::Same => {
                let site = Site::Here(link);
                self.tell_former(site, &entry.moved());
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
        told: &Duplicate,
    ) -> Result<(), Discard> {
        if from.is_unspecified() || from.is_multicast() || told.address.is_multicast() {
            return Err(Discard::Invalid);
        }
        if !told.confirmation {
            if !matches!(self.offers.offer().border, Border::This(_)) {
                return Err(Discard::NotConcerned);
            }
            let status = self.compare(now, from, told);
            let told = Duplicate { confirmation: true, status, ..*told };
            self.answer(Answer::Confirmation { dst: from, told });
            return Ok(());
        }
        if self.offers.remote_border() != Some(from) {
            return Err(Discard::NotConcerned);
        }
        let is =
            |it: &Asked| it.claim.address() == told.address && it.claim.asked.rovr == told.rovr;
        let place = self.asked.iter_mut().find(|place| place.as_ref().is_some_and(is));
        if let Some(asked) = place.and_then(Option::take) {
            self.confirmed(now, &asked, told.status);
            return Ok(());
        }
        let entry = Entry::told(told);
        let moved =
            told.status == status::MOVED && forget_older(self.registrations.as_mut_slice(), &entry);
        if moved { Ok(()) } else { Err(Discard::NotConcerned) }
    }

    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        if let Some(answer) = self.answers.first_mut().and_then(Option::take) {
            self.answers.rotate_left(1);
            return self.write(now, link, answer, buf);
        }
        self.request(buf).or_else(|| self.tell_all(now, link, buf))
    }

    fn poll_routed(&mut self, now: Instant) -> Option<Routed> {
        poll_routed(self.registrations.as_mut_slice(), now)
    }

    fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.stats.reasons()
    }

    fn registered(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.registrations().map(Registered::address)
    }

    fn deadline(&self) -> Option<Instant> {
        let news = self.is_router() && self.news.left > 0;
        let news = news.then(|| self.news.due.unwrap_or(Instant::ZERO));
        let first = earliest(news, self.offers.deadline());
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
        if !self.is_router() || self.news.left == 0 {
            return;
        }
        match self.news.due {
            None => {
                let soon = now + random.up_to(DELAY);
                let earliest = self.news.last.map_or(soon, |last| (last + BETWEEN).max(soon));
                self.news.due = Some(earliest);
            }
            Some(due) if due <= now => {
                let next = now + BETWEEN + random.up_to(DELAY);
                (self.news.due, self.news.last) = (Some(next), Some(now));
                self.news.left = self.news.left.saturating_sub(1);
                self.news.next = Some(0);
            }
            Some(_) => {}
        }
    }
}
