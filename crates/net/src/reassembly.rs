//! Reassembly of 6LoWPAN fragments (RFC 4944, 5.3).
//!
//! A datagram is told by link source, link destination, tag and size. Fragments may come in any
//! order; which 8-octet units have come is a bitmap, and so is where fragments began, which tells a
//! repeated fragment from one that overlaps otherwise. As long as they come in order, which they
//! nearly always do, only their end and where they began are noted.
//!
//! A stray fragment cannot pin anything: a first fragment always finds a place, at the cost of the
//! same sender's least recently continued datagram (a sender that begins a new one is done with
//! the old one) or else anybody's. Subsequent fragments of unknown datagrams only take places that
//! are free or the same sender's.

use crate::codec::{HeaderCompression, Hop};
use crate::config::Sizes;
use crate::input::{Arrival, Delivery, FrameIn};
use crate::net::Net;
use crate::pool::PacketHandle;
use crate::stats::{Discard, bump};
use kinglet_mem::{Array, copy};
use kinglet_time::{Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, MIN_MTU};
use kinglet_wire::sixlowpan::{Dispatch, FragmentHeader, MAX_DECOMPRESSED};

/// One bit for every 8-octet unit of the MTU: 160.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units([u32; 5]);

impl Units {
    const NONE: Units = Units([0; 5]);

    /// Whether a unit is marked.
    fn has(&self, unit: u16) -> bool {
        let word = self.0.get(usize::from(unit / 32));
        word.is_some_and(|word| word.wrapping_shr(unit.into()) & 1 == 1)
    }

    /// How many of the units `from..to` are marked.
    #[inline(never)]
    fn count(&self, from: u16, to: u16) -> usize {
        (from..to).filter(|unit| self.has(*unit)).count()
    }

    /// Marks a unit; those from 160 on are not kept.
    fn mark(&mut self, unit: u16) {
        if let Some(word) = self.0.get_mut(usize::from(unit / 32)) {
            *word |= 1_u32.wrapping_shl(unit.into());
        }
    }

    /// Marks the units `from..to`.
    #[inline(never)]
    fn insert(&mut self, from: u16, to: u16) {
        for unit in from..to {
            self.mark(unit);
        }
    }
}

/// A datagram of which some fragments have come.
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    src: Address,
    dst: Address,
    tag: u16,
    size: u16,
    packet: PacketHandle,
    /// Octets that have come from the start without a gap; not kept up once one was out of order.
    next: u16,
    /// All fragments have come in order so far: `next` says what is here, and `have` nothing yet.
    in_order: bool,
    have: Units,
    starts: Units,
    /// Units still to come, once one was out of order.
    missing: u16,
    touched: Instant,
    pub(crate) expires: Instant,
}

/// A fragment whose place in the datagram is checked.
struct Piece<'a> {
    size: u16,
    tag: u16,
    first: bool,
    /// Where `head`, then `tail` belong.
    offset: u16,
    end: u16,
    head: &'a [u8],
    tail: &'a [u8],
}

impl Piece<'_> {
    /// The first of its units, and the one after its last.
    fn units(&self) -> (u16, u16) {
        (self.offset / 8, self.end.div_ceil(8))
    }

    fn is_at(&self, octets: &[u8]) -> bool {
        let there = octets.get(usize::from(self.offset)..usize::from(self.end));
        there
            .and_then(|there| there.split_at_checked(self.head.len()))
            .is_some_and(|(head, tail)| head == self.head && tail == self.tail)
    }

    fn write(&self, octets: &mut [u8]) {
        let room = octets.get_mut(usize::from(self.offset)..usize::from(self.end));
        if let Some((head, tail)) = room.and_then(|r| r.split_at_mut_checked(self.head.len())) {
            copy(head, self.head);
            copy(tail, self.tail);
        }
    }
}

impl Partial {
    fn is_of(&self, frame: &FrameIn<'_>, tag: u16, size: u16) -> bool {
        self.tag == tag && self.size == size && self.src == frame.src && self.dst == frame.dst
    }

    /// Notes that octets have come in order up to `end`; what became of them.
    fn extend(&mut self, now: Instant, end: u16) -> Step {
        self.starts.mark(self.next / 8);
        self.next = end;
        self.touched = now;
        if end == self.size { Step::Complete } else { Step::Waiting }
    }

    /// Takes a piece, for which `octets` have room.
    fn place(&mut self, now: Instant, piece: &Piece<'_>, octets: &mut [u8]) -> Step {
        if self.in_order && piece.offset == self.next {
            piece.write(octets);
            return self.extend(now, piece.end);
        }
        self.leave_order();
        let (from, to) = piece.units();
        let units = to.saturating_sub(from);
        let present = self.have.count(from, to);
        if present > 0 {
            let same_extent = present == usize::from(units)
                && self.starts.has(from)
                && self.starts.count(from, to) == 1
                && (piece.end == piece.size || self.begins(to));
            return if same_extent && piece.is_at(octets) {
                Step::Duplicate
            } else {
                Step::Conflict
            };
        }
        piece.write(octets);
        self.have.insert(from, to);
        self.starts.mark(from);
        self.touched = now;
        self.missing = self.missing.saturating_sub(units);
        if self.missing == 0 { Step::Complete } else { Step::Waiting }
    }

    /// Whether a fragment that is there begins with this unit, or nothing is there: then one that
    /// ended before it cannot be told from a longer one, whose other units would be there.
    fn begins(&self, unit: u16) -> bool {
        !self.have.has(unit) || self.starts.has(unit)
    }

    /// From now on fragments may be anywhere.
    fn leave_order(&mut self) {
        if self.in_order {
            self.in_order = false;
            let units = self.next / 8;
            self.have.insert(0, units);
            self.missing = self.size.div_ceil(8).saturating_sub(units);
        }
    }
}

/// What became of a piece.
enum Step {
    Waiting,
    Duplicate,
    Conflict,
    Complete,
}

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
        if usize::from(header.size) > MIN_MTU.min(S::Storage::LEN) {
            return Err(Discard::TooBig);
        }
        if header.offset.is_some() {
            return self.handle_octets(now, &frame, header, &[], rest);
        }
        let mut expanded = [0; MAX_DECOMPRESSED];
        let (head, tail) = self.expand_first(&frame, header.size, rest, &mut expanded)?;
        self.handle_octets(now, &frame, header, head, tail)
    }

    /// Takes the octets that a fragment stands for, in two parts.
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

    /// The uncompressed header (if it was compressed) and what follows it.
    fn expand_first<'a>(
        &mut self,
        frame: &FrameIn<'a>,
        size: u16,
        rest: &'a [u8],
        expanded: &'a mut [u8; MAX_DECOMPRESSED],
    ) -> Result<(&'a [u8], &'a [u8]), Discard> {
        match Dispatch::of(rest) {
            Some(Dispatch::Ipv6) => Ok((&[], rest.get(1..).unwrap_or_default())),
            Some(Dispatch::Iphc) => {
                let contexts = self.contexts.as_slice();
                let hop = Hop { src: frame.src, dst: frame.dst, contexts };
                let done = self.codec.expand(rest, hop, Some(size), expanded);
                let done = done.map_err(|_| Discard::Compression)?;
                let head = expanded.get(..done.written).unwrap_or_default();
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

    /// All of a datagram is here.
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
        self.input(now, packet, Arrival { broadcast, host: false })
    }

    /// Takes a fragment that continues a datagram where it ends, and does not end it. `None` if it
    /// is not one.
    pub(crate) fn keep_piece(&mut self, now: Instant, frame: &FrameIn<'_>) -> Option<()> {
        let (header, rest) = FragmentHeader::parse(frame.payload).ok()?;
        let (index, end) = self.continued(frame, header, rest)?;
        if end == header.size {
            return None;
        }
        self.extend(now, index, end, rest);
        Some(())
    }

    /// Which datagram a fragment continues where it ends, as nearly all of them do, and where that
    /// ends then. `None` if it is not one of these.
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

    /// Adds what [`Net::continued`] has found to be the next octets, up to `end`.
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

    /// Finds a place and a slot for a new datagram, or makes them.
    fn begin_reassembly(
        &mut self,
        now: Instant,
        frame: &FrameIn<'_>,
        piece: &Piece<'_>,
    ) -> Result<usize, Discard> {
        let free = |table: &[Option<Partial>]| table.iter().position(Option::is_none);
        if free(self.partials.as_slice()).is_none() {
            self.evict(frame.src, piece.first)?;
        }
        // One slot stays for input that is not fragmented.
        let packet = match self.pool.alloc(1) {
            Some(packet) => packet,
            None => {
                self.evict(frame.src, piece.first).map_err(|_| Discard::NoBuffer)?;
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

    fn evict(&mut self, src: Address, first: bool) -> Result<(), Discard> {
        let mut victim = None;
        for (index, place) in self.partials.as_slice().iter().enumerate() {
            let Some(partial) = place else { continue };
            let key = (partial.src != src, partial.touched);
            if (first || !key.0) && victim.is_none_or(|(least, _)| key < least) {
                victim = Some((key, index));
            }
        }
        let (_, index) = victim.ok_or(Discard::NoReassembly)?;
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

    /// Notes when the first datagram expires, for which the node asks after every event.
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
