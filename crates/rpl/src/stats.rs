//! Counters and snapshots for diagnosis.

use core::net::Ipv6Addr;
use kinglet_time::Duration;
use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Reason for which a message was discarded.
    pub enum Discard {
        /// Malformed field.
        Malformed(Error),
        /// Well-formed, but not for a node of this role or in this mode.
        NotForRole,
        /// Another RPL instance.
        OtherInstance,
        /// Another DODAG, which is not better.
        OtherDodag,
        /// A Mode of Operation that is unknown, or not that of this DODAG.
        BadMode,
        /// A rank below that of a root.
        BadRank,
        /// A source address that no neighbour can have.
        BadSource,
        /// An older version of the DODAG.
        OldVersion,
        /// A version that follows others too soon, or cannot be compared.
        DoubtfulVersion,
        /// The configuration of its DODAG is unknown, and was requested.
        NotConfigured,
        /// All neighbours in the table are nearer to the root.
        CandidatesFull,
        /// A DAO from the preferred parent: a loop.
        DaoFromParent,
        /// A target without Transit Information, or that is this node, the root or a group.
        BadTarget,
        /// The table has no place for a target. The sender was notified if it requested that.
        RoutesFull,
        /// No DAO awaits this acknowledgement.
        NotAwaited,
        /// Too many replies wait to be sent.
        Busy,
    }
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages accepted.
        received,
        /// DIOs sent.
        dios,
        /// DISs sent.
        diss,
        /// DAOs sent.
        daos,
        /// DAO-ACKs sent.
        dao_acks,
        /// Changes of the preferred parent, the first one included.
        parent_changes,
        /// Moves to a newer version of the DODAG.
        repairs,
        /// Resets of Trickle.
        resets,
    }
    reasons {
        /// Losses of the last parent, with poisoning of routes.
        poisonings,
        /// Requests for resets beyond the rate limit.
        resets_refused,
        /// Packets whose direction contradicted the sender's rank.
        rank_errors,
        /// Packets dropped for the second such error.
        loops,
        /// Packets sent back because there was no downward route, or that came back.
        forwarding_errors,
        /// DAOs given up without an acknowledgement, or rejected.
        daos_failed,
        /// Links of source routes that routers have reported as broken.
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
    /// This node's DTSN.
    pub dtsn: u8,
    /// Own rank; [`INFINITE_RANK`](crate::INFINITE_RANK) without a route to the root.
    pub rank: u16,
    /// The preferred parent's link-local address.
    pub parent: Option<Ipv6Addr>,
    /// Neighbours in the table.
    pub candidates: usize,
    /// Targets in the table, including lost ones that are still to be announced.
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
