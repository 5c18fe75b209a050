//! What discovery is told when it is made, and how long its table is.

use crate::learnt::{Advertised, Autoconfigured, Router, Server};
use crate::listener::Listener;
use crate::neighbour::Neighbour;
use crate::role::Role;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;

/// What a [`Discovery`](crate::Discovery) is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether it takes part. If not, it says nothing and knows nobody.
    pub on: bool,
    /// The link address that frames of this node come from, which is told to those who ask.
    pub link: Address,
    /// The EUI-64, by which a router knows whose a registered address is.
    pub eui: [u8; 8],
    /// The PAN: some nodes make it part of the identifier of a short address (RFC 4944, 6).
    pub pan: u16,
    /// Whether it looks for routers and lets them configure it: addresses, contexts, where packets
    /// go that have no other way. Default false: it is configured by hand.
    pub autoconfigures: bool,
    /// Whether only the router that routing names is used ([`Discovery::prefer`]): that of a node
    /// that sleeps is its parent, which keeps its packets. Default false: any router.
    ///
    /// [`Discovery::prefer`]: crate::Discovery::prefer
    pub has_parent: bool,
    /// Whether it tells the multicast groups that it is in to routers that forward multicast (RFC
    /// 3810). Default false: on this link who is in a group hears what is sent to it (RFC 6775
    /// does without).
    pub reports: bool,
    /// Whether the router that an address is registered with is to make it known to others (the R
    /// flag, RFC 8505, 5.1): not of a node that does so itself, as a leaf of RPL does. True by
    /// default.
    pub routed: bool,
    /// Decides the random delays. Must differ from node to node.
    pub seed: u64,
    /// How long a neighbour is taken to be there after it has shown that it is, on average
    /// (BaseReachableTime, RFC 4861, 6.3.2). Default 30 s.
    pub reachable: Duration,
    /// The time between solicitations (RetransTimer, RFC 4861, 6.3.2). Default 1 s.
    pub retrans: Duration,
}

impl Config {
    /// A node that takes no part.
    pub const OFF: Config = Config { on: false, ..Config::new(Address::None, [0; 8], 0xFFFF, 0) };

    /// The defaults of RFC 4861, 10.
    //= rfc8505#5.1-2
    pub const fn new(link: Address, eui: [u8; 8], pan: u16, seed: u64) -> Self {
        let (reachable, retrans) = (Duration::from_secs(30), Duration::from_secs(1));
        let (on, autoconfigures, has_parent, reports, routed) = (true, false, false, false, true);
        Config {
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
    /// Neighbours of which the link address was learnt, or is being asked for.
    type Neighbours: Array<Option<Neighbour>>;
    /// Default routers.
    type Routers: Array<Option<Router>>;
    /// Addresses that follow from advertised prefixes.
    type Addresses: Array<Option<Autoconfigured>>;
    /// Contexts that are advertised.
    type Contexts: Array<Option<Advertised>>;
    /// Name servers.
    type Servers: Array<Option<Server>>;
    /// What it does for others: nothing (`()`), or what routers do
    /// ([`Serving`](crate::Serving)).
    type Role: Role;
    /// Who tells routers of multicast groups, if [`Config::reports`] says so: nobody (`()`), or
    /// [`Reporting`](crate::Reporting).
    type Listener: Listener;
}
