//! Link addresses that are learnt: who learns them is not known here, only how to ask
//! ([`Sizes::Discovery`](crate::Sizes::Discovery)). How packets wait for them is in
//! `net/resolve.rs`.

use crate::pool::PacketHandle;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::Decompressed;
use kinglet_wire::{Error, Field};

/// What expanding headers ends with for want of a context.
pub(crate) const UNKNOWN_CONTEXT: Result<Decompressed, Error> =
    Err(Error::Invalid(Field::ContextIdentifier));

/// What is known of the way to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Nothing is learnt here: its address tells its link address.
    Derived,
    /// It has this link address.
    To(Address),
    /// Its link address has to be asked for.
    Unknown,
}

/// Who learns the link addresses of neighbours.
pub trait Discovery {
    /// Who has not learnt any.
    const NONE: Self;
    /// Whether there is anything to learn; if not, nothing of it is in the program.
    const PRESENT: bool;
    /// Whether it may tell routers of multicast groups (RFC 3810), with a Router Alert.
    const REPORTS: bool = false;
    /// Whether it may be that of a router, which asks for nodes that have not registered.
    const SERVES: bool = false;
    /// The types of ICMPv6 whose messages it takes.
    const ICMPV6: &'static [u8];
    /// Packets that wait for a link address.
    type Unresolved: Array<Option<Unresolved>> + Debug;

    /// The way to a neighbour.
    fn resolve(&self, neighbour: Ipv6Addr) -> Resolution;

    /// The link address of a neighbour that has registered this address here, so that packets for
    /// it go there whatever routes say (RFC 6775, 6.5.4).
    fn attached(&self, address: Ipv6Addr) -> Option<Address>;

    /// Whether this node is a router, and this address one that does not tell its link address: on
    /// the link it is asked for.
    fn solicits(&self, _address: Ipv6Addr) -> bool {
        false
    }

    /// A packet waits for the way to a neighbour; whether it is worth waiting.
    fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool;

    /// A packet goes to a neighbour, whose way is known.
    fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr);

    /// An upper layer has had an answer from a neighbour.
    fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr);

    /// The neighbour that gets packets for which there is no route.
    fn router(&self) -> Option<Ipv6Addr>;

    /// Whether other own addresses are better sources than this one (RFC 6724, 5, rule 3).
    fn is_deprecated(&self, address: Ipv6Addr) -> bool;

    /// Whether headers may be compressed by the context of this identifier.
    fn compresses(&self, context: u8) -> bool;

    /// A frame came whose headers cannot be expanded, for want of a context.
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
