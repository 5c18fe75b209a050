//! The discovery of neighbours' link addresses, chosen by the profile ([`net::Sizes::Discovery`]).
//! Its messages travel as ICMPv6 between neighbours. It is notified of acknowledged and lost
//! frames, and reports when packets need no longer wait.
//!
//! `()` derives link addresses from IPv6 addresses, and costs nothing;
//! [`Discovered`](crate::Discovered) is the discovery of RFC 4861.

use kinglet_nd::Configured;
use kinglet_net as net;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

use core::net::Ipv6Addr;
use kinglet_routing::{Each, EachRelation, Icmpv6In, Icmpv6Out, MAX_ICMPV6, RegisteredHost};

/// Result of the resolution of a neighbour for which packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// IPv6 address of the neighbour.
    pub neighbour: Ipv6Addr,
    /// True if its link address is known now; false if it does not answer.
    pub found: bool,
}

/// Neighbour discovery among the layers of a node.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not discover neighbours",
    note = "the `discovery` of a plan is `()` or `kinglet::Discovered<Self>`"
)]
pub trait Discovery: net::Discovery {
    /// Returns whether discovery is active at all.
    fn is_on(&self) -> bool;

    /// Notes a new address of this node.
    fn add_address(&mut self, address: Ipv6Addr);

    /// Notes the neighbour that routing has chosen as the parent, if any.
    fn prefer(&mut self, now: Instant, parent: Option<Address>);

    /// Returns a name server that routers advertise, if they do (RFC 8106).
    fn name_server(&self) -> Option<Ipv6Addr> {
        None
    }

    /// Calls `each` with every reason for which it discarded, refused or lost something.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of this node that it keeps.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    /// Returns whether a sleepy node must keep its receiver on, because an answer may come at any
    /// time.
    fn listens(&self) -> bool;

    /// Handles an ICMPv6 message of a type in [`net::Discovery::ICMPV6`] that came by radio.
    fn handle_icmpv6(&mut self, now: Instant, message: Icmpv6In<'_>, own: net::Own<'_>);

    /// Writes the next message to `buf`, from the type on; its checksum is filled in.
    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out>;

    /// Notes that this node has joined a multicast group.
    fn handle_join(&mut self);

    /// Writes a report of the multicast groups of this node, if one is due.
    fn poll_report(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<Icmpv6Out>;

    /// Notes whether a frame to this link address was acknowledged.
    fn handle_sent(&mut self, now: Instant, to: Address, acked: bool);

    /// Returns the next result of a resolution, one neighbour at a time.
    fn poll_resolved(&mut self) -> Option<Resolved>;

    /// Returns the next change that router advertisements make to this node's configuration.
    fn poll_configured(&mut self, now: Instant) -> Option<Configured>;

    /// Returns the next change of the hosts registered here that routing must be notified of.
    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost>;

    /// Returns the time at which [`Discovery::handle_deadline`] is due.
    fn deadline(&self) -> Option<Instant>;

    /// Handles all timers that have expired.
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

    fn handle_icmpv6(&mut self, _: Instant, _: Icmpv6In<'_>, _: net::Own<'_>) {}

    fn poll_icmpv6(&mut self, _: Instant, _: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        None
    }

    fn handle_join(&mut self) {}

    fn poll_report(
        &mut self,
        _: Instant,
        _: &mut dyn Iterator<Item = Ipv6Addr>,
        _: &mut [u8; MAX_ICMPV6],
    ) -> Option<Icmpv6Out> {
        None
    }

    fn handle_sent(&mut self, _: Instant, _: Address, _: bool) {}

    fn poll_resolved(&mut self) -> Option<Resolved> {
        None
    }

    fn poll_configured(&mut self, _: Instant) -> Option<Configured> {
        None
    }

    fn poll_routed(&mut self, _: Instant) -> Option<RegisteredHost> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant) {}
}
