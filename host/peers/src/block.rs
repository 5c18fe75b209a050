//! Functions that all stacks share: sequence numbers, queues, options, and the making of segments.

use crate::info::{Counters, Failure, State};
use crate::queue::{ReceiveQueue, SendQueue};
use crate::seq::Seq;
use crate::settings::{Receiving, Settings, Stack};
use kinglet_time::{Duration, Instant};
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{Flags, Header, Options, SackBlock, SackBlocks, Timestamps};
use std::collections::VecDeque;

/// A segment to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its header, without checksum.
    pub header: Header,
    /// Its data.
    pub payload: Vec<u8>,
    /// The ECN codepoint of its packet.
    pub ecn: Ecn,
}

/// Phase of the connection. [`Block`] distinguishes the states of the FINs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    SynSent,
    SynReceived,
    Open,
    TimeWait,
    Closed,
}

/// Options that both ends support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) ecn: bool,
}

/// Data that a sender has decided to send.
#[derive(Clone, Debug)]
struct Piece {
    seq: Seq,
    octets: Vec<u8>,
    fin: bool,
    again: bool,
}

/// Contents of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    pub(crate) number: Seq,
    pub(crate) window: u32,
    /// True if it came with data or a FIN.
    pub(crate) has_text: bool,
    pub(crate) echo: Option<u32>,
    pub(crate) sack: SackBlocks,
    pub(crate) ece: bool,
}

/// The control block of a connection.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) settings: Settings,
    pub(crate) rule: Receiving,
    pub(crate) local: u16,
    pub(crate) remote: u16,
    pub(crate) phase: Phase,
    pub(crate) failure: Option<Failure>,
    pub(crate) iss: Seq,
    /// SND.UNA.
    pub(crate) una: Seq,
    /// SND.NXT, which a timeout may set back.
    pub(crate) nxt: Seq,
    /// End of all data ever sent.
    pub(crate) max: Seq,
    /// SND.WND, and its maximum so far.
    pub(crate) wnd: u32,
    pub(crate) max_wnd: u32,
    /// SND.WL1 and SND.WL2.
    updated: (Seq, Seq),
    /// Payload of a full segment.
    pub(crate) mss: u32,
    pub(crate) agreed: Agreed,
    pub(crate) queue: SendQueue,
    /// True if the application has closed.
    pub(crate) closing: bool,
    /// Sequence number of the FIN, once it was sent.
    pub(crate) fin: Option<Seq>,
    pub(crate) fin_received: bool,
    pub(crate) receive: ReceiveQueue,
    irs: Seq,
    /// Right edge of the last advertised window.
    edge: Seq,
    out: VecDeque<Piece>,
    /// True if a SYN or SYN-ACK is to be sent.
    pub(crate) syn_due: bool,
    /// Number of SYNs sent.
    pub(crate) syns: u8,
    /// True if a reset is to be sent.
    reset_due: bool,
    ack_due: bool,
    /// Latest time of a delayed acknowledgement.
    pub(crate) delayed: Option<Instant>,
    /// Number of further acknowledgements without delay.
    quick: u32,
    /// True if data are answered with data, so that an acknowledgement can be piggybacked.
    interactive: bool,
    /// Time of the last received data.
    text_at: Option<Instant>,
    /// Block that has arrived twice and is to be reported.
    duplicate: Option<SackBlock>,
    /// True if the last advertised window was zero.
    advertised_zero: bool,
    recent_ts: u32,
    last_ack_sent: Seq,
    /// True if marks have arrived to which the peer has not yet reacted.
    echo_marks: bool,
    /// True if the window was reduced because of an echo, which is to be signalled to the peer.
    pub(crate) cwr_due: bool,
    pub(crate) counters: Counters,
}

/// Clock of the timestamps: milliseconds, as FreeBSD's.
pub(crate) fn ticks(now: Instant) -> u32 {
    now.as_millis() as u32
}

impl Block {
    /// Block of an active open.
    pub(crate) fn new(settings: Settings, local: u16, remote: u16, iss: u32) -> Block {
        let (iss, first) = (Seq(iss), Seq(iss).plus(1));
        let mut rule = settings.stack.receiving();
        if settings.never_delays {
            rule.delay = None;
        }
        Block {
            settings,
            rule,
            local,
            remote,
            phase: Phase::SynSent,
            failure: None,
            iss,
            una: iss,
            nxt: first,
            max: first,
            wnd: 0,
            max_wnd: 0,
            updated: (Seq(0), Seq(0)),
            mss: u32::from(settings.mss),
            agreed: Agreed::default(),
            queue: SendQueue::new(first, settings.send_buffer as usize),
            closing: false,
            fin: None,
            fin_received: false,
            receive: ReceiveQueue::new(Seq(0), settings.receive_buffer),
            irs: Seq(0),
            edge: Seq(0),
            out: VecDeque::new(),
            syn_due: true,
            syns: 0,
            reset_due: false,
            ack_due: false,
            delayed: None,
            quick: 0,
            interactive: false,
            text_at: None,
            duplicate: None,
            advertised_zero: false,
            recent_ts: 0,
            last_ack_sent: Seq(0),
            echo_marks: false,
            cwr_due: false,
            counters: Counters::default(),
        }
    }

    /// Octets sent and not acknowledged, including the FIN.
    pub(crate) fn flight(&self) -> u32 {
        self.max.since(self.una)
    }

    /// Returns true if data can be sent.
    pub(crate) fn may_send(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Octets from SND.UNA to the end of the data that the application has written.
    pub(crate) fn queued(&self) -> u32 {
        let end = self.queue.end();
        if end.before(self.una) { 0 } else { end.since(self.una) }
    }

    pub(crate) fn state(&self) -> State {
        let fin_acked = self.fin.is_some_and(|fin| fin.before(self.una));
        match self.phase {
            Phase::SynSent => State::SynSent,
            Phase::SynReceived => State::SynReceived,
            Phase::TimeWait => State::TimeWait,
            Phase::Closed => State::Closed,
            Phase::Open => match (self.fin.is_some(), fin_acked, self.fin_received) {
                (false, _, false) => State::Established,
                (false, _, true) => State::CloseWait,
                (true, false, false) => State::FinWait1,
                (true, true, _) => State::FinWait2,
                // The order of closing is not recorded: it makes no difference to the segments.
                (true, false, true) => State::LastAck,
            },
        }
    }

    /// Ends the connection prematurely.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.phase = Phase::Closed;
        self.failure = Some(failure);
        self.out.clear();
        (self.ack_due, self.delayed, self.syn_due) = (false, None, false);
    }

    /// Ends the connection prematurely with a reset to the peer.
    pub(crate) fn abort(&mut self, failure: Failure) {
        let reset_due = matches!(self.phase, Phase::Open | Phase::SynReceived);
        self.fail(failure);
        self.reset_due = reset_due;
    }

    /// Processes the options of the peer's SYN.
    pub(crate) fn learn(&mut self, header: &Header, ece_and_cwr: bool) {
        let Settings { stack, mss, timestamps, sack, ecn, .. } = self.settings;
        let options = &header.options;
        self.irs = Seq(header.seq);
        self.receive.next = self.irs.plus(1);
        self.edge = self.receive.next;
        self.last_ack_sent = self.receive.next;
        self.agreed = Agreed {
            timestamps: timestamps && options.timestamps.is_some(),
            sack: sack && options.sack_permitted,
            ecn: ecn && ece_and_cwr,
        };
        self.recent_ts = options.timestamps.map_or(0, |ts| ts.val);
        // RFC 9293, 3.7.1. BLIP does not read the option.
        let theirs = if stack == Stack::Blip { mss } else { options.mss.unwrap_or(536) };
        let options = if self.agreed.timestamps { 12 } else { 0 };
        self.mss = u32::from(mss.min(theirs)).saturating_sub(options).max(1);
        self.wnd = u32::from(header.window);
        self.max_wnd = self.wnd;
        self.updated = (self.irs, self.iss);
    }

    /// Queues data for sending: octets from `seq` on, at most `len`, and the FIN if it follows them
    /// and the application has closed. Returns the length in sequence numbers.
    pub(crate) fn put(&mut self, seq: Seq, len: u32) -> u32 {
        let octets = self.queue.copy(seq, len);
        let end = seq.plus(octets.len() as u32);
        let fin = self.closing && end == self.queue.end();
        if octets.is_empty() && !fin {
            return 0;
        }
        if fin {
            self.fin = Some(end);
        }
        let taken = octets.len() as u32 + u32::from(fin);
        let again = seq.before(self.max);
        self.max = self.max.later(seq.plus(taken));
        self.out.push_back(Piece { seq, octets, fin, again });
        taken
    }

    /// Returns true if a FIN is to follow the data and was not sent.
    pub(crate) fn owes_fin(&self) -> bool {
        self.closing && self.fin.is_none()
    }

    /// Advances SND.UNA to `to`; returns the number of acknowledged octets, without the FIN.
    pub(crate) fn advance(&mut self, to: Seq) -> u32 {
        let before = self.una;
        let end = self.queue.end();
        self.una = to;
        self.nxt = self.nxt.later(to);
        self.queue.drop_to(to);
        let first = self.iss.plus(1);
        to.earlier(end).since(before.later(first))
    }

    /// Updates the window from an acceptable segment (RFC 9293 §3.10.7.4); returns true if it grew.
    pub(crate) fn update_window(&mut self, seq: Seq, ack: &Ack) -> bool {
        let (wl1, wl2) = self.updated;
        let newer = wl1.before(seq) || wl1 == seq && !ack.number.before(wl2);
        if !newer {
            return false;
        }
        let grew = ack.window > self.wnd;
        self.wnd = ack.window;
        self.max_wnd = self.max_wnd.max(self.wnd);
        self.updated = (seq, ack.number);
        grew
    }

    /// Requests an acknowledgement.
    pub(crate) fn ack_now(&mut self) {
        self.ack_due = true;
    }

    /// Records the peer's timestamp (RFC 7323 §4.3); returns false if it is older than the recorded
    /// one (§5.3).
    pub(crate) fn note_timestamp(&mut self, header: &Header) -> bool {
        let Some(ts) = header.options.timestamps.filter(|_| self.agreed.timestamps) else {
            return true;
        };
        if Seq(ts.val).before(Seq(self.recent_ts)) {
            return false;
        }
        if !self.last_ack_sent.before(Seq(header.seq)) {
            self.recent_ts = ts.val;
        }
        true
    }

    /// Records congestion marks (RFC 3168 §6.1.3).
    pub(crate) fn note_marks(&mut self, flags: Flags, marked: bool) {
        if !self.agreed.ecn {
            return;
        }
        if flags.contains(Flags::CWR) {
            self.echo_marks = false;
        }
        self.echo_marks |= marked;
    }

    /// Processes data at `seq`, and a FIN after them; `rto` is the sender's timeout.
    pub(crate) fn text(&mut self, now: Instant, rto: Duration, seq: Seq, octets: &[u8], fin: bool) {
        if octets.is_empty() && !fin {
            return;
        }
        let end = seq.plus(octets.len() as u32 + u32::from(fin));
        let next = self.receive.next;
        self.note_duplicate(seq, end);
        if self.fin_received || !next.before(end) {
            // All of it is a duplicate.
            return self.ack_now();
        }
        if next.before(seq) {
            if self.rule.reassembles {
                // A FIN out of order will be retransmitted.
                self.receive.keep(seq, octets);
            }
            return self.ack_now();
        }
        let known = next.since(seq) as usize;
        let had_gap = self.receive.has_gap();
        self.receive.append(octets.get(known..).unwrap_or_default());
        if fin && self.receive.next == end.plus(u32::MAX) {
            self.receive.next = end;
            self.fin_received = true;
            return self.ack_now();
        }
        self.hurry(now, rto);
        let delays = self.quick == 0 || self.interactive;
        match self.rule.delay.filter(|_| delays) {
            // After a zero window the peer waits for the acknowledgement (FreeBSD's `DELAY_ACK`).
            Some(delay) if !had_gap && self.delayed.is_none() && !self.advertised_zero => {
                self.delayed = Some(now + delay);
            }
            _ => self.ack_now(),
        }
    }

    /// Updates the number of immediate acknowledgements. Linux does not delay acknowledgements at
    /// the beginning of a stream, or after a pause longer than its timeout: the sender may have
    /// restarted with a small window (`tcp_event_data_recv`, `tcp_incr_quickack`).
    fn hurry(&mut self, now: Instant, rto: Duration) {
        if self.text_at.is_none_or(|at| at + rto < now) {
            let half = self.receive.room() / (2 * self.mss);
            self.quick = self.quick.max(half.max(2).min(self.rule.quick));
        }
        self.text_at = Some(now);
    }

    /// Ends the delay of an acknowledgement without data (`tcp_delack_timer_handler`).
    pub(crate) fn end_delay(&mut self) {
        self.interactive = false;
        // The delay ends even if the acknowledgement may have to wait for its interface.
        self.delayed = None;
        self.ack_now();
    }

    /// Records the duplicate part of data from `seq` to `end` (Linux's `tcp_dsack_set`).
    fn note_duplicate(&mut self, seq: Seq, end: Seq) {
        let next = self.receive.next;
        let held =
            |block: &SackBlock| !seq.before(Seq(block.left)) && !Seq(block.right).before(end);
        let known = if seq.before(next) { Some(end.earlier(next)) } else { None };
        let known =
            known.or_else(|| self.receive.blocks().any(|block| held(&block)).then_some(end));
        if self.rule.reports_duplicates && self.agreed.sack {
            self.duplicate =
                known.map(|end| SackBlock { left: seq.0, right: end.0 }).or(self.duplicate);
        }
    }

    /// The window to be advertised.
    fn window(&self) -> u32 {
        let advertised = if self.edge.before(self.receive.next) {
            0
        } else {
            self.edge.since(self.receive.next)
        };
        let room = self.receive.room();
        let silly =
            self.rule.avoids_silly_windows && room < self.receive.capacity() / 4 && room < self.mss;
        // An advertised window never shrinks.
        if silly { advertised } else { room.max(advertised) }
    }

    /// Requests a large enough window update after the application has read (FreeBSD's
    /// `tcp_output`: by two segments, or by half of the buffer; for others, when a segment fits
    /// again).
    pub(crate) fn after_read(&mut self) {
        if self.phase != Phase::Open || self.fin_received {
            return;
        }
        let advertised = if self.edge.before(self.receive.next) {
            0
        } else {
            self.edge.since(self.receive.next)
        };
        let more = self.window().saturating_sub(advertised);
        let worthwhile = if self.rule.avoids_silly_windows {
            more >= 2 * self.mss || 2 * more >= self.receive.capacity()
        } else {
            self.advertised_zero && more > 0
        };
        self.ack_due |= worthwhile;
    }

    /// The next segment.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Segment> {
        if std::mem::take(&mut self.reset_due) {
            let header = Header { flags: Flags::RST | Flags::ACK, ..self.header(self.nxt) };
            return Some(self.finish(header, Vec::new(), Ecn::NotEct));
        }
        if std::mem::take(&mut self.syn_due) {
            return Some(self.syn(now));
        }
        if self.phase == Phase::Closed {
            return None;
        }
        if let Some(piece) = self.out.pop_front() {
            return Some(self.data(now, piece));
        }
        if std::mem::take(&mut self.ack_due) {
            // SND.NXT may have been set back; the acknowledgement has the highest sequence number.
            let header = Header { flags: self.flags(), ..self.header(self.max) };
            let header = Header { options: self.options(now, true), ..header };
            self.duplicate = None;
            return Some(self.finish(header, Vec::new(), Ecn::NotEct));
        }
        None
    }

    /// A header without flags and options.
    fn header(&self, seq: Seq) -> Header {
        Header {
            src_port: self.local,
            dst_port: self.remote,
            seq: seq.0,
            ack: self.receive.next.0,
            window: self.window().min(65_535) as u16,
            ..Header::default()
        }
    }

    fn flags(&self) -> Flags {
        if self.echo_marks { Flags::ACK | Flags::ECE } else { Flags::ACK }
    }

    fn options(&self, now: Instant, with_blocks: bool) -> Options {
        let mut options = Options::NONE;
        if self.agreed.timestamps {
            options.timestamps = Some(Timestamps { val: ticks(now), ecr: self.recent_ts });
        }
        if self.agreed.sack && with_blocks {
            // As many blocks as fit, the duplicate first (RFC 2883, 4).
            for block in self.duplicate.into_iter().chain(self.receive.blocks()) {
                if !options.sack.push(block) {
                    break;
                }
            }
        }
        options
    }

    /// A SYN or SYN-ACK.
    fn syn(&mut self, now: Instant) -> Segment {
        let Settings { stack, mss, timestamps, sack, ecn, quirks, .. } = self.settings;
        let answers = self.phase == Phase::SynReceived;
        let offered = if answers { self.agreed } else { Agreed { timestamps, sack, ecn } };
        let renumbered = quirks.faults.renumbers_syn && self.syns > 0 && !answers;
        let mut header = self.header(self.iss.plus(u32::from(renumbered)));
        header.flags = match (answers, offered.ecn) {
            (false, false) => Flags::SYN,
            // RFC 3168, 6.1.1.
            (false, true) => Flags::SYN | Flags::ECE | Flags::CWR,
            (true, false) => Flags::SYN | Flags::ACK,
            (true, true) => Flags::SYN | Flags::ACK | Flags::ECE,
        };
        if !answers {
            (header.ack, header.window) = (0, self.receive.capacity() as u16);
        }
        header.options.mss = (stack != Stack::Blip).then_some(mss);
        header.options.sack_permitted = offered.sack;
        let echo = if answers { self.recent_ts } else { 0 };
        header.options.timestamps =
            offered.timestamps.then_some(Timestamps { val: ticks(now), ecr: echo });
        self.syns = self.syns.saturating_add(1);
        self.finish(header, Vec::new(), Ecn::NotEct)
    }

    fn data(&mut self, now: Instant, piece: Piece) -> Segment {
        let mut header = Header { flags: self.flags(), ..self.header(piece.seq) };
        header.options = self.options(now, false);
        if piece.fin {
            header.flags |= Flags::FIN;
        }
        let end = piece.seq.plus(piece.octets.len() as u32);
        if !piece.octets.is_empty() && end == self.queue.end() {
            header.flags |= Flags::PSH;
        }
        // RFC 3168, 6.1.5: retransmissions are not ECN-capable.
        let capable = self.agreed.ecn && !piece.again && !piece.octets.is_empty();
        if capable && std::mem::take(&mut self.cwr_due) {
            header.flags |= Flags::CWR;
        }
        let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        // `tcp_event_data_sent`
        let answers = |at: Instant| self.rule.delay.is_some_and(|delay| now < at + delay);
        self.interactive |= !piece.octets.is_empty() && self.text_at.is_some_and(answers);
        self.finish(header, piece.octets, ecn)
    }

    /// Records the values that are sent to the peer.
    fn finish(&mut self, header: Header, payload: Vec<u8>, ecn: Ecn) -> Segment {
        self.counters.segments_sent += 1;
        if header.flags.contains(Flags::ACK) {
            (self.ack_due, self.delayed) = (false, None);
            self.quick = self.quick.saturating_sub(1);
            self.advertised_zero = header.window == 0;
            self.last_ack_sent = Seq(header.ack);
            self.edge = Seq(header.ack).plus(u32::from(header.window));
        }
        Segment { header, payload, ecn }
    }

    /// Returns true if a segment is ready to be polled.
    pub(crate) fn is_pending(&self) -> bool {
        self.reset_due || self.syn_due || self.ack_due || !self.out.is_empty()
    }

    /// Octets received in order.
    pub(crate) fn received(&self) -> u32 {
        let first = self.irs.plus(1 + u32::from(self.fin_received));
        if matches!(self.phase, Phase::SynSent) { 0 } else { self.receive.next.since(first) }
    }

    /// Octets acknowledged by the peer.
    pub(crate) fn acked(&self) -> u32 {
        self.una.earlier(self.queue.end()).since(self.iss.plus(1).earlier(self.una))
    }
}
