//! What a node tells of its routing.

use core::net::Ipv6Addr;
use kinglet_time::Duration;
use kinglet_wire::Error;

/// Why a message was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// This field is malformed.
    Malformed(Error),
    /// Well-formed, but nothing that concerns a node of this role or in this mode.
    NotForRole,
    /// Of another RPL instance.
    OtherInstance,
    /// Of another DODAG, which is no better.
    OtherDodag,
    /// Of a Mode of Operation that is not known, or was not that of this DODAG.
    BadMode,
    /// A rank below that of a root.
    BadRank,
    /// From an address that no neighbour can have.
    BadSource,
    /// An older version of the DODAG.
    OldVersion,
    /// A version that comes too soon after others, or cannot be compared.
    DoubtfulVersion,
    /// The configuration of its DODAG is not known, and was asked for.
    NotConfigured,
    /// All neighbours in the table are nearer to the root.
    CandidatesFull,
    /// A DAO from the preferred parent: a loop.
    DaoFromParent,
    /// A target without Transit Information, or that is this node's, the root's or a group.
    BadTarget,
    /// There is no place for a target; the sender was told if it asked.
    RoutesFull,
    /// Nothing awaits this acknowledgement.
    NotAwaited,
    /// Too many answers wait to be sent.
    Busy,
}

impl Discard {
    /// Kinds of reasons.
    pub const KINDS: usize = 16;

    /// The index of its counter in [`Stats::discarded`].
    pub const fn index(&self) -> usize {
        match self {
            Discard::Malformed(_) => 0,
            Discard::NotForRole => 1,
            Discard::OtherInstance => 2,
            Discard::OtherDodag => 3,
            Discard::BadMode => 4,
            Discard::BadRank => 5,
            Discard::BadSource => 6,
            Discard::OldVersion => 7,
            Discard::DoubtfulVersion => 8,
            Discard::NotConfigured => 9,
            Discard::CandidatesFull => 10,
            Discard::DaoFromParent => 11,
            Discard::BadTarget => 12,
            Discard::RoutesFull => 13,
            Discard::NotAwaited => 14,
            Discard::Busy => 15,
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
    /// DIOs handed out.
    pub dios: u32,
    /// DISs handed out.
    pub diss: u32,
    /// DAOs handed out.
    pub daos: u32,
    /// DAO-ACKs handed out.
    pub dao_acks: u32,
    /// Times that the preferred parent became another, the first included.
    pub parent_changes: u32,
    /// Times that no parent was left and routes were poisoned.
    pub poisonings: u32,
    /// Times that a newer version of the DODAG was joined.
    pub repairs: u32,
    /// Times that Trickle began anew.
    pub resets: u32,
    /// Resets that others asked for more often than is allowed.
    pub resets_refused: u32,
    /// Packets that went the wrong way for their sender's rank.
    pub rank_errors: u32,
    /// Packets dropped for the second such error.
    pub loops: u32,
    /// Packets sent back because there was no way down, or that came back.
    pub forwarding_errors: u32,
    /// DAOs given up without an acknowledgement, or rejected.
    pub daos_failed: u32,
    /// Links of source routes that routers have said to be dead.
    pub broken_routes: u32,
}

impl Stats {
    pub(crate) const ZERO: Stats = Stats {
        received: 0,
        discarded: [0; Discard::KINDS],
        dios: 0,
        diss: 0,
        daos: 0,
        dao_acks: 0,
        parent_changes: 0,
        poisonings: 0,
        repairs: 0,
        resets: 0,
        resets_refused: 0,
        rank_errors: 0,
        loops: 0,
        forwarding_errors: 0,
        daos_failed: 0,
        broken_routes: 0,
    };
}

/// A snapshot for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The DODAG.
    pub dodag_id: Option<Ipv6Addr>,
    /// Its version.
    pub version: u8,
    /// Own rank; [`INFINITE_RANK`](crate::INFINITE_RANK) without a way to the root.
    pub rank: u16,
    /// The preferred parent's link-local address.
    pub parent: Option<Ipv6Addr>,
    /// Neighbours in the table.
    pub candidates: usize,
    /// Targets in the table, also lost ones that are still told.
    pub routes: usize,
    /// Trickle's current interval.
    pub interval: Option<Duration>,
}

/// A neighbour in the table of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateInfo {
    /// Its link-local address.
    pub address: Ipv6Addr,
    /// The rank that it advertised.
    pub rank: u16,
    /// Expected transmissions to it in units of 1/128.
    pub etx: u16,
}

pub(crate) const fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
