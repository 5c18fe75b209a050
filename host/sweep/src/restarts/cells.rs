//! The axes of the restart matrix.

use kinglet::time::Duration;
use kinglet_scenario::{LinkAddresses, NodeId};
use std::collections::BTreeSet;

/// Seconds between two data requests of the leaf.
pub(super) const POLL_S: u64 = 2;

/// The node that restarts, by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Border router; with RPL the root.
    Border,
    /// The first router after it.
    Relay,
    /// The last router, which is the parent of the leaf.
    Parent,
    /// The sleeping leaf.
    Leaf,
}

/// The directions of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// No datagrams until a quarter of a minute after the node is back.
    None,
    /// From all nodes to the border router.
    Up,
    /// From the border router to all nodes.
    Down,
    /// Both directions.
    Both,
}

/// Routing protocol of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// RPL with tables in the routers.
    Storing,
    /// RPL with source routes.
    NonStoring,
    /// The mesh.
    Mesh,
    /// AODV.
    Aodv,
    /// Static routes, with neighbour discovery.
    Static,
}

/// Setting that a node announces differently after its restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// No setting.
    Nothing,
    /// The mode of RPL.
    Mode,
    /// The objective function of RPL, with its step of a hop.
    Objective,
    /// Compression of packets in the DODAG by RFC 8138.
    Compression,
    /// The prefix, and with it the DODAGID.
    Prefix,
}

/// One restart in one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The node that restarts.
    pub part: Part,
    /// Time for which it is off.
    pub off: Duration,
    /// The directions of datagrams.
    pub traffic: Traffic,
    /// Routing protocol.
    pub routing: Routing,
    /// Relays are duty-cycled, except for the border router; then there is no leaf.
    pub asleep: bool,
    /// One of ten frames is lost.
    pub lossy: bool,
    /// Link-layer addresses of all nodes.
    pub addresses: LinkAddresses,
    /// Setting that differs afterwards.
    pub changed: Changed,
}

impl Cell {
    /// Returns the number of the node that restarts.
    pub const fn node(&self) -> NodeId {
        match self.part {
            Part::Border => 0,
            Part::Relay => 1,
            Part::Parent => 3,
            Part::Leaf => 4,
        }
    }

    /// Returns whether there is a leaf: duty-cycled relays have none, with AODV there are no
    /// leaves, and a leaf needs a short address.
    pub const fn has_leaf(&self) -> bool {
        let short = matches!(self.addresses, LinkAddresses::Short);
        short && !self.asleep && !matches!(self.routing, Routing::Aodv)
    }

    /// Returns the longest time between two datagrams of a pair that communicates despite losses:
    /// five periods, and the sleep interval of a leaf.
    pub(super) fn window(&self) -> Duration {
        self.period() * 5 + Duration::from_secs(2 * POLL_S)
    }

    /// Returns the time between two datagrams of a pair.
    pub(super) const fn period(&self) -> Duration {
        Duration::from_secs(if self.has_leaf() { POLL_S } else { 1 })
    }

    /// Returns the seconds within which all pairs are to communicate again.
    pub const fn limit_s(&self) -> f64 {
        let leaf = if self.has_leaf() { 2.0 * POLL_S as f64 } else { 0.0 };
        30.0 + leaf
    }

    /// Returns all meaningful cells.
    pub fn all() -> impl Iterator<Item = Cell> {
        use {Changed as C, Part as P, Routing as R, Traffic as T};
        let parts = [P::Border, P::Relay, P::Parent, P::Leaf];
        let routings = [R::Storing, R::NonStoring, R::Mesh, R::Aodv, R::Static];
        let changes = [C::Nothing, C::Mode, C::Objective, C::Compression, C::Prefix];
        let radios = [(false, false), (true, false), (false, true), (true, true)];
        let links = [LinkAddresses::Short, LinkAddresses::Extended];
        let radios = links.into_iter().flat_map(|link| radios.map(|radio| (radio, link)));
        let radios: Vec<_> = radios.collect();
        let mut cells = Vec::new();
        for part in parts {
            for off_s in [0, 5, 120] {
                for traffic in [T::None, T::Up, T::Down, T::Both] {
                    for routing in routings {
                        for &((asleep, lossy), addresses) in &radios {
                            for changed in changes {
                                let off = Duration::from_secs(off_s);
                                cells.push(Cell {
                                    part,
                                    off,
                                    traffic,
                                    routing,
                                    asleep,
                                    lossy,
                                    addresses,
                                    changed,
                                });
                            }
                        }
                    }
                }
            }
        }
        cells.into_iter().filter(Cell::is_possible)
    }

    /// Returns the values of the axes, as text.
    pub(super) fn values(&self) -> [String; 8] {
        let Cell { part, off, traffic, routing, asleep, lossy, addresses, changed } = self;
        [
            format!("{part:?}"),
            format!("{off:?}"),
            format!("{traffic:?}"),
            format!("{routing:?}"),
            format!("{asleep}"),
            format!("{lossy}"),
            format!("{addresses:?}"),
            format!("{changed:?}"),
        ]
    }

    /// Returns a few of [`Cell::all`] that together have each possible pair of values of two axes.
    pub fn pairwise() -> Vec<Cell> {
        let all: Vec<Cell> = Cell::all().collect();
        let pairs: Vec<BTreeSet<_>> = all.iter().map(Cell::pairs).collect();
        let mut missing: BTreeSet<_> = pairs.iter().flatten().cloned().collect();
        let mut few = Vec::new();
        while !missing.is_empty() {
            let gain = |at: &usize| pairs[*at].intersection(&missing).count();
            let Some(best) = (0..all.len()).max_by_key(gain) else { break };
            missing = missing.difference(&pairs[best]).cloned().collect();
            few.push(all[best]);
        }
        few
    }

    /// Returns each pair of its values, with the numbers of their axes.
    fn pairs(&self) -> BTreeSet<(usize, String, usize, String)> {
        let values = self.values();
        let after = |one: usize| (one + 1..values.len()).map(move |other| (one, other));
        let pairs = (0..values.len()).flat_map(after);
        pairs.map(|(a, b)| (a, values[a].clone(), b, values[b].clone())).collect()
    }

    /// Returns whether the cell is possible: only a root announces a configuration, the leaf
    /// restarts only where there is one, and mesh and AODV need short addresses.
    fn is_possible(&self) -> bool {
        let rpl = matches!(self.routing, Routing::Storing | Routing::NonStoring);
        let announces = self.part == Part::Border && rpl;
        let has_short = self.addresses == LinkAddresses::Short;
        (self.changed == Changed::Nothing || announces)
            && (has_short || !matches!(self.routing, Routing::Mesh | Routing::Aodv))
            && (self.part != Part::Leaf || self.has_leaf())
    }
}
