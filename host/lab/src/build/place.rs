//! Where applications are, in the network and by address.

use crate::profile::LabProfile;
use crate::scenario::{NodeId, Prefix, Scenario};
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet_sim::{Station, Wire, World};

/// A network of the lab.
pub type Network = World<Site>;
/// What stands at each of its nodes.
pub type Site = Station<LabProfile>;

/// Octets of memory that each node takes before it does anything: stack, radio, and its place in
/// the engine.
pub const NODE_BYTES: usize = size_of::<Node<LabProfile>>() + Network::NODE_BYTES;

/// Where an application of a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its node.
    pub node: NodeId,
    /// Its number on that node.
    pub app: usize,
}

/// A network of which some nodes, or all, are stations of the lab.
pub trait Stations {
    /// The number of its nodes.
    fn count(&self) -> usize;

    /// The station of `node`; `None` if there is no such node, or it is none of the lab.
    fn station(&self, node: NodeId) -> Option<&Site>;
}

impl Stations for Network {
    fn count(&self) -> usize {
        self.nodes()
    }

    fn station(&self, node: NodeId) -> Option<&Site> {
        ((node as usize) < self.nodes()).then(|| self.device(node as usize))
    }
}

/// The application at `place`, if it is an `A`.
pub fn app_at<A: 'static>(network: &dyn Stations, place: Place) -> Option<&A> {
    if (place.node as usize) < network.count() {
        return network.station(place.node)?.app(place.app);
    }
    wire_of(network).and_then(|wire| wire.app(place.app))
}

/// The wire to the host, if there is one.
pub fn wire_of(network: &dyn Stations) -> Option<&Wire> {
    (0..network.count() as NodeId).find_map(|node| network.station(node)?.wire())
}

/// The ends of a flow: who sends (or serves), and who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sender or server.
    pub from: Place,
    /// Receiver; the server itself for a server.
    pub to: Place,
}

impl Ends {
    /// Both of an application that knows no other.
    pub(crate) const fn both(place: Place) -> Self {
        Ends { from: place, to: place }
    }
}

/// The address of `node` in the mesh: its short address as interface identifier (RFC 4944 §6).
pub fn address_of(prefix: Prefix, node: NodeId) -> Ipv6Addr {
    let [a, b, c, d, ..] = prefix.mesh().segments();
    Ipv6Addr::new(a, b, c, d, 0, 0xff, 0xfe00, short_of(node))
}

/// The address of `node`, which may be the host.
pub(crate) fn address_in(scenario: &Scenario, node: NodeId) -> Ipv6Addr {
    let prefix = scenario.prefix;
    if node == scenario.host() { prefix.host() } else { address_of(prefix, node) }
}

/// The short address of `node`; counted from 1, because 0 is what an unset one looks like.
pub const fn short_of(node: NodeId) -> u16 {
    (node + 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{BUFFER, PACKETS, STORAGE};

    #[test]
    fn a_node_takes_less_than_26_kibibytes_and_eight_times_that_with_all_packets() {
        const { assert!(NODE_BYTES < 26 * 1024) }
        // Both buffers, and a bit for each octet received.
        const { assert!(NODE_BYTES + PACKETS * STORAGE + 2 * BUFFER + BUFFER / 8 <= 192 * 1024) }
    }
}
