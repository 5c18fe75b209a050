//! ICMPv6 messages that this crate only carries, for a protocol above it.

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;

/// A received message. Only its checksum has been verified.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6In<'a> {
    /// Link address of the neighbour that sent the frame; it need not be the originator.
    pub from: Address,
    /// IPv6 header. Only a hop limit of 255 shows that the neighbour is the originator.
    pub header: Header,
    /// Octets from the type on; at least four.
    pub octets: &'a [u8],
}

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv6Out {
    /// Source address; `None`: the usual one for `dst`.
    pub src: Option<Ipv6Addr>,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Link address for direct transmission, even to a sleeping neighbour; `None`: routed as all
    /// packets to `dst`.
    pub via: Option<Address>,
    /// Hop limit: 255 if the receiver checks that a neighbour is the originator.
    pub hop_limit: u8,
    /// True if a Router Alert precedes it (RFC 2711), as for MLD. Only messages of discovery have
    /// one.
    pub alert: bool,
    /// Number of octets from the type on.
    pub len: usize,
}
