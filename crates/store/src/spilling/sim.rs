//! A simulated flash: NOR semantics, delays, and failures on demand.

use kinglet_flash::{Busy, Command, Driver, Event, Failure, Geometry, MAX_PAGE};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::vec;
use std::vec::Vec;

/// Probability of each fault, in 256ths.
#[derive(Clone, Copy, Default)]
pub(super) struct Faults {
    pub(super) program: u8,
    pub(super) erase: u8,
    pub(super) read: u8,
    /// A program leaves bits set and reports success.
    pub(super) weak_program: u8,
    /// A read returns a wrong bit and reports success.
    pub(super) wrong_read: u8,
    /// No event comes.
    pub(super) silent: u8,
    pub(super) low_voltage: bool,
}

pub(super) struct Sim {
    geometry: Geometry,
    pub(super) octets: Vec<u8>,
    pub(super) faults: Faults,
    random: Pcg32,
    /// Time and event of the next report, and the octets read.
    outstanding: Option<(Instant, Event, Vec<u8>)>,
    busy: bool,
    pub(super) powered_down: bool,
    /// Number of erasures of each sector.
    pub(super) erased: Vec<u32>,
    pub(super) commands: Vec<Command>,
    /// Number of commands until power is lost, in the middle of the next one.
    pub(super) power_for: Option<usize>,
    /// The command in which power was lost.
    pub(super) lost_power: Option<Command>,
}

impl Sim {
    /// Creates a flash with random content.
    pub(super) fn new(geometry: Geometry, seed: u64) -> Self {
        let mut random = Pcg32::new(seed, 0x666c_6173_6821);
        let mut octets = vec![0; usize::from(geometry.pages()) * usize::from(geometry.page_size)];
        random.fill_bytes(&mut octets);
        Sim {
            geometry,
            octets,
            faults: Faults::default(),
            random,
            outstanding: None,
            busy: false,
            powered_down: false,
            erased: vec![0; geometry.sectors.into()],
            commands: Vec::new(),
            power_for: None,
            lost_power: None,
        }
    }

    fn strikes(&mut self, chance: u8) -> bool {
        self.random.next_u32() & 0xff < u32::from(chance)
    }

    fn start(&self, page: u16, offset: u8) -> usize {
        usize::from(page) * usize::from(self.geometry.page_size) + usize::from(offset)
    }

    fn program(&mut self, page: u16, offset: u8, octets: &[u8]) -> Result<(), Failure> {
        assert!(!octets.is_empty() && self.geometry.has(page, offset, octets.len()));
        if self.faults.low_voltage {
            return Err(Failure::LowVoltage);
        }
        let fails = self.strikes(self.faults.program);
        let weak = self.strikes(self.faults.weak_program);
        let until =
            if fails { self.random.next_u32() as usize % octets.len() } else { octets.len() };
        let start = self.start(page, offset);
        for (index, octet) in octets.iter().enumerate().take(until) {
            let there = &mut self.octets[start + index];
            assert_eq!(*there, 0xff, "page {page} is not erased");
            *there &= octet;
        }
        if weak {
            // A bit that should be cleared is not; without such a bit the program is correct.
            let zero = octets.iter().rposition(|&octet| octet != 0xff).unwrap();
            self.octets[start + zero] = 0xff;
        }
        if fails { Err(Failure::Part) } else { Ok(()) }
    }

    fn erase(&mut self, sector: u16) -> Result<(), Failure> {
        assert!(sector < self.geometry.sectors);
        if self.faults.low_voltage {
            return Err(Failure::LowVoltage);
        }
        self.erased[usize::from(sector)] += 1;
        if self.strikes(self.faults.erase) {
            return Err(Failure::Part);
        }
        let start = self.start(sector * self.geometry.pages_per_sector, 0);
        let len =
            usize::from(self.geometry.pages_per_sector) * usize::from(self.geometry.page_size);
        self.octets[start..start + len].fill(0xff);
        Ok(())
    }

    fn read(&mut self, page: u16, offset: u8, len: u16) -> Result<Vec<u8>, Failure> {
        assert!(self.geometry.has(page, offset, len.into()));
        if self.strikes(self.faults.read) {
            return Err(Failure::Part);
        }
        let start = self.start(page, offset);
        let mut octets = self.octets[start..start + usize::from(len)].to_vec();
        if self.strikes(self.faults.wrong_read) {
            let bit = self.random.next_u32() as usize % (8 * octets.len());
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        Ok(octets)
    }

    /// Restores power.
    pub(super) fn restart(&mut self) {
        (self.busy, self.outstanding, self.powered_down) = (false, None, false);
        (self.power_for, self.lost_power) = (None, None);
    }

    /// Loses power in the middle of this command: the octets that it changes take any value between
    /// old and new.
    fn lose_power(&mut self, command: Command, octets: &[u8]) {
        (self.busy, self.outstanding, self.lost_power) = (true, None, Some(command));
        match command {
            Command::Program { page, offset } => {
                let start = self.start(page, offset);
                for (index, octet) in octets.iter().enumerate() {
                    self.octets[start + index] &= octet | self.random.next_u32() as u8;
                }
            }
            Command::Erase { sector } => {
                let start = self.start(sector * self.geometry.pages_per_sector, 0);
                let len = self.geometry.pages_per_sector * self.geometry.page_size;
                for index in start..start + usize::from(len) {
                    self.octets[index] |= self.random.next_u32() as u8;
                }
            }
            _ => {}
        }
    }

    /// Returns the time of the next event.
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.outstanding.as_ref().map(|(at, ..)| *at)
    }
}

impl Driver for Sim {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, now: Instant, command: Command, octets: &[u8]) -> Result<(), Busy> {
        if command == Command::Reset {
            (self.busy, self.outstanding) = (false, None);
            return Ok(());
        }
        if self.busy {
            return Err(Busy);
        }
        if self.power_for == Some(0) {
            self.lose_power(command, octets);
            return Ok(());
        }
        self.power_for = self.power_for.map(|commands| commands - 1);
        self.commands.push(command);
        let mut read = Vec::new();
        self.powered_down = command == Command::PowerDown;
        let (outcome, longest_us) = match command {
            Command::Read { page, offset, len } => {
                (self.read(page, offset, len).map(|octets| read = octets), 2_000)
            }
            Command::Program { page, offset } => (self.program(page, offset, octets), 3_000),
            Command::Erase { sector } => (self.erase(sector), 1_000_000),
            _ => (Ok(()), 100),
        };
        let at = now + Duration::from_micros(u64::from(self.random.next_u32() % longest_us));
        let event = match outcome {
            Ok(()) => Event::Done { at },
            Err(failure) => Event::Failed { at, failure },
        };
        self.busy = true;
        self.outstanding = Some((at, event, read)).filter(|_| !self.strikes(self.faults.silent));
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, octets: &mut [u8; MAX_PAGE]) -> Option<Event> {
        let (_, event, read) = self.outstanding.take_if(|(at, ..)| *at <= now)?;
        octets[..read.len()].copy_from_slice(&read);
        self.busy = false;
        Some(event)
    }
}
