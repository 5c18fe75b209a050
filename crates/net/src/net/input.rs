//! Input of frames and packets: expansion, the checks of RFC 8200 for this node, delivery.

use super::fragment::Fragmentation;
use super::{Net, Sizes};
use crate::codec::{HeaderCompression, Hop};
use crate::discovery::{Discovery, UNKNOWN_CONTEXT};
use crate::frame::FrameIn;
use crate::incoming::{Arrival, Delivery, Fate, Ingress};
use crate::ipv6_partial::Ipv6Fragments;
use crate::pool::PacketHandle;
use crate::stats::{Discard, bump};
use core::ops::Range;
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, parameter};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{
    Action, AddressType, Chain, Fault, Header, NEXT_HEADER_OFFSET, Options, is_link_local, protocol,
};
use kinglet_wire::rpl::PacketInformation;
use kinglet_wire::sixlowpan::Dispatch;
use kinglet_wire::sixlowpan::routed::PAGE_1;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Stores a fragment that continues a datagram and does not end it, as most frames do. Returns
    /// whether the frame was one. In that case nothing else changes: there is no new output, and
    /// [`Net::deadline`] stays as it is. All other frames are for [`Net::handle_frame`].
    pub fn keep_fragment(&mut self, now: Instant, frame: &FrameIn<'_>) -> bool {
        let kept = S::Fragmentation::keep(self, now, frame);
        if kept {
            bump(&mut self.stats.frames_in);
        }
        kept
    }

    /// Processes a frame from the MAC.
    ///
    /// # Errors
    /// The reason of the discard; also counted in [`Net::stats`].
    pub fn handle_frame(
        &mut self,
        now: Instant,
        frame: FrameIn<'_>,
    ) -> Result<Option<Delivery>, Discard> {
        bump(&mut self.stats.frames_in);
        let result = self.dispatch(now, frame);
        if let Err(reason) = result {
            self.stats.discard(reason);
        }
        result
    }

    fn dispatch(&mut self, now: Instant, frame: FrameIn<'_>) -> Result<Option<Delivery>, Discard> {
        if S::Routing::EXTENDS {
            self.routing.handle_arrival(frame.src);
        }
        let broadcast = frame.dst == Address::BROADCAST;
        let own = frame.dst == self.config.link || frame.dst == self.config.alias;
        if !broadcast && (!own || frame.dst == Address::None) {
            return Err(Discard::NotOurFrame);
        }
        match Dispatch::of(frame.payload) {
            Some(Dispatch::FirstFragment | Dispatch::NextFragment) => {
                S::Fragmentation::handle_fragment(self, now, frame)
            }
            Some(kind) if Self::compresses(kind, frame.payload) => {
                let packet = self.pool.alloc(0).ok_or(Discard::NoBuffer)?;
                match self.expand(now, packet, &frame) {
                    Ok(()) => self.input(
                        now,
                        packet,
                        Arrival { broadcast, ingress: Ingress::Radio, from: frame.src },
                    ),
                    Err(reason) => {
                        self.release(packet);
                        Err(reason)
                    }
                }
            }
            Some(Dispatch::Ipv6) => {
                let octets = frame.payload.get(1..).unwrap_or_default();
                let packet = self.store(octets).ok_or(Discard::NoBuffer)?;
                self.input(
                    now,
                    packet,
                    Arrival { broadcast, ingress: Ingress::Radio, from: frame.src },
                )
            }
            _ => Err(Discard::Dispatch),
        }
    }

    /// Returns whether compressed headers follow.
    pub(crate) fn compresses(kind: Dispatch, payload: &[u8]) -> bool {
        kind == Dispatch::Iphc || S::Routing::EXTENDS && payload.first() == Some(&PAGE_1)
    }

    /// Passes the DODAG to the header compression.
    pub(crate) fn notify_codec(&mut self) {
        if S::Routing::EXTENDS {
            self.codec.handle_dodag(self.routing.dodag());
        }
    }

    fn expand(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        frame: &FrameIn<'_>,
    ) -> Result<(), Discard> {
        self.notify_codec();
        let storage = self.pool.storage_mut(packet);
        let hop = Hop { src: frame.src, dst: frame.dst, contexts: self.contexts.as_slice() };
        let done = self.codec.expand(frame.payload, hop, None, storage);
        if S::Discovery::PRESENT && done == UNKNOWN_CONTEXT {
            self.discovery.handle_unknown_context(now);
        }
        let done = done.map_err(|_| Discard::Compression)?;
        let rest = frame.payload.get(done.consumed..).unwrap_or_default();
        let len = done.written.saturating_add(rest.len());
        let room = storage.get_mut(done.written..len).ok_or(Discard::TooBig)?;
        copy(room, rest);
        self.pool.set_len(packet, len);
        Ok(())
    }

    /// Returns a slot with as much of `octets` as it can hold.
    pub(crate) fn store(&mut self, octets: &[u8]) -> Option<PacketHandle> {
        let packet = self.pool.alloc(0)?;
        let storage = self.pool.storage_mut(packet);
        let len = storage.len().min(octets.len());
        if let (Some(to), Some(from)) = (storage.get_mut(..len), octets.get(..len)) {
            copy(to, from);
        }
        self.pool.set_len(packet, octets.len());
        Some(packet)
    }

    /// Processes a whole packet. Errors are not counted here; its slot is released or handed on.
    pub(crate) fn input(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        mut arrival: Arrival,
    ) -> Result<Option<Delivery>, Discard> {
        bump(&mut self.stats.packets_in);
        if S::Routing::EXTENDS
            && let Some(fate) = self.unwrap(now, packet, &mut arrival)
        {
            return self.dispose(now, packet, arrival, fate).map(|()| None);
        }
        let octets = self.pool.get(packet);
        let Ok(header) = Header::read(octets) else {
            self.release(packet);
            return Err(Discard::Malformed);
        };
        // Octets beyond the announced payload are padding.
        let len = header.total_len();
        let Some(octets) = octets.get(..len) else {
            self.release(packet);
            return Err(Discard::Malformed);
        };
        // No link carries longer packets; longer slots are for reassembled packets.
        if S::Storage::LEN > self.mtu() && len > self.mtu() {
            self.release(packet);
            return Err(Discard::TooBig);
        }
        let own = self.own_index(header.dst);
        let accepted = own.is_some() || header.dst.is_multicast() && self.is_member(header.dst);
        let upper = accepted.then(|| walk::<S>(octets, &header));
        self.pool.set_len(packet, len);
        match self.judge(now, packet, &header, upper, arrival) {
            Fate::Deliver(upper, protocol) => {
                bump(&mut self.stats.delivered);
                Ok(Some(Delivery { packet, header, own, upper, protocol }))
            }
            Fate::Report(Discard::Ipv6Fragment, _) | Fate::Drop(Discard::Ipv6Fragment)
                if S::Ipv6Fragments::PLACES > 0 =>
            {
                self.fragment_input(now, packet, arrival)
            }
            fate => self.dispose(now, packet, arrival, fate).map(|()| None),
        }
    }

    /// Ends a packet that is not delivered: releases its slot or reports an error.
    pub(crate) fn dispose(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        arrival: Arrival,
        fate: Fate,
    ) -> Result<(), Discard> {
        let result = match fate {
            Fate::Moved => return Ok(()),
            Fate::Report(reason, kind) => {
                if S::REPORTS_ERRORS && self.send_error(now, packet, arrival, kind) {
                    return Err(reason);
                }
                Err(reason)
            }
            Fate::Drop(reason) => Err(reason),
            Fate::Deliver(..) | Fate::Done => Ok(()),
        };
        self.release(packet);
        result
    }

    /// Returns whether no radio neighbour sent a packet. The program contains none of this if all
    /// packets come from radio neighbours.
    pub(crate) fn is_foreign(arrival: Arrival) -> bool {
        (S::Host::LEN > 0 || S::Routing::EXTENDS) && arrival.ingress != Ingress::Radio
    }

    fn judge(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        upper: Option<Result<Upper, Fate>>,
        arrival: Arrival,
    ) -> Fate {
        let Header { src, dst, .. } = header;
        // RFC 4291, 2.5.2, 2.5.3, 2.7: these never occur on a link. Packets of this node come back
        // only in a routing loop.
        let (from, to) = (AddressType::of(src), AddressType::of(dst));
        let never = matches!(from, AddressType::Multicast | AddressType::Loopback)
            || matches!(to, AddressType::Unspecified | AddressType::Loopback);
        let returns = self.owns(src);
        if Self::DISCOVERS && returns {
            self.routing.handle_loop(now, *dst);
        }
        if never || returns {
            return Fate::Drop(Discard::Address);
        }
        let links = is_link_local(*src) || is_link_local(*dst) || to == AddressType::Multicast;
        if links && Self::is_foreign(arrival) && !arrival.is_from_host() {
            return Fate::Drop(Discard::Ingress);
        }
        self.note_source(now, src, arrival);
        if let Some(upper) = upper {
            self.local(now, handle, header, upper, arrival)
        } else if !S::FORWARDS
            || to == AddressType::Multicast
            || arrival.broadcast
            || !self.config.forward
        {
            Fate::Drop(Discard::NotForUs)
        } else {
            self.forward(now, handle, header, arrival)
        }
    }

    pub(super) fn local(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        upper: Result<Upper, Fate>,
        arrival: Arrival,
    ) -> Fate {
        let Upper { protocol, range: upper, field } = match upper {
            Ok(upper) => upper,
            Err(fate) => return fate,
        };
        match protocol {
            protocol::TCP if header.dst.is_multicast() => Fate::Drop(Discard::Address),
            protocol::TCP => Fate::Deliver(upper, protocol),
            protocol::UDP => self.udp_input(handle, header, upper, arrival),
            protocol::ICMPV6 => self.icmp_input(now, handle, header, upper, arrival),
            protocol::NONE => Fate::Done,
            _ => {
                let code = parameter::NEXT_HEADER;
                Fate::Report(Discard::Protocol, problem(code, field))
            }
        }
    }
}

/// Upper layer behind a packet's extension headers.
pub(super) struct Upper {
    protocol: u8,
    range: Range<usize>,
    /// The offset of the field that names the protocol.
    field: usize,
}

/// Checks the extension headers of a packet for this node.
pub(super) fn walk<S: Sizes>(packet: &[u8], header: &Header) -> Result<Upper, Fate> {
    let mut chain = Chain::new(packet, header.next_header);
    // Offset of the field that names the type of the next header.
    let mut field = NEXT_HEADER_OFFSET;
    for extension in &mut chain {
        let extension = extension.map_err(fault_fate)?;
        let named_at = core::mem::replace(&mut field, extension.offset);
        match extension.kind {
            protocol::HOP_BY_HOP | protocol::DESTINATION => {
                check_options::<S>(extension.options(), header)?;
            }
            // RFC 8200, 4.4: with no segments left, the header is ignored.
            protocol::ROUTING if extension.segments_left() > 0 => {
                let kind = problem(parameter::HEADER_FIELD, extension.offset.saturating_add(2));
                return Err(Fate::Report(Discard::RoutingHeader, kind));
            }
            // A whole packet with a Fragment header is no fragment (RFC 6946). If fragments are not
            // reassembled, the header is an unrecognised one (RFC 8200, 4). One error is enough for
            // all fragments, and only the first shows that the packet is not itself an error.
            protocol::FRAGMENT if !extension.is_atomic() => {
                let kind = problem(parameter::NEXT_HEADER, named_at);
                let fragment = Discard::Ipv6Fragment;
                let first = extension.is_first();
                return Err(if first {
                    Fate::Report(fragment, kind)
                } else {
                    Fate::Drop(fragment)
                });
            }
            _ => {}
        }
    }
    let range = chain.offset()..packet.len();
    Ok(Upper { protocol: chain.next_header(), range, field: chain.next_header_field() })
}

pub(super) fn problem(code: u8, pointer: usize) -> Kind {
    Kind::ParameterProblem { code, pointer: u32::try_from(pointer).unwrap_or(u32::MAX) }
}

pub(super) fn fault_fate(fault: Fault) -> Fate {
    match fault {
        Fault::HopByHopNotFirst(field) => {
            Fate::Report(Discard::Extensions, problem(parameter::NEXT_HEADER, field))
        }
        Fault::Truncated | Fault::TooMany => Fate::Drop(Discard::Extensions),
    }
}

/// No option but routing's is implemented, so all others are unrecognised (RFC 8200, 4.2).
//= rfc9293#MUST-50
pub(crate) fn check_options<S: Sizes>(options: Options<'_>, header: &Header) -> Result<(), Fate> {
    for option in options {
        let Ok(option) = option else { return Err(Fate::Drop(Discard::Options)) };
        if S::Routing::EXTENDS && PacketInformation::is_type(option.kind) {
            continue;
        }
        let report = problem(parameter::OPTION, option.offset);
        match option.action() {
            Action::Skip => {}
            Action::Report => return Err(Fate::Report(Discard::Options, report)),
            Action::ReportUnlessMulticast if !header.dst.is_multicast() => {
                return Err(Fate::Report(Discard::Options, report));
            }
            Action::Discard | Action::ReportUnlessMulticast => {
                return Err(Fate::Drop(Discard::Options));
            }
        }
    }
    Ok(())
}
