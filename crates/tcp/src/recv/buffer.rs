//! The receive ring: in-order octets wait for the application, and behind them out-of-order octets
//! wait in place, marked in a bitmap (design of TCPlp §4.3.2). Any octet inside the window is kept,
//! with any number of holes. The bitmap is authoritative; the few places remembered here only order
//! the blocks of the SACK option by recency (RFC 2018 §4).

use super::bitmap;
use crate::features::Place;
use crate::seq::SeqNum;
use kinglet_mem::copy;
use kinglet_wire::tcp::{MAX_SACK_BLOCKS, SackBlock, SackBlocks};

/// [`MAX_SACK_BLOCKS`] as an octet.
const MOST_BLOCKS: u8 = 4;
const _: () = assert!(MOST_BLOCKS as usize == MAX_SACK_BLOCKS);

/// Places of the octets in the receive ring. Ring and bitmap belong to the connection's slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveBuffer<P> {
    capacity: P,
    /// Place of the first octet the application has not read, below `capacity`.
    head: P,
    /// Octets in order and unread.
    readable: P,
    /// Octets from RCV.NXT to after the highest that arrived; 0 if nothing is out of order.
    beyond: P,
    /// First octets of the blocks that arrived out of order, the most recent first: the lower
    /// halves of sequence numbers, which mean those from RCV.NXT on. A block that begins further
    /// on, as it may only in a ring of more than 64 KiB, is not reported before something arrives
    /// next to it. The marks define the ends of the blocks.
    blocks: [u16; MAX_SACK_BLOCKS],
    /// First octet of the text that has just arrived for the second time, reported once (RFC 2883
    /// §4).
    duplicate: SeqNum,
    /// Number of octets of that text, at most a segment.
    duplicate_len: u16,
    /// Number of `blocks` in use.
    held: u8,
    /// Rcv.Wind.Shift (RFC 7323 §2): the shift of the window in a header.
    shift: u8,
}

/// Returns the shift with which a window of `capacity` octets fits 16 bits (RFC 7323 §2.2).
//= rfc7323#2.3-2 rfc7323#2.3-7
pub(crate) fn window_scale(capacity: usize) -> u8 {
    let mut shift: u8 = 0;
    while shift < 14 && (capacity >> shift) > usize::from(u16::MAX) {
        shift = shift.saturating_add(1);
    }
    shift
}

impl<P: Place> ReceiveBuffer<P> {
    pub(crate) fn new(capacity: usize) -> Self {
        ReceiveBuffer {
            capacity: P::of(u32::try_from(capacity).unwrap_or(u32::MAX)),
            head: P::of(0),
            readable: P::of(0),
            beyond: P::of(0),
            blocks: [0; MAX_SACK_BLOCKS],
            duplicate: SeqNum::new(0),
            duplicate_len: 0,
            held: 0,
            shift: window_scale(capacity),
        }
    }

    /// Returns Rcv.Wind.Shift, at most 14.
    pub(crate) fn shift(&self) -> u8 {
        self.shift.min(14)
    }

    /// Turns scaling off, as the peer's windows are not scaled (RFC 7323 §2.2).
    //= rfc7323#2.3-4
    pub(crate) fn leave_unscaled(&mut self) {
        self.shift = 0;
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity.get()
    }

    pub(crate) fn readable(&self) -> u32 {
        self.readable.get()
    }

    pub(crate) fn free(&self) -> u32 {
        self.capacity().saturating_sub(self.readable())
    }

    pub(crate) fn has_holes(&self) -> bool {
        self.beyond.get() > 0
    }

    /// Returns whether the octets in order and out of order are within the ring.
    pub(crate) fn fits(&self) -> bool {
        self.readable() <= self.capacity()
            && (self.head.get() < self.capacity() || self.capacity() == 0)
            && self.beyond.get() <= self.free()
    }

    /// Stores `data`, whose first octet is `offset` after RCV.NXT, and returns the advance of
    /// RCV.NXT. Octets beyond the free space are cut off.
    pub(crate) fn insert(
        &mut self,
        ring: &mut [u8],
        map: &mut [u8],
        nxt: SeqNum,
        offset: u32,
        data: &[u8],
    ) -> u32 {
        let room = self.free().saturating_sub(offset) as usize;
        let data = data.get(..data.len().min(room)).unwrap_or(&[]);
        let count = u32::try_from(data.len()).unwrap_or(0);
        if count == 0 {
            return 0;
        }
        let at = self.index(self.readable().saturating_add(offset));
        let first = data.len().min((self.capacity() as usize).saturating_sub(at));
        let (head, tail) = data.split_at_checked(first).unwrap_or((data, &[]));
        if let Some(out) = ring.get_mut(at..at.saturating_add(head.len())) {
            copy(out, head);
        }
        if let Some(out) = ring.get_mut(..tail.len()) {
            copy(out, tail);
        }
        // The part before RCV.NXT was cut off, and is the first piece.
        if self.has_holes() && self.duplicate_len == 0 {
            self.find_duplicate(map, nxt, offset, count);
        }
        if offset > 0 {
            self.mark(map, offset, count, true);
            self.beyond = P::of(offset.saturating_add(count).max(self.beyond.get()));
            self.remember(map, nxt, offset, count);
            return 0;
        }
        self.advance(map, nxt, count)
    }

    /// Makes `count` octets of the text that has come with a SYN readable: none before the
    /// connection is established. Nothing else has arrived.
    pub(crate) fn allow(&mut self, count: u32) {
        self.readable = P::of(count);
    }

    /// Advances over `count` octets that have arrived in order and those that were waiting behind
    /// them.
    fn advance(&mut self, map: &mut [u8], nxt: SeqNum, count: u32) -> u32 {
        let mut total = count;
        if self.has_holes() {
            let known = self.beyond.get();
            total = self.run_end(map, count.min(known), known, true).max(count);
            self.mark(map, 0, total.min(known), false);
            self.drop_blocks(nxt, 0, total);
        }
        self.readable = P::of(self.readable().saturating_add(total));
        self.beyond = P::of(self.beyond.get().saturating_sub(total));
        total
    }

    /// Notes which of the octets `offset..offset+count` have arrived before: if they are several
    /// pieces, the first of them (RFC 2883 §4.2).
    //= rfc2883#4-2
    fn find_duplicate(&mut self, map: &[u8], nxt: SeqNum, offset: u32, count: u32) {
        let end = offset.saturating_add(count).min(self.beyond.get());
        let left = self.run_end(map, offset, end, false);
        let right = self.run_end(map, left, end, true);
        if left < right {
            self.note_duplicate(nxt.plus(left), nxt.plus(right));
        }
    }

    /// Sets or clears the marks of the octets `offset..offset+count` after RCV.NXT.
    fn mark(&self, map: &mut [u8], offset: u32, count: u32, value: bool) {
        let from = self.index(self.readable().saturating_add(offset));
        let to = from.saturating_add(count as usize);
        let capacity = self.capacity() as usize;
        bitmap::fill(map, from, to.min(capacity), value);
        bitmap::fill(map, 0, to.saturating_sub(capacity), value);
    }

    /// Returns the end of the run of octets from `offset` on that are marked, or are not, as an
    /// offset, at most `limit`.
    fn run_end(&self, map: &[u8], offset: u32, limit: u32, marked: bool) -> u32 {
        let span = limit.saturating_sub(offset) as usize;
        let from = self.index(self.readable().saturating_add(offset));
        let capacity = self.capacity() as usize;
        let to = from.saturating_add(span);
        let end = bitmap::find(map, from, to.min(capacity), !marked);
        let wrapped = to.saturating_sub(capacity);
        let mut run = end.saturating_sub(from);
        if end == capacity {
            run = run.saturating_add(bitmap::find(map, 0, wrapped, !marked));
        }
        offset.saturating_add(u32::try_from(run).unwrap_or(0))
    }

    /// Returns the start of the run of marked octets that ends before `offset`, as an offset.
    fn run_begin(&self, map: &[u8], offset: u32) -> u32 {
        let to = self.index(self.readable().saturating_add(offset));
        let first = to.saturating_sub(offset as usize);
        let mut start = bitmap::run_start(map, first, to);
        let mut run = to.saturating_sub(start);
        // The offset reaches back over the end of the ring.
        let wrapped = (offset as usize).saturating_sub(to);
        if start == 0 {
            let capacity = self.capacity() as usize;
            start = bitmap::run_start(map, capacity.saturating_sub(wrapped), capacity);
            run = run.saturating_add(capacity.saturating_sub(start));
        }
        offset.saturating_sub(u32::try_from(run).unwrap_or(0))
    }

    /// Puts the block around the octets just stored at the front of the list.
    //= rfc2883#3-1 rfc2883#4-5
    fn remember(&mut self, map: &[u8], nxt: SeqNum, offset: u32, count: u32) {
        let left = self.run_begin(map, offset);
        let known = self.beyond.get();
        let right = self.run_end(map, offset.saturating_add(count), known, true);
        // Blocks that the new one covers are removed.
        self.drop_blocks(nxt, left, right);
        if left > u32::from(u16::MAX) {
            return;
        }
        // The oldest is removed if there is no room.
        let mut carried = lower_half(nxt.plus(left));
        for slot in &mut self.blocks {
            core::mem::swap(slot, &mut carried);
        }
        self.held = self.held.saturating_add(1).min(MOST_BLOCKS);
    }

    /// Forgets the blocks that begin at the octets `left..right` after RCV.NXT.
    #[inline(never)]
    fn drop_blocks(&mut self, nxt: SeqNum, left: u32, right: u32) {
        let old = self.blocks;
        let dropped = |block: &u16| (left..right).contains(&offset_of(*block, nxt));
        let old = old.iter().take(usize::from(self.held)).filter(|block| !dropped(block));
        self.held = 0;
        for (slot, block) in self.blocks.iter_mut().zip(old) {
            *slot = *block;
            self.held = self.held.saturating_add(1);
        }
    }

    /// Notes that the octets `left..right` have arrived before.
    //= rfc2883#4-4
    pub(crate) fn note_duplicate(&mut self, left: SeqNum, right: SeqNum) {
        self.duplicate = left;
        self.duplicate_len = u16::try_from(right.since(left)).unwrap_or(u16::MAX);
    }

    /// Notes that the blocks of the SACK option have been sent.
    //= rfc2883#4-3
    pub(crate) fn blocks_sent(&mut self) {
        self.duplicate_len = 0;
    }

    /// Returns whether there is anything for the SACK option.
    pub(crate) fn has_blocks(&self) -> bool {
        self.held > 0 || self.duplicate_len > 0
    }

    /// Returns the number of blocks for the SACK option, room or not.
    pub(crate) fn count_blocks(&self) -> u8 {
        self.held.saturating_add(u8::from(self.duplicate_len > 0))
    }

    /// Returns the blocks of the SACK option: a D-SACK, then the others, the most recent first.
    /// `nxt` is the end of the text in order.
    //= rfc2883#4-1
    #[inline(never)]
    pub(crate) fn sack_blocks(&self, map: &[u8], nxt: SeqNum) -> SackBlocks {
        let mut out = SackBlocks::EMPTY;
        let mut push = |left: SeqNum, right: SeqNum| {
            out.push(SackBlock { left: left.value(), right: right.value() });
        };
        if self.duplicate_len > 0 {
            push(self.duplicate, self.duplicate.plus(u32::from(self.duplicate_len)));
        }
        let known = self.beyond.get();
        for &block in self.blocks.iter().take(usize::from(self.held)) {
            let left = offset_of(block, nxt);
            push(nxt.plus(left), nxt.plus(self.run_end(map, left, known, true)));
        }
        out
    }

    /// Moves up to `out.len()` octets to the application.
    pub(crate) fn read(&mut self, ring: &[u8], out: &mut [u8]) -> usize {
        let count = self.peek(ring, out);
        let read = u32::try_from(count).unwrap_or(0);
        self.head = P::of(u32::try_from(self.index(read)).unwrap_or(0));
        self.readable = P::of(self.readable().saturating_sub(read));
        count
    }

    /// Copies up to `out.len()` octets and leaves them.
    pub(crate) fn peek(&self, ring: &[u8], out: &mut [u8]) -> usize {
        let count = out.len().min(self.readable() as usize);
        let at = self.head.get() as usize;
        let first = count.min((self.capacity() as usize).saturating_sub(at));
        let Some((head, tail)) = out.get_mut(..count).and_then(|o| o.split_at_mut_checked(first))
        else {
            return 0;
        };
        if let Some(from) = ring.get(at..at.saturating_add(head.len())) {
            copy(head, from);
        }
        if let Some(from) = ring.get(..tail.len()) {
            copy(tail, from);
        }
        count
    }

    /// Returns the place of the octet `offset` after the first unread; `offset` is at most
    /// `capacity`.
    fn index(&self, offset: u32) -> usize {
        // Neither is more than 2^30.
        let place = self.head.get().wrapping_add(offset);
        place.checked_sub(self.capacity()).unwrap_or(place) as usize
    }
}

fn lower_half(seq: SeqNum) -> u16 {
    let [_, _, a, b] = seq.value().to_be_bytes();
    u16::from_be_bytes([a, b])
}

/// Returns the distance from RCV.NXT to the beginning of a block.
fn offset_of(block: u16, nxt: SeqNum) -> u32 {
    u32::from(block.wrapping_sub(lower_half(nxt)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    /// Model of the ring, octet by octet.
    struct Naive {
        octets: Vec<Option<u8>>,
        nxt: usize,
        read: usize,
    }

    fn octet(i: usize) -> u8 {
        (i * 7 % 251) as u8
    }

    //= rfc7323#2.3-7 type=test
    #[test]
    fn a_window_is_scaled_only_as_far_as_needed() {
        for (capacity, shift) in [(0, 0), (65_535, 0), (65_536, 1), (131_071, 1), (1 << 20, 5)] {
            assert_eq!(window_scale(capacity), shift);
        }
        assert_eq!(window_scale(usize::MAX), 14);
    }

    #[test]
    fn a_ring_is_consistent_if_its_octets_are_within_it() {
        let with = |capacity, head, readable, beyond| {
            let new = ReceiveBuffer::<u16>::new(capacity);
            ReceiveBuffer { head, readable, beyond, ..new }.fits()
        };
        assert!(with(0, 0, 0, 0) && with(8, 7, 8, 0) && with(8, 7, 3, 5) && with(8, 0, 0, 8));
        assert!(!with(8, 8, 0, 0), "the first octet is outside");
        assert!(!with(8, 0, 9, 0) && !with(0, 0, 1, 0), "more octets than places");
        assert!(!with(8, 0, 3, 6), "octets out of order beyond the free places");
    }

    proptest! {
        /// Any order of arrivals and reads gives what a map of octets gives, and the SACK blocks
        /// are true, maximal, distinct and led by the latest arrival.
        #[test]
        fn reassembly_agrees_with_a_map_of_octets(
            capacity in 1usize..70,
            start: u32,
            steps in proptest::collection::vec((0usize..80, 1usize..40, 0usize..40), 1..60),
        ) {
            let mut ring = vec![0; capacity];
            let mut map = vec![0; capacity.div_ceil(8)];
            let mut nxt = SeqNum::new(start);
            let mut buffer = ReceiveBuffer::<u16>::new(capacity);
            let mut naive = Naive { octets: vec![None; 10_000], nxt: 0, read: 0 };
            for (offset, len, read) in steps {
                let data: Vec<u8> = (0..len).map(|i| octet(naive.nxt + offset + i)).collect();
                let end = naive.read + capacity;
                let last = (naive.nxt + offset + len).min(end);
                // The first stretch that was there before is a duplicate, and reported once.
                let mut places = naive.nxt + offset..last;
                let old = places.find(|i| naive.octets[*i].is_some()).map(|left| {
                    let right = places.find(|i| naive.octets[*i].is_none()).unwrap_or(last);
                    (left, right)
                });
                let advance = buffer.insert(&mut ring, &mut map, nxt, offset as u32, &data);
                for (i, value) in data.iter().enumerate() {
                    if naive.nxt + offset + i < end {
                        naive.octets[naive.nxt + offset + i] = Some(*value);
                    }
                }
                let arrived = naive.nxt + offset;
                let stored = arrived < end;
                let before = naive.nxt;
                while naive.octets[naive.nxt].is_some() {
                    naive.nxt += 1;
                }
                prop_assert_eq!(advance as usize, naive.nxt - before);
                nxt = nxt.plus(advance);
                let position = |seq: u32| SeqNum::new(seq).since(SeqNum::new(start)) as usize;
                let said = buffer.duplicate_len;
                let left = position(buffer.duplicate.value());
                let said = (said > 0).then_some((left, left + usize::from(said)));
                prop_assert_eq!(said, old);
                buffer.blocks_sent();
                let blocks = buffer.sack_blocks(&map, nxt);
                prop_assert_eq!(usize::from(buffer.count_blocks()), blocks.as_slice().len());
                for (n, b) in blocks.as_slice().iter().enumerate() {
                    let (l, r) = (position(b.left), position(b.right));
                    prop_assert!(l > naive.nxt && l < r);
                    prop_assert!((l..r).all(|i| naive.octets[i].is_some()));
                    prop_assert!(naive.octets[l - 1].is_none() && naive.octets[r].is_none());
                    prop_assert!(blocks.as_slice()[..n].iter().all(|o| o.left != b.left));
                }
                if stored && arrived > naive.nxt {
                    let first = blocks.as_slice()[0];
                    prop_assert!(position(first.left) <= arrived);
                    prop_assert!(arrived < position(first.right));
                }
                let holes = naive.octets[naive.nxt..].iter().any(Option::is_some);
                prop_assert_eq!(buffer.has_holes(), holes);
                let mut out = vec![0; read];
                let count = buffer.read(&ring, &mut out);
                prop_assert_eq!(count, read.min(naive.nxt - naive.read));
                for (i, value) in out[..count].iter().enumerate() {
                    prop_assert_eq!(*value, octet(naive.read + i));
                }
                naive.read += count;
            }
        }
    }

    #[test]
    fn a_block_beyond_64_kib_is_reported_when_nearer_data_arrives_next_to_it() {
        const FAR: u32 = 70_000;
        let mut ring = vec![0; 100_000];
        let mut map = vec![0; 12_500];
        let nxt = SeqNum::new(u32::MAX - 10);
        let mut buffer = ReceiveBuffer::<u32>::new(ring.len());
        let blocks = |buffer: &ReceiveBuffer<u32>, map: &[u8], nxt| -> Vec<(u32, u32)> {
            let blocks = buffer.sack_blocks(map, nxt);
            let distance = |seq: u32| SeqNum::new(seq).since(nxt);
            blocks.as_slice().iter().map(|b| (distance(b.left), distance(b.right))).collect()
        };
        let mut insert = |buffer: &mut ReceiveBuffer<u32>, map: &mut [u8], offset, len: usize| {
            buffer.insert(&mut ring, map, nxt, offset, &vec![0; len])
        };
        insert(&mut buffer, &mut map, FAR, 10);
        assert_eq!(blocks(&buffer, &map, nxt), []);
        // Alike in its lower half.
        insert(&mut buffer, &mut map, FAR - 65_536, 10);
        assert_eq!(blocks(&buffer, &map, nxt), [(4_464, 4_474)]);
        insert(&mut buffer, &mut map, FAR + 10, 10);
        assert_eq!(blocks(&buffer, &map, nxt), [(4_464, 4_474)]);
        insert(&mut buffer, &mut map, 60_000, 10_000);
        assert_eq!(blocks(&buffer, &map, nxt), [(60_000, 70_020), (4_464, 4_474)]);
        assert_eq!(insert(&mut buffer, &mut map, 0, 4_464), 4_474);
        assert_eq!(blocks(&buffer, &map, nxt.plus(4_474)), [(55_526, 65_546)]);
    }
}
