//! Changes that the node must process.

use core::net::Ipv6Addr;
use kinglet_wire::rpl::PrefixInformation;

/// A change that the node must process at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The preferred parent has changed: its link-local address, or none.
    Parent(Option<Ipv6Addr>),
    /// The DODAG has this prefix, from which addresses are formed if it is autonomous; `None`: its
    /// former prefix is no longer valid.
    Prefix(Option<PrefixInformation>),
}
