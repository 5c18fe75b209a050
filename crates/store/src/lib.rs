//! The forwarding queue of a relay that receives bursts of seconds, without I/O.
//!
//! A relay that sleeps receives whole bursts from one neighbour and forwards them in bursts of its
//! own. Received frames wait in a [`Store`]: link payloads, each for one of its neighbours, in
//! order of arrival for each neighbour. [`Ram`] keeps all of them in memory; [`Spilling`] keeps a
//! few there, and the rest in flash.
//!
//! | type | content |
//! |---|---|
//! | `()` | nothing: the node relays no frames |
//! | [`Ram`] | `N` frames in memory |
//! | [`Spilling`] | up to 256 frames, 8 octets of memory for each, and most of them in flash |
//!
//! The canonical loop of a store with flash, in addition to puts and takes: pass every event of the
//! flash to [`Store::handle_flash`]; call [`Store::handle_deadline`] at [`Store::deadline`]; after
//! either, and after every call that changes the queue, pass the submissions of
//! [`Store::poll_flash`] to the driver until there are none. If [`Store::first`] returns nothing
//! for neighbours to which the user could send now, call [`Store::prefer`].
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

/// The next hop of a frame, and a tag, both numbers of the user's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// Number of the neighbour.
    pub to: u8,
    /// Tag that is returned with the frame.
    pub tag: u16,
}

/// There is no room for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Reason for which an event of the flash was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// No event was expected.
    NotAwaited,
}

/// A command for the driver of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission<'a> {
    /// The command.
    pub command: Command,
    /// The octets of a `Program`, empty otherwise.
    pub octets: &'a [u8],
}

/// Event counters since the store was created. They stop at their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Frames put.
    pub put: u32,
    /// Frames taken.
    pub taken: u32,
    /// Frames removed by [`Store::drop_all`].
    pub dropped: u32,
    /// Frames refused: [`Full`].
    pub refused: u32,
    /// Frames written to flash.
    pub written: u32,
    /// Frames read from flash.
    pub read: u32,
    /// Sectors erased.
    pub erased: u32,
    /// Programs and erasures that failed, or whose event did not come in time.
    pub failed_writes: u32,
    /// Reads that failed, returned other octets than were written, or whose event did not come in
    /// time.
    pub failed_reads: u32,
    /// Frames that could not be read.
    pub lost: u32,
    /// Times that writing was given up, after failures or because the supply voltage was too low.
    pub given_up: u32,
    /// The highest number of waiting frames.
    pub most: u16,
}

impl Stats {
    /// Returns every reason for which a frame was not kept or not read, with its count.
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

    /// All counters at zero.
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

    /// Counts the result of a `put`, after which `waiting` frames wait.
    fn note_put(&mut self, put: Result<(), Full>, waiting: usize) {
        count(if put.is_ok() { &mut self.put } else { &mut self.refused });
        self.most = self.most.max(u16::try_from(waiting).unwrap_or(u16::MAX));
    }

    /// Counts the frames that `drop_all` has removed.
    fn note_dropped(&mut self, dropped: usize) {
        self.dropped = self.dropped.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
    }
}

/// Increments a counter, up to its maximum.
fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// A queue of frames to be forwarded. Frames for one neighbour leave in their order of arrival;
/// those for different neighbours do not wait for each other.
///
/// Methods with a default are about flash; stores without flash need not implement them.
pub trait Store {
    /// An empty store.
    const NEW: Self;
    /// True if it can hold frames.
    const HOLDS: bool;

    /// Returns the number of frames that wait.
    fn len(&self) -> usize;

    /// Returns whether no frame waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many more frames can be put now, without a pause between them.
    fn room(&self) -> usize;

    /// Returns how many more frames can be put if they arrive slowly enough for the flash; at least
    /// [`Store::room`].
    fn room_in_all(&self) -> usize {
        self.room()
    }

    /// Puts a frame of 1 to [`MAX_PAYLOAD`] octets.
    ///
    /// # Errors
    /// [`Full`]; the frame was not put.
    fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full>;

    /// Returns the oldest frame of the `wanted` neighbours that can be taken at once. It is never
    /// newer than another one for the same neighbour.
    fn first(&self, wanted: impl Fn(u8) -> bool) -> Option<Label>;

    /// Returns the oldest frame of the `wanted` neighbours, even if it cannot be taken at once.
    fn oldest(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        self.first(wanted)
    }

    /// Writes the oldest frame for `to` to the start of `out` and removes it. Returns its length.
    /// Returns `None` and changes nothing if no such frame can be taken at once, or if `out` is too
    /// short.
    fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize>;

    /// Removes all frames with this label. Returns their number.
    fn drop_all(&mut self, now: Instant, label: Label) -> usize;

    /// Returns the event counters since the store was created.
    fn stats(&self) -> &Stats {
        &const { Stats::NONE }
    }

    /// Attaches a flash that is wholly the store's. Returns whether the store can use it.
    /// The previous content of the flash is ignored. The first sector to be erased is
    /// `first_sector`, modulo the number of sectors: a random value spreads the wear of a node that
    /// starts often.
    ///
    /// If a store already has this geometry and has given up writing ([`Stats::given_up`]), it
    /// tries again. With another geometry, frames that were only in flash are lost.
    fn attach(&mut self, _now: Instant, _geometry: Geometry, _first_sector: u16) -> bool {
        false
    }

    /// Prefers, among these neighbours, the one whose frame has waited longest: its frames are read
    /// into memory before those of others. Taking a frame prefers its neighbour without this call.
    fn prefer(&mut self, _now: Instant, _wanted: impl Fn(u8) -> bool) {}

    /// Returns the next command for the flash. It is outstanding until [`Store::handle_flash`] or
    /// [`Store::flash_refused`], except for `Reset`, which has no event. There is no other command
    /// until then.
    fn poll_flash(&mut self, _now: Instant) -> Option<Submission<'_>> {
        None
    }

    /// Notes that the driver was busy and did not take the last submission, which is offered again.
    fn flash_refused(&mut self, _now: Instant) {}

    /// Handles the result of the outstanding command; `octets` begin with those of a `Read`.
    ///
    /// # Errors
    /// [`Discard`]; nothing has changed.
    fn handle_flash(&mut self, _: Instant, _event: Event, _octets: &[u8]) -> Result<(), Discard> {
        Err(Discard::NotAwaited)
    }

    /// Returns the latest time for a call of [`Store::handle_deadline`].
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles what is due.
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
