//! What to send next (RFC 9293 §3.8.6.2.1, §3.10.8; RFC 6675 §4; RFC 3042).

use super::{Connection, Phase, State};
use crate::congestion::Controller;
use crate::paws::timestamp;
use crate::seq::SeqNum;
use crate::timer::Tick;
use kinglet_time::Instant;
use kinglet_wire::tcp::{Flags, Header, Options, Timestamps};

/// A segment without ports, checksum and payload octets: those the endpoint adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emission {
    pub(crate) header: Header,
    /// Octets of payload, from the header's sequence number on.
    pub(crate) len: u16,
}

/// A stretch of the sequence space to be sent.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    seq: SeqNum,
    /// Payload octets.
    len: u32,
    fin: bool,
    again: bool,
}

impl<C: Controller> Connection<C> {
    /// The next segment, or `None` until something happens.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Emission> {
        match self.state {
            State::Closed => self.poll_reset(),
            State::TimeWait => None,
            State::SynSent | State::SynReceived => self.poll_syn(now),
            _ => self.poll_synchronised(now),
        }
    }

    fn poll_reset(&mut self) -> Option<Emission> {
        if !core::mem::take(&mut self.reset_pending) {
            return None;
        }
        let header = Header {
            seq: self.snd.nxt.value(),
            ack: self.rcv.nxt.value(),
            flags: Flags::RST | Flags::ACK,
            ..Header::default()
        };
        Some(Emission { header, len: 0 })
    }

    fn poll_syn(&mut self, now: Instant) -> Option<Emission> {
        let answering = self.state == State::SynReceived;
        if !core::mem::take(&mut self.recovery.pending) {
            if answering && self.ack.now {
                return Some(self.emit_ack(now, self.snd.nxt));
            }
            return None;
        }
        if self.snd.nxt == self.snd.iss {
            self.snd.nxt = self.snd.iss.plus(1);
            self.timed = Some((self.snd.nxt, Tick::at(now)));
            self.progress_at = Tick::at(now);
        } else {
            self.timed = None;
            self.retransmitted_at = Some(Tick::at(now));
        }
        self.rtx.set(now, self.rto());
        let (timestamps, sack, scale) = if answering {
            (self.paws.is_some(), self.sack, (self.rcv.scale > 0).then_some(self.rcv.scale))
        } else {
            // Offered always, so that the peer may scale even if this side needs no shift.
            (self.params.offer_timestamps, self.params.offer_sack, Some(self.rcv.scale))
        };
        let window = self.rx.capacity().min(u32::from(u16::MAX));
        if answering {
            self.rcv.adv = self.rcv.adv.later(self.rcv.nxt.plus(window));
            self.ack.sent();
        }
        let header = Header {
            seq: self.snd.iss.value(),
            ack: if answering { self.rcv.nxt.value() } else { 0 },
            flags: if answering { Flags::SYN | Flags::ACK } else { Flags::SYN },
            // Never scaled in a SYN (RFC 7323 §2.2).
            window: u16::try_from(window).unwrap_or(u16::MAX),
            options: Options {
                mss: Some(self.params.own_mss),
                window_scale: scale,
                sack_permitted: sack,
                timestamps: timestamps.then(|| Timestamps {
                    val: timestamp(self.ts_offset, now),
                    ecr: self.paws.map_or(0, |p| p.recent()),
                }),
                ..Options::NONE
            },
            ..Header::default()
        };
        self.note_sent(now);
        Some(Emission { header, len: 0 })
    }

    fn poll_synchronised(&mut self, now: Instant) -> Option<Emission> {
        let options = self.segment_options(now);
        let room = self.segment_room(&options);
        if let Some(stretch) = self.next_stretch(now, room) {
            return Some(self.emit(now, stretch, options));
        }
        self.arm_persist(now);
        if self.ack.now || self.window_update_due() {
            return Some(self.emit_ack(now, self.snd.nxt));
        }
        if core::mem::take(&mut self.keep_probe) {
            self.counters.probes = self.counters.probes.wrapping_add(1);
            return Some(self.emit_ack(now, self.snd.nxt.minus(1)));
        }
        None
    }

    fn segment_options(&self, now: Instant) -> Options {
        Options {
            timestamps: self
                .paws
                .map(|paws| Timestamps { val: paws.clock(now), ecr: paws.recent() }),
            sack: if self.sack { self.rx.sack_blocks() } else { Default::default() },
            ..Options::NONE
        }
    }

    /// Payload that fits beside `options`; `self.mss` has the timestamps subtracted already.
    fn segment_room(&self, options: &Options) -> u32 {
        let blocks = if options.sack.is_empty() {
            0
        } else {
            let with = options.len();
            with.saturating_sub(Options { sack: Default::default(), ..*options }.len())
        };
        u32::from(self.mss).saturating_sub(u32::try_from(blocks).unwrap_or(0)).max(1)
    }

    /// Chooses what to send: NextSeg of RFC 6675 §4, with new data under Nagle and SWS avoidance.
    fn next_stretch(&mut self, now: Instant, room: u32) -> Option<Stretch> {
        let mss = u32::from(self.mss);
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        if self.recovery.pending && una.before(nxt) {
            let gap = self.recovery.board.gap(una, nxt).filter(|g| g.0 == una);
            if gap.is_none() {
                // The peer claims to hold what it does not acknowledge: it has reneged.
                self.recovery.board.clear();
            }
            let end = gap.map_or(nxt, |g| g.1);
            return Some(self.again(una, end, room));
        }
        let pipe = self.recovery.pipe(una, nxt, mss).saturating_sub(self.limited_transmit(mss));
        let cwnd = self.cc.window().saturating_add(self.recovery.inflation);
        let allowed = cwnd.saturating_sub(pipe);
        // Into a closed window goes nothing but probes.
        if self.snd.wnd == 0 {
            return self.new_stretch(now, allowed, room);
        }
        // RFC 6675 §5 step C; a window of less than a segment lets one segment out when idle.
        if (allowed >= mss || pipe == 0)
            && let Some((seq, end)) = self.recovery.next_lost(nxt, mss)
        {
            return Some(self.again(seq, end, room));
        }
        if let Some(stretch) = self.new_stretch(now, allowed, room) {
            return Some(stretch);
        }
        if allowed >= mss && self.sack {
            if let Some((seq, end)) = self.recovery.next_hole() {
                return Some(self.again(seq, end, room));
            }
            return self.rescue(room);
        }
        None
    }

    /// RFC 3042: the first two duplicate acknowledgments each let one new segment out. With SACK
    /// the pipe shrinks by itself.
    fn limited_transmit(&self, mss: u32) -> u32 {
        if self.sack || self.recovery.phase != Phase::Open {
            return 0;
        }
        mss.saturating_mul(u32::from(self.recovery.dup_acks.min(2)))
    }

    /// NextSeg rule 4: once per recovery, the highest segment, if nothing above it can tell.
    fn rescue(&mut self, room: u32) -> Option<Stretch> {
        let highest = self.recovery.board.highest().unwrap_or(self.snd.una);
        if self.recovery.phase != Phase::Fast
            || self.recovery.rescued
            || !self.recovery.high_rxt.before(self.snd.nxt)
            || !highest.before(self.snd.nxt)
        {
            return None;
        }
        self.recovery.rescued = true;
        let start = highest.later(self.recovery.high_rxt);
        let start = start.later(self.snd.nxt.minus(room.min(self.snd.nxt.since(start))));
        Some(self.again(start, self.snd.nxt, room))
    }

    /// New data, and the FIN after it.
    fn new_stretch(&mut self, now: Instant, allowed: u32, room: u32) -> Option<Stretch> {
        let unsent = self.unsent();
        let fin_unsent = self.fin_unsent();
        if unsent == 0 && !fin_unsent {
            return None;
        }
        let idle = self.flight() == 0;
        if idle && self.last_sent.elapsed(now) > self.rto() {
            self.cc.on_idle();
        }
        let window = self.snd.una.plus(self.snd.wnd).since(self.snd.nxt);
        let usable = window.min(allowed);
        let mut len = unsent.min(usable).min(room);
        let mut fin = fin_unsent && len == unsent && window > len;
        if core::mem::take(&mut self.probe) && len == 0 && !fin {
            // The probe takes one sequence number beyond the window and counts as sent.
            len = unsent.min(1);
            fin = unsent == 0;
            self.probing = true;
            self.counters.probes = self.counters.probes.wrapping_add(1);
            return Some(Stretch { seq: self.snd.nxt, len, fin, again: false });
        } else if len == 0 && !fin {
            return None;
        }
        let all = len == unsent;
        let may_send = len >= room.min(u32::from(self.mss))
            || fin
            || (all && (idle || !self.params.nagle))
            || (len >= self.snd.max_wnd.div_ceil(2) && (idle || !self.params.nagle))
            // The override timeout of SWS avoidance is the persist timer.
            || (self.backoff > 0 && idle);
        may_send.then_some(Stretch { seq: self.snd.nxt, len, fin, again: false })
    }

    /// The segment at `seq` once more, within `seq..end`; if it would be short because the flight
    /// ends there, new data fills it up.
    fn again(&self, seq: SeqNum, end: SeqNum, room: u32) -> Stretch {
        let data_end = self.tx.end();
        let window_end = self.snd.una.plus(self.snd.wnd);
        let mut limit = end;
        if end == self.snd.nxt {
            limit = limit.later(window_end.earlier(data_end));
        }
        let mut len = limit.earlier(data_end).since(seq).min(room);
        if self.snd.wnd == 0 {
            len = len.min(1);
        }
        let reaches_end = seq.plus(len) == data_end;
        let fin_sent = self.fin_queued && self.snd.nxt.after(data_end);
        let fin = reaches_end
            && self.fin_queued
            && if fin_sent { end.after(data_end) } else { window_end.after(data_end) };
        Stretch { seq, len, fin, again: true }
    }

    fn emit(&mut self, now: Instant, stretch: Stretch, options: Options) -> Emission {
        let Stretch { seq, len, fin, again } = stretch;
        let end = seq.plus(len).plus(u32::from(fin));
        if again {
            self.note_retransmission(now, end);
        } else if self.flight() == 0 {
            self.progress_at = Tick::at(now);
        }
        if end.after(self.snd.nxt) {
            if self.recovery.phase == Phase::Open && self.recovery.dup_acks > 0 {
                let octets = end.since(self.snd.nxt);
                self.recovery.limited = self.recovery.limited.saturating_add(octets);
            }
            self.snd.nxt = end;
            if !again && self.timed.is_none() && self.paws.is_none() {
                self.timed = Some((end, Tick::at(now)));
            }
        }
        // The timer starts when the segment does, and starts over for the first segment.
        if !self.rtx.is_set() || seq == self.snd.una {
            self.rtx.set(now, self.rto());
        }
        let mut flags = Flags::ACK;
        if fin {
            flags |= Flags::FIN;
        }
        if len > 0 && seq.plus(len) == self.tx.end() {
            flags |= Flags::PSH;
        }
        let header = self.header(now, seq, flags, options);
        Emission { header, len: u16::try_from(len).unwrap_or(0) }
    }

    fn note_retransmission(&mut self, now: Instant, end: SeqNum) {
        // Karn: what is sent twice cannot be timed.
        self.timed = None;
        self.retransmitted_at = Some(Tick::at(now));
        self.recovery.pending = false;
        let counter = match self.recovery.phase {
            Phase::Timeout => &mut self.counters.timeout_retransmits,
            Phase::Fast => &mut self.counters.fast_retransmits,
            Phase::Open => &mut self.counters.probes,
        };
        *counter = counter.wrapping_add(1);
        // RFC 6582 counts by window inflation and has no HighRxt, unless a window that has opened
        // again has declared everything lost.
        let resending = self.recovery.high_rxt.before(self.recovery.lost_edge);
        if self.sack || self.recovery.phase != Phase::Fast || resending {
            self.recovery.high_rxt = self.recovery.high_rxt.later(end);
        }
    }

    fn emit_ack(&mut self, now: Instant, seq: SeqNum) -> Emission {
        let options = self.segment_options(now);
        Emission { header: self.header(now, seq, Flags::ACK, options), len: 0 }
    }

    /// A header that acknowledges everything and advertises the window.
    fn header(&mut self, now: Instant, seq: SeqNum, flags: Flags, options: Options) -> Header {
        self.advance_edge();
        self.ack.sent();
        self.rcv.last_ack_sent = self.rcv.nxt;
        self.note_sent(now);
        Header {
            seq: seq.value(),
            ack: self.rcv.nxt.value(),
            flags,
            window: self.window_field(),
            options,
            ..Header::default()
        }
    }

    fn note_sent(&mut self, now: Instant) {
        self.last_sent = Tick::at(now);
        self.counters.segments_sent = self.counters.segments_sent.wrapping_add(1);
    }

    /// The persist timer runs while data waits for a window and nothing is in flight.
    fn arm_persist(&mut self, now: Instant) {
        let waiting = self.unsent() > 0 || self.fin_unsent();
        if self.flight() == 0 && waiting && !self.rtx.is_set() && !self.probe {
            self.rtx.set(now, self.rto());
        }
    }

    /// The largest right edge that free space allows.
    pub(super) fn receive_limit(&self) -> SeqNum {
        // See `window_field` for the slack.
        let slack = (1_u32 << self.rcv.scale.min(14)).saturating_sub(1);
        let largest = u32::from(u16::MAX) << self.rcv.scale.min(14);
        self.rcv.nxt.plus(self.rx.free().saturating_sub(slack).min(largest.saturating_sub(slack)))
    }

    /// RFC 9293 §3.8.6.2.2: the edge moves by a segment or half the buffer, or not at all.
    fn advance_edge(&mut self) {
        let limit = self.receive_limit();
        if limit.since(self.rcv.adv) >= self.least_advance() {
            self.rcv.adv = limit;
        }
    }

    fn least_advance(&self) -> u32 {
        (self.rx.capacity() / 2).min(u32::from(self.mss)).max(1)
    }

    /// Whether the peer must hear unasked that the window has grown: when it has at least doubled,
    /// as Linux does it (an acknowledgment every two segments read, as FreeBSD does it with small
    /// buffers, would be two frames where one says the same).
    ///
    /// RFC 9293 §3.8.6.2.2 says how far the edge moves, not when it is told. Nobody waits for ever:
    /// what is not told is less than what the peer still has, so that has more than half of the
    /// buffer, which its side of silly window avoidance (§3.8.6.2.1) lets it fill.
    fn window_update_due(&self) -> bool {
        let growth = self.receive_limit().since(self.rcv.adv);
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
            && growth >= self.least_advance().max(self.rcv.adv.since(self.rcv.nxt))
    }
}
