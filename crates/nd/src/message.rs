//! A message that is to be sent.

use core::net::Ipv6Addr;
use kinglet_wire::ieee802154::Address;

/// Octets that are enough for every message.
pub const MAX_LEN: usize = 256;

/// Only a neighbour can have sent it (RFC 4861, 7.1).
pub(crate) const HOP_LIMIT: u8 = 255;
pub(crate) const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);

/// A message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// From this own address; `None`: the one for the destination.
    pub src: Option<Ipv6Addr>,
    /// To whom.
    pub dst: Ipv6Addr,
    /// To this link address; `None`: the way of all packets to `dst`.
    pub via: Option<Address>,
    /// The hop limit: 255 to neighbours.
    pub hop_limit: u8,
    /// How many octets it has, from the type on; the checksum is zero.
    pub len: usize,
}

impl Message {
    /// One for a neighbour, from the usual address.
    pub(crate) const fn near(dst: Ipv6Addr, via: Address, len: usize) -> Self {
        Message { src: None, dst, via: Some(via), hop_limit: HOP_LIMIT, len }
    }
}
