//! Targets and their routes (RFC 6550, 9): one table, whose meaning depends on the mode.

mod announce;
mod source_route;
mod targets;

pub(crate) use announce::{Announce, Missed, Urgency};
pub(crate) use source_route::compute;
pub(crate) use targets::{Outcome, Targets};

use crate::lollipop::Counter;
use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::rpl::Target;

/// State of a target's announcement to the parent, in storing mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advertised {
    /// Not announced, or changed since.
    No,
    /// A DAO with it is in flight.
    InFlight,
    /// The parent has the current state.
    Yes,
}

/// The route to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) target: Target,
    /// Storing mode, and leaves that do not know RPL: link-local address of the next hop.
    /// Non-storing mode: the routable address of the target's parent.
    pub(crate) via: Ipv6Addr,
    pub(crate) sequence: Counter,
    /// Path Lifetime as announced, in units; 0: lost, and kept until the parent is notified. A lost
    /// route that has an expiry is used until then.
    pub(crate) lifetime: u8,
    /// True if the target does not know RPL: the E flag.
    pub(crate) external: bool,
    /// True if it is a leaf of this node.
    pub(crate) local: bool,
    /// Another child that has announced it with the same sequence, and has not withdrawn it.
    pub(crate) other: Option<Ipv6Addr>,
    /// Time of expiry; `None`: never.
    pub(crate) expires: Option<Instant>,
    pub(crate) advertised: Advertised,
}

impl Route {
    /// Returns the destination.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Storing mode, and leaves that do not know RPL: returns the link-local address of the next
    /// hop. Non-storing mode: returns the address of the target's parent.
    pub const fn via(&self) -> Ipv6Addr {
        self.via
    }

    /// Returns whether the target does not know RPL.
    pub const fn is_external(&self) -> bool {
        self.external
    }

    /// Returns whether it may be announced to other nodes.
    pub(crate) const fn is_usable(&self) -> bool {
        self.lifetime > 0
    }

    /// Returns whether the next hop has another parent now, and still forwards packets that arrive.
    pub(crate) const fn is_left(&self) -> bool {
        self.lifetime == 0 && self.expires.is_some()
    }

    /// Returns whether packets use the route.
    pub(crate) const fn leads(&self) -> bool {
        self.lifetime > 0 || self.is_left()
    }

    /// Switches to the other child that has announced it. Returns whether there was one.
    pub(crate) fn switch_next_hop(&mut self) -> bool {
        let Some(other) = self.other.take() else { return false };
        self.via = other;
        true
    }

    fn covers(&self, address: Ipv6Addr) -> bool {
        covers(&self.target, address)
    }
}

/// Returns whether the address begins with the prefix.
pub(crate) fn covers(target: &Target, address: Ipv6Addr) -> bool {
    let differ = target.prefix.to_bits() ^ address.to_bits();
    differ.leading_zeros() >= u32::from(target.prefix_len)
}

/// Returns whether the target is an address of the node whose link-local address is `neighbour`,
/// according to its interface identifier.
pub(crate) fn is_of(target: &Target, neighbour: Ipv6Addr) -> bool {
    target.prefix_len == 128 && target.prefix.to_bits() as u64 == neighbour.to_bits() as u64
}
