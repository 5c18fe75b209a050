//! A [`Driver`] for serial NOR flash with the commands that most parts share, among them M25P80 and
//! its successors. It works on any bus that is an `SpiDevice` of `embedded-hal` 1.0.
//!
//! No call waits for the part. A call takes as long as its octets take on the bus: 260 of them take
//! a quarter of a millisecond at 8 MHz. Each call of [`Driver::poll_event`] reads the status
//! register of the part with two octets, so it need not be called more often than the event is
//! wanted.
//!
//! ```
//! use kinglet_flash::{Command, Driver, Geometry};
//! use kinglet_nor::Nor;
//! use kinglet_time::{Duration, Instant};
//! # use embedded_hal::spi::{ErrorType, Operation, SpiDevice};
//! # struct Bus;
//! # impl ErrorType for Bus { type Error = core::convert::Infallible; }
//! # impl SpiDevice for Bus {
//! #     fn transaction(&mut self, _: &mut [Operation<'_, u8>]) -> Result<(), Self::Error> {
//! #         Ok(())
//! #     }
//! # }
//! let mut flash = Nor::new(Bus, Geometry::M25P80, Duration::from_micros(30));
//! let now = Instant::from_secs(1);
//! flash.submit(now, Command::Erase { sector: 3 }, &[]).unwrap();
//! assert_eq!(flash.poll_event(now, &mut [0; 256]), None, "it may have to wake first");
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

use embedded_hal::spi::{Operation, SpiDevice};
use kinglet_flash::{Busy, Command, Driver, Event, Failure, Geometry, MAX_PAGE};
use kinglet_time::{Duration, Instant};

/// Instructions, named as in the data sheets.
mod instruction {
    /// Write enable: before each program and erasure.
    pub(crate) const WREN: u8 = 0x06;
    /// Read the status register.
    pub(crate) const RDSR: u8 = 0x05;
    /// Read.
    pub(crate) const READ: u8 = 0x03;
    /// Page program.
    pub(crate) const PP: u8 = 0x02;
    /// Sector erase, of 64 KiB.
    pub(crate) const SE: u8 = 0xd8;
    /// Deep power-down.
    pub(crate) const DP: u8 = 0xb9;
    /// Release from deep power-down.
    pub(crate) const RDP: u8 = 0xab;
}
use instruction::{DP, PP, RDP, RDSR, READ, SE, WREN};

/// Status bit: the part is programming or erasing.
const WRITE_IN_PROGRESS: u8 = 1 << 0;
/// Status bit: the part accepts the next program or erase; it clears the bit when that has ended.
const WRITE_ENABLED: u8 = 1 << 1;

/// Power state of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    /// It is or may be powered down.
    Down,
    /// It has been woken, and accepts instructions from this instant on.
    From(Instant),
}

/// The outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Work {
    command: Command,
    /// The part has received it.
    begun: bool,
}

/// A part and its bus.
#[derive(Debug)]
pub struct Nor<S> {
    spi: S,
    geometry: Geometry,
    wakes_in: Duration,
    power: Power,
    work: Option<Work>,
    /// Octets of a program, kept until the part receives them.
    octets: [u8; MAX_PAGE],
    len: usize,
}

impl<S: SpiDevice> Nor<S> {
    /// Creates a driver for a part of this geometry on a bus. The part accepts instructions within
    /// `wakes_in` after its release from deep power-down (data sheets: tRES1). Its sectors are
    /// those of `SE`, 64 KiB in most parts.
    pub const fn new(spi: S, geometry: Geometry, wakes_in: Duration) -> Self {
        let (power, work) = (Power::Down, None);
        Nor { spi, geometry, wakes_in, power, work, octets: [0; MAX_PAGE], len: 0 }
    }

    /// Returns the bus.
    pub fn release(self) -> S {
        self.spi
    }

    /// Returns whether the command lies inside the part and is known.
    fn exists(&self, command: Command) -> bool {
        match command {
            Command::Read { page, offset, len } => self.geometry.has(page, offset, len.into()),
            Command::Program { page, offset } => self.geometry.has(page, offset, self.len),
            Command::Erase { sector } => sector < self.geometry.sectors,
            Command::PowerDown => true,
            _ => false,
        }
    }

    /// Returns an instruction and the address of an octet.
    fn at(&self, instruction: u8, page: u16, offset: u8) -> [u8; 4] {
        let start = u32::from(page).saturating_mul(self.geometry.page_size.into());
        let [_, high, middle, low] = start.saturating_add(offset.into()).to_be_bytes();
        [instruction, high, middle, low]
    }

    fn status(&mut self) -> Result<u8, S::Error> {
        let mut status = [0];
        let mut operations = [Operation::Write(&[RDSR]), Operation::Read(&mut status)];
        self.spi.transaction(&mut operations)?;
        let [status] = status;
        Ok(status)
    }

    /// Continues `work` by at most one step, and returns the result of that step.
    fn go_on(&mut self, now: Instant, work: Work, out: &mut [u8]) -> Result<Step, S::Error> {
        match self.power {
            Power::Down => {
                self.spi.write(&[RDP])?;
                self.power = Power::From(now + self.wakes_in);
                return Ok(Step::Waits);
            }
            Power::From(at) if now < at => return Ok(Step::Waits),
            Power::From(_) => {}
        }
        // The part may still be busy with a command from before a reset.
        let status = self.status()?;
        if status & WRITE_IN_PROGRESS != 0 {
            return Ok(Step::Waits);
        }
        if work.begun {
            // A protected part ignores the command and leaves the bit set.
            return Ok(if status & WRITE_ENABLED == 0 { Step::Done } else { Step::Failed });
        }
        match work.command {
            Command::Read { page, offset, len } => {
                let address = self.at(READ, page, offset);
                let Some(room) = out.get_mut(..len.into()) else { return Ok(Step::Failed) };
                let mut operations = [Operation::Write(&address), Operation::Read(room)];
                self.spi.transaction(&mut operations)?;
                Ok(Step::Done)
            }
            Command::Program { page, offset } => {
                let address = self.at(PP, page, offset);
                self.write(address, self.len)
            }
            Command::Erase { sector } => {
                let page = sector.saturating_mul(self.geometry.pages_per_sector);
                let address = self.at(SE, page, 0);
                self.write(address, 0)
            }
            Command::PowerDown => {
                self.spi.write(&[DP])?;
                self.power = Power::Down;
                Ok(Step::Done)
            }
            _ => Ok(Step::Failed),
        }
    }

    /// Starts a program of the first `len` octets, or an erase.
    fn write(&mut self, address: [u8; 4], len: usize) -> Result<Step, S::Error> {
        self.spi.write(&[WREN])?;
        if self.status()? & WRITE_ENABLED == 0 {
            return Ok(Step::Failed);
        }
        let octets = self.octets.get(..len).unwrap_or_default();
        self.spi.transaction(&mut [Operation::Write(&address), Operation::Write(octets)])?;
        Ok(Step::Begun)
    }
}

/// Result of a step.
enum Step {
    /// The part is not ready yet.
    Waits,
    /// The part has begun with it.
    Begun,
    Done,
    Failed,
}

impl<S: SpiDevice> Driver for Nor<S> {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, _: Instant, command: Command, octets: &[u8]) -> Result<(), Busy> {
        if command == Command::Reset {
            self.work = None;
            return Ok(());
        }
        if self.work.is_some() {
            return Err(Busy);
        }
        // A longer program reaches beyond its page, and fails for that.
        self.len = octets.len();
        self.octets.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
        self.work = Some(Work { command, begun: false });
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, octets: &mut [u8; MAX_PAGE]) -> Option<Event> {
        let work = self.work?;
        let step = match self.exists(work.command) {
            true => self.go_on(now, work, octets).unwrap_or(Step::Failed),
            false => Step::Failed,
        };
        let event = match step {
            Step::Waits => return None,
            Step::Begun => {
                self.work = Some(Work { begun: true, ..work });
                return None;
            }
            Step::Done => Event::Done { at: now },
            Step::Failed => Event::Failed { at: now, failure: Failure::Part },
        };
        self.work = None;
        Some(event)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
