//! Addresses, groups, routes, neighbours and contexts of this node: updates of the tables, and
//! lookups.

use super::{Net, Sizes};
use crate::discovery::Discovery;
use crate::tables::{
    Egress, InterfaceAddress, JoinError, LINK_LOCALS, Neighbour, Route, TableFull, find_own,
    find_route, find_source, insert, is_hosts, link_local,
};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_routing::{NextHop, Routing};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{ALL_NODES, is_link_local, same_prefix};
use kinglet_wire::sixlowpan::Context;

/// All nodes, interface-local scope (RFC 4291, 2.7.1).
const THIS_NODE: Ipv6Addr = Ipv6Addr::new(0xFF01, 0, 0, 0, 0, 0, 0, 1);

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Adds an own address. It should be permanent, as connections rely on it.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_address(&mut self, address: InterfaceAddress) -> Result<(), TableFull> {
        insert(self.addresses.as_mut_slice(), address)
    }

    /// Removes an own address. Returns whether there was one. Users of its index
    /// ([`Net::own_index`]) must be ended before: the next added address reuses it.
    pub fn remove_address(&mut self, address: Ipv6Addr) -> bool {
        let mut places = self.addresses.as_mut_slice().iter_mut();
        let place = places.find(|place| place.is_some_and(|own| own.address == address));
        place.and_then(Option::take).is_some()
    }

    /// Adds a route, or replaces the one with the same prefix.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_route(&mut self, route: Route) -> Result<(), TableFull> {
        let _ = self.remove_route(route.prefix, route.prefix_len);
        insert(self.routes.as_mut_slice(), route)
    }

    /// Removes the route with this prefix. Returns whether there was one.
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

    /// Sets 6LoWPAN context `id`; `None` removes it. All nodes of a network need the same.
    ///
    /// # Errors
    /// [`TableFull`] if the table does not reach to `id`, or `id` is above 15.
    pub fn set_context(&mut self, id: u8, context: Option<Context>) -> Result<(), TableFull> {
        let table = self.contexts.as_mut_slice();
        let place = table.iter_mut().take(16).nth(usize::from(id)).ok_or(TableFull)?;
        *place = context;
        Ok(())
    }

    /// Returns the 6LoWPAN contexts, by identifier.
    pub fn contexts(&self) -> &[Option<Context>] {
        self.contexts.as_slice()
    }

    /// Raises the hop limit of packets that originate here to the one that a router advertises, if
    /// that is higher than the configured one.
    pub fn raise_hop_limit(&mut self, hop_limit: u8) {
        self.config.hop_limit = self.config.hop_limit.max(hop_limit);
    }

    /// Joins a multicast group: packets for it from the link are for this node too. A second call
    /// changes nothing. The group is not reported here (MLD, RFC 3810): its members receive what
    /// neighbours send to it.
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

    /// Leaves a multicast group. Returns whether [`Net::join_group`] had made this node a member.
    /// The groups of all nodes cannot be left.
    pub fn leave_group(&mut self, group: Ipv6Addr) -> bool {
        let mut places = self.groups.as_mut_slice().iter_mut();
        places.find(|place| **place == Some(group)).and_then(Option::take).is_some()
    }

    /// Returns whether this node is a member of a multicast group.
    //= rfc6775#5.2-1
    pub fn is_member(&self, group: Ipv6Addr) -> bool {
        [THIS_NODE, ALL_NODES].contains(&group)
            || S::Routing::GROUP == Some(group)
            || self.groups.as_slice().contains(&Some(group))
            || self.is_discovered_by(group)
    }

    /// Returns whether this address is behind the host interface, by a static route of 128 bits.
    pub fn is_hosts(&self, address: Ipv6Addr) -> bool {
        is_hosts(self.routes.as_slice(), address)
    }

    /// Returns whether `address` is one of this node's unicast addresses.
    pub fn is_own(&self, address: Ipv6Addr) -> bool {
        self.own_index(address).is_some()
    }

    /// Returns the index of an own unicast address; it is valid until the address is removed.
    pub fn own_index(&self, address: Ipv6Addr) -> Option<u8> {
        find_own(&self.config, self.addresses.as_slice(), &address)
    }

    /// Returns the unicast address of this node with this index.
    // Inlining it into the transmission of a segment costs 100 octets more.
    #[inline(never)]
    pub fn own_address(&self, index: u8) -> Option<Ipv6Addr> {
        match index {
            0 | 1 => link_local(if index == 0 { self.config.link } else { self.config.alias }),
            _ => {
                let place = usize::from(index).checked_sub(LINK_LOCALS)?;
                self.addresses.as_slice().get(place)?.map(|own| own.address)
            }
        }
    }

    /// Does the same with a reference: a small core need not copy the address.
    pub(crate) fn owns(&self, address: &Ipv6Addr) -> bool {
        find_own(&self.config, self.addresses.as_slice(), address).is_some()
    }

    /// Returns the source address for packets to `dst`: one of the same scope (RFC 6724, 5, rule
    /// 2), and among these the one with the longest common prefix (rule 8).
    pub fn source_for(&self, dst: Ipv6Addr) -> Option<Ipv6Addr> {
        let table = self.addresses.as_slice();
        if S::Discovery::PRESENT {
            let good = |own: &InterfaceAddress| !self.discovery.is_deprecated(own.address);
            return find_source(&self.config, table, dst, good)
                .or_else(|| find_source(&self.config, table, dst, |_| true));
        }
        find_source(&self.config, table, dst, |_| true)
    }

    /// Returns whether a packet to `dst` that originates here has a route, or routing can discover
    /// one.
    pub fn has_route(&self, dst: Ipv6Addr) -> bool {
        self.egress(&dst).is_some() || (Self::DISCOVERS && self.routing.discovers(dst))
    }

    /// Returns the egress for a packet from `src` to `dst` that originates here.
    pub(crate) fn own_egress(
        &mut self,
        now: Instant,
        src: Ipv6Addr,
        dst: Ipv6Addr,
    ) -> Option<Egress> {
        let egress = self.egress(&dst);
        if Self::DISCOVERS { self.discover_own(now, src, dst, egress) } else { egress }
    }

    /// Returns whether an address has an own prefix and no route: it belongs to a node on the link
    /// of this router that knows only RFC 4861, or to none.
    pub(crate) fn is_stray(&self, address: &Ipv6Addr) -> bool {
        if !S::Discovery::SERVES || Self::DISCOVERS || !self.discovery.solicits(*address) {
            return false;
        }
        let mut own = self.addresses.as_slice().iter().flatten();
        let own = own.find(|own| same_prefix(own.address, *address, own.prefix_len));
        let fixed = find_route(self.routes.as_slice(), *address).map_or(0, |it| it.prefix_len);
        own.is_some_and(|own| fixed < own.prefix_len)
            && self.routing.route(*address).is_none_or(|learnt| learnt.via.is_none())
    }

    /// Returns the egress for `dst`: the radio for link-local and multicast packets, else the route
    /// with the longest matching prefix; a static one takes precedence if lengths are equal.
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
        if S::Discovery::PRESENT
            && let Some(link) = self.discovery.attached(*dst)
        {
            return Some(Egress::Radio(link));
        }
        if self.is_stray(dst) {
            return Some(Egress::Radio(self.resolve(*dst)));
        }
        let fixed = find_route(self.routes.as_slice(), *dst);
        let learnt = self.routing.route(*dst);
        if S::Discovery::PRESENT && fixed.is_none() && learnt.is_none() {
            return self.discovery.router().map(|router| Egress::Radio(self.resolve(router)));
        }
        let via = match (fixed, learnt) {
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
}
