//! The host CPU: frames wait for it, one piece of work at a time.

use crate::profile::HostCost;
use crate::queue::next_generation;
use kinglet_radio::{Command, Event, MAX_FRAME};
use std::collections::VecDeque;

/// Received frames that may wait for the CPU; more are dropped. TCPlp's code base has 50 message
/// buffers (samkumar/RIOT-OS, tcp-ot-paper).
const QUEUE: usize = 50;

/// Work for the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// An event for the device.
    Event(Event),
    /// A command for the radio.
    Command(Command),
}

/// One queued piece of work with its frame.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) work: Work,
    frame: [u8; MAX_FRAME],
    len: u8,
}

impl Item {
    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame[..usize::from(self.len)]
    }
}

/// A CPU with a cost per frame.
pub(crate) struct Host {
    cost_us: u64,
    queue: VecDeque<Item>,
    pub(crate) active_us: u64,
    /// Raised by a reset: completions of earlier work are stale.
    pub(crate) generation: u32,
    /// The device's deadline passed while the CPU was busy.
    pub(crate) deadline_waits: bool,
}

impl Host {
    /// `None` for a host that costs no time: nothing needs to be queued for it.
    pub(crate) fn new(cost: &HostCost) -> Option<Box<Host>> {
        let cost_us = cost.per_frame.as_micros();
        (cost_us > 0).then(|| {
            Box::new(Host {
                cost_us,
                queue: VecDeque::new(),
                active_us: 0,
                generation: 0,
                deadline_waits: false,
            })
        })
    }

    pub(crate) fn busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Queues work. Returns when the first piece is done if it has just been started, or `Err` if
    /// the queue is full.
    pub(crate) fn push(&mut self, now: u64, work: Work, frame: &[u8]) -> Result<Option<u64>, ()> {
        let droppable = matches!(work, Work::Event(Event::Received { .. }));
        if droppable && self.queue.len() >= QUEUE {
            return Err(());
        }
        let mut item = Item { work, frame: [0; MAX_FRAME], len: frame.len() as u8 };
        item.frame[..frame.len()].copy_from_slice(frame);
        self.queue.push_back(item);
        Ok(if self.queue.len() == 1 { Some(now + self.first_us()) } else { None })
    }

    /// The first piece of work is done: takes it, and says when the next one will be.
    pub(crate) fn complete(&mut self, now: u64) -> (Option<Item>, Option<u64>) {
        self.active_us += self.first_us();
        let done = self.queue.pop_front();
        let next = if self.queue.is_empty() { None } else { Some(now + self.first_us()) };
        (done, next)
    }

    /// Forgets all work, as a reset does.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.generation = next_generation(self.generation);
        self.deadline_waits = false;
    }

    /// How long the first piece of work takes.
    fn first_us(&self) -> u64 {
        match self.queue.front().map(|item| item.work) {
            Some(Work::Event(Event::Received { .. }))
            | Some(Work::Command(Command::Transmit { .. })) => self.cost_us,
            _ => 0,
        }
    }
}
