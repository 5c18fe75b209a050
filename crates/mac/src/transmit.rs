//! Sending the head of the queue: CSMA-CA, transmission, acknowledgement, retry.

use crate::csma::Attempt;
use crate::mac::{Mac, Outstanding, Sizes, Submission, TxState};
use crate::queue::Delivery;
use crate::receive::Discard;
use crate::stats::count;
use kinglet_radio::{ACK_WAIT, Access, Ack, Capabilities, Command, FCS_LEN, OCTET, Start};
use kinglet_time::{Duration, Instant};

impl<S: Sizes> Mac<S> {
    /// Starts with the frame that has become the head.
    pub(crate) fn start_head(&mut self, now: Instant) {
        self.attempt = Attempt::new(&self.config.csma_params);
        self.start_attempt(now, Duration::ZERO);
    }

    /// Waits for `extra` and, where CSMA-CA is the MAC's, for the backoff of the current attempt.
    pub(crate) fn start_attempt(&mut self, now: Instant, extra: Duration) {
        let backoff = match self.csma_in_hardware() {
            true => Duration::ZERO,
            false => self.attempt.backoff(&mut self.random),
        };
        let until = now + extra + backoff;
        self.tx = if until > now { TxState::Backoff { until } } else { TxState::Ready };
    }

    /// The head for the radio, if its backoff is over.
    pub(crate) fn poll_head(&mut self, now: Instant) -> Option<Submission<'_>> {
        if self.tx != TxState::Ready {
            return None;
        }
        if self.secure_head().is_err() {
            self.finish_head(now, Delivery::CounterError);
            return None;
        }
        let access = match self.csma_in_hardware() {
            true => Access::Csma(self.config.csma_params),
            false => Access::Cca,
        };
        let slot = self.queue.head()?;
        self.tx = TxState::Submitted;
        self.outstanding = Outstanding::Head;
        let command = Command::Transmit {
            start: Start::Asap,
            access,
            channel: self.config.channel,
            power_dbm: self.config.power_dbm,
            ack: slot.ack && self.capabilities.contains(Capabilities::ACK_WAIT),
        };
        Some(Submission { command, frame: slot.octets() })
    }

    pub(crate) fn handle_transmitted(
        &mut self,
        now: Instant,
        sfd: Instant,
        ack: Ack,
    ) -> Result<(), Discard> {
        if self.end_of_transmission()? == Outstanding::Ack {
            count(&mut self.stats.acks_sent);
            return Ok(());
        }
        let Some(slot) = self.queue.head_mut() else {
            return Err(self.unexpected());
        };
        slot.transmissions = slot.transmissions.saturating_add(1);
        count(&mut self.stats.transmissions);
        let frame_end = end_of_frame(sfd, slot.octets().len());
        match ack {
            _ if !slot.ack => self.finish_head(now, Delivery::Delivered),
            Ack::Received { .. } => self.finish_head(now, Delivery::Delivered),
            Ack::Missing => self.handle_ack_missing(now),
            Ack::NotAwaited if self.early_ack.is_some_and(|at| at > sfd) => {
                self.finish_head(now, Delivery::Delivered);
            }
            Ack::NotAwaited => {
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
        let next = match self.csma_in_hardware() {
            true => None,
            false => self.attempt.busy(&self.config.csma_params),
        };
        match next {
            Some(attempt) => {
                self.attempt = attempt;
                self.start_attempt(now, Duration::ZERO);
            }
            None => self.attempt_failed(now, Delivery::ChannelAccessFailure),
        }
        Ok(())
    }

    pub(crate) fn handle_missed(&mut self, now: Instant) -> Result<(), Discard> {
        if self.end_of_transmission()? == Outstanding::Ack {
            count(&mut self.stats.acks_not_sent);
            return Ok(());
        }
        self.finish_head(now, Delivery::Missed);
        Ok(())
    }

    /// Takes an acknowledgement with this sequence number whose SFD ended at `sfd`, and tells
    /// whether it was awaited.
    pub(crate) fn handle_ack(&mut self, now: Instant, sfd: Instant, sequence: u8) -> bool {
        let fits = self.queue.head().is_some_and(|slot| slot.ack && slot.sequence == sequence);
        match self.tx {
            TxState::AwaitAck { since, .. } if fits && sfd > since => {
                self.finish_head(now, Delivery::Delivered);
                true
            }
            // Some drivers report what they received before what they sent.
            TxState::Submitted if fits => {
                self.early_ack = Some(sfd);
                true
            }
            _ => false,
        }
    }

    /// The last transmission of the head stays without acknowledgement.
    pub(crate) fn handle_ack_missing(&mut self, now: Instant) {
        count(&mut self.stats.ack_missing);
        self.attempt_failed(now, Delivery::NoAck);
    }

    /// The attempt to send the head has failed for this reason: another one, or the end.
    fn attempt_failed(&mut self, now: Instant, reason: Delivery) {
        let retries = self.config.max_frame_retries;
        let Some(slot) = self.queue.head_mut() else { return };
        slot.attempts = slot.attempts.saturating_add(1);
        if !slot.ack || slot.attempts > retries {
            return self.finish_head(now, reason);
        }
        count(&mut self.stats.retries);
        let delay = match reason {
            // Hidden terminals that have collided would collide again after CSMA backoff alone,
            // which is shorter than a frame; this delay spreads their retries (TCPlp §7.1).
            Delivery::NoAck => self.random.up_to(self.config.retry_delay_max),
            // Nobody was hidden: the channel was heard to be busy, and CSMA-CA has waited already.
            _ => Duration::ZERO,
        };
        self.attempt = Attempt::new(&self.config.csma_params);
        self.start_attempt(now, delay);
    }

    /// Gives the head its outcome and turns to the next frame.
    fn finish_head(&mut self, now: Instant, result: Delivery) {
        count(match result {
            Delivery::Delivered => &mut self.stats.delivered,
            Delivery::NoAck => &mut self.stats.no_ack,
            Delivery::ChannelAccessFailure => &mut self.stats.channel_access_failure,
            Delivery::Missed => &mut self.stats.missed,
            Delivery::CounterError => &mut self.stats.counter_errors,
        });
        if let Some(slot) = self.queue.head().filter(|slot| slot.ack && slot.transmissions > 0) {
            let acknowledged = result == Delivery::Delivered;
            self.neighbours.sent(now, slot.dst, slot.transmissions, acknowledged);
        }
        self.queue.finish(result);
        self.tx = TxState::Idle;
        if self.queue.head().is_some() {
            self.start_head(now);
        }
    }

    /// Whose transmission has ended.
    fn end_of_transmission(&mut self) -> Result<Outstanding, Discard> {
        match core::mem::replace(&mut self.outstanding, Outstanding::None) {
            Outstanding::None => Err(self.unexpected()),
            whose => Ok(whose),
        }
    }

    fn unexpected(&mut self) -> Discard {
        count(&mut self.stats.unexpected_events);
        Discard::UnexpectedEvent
    }
}

/// When a frame of `len` octets without FCS ends on the air: one octet of PHR and the PSDU after
/// its SFD.
pub(crate) fn end_of_frame(sfd: Instant, len: usize) -> Instant {
    let octets = len.saturating_add(FCS_LEN).saturating_add(1);
    sfd + OCTET * u32::try_from(octets).unwrap_or(u32::MAX)
}
