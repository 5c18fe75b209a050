//! LOWPAN_NHC: compression of the headers behind the IPv6 header (RFC 6282, 4).

use super::address::Context;
use super::cursor::{Reader, Writer};
use crate::ipv6::{self, protocol};
use crate::{Error, Field, udp};

/// Condition for the elision of a UDP checksum (RFC 6282, 4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Nothing else protects the datagram: an elided checksum is refused.
    None,
    /// Something else does (a link-layer MIC with the sender's authorisation to elide).
    Other,
}

/// Result of [`compress`](super::compress) or [`NextHeader::compress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Octets written.
    pub written: usize,
    /// Octets of the packet that they stand for: 40 of an IPv6 header, 8 of a UDP header.
    pub covered: usize,
}

/// Result of [`NextHeader::expand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// The Next Header field of the IPv6 header.
    pub next_header: u8,
    /// Octets of the frame that the compressed header took.
    pub consumed: usize,
    /// Octets of header written.
    pub written: usize,
    /// True if the checksum was elided.
    pub checksum_elided: bool,
}

/// Information for compression behind an IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// That header.
    pub header: &'a [u8; ipv6::HEADER_LEN],
    /// The contexts, by identifier.
    pub contexts: &'a [Option<Context>],
}

/// The headers behind the IPv6 header that are compressed; none for `()`.
pub trait NextHeader {
    /// Returns whether the header at the start of `upper`, which follows `header`, is compressed.
    fn takes(header: &[u8; ipv6::HEADER_LEN], upper: &[u8]) -> bool;

    /// Compresses that header.
    ///
    /// # Errors
    /// [`Error::NoRoom`], and [`Error::Unsupported`] if it is not compressed.
    fn compress(behind: Behind<'_>, upper: &[u8], out: &mut [u8]) -> Result<Compressed, Error>;

    /// Expands the compressed header at the start of `frame`. `datagram_size` is the size of the
    /// whole uncompressed packet from a fragment header; without one, the rest of `frame` is the
    /// rest of the packet. The addresses of the header in `behind` are already expanded.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Unsupported`], [`Error::NoRoom`], and [`Error::Invalid`] for
    /// a `datagram_size` that is too small.
    fn expand(
        behind: Behind<'_>,
        frame: &[u8],
        datagram_size: Option<u16>,
        integrity: Integrity,
        out: &mut [u8],
    ) -> Result<Expanded, Error>;
}

/// Compresses nothing, and refuses compressed headers of a neighbour.
impl NextHeader for () {
    fn takes(_: &[u8; ipv6::HEADER_LEN], _: &[u8]) -> bool {
        false
    }

    fn compress(_: Behind<'_>, _: &[u8], _: &mut [u8]) -> Result<Compressed, Error> {
        Err(Error::Unsupported(Field::LowpanNhc))
    }

    fn expand(
        _: Behind<'_>,
        _: &[u8],
        _: Option<u16>,
        _: Integrity,
        _: &mut [u8],
    ) -> Result<Expanded, Error> {
        Err(Error::Unsupported(Field::LowpanNhc))
    }
}

/// The UDP header (RFC 6282, 4.3); checksums are never elided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHeader;

/// LOWPAN_NHC identifiers (RFC 6282, 4.2 and 4.3.3).
const NHC_UDP: u8 = 0b1111_0000;
const NHC_UDP_MASK: u8 = 0b1111_1000;
const NHC_UDP_ELIDED: u8 = 0b100;

impl NextHeader for UdpHeader {
    /// Its length field must be derivable from the packet's.
    fn takes(header: &[u8; ipv6::HEADER_LEN], upper: &[u8]) -> bool {
        let [_, _, _, _, payload @ .., next_header, _] =
            *header.first_chunk::<8>().unwrap_or(&[0; 8]);
        let length = u16::from_be_bytes(payload);
        next_header == protocol::UDP
            && usize::from(length) >= udp::HEADER_LEN
            && udp::Header::read(upper).is_ok_and(|udp| udp.length == length)
    }

    fn compress(_: Behind<'_>, upper: &[u8], out: &mut [u8]) -> Result<Compressed, Error> {
        let udp = udp::Header::read(upper)?;
        let mut out = Writer::new(out);
        let ([s1, s2], [d1, d2]) = (udp.src_port.to_be_bytes(), udp.dst_port.to_be_bytes());
        if udp.src_port >> 4 == 0xF0B && udp.dst_port >> 4 == 0xF0B {
            out.octet(NHC_UDP | 0b11);
            out.octet((s2 & 0xF) << 4 | (d2 & 0xF));
        } else {
            // One of the upper octets can be elided: the source's if both could.
            let (source, destination) = (s1 != 0xF0, d1 != 0xF0 || s1 == 0xF0);
            out.octet(NHC_UDP | u8::from(!source) << 1 | u8::from(!destination));
            if source {
                out.octet(s1);
            }
            out.octet(s2);
            if destination {
                out.octet(d1);
            }
            out.octet(d2);
        }
        out.put(&udp.checksum.to_be_bytes());
        Ok(Compressed { written: out.finish()?, covered: udp::HEADER_LEN })
    }

    fn expand(
        _: Behind<'_>,
        frame: &[u8],
        datagram_size: Option<u16>,
        integrity: Integrity,
        out: &mut [u8],
    ) -> Result<Expanded, Error> {
        let mut input = Reader::new(frame);
        let nhc = input.octet();
        if nhc & NHC_UDP_MASK != NHC_UDP {
            return Err(Error::Unsupported(Field::LowpanNhc));
        }
        let (src_port, dst_port) = if nhc & 3 == 3 {
            let ports = u16::from(input.octet());
            (0xF0B0 | ports >> 4, 0xF0B0 | (ports & 0xF))
        } else {
            let mut port = |elided| {
                let first = if elided { 0xF0 } else { input.octet() };
                u16::from_be_bytes([first, input.octet()])
            };
            (port(nhc & 2 != 0), port(nhc & 1 != 0))
        };
        let checksum_elided = nhc & NHC_UDP_ELIDED != 0;
        if checksum_elided && integrity == Integrity::None {
            return Err(Error::Unsupported(Field::ElidedUdpChecksum));
        }
        let checksum = if checksum_elided { 0 } else { input.word() };
        let consumed = input.finish()?;
        let written = udp::HEADER_LEN;
        let length = match datagram_size {
            Some(size) => usize::from(size).checked_sub(ipv6::HEADER_LEN),
            None => frame.len().saturating_sub(consumed).checked_add(written),
        };
        let length = length.filter(|length| *length >= written);
        let length = length.and_then(|length| u16::try_from(length).ok());
        let length = length.ok_or(Error::Invalid(Field::DatagramSize))?;
        udp::Header { src_port, dst_port, length, checksum }.emit(out)?;
        Ok(Expanded { next_header: protocol::UDP, consumed, written, checksum_elided })
    }
}
