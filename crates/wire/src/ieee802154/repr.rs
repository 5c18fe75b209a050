//! Output of frames.

use super::{Address, FrameType, PanId, Version, control, ie};
use crate::{Error, Field};
use core::slice::IterMut;

/// The auxiliary security header (9.4), to be written, of a frame whose key is identified by its
/// index alone (key identifier mode 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    /// The security level, 0 to 7 (Table 9-6).
    pub level: u8,
    /// The frame counter.
    pub frame_counter: u32,
    /// The key index, 1 to 255.
    pub key_index: u8,
}

impl Security {
    /// Octets of the header: security control, frame counter, key index.
    pub const LEN: usize = 1 + 4 + 1;
    /// Key identifier mode 1 in the security control field.
    const KEY_INDEX_MODE: u8 = 1 << 3;
}

/// The CSL IE, 7.4.2.3: the sampling times of the sender, in units of ten symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csl {
    /// Time from the first symbol of this frame to the next sample.
    pub phase: u16,
    /// Time from one sample to the next.
    pub period: u16,
}

impl Csl {
    /// Octets of the IE with its descriptor, and of the termination behind it.
    pub const LEN: usize = 2 + 4 + 2;
    /// Octets of its content.
    pub(super) const CONTENT: u8 = 4;
}

/// The header of a frame inside one PAN, to be written; the payload follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// The frame type.
    pub frame_type: FrameType,
    /// The frame version.
    pub version: Version,
    /// True if the recipient shall acknowledge.
    pub ack_request: bool,
    /// True if more frames are held for the recipient.
    pub frame_pending: bool,
    /// The sequence number.
    pub sequence: u8,
    /// The PAN of both ends. Not sent in a frame without addresses.
    pub pan_id: PanId,
    /// The destination.
    pub dst: Address,
    /// The source.
    pub src: Address,
    /// The auxiliary security header; not in frames of version 0.
    pub security: Option<Security>,
    /// Sampling times of the sender; only in a frame of version 2.
    pub csl: Option<Csl>,
    /// Octets of filling between addresses and payload: 0, or [`Repr::MIN_FILLING`] to
    /// [`Repr::MAX_FILLING`] in a frame of version 2. They stand for the octets of link security
    /// that is not used, so that air time and payload sizes are the same without it. On the air
    /// this is a vendor-specific header IE (7.4.2.2) of OUI 00-00-00 with zero content, and Header
    /// Termination 2; a receiver of the 2015 edition skips it.
    pub filling: u8,
}

impl Repr {
    /// The smallest [`Repr::filling`]: an IE descriptor, the OUI, a termination.
    pub const MIN_FILLING: u8 = 7;
    /// The largest [`Repr::filling`]. A full IE, 127 octets, is longer than any frame; this is what
    /// a frame with two extended addresses can still hold.
    pub const MAX_FILLING: u8 = 100;

    /// Returns an immediate acknowledgement (7.3.3) of the frame with this sequence number.
    pub const fn ack(sequence: u8, frame_pending: bool) -> Self {
        Repr {
            frame_type: FrameType::Ack,
            version: Version::V2003,
            ack_request: false,
            frame_pending,
            sequence,
            pan_id: PanId::BROADCAST,
            dst: Address::None,
            src: Address::None,
            security: None,
            csl: None,
            filling: 0,
        }
    }

    /// Octets of the header.
    pub const fn header_len(&self) -> usize {
        let pan_len = if self.dst.is_empty() && self.src.is_empty() { 0 } else { 2 };
        let security_len = if self.security.is_some() { Security::LEN } else { 0 };
        // At most 3 + 2 + 8 + 8 + 6 + 255.
        3usize
            .saturating_add(pan_len)
            .saturating_add(self.dst.len())
            .saturating_add(self.src.len())
            .saturating_add(security_len)
            .saturating_add(if self.csl.is_some() { Csl::LEN } else { 0 })
            .saturating_add(self.filling as usize)
    }

    /// Writes the header to the start of `buf` and returns its length.
    ///
    /// # Errors
    /// `buf` is too short, or `filling`, `csl` or `security` cannot be written. In these cases
    /// `buf` is unchanged.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, Error> {
        if self.csl.is_some() && (self.version != Version::V2015 || self.filling != 0) {
            return Err(Error::Invalid(Field::CslIe));
        }
        let filling_possible = self.version == Version::V2015
            && (Self::MIN_FILLING..=Self::MAX_FILLING).contains(&self.filling);
        if self.filling != 0 && !filling_possible {
            return Err(Error::Invalid(Field::Filling));
        }
        if self.security.is_some() && self.version == Version::V2003 {
            return Err(Error::Unsupported(Field::SecurityOfVersion0));
        }
        let len = self.header_len();
        let header = buf.get_mut(..len).ok_or(Error::NoRoom(Field::MacHeader))?;
        let mut writer = Writer { rest: header.iter_mut() };
        writer.u16(self.control());
        writer.u8(self.sequence);
        // One PAN identifier, before the first address.
        if !(self.dst.is_empty() && self.src.is_empty()) {
            writer.u16(self.pan_id.0);
        }
        writer.address(self.dst);
        writer.address(self.src);
        if let Some(Security { level, frame_counter, key_index }) = self.security {
            writer.u8(level & 7 | Security::KEY_INDEX_MODE);
            writer.u16(frame_counter as u16);
            writer.u16((frame_counter >> 16) as u16);
            writer.u8(key_index);
        }
        if let Some(Csl { phase, period }) = self.csl {
            writer.u16(header_ie(ie::HEADER_CSL, Csl::CONTENT));
            writer.u16(phase);
            writer.u16(period);
            writer.u16(header_ie(ie::HEADER_TERMINATION_2, 0));
        }
        if let Some(content_len) = self.filling.checked_sub(4) {
            writer.u16(header_ie(ie::HEADER_VENDOR, content_len));
            (0..content_len).for_each(|_| writer.u8(0));
            writer.u16(header_ie(ie::HEADER_TERMINATION_2, 0));
        }
        Ok(len)
    }

    fn control(&self) -> u16 {
        let both = !self.dst.is_empty() && !self.src.is_empty();
        let both_extended =
            matches!((self.dst, self.src), (Address::Extended(_), Address::Extended(_)));
        // Table 7-2 gives two extended addresses in version 2 one PAN identifier without the bit.
        let compressed = both && !(self.version == Version::V2015 && both_extended);
        let flag = |set: bool, bit: u16| if set { bit } else { 0 };
        self.frame_type.bits()
            | flag(self.security.is_some(), control::SECURITY)
            | flag(self.frame_pending, control::PENDING)
            | flag(self.ack_request, control::ACK_REQUEST)
            | flag(compressed, control::COMPRESSION)
            | flag(self.filling != 0 || self.csl.is_some(), control::IE_PRESENT)
            | self.dst.mode() << control::DST_MODE_SHIFT
            | self.version.bits() << control::VERSION_SHIFT
            | self.src.mode() << control::SRC_MODE_SHIFT
    }
}

/// The descriptor of a header IE, 7.4.2.1.
fn header_ie(id: u8, content_len: u8) -> u16 {
    u16::from(content_len & 0x7f) | u16::from(id) << 7
}

/// Fills a slice from its start. Octets that do not fit are dropped; callers size it beforehand.
struct Writer<'a> {
    rest: IterMut<'a, u8>,
}

impl Writer<'_> {
    fn u8(&mut self, octet: u8) {
        if let Some(place) = self.rest.next() {
            *place = octet;
        }
    }

    #[inline(never)]
    fn u16(&mut self, word: u16) {
        let [low, high] = word.to_le_bytes();
        self.u8(low);
        self.u8(high);
    }

    fn address(&mut self, address: Address) {
        match address {
            Address::None => {}
            Address::Short(short) => self.u16(short),
            Address::Extended(octets) => octets.iter().rev().for_each(|octet| self.u8(*octet)),
        }
    }
}
