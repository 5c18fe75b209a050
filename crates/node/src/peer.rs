//! What TCP calls a peer: the two IPv6 addresses of a connection.

use core::hash::Hasher;
use core::net::Ipv6Addr;
use kinglet_tcp::Peer;
use kinglet_wire::{checksum, ipv6::protocol};

/// The addresses of both ends, to TCP an opaque key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// An address of this node.
    pub local: Ipv6Addr,
    /// The other end's.
    pub remote: Ipv6Addr,
}

impl Peer for AddressPair {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        let len = u32::try_from(tcp_len).unwrap_or(u32::MAX);
        checksum::pseudo_header(self.local, self.remote, len, protocol::TCP)
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write(&self.local.octets());
        state.write(&self.remote.octets());
    }

    fn is_unicast(&self) -> bool {
        let usable = |address: Ipv6Addr| !address.is_multicast() && !address.is_unspecified();
        usable(self.local) && usable(self.remote)
    }
}
