//! An IPv6 packet with missing fragments (RFC 8200, 4.5), and the number of such packets: a type of
//! the plan ([`Sizes::Ipv6Fragments`](crate::Sizes::Ipv6Fragments)).
//!
//! Its octets are in a packet slot: the IPv6 header of the first fragment, followed directly by the
//! fragmentable part. One bitmap marks its 8-octet units that have arrived, another the starts of
//! fragments, which distinguish a repeated fragment from one that overlaps otherwise.

use crate::partial::{Step, Units};
use crate::pool::PacketHandle;
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::Empty;
use kinglet_time::Instant;
use kinglet_wire::Ecn;
use kinglet_wire::ipv6::{Chain, Fragment, HEADER_LEN, Header, protocol};

/// Octets of the longest packet that is reassembled, or sent in fragments (RFC 8200, 5: a node must
/// accept so many, and a sender may count on no more).
pub(crate) const MAX_FRAGMENTED_PACKET: usize = 1500;

/// Words with a bit for every unit of such a packet: 192.
const WORDS: usize = 6;

/// Treatment of packets that are longer than 1280 octets: `()` or [`Ipv6Reassembly`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not reassemble IPv6 fragments",
    note = "the `ipv6_fragments` of a plan is `()` or `net::Ipv6Reassembly`"
)]
pub trait Ipv6Fragments {
    /// Number of packets that can be reassembled at a time. With 0, fragments are refused
    /// (Parameter Problem, code 1), no packet is sent in fragments, and the program contains none
    /// of this.
    const PLACES: usize;
    /// The initial state.
    const NONE: Self;

    /// Returns the reassembly entries.
    fn ipv6_partials(&self) -> &[Option<Ipv6Partial>];

    /// Returns the reassembly entries for modification.
    fn ipv6_partials_mut(&mut self) -> &mut [Option<Ipv6Partial>];

    /// Returns an Identification that differs from those of the last 2³² packets.
    fn identify(&mut self) -> u32;
}

impl Ipv6Fragments for () {
    const PLACES: usize = 0;
    const NONE: Self = ();

    fn ipv6_partials(&self) -> &[Option<Ipv6Partial>] {
        &[]
    }

    fn ipv6_partials_mut(&mut self) -> &mut [Option<Ipv6Partial>] {
        &mut []
    }

    fn identify(&mut self) -> u32 {
        0
    }
}

/// Reassembles up to `PLACES` packets of at most 1500 octets at a time, and sends packets of that
/// length in two fragments. A shorter packet slot ([`Sizes::Storage`](crate::Sizes::Storage)) is
/// the limit then.
///
/// Identifications differ, but a node that has seen one can predict the next (RFC 7739, 3,
/// describes the attacks): fragments are no more reliable than in most networks.
#[derive(Debug)]
pub struct Ipv6Reassembly<const PLACES: usize> {
    places: [Option<Ipv6Partial>; PLACES],
    identified: u32,
}

impl<const PLACES: usize> Ipv6Fragments for Ipv6Reassembly<PLACES> {
    const PLACES: usize = PLACES;
    const NONE: Self = Ipv6Reassembly { places: [const { Option::EMPTY }; PLACES], identified: 0 };

    fn ipv6_partials(&self) -> &[Option<Ipv6Partial>] {
        &self.places
    }

    fn ipv6_partials_mut(&mut self) -> &mut [Option<Ipv6Partial>] {
        &mut self.places
    }

    fn identify(&mut self) -> u32 {
        self.identified = self.identified.wrapping_add(1);
        // An odd factor: no two are the same.
        self.identified.wrapping_mul(0x9E37_79B1)
    }
}

/// An IPv6 packet with missing fragments.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Partial {
    pub(crate) src: Ipv6Addr,
    pub(crate) dst: Ipv6Addr,
    pub(crate) identification: u32,
    /// `None` if it is abandoned; its further fragments are discarded too.
    pub(crate) packet: Option<PacketHandle>,
    /// First header of the fragmentable part, once the first fragment has arrived.
    pub(crate) next_header: u8,
    pub(crate) broadcast: bool,
    /// Octets of the first fragment; 0 if it has not arrived.
    pub(crate) first: u16,
    /// Octets of the fragmentable part; 0 if the last fragment has not arrived.
    pub(crate) size: u16,
    /// Number of units that have arrived.
    units: u16,
    have: Units<WORDS>,
    starts: Units<WORDS>,
    /// A bit for each ECN codepoint that a fragment carried.
    codepoints: u8,
    pub(crate) touched: Instant,
    pub(crate) expires: Instant,
}

impl Ipv6Partial {
    /// Returns the entry for the packet of a fragment, with a slot and without data.
    pub(crate) const fn new(
        piece: &Ipv6Piece,
        packet: PacketHandle,
        broadcast: bool,
        now: Instant,
        expires: Instant,
    ) -> Self {
        let Ipv6Piece { header: Header { src, dst, .. }, fragment, .. } = *piece;
        Ipv6Partial {
            src,
            dst,
            identification: fragment.identification,
            packet: Some(packet),
            next_header: protocol::NONE,
            broadcast,
            first: 0,
            size: 0,
            units: 0,
            have: Units::NONE,
            starts: Units::NONE,
            codepoints: 0,
            touched: now,
            expires,
        }
    }

    pub(crate) fn is_of(&self, piece: &Ipv6Piece) -> bool {
        self.identification == piece.fragment.identification
            && self.src == piece.header.src
            && self.dst == piece.header.dst
    }

    /// Notes a fragment; `same` says that its octets equal those already stored. Returns the
    /// result. Unless it is a duplicate, the caller must store its octets.
    pub(crate) fn place(&mut self, now: Instant, piece: &Ipv6Piece, same: bool) -> Step {
        let Fragment { offset, more, next_header, .. } = piece.fragment;
        let (from, to) = (offset / 8, piece.end.div_ceil(8));
        let known = self.size != 0;
        // A packet has one end, and no fragments beyond it.
        let contradicts = if more {
            known && piece.end >= self.size
        } else {
            known && piece.end != self.size || self.have.count(to, Self::UNITS) > 0
        };
        let units = to.saturating_sub(from);
        let present = self.have.count(from, to);
        if contradicts || present > 0 {
            let same_extent = present == usize::from(units)
                && self.starts.has(from)
                && self.starts.count(from, to) == 1
                && (!self.have.has(to) || self.starts.has(to));
            let repeated = !contradicts && same_extent && same && (more || known);
            return if repeated { Step::Duplicate } else { Step::Conflict };
        }
        if !more {
            self.size = piece.end;
        }
        if offset == 0 {
            (self.first, self.next_header) = (piece.end, next_header);
        }
        self.have.insert(from, to);
        self.starts.mark(from);
        self.units = self.units.saturating_add(units);
        self.codepoints |= 1_u8.wrapping_shl(u32::from(piece.header.traffic_class & 3));
        self.touched = now;
        if self.size != 0 && self.units == self.size.div_ceil(8) {
            Step::Complete
        } else {
            Step::Waiting
        }
    }

    const UNITS: u16 = 32 * WORDS as u16;

    /// Returns the header of the packet, from that of its first fragment. `None` if the fragments'
    /// ECN fields contradict each other (RFC 3168, 5.3): some carry a congestion mark, and the
    /// sender of others does not support ECN.
    //= rfc3168#5.3-1 rfc3168#5.3-2 rfc3168#5.3-3 rfc3168#5.3-4
    pub(crate) fn header(&self, first: &Header) -> Option<Header> {
        let carried = |ecn: Ecn| self.codepoints >> (ecn as u8) & 1 == 1;
        let mut traffic_class = first.traffic_class;
        if carried(Ecn::Ce) {
            if carried(Ecn::NotEct) {
                return None;
            }
            traffic_class |= Ecn::Ce as u8;
        }
        let (payload_len, next_header) = (self.size, self.next_header);
        Some(Header { traffic_class, payload_len, next_header, ..*first })
    }
}

/// A fragment packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv6Piece {
    pub(crate) header: Header,
    pub(crate) fragment: Fragment,
    /// Offset of its Fragment header.
    pub(crate) at: usize,
    /// Octets of the fragmentable part up to the end of this fragment.
    pub(crate) end: u16,
    len: usize,
}

impl Ipv6Piece {
    /// Finds the first Fragment header that is not atomic; `None` if there is none, or no data
    /// follows it.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let header = Header::read(packet).ok()?;
        let mut chain = Chain::new(packet, header.next_header).map_while(Result::ok);
        let found = chain.find(|it| it.kind == protocol::FRAGMENT && !it.is_atomic())?;
        let fragment = Fragment::read(found.octets).ok()?;
        let len = packet.len().checked_sub(found.offset.checked_add(Fragment::LEN)?)?;
        let end = usize::from(fragment.offset).saturating_add(len);
        let end = u16::try_from(end).unwrap_or(u16::MAX);
        (len > 0).then_some(Ipv6Piece { header, fragment, at: found.offset, end, len })
    }

    /// Returns the range of the original packet's octets in this packet.
    pub(crate) const fn octets(&self) -> Range<usize> {
        let start = self.at.saturating_add(Fragment::LEN);
        start..start.saturating_add(self.len)
    }

    /// Returns the range of these octets in the slot of the original packet.
    pub(crate) fn target(&self) -> Range<usize> {
        let start = HEADER_LEN.saturating_add(self.fragment.offset.into());
        start..start.saturating_add(self.len)
    }
}

/// Returns whether a packet is a fragment other than the first of its packet, so that its upper
/// layer is unknown.
pub(crate) fn is_later(packet: &[u8]) -> bool {
    let Ok(Header { next_header, .. }) = Header::read(packet) else { return false };
    let mut chain = Chain::new(packet, next_header).map_while(Result::ok);
    chain.any(|it| it.kind == protocol::FRAGMENT && !it.is_first())
}
