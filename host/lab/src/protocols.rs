//! The routing protocols of the lab: one list, with an entry for each. One node type plays every
//! role, and takes memory only for its own.

use crate::memory::{Growing, Later};
use crate::tinyrpl::TinyRpl;
use kinglet::{Aoded, Meshed, aodv, mesh, rpl};

/// Passes the list of protocols to another macro. An entry has the variant, the name in scenarios,
/// the storage of the protocol in a node, the function of `build/routing.rs` that makes it, its
/// [`Facts`], and its part of the key's description.
macro_rules! protocols {
    ($callback:ident) => {
        $callback! {
            /// Mesh routing, by the messages between the nodes.
            Mesh "mesh" (Box<Meshed<Tables>>) = mesh,
            Facts { label: "the mesh", by_short: true, no_leaves: None, keeps_relations: true },
            "a mesh of up to 1024 routers and 1024 leaves, whose routers exchange link qualities, \
with route costs up to 15, and whose leaves search for a parent unless `parent` names \
one";

            /// RPL (RFC 6550).
            Rpl "rpl" (TinyRpl<Tables>) = rpl,
            Facts { label: "RPL", by_short: false, no_leaves: None, keeps_relations: true },
            "RPL with MRHOF for up to 1024 routers, whose root is the border router, or node 0 if \
there is none";

            /// nst-AODV (RFC 3561), which discovers routes when packets need them.
            Aodv "aodv" (Box<Aoded<Tables>>) = aodv,
            Facts {
                label: "AODV",
                by_short: true,
                no_leaves: Some("they would miss route requests"),
                keeps_relations: false,
            },
            "nst-AODV with route discovery on demand, up to 16 hops and no leaves";
        }
    };
}
pub(crate) use protocols;

/// Properties of a protocol that the lab depends on.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Name in error messages.
    pub label: &'static str,
    /// True if it identifies nodes by short address: it then routes to no other addresses.
    pub by_short: bool,
    /// Reason why it has no leaves.
    pub no_leaves: Option<&'static str>,
    /// True if nodes keep relations to others, such as a parent.
    pub keeps_relations: bool,
}

macro_rules! declare {
    ($(
        $(#[$about:meta])*
        $variant:ident $name:literal ($storage:ty) = $make:expr, $facts:expr, $text:literal;
    )+) => {
        /// Source of routes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Routing {
            /// Static routes, computed from the links.
            Static,
            $($(#[$about])* $variant,)+
        }

        impl Routing {
            /// All of them.
            pub const ALL: &'static [Routing] = &[Routing::Static, $(Routing::$variant),+];
            /// Their names in scenarios, in the same order.
            pub const NAMES: &'static [&'static str] = &["static", $($name),+];
            /// Description of all of them, in the same order.
            pub const TEXT: &'static str =
                concat!("shortest paths, computed before the run" $(, "; ", $text)+);

            /// Returns the properties of the protocol; `None` with static routes.
            pub const fn facts(self) -> Option<Facts> {
                match self {
                    Routing::Static => None,
                    $(Routing::$variant => Some($facts),)+
                }
            }
        }

        kinglet::routing_choice! {
            /// Routing protocol of a simulated node.
            pub enum Learning {
                $($(#[$about])* $variant($storage),)+
            }
            type Waiting<H> = Later<Option<H>, WAITING>;
        }
    };
}

protocols!(declare);

impl Routing {
    /// Returns whether it identifies nodes by short address, and routes to no other addresses.
    pub fn by_short(self) -> bool {
        self.facts().is_some_and(|facts| facts.by_short)
    }
}

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
