//! Finds applications in a network and by address.

use crate::profile::LabProfile;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet_scenario::{NodeId, Scenario};
use kinglet_sim::{Station, Wire, World};

/// A network of the lab.
pub type Network = World<Site>;
/// A node of it: stack and applications.
pub type Site = Station<LabProfile>;

/// Octets of memory of each node at switch-on: stack, radio, and state in the engine.
pub const NODE_BYTES: usize = size_of::<Node<LabProfile>>() + Network::NODE_BYTES;

/// Place of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its node.
    pub node: NodeId,
    /// Index of the application on that node.
    pub app: usize,
}

/// A network with stations of the lab among its nodes.
pub trait Stations {
    /// Number of nodes.
    fn count(&self) -> usize;

    /// The station of `node`; `None` if there is no such node, or if it is not a station of the
    /// lab.
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

/// Ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sender or server.
    pub from: Place,
    /// Receiver; the server itself for a server.
    pub to: Place,
}

impl Ends {
    /// Uses `place` for both ends, for an application without a peer.
    pub(crate) const fn both(place: Place) -> Self {
        Ends { from: place, to: place }
    }
}

/// The address of `node`, which may be the host.
pub(crate) fn address_in(scenario: &Scenario, node: NodeId) -> Ipv6Addr {
    let addressing = scenario.addressing();
    let is_host = node == scenario.host();
    if is_host { addressing.prefix.host() } else { addressing.address(node) }
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
