//! The routing protocols of scenarios: one list, with an entry for each. The crate that builds
//! networks makes the storage of its nodes from the same list.

/// Passes the list of protocols to another macro. An entry has the variant, the name in scenarios,
/// the storage of the protocol in a node of `kinglet-network`, the function of its
/// `build/routing.rs` that makes it, its [`Facts`], and its part of the key's description.
#[macro_export]
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
/// Properties of a protocol that a scenario depends on.
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
    };
}

protocols!(declare);

impl Routing {
    /// Returns whether it identifies nodes by short address, and routes to no other addresses.
    pub fn by_short(self) -> bool {
        self.facts().is_some_and(|facts| facts.by_short)
    }
}
