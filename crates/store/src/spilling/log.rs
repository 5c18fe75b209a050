//! Allocation of flash slots for frames.
//!
//! Slots are used in sequence, sector after sector in a ring, so that all sectors wear alike. A
//! sector is erased before it is first written after a start, because its content is unknown then,
//! and before each further use. A sector in which a frame still waits is skipped.
//!
//! One sector is erased ahead. Sectors of 64 KiB hold more than a full queue; parts with smaller
//! sectors erase them faster, and a long burst waits for that now and then.

use super::page::SLOT;
use super::record::MAX_SLOTS;
use kinglet_flash::{Command, Geometry};

/// The write end of the flash. All zero is a log without flash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    /// Slots per sector.
    per_sector: u16,
    /// Slots per page.
    per_page: u8,
    /// Sectors whose slots have numbers.
    sectors: u16,
    /// The next slot to be written.
    next: u16,
    /// Number of slots left in its sector, itself included.
    left: u16,
    /// The sector that was tried last.
    tried: u16,
    /// An erased sector, for use when no slot is left.
    ready: Option<u16>,
}

impl Log {
    pub(super) const NONE: Log =
        Log { per_sector: 0, per_page: 0, sectors: 0, next: 0, left: 0, tried: 0, ready: None };

    /// Creates a log for a part of this geometry with unknown content. Returns `None` if frames do
    /// not fit its pages or there are no sectors.
    pub(super) fn new(geometry: &Geometry, first_sector: u16) -> Option<Self> {
        let fit = u8::try_from(geometry.page_size.checked_div(SLOT)?).ok()?;
        let per_page = fit.min(geometry.programs_per_page).min(2);
        let per_sector = geometry.pages_per_sector.checked_mul(u16::from(per_page))?;
        let sectors = geometry.sectors.min(MAX_SLOTS.checked_div(per_sector)?);
        // The first one tried is the next after it.
        let first = first_sector.checked_rem(sectors)?;
        let tried = first.checked_sub(1).unwrap_or(sectors.saturating_sub(1));
        Some(Log { per_sector, per_page, sectors, tried, ..Log::NONE })
    }

    /// Returns the slot for the next frame, if one is erased.
    pub(super) fn next(&self) -> Option<u16> {
        if self.left > 0 { Some(self.next) } else { self.ready.map(|sector| self.first_of(sector)) }
    }

    /// Notes that the slot for the next frame was programmed, or that this has failed. After a
    /// failure the rest of its page is not used either.
    pub(super) fn advance(&mut self, failed: bool) {
        if self.left == 0 {
            let Some(sector) = self.ready.take() else { return };
            (self.next, self.left) = (self.first_of(sector), self.per_sector);
        }
        let into_page = self.next.checked_rem(self.per_page.into()).unwrap_or(0);
        let rest = u16::from(self.per_page).saturating_sub(into_page);
        let step = if failed { rest } else { 1 };
        self.next = self.next.saturating_add(step);
        self.left = self.left.saturating_sub(step);
    }

    /// Returns whether to erase one more sector when there is nothing else to do: the erased slots
    /// would not hold `frames` frames.
    pub(super) fn runs_short(&self, frames: usize) -> bool {
        let enough = u16::try_from(frames).unwrap_or(u16::MAX).min(self.per_sector);
        self.ready.is_none() && self.left < enough
    }

    /// Returns the next sector that `fits`, among those that may be erased if no frame waits there.
    /// Among three more sectors than frames there is such a one, so no more are checked.
    pub(super) fn find(&self, frames: usize, fits: impl Fn(u16) -> bool) -> Option<u16> {
        let looked_at = usize::from(self.sectors).min(frames.saturating_add(3));
        let mut sector = self.tried;
        for _ in 0..looked_at {
            sector = sector.saturating_add(1);
            if sector >= self.sectors {
                sector = 0;
            }
            let in_use = self.left > 0 && self.is_in(self.next, sector);
            if !in_use && self.ready != Some(sector) && fits(sector) {
                return Some(sector);
            }
        }
        None
    }

    /// Notes that this sector was erased, or that this has failed.
    pub(super) fn note_erased(&mut self, sector: u16, failed: bool) {
        self.tried = sector;
        if failed {
            return;
        }
        if self.left == 0 && self.ready.is_none() {
            (self.next, self.left) = (self.first_of(sector), self.per_sector);
        } else {
            self.ready = Some(sector);
        }
    }

    /// Returns whether moving the `frames` waiting frames of a sector is worthwhile: they fit the
    /// slots that are left, and at least as many slots are gained.
    pub(super) fn should_clear(&self, frames: usize) -> bool {
        frames <= usize::from(self.left.min(self.per_sector >> 1))
    }

    pub(super) fn is_in(&self, slot: u16, sector: u16) -> bool {
        let first = self.first_of(sector);
        slot >= first && slot.saturating_sub(first) < self.per_sector
    }

    /// Returns the command that reads a slot.
    pub(super) fn read(&self, slot: u16, len: usize) -> Command {
        let (page, offset) = self.address(slot);
        Command::Read { page, offset, len: u16::try_from(len).unwrap_or(SLOT) }
    }

    /// Returns the command that writes a slot.
    pub(super) fn program(&self, slot: u16) -> Command {
        let (page, offset) = self.address(slot);
        Command::Program { page, offset }
    }

    fn address(&self, slot: u16) -> (u16, u8) {
        // There are one or two slots in a page, and small cores have no division.
        match self.per_page {
            0 | 1 => (slot, 0),
            _ => (slot >> 1, if slot & 1 == 0 { 0 } else { 128 }),
        }
    }

    fn first_of(&self, sector: u16) -> u16 {
        sector.saturating_mul(self.per_sector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Duration;
    use std::vec::Vec;

    const SMALL: Geometry = Geometry {
        page_size: 256,
        programs_per_page: 2,
        pages_per_sector: 2,
        sectors: 3,
        longest_program: Duration::ZERO,
        longest_erase: Duration::ZERO,
    };

    fn log() -> Log {
        Log::new(&SMALL, 1).unwrap()
    }

    #[test]
    fn parts_are_divided_into_slots() {
        let log = Log::new(&Geometry::M25P80, 0).unwrap();
        assert_eq!((log.per_page, log.per_sector, log.sectors), (2, 512, 16));
        let large = Geometry { sectors: u16::MAX, ..Geometry::M25P80 };
        assert_eq!(Log::new(&large, 0).unwrap().sectors, 64, "as many as have numbers");
        let once = Geometry { programs_per_page: 1, ..SMALL };
        assert_eq!(Log::new(&once, 0).unwrap().per_sector, 2);
        let unfit = [
            Geometry::NONE,
            Geometry { page_size: 64, ..SMALL },
            Geometry { programs_per_page: 0, ..SMALL },
            Geometry { pages_per_sector: u16::MAX, ..SMALL },
            Geometry { pages_per_sector: 0, ..SMALL },
            Geometry { sectors: 0, ..SMALL },
        ];
        assert!(unfit.iter().all(|geometry| Log::new(geometry, 9).is_none()));
    }

    #[test]
    fn nothing_is_written_before_a_sector_is_erased() {
        let mut log = log();
        assert_eq!(log.next(), None);
        assert!(log.runs_short(1));
        assert_eq!(log.find(9, |_| true), Some(1));
        log.note_erased(1, false);
        assert_eq!(log.next(), Some(4));
        assert_eq!(log.program(4), Command::Program { page: 2, offset: 0 });
        assert_eq!(log.program(5), Command::Program { page: 2, offset: 128 });
        assert_eq!(log.read(7, 20), Command::Read { page: 3, offset: 128, len: 20 });
    }

    #[test]
    fn sectors_are_used_round_robin_and_skipped_while_something_waits_there() {
        let mut log = log();
        let mut erased = Vec::new();
        for _ in 0..24 {
            if log.next().is_none() {
                let sector = log.find(9, |sector| erased.len() <= 3 || sector != 2).unwrap();
                log.note_erased(sector, false);
                erased.push(sector);
            }
            assert!(log.is_in(log.next().unwrap(), *erased.last().unwrap()));
            log.advance(false);
        }
        assert_eq!(erased, [1, 2, 0, 1, 0, 1]);
    }

    #[test]
    fn one_sector_is_erased_ahead_and_never_the_one_in_use() {
        let mut log = log();
        log.note_erased(1, false);
        assert!(!log.runs_short(4) && !log.runs_short(100), "a whole sector is left");
        log.advance(false);
        assert!(log.runs_short(4) && !log.runs_short(3));
        assert_eq!(log.find(9, |sector| sector == 1), None);
        log.note_erased(2, false);
        assert!(!log.runs_short(100));
        for slot in [5, 6, 7, 8] {
            assert_eq!(log.next(), Some(slot));
            log.advance(false);
        }
        assert_eq!(log.next(), Some(9));
        assert!(log.runs_short(4));
    }

    #[test]
    fn after_a_failure_another_page_is_tried_and_another_sector() {
        let mut log = log();
        log.note_erased(1, true);
        assert_eq!((log.next(), log.find(9, |_| true)), (None, Some(2)));
        log.note_erased(2, false);
        log.advance(true);
        assert_eq!(log.next(), Some(10));
        log.advance(false);
        log.advance(true);
        assert_eq!(log.next(), None);
    }
}
