//! Routing messages, and their receiver.
//!
//! Messages are UDP datagrams between link-local addresses with hop limit 255, which no router
//! forwards: they come from a neighbour or not at all (RFC 5082). They have no socket, precede data
//! and are never parked for a child, as a child that awaits a response listens.
//!
//! Or they are ICMPv6 messages of types that this crate does not know. Their receiver checks
//! whether they come from a neighbour, as some of them are forwarded.

use super::header_build::{Headers, Upper};
use super::{Net, Sizes};
use crate::discovery::Discovery;
use crate::frame::Class;
use crate::incoming::{Delivery, Fate};
use crate::outgoing::{Queued, SendError};
use crate::pool::PacketHandle;
use crate::stats::{Discard, bump};
use crate::tables::{Egress, Own, link_local};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::{Array, copy, move_within};
use kinglet_routing::Routing;
use kinglet_routing::{Icmpv6In, Icmpv6Out};
use kinglet_time::Instant;
use kinglet_wire::icmpv6;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_NODES, ALL_ROUTERS, HEADER_LEN, Header, is_link_local, protocol};
use kinglet_wire::mld::ROUTER_ALERT;
use kinglet_wire::nd::solicited_node;
use kinglet_wire::udp;

/// Hop limit that shows that a neighbour is the sender.
const HOP_LIMIT: u8 = 255;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns the routing protocol.
    pub const fn routing(&self) -> &S::Routing {
        &self.routing
    }

    /// Returns the routing protocol for modification.
    pub const fn routing_mut(&mut self) -> &mut S::Routing {
        &mut self.routing
    }

    /// Returns whether there is room for a routing message.
    pub fn can_send_routing_message(&self) -> bool {
        !self.control.is_full() && self.pool.free() > 1
    }

    /// Sends a routing message to the neighbour with this link address, or to all
    /// ([`Address::BROADCAST`]).
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send_routing_message(
        &mut self,
        _now: Instant,
        to: Address,
        data: &[u8],
    ) -> Result<(), SendError> {
        let port = S::Routing::PORT.ok_or(SendError::NotBound)?;
        let src = link_local(self.config.link).ok_or(SendError::NoRoute)?;
        let dst = match to {
            to if to.is_broadcast() => ALL_NODES,
            to => link_local(to).ok_or(SendError::NoRoute)?,
        };
        if !self.can_send_routing_message() {
            return Err(SendError::NoBuffer);
        }
        let usual = self.headers(src, dst, Upper::Udp { src_port: port, dst_port: port });
        let packet = self.allocate_packet(1, &Headers { hop_limit: HOP_LIMIT, ..usual }, data)?;
        // There is room, as was checked above.
        let _ = self.control.push(Queued::new(packet, to));
        bump(&mut self.stats.datagrams_out);
        Ok(())
    }

    /// Sends an ICMPv6 message of a protocol above; `octets` begins with its type, and its checksum
    /// is filled in. Check [`Net::can_send_routing_message`] before.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send_icmpv6(
        &mut self,
        now: Instant,
        message: &Icmpv6Out,
        octets: &[u8],
    ) -> Result<(), SendError> {
        let Icmpv6Out { src, dst, via, hop_limit, alert, len } = *message;
        let octets = octets.get(..len).ok_or(SendError::TooLong)?;
        let src = src.or_else(|| self.source_for(dst)).ok_or(SendError::NoRoute)?;
        let egress = match via {
            Some(link) => Egress::Radio(link),
            None => self.egress(&dst).ok_or(SendError::NoRoute)?,
        };
        if !self.can_send_routing_message() {
            return Err(SendError::NoBuffer);
        }
        let packet = self.pool.alloc(1).ok_or(SendError::NoBuffer)?;
        let built = self.build_icmpv6(packet, src, dst, hop_limit, octets);
        let alerting = S::Discovery::REPORTS && alert;
        if built.is_none() || alerting && self.alert(packet).is_none() {
            self.release(packet);
            return Err(SendError::TooLong);
        }
        let routes = octets.first().is_some_and(|kind| S::Routing::ICMPV6.contains(kind));
        let queued = match (via, egress) {
            // A sleepy neighbour polls for it. For responses of discovery it listens.
            (Some(Address::Short(child)), _) if routes && self.is_child(child) => {
                self.park_for_child(now, packet, child).map(|()| true)
            }
            // There is room, as was checked above.
            (Some(link), _) => Ok(self.control.push(Queued::new(packet, link))),
            (None, egress) => {
                self.enqueue_added(now, packet, egress, Class::Control).map(|()| true)
            }
        };
        if queued.is_err() {
            self.release(packet);
            return Err(SendError::QueueFull);
        }
        Ok(())
    }

    fn build_icmpv6(
        &mut self,
        packet: PacketHandle,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        hop_limit: u8,
        octets: &[u8],
    ) -> Option<()> {
        let total = octets.len().saturating_add(HEADER_LEN);
        let room = self.pool.storage_mut(packet).get_mut(..total)?;
        let payload_len = u16::try_from(octets.len()).ok()?;
        let next_header = protocol::ICMPV6;
        let (traffic_class, flow_label) = (0, 0);
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        header.emit(room).ok()?;
        let room = room.get_mut(HEADER_LEN..)?;
        copy(room, octets);
        let pseudo = header.pseudo_header_sum(octets.len(), next_header);
        icmpv6::fill_checksum(room, pseudo).ok()?;
        self.pool.set_len(packet, total);
        Some(())
    }

    /// Puts a Router Alert in front of a message in a slot.
    fn alert(&mut self, packet: PacketHandle) -> Option<()> {
        let octets = self.pool.get(packet);
        let (len, mut header) = (octets.len(), Header::read(octets).ok()?);
        let more = ROUTER_ALERT.len();
        let room = self.pool.storage_mut(packet);
        move_within(room, HEADER_LEN..len, HEADER_LEN.checked_add(more)?)?;
        copy(room.get_mut(HEADER_LEN..)?, &ROUTER_ALERT);
        header.next_header = protocol::HOP_BY_HOP;
        header.payload_len = header.payload_len.checked_add(u16::try_from(more).ok()?)?;
        header.emit(room).ok()?;
        self.pool.set_len(packet, len.checked_add(more)?);
        Some(())
    }

    /// Passes all multicast groups of this node to `report`, some of them more than once.
    pub fn with_groups<T>(
        &mut self,
        report: impl FnOnce(&mut S::Discovery, &mut dyn Iterator<Item = Ipv6Addr>) -> T,
    ) -> T {
        let links = [self.config.link, self.config.alias].into_iter().filter_map(link_local);
        let own = self.addresses.as_slice().iter().flatten().map(|own| own.address);
        let solicited = links.chain(own).map(solicited_node);
        let routers = self.config.forward.then_some(ALL_ROUTERS);
        let fixed = S::Routing::GROUP.into_iter().chain(routers);
        let joined = self.groups.as_slice().iter().flatten().copied();
        report(&mut self.discovery, &mut fixed.chain(joined).chain(solicited))
    }

    /// Passes the ICMPv6 message of a delivery to `hear`, with its possible receivers and the own
    /// addresses, and releases its slot.
    pub fn hear_icmpv6<T>(
        &mut self,
        from: Address,
        delivery: Delivery,
        hear: impl FnOnce(&mut S::Routing, &mut S::Discovery, Icmpv6In<'_>, Own<'_>) -> T,
    ) -> T {
        let Delivery { packet, header, upper, .. } = delivery;
        let octets = self.pool.get(packet).get(upper).unwrap_or_default();
        let message = Icmpv6In { from, header, octets };
        let own = Own { config: &self.config, addresses: self.addresses.as_slice() };
        let heard = hear(&mut self.routing, &mut self.discovery, message, own);
        self.release(packet);
        heard
    }
}

/// Checks a datagram for the port of the routing messages.
pub(crate) fn routing_input(header: &Header, upper: Range<usize>) -> Fate {
    if header.hop_limit != HOP_LIMIT || !is_link_local(header.src) {
        return Fate::Drop(Discard::HopLimit);
    }
    Fate::Deliver(upper.start.saturating_add(udp::HEADER_LEN)..upper.end, protocol::UDP)
}
