//! Choice of the next flash command, one at a time.
//!
//! In order of urgency:
//!
//! 1. the oldest frame for a neighbour is read: without it nothing can be sent;
//! 2. a frame is written, if few places are left;
//! 3. the next frames for each neighbour are read ahead;
//! 4. a frame is moved, if few slots are left and frames wait in every sector (`clear.rs`);
//! 5. a sector is erased, if a frame must be written and no sector is erased, or ahead of that time
//!    while no frame is put or taken;
//! 6. the part is powered down, if it holds no part of the queue.

use super::clear::Cleared;
use super::place::{Place, State};
use super::record::{Record, Whereabouts};
use super::{Flash, Log, QUIET, READ_ATTEMPTS, Spilling, WRITE_ATTEMPTS, Writes, page};
use crate::{Submission, count};
use kinglet_flash::{Command, Event, Failure, Geometry};
use kinglet_mem::{Array, copy};
use kinglet_time::Instant;

/// The work of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Nothing,
    /// The frame in this slot is read into a place that awaits it. If it `moves`, it is no longer
    /// in the slot after that.
    Read {
        slot: u16,
        place: u8,
        moves: bool,
    },
    /// The frame in this place is written; `None` if it was taken meanwhile.
    Write {
        slot: u16,
        place: Option<u8>,
    },
    Erase {
        sector: u16,
    },
    PowerDown,
}

impl Work {
    /// Notes that a place was freed: its content is no longer what is being written.
    pub(super) fn forget_place(&mut self, freed: u8) {
        if let Work::Write { place, .. } = self {
            *place = place.filter(|&place| place != freed);
        }
    }
}

/// Urgency of a frame; 0 is the most urgent. The low octet is the number of older frames for the
/// same neighbour.
type Urgency = u16;
/// Added for neighbours that are not preferred.
const LESS_URGENT: Urgency = 0x100;

/// The first or last frame in each state.
pub(super) struct Survey {
    /// Slot of the first frame that is only in flash, among those that are wanted soon.
    first_in_flash: Option<(Urgency, u16)>,
    /// Place of the last frame that is only in memory.
    last_alone: Option<(Urgency, u8)>,
    /// Place of the last frame that is in memory and in flash.
    pub(super) last_copied: Option<(Urgency, u8)>,
}

impl<P: Array<Place>, T: Array<Record>> Spilling<P, T> {
    /// Examines each frame once.
    pub(super) fn survey(&self) -> Survey {
        let mut survey = Survey { first_in_flash: None, last_alone: None, last_copied: None };
        // Frames seen for each neighbour, except for the neighbour of the latest frame: many in a
        // row are for the same one.
        let mut seen = [0_u8; 256];
        let (mut to, mut next) = (0, 0);
        for record in self.waiting() {
            if record.to != to {
                if let Some(seen) = seen.get_mut(usize::from(to)) {
                    *seen = next;
                }
                to = record.to;
                next = seen.get(usize::from(to)).copied().unwrap_or(0);
            }
            let rank = next;
            next = rank.saturating_add(1);
            // Most frames of a long queue: only in flash, and not wanted soon.
            if record.is_in_flash_only() && rank >= Self::AHEAD {
                continue;
            }
            let class = if self.preferred == Some(record.to) { 0 } else { LESS_URGENT };
            let urgency = class | u16::from(rank);
            match record.whereabouts() {
                Whereabouts::Flash(slot) => {
                    let first = survey.first_in_flash;
                    if first.is_none_or(|(first, _)| urgency < first) {
                        survey.first_in_flash = Some((urgency, slot));
                    }
                }
                Whereabouts::Memory(place) => {
                    let last = match self.place(place).map(|place| place.state) {
                        Some(State::Alone) => &mut survey.last_alone,
                        Some(State::Copied) => &mut survey.last_copied,
                        _ => continue,
                    };
                    // The newest of those with the same urgency.
                    if last.is_none_or(|(last, _)| urgency >= last) {
                        *last = Some((urgency, place));
                    }
                }
            }
        }
        survey
    }

    /// Chooses and begins the next work.
    fn begin(&mut self) -> Work {
        // Each iteration but the last leaves one copied frame less.
        for _ in 0..=P::LEN {
            if let Some(work) = self.choose() {
                return work;
            }
        }
        Work::Nothing
    }

    /// Chooses and begins the next work; `None` if the choice must be repeated.
    fn choose(&mut self) -> Option<Work> {
        let places = self.room_in_places();
        let short = self.is_usable() && places < Self::RESERVE && self.places_in(State::Alone) > 0;
        if short || self.in_flash > 0 {
            let survey = self.survey();
            let read = survey.first_in_flash.and_then(|first| self.next_read(first, &survey));
            let write = survey.last_alone.filter(|_| short).zip(self.flash.log.next());
            let urgent = survey.first_in_flash.is_some_and(|(urgency, _)| urgency & 0xff == 0);
            match (read, write) {
                (Some((slot, place)), write) if urgent || write.is_none() => {
                    return Some(self.begin_read(slot, place, false));
                }
                (_, Some(((_, place), slot))) => {
                    return Some(Work::Write { slot, place: Some(place) });
                }
                _ => {}
            }
        }
        if self.wants_sector() {
            // Frames that could be written have been, if there was a slot for them.
            match self.erasable() {
                Some(sector) if short || self.flash.quiet => return Some(Work::Erase { sector }),
                Some(_) => {}
                None => match self.clear() {
                    Cleared::Nothing => {}
                    Cleared::OneInMemory => return None,
                    Cleared::ByReading(slot, place) => {
                        return Some(self.begin_read(slot, place, true));
                    }
                },
            }
        }
        let empty = self.in_flash == 0 && self.places_in(State::Copied) == 0;
        Some(if empty && !self.flash.powered_down { Work::PowerDown } else { Work::Nothing })
    }

    /// Returns the frame to be read and its place, if one is free or a frame that is wanted later
    /// can be evicted.
    fn next_read(&self, first: (Urgency, u16), survey: &Survey) -> Option<(u16, u8)> {
        let (urgency, slot) = first;
        let later = survey.last_copied.filter(|&(last, _)| last > urgency).map(|(_, place)| place);
        Some((slot, self.free_place().or(later)?))
    }

    fn begin_read(&mut self, slot: u16, place: u8, moves: bool) -> Work {
        self.evict(place);
        if let Some(place) = self.place_mut(place) {
            place.state = State::Awaiting;
        }
        Work::Read { slot, place, moves }
    }

    /// Returns whether to erase a sector before a frame must be written.
    fn wants_sector(&self) -> bool {
        self.is_usable() && self.flash.log.runs_short(T::LEN)
    }

    /// Returns whether all waiting frames are in memory, with places to spare, and some also in
    /// flash.
    fn needs_no_copies(&self) -> bool {
        self.in_flash == 0
            && self.places_in(State::Copied) > 0
            && self.places_in(State::Free) >= Self::RESERVE
    }

    /// Schedules a call for when it has been quiet for long enough, if there is something to do
    /// then.
    pub(super) fn expect_quiet(&mut self, now: Instant) {
        if self.flash.quiet {
            return;
        }
        let at = if self.wants_sector() || self.needs_no_copies() {
            self.flash.quiet_at.or(Some(now + QUIET))
        } else {
            None
        };
        self.flash.quiet_at = at;
    }

    pub(super) fn become_quiet(&mut self) {
        self.flash.quiet = true;
        self.flash.quiet_at = None;
        self.flash.settled = false;
        if self.needs_no_copies() {
            // Then the part can be powered down.
            self.forget_copies();
        }
    }

    fn forget_copies(&mut self) {
        for place in self.places.as_mut_slice() {
            if place.state == State::Copied {
                place.state = State::Alone;
            }
        }
    }

    /// Returns the next command.
    pub(super) fn submit(&mut self, now: Instant) -> Option<Submission<'_>> {
        if self.flash.reset {
            self.flash.reset = false;
            return Some(Submission { command: Command::Reset, octets: &[] });
        }
        if self.flash.writes == Writes::NoFlash || self.flash.settled || self.flash.limit.is_some()
        {
            return None;
        }
        if self.flash.work == Work::Nothing {
            self.flash.work = self.begin();
        }
        let command = match self.flash.work {
            Work::Nothing => {
                self.flash.settled = true;
                return None;
            }
            Work::Read { slot, .. } => self.flash.log.read(slot, self.len_in(slot)),
            Work::Write { slot, .. } => self.flash.log.program(slot),
            Work::Erase { sector } => Command::Erase { sector },
            Work::PowerDown => Command::PowerDown,
        };
        self.flash.limit = Some(now + self.flash.geometry.time_limit(command));
        self.flash.powered_down = false;
        let octets = match self.flash.work {
            Work::Write { place: Some(place), .. } => self.sealed(place),
            _ => &[],
        };
        Some(Submission { command, octets })
    }

    fn index_in(&self, slot: u16) -> Option<usize> {
        self.waiting().position(|record| record.whereabouts() == Whereabouts::Flash(slot))
    }

    /// Returns the number of octets to read from this slot.
    fn len_in(&self, slot: u16) -> usize {
        let record = self.index_in(slot).and_then(|index| self.records.as_slice().get(index));
        record.map_or(page::HEADER, page::len)
    }

    /// Returns the octets of the frame in this place as they are in flash.
    fn sealed(&mut self, place: u8) -> &[u8] {
        let here = |record: &&Record| record.whereabouts() == Whereabouts::Memory(place);
        let Some(record) = self.waiting().find(here).copied() else { return &[] };
        let Some(place) = self.place_mut(place) else { return &[] };
        page::seal(&mut place.octets, &record);
        place.octets.get(..page::len(&record)).unwrap_or_default()
    }

    /// Undoes the last submission, which the driver did not take.
    pub(super) fn take_back(&mut self) {
        if self.flash.limit.take().is_none() {
            // Only a `Reset` can have been offered.
            self.flash.reset = true;
        } else if !matches!(self.flash.work, Work::Read { .. }) {
            // A frame to be read has a place already; all other work is chosen again.
            self.flash.work = Work::Nothing;
        }
        self.flash.settled = false;
    }

    /// Gives up the outstanding command, whose event did not come in time.
    pub(super) fn give_up_waiting(&mut self) {
        self.flash.reset = true;
        self.end(Err(Failure::Part), &[]);
    }

    pub(super) fn end_work(&mut self, event: Event, octets: &[u8]) {
        let outcome = match event {
            Event::Done { .. } => Ok(()),
            Event::Failed { failure, .. } => Err(failure),
            // Any other event is a failure.
            _ => Err(Failure::Part),
        };
        self.end(outcome, octets);
    }

    fn end(&mut self, outcome: Result<(), Failure>, octets: &[u8]) {
        self.flash.limit = None;
        self.flash.settled = false;
        let work = core::mem::replace(&mut self.flash.work, Work::Nothing);
        match work {
            Work::Nothing => {}
            Work::Read { slot, place, moves } => {
                let octets = outcome.ok().map(|()| octets);
                if !self.end_read(slot, place, octets, moves) {
                    self.flash.work = work;
                }
            }
            Work::Write { slot, place } => self.end_write(slot, place, outcome),
            Work::Erase { sector } => {
                self.flash.log.note_erased(sector, outcome.is_err());
                if self.note_write(outcome) {
                    count(&mut self.stats.erased);
                }
            }
            // If it has failed, it is not repeated until the part has been used.
            Work::PowerDown => self.flash.powered_down = true,
        }
    }

    fn end_write(&mut self, slot: u16, place: Option<u8>, outcome: Result<(), Failure>) {
        self.flash.log.advance(outcome.is_err());
        if !self.note_write(outcome) {
            return;
        }
        count(&mut self.stats.written);
        if let Some(place) = place.and_then(|place| self.place_mut(place)) {
            (place.state, place.slot) = (State::Copied, slot);
        }
    }

    /// Counts the result of a program or an erasure. Returns whether it succeeded.
    fn note_write(&mut self, outcome: Result<(), Failure>) -> bool {
        let Err(failure) = outcome else {
            self.flash.failed_writes = 0;
            return true;
        };
        count(&mut self.stats.failed_writes);
        self.flash.failed_writes = self.flash.failed_writes.saturating_add(1);
        let writes = match failure {
            Failure::LowVoltage => Writes::LowVoltage,
            _ if self.flash.failed_writes >= WRITE_ATTEMPTS => Writes::GivenUp,
            _ => return false,
        };
        if self.is_usable() {
            self.flash.writes = writes;
            count(&mut self.stats.given_up);
        }
        false
    }

    /// Takes the octets read. Returns false if the read must be repeated.
    fn end_read(&mut self, slot: u16, place: u8, octets: Option<&[u8]>, moves: bool) -> bool {
        let left = if moves && self.can_leave_flash() { State::Alone } else { State::Copied };
        let index = self.index_in(slot);
        let record = index.and_then(|index| self.records.as_mut_slice().get_mut(index));
        let Some(record) = record else {
            // It was dropped meanwhile.
            self.free(place);
            return true;
        };
        let into = self.places.as_mut_slice().get_mut(usize::from(place));
        let payload = octets.and_then(|octets| page::open(octets, record));
        if let Some((payload, into)) = payload.zip(into) {
            copy(into.octets.get_mut(page::HEADER..).unwrap_or_default(), payload);
            (into.state, into.slot) = (left, slot);
            record.set(Whereabouts::Memory(place));
            self.in_flash = self.in_flash.saturating_sub(1);
            self.flash.failed_reads = 0;
            count(&mut self.stats.read);
            return true;
        }
        count(&mut self.stats.failed_reads);
        self.flash.failed_reads = self.flash.failed_reads.saturating_add(1);
        if self.flash.failed_reads < READ_ATTEMPTS {
            return false;
        }
        self.free(place);
        self.lose(slot);
        true
    }

    /// Counts the frame in this slot as lost.
    fn lose(&mut self, slot: u16) {
        if let Some(index) = self.index_in(slot) {
            self.in_flash = self.in_flash.saturating_sub(1);
            self.remove(index);
            count(&mut self.stats.lost);
        }
    }

    fn a_slot_in_use(&self) -> Option<u16> {
        self.waiting().find_map(|record| match record.whereabouts() {
            Whereabouts::Flash(slot) => Some(slot),
            Whereabouts::Memory(_) => None,
        })
    }

    pub(super) fn attach_part(&mut self, geometry: Geometry, first_sector: u16) {
        let same = geometry == self.flash.geometry && self.flash.writes != Writes::NoFlash;
        if same {
            self.flash.writes = Writes::Usable;
            self.flash.failed_writes = 0;
            self.flash.settled = false;
            return;
        }
        let outstanding = self.flash.limit.is_some();
        let log = Log::new(&geometry, first_sector);
        while let Some(slot) = self.a_slot_in_use() {
            self.lose(slot);
        }
        self.forget_copies();
        for place in self.places.as_mut_slice() {
            if place.state == State::Awaiting {
                place.state = State::Free;
            }
        }
        self.flash = Flash {
            geometry,
            writes: if log.is_some() { Writes::Usable } else { Writes::NoFlash },
            log: log.unwrap_or(Log::NONE),
            reset: outstanding || self.flash.reset,
            // No frame was put or taken yet.
            quiet: true,
            ..Flash::NONE
        };
    }
}
