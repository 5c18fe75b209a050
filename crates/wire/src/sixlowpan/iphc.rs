//! LOWPAN_IPHC (RFC 6282, 3).

use super::address::{self, Choice, Coding, Context, Octets};
use super::cursor::{Reader, Writer};
use super::nhc::NextHeader;
use crate::ieee802154::Address;
use crate::{Error, Field, ipv6, udp};

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

/// The IPv6 header at the start of `packet`, its source and its destination.
fn header(packet: &[u8]) -> Result<(&[u8; ipv6::HEADER_LEN], &Octets, &Octets), Error> {
    let header = packet.first_chunk::<{ ipv6::HEADER_LEN }>();
    let header = header.ok_or(Error::Truncated(Field::Ipv6Header))?;
    if !matches!(header, [0x60..=0x6F, ..]) {
        return Err(Error::Invalid(Field::Ipv6Version));
    }
    let [_, _, _, _, _, _, _, _, addresses @ ..] = header;
    let (Some(src), Some(dst)) = (addresses.first_chunk(), addresses.last_chunk()) else {
        return Err(Error::Truncated(Field::Ipv6Header));
    };
    Ok((header, src, dst))
}

/// Compresses the IPv6 header (and what `N` compresses behind it) at the start of `packet` in the
/// fewest octets.
///
/// `packet` needs to hold the headers only, but the payload lengths in them must be true, since
/// they are elided. `src` and `dst` are the link addresses of the frame; the index of a context is
/// its identifier, those beyond the sixteenth are ignored.
///
/// # Errors
/// Those of [`ipv6::Header::read`], and [`Error::NoRoom`] if `out` is too short
/// ([`MAX_COMPRESSED`] octets always suffice).
pub fn compress<N: NextHeader>(
    packet: &[u8],
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    out: &mut [u8],
) -> Result<Compressed, Error> {
    let (fields, _, _) = header(packet)?;
    let upper = packet.get(ipv6::HEADER_LEN..).unwrap_or_default();
    let nhc = N::takes(fields, upper);
    let written = compress_ipv6(packet, nhc, src, dst, contexts, out)?;
    if !nhc {
        return Ok(Compressed { written, covered: ipv6::HEADER_LEN });
    }
    let next = N::compress(upper, out.get_mut(written..).unwrap_or_default())?;
    let covered = ipv6::HEADER_LEN.saturating_add(next.covered);
    Ok(Compressed { written: written.saturating_add(next.written), covered })
}

/// Octets written; `nhc` says whether the next header is compressed too.
fn compress_ipv6(
    packet: &[u8],
    nhc: bool,
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    out: &mut [u8],
) -> Result<usize, Error> {
    let (fields, source, destination) = header(packet)?;
    let [a, b, f2, f3, _, _, next_header, hop_limit, ..] = *fields;
    let multicast = matches!(destination, [0xFF, ..]);
    let from = address::unicast(source, src, contexts, true);
    let to = if multicast {
        address::multicast(destination, contexts)
    } else {
        address::unicast(destination, dst, contexts, false)
    };
    let (from, to, cid) = pair(from, to);

    let (traffic_class, f1) = (a << 4 | b >> 4, b & 0xF);
    let ecn_dscp = traffic_class.rotate_right(2);
    let tf = match (traffic_class, [f1, f2, f3]) {
        (0, [0, 0, 0]) => 0b11,
        (_, [0, 0, 0]) => 0b10,
        // DSCP is zero.
        (0..=3, _) => 0b01,
        _ => 0b00,
    };
    let hlim = match hop_limit {
        1 => 1,
        64 => 2,
        255 => 3,
        _ => 0,
    };
    let first = 0b011 << 5 | tf << 3 | u8::from(nhc) << 2 | hlim;
    let second = u8::from(cid) << 7
        | u8::from(from.stateful) << 6
        | from.mode << 4
        | u8::from(multicast) << 3
        | u8::from(to.stateful) << 2
        | to.mode;

    let mut out = Writer { out, at: 0 };
    out.put(&[first, second])?;
    if cid {
        out.put(&[from.context << 4 | to.context])?;
    }
    match tf {
        0b00 => out.put(&[ecn_dscp, f1, f2, f3])?,
        // The ECN bits keep their place; DSCP is zero.
        0b01 => out.put(&[(ecn_dscp & 0b1100_0000) | f1, f2, f3])?,
        0b10 => out.put(&[ecn_dscp])?,
        _ => {}
    }
    if !nhc {
        out.put(&[next_header])?;
    }
    if hlim == 0 {
        out.put(&[hop_limit])?;
    }
    from.write(source, &mut out)?;
    to.write(destination, &mut out)?;
    Ok(out.at)
}

/// The pair of codings that is shortest together: contexts other than 0 cost an octet, once.
fn pair(from: Choice, to: Choice) -> (Coding, Coding, bool) {
    let len = |a: Coding, b: Coding| a.len().saturating_add(b.len());
    if len(from.any, to.any).saturating_add(1) < len(from.default, to.default) {
        (from.any, to.any, true)
    } else {
        (from.default, to.default, false)
    }
}

/// Expands the compressed header at the start of `frame` to an IPv6 header (and what `N` expands
/// behind it) at the start of `out`.
///
/// `datagram_size` is the size of the whole uncompressed packet from a fragment header; without
/// one, the rest of `frame` is the rest of the packet.
///
/// # Errors
/// [`Error::Truncated`], [`Error::Invalid`] (reserved forms, unknown contexts, elided addresses
/// without a link address, a `datagram_size` that is too small), [`Error::Unsupported`] (next
/// header compression other than `N`'s, checksum elided without integrity), [`Error::NoRoom`].
pub fn decompress<N: NextHeader>(
    frame: &[u8],
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    datagram_size: Option<u16>,
    integrity: Integrity,
    out: &mut [u8],
) -> Result<Decompressed, Error> {
    let (out, upper) = out.split_first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    let mut input = Reader { rest: frame };
    let nhc = decompress_ipv6(&mut input, src, dst, contexts, out)?;
    let mut done = Decompressed {
        consumed: frame.len().saturating_sub(input.rest.len()),
        written: ipv6::HEADER_LEN,
        checksum_elided: false,
    };
    let mut behind = input.rest.len();
    if nhc {
        let next = N::expand(input.rest, datagram_size, integrity, upper)?;
        if let Some(field) = out.get_mut(ipv6::NEXT_HEADER_OFFSET) {
            *field = next.next_header;
        }
        behind = behind.saturating_sub(next.consumed).saturating_add(next.written);
        done.consumed = done.consumed.saturating_add(next.consumed);
        done.written = done.written.saturating_add(next.written);
        done.checksum_elided = next.checksum_elided;
    }
    let payload_len = match datagram_size {
        Some(size) if usize::from(size) < done.written => None,
        // 40.
        Some(size) => size.checked_sub(ipv6::HEADER_LEN as u16),
        None => u16::try_from(behind).ok(),
    };
    let [e, f] = payload_len.ok_or(Error::Invalid(Field::DatagramSize))?.to_be_bytes();
    [out[4], out[5]] = [e, f];
    Ok(done)
}

/// Writes all of the IPv6 header but its length, and its Next Header field only if that is not
/// compressed, which is the answer.
fn decompress_ipv6(
    input: &mut Reader<'_>,
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    out: &mut [u8; ipv6::HEADER_LEN],
) -> Result<bool, Error> {
    let [first, second] = input.octets()?;
    if first >> 5 != 0b011 {
        return Err(Error::Invalid(Field::IphcDispatch));
    }
    let cid = if second & 0x80 != 0 { input.octet()? } else { 0 };
    let context = |id: u8| contexts.get(usize::from(id)).and_then(Option::as_ref);
    let (traffic_class, [f1, f2, f3]) = read_tf(first >> 3 & 3, input)?;
    let nhc = first & 0b100 != 0;
    let next_header = if nhc { 0 } else { input.octet()? };
    let hop_limit = match first & 3 {
        0 => input.octet()?,
        1 => 1,
        2 => 64,
        _ => 255,
    };
    let (fields, addresses) = out.split_at_mut(8);
    let fields = fields.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    let (a, b) = (0x60 | traffic_class >> 4, traffic_class << 4 | f1);
    *fields = [a, b, f2, f3, 0, 0, next_header, hop_limit];
    let (source, destination) =
        addresses.split_first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    let destination = destination.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    match (second & 0x40 != 0, second >> 4 & 3) {
        (true, 0) => *source = [0; 16],
        (sac, sam) => address::read_unicast(input, sac, sam, src, context(cid >> 4), source)?,
    }
    match (second & 0x08 != 0, second & 0x04 != 0, second & 3) {
        (true, dac, dam) => {
            *destination = address::read_multicast(input, dac, dam, context(cid & 0xF))?;
        }
        (false, true, 0) => return Err(Error::Invalid(Field::Dam)),
        (_, dac, dam) => {
            address::read_unicast(input, dac, dam, dst, context(cid & 0xF), destination)?;
        }
    }
    Ok(nhc)
}

/// Traffic class and flow label.
fn read_tf(tf: u8, input: &mut Reader<'_>) -> Result<(u8, [u8; 3]), Error> {
    Ok(match tf {
        0b00 => {
            let [class, f1, f2, f3] = input.octets()?;
            (class.rotate_left(2), [f1 & 0xF, f2, f3])
        }
        0b01 => {
            // ECN in the upper two bits, two reserved, the flow label.
            let [first, f2, f3] = input.octets()?;
            (first >> 6, [first & 0xF, f2, f3])
        }
        0b10 => (input.octet()?.rotate_left(2), [0; 3]),
        _ => (0, [0; 3]),
    })
}
