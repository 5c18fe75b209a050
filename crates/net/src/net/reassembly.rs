//! Reassembly of 6LoWPAN fragments (RFC 4944, 5.3): the table of incomplete datagrams.
//!
//! A datagram that is never completed keeps its entry only briefly: a first fragment replaces
//! another datagram of its sender, or an idle one ([`Net::evict`]). Subsequent fragments of unknown
//! datagrams take entries that are free or the same sender's.

use super::{Net, Sizes};
use crate::codec::{HeaderCompression, Hop};
use crate::discovery::{Discovery, UNKNOWN_CONTEXT};
use crate::frame::FrameIn;
use crate::incoming::{Arrival, Delivery, Fate, Ingress};
use crate::partial::{Partial, Piece, Step, Units};
use crate::pool::RESERVED;
use crate::stats::{Discard, bump};
use kinglet_mem::{Array, Claim, copy, slot_for_new};
use kinglet_time::{Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, MIN_MTU};
use kinglet_wire::sixlowpan::{Dispatch, FragmentHeader};

/// A datagram is idle after this part of
/// [`NetConfig::reassembly_timeout`](crate::NetConfig::reassembly_timeout) without a fragment.
const IDLE: u32 = 8;

impl<S: Sizes, X: Copy> Net<S, X> {
    pub(crate) fn reassemble(
        &mut self,
        now: Instant,
        frame: FrameIn<'_>,
    ) -> Result<Option<Delivery>, Discard> {
        let (header, rest) = FragmentHeader::parse(frame.payload).map_err(|_| Discard::Fragment)?;
        if let Some((index, end)) = self.continued(&frame, header, rest) {
            return match self.extend(now, index, end, rest) {
                Step::Complete => self.complete(now, &frame, index),
                _ => Ok(None),
            };
        }
        if usize::from(header.size) < ipv6::HEADER_LEN {
            return Err(Discard::Fragment);
        }
        if usize::from(header.size) > self.mtu() {
            self.refuse(now, &frame, header, rest);
            return Err(Discard::TooBig);
        }
        if header.offset.is_some() {
            return self.handle_octets(now, &frame, header, &[], rest);
        }
        let mut expanded = <S::Headers as HeaderCompression>::Expanded::EMPTY;
        let (head, tail) = self.expand_first(now, &frame, header.size, rest, &mut expanded)?;
        self.handle_octets(now, &frame, header, head, tail)
    }

    /// Sends a Packet Too Big (RFC 4443, 3.2) for a datagram that exceeds the MTU of this link,
    /// quoting the first fragment. A plan whose packets are smaller than the minimum MTU sends
    /// none, as the sender would have to ignore it (RFC 8201, 4).
    fn refuse(&mut self, now: Instant, frame: &FrameIn<'_>, header: FragmentHeader, rest: &[u8]) {
        let FragmentHeader { size, offset, .. } = header;
        if !S::REPORTS_ERRORS || offset.is_some() || usize::from(size) <= MIN_MTU {
            return;
        }
        let mut expanded = <S::Headers as HeaderCompression>::Expanded::EMPTY;
        let Ok((head, tail)) = self.expand_first(now, frame, size, rest, &mut expanded) else {
            return;
        };
        let Some(packet) = self.pool.alloc(RESERVED) else { return };
        let len = head.len().saturating_add(tail.len());
        let room = self.pool.storage_mut(packet).get_mut(..len);
        if let Some((to_head, to_tail)) = room.and_then(|r| r.split_at_mut_checked(head.len())) {
            copy(to_head, head);
            copy(to_tail, tail);
            self.pool.set_len(packet, len);
        }
        // Broadcasts are reported as well (RFC 4443, 2.4 (e.3)).
        let arrival = Arrival { broadcast: false, ingress: Ingress::Radio, from: frame.src };
        let kind = self.too_big();
        // The result of the datagram is already known.
        let _ = self.dispose(now, packet, arrival, Fate::Report(Discard::TooBig, kind));
    }

    /// Processes the octets that a fragment stands for, in two parts.
    fn handle_octets(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
        head: &[u8],
        tail: &[u8],
    ) -> Result<Option<Delivery>, Discard> {
        let offset = header.offset.unwrap_or(0);
        let len = head.len().saturating_add(tail.len());
        let end = u16::try_from(len).unwrap_or(u16::MAX).saturating_add(offset);
        // RFC 4944, 5.3: all fragments but the last are multiples of eight octets.
        if len == 0 || end > header.size || (end % 8 != 0 && end != header.size) {
            return Err(Discard::Fragment);
        }
        let FragmentHeader { size, tag, .. } = header;
        let first = header.offset.is_none();
        let piece = Piece { size, tag, first, offset, end, head, tail };
        self.handle_piece(now, frame, &piece)
    }

    /// Returns the expanded header (if it was compressed) and the rest.
    pub(crate) fn expand_first<'a>(
        &mut self,
        now: Instant,
        frame: &FrameIn<'a>,
        size: u16,
        rest: &'a [u8],
        expanded: &'a mut <S::Headers as HeaderCompression>::Expanded,
    ) -> Result<(&'a [u8], &'a [u8]), Discard> {
        match Dispatch::of(rest) {
            Some(Dispatch::Ipv6) => Ok((&[], rest.get(1..).unwrap_or_default())),
            Some(kind) if Self::compresses(kind, rest) => {
                self.notify_codec();
                let contexts = self.contexts.as_slice();
                let hop = Hop { src: frame.src, dst: frame.dst, contexts };
                let done = self.codec.expand(rest, hop, Some(size), expanded.as_mut_slice());
                if S::Discovery::PRESENT && done == UNKNOWN_CONTEXT {
                    self.discovery.handle_unknown_context(now);
                }
                let done = done.map_err(|_| Discard::Compression)?;
                let head = expanded.as_slice().get(..done.written).unwrap_or_default();
                Ok((head, rest.get(done.consumed..).unwrap_or_default()))
            }
            _ => Err(Discard::Dispatch),
        }
    }

    fn handle_piece(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        piece: &Piece<'_>,
    ) -> Result<Option<Delivery>, Discard> {
        let mut index = match self.find(frame, piece) {
            Some(index) => index,
            None => self.begin_reassembly(now, frame, piece)?,
        };
        let mut step = self.place(now, index, piece);
        if let Step::Conflict = step {
            // RFC 4944, 5.3: the fragments so far SHALL be discarded; a fresh reassembly may be
            // commenced with the most recently received one. Fresh, it cannot conflict again.
            bump(&mut self.stats.conflicting_fragments);
            self.drop_partial(index);
            index = self.begin_reassembly(now, frame, piece)?;
            step = self.place(now, index, piece);
        }
        match step {
            Step::Waiting | Step::Conflict => Ok(None),
            Step::Duplicate => {
                bump(&mut self.stats.duplicate_fragments);
                Ok(None)
            }
            Step::Complete => self.complete(now, frame, index),
        }
    }

    /// Passes on a complete datagram.
    fn complete(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        index: usize,
    ) -> Result<Option<Delivery>, Discard> {
        let Some(place) = self.partials.as_mut_slice().get_mut(index) else { return Ok(None) };
        let Some(Partial { packet, size, .. }) = *place else { return Ok(None) };
        *place = None;
        self.note_expiry();
        self.pool.set_len(packet, usize::from(size));
        let broadcast = frame.dst == Address::BROADCAST;
        self.input(now, packet, Arrival { broadcast, ingress: Ingress::Radio, from: frame.src })
    }

    /// Stores a fragment that continues a datagram in order, and does not end it. `None` if it is
    /// not such a fragment.
    pub(crate) fn keep_piece(&mut self, now: Instant, frame: &FrameIn<'_>) -> Option<()> {
        let (header, rest) = FragmentHeader::parse(frame.payload).ok()?;
        let (index, end) = self.continued(frame, header, rest)?;
        if end == header.size {
            return None;
        }
        self.extend(now, index, end, rest);
        Some(())
    }

    /// Finds the datagram that a fragment continues in order, as nearly all fragments do. Returns
    /// its index and its new end; `None` if there is no such datagram.
    fn continued(
        &self,
        frame: &FrameIn<'_>,
        header: FragmentHeader,
        rest: &[u8],
    ) -> Option<(usize, u16)> {
        let FragmentHeader { size, tag, offset } = header;
        let offset = offset?;
        let mut places = self.partials.as_slice().iter();
        let index = places.position(|place| {
            place.as_ref().is_some_and(|partial| {
                partial.next == offset && partial.in_order && partial.is_of(frame, tag, size)
            })
        })?;
        let end = u16::try_from(rest.len()).ok()?.checked_add(offset)?;
        let fits = !rest.is_empty() && end <= size && (end % 8 == 0 || end == size);
        fits.then_some((index, end))
    }

    /// Appends the next octets that [`Net::continued`] has found, up to `end`.
    fn extend(&mut self, now: Instant, index: usize, end: u16, rest: &[u8]) -> Step {
        let Some(Some(partial)) = self.partials.as_mut_slice().get_mut(index) else {
            return Step::Waiting;
        };
        let room = self.pool.storage_mut(partial.packet);
        if let Some(room) = room.get_mut(usize::from(partial.next)..usize::from(end)) {
            copy(room, rest);
        }
        partial.extend(now, end)
    }

    fn find(&self, frame: &FrameIn<'_>, piece: &Piece<'_>) -> Option<usize> {
        let partials = self.partials.as_slice();
        partials
            .iter()
            .position(|p| p.as_ref().is_some_and(|p| p.is_of(frame, piece.tag, piece.size)))
    }

    fn place(&mut self, now: Instant, index: usize, piece: &Piece<'_>) -> Step {
        let partials = self.partials.as_mut_slice();
        let Some(Some(partial)) = partials.get_mut(index) else { return Step::Waiting };
        partial.place(now, piece, self.pool.storage_mut(partial.packet))
    }

    /// Finds an entry and a slot for a new datagram; evicts another one if needed.
    fn begin_reassembly(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        piece: &Piece<'_>,
    ) -> Result<usize, Discard> {
        let free = |table: &[Option<Partial>]| table.iter().position(Option::is_none);
        if free(self.partials.as_slice()).is_none() {
            self.evict(now, frame.src, piece.first)?;
        }
        // One slot stays for input that is not fragmented.
        let packet = match self.pool.alloc(1) {
            Some(packet) => packet,
            None => {
                self.evict(now, frame.src, piece.first).map_err(|_| Discard::NoBuffer)?;
                self.pool.alloc(1).ok_or(Discard::NoBuffer)?
            }
        };
        let index = free(self.partials.as_slice());
        let place = index.and_then(|index| self.partials.as_mut_slice().get_mut(index));
        let (Some(index), Some(place)) = (index, place) else {
            self.release(packet);
            return Err(Discard::NoReassembly);
        };
        *place = Some(Partial {
            src: frame.src,
            dst: frame.dst,
            tag: piece.tag,
            size: piece.size,
            packet,
            next: 0,
            in_order: true,
            have: Units::NONE,
            starts: Units::NONE,
            missing: 0,
            touched: now,
            expires: now + self.config.reassembly_timeout,
        });
        self.note_expiry();
        Ok(index)
    }

    /// Discards a datagram for a new one from `src`. A datagram of the same sender goes first, as a
    /// sender finishes one before it begins the next. Only a `first` fragment replaces a datagram
    /// of another sender, and only one that has no first fragment, or had no fragment for an
    /// [`IDLE`] part of the timeout. Otherwise a late copy of a first fragment would end a datagram
    /// whose fragments still arrive.
    fn evict(&mut self, now: Instant, src: Address, first: bool) -> Result<(), Discard> {
        let idle = self.config.reassembly_timeout / IDLE;
        let claim = |place: &Option<Partial>| {
            // A free entry is no help: what is missing may be a packet buffer.
            let Some(partial) = place else { return Claim::InUse };
            let is_idle = first && (!partial.starts.has(0) || partial.touched + idle <= now);
            match is_idle || partial.src == src {
                true => Claim::Idle((partial.src != src, partial.touched)),
                false => Claim::InUse,
            }
        };
        let index = slot_for_new(self.partials.as_slice(), claim).ok_or(Discard::NoReassembly)?;
        bump(&mut self.stats.evicted_reassemblies);
        self.drop_partial(index);
        Ok(())
    }

    fn drop_partial(&mut self, index: usize) {
        let place = self.partials.as_mut_slice().get_mut(index);
        if let Some(partial) = place.and_then(Option::take) {
            self.note_expiry();
            self.release(partial.packet);
        }
    }

    /// Updates the time of the first expiry, which the node reads after every event.
    #[inline(never)]
    fn note_expiry(&mut self) {
        // `min` would first count the table, for which a small core divides.
        let mut first = None;
        for partial in self.partials.as_slice().iter().flatten() {
            first = earliest(first, Some(partial.expires));
        }
        self.first_expires = first;
    }

    pub(crate) fn expire_reassemblies(&mut self, now: Instant) {
        for index in 0..S::Reassembly::LEN {
            let partial = self.partials.as_slice().get(index).copied().flatten();
            if partial.is_some_and(|partial| partial.expires <= now) {
                bump(&mut self.stats.expired_reassemblies);
                self.drop_partial(index);
            }
        }
    }
}
