//! What a node tells of its routing.

use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Why a message was discarded.
    pub enum Discard {
        /// This field is malformed.
        Malformed(Error),
        /// This node takes no part.
        Off,
        /// From an address that no neighbour can have.
        BadSource,
        /// It measures ways by another metric.
        OtherMetric,
        /// A request of this node's own that came back.
        Own,
        /// A request that was heard before, on a way as good.
        Duplicate,
        /// What is known is newer.
        Stale,
        /// It has come farther than ways are long.
        TooFar,
        /// A request from a neighbour whom replies do not reach.
        Blacklisted,
        /// This neighbour has brought too many requests.
        TooMany,
        /// A reply to what nobody has asked for.
        NotAwaited,
        /// There is no way back to whoever has asked.
        NoWayBack,
        /// An error about ways that do not lead through its sender.
        NotOnWay,
        /// There is no place for another way.
        RoutesFull,
        /// Too many requests or replies wait.
        Busy,
    }
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages taken.
        received,
        /// Times that a way was sought.
        searches,
        /// Requests of this node's own.
        requests,
        /// Requests of others that were passed on.
        relayed_requests,
        /// Replies as a destination.
        replies,
        /// Replies of others that were passed on.
        relayed_replies,
        /// Errors handed out.
        errors,
        /// Neighbours asked whether they are still there.
        probes,
    }
    reasons {
        /// Those of them that found none.
        failed_searches,
        /// Searches that found no place to begin.
        refused_searches,
        /// Links that broke while ways led over them.
        broken_links,
        /// Ways that were lost so, or by what others said.
        lost_routes,
        /// Packets for which there was no way to go on.
        strays,
        /// Packets that came back.
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
    /// Floods that are remembered.
    pub requests: usize,
    /// Destinations that are sought.
    pub searches: usize,
    /// Neighbours in the table.
    pub links: usize,
}

/// The way to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// Short address of the destination; `None` for what lies outside.
    pub destination: Option<u16>,
    /// Who is next.
    pub next_hop: u16,
    /// Hops.
    pub hops: u8,
    /// Its delivery ratio in units of 1/65535, as the links towards this node tell; `None` if only
    /// hops count.
    pub path_dr: Option<u16>,
    /// Whether it leads there, or did once.
    pub is_valid: bool,
}

pub(crate) const fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
