//! Addresses of the nodes of a network: link-layer addresses, and the IPv6 addresses that follow
//! from them.

use super::{NodeId, Prefix, Role, Scenario};
use core::net::Ipv6Addr;
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::derived_iid;

/// macShortAddress of a device that has none (IEEE 802.15.4-2015, 8.4.3.1).
pub const NO_SHORT: u16 = 0xfffe;

/// An address mode of the link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAddresses {
    /// 16 bits.
    Short,
    /// 64 bits; nodes have no short address.
    Extended,
    /// The addresses of the only node.
    Given {
        /// Its short address; 0xFFFE if it has none.
        short: u16,
        /// Its EUI-64.
        eui64: [u8; 8],
    },
}

/// Derives the addresses of a node from its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressing {
    /// Prefix of the network.
    pub prefix: Prefix,
    /// The link-layer addresses in frames.
    pub link: LinkAddresses,
}

impl Addressing {
    /// Short addresses and the default prefix.
    pub const DEFAULT: Self = Addressing { prefix: Prefix::DEFAULT, link: LinkAddresses::Short };

    /// Returns the short address of `node`, counted from 1, because 0 looks like an unset one;
    /// 0xFFFE if nodes have none.
    pub const fn short(self, node: NodeId) -> u16 {
        match self.link {
            LinkAddresses::Short => (node + 1) as u16,
            LinkAddresses::Extended => NO_SHORT,
            LinkAddresses::Given { short, .. } => short,
        }
    }

    /// Returns the EUI-64 of `node`: locally administered. Peers that derive a link-layer address
    /// from its interface identifier use this one.
    pub const fn eui64(self, node: NodeId) -> [u8; 8] {
        let [_, _, high, low] = (node + 1).to_be_bytes();
        match self.link {
            // The one that belongs to the short address (RFC 4944 §6).
            LinkAddresses::Short => [2, 0, 0, 0xff, 0xfe, 0, high, low],
            LinkAddresses::Extended => [2, 0, 0, 0, 0, 1, high, low],
            LinkAddresses::Given { eui64, .. } => eui64,
        }
    }

    /// Returns the address of `node` in its frames.
    pub const fn link(self, node: NodeId) -> Address {
        match self.short(node) {
            NO_SHORT => Address::Extended(self.eui64(node)),
            short => Address::Short(short),
        }
    }

    /// Returns the IPv6 address of `node` in the mesh: its interface identifier follows from its
    /// link-layer address (RFC 4944 §6).
    pub fn address(self, node: NodeId) -> Ipv6Addr {
        let identifier = derived_iid(self.link(node)).map_or(0, u64::from_be_bytes);
        Ipv6Addr::from_bits(self.prefix.mesh().to_bits() | u128::from(identifier))
    }

    /// Returns the address that `node` itself has at the far end of a tunnel, where the computer
    /// has the node's: a router sends ICMPv6 errors from an address of its own (RFC 4443 §2.2). No
    /// route leads to it.
    pub fn far_router(self, node: NodeId) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.address(node).to_bits() | 1 << 48)
    }
}

impl Scenario {
    /// Returns the addresses of its nodes.
    pub const fn addressing(&self) -> Addressing {
        Addressing { prefix: self.prefix, link: self.link_addresses }
    }

    /// Returns what is wrong if nodes without short addresses need some.
    pub(super) fn needs_short_addresses(&self) -> Option<String> {
        if self.link_addresses != LinkAddresses::Extended {
            return None;
        }
        let by_short = self.routing.facts().filter(|facts| facts.by_short);
        let why = match by_short {
            Some(facts) => format!("messages of {} have short addresses", facts.label),
            None if self.nodes.iter().any(|place| place.role == Role::Leaf) => {
                "a parent knows its leaves by short addresses".to_owned()
            }
            None => return None,
        };
        Some(format!("{why}; give addresses = \"short\", or static routes or RPL without leaves"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_follow_from_those_of_the_link() {
        let with = |link| Addressing { link, ..Addressing::DEFAULT };
        let short = with(LinkAddresses::Short);
        assert_eq!(short.address(6).to_string(), "fd6b:696e:676c:7400:0:ff:fe00:7");
        assert_eq!((short.link(6), short.short(6)), (Address::Short(7), 7));
        let extended = with(LinkAddresses::Extended);
        assert_eq!(extended.address(0x1fe).to_string(), "fd6b:696e:676c:7400::1:1ff");
        assert_eq!(extended.link(0), Address::Extended([2, 0, 0, 0, 0, 1, 0, 1]));
        assert_eq!(extended.short(6), NO_SHORT);
        let eui64 = [2, 0x12, 0x4b, 0, 0, 0, 0, 0xa];
        let given = |short| with(LinkAddresses::Given { short, eui64 });
        assert_eq!(given(NO_SHORT).address(0).to_string(), "fd6b:696e:676c:7400:12:4b00:0:a");
        assert_eq!((given(9).link(0), given(9).eui64(0)), (Address::Short(9), eui64));
    }
}
