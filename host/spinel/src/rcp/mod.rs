//! The driver: a [`kinglet_radio::Driver`] whose radio is a coprocessor at the end of a line.
//!
//! It does no I/O: its owner passes it the octets of the line ([`Rcp::handle_octets`]), and writes
//! those of [`Rcp::octets`]. Each command is repeated until it is answered. A transmission may be
//! repeated as well, because its receivers drop a second copy (IEEE 802.15.4-2015, 6.7.2).

mod input;
mod prepared;
mod sending;
mod settings;

use crate::hdlc::{self, Decoder};
use crate::identity::{Identity, QUERIES, Refusal};
use crate::message::{self, Extent, Property, Status, Tid};
use core::fmt;
use kinglet_radio::{
    Busy, Capabilities, Channel, Command, Driver, Event, Filter, MAX_FRAME, Start,
};
use kinglet_time::{Duration, Instant, earliest};
use prepared::Prepared;
use sending::{Delay, Progress, Sending};
use settings::{Known, Setting, Wanted};
use std::collections::VecDeque;

/// Time in which a coprocessor answers a command, in addition to the time on the line.
const ANSWER: Duration = Duration::from_millis(100);
/// Commands without an answer after which it is restarted.
const ATTEMPTS: u8 = 6;
/// Time in which its radio restarts, and its processor, which may have to be found again.
const RESTART: Duration = Duration::from_millis(400);
const PLATFORM_RESTART: Duration = Duration::from_millis(2_000);
/// Of so many restarts, one is that of the processor.
const PLATFORM_EVERY: u32 = 4;
/// Restarts without an answer after which something is wrong.
const SILENT_AFTER: u32 = 2;
/// Bits of an octet on an asynchronous line: a start bit, eight, and a stop bit.
const BITS: u64 = 10;
/// Octets of the longest command.
const LONGEST: usize = 256;

/// State of the coprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// It is to restart until then.
    Restarting { until: Instant, attempt: u32 },
    /// It answers queries; the number is that of the next one.
    Identifying(usize),
    /// It works.
    Ready,
    /// It cannot be used.
    Refused,
}

/// A command whose answer is awaited.
#[derive(Clone, Debug)]
enum Question {
    Query(Property),
    Set(Setting),
}

#[derive(Clone, Debug)]
struct Asked {
    question: Question,
    tid: Tid,
    until: Instant,
    attempt: u8,
}

/// The mode in which the radio listens, with its schedule.
#[derive(Clone, Copy, Debug)]
struct Mode {
    channel: Channel,
    from: Option<Instant>,
    until: Option<Instant>,
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages from the line.
    pub messages: u64,
    /// Damaged messages from the line.
    pub damaged: u64,
    /// Restarts of the coprocessor that nothing had asked for.
    pub restarts: u64,
    /// Commands that were repeated, except transmissions.
    pub repeated_commands: u64,
    /// Transmissions that were given to the coprocessor once more.
    pub repeated_transmissions: u64,
    /// Received frames that were lost because the owner had not fetched earlier ones.
    pub overruns: u64,
}

/// Reason for which the radio does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The coprocessor does not answer, and nothing comes from the line.
    Silent,
    /// The coprocessor does not answer, and the octets from the line are no messages.
    Noise,
    /// The coprocessor cannot be used.
    Refused(Refusal),
    /// The coprocessor lacks the channel.
    Channel {
        /// The channel.
        channel: Channel,
        /// Those that it has.
        channels: Vec<Channel>,
    },
    /// The coprocessor has refused a setting.
    Setting {
        /// The property.
        property: Property,
        /// The answer.
        status: Status,
    },
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Silent => f.write_str(
                "the coprocessor does not answer; it may have another baud rate, or no RCP \
                 firmware, or be without power",
            ),
            Trouble::Noise => f.write_str(
                "the line has octets that are no spinel messages; the coprocessor may have another \
                 baud rate or no RCP firmware, or another program may use the line",
            ),
            Trouble::Refused(refusal) => write!(f, "the coprocessor cannot be used: {refusal}"),
            Trouble::Channel { channel, channels } => {
                write!(f, "the coprocessor lacks channel {}; it has", channel.number())?;
                channels.iter().try_for_each(|it| write!(f, " {}", it.number()))
            }
            Trouble::Setting { property, status } => {
                let status = status.0;
                write!(f, "the coprocessor has refused property {property:?} with status {status}")
            }
        }
    }
}

/// A radio coprocessor.
#[derive(Debug)]
pub struct Rcp {
    /// `None` for a line whose rate is not limited.
    baud: Option<u32>,
    decoder: Decoder,
    /// Octets of the current message so far.
    run: usize,
    /// Octets since the last whole message.
    noise: usize,
    output: Vec<u8>,
    tid: Tid,
    phase: Phase,
    asked: Option<Asked>,
    wanted: Wanted,
    known: Known,
    mode: Option<Mode>,
    /// Time at which the end of a transmission was fetched, until time passes.
    fetched_at: Option<Instant>,
    sending: Option<Sending>,
    prepared: Option<Prepared>,
    delay: Delay,
    /// Events, with the frames of the received ones.
    events: VecDeque<(Event, Vec<u8>)>,
    /// Time of the last of them.
    event_at: Instant,
    /// The filter has changed since the last call with a time.
    has_news: bool,
    /// Properties of the coprocessor, once it is identified.
    identity: Identity,
    trouble: Option<Trouble>,
    stats: Stats,
}

impl Rcp {
    /// Creates a driver that restarts its coprocessor first. `baud` is the rate of an asynchronous
    /// line in bits a second; `None` is a line that takes no time.
    pub fn new(now: Instant, baud: Option<u32>) -> Rcp {
        let mut rcp = Rcp {
            baud,
            decoder: Decoder::new(),
            run: 0,
            noise: 0,
            output: Vec::new(),
            tid: Tid::FIRST,
            phase: Phase::Refused,
            asked: None,
            wanted: Wanted::new(),
            known: Known::default(),
            mode: None,
            fetched_at: None,
            sending: None,
            prepared: None,
            delay: Delay::UNKNOWN,
            events: VecDeque::new(),
            event_at: now,
            has_news: false,
            identity: Identity::default(),
            trouble: None,
            stats: Stats::default(),
        };
        rcp.restart(now);
        rcp
    }

    /// Restarts the coprocessor, on a line that may be another one now. The filter, the mode and an
    /// outstanding transmission stay.
    pub fn restart(&mut self, now: Instant) {
        self.decoder.clear();
        self.output.clear();
        self.prepared = None;
        (self.run, self.noise) = (0, 0);
        self.begin_restart(now, 0);
    }

    /// Returns the octets to write to the line.
    pub fn octets(&self) -> &[u8] {
        &self.output
    }

    /// Notes that the first `len` of them have been written.
    pub fn consume(&mut self, len: usize) {
        self.output.drain(..len.min(self.output.len()));
    }

    /// Does what is due, such as the repetition of a command; [`Driver::poll_event`] does so too.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.advance(now);
    }

    /// Returns the latest time of the next call of [`Rcp::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let event = (self.has_news || !self.events.is_empty()).then_some(self.event_at);
        let phase = match self.phase {
            Phase::Restarting { until, .. } => Some(until),
            _ => None,
        };
        let asked = self.asked.as_ref().map(|asked| asked.until);
        let written = self.sending.as_ref().and_then(Sending::written_until);
        let waits = self.sending.as_ref().and_then(Sending::waits_until);
        let sending = written.or_else(|| waits.filter(|_| self.can_send()));
        let edges = self.mode.as_ref().filter(|_| self.phase == Phase::Ready);
        let edge = edges.and_then(|mode| mode.from.or(mode.until));
        let fetched = self.fetched_at.map(|at| at + Duration::from_micros(1));
        let edge = earliest(edge, fetched);
        earliest(earliest(event, phase), earliest(earliest(asked, sending), edge))
    }

    /// Returns the properties of the coprocessor; `None` before it is ready.
    pub fn identity(&self) -> Option<&Identity> {
        (self.phase == Phase::Ready).then_some(&self.identity)
    }

    /// Returns the reason for which the radio does not work, if there is one.
    pub const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Returns the counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    fn line_time(&self, octets: usize) -> Duration {
        let bits = octets as u64 * BITS * 1_000_000;
        self.baud.map_or(Duration::ZERO, |baud| {
            Duration::from_micros(bits.checked_div(baud.into()).unwrap_or_default())
        })
    }

    /// Appends a message to the output, and returns the time at which the line has sent it.
    fn write(&mut self, now: Instant, message: &[u8]) -> Instant {
        self.withdraw_prepared();
        hdlc::encode(message, &mut self.output);
        now + self.line_time(self.output.len())
    }

    fn begin_restart(&mut self, now: Instant, attempt: u32) {
        let is_platform = attempt % PLATFORM_EVERY == PLATFORM_EVERY - 1;
        let (extent, time) = match is_platform {
            true => (Extent::Platform, PLATFORM_RESTART),
            false => (Extent::Stack, RESTART),
        };
        self.lose_session(now);
        self.phase = Phase::Restarting { until: now, attempt };
        let written = self.write(now, &message::reset(extent));
        self.phase = Phase::Restarting { until: written + time, attempt };
    }

    /// Forgets the settings of a coprocessor that restarts.
    fn lose_session(&mut self, now: Instant) {
        (self.known, self.asked) = (Known::default(), None);
        if let Some(sending) = self.sending.as_mut().filter(|sending| sending.tid().is_some()) {
            sending.repeat(now);
        }
    }

    fn identify(&mut self, now: Instant) {
        self.lose_session(now);
        self.identity = Identity::default();
        self.phase = Phase::Identifying(0);
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.phase = Phase::Refused;
        self.trouble = Some(Trouble::Refused(refusal));
    }

    /// Does everything that can be done now.
    fn advance(&mut self, now: Instant) {
        self.has_news = false;
        self.advance_mode(now);
        if let Phase::Restarting { until, attempt } = self.phase
            && until <= now
        {
            let attempt = attempt.wrapping_add(1);
            if attempt >= SILENT_AFTER {
                let is_silent = self.noise == 0;
                self.trouble = Some(if is_silent { Trouble::Silent } else { Trouble::Noise });
                self.noise = 0;
            }
            self.begin_restart(now, attempt);
        }
        self.repeat_question(now);
        if let Some(sending) = &mut self.sending
            && sending.written_until().is_some_and(|until| until <= now)
        {
            sending.repeat(now);
        }
        if self.asked.is_none() {
            self.ask_next(now);
        }
        self.send(now);
    }

    fn advance_mode(&mut self, now: Instant) {
        if let Some(mode) = &mut self.mode {
            mode.from = mode.from.filter(|from| *from > now);
        }
        self.mode = self.mode.filter(|mode| mode.until.is_none_or(|until| until > now));
        self.fetched_at = self.fetched_at.filter(|at| *at >= now);
    }

    fn repeat_question(&mut self, now: Instant) {
        if let Some(asked) = self.asked.take_if(|asked| asked.until <= now) {
            self.stats.repeated_commands += 1;
            if matches!(&asked.question, Question::Set(setting) if setting.is_source()) {
                // An item that is added twice may be in the list twice.
                self.known.forget_sources();
            }
            match asked.attempt.checked_add(1).filter(|attempt| *attempt < ATTEMPTS) {
                Some(attempt) => self.ask(now, asked.question, attempt),
                None => self.begin_restart(now, 0),
            }
        }
    }

    /// Asks the next question, if there is one.
    fn ask_next(&mut self, now: Instant) {
        match self.phase {
            Phase::Identifying(index) => match QUERIES.get(index) {
                Some(property) => self.ask(now, Question::Query(*property), 0),
                None => {
                    (self.phase, self.trouble) = (Phase::Ready, None);
                    self.ask_next(now);
                }
            },
            Phase::Ready => {
                let next = self.next_setting();
                next.into_iter().for_each(|setting| self.ask(now, Question::Set(setting), 0));
            }
            Phase::Restarting { .. } | Phase::Refused => {}
        }
    }

    fn next_setting(&mut self) -> Option<Setting> {
        let lacking = self.known.lacks(&self.wanted);
        let lacking = lacking.or_else(|| self.known.lacks_source(&self.wanted));
        // The owner may wait for a frame now: a receiver that is switched off and on misses it.
        if lacking.is_some() || self.is_on_air() || self.has_end() || self.fetched_at.is_some() {
            return lacking;
        }
        let mode = self.mode.filter(|mode| mode.from.is_none()).map(|mode| mode.channel);
        let mode = mode.filter(|channel| self.has_channel(*channel));
        self.known.lacks_mode(mode)
    }

    /// Returns whether the coprocessor has the channel, and notes the trouble otherwise: it would
    /// confirm any number.
    fn has_channel(&mut self, channel: Channel) -> bool {
        let channels = &self.identity.channels;
        let has = channels.contains(&channel);
        if !has {
            self.trouble = Some(Trouble::Channel { channel, channels: channels.clone() });
        } else if matches!(self.trouble, Some(Trouble::Channel { .. })) {
            self.trouble = None;
        }
        has
    }

    fn ask(&mut self, now: Instant, question: Question, attempt: u8) {
        let tid = self.next_tid();
        let octets = match &question {
            Question::Query(property) => {
                message::command(tid, message::Command::Get, *property, &[])
            }
            Question::Set(setting) => {
                let (command, property, value) = setting.command();
                message::command(tid, command, property, &value)
            }
        };
        let until = self.write(now, &octets) + self.line_time(LONGEST) + ANSWER;
        self.asked = Some(Asked { question, tid, until, attempt });
    }

    /// Returns an identifier that no outstanding command has.
    fn next_tid(&mut self) -> Tid {
        let of_sending = self.sending.as_ref().and_then(Sending::tid);
        let of_asked = self.asked.as_ref().map(|asked| asked.tid);
        loop {
            self.tid = self.tid.next();
            if ![of_sending, of_asked].contains(&Some(self.tid)) {
                return self.tid;
            }
        }
    }

    /// Returns whether a transmission is outstanding: it is until its event has been fetched.
    fn is_sending(&self) -> bool {
        self.sending.is_some() || self.has_end()
    }

    /// Returns whether the end of a transmission has not been fetched.
    fn has_end(&self) -> bool {
        self.events.iter().any(|(event, _)| is_end(event))
    }

    /// Returns whether a transmission has been given to the coprocessor.
    fn is_on_air(&self) -> bool {
        self.sending.as_ref().is_some_and(|sending| sending.tid().is_some())
    }

    /// Returns whether a frame can be sent now: no command is under way that it needs or that would
    /// end its transmission. A setting that is not confirmed is always under way.
    fn can_send(&self) -> bool {
        let asked = self.asked.as_ref().map(|asked| &asked.question);
        let is_clear = match asked {
            None => true,
            Some(Question::Set(setting)) => setting.is_source(),
            Some(Question::Query(_)) => false,
        };
        self.phase == Phase::Ready && is_clear
    }

    /// Gives the outstanding frame to the coprocessor, if it has not got it.
    fn send(&mut self, now: Instant) {
        let waits = self.sending.as_ref().and_then(Sending::waits_until);
        if waits.is_none_or(|from| from > now) || !self.can_send() {
            return;
        }
        let Some(mut sending) = self.sending.take() else { return };
        if !self.has_channel(sending.channel) {
            return self.report(now, Event::Missed, Vec::new());
        }
        let value = self.value_of(&sending.frame, sending.channel.number(), sending.access);
        // A report of a damaged command may be about an earlier copy of this one, or about a
        // withdrawn one.
        let mut is_alone = !sending.is_repeated;
        let tid = self.finish_prepared(&value).unwrap_or_else(|| {
            is_alone &= !self.withdraw_prepared();
            let tid = self.next_tid();
            let set = message::Command::Set;
            self.write(now, &message::command(tid, set, Property::STREAM_RAW, &value));
            tid
        });
        let since = now + self.line_time(self.output.len());
        let until = since + self.line_time(LONGEST) + sending.longest(self.delay);
        if sending.is_repeated {
            self.stats.repeated_transmissions += 1;
        }
        sending.progress = Progress::Written { tid, until, since, is_alone };
        if self.known.listens != Some(true) {
            // The radio listens after a transmission, whatever it did before.
            self.known.listens = None;
        }
        self.sending = Some(sending);
    }

    fn report(&mut self, now: Instant, event: Event, frame: Vec<u8>) {
        self.events.push_back((event, frame));
        self.event_at = now;
    }

    /// Ends everything, as at the start.
    fn reset(&mut self, now: Instant) {
        let is_on_air = self.is_on_air();
        (self.sending, self.mode, self.fetched_at) = (None, None, None);
        self.events.clear();
        self.wanted.sources.clear();
        if is_on_air {
            self.begin_restart(now, 0);
        }
    }
}

/// Returns whether the event ends a transmission.
const fn is_end(event: &Event) -> bool {
    !matches!(event, Event::Received { .. })
}

impl Driver for Rcp {
    /// Those of every coprocessor that is not refused.
    fn capabilities(&self) -> Capabilities {
        let acknowledges = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT;
        acknowledges | Capabilities::CSMA | Capabilities::SOURCE_MATCH
    }

    /// Takes effect with the next call that has a time.
    fn set_filter(&mut self, filter: Filter) {
        self.wanted.filter = Some(filter);
        self.has_news = true;
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match command {
            Command::Off => self.mode = None,
            Command::Receive { start, until, channel } => {
                let from = match start {
                    Start::Asap => None,
                    Start::At(at) => Some(at),
                };
                self.mode = Some(Mode { channel, from, until });
            }
            Command::Transmit { .. } if self.is_sending() => return Err(Busy),
            // Without a common clock no schedule can be kept.
            Command::Transmit { start: Start::At(_), .. } => {
                self.report(now, Event::Missed, Vec::new());
            }
            Command::Transmit { access, channel, power_dbm, ack, .. } => {
                self.wanted.power_dbm = power_dbm;
                let progress = Progress::Waiting { from: now };
                let (frame, is_repeated) = (frame.to_vec(), false);
                let sending = Sending { frame, channel, access, ack, progress, is_repeated };
                self.sending = Some(sending);
            }
            Command::Pending { short, pending: true } => {
                self.wanted.sources.insert(short);
            }
            Command::Pending { short, pending: false } => {
                self.wanted.sources.remove(&short);
            }
            Command::Reset => self.reset(now),
            // Commands of capabilities that are not declared.
            _ => {}
        }
        self.advance(now);
        Ok(())
    }

    fn can_prepare(&self) -> bool {
        self.baud.is_some()
    }

    fn prepare(&mut self, now: Instant, command: Command, frame: &[u8]) {
        self.advance(now);
        self.prepare_frame(command, frame);
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.advance(now);
        let (event, octets) = self.events.pop_front()?;
        if is_end(&event) {
            self.fetched_at = Some(now);
        }
        // A received frame is no longer than the buffer.
        frame.iter_mut().zip(octets).for_each(|(to, from)| *to = from);
        Some(event)
    }
}
