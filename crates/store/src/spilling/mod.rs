//! A queue that is in memory while it is short and in flash when it is long.
//!
//! A few places in memory hold the octets of frames. A new frame goes into one of them. When few
//! places are left, the frames that will be wanted last are written to flash; a written frame also
//! stays in its place until another frame needs that. When places are free, the frames that will be
//! wanted first are read: the oldest for each neighbour, the second oldest, and so on, those for
//! the neighbour that is being sent to before all others. So the flash works while the radio sends
//! and receives, and a queue that stays short never uses it.
//!
//! Data structures (`record.rs`, `place.rs`, `page.rs`):
//!
//! * A [`Record`] for each frame, in order of arrival. It contains the location of the octets.
//! * A [`Place`] for the octets of a frame: alone, or copied to flash.
//! * Slots in flash, written in sequence (`log.rs`). Only the records and places show whether a
//!   frame waits in a slot. So a slot is free as soon as its frame has been taken, and after a
//!   start all slots are free.
//!
//! `work.rs` chooses the next command, and `clear.rs` moves frames when every sector holds one that
//! waits.
//!
//! Invariants:
//!
//! * A frame is in memory or in flash, from its put until it is taken, dropped, or cannot be read
//!   in [`READ_ATTEMPTS`] attempts.
//! * While a frame is only in flash, at least one place does not hold a frame that is only in
//!   memory. Otherwise no frame could be read after writing was given up.

mod clear;
mod log;
mod page;
mod place;
mod record;
mod work;

#[cfg(test)]
mod model;
#[cfg(test)]
mod power;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

pub use place::Place;
pub use record::Record;

use crate::{Discard, Full, Label, MAX_PAYLOAD, Stats, Store, Submission, count};
use core::cell::Cell;
use kinglet_flash::{Event, Geometry};
use kinglet_mem::{Array, copy};
use kinglet_time::{Duration, Instant, earliest};
use log::Log;
use page::HEADER;
use place::State;
use record::Whereabouts;
use work::Work;

/// Consecutive failed attempts after which a frame is given up. As long as no read succeeds, each
/// further frame is given up after its first attempt.
const READ_ATTEMPTS: u8 = 3;
/// Consecutive failed programs and erasures, each at another place, after which nothing is written
/// any more.
const WRITE_ATTEMPTS: u8 = 4;
/// A sector is erased ahead of its use if no frame was put or taken for this time, as the flash
/// does nothing else for a second then. It is longer than the gap between two frames of a burst,
/// even if one is sent several times.
const QUIET: Duration = Duration::from_millis(250);

/// State of writing to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// There is no flash, or none that fits.
    NoFlash,
    /// Frames are written when memory runs short.
    Usable,
    /// Writing was given up: it has failed too often.
    GivenUp,
    /// Writing was given up: the supply voltage is too low.
    LowVoltage,
}

/// Distribution of the waiting frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Waiting frames; their table has `T` places.
    pub waiting: usize,
    /// Those that are only in flash.
    pub in_flash: usize,
    /// Places in memory that hold a frame, or into which one is being read.
    pub places: usize,
    /// State of writing to flash.
    pub writes: Writes,
    /// True if the flash is powered down.
    pub powered_down: bool,
}

/// A store for as many frames as `T` has records, at most 256; as many of them as `P` has places, 2
/// to 255, are in memory at a time. With four to eight places the flash keeps up with a radio.
///
/// Until [`Store::attach`] it holds what fits `P`.
#[derive(Debug)]
pub struct Spilling<P, T> {
    places: P,
    /// Records of the waiting frames in order of arrival, then unused ones.
    records: T,
    used: usize,
    /// The number of the next frame.
    next_number: u16,
    /// Number of frames that are only in flash.
    in_flash: usize,
    /// Neighbour whose frames are wanted before those of others.
    preferred: Option<u8>,
    flash: Flash,
    stats: Stats,
}

/// State of the flash and its driver.
#[derive(Debug)]
struct Flash {
    geometry: Geometry,
    log: Log,
    writes: Writes,
    /// Consecutive failed programs and erasures.
    failed_writes: u8,
    /// Consecutive failed reads.
    failed_reads: u8,
    powered_down: bool,
    /// The current command, or the next one.
    work: Work,
    /// Time at which the event of `work` counts as lost; `None` if `work` was not submitted.
    limit: Option<Instant>,
    /// True if the driver must abandon the outstanding command.
    reset: bool,
    /// True if no frame was put or taken for a while.
    quiet: bool,
    /// Time at which that will be so, if there is something to do then.
    quiet_at: Option<Instant>,
    /// True if there was nothing to do, and nothing has changed since.
    settled: bool,
}

impl Flash {
    const NONE: Flash = Flash {
        geometry: Geometry::NONE,
        log: Log::NONE,
        writes: Writes::NoFlash,
        failed_writes: 0,
        failed_reads: 0,
        powered_down: false,
        work: Work::Nothing,
        limit: None,
        reset: false,
        quiet: false,
        quiet_at: None,
        settled: false,
    };
}

impl<P: Array<Place>, T: Array<Record>> Spilling<P, T> {
    /// Places that are kept ready for new frames while the flash is busy with other work.
    const RESERVE: usize = P::LEN.div_ceil(3);
    /// Number of the oldest frames for each neighbour that are read ahead.
    const AHEAD: u8 = (P::LEN / 2) as u8;
    const EMPTY: Self = Spilling {
        places: P::EMPTY,
        records: T::EMPTY,
        used: 0,
        next_number: 0,
        in_flash: 0,
        preferred: None,
        flash: Flash::NONE,
        stats: Stats::NONE,
    };

    /// Returns the distribution of the waiting frames.
    pub fn info(&self) -> Info {
        Info {
            waiting: self.used,
            in_flash: self.in_flash,
            places: P::LEN.saturating_sub(self.places_in(State::Free)),
            writes: self.flash.writes,
            powered_down: self.flash.powered_down,
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &Record> {
        self.records.as_slice().get(..self.used).unwrap_or_default().iter()
    }

    fn place(&self, place: u8) -> Option<&Place> {
        self.places.as_slice().get(usize::from(place))
    }

    fn place_mut(&mut self, place: u8) -> Option<&mut Place> {
        self.places.as_mut_slice().get_mut(usize::from(place))
    }

    fn places_in(&self, state: State) -> usize {
        self.places.as_slice().iter().filter(|place| place.state == state).count()
    }

    fn free_place(&self) -> Option<u8> {
        let mut states = self.places.as_slice().iter().map(|place| place.state);
        states.position(|state| state == State::Free).and_then(|place| u8::try_from(place).ok())
    }

    fn is_usable(&self) -> bool {
        self.flash.writes == Writes::Usable
    }

    /// Returns the number of places that puts can fill.
    fn room_in_places(&self) -> usize {
        let free = self.places_in(State::Free);
        // Copies are evicted only as long as the frames that replace them can be written in turn.
        let copied = if self.is_usable() { self.places_in(State::Copied) } else { 0 };
        let first_ones = if self.in_flash == 0 { free } else { 0 };
        // One place must be left for reading as soon as a frame is only in flash.
        let others = self.places_in(State::Copied).saturating_add(self.places_in(State::Awaiting));
        let all = free.saturating_add(copied);
        let last = free.saturating_add(others).saturating_sub(1);
        first_ones.max(all.min(last))
    }

    /// Returns a place for a new frame. A copied frame that is wanted later than others is evicted.
    fn place_for_put(&mut self) -> Option<u8> {
        if self.room_in_places() == 0 {
            return None;
        }
        if let Some(free) = self.free_place() {
            return Some(free);
        }
        let (_, last) = self.survey().last_copied?;
        self.evict(last);
        Some(last)
    }

    /// Evicts the frame in this place, which is only in flash from now on.
    fn evict(&mut self, place: u8) {
        let Some(&Place { state: State::Copied, slot, .. }) = self.place(place) else { return };
        let used = self.used;
        let records = self.records.as_mut_slice().iter_mut().take(used);
        for record in records {
            if record.whereabouts() == Whereabouts::Memory(place) {
                record.set(Whereabouts::Flash(slot));
                self.in_flash = self.in_flash.saturating_add(1);
            }
        }
        self.free(place);
    }

    fn free(&mut self, place: u8) {
        self.flash.work.forget_place(place);
        if let Some(place) = self.place_mut(place) {
            place.state = State::Free;
        }
    }

    /// Frees the location of a frame's octets.
    fn release(&mut self, whereabouts: Whereabouts) {
        match whereabouts {
            Whereabouts::Memory(place) => self.free(place),
            // The slot is free as soon as no record refers to it.
            Whereabouts::Flash(_) => self.in_flash = self.in_flash.saturating_sub(1),
        }
    }

    /// Removes the record with this index.
    fn remove(&mut self, index: usize) {
        let used = self.used;
        let Some(from) = self.records.as_mut_slice().get_mut(index..used) else { return };
        for pair in Cell::from_mut(from).as_slice_of_cells().windows(2) {
            if let [to, from] = pair {
                to.set(from.get());
            }
        }
        self.used = used.saturating_sub(1);
    }

    /// Notes a change of the queue: there may be something to do.
    fn touch(&mut self, now: Instant) {
        self.flash.quiet = false;
        self.flash.quiet_at = None;
        self.expect_quiet(now);
        self.flash.settled = false;
    }

    fn prefer_neighbour(&mut self, to: u8) {
        if self.preferred != Some(to) {
            self.preferred = Some(to);
            self.flash.settled = false;
        }
    }

    fn take_in(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        let len = u8::try_from(payload.len()).map_err(|_| Full)?;
        if len == 0 || payload.len() > MAX_PAYLOAD || self.used >= T::LEN {
            return Err(Full);
        }
        let place = self.place_for_put().ok_or(Full)?;
        let mut record = Record::new(label, len, self.next_number);
        record.set(Whereabouts::Memory(place));
        let into = self.place_mut(place).ok_or(Full)?;
        copy(into.octets.get_mut(HEADER..).unwrap_or_default(), payload);
        into.state = State::Alone;
        let used = self.used;
        *self.records.as_mut_slice().get_mut(used).ok_or(Full)? = record;
        self.used = used.saturating_add(1);
        self.next_number = self.next_number.wrapping_add(1);
        self.touch(now);
        Ok(())
    }
}

impl<P: Array<Place>, T: Array<Record>> Store for Spilling<P, T> {
    const NEW: Self = {
        assert!(P::LEN >= 2 && P::LEN <= 255, "places have numbers of an octet, and two do least");
        assert!(T::LEN >= P::LEN && T::LEN <= 256, "an occupied place has a record");
        Self::EMPTY
    };
    const HOLDS: bool = true;

    fn len(&self) -> usize {
        self.used
    }

    fn room(&self) -> usize {
        self.room_in_places().min(T::LEN.saturating_sub(self.used))
    }

    fn room_in_all(&self) -> usize {
        if self.is_usable() { T::LEN.saturating_sub(self.used) } else { self.room() }
    }

    fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        let put = self.take_in(now, label, payload);
        self.stats.note_put(put, self.used);
        put
    }

    fn first(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        // A bit for each neighbour whose oldest frame has been seen.
        let mut seen = [0_u32; 8];
        for record in self.waiting().filter(|record| wanted(record.to)) {
            let bit = 1_u32 << (record.to & 31);
            let Some(word) = seen.get_mut(usize::from(record.to >> 5)) else { continue };
            if *word & bit == 0 && !record.is_in_flash_only() {
                return Some(record.label());
            }
            *word |= bit;
        }
        None
    }

    fn oldest(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        self.waiting().find(|record| wanted(record.to)).map(Record::label)
    }

    fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize> {
        let (index, record) = self.waiting().enumerate().find(|(_, record)| record.to == to)?;
        let (whereabouts, len) = (record.whereabouts(), usize::from(record.len));
        let Whereabouts::Memory(place) = whereabouts else { return None };
        let payload = self.place(place)?.octets.get(HEADER..)?;
        copy(out.get_mut(..len)?, payload);
        self.release(whereabouts);
        self.remove(index);
        self.prefer_neighbour(to);
        count(&mut self.stats.taken);
        self.touch(now);
        Some(len)
    }

    fn drop_all(&mut self, now: Instant, label: Label) -> usize {
        let (used, mut kept) = (self.used, 0_usize);
        for index in 0..used {
            let Some(&record) = self.records.as_slice().get(index) else { break };
            if record.label() == label {
                self.release(record.whereabouts());
            } else if let Some(to) = self.records.as_mut_slice().get_mut(kept) {
                *to = record;
                kept = kept.saturating_add(1);
            }
        }
        self.used = kept;
        let dropped = used.saturating_sub(kept);
        self.stats.note_dropped(dropped);
        if dropped > 0 {
            self.touch(now);
        }
        dropped
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn attach(&mut self, now: Instant, geometry: Geometry, first_sector: u16) -> bool {
        self.attach_part(geometry, first_sector);
        self.expect_quiet(now);
        self.flash.writes != Writes::NoFlash
    }

    fn prefer(&mut self, _: Instant, wanted: impl Fn(u8) -> bool) {
        if let Some(label) = self.oldest(wanted) {
            self.prefer_neighbour(label.to);
        }
    }

    fn poll_flash(&mut self, now: Instant) -> Option<Submission<'_>> {
        self.submit(now)
    }

    fn flash_refused(&mut self, _: Instant) {
        self.take_back();
    }

    fn handle_flash(&mut self, now: Instant, event: Event, octets: &[u8]) -> Result<(), Discard> {
        self.flash.limit.ok_or(Discard::NotAwaited)?;
        self.end_work(event, octets);
        self.expect_quiet(now);
        Ok(())
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.flash.limit, self.flash.quiet_at)
    }

    fn handle_deadline(&mut self, now: Instant) {
        if self.flash.limit.is_some_and(|at| at <= now) {
            self.give_up_waiting();
            self.expect_quiet(now);
        }
        if self.flash.quiet_at.is_some_and(|at| at <= now) {
            self.become_quiet();
        }
    }
}
