//! SEGMENT ARRIVES (RFC 9293 §3.10.7): one function per numbered step, in order.
//!
//! The first four steps and the check of the ACK bit are in [`crate::steps`]. RFC 5961 has a part
//! in step 5, and the effect of that step on loss recovery is in `acked.rs`. Step 6 (URG) is empty:
//! the urgent pointer is not offered to applications (RFC 6093 §6 advises against it).

use super::flags::ConnFlags;
use super::{Agreed, Buffers, Connection, FastOpen, Params, Reader};
use crate::congestion::Controller;
use crate::error::{ConnectionError, Discard};
use crate::features::Features;
use crate::recv::ack::{AFTER_GAP, AFTER_TIMEOUT, patience, threshold};
use crate::rtt::millis;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use crate::state::State;
use crate::steps::{Arrived, Receiver};
use crate::timer::Tick;
use kinglet_time::Instant;
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{Flags, Segment};

/// A segment as the later steps see it: trimmed to the receive window.
struct Trimmed<'a> {
    seq: SeqNum,
    payload: &'a [u8],
    /// FIN is set, and nothing before it was cut off.
    fin: bool,
    /// PSH is set: the sender had no more to send, so the length says nothing about full segments.
    push: bool,
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Takes a segment whose checksum and ports are right.
    ///
    /// # Errors
    /// Reason for which it was dropped. Retransmitted text is answered with an ACK without limit.
    /// All other responses are up to the caller: see [`Discard::is_challenged`];
    /// [`Discard::AckUnsent`] in SYN-SENT and SYN-RECEIVED is answered with RST.
    //= rfc7323#5.2-7
    #[inline(never)] // See `Connection`.
    pub(crate) fn handle_segment(
        &mut self,
        now: Instant,
        ecn: Ecn,
        segment: &Segment<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), Discard> {
        self.counters.segments_received = self.counters.segments_received.wrapping_add(1);
        match self.state {
            State::Closed | State::TimeWait => return Err(Discard::NoConnection),
            State::SynSent => return self.syn_sent(now, segment, buffers),
            _ => {}
        }
        let seq = match self.receiver().take(now, segment) {
            Ok(Arrived::Ack(seq)) => seq,
            Ok(Arrived::Reset) => return self.step_2_reset(),
            Ok(Arrived::Syn) => {
                // The peer has not received the SYN-ACK: it is sent again.
                self.rcv.remember_timestamp(now, &segment.header);
                self.snd.retransmit_now = true;
                return Ok(());
            }
            Err(reason) => {
                self.step_1_not_acceptable(now, segment, reason);
                return Err(reason);
            }
        };
        self.touch_keepalive(now);
        self.step_5_ack(now, segment, seq.later(self.rcv.nxt), buffers)?;
        // In RFC 7323 §5.3 R3 this comes first; but then a forged segment anywhere in the window,
        // whatever it acknowledges, could set TS.Recent so high that all genuine ones look old.
        self.rcv.remember_timestamp(now, &segment.header);
        self.take_mark(ecn, segment);
        let trimmed = self.trim(seq, segment);
        self.step_7_text(now, &trimmed, buffers);
        self.take_ack_rate(segment);
        self.step_8_fin(now, &trimmed);
        Ok(())
    }

    /// Handles a segment in SYN-SENT (§3.10.7.3).
    //= rfc9293#MUST-10
    //= rfc7323#3.2-3 rfc5961#3.2-6
    fn syn_sent(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), Discard> {
        let header = &segment.header;
        let ack = SeqNum::new(header.ack);
        let has_ack = header.flags.contains(Flags::ACK);
        // First: the ACK bit. SND.UNA is ISS here, and only the SYN can have been sent.
        if has_ack && (ack.at_or_before(self.snd.iss) || ack.after(self.snd.nxt)) {
            return Err(Discard::AckUnsent);
        }
        // Second: the RST bit.
        if header.flags.contains(Flags::RST) {
            if !has_ack {
                return Err(Discard::ResetUnproven);
            }
            self.finish(Some(ConnectionError::Refused));
            return Ok(());
        }
        // Fourth: the SYN bit.
        if !header.flags.contains(Flags::SYN) {
            return Err(Discard::NoAck);
        }
        let agreed = Agreed::of::<F>(header, &self.params, true);
        let irs = SeqNum::new(header.seq);
        let syn_lost = self.snd.tries > 0;
        self.agree(now, irs, &agreed);
        self.rcv.adv = self.rcv.limit();
        // The window of a SYN is never scaled (RFC 7323 §2.2).
        self.snd.set_window(u32::from(header.window));
        self.snd.wl1 = irs;
        let trimmed = self.trim(irs.plus(1), segment);
        if !has_ack {
            // Simultaneous open: the SYN is sent again, now with ACK.
            self.transition(State::SynReceived);
            self.snd.retransmit_now = true;
            self.snd.rtx.clear();
            // "If there are other controls or text in the segment, queue them for processing after
            // the ESTABLISHED state has been reached."
            let (ring, map) = (&mut *buffers.receive, &mut *buffers.map);
            let kept = self.rcv.rx.insert(ring, map, self.rcv.nxt, 0, trimmed.payload);
            self.rcv.rx.allow(0);
            self.rcv.fin_at = self.rcv.nxt.plus(kept);
            self.flags.put(ConnFlags::FIN_KNOWN, trimmed.fin);
            return Ok(());
        }
        self.take_ack_of_syn(now, ack, segment);
        self.snd.una = self.snd.iss.plus(1);
        self.acknowledge_syn_data(ack, buffers);
        self.begin_sending(syn_lost);
        self.establish(now, syn_lost);
        self.rcv.ack.now = true;
        // "If there are other controls or text in the segment, continue at the sixth step."
        self.step_7_text(now, &trimmed, buffers);
        self.step_8_fin(now, &trimmed);
        Ok(())
    }

    /// Takes the acknowledgment of the SYN's data. The peer has not kept the part that the SYN-ACK
    /// does not acknowledge: it counts as never sent, and follows at once (RFC 7413 §4.2.2).
    //= rfc7413#4.2.2-6
    fn acknowledge_syn_data(&mut self, ack: SeqNum, buffers: &mut Buffers<'_>) {
        match self.fast_open() {
            FastOpen::Sent | FastOpen::LostOnLink | FastOpen::Lost => {
                let bare = self.fast_open() == FastOpen::Sent && self.snd.flight() == 0;
                let taken = ack.after(self.snd.una) || bare;
                self.fast_open = if taken { FastOpen::Accepted } else { FastOpen::Off };
                self.snd.tx.acknowledge(buffers.pieces, self.queue(), ack);
                self.snd.una = ack;
                self.snd.nxt = ack;
            }
            FastOpen::Wanted | FastOpen::Asked => self.fast_open = FastOpen::Off,
            FastOpen::Off | FastOpen::Accepted => {}
        }
    }

    /// Takes the text of the SYN that has opened an early connection. The peer sends its FIN, if
    /// any, again.
    pub(crate) fn take_syn_text(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        buffers: &mut Buffers<'_>,
    ) {
        self.rcv.adv = self.rcv.limit();
        let (seq, payload) = (self.rcv.nxt, segment.payload);
        let trimmed = self.cut_at_window(Trimmed { seq, payload, fin: false, push: true });
        self.step_7_text(now, &trimmed, buffers);
    }

    fn receiver(&self) -> Receiver {
        let syn = (self.state == State::SynReceived).then_some(self.rcv.irs);
        let nxt = self.rcv.nxt;
        Receiver { nxt, wnd: self.rcv.edge().since(nxt), paws: self.rcv.paws, syn }
    }

    /// Handles a failure of "First, check sequence number": "If an incoming segment is not
    /// acceptable, an acknowledgment should be sent in reply". In reply to retransmitted text it
    /// is, without limit.
    fn step_1_not_acceptable(&mut self, now: Instant, segment: &Segment<'_>, reason: Discard) {
        let header = &segment.header;
        let (seq, len) = (SeqNum::new(header.seq), segment.seq_len());
        if reason != Discard::OutsideWindow || header.flags.contains(Flags::RST) {
            return;
        }
        if len > 0 {
            // This is the last segment again, because its acknowledgment was lost. As in Linux its
            // timestamp is echoed all the same, so that the peer gets a fresh RTT sample.
            if seq.plus(len) == self.rcv.last_ack_sent() {
                self.rcv.remember_timestamp(now, header);
            }
            match self.acknowledges_each() {
                true => self.rcv.ack.owe(0),
                false => self.rcv.ack.hurry(AFTER_TIMEOUT),
            }
        }
        let end = seq.plus(u32::try_from(segment.payload.len()).unwrap_or(0));
        if end.at_or_before(self.rcv.nxt) {
            self.rcv.rx.note_duplicate(seq, end);
        }
    }

    /// Cuts off everything before RCV.NXT and beyond the window or a known FIN.
    fn trim<'a>(&mut self, seq: SeqNum, segment: &Segment<'a>) -> Trimmed<'a> {
        let mut seq = seq;
        let mut payload = segment.payload;
        let mut fin = segment.header.flags.contains(Flags::FIN);
        let old = self.rcv.nxt.since(seq);
        if old > 0 {
            // The peer has not received the acknowledgment of the text it sends again.
            if !self.acknowledges_each() {
                self.rcv.ack.hurry(AFTER_TIMEOUT);
            }
            self.rcv.rx.note_duplicate(seq, self.rcv.nxt);
            let cut = (old as usize).min(payload.len());
            payload = payload.get(cut..).unwrap_or(&[]);
            let past = old > u32::try_from(cut).unwrap_or(u32::MAX);
            fin &= !past;
            seq = self.rcv.nxt;
        }
        let push = segment.header.flags.contains(Flags::PSH);
        self.cut_at_window(Trimmed { seq, payload, fin, push })
    }

    fn cut_at_window<'a>(&mut self, segment: Trimmed<'a>) -> Trimmed<'a> {
        let Trimmed { seq, mut payload, mut fin, push } = segment;
        let mut room = self.rcv.edge().since(seq) as usize;
        if let Some(end) = self.fin() {
            room = room.min(end.since(seq) as usize);
        }
        // The FIN takes a sequence number too and must be inside the window.
        if payload.len() > room
            || (fin && payload.len() >= room && !self.flags.has(ConnFlags::FIN_KNOWN))
        {
            self.rcv.ack.now = true;
            fin = false;
        }
        payload = payload.get(..payload.len().min(room)).unwrap_or(payload);
        Trimmed { seq, payload, fin, push }
    }

    /// Handles "Second, check the RST bit": only an exact RST is accepted (RFC 5961 §3.2), as this
    /// one is.
    //= rfc9293#MUST-11 rfc9293#SHLD-2
    //= rfc5961#3.2-2 rfc5961#4.2-3
    fn step_2_reset(&mut self) -> Result<(), Discard> {
        // In CLOSING and LAST-ACK both sides have finished, and if the peer has received
        // everything, the RST is no error for the application.
        let all = !self.snd.una.before(self.snd.end);
        let error = match self.state {
            State::Closing | State::LastAck if all => None,
            State::SynReceived if !self.is_opening_early() => Some(ConnectionError::Refused),
            _ => Some(ConnectionError::Reset),
        };
        self.finish(error);
        Ok(())
    }

    /// Handles "Fifth, check the ACK field"; the part of the segment that is not old begins at
    /// `seq`.
    //= rfc5961#5.2-1 rfc5961#5.2-2
    fn step_5_ack(
        &mut self,
        now: Instant,
        segment: &Segment<'_>,
        seq: SeqNum,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), Discard> {
        let ack = SeqNum::new(segment.header.ack);
        let opens = self.state == State::SynReceived;
        if opens {
            if ack.at_or_before(self.snd.una) || ack.after(self.snd.nxt) {
                return Err(Discard::AckUnsent);
            }
            let syn_lost = self.snd.tries > 0;
            self.take_ack_of_syn(now, ack, segment);
            self.snd.una = self.snd.iss.plus(1);
            if !self.is_opening_early() {
                self.acknowledge_syn_data(ack, buffers);
                self.begin_sending(syn_lost);
                // The text of the SYN.
                let kept = self.rcv.fin_at.since(self.rcv.nxt);
                self.rcv.rx.allow(kept);
                self.rcv.nxt = self.rcv.fin_at;
                self.rcv.ack.now |= kept > 0;
            }
            self.establish(now, syn_lost);
        }
        if ack.after(self.snd.nxt) {
            return Err(Discard::AckUnsent);
        }
        // RFC 5961 §5.2.
        if ack.before(self.snd.una.minus(self.snd.max_wnd())) {
            return Err(Discard::AckTooOld);
        }
        let window = match self.take_window(segment, seq, ack) {
            // The acknowledgment of the SYN is no duplicate, even if data has been sent since.
            WindowChange::None if opens => WindowChange::Other,
            window => window,
        };
        self.take_ack(now, ack, segment, window, buffers);
        self.after_window(now, window);
        Ok(())
    }

    /// Updates SND.WND, if the segment is not older than the last update. A partly old segment
    /// counts from RCV.NXT on, as "the idealized segment".
    //= rfc9293#MUST-1
    //= rfc7323#2.2-4 rfc7323#2.3-5
    fn take_window(&mut self, segment: &Segment<'_>, seq: SeqNum, ack: SeqNum) -> WindowChange {
        if seq.before(self.snd.wl1) || ack.before(self.snd.una) {
            return WindowChange::None;
        }
        let scaled = !segment.header.flags.contains(Flags::SYN);
        let shift = if scaled { self.snd.shift } else { 0 };
        let wnd = u32::from(segment.header.window) << shift.min(14);
        let change = match (self.snd.wnd, wnd) {
            (old, new) if old == new => WindowChange::None,
            (0, _) => WindowChange::Opened,
            _ => WindowChange::Other,
        };
        self.snd.set_window(wnd);
        self.snd.wl1 = seq;
        change
    }

    /// Handles the effects of the window once the acknowledgment was taken.
    //= rfc9293#MUST-35 rfc9293#MUST-37 rfc9293#SHLD-17
    fn after_window(&mut self, now: Instant, change: WindowChange) {
        if self.snd.wnd == 0 {
            // RFC 9293 §3.8.6.1: as long as probes are answered the connection stays open.
            self.snd.tries = 0;
            self.snd.progress_at = Tick::at(now);
            return;
        }
        self.flags.put(ConnFlags::PROBE_DUE, false);
        if self.flags.has(ConnFlags::PROBING) || change == WindowChange::Opened {
            self.flags.put(ConnFlags::PROBING, false);
            self.snd.backoff = 0;
            self.snd.tries = 0;
            self.snd.rtx.clear();
            if self.snd.flight() > 0 {
                // The probe, and the data over which the window was closed, was not accepted.
                self.board.lose(self.snd.una, self.snd.nxt);
                self.snd.retransmit_now = true;
            }
        }
    }

    pub(super) fn fin_acknowledged(&mut self, now: Instant) {
        match self.state {
            State::FinWait1 => {
                self.transition(State::FinWait2);
                self.limit_fin_wait_2(now);
            }
            State::Closing => self.enter_time_wait(),
            State::LastAck => self.finish(None),
            _ => {}
        }
    }

    /// Handles "Seventh, process the segment text."
    //= rfc9293#SHLD-3 rfc9293#SHLD-19 rfc9293#SHLD-31
    //= rfc5681#3.2-1 rfc5681#3.2-2 rfc5681#4.2-6 rfc5681#4.2-7 rfc5681#4.2-8 rfc6582#5-1
    fn step_7_text(&mut self, now: Instant, segment: &Trimmed<'_>, buffers: &mut Buffers<'_>) {
        if segment.payload.is_empty()
            // SYN-RECEIVED gets as far as this only with the text of its SYN.
            || !matches!(
                self.state,
                State::SynReceived | State::Established | State::FinWait1 | State::FinWait2
            )
        {
            return;
        }
        if self.reader != Reader::Present {
            // RFC 9293 SHLD-3 (RFC 2525 §2.17): the application will not read it, and the peer
            // should be notified.
            return self.abort(ConnectionError::Aborted);
        }
        let len = u16::try_from(segment.payload.len()).unwrap_or(u16::MAX);
        let each = self.acknowledges_each();
        if !segment.push && len < self.rcv.mss && !each {
            self.rcv.ack.hurry(AFTER_TIMEOUT);
        }
        // A sender may change its segment size, and every second segment needs an acknowledgment.
        self.rcv.mss = if segment.push { self.rcv.mss.max(len) } else { len };
        let offset = segment.seq.since(self.rcv.nxt);
        let had_holes = self.rcv.rx.has_holes();
        let advance =
            self.rcv.rx.insert(buffers.receive, buffers.map, self.rcv.nxt, offset, segment.payload);
        self.rcv.nxt = self.rcv.nxt.plus(advance);
        self.rcv.adv = self.rcv.adv.later(self.rcv.nxt);
        if advance > 0 {
            if self.is_paused() {
                self.snd.pace.clear();
            }
            self.snd.loss_reports = 0;
            // With a short send buffer at the peer every segment is the last of those that wait.
            let full = len.saturating_add(self.rcv.timestamps_len()) >= self.params.own_mss;
            self.rcv.ack.set_more(full || !segment.push);
        }
        if each {
            return self.rcv.ack.owe(advance);
        }
        let full = u32::from(self.rcv.mss);
        let threshold = threshold(full, self.params.ack_every, self.rcv.rx.capacity());
        let delay = millis(patience(self.params.delayed_ack_ms, segment.push));
        self.rcv.ack.received(now, advance, threshold, delay);
        // RFC 5681 §4.2: at once when out of order or filling a gap. Also if the remaining window
        // holds no full segment: the peer can only wait for this side (TCPlp §6.2).
        if had_holes || advance == 0 {
            // On a path with many losses the next one comes soon.
            self.rcv.ack.hurry(AFTER_GAP << u8::from(self.params.has(Params::LOSSY_PATH)));
        } else if self.rcv.wnd() < full {
            self.rcv.ack.now = true;
        }
    }

    /// Handles "Eighth, check the FIN bit"; the FIN is remembered if text before it is missing.
    fn step_8_fin(&mut self, now: Instant, segment: &Trimmed<'_>) {
        if segment.fin && !self.flags.has(ConnFlags::FIN_KNOWN) && self.can_receive_fin() {
            let len = u32::try_from(segment.payload.len()).unwrap_or(u32::MAX);
            self.rcv.fin_at = segment.seq.plus(len);
            self.flags.put(ConnFlags::FIN_KNOWN, true);
            self.rcv.ack.now = true;
        }
        if self.fin() != Some(self.rcv.nxt) || !self.can_receive_fin() {
            return;
        }
        self.rcv.nxt = self.rcv.nxt.plus(1);
        self.rcv.adv = self.rcv.adv.later(self.rcv.nxt);
        self.rcv.ack.finished();
        match self.state {
            State::Established => self.transition(State::CloseWait),
            State::FinWait1 => self.transition(State::Closing),
            State::FinWait2 => self.enter_time_wait(),
            _ => {}
        }
        self.touch_keepalive(now);
    }

    pub(super) fn can_receive_fin(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }

    /// Enters TIME-WAIT; the endpoint moves the connection to its table of TIME-WAIT records.
    fn enter_time_wait(&mut self) {
        self.transition(State::TimeWait);
        self.stop();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowChange {
    None,
    /// It was zero.
    Opened,
    Other,
}
