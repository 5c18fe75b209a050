//! The one way in which frames are secured here: what their headers say of it.

use kinglet_wire::ieee802154;

/// ENC-MIC-32.
pub(crate) const LEVEL: u8 = 5;
/// Octets of the message integrity code.
pub(crate) const MIC: usize = 4;
/// Key identifier mode 1: an index alone.
pub(crate) const KEY_ID_MODE: u8 = 1;
/// The index of the one key.
pub(crate) const KEY_INDEX: u8 = 1;
/// The counter that no frame carries: with it a device's key is used up.
pub(crate) const EXHAUSTED: u32 = u32::MAX;
/// The security header of a frame that is queued; its counter comes with the transmission.
pub(crate) const HEADER: ieee802154::Security =
    ieee802154::Security { level: LEVEL, frame_counter: EXHAUSTED, key_index: KEY_INDEX };

/// What the header of a secured frame says of how to open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The frame counter.
    pub(crate) counter: u32,
    /// Where what is not encrypted ends.
    pub(crate) open_len: usize,
}
