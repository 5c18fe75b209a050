//! Forwarding of single fragments (RFC 8930): the source of a packet fragments it and its
//! destination reassembles it. The first fragment is routed, the others follow it by their tag.
//!
//! A relay reassembles, as in RFC 4944, the packets whose treatment does not follow from the first
//! fragment alone: packets with extension headers that concern it or to which routing adds
//! something, and those that cause an ICMPv6 error.
//!
//! While fragments are forwarded, whole packets use the same store: a packet that this node
//! forwards is cut into frames at once, so that one queue keeps everything in order.

use super::fragment::{Cut, Datagram, Fragmentation, Rfc4944};
use super::{Net, Sizes};
use crate::codec::{HeaderCompression, Hop};
use crate::discovery::Discovery;
use crate::frame::{Class, FrameIn, FrameOut, Pending, Token};
use crate::incoming::{Arrival, Delivery, Ingress};
use crate::pool::PacketHandle;
use crate::relay::{Relay, RelayStats, Relaying, Virtual, count};
use crate::stats::{Discard, bump};
use crate::tables::Egress;
use core::fmt::Debug;
use core::marker::PhantomData;
use kinglet_flash::{Event, Geometry};
use kinglet_mem::{Array, copy};
use kinglet_routing::Routing;
use kinglet_store::{Label, MAX_PAYLOAD, Store, Submission};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{HOP_LIMIT_OFFSET, Header, is_link_local, protocol};
use kinglet_wire::sixlowpan::FragmentHeader;

/// Tokens of relayed frames have this above the tag of their datagram. Those of own datagrams count
/// up from a random 16-bit number, and reach it after four billion.
const RELAYED: u32 = 0xffff_0000;

/// Forwards single fragments (RFC 8930), once [`Net::relay_frames`] has been called; until then
/// this is [`Rfc4944`]. `V` has an entry for each datagram in transit through this node, `Q` stores
/// frames ([`kinglet_store`]).
#[derive(Clone, Copy, Debug)]
pub struct Rfc8930<V, Q>(PhantomData<(V, Q)>);

impl<V: Array<Option<Virtual>> + Debug, Q: Store + Debug> Fragmentation for Rfc8930<V, Q> {
    type Relay = Relay<V, Q>;
    const NEXT_LEN: usize = Rfc4944::NEXT_LEN;

    fn first(datagram: Datagram, written: usize, covered: usize, room: &mut [u8]) -> Option<Cut> {
        Rfc4944::first(datagram, written, covered, room)
    }

    fn next(datagram: Datagram, sent: u16, room: &mut [u8]) -> Option<Cut> {
        Rfc4944::next(datagram, sent, room)
    }

    fn keep<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant, frame: &FrameIn<'_>) -> bool {
        Rfc4944::keep(net, now, frame)
    }

    fn handle_fragment<S: Sizes, X: Copy>(
        net: &mut Net<S, X>,
        now: Instant,
        frame: FrameIn<'_>,
    ) -> Result<Option<Delivery>, Discard> {
        match net.relay_fragment(now, &frame)? {
            true => Ok(None),
            false => net.reassemble(now, frame),
        }
    }

    fn deadline<S: Sizes, X: Copy>(net: &Net<S, X>) -> Option<Instant> {
        let relayed = net.relay.get().and_then(Relay::deadline);
        earliest(relayed, Rfc4944::deadline(net))
    }

    fn handle_deadline<S: Sizes, X: Copy>(net: &mut Net<S, X>, now: Instant) {
        if let Some(relay) = net.relay.get_mut() {
            relay.expire(now);
        }
        Rfc4944::handle_deadline(net, now);
    }
}

/// Divisor of the part of a store that is reserved for others while one neighbour fills it.
/// Otherwise a burst in every wake-up would take each entry that becomes free.
const SHARE_FOR_OTHERS: usize = 4;
/// Two neighbours whose stores are full of frames for each other would wait for ever. So an eighth
/// of a store is reserved for frames from the neighbour to which most waiting frames go: if each
/// node does that, each can accept frames from the other.
const SHARE_KEPT: usize = 8;
/// Minimum of that reserve in frames: a smaller one is not worth the listening.
const LEAST_KEPT: usize = 2;

/// Neighbours from which frames to be forwarded are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionPolicy {
    /// All neighbours.
    All,
    /// All but the neighbour that has sent most of the waiting frames, or more than other saturated
    /// neighbours.
    AllBut(Address),
    /// Only the neighbour for which most frames wait: its own frames go to other nodes.
    Only(Address),
}

/// Properties of a datagram, from its first fragment.
struct Begun {
    size: u16,
    /// Octets of the packet that are in the slot.
    len: usize,
    label: Label,
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Sets the longest time between two fragments of a datagram.
    pub const fn await_fragments(&mut self, longest: Duration) {
        self.config.reassembly_timeout = longest;
    }

    /// Starts the forwarding of single fragments, in frames with `room` octets of payload if they
    /// go to a short address; `None` ends it. Nothing changes if the plan does not support it
    /// ([`Rfc8930`]).
    pub fn relay_frames(&mut self, room: Option<usize>) {
        if let Some(relay) = self.relay.get_mut() {
            let room = room.map_or(0, |room| room.min(MAX_PAYLOAD));
            relay.room = u8::try_from(room).unwrap_or(u8::MAX);
        }
    }

    /// Returns how many more frames can be accepted for others; `None` if every hop reassembles.
    pub fn relay_room(&self) -> Option<usize> {
        let relay = self.relay.get().filter(|relay| relay.is_on())?;
        Some(relay.store.room())
    }

    /// Returns the neighbours from which frames are accepted, if there is room
    /// ([`Net::relay_room`]).
    pub fn relay_admission(&self, now: Instant) -> AdmissionPolicy {
        let Some(relay) = self.relay.get().filter(|relay| relay.is_on()) else {
            return AdmissionPolicy::All;
        };
        let (waiting, room) = (relay.store.len(), relay.store.room_in_all());
        let all = waiting.saturating_add(room);
        let share = |of: usize| all.checked_div(of).unwrap_or(0).max(LEAST_KEPT);
        if room <= share(SHARE_KEPT) {
            relay.most(|lane| lane.to).map_or(AdmissionPolicy::All, AdmissionPolicy::Only)
        } else if let Some(ahead) = relay.fair_share.ahead(now) {
            AdmissionPolicy::AllBut(ahead)
        } else if room <= share(SHARE_FOR_OTHERS) {
            relay.most(|lane| lane.from).map_or(AdmissionPolicy::All, AdmissionPolicy::AllBut)
        } else {
            AdmissionPolicy::All
        }
    }

    /// Returns the counters of forwarded fragments, if forwarding is supported.
    pub fn relay_stats(&self) -> Option<&RelayStats> {
        self.relay.get().map(|relay| &relay.stats)
    }

    /// Returns the number of frames that wait for neighbours.
    pub fn relayed_waiting(&self) -> usize {
        self.relay.get().map_or(0, |relay| relay.store.len())
    }

    /// Attaches a flash for waiting frames. Returns whether it is usable ([`Store::attach`]).
    pub fn attach_flash(&mut self, now: Instant, geometry: Geometry, first_sector: u16) -> bool {
        let relay = self.relay.get_mut();
        relay.is_some_and(|relay| relay.store.attach(now, geometry, first_sector))
    }

    /// Returns the next command for the flash ([`Store::poll_flash`]).
    pub fn poll_flash(&mut self, now: Instant) -> Option<Submission<'_>> {
        self.relay.get_mut()?.store.poll_flash(now)
    }

    /// Notes that the driver of the flash was busy; the command is repeated.
    pub fn flash_refused(&mut self, now: Instant) {
        if let Some(relay) = self.relay.get_mut() {
            relay.store.flash_refused(now);
        }
    }

    /// Processes the result of a command for the flash; `octets` begin with the data read.
    /// Unexpected events change nothing.
    pub fn handle_flash(&mut self, now: Instant, event: Event, octets: &[u8]) {
        if let Some(relay) = self.relay.get_mut() {
            let _ = relay.store.handle_flash(now, event, octets);
        }
    }

    /// Loads frames for neighbours that are `wanted` from the flash first, if none of them is
    /// available.
    pub fn prefer_relayed(&mut self, now: Instant, wanted: impl Fn(Address) -> bool) {
        if let Some(relay) = self.relay.get_mut() {
            relay.prefer(now, wanted);
        }
    }

    /// Returns the counters of the store, if there is one.
    pub fn store_stats(&self) -> Option<&kinglet_store::Stats> {
        self.relay.get().map(|relay| relay.store.stats())
    }

    /// Forwards a fragment. Returns whether it was one to be forwarded.
    fn relay_fragment(&mut self, now: Instant, frame: &FrameIn<'_>) -> Result<bool, Discard> {
        let own = frame.dst != Address::BROADCAST && S::FORWARDS && self.config.forward;
        let Some(relay) = self.relay.get().filter(|relay| relay.is_on() && own) else {
            return Ok(false);
        };
        let (header, _) = FragmentHeader::parse(frame.payload).map_err(|_| Discard::Fragment)?;
        let FragmentHeader { size, tag, offset } = header;
        let Some(offset) = offset else { return self.relay_first(now, frame, header) };
        let is_of = |v: &&Virtual| v.is_of(frame.src, tag, size);
        if relay.virtuals.as_slice().iter().flatten().any(|v| is_of(&v)) {
            return self.relay_next(now, frame, header, offset).map(|()| true);
        }
        let partials = self.partials.as_slice();
        if partials.iter().flatten().any(|partial| partial.is_of(frame, tag, size)) {
            return Ok(false);
        }
        Err(Discard::NoReassembly)
    }

    /// Forwards a fragment that continues a datagram, under the next hop's tag.
    fn relay_next(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
        offset: u16,
    ) -> Result<(), Discard> {
        let expires = now + self.config.reassembly_timeout;
        let Some(relay) = self.relay.get_mut() else { return Ok(()) };
        let FragmentHeader { size, tag, .. } = header;
        let places = relay.virtuals.as_mut_slice();
        let is_it =
            |place: &Option<Virtual>| place.as_ref().is_some_and(|v| v.is_of(frame.src, tag, size));
        let Some(place) = places.iter_mut().find(|place| is_it(place)) else { return Ok(()) };
        let Some(known) = place else { return Ok(()) };
        (known.touched, known.expires) = (now, expires);
        let octets = frame.payload.len().saturating_sub(FragmentHeader::NEXT_LEN);
        let end = u16::try_from(octets).unwrap_or(u16::MAX).saturating_add(offset);
        if octets == 0 || end > size || (!end.is_multiple_of(8) && end != size) {
            return Err(Discard::Fragment);
        }
        let Virtual { label, sent, broken, .. } = *known;
        if broken || offset < sent {
            return Ok(());
        }
        if offset > sent {
            relay.give_up(now, label.tag);
            return Err(Discard::Fragment);
        }
        known.sent = end;
        if end == size {
            *place = None;
        }
        let rest = frame.payload.get(FragmentHeader::NEXT_LEN..).unwrap_or_default();
        let put = put_next(relay, now, label, size, offset, rest);
        if put.is_err() {
            count(&mut relay.stats.full);
            relay.give_up(now, label.tag);
        }
        put
    }

    /// Processes the first fragment of a datagram. Returns whether it was forwarded.
    fn relay_first(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
    ) -> Result<bool, Discard> {
        let rest = frame.payload.get(FragmentHeader::FIRST_LEN..).unwrap_or_default();
        let Some(packet) = self.pool.alloc(1) else { return Err(Discard::NoBuffer) };
        let taken = self.take_first(now, frame, header, rest, packet);
        let relayed = match taken {
            Ok(Some((len, next_hop))) => {
                let found = self.begin_relay(now, packet, len, header.size, (frame.src, next_hop));
                if let Ok(label) = found {
                    self.note_shared(now);
                    self.remember(now, frame, header, label, len);
                }
                found.map(|_| true)
            }
            Ok(None) => Ok(false),
            Err(reason) => Err(reason),
        };
        self.release(packet);
        relayed
    }

    /// Expands a first fragment into `packet` and routes the datagram. Returns the number of octets
    /// and the next hop; `None` if it cannot be forwarded as it is.
    fn take_first(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
        rest: &[u8],
        packet: PacketHandle,
    ) -> Result<Option<(usize, Address)>, Discard> {
        let mut expanded = <S::Headers as HeaderCompression>::Expanded::EMPTY;
        let (head, tail) = self.expand_first(now, frame, header.size, rest, &mut expanded)?;
        let len = head.len().saturating_add(tail.len());
        let room = self.pool.storage_mut(packet).get_mut(..len).ok_or(Discard::TooBig)?;
        let (to_head, to_tail) = room.split_at_mut_checked(head.len()).ok_or(Discard::TooBig)?;
        copy(to_head, head);
        copy(to_tail, tail);
        self.pool.set_len(packet, len);
        let Ok(ip) = Header::read(self.pool.get(packet)) else { return Ok(None) };
        let plain = !matches!(ip.next_header, protocol::HOP_BY_HOP | protocol::ROUTING);
        let goes = !ip.dst.is_multicast()
            && !is_link_local(ip.dst)
            && !is_link_local(ip.src)
            && !ip.src.is_unspecified()
            && !self.owns(&ip.src)
            && self.own_index(ip.dst).is_none();
        if !plain || !goes || ip.hop_limit <= 1 || usize::from(header.size) != ip.total_len() {
            return Ok(None);
        }
        let arrival = Arrival { broadcast: false, ingress: Ingress::Radio, from: frame.src };
        let egress = if S::Routing::EXTENDS {
            let onward = self.onward(now, packet, &ip, arrival);
            let Ok((egress, treatment)) = onward else { return Ok(None) };
            // A packet with an addition by routing differs from the one that was received.
            if self.treat(packet, egress, treatment).is_err() || self.pool.get(packet).len() != len
            {
                return Ok(None);
            }
            Some(egress)
        } else {
            self.egress(&ip.dst)
        };
        match egress {
            Some(Egress::Radio(next_hop))
                if next_hop.is_unicast()
                    && !self.sleeps(next_hop)
                    && !Self::is_loop(arrival, next_hop) =>
            {
                if Self::DISCOVERS {
                    self.routing.handle_use(now, ip.src, ip.dst, frame.src);
                }
                if let Some(limit) = self.pool.storage_mut(packet).get_mut(HOP_LIMIT_OFFSET) {
                    *limit = limit.saturating_sub(1);
                }
                Ok(Some((len, next_hop)))
            }
            _ => Ok(None),
        }
    }

    fn remember(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
        label: Label,
        len: usize,
    ) {
        let expires = now + self.config.reassembly_timeout;
        let Some(relay) = self.relay.get_mut() else { return };
        let sent = u16::try_from(len).unwrap_or(u16::MAX);
        if sent == header.size {
            return;
        }
        let FragmentHeader { size, tag, .. } = header;
        // A new datagram replaces an old one with the same identification.
        let is_it = |v: &Virtual| v.is_of(frame.src, tag, size);
        let places = relay.virtuals.as_mut_slice();
        let old = places.iter().position(|place| place.as_ref().is_some_and(is_it));
        if let Some(old) = old.and_then(|index| places.get_mut(index)) {
            *old = None;
        }
        let (src, broken, touched) = (frame.src, false, now);
        let new = Virtual { src, tag, size, label, sent, broken, touched, expires };
        if let Some(place) = relay.place(frame.src) {
            *place = Some(new);
        }
    }

    /// Cuts the first `len` octets of a datagram of `size`, which are in a slot and came from one
    /// neighbour, into frames for another: one, or one more if its headers have grown.
    fn begin_relay(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        len: usize,
        size: u16,
        (from, next_hop): (Address, Address),
    ) -> Result<Label, Discard> {
        let tag = self.next_token as u16;
        let Some(relay) = self.relay.get_mut() else { return Err(Discard::NoRoute) };
        let to = relay.lane(from, next_hop).ok_or(Discard::QueueFull)?;
        self.next_token = self.next_token.wrapping_add(1);
        let begun = Begun { size, len, label: Label { to, tag } };
        match self.cut_for(now, packet, next_hop, &begun) {
            Ok(()) => {
                bump(&mut self.stats.forwarded);
                if let Some(relay) = self.relay.get_mut() {
                    count(&mut relay.stats.datagrams);
                }
                Ok(begun.label)
            }
            Err(reason) => {
                if let Some(relay) = self.relay.get_mut() {
                    count(&mut relay.stats.full);
                    relay.give_up(now, begun.label.tag);
                }
                Err(reason)
            }
        }
    }

    fn cut_for(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        next_hop: Address,
        begun: &Begun,
    ) -> Result<(), Discard> {
        let &Begun { size, len, label } = begun;
        let (written, covered) = self.compress_slot(packet, next_hop)?;
        let Some(relay) = self.relay.get_mut() else { return Err(Discard::NoRoute) };
        let room = relay.room_for(label.to);
        let mut out = [0; MAX_PAYLOAD];
        let out = out.get_mut(..room).ok_or(Discard::TooBig)?;
        let datagram = Datagram { size, tag: label.tag };
        let rest = len.saturating_sub(covered);
        let whole = len == usize::from(size) && written.saturating_add(rest) <= room;
        let cut = match whole {
            true => Some(Cut { at: 0, len: rest }),
            false => Rfc4944::first(datagram, written, covered, out),
        };
        let Cut { at, len: fits } = cut.ok_or(Discard::TooBig)?;
        let from = at.saturating_add(written);
        let (headers, octets) = (self.ready.octets.as_slice(), self.pool.get(packet));
        copy(
            out.get_mut(at..from).ok_or(Discard::TooBig)?,
            headers.get(..written).unwrap_or_default(),
        );
        let fits = fits.min(rest);
        let sent = covered.saturating_add(fits);
        let end = from.saturating_add(fits);
        copy(
            out.get_mut(from..end).ok_or(Discard::TooBig)?,
            octets.get(covered..sent).unwrap_or_default(),
        );
        relay
            .put(now, label, out.get(..end).unwrap_or_default())
            .map_err(|_| Discard::QueueFull)?;
        let rest = octets.get(sent..len).unwrap_or_default();
        put_next(relay, now, label, size, u16::try_from(sent).unwrap_or(u16::MAX), rest)
    }

    /// Compresses the headers of a packet in a slot into `ready`, which then belongs to no
    /// datagram. Returns the compressed length, and the length of the headers that it replaces.
    fn compress_slot(
        &mut self,
        packet: PacketHandle,
        next_hop: Address,
    ) -> Result<(usize, usize), Discard> {
        self.notify_codec();
        self.ready.token = None;
        let usable;
        let contexts = if S::Discovery::PRESENT {
            usable = self.compressing();
            &usable
        } else {
            self.contexts.as_slice()
        };
        let hop = Hop { src: self.config.link, dst: next_hop, contexts };
        let token = Token(self.next_token);
        let out = self.ready.octets.as_mut_slice();
        let done = self.codec.compress(token, self.pool.get(packet), hop, out);
        let done = done.map_err(|_| Discard::Compression)?;
        Ok((done.written, done.covered))
    }

    /// Puts a forwarded packet into the store, if fragments are forwarded; otherwise returns
    /// `None`. Its slot still belongs to the caller.
    pub(crate) fn relay_packet(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        from: Address,
        egress: Egress,
    ) -> Option<Result<(), Discard>> {
        let Egress::Radio(next_hop) = egress else { return None };
        let relays = self.relay.get().is_some_and(|relay| relay.is_on());
        if !relays || !next_hop.is_unicast() || self.sleeps(next_hop) {
            return None;
        }
        let len = self.pool.get(packet).len();
        let size = u16::try_from(len).ok()?;
        Some(self.begin_relay(now, packet, len, size, (from, next_hop)).map(|_| ()))
    }

    /// Returns the next relayed frame for a neighbour that is `wanted`.
    pub(crate) fn pending_relayed(&self, wanted: impl Fn(Address) -> bool) -> Option<Pending> {
        let (label, dst) = self.relay.get()?.first(wanted)?;
        let token = Token(RELAYED | u32::from(label.tag));
        Some(Pending { dst, ack: true, token, class: Class::Data })
    }

    /// Writes the frame of [`Net::pending`] to `buf`, if it is a relayed one; else `None`.
    pub fn poll_relayed(
        &mut self,
        now: Instant,
        pending: &Pending,
        buf: &mut [u8],
    ) -> Option<FrameOut> {
        let Pending { dst, ack, token, class } = *pending;
        let relay = self.relay.get_mut().filter(|_| token.0 & RELAYED == RELAYED)?;
        let (label, _) = relay.first(|link| link == dst)?;
        let len = relay.take(now, label.to, buf)?;
        relay.was_last = true;
        bump(&mut self.stats.frames_out);
        Some(FrameOut { dst, ack, len, token, class })
    }

    /// Processes the result of a relayed frame. Returns whether it was one.
    pub(crate) fn relayed_outcome(&mut self, now: Instant, token: Token, delivered: bool) -> bool {
        let relayed = token.0 & RELAYED == RELAYED;
        let Some(relay) = self.relay.get_mut().filter(|_| relayed) else { return false };
        if !delivered {
            relay.give_up(now, token.0 as u16);
        }
        true
    }
}

/// Stores the `octets` of a datagram of `size` that follow the first `sent`: as one fragment, or
/// as more if the frames of this node have a longer header than those of the sender.
fn put_next<V: Array<Option<Virtual>>, Q: Store>(
    relay: &mut Relay<V, Q>,
    now: Instant,
    label: Label,
    size: u16,
    mut sent: u16,
    mut octets: &[u8],
) -> Result<(), Discard> {
    let room = relay.room_for(label.to);
    let mut out = [0; MAX_PAYLOAD];
    let out = out.get_mut(..room).ok_or(Discard::TooBig)?;
    while !octets.is_empty() {
        let cut = Rfc4944::next(Datagram { size, tag: label.tag }, sent, out);
        let Cut { at, len } = cut.ok_or(Discard::TooBig)?;
        let (piece, rest) = octets.split_at_checked(len).unwrap_or((octets, &[]));
        let end = at.saturating_add(piece.len());
        copy(out.get_mut(at..end).ok_or(Discard::TooBig)?, piece);
        let frame = out.get(..end).unwrap_or_default();
        relay.put(now, label, frame).map_err(|_| Discard::QueueFull)?;
        sent = sent.saturating_add(u16::try_from(piece.len()).unwrap_or(u16::MAX));
        octets = rest;
    }
    Ok(())
}
