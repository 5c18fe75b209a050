//! The mesh among the layers: it answers when the network layer asks for a way, hears what the MAC
//! hears, and its messages travel as datagrams between neighbours.

use crate::node::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_mac as mac;
use kinglet_mesh::{self as mesh, Change, Destination, MAX_LEN, Mesh, Role};
use kinglet_net::{self as net, Learnt, NextHop};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::same_prefix;
use kinglet_wire::sixlowpan::link_address_of;

/// Where the mesh's messages go. One of the ports that compress to four bits (RFC 6282, 4.3.3), not
/// Thread's 19788: the messages are not Thread's.
pub const MESH_PORT: u16 = 0xF0BF;

/// A mesh and the prefix of its addresses, as the network layer sees them.
pub struct Routing<S: mesh::Sizes> {
    pub(crate) mesh: Mesh<S>,
    prefix: Ipv6Addr,
}

/// Bits of the prefix: the rest is the interface identifier, which holds the short address.
const PREFIX_LEN: u8 = 64;

impl<S: mesh::Sizes> Routing<S> {
    pub(crate) const fn new(config: mesh::Config, prefix: Ipv6Addr) -> Self {
        Routing { mesh: Mesh::new(config), prefix }
    }
}

fn towards(next: Option<u16>) -> Option<NextHop> {
    next.map(|next| NextHop::Link(Address::Short(next)))
}

impl<S: mesh::Sizes> net::Routing for Routing<S> {
    const NONE: Self = Routing::new(mesh::Config::OFF, Ipv6Addr::UNSPECIFIED);
    const PORT: Option<u16> = Some(MESH_PORT);

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let role = self.mesh.config().role;
        if role == Role::Off {
            return None;
        }
        if !same_prefix(dst, self.prefix, PREFIX_LEN) {
            // A border router has a way of its own.
            let via = towards(self.mesh.default_next_hop());
            return (role != Role::BorderRouter).then_some(Learnt { prefix_len: 0, via });
        }
        let via = match link_address_of(dst) {
            Address::Short(short) => towards(self.mesh.next_hop(short)),
            _ => None,
        };
        Some(Learnt { prefix_len: PREFIX_LEN, via })
    }
}

impl<P: Profile> Node<P> {
    /// The mesh, to look at.
    pub const fn mesh(&self) -> &Mesh<P> {
        &self.net.routing().mesh
    }

    pub(crate) const fn mesh_mut(&mut self) -> &mut Mesh<P> {
        &mut self.net.routing_mut().mesh
    }

    /// A frame came from a neighbour.
    pub(crate) fn mesh_heard(&mut self, now: Instant, from: Address, rssi_dbm: i8) {
        if let Address::Short(from) = from {
            self.mesh_mut().handle_heard(now, from, rssi_dbm);
        }
    }

    /// A message came from a neighbour.
    pub(crate) fn mesh_message(
        &mut self,
        now: Instant,
        from: Address,
        rssi_dbm: i8,
        message: net::Delivery,
    ) {
        let mut octets = [0; MAX_LEN + 1];
        let packet = self.net.packet(message.packet).get(message.upper).unwrap_or_default();
        // One that is longer than any message is refused as one octet too long.
        let len = kinglet_mem::copy(&mut octets, packet);
        let octets = octets.get(..len).unwrap_or_default();
        if let Address::Short(from) = from {
            // What the mesh discards it has counted.
            let _ = self.mesh_mut().handle_message(now, from, rssi_dbm, octets);
        }
        self.net.release(message.packet);
    }

    /// How the sending of a frame ended. That the channel was never free says nothing of a link.
    pub(crate) fn mesh_outcome(&mut self, now: Instant, outcome: &mac::Outcome) {
        let acked = match outcome.result {
            mac::Delivery::Delivered => true,
            mac::Delivery::NoAck => false,
            _ => return,
        };
        if let Address::Short(to) = outcome.dst
            && outcome.dst.is_unicast()
        {
            self.mesh_mut().handle_sent(now, to, acked);
        }
    }

    /// Carries out what the mesh has decided, and takes its messages while there is room.
    pub(crate) fn settle_mesh(&mut self, now: Instant) {
        if self.mesh().config().role != Role::Off {
            self.carry_out(now);
        }
    }

    #[inline(never)]
    fn carry_out(&mut self, now: Instant) {
        if self.sleeps {
            let listens = self.mesh().listens();
            self.mac.set_rx_on_when_idle(listens);
        }
        // At most one change for every leaf.
        while let Some(change) = self.mesh_mut().poll_change() {
            match change {
                // A table without room for a default route is one for static routes only, and the
                // mesh knows the way too.
                Change::ParentChanged(parent) => {
                    let _ = self.set_parent(now, parent);
                }
                // A child too many for the network layer's table is sent its packets like anybody.
                Change::ChildAdded { child, sleeps: true } => {
                    let _ = self.add_child(child);
                }
                Change::ChildAdded { sleeps: false, .. } => {}
                Change::ChildRemoved(child) => {
                    let _ = self.remove_child(now, child);
                }
            }
        }
        let mut buf = [0; MAX_LEN];
        while self.net.can_send_routing_message() {
            let Some(out) = self.mesh_mut().poll_message(now, &mut buf) else { return };
            let to = match out.to {
                Destination::Broadcast => Address::BROADCAST,
                Destination::Short(to) => Address::Short(to),
            };
            // There is room, as was just asked; whatever else fails, the mesh repeats itself.
            let octets = buf.get(..out.len).unwrap_or_default();
            let _ = self.net.send_routing_message(now, to, octets);
        }
    }
}
