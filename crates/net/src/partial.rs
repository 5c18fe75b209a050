//! A datagram with missing fragments (RFC 4944, 5.3).
//!
//! A datagram is identified by link source, link destination, tag and size. Fragments may come in
//! any order; one bitmap marks the 8-octet units that have arrived, another the starts of
//! fragments, which distinguish a repeated fragment from one that overlaps otherwise. As long as
//! fragments come in order, as they nearly always do, only the end and the starts are noted.

use crate::frame::FrameIn;
use crate::pool::PacketHandle;
use kinglet_mem::copy;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// One bit for every 8-octet unit, 32 in each word: 160 for the units of the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units<const WORDS: usize = 5>([u32; WORDS]);

impl<const WORDS: usize> Units<WORDS> {
    pub(crate) const NONE: Self = Units([0; WORDS]);

    /// Returns whether a unit is marked.
    pub(crate) fn has(&self, unit: u16) -> bool {
        let word = self.0.get(usize::from(unit / 32));
        word.is_some_and(|word| word.wrapping_shr(unit.into()) & 1 == 1)
    }

    /// Returns how many of the units `from..to` are marked.
    #[inline(never)]
    pub(crate) fn count(&self, from: u16, to: u16) -> usize {
        (from..to).filter(|unit| self.has(*unit)).count()
    }

    /// Marks a unit; one without a bit is ignored.
    pub(crate) fn mark(&mut self, unit: u16) {
        if let Some(word) = self.0.get_mut(usize::from(unit / 32)) {
            *word |= 1_u32.wrapping_shl(unit.into());
        }
    }

    /// Marks the units `from..to`.
    #[inline(never)]
    pub(crate) fn insert(&mut self, from: u16, to: u16) {
        for unit in from..to {
            self.mark(unit);
        }
    }
}

/// A datagram with missing fragments.
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    pub(crate) src: Address,
    pub(crate) dst: Address,
    pub(crate) tag: u16,
    pub(crate) size: u16,
    pub(crate) packet: PacketHandle,
    /// Octets received from the start without a gap; not updated once one was out of order.
    pub(crate) next: u16,
    /// True while all fragments come in order: `next` is the progress, and `have` is still empty.
    pub(crate) in_order: bool,
    pub(crate) have: Units,
    pub(crate) starts: Units,
    /// Missing units, once one was out of order.
    pub(crate) missing: u16,
    pub(crate) touched: Instant,
    pub(crate) expires: Instant,
}

/// A fragment with a checked position in the datagram.
pub(crate) struct Piece<'a> {
    pub(crate) size: u16,
    pub(crate) tag: u16,
    pub(crate) first: bool,
    /// Offset of `head`, which `tail` follows.
    pub(crate) offset: u16,
    pub(crate) end: u16,
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

impl Piece<'_> {
    /// Returns its first unit, and the one after its last.
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
    pub(crate) fn is_of(&self, frame: &FrameIn<'_>, tag: u16, size: u16) -> bool {
        self.tag == tag && self.size == size && self.src == frame.src && self.dst == frame.dst
    }

    /// Notes that octets have come in order up to `end`. Returns the result.
    pub(crate) fn extend(&mut self, now: Instant, end: u16) -> Step {
        self.starts.mark(self.next / 8);
        self.next = end;
        self.touched = now;
        if end == self.size { Step::Complete } else { Step::Waiting }
    }

    /// Stores a piece, for which `octets` have room.
    pub(crate) fn place(&mut self, now: Instant, piece: &Piece<'_>, octets: &mut [u8]) -> Step {
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

    /// Returns whether a received fragment starts with this unit, or the unit is missing: a
    /// fragment that ended before it cannot then have been a longer one.
    fn begins(&self, unit: u16) -> bool {
        !self.have.has(unit) || self.starts.has(unit)
    }

    /// Switches to bitmaps: fragments may come in any order from now on.
    fn leave_order(&mut self) {
        if self.in_order {
            self.in_order = false;
            let units = self.next / 8;
            self.have.insert(0, units);
            self.missing = self.size.div_ceil(8).saturating_sub(units);
        }
    }
}

/// Result of a piece.
pub(crate) enum Step {
    Waiting,
    Duplicate,
    Conflict,
    Complete,
}
