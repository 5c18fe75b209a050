//! What a node is, how its network measures ways, and how large its tables are.

use crate::link::Link;
use crate::metric::{Metric, Quality};
use crate::request::Request;
use crate::route::Route;
use crate::search::Search;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::aodv::OUTSIDE;

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing: no messages, no ways.
    #[default]
    Off,
    /// Seeks ways, and relays for others.
    Router,
    /// A router through which the way leads out of the network: it answers for all that lies
    /// outside (RFC 3561, 8).
    BorderRouter,
}

/// What an [`Aodv`](crate::Aodv) is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Own short address, below 0xFFFE.
    pub short: u16,
    /// What this node does.
    pub role: Role,
    /// Decides the random delays. Must differ from node to node.
    pub seed: u64,
    /// What makes one way better than another; the same in the whole network.
    pub metric: Metric,
    /// What the link quality indications of this radio mean.
    pub quality: Quality,
    /// Whether a link that has worked within the last second counts as broken only when the
    /// neighbour does not acknowledge either that it is asked whether it is still there
    /// (RFC 3561, 6.10). Where frames are given up for contention, as over several hops of one
    /// channel, that is no reason to seek other ways. Where this node sends packets to a
    /// destination at the time when the way is lost, it then seeks another one at once. Otherwise
    /// each frame that is given up breaks its link, and the next packet begins the search, as in
    /// nst-AODV.
    pub doubts: bool,
    /// The time for which a broadcast is repeated until all neighbours have been awake: the wake-up
    /// period where devices sleep, else zero. Delays and lifetimes grow with it.
    pub broadcast: Duration,
}

impl Config {
    /// A node that takes no part.
    pub const OFF: Config = Config::new(0xFFFE, Role::Off, 0);

    /// The defaults.
    pub const fn new(short: u16, role: Role, seed: u64) -> Self {
        let (metric, quality) = (Metric::PathDr, Quality::CC2420);
        Config { short, role, seed, metric, quality, doubts: true, broadcast: Duration::ZERO }
    }

    /// Whether this node answers for a destination.
    pub(crate) fn answers_for(&self, destination: u16) -> bool {
        let is_outside = destination == OUTSIDE && self.role == Role::BorderRouter;
        destination == self.short || is_outside
    }
}

/// A memory plan.
pub trait Sizes {
    /// Destinations, those that cannot be reached any more included, and who has sought a way
    /// through this node.
    type Routes: Array<Option<Route>>;
    /// Floods that go on, of anybody.
    type Requests: Array<Option<Request>>;
    /// Destinations that this node seeks at a time.
    type Searches: Array<Option<Search>>;
    /// Neighbours whose frames are judged. If there are more, who was not heard for longest gives
    /// way.
    type Links: Array<Option<Link>>;
}
