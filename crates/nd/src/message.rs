//! A message to be sent.

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;

/// Maximum octets of a message.
pub const MAX_LEN: usize = 256;

/// Hop limit of messages, which shows that a neighbour has sent them (RFC 4861, 7.1).
pub(crate) const HOP_LIMIT: u8 = 255;

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Source address; `None`: the usual one for the destination.
    pub src: Option<Ipv6Addr>,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Destination link address; `None`: routed as all packets to `dst`.
    pub via: Option<Address>,
    /// The hop limit: 255 to neighbours.
    pub hop_limit: u8,
    /// Number of octets, from the type on; the checksum is zero.
    pub len: usize,
}

impl Message {
    /// Returns a message to a neighbour, from the usual address.
    pub(crate) const fn near(dst: Ipv6Addr, via: Address, len: usize) -> Self {
        Message { src: None, dst, via: Some(via), hop_limit: HOP_LIMIT, len }
    }
}
