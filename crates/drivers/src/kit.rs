//! A bench and its oracle: commands, frames, time.

use crate::bench::{Answer, Bench, Fault, Setup, Signal};
use crate::frame::{Frame, Header, Kind, To};
use crate::oracle::{Heard, Job, Mode, Noise, Oracle};
use crate::rules::{Rule, Violation};
use kinglet_radio::{
    Access, Busy, Capabilities, Channel, Command, Driver, Event, Filter, MAX_FRAME, Start,
};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Longest time that a call of the driver may take: the transfer of two full frames over a line of
/// 1 MHz.
pub const CALL_LIMIT: Duration = Duration::from_millis(2);
/// Time after which the effects of a fault are over.
pub(crate) const RECOVERY: Duration = Duration::from_millis(300);
/// Longer than any transmission may take (`time_limit` of the longest CSMA-CA).
const LONGEST: Duration = Duration::from_secs(30);
/// Events of one iteration of a main loop.
const EVENTS: usize = 8;
/// PAN, addresses and channel of most scenarios.
pub(crate) const FILTER: Filter =
    Filter { pan_id: 0x4b47, short: 0x0102, extended: [0x1a, 0, 0, 0, 0, 0, 1, 2] };
pub(crate) const PEER: u16 = 0x0304;
/// A usual acknowledgement.
pub(crate) const ACKNOWLEDGED: Answer = Answer {
    pending: false,
    late: Duration::ZERO,
    is_strange: false,
    intact: true,
    is_second: false,
};

/// A frame to send.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing {
    pub(crate) access: Access,
    pub(crate) channel: Channel,
    pub(crate) power_dbm: i8,
    pub(crate) ack: bool,
    pub(crate) len: usize,
}

/// A bench with the oracle that watches it.
pub(crate) struct Kit<'b, B: Bench> {
    pub(crate) bench: &'b mut B,
    pub(crate) oracle: Oracle,
    pub(crate) random: Random,
    pub(crate) capabilities: Capabilities,
    answer: Option<Answer>,
    sequence: u8,
    /// A frame that the radio has been asked to prepare.
    prepared: Option<(Outgoing, Frame)>,
    /// The last event of a transmission, and the number of received frames.
    pub(crate) last: Option<Event>,
    pub(crate) received: u32,
    /// Number of calls that the driver has asked for.
    pub(crate) calls: u32,
}

impl<'b, B: Bench> Kit<'b, B> {
    pub(crate) fn new(bench: &'b mut B, setup: Setup, seed: u64, lag: Duration) -> Self {
        let capabilities = bench.radio().capabilities();
        let auto_ack = capabilities.contains(Capabilities::AUTO_ACK);
        let oracle = Oracle::new(auto_ack, setup, lag);
        let random = Random::new(seed, 1);
        let (answer, sequence, last, received, calls) = (None, 0, None, 0, 0);
        Kit {
            bench,
            oracle,
            random,
            capabilities,
            answer,
            sequence,
            prepared: None,
            last,
            received,
            calls,
        }
    }

    pub(crate) fn has(&self, capability: Capabilities) -> bool {
        self.capabilities.contains(capability)
    }

    pub(crate) fn now(&self) -> Instant {
        self.bench.now()
    }

    /// Returns the first broken rule.
    pub(crate) fn verdict(&self) -> Result<(), Violation> {
        self.oracle.violation.map_or(Ok(()), Err)
    }

    /// Notes a broken rule unless `condition` is true.
    pub(crate) fn require(&mut self, condition: bool, rule: Rule, detail: &'static str) {
        if !condition {
            let now = self.now();
            self.oracle.fail(rule, now, detail);
        }
    }

    pub(crate) fn set_filter(&mut self, filter: Filter) {
        self.drain_sent();
        let now = self.now();
        self.oracle.note_filter(now, filter);
        self.bench.radio().set_filter(filter);
        self.judge_call(now);
    }

    pub(crate) fn receive(&mut self, channel: Channel) {
        let command = Command::Receive { start: Start::Asap, until: None, channel };
        let now = self.submit(command);
        self.oracle.note_mode(now, Mode::Receive(channel));
    }

    /// Listens between two instants.
    pub(crate) fn receive_between(&mut self, channel: Channel, from: Instant, until: Instant) {
        let command = Command::Receive { start: Start::At(from), until: Some(until), channel };
        let now = self.submit(command);
        let is_scheduled = self.has(Capabilities::SCHEDULED);
        self.oracle.note_mode(now, Mode::Receive(channel));
        self.oracle.note_window(from, until, is_scheduled);
    }

    pub(crate) fn off(&mut self) {
        let now = self.submit(Command::Off);
        self.oracle.note_mode(now, Mode::Off);
    }

    pub(crate) fn set_pending(&mut self, pending: bool) {
        let now = self.submit(Command::Pending { short: PEER, pending });
        self.oracle.note_pending(now, pending);
    }

    pub(crate) fn reset(&mut self) {
        let now = self.submit(Command::Reset);
        self.oracle.note_reset(now);
    }

    /// Submits a command that is never refused, and returns the time of the call.
    fn submit(&mut self, command: Command) -> Instant {
        self.drain_sent();
        let now = self.now();
        let result = self.bench.radio().submit(now, command, &[]);
        self.judge_call(now);
        self.require(result.is_ok(), Rule::Refusal, "a command was refused");
        now
    }

    pub(crate) fn set_answer(&mut self, answer: Option<Answer>) {
        self.answer = answer;
        self.bench.set_answer(answer);
    }

    /// Submits a frame, and returns whether it was accepted.
    pub(crate) fn transmit(&mut self, start: Start, outgoing: Outgoing) -> bool {
        let frame = self.frame_to_peer(outgoing);
        self.transmit_frame(start, outgoing, frame)
    }

    /// Asks the radio to prepare a frame while another one is outstanding.
    pub(crate) fn prepare(&mut self, outgoing: Outgoing) {
        let frame = self.frame_to_peer(outgoing);
        let Outgoing { access, channel, power_dbm, ack, .. } = outgoing;
        let command = Command::Transmit { start: Start::Asap, access, channel, power_dbm, ack };
        let now = self.now();
        self.bench.radio().prepare(now, command, frame.octets());
        self.judge_call(now);
        self.prepared = Some((outgoing, frame));
    }

    /// Submits the frame that was prepared last, if there is one.
    pub(crate) fn transmit_prepared(&mut self) {
        if let Some((outgoing, frame)) = self.prepared.take() {
            self.transmit_frame(Start::Asap, outgoing, frame);
        }
    }

    fn transmit_frame(&mut self, start: Start, outgoing: Outgoing, frame: Frame) -> bool {
        self.drain_sent();
        let Outgoing { access, channel, power_dbm, ack, .. } = outgoing;
        let now = self.now();
        let command = Command::Transmit { start, access, channel, power_dbm, ack };
        let result = self.bench.radio().submit(now, command, frame.octets());
        self.judge_call(now);
        let outstanding = self.oracle.job.is_some();
        match result {
            Ok(()) if outstanding => {
                self.oracle.fail(Rule::Refusal, now, "a second transmission was accepted");
            }
            Err(Busy) if !outstanding => {
                self.oracle.fail(Rule::Refusal, now, "a transmission was refused");
            }
            Err(Busy) => {}
            Ok(()) => {
                let timing = (start, access);
                let job = Job::new(now, timing, (channel, power_dbm), (frame, ack), self.answer);
                self.oracle.note_job(now, job);
            }
        }
        result.is_ok()
    }

    fn frame_to_peer(&mut self, outgoing: Outgoing) -> Frame {
        self.sequence = self.sequence.wrapping_add(1);
        let header = Header {
            kind: Kind::Data,
            ack: outgoing.ack,
            sequence: self.sequence,
            pan: FILTER.pan_id,
            to: To::Short(PEER),
            from: FILTER.short,
            is_compressed: true,
            key_mode: None,
        };
        Frame::new(&header, outgoing.len, &mut self.random)
    }

    /// Lets the other end send a frame whose SFD ends in `delay`, and returns its end.
    pub(crate) fn put(&mut self, delay: Duration, channel: Channel, frame: Frame) -> Instant {
        let heard = Heard::new(self.now() + delay, channel, frame, true, -60);
        self.put_signal(heard);
        heard.end()
    }

    /// Returns a frame of the other end to `to`, with `len` octets if it is a data frame.
    pub(crate) fn frame_from_peer(&mut self, kind: Kind, ack: bool, to: To, len: usize) -> Frame {
        self.secured_from_peer(kind, ack, to, len, None)
    }

    /// As [`Kit::frame_from_peer`], with link security of this key identifier mode.
    pub(crate) fn secured_from_peer(
        &mut self,
        kind: Kind,
        ack: bool,
        to: To,
        len: usize,
        key_mode: Option<u8>,
    ) -> Frame {
        self.sequence = self.sequence.wrapping_add(1);
        let (sequence, pan) = (self.sequence, self.oracle.filter.pan_id);
        let is_compressed = self.random.bits(1) == 0;
        let header = Header { kind, ack, sequence, pan, to, from: PEER, is_compressed, key_mode };
        Frame::new(&header, len, &mut self.random)
    }

    pub(crate) fn put_signal(&mut self, heard: Heard) {
        if self.oracle.has_room() {
            let Heard { sfd, channel, ref frame, intact, rssi_dbm, .. } = heard;
            let signal = Signal { sfd, channel, frame: frame.octets(), intact, rssi_dbm };
            self.bench.put_on_air(signal);
            self.oracle.note_heard(heard);
        }
    }

    pub(crate) fn disturb(&mut self, channel: Channel, from: Instant, until: Instant) {
        const DBM: i8 = -50;
        self.bench.disturb(channel, from, until, DBM);
        self.oracle.note_noise(Noise { channel, from, until, dbm: DBM, is_answer: false });
    }

    /// Causes a fault, whose effects are excused until `until`; returns whether the bench can.
    pub(crate) fn cause(&mut self, fault: Fault, until: Instant) -> bool {
        let now = self.now();
        let can = self.bench.cause(fault);
        if can {
            self.oracle.excuse(now, until);
        }
        can
    }

    /// Lets time pass; the driver is called whenever it asks for it.
    pub(crate) fn run_until(&mut self, until: Instant) {
        while self.now() < until && self.oracle.violation.is_none() {
            self.turn(until);
        }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let until = self.now() + time;
        self.run_until(until);
    }

    /// Lets time pass until the outstanding transmission has ended.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        let until = self.now() + LONGEST;
        while self.oracle.job.is_some() && self.now() < until && self.oracle.violation.is_none() {
            self.turn(until);
        }
        self.last
    }

    /// Lets time pass until the driver asks for a call, or until `until`, and calls it.
    fn turn(&mut self, until: Instant) {
        let before = self.now();
        self.bench.wait(until);
        // A call that the driver does not ask for would hide a late deadline or a lost interrupt.
        if self.now() < until {
            if self.oracle.lag > Duration::ZERO {
                let late = self.now() + self.random.up_to(self.oracle.lag);
                self.bench.pass(late);
            }
            self.poll();
        }
        self.judge();
        // A driver that asks for calls without end makes no progress otherwise.
        if self.now() == before {
            self.bench.pass(before + Duration::from_micros(10));
        }
    }

    /// Sends a frame and waits for its event.
    pub(crate) fn send(&mut self, outgoing: Outgoing) -> Option<Event> {
        self.last = None;
        self.transmit(Start::Asap, outgoing);
        self.finish()
    }

    fn poll(&mut self) {
        self.calls = self.calls.saturating_add(1);
        for _ in 0..EVENTS {
            let now = self.now();
            let mut frame = [0; MAX_FRAME];
            let event = self.bench.radio().poll_event(now, &mut frame);
            self.judge_call(now);
            self.drain_sent();
            let Some(event) = event else { break };
            match event {
                Event::Received { .. } => self.received = self.received.saturating_add(1),
                _ => self.last = Some(event),
            }
            let now = self.now();
            self.oracle.handle_event(now, event, &frame);
        }
    }

    fn judge(&mut self) {
        self.drain_sent();
        let now = self.now();
        self.oracle.advance(now);
        if self.oracle.must_sleep(now) && self.bench.is_asleep() == Some(false) {
            self.oracle.fail(Rule::Sleep, now, "the radio is awake");
        }
        if let Some(detail) = self.bench.misuse()
            && !self.oracle.is_excused(now)
        {
            self.oracle.fail(Rule::DataSheet, now, detail);
        }
    }

    fn judge_call(&mut self, began: Instant) {
        let now = self.now();
        if now > began + CALL_LIMIT {
            self.oracle.fail(Rule::CallTime, now, "a call took too long");
        }
    }

    fn drain_sent(&mut self) {
        let mut octets = [0; MAX_FRAME];
        while let Some(sent) = self.bench.sent(&mut octets) {
            let frame = Frame::from(octets.get(..sent.len.into()).unwrap_or_default());
            let now = self.now();
            self.oracle.handle_sent(now, sent, &frame);
        }
    }
}
