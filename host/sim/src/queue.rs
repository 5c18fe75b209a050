//! The event queue: a 4-ary heap of 24-octet entries, ordered by (time, class, sequence).
//!
//! Events are never removed early. Whoever loses interest in a timer raises its generation, and the
//! event is recognised as stale when it surfaces; that costs no heap operation.

/// What happens; the order of the variants is the order within one microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A fault takes effect.
    Fault,
    /// A frame ends on the air: before everything else that reads the channel.
    AirEnd,
    /// A radio moves on by itself: a clear channel assessment ends, waking ends, ...
    Phase,
    /// A frame has been read out of the radio.
    Readout,
    /// A scheduled transmission or a change of mode is due.
    Schedule,
    /// A frame starts on the air: after all assessments that end at the same instant.
    AirStart,
    /// The host CPU finishes a piece of work.
    Host,
    /// A device's deadline.
    Deadline,
}

/// One event: 24 octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: u64,
    /// Class in the top octet, then a running number: total order within one microsecond.
    order: u64,
    pub(crate) node: u32,
    pub(crate) generation: u32,
}

impl Event {
    pub(crate) fn class(&self) -> Class {
        match (self.order >> 56) as u8 {
            0 => Class::Fault,
            1 => Class::AirEnd,
            2 => Class::Phase,
            3 => Class::Readout,
            4 => Class::Schedule,
            5 => Class::AirStart,
            6 => Class::Host,
            _ => Class::Deadline,
        }
    }

    fn before(&self, other: &Event) -> bool {
        (self.at, self.order) < (other.at, other.order)
    }
}

/// The heap. Its length is bounded by the live timers plus the stale ones not yet surfaced.
#[derive(Default)]
pub(crate) struct Queue {
    heap: Vec<Event>,
    sequence: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at: u64, class: Class, node: u32, generation: u32) {
        self.sequence += 1;
        let order = (class as u64) << 56 | self.sequence;
        let event = Event { at, order, node, generation };
        let mut hole = self.heap.len();
        self.heap.push(event);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if !event.before(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = event;
    }

    pub(crate) fn next_at(&self) -> Option<u64> {
        self.heap.first().map(|e| e.at)
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let top = *self.heap.first()?;
        let last = self.heap.pop()?;
        let len = self.heap.len();
        if len == 0 {
            return Some(top);
        }
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            if first >= len {
                break;
            }
            let mut least = first;
            for child in first + 1..len.min(first + 4) {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&last) {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = last;
        Some(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, stream};

    #[test]
    fn an_event_takes_24_octets() {
        assert_eq!(size_of::<Event>(), 24);
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
        while let Some(event) = queue.pop() {
            let key = (event.at, event.class(), event.node);
            assert!(last.is_none_or(|l| l < key), "{last:?} before {key:?}");
            last = Some(key);
            n += 1;
        }
        assert_eq!(n, 5_000);
    }
}
