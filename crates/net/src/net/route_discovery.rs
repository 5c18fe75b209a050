//! Packets that wait for route discovery (RFC 3561, 6.3): those of this node, and those that a host
//! sends through a border router. A full table drops the oldest.
//!
//! As for packets that await resolution (`resolve.rs`), [`Address::None`] is their next hop.

use super::{Net, Sizes};
use crate::frame::Class;
use crate::incoming::{Arrival, Fate};
use crate::outgoing::{Origin, Queued};
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::Discard;
use crate::tables::Egress;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, unreachable};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// True if routes are discovered on demand.
    pub(crate) const DISCOVERS: bool = <S::Routing as Routing>::Waiting::<PacketHandle>::LEN > 0;

    /// Returns the egress for a packet from `src` to `dst` of this node; `egress` is the known one.
    /// Without one it starts route discovery, for which the packet has to wait.
    pub(crate) fn discover_own(
        &mut self,
        now: Instant,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        egress: Option<Egress>,
    ) -> Option<Egress> {
        if egress.is_some() {
            self.routing.handle_use(now, src, dst, Address::None);
            return egress;
        }
        let discovering = !self.owns(&dst) && self.routing.discover(now, dst);
        discovering.then_some(Egress::Radio(Address::None))
    }

    /// Notifies routing of a forwarded packet: of the use of its route, of a loop, or of a missing
    /// route. A packet from a host may wait for route discovery.
    #[inline]
    pub(crate) fn discover_forwarded(
        &mut self,
        now: Instant,
        packet: &Header,
        arrival: Arrival,
        egress: Option<Egress>,
    ) -> Result<Option<Egress>, Fate> {
        if !Self::DISCOVERS {
            return Ok(egress);
        }
        if egress == Some(Egress::Radio(arrival.from)) && self.routing.discovers(packet.dst) {
            self.routing.handle_loop(now, packet.dst);
        } else if egress.is_some() {
            self.routing.handle_use(now, packet.src, packet.dst, arrival.from);
            return Ok(egress);
        }
        if arrival.is_from_host() {
            let discovering = self.routing.discover(now, packet.dst);
            return Ok(discovering.then_some(Egress::Radio(Address::None)));
        }
        if self.routing.handle_stray(now, packet.dst, arrival.from) {
            return Err(Fate::Drop(Discard::NoRoute));
        }
        Ok(None)
    }

    /// Queues a packet that waits for route discovery; `None` if discovery is not in progress.
    pub(crate) fn await_route(
        &mut self,
        packet: PacketHandle,
        egress: Egress,
    ) -> Option<Result<(), Discard>> {
        if egress != Egress::Radio(Address::None) {
            return None;
        }
        let dst = self.destination_of(packet)?;
        self.routing.is_discovering(dst).then(|| self.park_unrouted(packet))
    }

    fn destination_of(&self, packet: PacketHandle) -> Option<Ipv6Addr> {
        Header::read(self.pool.get(packet)).ok().map(|header| header.dst)
    }

    fn park_unrouted(&mut self, packet: PacketHandle) -> Result<(), Discard> {
        if self.pool.free() < RESERVED {
            return Err(Discard::NoBuffer);
        }
        let is_full = |places: &[Option<PacketHandle>]| places.last().is_none_or(Option::is_some);
        if is_full(self.unrouted.as_mut_slice())
            && let Some(oldest) = self.take_unrouted(0)
        {
            self.discard(oldest, Discard::QueueFull);
        }
        let mut places = self.unrouted.as_mut_slice().iter_mut();
        *places.find(|place| place.is_none()).ok_or(Discard::QueueFull)? = Some(packet);
        Ok(())
    }

    /// Removes and returns a packet. Those behind it move up, so that the order stays.
    fn take_unrouted(&mut self, index: usize) -> Option<PacketHandle> {
        let rest = self.unrouted.as_mut_slice().get_mut(index..)?;
        let taken = rest.first_mut()?.take()?;
        rest.rotate_left(1);
        Some(taken)
    }

    fn discard(&mut self, packet: PacketHandle, reason: Discard) {
        self.stats.discard(reason);
        self.release(packet);
    }

    /// Processes new, lost and failed routes: sends waiting packets or reports them to their
    /// senders, and updates the next hops of packets that wait for the radio. A packet with
    /// external payload may have to wait from now on ([`Net::park`]).
    pub fn reroute(&mut self, now: Instant) {
        if !Self::DISCOVERS {
            return;
        }
        self.reroute_queued(now);
        self.reroute_external(now);
        // Each round removes one packet, or skips one.
        let mut index = 0_usize;
        while let Some(&Some(packet)) = self.unrouted.as_slice().get(index) {
            let header = Header::read(self.pool.get(packet)).ok();
            let egress = header.and_then(|header| self.egress(&header.dst));
            let waits = header.is_some_and(|header| self.routing.is_discovering(header.dst));
            if egress.is_none() && waits {
                index = index.saturating_add(1);
                continue;
            }
            let (Some(header), Some(_)) = (header, self.take_unrouted(index)) else { return };
            let sent = match egress {
                Some(egress) => {
                    self.routing.handle_use(now, header.src, header.dst, Address::None);
                    self.enqueue(now, packet, egress, Class::Data)
                }
                None => self.give_up(now, packet, &header),
            };
            if let Err(reason) = sent {
                self.discard(packet, reason);
            }
        }
    }

    /// Reports a failed route discovery to an upper layer of this node, or to the host.
    fn give_up(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        header: &Header,
    ) -> Result<(), Discard> {
        if !self.owns(&header.src) {
            return self.report_unreachable(now, packet);
        }
        let kind = Kind::DestinationUnreachable { code: unreachable::NO_ROUTE };
        if let Some(report) = self.believe(kind, header.src, self.pool.get(packet)) {
            self.errors.push_over(report);
        }
        Err(Discard::NoRoute)
    }

    /// Each packet is moved to the end of the queue once, so the order stays.
    fn reroute_queued(&mut self, now: Instant) {
        for _ in 0..self.output.len() {
            let Some(queued) = self.output.pop() else { return };
            let header = Header::read(self.pool.get(queued.packet)).ok();
            let Some(header) = header.filter(|header| self.routing.discovers(header.dst)) else {
                let _ = self.output.push(queued);
                continue;
            };
            let egress = match self.egress(&header.dst) {
                None if self.owns(&header.src) => self.own_egress(now, header.src, header.dst),
                // No local repair: the sender is notified.
                egress => egress,
            };
            let kept = match egress {
                Some(Egress::Radio(Address::None)) => self.park_unrouted(queued.packet),
                Some(Egress::Radio(next_hop)) => {
                    let _ = self.output.push(Queued { next_hop, ..queued });
                    Ok(())
                }
                Some(Egress::Host) | None => Err(Discard::NoRoute),
            };
            if let Err(reason) = kept {
                self.discard(queued.packet, reason);
            }
        }
    }

    fn reroute_external(&mut self, now: Instant) {
        let begun = self.current.is_some_and(|current| current.origin == Origin::External);
        let Some(external) = self.external.as_ref().filter(|_| !begun) else { return };
        let Ok(header) = Header::read(external.head()) else { return };
        if !self.routing.discovers(header.dst) {
            return;
        }
        // Without route discovery it keeps its next hop, and its loss is reported.
        if let Some(egress) = self.own_egress(now, header.src, header.dst)
            && let Some(external) = &mut self.external
        {
            external.egress = egress;
        }
    }
}
