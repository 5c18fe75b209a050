//! LOWPAN_NHC of extension headers and of IPv6 in IPv6 (RFC 6282, 4.2), with UDP behind them.
//!
//! Length fields are elided or counted in octets, so all of them must be correct: a header whose
//! length does not follow from the packet's is not compressed, nor is anything behind it. The same
//! applies to a tunnel in a tunnel.

use super::cursor::{Reader, Writer};
use super::iphc::{compress_ipv6, decompress_ipv6};
use super::nhc::{Behind, Compressed, Expanded, Integrity, NextHeader, UdpHeader};
use crate::ieee802154::Address;
use crate::ipv6::{self, protocol};
use crate::{Error, Field};

/// Maximum octets of headers behind the first one that are compressed, and maximum octets of an
/// expanded chain: an option of RPL and a source route of 64 octets, another IPv6 header with an
/// option, UDP.
pub const MAX_CHAIN: usize = 160;
/// Maximum octets of all headers in a frame: an octet of LOWPAN_NHC more for each, and the IPHC of
/// two IPv6 headers at their longest.
pub const MAX_CHAIN_COMPRESSED: usize = 208;

/// LOWPAN_NHC identifiers: 1110, then EID and NH.
const NHC: u8 = 0b1110_0000;
const NHC_MASK: u8 = 0b1111_0000;
/// Headers of a chain: RFC 8200 sets no bound; [`ipv6::MAX_EXTENSIONS`] is Kinglet's, plus UDP.
const MOST: u8 = ipv6::MAX_EXTENSIONS + 1;
/// EID of an IPv6 header.
const IPV6: u8 = 7;
/// Octets of a fragment header behind its reserved octet (RFC 8200, 4.5).
const FRAGMENT_BODY: usize = 6;
/// The longest padding at the end of a header that is elided.
const MAX_PAD: usize = 7;

/// Extension headers, IPv6 in IPv6, and UDP behind any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionHeaders;

/// Returns the EID of an extension header that this node compresses (RFC 6282, 4.2). Fragment
/// headers gain nothing.
const fn eid_of(kind: u8) -> Option<u8> {
    match kind {
        protocol::HOP_BY_HOP => Some(0),
        protocol::ROUTING => Some(1),
        protocol::DESTINATION => Some(3),
        _ => None,
    }
}

const fn kind_of(eid: u8) -> Option<u8> {
    match eid {
        0 => Some(protocol::HOP_BY_HOP),
        1 => Some(protocol::ROUTING),
        2 => Some(protocol::FRAGMENT),
        3 => Some(protocol::DESTINATION),
        4 => Some(protocol::MOBILITY),
        _ => None,
    }
}

/// Returns the link address that stands for the interface identifier of an encapsulating header
/// (RFC 6282, 3.2.2).
fn identifier(header: &[u8; ipv6::HEADER_LEN], at: usize) -> Address {
    let octets = header.get(at..).and_then(|octets| octets.first_chunk::<8>());
    let [first, b, c, d, e, f, g, h] = octets.copied().unwrap_or_default();
    Address::Extended([first ^ 2, b, c, d, e, f, g, h])
}

/// Offsets of the identifiers of source and destination in an IPv6 header.
const SOURCE: usize = 16;
const DESTINATION: usize = 32;

/// The next header of a chain that is being compressed.
#[derive(Clone, Copy)]
struct Step<'a> {
    /// Next Header.
    kind: u8,
    rest: &'a [u8],
    /// Octets of the packet that are left, including those that are not in `rest`.
    left: usize,
    /// Octets of the chain so far.
    covered: usize,
    /// True if an IPv6 header is among them.
    inner: bool,
}

impl<'a> Step<'a> {
    /// Returns the step behind an IPv6 header.
    fn behind(header: &[u8; ipv6::HEADER_LEN], rest: &'a [u8], covered: usize) -> Self {
        let [_, _, _, _, e, f, kind, ..] = *header;
        let left = u16::from_be_bytes([e, f]).into();
        Step { kind, rest, left, covered, inner: covered > 0 }
    }

    fn after(self, kind: u8, len: usize) -> Self {
        Step {
            kind,
            rest: self.rest.get(len..).unwrap_or_default(),
            left: self.left.saturating_sub(len),
            covered: self.covered.saturating_add(len),
            inner: self.inner,
        }
    }

    /// Returns the extension header that is next, if there is room for it.
    fn extension(&self) -> Option<&'a [u8]> {
        let units = *self.rest.get(1)?;
        let len = usize::from(units).saturating_add(1).saturating_mul(8);
        let octets = self.rest.get(..len).filter(|_| len <= self.left)?;
        let fits = self.covered.saturating_add(len) <= MAX_CHAIN;
        fits.then_some(octets)
    }

    /// Returns the IPv6 header that is next, if its length follows from the packet's.
    fn ipv6(&self) -> Option<&'a [u8; ipv6::HEADER_LEN]> {
        let header = self.rest.first_chunk::<{ ipv6::HEADER_LEN }>()?;
        let [version, _, _, _, e, f, ..] = *header;
        let payload = usize::from(u16::from_be_bytes([e, f]));
        let fits = self.covered.saturating_add(ipv6::HEADER_LEN) <= MAX_CHAIN;
        let whole = payload.saturating_add(ipv6::HEADER_LEN) == self.left;
        (version >> 4 == 6 && whole && fits && !self.inner).then_some(header)
    }

    fn udp(&self) -> bool {
        let length = self.rest.get(4..).and_then(|octets| octets.first_chunk::<2>());
        let len = length.map(|octets| usize::from(u16::from_be_bytes(*octets)));
        self.rest.len() >= 8
            && self.left >= 8
            && len == Some(self.left)
            && self.covered.saturating_add(8) <= MAX_CHAIN
    }

    /// Returns whether the next header is compressed.
    fn takes(&self) -> bool {
        match self.kind {
            protocol::UDP => self.udp(),
            protocol::IPV6 => self.ipv6().is_some(),
            kind => eid_of(kind).is_some() && self.extension().is_some(),
        }
    }
}

/// Returns the octets of an extension header behind its first two, without padding at its end if
/// the header consists of options only.
fn carried(kind: u8, octets: &[u8]) -> &[u8] {
    let body = octets.get(2..).unwrap_or_default();
    if kind == protocol::ROUTING {
        return body;
    }
    // Offset of the last option if it is padding; everything before it is whole.
    let (mut at, mut last) = (0_usize, None);
    while let Some(&kind) = body.get(at) {
        let len = match kind {
            0 => 1,
            _ => {
                usize::from(body.get(at.saturating_add(1)).copied().unwrap_or(0)).saturating_add(2)
            }
        };
        let end = at.saturating_add(len);
        // Padding that is not zero could not be restored.
        let data = body.get(at.saturating_add(2)..end).unwrap_or_default();
        let is_zero = data.iter().all(|octet| *octet == 0);
        last = (kind <= 1 && len <= MAX_PAD && is_zero).then_some(at);
        at = end;
    }
    match last.filter(|_| at == body.len()) {
        // A length field must count at least one octet.
        Some(pad) if pad > 0 => body.get(..pad).unwrap_or(body),
        _ => body,
    }
}

impl NextHeader for ExtensionHeaders {
    fn takes(header: &[u8; ipv6::HEADER_LEN], upper: &[u8]) -> bool {
        Step::behind(header, upper, 0).takes()
    }

    fn compress(behind: Behind<'_>, upper: &[u8], out: &mut [u8]) -> Result<Compressed, Error> {
        let Behind { header: mut outer, contexts } = behind;
        let mut step = Step::behind(outer, upper, 0);
        let mut out = Writer::new(out);
        for _ in 0..MOST {
            if step.kind == protocol::UDP {
                let udp =
                    UdpHeader::compress(Behind { header: outer, contexts }, step.rest, out.room())?;
                out.advance(udp.written);
                return done(&out, step.covered.saturating_add(udp.covered));
            }
            if step.kind == protocol::IPV6 {
                let header = step.ipv6().ok_or(Error::Unsupported(Field::LowpanNhc))?;
                let (src, dst) = (identifier(outer, SOURCE), identifier(outer, DESTINATION));
                let rest = step.rest.get(ipv6::HEADER_LEN..).unwrap_or_default();
                let next =
                    Step::behind(header, rest, step.covered.saturating_add(ipv6::HEADER_LEN));
                out.octet(NHC | IPV6 << 1);
                let written = compress_ipv6(header, next.takes(), src, dst, contexts, out.room())?;
                out.advance(written);
                (outer, step) = (header, next);
            } else {
                let eid = eid_of(step.kind).ok_or(Error::Unsupported(Field::LowpanNhc))?;
                let octets = step.extension().ok_or(Error::Unsupported(Field::LowpanNhc))?;
                let next = step.after(octets.first().copied().unwrap_or(0), octets.len());
                let body = carried(step.kind, octets);
                out.octet(NHC | eid << 1 | u8::from(next.takes()));
                if !next.takes() {
                    out.octet(next.kind);
                }
                // At most `MAX_CHAIN`.
                out.octet(body.len() as u8);
                out.put(body);
                step = next;
            }
            if !step.takes() {
                return done(&out, step.covered);
            }
        }
        Err(Error::NoRoom(Field::LowpanNhc))
    }

    fn expand(
        behind: Behind<'_>,
        frame: &[u8],
        datagram_size: Option<u16>,
        integrity: Integrity,
        out: &mut [u8],
    ) -> Result<Expanded, Error> {
        let mut chain =
            Growing { behind, frame, consumed: 0, out, at: 0, field: None, inner: None };
        let mut first = None;
        let mut checksum_elided = false;
        for _ in 0..MOST {
            let nhc = chain.rest().first().copied().ok_or(Error::Truncated(Field::LowpanNhc))?;
            let (kind, more) = if nhc & NHC_MASK != NHC {
                checksum_elided = chain.udp(datagram_size, integrity)?;
                (protocol::UDP, false)
            } else if nhc >> 1 & 7 == IPV6 {
                (protocol::IPV6, chain.ipv6()?)
            } else {
                let kind = kind_of(nhc >> 1 & 7).ok_or(Error::Unsupported(Field::LowpanNhc))?;
                (kind, chain.extension(nhc & 1 != 0)?)
            };
            let next_header = *first.get_or_insert(kind);
            if !more {
                chain.finish(datagram_size)?;
                let Growing { consumed, at: written, .. } = chain;
                return Ok(Expanded { next_header, consumed, written, checksum_elided });
            }
        }
        Err(Error::Unsupported(Field::LowpanNhc))
    }
}

fn done(out: &Writer<'_>, covered: usize) -> Result<Compressed, Error> {
    Ok(Compressed { written: out.finish()?, covered })
}

/// A chain that is being expanded.
struct Growing<'a> {
    behind: Behind<'a>,
    frame: &'a [u8],
    consumed: usize,
    out: &'a mut [u8],
    at: usize,
    /// Offset at which the next header's kind must still be written.
    field: Option<usize>,
    /// Offset of the IPv6 header in the chain.
    inner: Option<usize>,
}

impl Growing<'_> {
    fn rest(&self) -> &[u8] {
        self.frame.get(self.consumed..).unwrap_or_default()
    }

    /// Writes the kind of the next header into the one before it.
    fn name(&mut self, kind: u8) {
        if let Some(field) = self.field.take().and_then(|at| self.out.get_mut(at)) {
            *field = kind;
        }
    }

    /// Expands an extension header. Returns whether another one follows.
    fn extension(&mut self, more: bool) -> Result<bool, Error> {
        let mut input = Reader::new(self.rest());
        let kind = kind_of(input.octet() >> 1 & 7).unwrap_or(0);
        let next = if more { 0 } else { input.octet() };
        // A fragment header has a reserved octet in place of the length.
        let octet = usize::from(input.octet());
        let body = if kind == protocol::FRAGMENT { FRAGMENT_BODY } else { octet };
        let begin = input.finish()?;
        let end = begin.saturating_add(body);
        let octets = self.frame.get(self.consumed.saturating_add(begin)..);
        let octets = octets.and_then(|octets| octets.get(..body));
        let octets = octets.ok_or(Error::Truncated(Field::LowpanNhc))?;
        let len = body.saturating_add(2).next_multiple_of(8);
        let room = self.at..self.at.saturating_add(len);
        let room = self.out.get_mut(room).ok_or(Error::NoRoom(Field::LowpanNhc))?;
        let (head, tail) = room.split_at_mut_checked(2).ok_or(Error::NoRoom(Field::LowpanNhc))?;
        // Up to 264 octets.
        let units = (len / 8).saturating_sub(1) as u8;
        kinglet_octets::copy(head, &[next, units]);
        kinglet_octets::copy(tail, octets);
        let pad = tail.get_mut(body..).unwrap_or_default();
        let has_options = matches!(kind, protocol::HOP_BY_HOP | protocol::DESTINATION);
        if !has_options && !pad.is_empty() {
            // Only padding options can have been elided.
            return Err(Error::Invalid(Field::LowpanNhc));
        }
        pad.fill(0);
        // PadN; a single octet is Pad1, which is zero.
        let zeros = pad.len().saturating_sub(2) as u8;
        if let [first, second, ..] = pad {
            (*first, *second) = (1, zeros);
        }
        self.name(kind);
        self.field = more.then_some(self.at);
        self.at = self.at.saturating_add(len);
        self.consumed = self.consumed.saturating_add(end);
        Ok(more)
    }

    /// Expands an IPv6 header. Returns whether the header behind it is compressed too.
    fn ipv6(&mut self) -> Result<bool, Error> {
        if self.inner.is_some() {
            return Err(Error::Unsupported(Field::LowpanNhc));
        }
        let outer = self.behind.header;
        let (src, dst) = (identifier(outer, SOURCE), identifier(outer, DESTINATION));
        let rest = self.frame.get(self.consumed.saturating_add(1)..).unwrap_or_default();
        let room = self.out.get_mut(self.at..).unwrap_or_default();
        let room = room.first_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
        let (more, len) = decompress_ipv6(rest, src, dst, self.behind.contexts, room)?;
        self.name(protocol::IPV6);
        self.inner = Some(self.at);
        self.field = more.then_some(self.at.saturating_add(ipv6::NEXT_HEADER_OFFSET));
        self.at = self.at.saturating_add(ipv6::HEADER_LEN);
        self.consumed = self.consumed.saturating_add(len).saturating_add(1);
        Ok(more)
    }

    /// Expands a UDP header. Returns whether its checksum was elided.
    fn udp(&mut self, size: Option<u16>, integrity: Integrity) -> Result<bool, Error> {
        // Its length is derived from that of the packet, less the chain so far.
        let at = u16::try_from(self.at).unwrap_or(u16::MAX);
        let size = size.map(|size| size.saturating_sub(at));
        let rest = self.frame.get(self.consumed..).unwrap_or_default();
        let room = self.out.get_mut(self.at..).unwrap_or_default();
        let udp = UdpHeader::expand(self.behind, rest, size, integrity, room)?;
        self.name(protocol::UDP);
        self.at = self.at.saturating_add(udp.written);
        self.consumed = self.consumed.saturating_add(udp.consumed);
        Ok(udp.checksum_elided)
    }

    /// Completes the lengths, which follow from the end of the packet's payload.
    fn finish(&mut self, datagram_size: Option<u16>) -> Result<(), Error> {
        let end = match datagram_size {
            Some(size) => usize::from(size).checked_sub(ipv6::HEADER_LEN),
            None => Some(self.rest().len().saturating_add(self.at)),
        };
        let end = end.filter(|end| *end >= self.at).ok_or(Error::Invalid(Field::DatagramSize))?;
        let Some(inner) = self.inner else { return Ok(()) };
        let payload = end.saturating_sub(inner.saturating_add(ipv6::HEADER_LEN));
        let payload = u16::try_from(payload).map_err(|_| Error::Invalid(Field::DatagramSize))?;
        let field = inner.saturating_add(4)..inner.saturating_add(6);
        if let Some(field) = self.out.get_mut(field) {
            kinglet_octets::copy(field, &payload.to_be_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{compress, decompress};
    use super::*;
    use crate::ipv6::Header;
    use crate::rpl::{PacketInformation, SourceRoute};
    use core::net::Ipv6Addr;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn node(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0xFF, 0xFE00, n)
    }

    fn header(next_header: u8, src: Ipv6Addr, dst: Ipv6Addr, behind: &[u8]) -> Vec<u8> {
        let payload_len = behind.len() as u16;
        let (traffic_class, flow_label, hop_limit) = (0, 0, 63);
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        let mut octets = std::vec![0; ipv6::HEADER_LEN];
        header.emit(&mut octets).unwrap();
        [&octets, behind].concat()
    }

    fn option(next_header: u8) -> [u8; 8] {
        let (down, rank_error, forwarding_error) = (true, false, false);
        let (instance, sender_rank) = (0, 256);
        PacketInformation { down, rank_error, forwarding_error, instance, sender_rank }
            .hop_by_hop(next_header, PacketInformation::SKIPPED_IF_UNKNOWN)
    }

    fn udp(len: usize) -> Vec<u8> {
        let [high, low] = (len as u16 + 8).to_be_bytes();
        [&[0xF0, 0xB1, 0xF0, 0xB2, high, low, 1, 2][..], &std::vec![7; len]].concat()
    }

    const NEAR: Address = Address::Short(5);
    const FAR: Address = Address::Short(6);

    /// Compresses and expands a packet, as one frame and as the first of many. Returns the octets
    /// of the compressed headers, and those of the headers that they stand for.
    fn round_trip(packet: &[u8]) -> (usize, usize) {
        let contexts = [Some(super::super::Context { prefix: node(0), len: 64 })];
        let mut out = [0; MAX_CHAIN_COMPRESSED];
        let done = compress::<ExtensionHeaders>(packet, NEAR, FAR, &contexts, &mut out).unwrap();
        let rest = &packet[done.covered..];
        let frame = [&out[..done.written], rest].concat();
        for size in [None, Some(packet.len() as u16)] {
            // The first fragment need not contain the payload.
            let frame = if size.is_some() { &frame[..done.written] } else { &frame };
            let mut back = [0; ipv6::HEADER_LEN + MAX_CHAIN];
            let integrity = Integrity::None;
            let expanded = decompress::<ExtensionHeaders>(
                frame, NEAR, FAR, &contexts, size, integrity, &mut back,
            );
            let expanded = expanded.unwrap();
            assert_eq!((expanded.consumed, expanded.written), (done.written, done.covered));
            assert_eq!(back[..expanded.written], packet[..done.covered]);
        }
        (done.written, done.covered)
    }

    #[test]
    fn the_option_of_rpl_takes_its_eight_octets_and_one() {
        let behind = [&option(protocol::TCP)[..], &[9; 40]].concat();
        // Two of IPHC, one of the hop limit, elided destination and source; LOWPAN_NHC with next
        // header, length and six octets.
        let packet = header(protocol::HOP_BY_HOP, node(5), node(6), &behind);
        assert_eq!(round_trip(&packet), (3 + 9, 48));
        let behind = [&option(protocol::UDP)[..], &udp(30)].concat();
        let packet = header(protocol::HOP_BY_HOP, node(5), node(6), &behind);
        assert_eq!(round_trip(&packet), (3 + 8 + 4, 56));
    }

    #[test]
    fn a_tunnel_with_a_source_route_is_compressed_to_its_end() {
        let host = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 1, 2, 3, 4);
        let inner = header(protocol::UDP, host, node(9), &udp(20));
        let mut route = [0; 64];
        let len =
            SourceRoute::emit(protocol::IPV6, node(6), &[node(8), node(9)], &mut route).unwrap();
        let behind = [&option(protocol::ROUTING)[..], &route[..len], &inner].concat();
        let packet = header(protocol::HOP_BY_HOP, node(1), node(6), &behind);
        let (written, covered) = round_trip(&packet);
        assert_eq!(covered, 40 + 8 + len + 40 + 8);
        // The source route is as long as before, without the octet of its own length.
        assert!(written <= 5 + 8 + len + 1 + 23 + 6, "{written}");
    }

    /// Other stacks compress these as well. The octet in place of the length of a fragment header
    /// is reserved, or counts the six that follow.
    #[test]
    fn fragment_and_mobility_headers_of_others_are_expanded() {
        let expand = |nhc: &[u8]| {
            let frame = [&[0x7F, 0x33][..], nhc].concat();
            let mut out = [0; ipv6::HEADER_LEN + MAX_CHAIN];
            let (size, integrity) = (None, Integrity::None);
            let done =
                decompress::<ExtensionHeaders>(&frame, NEAR, FAR, &[], size, integrity, &mut out)?;
            Ok((out[ipv6::NEXT_HEADER_OFFSET], out[ipv6::HEADER_LEN..done.written].to_vec()))
        };
        for reserved in [0, 6] {
            let fragment = expand(&[0xE4, protocol::TCP, reserved, 5, 0xA1, 1, 2, 3, 4]);
            let header = std::vec![protocol::TCP, 0, 5, 0xA1, 1, 2, 3, 4];
            assert_eq!(fragment, Ok((protocol::FRAGMENT, header)));
        }
        let mobility = expand(&[0xE8, protocol::NONE, 6, 5, 0, 1, 2, 3, 4]);
        let header = std::vec![protocol::NONE, 0, 5, 0, 1, 2, 3, 4];
        assert_eq!(mobility, Ok((protocol::MOBILITY, header)));
        let short = expand(&[0xE8, protocol::NONE, 5, 5, 0, 1, 2, 3]);
        assert_eq!(short, Err(Error::Invalid(Field::LowpanNhc)));
        let reserved = expand(&[0xEA, protocol::NONE, 6, 5, 0, 1, 2, 3, 4]);
        assert_eq!(reserved, Err(Error::Unsupported(Field::LowpanNhc)));
    }

    #[test]
    fn padding_at_the_end_comes_back() {
        for (options, pad) in [
            ([0x1E, 3, 7, 7, 7, 0], 1),
            ([0x1E, 2, 7, 7, 1, 0], 2),
            ([0x1E, 0, 1, 2, 0, 0], 4),
            ([0x1E, 4, 7, 7, 7, 7], 0),
            ([1, 4, 0, 0, 0, 0], 0),
        ] {
            let behind = [&[protocol::NONE, 0][..], &options].concat();
            let packet = header(protocol::DESTINATION, node(5), node(6), &behind);
            assert_eq!(round_trip(&packet), (3 + 9 - pad, 48));
        }
    }

    #[test]
    fn contradictory_and_long_headers_stay_uncompressed() {
        // An inner length that contradicts the packet's, and a tunnel in a tunnel.
        let mut inner = header(protocol::NONE, node(1), node(9), &[]);
        inner[5] = 9;
        let packet = header(protocol::IPV6, node(5), node(6), &inner);
        assert_eq!(round_trip(&packet).1, 40);
        let inner = header(protocol::NONE, node(1), node(9), &[]);
        let middle = header(protocol::IPV6, node(2), node(8), &inner);
        let packet = header(protocol::IPV6, node(5), node(6), &middle);
        assert_eq!(round_trip(&packet).1, 80);
        let long = [&[protocol::NONE, 24][..], &[0; 198]].concat();
        assert_eq!(round_trip(&header(protocol::DESTINATION, node(5), node(6), &long)).1, 40);
    }

    proptest! {
        #[test]
        fn no_octets_panic_and_what_expands_is_what_was(
            octets in prop::collection::vec(any::<u8>(), 0..120), size in any::<Option<u16>>(),
            kind in 0u8..5,
        ) {
            let mut octets = octets;
            if octets.len() > 4 {
                octets[..4].copy_from_slice(&[0x7F, 0x33, 0xE0 | kind << 1, 4]);
            }
            let mut out = [0; ipv6::HEADER_LEN + MAX_CHAIN];
            let done = decompress::<ExtensionHeaders>(
                &octets, NEAR, FAR, &[], size, Integrity::None, &mut out,
            );
            if let (Ok(done), None) = (done, size) {
                prop_assert!(done.consumed <= octets.len() && done.written <= out.len());
                let packet = [&out[..done.written], &octets[done.consumed..]].concat();
                if packet.len() >= 48 {
                    round_trip(&packet);
                }
            }
        }
    }
}
