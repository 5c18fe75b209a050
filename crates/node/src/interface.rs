//! Configuration of addresses, groups, routes and contexts.

use crate::discovery::Discovery;
use crate::node::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_net::{InterfaceAddress, JoinError, Neighbour, Net, Route, TableFull};
use kinglet_tcp::PayloadRef;
use kinglet_wire::sixlowpan::Context;

/// Access to the tables of a node's network layer ([`Node::interface`]). For inspection, see
/// [`Node::net`].
pub struct Interface<'a, P: Profile>(&'a mut Net<P, PayloadRef>);

impl<P: Profile> Node<P> {
    /// Returns the network layer for inspection: addresses, ports, waiting packets, counters.
    pub const fn net(&self) -> &Net<P, PayloadRef> {
        &self.net
    }

    /// Returns access to addresses, multicast groups, routes, neighbours and contexts.
    pub const fn interface(&mut self) -> Interface<'_, P> {
        self.wake();
        Interface(&mut self.net)
    }
}

impl<P: Profile> Interface<'_, P> {
    /// Adds an own address permanently: connections rely on it. Neighbour discovery, if there is
    /// any, detects whether another node has the address, and removes it in that case.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_address(&mut self, address: InterfaceAddress) -> Result<(), TableFull> {
        self.0.add_address(address)?;
        self.0.discovery_mut().add_address(address.address);
        Ok(())
    }

    /// Returns discovery, so that the advertised information can be changed.
    pub const fn discovery(&mut self) -> &mut P::Discovery {
        self.0.discovery_mut()
    }

    /// Joins a multicast group: packets to it are delivered to this node too, on the link on which
    /// they arrive. A second call changes nothing. A member receives what neighbours send to the
    /// group; only neighbour discovery reports the membership, if it is to do so (RFC 3810).
    ///
    /// # Errors
    /// [`JoinError`]
    pub fn join_group(&mut self, group: Ipv6Addr) -> Result<(), JoinError> {
        self.0.join_group(group)?;
        self.0.discovery_mut().handle_join();
        Ok(())
    }

    /// Leaves a multicast group. Returns whether this node was a member. The all-nodes groups
    /// cannot be left.
    pub fn leave_group(&mut self, group: Ipv6Addr) -> bool {
        self.0.leave_group(group)
    }

    /// Adds a route, or replaces the one with the same prefix.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_route(&mut self, route: Route) -> Result<(), TableFull> {
        self.0.add_route(route)
    }

    /// Removes the route with this prefix. Returns whether there was one.
    pub fn remove_route(&mut self, prefix: Ipv6Addr, prefix_len: u8) -> bool {
        self.0.remove_route(prefix, prefix_len)
    }

    /// Adds a neighbour whose link address does not follow from its IPv6 address.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_neighbour(&mut self, neighbour: Neighbour) -> Result<(), TableFull> {
        self.0.add_neighbour(neighbour)
    }

    /// Sets 6LoWPAN context `id`; `None` removes it. All nodes of a network need the same contexts.
    ///
    /// # Errors
    /// [`TableFull`] if the table does not reach to `id`, or `id` is above 15.
    pub fn set_context(&mut self, id: u8, context: Option<Context>) -> Result<(), TableFull> {
        self.0.set_context(id, context)
    }
}
