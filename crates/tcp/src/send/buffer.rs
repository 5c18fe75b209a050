//! Send queue: the octets from SND.UNA on, which wait to be sent or acknowledged. Copied octets are
//! in a ring; pieces of constant data between them are kept by reference.

use crate::features::Place;
use crate::seq::SeqNum;
use kinglet_mem::{Empty, copy};

/// Constant data in the send queue: a page, a certificate, a firmware image in flash.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Sequence number of its first octet that is not acknowledged yet.
    start: SeqNum,
    /// None or empty in an unused place; `None` is all zero, so that unused places are in `.bss`.
    data: Option<&'static [u8]>,
}

impl Piece {
    fn data(&self) -> &'static [u8] {
        self.data.unwrap_or_default()
    }

    fn len(&self) -> u32 {
        u32::try_from(self.data().len()).unwrap_or(0)
    }
}

impl Empty for Piece {
    const EMPTY: Self = Piece { start: SeqNum::new(0), data: None };
}

/// The storage of a connection's slot in which its send queue lives.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) ring: &'a [u8],
    pub(crate) pieces: &'a [Piece],
}

/// The queue holds less than half of the sequence space, FIN and window included.
const MAX_QUEUE: u32 = 1 << 30;

/// Places of the octets of the send queue. Ring and pieces belong to the connection's slot.
///
/// All octets that are in no piece are in the ring, in order, so the beginnings of the ring's parts
/// of the stream need not be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendBuffer<P> {
    /// Place in the ring of its first octet, below `capacity`.
    head: P,
    capacity: P,
    /// Number of octets in the ring; the others are in pieces.
    in_ring: P,
}

/// The part of the stream that the send queue holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Sequence number of the first octet.
    pub(crate) start: SeqNum,
    /// Sequence number after the last one, which is that of a FIN.
    pub(crate) end: SeqNum,
}

impl Span {
    pub(crate) fn len(self) -> u32 {
        // It never ends before it starts.
        self.end.value().wrapping_sub(self.start.value())
    }

    /// Returns the distance from the start to `seq`, if the next `len` octets are all held.
    fn offset_of(self, seq: SeqNum, len: usize) -> Option<u32> {
        // A number before the start is far behind it modulo 2^32.
        let at = seq.value().wrapping_sub(self.start.value());
        (len <= self.len().checked_sub(at)? as usize).then_some(at)
    }
}

impl<P: Place> SendBuffer<P> {
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = P::of(u32::try_from(capacity).unwrap_or(u32::MAX));
        SendBuffer { head: P::of(0), capacity, in_ring: P::of(0) }
    }

    /// Returns whether the octets in the ring fit there, and are not more than the whole queue.
    pub(crate) fn fits(&self, span: Span) -> bool {
        self.in_ring.get() <= self.capacity.get().min(span.len())
    }

    /// Returns the octets of the ring.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity.get()
    }

    /// Returns the number of octets that can be copied into the ring.
    pub(crate) fn room(&self) -> usize {
        self.capacity.get().saturating_sub(self.in_ring.get()) as usize
    }

    /// Appends as much of `data` as there is room for.
    pub(crate) fn push(&mut self, ring: &mut [u8], data: &[u8]) -> usize {
        let count = data.len().min(self.room());
        let at = self.index(self.in_ring.get());
        let first = count.min((self.capacity.get() as usize).saturating_sub(at));
        let (Some(head), Some(tail)) = (data.get(..first), data.get(first..count)) else {
            return 0;
        };
        if let Some(out) = ring.get_mut(at..at.saturating_add(first)) {
            copy(out, head);
        }
        if let Some(out) = ring.get_mut(..tail.len()) {
            copy(out, tail);
        }
        let octets = u32::try_from(count).unwrap_or(0);
        self.in_ring = P::of(self.in_ring.get().saturating_add(octets));
        count
    }

    /// Appends `data` by reference, all of it or, without a free place, nothing.
    pub(crate) fn push_piece(pieces: &mut [Piece], span: Span, data: &'static [u8]) -> usize {
        let place = pieces.iter_mut().find(|piece| piece.data().is_empty());
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let Some(place) = place.filter(|_| len <= MAX_QUEUE.saturating_sub(span.len())) else {
            return 0;
        };
        *place = Piece { start: span.end, data: Some(data) };
        data.len()
    }

    /// Drops the octets before `una`; a FIN beyond the last octet is not counted.
    //= rfc6675#4-2
    pub(crate) fn acknowledge(&mut self, pieces: &mut [Piece], span: Span, una: SeqNum) {
        let count = una.since(span.start).min(span.len());
        let mut from_ring = count;
        let pieces = if self.has_pieces(span) { pieces } else { &mut [] };
        for piece in pieces.iter_mut() {
            // Not after `count`, so pieces further on lose nothing.
            let cut = count.saturating_sub(piece.start.since(span.start)).min(piece.len());
            piece.data = piece.data().get(cut as usize..);
            piece.start = piece.start.plus(cut);
            from_ring = from_ring.saturating_sub(cut);
        }
        self.head = P::of(u32::try_from(self.index(from_ring)).unwrap_or(0));
        self.in_ring = P::of(self.in_ring.get().saturating_sub(from_ring));
    }

    fn has_pieces(&self, span: Span) -> bool {
        span.len() > self.in_ring.get()
    }

    /// Passes the octets `seq..seq+len` to `take`, run by run, at most two for the ring and each
    /// piece. Returns `None`, and passes nothing, if any of them is not held.
    pub(crate) fn read(
        &self,
        stored: Stored<'_>,
        span: Span,
        seq: SeqNum,
        len: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Option<()> {
        let at = span.offset_of(seq, len)?;
        if !stored.pieces.is_empty() && self.has_pieces(span) {
            return self.read_mixed(stored, span, at, len, &mut take);
        }
        let ring = stored.ring.get(..self.capacity.get() as usize)?;
        let run = ring.get(self.index(at)..)?;
        let (head, wrapped) = match run.get(..len) {
            Some(whole) => (whole, &[][..]),
            None => (run, ring.get(..len.saturating_sub(run.len()))?),
        };
        take(head);
        if !wrapped.is_empty() {
            take(wrapped);
        }
        Some(())
    }

    /// Copies the octets from `seq` on to `out`, as many as it has room for. Returns `None`, and
    /// leaves `out` unchanged, if any of them is not held.
    pub(crate) fn copy_to(
        &self,
        stored: Stored<'_>,
        span: Span,
        seq: SeqNum,
        out: &mut [u8],
    ) -> Option<()> {
        let at = span.offset_of(seq, out.len())?;
        if !stored.pieces.is_empty() && self.has_pieces(span) {
            return self.copy_mixed(stored, span, at, out);
        }
        let ring = stored.ring.get(..self.capacity.get() as usize)?;
        let run = ring.get(self.index(at)..)?;
        let Some(whole) = run.get(..out.len()) else { return copy_wrapped(ring, run, out) };
        copy(out, whole);
        Some(())
    }

    /// As [`SendBuffer::copy_to`] from the octet `at` on, where some may be in pieces.
    #[inline(never)]
    fn copy_mixed(&self, stored: Stored<'_>, span: Span, at: u32, out: &mut [u8]) -> Option<()> {
        let mut done = 0_usize;
        self.read_mixed(stored, span, at, out.len(), &mut |run| {
            let end = done.saturating_add(run.len());
            if let Some(out) = out.get_mut(done..end) {
                copy(out, run);
            }
            done = end;
        })
    }

    /// As [`SendBuffer::read`] from the octet `at` on, where some may be in pieces.
    #[inline(never)]
    fn read_mixed(
        &self,
        stored: Stored<'_>,
        span: Span,
        mut at: u32,
        len: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> Option<()> {
        let mut rest = len;
        while rest > 0 {
            let run = self.run(stored, span, at);
            let run = run.get(..rest.min(run.len()))?;
            if run.is_empty() {
                return None;
            }
            take(run);
            at = at.saturating_add(u32::try_from(run.len()).unwrap_or(0));
            rest = rest.saturating_sub(run.len());
        }
        Some(())
    }

    /// Returns the octets that are stored in one stretch from the octet `at` on, in one pass over
    /// the pieces.
    fn run<'a>(&self, stored: Stored<'a>, span: Span, at: u32) -> &'a [u8] {
        let (mut in_ring, mut end) = (at, span.len());
        for piece in stored.pieces.iter().filter(|piece| !piece.data().is_empty()) {
            let start = piece.start.since(span.start);
            match at.checked_sub(start) {
                Some(inside) if inside < piece.len() => {
                    return piece.data().get(inside as usize..).unwrap_or_default();
                }
                Some(_) => in_ring = in_ring.saturating_sub(piece.len()),
                None => end = end.min(start),
            }
        }
        let place = self.index(in_ring);
        let wrap = (self.capacity.get() as usize).saturating_sub(place);
        let len = wrap.min(end.saturating_sub(at) as usize);
        stored.ring.get(place..place.saturating_add(len)).unwrap_or_default()
    }

    /// Returns the place of the octet `offset` after the first in the ring; `offset` is at most
    /// `capacity`.
    fn index(&self, offset: u32) -> usize {
        // Neither is more than 2^30.
        let place = self.head.get().wrapping_add(offset);
        place.checked_sub(self.capacity.get()).unwrap_or(place) as usize
    }
}

/// Copies the octets that begin with `run`, at the end of `ring`, and continue at its beginning.
#[inline(never)]
fn copy_wrapped(ring: &[u8], run: &[u8], out: &mut [u8]) -> Option<()> {
    let (head, tail) = out.split_at_mut_checked(run.len())?;
    let wrapped = ring.get(..tail.len())?;
    copy(head, run);
    copy(tail, wrapped);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    static FLASH: [u8; 4096] = {
        let mut octets = [0; 4096];
        let mut i = 0;
        while i < octets.len() {
            octets[i] = (i * 7 + i / 251) as u8;
            i += 1;
        }
        octets
    };

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Copy(usize),
        Refer(usize, usize),
        Acknowledge(u32),
        Read(usize, usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0usize..60).prop_map(Step::Copy),
            (0usize..4000, 0usize..90).prop_map(|(from, len)| Step::Refer(from, len)),
            (0u32..100).prop_map(Step::Acknowledge),
            (0usize..200, 0usize..200).prop_map(|(from, len)| Step::Read(from, len)),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        /// The queue against a plain vector: any mix of copies, references and acknowledgments, at
        /// any place of the sequence space, reads as the stream that was written.
        #[test]
        fn any_mix_reads_as_the_stream_that_was_written(
            steps in steps(),
            isn: u32,
            capacity in 0usize..50,
            places in 0usize..4,
        ) {
            let mut ring = [0; 50];
            let mut table = [Piece::EMPTY; 4];
            let pieces = &mut table[..places];
            let mut buffer = SendBuffer::<u16>::new(capacity);
            let mut span = Span { start: SeqNum::new(isn), end: SeqNum::new(isn) };
            let mut model: Vec<u8> = Vec::new();
            let mut copied: Vec<bool> = Vec::new();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Copy(len) => {
                        let data: Vec<u8> = (0..len).map(|i| (n * 31 + i) as u8).collect();
                        let room = capacity - copied.iter().filter(|c| **c).count();
                        prop_assert_eq!(buffer.room(), room);
                        prop_assert_eq!(buffer.push(&mut ring, &data), len.min(room));
                        span.end = span.end.plus(len.min(room) as u32);
                        model.extend(&data[..len.min(room)]);
                        copied.resize(model.len(), true);
                    }
                    Step::Refer(from, len) => {
                        let data = &FLASH[from..from + len];
                        let free = pieces.iter().any(|piece| piece.data().is_empty());
                        let taken = SendBuffer::<u16>::push_piece(pieces, span, data);
                        span.end = span.end.plus(taken as u32);
                        prop_assert_eq!(taken, if free { len } else { 0 });
                        model.extend(&data[..taken]);
                        copied.resize(model.len(), false);
                    }
                    Step::Acknowledge(count) => {
                        // One more than there is: the FIN.
                        let count = count.min(model.len() as u32 + 1);
                        let una = span.start.plus(count);
                        buffer.acknowledge(pieces, span, una);
                        span.start = una.earlier(span.end);
                        let count = model.len().min(count as usize);
                        model.drain(..count);
                        copied.drain(..count);
                    }
                    Step::Read(from, len) => {
                        let stored = Stored { ring: &ring, pieces };
                        let mut out = Vec::new();
                        let seq = span.start.plus(from as u32);
                        let take = |run: &[u8]| out.extend_from_slice(run);
                        let read = buffer.read(stored, span, seq, len, take);
                        let held = model.get(from..from + len);
                        prop_assert_eq!(read.is_some(), held.is_some());
                        prop_assert_eq!(&out[..], held.unwrap_or_default());
                        let mut copied = std::vec![0; len];
                        let read = buffer.copy_to(stored, span, seq, &mut copied);
                        prop_assert_eq!(read.map(|()| &copied[..]), held);
                    }
                }
                prop_assert_eq!(span.len() as usize, model.len());
            }
            // The first octet that is gone cannot be read again.
            let stored = Stored { ring: &ring, pieces };
            prop_assert!(buffer.read(stored, span, span.start.minus(1), 1, |_| ()).is_none());
        }
    }

    #[test]
    fn a_queue_never_holds_half_of_the_sequence_space() {
        let start = SeqNum::new(7);
        let span = Span { start, end: start.plus(MAX_QUEUE - 10) };
        let mut pieces = [Piece::EMPTY];
        let mut push = |data| SendBuffer::<u16>::push_piece(&mut pieces, span, data);
        assert_eq!((push(&FLASH[..11]), push(&FLASH[..10])), (0, 10));
    }
}
