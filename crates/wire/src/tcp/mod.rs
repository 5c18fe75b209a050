//! TCP segments (RFC 9293 §3.1) and their options (RFC 2018, RFC 7323).
//!
//! [`Segment::parse`] reads a segment once; after that, everything is a plain field. [`Header`] is
//! the result of parsing and the input of [`Header::emit`]. The checksum needs the pseudo-header of
//! the IP version below; only its ones' complement sum is passed in.

mod options;

pub use options::{
    ACK_RATE_REQUEST_LEN, AckRate, Cookie, MAX_SACK_BLOCKS, Options, SackBlock, SackBlocks,
    Timestamps,
};

use crate::checksum::{self, Accumulator};
use crate::{Error, Field};
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// Octets of a header without options.
pub const MIN_HEADER_LEN: usize = 20;
/// Octets of the longest header: data offset 15.
pub const MAX_HEADER_LEN: usize = 60;
/// Octets that options can take.
pub const MAX_OPTIONS_LEN: usize = MAX_HEADER_LEN - MIN_HEADER_LEN;

/// The control bits (RFC 9293 §3.1; AE: RFC 9768 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u16);

impl Flags {
    /// No bit set.
    pub const NONE: Flags = Flags(0);
    /// No more data from sender.
    pub const FIN: Flags = Flags(1);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(1 << 1);
    /// Reset the connection.
    pub const RST: Flags = Flags(1 << 2);
    /// Push function.
    pub const PSH: Flags = Flags(1 << 3);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(1 << 4);
    /// The urgent pointer is significant.
    pub const URG: Flags = Flags(1 << 5);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Flags = Flags(1 << 6);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(1 << 7);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(1 << 8);

    const ALL: u16 = 0x1ff;

    /// Returns the flags in the low nine bits of `bits`; the reserved bits above are ignored, as
    /// RFC 9293 §3.1 demands of receivers.
    pub const fn from_bits(bits: u16) -> Flags {
        Flags(bits & Self::ALL)
    }

    /// Returns the flags as the low nine bits of the second header row.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns whether every flag of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether any flag of `other` is set.
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, rhs: Flags) -> Flags {
        Flags(self.0 | rhs.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, rhs: Flags) {
        self.0 |= rhs.0;
    }
}

impl fmt::Debug for Flags {
    /// tcpdump's letters: `S` SYN, `.` ACK, `F`, `R`, `P`, `U`, `E`, `W` (CWR), `e` (AE).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in [
            (Flags::SYN, "S"),
            (Flags::FIN, "F"),
            (Flags::RST, "R"),
            (Flags::PSH, "P"),
            (Flags::URG, "U"),
            (Flags::ECE, "E"),
            (Flags::CWR, "W"),
            (Flags::AE, "e"),
            (Flags::ACK, "."),
        ] {
            if self.contains(flag) {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}

/// A header's fields, without the checksum, which belongs to the octets around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first payload octet, or of the SYN.
    pub seq: u32,
    /// Acknowledgment number; meaningful with [`Flags::ACK`].
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field as it is in the header, before scaling.
    pub window: u16,
    /// Urgent pointer; meaningful with [`Flags::URG`].
    pub urgent: u16,
    /// Options that Kinglet supports.
    pub options: Options,
}

impl Header {
    /// Returns the octets that [`Header::emit`] writes: 20 to 60, a multiple of four.
    pub const fn header_len(&self) -> usize {
        MIN_HEADER_LEN.saturating_add(self.options.len())
    }

    /// Writes the header with a zero checksum and returns its length; see [`set_checksum`].
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` is shorter than [`Header::header_len`]; `out` is unchanged.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        let len = self.header_len();
        let Some(out) = out.get_mut(..len) else { return Err(Error::NoRoom(Field::TcpHeader)) };
        let Some((fixed, options)) = out.split_first_chunk_mut::<MIN_HEADER_LEN>() else {
            return Err(Error::NoRoom(Field::TcpHeader));
        };
        // len <= 60, so the data offset fits its four bits.
        let offset = u16::try_from(len / 4).unwrap_or(15) << 12;
        let [a, b] = self.src_port.to_be_bytes();
        let [c, d] = self.dst_port.to_be_bytes();
        let [e, f, g, h] = self.seq.to_be_bytes();
        let [i, j, k, l] = self.ack.to_be_bytes();
        let [m, n] = (offset | self.flags.bits()).to_be_bytes();
        let [o, p] = self.window.to_be_bytes();
        let [q, r] = self.urgent.to_be_bytes();
        *fixed = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, 0, 0, q, r];
        self.options.emit(options);
        Ok(len)
    }
}

/// A segment, parsed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The header's fields.
    pub header: Header,
    /// The octets after the header.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Reads a segment; the checksum is not verified, see [`verify_checksum`].
    ///
    /// Options with a wrong length for their kind and unknown options are skipped by their length
    /// (RFC 9293 §3.1, MUST-6).
    ///
    /// # Errors
    /// [`Error::Truncated`] if the octets end inside the header; [`Error::Invalid`] for a data
    /// offset under 5 and for an option with an impossible length (RFC 9293 §3.1, MUST-7), after
    /// which the rest cannot be trusted.
    pub fn parse(octets: &'a [u8]) -> Result<Segment<'a>, Error> {
        let Some((fixed, _)) = octets.split_first_chunk::<MIN_HEADER_LEN>() else {
            return Err(Error::Truncated(Field::TcpHeader));
        };
        let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, _, _, q, r] = fixed;
        let header_len = usize::from(m >> 4).saturating_mul(4);
        if header_len < MIN_HEADER_LEN {
            return Err(Error::Invalid(Field::TcpDataOffset));
        }
        let Some((header, payload)) = octets.split_at_checked(header_len) else {
            return Err(Error::Truncated(Field::TcpOptions));
        };
        // Most headers have no options.
        let options = match header.get(MIN_HEADER_LEN..) {
            Some(options @ [_, ..]) => Options::parse(options)?,
            _ => Options::NONE,
        };
        let header = Header {
            src_port: u16::from_be_bytes([a, b]),
            dst_port: u16::from_be_bytes([c, d]),
            seq: u32::from_be_bytes([e, f, g, h]),
            ack: u32::from_be_bytes([i, j, k, l]),
            flags: Flags::from_bits(u16::from_be_bytes([m, n])),
            window: u16::from_be_bytes([o, p]),
            urgent: u16::from_be_bytes([q, r]),
            options,
        };
        Ok(Segment { header, payload })
    }

    /// Returns SEG.LEN: sequence numbers the segment occupies, SYN and FIN included (RFC 9293
    /// §3.4).
    pub fn seq_len(&self) -> u32 {
        let flags = self.header.flags;
        u32::try_from(self.payload.len())
            .unwrap_or(u32::MAX)
            .saturating_add(u32::from(flags.contains(Flags::SYN)))
            .saturating_add(u32::from(flags.contains(Flags::FIN)))
    }
}

/// Returns whether the checksum of a whole segment is right, given the pseudo-header's ones'
/// complement sum, not inverted (RFC 9293 §3.1).
//= rfc9293#MUST-3
pub fn verify_checksum(segment: &[u8], pseudo_header_sum: u16) -> bool {
    let mut sum = Accumulator::new(pseudo_header_sum);
    sum.push(segment);
    sum.sum() == 0xffff
}

/// Completes `sum`, which covers pseudo-header and payload, with an emitted `header` whose
/// checksum field is zero, and writes the checksum there. A header under 20 octets is left alone.
//= rfc9293#MUST-2
pub fn set_checksum(header: &mut [u8], payload_and_pseudo_header: u16) {
    let mut sum = Accumulator::new(payload_and_pseudo_header);
    sum.push(header);
    if let Some(field) = header.get_mut(16..18) {
        field.copy_from_slice(&checksum::field(sum.sum()).to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
