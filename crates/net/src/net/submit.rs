//! Output of packets: submissions of upper layers, the queues, and the choice of the next datagram.
//!
//! One datagram at a time is cut into frames (`fragment.rs`), so that its fragments follow each
//! other. Packets in slots and the one packet with external payload alternate; ICMPv6 errors
//! precede them, and frames that a child has polled for precede all (`indirect.rs`). A slot is
//! released when its last frame is written, regardless of the frame's result.

use super::fragment::Fragmentation;
use super::header_build::{HEAD, Headers};
use super::{Head, Net, Sizes};
use crate::border::Border;
use crate::codec::HeaderCompression;
use crate::frame::{Class, Pending, Token};
use crate::outgoing::{Body, Current, External, MAX_UPPER, Origin, Outgoing};
use crate::outgoing::{Queued, SendError};
use crate::pool::{PacketHandle, RESERVED};
use crate::relay::Relaying;
use crate::stats::{Discard, bump};
use crate::tables::Egress;
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, Header};

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns whether [`Net::submit`] accepts a packet: no other with external payload is waiting
    /// or in progress. A segment should be formed only then, when it can leave.
    pub const fn can_submit(&self) -> bool {
        self.external.is_none()
    }

    /// Accepts a packet of an upper layer: its header is copied, its payload is not.
    ///
    /// # Errors
    /// [`SendError`]; the packet was not accepted.
    pub fn submit(&mut self, now: Instant, packet: Outgoing<'_, X>) -> Result<(), SendError> {
        if !self.can_submit() {
            return Err(SendError::Busy);
        }
        let Outgoing { src, dst, hop_limit, traffic_class, flow_label, protocol, upper, body } =
            packet;
        let body_len = match body {
            Body::None => 0,
            Body::External { len, .. } => usize::from(len),
        };
        let payload = upper.len().saturating_add(body_len);
        let total = payload.saturating_add(ipv6::HEADER_LEN);
        if upper.len() > MAX_UPPER || total > self.host_mtu() {
            return Err(SendError::TooLong);
        }
        let Some(egress) = self.own_egress(now, src, dst) else { return Err(SendError::NoRoute) };
        let payload_len = u16::try_from(payload).map_err(|_| SendError::TooLong)?;
        let total = u16::try_from(total).map_err(|_| SendError::TooLong)?;
        let head_len = ipv6::HEADER_LEN.saturating_add(upper.len());
        let head_len = u8::try_from(head_len).map_err(|_| SendError::TooLong)?;
        let next_header = protocol;
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        self.note_use(now, dst);
        self.note_own(dst);
        // Written directly into its final place.
        let head = Head::<S>::EMPTY;
        let external = External { head, head_len, body, total, egress };
        let head = self.external.insert(external).head.as_mut_slice();
        // Both fit.
        let _ = header.emit(head);
        copy(head.get_mut(ipv6::HEADER_LEN..).unwrap_or_default(), upper);
        if S::Routing::EXTENDS {
            let Some(mut external) = self.external.take() else { return Ok(()) };
            self.add_to_head(&header, &packet, &mut external)?;
            self.external = Some(external);
        }
        Ok(())
    }

    /// Queues a packet for its egress. On an error its slot still belongs to the caller.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
        class: Class,
    ) -> Result<(), Discard> {
        if Self::DISCOVERS
            && let Some(parked) = self.await_route(packet, egress)
        {
            return parked;
        }
        if let Some(parked) = self.await_resolution(now, packet, egress) {
            return parked;
        }
        if let Egress::Radio(Address::Short(next_hop)) = egress
            && self.is_child(next_hop)
        {
            return self.park_for_child(now, packet, next_hop);
        }
        let keep = if class == Class::Control { 1 } else { RESERVED };
        if self.pool.free() < keep {
            return Err(Discard::NoBuffer);
        }
        let taken = match (egress, class) {
            (Egress::Host, _) => self.host.push(Queued { packet, next_hop: Address::None }),
            (Egress::Radio(next_hop), Class::Control) => {
                self.control.push(Queued { packet, next_hop })
            }
            (Egress::Radio(next_hop), _) => self.output.push(Queued { packet, next_hop }),
        };
        if taken { Ok(()) } else { Err(Discard::QueueFull) }
    }

    /// Describes the next frame of [`Net::poll_frame`]; `None` if there is none. To be called right
    /// before polling: submissions and input in between may change the result.
    pub fn pending(&self) -> Option<Pending> {
        self.pending_for(|_| true)
    }

    /// Does the same for frames to neighbours that are `wanted`, as others may be busy.
    pub fn pending_for(&self, wanted: impl Fn(Address) -> bool) -> Option<Pending> {
        let indirect = self.pending_indirect();
        if indirect.is_some() {
            return indirect;
        }
        if <S::Fragmentation as Fragmentation>::Relay::PRESENT {
            return self.own_or_relayed(wanted);
        }
        self.pending_own()
    }

    /// Returns the next frame of own packets and of packets that are queued as a whole.
    fn pending_own(&self) -> Option<Pending> {
        match &self.current {
            Some(current) => Some(current.pending()),
            None if self.is_drained() => None,
            None => self.choose().map(|current| current.pending()),
        }
    }

    /// Own frames and relayed ones alternate, among those for wanted neighbours.
    fn own_or_relayed(&self, wanted: impl Fn(Address) -> bool) -> Option<Pending> {
        let own = self.pending_own().filter(|own| wanted(own.dst));
        let own_first = self.relay.get().is_none_or(|relay| relay.was_last);
        match own {
            Some(own) if own_first => Some(own),
            own => self.pending_relayed(wanted).or(own),
        }
    }

    /// Returns whether all queues are empty: the usual case, which every turn of the loop checks.
    fn is_drained(&self) -> bool {
        let waits = S::Border::PRESENT && self.border.front().is_some();
        self.external.is_none() && self.output.len() == 0 && self.control.len() == 0 && !waits
    }

    /// Returns the next datagram if none is in progress.
    fn choose(&self) -> Option<Current> {
        if let Some(queued) = self.control.front() {
            return Some(self.of_slot(queued, Class::Control));
        }
        if self.external_was_last {
            self.choose_queued().or_else(|| self.choose_external())
        } else {
            self.choose_external().or_else(|| self.choose_queued())
        }
    }

    fn choose_queued(&self) -> Option<Current> {
        let relayed = self.output.front();
        let from_host = if S::Border::PRESENT { self.border.front() } else { None };
        let queued = match (relayed, from_host) {
            (Some(relayed), Some(_)) if self.border.yields() => Some(relayed),
            (relayed, from_host) => from_host.or(relayed),
        };
        queued.map(|queued| self.of_slot(queued, Class::Data))
    }

    fn of_slot(&self, queued: Queued, class: Class) -> Current {
        Current {
            origin: Origin::Slot(queued.packet),
            next_hop: queued.next_hop,
            class,
            total: u16::try_from(self.pool.get(queued.packet).len()).unwrap_or(u16::MAX),
            sent: 0,
            token: self.next_token,
        }
    }

    fn choose_external(&self) -> Option<Current> {
        let external = self.external.as_ref()?;
        let Egress::Radio(next_hop) = external.egress else { return None };
        Some(Current {
            origin: Origin::External,
            next_hop,
            class: Class::Data,
            total: external.total,
            sent: 0,
            token: self.next_token,
        })
    }

    /// Makes the next datagram the one in progress.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Current> {
        if self.current.is_none() {
            let chosen = self.choose()?;
            match (chosen.origin, chosen.class) {
                (Origin::External, _) => self.external_was_last = true,
                (Origin::Slot(_), Class::Control) => {
                    let _ = self.control.pop();
                }
                (Origin::Slot(packet), _) => {
                    self.external_was_last = false;
                    self.leave_queue(now, packet);
                }
            }
            self.next_token = self.next_token.wrapping_add(1);
            self.current = Some(chosen);
        }
        self.current
    }

    pub(crate) fn end(&mut self, now: Instant) {
        match self.current.take().map(|current| current.origin) {
            Some(Origin::Slot(packet)) => self.release(packet),
            Some(Origin::External) => self.external = None,
            None => {}
        }
        self.note_departure(now);
    }

    /// Processes the result of a frame. An undelivered frame ends its datagram, as the rest would
    /// only waste the channel; but a frame for a child is offered again at its next data request.
    /// Returns the key of external payload of a lost datagram, once, as long as at most
    /// [`FINISHED`](crate::FINISHED) such datagrams have been written after it.
    pub fn handle_outcome(&mut self, now: Instant, token: Token, delivered: bool) -> Option<X> {
        if self.relayed_outcome(now, token, delivered) {
            return None;
        }
        self.codec.handle_outcome(token, delivered);
        if S::Border::PRESENT && self.current.as_ref().is_none_or(|c| c.token != token.0) {
            self.border.note_sent(now, token.0);
        }
        if self.indirect_outcome(now, token, delivered) || delivered {
            return None;
        }
        if self.current.as_ref().is_some_and(|current| current.token == token.0) {
            bump(&mut self.stats.cancelled);
            let key = self.external_key();
            self.end(now);
            return key;
        }
        let of_token = |finished: &&mut Option<(u32, X)>| finished.is_some_and(|f| f.0 == token.0);
        self.finished.iter_mut().find(of_token)?.take().map(|(_, key)| key)
    }

    /// Returns the key of external payload, if `token` names the last completely written datagram
    /// with such payload.
    pub fn key_of(&self, token: Token) -> Option<X> {
        let newest = self.finished.first().copied().flatten()?;
        (newest.0 == token.0).then_some(newest.1)
    }

    /// Returns the key of the datagram in progress, if its payload is external.
    pub(crate) fn external_key(&self) -> Option<X> {
        match (self.current?.origin, self.external.as_ref()?.body) {
            (Origin::External, Body::External { key, .. }) => Some(key),
            _ => None,
        }
    }

    /// Creates a packet and queues it.
    pub(crate) fn send_packet(
        &mut self,
        now: Instant,
        headers: &Headers,
        data: &[u8],
    ) -> Result<(), SendError> {
        if data.len().saturating_add(HEAD) > self.longest() {
            return Err(SendError::TooLong);
        }
        let egress = self.own_egress(now, headers.src, headers.dst);
        let Some(egress) = egress else { return Err(SendError::NoRoute) };
        let packet = self.allocate_packet(RESERVED, headers, data)?;
        self.note_own(headers.dst);
        if self.enqueue_own(now, packet, egress).is_err() {
            self.release(packet);
            return Err(SendError::QueueFull);
        }
        Ok(())
    }
}
