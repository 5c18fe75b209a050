//! Rerouting of packets that wait for a previous next hop.

use super::extension_headers::option_of;
use super::{Net, Sizes};
use crate::outgoing::Origin;
use crate::tables::Egress;
use kinglet_mem::Array;
use kinglet_routing::{NextHop, Routing};
use kinglet_wire::ipv6::Header;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Reroutes waiting packets. To be called after a change of the parent: each frame to a lost
    /// parent is tried several times without success, and a queue of them delays all other packets
    /// for seconds.
    pub fn reroute_to_parent(&mut self) {
        if !S::Routing::EXTENDS {
            return;
        }
        let routing = &self.routing;
        let reroute = |octets: &mut [u8]| {
            let destination = Header::read(octets).ok()?.dst;
            let option = option_of(octets)?;
            match routing.reroute(destination, octets.get_mut(option)?)? {
                NextHop::Link(link) => Some(link),
                NextHop::OnLink | NextHop::Host => None,
            }
        };
        for queued in self.output.iter_mut().chain(self.control.iter_mut()) {
            if let Some(link) = reroute(self.pool.storage_mut(queued.packet)) {
                queued.next_hop = link;
            }
        }
        let begun = self.current.is_some_and(|current| current.origin == Origin::External);
        if let Some(external) = self.external.as_mut().filter(|_| !begun)
            && let Some(link) = reroute(external.head.as_mut_slice())
        {
            external.egress = Egress::Radio(link);
        }
    }
}
