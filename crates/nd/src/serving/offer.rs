//! Contents of a router's advertisements (RFC 4861, 6.2; RFC 6775, 6.3, 7 and 8.1): configured, or
//! learned from the border router and distributed for their lifetime.

use super::RouterSizes;
use crate::message::MAX_LEN;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::nd::{BorderRouter, Builder, Capabilities, ContextInformation, Kind, NdOption};
use kinglet_wire::nd::{Options, PrefixInformation, RouterAdvertisement, Servers};

/// Source of the prefixes and contexts that a router advertises (RFC 6775, 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// Its own: it is the 6LBR, at this address, and keeps the table of all addresses in the
    /// network. The version should be higher than before the last change of the offer, also after a
    /// restart (RFC 6775, 7); if it is not, the node takes a higher one when it receives the
    /// advertisement of a router that has the former offer.
    This(BorderRouter),
    /// This 6LBR and the offer are configured.
    Other(BorderRouter),
    /// It becomes a router when an advertisement names a 6LBR, and then advertises the same.
    Learnt,
    /// There is none: addresses are compared only with those that are registered here.
    Absent,
}

/// Advertised parameters of a router, and limits of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Hop limit, lifetime, reachable and retransmission time; 0: unspecified.
    pub router: RouterAdvertisement,
    /// MTU in octets, if advertised: 1280 in a LoWPAN (RFC 4944, 4).
    pub mtu: Option<u32>,
    /// The border router.
    pub border: Border,
    /// Maximum number of addresses registered from one link address, at least 3 (RFC 8505, 7).
    pub per_node: u8,
    /// True if its routing advertises addresses that request it (the P flag, RFC 9010, 9.2.2).
    pub registrar: bool,
}

impl Offer {
    /// Returns the defaults: hop limit 64, a default router for half an hour (AdvDefaultLifetime,
    /// RFC 4861, 6.2.1), no other times, no MTU, four addresses a node, not advertised in routing.
    //= rfc8505#7-1
    pub const fn new(border: Border) -> Self {
        let router = RouterAdvertisement {
            hop_limit: 64,
            managed: false,
            other: false,
            lifetime_s: 1800,
            reachable_ms: 0,
            retrans_ms: 0,
        };
        Offer { router, mtu: None, border, per_node: 4, registrar: false }
    }
}

/// A name server to advertise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Its address.
    pub address: Ipv6Addr,
    /// Lifetime in seconds; all ones: infinite.
    pub lifetime_s: u32,
}

/// An advertised item.
#[derive(Clone, Copy, Debug)]
pub struct Offered<T> {
    it: T,
    /// Time at which it was learned, so that its lifetime decreases (RFC 6775, 8.1.4); `None`: the
    /// lifetime is the same in every advertisement.
    learnt: Option<Instant>,
}

/// An item with a lifetime.
trait Timed: Copy {
    fn same(&self, other: &Self) -> bool;
    /// Returns the item with its remaining lifetime, `None` if it is over.
    fn after(self, passed: Duration) -> Option<Self>;
    /// Returns the lifetime, in units of its own.
    fn life(&self) -> u32;
}

/// Returns the rest of a lifetime in seconds.
fn rest(seconds: u32, passed: Duration) -> u32 {
    let passed = u32::try_from(passed.as_millis() / 1_000).unwrap_or(u32::MAX);
    if seconds == u32::MAX { seconds } else { seconds.saturating_sub(passed) }
}

impl Timed for PrefixInformation {
    fn same(&self, other: &Self) -> bool {
        self.len == other.len && same_prefix(self.prefix, other.prefix, self.len)
    }

    fn after(self, passed: Duration) -> Option<Self> {
        let (valid_s, preferred_s) = (rest(self.valid_s, passed), rest(self.preferred_s, passed));
        (valid_s > 0).then_some(PrefixInformation { valid_s, preferred_s, ..self })
    }

    fn life(&self) -> u32 {
        self.valid_s
    }
}

impl Timed for ContextInformation {
    fn same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn after(self, passed: Duration) -> Option<Self> {
        let left = rest(u32::from(self.valid_min).saturating_mul(60), passed).div_ceil(60);
        let valid_min = u16::try_from(left).unwrap_or(u16::MAX);
        (valid_min > 0).then_some(ContextInformation { valid_min, ..self })
    }

    fn life(&self) -> u32 {
        u32::from(self.valid_min)
    }
}

impl Timed for NameServer {
    fn same(&self, other: &Self) -> bool {
        self.address == other.address
    }

    fn after(self, passed: Duration) -> Option<Self> {
        let lifetime_s = rest(self.lifetime_s, passed);
        (lifetime_s > 0).then_some(NameServer { lifetime_s, ..self })
    }

    fn life(&self) -> u32 {
        self.lifetime_s
    }
}

/// Returns the item as it is advertised now; `None`: no longer. A configured item is also
/// advertised with a lifetime of zero, which withdraws it.
fn said<T: Timed>(place: Option<&Offered<T>>, now: Instant) -> Option<T> {
    let Offered { it, learnt } = *place?;
    match learnt {
        None => Some(it),
        Some(learnt) => it.after(now - learnt),
    }
}

fn count<T: Timed>(table: &[Option<Offered<T>>], now: Instant) -> usize {
    table.iter().filter(|place| said(place.as_ref(), now).is_some()).count()
}

/// Stores an item in its entry, a free one, or an expired one. Returns whether there is one. A
/// learned item that is received again keeps the longer of both lifetimes, as other routers may
/// distribute old information.
fn put<T: Timed>(
    table: &mut [Option<Offered<T>>],
    now: Instant,
    it: T,
    learnt: Option<Instant>,
) -> bool {
    let same = |place: &Option<Offered<T>>| place.as_ref().is_some_and(|had| had.it.same(&it));
    let over = |place: &Option<Offered<T>>| said(place.as_ref(), now).is_none();
    let index = table.iter().position(same).or_else(|| table.iter().position(over));
    let Some(place) = index.and_then(|index| table.get_mut(index)) else { return false };
    let had = said(place.as_ref().filter(|had| had.it.same(&it)), now);
    if learnt.is_none() || had.is_none_or(|had| had.life() <= it.life()) {
        *place = Some(Offered { it, learnt });
    }
    true
}

/// The 6LBR, if it is known.
#[derive(Clone, Copy, Debug)]
struct Known {
    it: BorderRouter,
    /// Time at which the information about it expires; `None`: it is configured.
    until: Option<Instant>,
}

/// A part of an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Length in octets.
    pub(super) len: usize,
    /// First option of the next part, if this was not the last (RFC 4861, 6.2.3).
    pub(super) next: Option<usize>,
}

pub(super) struct Offers<S: RouterSizes> {
    offer: Offer,
    border: Option<Known>,
    prefixes: S::Prefixes,
    contexts: S::Contexts,
    servers: S::Servers,
}

impl<S: RouterSizes> Offers<S> {
    pub(super) const fn new(offer: Offer) -> Self {
        let border = match offer.border {
            Border::This(it) | Border::Other(it) => Some(Known { it, until: None }),
            Border::Learnt | Border::Absent => None,
        };
        Offers {
            offer,
            border,
            prefixes: S::Prefixes::EMPTY,
            contexts: S::Contexts::EMPTY,
            servers: S::Servers::EMPTY,
        }
    }

    pub(super) const fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Returns whether there is something to advertise.
    pub(super) fn is_ready(&self) -> bool {
        self.border.is_some() || self.offer.border == Border::Absent
    }

    /// Returns the border router, if it is another node.
    pub(super) fn remote_border(&self) -> Option<Ipv6Addr> {
        let known = self.border.filter(|_| !matches!(self.offer.border, Border::This(_)));
        known.map(|known| known.it.address)
    }

    pub(super) fn put_prefix(&mut self, now: Instant, prefix: PrefixInformation) -> bool {
        put(self.prefixes.as_mut_slice(), now, prefix, None)
    }

    pub(super) fn put_context(&mut self, now: Instant, context: ContextInformation) -> bool {
        put(self.contexts.as_mut_slice(), now, context, None)
    }

    pub(super) fn put_server(&mut self, now: Instant, server: NameServer) -> bool {
        put(self.servers.as_mut_slice(), now, server, None)
    }

    /// Raises the version after a change of the offer (RFC 6775, 7).
    pub(super) fn raise_version(&mut self) {
        if let (Some(known), Border::This(_)) = (&mut self.border, self.offer.border) {
            known.it.version = known.it.version.wrapping_add(1);
        }
    }

    /// Returns whether this address may be registered: a link-local one, or one with an advertised
    /// prefix, if there are any prefixes.
    pub(super) fn is_correct(&self, now: Instant, address: Ipv6Addr) -> bool {
        let mut prefixes = self.prefixes.as_slice().iter().filter_map(|it| said(it.as_ref(), now));
        let has = |it: PrefixInformation| same_prefix(it.prefix, address, it.len);
        let none = prefixes.clone().next().is_none();
        is_link_local(address) || none || prefixes.any(has)
    }

    /// Processes another router's advertisement (RFC 6775, 8.1.3). Returns whether it has a newer
    /// version. The router stays with one border router until that one's information expires.
    //= rfc6775#8.1.3-2
    pub(super) fn learn(&mut self, now: Instant, options: Options<'_>) -> bool {
        let mut all = options;
        let border = all.find_map(|option| match option {
            NdOption::BorderRouter(it) => Some(it),
            _ => None,
        });
        let Some(border) = border.filter(|it| !it.address.is_multicast()) else { return false };
        match self.offer.border {
            Border::Learnt => {}
            Border::This(_) => return self.outdo(border),
            Border::Other(_) | Border::Absent => return false,
        }
        let newer = match self.border.map(|known| known.it) {
            Some(known) if known.address != border.address || border.version < known.version => {
                return false;
            }
            Some(known) => border.version > known.version,
            None => true,
        };
        if newer {
            // Items that the new version does not contain are withdrawn.
            self.prefixes = S::Prefixes::EMPTY;
            self.contexts = S::Contexts::EMPTY;
            self.servers = S::Servers::EMPTY;
        }
        // RFC 6775, 4.3: 0 stands for 10,000 minutes.
        let minutes = if border.valid_min == 0 { 10_000 } else { u32::from(border.valid_min) };
        let until = Some(now + Duration::from_secs(u64::from(minutes.saturating_mul(60))));
        self.border = Some(Known { it: border, until });
        for option in options {
            // Items that do not fit are not distributed.
            match option {
                NdOption::Prefix(it) => put(self.prefixes.as_mut_slice(), now, it, Some(now)),
                NdOption::Context(it) => put(self.contexts.as_mut_slice(), now, it, Some(now)),
                NdOption::RecursiveDns { lifetime_s, servers } => servers.iter().all(|address| {
                    let server = NameServer { address, lifetime_s };
                    put(self.servers.as_mut_slice(), now, server, Some(now))
                }),
                _ => true,
            };
        }
        newer
    }

    /// Handles what another router advertises of this 6LBR. A 6LBR that restarted, and kept no
    /// version, takes a newer one than its former life had (RFC 6775, 7); otherwise routers would
    /// ignore its offer until the former one expires. Returns whether it did.
    fn outdo(&mut self, other: BorderRouter) -> bool {
        let Some(known) = &mut self.border else { return false };
        let newer = other.version.checked_add(1).filter(|_| other.version > known.it.version);
        match newer.filter(|_| other.address == known.it.address) {
            Some(version) => known.it.version = version,
            None => return false,
        }
        true
    }

    /// Returns the number of prefixes, contexts and name servers.
    pub(super) fn count(&self, now: Instant) -> usize {
        count(self.prefixes.as_slice(), now)
            .saturating_add(count(self.contexts.as_slice(), now))
            .saturating_add(count(self.servers.as_slice(), now))
    }

    /// Returns the time at which the information about the border router expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.border.and_then(|known| known.until)
    }

    /// Removes an expired border router (RFC 6775, 6.3), with all that it advertised.
    //= rfc6775#6.3-1
    pub(super) fn handle_deadline(&mut self, now: Instant) {
        if self.deadline().is_some_and(|until| until <= now) {
            *self = Self::new(self.offer);
        }
    }

    /// Writes an advertisement, or its continuation from the option `from` on.
    //= rfc6775#4.3-1 rfc6775#5.4-1 rfc6775#6.3-3 rfc6775#8.1.1-1 rfc6775#8.1.5-1 rfc6775#8.1.5-2
    //= rfc6775#8.1.5-3 rfc8505#6.1-3
    pub(super) fn write(
        &self,
        now: Instant,
        link: Address,
        from: usize,
        buf: &mut [u8],
    ) -> Option<Written> {
        let kind = Kind::RouterAdvertisement(self.offer.router);
        let mut out = Builder::new(buf, &kind).ok()?;
        out.option(&NdOption::SourceLinkAddress(link)).ok()?;
        if let Some(known) = self.border {
            out.option(&NdOption::BorderRouter(known.it)).ok()?;
        }
        let (prefixes, contexts) = (S::Prefixes::LEN, S::Contexts::LEN);
        let total = prefixes.saturating_add(contexts).saturating_add(S::Servers::LEN);
        // Capabilities and MTU go first.
        for index in from..total.saturating_add(2) {
            let mut server = [0; 16];
            let Some(option) = self.option(now, index, &mut server) else { continue };
            if out.option(&option).is_err() {
                return Some(Written { len: out.len(), next: Some(index) });
            }
        }
        Some(Written { len: out.len(), next: None })
    }

    //= rfc6775#6.1-1 rfc8505#4.3-1 rfc8505#6.1-2
    fn option<'a>(
        &self,
        now: Instant,
        index: usize,
        server: &'a mut [u8; 16],
    ) -> Option<NdOption<'a>> {
        match index {
            0 => {
                let border = matches!(self.offer.border, Border::This(_));
                let registrar = if self.offer.registrar { Capabilities::REGISTRAR } else { 0 };
                let bits = Capabilities::EXTENDED | Capabilities::ROUTER | registrar;
                let more = if border {
                    Capabilities::BORDER_ROUTER | Capabilities::EXTENDED_DUPLICATE
                } else {
                    0
                };
                return Some(NdOption::Capabilities(Capabilities(bits | more)));
            }
            1 => return self.offer.mtu.map(NdOption::Mtu),
            _ => {}
        }
        let index = index.checked_sub(2)?;
        if let Some(place) = self.prefixes.as_slice().get(index) {
            let prefix = said(place.as_ref(), now)?;
            // RFC 6775, 6.1.
            return Some(NdOption::Prefix(PrefixInformation { on_link: false, ..prefix }));
        }
        let index = index.checked_sub(S::Prefixes::LEN)?;
        if let Some(place) = self.contexts.as_slice().get(index) {
            return Some(NdOption::Context(said(place.as_ref(), now)?));
        }
        let index = index.checked_sub(S::Contexts::LEN)?;
        let NameServer { address, lifetime_s } =
            said(self.servers.as_slice().get(index)?.as_ref(), now)?;
        *server = address.octets();
        Some(NdOption::RecursiveDns { lifetime_s, servers: Servers::new(server) })
    }
}

/// The fixed part of an advertisement and the longest option fit into a message.
const _: () = assert!(16 + 16 + 24 + 32 <= MAX_LEN);
