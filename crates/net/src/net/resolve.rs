//! Packets for neighbours with an unknown link address wait here (RFC 4861, 7.2.2). A full table
//! drops the oldest.
//!
//! Inside this crate [`Address::None`] is the next hop of such a packet.

use super::{Net, Sizes};
use crate::discovery::{Discovery, Resolution, Unresolved};
use crate::frame::Class;
use crate::incoming::{Arrival, Ingress};
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::Discard;
use crate::tables::{Egress, find_link, find_neighbour, find_route, has_own_ending};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_routing::{NextHop, Routing};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, unreachable};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_ROUTERS, Header, is_link_local};
use kinglet_wire::nd::solicited_node;
use kinglet_wire::sixlowpan::Context;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns neighbour discovery.
    pub const fn discovery(&self) -> &S::Discovery {
        &self.discovery
    }

    /// Returns neighbour discovery for modification.
    pub const fn discovery_mut(&mut self) -> &mut S::Discovery {
        &mut self.discovery
    }

    /// Returns whether discovery makes this node a member of a group: of the solicited-node group
    /// of each own address (RFC 4861, 7.2.1), and a router of the all-routers group.
    //= rfc6775#6.5.5-2
    pub(crate) fn is_discovered_by(&self, group: Ipv6Addr) -> bool {
        if !S::Discovery::PRESENT {
            return false;
        }
        group == ALL_ROUTERS && self.config.forward
            || group == solicited_node(group)
                && has_own_ending(&self.config, self.addresses.as_slice(), &group)
    }

    /// Returns the link address of a neighbour; static entries take precedence.
    pub(crate) fn resolve(&self, dst: Ipv6Addr) -> Address {
        let table = self.neighbours.as_slice();
        if S::Discovery::PRESENT {
            if let Some(link) = find_neighbour(table, dst) {
                return link;
            }
            match self.discovery.resolve(dst) {
                Resolution::Derived => {}
                Resolution::To(link) => return link,
                Resolution::Unknown => return Address::None,
            }
        }
        find_link(table, dst)
    }

    /// Queues a packet with an unknown next hop; `None` if the next hop is known.
    pub(crate) fn await_resolution(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
    ) -> Option<Result<(), Discard>> {
        if !S::Discovery::PRESENT {
            return None;
        }
        let Ok(Header { dst, .. }) = Header::read(self.pool.get(packet)) else { return None };
        if egress != Egress::Radio(Address::None) {
            self.note_use(now, dst);
            return None;
        }
        let neighbour = self.neighbour_towards(dst);
        Some(neighbour.map_or(Err(Discard::NoRoute), |it| self.park_unresolved(now, packet, it)))
    }

    fn park_unresolved(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        neighbour: Ipv6Addr,
    ) -> Result<(), Discard> {
        if !self.discovery.want(now, neighbour) {
            return Err(Discard::NoRoute);
        }
        if self.pool.free() < RESERVED {
            return Err(Discard::NoBuffer);
        }
        let table = self.unresolved.as_slice();
        if table.iter().flatten().count() >= <S::Discovery as Discovery>::Unresolved::LEN {
            let same = |place: &Option<Unresolved>| place.is_some_and(|p| p.neighbour == neighbour);
            let oldest = table.iter().position(same).unwrap_or(0);
            if let Some(oldest) = self.take_unresolved(oldest) {
                self.stats.discard(Discard::QueueFull);
                self.release(oldest.packet);
            }
        }
        let mut places = self.unresolved.as_mut_slice().iter_mut();
        let place = places.find(|place| place.is_none()).ok_or(Discard::QueueFull)?;
        *place = Some(Unresolved { packet, neighbour });
        Ok(())
    }

    /// Removes and returns a packet. Those behind it move up, so that the order stays.
    fn take_unresolved(&mut self, index: usize) -> Option<Unresolved> {
        let rest = self.unresolved.as_mut_slice().get_mut(index..)?;
        let taken = rest.first_mut()?.take()?;
        rest.rotate_left(1);
        Some(taken)
    }

    /// Notifies discovery that a packet goes to the neighbour that is the next hop.
    pub(crate) fn note_use(&mut self, now: Instant, dst: Ipv6Addr) {
        if S::Discovery::PRESENT
            && let Some(neighbour) = self.neighbour_towards(dst)
        {
            self.discovery.handle_use(now, neighbour);
        }
    }

    /// Processes a segment from `src` that answers recent data of this node: the next hop towards
    /// `src` is reachable (RFC 4861, 7.3.1).
    pub fn note_progress(&mut self, now: Instant, src: Ipv6Addr) {
        if S::Discovery::PRESENT
            && let Some(neighbour) = self.neighbour_towards(src)
        {
            self.discovery.handle_progress(now, neighbour);
        }
    }

    /// Returns the neighbour that discovery resolves for packets to `dst`; `None` if a static table
    /// or routing names the next hop.
    fn neighbour_towards(&self, dst: Ipv6Addr) -> Option<Ipv6Addr> {
        let known = find_neighbour(self.neighbours.as_slice(), dst).is_some();
        if dst.is_multicast() || known || self.discovery.attached(dst).is_some() {
            return None;
        }
        if is_link_local(dst) || self.is_stray(&dst) {
            return Some(dst);
        }
        match find_route(self.routes.as_slice(), dst).map(|route| route.via) {
            Some(NextHop::OnLink) => Some(dst),
            Some(_) => None,
            None if self.routing.route(dst).is_some() => None,
            None => self.discovery.router(),
        }
    }

    /// Returns the contexts that may compress headers.
    pub(crate) fn compressing(&self) -> [Option<Context>; 16] {
        let mut contexts = [None; 16];
        for ((id, to), from) in (0..).zip(&mut contexts).zip(self.contexts.as_slice()) {
            *to = from.filter(|_| self.discovery.compresses(id));
        }
        contexts
    }

    /// Processes the result of a resolution: sends the packets that wait for the neighbour, or
    /// reports them to their senders (RFC 4861, 7.2.2).
    pub fn handle_resolution(&mut self, now: Instant, neighbour: Ipv6Addr, found: bool) {
        if !S::Discovery::PRESENT {
            return;
        }
        let waits = |place: &Option<Unresolved>| place.is_some_and(|p| p.neighbour == neighbour);
        let link = if found { self.resolve(neighbour) } else { Address::None };
        while let Some(index) = self.unresolved.as_slice().iter().position(waits) {
            let Some(Unresolved { packet, .. }) = self.take_unresolved(index) else { return };
            let sent = if link == Address::None {
                self.report_unreachable(now, packet)
            } else {
                self.enqueue(now, packet, Egress::Radio(link), Class::Data)
            };
            if let Err(reason) = sent {
                self.stats.discard(reason);
                self.release(packet);
            }
        }
    }

    /// Turns a packet that cannot reach its neighbour into an error for its sender.
    pub(crate) fn report_unreachable(
        &mut self,
        now: Instant,
        packet: PacketHandle,
    ) -> Result<(), Discard> {
        let arrival = Arrival { broadcast: false, ingress: Ingress::Here, from: Address::None };
        let kind = Kind::DestinationUnreachable { code: unreachable::ADDRESS };
        if S::REPORTS_ERRORS && self.send_error(now, packet, arrival, kind) {
            self.stats.discard(Discard::NoRoute);
            return Ok(());
        }
        Err(Discard::NoRoute)
    }
}
