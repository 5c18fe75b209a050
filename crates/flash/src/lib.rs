//! The driver contract for serial NOR flash.
//!
//! Programming a page takes a millisecond and erasing a sector takes a second; meanwhile the radio
//! must be served. So no call waits: the caller submits a [`Command`], and the driver reports an
//! [`Event`] when the command has ended, as a radio driver does (`kinglet-radio`). Only one command
//! is outstanding at a time, because flash parts process one at a time.
//!
//! Octets are addressed by page and offset. A program operation clears bits and cannot set them; an
//! erased octet is 0xFF.
//!
//! # Rules for drivers
//!
//! * At most one command is outstanding. A second one is refused with [`Busy`], and nothing
//!   changes.
//! * Each command but `Reset` ends with exactly one event. It can be polled within
//!   [`Geometry::time_limit`] of the submission. After that the user considers the event lost and
//!   submits `Reset`, which is never refused and has no event. After a `Reset`, no event of an
//!   earlier command is reported: events do not name their command, so a late one would be
//!   attributed to the next command. A part that cannot be interrupted completes its current
//!   operation; the driver then begins the next command when the part has ended, and that time
//!   counts towards the limit.
//! * The octets of a `Program` need not outlive the call of [`Driver::submit`]; those of a `Read`
//!   are written to the caller's buffer with its event.
//! * A part that is powered down wakes for any command but `PowerDown` and `Reset`, and stays awake
//!   until the next `PowerDown`. There is no command to wake it, so none can be forgotten. The
//!   power state of the part at the start is unknown.
//! * A command that reaches beyond its page or beyond the last sector ends with [`Failure::Part`],
//!   and leaves the flash unchanged.
//! * A part has a supply voltage below which it may neither program nor erase (M25P80: 2.7 V).
//!   Below it, a driver that knows the voltage does neither and reports [`Failure::LowVoltage`]; a
//!   driver that does not know it reports the status of the part.
//! * `Done` means that the part has reported success. The user, who knows the data, verifies that
//!   they can be read.
//! * After a power loss, the content of a page that was being programmed is undefined, and so is
//!   that of a sector that was being erased.
//!
//! # Relation to other traits
//!
//! `ReadNorFlash` and `NorFlash` of the crate `embedded-storage` are implemented for most parts and
//! microcontrollers. Their calls block until the flash has done the work, for a sector a second. A
//! driver of this contract can wrap such an implementation if other code runs meanwhile, as in a
//! thread or, with `embedded-storage-async`, in a task: `Read` is `read` at the page's address and
//! the offset, `Program` is `write`, `Erase` is `erase` of one sector, and `READ_SIZE`,
//! `WRITE_SIZE` and `ERASE_SIZE` give the values of [`Geometry`] (lengths that are not multiples of
//! the first two are padded with 0xFF). These traits have neither power-down nor the supply
//! voltage: `PowerDown` then completes at once, and [`Failure::LowVoltage`] does not occur.
//!
//! ```
//! use kinglet_flash::{Busy, Command, Driver, Event, Geometry, MAX_PAGE};
//! use kinglet_time::Instant;
//!
//! /// A part that does everything at once and keeps nothing.
//! struct Sieve(Option<Event>);
//! impl Driver for Sieve {
//!     fn geometry(&self) -> Geometry { Geometry::M25P80 }
//!     fn submit(&mut self, now: Instant, command: Command, _: &[u8]) -> Result<(), Busy> {
//!         match command {
//!             Command::Reset => self.0 = None,
//!             _ if self.0.is_some() => return Err(Busy),
//!             _ => self.0 = Some(Event::Done { at: now }),
//!         }
//!         Ok(())
//!     }
//!     fn poll_event(&mut self, _: Instant, octets: &mut [u8; MAX_PAGE]) -> Option<Event> {
//!         octets.fill(0xff);
//!         self.0.take()
//!     }
//! }
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

use kinglet_time::{Duration, Instant};

/// Longest page in octets.
pub const MAX_PAGE: usize = 256;

/// Allowance for the driver in addition to the time of the part: to shift the octets over a slow
/// line that it may share with the radio, to wake the part, and until the CPU handles the event. It
/// is one second, as for a radio driver.
const DRIVER_TIME: Duration = Duration::from_secs(1);

/// Division of a part into pages and sectors, and its timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Octets of a page, 1 to [`MAX_PAGE`]: the reach of one `Program`.
    pub page_size: u16,
    /// Number of times that a page may be programmed, each time other octets of it, before its
    /// sector is erased again. At least 1; 255 stands for as many times as it has octets.
    pub programs_per_page: u8,
    /// Pages of a sector, at least 1: the unit of one `Erase`.
    pub pages_per_sector: u16,
    /// Number of sectors; 0 if there is no flash.
    pub sectors: u16,
    /// Longest time to program a page.
    pub longest_program: Duration,
    /// Longest time to erase a sector.
    pub longest_erase: Duration,
}

impl Geometry {
    /// No flash.
    pub const NONE: Geometry = Geometry {
        page_size: 0,
        programs_per_page: 0,
        pages_per_sector: 0,
        sectors: 0,
        longest_program: Duration::ZERO,
        longest_erase: Duration::ZERO,
    };

    /// ST M25P80, 1 MiB, of Tmote Sky and others. Typically a page takes 1.4 ms and a sector 1 s
    /// (data sheet of August 2005, features). Of the longest times, the 3 s are the timeout of a
    /// driver for its family; the 5 ms still have to be compared with the data sheet.
    pub const M25P80: Geometry = Geometry {
        page_size: 256,
        programs_per_page: 255,
        pages_per_sector: 256,
        sectors: 16,
        longest_program: Duration::from_millis(5),
        longest_erase: Duration::from_secs(3),
    };

    /// Number of pages, at most 65 535: pages beyond that cannot be addressed.
    pub const fn pages(&self) -> u16 {
        self.pages_per_sector.saturating_mul(self.sectors)
    }

    /// Returns whether the page exists and `len` octets from `offset` on lie inside it.
    pub const fn has(&self, page: u16, offset: u8, len: usize) -> bool {
        let end = len.saturating_add(offset as usize);
        page < self.pages() && end <= self.page_size as usize && end <= MAX_PAGE
    }

    /// Longest time from the submission of `command` to its event: the time of the part, before it
    /// the longest command that the part may still be busy with after a `Reset`, and a second for
    /// the driver.
    pub const fn time_limit(&self, command: Command) -> Duration {
        let part = match command {
            Command::Program { .. } => self.longest_program,
            Command::Erase { .. } => self.longest_erase,
            Command::Read { .. } | Command::PowerDown | Command::Reset => Duration::ZERO,
        };
        let before = if self.longest_erase.as_micros() > self.longest_program.as_micros() {
            self.longest_erase
        } else {
            self.longest_program
        };
        let both = part.as_micros().saturating_add(before.as_micros());
        Duration::from_micros(both.saturating_add(DRIVER_TIME.as_micros()))
    }
}

/// Command for the flash. More commands may be added; each will belong to a property that announces
/// it, so that a driver can answer those that it does not know with [`Failure::Part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Reads some octets of a page.
    Read {
        /// The page, counted from the start of the flash.
        page: u16,
        /// First octet.
        offset: u8,
        /// Number of octets, 1 to the rest of the page.
        len: u16,
    },
    /// Programs the octets that are passed along, 1 to the rest of the page: each becomes the
    /// bitwise AND of the old and the new value.
    Program {
        /// The page, counted from the start of the flash.
        page: u16,
        /// Position of the first octet in the page.
        offset: u8,
    },
    /// Sets all octets of a sector to 0xFF.
    Erase {
        /// The sector, counted from the start of the flash.
        sector: u16,
    },
    /// Enters the lowest power, until the next command (M25P80: deep power-down, 1 uA).
    PowerDown,
    /// Discards the outstanding command and its event. It has no event itself.
    Reset,
}

/// Reason for the failure of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The part did not execute it, or cannot.
    Part,
    /// The supply voltage is too low to program or to erase.
    LowVoltage,
}

/// Result of the outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It succeeded. The octets of a `Read` are at the start of the caller's buffer.
    Done {
        /// Time at which the part ended.
        at: Instant,
    },
    /// It failed. A page that was to be programmed, and a sector that was to be erased, have
    /// undefined content, except after [`Failure::LowVoltage`].
    Failed {
        /// Time at which the failure was known.
        at: Instant,
        /// The reason.
        failure: Failure,
    },
}

/// A command is outstanding already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// A serial NOR flash. Third parties implement this trait; see the rules at the top of the crate.
pub trait Driver {
    /// Returns the division of the part; constant over the driver's life.
    fn geometry(&self) -> Geometry;

    /// Starts `command`. `octets` are those of a `Program` and empty otherwise; they need not
    /// outlive the call.
    ///
    /// # Errors
    /// [`Busy`] if a command is outstanding and `command` is no `Reset`; nothing changes.
    fn submit(&mut self, now: Instant, command: Command, octets: &[u8]) -> Result<(), Busy>;

    /// Returns the event of the outstanding command once it has ended; octets that were read are
    /// written to the start of `octets`.
    fn poll_event(&mut self, now: Instant, octets: &mut [u8; MAX_PAGE]) -> Option<Event>;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_m25p80_has_a_mebibyte_in_4096_pages() {
        let part = Geometry::M25P80;
        assert_eq!(part.pages(), 4_096);
        assert_eq!(u32::from(part.pages()) * u32::from(part.page_size), 1 << 20);
        assert_eq!(Geometry::NONE.pages(), 0);
    }

    #[test]
    fn octets_beyond_the_page_or_the_part_are_not_inside() {
        let part = Geometry::M25P80;
        assert!(part.has(0, 0, 256) && part.has(4_095, 128, 128) && part.has(1, 255, 1));
        assert!(!part.has(4_096, 0, 1) && !part.has(0, 128, 129) && !part.has(0, 1, usize::MAX));
        assert!(!Geometry::NONE.has(0, 0, 0));
    }

    #[test]
    fn the_time_limit_is_that_of_the_longest_course_of_a_command() {
        let limit = |command| Geometry::M25P80.time_limit(command).as_millis();
        assert_eq!(limit(Command::Read { page: 0, offset: 0, len: 1 }), 3_000 + 1_000);
        assert_eq!(limit(Command::Program { page: 0, offset: 0 }), 3_000 + 5 + 1_000);
        assert_eq!(limit(Command::Erase { sector: 0 }), 3_000 + 3_000 + 1_000);
        let endless = Geometry { longest_erase: Duration::MAX, ..Geometry::M25P80 };
        assert_eq!(endless.time_limit(Command::PowerDown), Duration::MAX, "nothing wraps");
    }
}
