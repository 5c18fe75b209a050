//! Choice of the next segment (RFC 9293 §3.8.6.2.1, §3.10.8; RFC 8985 §7; RFC 3042).

use super::flags::ConnFlags;
use super::pacing::PIECE;
use super::{Connection, FastOpen, Params, Phase, Rtx};
use crate::congestion::Controller;
use crate::features::Features;
use crate::paws::timestamp;
use crate::send::arrival::Stamp;
use crate::send::rack::Probe;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use crate::state::State;
use crate::timer::Tick;
use kinglet_time::Instant;
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{AckRate, Cookie, Flags, Header, Options, SackBlock, Timestamps};

/// A segment to be sent, without its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emission {
    /// Octets of payload, from the header's sequence number on.
    pub(crate) len: u16,
    pub(crate) ecn: Ecn,
    /// More may follow at once.
    pub(crate) more: bool,
}

impl Emission {
    const BARE: Emission = Emission { len: 0, ecn: Ecn::NotEct, more: true };
}

/// A stretch of the sequence space to be sent.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    seq: SeqNum,
    /// Payload octets.
    len: u32,
    fin: bool,
    /// It was sent before, or begins with octets that were.
    retransmission: bool,
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Returns the next segment, or `None` until something happens. The endpoint adds ports,
    /// checksum and payload octets to `header`, which is empty, and belongs to the endpoint so that
    /// it is never copied. `map` is the bitmap of the receive ring. If `held`, an acknowledgment
    /// waits that would carry nothing else and loses nothing by waiting.
    //= rfc2883#3-2
    #[inline(never)] // See `Connection`.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        map: &[u8],
        held: bool,
        header: &mut Header,
    ) -> Option<Emission> {
        let emission = match self.state {
            State::Closed => self.poll_reset(now, header),
            State::TimeWait => None,
            State::SynReceived if self.is_opening_early() && !self.snd.retransmit_now => {
                self.poll_synchronised(now, held, header)
            }
            State::SynSent | State::SynReceived => self.poll_syn(now, header),
            _ => self.poll_synchronised(now, held, header),
        };
        let carries = !header.flags.intersects(Flags::SYN | Flags::RST);
        if emission.is_some()
            && self.params.has(Params::SACK)
            && carries
            && self.rcv.rx.has_blocks()
        {
            header.options.sack = self.rcv.rx.sack_blocks(map, self.received());
        }
        if emission.is_some() && carries {
            self.rcv.rx.blocks_sent();
        }
        emission
    }

    //= rfc7323#3.2-5 rfc7323#5.2-5
    fn poll_reset(&mut self, now: Instant, header: &mut Header) -> Option<Emission> {
        if !self.flags.take(ConnFlags::RESET_PENDING) {
            return None;
        }
        header.seq = self.snd.nxt.value();
        header.ack = self.rcv.nxt.value();
        header.flags = Flags::RST | Flags::ACK;
        // RFC 7323 §3.2: a RST should have a timestamp too.
        header.options.timestamps = self.timestamps(now);
        Some(Emission::BARE)
    }

    /// Adds the Fast Open option to the first SYN, or to one sent again after a loss on the link.
    /// The `offer` for the peer is a cookie, perhaps the empty one, with the peer's MSS (RFC 7413
    /// §4.2.2, "Client: Sending SYN").
    pub(crate) fn offer_fast_open(
        &mut self,
        header: &mut Header,
        syn: &mut Emission,
        offer: Option<(Cookie, u16)>,
    ) {
        let lost_on_link = self.fast_open() == FastOpen::LostOnLink;
        // If the cookie is gone meanwhile, no new one is requested while data is in flight.
        let offer = offer.filter(|(cookie, _)| !(lost_on_link && cookie.is_request()));
        let Some((cookie, peer_mss)) = offer else {
            self.fast_open = if lost_on_link { FastOpen::Lost } else { FastOpen::Off };
            return;
        };
        header.options.fast_open = Some(cookie);
        if cookie.is_request() {
            self.fast_open = FastOpen::Asked;
            return;
        }
        self.fast_open = FastOpen::Sent;
        let options = u32::try_from(header.options.len()).unwrap_or(0);
        let room = u32::from(self.params.own_mss.min(peer_mss)).saturating_sub(options);
        let start = self.snd.iss.plus(1);
        let len = self.snd.end.since(start).min(room);
        self.snd.nxt = self.snd.nxt.later(start.plus(len));
        syn.len = u16::try_from(len).unwrap_or(0);
    }

    //= rfc9293#MUST-14 rfc9293#MUST-65 rfc9293#SHLD-5
    //= rfc7323#2.2-1 rfc7323#2.2-4 rfc7323#3.2-1 rfc7413#4.2.2-4 rfc3168#6.1.1-10
    fn poll_syn(&mut self, now: Instant, header: &mut Header) -> Option<Emission> {
        let answering = self.state == State::SynReceived;
        if !core::mem::take(&mut self.snd.retransmit_now) {
            if answering && self.rcv.ack.now {
                return Some(self.emit_ack(now, self.snd.nxt, header));
            }
            return None;
        }
        if self.snd.nxt == self.snd.iss {
            self.snd.nxt = self.snd.iss.plus(1);
            self.board.push(self.snd.nxt, Stamp::of(now));
            self.snd.progress_at = Tick::at(now);
        } else {
            self.board.retransmit(self.snd.iss, self.snd.iss.plus(1), Stamp::of(now));
        }
        self.arm(now);
        let (timestamps, scale) = if answering {
            (self.rcv.paws.is_some(), self.flags.has(ConnFlags::SCALES))
        } else {
            // Scaling is always offered, so that the peer may scale even if this side needs no
            // shift.
            (self.params.has(Params::TIMESTAMPS), true)
        };
        // An early connection may hold text already.
        let window = self.rcv.limit().since(self.rcv.nxt).min(u32::from(u16::MAX));
        if answering {
            self.rcv.adv = self.rcv.adv.later(self.rcv.nxt.plus(window));
            self.acknowledge();
        }
        header.seq = self.snd.iss.value();
        header.ack = if answering { self.rcv.nxt.value() } else { 0 };
        header.flags = self.setup_flags(answering);
        // Never scaled in a SYN (RFC 7323 §2.2).
        header.window = u16::try_from(window).unwrap_or(u16::MAX);
        let options = &mut header.options;
        options.mss = Some(self.params.own_mss);
        options.window_scale = scale.then_some(self.rcv.rx.shift());
        options.sack_permitted = self.params.has(Params::SACK);
        options.ack_rate = self.uses_ack_rate().then_some(AckRate::Supported);
        options.timestamps = timestamps.then(|| Timestamps {
            val: timestamp(self.ts_offset, now),
            ecr: self.rcv.paws.map_or(0, |p| p.recent()),
        });
        self.note_sent(now);
        Some(Emission::BARE)
    }

    fn poll_synchronised(
        &mut self,
        now: Instant,
        held: bool,
        header: &mut Header,
    ) -> Option<Emission> {
        if self.snd.retransmit_now || self.has_text_to_send() {
            let room = self.segment_room();
            if let Some(stretch) = self.next_stretch(now, room) {
                return Some(self.emit(now, stretch, header));
            }
            self.arm_persist(now);
        }
        let waits = held && !self.acknowledges_each() && !self.rcv.rx.has_blocks();
        if !waits && self.wants_ack() {
            return Some(self.emit_ack(now, self.snd.nxt, header));
        }
        if self.flags.take(ConnFlags::KEEP_PROBE) {
            self.counters.probes = self.counters.probes.wrapping_add(1);
            return Some(self.emit_ack(now, self.snd.nxt.minus(1), header));
        }
        None
    }

    /// Returns whether [`Connection::poll`] would return `None`. It is called before `poll`.
    pub(crate) fn is_silent(&mut self, now: Instant) -> bool {
        self.snd.end_gap(now);
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let opened = matches!(self.fast_open(), FastOpen::Off | FastOpen::Accepted);
        let speaks = opening
            || !opened
            || self.snd.retransmit_now
            || self.flags.has(ConnFlags::KEEP_PROBE | ConnFlags::RESET_PENDING);
        !speaks && !self.has_text_to_send() && !self.wants_ack()
    }

    /// Returns whether an acknowledgment or a window update is to be sent.
    #[inline(never)]
    pub(crate) fn wants_ack(&self) -> bool {
        self.rcv.ack.now || self.window_update_due()
    }

    /// Returns whether text is unsent, to be sent again, or to be probed for.
    fn has_text_to_send(&self) -> bool {
        self.snd.unsent() > 0
            || self.fin_unsent()
            || self.board.lost() > 0
            || self.snd.recovery.probe() == Probe::Due
    }

    //= rfc7323#3.2-2
    fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.rcv.paws.map(|paws| {
            let val = timestamp(self.ts_offset, now);
            Timestamps { val, ecr: paws.recent() }
        })
    }

    /// Returns the payload that fits with the options; `self.snd.mss` has the timestamps subtracted
    /// already.
    pub(super) fn segment_room(&self) -> u32 {
        if !self.params.has(Params::SACK) || !self.rcv.rx.has_blocks() {
            return u32::from(self.snd.mss).max(1);
        }
        let timestamps = self.rcv.paws.map(|_| Timestamps::default());
        let mut options = Options { timestamps, ..Options::NONE };
        for _ in 0..self.rcv.rx.count_blocks() {
            options.sack.push(SackBlock { left: 0, right: 0 });
        }
        let whole = usize::from(self.snd.mss.saturating_add(self.rcv.timestamps_len()));
        u32::try_from(whole.saturating_sub(options.len())).unwrap_or(0).max(1)
    }

    /// Chooses the next stretch: lost data in order, then new data under Nagle and SWS avoidance.
    //= rfc5681#3.2-12 rfc6675#4-4 rfc6675#4-6 rfc6675#4-10 rfc6675#5-8 rfc6675#5-9 rfc8985#9.3-1
    //= rfc9937#3-2
    fn next_stretch(&mut self, now: Instant, room: u32) -> Option<Stretch> {
        if self.snd.is_paced(now) {
            return None;
        }
        let inflight = self.inflight();
        let allowed = self.snd.window(&self.params).saturating_sub(inflight);
        let forced = core::mem::take(&mut self.snd.retransmit_now);
        if forced {
            self.snd.recovery.stop_trying_forward();
        }
        let forced = forced || inflight == 0;
        let forward = self.snd.recovery.tries_forward();
        if forward && let Some(new) = self.new_stretch(now, allowed, room) {
            return Some(new);
        }
        // The trial ends if there is no new data to be sent.
        let forward = forward && self.snd.nxt.after(self.snd.recovery.point());
        // Lost data waits for a window that only the response to the probe can open.
        if self.snd.recovery.probe() == Probe::Due && !self.snd.recovery.is_open() && !forced {
            return self.tail_probe(now, room);
        }
        // Only probes are sent into a closed window.
        if (forced || self.snd.wnd > 0)
            && !forward
            && let Some((seq, end)) = self.board.first_lost()
        {
            let room = self.loss_room(end.since(seq), allowed, room);
            let stretch = self.retransmission(seq, end, room);
            // A window of less than a segment allows one segment if nothing is in flight.
            return (forced || allowed >= stretch.len).then_some(stretch);
        }
        if self.snd.recovery.probe() == Probe::Due {
            return self.tail_probe(now, room);
        }
        self.new_stretch(now, allowed, room)
    }

    /// Returns a tail loss probe (RFC 8985 §7.3): new data if there is any, whatever cwnd is,
    /// otherwise the last segment again.
    //= rfc8985#7.3-3 rfc8985#7.3-4
    fn tail_probe(&mut self, now: Instant, room: u32) -> Option<Stretch> {
        let nxt = self.snd.nxt;
        let rack = self.snd.recovery.rack_mut()?;
        rack.probe_end = nxt;
        self.snd.sampled = false;
        if !self.snd.recovery.is_open() {
            // The first segment was retransmitted, and the retransmission is probably lost.
            self.snd.recovery.set_probe(Probe::Retransmission);
            return Some(self.retransmission(self.snd.una, self.board.first_end(), room));
        }
        if let Some(new) = self.new_stretch(now, room, room) {
            let rack = self.snd.recovery.rack_mut()?;
            rack.probe = Probe::New;
            rack.probe_end = nxt.plus(new.len).plus(u32::from(new.fin));
            return Some(new);
        }
        if self.snd.flight() == 0 {
            // All data was acknowledged before the probe could leave: there is nothing to probe
            // for.
            self.snd.recovery.set_probe(Probe::None);
            return None;
        }
        let start = self.board.last_start().later(nxt.minus(room));
        let stretch = self.retransmission(start, nxt, room);
        self.snd.recovery.set_probe(Probe::Retransmission);
        Some(stretch)
    }

    /// Returns new data, and the FIN after it.
    //= rfc9293#MUST-17 rfc9293#MUST-38 rfc9293#MUST-60 rfc9293#SHLD-7 rfc9293#SHLD-15
    //= rfc9293#SHLD-27 rfc9293#SHLD-28
    //= rfc5681#2-1 rfc5681#4.1-1 rfc3042#2-2
    //= rfc7323#2.4-4 rfc9937#3-1
    fn new_stretch(&mut self, now: Instant, allowed: u32, room: u32) -> Option<Stretch> {
        let unsent = self.snd.unsent();
        let fin_unsent = self.fin_unsent();
        if unsent == 0 && !fin_unsent {
            return None;
        }
        // The SYN of an early connection holds nothing back.
        let idle = self.snd.flight() <= u32::from(self.state == State::SynReceived);
        // RFC 5681 §4.1 counts from the last data sent. Its acknowledgment is a round trip later;
        // unlike the last segment of all, it is no response to a request of the peer.
        if idle && self.snd.progress_at.elapsed(now) > self.snd.rto(&self.params) {
            self.snd.cc.on_idle();
            self.end_hold();
        }
        if self.held_back() {
            return None;
        }
        let room = room.saturating_sub(self.request_len()).max(1);
        let window = self.snd.una.plus(self.snd.wnd).since(self.snd.nxt);
        let usable = window.min(allowed);
        let mut len = unsent.min(usable).min(room);
        let mut fin = fin_unsent && len == unsent && window > len;
        let overdue = self.flags.take(ConnFlags::PROBE_DUE);
        if overdue && len == 0 && !fin {
            // The probe takes one sequence number beyond the window and counts as sent.
            len = unsent.min(1);
            fin = unsent == 0;
            self.flags.put(ConnFlags::PROBING, true);
            self.counters.probes = self.counters.probes.wrapping_add(1);
            return Some(Stretch { seq: self.snd.nxt, len, fin, retransmission: false });
        } else if len == 0 && !fin {
            return None;
        }
        // A loss probe is sent regardless of Nagle, or it would be old data (RFC 8985 §7.3).
        let due = self.snd.recovery.probe() == Probe::Due;
        let prompt = idle || due || !self.params.has(Params::NAGLE);
        let most = len == unsent || len >= self.snd.max_wnd().div_ceil(2);
        let may_send = len >= room.min(u32::from(self.snd.mss))
            || fin
            || (most && prompt && !self.is_paused())
            // The override timeout of SWS avoidance is the persist timer.
            || overdue;
        may_send.then_some(Stretch { seq: self.snd.nxt, len, fin, retransmission: false })
    }

    /// Returns the retransmission of the segment at `seq`, within `seq..end`. If it would be short
    /// because the flight ends there, new data fills it up.
    //= rfc9293#MUST-34 rfc9293#SHLD-16
    //= rfc7323#2.4-1
    fn retransmission(&mut self, seq: SeqNum, end: SeqNum, room: u32) -> Stretch {
        self.doubt_request();
        let data_end = self.snd.end;
        let window_end = self.snd.una.plus(self.snd.wnd);
        let mut limit = end;
        if end == self.snd.nxt {
            let filled = seq.plus(room.saturating_sub(self.request_len()));
            limit = limit.later(window_end.earlier(data_end).earlier(filled));
        }
        let mut len = limit.earlier(data_end).since(seq).min(room);
        if self.snd.wnd == 0 {
            len = len.min(1);
        }
        let reaches_end = seq.plus(len) == data_end;
        let fin_sent = self.flags.has(ConnFlags::FIN_QUEUED) && self.snd.nxt.after(data_end);
        let fin = reaches_end
            && self.flags.has(ConnFlags::FIN_QUEUED)
            && if fin_sent { end.after(data_end) } else { window_end.after(data_end) };
        Stretch { seq, len, fin, retransmission: true }
    }

    //= rfc9293#MUST-61
    //= rfc6298#5-2 rfc6298#5-7 rfc8985#7.3-5 rfc8985#7.3-6
    fn emit(&mut self, now: Instant, stretch: Stretch, header: &mut Header) -> Emission {
        let Stretch { seq, len, fin, retransmission } = stretch;
        let end = seq.plus(len).plus(u32::from(fin));
        // A piece of a segment does not count as a segment.
        if len > u32::from(PIECE) && self.snd.wnd > 0 {
            self.snd.note_share(retransmission);
        }
        if retransmission {
            self.note_retransmission(now, seq, end, len);
        } else {
            self.board.push(end, Stamp::of(now));
            if self.snd.flight() == 0 {
                self.snd.progress_at = Tick::at(now);
            }
        }
        self.snd.recovery.note_sent(len, end.since(self.snd.nxt), || self.board.sacked() > 0);
        self.snd.nxt = self.snd.nxt.later(end);
        self.pace(now, len);
        // The timer starts with the segment, and restarts with the first segment in flight. The
        // timer of the loss probe restarts with every new segment (RFC 8985 §7.2).
        let probing = self.snd.rtx_kind == Rtx::Probe;
        if !self.snd.rtx.is_set() || seq == self.snd.una || (probing && !retransmission) {
            self.arm(now);
        }
        let mut flags = Flags::ACK;
        if fin {
            flags |= Flags::FIN;
        }
        if len > 0 && seq.plus(len) == self.snd.end {
            flags |= Flags::PSH;
        }
        let (ecn, reduced) = self.mark_out(len, retransmission);
        flags |= reduced;
        self.request_acks(len, header);
        self.fill_header(now, seq, flags, header);
        let more = self.may_follow(now);
        Emission { len: u16::try_from(len).unwrap_or(0), ecn, more }
    }

    fn note_retransmission(&mut self, now: Instant, seq: SeqNum, end: SeqNum, len: u32) {
        self.board.retransmit(seq, end, Stamp::of(now));
        let before = self.snd.nxt.since(seq).min(len);
        if let Some(undo) = self.snd.recovery.undo_mut() {
            // New data that fills up the segment does not count.
            undo.note_sent(Stamp::of(now), before);
        }
        let counter = match self.snd.recovery.phase() {
            _ if self.snd.wnd == 0 => &mut self.counters.probes,
            Phase::Timeout { .. } => &mut self.counters.timeout_retransmits,
            Phase::Fast { .. } | Phase::Open { .. } => &mut self.counters.fast_retransmits,
        };
        *counter = counter.wrapping_add(1);
    }

    //= rfc9293#SHLD-12
    fn emit_ack(&mut self, now: Instant, seq: SeqNum, header: &mut Header) -> Emission {
        self.fill_header(now, seq, Flags::ACK, header);
        let more = self.flags.has(ConnFlags::KEEP_PROBE) || self.owes_more_acks();
        Emission { more, ..Emission::BARE }
    }

    /// Returns whether a segment may follow the segment with text that was just formed. If not,
    /// there is no need to poll before something happens. A bare acknowledgment is formed only when
    /// nothing else is to be sent.
    fn may_follow(&mut self, now: Instant) -> bool {
        let paced = self.snd.is_paced(now);
        let acks = self.owes_more_acks();
        self.flags.has(ConnFlags::KEEP_PROBE) || acks || (self.has_text_to_send() && !paced)
    }

    fn owes_more_acks(&self) -> bool {
        F::POSITIVE_ACKS && self.rcv.ack.now
    }

    /// Acknowledges everything, or the next segment if each has an acknowledgment of its own, and
    /// advertises the window.
    //= rfc9293#MUST-65 rfc9293#SHLD-14
    //= rfc7323#3.2-4
    fn fill_header(&mut self, now: Instant, seq: SeqNum, flags: Flags, header: &mut Header) {
        header.options.timestamps = self.timestamps(now);
        self.rcv.advance_edge(self.snd.mss);
        let left = self.acknowledge();
        let room = self.rcv.wnd() >= u32::from(self.rcv.mss);
        if room && self.can_receive_fin() && !self.flags.has(ConnFlags::FIN_KNOWN) {
            self.rcv.ack.await_more(now, self.snd.rtt.rto(0));
        }
        self.note_sent(now);
        header.seq = seq.value();
        header.ack = self.rcv.nxt.minus(left).value();
        header.flags = flags | self.echo();
        header.window = self.rcv.window_field(left);
    }

    /// Notes the acknowledgment that is being formed. Returns the octets that it leaves to the next
    /// one.
    fn acknowledge(&mut self) -> u32 {
        if self.acknowledges_each() {
            if self.can_receive_fin() {
                return self.rcv.ack.sent_one(u32::from(self.rcv.mss));
            }
            // Nothing comes after the peer's FIN. The FIN of this side must acknowledge it: the
            // peer may receive nothing else before this side is gone.
            self.rcv.ack.forgive();
        }
        self.rcv.ack.sent();
        0
    }

    fn note_sent(&mut self, now: Instant) {
        self.last_sent = Tick::at(now);
        self.counters.segments_sent = self.counters.segments_sent.wrapping_add(1);
    }

    /// Starts the persist timer while data waits for a window and nothing is in flight.
    //= rfc9293#MUST-36
    fn arm_persist(&mut self, now: Instant) {
        let waiting = self.snd.unsent() > 0 || self.fin_unsent();
        if self.snd.flight() == 0
            && waiting
            && !self.snd.rtx.is_set()
            && !self.flags.has(ConnFlags::PROBE_DUE)
        {
            self.snd.rtx.set(now, self.snd.rto(&self.params));
        }
    }

    /// Returns whether an unsolicited window update is due: when the window has at least doubled,
    /// as in Linux. (An acknowledgment for every two segments read, as in FreeBSD with small
    /// buffers, would be two frames with the information of one.)
    ///
    /// RFC 9293 §3.8.6.2.2 specifies how far the edge moves, not when it is advertised. The peer
    /// does not wait for ever: the growth that is not advertised is less than the window the peer
    /// still has. That window is more than half of the buffer, and the sender's side of silly
    /// window avoidance (§3.8.6.2.1) lets the peer fill it.
    pub(crate) fn window_update_due(&self) -> bool {
        let growth = self.rcv.limit().since(self.rcv.adv);
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
            && growth >= self.rcv.least_advance(self.snd.mss).max(self.rcv.wnd())
    }
}
