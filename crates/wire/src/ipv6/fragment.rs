//! The Fragment header (RFC 8200, 4.5).

use crate::{Error, Field};

/// A Fragment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Type of the header or payload that follows in the first fragment, from
    /// [`protocol`](super::protocol).
    pub next_header: u8,
    /// Fragment Offset in octets, a multiple of eight up to 65,528.
    pub offset: u16,
    /// The M flag: more fragments follow.
    pub more: bool,
    /// Identification.
    pub identification: u32,
}

impl Fragment {
    /// Octets of the header.
    pub const LEN: usize = 8;
    /// Offset of the field of Fragment Offset and M flag in the header.
    pub const OFFSET_AT: usize = 2;

    /// Reads the header at the start of `octets`; reserved bits are ignored.
    ///
    /// # Errors
    /// [`Error::Truncated`] with fewer than [`Fragment::LEN`] octets.
    pub fn read(octets: &[u8]) -> Result<Self, Error> {
        let head = octets.first_chunk().ok_or(Error::Truncated(Field::Ipv6Payload))?;
        let [next_header, _, high, low, a, b, c, d] = *head;
        let offset = u16::from_be_bytes([high, low & 0b1111_1000]);
        let (more, identification) = (low & 1 == 1, u32::from_be_bytes([a, b, c, d]));
        Ok(Fragment { next_header, offset, more, identification })
    }

    /// Writes the header to the start of `out`; the offset is rounded down to a multiple of eight.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`Fragment::LEN`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let out = out.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Payload))?;
        let [high, low] = self.offset.to_be_bytes();
        let [a, b, c, d] = self.identification.to_be_bytes();
        *out = [self.next_header, 0, high, low & !0b111 | u8::from(self.more), a, b, c, d];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_header_is_read_as_it_was_written() {
        let octets = [17, 0, 0x11, 0xF9, 1, 2, 3, 4];
        let header =
            Fragment { next_header: 17, offset: 0x11F8, more: true, identification: 0x0102_0304 };
        assert_eq!(Fragment::read(&octets), Ok(header));
        let mut out = [0xFF; 9];
        header.emit(&mut out).unwrap();
        assert_eq!(out, [17, 0, 0x11, 0xF9, 1, 2, 3, 4, 0xFF]);
        // Reserved bits are ignored.
        assert_eq!(Fragment::read(&[17, 0xFF, 0x11, 0xFF, 1, 2, 3, 4]), Ok(header));
    }

    #[test]
    fn a_fragment_header_that_is_cut_off_is_no_header() {
        assert_eq!(Fragment::read(&[0; 7]), Err(Error::Truncated(Field::Ipv6Payload)));
        let header = Fragment { next_header: 0, offset: 0, more: false, identification: 0 };
        assert_eq!(header.emit(&mut [0; 7]), Err(Error::NoRoom(Field::Ipv6Payload)));
    }
}
