//! LOWPAN_IPHC and the UDP LOWPAN_NHC (RFC 6282, 3 and 4.3).

use super::address::{self, Choice, Coding, Context};
use crate::ieee802154::Address;
use crate::ipv6::{self, Header, protocol};
use crate::{Error, udp};
use core::net::Ipv6Addr;

/// The most octets that [`compress`] writes: 2 of IPHC, 1 of context identifiers, 4 of traffic
/// class and flow label, next header, hop limit, two addresses of 16. (With the UDP NHC, its 7
/// octets take the place of the next header.)
pub const MAX_COMPRESSED: usize = 47;
/// The most octets that [`decompress`] writes: an IPv6 and a UDP header.
pub const MAX_DECOMPRESSED: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;

/// What [`compress`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Octets written.
    pub written: usize,
    /// Octets of the packet that they stand for: 40, or 48 with a UDP header.
    pub covered: usize,
}

/// What [`decompress`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decompressed {
    /// Octets of the frame that were the compressed header.
    pub consumed: usize,
    /// Octets of header written: 40, or 48 with a UDP header.
    pub written: usize,
    /// The UDP checksum was elided: its field is zero and must be computed over the whole datagram
    /// (RFC 6282, 4.3.2). Only with [`Integrity::Other`].
    pub checksum_elided: bool,
}

/// Whether a UDP checksum may be missing (RFC 6282, 4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Nothing else protects the datagram: an elided checksum is refused.
    None,
    /// Something else does (a link-layer MIC with the sender's authorisation to elide).
    Other,
}

/// LOWPAN_NHC identifiers (RFC 6282, 4.2 and 4.3.3).
const NHC_UDP: u8 = 0b1111_0000;
const NHC_UDP_MASK: u8 = 0b1111_1000;
const NHC_UDP_ELIDED: u8 = 0b100;

pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    pub(super) fn put(&mut self, octets: &[u8]) -> Result<(), Error> {
        let room = self.out.get_mut(self.at..).unwrap_or_default();
        let room = room.get_mut(..octets.len()).ok_or(Error::NoRoom("IPHC"))?;
        room.copy_from_slice(octets);
        self.at = self.at.saturating_add(octets.len());
        Ok(())
    }
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// The next `len` (at most 16) octets as a big-endian number.
    pub(super) fn number(&mut self, len: usize) -> Result<u128, Error> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(Error::Truncated("IPHC field"))?;
        self.rest = rest;
        Ok(head.iter().fold(0, |number, &octet| number << 8 | u128::from(octet)))
    }

    fn octet(&mut self) -> Result<u8, Error> {
        // One octet.
        Ok(self.number(1)? as u8)
    }

    fn word(&mut self) -> Result<u16, Error> {
        // Two octets.
        Ok(self.number(2)? as u16)
    }
}

/// Compresses the IPv6 header (and UDP header) at the start of `packet` in the fewest octets.
///
/// `packet` needs to hold the headers only, but the payload lengths in them must be true, since
/// they are elided. `src` and `dst` are the link addresses of the frame; the index of a context is
/// its identifier, those beyond the sixteenth are ignored.
///
/// # Errors
/// Those of [`Header::read`], and [`Error::NoRoom`] if `out` is too short ([`MAX_COMPRESSED`]
/// octets always suffice).
pub fn compress(
    packet: &[u8],
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    out: &mut [u8],
) -> Result<Compressed, Error> {
    let header = Header::read(packet)?;
    let from = address::unicast(header.src, src, contexts, true);
    let to = if header.dst.is_multicast() {
        address::multicast(header.dst, contexts)
    } else {
        address::unicast(header.dst, dst, contexts, false)
    };
    let (from, to, cid) = pair(from, to);
    let udp = udp_header(&header, packet);

    let ecn_dscp = header.traffic_class.rotate_right(2);
    let dscp = header.traffic_class >> 2;
    let tf = match (header.traffic_class, header.flow_label) {
        (0, 0) => 0b11,
        (_, 0) => 0b10,
        _ if dscp == 0 => 0b01,
        _ => 0b00,
    };
    let hlim = match header.hop_limit {
        1 => 1,
        64 => 2,
        255 => 3,
        _ => 0,
    };
    let first = 0b011 << 5 | tf << 3 | u8::from(udp.is_some()) << 2 | hlim;
    let second = u8::from(cid) << 7
        | u8::from(from.stateful) << 6
        | from.mode << 4
        | u8::from(header.dst.is_multicast()) << 3
        | u8::from(to.stateful) << 2
        | to.mode;

    let mut out = Writer { out, at: 0 };
    out.put(&[first, second])?;
    if cid {
        out.put(&[from.context << 4 | to.context])?;
    }
    let [_, f1, f2, f3] = header.flow_label.to_be_bytes();
    match tf {
        0b00 => out.put(&[ecn_dscp, f1, f2, f3])?,
        // The ECN bits keep their place; DSCP is zero.
        0b01 => out.put(&[(ecn_dscp & 0b1100_0000) | f1, f2, f3])?,
        0b10 => out.put(&[ecn_dscp])?,
        _ => {}
    }
    if udp.is_none() {
        out.put(&[header.next_header])?;
    }
    if hlim == 0 {
        out.put(&[header.hop_limit])?;
    }
    from.write(&mut out)?;
    to.write(&mut out)?;
    let mut covered = ipv6::HEADER_LEN;
    if let Some(udp) = udp {
        write_udp(&udp, &mut out)?;
        covered = MAX_DECOMPRESSED;
    }
    Ok(Compressed { written: out.at, covered })
}

/// The pair of codings that is shortest together: contexts other than 0 cost an octet, once.
fn pair(from: Choice, to: Choice) -> (Coding, Coding, bool) {
    let len = |a: Coding, b: Coding| a.len.saturating_add(b.len);
    if len(from.any, to.any).saturating_add(1) < len(from.default, to.default) {
        (from.any, to.any, true)
    } else {
        (from.default, to.default, false)
    }
}

/// The UDP header, if its length field can be derived from the packet's.
fn udp_header(header: &Header, packet: &[u8]) -> Option<udp::Header> {
    if header.next_header != protocol::UDP {
        return None;
    }
    let udp = udp::Header::read(packet.get(ipv6::HEADER_LEN..)?).ok()?;
    (udp.length == header.payload_len && usize::from(udp.length) >= udp::HEADER_LEN).then_some(udp)
}

fn write_udp(udp: &udp::Header, out: &mut Writer<'_>) -> Result<(), Error> {
    let ([s1, s2], [d1, d2]) = (udp.src_port.to_be_bytes(), udp.dst_port.to_be_bytes());
    if udp.src_port >> 4 == 0xF0B && udp.dst_port >> 4 == 0xF0B {
        out.put(&[NHC_UDP | 0b11, (s2 & 0xF) << 4 | (d2 & 0xF)])?;
    } else if s1 == 0xF0 {
        out.put(&[NHC_UDP | 0b10, s2, d1, d2])?;
    } else if d1 == 0xF0 {
        out.put(&[NHC_UDP | 0b01, s1, s2, d2])?;
    } else {
        out.put(&[NHC_UDP, s1, s2, d1, d2])?;
    }
    out.put(&udp.checksum.to_be_bytes())
}

/// Expands the compressed header at the start of `frame` to an IPv6 header (and UDP header) at the
/// start of `out`.
///
/// `datagram_size` is the size of the whole uncompressed packet from a fragment header; without
/// one, the rest of `frame` is the rest of the packet.
///
/// # Errors
/// [`Error::Truncated`], [`Error::Invalid`] (reserved forms, unknown contexts, elided addresses
/// without a link address, a `datagram_size` that is too small), [`Error::Unsupported`] (next
/// header compression other than UDP's, checksum elided without integrity), [`Error::NoRoom`].
pub fn decompress(
    frame: &[u8],
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    datagram_size: Option<u16>,
    integrity: Integrity,
    out: &mut [u8],
) -> Result<Decompressed, Error> {
    let mut input = Reader { rest: frame };
    let (first, second) = (input.octet()?, input.octet()?);
    if first >> 5 != 0b011 {
        return Err(Error::Invalid("IPHC dispatch"));
    }
    let cid = if second & 0x80 != 0 { input.octet()? } else { 0 };
    let context = |id: u8| contexts.get(usize::from(id)).copied().flatten();
    let (traffic_class, flow_label) = read_tf(first >> 3 & 3, &mut input)?;
    let compressed_next = first & 0b100 != 0;
    let next_header = if compressed_next { protocol::UDP } else { input.octet()? };
    let hop_limit = match first & 3 {
        0 => input.octet()?,
        1 => 1,
        2 => 64,
        _ => 255,
    };
    let (sac, sam) = (second & 0x40 != 0, second >> 4 & 3);
    let (dac, dam) = (second & 0x04 != 0, second & 3);
    let source = match (sac, sam) {
        (true, 0) => Ipv6Addr::UNSPECIFIED,
        _ => address::read_unicast(&mut input, sac, sam, src, context(cid >> 4))?,
    };
    let destination = match (second & 0x08 != 0, dac, dam) {
        (true, ..) => address::read_multicast(&mut input, dac, dam, context(cid & 0xF))?,
        (false, true, 0) => return Err(Error::Invalid("DAM")),
        _ => address::read_unicast(&mut input, dac, dam, dst, context(cid & 0xF))?,
    };
    let mut header = Header {
        traffic_class,
        flow_label,
        payload_len: 0,
        next_header,
        hop_limit,
        src: source,
        dst: destination,
    };
    let udp = if compressed_next { Some(read_udp(&mut input, integrity)?) } else { None };
    let written = if udp.is_some() { MAX_DECOMPRESSED } else { ipv6::HEADER_LEN };
    let total = match datagram_size {
        Some(size) => usize::from(size),
        None => written.saturating_add(input.rest.len()),
    };
    if total < written {
        return Err(Error::Invalid("datagram_size"));
    }
    header.payload_len = u16::try_from(total.saturating_sub(ipv6::HEADER_LEN))
        .map_err(|_| Error::Invalid("datagram_size"))?;
    header.emit(out)?;
    let mut checksum_elided = false;
    if let Some((mut udp, elided)) = udp {
        udp.length = header.payload_len;
        udp.emit(out.get_mut(ipv6::HEADER_LEN..).unwrap_or_default())?;
        checksum_elided = elided;
    }
    let consumed = frame.len().saturating_sub(input.rest.len());
    Ok(Decompressed { consumed, written, checksum_elided })
}

fn read_tf(tf: u8, input: &mut Reader<'_>) -> Result<(u8, u32), Error> {
    Ok(match tf {
        0b00 => {
            let traffic_class = input.octet()?.rotate_left(2);
            // Three octets.
            (traffic_class, input.number(3)? as u32 & 0xF_FFFF)
        }
        0b01 => {
            // Three octets: ECN in the upper two bits, two reserved, the flow label.
            let word = input.number(3)? as u32;
            ((word >> 22) as u8, word & 0xF_FFFF)
        }
        0b10 => (input.octet()?.rotate_left(2), 0),
        _ => (0, 0),
    })
}

fn read_udp(input: &mut Reader<'_>, integrity: Integrity) -> Result<(udp::Header, bool), Error> {
    let nhc = input.octet()?;
    if nhc & NHC_UDP_MASK != NHC_UDP {
        return Err(Error::Unsupported("LOWPAN_NHC"));
    }
    let (src_port, dst_port) = match nhc & 3 {
        0 => (input.word()?, input.word()?),
        1 => (input.word()?, 0xF000 | u16::from(input.octet()?)),
        2 => (0xF000 | u16::from(input.octet()?), input.word()?),
        _ => {
            let ports = u16::from(input.octet()?);
            (0xF0B0 | ports >> 4, 0xF0B0 | (ports & 0xF))
        }
    };
    let elided = nhc & NHC_UDP_ELIDED != 0;
    if elided && integrity == Integrity::None {
        return Err(Error::Unsupported("elided UDP checksum"));
    }
    let checksum = if elided { 0 } else { input.word()? };
    Ok((udp::Header { src_port, dst_port, length: 0, checksum }, elided))
}
