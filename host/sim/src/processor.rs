//! The host CPU: frames queue for it, and it does one piece of work at a time.

use crate::cpu::{Counted, CpuWork, HostCost};
use crate::queue::next_generation;
use kinglet_radio::{Command, Event};
use std::collections::VecDeque;

/// Maximum number of received frames in the CPU's queue; more are dropped. TCPlp's code base has 50
/// message buffers (samkumar/RIOT-OS, tcp-ot-paper).
const QUEUE: usize = 50;

/// Work for the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// An event for the device.
    Event(Event),
    /// A command for the radio.
    Command(Command),
    /// Work that the device has already done: it only delays later work.
    Done(CpuWork),
}

impl Work {
    /// True for the event that ends a transmission.
    fn ends_transmission(self) -> bool {
        matches!(self, Work::Event(event) if !matches!(event, Event::Received { .. }))
    }

    fn counts(self) -> CpuWork {
        match self {
            Work::Event(Event::Received { .. }) => CpuWork { frames_received: 1, ..CpuWork::NONE },
            Work::Command(Command::Transmit { .. } | Command::Strobe { .. }) => {
                CpuWork { frames_sent: 1, ..CpuWork::NONE }
            }
            Work::Event(_) | Work::Command(_) => CpuWork::NONE,
            Work::Done(work) => work,
        }
    }
}

/// One queued piece of work with its frame; most have no frame.
pub(crate) struct Item {
    pub(crate) work: Work,
    pub(crate) frame: Vec<u8>,
}

impl Item {
    pub(crate) fn new(work: Work, octets: &[u8]) -> Item {
        Item { work, frame: octets.to_vec() }
    }
}

/// State of a CPU.
pub(crate) struct Processor {
    cost: HostCost,
    queue: VecDeque<Item>,
    /// Time of the first piece of work, in microseconds.
    first_us: u64,
    /// Nanoseconds of earlier work that do not make a microsecond yet.
    rest_ns: u64,
    /// Completed work and its time.
    pub(crate) work: CpuWork,
    pub(crate) active_us: u64,
    /// The device's counters when its work was last charged.
    counted: Counted,
    /// Incremented by a reset: completions of earlier work are stale.
    pub(crate) generation: u32,
    /// The device's deadline passed while the CPU was busy.
    pub(crate) deadline_waits: bool,
}

impl Processor {
    /// `None` for a host without processing time: nothing needs to be queued for it.
    pub(crate) fn new(cost: &HostCost) -> Option<Box<Processor>> {
        cost.takes_time().then(|| {
            Box::new(Processor {
                cost: *cost,
                queue: VecDeque::new(),
                first_us: 0,
                rest_ns: 0,
                work: CpuWork::NONE,
                active_us: 0,
                counted: Counted::default(),
                generation: 0,
                deadline_waits: false,
            })
        })
    }

    pub(crate) fn busy(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Queues work. Returns the time at which the first piece is done if it has just been started,
    /// or `Err` if the queue is full.
    pub(crate) fn push(&mut self, now: u64, item: Item) -> Result<Option<u64>, ()> {
        let droppable = matches!(item.work, Work::Event(Event::Received { .. }));
        if droppable && self.queue.len() >= QUEUE {
            return Err(());
        }
        if let Work::Command(Command::Reset) = item.work {
            // Commands submitted before a reset report no results.
            let stale = self.queue.iter_mut().filter(|item| item.work.ends_transmission());
            stale.for_each(|item| item.work = Work::Done(CpuWork::NONE));
        }
        let is_reset = |item: &Item| matches!(item.work, Work::Command(Command::Reset));
        if item.work.ends_transmission() && self.queue.iter().any(is_reset) {
            return Ok(None);
        }
        self.queue.push_back(item);
        Ok(if self.queue.len() == 1 { self.start(now) } else { None })
    }

    /// Work that the device has counted since it was last charged.
    pub(crate) fn new_work(&mut self, counted: Counted) -> CpuWork {
        counted.since(core::mem::replace(&mut self.counted, counted))
    }

    /// Completes the first piece of work. Returns it and the time at which the next one is done.
    pub(crate) fn complete(&mut self, now: u64) -> (Option<Item>, Option<u64>) {
        self.active_us += self.first_us;
        let done = self.queue.pop_front();
        if let Some(item) = &done {
            self.work = self.work + item.work.counts();
        }
        (done, self.start(now))
    }

    /// Starts the first piece of work. Returns the time at which it is done.
    fn start(&mut self, now: u64) -> Option<u64> {
        let counts = self.queue.front()?.work.counts();
        // Time advances by whole microseconds; the remainder is added to the next piece.
        let ns = self.cost.of(counts) + self.rest_ns;
        (self.first_us, self.rest_ns) = (ns / 1_000, ns % 1_000);
        Some(now + self.first_us)
    }

    /// Drops all work, as a reset does.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.counted = Counted::default();
        self.generation = next_generation(self.generation);
        self.deadline_waits = false;
    }
}
