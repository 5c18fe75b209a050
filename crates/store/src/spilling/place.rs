//! Places in memory for the octets of a few frames.

use super::page::LONGEST;
use kinglet_mem::Empty;

/// What a place holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum State {
    /// Nothing.
    Free = 0,
    /// A frame that is nowhere else.
    Alone,
    /// A frame that is in flash as well.
    Copied,
    /// A frame is being read into it.
    Awaiting,
}

/// A place in memory for one frame.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// As in a slot of the flash, but the header is there only when it is about to be written.
    pub(super) octets: [u8; LONGEST],
    pub(super) state: State,
    /// Of what is in flash as well.
    pub(super) slot: u16,
}

impl Empty for Place {
    const EMPTY: Self = Place { octets: [0; LONGEST], state: State::Free, slot: 0 };
}
