//! Who learns the link addresses of neighbours, chosen by the profile
//! ([`net::Sizes::Discovery`]): its messages travel as ICMPv6 between neighbours, it hears how
//! frames fared, and says when packets need no longer wait.
//!
//! `()` believes what addresses tell, and costs nothing; [`Discovered`](crate::Discovered) is the
//! discovery of RFC 4861.

use kinglet_nd::{Configured, Routed};
use kinglet_net as net;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

use crate::routing::{Each, EachRelation, MAX_ICMPV6};
use core::net::Ipv6Addr;

/// What has been found out about a neighbour for whom packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Who it is.
    pub neighbour: Ipv6Addr,
    /// Whether its link address is known now; if not, it does not answer.
    pub found: bool,
}

/// Neighbour discovery among the layers of a node.
pub trait Discovery: net::Discovery {
    /// Whether it takes part at all.
    fn is_on(&self) -> bool;

    /// This node was given an address.
    fn add_address(&mut self, address: Ipv6Addr);

    /// Routing has chosen this neighbour as the parent, or nobody.
    fn prefer(&mut self, now: Instant, parent: Option<Address>);

    /// Calls `each` with every reason for which it discarded, refused or lost something.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of this node that it keeps.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    /// Whether the receiver of one that sleeps must be on, because an answer may come at any time.
    fn listens(&self) -> bool;

    /// An ICMPv6 message of one of the types in [`net::Discovery::ICMPV6`] came by radio.
    fn handle_icmpv6(&mut self, now: Instant, message: net::Icmpv6In<'_>, own: net::Own<'_>);

    /// Writes the next message to `buf`, from the type on; its checksum is filled in.
    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<net::Icmpv6Out>;

    /// This node has joined a multicast group.
    fn handle_join(&mut self);

    /// Writes a report of the multicast groups that this node is in, if it is time for one.
    fn poll_report(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<net::Icmpv6Out>;

    /// A frame to this link address was acknowledged, or not.
    fn handle_sent(&mut self, now: Instant, to: Address, acked: bool);

    /// What has been found out, one neighbour at a time.
    fn poll_resolved(&mut self) -> Option<Resolved>;

    /// What routers have made of this node, one thing at a time.
    fn poll_configured(&mut self, now: Instant) -> Option<Configured>;

    /// What routing is to be told of hosts that are registered here, one at a time.
    fn poll_routed(&mut self, now: Instant) -> Option<Routed>;

    /// When [`Discovery::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due.
    fn handle_deadline(&mut self, now: Instant);
}

impl Discovery for () {
    fn is_on(&self) -> bool {
        false
    }

    fn add_address(&mut self, _: Ipv6Addr) {}

    fn prefer(&mut self, _: Instant, _: Option<Address>) {}

    fn listens(&self) -> bool {
        false
    }

    fn handle_icmpv6(&mut self, _: Instant, _: net::Icmpv6In<'_>, _: net::Own<'_>) {}

    fn poll_icmpv6(&mut self, _: Instant, _: &mut [u8; MAX_ICMPV6]) -> Option<net::Icmpv6Out> {
        None
    }

    fn handle_join(&mut self) {}

    fn poll_report(
        &mut self,
        _: Instant,
        _: &mut dyn Iterator<Item = Ipv6Addr>,
        _: &mut [u8; MAX_ICMPV6],
    ) -> Option<net::Icmpv6Out> {
        None
    }

    fn handle_sent(&mut self, _: Instant, _: Address, _: bool) {}

    fn poll_resolved(&mut self) -> Option<Resolved> {
        None
    }

    fn poll_configured(&mut self, _: Instant) -> Option<Configured> {
        None
    }

    fn poll_routed(&mut self, _: Instant) -> Option<Routed> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant) {}
}
