//! The announcement of addresses and contexts by a border router of a mesh.

use super::Node;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_mesh::{self as mesh, Meshed, UnfitData};
use kinglet_net as net;
use kinglet_time::Instant;
use kinglet_wire::sixlowpan::Context;

impl<P: Profile + mesh::Sizes + net::Sizes<Routing = Meshed<P>>> Node<P> {
    /// Announces the prefix of all addresses and the contexts to the whole mesh, see
    /// [`Meshed::announce`].
    ///
    /// # Errors
    /// As of [`Meshed::announce`].
    pub fn announce(
        &mut self,
        now: Instant,
        prefix: Ipv6Addr,
        contexts: &[(u8, Context)],
    ) -> Result<(), UnfitData> {
        self.routing_mut().announce(now, prefix, contexts)?;
        self.follow_routing(now);
        Ok(())
    }
}
