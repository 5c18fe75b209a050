//! The most frequent header: of data, with short addresses, inside one PAN.
//!
//! The general parser gives the same result for these, at many times the instructions. Only this
//! module knows the positions of the fields; all other frames, and doubtful ones, are for
//! [`Frame`](kinglet_wire::ieee802154::Frame) and [`Repr`](kinglet_wire::ieee802154::Repr).

use crate::level::{HEADER, KEY_ID_MODE, LEVEL, Sealed};
use kinglet_wire::ieee802154::PanId;

/// Such a header.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    pub(crate) ack: bool,
    pub(crate) pending: bool,
    pub(crate) sequence: u8,
    pub(crate) pan_id: PanId,
    pub(crate) dst: u16,
    pub(crate) src: u16,
}

/// Bits of the first octet.
const SECURED: u8 = 1 << 3;
const PENDING: u8 = 1 << 4;
const ACK: u8 = 1 << 5;
/// The security control field.
const CONTROL: u8 = LEVEL | KEY_ID_MODE << 3;

impl Plain {
    pub(crate) const LEN: usize = 9;
    /// Length with a security header.
    pub(crate) const SECURED_LEN: usize = Self::LEN + 6;
    /// Position of the frame counter in a secured frame.
    pub(crate) const COUNTER_AT: usize = Self::LEN + 1;

    /// A data frame with one PAN identifier: the first octet without the bits above, the second one
    /// with two short addresses and version 0.
    const LOW: u8 = 0b0100_0001;
    const HIGH: u8 = 0b1000_1000;
    const VERSION_1: u8 = 1 << 4;

    /// Returns the header, without a security header.
    pub(crate) const fn octets(self) -> [u8; Plain::LEN] {
        let bits = if self.pending { PENDING } else { 0 } | if self.ack { ACK } else { 0 };
        let [a, b] = self.pan_id.0.to_le_bytes();
        let ([c, d], [e, f]) = (self.dst.to_le_bytes(), self.src.to_le_bytes());
        [Self::LOW | bits, Self::HIGH | Self::VERSION_1, self.sequence, a, b, c, d, e, f]
    }

    /// Reserves space for a frame counter in a frame that begins with such octets, and returns the
    /// length of its header then.
    pub(crate) fn reserve_counter(frame: &mut [u8]) -> Option<usize> {
        let [a, b, c, d] = HEADER.frame_counter.to_le_bytes();
        *frame.first_mut()? |= SECURED;
        *frame.get_mut(Self::LEN..)?.first_chunk_mut()? = [CONTROL, a, b, c, d, HEADER.key_index];
        Some(Self::SECURED_LEN)
    }

    /// Reads the header of a frame that must be secured, or must not, according to `secured`.
    pub(crate) fn read(frame: &[u8], secured: bool) -> Option<Plain> {
        let (&[low, high, sequence, a, b, c, d, e, f], _) = frame.split_first_chunk()?;
        // Versions 0 and 1 differ only in the length of the payload; in secured frames, version 0
        // means another security.
        let (bits, versions) = if secured { (SECURED, 0) } else { (0, Self::VERSION_1) };
        if low & !(PENDING | ACK) != Self::LOW | bits
            || high | versions != Self::HIGH | Self::VERSION_1
        {
            return None;
        }
        Some(Plain {
            ack: low & ACK != 0,
            pending: low & PENDING != 0,
            sequence,
            pan_id: PanId(u16::from_le_bytes([a, b])),
            dst: u16::from_le_bytes([c, d]),
            src: u16::from_le_bytes([e, f]),
        })
    }

    /// Returns the fields needed to open a frame that was read as secured, if its security is this
    /// device's.
    pub(crate) fn sealed(frame: &[u8]) -> Option<Sealed> {
        let &[control, a, b, c, d, index] = frame.get(Self::LEN..)?.first_chunk()?;
        let ours = control == CONTROL && index == HEADER.key_index;
        let counter = u32::from_le_bytes([a, b, c, d]);
        ours.then_some(Sealed { counter, open_len: Self::SECURED_LEN })
    }

    /// Returns whether a frame of this device has its security fields at these positions.
    pub(crate) const fn has_counter(frame: &[u8]) -> bool {
        let [low, high, ..] = frame else { return false };
        *low & !(PENDING | ACK) == Self::LOW | SECURED && *high == Self::HIGH | Self::VERSION_1
    }
}
