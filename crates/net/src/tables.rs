//! Addresses, routes, neighbours and contexts: static tables and the questions asked of them.

use crate::config::{Config, Sizes};
use crate::net::Net;
use crate::routing::Routing;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::sixlowpan::{Context, derived_iid, link_address_of};

/// An address of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The address.
    pub address: Ipv6Addr,
    /// Its prefix length, 0 to 128; informative, no route follows from it.
    pub prefix_len: u8,
}

/// Where packets of a route go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// To the neighbour with this link address.
    Link(Address),
    /// To the destination itself, which is a neighbour: its link address comes from the neighbour
    /// table or its IID.
    OnLink,
    /// To the host interface of a border router.
    Host,
}

/// A static route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The prefix.
    pub prefix: Ipv6Addr,
    /// Its length, 0 (default route) to 128.
    pub prefix_len: u8,
    /// Where to.
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

/// The table has no free place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// Why a multicast group was not joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// The address is not a multicast one.
    NotMulticast,
    /// The table of groups ([`Sizes::Groups`]) has no free place.
    TableFull,
}

/// Which way out, resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Egress {
    Radio(Address),
    Host,
}

/// All nodes, interface-local and link-local scope (RFC 4291, 2.7.1).
const ALL_NODES: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xFF01, 0, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1)];

fn insert<T>(table: &mut [Option<T>], item: T) -> Result<(), TableFull> {
    let place = table.iter_mut().find(|place| place.is_none()).ok_or(TableFull)?;
    *place = Some(item);
    Ok(())
}

/// The link-local address of a link address (RFC 4944, 7).
pub(crate) fn link_local(link: Address) -> Option<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = derived_iid(link)?;
    Some(Ipv6Addr::from([0xFE, 0x80, 0, 0, 0, 0, 0, 0, a, b, c, d, e, f, g, h]))
}

/// The first word of fe80::/64; the second one is zero.
const LINK_LOCAL: u32 = u32::from_ne_bytes([0xFE, 0x80, 0, 0]);

type Words = (u32, u32, u32, u32);

/// The address in words, the last one first: a small core compares them twice as fast as octets.
#[inline]
fn words(address: &Ipv6Addr) -> Words {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = address.octets();
    let first = u32::from_ne_bytes([a, b, c, d]);
    let second = u32::from_ne_bytes([e, f, g, h]);
    (u32::from_ne_bytes([m, n, o, p]), u32::from_ne_bytes([i, j, k, l]), second, first)
}

/// The short name of one of the own addresses, those of the link first.
fn find_own(config: &Config, table: &[Option<InterfaceAddress>], address: &Ipv6Addr) -> Option<u8> {
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
        // Of two that are not the same the ends nearly always differ.
        d == h && c == g && b == f && a == e
    })?;
    u8::try_from(place.saturating_add(LINK_LOCALS)).ok()
}

/// The own address for packets to `dst`.
fn find_source(
    config: &Config,
    table: &[Option<InterfaceAddress>],
    dst: Ipv6Addr,
) -> Option<Ipv6Addr> {
    // Multicast of link-local scope or less.
    let narrow = matches!(dst.octets(), [0xFF, scope, ..] if scope & 0xF <= 2);
    if narrow || is_link_local(dst) {
        return link_local(config.link);
    }
    let (mut best, mut most) = (None, 0);
    for own in table.iter().flatten() {
        let common = common_prefix(own.address, dst);
        // The last of equals.
        if common >= most {
            (best, most) = (Some(own.address), common);
        }
    }
    best
}

/// The route with the longest prefix that `dst` has, the last of equals.
fn find_route(table: &[Option<Route>], dst: Ipv6Addr) -> Option<&Route> {
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

/// The link address of a neighbour.
fn find_link(table: &[Option<Neighbour>], dst: Ipv6Addr) -> Address {
    let known = table.iter().flatten().find(|entry| entry.address == dst);
    known.map_or_else(|| link_address_of(dst), |entry| entry.link)
}

/// How many leading bits two addresses have in common.
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

/// A node has two link-local addresses at most: of its link address, and of the other one.
const LINK_LOCALS: usize = 2;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Adds an own address, for good: connections count on it.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_address(&mut self, address: InterfaceAddress) -> Result<(), TableFull> {
        insert(self.addresses.as_mut_slice(), address)
    }

    /// Adds a route, or replaces the one with the same prefix.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_route(&mut self, route: Route) -> Result<(), TableFull> {
        let _ = self.remove_route(route.prefix, route.prefix_len);
        insert(self.routes.as_mut_slice(), route)
    }

    /// Removes the route with this prefix; whether there was one.
    pub fn remove_route(&mut self, prefix: Ipv6Addr, prefix_len: u8) -> bool {
        let same = |route: &Route| {
            route.prefix_len == prefix_len && same_prefix(route.prefix, prefix, prefix_len)
        };
        let place = self.routes.as_mut_slice().iter_mut().find(|r| r.as_ref().is_some_and(same));
        place.and_then(Option::take).is_some()
    }

    /// Adds a neighbour.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_neighbour(&mut self, neighbour: Neighbour) -> Result<(), TableFull> {
        insert(self.neighbours.as_mut_slice(), neighbour)
    }

    /// Sets 6LoWPAN context `id`; `None` forgets it. All nodes of a network need the same.
    ///
    /// # Errors
    /// [`TableFull`] if the table does not reach to `id`, or `id` is above 15.
    pub fn set_context(&mut self, id: u8, context: Option<Context>) -> Result<(), TableFull> {
        let table = self.contexts.as_mut_slice();
        let place = table.iter_mut().take(16).nth(usize::from(id)).ok_or(TableFull)?;
        *place = context;
        Ok(())
    }

    /// The 6LoWPAN contexts, by identifier.
    pub fn contexts(&self) -> &[Option<Context>] {
        self.contexts.as_slice()
    }

    /// Joins a multicast group: packets for it are for this node too, from the link that they come
    /// by. A second time changes nothing. Nobody is told (no MLD, RFC 3810): the members of a group
    /// hear what neighbours send to it.
    ///
    /// # Errors
    /// [`JoinError`]
    pub fn join_group(&mut self, group: Ipv6Addr) -> Result<(), JoinError> {
        if !group.is_multicast() {
            return Err(JoinError::NotMulticast);
        }
        if self.is_member(group) {
            return Ok(());
        }
        insert(self.groups.as_mut_slice(), group).map_err(|TableFull| JoinError::TableFull)
    }

    /// Leaves a multicast group; whether this node was a member by [`Net::join_group`]. The groups
    /// of all nodes cannot be left.
    pub fn leave_group(&mut self, group: Ipv6Addr) -> bool {
        let mut places = self.groups.as_mut_slice().iter_mut();
        places.find(|place| **place == Some(group)).and_then(Option::take).is_some()
    }

    /// Whether this node is a member of a multicast group.
    pub fn is_member(&self, group: Ipv6Addr) -> bool {
        ALL_NODES.contains(&group) || self.groups.as_slice().contains(&Some(group))
    }

    /// Whether `address` is one of this node's unicast addresses.
    pub fn is_own(&self, address: Ipv6Addr) -> bool {
        self.own_index(address).is_some()
    }

    /// A short name of one of this node's unicast addresses. Addresses are never removed, so it
    /// names that one for good.
    pub fn own_index(&self, address: Ipv6Addr) -> Option<u8> {
        find_own(&self.config, self.addresses.as_slice(), &address)
    }

    /// The unicast address of this node that has this name.
    pub fn own_address(&self, index: u8) -> Option<Ipv6Addr> {
        match index {
            0 | 1 => link_local(if index == 0 { self.config.link } else { self.config.alias }),
            _ => {
                let place = usize::from(index).checked_sub(LINK_LOCALS)?;
                self.addresses.as_slice().get(place)?.map(|own| own.address)
            }
        }
    }

    /// The same where the address stays: a small core need not copy it.
    pub(crate) fn owns(&self, address: &Ipv6Addr) -> bool {
        find_own(&self.config, self.addresses.as_slice(), address).is_some()
    }

    /// The source address for packets to `dst`: one of the same scope (RFC 6724, 5, rule 2), and of
    /// these the one that has the longest prefix in common with it (rule 8).
    pub fn source_for(&self, dst: Ipv6Addr) -> Option<Ipv6Addr> {
        find_source(&self.config, self.addresses.as_slice(), dst)
    }

    /// Which way out for `dst`: link-local and multicast packets go to the radio, others by the
    /// route with the longest matching prefix, a static one if two are of the same length.
    pub(crate) fn egress(&self, dst: &Ipv6Addr) -> Option<Egress> {
        if dst.is_multicast() {
            return Some(Egress::Radio(Address::BROADCAST));
        }
        if self.owns(dst) {
            return None;
        }
        if is_link_local(*dst) {
            return Some(Egress::Radio(self.resolve(*dst)));
        }
        let fixed = find_route(self.routes.as_slice(), *dst);
        let via = match (fixed, self.routing.route(*dst)) {
            (Some(fixed), Some(learnt)) if fixed.prefix_len >= learnt.prefix_len => fixed.via,
            (_, Some(learnt)) => learnt.via?,
            (fixed, None) => fixed?.via,
        };
        Some(match via {
            NextHop::Link(link) => Egress::Radio(link),
            NextHop::OnLink => Egress::Radio(self.resolve(*dst)),
            NextHop::Host if S::Host::LEN == 0 => return None,
            NextHop::Host => Egress::Host,
        })
    }

    fn resolve(&self, dst: Ipv6Addr) -> Address {
        find_link(self.neighbours.as_slice(), dst)
    }
}
