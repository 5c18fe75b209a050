//! ICMPv6 messages of types that this crate only carries, for a protocol above it.

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;

/// A message that has come: its checksum is right, and that is all that was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6In<'a> {
    /// The link address that it came from: a neighbour's, who need not have made it.
    pub from: Address,
    /// Its IPv6 header. Only a hop limit of 255 says that the neighbour has made it.
    pub header: Header,
    /// Its octets from the type on; at least four.
    pub octets: &'a [u8],
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv6Out {
    /// The source address; `None`: the one for `dst`.
    pub src: Option<Ipv6Addr>,
    /// The destination.
    pub dst: Ipv6Addr,
    /// The link address that it goes to at once, be its owner one that sleeps; `None`: the way of
    /// all packets to `dst`.
    pub via: Option<Address>,
    /// The hop limit: 255 where the receiver checks that a neighbour has made it.
    pub hop_limit: u8,
    /// Whether a Router Alert stands in front of it (RFC 2711), as in front of MLD's. Only messages
    /// of discovery have one.
    pub alert: bool,
    /// How many octets it has from the type on.
    pub len: usize,
}
