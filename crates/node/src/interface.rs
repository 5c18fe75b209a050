//! Addresses, groups, routes and contexts: what commissions a node.

use crate::discovery::Discovery;
use crate::node::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_net::{InterfaceAddress, JoinError, Neighbour, Net, Route, TableFull};
use kinglet_tcp::PayloadRef;
use kinglet_wire::sixlowpan::Context;

/// The tables of a node's network layer, to fill ([`Node::interface`]). To look at them:
/// [`Node::net`].
pub struct Interface<'a, P: Profile>(&'a mut Net<P, PayloadRef>);

impl<P: Profile> Node<P> {
    /// The network layer, to look at: addresses, ports, what waits, counters.
    pub const fn net(&self) -> &Net<P, PayloadRef> {
        &self.net
    }

    /// Addresses, multicast groups, routes, neighbours and contexts.
    pub const fn interface(&mut self) -> Interface<'_, P> {
        self.wake();
        Interface(&mut self.net)
    }
}

impl<P: Profile> Interface<'_, P> {
    /// Adds an own address, for good: connections count on it. Discovery, if there is any, finds
    /// out whether another node has it, and takes it away then.
    ///
    /// # Errors
    /// [`TableFull`]
    pub fn add_address(&mut self, address: InterfaceAddress) -> Result<(), TableFull> {
        self.0.add_address(address)?;
        self.0.discovery_mut().add_address(address.address);
        Ok(())
    }

    /// Who learns link addresses, to have it tell others something else.
    pub const fn discovery(&mut self) -> &mut P::Discovery {
        self.0.discovery_mut()
    }

    /// Joins a multicast group: packets for it are for this node too, from the link that they come
    /// by. A second time changes nothing. Who is in a group hears what neighbours send to it;
    /// others are told by discovery alone, and if it is to (RFC 3810).
    ///
    /// # Errors
    /// [`JoinError`]
    pub fn join_group(&mut self, group: Ipv6Addr) -> Result<(), JoinError> {
        self.0.join_group(group)?;
        self.0.discovery_mut().handle_join();
        Ok(())
    }

    /// Leaves a multicast group; whether this node was a member. The groups of all nodes cannot be
    /// left.
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

    /// Removes the route with this prefix; whether there was one.
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

    /// Sets 6LoWPAN context `id`; `None` forgets it. All nodes of a network need the same.
    ///
    /// # Errors
    /// [`TableFull`] if the table does not reach to `id`, or `id` is above 15.
    pub fn set_context(&mut self, id: u8, context: Option<Context>) -> Result<(), TableFull> {
        self.0.set_context(id, context)
    }
}
