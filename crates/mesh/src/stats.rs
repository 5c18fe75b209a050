//! What a mesh tells of itself.

use crate::message::Field;
use kinglet_time::Duration;

kinglet_mem::reasons! {
    /// Why a message was discarded.
    pub enum Discard {
        /// This field is malformed.
        Malformed(Field),
        /// Well-formed, but nothing that concerns a node of this role.
        NotForRole,
        /// From an address that no neighbour can have.
        BadSource,
        /// All neighbours in the table are heard better or carry routes.
        NeighboursFull,
        /// Too many answers wait to be sent.
        Busy,
    }
}

kinglet_mem::counters! {
    /// Counters; they stop at their maximum.
    pub struct Stats {
        /// Messages taken.
        received,
        /// Messages handed out.
        sent,
        /// Those of them that were advertisements.
        advertisements,
        /// Times that a change was so important that Trickle began anew.
        resets,
    }
    reasons {
        /// Links that died of frames given up, and parents lost so.
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
    /// Entries for destinations, also of lost ones that are still told.
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
    /// How well it is heard, 0 to 3.
    pub quality_in: u8,
    /// How well it hears this node, 0 to 3.
    pub quality_out: u8,
    /// Cost of the link, 1 to 16 (none).
    pub cost: u8,
}

/// The way to a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteInfo {
    /// Short address of the router; `None` for the way out of the mesh.
    pub destination: Option<u16>,
    /// Who is next.
    pub next_hop: u16,
    /// Cost, 1 to 16 (unreachable).
    pub cost: u8,
}

pub(crate) const fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
