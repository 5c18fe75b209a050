//! Packets out: what upper layers submit, the queues, and which datagram is next.
//!
//! One datagram at a time is cut into frames (`fragment.rs`), so that its fragments follow each
//! other. Packets in slots and the one packet with external payload take turns; ICMPv6 errors go
//! first, and before all of them what a child has asked for (`indirect.rs`). A slot is free again
//! when its last frame is written, whatever becomes of that frame.

use crate::codec::HeaderCompression;
use crate::config::Sizes;
use crate::net::Net;
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::{Discard, bump};
use crate::tables::Egress;
use core::net::Ipv6Addr;
use kinglet_mem::{Array, copy};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{self, Kind};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, Header, MIN_MTU, protocol};
use kinglet_wire::udp;

/// The most header octets that an upper layer may submit: a TCP header with all its options.
const MAX_UPPER: usize = 60;
const MAX_HEAD: usize = ipv6::HEADER_LEN + MAX_UPPER;

/// Payload behind the header octets of an [`Outgoing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<X> {
    /// None.
    None,
    /// It stays with its owner, who finds it by `key` when a frame needs it.
    External {
        /// What the owner calls it.
        key: X,
        /// Its length in octets.
        len: u16,
    },
}

/// A packet of an upper layer.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a, X> {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic Class: DSCP and ECN.
    pub traffic_class: u8,
    /// Flow Label, 20 bits.
    pub flow_label: u32,
    /// Protocol number of the upper layer.
    pub protocol: u8,
    /// The upper layer's header, at most 60 octets; it is copied.
    pub upper: &'a [u8],
    /// What follows it.
    pub body: Body<X>,
}

/// Why a packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// More than 60 header octets, or more than 1280 octets in all.
    TooLong,
    /// No route, or no source address of the right scope.
    NoRoute,
    /// The packet with external payload before this one is not out yet ([`Net::can_submit`]).
    Busy,
    /// No packet slot free for this use.
    NoBuffer,
    /// The output queue is full.
    QueueFull,
    /// The socket is not bound.
    NotBound,
}

/// External payload that no longer exists: its connection is gone, or the octets were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

/// The owner of external payload.
pub trait BodySource<X> {
    /// Fills `out` with the payload's octets from `offset` on. Never asked for octets beyond the
    /// length that was submitted.
    ///
    /// # Errors
    /// [`Stale`]: the rest of the packet is not sent.
    fn read(&self, key: X, offset: usize, out: &mut [u8]) -> Result<(), Stale>;
}

/// For layers that submit no external payload.
#[derive(Clone, Copy, Debug)]
pub struct NoBody;

impl<X> BodySource<X> for NoBody {
    fn read(&self, _: X, _: usize, _: &mut [u8]) -> Result<(), Stale> {
        Err(Stale)
    }
}

/// Datagrams that are remembered after their last frame was written: as many as a MAC of the usual
/// two or three slots holds frames of.
pub const FINISHED: usize = 2;

/// Names the datagram that a frame is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// How a frame competes at the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Everything else.
    Data,
    /// ICMPv6 errors.
    Control,
    /// To a neighbour that sleeps and has just asked for it: before everything else, because its
    /// radio is on until it comes.
    Indirect,
}

/// The next frame, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Link destination.
    pub dst: Address,
    /// Whether an acknowledgement is asked for: for all but broadcasts.
    pub ack: bool,
    /// Names the datagram, for [`Net::handle_outcome`].
    pub token: Token,
    /// How it competes.
    pub class: Class,
}

/// A packet in a slot that waits for its way out.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    pub(crate) packet: PacketHandle,
    next_hop: Address,
}

impl Queued {
    pub(crate) const fn new(packet: PacketHandle, next_hop: Address) -> Self {
        Queued { packet, next_hop }
    }
}

/// A packet with its header here and its payload elsewhere.
#[derive(Debug)]
pub(crate) struct External<X> {
    head: [u8; MAX_HEAD],
    head_len: u8,
    body: Body<X>,
    pub(crate) total: u16,
    pub(crate) egress: Egress,
}

impl<X: Copy> External<X> {
    pub(crate) fn head(&self) -> &[u8] {
        self.head.get(..usize::from(self.head_len)).unwrap_or_default()
    }

    /// Fills `out` with the packet's octets from `from` on.
    pub(crate) fn read(
        &self,
        source: &impl BodySource<X>,
        from: usize,
        out: &mut [u8],
    ) -> Result<(), Stale> {
        if let (Some(at), Body::External { key, .. }) =
            (from.checked_sub(usize::from(self.head_len)), self.body)
        {
            return source.read(key, at, out);
        }
        let head = self.head().get(from..).unwrap_or_default();
        let own = head.len().min(out.len());
        let (Some(head), Some((first, rest))) = (head.get(..own), out.split_at_mut_checked(own))
        else {
            return Err(Stale);
        };
        copy(first, head);
        match self.body {
            _ if rest.is_empty() => Ok(()),
            Body::None => Err(Stale),
            Body::External { key, .. } => source.read(key, 0, rest),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Slot(PacketHandle),
    External,
}

/// The datagram that is being cut into frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Current {
    pub(crate) origin: Origin,
    pub(crate) next_hop: Address,
    pub(crate) class: Class,
    pub(crate) total: u16,
    /// Octets of the uncompressed packet that are in written frames.
    pub(crate) sent: u16,
    pub(crate) token: u32,
}

impl Current {
    /// Whether an acknowledgement is asked for.
    pub(crate) fn ack(&self) -> bool {
        self.next_hop != Address::BROADCAST
    }

    /// Its next frame.
    pub(crate) fn pending(&self) -> Pending {
        let Current { next_hop: dst, class, token, .. } = *self;
        Pending { dst, ack: self.ack(), token: Token(token), class }
    }
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Whether [`Net::submit`] can take a packet: none with external payload is waiting or in
    /// progress. Ask for a segment only then, and it is formed when it can leave.
    pub const fn can_submit(&self) -> bool {
        self.external.is_none()
    }

    /// Takes a packet of an upper layer: its header is copied, its payload is not.
    ///
    /// # Errors
    /// [`SendError`]; nothing was taken.
    pub fn submit(&mut self, _now: Instant, packet: Outgoing<'_, X>) -> Result<(), SendError> {
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
        if upper.len() > MAX_UPPER || total > MIN_MTU {
            return Err(SendError::TooLong);
        }
        let egress = self.egress(&dst).ok_or(SendError::NoRoute)?;
        let payload_len = u16::try_from(payload).map_err(|_| SendError::TooLong)?;
        let total = u16::try_from(total).map_err(|_| SendError::TooLong)?;
        let head_len = ipv6::HEADER_LEN.saturating_add(upper.len());
        let head_len = u8::try_from(head_len).map_err(|_| SendError::TooLong)?;
        let next_header = protocol;
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        // Written where it stays.
        let external = External { head: [0; MAX_HEAD], head_len, body, total, egress };
        let head = &mut self.external.insert(external).head;
        // There is room for both.
        let _ = header.emit(head);
        copy(head.get_mut(ipv6::HEADER_LEN..).unwrap_or_default(), upper);
        Ok(())
    }

    /// Parks a packet in the queue of its way out; on an error its slot is still the caller's.
    pub(crate) fn enqueue(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
        class: Class,
    ) -> Result<(), Discard> {
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

    /// What the next frame of [`Net::poll_frame`] is; `None` if there is none. Ask right before
    /// polling: what is submitted or received in between may change the answer.
    pub fn pending(&self) -> Option<Pending> {
        let indirect = self.pending_indirect();
        if indirect.is_some() {
            return indirect;
        }
        match &self.current {
            Some(current) => Some(current.pending()),
            None if self.is_drained() => None,
            None => self.choose().map(|current| current.pending()),
        }
    }

    /// Whether nothing waits: the usual case, and this is asked at every turn of the loop.
    fn is_drained(&self) -> bool {
        self.external.is_none() && self.output.len() == 0 && self.control.len() == 0
    }

    /// What is next if nothing is in progress.
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
        self.output.front().map(|queued| self.of_slot(queued, Class::Data))
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

    /// Makes what is next the datagram in progress.
    pub(crate) fn begin(&mut self) -> Option<Current> {
        if self.current.is_none() {
            let chosen = self.choose()?;
            match (chosen.origin, chosen.class) {
                (Origin::External, _) => self.external_was_last = true,
                (Origin::Slot(_), Class::Control) => {
                    let _ = self.control.pop();
                }
                (Origin::Slot(_), _) => {
                    self.external_was_last = false;
                    let _ = self.output.pop();
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

    /// Learns what became of a frame. A frame that was not delivered ends its datagram, as the rest
    /// would only waste the channel; but one for a child is offered again when that asks. Answers
    /// the key of external payload that has got lost so, once; as long as no more than
    /// [`FINISHED`] such datagrams have been written after it.
    pub fn handle_outcome(&mut self, now: Instant, token: Token, delivered: bool) -> Option<X> {
        self.codec.handle_outcome(token, delivered);
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

    /// The key of the datagram in progress, if its payload is external.
    pub(crate) fn external_key(&self) -> Option<X> {
        match (self.current?.origin, self.external.as_ref()?.body) {
            (Origin::External, Body::External { key, .. }) => Some(key),
            _ => None,
        }
    }
}

/// Octets in front of the data; both headers have eight.
pub(crate) const HEAD: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;

/// The header in front of the data.
#[derive(Clone, Copy)]
pub(crate) enum Upper {
    Icmpv6(Kind),
    Udp { src_port: u16, dst_port: u16 },
}

/// What a packet's headers say.
#[derive(Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) upper: Upper,
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Headers with the usual hop limit.
    pub(crate) const fn headers(&self, src: Ipv6Addr, dst: Ipv6Addr, upper: Upper) -> Headers {
        Headers { src, dst, hop_limit: self.config.hop_limit, traffic_class: 0, upper }
    }

    /// Writes the headers of a packet whose data, `len` octets, lie in its slot behind the first
    /// [`HEAD`] octets. `None` if they are more than the slot holds.
    pub(crate) fn compose(
        &mut self,
        packet: PacketHandle,
        headers: &Headers,
        len: usize,
    ) -> Option<()> {
        let Headers { src, dst, hop_limit, traffic_class, upper } = *headers;
        let total = len.saturating_add(HEAD);
        let octets = self.pool.storage_mut(packet).get_mut(..total)?;
        let payload = total.saturating_sub(ipv6::HEADER_LEN);
        let payload_len = u16::try_from(payload).ok()?;
        let next_header = match upper {
            Upper::Icmpv6(_) => protocol::ICMPV6,
            Upper::Udp { .. } => protocol::UDP,
        };
        let header =
            Header { traffic_class, flow_label: 0, payload_len, next_header, hop_limit, src, dst };
        header.emit(octets).ok()?;
        let octets = octets.get_mut(ipv6::HEADER_LEN..)?;
        let pseudo = header.pseudo_header_sum(payload, next_header);
        match upper {
            Upper::Icmpv6(kind) => {
                kind.emit(octets).ok()?;
                icmpv6::fill_checksum(octets, pseudo).ok()?;
            }
            Upper::Udp { src_port, dst_port } => {
                let length = payload_len;
                udp::Header { src_port, dst_port, length, checksum: 0 }.emit(octets).ok()?;
                udp::fill_checksum(octets, pseudo).ok()?;
            }
        }
        self.pool.set_len(packet, total);
        Some(())
    }

    /// The same with a copy of `data`, in a slot of which so many others stay free.
    pub(crate) fn compose_with(
        &mut self,
        keep: usize,
        headers: &Headers,
        data: &[u8],
    ) -> Result<PacketHandle, SendError> {
        let packet = self.pool.alloc(keep).ok_or(SendError::NoBuffer)?;
        let room = self.pool.storage_mut(packet).get_mut(HEAD..).unwrap_or_default();
        copy(room, data);
        if self.compose(packet, headers, data.len()).is_none() {
            self.release(packet);
            return Err(SendError::TooLong);
        }
        Ok(packet)
    }

    /// Makes a packet and queues it.
    pub(crate) fn send_packet(
        &mut self,
        now: Instant,
        headers: &Headers,
        data: &[u8],
    ) -> Result<(), SendError> {
        if data.len().saturating_add(HEAD) > MIN_MTU.min(S::Storage::LEN) {
            return Err(SendError::TooLong);
        }
        let egress = self.egress(&headers.dst).ok_or(SendError::NoRoute)?;
        let packet = self.compose_with(RESERVED, headers, data)?;
        if self.enqueue(now, packet, egress, Class::Data).is_err() {
            self.release(packet);
            return Err(SendError::QueueFull);
        }
        Ok(())
    }
}
