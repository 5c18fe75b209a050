//! What is done when few slots are left and something waits in every sector, so that none can be
//! erased: the frames of one are moved. A neighbour that sleeps for long, or is gone, can bring
//! that about with a few frames, each written when the log had come to another sector.
//!
//! Each step leaves one frame less in the sector, and takes one slot at the most. A sector is
//! cleared only if that is less than what it wins, so this ends.

use super::Spilling;
use super::place::{Place, State};
use super::record::{Record, Whereabouts};
use kinglet_mem::Array;

/// What was done to clear a sector.
pub(super) enum Cleared {
    /// Nothing can be done.
    Nothing,
    /// A frame that is in memory as well is there alone now.
    OneInMemory,
    /// The frame in this slot has to be read into this place, where another may make way.
    ByReading(u16, u8),
}

impl<P: Array<Place>, T: Array<Record>> Spilling<P, T> {
    /// The next sector in which nothing waits.
    pub(super) fn erasable(&self) -> Option<u16> {
        self.flash.log.find(T::LEN, |sector| self.slots_used_in(sector).next().is_none())
    }

    /// Moves one frame out of a sector, or says which has to be read for that.
    pub(super) fn clear(&mut self) -> Cleared {
        if !self.can_leave_flash() {
            return Cleared::Nothing;
        }
        let log = &self.flash.log;
        let worth = |sector| log.is_worth_clearing(self.slots_used_in(sector).count());
        let Some(sector) = log.find(T::LEN, worth) else { return Cleared::Nothing };
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

    /// Whether one more frame may be in memory alone: a place must be left for reading.
    pub(super) fn can_leave_flash(&self) -> bool {
        self.places_in(State::Alone).saturating_add(1) < P::LEN
    }

    /// The slots of this sector in which something waits.
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
