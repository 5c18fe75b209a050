//! Forwarding, and the host interface of a border router.

use super::extension_headers::Treatment;
use super::input::check_options;
use super::{Net, Sizes};
use crate::border::Border;
use crate::config::BorderPolicy;
use crate::discovery::Discovery;
use crate::frame::Class;
use crate::incoming::{Arrival, Delivery, Fate, Ingress};
use crate::outgoing::{BodySource, Stale};
use crate::policy::{self, Crossing};
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::{Discard, bump};
use crate::tables::Egress;
use core::net::Ipv6Addr;
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, unreachable};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{
    self, HOP_LIMIT_OFFSET, Header, Packet, is_link_local, protocol, same_prefix,
};

impl<S: Sizes, X: Copy> Net<S, X> {
    pub(crate) fn forward(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        arrival: Arrival,
    ) -> Fate {
        if is_link_local(header.src) || is_link_local(header.dst) || header.src.is_unspecified() {
            return Fate::Drop(Discard::Scope);
        }
        if let Err(fate) = self.check_hop_by_hop(handle, header) {
            return fate;
        }
        if header.hop_limit <= 1 {
            return Fate::Report(Discard::HopLimit, Kind::TimeExceeded { code: 0 });
        }
        let (route, treatment) = if S::Routing::EXTENDS {
            match self.onward(now, handle, header, arrival) {
                Ok((egress, treatment)) => (Some(egress), treatment),
                Err(Discard::NoRoute) => (None, Treatment::Keep),
                Err(reason) => return Fate::Drop(reason),
            }
        } else {
            (self.egress(&header.dst), Treatment::Keep)
        };
        let route = match self.discover_forwarded(now, header, arrival, route) {
            Ok(route) => route,
            Err(fate) => return fate,
        };
        let Some(egress) = route else {
            let code = unreachable::NO_ROUTE;
            return Fate::Report(Discard::NoRoute, Kind::DestinationUnreachable { code });
        };
        if let Some(fate) = self.refused(handle, header, arrival, egress) {
            return fate;
        }
        let fair = S::Border::PRESENT && self.config.border == BorderPolicy::Fair;
        let from_host = fair && arrival.is_from_host();
        if let Egress::Radio(next_hop) = egress
            && !from_host
            && !self.sleeps(next_hop)
            && let Err(reason) = self.detect_congestion(now, handle)
        {
            return Fate::Drop(reason);
        }
        if matches!(egress, Egress::Radio(_)) && !arrival.is_from_host() {
            self.note_shared(now);
        }
        //= rfc6550#11.1-1
        if let Some(hop_limit) = self.pool.storage_mut(handle).get_mut(HOP_LIMIT_OFFSET) {
            *hop_limit = hop_limit.saturating_sub(1);
        }
        if S::Children::LEN > 0 {
            self.note_sent_by(now, arrival.from, handle);
        }
        if S::Routing::EXTENDS
            && let Err(fate) = self.treat(handle, egress, treatment)
        {
            return fate;
        }
        // Packets of the host are fragmented at transmission, like this node's own: the store takes
        // a frame at a time.
        if !arrival.is_from_host()
            && let Some(relayed) = self.relay_packet(now, handle, arrival.from, egress)
        {
            return relayed.map_or_else(Fate::Drop, |()| Fate::Done);
        }
        self.keep_forwarded(now, handle, egress, from_host.then_some(header.dst))
    }

    /// Returns whether a packet would go back to the neighbour that forwarded it to this node: each
    /// of the two has a route through the other, and only the hop limit would end that. RPL detects
    /// loops itself, and may return a packet to its parent (RFC 6550 §11.2.2.3).
    pub(super) fn is_loop(arrival: Arrival, next_hop: Address) -> bool {
        !S::Routing::EXTENDS && arrival.from != Address::None && arrival.from == next_hop
    }

    /// Queues a forwarded packet as a whole. `from_host` is its destination if it comes from the
    /// host and the border router keeps such packets apart.
    fn keep_forwarded(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        egress: Egress,
        from_host: Option<Ipv6Addr>,
    ) -> Fate {
        let taken = match from_host {
            Some(dst) => self.enqueue_from_host(now, handle, egress, dst),
            None => self.enqueue(now, handle, egress, Class::Data),
        };
        match taken {
            Ok(()) => {
                bump(&mut self.stats.forwarded);
                Fate::Moved
            }
            // Neighbour discovery refuses to resolve its next hop now.
            Err(Discard::NoRoute) if S::Discovery::PRESENT => {
                let code = unreachable::ADDRESS;
                Fate::Report(Discard::NoRoute, Kind::DestinationUnreachable { code })
            }
            Err(reason) => Fate::Drop(reason),
        }
    }

    /// Processes a raw IPv6 packet from the host interface (a border router's TUN), of at most
    /// [`NetConfig::mtu`](crate::NetConfig::mtu) octets.
    ///
    /// # Errors
    /// The reason of the discard; also counted in [`Net::stats`].
    pub fn handle_host_packet(
        &mut self,
        now: Instant,
        packet: &[u8],
    ) -> Result<Option<Delivery>, Discard> {
        let result = self.host_input(now, packet);
        if let Err(reason) = result {
            self.stats.discard(reason);
        }
        result
    }

    /// Returns whether there is room for a packet from the host. A queue with one flow for each
    /// destination drops the oldest packet if it is full, and does not delay the others.
    pub fn takes_host_packet(&self) -> bool {
        let shared = !S::Border::PRESENT || self.config.border == BorderPolicy::Shared;
        self.has_slot_for_host() && !(shared && self.output.is_full())
    }

    /// The host does not wait for this node, the radio does: its packets leave the reserve free.
    fn has_slot_for_host(&self) -> bool {
        self.pool.free() > RESERVED
    }

    /// Checks the only extension header that concerns forwarding: Hop-by-Hop Options (RFC 8200, 4).
    fn check_hop_by_hop(&self, handle: PacketHandle, header: &Header) -> Result<(), Fate> {
        if header.next_header != protocol::HOP_BY_HOP {
            return Ok(());
        }
        let packet = Packet::parse(self.pool.get(handle)).ok();
        match packet.and_then(|packet| packet.extensions().next()) {
            Some(Ok(extension)) => check_options::<S>(extension.options(), header),
            _ => Err(Fate::Drop(Discard::Extensions)),
        }
    }

    /// Returns the fate of a packet that may not leave by this egress.
    fn refused(
        &self,
        handle: PacketHandle,
        header: &Header,
        arrival: Arrival,
        egress: Egress,
    ) -> Option<Fate> {
        match egress {
            Egress::Radio(next_hop) if Self::is_loop(arrival, next_hop) => {
                let code = unreachable::ADDRESS;
                Some(Fate::Report(Discard::Loop, Kind::DestinationUnreachable { code }))
            }
            Egress::Host if S::Host::LEN > 0 => self.keep_inside(handle, header, arrival),
            _ => None,
        }
    }

    /// Returns the fate of a packet that may not leave by the host interface.
    fn keep_inside(&self, handle: PacketHandle, header: &Header, arrival: Arrival) -> Option<Fate> {
        // Never back to its origin: a host that forwards too would return it until the hop limit is
        // exceeded (RFC 4443, 3.1).
        if arrival.is_from_host() {
            let code = unreachable::ADDRESS;
            return Some(Fate::Report(Discard::NoRoute, Kind::DestinationUnreachable { code }));
        }
        self.held_at_border(self.pool.get(handle), header, policy::to_host).map(Fate::Drop)
    }

    /// Returns the reason why this policy table stops a packet at the host interface.
    fn held_at_border(
        &self,
        octets: &[u8],
        header: &Header,
        table: fn(&Crossing) -> Option<Discard>,
    ) -> Option<Discard> {
        let inside = self.is_inside(&header.src);
        let packet = Crossing::read(octets, header, inside);
        // For packets to this node the input finds the error, and reports it to the sender.
        let stops = || packet.is_broken && !self.owns(&header.dst);
        table(&packet).or_else(|| stops().then_some(Discard::Extensions))
    }

    /// Returns whether an address is inside the mesh (see `policy.rs`); `None` without a route.
    fn is_inside(&self, address: &Ipv6Addr) -> Option<bool> {
        if self.is_hosts(*address) {
            return Some(false);
        }
        let mut own = self.addresses.as_slice().iter().flatten();
        if own.any(|own| same_prefix(own.address, *address, own.prefix_len)) {
            return Some(true);
        }
        self.egress(address).map(|egress| egress != Egress::Host)
    }

    fn host_input(&mut self, now: Instant, packet: &[u8]) -> Result<Option<Delivery>, Discard> {
        if !self.has_slot_for_host() {
            return Err(Discard::NoBuffer);
        }
        let handle = self.store(packet).ok_or(Discard::NoBuffer)?;
        if S::Routing::EXTENDS {
            self.routing.handle_arrival(Address::None);
        }
        if let Ok(header) = Header::read(packet)
            && let Some(reason) = self.held_at_border(packet, &header, policy::from_host)
        {
            self.release(handle);
            return Err(reason);
        }
        let arrival = Arrival { broadcast: false, ingress: Ingress::Host, from: Address::None };
        if packet.len() > self.host_mtu() && Header::read(packet).is_ok() {
            bump(&mut self.stats.packets_in);
            let fate = Fate::Report(Discard::TooBig, self.too_big());
            return self.dispose(now, handle, arrival, fate).map(|()| None);
        }
        self.input(now, handle, arrival)
    }

    /// Copies a submitted packet into a slot if it would delay packets for the radio: its egress is
    /// the host interface, a sleeping child, a neighbour with a pending resolution, or a route that
    /// is being discovered. If there is no room, it is discarded and counted. Other packets stay
    /// where they are.
    pub fn park(&mut self, now: Instant, source: &impl BodySource<X>) {
        if S::Host::LEN == 0 && S::Children::LEN == 0 && !S::Discovery::PRESENT && !Self::DISCOVERS
        {
            return;
        }
        let waits = match self.external.as_ref().map(|external| external.egress) {
            Some(Egress::Radio(Address::None)) if S::Discovery::PRESENT || Self::DISCOVERS => true,
            Some(Egress::Radio(next_hop)) => self.sleeps(next_hop),
            Some(Egress::Host) => true,
            None => false,
        };
        let Some(external) = self.external.take_if(|_| waits) else { return };
        let Some(handle) = self.pool.alloc(RESERVED) else {
            return self.stats.discard(Discard::NoBuffer);
        };
        let len = usize::from(external.total);
        let room = self.pool.storage_mut(handle).get_mut(..len);
        let parked = match room.map(|room| external.read(source, 0, room)) {
            Some(Ok(())) => {
                self.pool.set_len(handle, len);
                self.enqueue(now, handle, external.egress, Class::Data)
            }
            Some(Err(Stale)) => {
                bump(&mut self.stats.stale);
                return self.release(handle);
            }
            None => Err(Discard::TooBig),
        };
        if let Err(reason) = parked {
            self.stats.discard(reason);
            self.release(handle);
        }
    }

    /// Writes the next packet for the host interface to `buf`, for which
    /// [`NetConfig::mtu`](crate::NetConfig::mtu) octets always suffice. Nothing changes if `buf` is
    /// too short.
    pub fn poll_host_packet(
        &mut self,
        _now: Instant,
        source: &impl BodySource<X>,
        buf: &mut [u8],
    ) -> Option<usize> {
        if S::Host::LEN == 0 {
            return None;
        }
        if let Some(queued) = self.host.front() {
            let octets = self.pool.get(queued.packet);
            let len = octets.len();
            copy(buf.get_mut(..len)?, octets);
            let _ = self.host.pop();
            self.release(queued.packet);
            bump(&mut self.stats.packets_out);
            return Some(len);
        }
        let external = self.external.as_ref().filter(|e| e.egress == Egress::Host)?;
        let len = usize::from(external.total);
        debug_assert!(len >= ipv6::HEADER_LEN, "submit made it");
        let result = external.read(source, 0, buf.get_mut(..len)?);
        self.external = None;
        match result {
            Ok(()) => {
                bump(&mut self.stats.packets_out);
                Some(len)
            }
            Err(_) => {
                bump(&mut self.stats.stale);
                None
            }
        }
    }
}
