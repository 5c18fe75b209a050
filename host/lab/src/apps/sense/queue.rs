//! The application's queue of readings.

use super::reading::{LEN, NUMBER, octets, tag};
use std::collections::VecDeque;

/// Octets that leave together.
pub(super) struct Piece {
    /// Its first reading and the place in it.
    pub(super) tag: u32,
    /// What is sent.
    pub(super) octets: Vec<u8>,
    /// Readings in it: where each ends, its number. The last may go on in the next piece; then it
    /// still waits in the queue and is not among them.
    pub(super) ends: Vec<(usize, u32)>,
}

pub(super) struct Queue {
    waiting: VecDeque<u32>,
    /// Octets of the front reading that have left.
    cut: usize,
    batch: usize,
    limit: usize,
    /// A batch was complete and the queue has not been empty since.
    draining: bool,
    generated: u32,
    dropped: u32,
}

impl Queue {
    pub(super) fn new(batch: usize, limit: usize) -> Self {
        let waiting = VecDeque::new();
        Queue { waiting, cut: 0, batch, limit, draining: false, generated: 0, dropped: 0 }
    }

    /// A new reading, which is lost if there is no room.
    pub(super) fn sample(&mut self) {
        if self.waiting.len() < self.limit {
            self.waiting.push_back(self.generated);
        } else {
            self.dropped += 1;
        }
        self.generated += 1;
        self.draining |= self.waiting.len() >= self.batch;
    }

    /// Whether anything is to be sent.
    pub(super) fn is_ready(&self) -> bool {
        self.draining
    }

    /// Takes at most `room` octets. Nothing ends within a reading's number, so that whoever gets a
    /// piece knows what the octets belong to.
    pub(super) fn take(&mut self, room: usize) -> Option<Piece> {
        let first = *self.waiting.front()?;
        let mut piece = Piece { tag: tag(first, self.cut), octets: Vec::new(), ends: Vec::new() };
        while self.draining {
            let Some(number) = self.waiting.front() else { break };
            let rest = &octets(*number)[self.cut..];
            let len = rest.len().min(room - piece.octets.len());
            if self.cut + len < NUMBER || len == 0 {
                break;
            }
            piece.octets.extend(&rest[..len]);
            self.cut += len;
            if self.cut == LEN {
                piece.ends.push((piece.octets.len(), *number));
                self.waiting.pop_front();
                self.cut = 0;
                self.draining = !self.waiting.is_empty();
            }
        }
        (!piece.octets.is_empty()).then_some(piece)
    }

    /// The front reading leaves again as a whole.
    pub(super) fn restart(&mut self) {
        self.cut = 0;
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().copied()
    }

    pub(super) fn generated(&self) -> u32 {
        self.generated
    }

    pub(super) fn dropped(&self) -> u32 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::untag;
    use super::*;

    #[test]
    fn nothing_leaves_before_a_batch_waits_and_then_all_does() {
        let mut queue = Queue::new(3, 8);
        queue.sample();
        queue.sample();
        assert!(queue.take(1_000).is_none());
        queue.sample();
        let piece = queue.take(200).expect("a batch");
        assert_eq!((piece.octets.len(), piece.ends), (200, vec![(82, 0), (164, 1)]));
        // What comes meanwhile goes along, although it is no batch.
        queue.sample();
        let piece = queue.take(200).expect("the rest");
        assert_eq!(untag(piece.tag), (2, 36));
        assert_eq!((piece.octets.len(), piece.ends), (46 + 82, vec![(46, 2), (128, 3)]));
        queue.sample();
        assert!(queue.take(200).is_none());
    }

    #[test]
    fn a_reading_that_finds_no_room_is_lost() {
        let mut queue = Queue::new(2, 2);
        (0..5).for_each(|_| queue.sample());
        assert_eq!((queue.generated(), queue.dropped()), (5, 3));
        assert!(queue.waiting().eq([0, 1]));
    }

    #[test]
    fn no_piece_ends_within_a_number() {
        let mut queue = Queue::new(2, 2);
        (0..2).for_each(|_| queue.sample());
        assert_eq!(queue.take(LEN + 3).expect("one whole").octets.len(), LEN);
        assert!(queue.take(3).is_none());
        assert_eq!(queue.take(4).expect("the number").octets.len(), 4);
        queue.restart();
        assert_eq!(queue.take(100).expect("whole again").octets, octets(1));
    }
}
