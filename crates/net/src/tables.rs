//! Addresses, routes, neighbours and contexts: static tables and lookups.

use crate::config::NetConfig;
use core::net::Ipv6Addr;
use kinglet_routing::NextHop;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::sixlowpan::{derived_iid, link_address_of};

/// An address of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address.
    pub address: Ipv6Addr,
    /// Its prefix length, 0 to 128; informative, not used for routing.
    pub prefix_len: u8,
}

/// A static route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The prefix.
    pub prefix: Ipv6Addr,
    /// Its length, 0 (default route) to 128.
    pub prefix_len: u8,
    /// Next hop.
    pub via: NextHop,
}

/// A neighbour whose link address does not follow from its IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// IPv6 address.
    pub address: Ipv6Addr,
    /// Link address.
    pub link: Address,
}

/// The table has no free entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// Reason why a multicast group was not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The address is not a multicast one.
    NotMulticast,
    /// The table of groups ([`Sizes::Groups`](crate::Sizes::Groups)) has no free entry.
    TableFull,
}

/// Resolved next hop or interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Egress {
    Radio(Address),
    Host,
}

pub(crate) fn insert<T>(table: &mut [Option<T>], item: T) -> Result<(), TableFull> {
    let place = table.iter_mut().find(|place| place.is_none()).ok_or(TableFull)?;
    *place = Some(item);
    Ok(())
}

/// Returns the link-local address of a link address (RFC 4944, 7).
pub(crate) fn link_local(link: Address) -> Option<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = derived_iid(link)?;
    Some(Ipv6Addr::from([0xFE, 0x80, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h]))
}

/// The first word of fe80::/64; the second one is zero.
const LINK_LOCAL: u32 = u32::from_ne_bytes([0xFE, 0x80, 0, 0]);

type Words = (u32, u32, u32, u32);

/// Returns the address in words, the last one first: small cores compare them twice as fast.
#[inline]
fn words(address: &Ipv6Addr) -> Words {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = address.octets();
    let first = u32::from_ne_bytes([a, b, c, d]);
    let second = u32::from_ne_bytes([e, f, g, h]);
    (u32::from_ne_bytes([m, n, o, p]), u32::from_ne_bytes([i, j, k, l]), second, first)
}

/// The own addresses, for lookups.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    pub(crate) config: &'a NetConfig,
    pub(crate) addresses: &'a [Option<InterfaceAddress>],
}

impl Own<'_> {
    /// Returns whether this is an own address.
    pub fn contains(&self, address: &Ipv6Addr) -> bool {
        find_own(self.config, self.addresses, address).is_some()
    }
}

/// Returns the index of an own address; link-local ones come first.
pub(crate) fn find_own(
    config: &NetConfig,
    table: &[Option<InterfaceAddress>],
    address: &Ipv6Addr,
) -> Option<u8> {
    let address @ (d, c, b, a) = words(address);
    if let (0, LINK_LOCAL) = (b, a) {
        let is_of = |link| link_local(link).is_some_and(|own| words(&own) == address);
        if is_of(config.link) {
            return Some(0);
        }
        if is_of(config.alias) {
            return Some(1);
        }
    }
    let place = table.iter().position(|place| {
        let Some(own) = place else { return false };
        let (h, g, f, e) = words(&own.address);
        // Different addresses nearly always differ in the ends.
        d == h && c == g && b == f && a == e
    })?;
    u8::try_from(place.saturating_add(LINK_LOCALS)).ok()
}

/// Returns the own address for packets to `dst`, among the `good` ones of the table.
pub(crate) fn find_source(
    config: &NetConfig,
    table: &[Option<InterfaceAddress>],
    dst: Ipv6Addr,
    good: impl Fn(&InterfaceAddress) -> bool,
) -> Option<Ipv6Addr> {
    // Multicast of link-local scope or less.
    let narrow = matches!(dst.octets(), [0xFF, scope, ..] if scope & 0xF <= 2);
    if narrow || is_link_local(dst) {
        return link_local(config.link);
    }
    let (mut best, mut most) = (None, 0);
    for own in table.iter().flatten().filter(|own| good(own)) {
        let common = common_prefix(own.address, dst);
        // Later entries win ties.
        if common >= most {
            (best, most) = (Some(own.address), common);
        }
    }
    best
}

/// Returns whether this address is behind the host interface, by a route of 128 bits.
pub(crate) fn is_hosts(table: &[Option<Route>], address: Ipv6Addr) -> bool {
    let route = find_route(table, address);
    route.is_some_and(|route| route.prefix_len == 128 && route.via == NextHop::Host)
}

/// Returns the route with the longest prefix that matches `dst`; later entries win ties.
pub(crate) fn find_route(table: &[Option<Route>], dst: Ipv6Addr) -> Option<&Route> {
    let mut best: Option<&Route> = None;
    for route in table.iter().flatten() {
        if best.is_none_or(|best| route.prefix_len >= best.prefix_len)
            && same_prefix(route.prefix, dst, route.prefix_len)
        {
            best = Some(route);
        }
    }
    best
}

/// Returns the link address of a neighbour.
pub(crate) fn find_link(table: &[Option<Neighbour>], dst: Ipv6Addr) -> Address {
    let known = table.iter().flatten().find(|entry| entry.address == dst);
    known.map_or_else(|| link_address_of(dst), |entry| entry.link)
}

/// Returns the link address of a neighbour in the table.
pub(crate) fn find_neighbour(table: &[Option<Neighbour>], dst: Ipv6Addr) -> Option<Address> {
    table.iter().flatten().find(|entry| entry.address == dst).map(|entry| entry.link)
}

/// Returns whether an own address has the same last three octets.
pub(crate) fn has_own_ending(
    config: &NetConfig,
    table: &[Option<InterfaceAddress>],
    address: &Ipv6Addr,
) -> bool {
    let [.., a, b, c] = address.octets();
    let same = |own: Ipv6Addr| matches!(own.octets(), [.., d, e, f] if (a, b, c) == (d, e, f));
    table.iter().flatten().any(|own| same(own.address))
        || [config.link, config.alias].into_iter().filter_map(link_local).any(same)
}

/// Returns the number of leading bits that two addresses have in common.
fn common_prefix(a: Ipv6Addr, b: Ipv6Addr) -> u32 {
    let mut bits = 0_u32;
    for (a, b) in a.octets().iter().zip(b.octets()) {
        if *a != b {
            return bits.saturating_add((a ^ b).leading_zeros());
        }
        bits = bits.saturating_add(8);
    }
    bits
}

/// Link-local addresses of a node: one for each of its two link addresses.
pub(crate) const LINK_LOCALS: usize = 2;
