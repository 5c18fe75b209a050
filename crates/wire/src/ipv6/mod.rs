//! IPv6 (RFC 8200): the header, and the chain of extension headers behind it.

mod chain;
mod fragment;

pub use chain::{Action, Chain, Extension, Fault, MAX_EXTENSIONS, OptionField, Options};
pub use fragment::Fragment;

use crate::{Error, Field, checksum};
use core::net::Ipv6Addr;
use core::ops::Range;

/// Octets of an IPv6 header.
pub const HEADER_LEN: usize = 40;
/// The smallest MTU that an IPv6 link may have (RFC 8200, 5), and that of every 6LoWPAN link
/// (RFC 4944, 4).
pub const MIN_MTU: usize = 1280;
/// Octet offset of the Next Header field.
pub const NEXT_HEADER_OFFSET: usize = 6;
/// Octet offset of the Hop Limit field.
pub const HOP_LIMIT_OFFSET: usize = 7;

/// All nodes of a link: ff02::1 (RFC 4291, 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of a link: ff02::2 (RFC 4291, 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);

/// Next Header values (IANA "Assigned Internet Protocol Numbers").
pub mod protocol {
    /// Hop-by-Hop Options header.
    pub const HOP_BY_HOP: u8 = 0;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IPv6 (RFC 2473).
    pub const IPV6: u8 = 41;
    /// Routing header.
    pub const ROUTING: u8 = 43;
    /// Fragment header.
    pub const FRAGMENT: u8 = 44;
    /// Mobility header (RFC 6275, 6.1).
    pub const MOBILITY: u8 = 135;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// Nothing follows.
    pub const NONE: u8 = 59;
    /// Destination Options header.
    pub const DESTINATION: u8 = 60;
}

/// An IPv6 header (RFC 8200, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Traffic Class: DSCP in the upper six bits, ECN in the lower two.
    pub traffic_class: u8,
    /// Flow Label, 20 bits.
    pub flow_label: u32,
    /// Octets behind the header.
    pub payload_len: u16,
    /// Type of the header or payload that follows, from [`protocol`].
    pub next_header: u8,
    /// Hop Limit.
    pub hop_limit: u8,
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
}

impl Header {
    /// Reads the header at the start of `octets`.
    ///
    /// # Errors
    /// [`Error::Truncated`] with fewer than [`HEADER_LEN`] octets, [`Error::Invalid`] if the
    /// version is not 6.
    pub fn read(octets: &[u8]) -> Result<Self, Error> {
        let head = octets.first_chunk::<HEADER_LEN>().ok_or(Error::Truncated(Field::Ipv6Header))?;
        let [a, b, c, d, e, f, next_header, hop_limit, ..] = *head;
        let word = u32::from_be_bytes([a, b, c, d]);
        if word >> 28 != 6 {
            return Err(Error::Invalid(Field::Ipv6Version));
        }
        Ok(Header {
            traffic_class: ((word >> 20) & 0xFF) as u8,
            flow_label: word & 0xF_FFFF,
            payload_len: u16::from_be_bytes([e, f]),
            next_header,
            hop_limit,
            src: address_at(head, 8),
            dst: address_at(head, 24),
        })
    }

    /// Writes the header to the start of `out`; flow label bits above the twentieth are ignored.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`HEADER_LEN`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let out = out.first_chunk_mut::<HEADER_LEN>().ok_or(Error::NoRoom(Field::Ipv6Header))?;
        let word = 6 << 28 | u32::from(self.traffic_class) << 20 | (self.flow_label & 0xF_FFFF);
        let ([a, b, c, d], [e, f]) = (word.to_be_bytes(), self.payload_len.to_be_bytes());
        let (fields, addresses) = out.split_at_mut(8);
        fields.copy_from_slice(&[a, b, c, d, e, f, self.next_header, self.hop_limit]);
        let (src, dst) = addresses.split_at_mut(16);
        src.copy_from_slice(&self.src.octets());
        dst.copy_from_slice(&self.dst.octets());
        Ok(())
    }

    /// Returns the octets of header and payload.
    pub fn total_len(&self) -> usize {
        HEADER_LEN.saturating_add(usize::from(self.payload_len))
    }

    /// Returns the pseudo-header sum (RFC 8200, 8.1) for an upper layer of `upper_len` octets.
    pub fn pseudo_header_sum(&self, upper_len: usize, next_header: u8) -> u16 {
        let len = u32::try_from(upper_len).unwrap_or(u32::MAX);
        checksum::pseudo_header(self.src, self.dst, len, next_header)
    }
}

fn address_at(head: &[u8; HEADER_LEN], at: usize) -> Ipv6Addr {
    let octets = head.get(at..).and_then(|tail| tail.first_chunk::<16>());
    // `at` is 8 or 24, so the chunk is always there.
    Ipv6Addr::from(octets.copied().unwrap_or_default())
}

/// A whole packet: a header and all the payload that it announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    header: Header,
    octets: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Checks `octets`; octets behind the announced payload (link padding) are cut off.
    ///
    /// # Errors
    /// As [`Header::read`], and [`Error::Truncated`] if the payload is incomplete.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let header = Header::read(octets)?;
        let octets =
            octets.get(..header.total_len()).ok_or(Error::Truncated(Field::Ipv6Payload))?;
        Ok(Packet { header, octets })
    }

    /// The header.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The whole packet.
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// The extension headers.
    pub fn extensions(&self) -> Chain<'a> {
        Chain::new(self.octets, self.header.next_header)
    }

    /// Skips all extension headers without processing them. Returns the upper layer's protocol and
    /// range.
    ///
    /// # Errors
    /// The first fault of the chain.
    pub fn upper(&self) -> Result<(u8, Range<usize>), Fault> {
        let mut chain = self.extensions();
        // At most MAX_EXTENSIONS iterations: the chain ends by itself.
        for extension in &mut chain {
            extension?;
        }
        Ok((chain.next_header(), chain.offset()..self.octets.len()))
    }
}

/// Returns whether the first `len` bits (0 to 128; more count as 128) of two addresses are the
/// same.
pub fn same_prefix(a: Ipv6Addr, b: Ipv6Addr, len: u8) -> bool {
    is_prefix(&a.octets(), &b.octets(), len)
}

/// The same for addresses as they are in a packet: numbers of 128 bits are expensive on a small
/// core.
pub(crate) fn is_prefix(a: &[u8; 16], b: &[u8; 16], len: u8) -> bool {
    let mut bits = len;
    for (a, b) in a.iter().zip(b) {
        if bits < 8 {
            let mask = 0xFF00_u16 >> bits;
            return u16::from(a ^ b) & mask == 0;
        }
        if a != b {
            return false;
        }
        bits = bits.saturating_sub(8);
    }
    true
}

/// Type of an address, RFC 4291, 2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressType {
    /// `::`
    Unspecified,
    /// `::1`
    Loopback,
    /// In ff00::/8.
    Multicast,
    /// Any other address, including link-local ones.
    Unicast,
}

impl AddressType {
    /// Returns the type of `address`.
    // It is in a program once: a small core loads an address octet by octet.
    #[inline(never)]
    pub fn of(address: &Ipv6Addr) -> AddressType {
        match address.octets() {
            [0xFF, ..] => AddressType::Multicast,
            [0, ..] if address.is_unspecified() => AddressType::Unspecified,
            [0, ..] if address.is_loopback() => AddressType::Loopback,
            _ => AddressType::Unicast,
        }
    }
}

/// Returns whether `address` is in fe80::/10.
pub const fn is_link_local(address: Ipv6Addr) -> bool {
    matches!(address.octets(), [0xFE, 0x80..=0xBF, ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn prefixes_are_compared_to_the_bit() {
        let (a, b) = (Ipv6Addr::from_bits(u128::MAX), Ipv6Addr::UNSPECIFIED);
        for differs in 0..128 {
            let c = Ipv6Addr::from_bits(u128::MAX ^ (1 << (127 - differs)));
            for len in [0, differs, differs + 1, 128, 200] {
                assert_eq!(same_prefix(a, c, len), len <= differs, "{differs} {len}");
            }
        }
        assert!(same_prefix(a, b, 0));
    }

    #[test]
    fn link_local_is_fe80_slash_10() {
        assert!(is_link_local("fe80::1".parse().unwrap()));
        assert!(is_link_local("febf::1".parse().unwrap()));
        assert!(!is_link_local("fec0::1".parse().unwrap()));
        assert!(!is_link_local("2001:db8::1".parse().unwrap()));
    }

    #[test]
    fn padding_behind_the_payload_is_cut_off_and_missing_payload_refused() {
        let header = Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: 2,
            next_header: protocol::NONE,
            hop_limit: 1,
            src: Ipv6Addr::LOCALHOST,
            dst: Ipv6Addr::LOCALHOST,
        };
        let mut octets = [0; 50];
        header.emit(&mut octets).unwrap();
        assert_eq!(Packet::parse(&octets).unwrap().octets().len(), 42);
        assert_eq!(Packet::parse(&octets[..41]), Err(Error::Truncated(Field::Ipv6Payload)));
        octets[0] = 0x45;
        assert_eq!(Packet::parse(&octets), Err(Error::Invalid(Field::Ipv6Version)));
    }

    proptest! {
        #[test]
        fn every_header_round_trips(
            traffic_class in any::<u8>(), flow_label in 0u32..1 << 20, payload_len in any::<u16>(),
            next_header in any::<u8>(), hop_limit in any::<u8>(),
            src in any::<u128>(), dst in any::<u128>(),
        ) {
            let (src, dst) = (Ipv6Addr::from_bits(src), Ipv6Addr::from_bits(dst));
            let header = Header {
                traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst,
            };
            let mut octets = [0; HEADER_LEN];
            header.emit(&mut octets).unwrap();
            prop_assert_eq!(Header::read(&octets), Ok(header));
        }

        #[test]
        fn no_octets_panic(
            octets in prop::collection::vec(any::<u8>(), 0..120), plain in any::<bool>(),
        ) {
            let mut octets = octets;
            if plain && octets.len() > HEADER_LEN {
                octets[0] = 0x60;
                octets[4] = 0;
                octets[5] = (octets.len() - HEADER_LEN) as u8;
                octets[6] = [0, 43, 44, 60][usize::from(octets[6] & 3)];
            }
            if let Ok(packet) = Packet::parse(&octets) {
                let _ = packet.upper();
                for extension in packet.extensions().flatten() {
                    prop_assert!(extension.options().count() <= octets.len());
                    let _ = (extension.segments_left(), extension.is_atomic());
                }
            }
        }
    }
}
