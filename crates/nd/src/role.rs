//! What a node does for others: nothing, or what routers do ([`Serving`](crate::Serving)).

use crate::message::Message;
use crate::stats::Discard;
use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{Duplicate, Options, Registration};

/// A Neighbour Solicitation that asks for a registration (RFC 6775, 6.5; RFC 8505, 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its source address.
    pub src: Ipv6Addr,
    /// Its source link-layer address.
    pub link: Address,
    /// Its target address.
    pub target: Ipv6Addr,
    /// Whether the target is an address of this router.
    pub own: bool,
    /// What it asks for.
    pub asked: Registration,
}

impl Claim {
    /// The address that it registers: in the form of RFC 6775 its source.
    pub const fn address(&self) -> Ipv6Addr {
        if self.asked.tid.is_some() { self.target } else { self.src }
    }
}

/// A host that is registered here and wants to be reached by way of this router (the R flag, RFC
/// 8505, 5.1), for routing to make its address known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed {
    /// The address.
    pub address: Ipv6Addr,
    /// Of the neighbour that has it.
    pub link: Address,
    /// Its registration's transaction.
    pub tid: u8,
    /// For how long from now on; zero: no longer.
    pub lifetime: Duration,
}

/// What a node does for others.
pub trait Role {
    /// Nothing.
    const NONE: Self;
    /// Whether it can do anything; if not, nothing of it is in the program.
    const SERVES: bool;

    /// Whether it is to be a router, so that its ways are those of its routing.
    fn serves(&self) -> bool;

    /// Whether it is one now: one that learns what to say is none before it has.
    fn is_router(&self) -> bool;

    /// The link address of one that is registered here.
    fn link(&self, address: Ipv6Addr) -> Option<Address>;

    /// Somebody looks for routers: the unspecified address, or one that is reached at `link`.
    fn handle_solicitation(&mut self, now: Instant, src: Ipv6Addr, link: Address);

    /// Another router has said this; whether something is missing now that was known before.
    fn handle_advertisement(&mut self, now: Instant, options: Options<'_>) -> bool;

    /// Somebody registers an address; `tells` says whether that tells the link address anyway.
    ///
    /// # Errors
    /// Why it is not even answered.
    fn handle_registration(
        &mut self,
        now: Instant,
        claim: &Claim,
        tells: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard>;

    /// A router asks or tells about an address, in a packet to this node.
    ///
    /// # Errors
    /// Why it is discarded.
    fn handle_duplicate(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        told: &Duplicate,
    ) -> Result<(), Discard>;

    /// Writes the next message to `buf`; `link` is the own link address.
    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message>;

    /// What routing is to be told of those that are registered, one address at a time.
    fn poll_routed(&mut self, now: Instant) -> Option<Routed>;

    /// Every reason for which a registration was refused, with its count.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        core::iter::empty()
    }

    /// Every address that is registered here.
    fn registered(&self) -> impl Iterator<Item = Ipv6Addr> {
        core::iter::empty()
    }

    /// When [`Role::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due.
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

    fn poll_routed(&mut self, _: Instant) -> Option<Routed> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant, _: &mut Random) {}
}

/// One of a program whose nodes are routers or not: `None` is a host.
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
        tells: impl Fn(Ipv6Addr, Address) -> bool,
    ) -> Result<(), Discard> {
        self.as_mut().ok_or(Discard::Ignored)?.handle_registration(now, claim, tells)
    }

    fn handle_duplicate(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        told: &Duplicate,
    ) -> Result<(), Discard> {
        self.as_mut().ok_or(Discard::Ignored)?.handle_duplicate(now, from, told)
    }

    fn poll_message(&mut self, now: Instant, link: Address, buf: &mut [u8]) -> Option<Message> {
        self.as_mut()?.poll_message(now, link, buf)
    }

    fn poll_routed(&mut self, now: Instant) -> Option<Routed> {
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
