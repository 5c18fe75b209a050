//! Counters and snapshots of a node's routing.

use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Reason for which a message was discarded.
    pub enum Discard {
        /// This field is malformed.
        Malformed(Error),
        /// This node takes no part.
        Off,
        /// From an address that no neighbour can have, or from which no frame was received.
        BadSource,
        /// Its sender uses another metric.
        OtherMetric,
        /// A request of this node's own that came back, or a reply about this node without a newer
        /// number.
        Own,
        /// A copy of a request that was passed on already, or received over a route at least as
        /// good.
        Duplicate,
        /// The known sequence number is newer, or the known route is as new and at least as good.
        Stale,
        /// Its hop count has reached the maximum length of a route.
        TooFar,
        /// A request from a neighbour that replies do not reach.
        Blacklisted,
        /// This neighbour has sent too many requests.
        TooMany,
        /// A reply that no request awaits.
        NotAwaited,
        /// There is no reverse route to the originator of the request.
        NoWayBack,
        /// An error about routes of other next hops than its sender.
        NotOnWay,
        /// The routing table has no place for another route.
        RoutesFull,
        /// The table of floods or the queue of replies is full.
        Busy,
    }
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages accepted.
        received,
        /// Searches for a route.
        route_discoveries,
        /// Requests of this node's own.
        requests,
        /// Requests of other nodes that were passed on.
        relayed_requests,
        /// Replies as a destination.
        replies,
        /// Replies of other nodes that were passed on.
        relayed_replies,
        /// Errors sent.
        errors,
        /// Probes of neighbours.
        probes,
    }
    reasons {
        /// Searches that found no route.
        failed_discoveries,
        /// Searches refused because the table was full.
        refused_discoveries,
        /// Links that broke while routes used them.
        broken_links,
        /// Routes lost by a broken link or a received error.
        lost_routes,
        /// Packets received for forwarding without a route.
        no_route,
        /// Packets that came back: routing loops.
        loops,
    }
    discards Discard
}

/// A snapshot for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Own sequence number.
    pub sequence: u32,
    /// Destinations in the table, unreachable ones included.
    pub routes: usize,
    /// Floods in the table.
    pub requests: usize,
    /// Destinations that are searched for.
    pub searches: usize,
    /// Neighbours in the table.
    pub links: usize,
}

/// The route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// Short address of the destination; `None` for all destinations outside.
    pub destination: Option<u16>,
    /// Short address of the next hop.
    pub next_hop: u16,
    /// Hops.
    pub hops: u8,
    /// Its delivery ratio in units of 1/65535, from the quality of the links towards this node;
    /// `None` if only hops count.
    pub path_dr: Option<u16>,
    /// True if packets can use it; false if it was lost or has expired.
    pub is_valid: bool,
}

pub(crate) const fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
