//! Targets and the ways to them (RFC 6550, 9): one table, whose meaning depends on the mode.

mod announce;
mod source_route;
mod targets;

pub(crate) use announce::{Announce, Missed, News};
pub(crate) use source_route::compute;
pub(crate) use targets::{Outcome, Targets};

use crate::lollipop::Counter;
use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::rpl::Target;

/// What the parent knows of a target, in storing mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing, or something else.
    Not,
    /// A DAO with it is on its way.
    Sent,
    /// What is known here.
    Yes,
}

/// The way to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub(crate) target: Target,
    /// Storing mode, and leaves that know no RPL: the neighbour that is next, link-local.
    /// Non-storing mode: the routable address of the target's parent.
    pub(crate) via: Ipv6Addr,
    pub(crate) sequence: Counter,
    /// As it was told, in units; 0: lost, and kept until the parent has been told. If that expires,
    /// it leads there until then.
    pub(crate) lifetime: u8,
    /// Not RPL's: the E flag.
    pub(crate) external: bool,
    /// A leaf of this node.
    pub(crate) local: bool,
    /// Another child has told it with the same sequence, and has not taken it back.
    pub(crate) other: Option<Ipv6Addr>,
    /// `None`: never.
    pub(crate) expires: Option<Instant>,
    pub(crate) told: Told,
}

impl Route {
    /// Where to.
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Storing mode, and leaves that know no RPL: the link-local address of the neighbour that is
    /// next. Else the address of the target's parent.
    pub const fn via(&self) -> Ipv6Addr {
        self.via
    }

    /// Whether the target knows no RPL.
    pub const fn is_external(&self) -> bool {
        self.external
    }

    /// Whether others may be told of it.
    pub(crate) const fn is_usable(&self) -> bool {
        self.lifetime > 0
    }

    /// Whether the neighbour that is next has left, and passes on what still comes this way.
    pub(crate) const fn is_left(&self) -> bool {
        self.lifetime == 0 && self.expires.is_some()
    }

    /// Whether packets go this way.
    pub(crate) const fn leads(&self) -> bool {
        self.lifetime > 0 || self.is_left()
    }

    /// Goes through the other child that has told it, if one has. Whether one has.
    pub(crate) fn turn(&mut self) -> bool {
        let Some(other) = self.other.take() else { return false };
        self.via = other;
        true
    }

    fn covers(&self, address: Ipv6Addr) -> bool {
        covers(&self.target, address)
    }
}

/// Whether the address begins with the prefix.
pub(crate) fn covers(target: &Target, address: Ipv6Addr) -> bool {
    let differ = target.prefix.to_bits() ^ address.to_bits();
    differ.leading_zeros() >= u32::from(target.prefix_len)
}

/// Whether the target is an address of the node whose link-local address is `neighbour`, as its
/// identifier says.
pub(crate) fn is_of(target: &Target, neighbour: Ipv6Addr) -> bool {
    target.prefix_len == 128 && target.prefix.to_bits() as u64 == neighbour.to_bits() as u64
}
