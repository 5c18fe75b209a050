//! The state of a node's attachment to its network, for applications and status displays.

use crate::node::Node;
use crate::polling::FAILURES;
use crate::profile::Profile;
use core::net::Ipv6Addr;

/// State of a node's attachment to its network ([`Node::attachment`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// The node has link-local addresses only: none was added, and none was learnt.
    NoAddress,
    /// The node has no default route: it knows no parent, router or root.
    NoRoute,
    /// The parent did not acknowledge several data requests in a row: it may be gone.
    ParentSilent,
    /// The node has a route to other networks.
    Attached,
}

/// An address of another network: the first global unicast address (RFC 4291 §2.4).
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1);

impl<P: Profile> Node<P> {
    /// Returns the state of the attachment, and what is missing if there is none. A node of a
    /// network without a way out has [`Attachment::NoRoute`], although it reaches its neighbours.
    pub fn attachment(&self) -> Attachment {
        if self.net().source_for(OUTSIDE).is_none() {
            Attachment::NoAddress
        } else if !self.net().has_route(OUTSIDE) {
            Attachment::NoRoute
        } else if self.failed_data_requests() >= FAILURES {
            Attachment::ParentSilent
        } else {
            Attachment::Attached
        }
    }
}
