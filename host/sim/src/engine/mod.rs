//! Radios and medium: everything below the devices.
//!
//! | file | subject |
//! |---|---|
//! | `mod.rs` | commands, modes, dispatch of timers |
//! | `transmit.rs` | from a command to the air: loading, backoff, assessment, waiting for the ACK |
//! | `air.rs` | start and end of frames at receivers, overlap |
//! | `synchronise.rs` | search for the preamble of a frame or of a rival |
//! | `sense.rs` | channel assessment |
//! | `receive.rs` | filter, automatic acknowledgement, readout |
//! | `chip.rs` | chips with their drivers in place of radios |

mod air;
mod chip;
mod receive;
mod sense;
mod synchronise;
mod transmit;

use crate::energy::RadioState;
use crate::frame::SHR_US;
use crate::interference::Interference;
use crate::ledger::Unacknowledged;
use crate::medium::{Links, MediumConfig, Overlap};
use crate::observe::Observer;
use crate::queue::{Class, MAX_NODES, Queue, next_generation};
use crate::radio::{Job, Mode, NEVER, NodeConfig, Phase, Radio, Task};
use crate::rng::stream;
use crate::stats::{Counters, Fate};
use kinglet_radio::{Access, Busy, Channel, Command, Event, Filter, MAX_FRAME, SIFS, Start};
use kinglet_time::Instant;

/// Range below a radio's sensitivity in which it occasionally receives frames, in dB. Below that
/// range it receives less than one in ten thousand acknowledgements, the shortest frames.
const GREY_DB: f64 = 6.0;

/// An event for a device. The octets of a received frame are in the radio's `incoming`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upcall {
    pub(crate) node: u32,
    pub(crate) event: Event,
}

pub(crate) struct Core {
    pub(crate) now: u64,
    pub(crate) queue: Queue,
    pub(crate) radios: Vec<Radio>,
    pub(crate) links: Links,
    pub(crate) counters: Vec<Counters>,
    pub(crate) upcalls: Vec<Upcall>,
    pub(crate) observer: Observer,
    interference: Interference,
    overlap: Overlap,
    noise_mw: f64,
    hidden_terminals: bool,
    /// Per channel number: frames on the air anywhere, and the end of the last one.
    on_air: [(u32, u64); 27],
}

impl Core {
    pub(crate) fn new(seed: u64, medium: &MediumConfig, nodes: &[NodeConfig]) -> Core {
        assert!(nodes.len() <= MAX_NODES, "a run has at most {MAX_NODES} nodes");
        let positions: Vec<_> = nodes.iter().map(|n| n.position).collect();
        let sensitivity = nodes.iter().map(|n| n.radio.sensitivity_dbm).fold(0.0, f64::min);
        let power = nodes.iter().map(|n| f64::from(n.radio.max_power_dbm())).fold(0.0, f64::max);
        let grey_db = if medium.overlap == Overlap::SinrBer { GREY_DB } else { 0.0 };
        let radios = nodes.iter().enumerate().map(|(i, config)| {
            Radio::new(config, grey_db, |purpose| stream(seed, i as u64, purpose))
        });
        Core {
            now: 0,
            queue: Queue::default(),
            radios: radios.collect(),
            links: Links::build(medium, seed, &positions, sensitivity, power),
            counters: vec![Counters::default(); nodes.len()],
            upcalls: Vec::new(),
            observer: Observer::default(),
            interference: Interference::new(
                seed,
                &medium.interferers,
                medium.start_us,
                &positions,
                medium.noise_floor_dbm,
            ),
            overlap: medium.overlap,
            noise_mw: crate::ber::mw_from_dbm(medium.noise_floor_dbm),
            hidden_terminals: medium.hidden_terminals,
            on_air: [(0, 0); 27],
        }
    }

    /// Executes `command` on the radio of `node`.
    pub(crate) fn submit(
        &mut self,
        node: usize,
        command: Command,
        frame: &[u8],
    ) -> Result<(), Busy> {
        if self.radios[node].socket.is_some() {
            return self.submit_to_chip(node, command, frame);
        }
        match command {
            Command::Off => self.set_mode(node, Mode::Off),
            Command::Receive { start, until, channel } => {
                let from = match start {
                    Start::Asap => self.now,
                    Start::At(at) => at.as_micros(),
                };
                let until = until.map_or(NEVER, Instant::as_micros);
                self.set_mode(node, Mode::Receive { from, until, channel, awaits: None });
            }
            Command::Await { start, until, channel, source_filter }
                if self.radios[node].strobes =>
            {
                let from = match start {
                    Start::Asap => self.now,
                    Start::At(at) => at.as_micros(),
                };
                let until = until.as_micros();
                self.set_mode(
                    node,
                    Mode::Receive { from, until, channel, awaits: Some(source_filter) },
                );
            }
            Command::Transmit { start, access, channel, power_dbm, ack } => {
                let legal = (1..=MAX_FRAME).contains(&frame.len());
                if self.radios[node].job.is_some() || !legal {
                    self.counters[node].refused += 1;
                    return Err(Busy);
                }
                let job = Job { start, access, power_dbm, ack, ..Job::new(Task::Send, channel) };
                self.submit_transmit(node, job, frame);
            }
            Command::Strobe { start, senses, channel, power_dbm, ack, lasting, spacing }
                if self.radios[node].strobes =>
            {
                let legal = (1..=MAX_FRAME).contains(&frame.len());
                if self.radios[node].job.is_some() || !legal {
                    self.counters[node].refused += 1;
                    return Err(Busy);
                }
                let access = if senses > 0 { Access::Cca } else { Access::Immediate };
                let new = Job::new(Task::Strobe(lasting.as_micros()), channel);
                let spacing_us = spacing.as_micros();
                let job = Job { start, access, senses, power_dbm, ack, spacing_us, ..new };
                self.submit_transmit(node, job, frame);
            }
            Command::Pending { short, pending } => self.radios[node].set_pending(short, pending),
            Command::Sense { channel, times } if self.radios[node].senses => {
                return self.submit_sense(node, channel, times);
            }
            Command::Secure(key) if self.radios[node].secures => self.radios[node].key = Some(key),
            Command::Reset => self.reset(node),
            // Commands for abilities that the radio has not announced.
            _ => {}
        }
        Ok(())
    }

    fn set_mode(&mut self, node: usize, mode: Mode) {
        let now = self.now;
        let radio = &mut self.radios[node];
        radio.mode = mode;
        match radio.phase {
            Phase::Listen => {
                let stays = matches!(mode, Mode::Receive { from, until, channel, .. }
                    if from <= now && until > now && channel == radio.channel);
                if !stays && self.can_interrupt(node) {
                    self.abandon(node);
                    self.settle(node);
                }
            }
            Phase::Off => self.settle(node),
            // The current action is completed first; `settle` then reads the mode.
            _ => {}
        }
        self.arm_schedule(node);
    }

    /// Sets the radio's next phase, which ends by itself at `until`.
    fn enter(&mut self, node: usize, phase: Phase, until: u64, state: RadioState) {
        let now = self.now;
        let radio = &mut self.radios[node];
        radio.phase = phase;
        radio.phase_generation = next_generation(radio.phase_generation);
        self.set_state(node, now, state);
        let radio = &mut self.radios[node];
        if until != NEVER {
            let class = match phase {
                Phase::Air | Phase::AckAir => Class::AirEnd,
                Phase::Turnaround | Phase::AckTurnaround => Class::AirStart,
                _ => Class::Phase,
            };
            self.queue.push(until, class, node as u32, radio.phase_generation);
        }
    }

    /// The radio is in `state` from `at` on, for the cause of its phase.
    fn set_state(&mut self, node: usize, at: u64, state: RadioState) {
        let radio = &mut self.radios[node];
        let cause = radio.cause();
        if let Some(since) = radio.meter.change(at, state, cause) {
            self.observer.radio_on(node, since, at);
        }
    }

    /// Completes the timeline for radios that are still on.
    pub(crate) fn show_on_radios(&mut self) {
        for (node, radio) in self.radios.iter().enumerate() {
            if let Some(since) = radio.meter.on_since() {
                self.observer.radio_on(node, since, self.now);
            }
        }
    }

    /// Starts the next action of an idle radio: the buffer's, then the outstanding command's, then
    /// the mode's.
    pub(crate) fn settle(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        if radio.profile.single_buffer() && radio.readout_until > now {
            let until = radio.readout_until;
            return self.enter(node, Phase::Readout, until, RadioState::Listen);
        }
        if let Some(job) = radio.job {
            let asap = matches!(job.start, Start::Asap);
            if job.begin_at == now || (asap && job.begin_at < now) {
                return self.begin(node);
            }
            if !asap && job.begin_at < now {
                self.finish(node, Event::Missed);
            }
        }
        let radio = &mut self.radios[node];
        match radio.mode {
            Mode::Receive { from, until, channel, .. }
                if now < until && now.saturating_add(radio.profile.wake_us()) >= from =>
            {
                if radio.phase == Phase::Off {
                    return self.wake(node);
                }
                radio.channel = channel;
                if radio.phase != Phase::Listen {
                    self.enter(node, Phase::Listen, NEVER, RadioState::Listen);
                }
            }
            Mode::Receive { .. } | Mode::Off => {
                if radio.phase != Phase::Off {
                    self.enter(node, Phase::Off, NEVER, RadioState::Sleep);
                }
            }
        }
    }

    /// Wakes the radio from sleep to send or receive.
    fn wake(&mut self, node: usize) {
        let until = self.now + self.radios[node].profile.wake_us();
        self.enter(node, Phase::Waking, until, RadioState::Idle);
    }

    /// Handles the end of waking up: the oscillator started first, then the synthesiser.
    fn on_awake(&mut self, node: usize) {
        let settling = self.now - self.radios[node].profile.synthesiser_us;
        self.set_state(node, settling, RadioState::Settle);
        self.settle(node);
    }

    /// Arms the timer for the next scheduled action: a transmission, or the start or end of a
    /// receive mode.
    fn arm_schedule(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let mut at = NEVER;
        if let Some(job) = radio.job.filter(|job| !job.begun && job.begin_at > now) {
            at = job.begin_at;
        }
        if let Mode::Receive { from, until, .. } = radio.mode {
            let wake = from.saturating_sub(radio.profile.wake_us());
            if wake > now {
                at = at.min(wake);
            }
            if until > now {
                at = at.min(until);
            }
        }
        if at != radio.schedule_at {
            radio.schedule_at = at;
            radio.schedule_generation = next_generation(radio.schedule_generation);
            if at != NEVER {
                self.queue.push(at, Class::Schedule, node as u32, radio.schedule_generation);
            }
        }
    }

    fn on_schedule(&mut self, node: usize) {
        self.radios[node].schedule_at = NEVER;
        if let Mode::Receive { until, .. } = self.radios[node].mode
            && until <= self.now
        {
            self.radios[node].mode = Mode::Off;
        }
        let sensing = self.radios[node].senses_concurrently(self.now);
        if sensing {
            self.sense_concurrently(node);
        } else if self.can_interrupt(node) {
            let radio = &self.radios[node];
            let due = radio.job.is_some_and(|job| job.begin_at <= self.now);
            if due || radio.mode == Mode::Off {
                self.abandon(node);
            }
            self.settle(node);
        }
        self.arm_schedule(node);
    }

    /// True if a command may take over: the radio is off, or it listens and receives no frame that
    /// its filter accepts. Before the end of the SFD no frame is known.
    fn can_interrupt(&mut self, node: usize) -> bool {
        self.synchronise(node);
        let radio = &self.radios[node];
        match radio.phase {
            Phase::Off => true,
            // Without a hardware filter every frame counts as addressed to this node.
            Phase::Listen => radio
                .lock
                .is_none_or(|lock| !lock.is_found(self.now) || (!lock.mine && radio.auto_ack)),
            _ => false,
        }
    }

    /// Gives up the frame under reception and its rival.
    fn abandon(&mut self, node: usize) {
        self.synchronise(node);
        let radio = &mut self.radios[node];
        let rival = radio.rival.take();
        let Some(lock) = radio.lock.take() else { return };
        self.set_state(node, self.now, RadioState::Listen);
        for lost in [Some(lock), rival].into_iter().flatten() {
            self.fate(node, lost.from, Fate::Abandoned, lost.mine);
        }
    }

    /// Handles a timer of this class and generation.
    pub(crate) fn dispatch(&mut self, class: Class, node: usize, generation: u32) {
        let radio = &mut self.radios[node];
        match class {
            Class::Readout if generation == radio.readout_generation => self.on_readout(node),
            Class::Schedule if generation == radio.schedule_generation => self.on_schedule(node),
            Class::AirEnd | Class::Phase | Class::AirStart
                if generation == radio.phase_generation =>
            {
                self.on_phase_end(node);
            }
            _ => {} // stale
        }
    }

    fn on_phase_end(&mut self, node: usize) {
        if self.radios[node].socket.is_some() {
            return self.on_chip(node);
        }
        match self.radios[node].phase {
            Phase::Waking => self.on_awake(node),
            Phase::Readout => self.settle(node),
            Phase::Access => self.on_access_end(node),
            Phase::Turnaround => self.send_frame(node),
            Phase::Air => self.on_sent(node),
            Phase::AckWait => self.on_ack_missing(node),
            Phase::AckTurnaround => self.send_ack(node),
            Phase::AckAir => {
                self.end_air(node, false);
                self.radios[node].spaced_until = self.now + SIFS.as_micros();
                self.settle(node);
            }
            Phase::Off | Phase::Listen => {}
        }
    }

    /// Records the fate of a frame of `from` at `node`.
    fn fate(&mut self, node: usize, from: u32, fate: Fate, mine: bool) {
        let counters = &mut self.counters[node];
        counters.fates.0[fate as usize] += 1;
        if mine {
            counters.mine.0[fate as usize] += 1;
        }
        if self.observer.active() {
            let links = &self.links;
            let notices = |other: u32| links.notices(other as usize, node);
            let sender = &self.radios[from as usize];
            self.observer.fate(self.now, (node, from, sender), (fate, mine), notices);
        }
    }

    /// Sets the hardware address filter of `node`.
    pub(crate) fn set_filter(&mut self, node: usize, filter: Filter) {
        let radio = &mut self.radios[node];
        radio.filter = filter;
        if let Some(socket) = &mut radio.socket {
            socket.chip.set_filter(filter);
        }
    }

    /// Switches `node` off at once, like a reset: truncates a frame on the air, and drops commands
    /// and received frames. Filter and key are kept.
    pub(crate) fn reset(&mut self, node: usize) {
        if self.radios[node].socket.is_some() {
            return self.reset_chip(node);
        }
        if self.radios[node].air.active {
            self.end_air(node, true);
        }
        self.abandon(node);
        let radio = &mut self.radios[node];
        radio.job = None;
        (radio.received, radio.behind) = (None, None);
        radio.readout_until = 0;
        radio.readout_generation = next_generation(radio.readout_generation);
        radio.mode = Mode::Off;
        radio.pending.clear();
        radio.failed = None;
        radio.unacknowledged = Unacknowledged::default();
        self.enter(node, Phase::Off, NEVER, RadioState::Sleep);
        self.arm_schedule(node);
    }

    fn report(&mut self, node: usize, event: Event) {
        self.upcalls.push(Upcall { node: node as u32, event });
    }

    fn channel_slot(&mut self, channel: Channel) -> &mut (u32, u64) {
        &mut self.on_air[usize::from(channel.number())]
    }

    /// Time from the start of preparation to the preamble.
    fn lead_us(&self, node: usize, job: &Job) -> u64 {
        let radio = &self.radios[node];
        let p = &radio.profile;
        let load = p.load_time(radio.outgoing.psdu_len()).as_micros();
        p.prepare_us + load + p.start_us + job.sensing_us(p.cca_to_air_us)
    }
}
