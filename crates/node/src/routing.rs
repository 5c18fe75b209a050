//! The routing protocol of a node, chosen by the profile ([`net::Sizes::Routing`]). It provides
//! routes to the network layer, receives the reports of the MAC, and selects parent and children.
//! Its messages travel as datagrams between neighbours.
//!
//! `()` knows static routes only, and costs nothing; [`Meshed`](crate::Meshed) is the mesh,
//! [`Rpled`](crate::Rpled) RPL, and [`Aoded`](crate::Aoded) nst-AODV.

use core::net::Ipv6Addr;
use kinglet_nd as nd;
use kinglet_net as net;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::Context;

/// Octets of the longest message.
pub const MAX_MESSAGE: usize = kinglet_mesh::MAX_LEN;

/// Octets of the longest ICMPv6 message of routing or discovery that is sent.
pub const MAX_ICMPV6: usize = 256;

/// Callback that takes a layer, one of its reasons, and the count of that reason.
pub type Each<'a> = dyn FnMut(&'static str, &'static str, u32) + 'a;

/// Callback that takes a relation of a node (`parent`, `DODAG`, `default router`, `registration`,
/// `child`, `neighbour`) and the address of its other end; of a DODAG, that of its root.
pub type EachRelation<'a> = dyn FnMut(&'static str, Ipv6Addr) + 'a;

/// A message to a neighbour, or to all neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Address of its receiver.
    pub to: Address,
    /// Length in octets.
    pub len: usize,
}

/// A change of this node's position in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A leaf has another parent, or none.
    Parent(Option<u16>),
    /// Waiting packets may have another route: a router has another parent, or a route was found or
    /// lost.
    Route,
    /// A neighbour that sleeps has become a child of this router.
    Child(u16),
    /// This neighbour is its child no longer.
    NoChild(u16),
    /// The node has this address from now on.
    Address(Ipv6Addr),
    /// The node has this address no longer. [`Routing::handle_address`] was called for it.
    NoAddress(Ipv6Addr),
    /// The node has this 6LoWPAN context from now on; with `None` no longer.
    Context {
        /// Its identifier, 0 to 15.
        id: u8,
        /// The context.
        context: Option<Context>,
    },
}

/// A routing protocol among the layers of a node.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no routing protocol",
    note = "`routing` is `()`, `kinglet::Meshed`, `kinglet::Rpled` or `kinglet::Aoded`"
)]
pub trait Routing: net::Routing {
    /// True if [`Routing::handle_queue`] is to be called.
    const WATCHES_QUEUE: bool = false;

    /// True if it assigns addresses and contexts.
    const GIVES_ADDRESSES: bool = false;

    /// Returns whether it takes part in routing. If not, it has no messages and decides nothing.
    fn is_on(&self) -> bool;

    /// Returns whether its messages indicate to parents that a leaf sleeps. If not, a leaf polls a
    /// new parent at once, and the parent learns it from the poll.
    fn announces_sleep(&self) -> bool {
        true
    }

    /// Returns whether a sleeping device must keep its receiver on, because a response may arrive
    /// at any time.
    fn listens(&self) -> bool;

    /// Sets the time for which a broadcast is repeated, until all neighbours have been awake.
    fn set_broadcast_time(&mut self, _time: Duration) {}

    /// Handles the reception of a frame from the neighbour `from`, with this signal strength and
    /// link quality indication.
    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8, lqi: u8);

    /// Handles a data request from the neighbour `from`: that neighbour sleeps.
    fn handle_asked(&mut self, _now: Instant, _from: u16) {}

    /// Handles the state of the queue: `waiting` packets of `room` wait for the radio.
    fn handle_queue(&mut self, _now: Instant, _waiting: usize, _room: usize) {}

    /// Handles the result of a frame to the neighbour `to`: the number of transmissions, as far as
    /// the radio has reported them, and whether it was acknowledged.
    fn handle_sent(&mut self, now: Instant, to: Address, transmissions: u8, acked: bool);

    /// Handles a message. One longer than [`MAX_MESSAGE`] is passed with one octet more than that.
    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]);

    /// Writes the next message to `buf`.
    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message>;

    /// Handles an ICMPv6 message of one of the types in [`net::Routing::ICMPV6`] that arrived by
    /// radio. The strength is that of the frame that completed it.
    fn handle_icmpv6(&mut self, _now: Instant, _rssi_dbm: i8, _message: net::Icmpv6In<'_>) {}

    /// Writes the next ICMPv6 message to `buf`, from the type on; its checksum is filled in.
    fn poll_icmpv6(
        &mut self,
        _now: Instant,
        _buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<net::Icmpv6Out> {
        None
    }

    /// Returns whether [`Routing::handle_leaf`] can be processed now; if not, that call waits.
    fn serves_leaves(&self) -> bool {
        false
    }

    /// Handles a host without routing that is registered here, again, or no longer.
    fn handle_leaf(&mut self, _now: Instant, _leaf: &nd::Routed) {}

    /// Handles an address that the node has got by [`Change::Address`], and did not have before.
    fn handle_address(&mut self, _address: Ipv6Addr) {}

    /// Returns the next change, one at a time.
    fn poll_change(&mut self) -> Option<Change>;

    /// Calls `each` with its name, and every reason for which it discarded, refused or lost
    /// something.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of this node that it keeps.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    /// Returns the time at which [`Routing::handle_deadline`] is due.
    fn deadline(&self) -> Option<Instant>;

    /// Handles all timers that have expired.
    fn handle_deadline(&mut self, now: Instant);
}

impl Routing for () {
    fn is_on(&self) -> bool {
        false
    }

    fn listens(&self) -> bool {
        false
    }

    fn handle_heard(&mut self, _: Instant, _: u16, _: i8, _: u8) {}

    fn handle_sent(&mut self, _: Instant, _: Address, _: u8, _: bool) {}

    fn handle_message(&mut self, _: Instant, _: u16, _: i8, _: &[u8]) {}

    fn poll_message(&mut self, _: Instant, _: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        None
    }

    fn poll_change(&mut self) -> Option<Change> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant) {}
}
