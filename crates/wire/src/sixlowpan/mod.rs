//! 6LoWPAN: dispatch and fragmentation (RFC 4944), header compression (RFC 6282, RFC 8138).
//!
//! | part | state |
//! |---|---|
//! | uncompressed IPv6, LOWPAN_IPHC, FRAG1/FRAGN | read and written |
//! | UDP next header compression, all port modes | read and written; the checksum is never elided |
//! | extension headers, IPv6 in IPv6 (RFC 6282, 4.2) | read and written by [`ExtensionHeaders`] |
//! | routing headers (RFC 8138) in Page 1 (RFC 8025) | read and written by [`routed`] |
//! | mesh, BC0, HC1 | recognised and refused |

mod address;
mod cursor;
mod extensions;
mod fragment;
mod iphc;
mod nhc;
pub mod routed;

pub use address::{Context, derived_iid, link_address_of};
pub use extensions::{ExtensionHeaders, MAX_CHAIN, MAX_CHAIN_COMPRESSED};
pub use fragment::FragmentHeader;
pub use iphc::{Decompressed, MAX_COMPRESSED, MAX_DECOMPRESSED, compress, decompress};
pub use nhc::{Behind, Compressed, Expanded, Integrity, NextHeader, UdpHeader};

/// The kind of header with which a 6LoWPAN frame starts (RFC 4944, 5.1; RFC 6282, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// 01 000001: an uncompressed IPv6 packet follows the dispatch octet.
    Ipv6,
    /// 011xxxxx: LOWPAN_IPHC.
    Iphc,
    /// 11000xxx: first fragment.
    FirstFragment,
    /// 11100xxx: subsequent fragment.
    NextFragment,
    /// 10xxxxxx: mesh header.
    Mesh,
    /// Anything else, not-a-LoWPAN frames (00xxxxxx) included.
    Other,
}

/// The dispatch octet of an uncompressed IPv6 packet.
pub const DISPATCH_IPV6: u8 = 0x41;

impl Dispatch {
    /// Classifies a frame by its first octet; `None` if there is none.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let first = *payload.first()?;
        Some(match first {
            DISPATCH_IPV6 => Dispatch::Ipv6,
            0x60..=0x7F => Dispatch::Iphc,
            0xC0..=0xC7 => Dispatch::FirstFragment,
            0xE0..=0xE7 => Dispatch::NextFragment,
            0x80..=0xBF => Dispatch::Mesh,
            _ => Dispatch::Other,
        })
    }
}

#[cfg(test)]
mod tests;
