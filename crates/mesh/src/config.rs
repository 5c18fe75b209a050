//! What a node is in the mesh, and how large its tables are.

use crate::leaves::Leaf;
use crate::link::Neighbour;
use crate::route::Route;
use kinglet_mem::Array;
use kinglet_time::Duration;

/// What a node does in the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing: no messages, no routes.
    #[default]
    Off,
    /// Has a parent through which everything goes.
    Leaf,
    /// Always on; relays for others.
    Router,
    /// A router through which the way leads out of the mesh.
    BorderRouter,
}

/// What a [`Mesh`](crate::Mesh) is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Own short address, below 0xFFFE.
    pub short: u16,
    /// What this node does.
    pub role: Role,
    /// A leaf's only possible parent; `None` lets it choose. TCPlp §9 fixes first hops so.
    pub parent: Option<u16>,
    /// Whether a leaf's receiver is off between frames, so that its parent waits until it asks.
    pub sleeps: bool,
    /// Decides the random delays. Must differ from node to node.
    pub seed: u64,
    /// Noise floor in dBm; what a signal is stronger than that is its margin. OpenThread takes
    /// −100 where a radio does not report one.
    pub noise_floor_dbm: i8,
    /// How long a parent keeps a child of which it hears nothing; the same in the whole mesh, and
    /// longer than a leaf's base polling interval. OpenThread's default is 240 s.
    pub child_timeout: Duration,
}

impl Config {
    /// A node that takes no part.
    pub const OFF: Config = Config::new(0xFFFE, Role::Off, 0);

    /// The defaults.
    pub const fn new(short: u16, role: Role, seed: u64) -> Self {
        let child_timeout = Duration::from_secs(240);
        let (parent, sleeps, noise_floor_dbm) = (None, false, -100);
        Config { short, role, parent, sleeps, seed, noise_floor_dbm, child_timeout }
    }
}

/// A memory plan. A leaf needs no entries at all; without places for neighbours nobody routes.
pub trait Sizes {
    /// Routers in radio range. If there are more, the weakest that carry no route give way.
    type Neighbours: Array<Option<Neighbour>>;
    /// Other routers of the mesh, and one for the way out of it.
    type Routes: Array<Option<Route>>;
    /// Leaves of the mesh, the own children among them.
    type Leaves: Array<Option<Leaf>>;
}
