//! Functions for other nodes: none, or those of a router ([`Serving`](crate::Serving)).

use crate::message::Message;
use crate::stats::Discard;
use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_routing::RegisteredHost;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{Duplicate, Options, Registration};

/// A Neighbour Solicitation that requests a registration (RFC 6775, 6.5; RFC 8505, 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its source address.
    pub src: Ipv6Addr,
    /// Its source link-layer address.
    pub link: Address,
    /// Its target address.
    pub target: Ipv6Addr,
    /// True if the target is an address of this router.
    pub own: bool,
    /// The requested registration.
    pub asked: Registration,
}

impl Claim {
    /// Returns the address that it registers: in the form of RFC 6775 its source.
    pub const fn address(&self) -> Ipv6Addr {
        if self.asked.tid.is_some() { self.target } else { self.src }
    }
}

/// Functions that a node provides to other nodes.
pub trait Role {
    /// No functions.
    const NONE: Self;
    /// True if it can provide any functions; if false, the program contains none of them.
    const SERVES: bool;

    /// Returns whether the node is configured as a router: its routes then come from its routing.
    fn serves(&self) -> bool;

    /// Returns whether it is a router now: one that learns its offer is none before it has done so.
    fn is_router(&self) -> bool;

    /// Returns the link address of a registered host.
    fn link(&self, address: Ipv6Addr) -> Option<Address>;

    /// Processes a Router Solicitation, from the unspecified address or a node reached at `link`.
    fn handle_solicitation(&mut self, now: Instant, src: Ipv6Addr, link: Address);

    /// Processes another router's advertisement. Returns whether known information is now missing.
    fn handle_advertisement(&mut self, now: Instant, options: Options<'_>) -> bool;

    /// Processes a registration. `is_derived` returns whether a link address follows from an
    /// address.
    ///
    /// # Errors
    /// The reason why there is no response.
    fn handle_registration(
        &mut self,
        now: Instant,
        claim: &Claim,
        is_derived: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard>;

    /// Processes a duplicate address message from a router, in a packet to this node.
    ///
    /// # Errors
    /// The reason of the discard.
    fn handle_duplicate(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        message: &Duplicate,
    ) -> Result<(), Discard>;

    /// Writes the next message to `buf`; `link` is the node's own link address.
    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message>;

    /// Returns the next registered address whose state routing has to learn.
    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost>;

    /// Returns all reasons for which registrations were refused, with their counts.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        core::iter::empty()
    }

    /// Returns the addresses that are registered here.
    fn registered(&self) -> impl Iterator<Item = Ipv6Addr> {
        core::iter::empty()
    }

    /// Returns the time of the next call of [`Role::handle_deadline`].
    fn deadline(&self) -> Option<Instant>;

    /// Runs the timers that are due.
    fn handle_deadline(&mut self, now: Instant, random: &mut Random);
}

/// A host.
impl Role for () {
    const NONE: Self = ();
    const SERVES: bool = false;

    fn serves(&self) -> bool {
        false
    }

    fn is_router(&self) -> bool {
        false
    }

    fn link(&self, _: Ipv6Addr) -> Option<Address> {
        None
    }

    fn handle_solicitation(&mut self, _: Instant, _: Ipv6Addr, _: Address) {}

    fn handle_advertisement(&mut self, _: Instant, _: Options<'_>) -> bool {
        false
    }

    fn handle_registration(
        &mut self,
        _: Instant,
        _: &Claim,
        _: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard> {
        Err(Discard::Ignored)
    }

    fn handle_duplicate(&mut self, _: Instant, _: Ipv6Addr, _: &Duplicate) -> Result<(), Discard> {
        Err(Discard::Ignored)
    }

    fn poll_message(&mut self, _: Instant, _: Address, _: &mut [u8]) -> Option<Message> {
        None
    }

    fn poll_routed(&mut self, _: Instant) -> Option<RegisteredHost> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant, _: &mut Random) {}
}

/// The role in a program whose nodes may be routers or hosts: `None` is a host.
impl<R: Role> Role for Option<R> {
    const NONE: Self = None;
    const SERVES: bool = R::SERVES;

    fn serves(&self) -> bool {
        self.is_some()
    }

    fn is_router(&self) -> bool {
        self.as_ref().is_some_and(Role::is_router)
    }

    fn link(&self, address: Ipv6Addr) -> Option<Address> {
        self.as_ref()?.link(address)
    }

    fn handle_solicitation(&mut self, now: Instant, src: Ipv6Addr, link: Address) {
        if let Some(it) = self {
            it.handle_solicitation(now, src, link);
        }
    }

    fn handle_advertisement(&mut self, now: Instant, options: Options<'_>) -> bool {
        self.as_mut().is_some_and(|it| it.handle_advertisement(now, options))
    }

    fn handle_registration(
        &mut self,
        now: Instant,
        claim: &Claim,
        is_derived: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard> {
        self.as_mut().ok_or(Discard::Ignored)?.handle_registration(now, claim, is_derived)
    }

    fn handle_duplicate(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        message: &Duplicate,
    ) -> Result<(), Discard> {
        self.as_mut().ok_or(Discard::Ignored)?.handle_duplicate(now, from, message)
    }

    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        self.as_mut()?.poll_message(now, link, buf)
    }

    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        self.as_mut()?.poll_routed(now)
    }

    fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        self.iter().flat_map(Role::reasons)
    }

    fn registered(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.iter().flat_map(Role::registered)
    }

    fn deadline(&self) -> Option<Instant> {
        self.as_ref()?.deadline()
    }

    fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        if let Some(it) = self {
            it.handle_deadline(now, random);
        }
    }
}
