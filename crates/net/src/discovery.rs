//! Interface to neighbour discovery, which learns link addresses outside this crate
//! ([`Sizes::Discovery`](crate::Sizes::Discovery)). Packets that wait for them are in
//! `net/resolve.rs`.

use crate::pool::PacketHandle;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::Decompressed;
use kinglet_wire::{Error, Field};

/// Result of the expansion of headers with an unknown context.
pub(crate) const UNKNOWN_CONTEXT: Result<Decompressed, Error> =
    Err(Error::Invalid(Field::ContextIdentifier));

/// Link address of a neighbour, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Nothing is learned: the link address follows from the address.
    Derived,
    /// The neighbour has this link address.
    To(Address),
    /// The link address has to be resolved.
    Unknown,
}

/// A protocol that learns the link addresses of neighbours.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not discover neighbours",
    note = "the `discovery` of a plan is `()` or `kinglet::Discovered<Self>`"
)]
pub trait Discovery {
    /// The initial state.
    const NONE: Self;
    /// True if it learns anything; if false, the program contains none of it.
    const PRESENT: bool;
    /// True if it may report multicast groups to routers (RFC 3810), with a Router Alert.
    const REPORTS: bool = false;
    /// True if it may be that of a router, which resolves nodes that have not registered.
    const SERVES: bool = false;
    /// The types of ICMPv6 messages that it processes.
    const ICMPV6: &'static [u8];
    /// Packets that wait for a link address.
    type Unresolved: Array<Option<Unresolved>> + Debug;

    /// Returns the link address of a neighbour.
    fn resolve(&self, neighbour: Ipv6Addr) -> Resolution;

    /// Returns the link address of a neighbour that has registered this address here; packets for
    /// it go there regardless of routes (RFC 6775, 6.5.4).
    fn attached(&self, address: Ipv6Addr) -> Option<Address>;

    /// Returns whether this node is a router that resolves this address on the link, as no link
    /// address follows from it.
    fn solicits(&self, _address: Ipv6Addr) -> bool {
        false
    }

    /// Registers that a packet waits for a neighbour. Returns whether resolution is in progress.
    fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool;

    /// Processes a packet to a neighbour whose link address is known.
    fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr);

    /// Processes an upper layer's confirmation that a neighbour has responded.
    fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr);

    /// Returns the default router, which gets packets without another route.
    fn router(&self) -> Option<Ipv6Addr>;

    /// Returns whether other own addresses are preferred to this one (RFC 6724, 5, rule 3).
    fn is_deprecated(&self, address: Ipv6Addr) -> bool;

    /// Returns whether the context of this identifier may compress headers.
    fn compresses(&self, context: u8) -> bool;

    /// Processes a frame whose headers cannot be expanded because the context is unknown.
    fn handle_unknown_context(&mut self, now: Instant);
}

/// Static neighbours only.
impl Discovery for () {
    const NONE: Self = ();
    const PRESENT: bool = false;
    const ICMPV6: &'static [u8] = &[];
    type Unresolved = [Option<Unresolved>; 0];

    fn resolve(&self, _: Ipv6Addr) -> Resolution {
        Resolution::Derived
    }

    fn attached(&self, _: Ipv6Addr) -> Option<Address> {
        None
    }

    fn want(&mut self, _: Instant, _: Ipv6Addr) -> bool {
        false
    }

    fn handle_use(&mut self, _: Instant, _: Ipv6Addr) {}

    fn handle_progress(&mut self, _: Instant, _: Ipv6Addr) {}

    fn router(&self) -> Option<Ipv6Addr> {
        None
    }

    fn is_deprecated(&self, _: Ipv6Addr) -> bool {
        false
    }

    fn compresses(&self, _: u8) -> bool {
        true
    }

    fn handle_unknown_context(&mut self, _: Instant) {}
}

/// A packet that waits for a neighbour's link address.
#[derive(Clone, Copy, Debug)]
pub struct Unresolved {
    pub(crate) packet: PacketHandle,
    pub(crate) neighbour: Ipv6Addr,
}
