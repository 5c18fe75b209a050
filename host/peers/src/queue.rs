//! Octets to be sent, and octets received.

use crate::seq::Seq;
use kinglet_wire::tcp::SackBlock;
use std::collections::VecDeque;

/// Data that the application has written and the peer has not acknowledged.
#[derive(Debug)]
pub(crate) struct SendQueue {
    first: Seq,
    octets: VecDeque<u8>,
    capacity: usize,
}

impl SendQueue {
    /// An empty queue whose first octet will have sequence number `first`.
    pub(crate) fn new(first: Seq, capacity: usize) -> Self {
        SendQueue { first, octets: VecDeque::new(), capacity }
    }

    /// Sequence number of the octet to be written next.
    pub(crate) fn end(&self) -> Seq {
        self.first.plus(self.octets.len() as u32)
    }

    /// Octets that can be written now.
    pub(crate) fn room(&self) -> usize {
        self.capacity - self.octets.len().min(self.capacity)
    }

    /// Appends as many octets as there is room for; returns their number.
    pub(crate) fn push(&mut self, octets: &[u8]) -> usize {
        let taken = octets.len().min(self.room());
        self.octets.extend(&octets[..taken]);
        taken
    }

    /// Removes the octets before `to`.
    pub(crate) fn drop_to(&mut self, to: Seq) {
        if self.first.before(to) {
            let gone = (to.since(self.first) as usize).min(self.octets.len());
            self.octets.drain(..gone);
            self.first = self.first.plus(gone as u32);
        }
    }

    /// The octets from `from` on, at most `len`.
    pub(crate) fn copy(&self, from: Seq, len: u32) -> Vec<u8> {
        let skip = from.since(self.first) as usize;
        self.octets.iter().skip(skip).take(len as usize).copied().collect()
    }
}

/// Data that have arrived and that the application has not read, and data that arrived out of
/// order.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    /// RCV.NXT.
    pub(crate) next: Seq,
    readable: VecDeque<u8>,
    /// Parts out of order, the most recent first; none are adjacent.
    parts: Vec<(Seq, Vec<u8>)>,
    capacity: u32,
}

impl ReceiveQueue {
    pub(crate) fn new(next: Seq, capacity: u32) -> Self {
        ReceiveQueue { next, readable: VecDeque::new(), parts: Vec::new(), capacity }
    }

    /// Free space beyond RCV.NXT, in octets.
    pub(crate) fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.readable.len() as u32)
    }

    /// Largest number of octets in the queue.
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Returns true if data out of order wait for missing ones.
    pub(crate) fn has_gap(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Copies readable octets to `buf`; returns their number.
    pub(crate) fn peek(&self, buf: &mut [u8]) -> usize {
        let len = buf.len().min(self.readable.len());
        for (to, from) in buf.iter_mut().zip(&self.readable) {
            *to = *from;
        }
        len
    }

    /// Moves readable octets to `buf`; returns their number.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> usize {
        let len = self.peek(buf);
        self.readable.drain(..len);
        len
    }

    /// Returns true if there are octets to read.
    pub(crate) fn is_readable(&self) -> bool {
        !self.readable.is_empty()
    }

    /// Appends octets that begin with RCV.NXT, as far as there is room, and the parts that follow
    /// them.
    pub(crate) fn append(&mut self, octets: &[u8]) {
        let len = octets.len().min(self.room() as usize);
        self.readable.extend(&octets[..len]);
        self.next = self.next.plus(len as u32);
        while let Some(place) = self.parts.iter().position(|(at, _)| !self.next.before(*at)) {
            let (at, part) = self.parts.remove(place);
            let known = self.next.since(at) as usize;
            if let Some(rest) = part.get(known..) {
                self.readable.extend(rest);
                self.next = self.next.plus(rest.len() as u32);
            }
        }
    }

    /// Keeps octets beyond RCV.NXT, as far as there is room.
    pub(crate) fn keep(&mut self, at: Seq, octets: &[u8]) {
        let before = at.since(self.next);
        let room = self.room().saturating_sub(before) as usize;
        let mut start = at;
        let mut part = octets[..octets.len().min(room)].to_vec();
        if part.is_empty() {
            return;
        }
        // Adjacent parts are merged with it.
        while let Some(place) = self.parts.iter().position(|(other, held)| {
            let (end, other_end) = (start.plus(part.len() as u32), other.plus(held.len() as u32));
            !other_end.before(start) && !end.before(*other)
        }) {
            let (other, held) = self.parts.remove(place);
            let first = start.earlier(other);
            let end = start.plus(part.len() as u32).later(other.plus(held.len() as u32));
            let mut whole = vec![0; end.since(first) as usize];
            for (at, octets) in [(other, held), (start, part)] {
                whole[at.since(first) as usize..][..octets.len()].copy_from_slice(&octets);
            }
            (start, part) = (first, whole);
        }
        self.parts.insert(0, (start, part));
    }

    /// Parts that are kept out of order, the most recent first (RFC 2018 §4).
    pub(crate) fn blocks(&self) -> impl Iterator<Item = SackBlock> {
        let block = |(at, part): &(Seq, Vec<u8>)| SackBlock {
            left: at.0,
            right: at.plus(part.len() as u32).0,
        };
        self.parts.iter().map(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_filled_from_both_sides() {
        let mut queue = ReceiveQueue::new(Seq(100), 20);
        queue.keep(Seq(110), b"klmno");
        queue.keep(Seq(103), b"de");
        queue.keep(Seq(108), b"ijk");
        let blocks: Vec<_> = queue.blocks().map(|b| (b.left, b.right)).collect();
        assert_eq!(blocks, [(108, 115), (103, 105)]);
        queue.append(b"abc");
        assert_eq!(queue.next, Seq(105));
        queue.append(b"fgh");
        assert_eq!(queue.next, Seq(115));
        assert!(!queue.has_gap());
        let mut buf = [0; 32];
        let len = queue.read(&mut buf);
        assert_eq!(&buf[..len], b"abcdefghijklmno");
    }

    #[test]
    fn nothing_is_kept_beyond_the_window() {
        let mut queue = ReceiveQueue::new(Seq(0), 8);
        queue.keep(Seq(6), b"ghij");
        assert_eq!(queue.blocks().next().map(|b| b.right), Some(8));
        queue.keep(Seq(8), b"ij");
        assert_eq!(queue.blocks().count(), 1);
        queue.append(b"abcdef");
        assert_eq!((queue.next, queue.room()), (Seq(8), 0));
    }

    #[test]
    fn acknowledged_octets_leave_the_queue() {
        let mut queue = SendQueue::new(Seq(u32::MAX), 4);
        assert_eq!(queue.push(b"abcdef"), 4);
        queue.drop_to(Seq(1));
        assert_eq!(queue.copy(Seq(1), 9), b"cd");
        assert_eq!((queue.room(), queue.end()), (2, Seq(3)));
    }
}
