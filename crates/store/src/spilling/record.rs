//! The record of a waiting frame in memory.

use crate::Label;
use kinglet_mem::Empty;

/// The record of a waiting frame in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub(super) to: u8,
    /// Octets of the payload.
    pub(super) len: u8,
    pub(super) tag: u16,
    /// A place in memory, or the slot in flash of a frame that is only there.
    pub(super) whereabouts: u16,
    /// Arrival number, by which its octets in flash are identified. Numbers wrap; the order of
    /// frames is that of the records in their table.
    pub(super) number: u16,
}

const _: () = assert!(size_of::<Record>() <= 8);

/// Location of the octets of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// In this place, and possibly also in flash.
    Memory(u8),
    /// In this slot only.
    Flash(u16),
}

/// Flag of places in memory.
const IN_MEMORY: u16 = 0x8000;
/// Number of slots that can be numbered.
pub(super) const MAX_SLOTS: u16 = IN_MEMORY;

impl Record {
    /// Creates the record of a frame whose octets are in the first place.
    pub(super) const fn new(label: Label, len: u8, number: u16) -> Self {
        Record { to: label.to, len, tag: label.tag, whereabouts: IN_MEMORY, number }
    }

    pub(super) fn label(&self) -> Label {
        Label { to: self.to, tag: self.tag }
    }

    pub(super) fn whereabouts(&self) -> Whereabouts {
        let [place, _] = self.whereabouts.to_le_bytes();
        if self.whereabouts & IN_MEMORY != 0 {
            Whereabouts::Memory(place)
        } else {
            Whereabouts::Flash(self.whereabouts)
        }
    }

    pub(super) fn set(&mut self, whereabouts: Whereabouts) {
        self.whereabouts = match whereabouts {
            Whereabouts::Memory(place) => IN_MEMORY | u16::from(place),
            Whereabouts::Flash(slot) => slot & !IN_MEMORY,
        };
    }

    pub(super) fn is_in_flash_only(&self) -> bool {
        self.whereabouts & IN_MEMORY == 0
    }
}

impl Empty for Record {
    const EMPTY: Self = Record { to: 0, len: 0, tag: 0, whereabouts: 0, number: 0 };
}
