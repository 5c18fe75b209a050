//! Storage of the routing protocols: one node type plays every role, and takes memory only for its
//! own.

use crate::memory::{Growing, Later};
use crate::tinyrpl::TinyRpl;
use kinglet::{Aoded, Meshed, aodv, mesh, rpl};

macro_rules! declare {
    ($(
        $(#[$about:meta])*
        $variant:ident $name:literal ($storage:ty) = $make:expr, $facts:expr, $text:literal;
    )+) => {
        kinglet::routing_choice! {
            /// Routing protocol of a simulated node.
            pub enum Learning {
                $($(#[$about])* $variant($storage),)+
            }
            type Waiting<H> = Later<Option<H>, WAITING>;
        }
    };
}

kinglet_scenario::protocols!(declare);

/// Packets of a node that can wait for a route discovery: as many as two connections have in flight
/// (buffers of "design criteria", II-C, are large enough to drop nothing).
const WAITING: usize = 16;

/// Routers of a mesh, including the border router: each has a route to all others, and a default
/// route.
pub const MESH_ROUTERS: usize = 1024;
/// Leaves of a mesh: each router has a route to all of them.
pub const MESH_LEAVES: usize = 1024;

/// Nodes of a network with RPL, excluding its root. In storing mode a router keeps routes to all
/// nodes of its sub-DODAG; otherwise the root keeps all.
pub const RPL_TARGETS: usize = 8192;

/// AODV routes of a node: to ends of flows, and to originators of route requests.
pub const AODV_ROUTES: usize = 256;

/// Tables of the protocols. They take memory on use ([`crate::memory`]).
#[derive(Clone, Copy, Debug)]
pub struct Tables;

impl mesh::Sizes for Tables {
    type Neighbours = Growing<mesh::Neighbour, 24>;
    type Routes = Growing<mesh::Route, MESH_ROUTERS>;
    type Leaves = Growing<mesh::Leaf, MESH_LEAVES>;
    type Data = [u8; mesh::MAX_DATA];
}

impl rpl::Sizes for Tables {
    type Objective = rpl::Standard;
    type Candidates = Growing<rpl::Candidate, 24>;
    type Routes = Growing<rpl::Route, RPL_TARGETS>;
}

impl aodv::Sizes for Tables {
    type Routes = Growing<aodv::Route, AODV_ROUTES>;
    type Requests = Growing<aodv::Request, 32>;
    type Searches = Growing<aodv::Search, 8>;
    type Links = Growing<aodv::Link, 24>;
}

impl Learning {
    /// State of the mesh, if the node uses it.
    pub fn mesh(&self) -> Option<&mesh::Mesh<Tables>> {
        match self {
            Learning::Mesh(mesh) => Some(mesh.mesh()),
            _ => None,
        }
    }

    /// State of RPL, if the node uses it.
    pub fn rpl(&self) -> Option<&rpl::Rpl<Tables>> {
        match self {
            Learning::Rpl(rpl) => Some(rpl.rpl()),
            _ => None,
        }
    }

    /// State of AODV, if the node uses it.
    pub fn aodv(&self) -> Option<&aodv::Aodv<Tables>> {
        match self {
            Learning::Aodv(aodv) => Some(aodv.aodv()),
            _ => None,
        }
    }
}
