//! UDP (RFC 768) over IPv6 (RFC 8200, 8.1: the checksum is mandatory).

use crate::{Error, Field, checksum};

/// Octets of a UDP header.
pub const HEADER_LEN: usize = 8;

/// A UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source port; 0 if none.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Octets of header and data, at least 8.
    pub length: u16,
    /// The checksum field as it is in the header.
    pub checksum: u16,
}

impl Header {
    /// Reads the header at the start of `octets` without checking length or checksum.
    ///
    /// # Errors
    /// [`Error::Truncated`] with fewer than [`HEADER_LEN`] octets.
    pub fn read(octets: &[u8]) -> Result<Self, Error> {
        let [a, b, c, d, e, f, g, h] =
            *octets.first_chunk::<HEADER_LEN>().ok_or(Error::Truncated(Field::UdpHeader))?;
        Ok(Header {
            src_port: u16::from_be_bytes([a, b]),
            dst_port: u16::from_be_bytes([c, d]),
            length: u16::from_be_bytes([e, f]),
            checksum: u16::from_be_bytes([g, h]),
        })
    }

    /// Writes the header to the start of `out`.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`HEADER_LEN`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let out = out.first_chunk_mut::<HEADER_LEN>().ok_or(Error::NoRoom(Field::UdpHeader))?;
        let ([a, b], [c, d]) = (self.src_port.to_be_bytes(), self.dst_port.to_be_bytes());
        let ([e, f], [g, h]) = (self.length.to_be_bytes(), self.checksum.to_be_bytes());
        *out = [a, b, c, d, e, f, g, h];
        Ok(())
    }
}

/// A datagram with a correct length and checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Checks `octets`, an IPv6 packet's whole upper layer, against `pseudo_sum`, the
    /// [`checksum::pseudo_header`] over `octets.len()` octets.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Invalid`] if the length field disagrees with `octets`, or
    /// [`Error::Checksum`] (a zero field included, RFC 8200, 8.1).
    pub fn parse(octets: &'a [u8], pseudo_sum: u16) -> Result<Self, Error> {
        let header = Header::read(octets)?;
        if usize::from(header.length) != octets.len() {
            return Err(Error::Invalid(Field::UdpLength));
        }
        if header.checksum == 0 || checksum::add(pseudo_sum, checksum::sum(octets)) != 0xFFFF {
            return Err(Error::Checksum(Field::Udp));
        }
        let payload = octets.get(HEADER_LEN..).unwrap_or_default();
        Ok(Datagram { header, payload })
    }

    /// The header.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// The data.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// Sets the checksum field of the datagram in `octets` (header and data; the length field is
/// already correct). A result of zero is written as 0xFFFF (RFC 768).
///
/// # Errors
/// [`Error::NoRoom`] with fewer than [`HEADER_LEN`] octets.
pub fn fill_checksum(octets: &mut [u8], pseudo_sum: u16) -> Result<(), Error> {
    let header = octets.first_chunk_mut::<HEADER_LEN>().ok_or(Error::NoRoom(Field::UdpHeader))?;
    [header[6], header[7]] = [0, 0];
    let value = match checksum::field(checksum::add(pseudo_sum, checksum::sum(octets))) {
        0 => 0xFFFF,
        other => other,
    };
    if let Some(header) = octets.first_chunk_mut::<HEADER_LEN>() {
        [header[6], header[7]] = value.to_be_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn datagram(data: &[u8], pseudo: u16) -> Vec<u8> {
        let mut octets = std::vec![0; HEADER_LEN + data.len()];
        let length = octets.len() as u16;
        Header { src_port: 5683, dst_port: 61616, length, checksum: 0 }.emit(&mut octets).unwrap();
        octets[HEADER_LEN..].copy_from_slice(data);
        fill_checksum(&mut octets, pseudo).unwrap();
        octets
    }

    #[test]
    fn an_emitted_datagram_parses() {
        let octets = datagram(b"odd", 0x1234);
        let parsed = Datagram::parse(&octets, 0x1234).unwrap();
        assert_eq!((parsed.header().src_port, parsed.payload()), (5683, &b"odd"[..]));
        assert_eq!(Datagram::parse(&octets, 0x1235), Err(Error::Checksum(Field::Udp)));
    }

    #[test]
    fn a_zero_checksum_is_refused_and_never_sent() {
        // Chosen so that the inverted sum is zero.
        let zero = datagram(&[], 0);
        let rest = checksum::sum(&zero[..6]);
        let octets = datagram(&[], !rest);
        assert_eq!(&octets[6..8], &[0xFF, 0xFF]);
        let mut unset = octets.clone();
        unset[6..8].copy_from_slice(&[0, 0]);
        assert_eq!(Datagram::parse(&unset, !rest), Err(Error::Checksum(Field::Udp)));
    }

    #[test]
    fn a_length_that_disagrees_with_the_packet_is_refused() {
        let octets = datagram(b"data", 0);
        assert_eq!(Datagram::parse(&octets[..10], 0), Err(Error::Invalid(Field::UdpLength)));
        assert_eq!(Datagram::parse(&octets[..7], 0), Err(Error::Truncated(Field::UdpHeader)));
    }
}
