//! Transmission to neighbours that wake several times a second, as in ContikiMAC (`wake.rs`): the
//! choice of the next frame, its strobe, and the handling of the result.
//!
//! A strobe is the first level of retransmission: the radio repeats the frame. If no
//! acknowledgement is received, the second level is a back-off for the recipient
//! ([`DeliveryMethod::eligible_at`]). Then the same frame is again the first one for that
//! recipient.

use super::{Mac, Outstanding, Sizes, Submission};
use crate::air::{end_of_ack, end_of_frame};
use crate::delivery_method::{DeliveryMethod, Strobe, StrobeEnd, StrobeResult};
use crate::listening::Listening;
use crate::queue::{Delivery, TxState};
use crate::stats::{Discard, count};
use crate::wake::{Admission, MIN_FRAME, Wake};
use kinglet_mem::copy;
use kinglet_radio::{Access, Ack, Capabilities, Command, Start, time_limit};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::{Address, Repr, Version};

/// Maximum number of frames for one neighbour in the queue.
const FRAMES_EACH: usize = 2;

/// The radio cannot sense, strobe and send at a given time by itself, or the plan has no types that
/// use these functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotWake;

impl<S: Sizes> Mac<S> {
    /// Makes this a device that wakes several times a second among others that do
    /// ([`Waking`](crate::Waking), [`Strobing`](crate::Strobing)), or ends that. Impossible values
    /// are replaced by the nearest possible ones. The call must precede the first queued frame.
    ///
    /// # Errors
    /// [`CannotWake`]; nothing has changed.
    pub fn set_wake(&mut self, wake: Option<Wake>) -> Result<(), CannotWake> {
        let needed = Capabilities::SENSES | Capabilities::STROBES | Capabilities::SCHEDULED;
        if !S::DeliveryMethod::STROBES
            || !S::Listening::WAKES
            || !self.capabilities.contains(needed)
        {
            return Err(CannotWake);
        }
        let wake = wake.map(Wake::clamped);
        self.listening.set_wake(wake);
        self.delivery_method.set_wake(wake);
        Ok(())
    }

    /// Returns whether [`Mac::set_wake`] is in force. If so, [`Mac::poll_radio`] must be called
    /// after every frame.
    pub fn strobes(&self) -> bool {
        S::DeliveryMethod::STROBES && self.delivery_method.wake().is_some()
    }

    /// Returns whether the queue accepts a frame for `dst` now. With strobes, each neighbour may
    /// have two frames in the queue, the one that is sent and the one that follows it, so that
    /// frames for others find slots while it backs off.
    pub fn accepts(&self, dst: Address) -> bool {
        !self.strobes() || self.queue.waiting_for(dst) < FRAMES_EACH
    }

    /// Sets the neighbours for whose bursts there is buffer space; the others keep their frames.
    /// Only a duty-cycled device can refuse bursts. A frame that is being received may still
    /// arrive.
    pub fn admit(&mut self, now: Instant, neighbour: Admission) {
        if S::Listening::WAKES && self.listening.admit(now, neighbour) {
            self.start_next(now);
        }
    }

    /// Notes that packets of other nodes pass this device or its neighbours until then: while it
    /// strobes without pause, it leaves half of the wake-up periods free.
    pub fn share_until(&mut self, until: Instant) {
        self.delivery_method.share_until(until);
    }

    /// Returns the number of queue slots that are reserved for strobes, and unused while there are
    /// none.
    pub(crate) fn spare(&self) -> usize {
        if self.strobes() { 0 } else { S::DeliveryMethod::SPARE }
    }

    /// Lengthens the frame that was just written, with a payload of `payload_len` octets, so that
    /// recipients that sample the channel detect it. A secured frame is long enough.
    pub(crate) fn lengthen(&mut self, header: &Repr, payload_len: usize) {
        let Some(slot) = self.queue.filled() else { return };
        let short = MIN_FRAME.saturating_sub(usize::from(slot.len));
        if short == 0 {
            return;
        }
        let filling = u8::try_from(short).unwrap_or(u8::MAX).max(Repr::MIN_FILLING);
        let header = Repr { version: Version::V2015, filling, ..*header };
        let before = usize::from(slot.len).saturating_sub(payload_len);
        // The payload occupies the place of the longer header. A short frame has a short payload.
        let mut payload = [0; MIN_FRAME];
        let kept = copy(&mut payload, slot.octets().get(before..).unwrap_or_default());
        let Ok(header_len) = header.emit(&mut slot.frame) else { return };
        let room = slot.frame.get_mut(header_len..).unwrap_or_default();
        let moved = copy(room, payload.get(..kept).unwrap_or_default());
        slot.len = u8::try_from(header_len.saturating_add(moved)).unwrap_or(u8::MAX);
    }

    /// Makes the frame whose turn is first the head, unless a frame is being sent.
    pub(crate) fn choose(&mut self, now: Instant) {
        let free = !matches!(self.tx, TxState::Submitted | TxState::AwaitAck { .. });
        if !free || self.listening.awaits_frame() {
            return;
        }
        self.tx = TxState::Idle;
        let delivery_method = &mut self.delivery_method;
        // One frame waits for the next strobe.
        let discard = self.queue.earliest_of_several(|dst| delivery_method.discard_at(now, dst));
        if let Some((_, dst)) = discard.filter(|(at, _)| *at <= now) {
            delivery_method.discarded(now, dst);
            self.queue.advance_to(dst);
            // This calls `choose` again, with one frame less in the queue.
            return self.finish_head(now, Delivery::NoAck, false);
        }
        if let Some(at) = self.queue.advance_by(|dst| delivery_method.eligible_at(now, dst)) {
            // Within a burst the radio itself keeps the spacing, while it loads the frame.
            let until = if at == Instant::ZERO { at } else { at.max(self.spaced_until) };
            let until = discard.map_or(until, |(at, _)| until.min(at));
            self.tx = if until > now { TxState::Backoff { until } } else { TxState::Ready };
        }
    }

    /// Returns whether the head is the next frame of a burst.
    pub(crate) fn goes_on_with_burst(&self) -> bool {
        let in_burst = |dst| self.delivery_method.eligible_at(Instant::MAX, dst) == Instant::ZERO;
        S::DeliveryMethod::STROBES && self.queue.head().is_some_and(|slot| in_burst(slot.dst))
    }

    /// Returns the strobe of the head, if it is its turn.
    pub(crate) fn poll_strobe(&mut self, now: Instant) -> Option<Submission<'_>> {
        // Every iteration but the last ends the transmission of a frame.
        loop {
            if self.tx != TxState::Ready || self.listening.awaits_frame() {
                return None;
            }
            self.announce_more(now);
            if self.secure_head().is_ok() {
                break;
            }
            self.finish_head(now, Delivery::CounterError, false);
        }
        let slot = self.queue.head()?;
        let Strobe { start, senses, lasting, spacing, channel } =
            self.delivery_method.strobe(now, slot.dst, slot.octets().len());
        self.tx = TxState::Submitted;
        self.outstanding = Outstanding::Head;
        let begin = if let Start::At(sfd) = start { sfd.max(now) } else { now };
        self.silent_at = begin + lasting + time_limit(Access::Cca);
        let channel = channel.unwrap_or(self.config.channel);
        let (power_dbm, ack) = (self.config.power_dbm, slot.ack);
        let command = Command::Strobe { start, senses, channel, power_dbm, ack, lasting, spacing };
        Some(Submission { command, frame: slot.octets() })
    }

    /// Sets the frame-pending bit of the head if another frame follows it in a burst. A frame that
    /// was secured in an earlier attempt stays unchanged: a recipient that waits without a frame
    /// loses some milliseconds.
    fn announce_more(&mut self, now: Instant) {
        let Some(slot) = self.queue.head().filter(|slot| !slot.secured && slot.ack) else { return };
        let more = self.queue.waiting_for(slot.dst) > 1
            && self.delivery_method.may_follow(now, slot.octets().len());
        if let Some(slot) = self.queue.head_mut() {
            slot.set_frame_pending(more);
        }
    }

    /// Handles [`Event::Strobed`](kinglet_radio::Event::Strobed).
    pub(crate) fn handle_strobed(
        &mut self,
        now: Instant,
        sfd: Instant,
        ack: Ack,
        times: u16,
    ) -> Result<(), Discard> {
        if !self.strobes() || self.outstanding != Outstanding::Head {
            return Err(self.unexpected());
        }
        self.outstanding = Outstanding::None;
        let Some(slot) = self.queue.head_mut() else {
            return Err(self.unexpected());
        };
        let on_air = u8::try_from(times).unwrap_or(u8::MAX);
        slot.transmissions = slot.transmissions.saturating_add(on_air);
        let len = slot.octets().len();
        self.stats.transmissions = self.stats.transmissions.saturating_add(times.into());
        let frame_end = end_of_frame(sfd, len);
        match ack {
            Ack::Received { frame_pending } => {
                self.space_after(end_of_ack(sfd, len), len);
                self.end_strobe(now, StrobeResult::Acknowledged, sfd, times);
                if let Some((neighbour, channel)) = self.delivery_method.awaits_answer() {
                    self.listening.await_answer(now, neighbour, channel);
                }
                self.finish_head(now, Delivery::Delivered, frame_pending);
            }
            Ack::NotAwaited => {
                self.space_after(frame_end, len);
                match self.end_strobe(now, StrobeResult::Sent, sfd, times) {
                    true => self.strobe_again(now),
                    false => self.finish_head(now, Delivery::Delivered, false),
                }
            }
            Ack::Missing => {
                count(&mut self.stats.ack_missing);
                self.space_after(frame_end, len);
                self.strobe_failed(now, StrobeResult::Unanswered, Delivery::NoAck);
            }
        }
        Ok(())
    }

    /// Handles a failed strobe of the head, which waits for another strobe or is given up.
    pub(crate) fn strobe_failed(&mut self, now: Instant, result: StrobeResult, reason: Delivery) {
        if self.end_strobe(now, result, now, 0) {
            return self.strobe_again(now);
        }
        let most = self.delivery_method.wake().and_then(|wake| wake.max_attempts);
        let Some(slot) = self.queue.head_mut() else { return };
        slot.attempts = slot.attempts.saturating_add(1);
        let unanswered = reason == Delivery::NoAck;
        let is_last = most.is_some_and(|most| slot.attempts >= most);
        if is_last || unanswered && (!slot.ack || self.delivery_method.is_silent(now, slot.dst)) {
            return self.finish_head(now, reason, false);
        }
        count(&mut self.stats.retries);
        self.tx = TxState::Idle;
        self.choose(now);
    }

    /// Handles a strobe that the radio could not begin in time: the next wake-up of the recipient
    /// is another chance.
    pub(crate) fn strobe_missed(&mut self, now: Instant) {
        self.tx = TxState::Idle;
        self.choose(now + Duration::from_millis(1));
    }

    /// Strobes the head again.
    fn strobe_again(&mut self, now: Instant) {
        self.tx = TxState::Idle;
        self.choose(now);
    }

    /// Reports the end of the head's strobe. Returns whether the head is strobed again at once.
    fn end_strobe(&mut self, now: Instant, result: StrobeResult, sfd: Instant, times: u16) -> bool {
        let Some(slot) = self.queue.head() else { return false };
        let (dst, len, more) = (slot.dst, slot.octets().len(), slot.says_frame_pending());
        let end = StrobeEnd { dst, len, result, sfd, times, more };
        self.delivery_method.handle_strobed(now, &end, &mut self.random)
    }
}
