//! Chips with their drivers in place of radios. The radio of such a node is an antenna: its phase
//! follows that of the chip, and the medium treats it as any other.

use super::{Core, SHR_US};
use crate::chip::{Antenna, Heard};
use crate::energy::RadioState;
use crate::frame::Header;
use crate::ledger::{Cause, Unacknowledged, cause_of};
use crate::queue::{Class, next_generation};
use crate::radio::{Job, Lock, Mode, NEVER, Phase, Task};
use crate::stats::Fate;
use kinglet_radio::{Busy, CCA, Command, Event, MAX_FRAME, Start, air_time};
use kinglet_time::Instant;

/// Calls of a chip at one instant after which its driver counts as stuck.
const CALLS_IN_A_ROW: u32 = 1_000;

impl Core {
    /// Passes `command` to the driver of `node`.
    pub(super) fn submit_to_chip(
        &mut self,
        node: usize,
        command: Command,
        frame: &[u8],
    ) -> Result<(), Busy> {
        self.advance_chip(node);
        match command {
            Command::Off => self.radios[node].mode = Mode::Off,
            Command::Receive { start, until, channel } => {
                let from = match start {
                    Start::Asap => self.now,
                    Start::At(at) => at.as_micros(),
                };
                let until = until.map_or(NEVER, Instant::as_micros);
                let awaits = None;
                self.radios[node].mode = Mode::Receive { from, until, channel, awaits };
            }
            Command::Transmit { start, access, channel, power_dbm, ack } => {
                let legal = (1..=MAX_FRAME).contains(&frame.len());
                if self.radios[node].job.is_some() || !legal {
                    self.counters[node].refused += 1;
                    return Err(Busy);
                }
                self.load_frame(node, frame);
                let new = Job::new(Task::Send, channel);
                self.radios[node].job = Some(Job { start, access, power_dbm, ack, ..new });
            }
            _ => {}
        }
        let now = Instant::from_micros(self.now);
        let Some(socket) = &mut self.radios[node].socket else { return Err(Busy) };
        let result = socket.chip.submit(now, command, frame);
        if result.is_err() {
            self.radios[node].job = None;
            self.counters[node].refused += 1;
        }
        self.follow(node);
        result
    }

    /// Restarts the chip of `node`.
    pub(super) fn reset_chip(&mut self, node: usize) {
        self.advance_chip(node);
        let now = Instant::from_micros(self.now);
        let radio = &mut self.radios[node];
        (radio.job, radio.mode, radio.failed) = (None, Mode::Off, None);
        radio.unacknowledged = Unacknowledged::default();
        if let Some(socket) = &mut radio.socket {
            // No driver refuses it.
            let _ = socket.chip.submit(now, Command::Reset, &[]);
        }
        self.follow(node);
    }

    /// Lets the chip of `node` do what is due.
    pub(super) fn on_chip(&mut self, node: usize) {
        let now = self.now;
        self.advance_chip(node);
        if let Some(socket) = &mut self.radios[node].socket {
            let (at, calls) = socket.called;
            socket.called = (now, if at == now { calls + 1 } else { 0 });
            assert!(calls < CALLS_IN_A_ROW, "the driver of node {node} stays due at {now} us");
        }
        let mut frame = [0; MAX_FRAME];
        while let Some(socket) = &mut self.radios[node].socket {
            match socket.chip.poll_event(Instant::from_micros(now), &mut frame) {
                Some(event @ Event::Received { len, .. }) => {
                    let frame = &frame[..usize::from(len).min(MAX_FRAME)];
                    self.radios[node].incoming.load(frame);
                    self.report(node, event);
                    // The next one follows after the device has received this one.
                    break;
                }
                Some(event) => self.finish(node, event),
                None => break,
            }
        }
        self.follow(node);
    }

    /// Lets chip and driver of `node` work until now.
    fn advance_chip(&mut self, node: usize) {
        self.reconcile(node);
        let now = self.now;
        let radio = &self.radios[node];
        let since = radio.sense_at;
        let busy = (radio.phase == Phase::Access && now >= since + CCA.as_micros()).then(|| {
            let busy = self.channel_busy(node, since);
            self.assessed(node, since, since, busy);
            busy
        });
        let Some(socket) = &mut self.radios[node].socket else { return };
        if let Some(busy) = busy {
            socket.chip.assess(busy);
        }
        socket.chip.advance(Instant::from_micros(now));
    }

    /// Reports to the chip of `node` which frame its receiver follows now.
    fn reconcile(&mut self, node: usize) {
        self.synchronise(node);
        let radio = &self.radios[node];
        let now_heard = radio.lock.map(|lock| (lock.from, lock.begin));
        let Some(heard) = radio.socket.as_ref().map(|socket| socket.heard) else { return };
        if heard == now_heard {
            return;
        }
        let frame = radio.lock.map(|lock| {
            let frame = self.radios[lock.from as usize].sending().frame().to_vec();
            (frame, lock.begin, lock.dbm as i8)
        });
        let radio = &mut self.radios[node];
        let channel = radio.channel;
        let Some(socket) = &mut radio.socket else { return };
        socket.heard = now_heard;
        if let Some((_, begin)) = heard {
            socket.chip.lose(Instant::from_micros(begin));
        }
        if let Some((frame, begin, rssi_dbm)) = frame {
            let begin = Instant::from_micros(begin);
            socket.chip.hear(Heard { begin, channel, frame: &frame, rssi_dbm });
        }
    }

    /// The same after a change of the signals.
    pub(super) fn inform_chip(&mut self, node: usize) {
        if self.radios[node].socket.is_some() {
            self.reconcile(node);
            self.arm_chip(node);
        }
    }

    /// Handles the end of the frame that `node` was locked on, with a correct FCS: the chip
    /// processes it by itself, and finds no other one meanwhile.
    pub(super) fn receive_by_chip(&mut self, node: usize, lock: Lock) {
        let header = self.radios[lock.from as usize].sending().header;
        let radio = &mut self.radios[node];
        if let Some(socket) = &mut radio.socket {
            socket.heard = None;
        }
        let expected = radio.outgoing.header.sequence;
        let (accepted, unicast) = header.accepted_by(&radio.filter);
        let is_awaited = header.is_ack() && header.sequence == expected && expected.is_some();
        let (fate, phase) = match radio.phase {
            Phase::AckWait if is_awaited => (Fate::Delivered, Phase::Turnaround),
            Phase::AckWait => (Fate::AwaitingAck, Phase::Turnaround),
            _ if accepted && unicast && header.wants_ack() => {
                (Fate::Delivered, Phase::AckTurnaround)
            }
            _ if accepted => (Fate::Delivered, Phase::Readout),
            _ => (Fate::Filtered, Phase::Readout),
        };
        if lock.mine && fate == Fate::Delivered {
            radio.received_for = cause_of(&header, Cause::Receive);
            radio.meter.was_for(radio.received_for);
        }
        self.fate(node, lock.from, fate, lock.mine);
        self.turn(node, phase, RadioState::Listen);
    }

    /// Handles the loss of the frame that the chip of `node` followed.
    pub(super) fn lose_at_chip(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Some(socket) = &mut radio.socket else { return };
        let Some((_, begin)) = socket.heard.take() else { return };
        socket.chip.lose(Instant::from_micros(begin));
        if now >= begin + SHR_US {
            // The chip receives it to its end.
            let phase = if radio.job.is_some() { Phase::Turnaround } else { Phase::Readout };
            self.turn(node, phase, RadioState::Listen);
        }
        self.arm_chip(node);
    }

    /// Adapts the antenna of `node` to its chip.
    fn follow(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Some(socket) = &radio.socket else { return };
        let antenna = socket.chip.antenna();
        if radio.air.active && !matches!(antenna, Antenna::Sending { .. }) {
            let end = radio.air.start + air_time(radio.sending().psdu_len()).as_micros();
            self.end_air(node, now < end);
        }
        let radio = &mut self.radios[node];
        let ramp = radio.phase_of_ramp();
        match antenna {
            Antenna::Off => self.turn(node, Phase::Off, RadioState::Sleep),
            Antenna::Idle => self.turn(node, ramp, RadioState::Idle),
            Antenna::Ramp { .. } => {
                let starts = matches!(radio.phase, Phase::Off | Phase::Waking);
                let state = if starts { RadioState::Settle } else { RadioState::Ready };
                self.turn(node, ramp, state);
            }
            Antenna::Listening(channel) => {
                let awaits = radio.job.is_some_and(|job| job.ack && job.times > 0);
                let phase = if awaits { Phase::AckWait } else { Phase::Listen };
                if radio.phase != phase {
                    radio.channel = channel;
                    self.turn(node, phase, RadioState::Listen);
                }
            }
            // The end of the frame changes the phase.
            Antenna::Receiving => {}
            Antenna::Assessing { channel, from } => {
                if radio.phase != Phase::Access {
                    radio.channel = channel;
                    radio.ready_at = from.as_micros();
                    radio.assess_at(from.as_micros());
                    self.turn(node, Phase::Access, RadioState::Listen);
                }
            }
            Antenna::Sending { channel, power_dbm, frame } => {
                if !radio.air.active {
                    (radio.channel, radio.power_dbm) = (channel, power_dbm);
                    self.begin_frame(node, &frame);
                }
            }
        }
        self.arm_chip(node);
    }

    /// The chip of `node` begins to send `frame`.
    fn begin_frame(&mut self, node: usize, frame: &[u8]) {
        self.abandon(node);
        let radio = &mut self.radios[node];
        let is_ack = Header::parse(frame).is_ack();
        if is_ack {
            radio.ack.load(frame);
            return self.send_ack(node);
        }
        radio.outgoing.load(frame);
        if let Some(job) = &mut radio.job {
            (job.times, job.first_at) = (1, self.now);
        }
        self.counters[node].frames_sent += 1;
        self.start_air(node, false);
    }

    /// Sets phase and state of the antenna of `node`.
    fn turn(&mut self, node: usize, phase: Phase, state: RadioState) {
        if !matches!(phase, Phase::Listen | Phase::AckWait) {
            self.abandon(node);
        }
        self.radios[node].phase = phase;
        self.set_state(node, self.now, state);
    }

    /// Arms the timer for the next call of the chip.
    fn arm_chip(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Some(socket) = &radio.socket else { return };
        let at = socket.chip.next_at().map_or(NEVER, Instant::as_micros);
        let class = match (radio.phase, socket.chip.antenna()) {
            (Phase::Air | Phase::AckAir, _) => Class::AirEnd,
            (_, Antenna::Ramp { sends: true }) => Class::AirStart,
            _ => Class::Phase,
        };
        radio.phase_generation = next_generation(radio.phase_generation);
        if at != NEVER {
            self.queue.push(at.max(now), class, node as u32, radio.phase_generation);
        }
    }
}
