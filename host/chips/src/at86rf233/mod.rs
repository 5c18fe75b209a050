//! The AT86RF233, register by register, as its data sheet describes it.
//!
//! Of the basic operating mode it has the states that lead to the extended mode. Misuse, which the
//! data sheet forbids or leaves undefined, breaks the rule `DataSheet` of the kit.

mod pins;
mod receive;
mod registers;
mod spi;
mod transmit;

#[cfg(test)]
mod tests;

pub use pins::{Interrupt, Reset, SleepTransmit};
pub use spi::{Bus, Failed};

use crate::air::{Air, Sent, Signal};
use crate::model::{Aerial, Antenna, Model};
use kinglet_drivers::Fault;
use kinglet_random::Random;
use registers::{
    CSMA_BE, IN_TRANSITION, IRQ_MASK, IRQ_MASK_MODE, IRQ_STATUS, IRQ_TRX_END, PHY_CC_CCA, RESET,
    RESET_CSMA_BE, RX_SAFE_MODE, TRX_CTRL_1, TRX_CTRL_2, TRX_STATE, TRX_STATUS, command, time,
};
use std::cell::RefCell;
use std::rc::Rc;

/// States of the transceiver; the values are those of `TRX_STATUS` (231, 7.1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    PowerOn = 0x00,
    TrxOff = 0x08,
    PllOn = 0x09,
    Sleep = 0x0f,
    BusyRxAack = 0x11,
    BusyTxAret = 0x12,
    RxAackOn = 0x16,
    TxAretOn = 0x19,
}

/// Progress of a busy state.
#[derive(Clone, Debug)]
enum Activity {
    None,
    /// Receives a frame; its filter has matched or not, from the end of the addresses on.
    Receive {
        signal: Signal,
        started: bool,
        matched: Option<bool>,
    },
    /// Between a frame and its acknowledgement, which begins then.
    AckTurnaround {
        at: u64,
        sequence: u8,
        request: bool,
    },
    AckAir {
        sent: Sent,
        until: u64,
    },
    /// The PLL returns to the receive frequency.
    Settle {
        until: u64,
    },
    Backoff {
        until: u64,
    },
    Assess {
        from: u64,
    },
    Turnaround {
        until: u64,
    },
    Air {
        sent: Sent,
        until: u64,
    },
    /// Frames that begin from `from` on may be the acknowledgement.
    AckWait {
        from: u64,
        until: u64,
        sequence: u8,
    },
}

/// Counters of a TX_ARET transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Transaction {
    busy: u8,
    exponent: u8,
    failed: u8,
}

/// The chip, the lines to it and the air around it.
pub struct Chip {
    now: u64,
    air: Air,
    registers: [u8; 64],
    state: State,
    /// Next state, and the time of the change.
    transition: Option<(State, u64)>,
    /// Command that waits for the end of a busy state.
    stored: Option<u8>,
    activity: Activity,
    transaction: Transaction,
    trac: u8,
    /// PHR and PSDU.
    buffer: [u8; 128],
    /// LQI, ED level and RX_STATUS of the received frame.
    tail: [u8; 3],
    is_protected: bool,
    /// Signals that began earlier are not received.
    listens_from: u64,
    irq_status: u8,
    /// Interrupts that have not reached the pin.
    raised: Vec<(u64, u8)>,
    irq_line: bool,
    /// Time of the last rising edge that nothing has noticed.
    edge: Option<u64>,
    slp_tr: bool,
    /// The reset pin is low since.
    reset_from: Option<u64>,
    /// Faults.
    loses_interrupt: bool,
    bus_errors: u8,
    hangs: bool,
    misuse: Option<&'static str>,
    /// Time of an octet on the bus, in microseconds.
    octet_us: u64,
    /// Settling times and errors of the bus.
    random: Random,
    /// Source of the random backoff, initialised from CSMA_SEED after a reset and after SLEEP (231,
    /// 7.2.7). The algorithm is not published.
    backoff: Random,
}

/// A chip that its bus, its pins and a test share.
pub type Shared = Rc<RefCell<Chip>>;

impl Chip {
    /// Powers the chip on. Its settling times follow from `seed`, and its bus has a clock of `mhz`,
    /// 1 to 8 MHz.
    pub fn new(seed: u64, mhz: u8) -> Shared {
        let mut chip = Chip {
            now: 0,
            air: Air::default(),
            registers: [0; 64],
            state: State::PowerOn,
            transition: None,
            stored: None,
            activity: Activity::None,
            transaction: Transaction::default(),
            trac: 0,
            buffer: [0; 128],
            tail: [0; 3],
            is_protected: false,
            listens_from: 0,
            irq_status: 0,
            raised: Vec::new(),
            irq_line: false,
            edge: None,
            slp_tr: false,
            reset_from: None,
            loses_interrupt: false,
            bus_errors: 0,
            hangs: false,
            misuse: None,
            octet_us: u64::from(8 / mhz.clamp(1, 8)),
            random: Random::new(seed, 233),
            backoff: Random::new(0, 0),
        };
        chip.set_reset_values();
        Rc::new(RefCell::new(chip))
    }

    /// The supply voltage drops for an instant.
    fn interrupt_power(&mut self) {
        self.abort();
        self.set_reset_values();
        self.state = State::PowerOn;
        self.hangs = false;
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, until: u64) {
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.handle_event();
        }
        self.now = self.now.max(until);
        self.air.forget(self.now);
    }

    fn note_misuse(&mut self, what: &'static str) {
        self.misuse.get_or_insert(what);
    }

    fn between(&mut self, (low, high): (u32, u32)) -> u64 {
        u64::from(low + self.random.next_u32() % (high - low + 1))
    }

    fn register(&self, address: u8) -> u8 {
        self.registers[usize::from(address & 0x3f)]
    }

    fn set_reset_values(&mut self) {
        self.registers = [0; 64];
        for (address, value) in RESET {
            self.registers[usize::from(address)] = value;
        }
        self.registers[usize::from(CSMA_BE)] = RESET_CSMA_BE;
        (self.irq_status, self.irq_line, self.trac) = (0, false, 0);
        self.raised.clear();
        self.is_protected = false;
        self.buffer.fill(0);
    }

    fn channel(&self) -> u8 {
        self.register(PHY_CC_CCA) & 0x1f
    }

    fn power_dbm(&self) -> i8 {
        registers::POWER_DBM[usize::from(self.register(registers::PHY_TX_PWR) & 0x0f)]
    }

    /// Returns the time of the next change inside the chip.
    fn next_event(&self) -> Option<u64> {
        let interrupt = self.raised.iter().map(|(at, _)| *at).min();
        if self.hangs {
            return interrupt;
        }
        let transition = self.transition.map(|(_, at)| at);
        [interrupt, transition, self.next_of_activity()].into_iter().flatten().min()
    }

    fn next_of_activity(&self) -> Option<u64> {
        match &self.activity {
            Activity::None if self.is_listening() => self.next_signal().map(Signal::sfd_at),
            Activity::None => None,
            Activity::Receive { signal, started: false, .. } => Some(signal.after(0)),
            Activity::Receive { signal, matched: None, .. } => Some(receive::filtered_at(signal)),
            Activity::Receive { signal, .. } => Some(signal.end()),
            Activity::AckTurnaround { at, .. } => Some(*at),
            Activity::Assess { from } => Some(from + time::CCA),
            Activity::AckWait { .. } => Some(self.end_of_ack_wait()),
            Activity::AckAir { until, .. }
            | Activity::Settle { until }
            | Activity::Backoff { until }
            | Activity::Turnaround { until }
            | Activity::Air { until, .. } => Some(*until),
        }
    }

    fn handle_event(&mut self) {
        self.deliver_interrupts();
        if self.hangs {
            return;
        }
        if let Some((state, at)) = self.transition
            && at <= self.now
        {
            self.transition = None;
            self.enter(state);
        }
        if self.next_of_activity().is_some_and(|at| at <= self.now) {
            match core::mem::replace(&mut self.activity, Activity::None) {
                Activity::None => self.begin_reception(),
                Activity::Receive { signal, started, matched } => {
                    self.continue_reception(signal, started, matched);
                }
                Activity::AckTurnaround { sequence, request, .. } => {
                    self.begin_ack(sequence, request);
                }
                Activity::AckAir { sent, until } => {
                    self.air.note_sent(sent, until);
                    self.activity = Activity::Settle { until: until + time::TX_TO_RX };
                }
                Activity::Settle { .. } => self.end_busy(State::RxAackOn),
                Activity::Backoff { until } => self.activity = Activity::Assess { from: until },
                Activity::Assess { from } => self.end_assessment(from),
                Activity::Turnaround { until } => self.begin_air(until),
                Activity::Air { sent, until } => self.end_air(sent, until),
                Activity::AckWait { from, until, sequence } => {
                    self.end_ack_wait(from, until, sequence);
                }
            }
        }
    }

    fn deliver_interrupts(&mut self) {
        let due = |(at, _): &(u64, u8)| *at <= self.now;
        let bits =
            self.raised.iter().filter(|raised| due(raised)).fold(0, |all, (_, bit)| all | bit);
        let now = self.now;
        self.raised.retain(|(at, _)| *at > now);
        let mask = self.register(IRQ_MASK);
        if self.register(TRX_CTRL_1) & IRQ_MASK_MODE == 0 {
            self.irq_status |= bits & mask;
        } else {
            self.irq_status |= bits;
        }
        if bits & IRQ_TRX_END != 0 && core::mem::take(&mut self.loses_interrupt) {
            return;
        }
        if bits & mask != 0 && !self.irq_line {
            self.irq_line = true;
            self.edge = Some(self.now);
        }
    }

    fn raise(&mut self, bit: u8) {
        self.raised.push((self.now + time::IRQ, bit));
    }

    fn enter(&mut self, state: State) {
        if state == State::TrxOff && matches!(self.state, State::Sleep | State::PowerOn) {
            let seed = [registers::CSMA_SEED_0, registers::CSMA_SEED_1].map(|at| self.register(at));
            self.backoff = Random::new(u64::from(u16::from_le_bytes(seed) & 0x7ff), 1);
        }
        self.state = state;
        self.listens_from = self.now;
        if state != State::RxAackOn && state != State::BusyRxAack {
            self.is_protected = false;
        }
    }

    /// Ends a busy state: the chip goes to `base`, and executes a command that waited.
    fn end_busy(&mut self, base: State) {
        self.activity = Activity::None;
        self.state = base;
        self.listens_from = self.now;
        if let Some(command) = self.stored.take() {
            self.execute(command);
        }
    }

    /// Stops what the chip does; a frame on the air is cut off.
    fn abort(&mut self) {
        if let Activity::Air { sent, until } | Activity::AckAir { sent, until } =
            core::mem::replace(&mut self.activity, Activity::None)
            && until > self.now
        {
            self.air.note_sent(Sent { whole: false, ..sent }, self.now);
        }
        (self.transition, self.stored) = (None, None);
    }

    fn status(&self) -> u8 {
        if self.transition.is_some() { IN_TRANSITION } else { self.state as u8 }
    }

    /// Executes a command of `TRX_STATE` (231, Figures 7-1 and 7-8).
    fn execute(&mut self, command: u8) {
        use State::{BusyRxAack, BusyTxAret, PllOn, PowerOn, RxAackOn, TrxOff, TxAretOn};
        if self.hangs || command == command::NOP {
            return;
        }
        let soon = self.now + time::STATE;
        if command == command::FORCE_TRX_OFF {
            self.abort();
            self.transition = Some((TrxOff, soon));
            return;
        }
        if self.transition.is_some() {
            self.note_misuse("a command during a state transition");
            return;
        }
        let next = match (self.state, command) {
            (BusyRxAack | BusyTxAret, command::TX_START) => {
                self.note_misuse("a transmission");
                return;
            }
            (BusyRxAack | BusyTxAret, command::FORCE_PLL_ON) => {
                self.abort();
                (PllOn, soon)
            }
            (BusyRxAack | BusyTxAret, _) => {
                self.stored = Some(command);
                return;
            }
            (PowerOn | PllOn | RxAackOn | TxAretOn, command::TRX_OFF) => (TrxOff, soon),
            (TrxOff, command::PLL_ON) => {
                let lock = self.between(time::PLL_LOCK);
                (PllOn, self.now + lock)
            }
            (RxAackOn | TxAretOn, command::PLL_ON | command::FORCE_PLL_ON) => (PllOn, soon),
            (PllOn, command::RX_AACK_ON) => (RxAackOn, soon),
            (PllOn, command::TX_ARET_ON) => (TxAretOn, soon),
            (TxAretOn, command::TX_START) => return self.begin_transaction(),
            (TrxOff, command::TRX_OFF)
            | (PllOn, command::PLL_ON)
            | (RxAackOn, command::RX_AACK_ON)
            | (TxAretOn, command::TX_ARET_ON) => return,
            _ => {
                self.note_misuse("a command that the state does not allow");
                return;
            }
        };
        self.transition = Some(next);
    }

    fn read_register(&mut self, address: u8) -> u8 {
        match address {
            TRX_STATUS => self.status(),
            TRX_STATE => self.trac << 5,
            IRQ_STATUS => {
                self.irq_line = false;
                core::mem::take(&mut self.irq_status)
            }
            _ => self.register(address),
        }
    }

    fn write_register(&mut self, address: u8, value: u8) {
        let old = self.register(address);
        if !matches!(address, TRX_STATUS | IRQ_STATUS) {
            self.registers[usize::from(address)] = value;
        }
        match address {
            TRX_STATE => self.execute(value & 0x1f),
            PHY_CC_CCA if (old ^ value) & 0x1f != 0 => self.change_channel(),
            _ if self.is_configuration(address) && old != value => {
                self.note_misuse("a change of the configuration");
            }
            TRX_CTRL_2 if value & RX_SAFE_MODE == 0 => self.is_protected = false,
            _ => {}
        }
    }

    /// Returns whether the register may only be written in TRX_OFF or PLL_ON (231, 7.2.1), and the
    /// state is another one.
    fn is_configuration(&self, address: u8) -> bool {
        let fixed = (registers::SHORT_ADDR_0..=registers::XAH_CTRL_0).contains(&address)
            || address == CSMA_BE
            || address == registers::PHY_TX_PWR;
        let is_idle =
            matches!(self.state, State::TrxOff | State::PllOn) && self.transition.is_none();
        fixed && !is_idle
    }

    fn change_channel(&mut self) {
        if !matches!(self.state, State::TrxOff | State::PllOn) {
            self.note_misuse("a change of the channel");
        }
        if self.state == State::PllOn && self.transition.is_none() {
            let settle = self.between(time::CHANNEL);
            self.transition = Some((State::PllOn, self.now + settle));
        }
    }
}

impl Model for Chip {
    fn now(&self) -> u64 {
        self.now
    }

    fn air(&mut self) -> &mut Air {
        &mut self.air
    }

    fn advance_to_interrupt(&mut self, until: u64) -> Option<u64> {
        while self.edge.is_none() {
            // What is due by now follows an access to the bus.
            let next = self.next_event().filter(|at| *at <= until.max(self.now));
            if next.is_none() && self.now >= until {
                break;
            }
            self.advance(next.unwrap_or(until).max(self.now));
        }
        self.edge.take()
    }

    fn is_asleep(&self) -> bool {
        self.state == State::Sleep
    }

    fn cause(&mut self, fault: Fault) -> bool {
        match fault {
            // The next TRX_END does not reach the pin.
            Fault::LostInterrupt => self.loses_interrupt = true,
            Fault::Transfer => self.bus_errors = 1,
            Fault::Stuck => self.hangs = true,
            Fault::PowerLoss => self.interrupt_power(),
        }
        true
    }

    fn misuse(&mut self) -> Option<&'static str> {
        self.misuse.take()
    }
}

impl Aerial for Chip {
    fn next_change(&self) -> Option<u64> {
        self.next_event()
    }

    fn antenna(&self) -> (Antenna, u8) {
        let antenna = match (&self.activity, self.state) {
            (Activity::Air { sent, .. } | Activity::AckAir { sent, .. }, _) => Antenna::sends(sent),
            (Activity::Assess { from }, _) => Antenna::Assessing { from: *from },
            (Activity::Receive { .. }, _) => Antenna::Receiving,
            (Activity::AckWait { from, .. }, _) => Antenna::Listening { from: *from },
            (Activity::Turnaround { .. } | Activity::AckTurnaround { .. }, _) => {
                Antenna::Ramp { sends: true }
            }
            (Activity::None, State::Sleep) if self.transition.is_none() => Antenna::Off,
            (Activity::None, State::TrxOff) if self.transition.is_none() => Antenna::Idle,
            (Activity::None, State::Sleep | State::PowerOn) => Antenna::Idle,
            (Activity::None, _) if self.is_listening() => {
                Antenna::Listening { from: self.listens_from }
            }
            _ => Antenna::Ramp { sends: false },
        };
        (antenna, self.channel())
    }
}
