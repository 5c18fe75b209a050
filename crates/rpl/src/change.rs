//! What a node is told.

use core::net::Ipv6Addr;
use kinglet_wire::rpl::PrefixInformation;

/// What the node has to know at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The preferred parent is another, by its link-local address, or there is none.
    Parent(Option<Ipv6Addr>),
    /// The DODAG has this prefix, of which addresses are made if it is autonomous; `None`: the one
    /// that it had is not valid any more.
    Prefix(Option<PrefixInformation>),
}
