//! The driver: commands, events, and what the radio does.

mod listen;
mod transmit;

use crate::frame::Head;
use crate::hardware::{Buffer, Hardware};
use crate::registers::{
    ADDRESS, CAPTURE_NOW, CC_NOW, CCABUSY, CHENCLR, CHENSET, CLOCK_INTENSET, COMPARE_TIMEOUT,
    CRCOK, DISABLE, DISABLED, END, FREQUENCY, HFCLKSTART, HFCLKSTARTED, HFCLKSTOP, INT_DISABLED,
    INT_HFCLKSTARTED, INT_TIMEOUT, POWER, POWERS_DBM, RADIO_INTENSET, SETUP, START_TO_RXEN,
    START_TO_TXEN, TIMER_BITMODE, TIMER_CLEAR, TIMER_INTENSET, TIMER_PRESCALER, TIMER_START,
    TIMER_STOP, TIMES,
};
use kinglet_radio::{
    Access, Ack, Busy, Capabilities, Channel, Command, Driver, Event, FCS_LEN, Filter, MAX_FRAME,
    Start,
};
use kinglet_time::{Duration, Instant, earliest};

/// Output powers of the chip in dBm (product specification, TXPOWER).
pub const POWER_STEPS_DBM: &[i8] = &POWERS_DBM;

/// Steps of a call.
const STEPS: u8 = 8;
/// Time after which the driver looks for events by itself: an interrupt may have been lost.
const CHECK: Duration = Duration::from_millis(10);
/// Same while the radio listens.
const CHECK_IDLE: Duration = Duration::from_millis(50);
/// Time before a schedule at which the oscillator starts: 360 us, and a margin.
const AHEAD: Duration = Duration::from_millis(1);
/// Short addresses with a pending frame.
const PENDING: usize = 8;

/// State of the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Everything is off.
    Off,
    /// The crystal oscillator starts.
    Starting,
    /// The oscillator runs, the radio is disabled.
    Idle,
    /// It listens, or receives, into this buffer.
    Listening { into: Buffer },
    /// Its acknowledgement waits for its time, or is on the air.
    Acknowledging,
    /// The frame waits for its time, is on the air, or its channel is being assessed.
    Sending,
    /// It listens for the acknowledgement of the frame with this SFD, into this buffer.
    AckWait { sfd: Instant, into: Buffer },
    /// It stops listening for the acknowledgement.
    AckMissing { sfd: Instant },
}

/// Mode that the MAC submitted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Off,
    Receive { from: Instant, until: Instant, channel: Channel },
}

/// The outstanding transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Job {
    start: Start,
    access: Access,
    channel: Channel,
    power_dbm: i8,
    ack: bool,
    len: u8,
    /// Of the frame, which is in its buffer.
    requests_ack: bool,
    sequence: u8,
}

/// A received frame in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Received {
    from: Buffer,
    event: Event,
    len: u8,
}

/// The radio of an nRF52840.
#[derive(Debug)]
pub struct Nrf52840<H> {
    hardware: H,
    phase: Phase,
    mode: Mode,
    filter: Filter,
    pending: [Option<u16>; PENDING],
    tuned: Option<Channel>,
    job: Option<Job>,
    /// The older frame first.
    received: [Option<Received>; 2],
    ended: Option<Event>,
    spaced_until: Instant,
    next: Option<Instant>,
}

impl<H: Hardware> Nrf52840<H> {
    /// Creates a driver. It uses RADIO, TIMER0, the crystal oscillator and the fixed channels 20,
    /// 21, 26 and 27 of the PPI.
    pub const fn new(hardware: H) -> Self {
        Nrf52840 {
            hardware,
            phase: Phase::Off,
            mode: Mode::Off,
            filter: Filter { pan_id: 0xffff, short: 0xffff, extended: [0; 8] },
            pending: [None; PENDING],
            tuned: None,
            job: None,
            received: [None; 2],
            ended: None,
            spaced_until: Instant::ZERO,
            next: None,
        }
    }

    /// Serves the interrupts of RADIO, TIMER0 and CLOCK. An acknowledgement is sent if this call
    /// ends within 129 us after the interrupt of its frame: 192 us of turnaround less 40 of ramp-up
    /// and 23 of delay.
    pub fn handle_interrupt(&mut self, now: Instant) {
        self.run(now);
    }

    /// Returns the latest time of the next [`Driver::poll_event`]; `None` if there is none before
    /// the next command or interrupt.
    pub fn deadline(&self) -> Option<Instant> {
        let is_waiting = self.ended.is_some() || self.received.iter().any(Option::is_some);
        if is_waiting { Some(Instant::ZERO) } else { self.next }
    }

    fn run(&mut self, now: Instant) {
        for _ in 0..STEPS {
            if !self.step(now) {
                return;
            }
        }
        self.next = Some(now);
    }

    /// Makes a step; returns false if nothing happens before `next` or an interrupt.
    fn step(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Off => self.leave_off(now),
            Phase::Starting => {
                if !self.take(HFCLKSTARTED) {
                    return self.wait(now + CHECK);
                }
                self.start_timer();
                self.phase = Phase::Idle;
                true
            }
            Phase::Idle => self.leave_idle(now),
            Phase::Listening { into } => self.listen(now, into),
            Phase::Acknowledging => self.acknowledge(now),
            Phase::Sending => self.send(now),
            Phase::AckWait { sfd, into } => self.await_ack(now, sfd, into),
            Phase::AckMissing { sfd } => self.end_ack_wait(now, sfd),
        }
    }

    fn wait(&mut self, until: Instant) -> bool {
        self.next = Some(until);
        false
    }

    /// Clears an event, and returns whether it was set.
    fn take(&mut self, event: u32) -> bool {
        let is_set = self.hardware.read(event) != 0;
        if is_set {
            self.hardware.write(event, 0);
        }
        is_set
    }

    /// Returns the time at which a channel of the timer has captured an event.
    fn captured(&mut self, now: Instant, channel: u32) -> Instant {
        let at = self.hardware.read(channel);
        self.hardware.write(CAPTURE_NOW, 1);
        let ago = self.hardware.read(CC_NOW).wrapping_sub(at);
        now - Duration::from_micros(ago.into())
    }

    /// Returns the value of the timer at a time that is not long from now.
    fn ticks(&mut self, now: Instant, at: Instant) -> u32 {
        self.hardware.write(CAPTURE_NOW, 1);
        let ahead = at - now;
        self.hardware.read(CC_NOW).wrapping_add(ahead.as_micros() as u32)
    }

    /// Resets and configures the radio.
    fn configure(&mut self) {
        self.hardware.write(POWER, 0);
        self.hardware.write(POWER, 1);
        for (register, value) in SETUP {
            self.hardware.write(register, value);
        }
        self.hardware.write(RADIO_INTENSET, INT_DISABLED);
        self.hardware.write(CHENCLR, START_TO_TXEN | START_TO_RXEN);
        self.hardware.write(CHENSET, TIMES);
        self.tuned = None;
    }

    fn start_timer(&mut self) {
        self.configure();
        self.hardware.write(TIMER_BITMODE, 3);
        self.hardware.write(TIMER_PRESCALER, 4);
        self.hardware.write(TIMER_INTENSET, INT_TIMEOUT);
        self.hardware.write(TIMER_CLEAR, 1);
        self.hardware.write(TIMER_START, 1);
    }

    fn stop_all(&mut self) {
        self.hardware.write(POWER, 0);
        self.hardware.write(CHENCLR, START_TO_TXEN | START_TO_RXEN);
        self.hardware.write(TIMER_STOP, 1);
        self.hardware.write(HFCLKSTOP, 1);
        self.phase = Phase::Off;
    }

    /// Returns the next time at which the radio has something to do by itself.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        let job = self.job.map(|job| self.begin_of(&job).map_or(now, |at| at - AHEAD));
        let mode = match self.mode {
            Mode::Receive { until, .. } if until <= now => {
                self.mode = Mode::Off;
                None
            }
            Mode::Receive { from, .. } => Some(from - AHEAD),
            Mode::Off => None,
        };
        earliest(job, mode)
    }

    fn leave_off(&mut self, now: Instant) -> bool {
        match self.due(now) {
            None => {
                self.next = None;
                false
            }
            Some(at) if now < at => self.wait(at),
            Some(_) => {
                self.hardware.write(HFCLKSTARTED, 0);
                self.hardware.write(CLOCK_INTENSET, INT_HFCLKSTARTED);
                self.hardware.write(HFCLKSTART, 1);
                self.phase = Phase::Starting;
                self.wait(now + CHECK)
            }
        }
    }

    /// Starts what is due next; the radio is disabled.
    fn leave_idle(&mut self, now: Instant) -> bool {
        self.clear_events();
        if let Some(job) = self.job {
            let begin = self.begin_of(&job);
            if begin.is_none_or(|at| at <= now + AHEAD) {
                return self.begin(now, job);
            }
        }
        match (self.due(now), self.mode) {
            (Some(_), Mode::Receive { from, channel, .. }) if from <= now + AHEAD => {
                self.begin_listening(now, channel)
            }
            (Some(at), _) if at <= now + AHEAD => self.wait(at),
            _ => {
                self.stop_all();
                true
            }
        }
    }

    fn clear_events(&mut self) {
        for event in [ADDRESS, END, DISABLED, CRCOK, CCABUSY, COMPARE_TIMEOUT] {
            self.hardware.write(event, 0);
        }
    }

    fn tune(&mut self, channel: Channel) {
        let offset = u32::from(channel.number().saturating_sub(11));
        self.hardware.write(FREQUENCY, offset.saturating_mul(5).saturating_add(5));
        self.tuned = Some(channel);
    }

    /// Returns a buffer for a frame that no received one is in.
    fn free_buffer(&self) -> Option<Buffer> {
        let is_free = |buffer: &Buffer| {
            self.received.iter().flatten().all(|received| received.from != *buffer)
        };
        [Buffer::First, Buffer::Second].into_iter().find(is_free)
    }

    fn handle_transmit(&mut self, now: Instant, job: Job, frame: &[u8]) -> Result<(), Busy> {
        if self.job.is_some() || self.ended.is_some() {
            return Err(Busy);
        }
        let is_late = self.begin_of(&job).is_some_and(|at| at <= now);
        if is_late || frame.is_empty() || frame.len() > MAX_FRAME {
            self.ended = Some(Event::Missed);
            return Ok(());
        }
        let psdu_len = job.len.saturating_add(FCS_LEN as u8);
        self.hardware.load(Buffer::Outgoing, psdu_len, frame);
        self.job = Some(job);
        Ok(())
    }

    fn set_pending(&mut self, short: u16, pending: bool) {
        for slot in &mut self.pending {
            slot.take_if(|known| *known == short);
        }
        if pending && let Some(free) = self.pending.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(short);
        }
    }

    fn reset(&mut self) {
        (self.job, self.received, self.ended) = (None, [None; 2], None);
        (self.mode, self.pending) = (Mode::Off, [None; PENDING]);
        self.stop_all();
        self.next = None;
    }
}

impl<H: Hardware> Driver for Nrf52840<H> {
    fn capabilities(&self) -> Capabilities {
        Capabilities::AUTO_ACK
            | Capabilities::ACK_WAIT
            | Capabilities::SCHEDULED
            | Capabilities::SOURCE_MATCH
    }

    fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match command {
            Command::Off => self.mode = Mode::Off,
            Command::Receive { start, until, channel } => {
                let from = match start {
                    Start::Asap => now,
                    Start::At(at) => at,
                };
                let until = until.unwrap_or(Instant::MAX);
                self.mode = Mode::Receive { from, until, channel };
            }
            Command::Transmit { start, access, channel, power_dbm, ack } => {
                let (head, len) = (Head::new(frame), frame.len() as u8);
                let (requests_ack, sequence) = (head.requests_ack(), head.sequence());
                let job =
                    Job { start, access, channel, power_dbm, ack, len, requests_ack, sequence };
                self.handle_transmit(now, job, frame)?;
            }
            Command::Pending { short, pending } => self.set_pending(short, pending),
            Command::Reset => self.reset(),
            // They belong to capabilities that the driver does not declare.
            _ => return Ok(()),
        }
        self.run(now);
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.run(now);
        let [first, second] = &mut self.received;
        if let Some(Received { from, event, len }) = first.take() {
            *first = second.take();
            let room = frame.get_mut(..len.into()).unwrap_or_default();
            self.hardware.unload(from, 0, room);
            return Some(event);
        }
        self.ended.take()
    }
}

/// Stops the radio; DISABLED follows.
fn disable<H: Hardware>(hardware: &mut H) {
    hardware.write(DISABLE, 1);
}

/// Result of the wait for an acknowledgement of a frame that does not ask for one.
const fn not_awaited(ack: bool) -> Ack {
    if ack { Ack::Missing } else { Ack::NotAwaited }
}
