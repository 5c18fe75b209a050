//! Configuration of a node: its role, the metric of its network, and the sizes of its tables.

use crate::link::Link;
use crate::metric::{Metric, Quality};
use crate::request::Request;
use crate::route::Route;
use crate::search::Search;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::aodv::OUTSIDE;

/// Role of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// No part in routing: no messages, no routes.
    #[default]
    Off,
    /// A node that searches for routes and forwards packets.
    Router,
    /// A border router, which replies for all destinations outside the network (RFC 3561, 8).
    BorderRouter,
}

/// Configuration of an [`Aodv`](crate::Aodv).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvConfig {
    /// Own short address, below 0xFFFE.
    pub short: u16,
    /// Role of this node.
    pub role: Role,
    /// Seed of the random delays. It must differ from node to node.
    pub seed: u64,
    /// Metric that compares routes; the same in the whole network.
    pub metric: Metric,
    /// Meaning of this radio's link quality indications.
    pub quality: Quality,
    /// Probing of doubtful links (RFC 3561, 6.10). A link that has worked within the last second
    /// counts as broken only when the neighbour does not acknowledge a probe either. Frames given
    /// up for contention, as over several hops of one channel, are then no reason to search for
    /// other routes. If this node sends packets to a destination at the time when the route is
    /// lost, it searches for another one at once. Without probing, each frame that is given up
    /// breaks its link, and the next packet starts the search, as in nst-AODV.
    pub link_probes: bool,
    /// Time for which a broadcast is repeated until all neighbours have been awake: the wake-up
    /// period if devices sleep, else zero. Delays and lifetimes grow with it.
    pub broadcast: Duration,
}

impl AodvConfig {
    /// A node that takes no part in routing.
    pub const OFF: AodvConfig = AodvConfig::new(0xFFFE, Role::Off, 0);

    /// Returns the default configuration.
    pub const fn new(short: u16, role: Role, seed: u64) -> Self {
        let (metric, quality) = (Metric::PathDr, Quality::CC2420);
        AodvConfig {
            short,
            role,
            seed,
            metric,
            quality,
            link_probes: true,
            broadcast: Duration::ZERO,
        }
    }

    /// Returns whether this node replies to requests for a destination.
    pub(crate) fn answers_for(&self, destination: u16) -> bool {
        let is_outside = destination == OUTSIDE && self.role == Role::BorderRouter;
        destination == self.short || is_outside
    }
}

/// A memory plan.
pub trait Sizes {
    /// Table of destinations, unreachable ones included, and of originators of requests that have
    /// passed through this node.
    type Routes: Array<Option<Route>>;
    /// Table of the floods of any originator that are in progress or remembered.
    type Requests: Array<Option<Request>>;
    /// Table of the destinations that this node searches for at a time.
    type Searches: Array<Option<Search>>;
    /// Table of the neighbours whose link quality is estimated. In a full table the neighbour that
    /// was not received from for longest is evicted.
    type Links: Array<Option<Link>>;
}
