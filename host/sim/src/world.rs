//! The event loop: devices over radios over the medium.

use crate::clock::Clock;
use crate::cpu::{Counted, CpuWork, HostCost};
use crate::energy::Energy;
use crate::engine::{Core, Upcall};
use crate::medium::MediumConfig;
use crate::pcap::{Captures, Pcap};
use crate::processor::{Item, Processor, Work};
use crate::queue::{Class, next_generation};
use crate::radio::{NEVER, NodeConfig, Radio};
use crate::stats::Counters;
use crate::timeline::Timeline;
use crate::trace::{Changed, Look, Loss, Tracer, What};
use crate::wire::Passed;
use kinglet_radio::{Command, Event, Filter, MAX_FRAME};
use kinglet_time::Instant;

/// Maximum number of consecutive commands of a device; a MAC has one transmission outstanding and
/// one mode.
const COMMANDS_IN_A_ROW: u32 = 8;
/// Number of consecutive deadlines of a device at one instant after which it counts as stuck.
const DEADLINES_IN_A_ROW: u32 = 10_000;

/// A simulated device: a stack with its application. Like every layer of Kinglet it has no I/O of
/// its own.
///
/// All times are those of the device's own clock, which drifts from true time if configured.
pub trait Device {
    /// Handles `event` of the radio; `frame` holds the octets of a received frame and is empty
    /// otherwise.
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]);

    /// Returns the next command for the radio with the frame to send, or `None`. Called after every
    /// event of the device until it returns `None`.
    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])>;

    /// Time of the next call of [`Device::handle_deadline`].
    fn deadline(&self) -> Option<Instant>;

    /// Handles the deadline, which has passed.
    fn handle_deadline(&mut self, now: Instant);

    /// Counts of the device's work other than frames.
    fn work(&mut self) -> Counted {
        Counted::default()
    }

    /// View for a trace; `None` for a device without a stack.
    fn look(&self) -> Option<&dyn Look> {
        None
    }

    /// Returns the kind of counters that have changed since the last call. With `always` it is not
    /// `Nothing`, because the call may have changed what no counter of packets shows.
    fn has_counted(&mut self, always: bool) -> Changed {
        if always { Changed::Reasons } else { Changed::Nothing }
    }

    /// Starts or stops the recording of packet events on a wire.
    fn trace_wire(&mut self, _on: bool) {}

    /// Returns the packet events since the last call.
    fn take_passed(&mut self) -> Vec<Passed> {
        Vec::new()
    }
}

/// A change of the network at a given time.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Sets the loss of a directed link, 0 to 1. No effect if there is no such link.
    LinkLoss {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
        /// Loss probability.
        loss: f64,
    },
    /// Frames pass only between nodes of the same side. An empty set ends all partitions.
    Partition(
        /// Nodes of one side.
        Vec<usize>,
    ),
}

struct Slot<D> {
    device: D,
    clock: Clock,
    /// Times of the pending deadline events, the earliest last. An event is added only if it is
    /// earlier than all others; later ones stay, and the device's deadline is checked when they
    /// fire.
    armed: Vec<u64>,
    generation: u32,
    /// Deadline of the device at its last poll, by its own clock.
    deadline: Option<Instant>,
    /// True if it has been polled.
    begun: bool,
    last_deadline: u64,
    deadlines_in_a_row: u32,
    processor: Option<Box<Processor>>,
    cost: HostCost,
}

/// A network of devices.
pub struct World<D> {
    core: Core,
    slots: Vec<Slot<D>>,
    faults: Vec<Fault>,
    events: u64,
    seed: u64,
}

impl<D: Device> World<D> {
    /// Octets of memory of each node at its start, including its device, without memory that the
    /// device has elsewhere.
    pub const NODE_BYTES: usize = size_of::<Slot<D>>() + size_of::<Radio>() + size_of::<Counters>();

    /// Creates a network at time zero. Every device is polled for the first time when its node
    /// begins.
    ///
    /// # Panics
    /// If there are more than 2^20 nodes, or a link matrix contains an invalid link.
    pub fn new(seed: u64, medium: &MediumConfig, nodes: Vec<(NodeConfig, D)>) -> World<D> {
        let configs: Vec<NodeConfig> = nodes.iter().map(|(config, _)| *config).collect();
        let slot = |(config, device): (NodeConfig, D)| Slot {
            deadline: device.deadline(),
            device,
            clock: Clock::new(config.drift_ppm, config.begin_us),
            armed: Vec::new(),
            generation: 0,
            begun: false,
            last_deadline: NEVER,
            deadlines_in_a_row: 0,
            processor: Processor::new(&config.host),
            cost: config.host,
        };
        let mut world = World {
            core: Core::new(seed, medium, &configs),
            slots: nodes.into_iter().map(slot).collect(),
            faults: Vec::new(),
            events: 0,
            seed,
        };
        for (node, config) in configs.iter().enumerate() {
            match u64::from(config.begin_us) {
                0 => world.kick(node),
                at => world.wake_at(node, at),
            }
        }
        world
    }

    /// Schedules a call of the device of `node` at `at`, regardless of its deadline.
    fn wake_at(&mut self, node: usize, at: u64) {
        let slot = &mut self.slots[node];
        slot.armed.push(at);
        self.core.queue.push(at, Class::Deadline, node as u32, slot.generation);
    }

    /// The same network with other devices in place of these. Commands to the radios stay valid.
    pub fn map<E: Device>(self, mut f: impl FnMut(D) -> E) -> World<E> {
        let World { core, slots, faults, events, seed } = self;
        let slot = |slot: Slot<D>| {
            let Slot {
                device,
                clock,
                armed,
                generation,
                deadline: _,
                begun,
                last_deadline,
                deadlines_in_a_row,
                processor,
                cost,
            } = slot;
            let device = f(device);
            Slot {
                deadline: device.deadline(),
                device,
                clock,
                armed,
                generation,
                begun,
                last_deadline,
                deadlines_in_a_row,
                processor,
                cost,
            }
        };
        World { core, slots: slots.into_iter().map(slot).collect(), faults, events, seed }
    }

    /// True time.
    pub fn now(&self) -> Instant {
        Instant::from_micros(self.core.now)
    }

    /// The root seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.slots.len()
    }

    /// Events handled so far, stale ones included.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Time of the next event, which may be stale.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.core.queue.next_at().map(Instant::from_micros)
    }

    /// The device of `node`.
    pub fn device(&self, node: usize) -> &D {
        &self.slots[node].device
    }

    /// Changes the device of `node` from outside, at [`World::now`] by its own clock, and then
    /// executes its commands.
    pub fn with_device<R>(&mut self, node: usize, f: impl FnOnce(&mut D, Instant) -> R) -> R {
        let slot = &mut self.slots[node];
        let local = slot.clock.local(self.core.now);
        let result = f(&mut slot.device, local);
        self.trace_rest(node, false);
        self.kick(node);
        result
    }

    /// Polls the device of `node` and handles all consequences at this instant.
    pub fn kick(&mut self, node: usize) {
        self.pump(node);
        self.drain();
    }

    /// Handles all events up to and including `until`, which becomes the current time.
    pub fn run_until(&mut self, until: Instant) {
        let until = until.as_micros();
        while self.step_until(until) {}
        self.core.now = self.core.now.max(until);
    }

    /// Handles the next event. `false` if there is none.
    pub fn step(&mut self) -> bool {
        self.step_until(u64::MAX)
    }

    /// Handles the next event if it is due by `until`. Returns whether it was.
    fn step_until(&mut self, until: u64) -> bool {
        let Some(event) = self.core.queue.pop_until(until) else { return false };
        assert!(event.at() >= self.core.now, "time never runs backwards");
        self.core.now = event.at();
        self.events += 1;
        let node = event.node() as usize;
        match event.class() {
            Class::Deadline => self.on_deadline(node, event.generation()),
            Class::Processor => self.on_processor(node, event.generation()),
            Class::Fault => self.on_fault(node),
            class => self.core.dispatch(class, node, event.generation()),
        }
        self.drain();
        true
    }

    fn drain(&mut self) {
        let mut next = 0;
        while let Some(&upcall) = self.core.upcalls.get(next) {
            next += 1;
            self.deliver(upcall);
        }
        self.core.upcalls.clear();
    }

    fn deliver(&mut self, upcall: Upcall) {
        let node = upcall.node as usize;
        let slot = &mut self.slots[node];
        let frame = match upcall.event {
            Event::Received { .. } => self.core.radios[node].incoming.frame(),
            _ => &[],
        };
        match &mut slot.processor {
            None => {
                let local = slot.clock.local(self.core.now);
                self.core.observer.receives(self.core.now, node, upcall.event);
                slot.device.handle_radio(local, slot.clock.event(upcall.event), frame);
                self.trace_call(node, false);
                self.pump(node);
            }
            Some(processor) => {
                match processor.push(self.core.now, Item::new(Work::Event(upcall.event), frame)) {
                    Ok(Some(at)) => {
                        self.core.queue.push(
                            at,
                            Class::Processor,
                            node as u32,
                            processor.generation,
                        );
                    }
                    Ok(None) => {}
                    Err(()) => self.core.counters[node].host_dropped += 1,
                }
            }
        }
    }

    /// Executes the device's commands, then reads its deadline.
    fn pump(&mut self, node: usize) {
        let now = self.core.now;
        let local = self.slots[node].clock.local(now);
        for _ in 0..COMMANDS_IN_A_ROW {
            let slot = &mut self.slots[node];
            let Some((command, frame)) = slot.device.poll_radio(local) else { break };
            let command = slot.clock.command(command);
            let mut own = [0; MAX_FRAME];
            let frame = match &mut self.core.observer.trace {
                None => frame,
                Some(trace) => {
                    let own = &mut own[..frame.len()];
                    own.copy_from_slice(frame);
                    // The frame may be the first of a packet that has just been formed.
                    slot.device.look().inspect(|look| trace.counts(now, node, *look));
                    own
                }
            };
            if slot.processor.is_none() {
                // A refusal is counted; a device that breaks the contract loses its command.
                let _ = self.core.submit(node, command, frame);
                continue;
            }
            let item = Item::new(Work::Command(command), frame);
            self.charge(node);
            self.queue_work(node, item);
        }
        self.charge(node);
        self.trace_rest(node, false);
        let slot = &mut self.slots[node];
        slot.begun = true;
        slot.deadline = slot.device.deadline();
        self.arm(node);
    }

    /// Schedules an event for the deadline of `node`. A deadline later than the scheduled event is
    /// checked when that event fires: most deadlines are postponed again and again, and so that
    /// costs nothing.
    fn arm(&mut self, node: usize) {
        let now = self.core.now;
        let slot = &self.slots[node];
        let due = slot.deadline.map_or(NEVER, |at| slot.clock.true_us(at).max(now));
        if due < slot.armed.last().copied().unwrap_or(NEVER) {
            self.wake_at(node, due);
        }
    }

    /// Charges the CPU of `node` for the work that the device has counted since the last call.
    fn charge(&mut self, node: usize) {
        let slot = &mut self.slots[node];
        let Some(processor) = &mut slot.processor else { return };
        let work = processor.new_work(slot.device.work());
        if work != CpuWork::NONE {
            self.done(node, work);
        }
    }

    /// Charges the CPU of `node` for `work` that the device has already done.
    fn done(&mut self, node: usize, work: CpuWork) {
        if self.slots[node].processor.is_some() {
            self.queue_work(node, Item::new(Work::Done(work), &[]));
        }
    }

    /// Queues work that is never dropped for the CPU of `node`.
    fn queue_work(&mut self, node: usize, item: Item) {
        let Some(processor) = &mut self.slots[node].processor else { return };
        if let Ok(Some(at)) = processor.push(self.core.now, item) {
            self.core.queue.push(at, Class::Processor, node as u32, processor.generation);
        }
    }

    fn on_deadline(&mut self, node: usize, generation: u32) {
        let slot = &mut self.slots[node];
        if generation != slot.generation {
            return;
        }
        slot.armed.pop();
        if let Some(processor) = slot.processor.as_mut().filter(|processor| processor.busy()) {
            processor.deadline_waits = true;
            return;
        }
        let begins = !slot.begun;
        if self.run_deadline(node) || begins {
            self.pump(node);
        } else {
            // The deadline has moved since the event was scheduled, and the device has not been
            // called.
            self.arm(node);
        }
    }

    /// Lets the device of `node` handle its deadline if it has passed. Returns whether it had.
    fn run_deadline(&mut self, node: usize) -> bool {
        let slot = &mut self.slots[node];
        let now = self.core.now;
        let local = slot.clock.local(now);
        if slot.deadline.is_none_or(|at| at > local) {
            return false;
        }
        if slot.last_deadline == now {
            slot.deadlines_in_a_row += 1;
            assert!(
                slot.deadlines_in_a_row < DEADLINES_IN_A_ROW,
                "node {node} has a stale deadline: it stays due at {local:?}"
            );
        } else {
            slot.last_deadline = now;
            slot.deadlines_in_a_row = 0;
        }
        slot.device.handle_deadline(local);
        // A timer may end something that no layer's packet counters show.
        self.trace_rest(node, true);
        let work = CpuWork { wake_ups: 1, ..CpuWork::NONE };
        self.done(node, work);
        true
    }

    fn on_processor(&mut self, node: usize, generation: u32) {
        let slot = &mut self.slots[node];
        let Some(processor) =
            slot.processor.as_mut().filter(|processor| processor.generation == generation)
        else {
            return;
        };
        let (done, next) = processor.complete(self.core.now);
        if let Some(at) = next {
            self.core.queue.push(at, Class::Processor, node as u32, generation);
        }
        let deadline = core::mem::take(&mut processor.deadline_waits);
        let Some(done) = done else { return };
        match done.work {
            Work::Event(event) => {
                let local = slot.clock.local(self.core.now);
                self.core.observer.receives(self.core.now, node, event);
                slot.device.handle_radio(local, slot.clock.event(event), &done.frame);
                self.trace_call(node, false);
            }
            Work::Command(command) => {
                // As in `pump`.
                let _ = self.core.submit(node, command, &done.frame);
            }
            Work::Done(_) => {}
        }
        if deadline {
            let slot = &mut self.slots[node];
            slot.deadline = slot.device.deadline();
            self.run_deadline(node);
        }
        self.pump(node);
    }

    /// Schedules `fault` at `at` (not before now).
    pub fn schedule_fault(&mut self, at: Instant, fault: Fault) {
        let index = self.faults.len() as u32;
        self.faults.push(fault);
        let at = at.as_micros().max(self.core.now);
        self.core.queue.push(at, Class::Fault, index, 0);
    }

    fn on_fault(&mut self, index: usize) {
        match &self.faults[index] {
            Fault::LinkLoss { from, to, loss } => {
                if let Some(link) = self.core.links.find(*from, *to) {
                    link.set_loss(*loss);
                }
            }
            Fault::Partition(side) => self.core.links.partition(|node| side.contains(&node)),
        }
    }

    /// Replaces the device of `node`, like a reboot: its radio is switched off at once, and a frame
    /// on the air is truncated. Returns the old device.
    pub fn reboot(&mut self, node: usize, device: D) -> D {
        self.core.reset(node);
        let slot = &mut self.slots[node];
        let old = core::mem::replace(&mut slot.device, device);
        slot.device.trace_wire(self.core.observer.trace.is_some());
        if let Some(trace) = &mut self.core.observer.trace {
            trace.restarts(self.core.now, node);
        }
        slot.armed.clear();
        slot.generation = next_generation(slot.generation);
        if let Some(processor) = &mut slot.processor {
            processor.clear();
        }
        self.kick(node);
        old
    }

    /// Sets the hardware address filter of `node`.
    pub fn set_filter(&mut self, node: usize, filter: Filter) {
        self.core.set_filter(node, filter);
    }

    /// The radio counters of `node`.
    pub fn counters(&self, node: usize) -> &Counters {
        &self.core.counters[node]
    }

    /// Links: pairs of nodes, the smaller number first, that can receive each other's frames at
    /// about `power_dbm`. Faults and interference are not considered.
    pub fn links(&self, power_dbm: i8) -> Vec<(usize, usize)> {
        let (links, radios) = (&self.core.links, &self.core.radios);
        let reaches = |from: usize, to: usize| {
            let power = f64::from(radios[from].profile.nearest_power(power_dbm));
            links.reaches(from, to, power, radios[to].profile.sensitivity_dbm)
        };
        let after = |from| links.range(from).map(|place| links.at(place).to as usize);
        let pairs = (0..self.nodes()).flat_map(|a| after(a).map(move |b| (a, b)));
        pairs.filter(|(a, b)| a < b && reaches(*a, *b) && reaches(*b, *a)).collect()
    }

    /// Number of frames that `node` is receiving or whose preambles it follows; their fate is open.
    pub fn receiving(&self, node: usize) -> usize {
        let radio = &self.core.radios[node];
        usize::from(radio.lock.is_some()) + usize::from(radio.rival.is_some())
    }

    /// Time and charge of `node` so far.
    pub fn energy(&self, node: usize) -> Energy {
        let radio = &self.core.radios[node];
        let slot = &self.slots[node];
        let times = radio.meter.until(self.core.now);
        let done = |processor: &Processor| (processor.active_us, processor.work);
        let active = slot.processor.as_deref().map_or((0, CpuWork::NONE), done);
        Energy::new(self.core.now, times, &radio.profile.currents, active, &slot.cost)
    }

    /// Starts the trace, or ends it with `None`; returns the previous one.
    pub fn set_trace(&mut self, trace: Option<Tracer>) -> Option<Tracer> {
        let on = trace.is_some();
        self.slots.iter_mut().for_each(|slot| slot.device.trace_wire(on));
        let mut trace = trace.map(Box::new);
        if let Some(trace) = &mut trace {
            trace.begin(self.slots.len());
        }
        core::mem::replace(&mut self.core.observer.trace, trace).map(|trace| *trace)
    }

    /// Traces the changes by a call to the device of `node`, if it has counted anything or if
    /// `always`.
    #[inline]
    fn trace_call(&mut self, node: usize, always: bool) {
        let Some(trace) = &mut self.core.observer.trace else { return };
        let (now, device) = (self.core.now, &mut self.slots[node].device);
        for passed in device.take_passed() {
            let packet = trace.passes(now, node, &passed);
            if let Some(captures) = &mut self.core.observer.captures {
                passed.capture(captures, now, packet);
            }
        }
        let changed = device.has_counted(always);
        if changed != Changed::Nothing
            && let Some(look) = device.look()
        {
            trace.looks(now, node, look, changed == Changed::Reasons);
        }
    }

    /// The same for a call that concerns no specific frame.
    #[inline]
    fn trace_rest(&mut self, node: usize, always: bool) {
        if let Some(trace) = &mut self.core.observer.trace {
            trace.idle(node);
            self.trace_call(node, always);
        }
    }

    /// Adds a lost relation of `node` to the trace, if there is one.
    pub fn trace_loss(&mut self, node: usize, loss: &Loss) {
        if let Some(trace) = &mut self.core.observer.trace {
            trace.event(self.core.now, node, What::Lost(loss.clone()));
        }
    }

    /// Starts the capture, or ends it with `None`; returns the previous one.
    pub fn set_pcap(&mut self, pcap: Option<Pcap>) -> Option<Pcap> {
        core::mem::replace(&mut self.core.observer.pcap, pcap)
    }

    /// Starts the captures of the nodes, or ends them with `None`; returns the previous ones. They
    /// need an active trace, which knows the frames' identities.
    pub fn set_captures(&mut self, captures: Option<Captures>) -> Option<Captures> {
        core::mem::replace(&mut self.core.observer.captures, captures)
    }

    /// Adds intervals collected by the clock of `node` to the timeline, if there is one.
    pub fn join_timeline(&mut self, node: usize, beside: &Timeline) {
        let clock = self.slots[node].clock;
        if let Some(timeline) = &mut self.core.observer.timeline {
            timeline.join(node, beside, |us| clock.true_us(Instant::from_micros(us)));
        }
    }

    /// Starts the timeline, or ends it with `None`; returns the previous one.
    pub fn set_timeline(&mut self, timeline: Option<Timeline>) -> Option<Timeline> {
        self.core.show_on_radios();
        core::mem::replace(&mut self.core.observer.timeline, timeline)
    }
}
