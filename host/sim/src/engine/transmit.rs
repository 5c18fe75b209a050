//! From a `Transmit` command to the air and to its one final event.

use super::{Core, SHR_US};
use crate::energy::RadioState;
use crate::ledger::Cause;
use crate::radio::{Job, NEVER, Phase, Task};
use crate::secure;
use crate::timeline::Strobed;
use kinglet_radio::{
    ACK_NOTICED, ACK_WAIT, Access, Ack, Busy, CCA, Channel, Event, SENSES_APART, STROBE_GAP,
    SYMBOL, Start, TURNAROUND, UNIT_BACKOFF, air_time,
};
use kinglet_time::Instant;

impl Core {
    /// Loads the frame of a command, and notes its purpose.
    pub(super) fn load_frame(&mut self, node: usize, frame: &[u8]) {
        self.observer.submitted(self.now, node, frame);
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
    }

    pub(super) fn submit_transmit(&mut self, node: usize, mut job: Job, frame: &[u8]) {
        self.load_frame(node, frame);
        if let Start::At(sfd) = job.start {
            let wake = match self.radios[node].phase {
                Phase::Off => self.radios[node].profile.wake_us(),
                _ => 0,
            };
            let lead = SHR_US + self.lead_us(node, &job) + wake;
            // 0 means "as soon as possible", so a start that is too early becomes 1, which cannot
            // be met.
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

    /// Handles `Command::Sense`.
    pub(super) fn submit_sense(
        &mut self,
        node: usize,
        channel: Channel,
        times: u8,
    ) -> Result<(), Busy> {
        let now = self.now;
        let radio = &mut self.radios[node];
        if radio.job.is_some() {
            self.counters[node].refused += 1;
            return Err(Busy);
        }
        radio.sending_for = Cause::Poll;
        radio.job = Some(Job { senses: times.max(1), ..Job::new(Task::Sense, channel) });
        if radio.senses_concurrently(now) {
            self.sense_concurrently(node);
        } else if self.can_interrupt(node) {
            self.abandon(node);
            self.settle(node);
        }
        Ok(())
    }

    /// Assesses the channel while the radio continues to listen on it.
    pub(super) fn sense_concurrently(&mut self, node: usize) {
        let (now, length) = (self.now, CCA.as_micros());
        let radio = &mut self.radios[node];
        let since = now.saturating_sub(length);
        let changed = radio.changed_at.clamp(since, now);
        radio.measured =
            radio.energy_mw() * (now - changed) as f64 + radio.mw_before * (changed - since) as f64;
        let busy = self.channel_busy(node, since);
        self.assessed(node, since, since, busy);
        let radio = &mut self.radios[node];
        let Some(job) = &mut radio.job else { return };
        if busy || job.senses <= 1 {
            return self.finish(node, Event::Sensed { busy });
        }
        job.senses -= 1;
        job.begin_at = now + SENSES_APART.as_micros() + length;
        self.arm_schedule(node);
    }

    pub(super) fn assessed(&mut self, node: usize, ready_at: u64, since: u64, busy: bool) {
        let counters = &mut self.counters[node];
        counters.assessments += 1;
        counters.assessments_busy += u64::from(busy);
        // The timeline shows samples when all of them have been taken.
        let task = self.radios[node].job.map(|job| job.task);
        let shown = task != Some(Task::Sense);
        self.observer.assessed(self.now, node, (ready_at, since), busy, shown);
    }

    /// Starts the preparation of the outstanding transmission.
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
        if job.task == Task::Sense {
            // The receiver assesses the channel; there is nothing to prepare.
            job.first_at = now;
            radio.ready_at = now;
            radio.assess_at(now);
            return self.enter(node, Phase::Access, now + CCA.as_micros(), RadioState::Listen);
        }
        // A radio that loads frames while it listens has loaded this one.
        let loaded = p.listens_while_loading();
        let load = if loaded { 0 } else { p.load_time(radio.outgoing.psdu_len()).as_micros() };
        let sense = job.sensing_us(p.cca_to_air_us);
        let mut ready_at = now + p.prepare_us + load + p.start_us;
        let spaced_until = radio.spaced_until.max(radio.strobed_at + job.spacing_us);
        ready_at = ready_at.max(spaced_until.saturating_sub(sense));
        if let Start::At(sfd) = job.start {
            let wanted = sfd.as_micros().saturating_sub(SHR_US + sense);
            if ready_at > wanted {
                // The radio went to sleep after the command was scheduled.
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
            // A random backoff and a fixed start exclude each other: a scheduled transmission
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
            // No copy and no assessment: sends at once.
            return self.send_frame(node);
        }
        self.enter(node, Phase::Access, end, RadioState::Ready);
    }

    fn miss(&mut self, node: usize) {
        self.finish(node, Event::Missed);
        self.settle(node);
    }

    /// Handles the end of loading, or of an assessment.
    pub(super) fn on_access_end(&mut self, node: usize) {
        let radio = &mut self.radios[node];
        let Some(job) = radio.job else { return };
        if radio.sense_at == NEVER {
            return self.send_frame(node);
        }
        let (ready_at, sense_at) = (radio.ready_at, radio.sense_at);
        if self.radios[node].meter.sleeps() {
            // The radio sleeps between two assessments.
            let settling = sense_at - self.radios[node].profile.synthesiser_us;
            self.set_state(node, settling, RadioState::Settle);
        }
        self.set_state(node, sense_at, RadioState::Listen);
        let turnaround = self.radios[node].profile.cca_to_air_us;
        let busy = self.channel_busy(node, sense_at);
        self.assessed(node, ready_at, sense_at, busy);
        if !busy && job.senses > 1 {
            return self.assess_again(node);
        }
        if job.task == Task::Sense {
            self.finish(node, Event::Sensed { busy });
            return self.settle(node);
        }
        if !busy {
            let until = self.now + turnaround;
            return self.enter(node, Phase::Turnaround, until, RadioState::Ready);
        }
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

    /// Continues after an assessment other than the last that found no signal: the radio sleeps if
    /// it can wake up in time, and assesses again.
    fn assess_again(&mut self, node: usize) {
        let now = self.now;
        let radio = &mut self.radios[node];
        if let Some(job) = &mut radio.job {
            job.senses -= 1;
        }
        radio.ready_at = now;
        radio.assess_at(now + SENSES_APART.as_micros());
        let until = radio.sense_at + CCA.as_micros();
        let sleeps = radio.profile.wake_us() < SENSES_APART.as_micros();
        let state = if sleeps { RadioState::Sleep } else { RadioState::Ready };
        self.enter(node, Phase::Access, until, state);
    }

    /// Starts the preamble of the outstanding frame.
    pub(super) fn send_frame(&mut self, node: usize) {
        let radio = &mut self.radios[node];
        let Some(job) = &mut radio.job else { return };
        if job.times == 0 {
            job.first_at = self.now;
        }
        job.times = job.times.saturating_add(1);
        let job = *job;
        self.counters[node].frames_sent += 1;
        radio.power_dbm = radio.profile.nearest_power(job.power_dbm);
        self.start_air(node, false);
    }

    /// Handles the end of the outstanding frame.
    pub(super) fn on_sent(&mut self, node: usize) {
        self.end_air(node, false);
        let radio = &mut self.radios[node];
        let Some(job) = radio.job else { return };
        if let Task::Strobe(_) = job.task {
            let noticed = self.now + (ACK_NOTICED + SYMBOL).as_micros();
            return match job.ack {
                true => self.enter(node, Phase::AckWait, noticed, RadioState::Listen),
                false => self.repeat(node, self.now + STROBE_GAP.as_micros()),
            };
        }
        if job.ack && radio.ack_wait {
            let until = self.now + ACK_WAIT.as_micros();
            self.enter(node, Phase::AckWait, until, RadioState::Listen);
        } else {
            let sfd = Instant::from_micros(radio.air.start + SHR_US);
            self.finish(node, Event::Transmitted { sfd, ack: Ack::NotAwaited });
            self.settle(node);
        }
    }

    /// Handles the end of macAckWaitDuration, or with a strobe the end of the time in which an
    /// acknowledgement is detected.
    pub(super) fn on_ack_missing(&mut self, node: usize) {
        let now = self.now;
        let Some(job) = self.radios[node].job else { return };
        if let Task::Strobe(_) = job.task {
            self.synchronise(node);
            let radio = &self.radios[node];
            let psdu_len = radio.outgoing.psdu_len();
            let end = radio.air.start + (air_time(psdu_len) + ACK_WAIT).as_micros();
            let found = radio.lock.is_some_and(|lock| lock.is_found(now));
            if found && now < end {
                return self.enter(node, Phase::AckWait, end, RadioState::Listen);
            }
            self.abandon(node);
            return self.repeat(node, now + self.radios[node].profile.cca_to_air_us);
        }
        self.abandon(node);
        self.finish_acked(node, Ack::Missing);
    }

    /// Repeats the frame of the outstanding `Strobe` at `at`, or ends the strobe.
    fn repeat(&mut self, node: usize, at: u64) {
        let Some(job) = self.radios[node].job else { return };
        match job.task {
            Task::Strobe(lasting) if at <= job.first_at + lasting => {
                self.enter(node, Phase::Turnaround, at, RadioState::Ready);
            }
            _ => self.finish_acked(node, if job.ack { Ack::Missing } else { Ack::NotAwaited }),
        }
    }

    /// Handles the end of the wait for the acknowledgement, with `ack`.
    pub(super) fn finish_acked(&mut self, node: usize, ack: Ack) {
        let radio = &self.radios[node];
        let sfd = Instant::from_micros(radio.air.start + SHR_US);
        let event = match radio.job {
            Some(Job { task: Task::Strobe(_), times, .. }) => Event::Strobed { sfd, ack, times },
            _ => Event::Transmitted { sfd, ack },
        };
        self.finish(node, event);
        self.settle(node);
    }

    /// Ends the outstanding transmission with its one final event.
    pub(super) fn finish(&mut self, node: usize, event: Event) {
        let counters = &mut self.counters[node];
        match event {
            Event::Transmitted { ack, .. } | Event::Strobed { ack, .. } => match ack {
                Ack::Received { .. } => counters.acked += 1,
                Ack::Missing => counters.ack_missing += 1,
                Ack::NotAwaited => {}
            },
            Event::ChannelBusy => counters.channel_busy += 1,
            Event::Missed => counters.missed += 1,
            _ => {}
        }
        let radio = &mut self.radios[node];
        let job = radio.job.take();
        if let Event::Sensed { busy } = event {
            // A radio that listens anyway does not wake up for the sample.
            if let Some(job) = job.filter(|job| job.begun) {
                self.observer.sampled(self.now, node, job.first_at, busy);
            }
            return self.report(node, event);
        }
        self.show_strobe(node, job, event);
        let radio = &mut self.radios[node];
        let failed = match event {
            Event::Transmitted { ack, .. } | Event::Strobed { ack, .. } => ack == Ack::Missing,
            _ => event == Event::ChannelBusy,
        };
        let sequence = radio.outgoing.header.sequence.filter(|_| failed);
        radio.failed = sequence.map(|sequence| (sequence, radio.meter.asleep(self.now)));
        if let Event::Strobed { .. } = event {
            radio.strobed_at = self.now;
        }
        if let Event::Transmitted { ack, .. } | Event::Strobed { ack, .. } = event {
            radio.unacknowledged.sent(&radio.outgoing.header, ack != Ack::Missing);
        }
        self.observer.finished(self.now, node, event);
        self.report(node, event);
    }

    /// Shows a strobe that has ended in the timeline.
    fn show_strobe(&mut self, node: usize, job: Option<Job>, event: Event) {
        let (Some(job), Event::Strobed { ack, times, .. }) = (job, event) else { return };
        let acknowledged = match ack {
            Ack::Received { .. } => Some(true),
            Ack::Missing => Some(false),
            Ack::NotAwaited => None,
        };
        let goes_on = self.radios[node].outgoing.header.frame_pending;
        let (start_us, end_us, follows) = (job.first_at, self.now, job.senses == 0);
        let strobe = Strobed { start_us, end_us, times, acknowledged, follows, goes_on };
        self.observer.strobed(node, strobe);
    }

    /// Starts the preamble of an automatic acknowledgement.
    pub(super) fn send_ack(&mut self, node: usize) {
        self.counters[node].acks_sent += 1;
        self.start_air(node, true);
    }

    /// Prepares the acknowledgement of a frame that has just ended and requests it.
    pub(super) fn set_ack_state(&mut self, node: usize, sequence: u8, request_of: Option<u16>) {
        let radio = &mut self.radios[node];
        let pending = request_of.is_some_and(|short| radio.is_pending(short));
        radio.ack.load_ack(sequence, pending);
        let until = self.now + TURNAROUND.as_micros();
        self.enter(node, Phase::AckTurnaround, until, RadioState::Ready);
    }
}
