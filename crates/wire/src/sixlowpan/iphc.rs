//! LOWPAN_IPHC (RFC 6282, 3).

use super::address::{self, Coding, Context, Octets};
use super::cursor::{Reader, Writer};
use super::nhc::{Behind, Compressed, Integrity, NextHeader};
use crate::ieee802154::Address;
use crate::{Error, Field, ipv6, udp};

/// The most octets that [`compress`] writes without extension headers: 2 of IPHC, 1 of context
/// identifiers, 4 of traffic class and flow label, next header, hop limit, two addresses of 16.
/// (With the UDP NHC, its 7 octets take the place of the next header.)
pub const MAX_COMPRESSED: usize = 47;
/// The most octets that [`decompress`] writes without extension headers: an IPv6 and a UDP header.
pub const MAX_DECOMPRESSED: usize = ipv6::HEADER_LEN + udp::HEADER_LEN;

/// Result of [`decompress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decompressed {
    /// Octets of the frame that the compressed header took.
    pub consumed: usize,
    /// Octets of header written: 40, or more with the headers behind it.
    pub written: usize,
    /// The UDP checksum was elided: its field is zero and must be computed over the whole datagram
    /// (RFC 6282, 4.3.2). Only with [`Integrity::Other`].
    pub checksum_elided: bool,
}

/// Returns the IPv6 header at the start of `packet`, its source and its destination.
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

/// Compresses the IPv6 header (and the headers that `N` compresses behind it) at the start of
/// `packet` in the fewest octets.
///
/// `packet` needs to hold the headers only, but the payload lengths in them must be correct, since
/// they are elided. `src` and `dst` are the link addresses of the frame. The index of a context is
/// its identifier; contexts beyond the sixteenth are ignored.
///
/// # Errors
/// Those of [`ipv6::Header::read`], and [`Error::NoRoom`] if `out` is too short ([`MAX_COMPRESSED`]
/// octets always suffice; with extension headers,
/// [`MAX_CHAIN_COMPRESSED`](super::MAX_CHAIN_COMPRESSED)).
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
    let behind = Behind { header: fields, contexts };
    let next = N::compress(behind, upper, out.get_mut(written..).unwrap_or_default())?;
    let covered = ipv6::HEADER_LEN.saturating_add(next.covered);
    Ok(Compressed { written: written.saturating_add(next.written), covered })
}

/// Returns the octets written; `nhc` is set if the next header is compressed too.
pub(super) fn compress_ipv6(
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
    let codings = |contexts: &[Option<Context>]| {
        let from = address::unicast(source, src, contexts, true);
        let to = if multicast {
            address::multicast(destination, contexts)
        } else {
            address::unicast(destination, dst, contexts, false)
        };
        (from, to)
    };
    let (from, to, cid) = shortest(contexts, codings);

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
    let mut out = Writer::new(out);
    out.octet(0b011 << 5 | tf << 3 | u8::from(nhc) << 2 | hlim);
    out.octet(u8::from(cid) << 7 | from.mode << 4 | u8::from(multicast) << 3 | to.mode);
    if cid {
        out.octet(from.context << 4 | to.context);
    }
    if tf & 0b01 == 0 {
        out.octet(ecn_dscp);
    }
    if tf & 0b10 == 0 {
        // The ECN bits keep their position; DSCP is zero.
        out.octet(if tf == 0b01 { (ecn_dscp & 0b1100_0000) | f1 } else { f1 });
        out.octet(f2);
        out.octet(f3);
    }
    if !nhc {
        out.octet(next_header);
    }
    if hlim == 0 {
        out.octet(hop_limit);
    }
    from.write(source, &mut out);
    to.write(destination, &mut out);
    out.finish()
}

/// Returns the codings of both addresses that are shortest together, and whether they use the
/// context identifier octet, which counts once. Without it the context is 0.
fn shortest(
    contexts: &[Option<Context>],
    codings: impl Fn(&[Option<Context>]) -> (Coding, Coding),
) -> (Coding, Coding, bool) {
    let len = |(a, b): (Coding, Coding)| a.len().saturating_add(b.len());
    let plain = codings(contexts.get(..1).unwrap_or_default());
    if contexts.len() > 1 && len(plain) > 1 {
        let any = codings(contexts);
        if len(any).saturating_add(1) < len(plain) {
            return (any.0, any.1, true);
        }
    }
    (plain.0, plain.1, false)
}

/// Expands the compressed header at the start of `frame` to an IPv6 header (and the headers that
/// `N` expands behind it) at the start of `out`.
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
    let (nhc, consumed) = decompress_ipv6(frame, src, dst, contexts, out)?;
    let rest = frame.get(consumed..).unwrap_or_default();
    let mut done = expand_behind::<N>(nhc, out, contexts, rest, datagram_size, integrity, upper)?;
    done.consumed = done.consumed.saturating_add(consumed);
    Ok(done)
}

/// Expands the headers behind an IPv6 header, and then writes its length and next header. `frame`
/// begins behind its compressed form, and the result counts from there.
#[inline(always)]
pub(super) fn expand_behind<N: NextHeader>(
    nhc: bool,
    header: &mut [u8; ipv6::HEADER_LEN],
    contexts: &[Option<Context>],
    frame: &[u8],
    datagram_size: Option<u16>,
    integrity: Integrity,
    upper: &mut [u8],
) -> Result<Decompressed, Error> {
    let mut done = Decompressed { consumed: 0, written: ipv6::HEADER_LEN, checksum_elided: false };
    let mut behind = frame.len();
    if nhc {
        let next = N::expand(Behind { header, contexts }, frame, datagram_size, integrity, upper)?;
        if let Some(field) = header.get_mut(ipv6::NEXT_HEADER_OFFSET) {
            *field = next.next_header;
        }
        behind = behind.saturating_sub(next.consumed).saturating_add(next.written);
        done.consumed = next.consumed;
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
    [header[4], header[5]] = [e, f];
    Ok(done)
}

/// Writes all of the IPv6 header but its length, and its Next Header field only if that is not
/// compressed. Returns whether it is, and the octets of the frame that the IPv6 header takes.
pub(super) fn decompress_ipv6(
    frame: &[u8],
    src: Address,
    dst: Address,
    contexts: &[Option<Context>],
    out: &mut [u8; ipv6::HEADER_LEN],
) -> Result<(bool, usize), Error> {
    let mut input = Reader::new(frame);
    let (first, second) = (input.octet(), input.octet());
    if first >> 5 != 0b011 {
        return Err(Error::Invalid(Field::IphcDispatch));
    }
    let cid = if second & 0x80 != 0 { input.octet() } else { 0 };
    let context = |id: u8| contexts.get(usize::from(id)).and_then(Option::as_ref);
    let nhc = first & 0b100 != 0;

    let (fields, addresses) = out.split_at_mut(8);
    let fields: &mut [u8; 8] = fields.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    // Traffic class and flow label.
    let tf = first >> 3 & 3;
    let mut class = if tf & 0b01 == 0 { input.octet().rotate_left(2) } else { 0 };
    let mut label = [0; 3];
    if tf & 0b10 == 0 {
        input.fill(&mut label);
        if tf == 0b01 {
            // ECN in the upper two bits, then two reserved.
            class = label[0] >> 6;
        }
    }
    let next_header = if nhc { 0 } else { input.octet() };
    let hop_limit = match first & 3 {
        0 => input.octet(),
        1 => 1,
        2 => 64,
        _ => 255,
    };
    let [f1, f2, f3] = label;
    *fields = [0x60 | class >> 4, class << 4 | (f1 & 0xF), f2, f3, 0, 0, next_header, hop_limit];

    let (source, destination) =
        addresses.split_first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    let destination = destination.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    match second >> 4 & 7 {
        address::STATEFUL => *source = [0; 16],
        mode => address::read_unicast(&mut input, mode, src, context(cid >> 4), source)?,
    }
    let context = context(cid & 0xF);
    match (second & 0x08 != 0, second & 7) {
        (true, mode) => address::read_multicast(&mut input, mode, context, destination)?,
        (false, address::STATEFUL) => return Err(Error::Invalid(Field::Dam)),
        (false, mode) => address::read_unicast(&mut input, mode, dst, context, destination)?,
    }
    Ok((nhc, input.finish()?))
}
