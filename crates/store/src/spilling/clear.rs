//! Clearing of a sector. If few slots are left and frames wait in every sector, none can be erased,
//! and the frames of one sector are moved. A neighbour that sleeps for long, or is gone, can cause
//! this with a few frames, each written when the log had reached another sector.
//!
//! Each step leaves one frame less in the sector, and takes at most one slot. A sector is cleared
//! only if that costs less than it gains, so this ends.

use super::Spilling;
use super::place::{Place, State};
use super::record::{Record, Whereabouts};
use kinglet_mem::Array;

/// Result of a step of clearing.
pub(super) enum Cleared {
    /// No step is possible.
    Nothing,
    /// A frame that was in memory and in flash is only in memory now.
    OneInMemory,
    /// The frame in this slot must be read into this place, from which another frame may be
    /// evicted.
    ByReading(u16, u8),
}

impl<P: Array<Place>, T: Array<Record>> Spilling<P, T> {
    /// Returns the next sector in which no frame waits.
    pub(super) fn erasable(&self) -> Option<u16> {
        self.flash.log.find(T::LEN, |sector| self.slots_used_in(sector).next().is_none())
    }

    /// Moves one frame out of a sector, or returns the one that must be read for that.
    pub(super) fn clear(&mut self) -> Cleared {
        if !self.can_leave_flash() {
            return Cleared::Nothing;
        }
        let log = &self.flash.log;
        let should_clear = |sector| log.should_clear(self.slots_used_in(sector).count());
        let Some(sector) = log.find(T::LEN, should_clear) else { return Cleared::Nothing };
        let copied = |p: &&mut Place| p.state == State::Copied && log.is_in(p.slot, sector);
        if let Some(place) = self.places.as_mut_slice().iter_mut().find(copied) {
            place.state = State::Alone;
            return Cleared::OneInMemory;
        }
        let last = || self.survey().last_copied.map(|(_, place)| place);
        let slot = self.slots_used_in(sector).next();
        match slot.zip(self.free_place().or_else(last)) {
            Some((slot, place)) => Cleared::ByReading(slot, place),
            None => Cleared::Nothing,
        }
    }

    /// Returns whether one more frame may be only in memory: a place must be left for reading.
    pub(super) fn can_leave_flash(&self) -> bool {
        self.places_in(State::Alone).saturating_add(1) < P::LEN
    }

    /// Returns the slots of this sector in which frames wait.
    fn slots_used_in(&self, sector: u16) -> impl Iterator<Item = u16> {
        let records = self.waiting().filter_map(|record| match record.whereabouts() {
            Whereabouts::Flash(slot) => Some(slot),
            Whereabouts::Memory(_) => None,
        });
        let copied = self.places.as_slice().iter().filter(|place| place.state == State::Copied);
        let slots = records.chain(copied.map(|place| place.slot));
        slots.filter(move |&slot| self.flash.log.is_in(slot, sector))
    }
}
