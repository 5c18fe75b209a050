//! RPL as a node's routing: its messages are ICMPv6, its neighbours link-local addresses.
//!
//! [`Rpl::needs`] decides the headers that a packet needs; this module writes them. A source route
//! that does not fit into [`MAX_ADDED`] octets counts as no route.

use crate as rpl;
use crate::config::{Mode, Role, RplConfig, Sizes};
use crate::datapath::{Needs, Onward};
use crate::engine::Rpl;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use core::num::NonZeroU32;
use kinglet_routing::{Added, AddedHeaders, Change, Each, EachRelation, Icmpv6In, Icmpv6Out};
use kinglet_routing::{Identity, Learnt, MAX_ADDED, MAX_ICMPV6, NextHop, Origin, Refusal};
use kinglet_routing::{RegisteredHost, Routing, link_local};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local, protocol, same_prefix};
use kinglet_wire::rpl::{ALL_NODES, ICMPV6_TYPE, PacketInformation, SourceRoute};
use kinglet_wire::sixlowpan::routed::Dodag;
use kinglet_wire::sixlowpan::{derived_iid, link_address_of};

/// Octets of an ICMPv6 message before what RPL writes: type, code, checksum.
const HEAD: usize = 4;
/// Hop limit of messages. Messages to a neighbour travel one hop.
const HOP_LIMIT: u8 = 255;
/// Bits of an address that all nodes share.
const PREFIX_LEN: u8 = 64;

/// Octets of the option with its header.
const OPTION_LEN: usize = 8;
/// Hops of the longest source route, if the addresses share as many octets as those of one prefix.
const MAX_HOPS: usize = 24;
/// Octets in a frame of an outer header with an option: both addresses by context and 16 bits, and
/// the encoding of the next header.
const OUTER_LEN: usize = 16;
/// Octets in a frame of a source route's header, and of each hop but the first.
const ROUTE_LEN: u16 = 8;
const HOP_LEN: u16 = 2;
/// The same as 6LoWPAN Routing Headers (RFC 8138): Page 1 and an option with a rank of two octets,
/// an outer header whose source is the root, and a source route, which then contains the first hop
/// too.
const ROUTED_OPTION_LEN: usize = 5;
const ROUTED_OUTER_LEN: usize = 3;
const ROUTED_ROUTE_LEN: u16 = 2;

/// Sleepy neighbours that have this node as their parent.
const CHILDREN: usize = 16;
/// Time without a data request after which a child is removed.
const FORGOTTEN: Duration = Duration::from_secs(900);

/// A sleepy neighbour.
#[derive(Clone, Copy)]
struct Sleeping {
    short: u16,
    asked: Instant,
    state: State,
    /// [`Rpl::epoch`] of the last DIO for it, as it receives no multicast.
    informed: Option<NonZeroU32>,
    /// No frame to it was acknowledged since that DIO.
    unconfirmed: bool,
}

/// The node's knowledge of a sleepy neighbour.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not yet reported.
    New,
    /// Reported.
    Known,
    /// Reported, and its loss is still to be reported.
    Gone,
}

/// RPL among the layers of a node.
pub struct Rpled<S: Sizes> {
    rpl: Rpl<S>,
    /// The sender of the frame being processed.
    from: Address,
    children: [Option<Sleeping>; CHILDREN],
    address: Made,
}

/// The address that the DODAG's prefix gives this node.
#[derive(Clone, Copy)]
enum Made {
    /// None, or one that it had anyway.
    No,
    /// The node has this address from RPL.
    Yes(Ipv6Addr),
    /// The address is still to be reported to the node.
    New(Ipv6Addr),
    /// The loss of the first address, and then the second one, are still to be reported to the
    /// node.
    Over(Ipv6Addr, Option<Ipv6Addr>),
}

/// A source route.
struct Path {
    hops: [Ipv6Addr; MAX_HOPS],
    len: usize,
}

impl Path {
    fn first_and_rest(&self) -> Option<(Ipv6Addr, &[Ipv6Addr])> {
        let (first, rest) = self.hops.get(..self.len)?.split_first()?;
        Some((*first, rest))
    }
}

impl<S: Sizes> Rpled<S> {
    /// Creates RPL for a node. Its identifier is that of the node's link address, and its seed is
    /// the node's; those in `rpl` are ignored.
    pub const fn new(node: Identity, rpl: RplConfig) -> Self {
        let identifier = identifier_of(node.link);
        // A sleepy node cannot wait for an acknowledgement of its DAOs.
        let acknowledged = rpl.acknowledged && !node.sleeps;
        let rpl = RplConfig { identifier, acknowledged, seed: node.seed, ..rpl };
        Rpled::of(Rpl::new(rpl))
    }

    /// Handles a received packet with this option.
    fn note_source(&mut self, now: Instant, packet: &Header, information: &PacketInformation) {
        if !information.down {
            self.rpl.note_source(now, link_local(self.from), packet.src);
        }
    }

    const fn of(rpl: Rpl<S>) -> Self {
        Rpled { rpl, from: Address::None, children: [None; CHILDREN], address: Made::No }
    }

    /// Returns RPL, for inspection.
    pub const fn rpl(&self) -> &Rpl<S> {
        &self.rpl
    }

    const fn identifier(&self) -> u64 {
        self.rpl.config().identifier
    }

    fn is_leaf(&self) -> bool {
        self.rpl.config().role == Role::Leaf
    }

    /// Returns the source route to `destination`, if the root determines the whole route.
    fn path(&self, destination: Ipv6Addr) -> Option<Path> {
        let mut hops = [Ipv6Addr::UNSPECIFIED; MAX_HOPS];
        let len = self.rpl.source_route(destination, &mut hops)?;
        let path = Path { hops, len };
        let (first, rest) = path.first_and_rest()?;
        let fits = SourceRoute::buffer_len(first, rest) <= MAX_ADDED - OPTION_LEN;
        (rest.is_empty() || fits).then_some(path)
    }

    /// Follows a change of the prefix from which the address is formed.
    fn follow_prefix(&mut self) {
        self.address = match (self.address, self.rpl.address()) {
            (Made::Yes(old), new) if new != Some(old) => Made::Over(old, new),
            (Made::Over(old, _), new) => Made::Over(old, new),
            (Made::Yes(old), _) => Made::Yes(old),
            (Made::No | Made::New(_), Some(new)) => Made::New(new),
            (Made::No | Made::New(_), None) => Made::No,
        };
    }

    /// Returns a change of this node's address or its children.
    fn poll_own_change(&mut self) -> Option<Change> {
        match self.address {
            Made::New(address) => {
                self.address = Made::No;
                return Some(Change::Address(address));
            }
            Made::Over(address, next) => {
                self.address = next.map_or(Made::No, Made::New);
                return Some(Change::NoAddress(address));
            }
            Made::No | Made::Yes(_) => {}
        }
        for place in &mut self.children {
            let Some(child) = place else { continue };
            let short = child.short;
            match child.state {
                State::Known => {}
                State::New => {
                    child.state = State::Known;
                    return Some(Change::Child(short));
                }
                State::Gone => {
                    *place = None;
                    return Some(Change::NoChild(short));
                }
            }
        }
        None
    }

    /// Returns whether a sleepy neighbour has routes through it, which its DAOs have announced.
    fn serves(&self, from: Address) -> bool {
        let via = link_local(from);
        let mut children = self.children.iter().flatten();
        children.any(|child| from == Address::Short(child.short))
            && self.rpl.routes().any(|route| route.via == via)
    }

    /// Removes a sleepy neighbour that has withdrawn its last route: it has another parent, and
    /// no data request will fetch the packets that wait here.
    fn forget(&mut self, from: Address) {
        let mut children = self.children.iter_mut().flatten();
        if let Some(child) = children.find(|child| from == Address::Short(child.short)) {
            child.state = State::Gone;
        }
    }

    /// Writes the option, if packets have one, and the source route of a packet to `first` and
    /// beyond, before a header of type `next`. Returns the type of the first header written and the
    /// length of all in octets; `None` if there are none.
    fn write(
        &self,
        packet: &Header,
        first: Ipv6Addr,
        rest: &[Ipv6Addr],
        next: u8,
        out: &mut [u8; MAX_ADDED],
    ) -> Option<(u8, usize)> {
        let at = if self.rpl.config().option { OPTION_LEN } else { 0 };
        let (option, room) = out.split_at_mut_checked(at)?;
        let mut len = at;
        let mut kind = next;
        if !rest.is_empty() {
            len = len.saturating_add(SourceRoute::emit(next, first, rest, room).ok()?);
            kind = protocol::ROUTING;
        }
        if at > 0 {
            let information = self.rpl.originate(packet.dst);
            option.copy_from_slice(&information.hop_by_hop(kind, self.rpl.option_type()));
            kind = protocol::HOP_BY_HOP;
        }
        (len > 0).then_some((kind, len))
    }
}

/// Returns the reason for a packet that RPL refuses.
const fn refusal_of(refusal: rpl::Refusal) -> Refusal {
    match refusal {
        rpl::Refusal::NoRoute => Refusal::NoRoute,
        rpl::Refusal::OtherInstance | rpl::Refusal::Loop => Refusal::Data,
    }
}

/// Returns the interface identifier of a link address.
const fn identifier_of(link: Address) -> u64 {
    match derived_iid(link) {
        Some(identifier) => u64::from_be_bytes(identifier),
        None => 0,
    }
}

impl<S: Sizes> Routing for Rpled<S> {
    const NONE: Self = Rpled::of(Rpl::new(RplConfig::OFF));
    const ICMPV6: &'static [u8] = &[ICMPV6_TYPE];
    const GROUP: Option<Ipv6Addr> = Some(ALL_NODES);
    const WATCHES_QUEUE: bool = true;
    const GIVES_ADDRESSES: bool = true;
    type Additions = AddedHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn is_on(&self) -> bool {
        self.rpl.config().role != Role::Off
    }

    fn set_broadcast_time(&mut self, period: Duration, channels: u32) {
        self.rpl.set_broadcast_time(period * channels);
    }

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        if self.rpl.config().role == Role::Off {
            return None;
        }
        let via = match self.rpl.route(dst) {
            rpl::NextHop::Neighbour(next) => Some(NextHop::Link(link_address_of(next))),
            rpl::NextHop::SourceRoute => {
                let path = self.path(dst);
                let first = path.as_ref().and_then(Path::first_and_rest);
                first.map(|(first, _)| NextHop::Link(link_address_of(first)))
            }
            rpl::NextHop::Unreachable => None,
            // The root has other routes.
            rpl::NextHop::Outside => return None,
        };
        let own = self.rpl.address();
        let inside = own.is_some_and(|own| same_prefix(own, dst, PREFIX_LEN));
        Some(Learnt { prefix_len: if inside { PREFIX_LEN } else { 0 }, via })
    }

    fn add(&self, packet: &Header, origin: Origin, out: &mut [u8; MAX_ADDED]) -> Option<Added> {
        if !self.is_on() {
            return None;
        }
        let (begins, marked) = (origin == Origin::Here, origin == Origin::Marked);
        let (to, outer) = match self.rpl.needs(packet.dst, begins, marked) {
            Needs::Nothing => return None,
            Needs::Own => (packet.dst, None),
            Needs::Outer(to) if is_link_local(to) => {
                (to, Some(Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(self.identifier()))))
            }
            Needs::Outer(to) => (to, Some(self.rpl.address()?)),
        };
        let path = self.path(to);
        let next_hop = path.as_ref().and_then(Path::first_and_rest);
        let (dst, rest) = next_hop.unwrap_or((to, &[]));
        let next = if outer.is_some() { protocol::IPV6 } else { packet.next_header };
        let (kind, len) = self.write(packet, dst, rest, next, out)?;
        Some(Added { kind, len, dst, outer })
    }

    fn handle_arrival(&mut self, from: Address) {
        self.from = from;
    }

    fn reroute(&self, destination: Ipv6Addr, option: &mut [u8]) -> Option<NextHop> {
        let information = PacketInformation::read(option).ok()?;
        let Onward { next_hop, information } = self.rpl.reroute(destination, information)?;
        let rpl::NextHop::Neighbour(next) = next_hop else { return None };
        let _ = information.emit(option);
        Some(NextHop::Link(link_address_of(next)))
    }

    fn take(&mut self, now: Instant, packet: &Header, option: &[u8]) {
        if let Ok(information) = PacketInformation::read(option) {
            self.note_source(now, packet, &information);
        }
    }

    fn relay(
        &mut self,
        now: Instant,
        packet: &Header,
        option: &mut [u8],
    ) -> Result<Option<NextHop>, Refusal> {
        let information = PacketInformation::read(option).map_err(|_| Refusal::Data)?;
        self.note_source(now, packet, &information);
        let onward = self.rpl.relay(now, link_local(self.from), packet.dst, Some(information));
        let Onward { next_hop, information } = onward.map_err(refusal_of)?;
        // The option was read from the same octets, so it fits.
        let _ = information.emit(option);
        match next_hop {
            rpl::NextHop::Neighbour(next) => Ok(Some(NextHop::Link(link_address_of(next)))),
            rpl::NextHop::SourceRoute | rpl::NextHop::Outside => Ok(None),
            rpl::NextHop::Unreachable => Err(Refusal::NoRoute),
        }
    }

    fn follow(&mut self, now: Instant, next: Ipv6Addr, option: &mut [u8]) -> Result<(), Refusal> {
        if self.rpl.is_silent(now, next) {
            return Err(Refusal::NoRoute);
        }
        let Ok(information) = PacketInformation::read(option) else { return Ok(()) };
        let information = self.rpl.follow(now, information).map_err(refusal_of)?;
        // The option was read from the same octets, so it fits.
        let _ = information.emit(option);
        Ok(())
    }

    /// A neighbour's outer header has that neighbour's own link-local address as its source; all
    /// others have addresses of the DODAG (RFC 9008, 7 and 8).
    fn ends_tunnel(&self, src: Ipv6Addr) -> bool {
        if is_link_local(src) {
            return self.is_on() && link_address_of(src) == self.from;
        }
        self.rpl.address().is_some_and(|own| same_prefix(own, src, PREFIX_LEN))
    }

    fn is_unaware(&self, dst: Ipv6Addr) -> bool {
        self.rpl.is_unaware(dst)
    }

    fn handle_broken_route(&mut self, _: Instant, reporter: Ipv6Addr, next: Ipv6Addr) {
        self.rpl.handle_broken_route(reporter, next);
    }

    fn dodag(&self) -> Option<Dodag> {
        self.rpl.dodag()
    }

    fn added_len(&self, remote: Ipv6Addr) -> usize {
        let Some(own) = self.rpl.address() else { return 0 };
        let routed = self.rpl.dodag().is_some_and(|dodag| dodag.compresses);
        let (option, outer) = match (self.rpl.config().option, routed) {
            (true, true) => (ROUTED_OPTION_LEN, ROUTED_OPTION_LEN + ROUTED_OUTER_LEN),
            (true, false) => (OPTION_LEN, OUTER_LEN),
            (false, _) => (0, OUTER_LEN),
        };
        if self.rpl.mode() != Some(Mode::NonStoring) {
            let inside = same_prefix(own, remote, PREFIX_LEN);
            return if inside || option == 0 { option } else { outer };
        }
        // A hop adds at least 1 to the rank.
        let hops = self.rpl.dag_rank().saturating_sub(1).min(MAX_HOPS as u16);
        let route = match hops.checked_sub(1) {
            _ if routed && option > 0 => {
                ROUTED_ROUTE_LEN.saturating_add(hops.saturating_mul(HOP_LEN))
            }
            None | Some(0) => 0,
            Some(more) => ROUTE_LEN.saturating_add(more.saturating_mul(HOP_LEN)),
        };
        outer.saturating_add(route.into())
    }

    fn listens(&self) -> bool {
        self.rpl.listens()
    }

    fn handle_queue(&mut self, now: Instant, waiting: usize, room: usize) {
        self.rpl.handle_queue(now, waiting, room);
    }

    fn announces_sleep(&self) -> bool {
        false
    }

    fn handle_asked(&mut self, now: Instant, from: u16) {
        if self.is_leaf() || !self.is_on() {
            return;
        }
        let is_it = |place: &&mut Option<Sleeping>| place.is_some_and(|it| it.short == from);
        if let Some(Some(child)) = self.children.iter_mut().find(is_it) {
            child.asked = now;
            if child.state == State::Gone {
                child.state = State::Known;
            }
            let epoch = self.rpl.epoch();
            let is_new = epoch.is_some() && child.informed != epoch;
            if is_new && self.rpl.inform_neighbour(link_local(Address::Short(from))) {
                (child.informed, child.unconfirmed) = (epoch, true);
            }
        } else if let Some(place) = self.children.iter_mut().find(|place| place.is_none()) {
            let state = State::New;
            let (informed, unconfirmed) = (None, false);
            *place = Some(Sleeping { short: from, asked: now, state, informed, unconfirmed });
        }
    }

    fn handle_sent(&mut self, now: Instant, to: Address, transmissions: u8, acked: bool) {
        self.rpl.handle_sent(now, link_local(to), transmissions, acked);
        let mut children = self.children.iter_mut().flatten();
        let child = children.find(|child| to == Address::Short(child.short));
        if let Some(child) = child.filter(|child| child.unconfirmed) {
            // The lost frame may have been the DIO, which is then repeated.
            child.unconfirmed = false;
            child.informed = child.informed.filter(|_| acked);
        }
    }

    fn handle_icmpv6(&mut self, now: Instant, rssi_dbm: i8, message: Icmpv6In<'_>) {
        let Some((&[_, code, ..], body)) = message.octets.split_first_chunk::<HEAD>() else {
            return;
        };
        let (from, multicast) = (message.header.src, message.header.dst.is_multicast());
        // A neighbour's own message has that neighbour's own source address.
        if is_link_local(from) && link_address_of(from) != message.from {
            return;
        }
        let served = self.serves(message.from);
        // RPL counts its own discards.
        let _ = self.rpl.handle_message(now, from, rssi_dbm, multicast, code, body);
        if served && !self.serves(message.from) {
            self.forget(message.from);
        }
    }

    //= rfc6550#9.1-4 rfc6550#9.1-6
    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        let (head, body) = buf.split_first_chunk_mut::<HEAD>()?;
        let out = self.rpl.poll_message(now, body)?;
        *head = [ICMPV6_TYPE, out.code, 0, 0];
        let via = match out.to {
            to if to.is_multicast() => Some(Address::BROADCAST),
            to if is_link_local(to) => Some(link_address_of(to)),
            _ => None,
        };
        let len = out.len.saturating_add(HEAD);
        let src = via
            .is_some()
            .then(|| Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(self.identifier())));
        Some(Icmpv6Out { src, dst: out.to, via, hop_limit: HOP_LIMIT, alert: false, len })
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.rpl.stats().reasons().for_each(|(reason, count)| each("rpl", reason, count));
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        let rpl::Info { parent, dodag_id, .. } = self.rpl.info();
        let all = parent.map(|parent| ("parent", parent)).into_iter();
        let all = all.chain(dodag_id.map(|root| ("DODAG", root)));
        all.for_each(|(what, address)| each(what, address));
    }

    fn poll_change(&mut self) -> Option<Change> {
        loop {
            let own = self.poll_own_change();
            if own.is_some() {
                return own;
            }
            match self.rpl.poll_change()? {
                rpl::Change::Parent(parent) if self.is_leaf() => {
                    let short = parent.map(link_address_of).and_then(|address| match address {
                        Address::Short(short) => Some(short),
                        _ => None,
                    });
                    return Some(Change::Parent(short));
                }
                // Routers look up their routes.
                rpl::Change::Parent(_) => return Some(Change::Route),
                rpl::Change::Prefix(_) => self.follow_prefix(),
            }
        }
    }

    fn serves_leaves(&self) -> bool {
        self.rpl.serves_leaves()
    }

    fn handle_leaf(&mut self, now: Instant, leaf: &RegisteredHost) {
        let RegisteredHost { address, link, tid, lifetime } = *leaf;
        // A host for which there is no room is tried again when it registers again.
        let _ = self.rpl.handle_leaf(now, address, link_local(link), tid, lifetime);
    }

    fn handle_address(&mut self, address: Ipv6Addr) {
        self.address = Made::Yes(address);
    }

    fn deadline(&self) -> Option<Instant> {
        let children = self.children.iter().flatten().filter(|child| child.state != State::Gone);
        earliest(self.rpl.deadline(), children.map(|child| child.asked + FORGOTTEN).min())
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.rpl.handle_deadline(now);
        for child in self.children.iter_mut().flatten() {
            if child.asked + FORGOTTEN <= now {
                child.state = State::Gone;
            }
        }
    }
}
