//! What a node tells of its routing.

use core::net::Ipv6Addr;
use kinglet_time::Duration;
use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Why a message was discarded.
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
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages taken.
        received,
        /// DIOs handed out.
        dios,
        /// DISs handed out.
        diss,
        /// DAOs handed out.
        daos,
        /// DAO-ACKs handed out.
        dao_acks,
        /// Times that the preferred parent became another, the first included.
        parent_changes,
        /// Times that a newer version of the DODAG was joined.
        repairs,
        /// Times that Trickle began anew.
        resets,
    }
    reasons {
        /// Times that no parent was left and routes were poisoned.
        poisonings,
        /// Resets that others asked for more often than is allowed.
        resets_refused,
        /// Packets that went the wrong way for their sender's rank.
        rank_errors,
        /// Packets dropped for the second such error.
        loops,
        /// Packets sent back because there was no way down, or that came back.
        forwarding_errors,
        /// DAOs given up without an acknowledgement, or rejected.
        daos_failed,
        /// Links of source routes that routers have said to be dead.
        broken_routes,
    }
    discards Discard
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
