//! Configuration of neighbour discovery, and sizes of its tables.

use crate::learnt::{Advertised, Autoconfigured, DefaultRouter, Server};
use crate::listener::Listener;
use crate::neighbour::Neighbour;
use crate::role::Role;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;

/// Configuration of a [`Discovery`](crate::Discovery).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdConfig {
    /// Takes part in neighbour discovery. If false, it sends no messages and knows no neighbours.
    pub on: bool,
    /// Link address of this node, which frames have as source and advertisements contain.
    pub link: Address,
    /// The EUI-64, by which a router identifies the owner of a registered address.
    pub eui: [u8; 8],
    /// The PAN: some nodes make it part of the identifier of a short address (RFC 4944, 6).
    pub pan: u16,
    /// Searches for routers and takes their configuration: addresses, contexts and default routes.
    /// Default false: configured manually.
    pub autoconfigures: bool,
    /// Uses only the router that routing selects ([`Discovery::prefer`]): the parent of a sleeping
    /// node, which holds its packets. Default false: any router.
    ///
    /// [`Discovery::prefer`]: crate::Discovery::prefer
    pub has_parent: bool,
    /// Reports its multicast groups to routers that forward multicast (RFC 3810). Default false: on
    /// this link a member of a group receives what is sent to it (RFC 6775 needs no reports).
    pub reports: bool,
    /// Requests that the router with which an address is registered advertises it in routing (the R
    /// flag, RFC 8505, 5.1). False for a node that does so itself, such as a leaf of RPL. Default
    /// true.
    pub routed: bool,
    /// Seed of the random delays. Must differ from node to node.
    pub seed: u64,
    /// Average time for which a neighbour counts as reachable after a confirmation
    /// (BaseReachableTime, RFC 4861, 6.3.2). Default 30 s.
    pub reachable: Duration,
    /// Time between solicitations (RetransTimer, RFC 4861, 6.3.2). Default 1 s.
    pub retrans: Duration,
}

impl NdConfig {
    /// A node that takes no part in neighbour discovery.
    pub const OFF: NdConfig =
        NdConfig { on: false, ..NdConfig::new(Address::None, [0; 8], 0xFFFF, 0) };

    /// Returns the defaults of RFC 4861, 10.
    //= rfc8505#5.1-2
    pub const fn new(link: Address, eui: [u8; 8], pan: u16, seed: u64) -> Self {
        let (reachable, retrans) = (Duration::from_secs(30), Duration::from_secs(1));
        let (on, autoconfigures, has_parent, reports, routed) = (true, false, false, false, true);
        NdConfig {
            on,
            link,
            eui,
            pan,
            autoconfigures,
            has_parent,
            reports,
            routed,
            seed,
            reachable,
            retrans,
        }
    }
}

/// A memory plan.
pub trait Sizes {
    /// Neighbours with a learned link address or with a pending resolution.
    type Neighbours: Array<Option<Neighbour>>;
    /// Default routers.
    type Routers: Array<Option<DefaultRouter>>;
    /// Addresses formed from advertised prefixes.
    type Addresses: Array<Option<Autoconfigured>>;
    /// Advertised contexts.
    type Contexts: Array<Option<Advertised>>;
    /// Name servers.
    type Servers: Array<Option<Server>>;
    /// Functions for other nodes: none (`()`), or those of a router ([`Serving`](crate::Serving)).
    type Role: Role;
    /// Reports of multicast groups to routers, if [`NdConfig::reports`] is set: none (`()`), or
    /// [`Reporting`](crate::Reporting).
    type Listener: Listener;
}
