//! Places in memory for the octets of a few frames.

use super::page::LONGEST;
use kinglet_mem::Empty;

/// Content of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// No frame.
    Free = 0,
    /// A frame that is only here.
    Alone,
    /// A frame that is also in flash.
    Copied,
    /// A frame that is being read into it.
    Awaiting,
}

/// A place in memory for one frame.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// As in a slot of the flash, but with the header only just before it is written.
    pub(super) octets: [u8; LONGEST],
    pub(super) state: State,
    /// Slot of the copy in flash.
    pub(super) slot: u16,
}

impl Empty for Place {
    const EMPTY: Self = Place { octets: [0; LONGEST], state: State::Free, slot: 0 };
}
