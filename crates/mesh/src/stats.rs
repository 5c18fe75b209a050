//! Counters and snapshots of a mesh.

use crate::message::Field;
use kinglet_time::Duration;

kinglet_mem::reasons! {
    /// Reason why a message was discarded.
    pub enum Discard {
        /// This field is malformed.
        Malformed(Field),
        /// Well-formed, but irrelevant to a node of this role.
        NotForRole,
        /// From an address that no neighbour can have.
        BadSource,
        /// All neighbours in the table are received with more power or carry routes.
        NeighboursFull,
        /// Too many responses wait to be sent.
        Busy,
        /// Network data that do not fit into the node's memory plan.
        DataTooLong,
    }
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages accepted.
        received,
        /// Messages handed out.
        sent,
        /// Advertisements among the sent messages.
        advertisements,
        /// Changes so important that Trickle restarted.
        resets,
    }
    reasons {
        /// Links declared dead after transmission failures, and parents lost for the same reason.
        dead_links,
    }
    discards Discard
}

/// A snapshot for diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// A leaf's parent.
    pub parent: Option<u16>,
    /// Routers in radio range.
    pub neighbours: usize,
    /// Entries for destinations, including lost ones that are still advertised.
    pub routes: usize,
    /// Entries for leaves.
    pub leaves: usize,
    /// Trickle's current interval; of a router only.
    pub interval: Duration,
}

/// A router in radio range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourInfo {
    /// Its short address.
    pub short: u16,
    /// Average received power in dBm.
    pub rssi_dbm: i16,
    /// Quality at which this node receives it, 0 to 3.
    pub quality_in: u8,
    /// Quality at which it receives this node, 0 to 3.
    pub quality_out: u8,
    /// Cost of the link, 1 to 16 (no link).
    pub cost: u8,
}

/// The route to a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// Short address of the router; `None` for the route out of the mesh.
    pub destination: Option<u16>,
    /// Next hop.
    pub next_hop: u16,
    /// Cost, 1 to 16 (unreachable).
    pub cost: u8,
}

pub(crate) const fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
