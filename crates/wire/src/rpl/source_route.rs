//! The source routing header (RFC 6554): routing header type 3.

use crate::{Error, Field};
use core::net::Ipv6Addr;

const TYPE: u8 = 3;
/// Octets before the addresses.
const HEADER: usize = 8;

/// A source routing header, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRoute<'a> {
    next_header: u8,
    segments_left: u8,
    /// CmprI and CmprE: leading octets that addresses share with the destination.
    elided: (u8, u8),
    /// Addresses\[1..n\] without padding.
    addresses: &'a [u8],
    len: u8,
}

/// Reason for which a packet may not follow its source route (RFC 6554, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRouteFault {
    /// Not a header of this format: Parameter Problem, code 0.
    Malformed,
    /// More segments left than there are addresses: Parameter Problem at that field, code 0.
    SegmentsLeft,
    /// It leads to a multicast address: discard.
    Multicast,
    /// It returns to this node: Parameter Problem, code 0.
    Loop,
}

fn common(address: Ipv6Addr, other: Ipv6Addr) -> u8 {
    let differ = address.to_bits() ^ other.to_bits();
    // At most 15, so that an address always has an octet.
    (differ.leading_zeros() / 8).min(15) as u8
}

impl<'a> SourceRoute<'a> {
    /// Reads a whole Routing header.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another type, [`Error::Truncated`] or [`Error::Invalid`] if the
    /// lengths do not fit together.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let short = Error::Truncated(Field::SourceRoutingHeader);
        let bad = Error::Invalid(Field::SourceRoutingHeader);
        let (&[next_header, units, kind, segments_left, elided, pad, _, _], rest) =
            octets.split_first_chunk::<HEADER>().ok_or(short)?;
        if kind != TYPE {
            return Err(Error::Unsupported(Field::SourceRoutingHeader));
        }
        let rest = rest.get(..usize::from(units).saturating_mul(8)).ok_or(short)?;
        let (inner, last) = (elided >> 4, elided & 15);
        let pad = usize::from(pad >> 4);
        let used = rest.len().checked_sub(pad).ok_or(bad)?;
        let addresses = rest.get(..used).ok_or(bad)?;
        let each = 16usize.saturating_sub(inner.into());
        let before = used.checked_sub(16usize.saturating_sub(last.into()));
        let before = before.filter(|before| before.is_multiple_of(each)).ok_or(bad)?;
        let len = before.checked_div(each).and_then(|n| u8::try_from(n).ok());
        let len = len.and_then(|n| n.checked_add(1)).ok_or(bad)?;
        Ok(SourceRoute { next_header, segments_left, elided: (inner, last), addresses, len })
    }

    /// Next Header.
    pub const fn next_header(&self) -> u8 {
        self.next_header
    }

    /// Segments Left.
    pub const fn segments_left(&self) -> u8 {
        self.segments_left
    }

    /// Number of addresses, at least one.
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// Returns false: a header has at least one address.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the offset of the address with this index (from zero) in the header, and the number
    /// of its leading octets that are elided.
    fn place(&self, index: u8) -> Option<(usize, u8)> {
        let each = 16usize.saturating_sub(self.elided.0.into());
        let at = HEADER.saturating_add(usize::from(index).saturating_mul(each));
        let last = index.checked_add(1)? == self.len;
        (index < self.len).then_some((at, if last { self.elided.1 } else { self.elided.0 }))
    }

    /// Returns the address with this index, from zero, if the packet's destination is
    /// `destination`.
    pub fn address(&self, index: u8, destination: Ipv6Addr) -> Option<Ipv6Addr> {
        let (at, elided) = self.place(index)?;
        let mut octets = destination.octets();
        let own = octets.get_mut(usize::from(elided)..)?;
        let at = at.checked_sub(HEADER)?;
        own.copy_from_slice(self.addresses.get(at..at.checked_add(own.len())?)?);
        Some(Ipv6Addr::from(octets))
    }

    /// Advances a packet to `destination`, which is this node, along its route. Changes the header
    /// in `octets` and returns the packet's next destination; `None` if it has arrived. The caller
    /// handles the hop limit. `is_own` tests for addresses of this node.
    ///
    /// # Errors
    /// The reason that it cannot be forwarded; nothing has changed.
    pub fn advance(
        octets: &mut [u8],
        destination: Ipv6Addr,
        is_own: impl Fn(Ipv6Addr) -> bool,
    ) -> Result<Option<Ipv6Addr>, SourceRouteFault> {
        let route = SourceRoute::parse(octets).map_err(|_| SourceRouteFault::Malformed)?;
        let SourceRoute { segments_left, len, .. } = route;
        let Some(left) = segments_left.checked_sub(1) else { return Ok(None) };
        let next = len.checked_sub(segments_left).ok_or(SourceRouteFault::SegmentsLeft)?;
        let address = route.address(next, destination).ok_or(SourceRouteFault::Malformed)?;
        if address.is_multicast() || destination.is_multicast() {
            return Err(SourceRouteFault::Multicast);
        }
        // The packet is here: an own address in the list means that it was here or would return
        // here.
        if (0..len).any(|index| route.address(index, destination).is_some_and(&is_own)) {
            return Err(SourceRouteFault::Loop);
        }
        let (at, elided) = route.place(next).ok_or(SourceRouteFault::Malformed)?;
        let here = destination.octets();
        let here = here.get(usize::from(elided)..).unwrap_or_default();
        if let Some(place) = octets.get_mut(at..at.saturating_add(here.len())) {
            place.copy_from_slice(here);
        }
        if let Some(field) = octets.get_mut(3) {
            *field = left;
        }
        Ok(Some(address))
    }

    /// Returns the octets of the header for a packet to `first` that continues through `rest`.
    pub fn buffer_len(first: Ipv6Addr, rest: &[Ipv6Addr]) -> usize {
        let (inner, last) = Self::compression(first, rest);
        let each = 16usize.saturating_sub(inner.into());
        let used = rest.len().saturating_sub(1).saturating_mul(each);
        let used = used.saturating_add(16usize.saturating_sub(last.into()));
        HEADER.saturating_add(used.next_multiple_of(8))
    }

    fn compression(first: Ipv6Addr, rest: &[Ipv6Addr]) -> (u8, u8) {
        let Some((last, inner)) = rest.split_last() else { return (15, 15) };
        let inner = inner.iter().fold(15, |least: u8, hop| least.min(common(first, *hop)));
        // Addresses are swapped with the destination. The last one is later compared with the one
        // before it, so it may elide no more than they all do.
        (inner, inner.min(common(first, *last)))
    }

    /// Writes the header of a packet to `first` that continues through `rest` and ends at the last
    /// of them. Octets that all of them share with `first` are elided. Returns the number of
    /// octets.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `rest` is empty or has more than 127 addresses, [`Error::NoRoom`].
    pub fn emit(
        next_header: u8,
        first: Ipv6Addr,
        rest: &[Ipv6Addr],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let count = u8::try_from(rest.len()).ok().filter(|count| (1..128).contains(count));
        let count = count.ok_or(Error::Invalid(Field::SegmentsLeft))?;
        let len = Self::buffer_len(first, rest);
        let full = Error::NoRoom(Field::SourceRoutingHeader);
        let out = out.get_mut(..len).ok_or(full)?;
        out.fill(0);
        let (inner, last) = Self::compression(first, rest);
        let mut at = HEADER;
        for (index, hop) in rest.iter().enumerate() {
            let is_last = index.saturating_add(1) == rest.len();
            let octets = hop.octets();
            let elided = if is_last { last } else { inner };
            let octets = octets.get(usize::from(elided)..).unwrap_or_default();
            kinglet_octets::copy(out.get_mut(at..).unwrap_or_default(), octets);
            at = at.saturating_add(octets.len());
        }
        // At most 127 addresses: both fit into an octet, and padding is below 8.
        let units = u8::try_from(len.saturating_sub(HEADER) / 8).map_err(|_| full)?;
        let pad = u8::try_from(len.saturating_sub(at)).map_err(|_| full)?;
        let head = [next_header, units, TYPE, count, inner << 4 | last, pad << 4, 0, 0];
        kinglet_octets::copy(out, &head);
        Ok(len)
    }
}
