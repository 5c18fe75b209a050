//! The view of a frame.

use super::reader::Reader;
use super::{Address, Csl, FrameType, PanId, Version, control, ie};
use crate::{Error, Field};
use core::ops::Range;

/// The auxiliary security header, 9.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuxSecurity<'a> {
    /// The security level, 0 to 7 (Table 9-6).
    pub level: u8,
    /// The key identifier mode, 0 to 3 (Table 9-7).
    pub key_id_mode: u8,
    /// The frame counter, unless it is suppressed (version 2 only).
    pub frame_counter: Option<u32>,
    /// Offset of the frame counter, even if it is suppressed, in the octets that were parsed.
    pub frame_counter_at: usize,
    /// The key identifier: 0, 1, 5 or 9 octets by `key_id_mode`.
    pub key_identifier: &'a [u8],
}

impl AuxSecurity<'_> {
    /// Returns the octets of the message integrity code at the end of the frame: 0, 4, 8 or 16
    /// (Table 9-6).
    pub const fn mic_len(&self) -> usize {
        match self.level & 3 {
            0 => 0,
            1 => 4,
            2 => 8,
            _ => 16,
        }
    }

    /// Returns whether the payload is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.level & 4 != 0
    }
}

/// A frame whose header is well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    control: u16,
    frame_type: FrameType,
    version: Version,
    sequence: Option<u8>,
    dst_pan: Option<PanId>,
    dst: Address,
    src_pan: Option<PanId>,
    src: Address,
    security: Option<AuxSecurity<'a>>,
    header_ies: &'a [u8],
    payload_ies: &'a [u8],
    payload: &'a [u8],
    payload_start: usize,
}

impl<'a> Frame<'a> {
    /// Reads the header of `frame`, which has no FCS.
    ///
    /// # Errors
    /// The reason: a field is impossible, reserved, truncated or not supported.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(frame);
        let control = reader.u16();
        let (frame_type, version) = kind(control)?;
        let suppressed = version == Version::V2015 && control & control::SEQUENCE_SUPPRESSED != 0;
        let sequence = if suppressed { None } else { Some(reader.u8()) };

        let dst_mode = control >> control::DST_MODE_SHIFT & 3;
        let src_mode = control >> control::SRC_MODE_SHIFT & 3;
        if dst_mode == 1 || src_mode == 1 {
            return Err(Error::Invalid(Field::AddressingMode));
        }
        let compressed = control & control::COMPRESSION != 0;
        let pans = pans_present(version, dst_mode, src_mode, compressed)?;
        let dst_pan = if pans.dst { Some(PanId(reader.u16())) } else { None };
        let dst = reader.address(dst_mode);
        let src_pan = if pans.src { Some(PanId(reader.u16())) } else { None };
        let src = reader.address(src_mode);

        let secured = control & control::SECURITY != 0;
        let security = if secured { Some(aux_security(&mut reader, version)?) } else { None };
        let with_ies = version == Version::V2015 && control & control::IE_PRESENT != 0;
        let (header_ies, more) = if with_ies { header_ies(&mut reader)? } else { (&[][..], false) };
        // Encrypted payload IEs are indistinguishable from the encrypted payload.
        let readable = security.is_none_or(|security| !security.is_encrypted());
        let payload_ies = if more && readable { payload_ies(&mut reader)? } else { &[][..] };
        let payload_start = reader.finish()?;
        let payload = frame.get(payload_start..).unwrap_or_default();
        Ok(Frame {
            control,
            frame_type,
            version,
            sequence,
            dst_pan,
            dst,
            src_pan,
            src,
            security,
            header_ies,
            payload_ies,
            payload,
            payload_start,
        })
    }

    /// The frame type.
    pub const fn frame_type(&self) -> FrameType {
        self.frame_type
    }

    /// The frame version.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Returns whether the sender holds more frames for the recipient.
    pub const fn frame_pending(&self) -> bool {
        self.control & control::PENDING != 0
    }

    /// Returns whether the sender requests an acknowledgement.
    pub const fn ack_request(&self) -> bool {
        self.control & control::ACK_REQUEST != 0
    }

    /// The sequence number, unless suppressed (version 2 only).
    pub const fn sequence(&self) -> Option<u8> {
        self.sequence
    }

    /// The destination PAN identifier, if the frame carries one.
    pub const fn dst_pan(&self) -> Option<PanId> {
        self.dst_pan
    }

    /// The destination address.
    pub const fn dst(&self) -> Address {
        self.dst
    }

    /// The source PAN identifier. If compression elides it because it equals that of the
    /// destination, the latter is returned.
    pub fn src_pan(&self) -> Option<PanId> {
        match self.src {
            Address::None => None,
            _ => self.src_pan.or(self.dst_pan),
        }
    }

    /// The source address.
    pub const fn src(&self) -> Address {
        self.src
    }

    /// The auxiliary security header, if the frame is secured.
    pub const fn security(&self) -> Option<AuxSecurity<'a>> {
        self.security
    }

    /// The header information elements with their descriptors, termination included.
    pub const fn header_ies(&self) -> &'a [u8] {
        self.header_ies
    }

    /// Returns the sampling times of the sender, if they are in a CSL IE. Each iteration takes at
    /// least two octets of the header IEs.
    pub fn csl(&self) -> Option<Csl> {
        let mut reader = Reader::new(self.header_ies);
        while !reader.is_empty() {
            let descriptor = reader.u16();
            let content = reader.slice(usize::from(descriptor & 0x7f));
            let [id, _] = (descriptor >> 7).to_le_bytes();
            if let (ie::HEADER_CSL, &[a, b, c, d, ..]) = (id, content) {
                let (phase, period) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
                return Some(Csl { phase, period });
            }
        }
        None
    }

    /// The payload information elements with their descriptors, termination included; empty where
    /// they are encrypted (they are then part of [`Frame::payload`]).
    pub const fn payload_ies(&self) -> &'a [u8] {
        self.payload_ies
    }

    /// The octets after the header and all information elements; in a secured frame they end with
    /// the message integrity code.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Octets at the start of [`Frame::payload`] that security authenticates and does not encrypt:
    /// the command identifier (Annex C.2.3 of the 2006 edition). Version 2 encrypts it too. Those
    /// of a beacon are not known here.
    pub fn open_payload_len(&self) -> usize {
        let open = self.frame_type == FrameType::Command && self.version < Version::V2015;
        usize::from(open).min(self.payload.len())
    }

    /// Returns the range of [`Frame::payload`] in the octets that were parsed.
    pub const fn payload_range(&self) -> Range<usize> {
        self.payload_start..self.payload_start.saturating_add(self.payload.len())
    }
}

fn kind(control: u16) -> Result<(FrameType, Version), Error> {
    let frame_type = match control & control::TYPE {
        0 => FrameType::Beacon,
        1 => FrameType::Data,
        2 => FrameType::Ack,
        3 => FrameType::Command,
        4 => return Err(Error::Invalid(Field::FrameType)),
        _ => return Err(Error::Unsupported(Field::FrameType)),
    };
    let version = match control >> control::VERSION_SHIFT & 3 {
        0 => Version::V2003,
        1 => Version::V2006,
        2 => Version::V2015,
        _ => return Err(Error::Invalid(Field::FrameVersion)),
    };
    Ok((frame_type, version))
}

struct Pans {
    dst: bool,
    src: bool,
}

/// Returns which PAN identifiers are in the frame: 7.2.2.6, Table 7-2 for version 2.
fn pans_present(version: Version, dst: u16, src: u16, compressed: bool) -> Result<Pans, Error> {
    const EXTENDED: u16 = 3;
    let (has_dst, has_src) = (dst != 0, src != 0);
    if version < Version::V2015 {
        if compressed && !(has_dst && has_src) {
            return Err(Error::Invalid(Field::PanIdCompression));
        }
        return Ok(Pans { dst: has_dst, src: has_src && !compressed });
    }
    Ok(match (has_dst, has_src) {
        (false, false) => Pans { dst: compressed, src: false },
        (true, false) => Pans { dst: !compressed, src: false },
        (false, true) => Pans { dst: false, src: !compressed },
        (true, true) if dst == EXTENDED && src == EXTENDED => Pans { dst: !compressed, src: false },
        (true, true) => Pans { dst: true, src: !compressed },
    })
}

fn aux_security<'a>(reader: &mut Reader<'a>, version: Version) -> Result<AuxSecurity<'a>, Error> {
    // The 2003 edition had another header, which the later editions withdrew.
    if version == Version::V2003 {
        return Err(Error::Unsupported(Field::SecurityOfVersion0));
    }
    let octet = reader.u8();
    let suppressed = version == Version::V2015 && octet & 0x20 != 0;
    let frame_counter_at = reader.position();
    let frame_counter = match suppressed {
        true => None,
        false => Some(u32::from_le_bytes(reader.array())),
    };
    let key_id_mode = octet >> 3 & 3;
    let key_len = match key_id_mode {
        0 => 0,
        1 => 1,
        2 => 5,
        _ => 9,
    };
    let key_identifier = reader.slice(key_len);
    let level = octet & 7;
    Ok(AuxSecurity { level, key_id_mode, frame_counter, frame_counter_at, key_identifier })
}

/// Returns the header IEs, 7.4.2, and whether payload IEs follow. Each iteration takes at least two
/// octets, so the loop ends within half the frame's length.
fn header_ies<'a>(reader: &mut Reader<'a>) -> Result<(&'a [u8], bool), Error> {
    let start = reader.position();
    let mut payload_ies_follow = false;
    while !reader.is_empty() {
        let descriptor = reader.u16();
        if descriptor & 0x8000 != 0 {
            return Err(Error::Invalid(Field::HeaderIeType));
        }
        reader.slice(usize::from(descriptor & 0x7f));
        let [id, _] = (descriptor >> 7).to_le_bytes();
        payload_ies_follow = id == ie::HEADER_TERMINATION_1;
        if payload_ies_follow || id == ie::HEADER_TERMINATION_2 {
            break;
        }
    }
    Ok((reader.since(start), payload_ies_follow))
}

/// Returns the payload IEs, 7.4.3; bounded like the header IEs.
fn payload_ies<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let start = reader.position();
    while !reader.is_empty() {
        let descriptor = reader.u16();
        if descriptor & 0x8000 == 0 {
            return Err(Error::Invalid(Field::PayloadIeType));
        }
        reader.slice(usize::from(descriptor & 0x7ff));
        if descriptor >> 11 & 0x0f == u16::from(ie::PAYLOAD_TERMINATION) {
            break;
        }
    }
    Ok(reader.since(start))
}
