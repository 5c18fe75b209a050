//! Neighbour discovery of simulated nodes. It takes memory only if the scenario uses it.
//!
//! One node type plays every role, and most scenarios have no discovery. Its state is therefore
//! boxed, like the tables in [`crate::memory`].

use crate::memory::Growing;
use core::net::Ipv6Addr;
use kinglet::nd::{self, Configured};
use kinglet::net::{self, Own, Resolution};
use kinglet::routing::{Icmpv6In, Icmpv6Out, MAX_ICMPV6, RegisteredHost};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::Address;
use kinglet::wire::nd::{ContextInformation, PrefixInformation};
use kinglet::{Discovered, Discovery, Each, EachRelation, Resolved};
use kinglet_scenario::CONTEXTS;

/// Addresses that one router can register; the border router has those of all nodes.
const REGISTRATIONS: usize = 2048;

/// Table sizes: those that scenarios need, and one more of each.
pub struct Plan;

impl nd::Sizes for Plan {
    type Neighbours = [Option<nd::Neighbour>; 16];
    type Routers = [Option<nd::DefaultRouter>; 2];
    type Addresses = [Option<nd::Autoconfigured>; 2];
    type Contexts = [Option<nd::Advertised>; CONTEXTS];
    type Servers = [Option<nd::Server>; 0];
    type Role = Option<nd::Serving<Self>>;
    type Listener = nd::Reporting;
}

impl nd::RouterSizes for Plan {
    type Registrations = Growing<nd::Registered, REGISTRATIONS>;
    type Prefixes = [Option<nd::Offered<PrefixInformation>>; 2];
    type Contexts = [Option<nd::Offered<ContextInformation>>; CONTEXTS];
    type Servers = [Option<nd::Offered<nd::NameServer>>; 0];
}

type Inner = Discovered<Plan>;

/// A [`Discovered`], or none.
pub struct Optional(Option<Box<Inner>>);

impl Optional {
    /// Creates the state of a node that takes part, from `config` and `role`.
    pub(crate) fn new(config: nd::NdConfig, role: Option<nd::Serving<Plan>>) -> Self {
        Optional(Some(Box::new(Discovered::serving(config, role))))
    }

    /// State of neighbour discovery; `None` if the node takes no part.
    pub fn nd(&self) -> Option<&nd::Discovery<Plan>> {
        Some(self.0.as_ref()?.nd())
    }
}

impl net::Discovery for Optional {
    const NONE: Self = Optional(None);
    const PRESENT: bool = true;
    const REPORTS: bool = true;
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

    fn handle_unknown_context(&mut self, now: Instant) {
        if let Some(it) = &mut self.0 {
            it.handle_unknown_context(now);
        }
    }
}

impl Discovery for Optional {
    fn is_on(&self) -> bool {
        self.0.is_some()
    }

    fn add_address(&mut self, address: Ipv6Addr) {
        if let Some(it) = &mut self.0 {
            it.add_address(address);
        }
    }

    fn prefer(&mut self, now: Instant, parent: Option<Address>) {
        if let Some(it) = &mut self.0 {
            it.prefer(now, parent);
        }
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.0.as_ref().into_iter().for_each(|discovered| discovered.reasons(each));
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        self.0.as_ref().into_iter().for_each(|discovered| discovered.relations(each));
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

    fn handle_join(&mut self) {
        if let Some(it) = &mut self.0 {
            it.handle_join();
        }
    }

    fn poll_report(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<Icmpv6Out> {
        self.0.as_mut()?.poll_report(now, groups, buf)
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

    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        self.0.as_mut()?.poll_routed(now)
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
