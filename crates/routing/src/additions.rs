//! The headers that a protocol adds to packets, as a type: a node whose protocol adds none has
//! neither the code nor the memory for it.

use core::fmt::Debug;
use kinglet_mem::Array;
use kinglet_wire::ipv6;

/// Maximum octets of the headers of a packet whose payload stays with its owner: IPv6, and TCP with
/// all its options.
pub const MAX_HEAD: usize = ipv6::HEADER_LEN + 60;

/// Maximum octets of extension headers that routing adds to a packet: an option of RPL, and a
/// source route of 64 octets.
pub const MAX_ADDED: usize = 72;

/// Additions of a protocol to packets: [`NoHeaders`] or [`AddedHeaders`].
pub trait Additions {
    /// True if packets carry routing data: the RPL option (RFC 6553), source routes (RFC 6554),
    /// outer headers (RFC 9008). If false, the program contains none of that.
    const EXTENDS: bool;
    /// Storage for the headers of a packet whose payload stays with its owner.
    type Head: Array<u8> + Debug;
    /// The additions of a node that selects this protocol or another one at run time.
    type Or<Other: Additions>: Additions;
}

/// Nothing is added.
#[derive(Clone, Copy, Debug)]
pub struct NoHeaders;

/// Extension headers are added, and outer headers before them.
#[derive(Clone, Copy, Debug)]
pub struct AddedHeaders;

impl Additions for NoHeaders {
    const EXTENDS: bool = false;
    type Head = [u8; MAX_HEAD];
    type Or<Other: Additions> = Other;
}

impl Additions for AddedHeaders {
    const EXTENDS: bool = true;
    type Head = [u8; MAX_HEAD + MAX_ADDED + ipv6::HEADER_LEN];
    type Or<Other: Additions> = Self;
}
