//! Neighbour discovery of simulated nodes, which takes memory where a scenario has it.
//!
//! One type of node plays every role, and most scenarios have no discovery: what it knows is
//! elsewhere then, as what is in [`crate::memory`] is.

use core::net::Ipv6Addr;
use kinglet::nd::{self, Configured};
use kinglet::net::{self, Icmpv6In, Icmpv6Out, Own, Resolution};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::Address;
use kinglet::{Config, Discovered, Discovery, MAX_ICMPV6, Resolved};

/// Addresses and contexts are the scenario's: no node needs a router to tell.
pub struct Plan;

impl nd::Sizes for Plan {
    type Neighbours = [Option<nd::Neighbour>; 16];
    type Routers = [Option<nd::Router>; 0];
    type Addresses = [Option<nd::Autoconfigured>; 0];
    type Contexts = [Option<nd::Advertised>; 0];
    type Servers = [Option<nd::Server>; 0];
    type Role = ();
}

type Inner = Discovered<Plan>;

/// A [`Discovered`], or none.
pub struct Optional(Option<Box<Inner>>);

impl Optional {
    /// The discovery of a node with this configuration, if it `is_on`.
    pub(crate) fn new(node: &Config, is_on: bool) -> Self {
        Optional(is_on.then(|| Box::new(Discovered::new(node))))
    }
}

impl net::Discovery for Optional {
    const NONE: Self = Optional(None);
    const PRESENT: bool = true;
    const ICMPV6: &'static [u8] = <Inner as net::Discovery>::ICMPV6;
    type Unresolved = <Inner as net::Discovery>::Unresolved;

    fn resolve(&self, neighbour: Ipv6Addr) -> Resolution {
        self.0.as_ref().map_or(Resolution::Derived, |it| it.resolve(neighbour))
    }

    fn attached(&self, neighbour: Ipv6Addr) -> Option<Address> {
        self.0.as_ref()?.attached(neighbour)
    }

    fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool {
        self.0.as_mut().is_some_and(|it| it.want(now, neighbour))
    }

    fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr) {
        if let Some(it) = &mut self.0 {
            it.handle_use(now, neighbour);
        }
    }

    fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr) {
        if let Some(it) = &mut self.0 {
            it.handle_progress(now, neighbour);
        }
    }

    fn router(&self) -> Option<Ipv6Addr> {
        self.0.as_ref()?.router()
    }

    fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        self.0.as_ref().is_some_and(|it| it.is_deprecated(address))
    }

    fn compresses(&self, context: u8) -> bool {
        self.0.as_ref().is_none_or(|it| it.compresses(context))
    }

    fn handle_unknown_context(&mut self) {
        if let Some(it) = &mut self.0 {
            it.handle_unknown_context();
        }
    }
}

impl Discovery for Optional {
    fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn listens(&self) -> bool {
        self.0.as_ref().is_some_and(|it| it.listens())
    }

    fn handle_icmpv6(&mut self, now: Instant, message: Icmpv6In<'_>, own: Own<'_>) {
        if let Some(it) = &mut self.0 {
            it.handle_icmpv6(now, message, own);
        }
    }

    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        self.0.as_mut()?.poll_icmpv6(now, buf)
    }

    fn handle_sent(&mut self, now: Instant, to: Address, acked: bool) {
        if let Some(it) = &mut self.0 {
            it.handle_sent(now, to, acked);
        }
    }

    fn poll_resolved(&mut self) -> Option<Resolved> {
        self.0.as_mut()?.poll_resolved()
    }

    fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        self.0.as_mut()?.poll_configured(now)
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.as_ref()?.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        if let Some(it) = &mut self.0 {
            it.handle_deadline(now);
        }
    }
}
