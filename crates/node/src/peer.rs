//! A peer as TCP sees it: the two IPv6 addresses of a connection.

use core::hash::Hasher;
use core::net::Ipv6Addr;
use kinglet_tcp::Peer;
use kinglet_wire::{
    checksum,
    ipv6::{AddressType, protocol},
};

/// The addresses of both ends, an opaque key to TCP. Every connection and every record of one has
/// such a key. A node has few own addresses, so the own address is stored as the index that
/// [`Net::own_index`](kinglet_net::Net::own_index) returns for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    remote: Ipv6Addr,
    /// Sum of both addresses, for the checksum. Stored as octets, so that the struct needs no
    /// alignment.
    sum: [u8; 2],
    local: u8,
}

/// No address of this node.
const FOREIGN: u8 = u8::MAX;

impl AddressPair {
    /// Creates a pair of `local`, whose index is `index`, and the other end's address.
    pub fn new(index: Option<u8>, local: Ipv6Addr, remote: Ipv6Addr) -> AddressPair {
        let sum = checksum::add(checksum::sum(&local.octets()), checksum::sum(&remote.octets()));
        AddressPair { remote, sum: sum.to_be_bytes(), local: index.unwrap_or(FOREIGN) }
    }

    /// Returns the index of this node's address.
    pub const fn local(&self) -> u8 {
        self.local
    }

    /// Returns the other end's address.
    pub const fn remote(&self) -> Ipv6Addr {
        self.remote
    }
}

impl Peer for AddressPair {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        let len = u32::try_from(tcp_len).unwrap_or(u32::MAX);
        let rest = checksum::length_and_protocol(len, protocol::TCP);
        checksum::add(u16::from_be_bytes(self.sum), rest)
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        // The index stands for the own address: no other address has it during the life of a
        // secret.
        state.write_u8(self.local);
        state.write(&self.remote.octets());
    }

    fn is_unicast(&self) -> bool {
        let remote = AddressType::of(&self.remote);
        self.local != FOREIGN && matches!(remote, AddressType::Unicast | AddressType::Loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_whole_pseudo_header() {
        let [a, b]: [Ipv6Addr; 2] = ["fe80::1:ffff", "2001:db8::fedc:ba98:7654:3210"]
            .map(|text| text.parse().expect("an address"));
        for (local, remote, len) in [(a, b, 20), (b, a, 1240), (a, a, 0)] {
            let pair = AddressPair::new(Some(0), local, remote);
            let len32 = u32::try_from(len).expect("short");
            let whole = checksum::pseudo_header(local, remote, len32, protocol::TCP);
            assert_eq!(pair.pseudo_header_sum(len), whole);
        }
    }

    #[test]
    fn only_own_addresses_and_unicast_ones_make_a_peer() {
        let own = Ipv6Addr::LOCALHOST;
        let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        assert!(AddressPair::new(Some(2), own, own).is_unicast());
        assert!(!AddressPair::new(None, all_nodes, own).is_unicast());
        assert!(!AddressPair::new(Some(2), own, all_nodes).is_unicast());
        assert!(!AddressPair::new(Some(2), own, Ipv6Addr::UNSPECIFIED).is_unicast());
    }
}
