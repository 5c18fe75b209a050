//! Routing data in packets: an option, source routes, outer headers (RFC 6553, 6554, 2473).
//! [`Routing::add`] decides what is added; this module adds and removes it. The program contains
//! none of this if routing adds nothing ([`Routing::EXTENDS`]).

use super::input::{problem, walk};
use super::{Head, Net, Sizes};
use crate::frame::Class;
use crate::incoming::{Arrival, Fate, Ingress};
use crate::outgoing::{External, Outgoing, SendError};
use crate::pool::PacketHandle;
use crate::stats::{Discard, bump};
use crate::tables::{Egress, Own, is_hosts};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::{Array, copy, move_within};
use kinglet_routing::{Added, MAX_ADDED, NextHop, Origin, Refusal, Routing};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, parameter, unreachable};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{
    self, Chain, Extension, HOP_LIMIT_OFFSET, Header, MIN_MTU, NEXT_HEADER_OFFSET, is_link_local,
    protocol,
};
use kinglet_wire::rpl::{PacketInformation, SourceRoute, SourceRouteFault};
use kinglet_wire::sixlowpan::link_address_of;

/// Hops of the longest source route that is rewritten after its use: as many as fit into
/// [`MAX_ADDED`] octets at two octets each.
const MOST_HOPS: usize = 32;
/// Octet and mask of the ECN bits in a header.
const ECN_OFFSET: usize = 1;
const ECN: u8 = 0x30;
/// Offset of the destination in a header.
const DESTINATION_OFFSET: usize = 24;

/// Treatment of a packet that is forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Unchanged.
    Keep,
    /// Its option is removed: the next hop does not understand it.
    Strip,
    /// Routing may add to it.
    Add(Origin),
}

/// Returns the Hop-by-Hop Options header of a packet.
fn hop_by_hop(octets: &[u8]) -> Option<Extension<'_>> {
    let kind = *octets.get(NEXT_HEADER_OFFSET)?;
    if kind != protocol::HOP_BY_HOP {
        return None;
    }
    Chain::new(octets, kind).next()?.ok()
}

/// Returns the range of the RPL option's data in a packet.
pub(super) fn option_of(octets: &[u8]) -> Option<Range<usize>> {
    let mut options = hop_by_hop(octets)?.options().flatten();
    let option = options.find(|option| PacketInformation::is_type(option.kind))?;
    let begin = option.offset.saturating_add(2);
    (option.data.len() >= PacketInformation::LEN)
        .then_some(begin..begin.saturating_add(option.data.len()))
}

/// Returns the destination of a quoted packet where it could not be forwarded, and the next address
/// of its source route.
pub(crate) fn next_of(quoted: &[u8]) -> Option<(Ipv6Addr, Ipv6Addr)> {
    let header = Header::read(quoted).ok()?;
    let mut extensions = Chain::new(quoted, header.next_header).flatten();
    let route = extensions.find(|extension| extension.kind == protocol::ROUTING)?;
    let route = SourceRoute::parse(route.octets).ok()?;
    let next = route.len().checked_sub(route.segments_left())?;
    Some((header.dst, route.address(next, header.dst)?))
}

/// Returns whether this address may be more than one hop away: routing may add headers then.
fn is_far(dst: Ipv6Addr) -> bool {
    !dst.is_multicast() && !is_link_local(dst)
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns the octets of the longest packet on the link. Routing's additions come on top of
    /// [`NetConfig::mtu`](crate::NetConfig::mtu) (RFC 6553, 3; RFC 2473, 7), if slots are as long.
    pub(crate) fn mtu(&self) -> usize {
        if S::Routing::EXTENDS { S::Storage::LEN } else { self.host_mtu().min(S::Storage::LEN) }
    }

    /// Returns the octets of the longest packet without routing's additions. With slots of the
    /// minimum MTU it is a constant, and costs nothing.
    pub(crate) fn host_mtu(&self) -> usize {
        if S::Storage::LEN <= MIN_MTU {
            return MIN_MTU;
        }
        usize::from(self.config.mtu).min(S::Storage::LEN)
    }

    /// Returns the error for a longer packet.
    pub(crate) fn too_big(&self) -> Kind {
        // At most 65,535.
        Kind::PacketTooBig { mtu: self.host_mtu() as u32 }
    }

    /// Returns the egress of a packet that is forwarded, and its treatment.
    pub(crate) fn onward(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        arrival: Arrival,
    ) -> Result<(Egress, Treatment), Discard> {
        let egress = self.egress(&header.dst);
        let octets = self.pool.get(handle);
        let option = option_of(octets);
        // An option that came out of a tunnel belongs to a route that has ended.
        let live = arrival.ingress == Ingress::Radio;
        if egress == Some(Egress::Host) {
            let Some(option) = option.and_then(|at| octets.get(at)) else {
                return Ok((Egress::Host, Treatment::Keep));
            };
            if live {
                self.routing.take(now, header, option);
            }
            return Ok((Egress::Host, Treatment::Strip));
        }
        let Some(option) = option else {
            // Packets out of a tunnel change no route: routing messages among them get no option.
            let kind =
                octets.get(ipv6::HEADER_LEN).filter(|kind| S::Routing::ICMPV6.contains(kind));
            let message = header.next_header == protocol::ICMPV6 && kind.is_some();
            let add = Treatment::Add(Origin::Bare);
            let treatment = if message { Treatment::Keep } else { add };
            return Ok((egress.ok_or(Discard::NoRoute)?, treatment));
        };
        if let (Some(egress), true) = (egress, self.is_stray(&header.dst)) {
            return Ok((egress, Treatment::Strip));
        }
        let unaware = self.routing.is_unaware(header.dst);
        let treatment = if unaware { Treatment::Strip } else { Treatment::Add(Origin::Marked) };
        if !live {
            return Ok((egress.ok_or(Discard::NoRoute)?, treatment));
        }
        let option = self.pool.storage_mut(handle).get_mut(option).unwrap_or_default();
        let egress = match self.routing.relay(now, header, option)? {
            Some(NextHop::Link(link)) => Egress::Radio(link),
            _ => egress.ok_or(Discard::NoRoute)?,
        };
        Ok((egress, treatment))
    }

    /// Applies the treatment to a packet that is forwarded. Packets for the host may not exceed its
    /// MTU, even if the radio carries longer ones.
    pub(crate) fn treat(
        &mut self,
        packet: PacketHandle,
        egress: Egress,
        treatment: Treatment,
    ) -> Result<(), Fate> {
        match treatment {
            Treatment::Keep => {}
            Treatment::Strip => self.strip(packet).ok_or(Fate::Drop(Discard::Options))?,
            Treatment::Add(origin) => self.add(packet, origin).map_err(Fate::Drop)?,
        }
        if egress == Egress::Host && self.pool.get(packet).len() > self.host_mtu() {
            return Err(Fate::Report(Discard::TooBig, self.too_big()));
        }
        Ok(())
    }

    /// Queues a packet of this node with routing's additions.
    pub(crate) fn enqueue_added(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
        class: Class,
    ) -> Result<(), Discard> {
        if S::Routing::EXTENDS && egress != Egress::Host {
            self.add(packet, Origin::Here)?;
        }
        self.enqueue(now, packet, egress, class)
    }

    /// Adds routing's headers to a packet in a slot. On an error the packet is unchanged.
    fn add(&mut self, packet: PacketHandle, origin: Origin) -> Result<(), Discard> {
        let octets = self.pool.get(packet);
        let header = Header::read(octets).map_err(|_| Discard::Malformed)?;
        let len = octets.len();
        let mut extensions = [0; MAX_ADDED];
        let far = is_far(header.dst);
        let added = far.then(|| self.routing.add(&header, origin, &mut extensions)).flatten();
        let Some(added) = added else { return Ok(()) };
        let extensions = extensions.get(..added.len).unwrap_or_default();
        let at = if added.outer.is_some() { 0 } else { ipv6::HEADER_LEN };
        let more = added.len.saturating_add(ipv6::HEADER_LEN).saturating_sub(at);
        let room = self.pool.storage_mut(packet);
        move_within(room, at..len, at.saturating_add(more)).ok_or(Discard::TooBig)?;
        let first = header_with(&header, &added, self.config.hop_limit);
        first.emit(room).map_err(|_| Discard::TooBig)?;
        copy(room.get_mut(ipv6::HEADER_LEN..).unwrap_or_default(), extensions);
        self.pool.set_len(packet, len.saturating_add(more));
        Ok(())
    }

    /// Writes the IPv6 and upper headers of a submitted packet with routing's additions.
    pub(crate) fn add_to_head(
        &self,
        header: &Header,
        packet: &Outgoing<'_, X>,
        external: &mut External<X, Head<S>>,
    ) -> Result<(), SendError> {
        let mut extensions = [0; MAX_ADDED];
        let far = is_far(header.dst) && external.egress != Egress::Host;
        let added = far.then(|| self.routing.add(header, Origin::Here, &mut extensions)).flatten();
        let Some(added) = added else { return Ok(()) };
        let extensions = extensions.get(..added.len).unwrap_or_default();
        let first = header_with(header, &added, self.config.hop_limit);
        let head = external.head.as_mut_slice();
        first.emit(head).map_err(|_| SendError::TooLong)?;
        let mut at = ipv6::HEADER_LEN.saturating_add(added.len);
        let room = head.get_mut(ipv6::HEADER_LEN..at).ok_or(SendError::TooLong)?;
        copy(room, extensions);
        if added.outer.is_some() {
            header.emit(head.get_mut(at..).unwrap_or_default()).map_err(|_| SendError::TooLong)?;
            at = at.saturating_add(ipv6::HEADER_LEN);
        }
        let end = at.saturating_add(packet.upper.len());
        copy(head.get_mut(at..end).ok_or(SendError::TooLong)?, packet.upper);
        external.head_len = u8::try_from(end).map_err(|_| SendError::TooLong)?;
        external.total = u16::try_from(first.total_len()).map_err(|_| SendError::TooLong)?;
        if usize::from(external.total) > self.mtu() { Err(SendError::TooLong) } else { Ok(()) }
    }

    /// Removes the RPL option of a packet, with its header unless that has other options.
    fn strip(&mut self, packet: PacketHandle) -> Option<()> {
        let octets = self.pool.get(packet);
        let (len, mut header) = (octets.len(), Header::read(octets).ok()?);
        let extension = hop_by_hop(octets)?;
        let is_ours = |kind| PacketInformation::is_type(kind);
        let others = extension.options().any(|it| !it.is_ok_and(|it| is_ours(it.kind)));
        let (next_header, units) = (*extension.octets.first()?, extension.octets.len());
        let Range { start, end } = option_of(octets)?;
        let room = self.pool.storage_mut(packet);
        if others {
            // The option becomes padding.
            *room.get_mut(start.checked_sub(2)?)? = 1;
            room.get_mut(start..end)?.fill(0);
            return Some(());
        }
        move_within(room, ipv6::HEADER_LEN.checked_add(units)?..len, ipv6::HEADER_LEN)?;
        header.next_header = next_header;
        header.payload_len = header.payload_len.checked_sub(u16::try_from(units).ok()?)?;
        header.emit(room).ok()?;
        self.pool.set_len(packet, len.checked_sub(units)?);
        Some(())
    }

    /// Processes the headers of a packet that has this node as its current destination: an outer
    /// header is removed, after which the packet counts as one out of a tunnel; a source route
    /// leads on. `None` if the packet in the slot is now to be processed like any other.
    pub(crate) fn unwrap(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        arrival: &mut Arrival,
    ) -> Option<Fate> {
        if arrival.ingress != Ingress::Radio || arrival.broadcast {
            return None;
        }
        // The packet, and the one in its outer header: one level is removed.
        loop {
            let outermost = arrival.ingress == Ingress::Radio;
            let octets = self.pool.get(packet);
            let header = Header::read(octets).ok()?;
            let octets = octets.get(..header.total_len())?;
            let (returned, own) = (self.owns(&header.src), self.owns(&header.dst));
            if returned && !own {
                // Sent back: no node has a route. It goes no further, regardless of routing.
                let option = option_of(octets)?;
                let option = self.pool.storage_mut(packet).get_mut(option)?;
                let _ = self.routing.relay(now, &header, option);
                return None;
            }
            if own
                && outermost
                && !returned
                && let Some(option) = option_of(octets).and_then(|at| octets.get(at))
            {
                self.routing.take(now, &header, option);
            }
            // Headers that a host behind this node cannot remove are removed here (RFC 9008, 4.1).
            if !own && !self.is_hosts(header.dst) {
                return None;
            }
            let mut chain = Chain::new(octets, header.next_header);
            for extension in &mut chain {
                // Invalid headers are found again later.
                let extension = extension.ok()?;
                if extension.kind == protocol::ROUTING && extension.segments_left() > 0 {
                    // Source routes start at the root, in the header that the root has added.
                    if !outermost {
                        return Some(Fate::Drop(Discard::RoutingHeader));
                    }
                    let len = extension.octets.len();
                    let at = extension.offset..extension.offset.saturating_add(len);
                    return Some(self.advance(now, packet, &header, at));
                }
            }
            let tunnel = chain.next_header() == protocol::IPV6 && !returned;
            if !tunnel || walk::<S>(octets, &header).is_err() {
                return None;
            }
            if !outermost || !self.routing.ends_tunnel(header.src) {
                return Some(Fate::Drop(Discard::Tunnel));
            }
            let (inner, len) = (chain.offset(), octets.len());
            if self.decapsulate(packet, &header, inner..len).is_none() {
                return Some(Fate::Drop(Discard::Malformed));
            }
            arrival.ingress = Ingress::Tunnel;
        }
    }

    /// Moves the packet in a tunnel to the front of its slot. A congestion mark of the outer header
    /// is copied to the inner one; if that has no ECN, the packet is dropped (RFC 6040, 4.2).
    fn decapsulate(
        &mut self,
        packet: PacketHandle,
        outer: &Header,
        inner: Range<usize>,
    ) -> Option<()> {
        let len = inner.len();
        let room = self.pool.storage_mut(packet);
        move_within(room, inner, 0)?;
        if outer.traffic_class & 3 == 3 {
            let field = room.get_mut(ECN_OFFSET).filter(|field| **field & ECN != 0)?;
            *field |= ECN;
        }
        self.pool.set_len(packet, len);
        Some(())
    }

    /// Sends a packet to the next address of its source route (RFC 6554, 4.2), which is at `range`.
    fn advance(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        header: &Header,
        range: Range<usize>,
    ) -> Fate {
        let at = |offset: usize| {
            let kind = problem(parameter::HEADER_FIELD, range.start.saturating_add(offset));
            Fate::Report(Discard::RoutingHeader, kind)
        };
        if !S::FORWARDS || !self.config.forward {
            return Fate::Drop(Discard::NotForUs);
        }
        if header.hop_limit <= 1 {
            return Fate::Report(Discard::HopLimit, Kind::TimeExceeded { code: 0 });
        }
        let octets = self.pool.get(packet).get(range.clone()).unwrap_or_default();
        let Ok(route) = SourceRoute::parse(octets) else { return at(2) };
        let next = route.len().checked_sub(route.segments_left());
        let next = next.and_then(|index| route.address(index, header.dst));
        let Some(next) = next else { return at(3) };
        let option = option_of(self.pool.get(packet)).unwrap_or_default();
        let own = Own { config: &self.config, addresses: self.addresses.as_slice() };
        let routes = self.routes.as_slice();
        let is_here = |address| own.contains(&address) || is_hosts(routes, address);
        let room = self.pool.storage_mut(packet);
        let option = room.get_mut(option).unwrap_or_default();
        match self.routing.follow(now, next, option) {
            Ok(()) => {}
            Err(Refusal::NoRoute) => {
                let code = unreachable::SOURCE_ROUTE;
                return Fate::Report(Discard::NoRoute, Kind::DestinationUnreachable { code });
            }
            Err(Refusal::Data) => return Fate::Drop(Discard::Options),
        }
        let octets = room.get_mut(range.clone()).unwrap_or_default();
        match SourceRoute::advance(octets, header.dst, is_here) {
            Ok(Some(_)) => {}
            Ok(None) | Err(SourceRouteFault::Malformed) => return at(2),
            Err(SourceRouteFault::SegmentsLeft) => return at(3),
            Err(SourceRouteFault::Multicast) => return Fate::Drop(Discard::RoutingHeader),
            Err(SourceRouteFault::Loop) => return at(8),
        }
        copy(room.get_mut(DESTINATION_OFFSET..).unwrap_or_default(), &next.octets());
        if let Some(hop_limit) = room.get_mut(HOP_LIMIT_OFFSET) {
            *hop_limit = hop_limit.saturating_sub(1);
        }
        if self.routing.dodag().is_some_and(|dodag| dodag.compresses)
            && self.forget_used(packet, range).is_none()
        {
            return Fate::Drop(Discard::Malformed);
        }
        self.pass(now, packet, next)
    }

    /// Removes the used hops from the source route at `range`: a 6LoWPAN Routing Header has none of
    /// them (RFC 8138, 5.5), and the length of the packet must be the same after its expansion.
    fn forget_used(&mut self, packet: PacketHandle, range: Range<usize>) -> Option<()> {
        let octets = self.pool.get(packet);
        let (len, mut header) = (octets.len(), Header::read(octets).ok()?);
        let route = SourceRoute::parse(octets.get(range.clone())?).ok()?;
        let mut rest = [Ipv6Addr::UNSPECIFIED; MOST_HOPS];
        let mut hops = 0_usize;
        for index in route.len().checked_sub(route.segments_left())?..route.len() {
            *rest.get_mut(hops)? = route.address(index, header.dst)?;
            hops = hops.saturating_add(1);
        }
        let mut left = [0; MAX_ADDED];
        let (kind, next) = (protocol::ROUTING, route.next_header());
        let (kind, written) = match rest.get(..hops)? {
            [] => (next, 0),
            rest => (kind, SourceRoute::emit(next, header.dst, rest, &mut left).ok()?),
        };
        let gone = range.len().checked_sub(written)?;
        header.payload_len = header.payload_len.checked_sub(u16::try_from(gone).ok()?)?;
        // The field in front of it that names its type.
        let mut chain = Chain::new(octets, header.next_header);
        while chain.offset() < range.start {
            let _ = chain.next()?.ok()?;
        }
        let field = chain.next_header_field();
        let room = self.pool.storage_mut(packet);
        *room.get_mut(field)? = kind;
        header.next_header = *room.get(NEXT_HEADER_OFFSET)?;
        move_within(room, range.end..len, range.start.checked_add(written)?)?;
        copy(room.get_mut(range.start..)?, left.get(..written)?);
        header.emit(room).ok()?;
        self.pool.set_len(packet, len.checked_sub(gone)?);
        Some(())
    }

    /// Queues a packet for a neighbour like a forwarded packet.
    fn pass(&mut self, now: Instant, packet: PacketHandle, next: Ipv6Addr) -> Fate {
        // It is a neighbour, as it is a hop of a source route (RFC 6554, 4.2), and routing
        // identifies neighbours by addresses that follow from their link addresses.
        let link = match self.resolve(next) {
            Address::None => link_address_of(next),
            link => link,
        };
        if !self.sleeps(link)
            && let Err(reason) = self.detect_congestion(now, packet)
        {
            return Fate::Drop(reason);
        }
        match self.enqueue(now, packet, Egress::Radio(link), Class::Data) {
            Ok(()) => {
                bump(&mut self.stats.forwarded);
                Fate::Moved
            }
            Err(reason) => Fate::Drop(reason),
        }
    }
}

/// Returns the header in front of the additions.
fn header_with(header: &Header, added: &Added, hop_limit: u8) -> Header {
    let extensions = u16::try_from(added.len).unwrap_or(u16::MAX);
    let (next_header, dst) = (added.kind, added.dst);
    match added.outer {
        None => {
            let payload_len = header.payload_len.saturating_add(extensions);
            Header { payload_len, next_header, dst, ..*header }
        }
        Some(src) => {
            let inner = u16::try_from(header.total_len()).unwrap_or(u16::MAX);
            let payload_len = inner.saturating_add(extensions);
            Header { payload_len, next_header, src, dst, hop_limit, flow_label: 0, ..*header }
        }
    }
}
