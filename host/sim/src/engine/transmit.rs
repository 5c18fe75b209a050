//! From a `Transmit` command to the air and to its one final event.

use super::{Core, SHR_US};
use crate::energy::RadioState;
use crate::ledger::Cause;
use crate::radio::{Job, NEVER, Phase};
use crate::secure;
use kinglet_radio::{
    ACK_WAIT, Access, Ack, Busy, CCA, Channel, Event, Start, TURNAROUND, UNIT_BACKOFF,
};
use kinglet_time::Instant;

impl Core {
    pub(super) fn submit_transmit(&mut self, node: usize, mut job: Job, frame: &[u8]) {
        let radio = &mut self.radios[node];
        radio.outgoing.load(frame);
        if let Some(key) = &radio.key {
            secure::seal(key, radio.outgoing.frame_mut());
        }
        radio.sending_for = radio.unacknowledged.sending(&radio.outgoing.header);
        if let Some((sequence, slept)) = radio.failed.take()
            && radio.outgoing.header.sequence == Some(sequence)
        {
            let slept = radio.meter.asleep(self.now) - slept;
            radio.meter.slept_between_attempts(slept.saturating_sub(radio.profile.wake_us()));
        }
        if let Start::At(sfd) = job.start {
            let wake = match self.radios[node].phase {
                Phase::Off => self.radios[node].profile.wake_us(),
                _ => 0,
            };
            let lead = SHR_US + self.lead_us(node, job.access) + wake;
            // 0 (too early to be met) stands for "as soon as possible", so keep clear of it.
            job.begin_at = sfd.as_micros().saturating_sub(lead).max(1);
        }
        let radio = &mut self.radios[node];
        if radio.profile.listens_while_loading() && job.start == Start::Asap {
            let load = radio.profile.load_time(radio.outgoing.psdu_len()).as_micros();
            job.begin_at = radio.bus_free(self.now) + load;
        }
        radio.job = Some(job);
        if job.begin_at < self.now && job.begin_at != 0 {
            return self.finish(node, Event::Missed);
        }
        if job.begin_at <= self.now && self.can_interrupt(node) {
            self.abandon(node);
            self.settle(node);
        }
        self.arm_schedule(node);
    }

    /// `Command::Sense`.
    pub(super) fn submit_sense(&mut self, node: usize, channel: Channel) -> Result<(), Busy> {
        let radio = &mut self.radios[node];
        if radio.job.is_some() {
            self.counters[node].refused += 1;
            return Err(Busy);
        }
        let (start, access, power_dbm) = (Start::Asap, Access::Cca, radio.power_dbm);
        radio.sending_for = Cause::Poll;
        radio.job = Some(Job {
            start,
            access,
            channel,
            power_dbm,
            ack: false,
            senses: true,
            begun: false,
            begin_at: 0,
            exponent: 0,
            attempts: 0,
        });
        if self.can_interrupt(node) {
            self.abandon(node);
            self.settle(node);
        }
        Ok(())
    }

    /// Starts preparing the outstanding transmission.
    pub(super) fn begin(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        let Some(job) = &mut radio.job else { return };
        let p = &radio.profile;
        if radio.phase == Phase::Off && p.wake_us() > 0 {
            if matches!(job.start, Start::At(_)) {
                job.begin_at = now + p.wake_us();
            }
            return self.wake(node);
        }
        job.begun = true;
        radio.channel = job.channel;
        if job.senses {
            // A receiver senses: there is nothing to prepare.
            radio.ready_at = now;
            radio.assess_at(now);
            return self.enter(node, Phase::Access, now + CCA.as_micros(), RadioState::Listen);
        }
        // What is loaded while it listens has been loaded by now.
        let loaded = p.listens_while_loading();
        let load = if loaded { 0 } else { p.load_time(radio.outgoing.psdu_len()).as_micros() };
        let sense = match job.access {
            Access::Immediate => 0,
            Access::Cca | Access::Csma(_) => CCA.as_micros() + p.cca_to_air_us,
        };
        let mut ready_at = now + p.prepare_us + load + p.start_us;
        ready_at = ready_at.max(radio.spaced_until.saturating_sub(sense));
        if let Start::At(sfd) = job.start {
            let wanted = sfd.as_micros().saturating_sub(SHR_US + sense);
            if ready_at > wanted {
                // The radio went to sleep after the command had been planned.
                return self.miss(node);
            }
            ready_at = wanted;
        }
        radio.ready_at = ready_at;
        let end = match (job.access, job.start) {
            (Access::Immediate, _) => {
                radio.assess_at(NEVER);
                ready_at
            }
            // Random backoff and a fixed start exclude each other: a scheduled transmission
            // assesses the channel once.
            (Access::Cca, _) | (Access::Csma(_), Start::At(_)) => {
                radio.assess_at(ready_at);
                ready_at + CCA.as_micros()
            }
            (Access::Csma(params), Start::Asap) => {
                job.exponent = params.min_be.min(params.max_be);
                let units = radio.csma_random.below(1 << job.exponent.min(8));
                radio.assess_at(ready_at + u64::from(units) * UNIT_BACKOFF.as_micros());
                radio.sense_at + CCA.as_micros()
            }
        };
        self.observer.loading(now, node, ready_at);
        if end == now {
            // Nothing to copy and nothing to sense: straight to the air.
            return self.send_frame(node);
        }
        self.enter(node, Phase::Access, end, RadioState::Ready);
    }

    fn miss(&mut self, node: usize) {
        self.finish(node, Event::Missed);
        self.settle(node);
    }

    /// Loading is over, or an assessment.
    pub(super) fn on_access_end(&mut self, node: usize) {
        let radio = &mut self.radios[node];
        let Some(job) = radio.job else { return };
        if radio.sense_at == NEVER {
            return self.send_frame(node);
        }
        let (ready_at, sense_at) = (radio.ready_at, radio.sense_at);
        self.turn(node, sense_at, RadioState::Listen);
        let radio = &self.radios[node];
        let turnaround = radio.profile.cca_to_air_us;
        let busy = self.channel_busy(node, sense_at);
        self.counters[node].assessments += 1;
        self.observer.assessed(self.now, node, ready_at, sense_at, busy);
        if job.senses {
            self.counters[node].assessments_busy += u64::from(busy);
            self.finish(node, Event::Sensed { busy });
            return self.settle(node);
        }
        if !busy {
            let until = self.now + turnaround;
            return self.enter(node, Phase::Turnaround, until, RadioState::Ready);
        }
        self.counters[node].assessments_busy += 1;
        match (job.access, job.start) {
            (Access::Csma(params), Start::Asap) if job.attempts < params.max_backoffs => {
                let radio = &mut self.radios[node];
                let exponent = job.exponent.saturating_add(1).min(params.max_be);
                let attempts = job.attempts + 1;
                radio.job = Some(Job { exponent, attempts, ..job });
                let units = radio.csma_random.below(1 << exponent.min(8));
                radio.ready_at = self.now;
                radio.assess_at(self.now + u64::from(units) * UNIT_BACKOFF.as_micros());
                let until = radio.sense_at + CCA.as_micros();
                self.enter(node, Phase::Access, until, RadioState::Ready);
            }
            _ => {
                self.finish(node, Event::ChannelBusy);
                self.settle(node);
            }
        }
    }

    /// The preamble of the commanded frame starts.
    pub(super) fn send_frame(&mut self, node: usize) {
        let Some(job) = self.radios[node].job else { return };
        self.counters[node].frames_sent += 1;
        let radio = &mut self.radios[node];
        radio.power_dbm = radio.profile.nearest_power(job.power_dbm);
        self.start_air(node, false);
    }

    /// The commanded frame has left.
    pub(super) fn on_sent(&mut self, node: usize) {
        self.end_air(node, false);
        let radio = &mut self.radios[node];
        let Some(job) = radio.job else { return };
        if job.ack && radio.ack_wait {
            let until = self.now + ACK_WAIT.as_micros();
            self.enter(node, Phase::AckWait, until, RadioState::Listen);
        } else {
            let sfd = Instant::from_micros(radio.air.start + SHR_US);
            self.finish(node, Event::Transmitted { sfd, ack: Ack::NotAwaited });
            self.settle(node);
        }
    }

    /// macAckWaitDuration is over.
    pub(super) fn on_ack_missing(&mut self, node: usize) {
        self.abandon(node);
        self.finish_acked(node, Ack::Missing);
    }

    /// The wait for the acknowledgement ended with `ack`.
    pub(super) fn finish_acked(&mut self, node: usize, ack: Ack) {
        let sfd = Instant::from_micros(self.radios[node].air.start + SHR_US);
        self.finish(node, Event::Transmitted { sfd, ack });
        self.settle(node);
    }

    /// Ends the outstanding transmission with its one final event.
    pub(super) fn finish(&mut self, node: usize, event: Event) {
        let counters = &mut self.counters[node];
        match event {
            Event::Transmitted { ack: Ack::Received { .. }, .. } => counters.acked += 1,
            Event::Transmitted { ack: Ack::Missing, .. } => counters.ack_missing += 1,
            Event::ChannelBusy => counters.channel_busy += 1,
            Event::Missed => counters.missed += 1,
            _ => {}
        }
        let radio = &mut self.radios[node];
        radio.job = None;
        if let Event::Sensed { .. } = event {
            return self.tell(node, event);
        }
        let failed = match event {
            Event::Transmitted { ack, .. } => ack == Ack::Missing,
            _ => event == Event::ChannelBusy,
        };
        let sequence = radio.outgoing.header.sequence.filter(|_| failed);
        radio.failed = sequence.map(|sequence| (sequence, radio.meter.asleep(self.now)));
        if let Event::Transmitted { ack, .. } = event {
            radio.unacknowledged.sent(&radio.outgoing.header, ack != Ack::Missing);
        }
        self.observer.finished(self.now, node, event);
        self.tell(node, event);
    }

    /// The preamble of an automatic acknowledgement starts.
    pub(super) fn send_ack(&mut self, node: usize) {
        self.counters[node].acks_sent += 1;
        self.start_air(node, true);
    }

    /// A frame that wants an acknowledgement has just ended.
    pub(super) fn turn_to_ack(&mut self, node: usize, sequence: u8, request_of: Option<u16>) {
        let radio = &mut self.radios[node];
        let pending = request_of.is_some_and(|short| radio.is_pending(short));
        radio.ack.load_ack(sequence, pending);
        let until = self.now + TURNAROUND.as_micros();
        self.enter(node, Phase::AckTurnaround, until, RadioState::Ready);
    }
}
