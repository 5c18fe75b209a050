//! The driver contract for serial NOR flash.
//!
//! A page takes a millisecond to be programmed and a sector a second to be erased, and all the time
//! the radio wants to be served. So nothing here waits: whoever keeps something in flash submits a
//! [`Command`], and the driver reports an [`Event`] when it is over, as a radio does
//! (`kinglet-radio`). There is one command at a time, because that is what the parts can do.
//!
//! Octets are named by page and offset. A program clears bits and cannot set them; an erased octet
//! is 0xFF.
//!
//! # Rules for drivers
//!
//! * One command is outstanding at the most. A second one is refused with [`Busy`], and nothing
//!   changes.
//! * Each command but `Reset` ends with exactly one event. It can be polled within
//!   [`Geometry::time_limit`] of the submission. Later the user takes the event for lost and
//!   submits `Reset`, which is never refused and has no event. From then on nothing is reported of
//!   what was submitted before: events name no command, so a late one would be taken for that of
//!   the next. A part that cannot be interrupted goes on with what it does; the driver then
//!   begins the next command when the part has ended, and that time counts for the limit.
//! * The octets of a `Program` need not outlive the call of [`Driver::submit`]; those of a `Read`
//!   are written to the caller's buffer with its event.
//! * A part that is powered down wakes for any command but `PowerDown` and `Reset`, and stays awake
//!   until the next `PowerDown`. There is no command to wake it, so none can be forgotten. Whether
//!   the part is powered down at the start is unknown.
//! * A command that reaches beyond its page or beyond the last sector ends with
//!   [`Failure::Part`], and the flash is as it was.
//! * A part has a supply voltage below which it may neither program nor erase (M25P80: 2.7 V).
//!   Below it a driver that knows the voltage does neither and answers [`Failure::LowVoltage`]; one
//!   that does not know it reports what the part says.
//! * `Done` means that the part has said so. Whether what was programmed can be read is for the
//!   user to check, who knows what it was.
//! * After a loss of power nothing is known of a page that was being programmed, nor of a sector
//!   that was being erased.
//!
//! # Other traits for such parts
//!
//! `ReadNorFlash` and `NorFlash` of the crate `embedded-storage` are implemented for most parts and
//! microcontrollers. Their calls return when the flash has done the work, a second later for a
//! sector. A driver of this contract can be made of such an implementation where somebody else runs
//! meanwhile, as in a thread or, with `embedded-storage-async`, in a task: `Read` is `read` at the
//! page's address and the offset, `Program` is `write`, `Erase` is `erase` of one sector, and
//! `READ_SIZE`, `WRITE_SIZE` and `ERASE_SIZE` say what [`Geometry`] has to (lengths that are no
//! multiple of the first two are to be filled with 0xFF). They know neither power-down nor the
//! supply voltage: `PowerDown` is then done at once, and [`Failure::LowVoltage`] does not occur.
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

/// The longest page in octets.
pub const MAX_PAGE: usize = 256;

/// What a driver may take beside what its part takes: to shift the octets over a slow line that it
/// may share with the radio, to wake the part, and until the CPU comes to the event. It is the same
/// second as a radio driver's.
const DRIVER_TIME: Duration = Duration::from_secs(1);

/// How a part is divided, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Octets of a page, 1 to [`MAX_PAGE`]: what one `Program` can reach.
    pub page_size: u16,
    /// How often a page may be programmed, each time other octets of it, before its sector is
    /// erased again. At least 1; 255 for as often as it has octets.
    pub programs_per_page: u8,
    /// Pages of a sector, at least 1: what one `Erase` clears.
    pub pages_per_sector: u16,
    /// How many sectors there are; 0 for no flash at all.
    pub sectors: u16,
    /// The longest time in which a page is programmed.
    pub longest_program: Duration,
    /// The longest time in which a sector is erased.
    pub longest_erase: Duration,
}

impl Geometry {
    /// No flash at all.
    pub const NONE: Geometry = Geometry {
        page_size: 0,
        programs_per_page: 0,
        pages_per_sector: 0,
        sectors: 0,
        longest_program: Duration::ZERO,
        longest_erase: Duration::ZERO,
    };

    /// ST M25P80, 1 MiB, of Tmote Sky and others. A page takes 1.4 ms and a sector 1 s as a rule
    /// (data sheet of August 2005, features). Of the longest times 3 s are what a driver of its
    /// family waits for; the 5 ms still have to be compared with the sheet.
    pub const M25P80: Geometry = Geometry {
        page_size: 256,
        programs_per_page: 255,
        pages_per_sector: 256,
        sectors: 16,
        longest_program: Duration::from_millis(5),
        longest_erase: Duration::from_secs(3),
    };

    /// How many pages there are, at most 65 535: pages beyond that have no number.
    pub const fn pages(&self) -> u16 {
        self.pages_per_sector.saturating_mul(self.sectors)
    }

    /// Whether `len` octets from `offset` on are inside of this page, and the page exists.
    pub const fn has(&self, page: u16, offset: u8, len: usize) -> bool {
        let end = len.saturating_add(offset as usize);
        page < self.pages() && end <= self.page_size as usize && end <= MAX_PAGE
    }

    /// How long `command` takes at the most, from its submission to its event: what the part takes,
    /// and before it the longest command that it may be busy with after a `Reset`, and a second for
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

/// What is asked of the flash. More commands may be added; each will belong to a property that
/// announces it, so that a driver can answer those that it does not know with [`Failure::Part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Command {
    /// Read some octets of a page.
    Read {
        /// Which, counted from the start of the flash.
        page: u16,
        /// The first octet.
        offset: u8,
        /// How many, 1 to the rest of the page.
        len: u16,
    },
    /// Program the octets that are passed along, 1 to the rest of the page: each becomes what it
    /// was and the new one.
    Program {
        /// Which page, counted from the start of the flash.
        page: u16,
        /// Where its first octet goes.
        offset: u8,
    },
    /// Set all octets of a sector to 0xFF.
    Erase {
        /// Which, counted from the start of the flash.
        sector: u16,
    },
    /// Lowest power, until the next command (M25P80: deep power-down, 1 uA).
    PowerDown,
    /// Forget what is outstanding and what there is to report of it. It has no event.
    Reset,
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The part did not do it, or cannot.
    Part,
    /// The supply voltage is too low to program or to erase.
    LowVoltage,
}

/// What became of the outstanding command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It is done. The octets of a `Read` are at the start of the caller's buffer.
    Done {
        /// When the part had ended.
        at: Instant,
    },
    /// It is over and not done. A page that was to be programmed, and a sector that was to be
    /// erased, may hold anything, except after [`Failure::LowVoltage`].
    Failed {
        /// When that was known.
        at: Instant,
        /// Why.
        failure: Failure,
    },
}

/// A command is outstanding already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// A serial NOR flash. Strangers implement this; see the rules at the top of the crate.
pub trait Driver {
    /// How the part is divided; constant over the driver's life.
    fn geometry(&self) -> Geometry;

    /// Starts `command`. `octets` are those of a `Program` and empty otherwise; they need not
    /// outlive the call.
    ///
    /// # Errors
    /// [`Busy`] if a command is outstanding and `command` is no `Reset`; nothing changes.
    fn submit(&mut self, now: Instant, command: Command, octets: &[u8]) -> Result<(), Busy>;

    /// The event of the outstanding command, if it is over; what was read is written to the start
    /// of `octets`.
    fn poll_event(&mut self, now: Instant, octets: &mut [u8; MAX_PAGE]) -> Option<Event>;
}

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
    fn what_reaches_beyond_page_or_part_is_not_inside() {
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
