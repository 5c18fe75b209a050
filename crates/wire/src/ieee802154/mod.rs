//! IEEE 802.15.4-2015 MAC frames, clause 7, without their frame check sequence.
//!
//! [`Frame`] is the view: all frame types with a general MAC header, every addressing mode, PAN
//! identifier compression by the rules of frame versions 0 and 1 (2003, 2006) and of version 2
//! (2015, Table 7-2), sequence number suppression, the auxiliary security header (located; the MAC
//! processes it) and information elements (located, not interpreted). [`Repr`] writes the frames
//! that Kinglet sends, inside one PAN.
//!
//! Not supported: multipurpose, fragment and extended frames (types 5 to 7) and the security of the
//! 2003 edition, all of them refused.

mod fcs;
mod frame;
mod reader;
mod repr;
#[cfg(test)]
mod tests;

pub use fcs::{fcs, fcs_is_right};
pub use frame::{AuxSecurity, Frame};
pub use repr::{Csl, Repr, Security};

use core::fmt;

/// A PAN identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PanId(pub u16);

impl PanId {
    /// The broadcast PAN identifier, 0xFFFF.
    pub const BROADCAST: PanId = PanId(0xffff);
}

/// The address of a device in a MAC frame. Its tag is a word, so that a core without other
/// instructions for it copies words. Otherwise every frame would call `memcpy` many times.
#[derive(Clone, Copy, Eq)]
#[repr(u32)]
pub enum Address {
    /// The field is not present.
    None,
    /// A short address, 16 bits.
    Short(u16),
    /// An extended address (EUI-64), most significant octet first. On the air it is sent with its
    /// least significant octet first.
    Extended([u8; 8]),
}

impl Address {
    /// The broadcast short address, 0xFFFF.
    pub const BROADCAST: Address = Address::Short(0xffff);

    /// Returns whether this is the broadcast short address.
    pub const fn is_broadcast(self) -> bool {
        matches!(self, Address::Short(0xffff))
    }

    /// Returns whether this names one device: a short address that can be assigned (not 0xFFFE,
    /// which means "use the extended address", nor broadcast), or an extended one.
    pub const fn is_unicast(self) -> bool {
        match self {
            Address::None => false,
            Address::Short(short) => short < 0xfffe,
            Address::Extended(_) => true,
        }
    }

    /// Returns the octets of the field on the air: 0, 2 or 8.
    pub const fn len(self) -> usize {
        match self {
            Address::None => 0,
            Address::Short(_) => 2,
            Address::Extended(_) => 8,
        }
    }

    /// Returns whether the field is not present.
    pub const fn is_empty(self) -> bool {
        matches!(self, Address::None)
    }

    /// Returns the addressing mode subfield, Table 7-3.
    const fn mode(self) -> u16 {
        match self {
            Address::None => 0,
            Address::Short(_) => 2,
            Address::Extended(_) => 3,
        }
    }
}

impl PartialEq for Address {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Address::None, Address::None) => true,
            (Address::Short(a), Address::Short(b)) => a == b,
            (Address::Extended(a), Address::Extended(b)) => is_same(a, b),
            _ => false,
        }
    }
}

/// Returns whether two extended addresses are the same. Every layer uses this, so it is in a
/// program once: a small core loads the addresses octet by octet, which would take 80 octets of
/// code at each place.
#[inline(never)]
fn is_same(a: &[u8; 8], b: &[u8; 8]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::None => f.write_str("-"),
            Address::Short(short) => write!(f, "{short:04x}"),
            Address::Extended(octets) => {
                let [first, rest @ ..] = octets;
                write!(f, "{first:02x}")?;
                rest.iter().try_for_each(|octet| write!(f, ":{octet:02x}"))
            }
        }
    }
}

/// The frame types with a general MAC header, Table 7-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameType {
    /// A beacon.
    Beacon,
    /// A data frame.
    Data,
    /// An acknowledgement: immediate in versions 0 and 1, enhanced in version 2.
    Ack,
    /// A MAC command; the first payload octet is its identifier.
    Command,
}

impl FrameType {
    const fn bits(self) -> u16 {
        match self {
            FrameType::Beacon => 0,
            FrameType::Data => 1,
            FrameType::Ack => 2,
            FrameType::Command => 3,
        }
    }
}

/// The frame version, 7.2.2.10: the edition whose rules the frame follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0: IEEE 802.15.4-2003.
    V2003,
    /// 1: IEEE 802.15.4-2006.
    V2006,
    /// 2: IEEE 802.15.4-2015.
    V2015,
}

impl Version {
    const fn bits(self) -> u16 {
        match self {
            Version::V2003 => 0,
            Version::V2006 => 1,
            Version::V2015 => 2,
        }
    }
}

/// Command identifier of a data request (7.5.5): a request for frames that are held for the sender.
pub const COMMAND_DATA_REQUEST: u8 = 0x04;

/// Bits of the frame control field, 7.2.2, as a little-endian word.
mod control {
    pub(super) const TYPE: u16 = 0x0007;
    pub(super) const SECURITY: u16 = 1 << 3;
    pub(super) const PENDING: u16 = 1 << 4;
    pub(super) const ACK_REQUEST: u16 = 1 << 5;
    pub(super) const COMPRESSION: u16 = 1 << 6;
    pub(super) const SEQUENCE_SUPPRESSED: u16 = 1 << 8;
    pub(super) const IE_PRESENT: u16 = 1 << 9;
    pub(super) const DST_MODE_SHIFT: u32 = 10;
    pub(super) const VERSION_SHIFT: u32 = 12;
    pub(super) const SRC_MODE_SHIFT: u32 = 14;
}

/// Information element identifiers, 7.4.2 and 7.4.3.
mod ie {
    /// Vendor-specific header IE, 7.4.2.2: an OUI and vendor-defined content.
    pub(super) const HEADER_VENDOR: u8 = 0x00;
    /// CSL IE, 7.4.2.3.
    pub(super) const HEADER_CSL: u8 = 0x1a;
    /// Header Termination 1: payload IEs follow.
    pub(super) const HEADER_TERMINATION_1: u8 = 0x7e;
    /// Header Termination 2: the payload follows.
    pub(super) const HEADER_TERMINATION_2: u8 = 0x7f;
    /// Payload Termination: the payload follows.
    pub(super) const PAYLOAD_TERMINATION: u8 = 0x0f;
}
