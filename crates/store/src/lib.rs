//! The queue of a relay that takes bursts of seconds, without I/O.
//!
//! A relay that sleeps takes whole bursts from one neighbour and passes them on in bursts of its
//! own. What it has taken waits in a [`Store`]: link payloads, each for one of its neighbours, in
//! the order of their coming for each of them. [`Ram`] keeps all of them in memory, [`Spilling`] a
//! few, and the rest in flash.
//!
//! | type | keeps |
//! |---|---|
//! | `()` | nothing: nobody relays frames |
//! | [`Ram`] | `N` frames in memory |
//! | [`Spilling`] | up to 256 frames, 8 octets of memory for each, and most of them in flash |
//!
//! The canonical loop of a store with flash, beside what is put and taken: give every event of the
//! flash to [`Store::handle_flash`]; when [`Store::deadline`] has come, call
//! [`Store::handle_deadline`]; after either, and after every call that changes the queue, offer
//! what [`Store::poll_flash`] gives to the driver until it gives nothing. When [`Store::first`]
//! gives nothing for neighbours whom the user could send to now, [`Store::prefer`] says so.
//!
//! ```
//! use kinglet_flash::{Event, Geometry};
//! use kinglet_store::{Label, Place, Record, Spilling, Store};
//! use kinglet_time::Instant;
//!
//! let now = Instant::ZERO;
//! let mut store: Spilling<[Place; 4], [Record; 64]> = Spilling::NEW;
//! store.attach(now, Geometry::M25P80, 0);
//! // A driver would do the work; here all of it is done at once.
//! while let Some(submission) = store.poll_flash(now) {
//!     println!("{:?} {:?}", submission.command, submission.octets);
//!     store.handle_flash(now, Event::Done { at: now }, &[]).unwrap();
//! }
//! store.put(now, Label { to: 3, tag: 0 }, b"hello").unwrap();
//! let mut frame = [0; 118];
//! assert_eq!(store.first(|_| true), Some(Label { to: 3, tag: 0 }));
//! assert_eq!(store.take(now, 3, &mut frame), Some(5));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod ram;
mod spilling;

pub use ram::{Frame, Ram};
pub use spilling::{Info, Place, Record, Spilling, Writes};

use kinglet_flash::{Command, Event, Geometry};
use kinglet_time::Instant;

/// The longest payload of a frame: 127 octets less FCS and the shortest header with a source.
pub const MAX_PAYLOAD: usize = 118;

/// For whom a frame is, by the user's own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// One of its neighbours.
    pub to: u8,
    /// Comes back with the frame.
    pub tag: u16,
}

/// There is no room for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Why an event of the flash was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// No event was expected.
    NotAwaited,
}

/// What the driver of the flash is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission<'a> {
    /// What.
    pub command: Command,
    /// The octets of a `Program`, empty otherwise.
    pub octets: &'a [u8],
}

/// What has happened since the store was made. All counters stay at their greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Frames that were put.
    pub put: u32,
    /// Frames that were taken.
    pub taken: u32,
    /// Frames that [`Store::drop_all`] has removed.
    pub dropped: u32,
    /// Frames that were not taken in: [`Full`].
    pub refused: u32,
    /// Frames that were written to flash.
    pub written: u32,
    /// Frames that were read from flash.
    pub read: u32,
    /// Sectors that were erased.
    pub erased: u32,
    /// Programs and erasures that failed, or of which nothing was heard in time.
    pub failed_writes: u32,
    /// Reads that failed, gave other octets than were written, or of which nothing was heard.
    pub failed_reads: u32,
    /// Frames that could not be read.
    pub lost: u32,
    /// How often writing was given up, after failures or because the supply voltage was too low.
    pub given_up: u32,
    /// The most frames that ever waited.
    pub most: u16,
}

impl Stats {
    /// Every reason for which a frame was not kept or not read, with its count.
    pub fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        [
            ("dropped", self.dropped),
            ("refused", self.refused),
            ("failed_writes", self.failed_writes),
            ("failed_reads", self.failed_reads),
            ("lost", self.lost),
            ("given_up", self.given_up),
        ]
        .into_iter()
    }

    /// Nothing has happened.
    pub const NONE: Stats = Stats {
        put: 0,
        taken: 0,
        dropped: 0,
        refused: 0,
        written: 0,
        read: 0,
        erased: 0,
        failed_writes: 0,
        failed_reads: 0,
        lost: 0,
        given_up: 0,
        most: 0,
    };

    /// Takes note of what became of a `put`, after which so many wait.
    fn note_put(&mut self, put: Result<(), Full>, waiting: usize) {
        count(if put.is_ok() { &mut self.put } else { &mut self.refused });
        self.most = self.most.max(u16::try_from(waiting).unwrap_or(u16::MAX));
    }

    /// Takes note of what `drop_all` has removed.
    fn note_dropped(&mut self, dropped: usize) {
        self.dropped = self.dropped.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
    }
}

/// One more.
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// A queue of frames on their way. Frames for one neighbour leave in the order in which they came;
/// those for others need not wait for them.
///
/// What has a default is about flash: stores without any need not know it.
pub trait Store {
    /// Without frames.
    const NEW: Self;
    /// Whether it can hold any.
    const HOLDS: bool;

    /// How many wait.
    fn len(&self) -> usize;

    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many more can be put now, one after the other without a pause.
    fn room(&self) -> usize;

    /// How many more can be put if they come so slowly that the flash can follow; at least
    /// [`Store::room`].
    fn room_in_all(&self) -> usize {
        self.room()
    }

    /// Takes a frame of 1 to [`MAX_PAYLOAD`] octets.
    ///
    /// # Errors
    /// [`Full`]; nothing was taken.
    fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full>;

    /// The oldest frame of one of the neighbours that are `wanted`, if it can be taken at once. It
    /// is never younger than another one for the same neighbour.
    fn first(&self, wanted: impl Fn(u8) -> bool) -> Option<Label>;

    /// The oldest frame of one of the neighbours that are `wanted`, whether it can be taken at once
    /// or not.
    fn oldest(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        self.first(wanted)
    }

    /// Writes the oldest frame for `to` to the start of `out` and removes it; its length. `None` if
    /// there is none that can be taken at once, or `out` is too short; nothing has changed then.
    fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize>;

    /// Removes all frames with this label; how many.
    fn drop_all(&mut self, now: Instant, label: Label) -> usize;

    /// What has happened since the store was made.
    fn stats(&self) -> &Stats {
        &const { Stats::NONE }
    }

    /// There is a flash, and the store has all of it; whether it can use it. Nothing of what the
    /// flash holds is believed. The first sector to be erased is `first_sector`, modulo their
    /// number: a random one spreads the wear of those who start often.
    ///
    /// With the geometry that it has already a store tries again to write if it had given that up
    /// ([`Stats::given_up`]). With another one what was in flash only is lost.
    fn attach(&mut self, _now: Instant, _geometry: Geometry, _first_sector: u16) -> bool {
        false
    }

    /// Of these neighbours the one that has waited longest is sent to next: its frames come to
    /// memory before those of others. Whoever is taken from is preferred without that.
    fn prefer(&mut self, _now: Instant, _wanted: impl Fn(u8) -> bool) {}

    /// The next command for the flash. It is outstanding until [`Store::handle_flash`] or
    /// [`Store::flash_refused`], but for `Reset`, which has no event; until then there is none.
    fn poll_flash(&mut self, _now: Instant) -> Option<Submission<'_>> {
        None
    }

    /// The driver was busy and did not take the last submission: it will be offered again.
    fn flash_refused(&mut self, _now: Instant) {}

    /// What became of the outstanding command; `octets` begin with those of a `Read`.
    ///
    /// # Errors
    /// [`Discard`]; nothing has changed.
    fn handle_flash(&mut self, _: Instant, _event: Event, _octets: &[u8]) -> Result<(), Discard> {
        Err(Discard::NotAwaited)
    }

    /// When to call [`Store::handle_deadline`] at the latest.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Does what is due.
    fn handle_deadline(&mut self, _now: Instant) {}
}

impl Store for () {
    const NEW: Self = ();
    const HOLDS: bool = false;

    fn len(&self) -> usize {
        0
    }

    fn room(&self) -> usize {
        0
    }

    fn put(&mut self, _: Instant, _: Label, _: &[u8]) -> Result<(), Full> {
        Err(Full)
    }

    fn first(&self, _: impl Fn(u8) -> bool) -> Option<Label> {
        None
    }

    fn take(&mut self, _: Instant, _: u8, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn drop_all(&mut self, _: Instant, _: Label) -> usize {
        0
    }
}
