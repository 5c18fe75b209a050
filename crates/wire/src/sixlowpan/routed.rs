//! 6LoWPAN Routing Headers (RFC 8138): the headers that RPL adds to packets, in front of
//! LOWPAN_IPHC, in Page 1 (RFC 8025).
//!
//! | header | stands for |
//! |---|---|
//! | SRH-6LoRH, types 0 to 4 | the destination and the rest of its source route (RFC 6554) |
//! | RPI-6LoRH, type 5 | a Hop-by-Hop Options header with the RPL option (RFC 6553) |
//! | IP-in-IP-6LoRH, elective type 6 | an outer IPv6 header; at most one is read |
//!
//! Every hop expands a packet to the result of [`decompress`] and compresses it again (RFC 8138,
//! 5.3): used entries of a source route are then gone. A packet that does not match this form to
//! the last octet is left to RFC 6282, so that both ends compute the same length, by which
//! fragments are placed. Elective headers of other types are skipped (RFC 8138, 4.1).

use super::address::{Context, Octets};
use super::cursor::{Reader, Writer};
use super::extensions::MAX_CHAIN;
use super::iphc::{Decompressed, compress_ipv6, decompress_ipv6, expand_behind};
use super::nhc::{Behind, Compressed, Integrity, NextHeader};
use crate::ieee802154::Address;
use crate::ipv6::{self, Header, is_link_local, protocol};
use crate::rpl::{PacketInformation, SourceRoute};
use crate::{Error, Field};
use core::net::Ipv6Addr;

/// The dispatch octet of Page 1 (RFC 8025, 4).
pub const PAGE_1: u8 = 0xF1;

/// Maximum hops of a source route: as many as a header of one type can contain.
const MOST_HOPS: usize = 32;
/// Octets of a Hop-by-Hop Options header with the RPL option alone.
const OPTION_LEN: usize = 8;

/// 100xxxxx and 101xxxxx: critical and elective headers (RFC 8138, 4).
const CRITICAL: u8 = 0x80;
const ELECTIVE: u8 = 0xA0;
/// The bits that distinguish them, and all others.
const FORM: u8 = 0xE0;
/// RPI-6LoRH among the critical ones, IP-in-IP-6LoRH among the elective.
const INFORMATION: u8 = 5;
const TUNNEL: u8 = 6;
/// Flags of RPI-6LoRH (RFC 8138, 6.3).
const DOWN: u8 = 0x10;
const RANK_ERROR: u8 = 0x08;
const FORWARDING_ERROR: u8 = 0x04;
const NO_INSTANCE: u8 = 0x02;
const SHORT_RANK: u8 = 0x01;

/// State of the DODAG that both ends know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dodag {
    /// The address of its root, DODAGID (RFC 8138, 4.3.2).
    pub root: Ipv6Addr,
    /// RPLInstanceID.
    pub instance: u8,
    /// The type of the RPL option in its packets (RFC 9008, 4.3).
    pub option: u8,
    /// True if routers have downward routes: if a downward outer header elides its destination,
    /// that is the destination of the packet inside (RFC 8138, 7).
    pub storing: bool,
    /// True if packets are sent in this form (RFC 9035).
    pub compresses: bool,
}

const fn bad() -> Error {
    Error::Invalid(Field::LowpanRoutingHeader)
}

/// The addresses that a packet visits.
struct Path {
    hops: [Ipv6Addr; MOST_HOPS],
    len: usize,
}

impl Path {
    const fn new() -> Self {
        Path { hops: [Ipv6Addr::UNSPECIFIED; MOST_HOPS], len: 0 }
    }

    fn push(&mut self, hop: Ipv6Addr) -> Result<(), Error> {
        *self.hops.get_mut(self.len).ok_or(Error::Unsupported(Field::LowpanRoutingHeader))? = hop;
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn hops(&self) -> &[Ipv6Addr] {
        self.hops.get(..self.len).unwrap_or_default()
    }

    /// Reads a sequence of SRH-6LoRHs (RFC 8138, 5.1, 5.4).
    fn read(&mut self, route: &[u8], mut reference: Ipv6Addr) -> Result<(), Error> {
        let mut rest = route;
        while let [first, kind, entries @ ..] = rest {
            let each = 1_usize << (kind & 7).min(4);
            let mut left = usize::from(first & 0x1F).saturating_add(1);
            rest = entries;
            while left > 0 {
                let (entry, others) = rest.split_at_checked(each).ok_or(bad())?;
                reference = coalesce(reference, entry);
                if reference.is_multicast() {
                    return Err(bad());
                }
                self.push(reference)?;
                (rest, left) = (others, left.saturating_sub(1));
            }
        }
        Ok(())
    }

    /// Returns the octets of the source route behind the first hop.
    fn route_len(&self) -> usize {
        match self.hops() {
            [first, rest @ ..] if !rest.is_empty() => SourceRoute::buffer_len(*first, rest),
            _ => 0,
        }
    }
}

/// RFC 8138, 4.3.1: `octets` replace the last ones of `reference`.
fn coalesce(reference: Ipv6Addr, octets: &[u8]) -> Ipv6Addr {
    let mut address = reference.octets();
    let at = address.len().saturating_sub(octets.len());
    kinglet_octets::copy(address.get_mut(at..).unwrap_or_default(), octets);
    Ipv6Addr::from(address)
}

/// Returns the type of an SRH-6LoRH with as much of `address` as [`coalesce`] needs.
fn kind_for(reference: Ipv6Addr, address: Ipv6Addr) -> u8 {
    let (reference, address) = (reference.octets(), address.octets());
    let common = reference.iter().zip(address).take_while(|(a, b)| **a == *b).count();
    match address.len().saturating_sub(common) {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 2,
        5..=8 => 3,
        _ => 4,
    }
}

/// Returns the link address from which an interface identifier is formed (RFC 6282, 3.2.2).
fn identifier(address: Ipv6Addr) -> Address {
    let [_, _, _, _, _, _, _, _, first, b, c, d, e, f, g, h] = address.octets();
    Address::Extended([first ^ 2, b, c, d, e, f, g, h])
}

/// The headers behind one IPv6 header.
#[derive(Clone, Copy, Default)]
struct Zone<'a> {
    /// SRH-6LoRHs.
    route: &'a [u8],
    information: Option<PacketInformation>,
}

impl Zone<'_> {
    fn option_len(&self) -> usize {
        if self.information.is_some() { OPTION_LEN } else { 0 }
    }

    /// Writes the option and the source route to `out` in front of a header of type `next`. Returns
    /// the type of the first of them. `out` is as long as they are.
    fn expand(&self, option: u8, path: &Path, mut next: u8, out: &mut [u8]) -> Result<u8, Error> {
        let none = Error::NoRoom(Field::LowpanRoutingHeader);
        let (head, route) = out.split_at_mut_checked(self.option_len()).ok_or(none)?;
        if let ([first, rest @ ..], false) = (path.hops(), route.is_empty()) {
            SourceRoute::emit(next, *first, rest, route)?;
            next = protocol::ROUTING;
        }
        if let Some(information) = self.information {
            kinglet_octets::copy(head, &information.hop_by_hop(next, option));
            next = protocol::HOP_BY_HOP;
        }
        Ok(next)
    }
}

/// IP-in-IP-6LoRH.
#[derive(Clone, Copy)]
struct Tunnel<'a> {
    zone: Zone<'a>,
    hop_limit: u8,
    /// The last octets of the source address of the outer header.
    encapsulator: &'a [u8],
}

/// The headers in front of LOWPAN_IPHC.
struct Headers<'a> {
    tunnel: Option<Tunnel<'a>>,
    zone: Zone<'a>,
    /// Octets of all of them.
    len: usize,
}

impl<'a> Headers<'a> {
    fn read(frame: &'a [u8]) -> Result<Self, Error> {
        let cut = Error::Truncated(Field::LowpanRoutingHeader);
        let (&page, mut rest) = frame.split_first().ok_or(cut)?;
        if page != PAGE_1 {
            return Err(bad());
        }
        let mut headers = Headers { tunnel: None, zone: Zone::default(), len: 1 };
        // Offset of this zone's source route. Each iteration takes at least two octets.
        let mut begin = None;
        while let [first, kind, ..] = *rest {
            let len = match (first & FORM, kind) {
                (CRITICAL, 0..=4) => {
                    (usize::from(first & 0x1F).saturating_add(1) << kind).saturating_add(2)
                }
                (CRITICAL, INFORMATION) => {
                    let instance = usize::from(first & NO_INSTANCE == 0);
                    let rank = if first & SHORT_RANK != 0 { 1 } else { 2 };
                    instance.saturating_add(rank).saturating_add(2)
                }
                (ELECTIVE, _) => usize::from(first & 0x1F).saturating_add(2),
                (CRITICAL, _) => return Err(Error::Unsupported(Field::LowpanRoutingHeader)),
                _ => break,
            };
            let (octets, behind) = rest.split_at_checked(len).ok_or(cut)?;
            let zone = &mut headers.zone;
            match (first & FORM, kind) {
                // Headers that are consumed on the path come first (RFC 8138, 3.2.2).
                (CRITICAL, INFORMATION) if zone.information.is_none() => {
                    zone.information = Some(read_information(octets)?);
                }
                (CRITICAL, 0..=4) if zone.information.is_none() => {
                    let from = *begin.get_or_insert(headers.len);
                    let end = headers.len.saturating_add(len);
                    zone.route = frame.get(from..end).unwrap_or_default();
                }
                (CRITICAL, _) => return Err(bad()),
                (_, TUNNEL) if headers.tunnel.is_some() => {
                    return Err(Error::Unsupported(Field::LowpanRoutingHeader));
                }
                (_, TUNNEL) => {
                    let (&[_, _, hop_limit], encapsulator) =
                        octets.split_first_chunk().ok_or(bad())?;
                    let zone = core::mem::take(zone);
                    headers.tunnel = Some(Tunnel { zone, hop_limit, encapsulator });
                    begin = None;
                }
                // Nothing may be skipped within a source route.
                _ if begin.is_some() && zone.information.is_none() => return Err(bad()),
                _ => {}
            }
            headers.len = headers.len.saturating_add(len);
            rest = behind;
        }
        Ok(headers)
    }

    /// Expands the IPv6 header at the start of `frame` to `header`, and finds the path of the
    /// packet that it is or that is in front of it. Returns whether the next header is compressed
    /// too, and the octets of the frame that the header takes.
    fn decompress_ipv6(
        &self,
        frame: &[u8],
        (src, dst): (Address, Address),
        contexts: &[Option<Context>],
        dodag: &Dodag,
        path: &mut Path,
        header: &mut [u8; ipv6::HEADER_LEN],
    ) -> Result<(bool, usize), Error> {
        let Headers { tunnel, zone, .. } = self;
        let named = tunnel.map_or(*zone, |tunnel| tunnel.zone).information;
        if named.is_some_and(|named| named.instance != dodag.instance) {
            return Err(bad());
        }
        let Some(tunnel) = tunnel else {
            let done = decompress_ipv6(frame, src, dst, contexts, header)?;
            let (source, destination) = addresses(header);
            path.read(zone.route, source)?;
            // The last router on the path, or the destination itself (RFC 8138, 5.2.2).
            if path.hops().last().is_some_and(|last| *last != destination) {
                path.push(destination)?;
            }
            return Ok(done);
        };
        if !zone.route.is_empty() {
            return Err(Error::Unsupported(Field::LowpanRoutingHeader));
        }
        let encapsulator = coalesce(dodag.root, tunnel.encapsulator);
        path.read(tunnel.zone.route, encapsulator)?;
        if path.len == 0 && !named.is_some_and(|named| named.down) {
            path.push(dodag.root)?;
        }
        // Octets elided inside are in the outer header (RFC 6282, 3.2.2; RFC 8138, 5.2.3).
        let end = path.hops().last().map_or(Address::None, |end| identifier(*end));
        let done = decompress_ipv6(frame, identifier(encapsulator), end, contexts, header)?;
        if path.len == 0 {
            path.push(addresses(header).1)?;
        }
        Ok(done)
    }
}

fn read_information(octets: &[u8]) -> Result<PacketInformation, Error> {
    let mut input = Reader::new(octets);
    let flags = input.octet();
    // The type octet.
    input.octet();
    let instance = if flags & NO_INSTANCE != 0 { 0 } else { input.octet() };
    let first = input.octet();
    let second = if flags & SHORT_RANK != 0 { 0 } else { input.octet() };
    input.finish()?;
    Ok(PacketInformation {
        down: flags & DOWN != 0,
        rank_error: flags & RANK_ERROR != 0,
        forwarding_error: flags & FORWARDING_ERROR != 0,
        instance,
        sender_rank: u16::from_be_bytes([first, second]),
    })
}

fn write_information(information: &PacketInformation, out: &mut Writer<'_>) {
    let &PacketInformation { down, rank_error, forwarding_error, instance, sender_rank } =
        information;
    let [first, second] = sender_rank.to_be_bytes();
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flags = flag(down, DOWN)
        | flag(rank_error, RANK_ERROR)
        | flag(forwarding_error, FORWARDING_ERROR)
        | flag(instance == 0, NO_INSTANCE)
        | flag(second == 0, SHORT_RANK);
    out.octet(CRITICAL | flags);
    out.octet(INFORMATION);
    if instance != 0 {
        out.octet(instance);
    }
    out.octet(first);
    if second != 0 {
        out.octet(second);
    }
}

/// Writes an SRH-6LoRH with these hops, no more than it has room for.
fn write_route(mut reference: Ipv6Addr, hops: &[Ipv6Addr], out: &mut Writer<'_>) {
    let Some(size) = hops.len().checked_sub(1) else { return };
    let mut kind = 0;
    for hop in hops {
        kind = kind.max(kind_for(reference, *hop));
        reference = *hop;
    }
    // At most 31.
    out.octet(CRITICAL | size as u8);
    out.octet(kind);
    for hop in hops {
        let octets = hop.octets();
        let at = octets.len().saturating_sub(1 << kind);
        out.put(octets.get(at..).unwrap_or_default());
    }
}

/// Writes an IP-in-IP-6LoRH.
fn write_tunnel(root: Ipv6Addr, outer: &Header, out: &mut Writer<'_>) {
    let octets = outer.src.octets();
    let len = if outer.src == root { 0 } else { 1_usize << kind_for(root, outer.src) };
    // At most 17.
    out.octet(ELECTIVE | len.saturating_add(1) as u8);
    out.octet(TUNNEL);
    out.octet(outer.hop_limit);
    out.put(octets.get(octets.len().saturating_sub(len)..).unwrap_or_default());
}

fn addresses(header: &[u8; ipv6::HEADER_LEN]) -> (Ipv6Addr, Ipv6Addr) {
    let [_, _, _, _, _, _, _, _, addresses @ ..] = header;
    let of = |octets: Option<&Octets>| octets.map_or(Ipv6Addr::UNSPECIFIED, |it| (*it).into());
    (of(addresses.first_chunk()), of(addresses.last_chunk()))
}

/// Expands the headers at the start of `frame`, which begins with [`PAGE_1`], as
/// [`decompress`](super::decompress) does without routing headers.
///
/// # Errors
/// Those of [`decompress`](super::decompress); [`Error::Unsupported`] for critical headers of other
/// types, more than one outer header or a source route of more than 32 hops, [`Error::Invalid`] for
/// headers out of order or of another instance of RPL.
pub fn decompress<N: NextHeader>(
    frame: &[u8],
    (src, dst): (Address, Address),
    contexts: &[Option<Context>],
    dodag: &Dodag,
    datagram_size: Option<u16>,
    integrity: Integrity,
    out: &mut [u8],
) -> Result<Decompressed, Error> {
    let headers = Headers::read(frame)?;
    let Headers { tunnel, zone, len } = headers;
    let frame = frame.get(len..).unwrap_or_default();
    let mut path = Path::new();
    let mut header = [0; ipv6::HEADER_LEN];
    let (nhc, consumed) =
        headers.decompress_ipv6(frame, (src, dst), contexts, dodag, &mut path, &mut header)?;
    // Octets before the header that is in the frame, and behind it.
    let before = tunnel.map_or(0, |tunnel| {
        let added = tunnel.zone.option_len().saturating_add(path.route_len());
        added.saturating_add(ipv6::HEADER_LEN)
    });
    let route_len = if tunnel.is_some() { 0 } else { path.route_len() };
    let behind = zone.option_len().saturating_add(route_len);
    let none = Error::NoRoom(Field::LowpanRoutingHeader);
    let (outer, out) = out.split_at_mut_checked(before).ok_or(none)?;
    let (place, out) = out.split_first_chunk_mut::<{ ipv6::HEADER_LEN }>().ok_or(none)?;
    let (added, upper) = out.split_at_mut_checked(behind).ok_or(none)?;
    let more = before.saturating_add(behind);
    // At most a few hundred.
    let size = datagram_size.map(|size| size.checked_sub(more as u16));
    let size = size.map(|size| size.ok_or(Error::Invalid(Field::DatagramSize))).transpose()?;
    let rest = frame.get(consumed..).unwrap_or_default();
    let mut done = expand_behind::<N>(nhc, &mut header, contexts, rest, size, integrity, upper)?;
    done.consumed = done.consumed.saturating_add(consumed).saturating_add(len);
    done.written = done.written.saturating_add(more);

    let mut inner = Header::read(&header)?;
    let longer = |len: u16, more: usize| u16::try_from(usize::from(len).saturating_add(more));
    let long = |_| Error::Invalid(Field::DatagramSize);
    inner.payload_len = longer(inner.payload_len, behind).map_err(long)?;
    inner.next_header = zone.expand(dodag.option, &path, inner.next_header, added)?;
    let first = path.hops().first().copied();
    if let (None, Some(first)) = (tunnel, first) {
        inner.dst = first;
    }
    inner.emit(place)?;
    if let (Some(Tunnel { zone, hop_limit, encapsulator }), Some(dst)) = (tunnel, first) {
        let (head, added) = outer.split_at_mut_checked(ipv6::HEADER_LEN).ok_or(none)?;
        let payload_len = longer(inner.payload_len, before).map_err(long)?;
        let next_header = zone.expand(dodag.option, &path, protocol::IPV6, added)?;
        let src = coalesce(dodag.root, encapsulator);
        Header { payload_len, next_header, hop_limit, src, dst, flow_label: 0, ..inner }
            .emit(head)?;
    }
    Ok(done)
}

/// The headers that [`compress`] finds behind an IPv6 header.
struct Found {
    information: Option<PacketInformation>,
    /// The type of the header behind them.
    next: u8,
    /// Their length in octets.
    len: usize,
}

impl Found {
    /// Returns the option, if it matches the DODAG to the last bit.
    fn option(kind: u8, octets: &[u8], dodag: &Dodag) -> Option<Self> {
        if kind != protocol::HOP_BY_HOP {
            return Some(Found { information: None, next: kind, len: 0 });
        }
        let header = octets.first_chunk::<OPTION_LEN>()?;
        let [next, _, _, _, data @ ..] = header;
        let information = PacketInformation::read(data).ok()?;
        let same = information.hop_by_hop(*next, dodag.option) == *header;
        let ours = same && information.instance == dodag.instance;
        let information = Some(information);
        ours.then_some(Found { information, next: *next, len: OPTION_LEN })
    }

    /// Returns the option and an unused source route; `path` has the destination.
    fn all(kind: u8, octets: &[u8], dodag: &Dodag, path: &mut Path) -> Option<Self> {
        let mut found = Found::option(kind, octets, dodag)?;
        if found.next != protocol::ROUTING {
            return Some(found);
        }
        let octets = octets.get(found.len..)?;
        let route = SourceRoute::parse(octets).ok()?;
        let dst = *path.hops().first()?;
        for index in 0..route.len() {
            path.push(route.address(index, dst)?).ok()?;
        }
        let (first, rest) = path.hops().split_first()?;
        let mut written = [0; MAX_CHAIN];
        let len = SourceRoute::emit(route.next_header(), *first, rest, &mut written).ok()?;
        if octets.get(..len)? != written.get(..len)? {
            return None;
        }
        (found.next, found.len) = (route.next_header(), found.len.saturating_add(len));
        Some(found)
    }
}

/// Compresses the headers at the start of `packet`, as [`compress`](super::compress) does, with
/// routing headers for those that RPL has added. Returns `None` if it has added none, or some that
/// routing headers cannot represent: then the packet is written as in RFC 6282.
pub fn compress<N: NextHeader>(
    packet: &[u8],
    links: (Address, Address),
    contexts: &[Option<Context>],
    dodag: &Dodag,
    out: &mut [u8],
) -> Option<Compressed> {
    let header = Header::read(packet).ok()?;
    let upper = packet.get(ipv6::HEADER_LEN..)?;
    let mut path = Path::new();
    path.push(header.dst).ok()?;
    let found = Found::all(header.next_header, upper, dodag, &mut path)?;
    if found.len == 0 || path.len > 1 && path.hops().iter().any(Ipv6Addr::is_multicast) {
        return None;
    }
    let rest = upper.get(found.len..)?;
    let mut out = Writer::new(out);
    out.octet(PAGE_1);
    if found.next == protocol::IPV6 {
        return compress_tunnel::<N>(&header, &found, &path, rest, contexts, dodag, out);
    }
    // The destination is in LOWPAN_IPHC, the rest of the path in front of it.
    let (last, hops) = path.hops().split_last()?;
    if hops.last() == Some(last) {
        return None;
    }
    write_route(header.src, hops, &mut out);
    if let Some(information) = found.information {
        write_information(&information, &mut out);
    }
    let payload_len = usize::from(header.payload_len).checked_sub(found.len)?;
    let payload_len = u16::try_from(payload_len).ok()?;
    let inner = Header { dst: *last, next_header: found.next, payload_len, ..header };
    finish::<N>(&inner, rest, links, contexts, ipv6::HEADER_LEN.saturating_add(found.len), out)
}

/// Writes an outer header, the headers behind it, and the packet inside, which begins `rest`.
fn compress_tunnel<N: NextHeader>(
    outer: &Header,
    found: &Found,
    path: &Path,
    rest: &[u8],
    contexts: &[Option<Context>],
    dodag: &Dodag,
    mut out: Writer<'_>,
) -> Option<Compressed> {
    // The option identifies the DODAG of the root (RFC 8138, 4.3.2).
    let information = found.information?;
    let mut inner = Header::read(rest).ok()?;
    let whole = inner.total_len().saturating_add(found.len) == usize::from(outer.payload_len);
    // Addresses that share nothing with the root's are shorter in LOWPAN_IPHC.
    if !whole || is_link_local(outer.src) || outer.dst.is_multicast() || outer.flow_label != 0 {
        return None;
    }
    let behind = rest.get(ipv6::HEADER_LEN..)?;
    let more = Found::option(inner.next_header, behind, dodag);
    let more = more.unwrap_or(Found { information: None, next: inner.next_header, len: 0 });
    let payload_len = usize::from(inner.payload_len).checked_sub(more.len)?;
    inner.payload_len = u16::try_from(payload_len).ok()?;
    inner.next_header = more.next;
    inner.traffic_class = merged(outer.traffic_class, inner.traffic_class)?;
    let implied = if !information.down {
        path.hops() == [dodag.root]
    } else {
        dodag.storing && path.hops() == [inner.dst]
    };
    if !implied {
        write_route(outer.src, path.hops(), &mut out);
    }
    write_information(&information, &mut out);
    write_tunnel(dodag.root, outer, &mut out);
    if let Some(information) = more.information {
        write_information(&information, &mut out);
    }
    let covered = (2 * ipv6::HEADER_LEN).saturating_add(found.len).saturating_add(more.len);
    // No part of the inner addresses is elided for being in the outer ones: some receivers do not
    // look for it there.
    let links = (Address::None, Address::None);
    finish::<N>(&inner, behind.get(more.len..)?, links, contexts, covered, out)
}

/// Returns the traffic class of an inner packet with the congestion mark of the outer header (RFC
/// 6040, 4.2), as only one of them is sent; `None` if they differ in anything else.
const fn merged(outer: u8, inner: u8) -> Option<u8> {
    if outer == inner || outer & 3 == 3 && inner & 3 != 0 && outer >> 2 == inner >> 2 {
        Some(outer)
    } else {
        None
    }
}

/// Writes LOWPAN_IPHC and the headers behind it; `covered` octets of the packet precede `upper`.
fn finish<N: NextHeader>(
    header: &Header,
    upper: &[u8],
    (src, dst): (Address, Address),
    contexts: &[Option<Context>],
    mut covered: usize,
    mut out: Writer<'_>,
) -> Option<Compressed> {
    let mut octets = [0; ipv6::HEADER_LEN];
    header.emit(&mut octets).ok()?;
    let nhc = N::takes(&octets, upper);
    let written = compress_ipv6(&octets, nhc, src, dst, contexts, out.room()).ok()?;
    out.advance(written);
    if nhc {
        let behind = Behind { header: &octets, contexts };
        let next = N::compress(behind, upper, out.room()).ok()?;
        out.advance(next.written);
        covered = covered.saturating_add(next.covered);
    }
    // The receiver has this much room for the expanded headers.
    let fits = covered <= ipv6::HEADER_LEN.saturating_add(MAX_CHAIN);
    let written = out.finish().ok()?;
    fits.then_some(Compressed { written, covered })
}

#[cfg(test)]
mod tests;
