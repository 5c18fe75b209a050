//! Who learns routes, chosen by the profile ([`net::Sizes::Routing`]): it answers when the network
//! layer asks for a way, hears what the MAC hears, says who parent and children are, and its
//! messages travel as datagrams between neighbours.
//!
//! `()` knows static routes only, and costs nothing; [`Meshed`](crate::Meshed) is the mesh.

use crate::node::Node;
use crate::profile::Profile;
use kinglet_mac as mac;
use kinglet_net as net;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Octets of the longest message.
pub const MAX_MESSAGE: usize = kinglet_mesh::MAX_LEN;

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
    /// A neighbour that sleeps has become this router's child.
    Child(u16),
    /// One is its child no longer.
    NoChild(u16),
}

/// A routing protocol among the layers of a node.
pub trait Routing: net::Routing {
    /// Whether it takes part at all. If not, it has no messages and decides nothing.
    fn is_on(&self) -> bool;

    /// Whether the receiver of one that sleeps must be on, because an answer may come at any time.
    fn listens(&self) -> bool;

    /// A frame of the neighbour `from` was heard.
    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8);

    /// A frame to the neighbour `to` was acknowledged, or not.
    fn handle_sent(&mut self, now: Instant, to: u16, acked: bool);

    /// A message came. One longer than [`MAX_MESSAGE`] has one octet more than that.
    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]);

    /// Writes the next message to `buf`.
    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message>;

    /// What has changed, one thing at a time.
    fn poll_change(&mut self) -> Option<Change>;

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

    fn handle_heard(&mut self, _: Instant, _: u16, _: i8) {}

    fn handle_sent(&mut self, _: Instant, _: u16, _: bool) {}

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

impl<P: Profile> Node<P> {
    /// Who learns routes, to look at.
    pub const fn routing(&self) -> &P::Routing {
        self.net.routing()
    }

    pub(crate) const fn routing_mut(&mut self) -> &mut P::Routing {
        self.net.routing_mut()
    }

    /// A frame came from a neighbour.
    pub(crate) fn routing_heard(&mut self, now: Instant, from: &Address, rssi_dbm: i8) {
        if let &Address::Short(from) = from {
            self.routing_mut().handle_heard(now, from, rssi_dbm);
        }
    }

    /// A message came from a neighbour.
    pub(crate) fn routing_message(
        &mut self,
        now: Instant,
        from: &Address,
        rssi_dbm: i8,
        message: net::Delivery,
    ) {
        let mut octets = [0; MAX_MESSAGE + 1];
        let packet = self.net.packet(message.packet).get(message.upper).unwrap_or_default();
        // One that is longer than any message is refused as one octet too long.
        let len = kinglet_mem::copy(&mut octets, packet);
        let octets = octets.get(..len).unwrap_or_default();
        if let &Address::Short(from) = from {
            self.routing_mut().handle_message(now, from, rssi_dbm, octets);
        }
        self.net.release(message.packet);
    }

    /// How the sending of a frame ended. That the channel was never free says nothing of a link.
    pub(crate) fn routing_outcome(&mut self, now: Instant, outcome: &mac::Outcome) {
        let acked = match outcome.result {
            mac::Delivery::Delivered => true,
            mac::Delivery::NoAck => false,
            _ => return,
        };
        if let Address::Short(to) = outcome.dst
            && outcome.dst.is_unicast()
        {
            self.routing_mut().handle_sent(now, to, acked);
        }
    }

    /// Carries out what routing has decided, and takes its messages while there is room.
    pub(crate) fn follow_routing(&mut self, now: Instant) {
        if self.routing().is_on() {
            self.carry_out(now);
        }
    }

    #[inline(never)]
    fn carry_out(&mut self, now: Instant) {
        if self.sleeps {
            let listens = self.routing().listens();
            self.mac.set_rx_on_when_idle(listens);
        }
        // At most one change for every child, and one for the parent.
        while let Some(change) = self.routing_mut().poll_change() {
            match change {
                // A table without room for a default route is one for static routes only, and
                // routing knows the way too.
                Change::Parent(parent) => {
                    let _ = self.set_parent(now, parent);
                }
                // A child too many for the network layer's table is sent its packets like anybody.
                Change::Child(child) => {
                    let _ = self.add_child(child);
                }
                Change::NoChild(child) => {
                    let _ = self.remove_child(now, child);
                }
            }
        }
        let mut buf = [0; MAX_MESSAGE];
        while self.net.can_send_routing_message() {
            let Some(out) = self.routing_mut().poll_message(now, &mut buf) else { return };
            // There is room, as was just asked; whatever else fails, routing repeats itself.
            let octets = buf.get(..out.len).unwrap_or_default();
            let _ = self.net.send_routing_message(now, out.to, octets);
        }
    }
}
