//! IPv6 fragmentation (RFC 8200, 4.5): reassembly of packets for this node, and fragmentation of
//! own packets that are too long for some paths.
//!
//! Only as many packets are reassembled as the plan has entries ([`Sizes::Ipv6Fragments`]), and an
//! entry holds one packet slot. A flood of fragments takes entries, but none of a packet that is
//! about to be completed:
//!
//! * a first fragment that finds all entries in use may replace an abandoned packet, or the least
//!   recently continued one of its sender (a sender that begins a new packet has finished the old
//!   one), or the least recently continued one of all, if that is idle for longer than a fragment
//!   takes to arrive ([`NetConfig::reassembly_timeout`](crate::NetConfig::reassembly_timeout));
//! * later fragments of unknown packets take entries that are free or abandoned.
//!
//! Fragments that overlap, except in exact repetitions, end their packet silently, and its further
//! fragments are discarded (RFC 5722, 4). Headers in front of the Fragment header have been
//! processed when a fragment arrives: the reassembled packet is without them.

use super::input::{fault_fate, problem, walk};
use super::{Net, Sizes};
use crate::frame::Class;
use crate::incoming::{Arrival, Delivery, Fate, Ingress};
use crate::ipv6_partial::{Ipv6Fragments, Ipv6Partial, Ipv6Piece, MAX_FRAGMENTED_PACKET};
use crate::partial::Step;
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::{Discard, bump};
use crate::tables::Egress;
use kinglet_mem::{Array, move_within};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::icmpv6::{self, Kind, parameter};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Chain, Fault, Fragment, HEADER_LEN, Header, MIN_MTU, protocol};
use kinglet_wire::{tcp, udp};

/// Time from the first fragment of a packet to its expiry (RFC 8200, 4.5).
const TIMEOUT: Duration = Duration::from_secs(60);
/// Offset of the field Payload Length in a packet.
const PAYLOAD_LEN_OFFSET: usize = 4;
/// Octets in front of the data in fragments of this node.
const FRAGMENT_HEAD: usize = HEADER_LEN + Fragment::LEN;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns the octets of the longest packet that is reassembled, or sent.
    pub(crate) fn longest(&self) -> usize {
        let mtu = self.host_mtu();
        let most = if S::Ipv6Fragments::PLACES > 0 { mtu.max(MAX_FRAGMENTED_PACKET) } else { mtu };
        most.min(S::Storage::LEN)
    }

    /// Processes a fragment for this node; its slot is released or handed on.
    pub(crate) fn fragment_input(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        arrival: Arrival,
    ) -> Result<Option<Delivery>, Discard> {
        let complete = match self.put_together(now, packet, arrival) {
            Ok(complete) => complete,
            Err(fate) => return self.dispose(now, packet, arrival, fate).map(|()| None),
        };
        let Some(packet) = complete else { return Ok(None) };
        let octets = self.pool.get(packet);
        let Ok(header) = Header::read(octets) else {
            self.release(packet);
            return Err(Discard::Malformed);
        };
        let own = self.own_index(header.dst);
        let upper = walk::<S>(octets, &header);
        match self.local(now, packet, &header, upper, arrival) {
            Fate::Deliver(upper, protocol) => {
                bump(&mut self.stats.delivered);
                Ok(Some(Delivery { packet, header, own, upper, protocol }))
            }
            fate => self.dispose(now, packet, arrival, fate).map(|()| None),
        }
    }

    /// Stores a fragment. Returns the slot of the packet if it is now complete. On an error returns
    /// the fate of the fragment, whose slot still belongs to the caller.
    fn put_together(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        arrival: Arrival,
    ) -> Result<Option<PacketHandle>, Fate> {
        let octets = self.pool.get(packet);
        let piece = Ipv6Piece::read(octets).ok_or(Fate::Drop(Discard::Ipv6Fragment))?;
        if piece.fragment.more && piece.end % 8 != 0 {
            return Err(wrong_at(PAYLOAD_LEN_OFFSET));
        }
        let found =
            self.ipv6_partials().iter().position(|it| it.is_some_and(|it| it.is_of(&piece)));
        if usize::from(piece.end).saturating_add(HEADER_LEN) > self.longest() {
            return Err(self.refuse_length(now, found, &piece));
        }
        if piece.fragment.offset == 0 {
            check_first(octets, &piece)?;
        }
        let index = match found {
            Some(index) => index,
            None => {
                let index = self.begin_ipv6_partial(now, packet, &piece, arrival.broadcast)?;
                move_within(self.pool.storage_mut(packet), piece.octets(), piece.target().start);
                self.pool.set_len(packet, self.longest());
                index
            }
        };
        let place = self.fragments.ipv6_partials_mut().get_mut(index).and_then(Option::as_mut);
        let Some(partial) = place else { return Ok(None) };
        // The packet is abandoned, and so are its further fragments.
        let whole = partial.packet.ok_or(Fate::Drop(Discard::Ipv6Fragment))?;
        let same = whole != packet && {
            let (there, here) = (self.pool.get(whole), self.pool.get(packet));
            there.get(piece.target()) == here.get(piece.octets())
        };
        match partial.place(now, &piece, same) {
            Step::Duplicate => {
                bump(&mut self.stats.duplicate_fragments);
                Err(Fate::Done)
            }
            Step::Conflict => {
                bump(&mut self.stats.conflicting_fragments);
                partial.packet = None;
                self.release(whole);
                Err(Fate::Drop(Discard::Ipv6Fragment))
            }
            step => {
                if whole != packet {
                    self.keep_octets(whole, packet, &piece);
                }
                if let Step::Complete = step { self.finish_ipv6_partial(index) } else { Ok(None) }
            }
        }
    }

    fn ipv6_partials(&self) -> &[Option<Ipv6Partial>] {
        self.fragments.ipv6_partials()
    }

    /// Returns the fate of a fragment that ends beyond the longest packet. If the first one has
    /// arrived, which shows that the packet may be reported, the packet is abandoned and reported
    /// to its sender; otherwise its entry has to expire. The error quotes the first fragment, which
    /// identifies the packet for its sender, although RFC 8200, 4.5, demands the other one.
    fn refuse_length(&mut self, now: Instant, found: Option<usize>, piece: &Ipv6Piece) -> Fate {
        let place = found.and_then(|index| self.fragments.ipv6_partials_mut().get_mut(index));
        let known = place.and_then(Option::as_mut).filter(|partial| partial.first > 0);
        let Some((partial, whole)) = known.and_then(|it| Some((*it, it.packet.take()?))) else {
            return Fate::Drop(Discard::Ipv6Fragment);
        };
        if piece.end == u16::MAX {
            self.release(whole);
            return wrong_at(piece.at.saturating_add(Fragment::OFFSET_AT));
        }
        let pointer = HEADER_LEN.saturating_add(Fragment::OFFSET_AT);
        self.notify_sender(now, &partial, whole, problem(parameter::HEADER_FIELD, pointer));
        Fate::Drop(Discard::Ipv6Fragment)
    }

    /// Finds an entry for a packet whose octets will be in the slot of its first received fragment.
    fn begin_ipv6_partial(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        piece: &Ipv6Piece,
        broadcast: bool,
    ) -> Result<usize, Fate> {
        if self.pool.free() < RESERVED {
            return Err(Fate::Drop(Discard::NoBuffer));
        }
        let first = piece.fragment.offset == 0;
        let idle = self.config.reassembly_timeout;
        let mut best = None;
        for (index, place) in self.ipv6_partials().iter().enumerate() {
            let key = match place {
                None => (0, Instant::ZERO),
                Some(it) if it.packet.is_none() => (1, it.touched),
                Some(it) if first && it.src == piece.header.src => (2, it.touched),
                Some(it) if first && it.touched + idle <= now => (3, it.touched),
                Some(_) => continue,
            };
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, index));
            }
        }
        let (_, index) = best.ok_or(Fate::Drop(Discard::NoReassembly))?;
        if let Some(evicted) = self.take_ipv6_partial(index) {
            bump(&mut self.stats.evicted_reassemblies);
            self.release(evicted);
        }
        if let Some(place) = self.fragments.ipv6_partials_mut().get_mut(index) {
            *place = Some(Ipv6Partial::new(piece, packet, broadcast, now, now + TIMEOUT));
        }
        Ok(index)
    }

    /// Clears an entry. Returns the slot that it held.
    fn take_ipv6_partial(&mut self, index: usize) -> Option<PacketHandle> {
        self.fragments.ipv6_partials_mut().get_mut(index)?.take()?.packet
    }

    /// Copies the data of a fragment, and the header of the first one.
    fn keep_octets(&mut self, whole: PacketHandle, packet: PacketHandle, piece: &Ipv6Piece) {
        let header = 0..if piece.fragment.offset == 0 { HEADER_LEN } else { 0 };
        self.pool.copy(packet, header, whole, 0);
        self.pool.copy(packet, piece.octets(), whole, piece.target().start);
        self.release(packet);
    }

    /// Passes on a complete packet.
    fn finish_ipv6_partial(&mut self, index: usize) -> Result<Option<PacketHandle>, Fate> {
        let place = self.fragments.ipv6_partials_mut().get_mut(index).and_then(Option::take);
        let Some(Ipv6Partial { packet: Some(packet), size, .. }) = place else { return Ok(None) };
        let octets = self.pool.storage_mut(packet);
        let header = Header::read(octets).ok().zip(place).and_then(|(it, place)| place.header(&it));
        let Some(header) = header else {
            self.release(packet);
            return Ok(None);
        };
        // It was read from there.
        let _ = header.emit(octets);
        self.pool.set_len(packet, HEADER_LEN.saturating_add(size.into()));
        Ok(Some(packet))
    }

    /// Returns the time of the first expiry.
    pub(crate) fn ipv6_partials_deadline(&self) -> Option<Instant> {
        let places = self.ipv6_partials().iter().flatten();
        places.fold(None, |first, partial| earliest(first, Some(partial.expires)))
    }

    /// Removes expired packets, and reports those whose first fragment has arrived.
    pub(crate) fn expire_ipv6_partials(&mut self, now: Instant) {
        for index in 0..S::Ipv6Fragments::PLACES {
            let place = self.ipv6_partials().get(index).copied().flatten();
            let Some(partial) = place.filter(|it| it.expires <= now) else { continue };
            let Some(packet) = self.take_ipv6_partial(index) else { continue };
            bump(&mut self.stats.expired_reassemblies);
            // Fragment reassembly time exceeded.
            self.notify_sender(now, &partial, packet, Kind::TimeExceeded { code: 1 });
        }
    }

    /// Sends an error about an abandoned packet, if its first fragment has arrived; its slot is
    /// released or becomes the error.
    fn notify_sender(
        &mut self,
        now: Instant,
        partial: &Ipv6Partial,
        packet: PacketHandle,
        kind: Kind,
    ) {
        let arrival =
            Arrival { broadcast: partial.broadcast, ingress: Ingress::Here, from: Address::None };
        let notified = S::REPORTS_ERRORS
            && partial.first > 0
            && self.write_first(packet, partial).is_some()
            && self.send_error(now, packet, arrival, kind);
        if !notified {
            self.release(packet);
        }
    }

    /// Restores the first fragment from the stored octets.
    fn write_first(&mut self, packet: PacketHandle, partial: &Ipv6Partial) -> Option<()> {
        let Ipv6Partial { first, next_header, identification, .. } = *partial;
        let octets = self.pool.storage_mut(packet);
        let data = HEADER_LEN..HEADER_LEN.saturating_add(first.into());
        move_within(octets, data, FRAGMENT_HEAD)?;
        let fragment = Fragment { next_header, offset: 0, more: true, identification };
        write_head(octets, fragment, first.into())?;
        self.pool.set_len(packet, FRAGMENT_HEAD.saturating_add(first.into()));
        Some(())
    }

    /// Queues a packet of this node; one that is too long for some paths goes in two fragments. If
    /// only the first of them finds room, it is sent all the same, like one whose second
    /// fragment is lost. On an error the slot still belongs to the caller.
    pub(crate) fn enqueue_own(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
    ) -> Result<(), Discard> {
        if S::Ipv6Fragments::PLACES == 0 || self.pool.get(packet).len() <= self.host_mtu() {
            return self.enqueue_added(now, packet, egress, Class::Data);
        }
        let rest = self.pool.alloc(RESERVED).ok_or(Discard::NoBuffer)?;
        let first = match self.cut(packet, rest) {
            Some(()) => self.enqueue_added(now, packet, egress, Class::Data),
            None => Err(Discard::TooBig),
        };
        let second = first.and_then(|()| self.enqueue_added(now, rest, egress, Class::Data));
        if let Err(reason) = second {
            self.release(rest);
            if first.is_ok() {
                self.stats.discard(reason);
            }
        }
        first
    }

    /// Cuts a packet in two fragments, the first as long as every path allows; the other is written
    /// to the slot `rest`.
    fn cut(&mut self, packet: PacketHandle, rest: PacketHandle) -> Option<()> {
        // A multiple of eight: 1232.
        const FIRST: usize = MIN_MTU - FRAGMENT_HEAD;
        let header = Header::read(self.pool.get(packet)).ok()?;
        let seed = u32::from(self.config.first_tag);
        let identification = self.fragments.identify() ^ (seed << 16 | seed);
        let next_header = header.next_header;
        let middle = HEADER_LEN.saturating_add(FIRST);
        let end = header.total_len();
        let more = end.checked_sub(middle)?;
        self.pool.copy(packet, 0..HEADER_LEN, rest, 0)?;
        self.pool.copy(packet, middle..end, rest, FRAGMENT_HEAD)?;
        let offset = u16::try_from(FIRST).ok()?;
        let last = Fragment { next_header, offset, more: false, identification };
        write_head(self.pool.storage_mut(rest), last, more)?;
        self.pool.set_len(rest, FRAGMENT_HEAD.saturating_add(more));
        let octets = self.pool.storage_mut(packet);
        move_within(octets, HEADER_LEN..middle, FRAGMENT_HEAD)?;
        let first = Fragment { next_header, offset: 0, more: true, identification };
        write_head(octets, first, FIRST)?;
        self.pool.set_len(packet, MIN_MTU);
        Some(())
    }
}

/// Changes an IPv6 header to that of a fragment with `len` octets of its packet, and adds the
/// Fragment header.
fn write_head(octets: &mut [u8], fragment: Fragment, len: usize) -> Option<()> {
    let header = Header::read(octets).ok()?;
    let payload_len = u16::try_from(len.saturating_add(Fragment::LEN)).ok()?;
    let next_header = protocol::FRAGMENT;
    Header { payload_len, next_header, ..header }.emit(octets).ok()?;
    fragment.emit(octets.get_mut(HEADER_LEN..)?).ok()
}

/// Reports to the sender that the field at this offset is wrong.
fn wrong_at(pointer: usize) -> Fate {
    Fate::Report(Discard::Ipv6Fragment, problem(parameter::HEADER_FIELD, pointer))
}

/// Checks that the first fragment contains all headers (RFC 7112, 5), no nested fragment, and no
/// message that is never sent in fragments: errors fit into the minimum MTU (RFC 4443, 2.4 (c)),
/// and neighbour discovery must (RFC 6980, 5).
fn check_first(packet: &[u8], piece: &Ipv6Piece) -> Result<(), Fate> {
    let discard = Discard::Ipv6Fragment;
    let incomplete = || Fate::Report(discard, INCOMPLETE);
    let mut chain = Chain::new(packet, piece.header.next_header);
    let mut named_at = 0;
    for extension in &mut chain {
        let extension = match extension {
            Ok(extension) => extension,
            Err(Fault::Truncated) => return Err(incomplete()),
            Err(fault) => return Err(fault_fate(fault)),
        };
        let nested = extension.kind == protocol::FRAGMENT && !extension.is_atomic();
        if nested && extension.offset != piece.at {
            return Err(Fate::Report(discard, problem(parameter::NEXT_HEADER, named_at)));
        }
        named_at = extension.offset;
    }
    let upper = packet.get(chain.offset()..).unwrap_or_default();
    let least = match chain.next_header() {
        protocol::TCP => tcp::MIN_HEADER_LEN,
        protocol::UDP => udp::HEADER_LEN,
        protocol::ICMPV6 => icmpv6::HEADER_LEN,
        _ => 0,
    };
    if upper.len() < least {
        return Err(incomplete());
    }
    match upper.first() {
        Some(0..icmpv6::FIRST_INFORMATIONAL | 133..=137)
            if chain.next_header() == protocol::ICMPV6 =>
        {
            Err(Fate::Drop(discard))
        }
        _ => Ok(()),
    }
}

const INCOMPLETE: Kind = Kind::ParameterProblem { code: parameter::INCOMPLETE_CHAIN, pointer: 0 };
