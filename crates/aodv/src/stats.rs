//! What a node tells of its routing.

use kinglet_wire::Error;

/// Why a message was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Discard {
    /// Kinds of reasons.
    pub const KINDS: usize = 15;

    /// The index of its counter in [`Stats::discarded`].
    pub const fn index(&self) -> usize {
        match self {
            Discard::Malformed(_) => 0,
            Discard::Off => 1,
            Discard::BadSource => 2,
            Discard::OtherMetric => 3,
            Discard::Own => 4,
            Discard::Duplicate => 5,
            Discard::Stale => 6,
            Discard::TooFar => 7,
            Discard::Blacklisted => 8,
            Discard::TooMany => 9,
            Discard::NotAwaited => 10,
            Discard::NoWayBack => 11,
            Discard::NotOnWay => 12,
            Discard::RoutesFull => 13,
            Discard::Busy => 14,
        }
    }
}

/// Counters; they stop at their maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Messages taken.
    pub received: u32,
    /// Messages discarded, by [`Discard::index`].
    pub discarded: [u32; Discard::KINDS],
    /// Times that a way was sought.
    pub searches: u32,
    /// Those of them that found none.
    pub failed_searches: u32,
    /// Searches that found no place to begin.
    pub refused_searches: u32,
    /// Requests of this node's own.
    pub requests: u32,
    /// Requests of others that were passed on.
    pub relayed_requests: u32,
    /// Replies as a destination.
    pub replies: u32,
    /// Replies of others that were passed on.
    pub relayed_replies: u32,
    /// Errors handed out.
    pub errors: u32,
    /// Neighbours asked whether they are still there.
    pub probes: u32,
    /// Links that broke while ways led over them.
    pub broken_links: u32,
    /// Ways that were lost so, or by what others said.
    pub lost_routes: u32,
    /// Packets for which there was no way to go on.
    pub strays: u32,
    /// Packets that came back.
    pub loops: u32,
}

impl Stats {
    pub(crate) const ZERO: Stats = Stats {
        received: 0,
        discarded: [0; Discard::KINDS],
        searches: 0,
        failed_searches: 0,
        refused_searches: 0,
        requests: 0,
        relayed_requests: 0,
        replies: 0,
        relayed_replies: 0,
        errors: 0,
        probes: 0,
        broken_links: 0,
        lost_routes: 0,
        strays: 0,
        loops: 0,
    };
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
