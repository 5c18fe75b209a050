//! Who learns routes, chosen by the profile ([`net::Sizes::Routing`]): it answers when the network
//! layer asks for a way, hears what the MAC hears, says who parent and children are, and its
//! messages travel as datagrams between neighbours.
//!
//! `()` knows static routes only, and costs nothing; [`Meshed`](crate::Meshed) is the mesh,
//! [`Rpled`](crate::Rpled) RPL, and [`Aoded`](crate::Aoded) nst-AODV.

use core::net::Ipv6Addr;
use kinglet_nd as nd;
use kinglet_net as net;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;

/// Octets of the longest message.
pub const MAX_MESSAGE: usize = kinglet_mesh::MAX_LEN;

/// Octets of the longest ICMPv6 message of routing or discovery that is sent.
pub const MAX_ICMPV6: usize = 256;

/// Takes a layer, one of its reasons, and the count of that.
pub type Each<'a> = dyn FnMut(&'static str, &'static str, u32) + 'a;

/// Takes a relation of a node (`parent`, `DODAG`, `default router`, `registration`, `child`,
/// `neighbour`) and the address of its other end; of a DODAG, that of its root.
pub type EachRelation<'a> = dyn FnMut(&'static str, Ipv6Addr) + 'a;

/// A message to a neighbour, or to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whom it is for.
    pub to: Address,
    /// How long it is.
    pub len: usize,
}

/// What has been decided about this node's place in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A leaf has another parent, or none.
    Parent(Option<u16>),
    /// Packets that wait may go another way: a router has another parent, or a way was found, or
    /// lost.
    Way,
    /// A neighbour that sleeps has become this router's child.
    Child(u16),
    /// One is its child no longer.
    NoChild(u16),
    /// The node has this address from now on.
    Address(Ipv6Addr),
    /// It has this address no longer, which [`Routing::handle_address`] was told of.
    NoAddress(Ipv6Addr),
}

/// A routing protocol among the layers of a node.
pub trait Routing: net::Routing {
    /// Whether it wants to know how many packets wait.
    const WATCHES_QUEUE: bool = false;

    /// Whether it gives addresses.
    const GIVES_ADDRESSES: bool = false;

    /// Whether it takes part at all. If not, it has no messages and decides nothing.
    fn is_on(&self) -> bool;

    /// Whether its messages tell parents that a leaf sleeps. If not, a leaf asks a new parent for
    /// data at once, and the parent learns it by that.
    fn tells_of_sleep(&self) -> bool {
        true
    }

    /// Whether the receiver of one that sleeps must be on, because an answer may come at any time.
    fn listens(&self) -> bool;

    /// A broadcast is repeated for so long, until all neighbours have been awake.
    fn set_broadcast_time(&mut self, _time: Duration) {}

    /// A frame of the neighbour `from` was heard, with this strength and link quality indication.
    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8, lqi: u8);

    /// The neighbour `from` has asked for data: it sleeps.
    fn handle_asked(&mut self, _now: Instant, _from: u16) {}

    /// So many packets of `room` wait for the radio.
    fn handle_queue(&mut self, _now: Instant, _waiting: usize, _room: usize) {}

    /// A frame to the neighbour `to` was on the air so often, as far as the radio has said so, and
    /// was acknowledged, or not.
    fn handle_sent(&mut self, now: Instant, to: Address, transmissions: u8, acked: bool);

    /// A message came. One longer than [`MAX_MESSAGE`] has one octet more than that.
    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]);

    /// Writes the next message to `buf`.
    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message>;

    /// An ICMPv6 message of one of the types in [`net::Routing::ICMPV6`] came by radio; so strong
    /// was the frame that completed it.
    fn handle_icmpv6(&mut self, _now: Instant, _rssi_dbm: i8, _message: net::Icmpv6In<'_>) {}

    /// Writes the next ICMPv6 message to `buf`, from the type on; its checksum is filled in.
    fn poll_icmpv6(
        &mut self,
        _now: Instant,
        _buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<net::Icmpv6Out> {
        None
    }

    /// Whether there is a use for [`Routing::handle_leaf`] now; if not, that waits.
    fn serves_leaves(&self) -> bool {
        false
    }

    /// A host that knows nothing of routing is registered here, again, or no longer.
    fn handle_leaf(&mut self, _now: Instant, _leaf: &nd::Routed) {}

    /// The node has an address by [`Change::Address`], and had it not before.
    fn handle_address(&mut self, _address: Ipv6Addr) {}

    /// What has changed, one thing at a time.
    fn poll_change(&mut self) -> Option<Change>;

    /// Calls `each` with its name, and every reason for which it discarded, refused or lost
    /// something.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of this node that it keeps.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    /// When [`Routing::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due.
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
