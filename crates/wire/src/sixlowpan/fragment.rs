//! The fragmentation header (RFC 4944, 5.3).

use crate::{Error, Field};

/// A FRAG1 or FRAGN header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHeader {
    /// datagram_size: octets of the whole *uncompressed* IPv6 packet, 0 to 2047.
    pub size: u16,
    /// datagram_tag.
    pub tag: u16,
    /// datagram_offset in octets (a multiple of 8), or `None` for the first fragment.
    pub offset: Option<u16>,
}

impl FragmentHeader {
    /// Octets of a first fragment's header.
    pub const FIRST_LEN: usize = 4;
    /// Octets of a subsequent fragment's header.
    pub const NEXT_LEN: usize = 5;

    /// Octets that [`FragmentHeader::emit`] writes.
    pub const fn buffer_len(&self) -> usize {
        match self.offset {
            None => Self::FIRST_LEN,
            Some(_) => Self::NEXT_LEN,
        }
    }

    /// Splits a frame into the header and the rest.
    ///
    /// # Errors
    /// [`Error::Truncated`]; [`Error::Invalid`] if the dispatch is not a fragment's.
    pub fn parse(octets: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (&[a, b, c, d], rest) =
            octets.split_first_chunk().ok_or(Error::Truncated(Field::FragmentHeader))?;
        let size = u16::from_be_bytes([a & 7, b]);
        let tag = u16::from_be_bytes([c, d]);
        match a >> 3 {
            0b11000 => Ok((FragmentHeader { size, tag, offset: None }, rest)),
            0b11100 => {
                let (&units, rest) =
                    rest.split_first().ok_or(Error::Truncated(Field::DatagramOffset))?;
                let offset = Some(u16::from(units) << 3);
                Ok((FragmentHeader { size, tag, offset }, rest))
            }
            _ => Err(Error::Invalid(Field::FragmentDispatch)),
        }
    }

    /// Writes the header to the start of `out` and returns its length. Bits of `size` above the
    /// eleventh and offsets above 2040 cannot be expressed.
    ///
    /// # Errors
    /// [`Error::NoRoom`], or [`Error::Invalid`] for a size or offset that cannot be expressed.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        if self.size >= 1 << 11 {
            return Err(Error::Invalid(Field::DatagramSize));
        }
        let out = out.get_mut(..self.buffer_len()).ok_or(Error::NoRoom(Field::FragmentHeader))?;
        let ([a, b], [c, d]) = (self.size.to_be_bytes(), self.tag.to_be_bytes());
        match self.offset {
            None => out.copy_from_slice(&[0b11000 << 3 | a, b, c, d]),
            Some(offset) => {
                if offset & 7 != 0 || offset >= 1 << 11 {
                    return Err(Error::Invalid(Field::DatagramOffset));
                }
                // Below 256 by the line above.
                out.copy_from_slice(&[0b11100 << 3 | a, b, c, d, (offset >> 3) as u8]);
            }
        }
        Ok(self.buffer_len())
    }
}
