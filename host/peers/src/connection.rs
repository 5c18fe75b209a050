//! A connection: the part that all stacks share, and the sending half of one stack.

use crate::block::{Ack, Block, Phase, Segment};
use crate::info::{Failure, Info, Repair, State};
use crate::sender::Sender;
use crate::seq::Seq;
use crate::settings::{Settings, Stack};
use crate::stack;
use kinglet_time::{Instant, earliest};
use kinglet_wire::tcp::{self, Flags};

/// One end of a TCP connection, as in a published stack. Like every layer of this project it is
/// driven: the caller passes time and segments in, and drains the segments to be sent.
#[derive(Debug)]
pub struct Connection {
    block: Block,
    sender: Box<dyn Sender>,
    /// Time at which the SYN or SYN-ACK was first sent, and time of its retransmission.
    opened_at: Instant,
    syn_at: Option<Instant>,
    /// The end of TIME-WAIT.
    over_at: Option<Instant>,
}

impl Connection {
    /// An active open; its SYN is polled next. `iss` is its initial sequence number.
    pub fn connect(now: Instant, settings: Settings, ports: (u16, u16), iss: u32) -> Self {
        // BLIP's is always the same.
        let iss = if settings.stack == Stack::Blip { 0 } else { iss };
        let block = Block::new(settings, ports.0, ports.1, iss);
        let sender = stack::sender(&settings);
        Connection { block, sender, opened_at: now, syn_at: None, over_at: None }
    }

    /// A passive open in response to `syn`.
    pub fn answer(now: Instant, settings: Settings, syn: &tcp::Header, iss: u32) -> Self {
        let mut connection = Self::connect(now, settings, (syn.dst_port, syn.src_port), iss);
        let asks = syn.flags.contains(Flags::ECE | Flags::CWR);
        connection.block.learn(syn, asks);
        connection.block.phase = Phase::SynReceived;
        connection
    }

    /// Own port and that of the peer.
    pub fn ports(&self) -> (u16, u16) {
        (self.block.local, self.block.remote)
    }

    /// Processes a segment of this connection; `marked` if the packet had a congestion mark.
    pub fn handle_segment(&mut self, now: Instant, segment: &tcp::Segment<'_>, marked: bool) {
        let header = &segment.header;
        self.block.counters.segments_received += 1;
        match self.block.phase {
            Phase::Closed => {}
            Phase::SynSent => self.handle_answer(now, header),
            _ => self.handle_synchronised(now, segment, marked),
        }
    }

    /// Handles an unreachable error about a segment with this sequence number. During the handshake
    /// it is hard for some stacks; otherwise it is soft (RFC 5461 §3).
    pub fn unreachable(&mut self, seq: u32) {
        let block = &mut self.block;
        if block.rule.despairs && block.phase == Phase::SynSent && Seq(seq) == block.iss {
            block.fail(Failure::Unreachable);
        }
    }

    fn handle_answer(&mut self, now: Instant, header: &tcp::Header) {
        let block = &mut self.block;
        let expected = header.ack == block.iss.plus(1).0;
        if header.flags.contains(Flags::RST) {
            if expected {
                block.fail(Failure::Refused);
            }
            return;
        }
        // BLIP accepts a segment with either bit.
        let is_answer = if block.settings.stack == Stack::Blip {
            header.flags.intersects(Flags::SYN | Flags::ACK)
        } else {
            header.flags.contains(Flags::SYN | Flags::ACK) && expected
        };
        if !is_answer {
            return;
        }
        let agrees = header.flags.contains(Flags::ECE) && !header.flags.contains(Flags::CWR);
        block.learn(header, agrees);
        block.una = block.iss.plus(1);
        block.ack_now();
        self.open(now);
    }

    fn open(&mut self, now: Instant) {
        self.block.phase = Phase::Open;
        (self.block.syn_due, self.syn_at) = (false, None);
        let took = now.checked_since(self.opened_at).filter(|_| self.block.syns == 1);
        self.sender.opened(now, &mut self.block, took);
    }

    /// RFC 9293 §3.10.7.4.
    fn handle_synchronised(&mut self, now: Instant, segment: &tcp::Segment<'_>, marked: bool) {
        let (header, block) = (&segment.header, &mut self.block);
        if header.flags.contains(Flags::RST) {
            let seq = Seq(header.seq);
            if !block.rule.challenges || seq == block.receive.next {
                block.fail(Failure::Reset);
            } else {
                block.ack_now();
            }
            return;
        }
        if header.flags.contains(Flags::SYN) {
            // The SYN-ACK was lost, or the SYN is an old one.
            if block.phase == Phase::SynReceived {
                block.syn_due = true;
            } else {
                block.ack_now();
            }
            return;
        }
        if !block.note_timestamp(header) {
            return block.ack_now();
        }
        if !header.flags.contains(Flags::ACK) {
            return;
        }
        let number = Seq(header.ack);
        if block.phase == Phase::SynReceived {
            if number != block.iss.plus(1) {
                return;
            }
            block.una = number;
            block.wnd = u32::from(header.window);
            self.open(now);
        }
        let block = &mut self.block;
        if block.max.before(number) {
            return block.ack_now();
        }
        block.note_marks(header.flags, marked);
        self.handle_ack(now, segment);
        let fin = header.flags.contains(Flags::FIN);
        self.block.text(now, self.sender.rto(), Seq(header.seq), segment.payload, fin);
        self.follow(now);
    }

    fn handle_ack(&mut self, now: Instant, segment: &tcp::Segment<'_>) {
        let header = &segment.header;
        let ack = Ack {
            number: Seq(header.ack),
            window: u32::from(header.window),
            has_text: segment.seq_len() > 0,
            echo: header.options.timestamps.map(|ts| ts.ecr),
            sack: header.options.sack,
            ece: header.flags.contains(Flags::ECE),
        };
        let block = &mut self.block;
        if !ack.number.before(block.una) {
            self.sender.acked(now, block, &ack);
        }
        block.update_window(Seq(header.seq), &ack);
    }

    /// Enters TIME-WAIT if both FINs are acknowledged.
    fn follow(&mut self, now: Instant) {
        let block = &mut self.block;
        let fin_acked = block.fin.is_some_and(|fin| fin.before(block.una));
        if block.phase == Phase::Open && fin_acked && block.fin_received {
            block.phase = Phase::TimeWait;
            self.over_at = Some(now + block.rule.time_wait);
        }
    }

    /// The next segment to be sent; to be drained after every event.
    pub fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        let block = &mut self.block;
        if block.may_send() {
            self.sender.output(now, block);
        }
        let was_syn = block.syn_due;
        let segment = block.poll(now)?;
        if was_syn {
            if block.syns == 1 {
                self.opened_at = now;
            }
            self.syn_at = self.sender.syn_timeout(now, block.syns).or(self.syn_at);
        }
        Some(segment)
    }

    /// Latest time for the next call of [`Connection::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let block = &self.block;
        match block.phase {
            Phase::Closed => None,
            Phase::TimeWait => self.over_at,
            Phase::SynSent | Phase::SynReceived => self.syn_at,
            Phase::Open => earliest(self.sender.deadline(), block.delayed),
        }
    }

    /// Handles timers that are due.
    pub fn handle_deadline(&mut self, now: Instant) {
        let block = &mut self.block;
        match block.phase {
            Phase::Closed => {}
            Phase::TimeWait => {
                if self.over_at.is_some_and(|at| at <= now) {
                    block.phase = Phase::Closed;
                }
            }
            Phase::SynSent | Phase::SynReceived => {
                if self.syn_at.is_some_and(|at| at <= now) {
                    match self.sender.syn_timeout(now, block.syns) {
                        Some(_) => {
                            block.syn_due = true;
                            block.counters.timeouts += 1;
                        }
                        None => block.fail(Failure::TimedOut),
                    }
                    self.syn_at = None;
                }
            }
            Phase::Open => {
                self.sender.handle_deadline(now, block);
                if block.delayed.is_some_and(|at| at <= now) {
                    block.end_delay();
                }
            }
        }
    }

    /// Queues octets to be sent, as many as there is room for; returns their number. BLIP refuses
    /// octets that do not fit as a whole (`tcplib_send`).
    pub fn send(&mut self, octets: &[u8]) -> usize {
        if self.block.closing || self.block.phase == Phase::Closed {
            return 0;
        }
        let whole = self.block.settings.stack == Stack::Blip;
        if whole && octets.len() > self.block.queue.room() {
            return 0;
        }
        self.block.queue.push(octets)
    }

    /// Octets that [`Connection::send`] would accept.
    pub fn can_send(&self) -> usize {
        if self.block.closing { 0 } else { self.block.queue.room() }
    }

    /// Moves received octets to `buf`. `None` if there are none yet, zero if there will be none.
    pub fn recv(&mut self, buf: &mut [u8]) -> Option<usize> {
        if self.block.receive.is_readable() {
            let len = self.block.receive.read(buf);
            self.block.after_read();
            return Some(len);
        }
        self.peek(buf)
    }

    /// As [`Connection::recv`], without removing the octets.
    pub fn peek(&self, buf: &mut [u8]) -> Option<usize> {
        if self.block.receive.is_readable() {
            return Some(self.block.receive.peek(buf));
        }
        let over = self.block.fin_received || self.block.phase == Phase::Closed;
        over.then_some(0)
    }

    /// Closes the sending direction: a FIN follows the written data.
    pub fn close(&mut self) {
        self.block.closing = true;
    }

    /// A snapshot of the connection.
    pub fn info(&self) -> Info {
        let block = &self.block;
        let mut info = Info {
            state: block.state(),
            failure: block.failure,
            mss: block.mss,
            cwnd: 0,
            ssthresh: u32::MAX,
            repair: Repair::None,
            srtt: kinglet_time::Duration::ZERO,
            last_rtt: kinglet_time::Duration::ZERO,
            rto: kinglet_time::Duration::ZERO,
            in_flight: block.flight(),
            sacked: 0,
            snd_wnd: block.wnd,
            queued: block.queued(),
            resends: self.sender.deadline(),
            bytes_acked: block.acked(),
            bytes_received: block.received(),
            timestamps: block.agreed.timestamps,
            sack: block.agreed.sack,
            ecn: block.agreed.ecn,
            counters: block.counters,
        };
        self.sender.describe(block, &mut info);
        info
    }

    /// Returns true if it has ended and its stack has forgotten it.
    pub fn is_over(&self) -> bool {
        self.block.state() == State::Closed && !self.block.is_pending()
    }
}
