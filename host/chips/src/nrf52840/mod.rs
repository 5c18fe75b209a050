//! The radio of the nRF52840 with the peripherals around it: CLOCK, RADIO, TIMER0, PPI and RAM.
//!
//! Events and tasks are addresses, as in the product specification. The model has the parts that a
//! driver of IEEE 802.15.4 uses; an access to others is noted as misuse.

mod air;
mod registers;

#[cfg(test)]
mod tests;

use crate::air::{Air, Sent, Signal};
use crate::model::{Aerial, Antenna, Model};
use registers::{RAM, clock, ppi, radio, timer};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Size of the modelled RAM.
const RAM_SIZE: usize = 1_024;

/// States of the radio; the values are those of STATE (PS, RADIO).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Disabled = 0,
    RxRampUp = 1,
    RxIdle = 2,
    Rx = 3,
    RxDisable = 4,
    TxRampUp = 9,
    TxIdle = 10,
    Tx = 11,
    TxDisable = 12,
}

/// Progress of a state.
#[derive(Clone, Debug)]
enum Activity {
    None,
    /// A change of the state that takes until then.
    Ramp {
        until: u64,
    },
    Assess {
        from: u64,
    },
    /// Looks for frames that begin from then on.
    Search {
        from: u64,
    },
    Receive {
        signal: Signal,
        started: bool,
    },
    Air {
        sent: Sent,
        until: u64,
        started: bool,
    },
}

/// The chip and the air around it.
pub struct Soc {
    now: u64,
    air: Air,
    ram: [u8; RAM_SIZE],
    state: State,
    /// POWER of the radio is 0.
    is_radio_off: bool,
    activity: Activity,
    /// Registers with a value of their own.
    values: BTreeMap<u32, u32>,
    /// Events that have been generated and not been cleared.
    events: BTreeSet<u32>,
    /// Events that interrupt.
    interrupts: BTreeSet<u32>,
    /// Address of the packet from the last START on.
    packet: u32,
    oscillator_at: Option<u64>,
    timer_from: Option<u64>,
    ticks: u64,
    cc: [u32; timer::CHANNELS as usize],
    served_at: Option<u64>,
    loses_interrupt: bool,
    is_muted: bool,
    misuse: Option<&'static str>,
}

/// A chip that its driver and a test share.
pub type SharedSoc = Rc<RefCell<Soc>>;

impl Soc {
    /// Powers the chip on.
    pub fn new() -> SharedSoc {
        Rc::new(RefCell::new(Soc {
            now: 0,
            air: Air::default(),
            ram: [0; RAM_SIZE],
            state: State::Disabled,
            is_radio_off: false,
            activity: Activity::None,
            values: BTreeMap::new(),
            events: BTreeSet::new(),
            interrupts: BTreeSet::new(),
            packet: 0,
            oscillator_at: None,
            timer_from: None,
            ticks: 0,
            cc: [0; timer::CHANNELS as usize],
            served_at: None,
            loses_interrupt: false,
            is_muted: false,
            misuse: None,
        }))
    }

    /// Reads a register.
    pub fn read(&mut self, address: u32) -> u32 {
        match address {
            radio::STATE => self.state as u32,
            _ if self.compare(address, timer::CC).is_some() => {
                self.compare(address, timer::CC).map_or(0, |channel| self.cc[channel])
            }
            _ if is_event(address) => u32::from(self.events.contains(&address)),
            _ => self.value(address),
        }
    }

    /// Writes a register.
    pub fn write(&mut self, address: u32, value: u32) {
        if is_event(address) {
            if value == 0 {
                self.events.remove(&address);
            }
            return;
        }
        match address {
            clock::INTENSET | radio::INTENSET | timer::INTENSET => {
                self.enable(address, value, true)
            }
            clock::INTENCLR | radio::INTENCLR | timer::INTENCLR => {
                self.enable(address, value, false);
            }
            ppi::CHENSET => *self.values.entry(ppi::CHENSET).or_default() |= value,
            ppi::CHENCLR => *self.values.entry(ppi::CHENSET).or_default() &= !value,
            radio::POWER => {
                self.is_radio_off = value & 1 == 0;
                if self.is_radio_off {
                    self.reset_radio();
                }
            }
            _ if self.compare(address, timer::CC).is_some() => {
                if let Some(channel) = self.compare(address, timer::CC) {
                    self.cc[channel] = value;
                }
            }
            _ if address & 0xfff < 0x100 && value & 1 != 0 => self.task(address),
            _ => {
                self.values.insert(address, value);
            }
        }
    }

    /// Reads the RAM from `address` on. The radio writes each octet of a frame as it arrives
    /// (nrf-802154 reads the header at the BCMATCH event).
    pub fn read_ram(&self, address: u32, octets: &mut [u8]) {
        let from = (address - RAM) as usize;
        octets.copy_from_slice(&self.ram[from..from + octets.len()]);
        if let Activity::Receive { signal, .. } = &self.activity {
            let phr = [signal.psdu.len() as u8];
            let arriving = phr.iter().chain(&signal.psdu).zip(0..);
            for (octet, place) in arriving.take_while(|(_, n)| signal.after(*n) <= self.now) {
                let at = (self.packet - RAM) as usize + place;
                if let Some(to) = at.checked_sub(from).and_then(|at| octets.get_mut(at)) {
                    *to = *octet;
                }
            }
        }
    }

    /// Writes the RAM from `address` on.
    pub fn write_ram(&mut self, address: u32, octets: &[u8]) {
        let is_on_air = matches!(self.state, State::Tx) && address == self.packet;
        if is_on_air {
            self.note_misuse("a change of the frame on the air");
        }
        let from = (address - RAM) as usize;
        self.ram[from..from + octets.len()].copy_from_slice(octets);
    }

    fn note_misuse(&mut self, what: &'static str) {
        self.misuse.get_or_insert(what);
    }

    fn value(&self, address: u32) -> u32 {
        self.values.get(&address).copied().unwrap_or_default()
    }

    /// Returns the timer's channel that `address` belongs to in the group at `base`.
    fn compare(&self, address: u32, base: u32) -> Option<usize> {
        let offset = address.checked_sub(base)?;
        (offset % 4 == 0 && offset / 4 < timer::CHANNELS).then_some((offset / 4) as usize)
    }

    /// Enables or disables interrupts: the bit is the number of the event in its group.
    fn enable(&mut self, address: u32, bits: u32, on: bool) {
        let base = address & !0xfff;
        for bit in (0..32).filter(|bit| bits & 1 << bit != 0) {
            let event = base + 0x100 + 4 * bit;
            if on {
                self.interrupts.insert(event);
            } else {
                self.interrupts.remove(&event);
            }
        }
    }

    fn reset_radio(&mut self) {
        self.cut_off();
        (self.state, self.activity) = (State::Disabled, Activity::None);
        let of_radio = |address: &u32| address & !0xfff == radio::BASE;
        self.values.retain(|address, _| !of_radio(address));
        self.events.retain(|event| !of_radio(event));
        self.interrupts.retain(|event| !of_radio(event));
    }

    fn now_in_ticks(&self) -> u64 {
        self.ticks + self.timer_from.map_or(0, |from| self.now - from)
    }

    /// Generates an event: shortcuts and channels of the PPI follow.
    fn event(&mut self, event: u32) {
        self.events.insert(event);
        if self.interrupts.contains(&event) {
            self.is_muted = core::mem::take(&mut self.loses_interrupt);
        }
        let enabled = self.value(ppi::CHENSET);
        for (channel, from, task) in ppi::FIXED {
            if from == event && enabled & 1 << channel != 0 {
                self.task(task);
            }
        }
        let shorts = self.value(radio::SHORTS);
        for (from, task, bit) in radio::SHORTCUTS.into_iter().chain([radio::PHYEND_DISABLE]) {
            if from == event && shorts & 1 << bit != 0 {
                self.task(task);
            }
        }
    }

    fn task(&mut self, task: u32) {
        match task {
            clock::HFCLKSTART => self.oscillator_at = Some(self.now + clock::START_US),
            clock::HFCLKSTOP => self.oscillator_at = None,
            timer::START => {
                if self.value(timer::PRESCALER) != 4 || self.value(timer::BITMODE) != 3 {
                    self.note_misuse("a timer that does not count microseconds");
                }
                self.timer_from.get_or_insert(self.now);
            }
            timer::STOP => {
                self.ticks = self.now_in_ticks();
                self.timer_from = None;
            }
            timer::CLEAR => {
                self.ticks = 0;
                self.timer_from = self.timer_from.map(|_| self.now);
            }
            _ => match self.compare(task, timer::CAPTURE) {
                Some(channel) => self.cc[channel] = self.now_in_ticks() as u32,
                None => self.radio_task(task),
            },
        }
    }

    fn next_compare(&self) -> Option<u64> {
        let from = self.timer_from?;
        let ticks = self.now_in_ticks();
        let next = self.cc.iter().map(|cc| u64::from(*cc)).filter(|cc| *cc > ticks).min()?;
        Some(from + next - self.ticks)
    }

    fn next_event(&self) -> Option<u64> {
        let oscillator = self.oscillator_at.filter(|at| *at > self.now);
        [oscillator, self.next_compare(), self.next_of_radio()].into_iter().flatten().min()
    }

    fn step(&mut self, at: u64) {
        let before = self.now_in_ticks();
        self.now = self.now.max(at);
        if self.oscillator_at == Some(self.now) {
            self.event(clock::HFCLKSTARTED);
        }
        let after = self.now_in_ticks();
        for channel in 0..timer::CHANNELS {
            let cc = u64::from(self.cc[channel as usize]);
            if cc > before && cc <= after {
                self.event(timer::COMPARE + 4 * channel);
            }
        }
        self.step_radio();
    }

    fn interrupt_is_due(&self) -> bool {
        let high = self.interrupts.iter().any(|event| self.events.contains(event));
        high && !self.is_muted && self.served_at != Some(self.now)
    }
}

/// Returns whether the register is that of an event of a modelled peripheral.
fn is_event(address: u32) -> bool {
    (0x4000_0000..0x4000_9000).contains(&address) && (0x100..0x200).contains(&(address & 0xfff))
}

impl Model for Soc {
    fn now(&self) -> u64 {
        self.now
    }

    fn air(&mut self) -> &mut Air {
        &mut self.air
    }

    fn advance_to_interrupt(&mut self, until: u64) -> Option<u64> {
        while !self.interrupt_is_due() && self.now < until {
            match self.next_event().filter(|at| *at <= until) {
                Some(at) => self.step(at),
                None => self.now = until,
            }
        }
        self.air.forget(self.now);
        self.interrupt_is_due().then(|| {
            self.served_at = Some(self.now);
            self.now
        })
    }

    fn is_asleep(&self) -> bool {
        let is_off = self.state == State::Disabled && self.oscillator_at.is_none();
        is_off && self.timer_from.is_none()
    }

    fn cause(&mut self, fault: kinglet_drivers::Fault) -> bool {
        let can = fault == kinglet_drivers::Fault::LostInterrupt;
        self.loses_interrupt |= can;
        can
    }

    fn misuse(&mut self) -> Option<&'static str> {
        self.misuse.take()
    }
}

impl Aerial for Soc {
    fn next_change(&self) -> Option<u64> {
        self.next_event()
    }

    fn antenna(&self) -> (Antenna, u8) {
        let antenna = match (&self.activity, self.state) {
            (Activity::Air { sent, .. }, _) => Antenna::sends(sent),
            (Activity::Assess { from }, _) => Antenna::Assessing { from: *from },
            (Activity::Search { from }, _) => Antenna::Listening { from: *from },
            (Activity::Receive { .. }, _) => Antenna::Receiving,
            (_, State::Disabled) if self.is_asleep() => Antenna::Off,
            (_, State::Disabled) => Antenna::Idle,
            (_, state) => Antenna::Ramp { sends: state == State::TxRampUp },
        };
        (antenna, self.channel())
    }
}
