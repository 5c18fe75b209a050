//! Frames that wait in a simulated relay: kept in memory, or in flash if the scenario has one.

use crate::memory::Later;
use kinglet::flash::{Event, Geometry};
use kinglet::store::{
    Discard, Frame, Full, Label, Place, Ram, Record, Spilling, Stats, Store, Submission,
};
use kinglet::time::Instant;

/// Number of frames that wait in a relay of fragments: the paper's 256 (Duquennoy et al., 5.2).
pub const RELAYED: usize = 256;
/// The same in a quarter of the flash: the 64 of the paper's timeline (7.1).
const IN_A_QUARTER: usize = RELAYED / 4;
/// Frames in memory if there is a flash. A third of them is reserved for frames that arrive while
/// it writes; a relay refuses bursts if it has room for no more than one.
const IN_MEMORY: usize = 10;

type InMemory = Ram<Later<Frame, RELAYED>>;
type InFlash<const FRAMES: usize> = Spilling<[Place; IN_MEMORY], [Record; FRAMES]>;

/// Up to [`RELAYED`] frames. Without flash all of them are in memory.
#[derive(Debug)]
pub enum Kept {
    /// All are in memory.
    Memory(InMemory),
    /// Most frames are in flash when many wait.
    Flash(Box<InFlash<RELAYED>>),
    /// The same in a quarter of the flash.
    Quarter(Box<InFlash<IN_A_QUARTER>>),
}

/// Applies `$done` to the store in use.
macro_rules! with {
    ($kept:expr, $store:ident => $done:expr) => {
        match $kept {
            Kept::Memory($store) => $done,
            Kept::Flash($store) => $done,
            Kept::Quarter($store) => $done,
        }
    };
}

impl Store for Kept {
    const NEW: Self = Kept::Memory(InMemory::NEW);
    const HOLDS: bool = true;

    fn len(&self) -> usize {
        with!(self, store => store.len())
    }

    fn room(&self) -> usize {
        with!(self, store => store.room())
    }

    fn room_in_all(&self) -> usize {
        with!(self, store => store.room_in_all())
    }

    fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        with!(self, store => store.put(now, label, payload))
    }

    fn first(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        with!(self, store => store.first(wanted))
    }

    fn oldest(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        with!(self, store => store.oldest(wanted))
    }

    fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize> {
        with!(self, store => store.take(now, to, out))
    }

    fn drop_all(&mut self, now: Instant, label: Label) -> usize {
        with!(self, store => store.drop_all(now, label))
    }

    fn stats(&self) -> &Stats {
        with!(self, store => store.stats())
    }

    fn attach(&mut self, now: Instant, geometry: Geometry, first_sector: u16) -> bool {
        if let Kept::Memory(_) = self {
            *self = match geometry.sectors < Geometry::M25P80.sectors {
                true => Kept::Quarter(Box::new(InFlash::NEW)),
                false => Kept::Flash(Box::new(InFlash::NEW)),
            };
        }
        with!(self, store => store.attach(now, geometry, first_sector))
    }

    fn prefer(&mut self, now: Instant, wanted: impl Fn(u8) -> bool) {
        with!(self, store => store.prefer(now, wanted));
    }

    fn poll_flash(&mut self, now: Instant) -> Option<Submission<'_>> {
        with!(self, store => store.poll_flash(now))
    }

    fn flash_refused(&mut self, now: Instant) {
        with!(self, store => store.flash_refused(now));
    }

    fn handle_flash(&mut self, now: Instant, event: Event, octets: &[u8]) -> Result<(), Discard> {
        with!(self, store => store.handle_flash(now, event, octets))
    }

    fn deadline(&self) -> Option<Instant> {
        with!(self, store => store.deadline())
    }

    fn handle_deadline(&mut self, now: Instant) {
        with!(self, store => store.handle_deadline(now));
    }
}
