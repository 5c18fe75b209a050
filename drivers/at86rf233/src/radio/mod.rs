//! The driver: commands, events, and the state of the chip as far as it is known.

mod listen;
mod start;
mod transmit;

use crate::bus::{Bus, Fault};
use crate::registers::{AACK_FVN_MODE, AACK_SET_PD, CSMA_SEED_1, IRQ_STATUS, POWERS, TRX_END};
use embedded_hal::digital::{InputPin, OutputPin};
use embedded_hal::spi::SpiDevice;
use kinglet_radio::{
    Access, Ack, Busy, Capabilities, Channel, Command, Driver, Event, Filter, MAX_FRAME, Start,
};
use kinglet_time::{Duration, Instant};

/// Output powers of the chip in dBm (RIOT, `at86rf2xx_rf_power.c`, in whole dBm).
pub const POWER_STEPS_DBM: &[i8] = &[-17, -12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4];

/// Steps of a call: it ends after so many accesses at the latest.
const STEPS: u8 = 8;
/// Pause between two reads of the state in a transition that takes longer than an access.
const POLL: Duration = Duration::from_micros(50);
/// Latency of an interrupt (AT86RF231 data sheet, 12.4: tIRQ).
const IRQ_LATENCY: Duration = Duration::from_micros(9);
/// Shortest time of /RST: 625 ns (AT86RF231 data sheet, 12.4), in whole microseconds that have
/// passed for certain.
const RESET_PULSE: Duration = Duration::from_micros(2);
/// Pause after an attempt to restart that failed.
const RESTART_PAUSE: Duration = Duration::from_millis(10);

/// The chip, as the driver left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Before the first call: the pins have any level.
    Off,
    /// /RST is low, until then; `None` before the first call after its falling edge.
    Reset { until: Option<Instant> },
    /// TRX_OFF is expected.
    Starting { give_up: Instant, from: Origin },
    /// In TRX_OFF.
    Idle,
    /// In SLEEP.
    Asleep,
    /// PLL_ON is expected.
    Locking { give_up: Instant },
    /// In PLL_ON.
    Ready,
    /// In PLL_ON; the PLL settles on a channel until then, `None` before the first call after the
    /// change.
    Tuning { until: Option<Instant> },
    /// In RX_AACK_ON, or receiving; the state is checked then.
    Listening { check_at: Instant },
    /// A frame has been received, and the edge of its interrupt is expected.
    Received,
    /// PLL_ON is expected at the end of a reception.
    Stopping { give_up: Instant, receives: bool },
    /// In PLL_ON; the interrupt of the last reception is expected until then, `None` before the
    /// first call in this state.
    Stopped { until: Option<Instant>, receives: bool },
    /// The frame is loaded, TX_ARET_ON expected.
    Loaded { give_up: Instant },
    /// The transmission has been started; the state says that it is over, or not yet.
    Sending { began: Instant, check_at: Instant, is_over: bool },
}

/// State before TRX_OFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Sleep,
    /// Everything has to be configured.
    Reset,
    /// The same, and TRX_OFF had to be commanded.
    PowerOn,
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
    access: Access,
    channel: Channel,
    power_dbm: i8,
    ack: bool,
    len: u8,
}

/// Result of a step.
enum Step {
    /// Another one may follow at once.
    Again,
    /// Another one follows in the next call: what `now` says of this one is no longer true, because
    /// accesses take time.
    NextCall,
    /// Nothing happens before that time, unless the chip interrupts.
    Wait(Instant),
    /// Nothing happens before the next command.
    Rest,
}

/// A chip with its bus and its pins.
#[derive(Debug)]
pub struct At86rf233<S, R, T, I> {
    bus: Bus<S>,
    reset: R,
    slp_tr: T,
    irq: I,
    phase: Phase,
    mode: Mode,
    filter: Filter,
    pending: bool,
    /// Filter and frame-pending bit have to be written.
    is_stale: bool,
    /// Channel of the chip; `None` after a reset.
    tuned: Option<Channel>,
    job: Option<Job>,
    outgoing: [u8; MAX_FRAME],
    /// The received frame, until it is reported.
    received: Option<Event>,
    incoming: [u8; MAX_FRAME],
    /// The event of the ended transmission, until it is reported.
    ended: Option<Event>,
    /// Time of the last rising edge of IRQ, until its cause is known.
    edge: Option<Instant>,
    /// Time at which IRQ was found high without an edge.
    seen: Option<Instant>,
    /// Start of the next preamble at the earliest.
    spaced_until: Instant,
    /// Next time at which something happens; `None` while nothing does.
    next: Option<Instant>,
    /// The last attempt to restart failed.
    is_failing: bool,
    seed: u32,
}

impl<S: SpiDevice, R: OutputPin, T: OutputPin, I: InputPin> At86rf233<S, R, T, I> {
    /// Creates a driver for a chip that is selected by `spi` (mode 0, at most 8 MHz), with its pins
    /// /RST, SLP_TR and IRQ. `seed` initialises the chip's random backoff, and has to differ
    /// between the devices of a network.
    pub const fn new(spi: S, reset: R, slp_tr: T, irq: I, seed: u32) -> Self {
        At86rf233 {
            bus: Bus { spi },
            reset,
            slp_tr,
            irq,
            phase: Phase::Off,
            mode: Mode::Off,
            filter: Filter { pan_id: 0xffff, short: 0xffff, extended: [0; 8] },
            pending: false,
            is_stale: true,
            tuned: None,
            job: None,
            outgoing: [0; MAX_FRAME],
            received: None,
            incoming: [0; MAX_FRAME],
            ended: None,
            edge: None,
            seen: None,
            spaced_until: Instant::ZERO,
            next: Some(Instant::ZERO),
            is_failing: false,
            seed,
        }
    }

    /// Returns the bus and the pins /RST, SLP_TR and IRQ.
    pub fn release(self) -> (S, R, T, I) {
        (self.bus.spi, self.reset, self.slp_tr, self.irq)
    }

    /// Notes a rising edge of IRQ at `at`, before the next [`Driver::poll_event`]. It makes no
    /// access to the bus. The times of SFDs are as accurate as this time; without it they are late
    /// by the time until the call of `poll_event`.
    pub fn handle_interrupt(&mut self, at: Instant) {
        self.edge = Some(at);
        self.next = Some(at);
    }

    /// Returns the latest time of the next [`Driver::poll_event`]; `None` if there is none before
    /// the next command or interrupt.
    pub fn deadline(&self) -> Option<Instant> {
        if self.received.is_some() || self.ended.is_some() {
            Some(Instant::ZERO)
        } else {
            self.next
        }
    }

    /// Resets the chip, and everything that was submitted.
    fn restart(&mut self, now: Instant) {
        // A pin cannot report why it failed, and the restart is repeated if it has not worked.
        let _ = self.slp_tr.set_low();
        let _ = self.reset.set_low();
        self.phase = Phase::Reset { until: None };
        self.next = Some(now);
        (self.is_stale, self.tuned) = (true, None);
        (self.edge, self.seen) = (None, None);
    }

    /// Restarts the chip after a fault. A frame that may have been on the air counts as sent
    /// without acknowledgement; another one is sent after the restart.
    fn recover(&mut self, now: Instant) {
        if let Phase::Sending { began, .. } = self.phase
            && let Some(job) = self.job.take()
        {
            let ack = if job.ack { Ack::Missing } else { Ack::NotAwaited };
            self.ended = Some(Event::Transmitted { sfd: began + transmit::START_TO_SFD, ack });
        }
        self.restart(now);
    }

    /// Makes steps until nothing happens before a later time.
    fn run(&mut self, now: Instant) {
        for _ in 0..STEPS {
            match self.step(now) {
                Ok(Step::Again) if self.received.is_none() && self.ended.is_none() => {}
                Ok(Step::Again | Step::NextCall) => break,
                Ok(Step::Wait(until)) => {
                    self.next = Some(until);
                    return;
                }
                Ok(Step::Rest) => {
                    self.next = None;
                    return;
                }
                Err(Fault) => return self.recover(now),
            }
        }
        self.next = Some(now);
    }

    fn step(&mut self, now: Instant) -> Result<Step, Fault> {
        match self.phase {
            Phase::Off => {
                self.restart(now);
                Ok(Step::NextCall)
            }
            Phase::Reset { until: None } => {
                let pause = if self.is_failing { RESTART_PAUSE } else { RESET_PULSE };
                self.is_failing = true;
                self.phase = Phase::Reset { until: Some(now + pause) };
                Ok(Step::Wait(now + pause))
            }
            Phase::Reset { until: Some(until) } => self.end_reset(now, until),
            Phase::Starting { give_up, from } => self.start(now, give_up, from),
            Phase::Idle => self.leave_idle(now),
            Phase::Asleep => self.wake(now),
            Phase::Locking { give_up } => self.lock(now, give_up),
            Phase::Ready => self.leave_ready(now),
            Phase::Tuning { until } => Ok(self.tune(now, until)),
            Phase::Listening { check_at } => self.listen(now, check_at),
            Phase::Received => self.unload_received(now),
            Phase::Stopping { give_up, receives } => self.stop(now, give_up, receives),
            Phase::Stopped { until, receives } => self.unload_last(now, until, receives),
            Phase::Loaded { give_up } => self.begin(now, give_up),
            Phase::Sending { began, check_at, is_over } => self.send(now, began, check_at, is_over),
        }
    }

    /// Returns the channel on which the mode listens now.
    fn listens_on(&mut self, now: Instant) -> Option<Channel> {
        match self.mode {
            Mode::Receive { until, .. } if until <= now => {
                self.mode = Mode::Off;
                None
            }
            Mode::Receive { from, channel, .. } if from <= now => Some(channel),
            Mode::Receive { .. } | Mode::Off => None,
        }
    }

    /// Returns the next step if there is nothing to do before the mode changes by itself.
    fn rest(&self, now: Instant) -> Step {
        match self.mode {
            Mode::Receive { from, .. } if from > now => Step::Wait(from),
            Mode::Receive { until, .. } if until < Instant::MAX => Step::Wait(until),
            Mode::Receive { .. } | Mode::Off => Step::Rest,
        }
    }

    /// Reads and clears the interrupts, and returns the time of TRX_END if it is one of them.
    fn trx_end(&mut self, now: Instant) -> Result<Option<Instant>, Fault> {
        let is_set = self.bus.read(IRQ_STATUS)? & TRX_END != 0;
        Ok(is_set.then(|| self.end_by_edge(now)))
    }

    /// Returns the time of TRX_END: by the edge of IRQ, or now if nothing has noted that.
    fn end_by_edge(&mut self, now: Instant) -> Instant {
        let (edge, seen) = (self.edge.take(), self.seen.take());
        edge.or(seen).unwrap_or(now) - IRQ_LATENCY
    }

    /// Returns whether the chip interrupts. A pin that cannot be read counts as high: the chip is
    /// asked then. If nothing has noted the edge yet, that may come before the next call.
    fn interrupts(&mut self, now: Instant) -> Option<bool> {
        let is_high = self.irq.is_high().unwrap_or(true);
        if is_high && self.edge.is_none() && self.seen.is_none() {
            self.seen = Some(now);
            return None;
        }
        Some(is_high)
    }

    fn csma_seed_1(&self) -> u8 {
        let pending = if self.pending { AACK_SET_PD } else { 0 };
        AACK_FVN_MODE | pending | (self.seed >> 8) as u8 & 7
    }

    fn set_pending(&mut self, pending: bool) -> Result<(), Fault> {
        self.pending = pending;
        match self.phase {
            Phase::Off | Phase::Reset { .. } | Phase::Starting { .. } | Phase::Asleep => {
                self.is_stale = true;
                Ok(())
            }
            _ => {
                let value = self.csma_seed_1();
                self.bus.write(CSMA_SEED_1, value)
            }
        }
    }

    fn handle_transmit(&mut self, job: Job, start: Start, frame: &[u8]) -> Result<(), Busy> {
        if self.job.is_some() || self.ended.is_some() {
            return Err(Busy);
        }
        let room = self.outgoing.get_mut(..frame.len()).filter(|room| !room.is_empty());
        match (room, start) {
            (Some(room), Start::Asap) => {
                room.copy_from_slice(frame);
                self.job = Some(job);
            }
            // The chip has no timer.
            _ => self.ended = Some(Event::Missed),
        }
        Ok(())
    }
}

impl<S: SpiDevice, R: OutputPin, T: OutputPin, I: InputPin> Driver for At86rf233<S, R, T, I> {
    fn capabilities(&self) -> Capabilities {
        Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA
    }

    fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        self.is_stale = true;
        self.next = Some(Instant::ZERO);
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
                let len = frame.len() as u8;
                let job = Job { access, channel, power_dbm, ack, len };
                self.handle_transmit(job, start, frame)?;
            }
            Command::Pending { pending, .. } => {
                if self.set_pending(pending).is_err() {
                    self.recover(now);
                }
            }
            Command::Reset => {
                (self.job, self.received, self.ended) = (None, None, None);
                (self.mode, self.pending) = (Mode::Off, false);
                self.is_failing = false;
                self.restart(now);
                return Ok(());
            }
            // They belong to capabilities that the chip lacks.
            _ => return Ok(()),
        }
        self.next = Some(now);
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        if self.received.is_none() && self.ended.is_none() {
            self.run(now);
        }
        if let Some(event) = self.received.take() {
            *frame = self.incoming;
            return Some(event);
        }
        self.ended.take()
    }
}

/// Returns the value of TX_PWR whose power is nearest.
fn tx_power(dbm: i8) -> u8 {
    let nearest = POWERS.iter().min_by_key(|(power, _)| power.abs_diff(dbm));
    nearest.map_or(0, |(_, value)| *value)
}
