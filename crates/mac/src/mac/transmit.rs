//! Transmission of the head of the queue: CSMA-CA, transmission, acknowledgement, retry.

use super::{Mac, Outstanding, Sizes, Submission};
use crate::air::{end_of_ack, end_of_frame};
use crate::csl;
use crate::csma::Backoff;
use crate::delivery_method::{DeliveryMethod, SendTiming, StrobeResult};
use crate::link::Link;
use crate::listening::{Listening, OwnFrameOutcome};
use crate::queue::{Class, Delivery, Kind, Slot, TxState};
use crate::retry::{self, STRONG_DBM};
use crate::stats::{Discard, count};
use kinglet_radio::{ACK_WAIT, Access, Ack, Capabilities, Command, CsmaParams, Start, time_limit};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;

/// Number of attempts after the first for a silent neighbour. Each frame tests if it is back, and
/// more attempts would delay the frames for others.
const SILENT_RETRIES: u8 = 1;

impl<S: Sizes> Mac<S> {
    /// Starts with the next frame, unless one is being sent or the response to a data request is
    /// awaited: a sending radio does not receive.
    pub(crate) fn start_next(&mut self, now: Instant) {
        if self.strobes() {
            return self.choose(now);
        }
        let free = self.tx == TxState::Idle && !self.listening.awaits_frame();
        if free && self.queue.advance() {
            self.backoff.begin(&self.csma_params());
            self.start_attempt(now, Duration::ZERO);
        }
    }

    /// Returns the CSMA-CA parameters for the head.
    fn csma_params(&self) -> CsmaParams {
        let CsmaParams { mut min_be, max_be, max_backoffs } = self.config.csma_params;
        if self.head_timing() != SendTiming::Usual {
            min_be = self.config.indirect.min_be;
        }
        CsmaParams { min_be, max_be, max_backoffs }
    }

    /// Returns the timing of the head's transmission.
    fn head_timing(&self) -> SendTiming {
        match self.queue.head() {
            Some(slot) if S::DeliveryMethod::ANY && slot.kind.is_indirect() => {
                self.delivery_method.timing(slot.dst)
            }
            _ => SendTiming::Usual,
        }
    }

    /// Sends an indirect frame before the head, between two attempts of the latter, if that is
    /// configured. Returns whether it did.
    pub(crate) fn preempt(&mut self, now: Instant) -> bool {
        let between = matches!(self.tx, TxState::Backoff { .. } | TxState::Ready);
        let may = S::DeliveryMethod::ANY && between && self.config.indirect.preempt;
        if !may || !self.queue.blocks_indirect() {
            return false;
        }
        count(&mut self.stats.preempted);
        self.tx = TxState::Idle;
        self.start_next(now);
        true
    }

    /// Continues with the head after `extra` and a backoff, or lets an indirect frame go first.
    pub(crate) fn go_on(&mut self, now: Instant, extra: Duration) {
        self.start_attempt(now, extra);
        self.preempt(now);
    }

    /// Waits for the interframe spacing, for `extra` and, if the MAC performs CSMA-CA, for the
    /// backoff of the current attempt.
    fn start_attempt(&mut self, now: Instant, extra: Duration) {
        let backoff =
            match self.csma_in_hardware() || matches!(self.head_timing(), SendTiming::At(_)) {
                true => Duration::ZERO,
                false => self.backoff.wait(&mut self.random),
            };
        let until = self.spaced_until.max(now) + extra + backoff;
        self.tx = if until > now { TxState::Backoff { until } } else { TxState::Ready };
    }

    /// Ends frames that cannot be sent now and need not be sent later: an indirect frame that has
    /// missed its sample, a synchronisation with a former parent. Returns whether there was one:
    /// then an outcome can be fetched, and a slot is free. [`Mac::poll_radio`] does the same, but a
    /// caller that fills the queue before it would see the free slot only at the next event.
    // Inlined, it costs a comparison.
    #[inline(always)]
    pub fn give_up_missed(&mut self, now: Instant) -> bool {
        // This runs in every iteration of the loop, and most frames miss nothing.
        let may_miss = |slot: &Slot| slot.kind.is_indirect() || slot.kind == Kind::Sync;
        (S::DeliveryMethod::ANY || S::Listening::SLEEPS)
            && self.tx == TxState::Ready
            && self.queue.head().is_some_and(may_miss)
            && self.give_up_ready(now)
    }

    #[inline(never)]
    fn give_up_ready(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.tx == TxState::Ready && now >= self.spaced_until && self.head_is_missed(now) {
            self.finish_head(now, Delivery::Missed, false);
            any = true;
        }
        any
    }

    fn head_is_missed(&mut self, now: Instant) -> bool {
        // No other frame depends on the time.
        if let SendTiming::At(sfd) = self.head_timing() {
            return csl::is_far(now, sfd);
        }
        let is_sync = |slot: &&Slot| S::Listening::SLEEPS && slot.kind == Kind::Sync;
        let recipient = self.queue.head().filter(is_sync).map(|slot| slot.dst);
        recipient.is_some_and(|dst| !self.listening.is_parent(dst))
    }

    /// Returns the head for the radio, if its backoff is over.
    pub(crate) fn poll_head(&mut self, now: Instant) -> Option<Submission<'_>> {
        if self.strobes() {
            return self.poll_strobe(now);
        }
        // Every iteration but the last ends the transmission of a frame.
        let sfd = loop {
            self.give_up_missed(now);
            if self.tx != TxState::Ready {
                return None;
            }
            // A frame was acknowledged during the backoff.
            if now < self.spaced_until {
                self.tx = TxState::Backoff { until: self.spaced_until };
                return None;
            }
            // The content of a synchronisation depends on the time and is written first; then it is
            // secured.
            let sfd = self.head_sfd(now);
            if self.secure_head().is_ok() {
                break sfd;
            }
            self.finish_head(now, Delivery::CounterError, false);
        };
        let access = match self.csma_in_hardware() {
            true => Access::Csma(self.csma_params()),
            false => Access::Cca,
        };
        let slot = self.queue.head()?;
        self.tx = TxState::Submitted;
        self.outstanding = Outstanding::Head;
        self.silent_at = sfd.unwrap_or(now).max(now) + time_limit(access);
        let command = Command::Transmit {
            start: sfd.map_or(Start::Asap, Start::At),
            access,
            channel: self.config.channel,
            power_dbm: self.config.power_dbm,
            ack: slot.ack && self.capabilities.contains(Capabilities::ACK_WAIT),
        };
        Some(Submission { command, frame: slot.octets() })
    }

    /// Returns the frame that is submitted next if the outstanding one is not repeated, so that a
    /// driver at the end of a slow line can load it meanwhile ([`kinglet_radio::Driver::prepare`]).
    /// Link security is applied to it. `None` if there is none, or if another one may go first. An
    /// indirect frame that is added later still does so, with a higher frame counter. No device
    /// receives both, because the frame returned here is for one device, and not for a sleeping
    /// one.
    pub fn poll_next(&mut self, _now: Instant) -> Option<Submission<'_>> {
        let is_head = self.outstanding == Outstanding::Head && self.tx == TxState::Submitted;
        if !is_head || self.strobes() || !self.csma_in_hardware() {
            return None;
        }
        let is_usual = |slot: &&mut Slot| {
            matches!(slot.kind, Kind::User(Class::Data | Class::Control)) && slot.dst.is_unicast()
        };
        self.queue.second_mut().as_ref().filter(|slot| is_usual(slot))?;
        self.secure_second().ok()?;
        let access = Access::Csma(self.config.csma_params);
        let awaits = self.capabilities.contains(Capabilities::ACK_WAIT);
        let (channel, power_dbm) = (self.config.channel, self.config.power_dbm);
        let slot = self.queue.second_mut()?;
        let ack = slot.ack && awaits;
        let command = Command::Transmit { start: Start::Asap, access, channel, power_dbm, ack };
        Some(Submission { command, frame: slot.octets() })
    }

    /// Returns the required end of the head's SFD, if there is one.
    fn head_sfd(&mut self, now: Instant) -> Option<Instant> {
        match self.head_timing() {
            SendTiming::At(sfd) => Some(sfd),
            _ if S::Listening::SLEEPS && self.queue.head()?.kind == Kind::Sync => {
                self.write_sync(now)
            }
            _ => None,
        }
    }

    pub(crate) fn handle_transmitted(
        &mut self,
        now: Instant,
        sfd: Instant,
        ack: Ack,
    ) -> Result<(), Discard> {
        if self.strobes() && self.outstanding == Outstanding::Head {
            return Err(self.unexpected());
        }
        if self.end_of_transmission()? == Outstanding::Ack {
            count(&mut self.stats.acks_sent);
            let len = self.owed_ack.frame().len();
            self.space_after(end_of_frame(sfd, len), len);
            return Ok(());
        }
        let Some(slot) = self.queue.head_mut() else {
            return Err(self.unexpected());
        };
        slot.transmissions = slot.transmissions.saturating_add(1);
        count(&mut self.stats.transmissions);
        let (ack_requested, len) = (slot.ack, slot.octets().len());
        let frame_end = end_of_frame(sfd, len);
        let early = self.early_ack.filter(|&(at, _)| at > sfd).map(|(_, pending)| pending);
        match (ack, early) {
            _ if !ack_requested => {
                self.space_after(frame_end, len);
                self.finish_head(now, Delivery::Delivered, false);
            }
            (Ack::Received { frame_pending }, _) | (Ack::NotAwaited, Some(frame_pending)) => {
                self.space_after(end_of_ack(sfd, len), len);
                self.finish_head(now, Delivery::Delivered, frame_pending);
            }
            (Ack::Missing, _) => self.handle_ack_missing(now),
            (Ack::NotAwaited, None) => {
                self.tx = TxState::AwaitAck { since: sfd, until: frame_end + ACK_WAIT };
            }
        }
        Ok(())
    }

    pub(crate) fn handle_channel_busy(&mut self, now: Instant) -> Result<(), Discard> {
        count(&mut self.stats.channel_busy);
        if self.end_of_transmission()? == Outstanding::Ack {
            count(&mut self.stats.acks_not_sent);
            return Ok(());
        }
        if self.strobes() {
            self.strobe_failed(now, StrobeResult::Busy, Delivery::ChannelAccessFailure);
            return Ok(());
        }
        let whole = self.csma_in_hardware() || matches!(self.head_timing(), SendTiming::At(_));
        if !whole && self.backoff.handle_busy(&self.csma_params()) {
            self.go_on(now, Duration::ZERO);
        } else {
            self.attempt_failed(now, Delivery::ChannelAccessFailure);
        }
        Ok(())
    }

    pub(crate) fn handle_missed(&mut self, now: Instant) -> Result<(), Discard> {
        if self.end_of_transmission()? == Outstanding::Ack {
            count(&mut self.stats.acks_not_sent);
            return Ok(());
        }
        if self.strobes() {
            self.strobe_missed(now);
            return Ok(());
        }
        self.finish_head(now, Delivery::Missed, false);
        Ok(())
    }

    /// Returns the time limit for the radio's event about the outstanding command.
    pub(crate) fn silence_deadline(&self) -> Option<Instant> {
        (self.outstanding != Outstanding::None).then_some(self.silent_at)
    }

    /// Ends the outstanding transmission if its time limit is over: the event has been lost, or the
    /// radio has stopped. The radio's state is unknown, so it is reset before anything else;
    /// [`kinglet_radio`] guarantees that the event is not reported after that. The frame may have
    /// been on the air or not: that costs an attempt, and is no evidence about the link.
    pub(crate) fn handle_silence(&mut self, now: Instant) {
        if self.silence_deadline().is_none_or(|at| now < at) {
            return;
        }
        count(&mut self.stats.radio_silent);
        self.reset_radio = true;
        match core::mem::replace(&mut self.outstanding, Outstanding::None) {
            Outstanding::None => {}
            Outstanding::Ack => count(&mut self.stats.acks_not_sent),
            Outstanding::Head if self.strobes() => {
                self.strobe_failed(now, StrobeResult::Unanswered, Delivery::Unknown);
            }
            Outstanding::Head => self.attempt_failed(now, Delivery::Unknown),
            Outstanding::Samples => self.samples_failed(now),
        }
    }

    /// Handles an acknowledgement with this sequence number and frame-pending bit whose SFD ended
    /// at `sfd`, and returns whether it was awaited.
    pub(crate) fn handle_ack(
        &mut self,
        now: Instant,
        sfd: Instant,
        sequence: u8,
        frame_pending: bool,
    ) -> bool {
        let fits = self.queue.head().is_some_and(|slot| slot.ack && slot.sequence == sequence);
        match self.tx {
            TxState::AwaitAck { since, .. } if fits && sfd > since => {
                let len = self.queue.head().map_or(0, |slot| slot.octets().len());
                self.space_after(end_of_ack(since, len), len);
                self.finish_head(now, Delivery::Delivered, frame_pending);
                true
            }
            // Some drivers report received frames before transmitted ones.
            TxState::Submitted if fits => {
                self.early_ack = Some((sfd, frame_pending));
                true
            }
            _ => false,
        }
    }

    /// Handles the missing acknowledgement of the head's last transmission.
    pub(crate) fn handle_ack_missing(&mut self, now: Instant) {
        count(&mut self.stats.ack_missing);
        let to = self.queue.head().map_or(Address::None, |slot| slot.dst);
        let link = self.neighbours.link(to);
        // An absent neighbour is no reason for longer waits before frames for others.
        if !link.is_some_and(Link::is_silent) {
            self.judge_transmission(link.and_then(Link::rssi_dbm), false);
        }
        self.attempt_failed(now, Delivery::NoAck);
    }

    /// Handles a failed attempt to send the head: another attempt follows, or the transmission
    /// ends.
    fn attempt_failed(&mut self, now: Instant, reason: Delivery) {
        let (retries, longest) = match self.head_timing() {
            // The recipient does not listen before the next sample.
            SendTiming::At(_) => (0, Duration::ZERO),
            SendTiming::Soon => {
                (self.config.indirect.max_retries, self.config.indirect.retry_delay_max)
            }
            SendTiming::Usual if self.head_is_silent() => {
                (self.config.max_frame_retries.min(SILENT_RETRIES), Duration::ZERO)
            }
            SendTiming::Usual => (self.config.max_frame_retries, self.retry_delay()),
        };
        let Some(slot) = self.queue.head_mut() else { return };
        slot.attempts = slot.attempts.saturating_add(1);
        if !slot.ack || slot.attempts > retries {
            return self.finish_head(now, reason, false);
        }
        let left = retries.saturating_sub(slot.attempts);
        count(&mut self.stats.retries);
        let delay = match reason {
            // Hidden terminals that have collided would collide again after CSMA backoff alone,
            // which is shorter than a frame; this delay spreads their retries (TCPlp §7.1).
            Delivery::NoAck => {
                let least = self.retry_delay_before_loss(left);
                self.random.up_to(longest.max(least))
            }
            // There is no hidden terminal: the channel was sensed busy, and CSMA-CA has waited
            // already, or the radio was reset after a longer time than any delay.
            _ => Duration::ZERO,
        };
        self.backoff.begin(&self.csma_params());
        self.go_on(now, delay);
    }

    /// Returns whether the head's recipient is silent.
    fn head_is_silent(&self) -> bool {
        let link = self.queue.head().and_then(|slot| self.neighbours.link(slot.dst));
        link.is_some_and(Link::is_silent)
    }

    /// Returns the d in force.
    pub(crate) fn retry_delay(&self) -> Duration {
        let longest = self.config.retry_delay_max;
        if self.config.adaptive_retry_delay { self.adaptation.of(longest) } else { longest }
    }

    /// Returns the minimum of d for a retry that at most `left` more can follow.
    fn retry_delay_before_loss(&self, left: u8) -> Duration {
        let applies = self.config.adaptive_retry_delay && self.head_timing() == SendTiming::Usual;
        if !applies || self.head_is_silent() {
            return Duration::ZERO;
        }
        retry::before_loss(self.config.retry_delay_max, left)
    }

    /// Updates the retry delay from the head's last transmission, if noise does not explain the
    /// losses of its link, whose signal strength is `rssi_dbm` if it is known.
    fn judge_transmission(&mut self, rssi_dbm: Option<i8>, acknowledged: bool) {
        if !self.config.adaptive_retry_delay || self.strobes() {
            return;
        }
        let Some(slot) = self.queue.head().filter(|slot| slot.ack && slot.transmissions > 0) else {
            return;
        };
        let repetition = slot.transmissions > 1;
        if rssi_dbm.is_some_and(|rssi| rssi < STRONG_DBM) || self.head_timing() != SendTiming::Usual
        {
            return;
        }
        match repetition {
            true => self.adaptation.repeated(acknowledged),
            false => self.adaptation.sent(acknowledged),
        }
    }

    /// Assigns the head its outcome and continues with the next frame; `frame_pending` is the bit
    /// of its acknowledgement.
    pub(crate) fn finish_head(&mut self, now: Instant, result: Delivery, frame_pending: bool) {
        let Some(slot) = self.queue.head() else { return };
        let &Slot { kind, dst, token, sequence, transmissions, .. } = slot;
        let more = slot.says_frame_pending();
        if slot.ack && transmissions > 0 {
            let acknowledged = result == Delivery::Delivered;
            let link = self.neighbours.sent(now, dst, transmissions, acknowledged);
            let rssi_dbm = link.and_then(Link::rssi_dbm);
            if acknowledged {
                self.judge_transmission(rssi_dbm, true);
            }
        }
        if S::DeliveryMethod::ANY && kind == Kind::User(Class::Indirect) {
            self.delivery_method.note_sent(dst, token, sequence, result);
        }
        match kind {
            Kind::User(_) => count(match result {
                Delivery::Delivered => &mut self.stats.delivered,
                Delivery::NoAck => &mut self.stats.no_ack,
                Delivery::ChannelAccessFailure => &mut self.stats.channel_access_failure,
                Delivery::Missed => &mut self.stats.missed,
                Delivery::Unknown => &mut self.stats.unknown,
                Delivery::CounterError => &mut self.stats.counter_errors,
            }),
            Kind::DataRequest | Kind::Sync => {
                self.own_frame_sent(now, &OwnFrameOutcome { kind, dst, result, frame_pending });
            }
            Kind::Nothing => {}
        }
        // The next frame need not wait for a sample.
        let goes_on = more && self.config.indirect.burst && result == Delivery::Delivered;
        if kind.is_indirect() && goes_on {
            self.delivery_method.handle_burst(dst);
        }
        self.queue.finish(result);
        self.tx = TxState::Idle;
        self.start_next(now);
    }

    /// Returns the ended transmission, which is no longer outstanding.
    pub(crate) fn end_of_transmission(&mut self) -> Result<Outstanding, Discard> {
        match self.outstanding {
            Outstanding::None | Outstanding::Samples => Err(self.unexpected()),
            source_filter => {
                self.outstanding = Outstanding::None;
                Ok(source_filter)
            }
        }
    }

    pub(crate) fn unexpected(&mut self) -> Discard {
        self.stats.discard(Discard::UnexpectedEvent);
        Discard::UnexpectedEvent
    }
}
