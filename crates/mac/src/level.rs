//! The only kind of link security used here, as frame headers express it.

use kinglet_wire::ieee802154;

/// ENC-MIC-32.
pub(crate) const LEVEL: u8 = 5;
/// Octets of the message integrity code.
pub(crate) const MIC: usize = 4;
/// Key identifier mode 1: an index alone.
pub(crate) const KEY_ID_MODE: u8 = 1;
/// The index of the one key.
pub(crate) const KEY_INDEX: u8 = 1;
/// The counter that no frame carries: it marks a key as used up.
pub(crate) const EXHAUSTED: u32 = u32::MAX;
/// Security header of a queued frame; its counter is set at the transmission.
pub(crate) const HEADER: ieee802154::Security =
    ieee802154::Security { level: LEVEL, frame_counter: EXHAUSTED, key_index: KEY_INDEX };

/// Fields of a security header that are needed to open the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The frame counter.
    pub(crate) counter: u32,
    /// End of the unencrypted part.
    pub(crate) open_len: usize,
}
