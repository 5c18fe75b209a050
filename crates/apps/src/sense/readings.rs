//! The queue of readings.

use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};

/// Octets of a tag, with which each message without a connection begins: the number of its first
/// reading and the offset in it at which the message continues, because readings are split where a
/// message is full.
pub const TAG: usize = 4;
/// Bits of a tag for the offset in a reading.
const CUT_BITS: u32 = 7;

/// Returns number and offset from a tag.
pub const fn untag(tag: u32) -> (u32, usize) {
    (tag >> CUT_BITS, (tag & ((1 << CUT_BITS) - 1)) as usize)
}

/// A source of readings.
pub trait Probe {
    /// The stored part of a reading until it has been sent.
    type Reading: Copy;

    /// Octets of a sent reading, at most 127.
    const LEN: usize;

    /// Octets at its front that are never split: a number that identifies the rest of the reading
    /// for the receiver. May be 0.
    const HEAD: usize;

    /// Makes a reading.
    fn sample(&mut self, now: Instant) -> Self::Reading;

    /// Fills `out` with octets of reading `number`, counted from 0, starting at octet `at`.
    fn write(&self, number: u32, reading: Self::Reading, at: usize, out: &mut [u8]);
}

/// Times of the readings, and sizes of batch and queue.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Time of the first reading.
    pub start: Instant,
    /// Time between readings.
    pub period: Duration,
    /// Number of readings that must wait before any is sent, at least 1.
    pub batch: usize,
    /// Number of readings that can wait, at least `batch`; at most the capacity of the queue.
    pub queue: usize,
}

/// A waiting reading, and its number.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<R> {
    number: u32,
    reading: R,
}

/// Octets that are sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first reading and the offset in it ([`untag`]).
    pub tag: u32,
    /// Number of octets.
    pub len: usize,
}

/// The waiting readings; `Q` sets the capacity.
#[derive(Debug)]
pub struct Readings<P, Q> {
    probe: P,
    next: Instant,
    sampling: Sampling,
    waiting: Q,
    len: usize,
    /// Octets of the front reading that have been sent.
    cut: usize,
    /// True if a batch was complete and the queue has not been empty since.
    draining: bool,
    generated: u32,
    dropped: u32,
    left: u32,
}

impl<P: Probe, Q: Array<Option<Waiting<P::Reading>>>> Readings<P, Q> {
    /// Creates a queue for the readings of `probe`.
    pub const fn new(sampling: Sampling, probe: P) -> Self {
        Readings {
            probe,
            next: sampling.start,
            sampling,
            waiting: Q::EMPTY,
            len: 0,
            cut: 0,
            draining: false,
            generated: 0,
            dropped: 0,
            left: 0,
        }
    }

    /// Returns the number of readings made.
    pub const fn generated(&self) -> u32 {
        self.generated
    }

    /// Returns the number of readings lost because the queue was full.
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Returns the number of readings that were sent completely.
    pub const fn left(&self) -> u32 {
        self.left
    }

    /// Returns whether anything is to be sent.
    pub const fn is_ready(&self) -> bool {
        self.draining
    }

    /// Returns the time of the next reading.
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Makes a reading if it is time. Returns whether it was.
    pub fn sample(&mut self, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.sampling.period;
        let (number, reading) = (self.generated, self.probe.sample(now));
        self.generated = self.generated.wrapping_add(1);
        let place = self.waiting.as_mut_slice().get_mut(self.len);
        match place.filter(|_| self.len < self.sampling.queue) {
            Some(place) => {
                *place = Some(Waiting { number, reading });
                self.len = self.len.saturating_add(1);
            }
            None => self.dropped = self.dropped.wrapping_add(1),
        }
        self.draining |= self.len >= self.sampling.batch;
        true
    }

    /// Takes as many octets as fit into `out`. Returns their number, and the reading with which
    /// they begin. `None` if nothing is to be sent, or not even the front of a reading fits.
    pub fn take(&mut self, out: &mut [u8]) -> Option<Piece> {
        let first = self.front()?;
        let tag = first.number << CUT_BITS | u32::try_from(self.cut).unwrap_or(0);
        let (mut rest, mut taken) = (out, 0usize);
        while let Some(waiting) = self.front().filter(|_| self.draining) {
            let len = P::LEN.saturating_sub(self.cut).min(rest.len());
            let until = self.cut.saturating_add(len);
            if until < P::HEAD || len == 0 {
                break;
            }
            let (octets, after) = rest.split_at_mut_checked(len)?;
            self.probe.write(waiting.number, waiting.reading, self.cut, octets);
            (rest, taken, self.cut) = (after, taken.saturating_add(len), until);
            if until == P::LEN {
                self.pop();
            }
        }
        (taken > 0).then_some(Piece { tag, len: taken })
    }

    /// Sends the front reading again from its start.
    pub const fn restart(&mut self) {
        self.cut = 0;
    }

    fn front(&self) -> Option<Waiting<P::Reading>> {
        *self.waiting.as_slice().first()?
    }

    fn pop(&mut self) {
        // From the back on, each moves forward by one.
        let mut behind = None;
        for place in self.waiting.as_mut_slice().iter_mut().rev() {
            behind = core::mem::replace(place, behind);
        }
        self.len = self.len.saturating_sub(1);
        self.cut = 0;
        self.left = self.left.wrapping_add(1);
        self.draining = self.len > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of ten octets: their number twice, and the sensed value.
    struct Ten;

    impl Probe for Ten {
        type Reading = u16;
        const LEN: usize = 10;
        const HEAD: usize = 4;

        fn sample(&mut self, now: Instant) -> u16 {
            now.as_millis() as u16
        }

        fn write(&self, number: u32, reading: u16, at: usize, out: &mut [u8]) {
            let mut all = [0; 10];
            all[..4].copy_from_slice(&number.to_be_bytes());
            all[4..8].copy_from_slice(&number.to_be_bytes());
            all[8..].copy_from_slice(&reading.to_be_bytes());
            out.copy_from_slice(&all[at..][..out.len()]);
        }
    }

    type Queue = Readings<Ten, [Option<Waiting<u16>>; 4]>;

    fn queue(batch: usize, queue: usize) -> Queue {
        let (start, period) = (Instant::from_secs(1), Duration::from_secs(1));
        Readings::new(Sampling { start, period, batch, queue }, Ten)
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    fn piece(number: u32, cut: u32, len: usize) -> Option<Piece> {
        Some(Piece { tag: number << 7 | cut, len })
    }

    #[test]
    fn nothing_leaves_before_a_batch_waits_and_then_all_does() {
        let (mut queue, mut out) = (queue(3, 4), [0; 25]);
        assert!(!queue.sample(at(0)) && queue.sample(at(1)) && !queue.sample(at(1)));
        assert!(queue.sample(at(2)) && queue.take(&mut out).is_none());
        queue.sample(at(3));
        assert_eq!(queue.take(&mut out), piece(0, 0, 25));
        assert_eq!(out[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0x03, 0xe8, 0, 0]);
        // Readings that arrive meanwhile are sent too, although they are no batch.
        queue.sample(at(4));
        assert_eq!((queue.take(&mut out), queue.left()), (piece(2, 5, 15), 4));
        assert_eq!(out[..6], [0, 0, 2, 0x0b, 0xb8, 0]);
        queue.sample(at(5));
        assert!(queue.take(&mut out).is_none() && !queue.is_ready());
    }

    #[test]
    fn a_reading_that_finds_no_room_is_lost() {
        for (limit, dropped) in [(2, 4), (4, 2), (9, 2)] {
            let mut queue = queue(2, limit);
            assert!((1..=6).all(|second| queue.sample(at(second))));
            assert_eq!((queue.generated(), queue.dropped()), (6, dropped));
        }
    }

    #[test]
    fn no_piece_ends_within_the_front_of_a_reading() {
        let mut queue = queue(2, 4);
        assert!((1..=2).all(|second| queue.sample(at(second))));
        assert_eq!(queue.take(&mut [0; 13]), piece(0, 0, 10));
        assert_eq!(queue.take(&mut [0; 3]), None);
        assert_eq!(queue.take(&mut [0; 4]), piece(1, 0, 4));
        queue.restart();
        assert_eq!(queue.take(&mut [0; 99]), piece(1, 0, 10));
        assert_eq!(untag(1 << 7 | 4), (1, 4));
    }
}
