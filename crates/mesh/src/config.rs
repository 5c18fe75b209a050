//! Role of a node in the mesh, and sizes of its tables.

use crate::leaves::Leaf;
use crate::link::Neighbour;
use crate::route::Route;
use kinglet_mem::Array;
use kinglet_time::Duration;

/// Role of a node in the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Takes no part: no messages, no routes.
    #[default]
    Off,
    /// Has a parent that carries all its traffic.
    Leaf,
    /// Always on; forwards packets of other nodes.
    Router,
    /// A router with a route out of the mesh.
    BorderRouter,
}

/// Configuration of a [`Mesh`](crate::Mesh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshConfig {
    /// Own short address, below 0xFFFE.
    pub short: u16,
    /// Role of this node.
    pub role: Role,
    /// A leaf's only possible parent, as TCPlp §9 fixes first hops; `None` lets it choose.
    pub parent: Option<u16>,
    /// True if a leaf's receiver is off between frames: its parent then holds frames until it
    /// polls.
    pub sleeps: bool,
    /// Seed of the random delays. Must differ from node to node.
    pub seed: u64,
    /// Noise floor in dBm; a signal's margin is its power above this. OpenThread uses −100 if a
    /// radio does not report one.
    pub noise_floor_dbm: i8,
    /// Time for which a parent keeps a child from which it receives nothing; the same in the whole
    /// mesh, and longer than a leaf's base polling interval. OpenThread's default is 240 s.
    pub child_timeout: Duration,
    /// True if the node needs the network data of a border router. A leaf then repeats its report
    /// to a parent that has none yet: after 4 s, then after twice as long each time.
    pub awaits_data: bool,
}

impl MeshConfig {
    /// A node that takes no part in the mesh.
    pub const OFF: MeshConfig = MeshConfig::new(0xFFFE, Role::Off, 0);

    /// Returns the defaults.
    pub const fn new(short: u16, role: Role, seed: u64) -> Self {
        let child_timeout = Duration::from_secs(240);
        let (parent, sleeps, noise_floor_dbm, awaits_data) = (None, false, -100, false);
        MeshConfig {
            short,
            role,
            parent,
            sleeps,
            seed,
            noise_floor_dbm,
            child_timeout,
            awaits_data,
        }
    }
}

/// A memory plan. A leaf needs no entries; a node without neighbour entries does not route.
pub trait Sizes {
    /// Routers in radio range. A full table evicts the weakest neighbour that carries no route.
    type Neighbours: Array<Option<Neighbour>>;
    /// Other routers of the mesh, and one entry for the route out of it.
    type Routes: Array<Option<Route>>;
    /// Leaves of the mesh, including the node's own children.
    type Leaves: Array<Option<Leaf>>;
    /// Octets of the network data, at most [`MAX_DATA`](crate::MAX_DATA). A node without room takes
    /// no part in their distribution: then all nodes have their addresses and contexts otherwise.
    type Data: Array<u8>;
}
