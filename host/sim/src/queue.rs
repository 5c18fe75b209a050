//! The event queue: a 4-ary heap of 16-octet entries, ordered by (time, class, sequence).
//!
//! Events are never removed early. A timer is cancelled by a new generation, and its event is
//! recognised as stale when it is due; this costs no heap operation.

/// Classes of events; the order of the variants is the order within one microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A fault takes effect.
    Fault,
    /// A frame ends on the air: before everything else that reads the channel.
    AirEnd,
    /// A radio's phase ends by itself: a clear channel assessment, waking up, ...
    Phase,
    /// A frame has been read out of the radio.
    Readout,
    /// A scheduled transmission or a change of mode is due.
    Schedule,
    /// A frame starts on the air: after all assessments that end at the same instant.
    AirStart,
    /// A node's CPU finishes a piece of work.
    Processor,
    /// A device's deadline.
    Deadline,
}

/// One event in one integer, so that one comparison orders two events. From the top: 45 bits of
/// microseconds (more than a year), 3 of class, 40 of sequence, 20 of node, 20 of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u128);

const NODE_BITS: u32 = 20;
const SEQUENCE_BITS: u32 = 40;
const CLASS_BITS: u32 = 3;
/// Latest time of an event in microseconds.
const LAST: u64 = (1 << 45) - 1;

/// Maximum number of nodes in a run.
pub(crate) const MAX_NODES: usize = 1 << NODE_BITS;

/// The generation after `generation`. It wraps: a stale event would count as valid only if exactly
/// 2^20 timers were set before it is due.
pub(crate) fn next_generation(generation: u32) -> u32 {
    (generation + 1) % (1 << NODE_BITS)
}

impl Event {
    pub(crate) fn at(self) -> u64 {
        (self.0 >> (2 * NODE_BITS + SEQUENCE_BITS + CLASS_BITS)) as u64
    }

    pub(crate) fn class(self) -> Class {
        match (self.0 >> (2 * NODE_BITS + SEQUENCE_BITS)) as u8 % 8 {
            0 => Class::Fault,
            1 => Class::AirEnd,
            2 => Class::Phase,
            3 => Class::Readout,
            4 => Class::Schedule,
            5 => Class::AirStart,
            6 => Class::Processor,
            _ => Class::Deadline,
        }
    }

    pub(crate) fn node(self) -> u32 {
        (self.0 >> NODE_BITS) as u32 % (1 << NODE_BITS)
    }

    pub(crate) fn generation(self) -> u32 {
        self.0 as u32 % (1 << NODE_BITS)
    }
}

/// The heap. Its length is bounded by the valid timers plus the stale ones not yet due.
#[derive(Default)]
pub(crate) struct Queue {
    heap: Vec<Event>,
    /// The first place is that of an event that was removed. The next event is inserted there: it
    /// is mostly due soon, and sinks less than an event from the end would.
    gap: bool,
    sequence: u64,
}

impl Queue {
    /// Adds an event; an event later than the last possible time is dropped.
    pub(crate) fn push(&mut self, at: u64, class: Class, node: u32, generation: u32) {
        if at > LAST {
            return;
        }
        self.sequence = (self.sequence + 1) % (1 << SEQUENCE_BITS);
        let order = (u128::from(at) << CLASS_BITS | class as u128) << SEQUENCE_BITS;
        let order = order | u128::from(self.sequence);
        let target = u128::from(node) << NODE_BITS | u128::from(generation);
        let event = Event(order << (2 * NODE_BITS) | target);
        if self.gap {
            self.gap = false;
            return self.sink(event);
        }
        let mut hole = self.heap.len();
        self.heap.push(event);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if event >= self.heap[parent] {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = event;
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<u64> {
        let next = match self.gap {
            true => self.heap.iter().skip(1).take(4).min(),
            false => self.heap.first(),
        };
        next.map(|event| event.at())
    }

    /// Removes the next event, if it is due by `until`.
    pub(crate) fn pop_until(&mut self, until: u64) -> Option<Event> {
        if self.gap {
            self.gap = false;
            if let Some(last) = self.heap.pop().filter(|_| !self.heap.is_empty()) {
                self.sink(last);
            }
        }
        let next = *self.heap.first().filter(|event| event.at() <= until)?;
        self.gap = true;
        Some(next)
    }

    /// Inserts `event` at the place of the first one.
    fn sink(&mut self, event: Event) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let (least, child) = match heap.get(first..first + 4) {
                // Written without branches, which would be unpredictable.
                Some(&[a, b, c, d]) => {
                    let left = if b < a { (b, 1) } else { (a, 0) };
                    let right = if d < c { (d, 3) } else { (c, 2) };
                    if right.0 < left.0 { right } else { left }
                }
                _ => {
                    let rest = heap.get(first..).unwrap_or(&[]);
                    match rest.iter().enumerate().min_by_key(|(_, event)| **event) {
                        Some((child, event)) => (*event, child),
                        None => break,
                    }
                }
            };
            if least > event {
                break;
            }
            heap[hole] = least;
            hole = first + child;
        }
        heap[hole] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    #[test]
    fn an_event_takes_16_octets() {
        assert_eq!(size_of::<Event>(), 16);
    }

    #[test]
    fn events_come_out_by_time_then_class_then_sequence() {
        let mut queue = Queue::default();
        let mut random = stream(3, 0, Purpose::Csma);
        let classes = [Class::Deadline, Class::AirEnd, Class::AirStart, Class::Phase];
        for i in 0..5_000 {
            queue.push(u64::from(random.below(200)), classes[random.below(4) as usize], i, 0);
        }
        let mut last: Option<(u64, Class, u32)> = None;
        let mut n = 0;
        while let Some(event) = queue.pop_until(LAST) {
            let key = (event.at(), event.class(), event.node());
            assert!(last.is_none_or(|l| l < key), "{last:?} before {key:?}");
            last = Some(key);
            n += 1;
        }
        assert_eq!(n, 5_000);
    }

    #[test]
    fn an_event_pushed_between_two_others_comes_in_order() {
        let mut queue = Queue::default();
        let mut random = stream(4, 0, Purpose::Csma);
        let mut expected = std::collections::BTreeSet::new();
        let (mut now, mut n) = (0, 0);
        for _ in 0..20_000 {
            // More than one per step at first, and fewer at the end.
            let more = random.below(if n < 15_000 { 4 } else { 2 });
            for _ in 0..more {
                let at = now + u64::from(random.below(1_000));
                queue.push(at, Class::Deadline, n, 0);
                expected.insert((at, n));
                n += 1;
            }
            assert_eq!(queue.next_at(), expected.first().map(|(at, _)| *at));
            let until = now + u64::from(random.below(20));
            let due = expected.first().copied().filter(|(at, _)| *at <= until);
            let event = queue.pop_until(until);
            assert_eq!(event.map(|event| (event.at(), event.node())), due);
            assert_eq!(queue.next_at(), expected.iter().find(|e| Some(**e) != due).map(|e| e.0));
            if let Some(due) = due {
                expected.remove(&due);
                now = due.0;
            } else {
                now = until;
            }
        }
        assert!(n > 15_000);
    }

    #[test]
    fn an_event_keeps_what_it_was_given() {
        let mut queue = Queue::default();
        let (node, generation) = (MAX_NODES as u32 - 1, next_generation(MAX_NODES as u32 - 3));
        queue.push(LAST, Class::Deadline, node, generation);
        queue.push(LAST + 1, Class::Fault, 0, 0);
        let event = queue.pop_until(LAST).unwrap();
        assert_eq!((event.at(), event.class()), (LAST, Class::Deadline));
        assert_eq!((event.node(), event.generation()), (node, generation));
        assert_eq!(queue.pop_until(LAST), None, "beyond the last microsecond nothing happens");
        assert_eq!(next_generation(MAX_NODES as u32 - 1), 0);
    }
}
