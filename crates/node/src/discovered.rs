//! RFC 4861 neighbour discovery as a node's discovery layer.

use crate::config::Config;
use crate::discovery::{Discovery, Resolved};
use core::net::Ipv6Addr;
use kinglet_nd::{self as nd, Configured, Role};
use kinglet_net::{self as net, Own, Resolution, Unresolved};
use kinglet_routing::{Each, EachRelation, Icmpv6In, Icmpv6Out, MAX_ICMPV6, RegisteredHost};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::mld;
use kinglet_wire::nd::TYPES;

/// Messages of neighbour discovery, and multicast listener queries.
const ALL_TYPES: [u8; TYPES.len() + 1] = {
    let [a, b, c, d, e, f, g] = TYPES;
    [a, b, c, d, e, f, g, mld::QUERY]
};

/// Neighbour discovery, with room for `UNRESOLVED` packets that wait for it.
pub struct Discovered<S: nd::Sizes, const UNRESOLVED: usize = 2>(nd::Discovery<S>);

impl<S: nd::Sizes, const UNRESOLVED: usize> Discovered<S, UNRESOLVED> {
    /// Creates discovery for the node with this configuration, with the times of RFC 4861.
    pub const fn new<K: Copy>(node: &Config<K>) -> Self {
        let mac = &node.mac;
        let config = nd::NdConfig::new(mac.source(), mac.extended, mac.pan_id.0, node.seed);
        Self::with(nd::NdConfig { has_parent: !mac.rx_on_when_idle, ..config })
    }

    /// Creates discovery with other settings.
    pub const fn with(config: nd::NdConfig) -> Self {
        Discovered(nd::Discovery::new(config))
    }

    /// Creates discovery for a node that is a router as `role` defines, such as a [`nd::Serving`].
    pub const fn serving(config: nd::NdConfig, role: S::Role) -> Self {
        Discovered(nd::Discovery::with_role(config, role))
    }

    /// Returns the discovery for inspection.
    pub const fn nd(&self) -> &nd::Discovery<S> {
        &self.0
    }

    /// Returns its role as a router, so that the advertised information can be changed.
    pub const fn role_mut(&mut self) -> &mut S::Role {
        self.0.role_mut()
    }
}

impl<S: nd::Sizes, const UNRESOLVED: usize> net::Discovery for Discovered<S, UNRESOLVED> {
    const NONE: Self = Self::with(nd::NdConfig::OFF);
    const PRESENT: bool = true;
    const REPORTS: bool = <S::Listener as nd::Listener>::REPORTS;
    const SERVES: bool = <S::Role as Role>::SERVES;
    const ICMPV6: &'static [u8] = if Self::REPORTS { &ALL_TYPES } else { &TYPES };
    type Unresolved = [Option<Unresolved>; UNRESOLVED];

    fn resolve(&self, neighbour: Ipv6Addr) -> Resolution {
        if !self.0.config().on {
            return Resolution::Derived;
        }
        match self.0.resolution(neighbour) {
            nd::Resolution::To(link) => Resolution::To(link),
            nd::Resolution::Unknown => Resolution::Unknown,
        }
    }

    fn attached(&self, neighbour: Ipv6Addr) -> Option<Address> {
        self.0.role().link(neighbour)
    }

    fn solicits(&self, address: Ipv6Addr) -> bool {
        self.0.solicits(address)
    }

    fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool {
        self.0.want(now, neighbour)
    }

    fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr) {
        self.0.handle_use(now, neighbour);
    }

    fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr) {
        self.0.handle_progress(now, neighbour);
    }

    fn router(&self) -> Option<Ipv6Addr> {
        self.0.router()
    }

    fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        self.0.is_deprecated(address)
    }

    fn compresses(&self, context: u8) -> bool {
        self.0.compresses(context)
    }

    fn handle_unknown_context(&mut self, now: Instant) {
        self.0.handle_unknown_context(now);
    }
}

impl<S: nd::Sizes, const UNRESOLVED: usize> Discovery for Discovered<S, UNRESOLVED> {
    fn is_on(&self) -> bool {
        self.0.config().on
    }

    fn name_server(&self) -> Option<Ipv6Addr> {
        self.0.servers().next()
    }

    fn add_address(&mut self, address: Ipv6Addr) {
        self.0.add_address(address);
    }

    fn prefer(&mut self, now: Instant, parent: Option<Address>) {
        self.0.prefer(now, parent);
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.0.stats().reasons().for_each(|(reason, count)| each("nd", reason, count));
        self.0.role().reasons().for_each(|(reason, count)| each("registry", reason, count));
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        self.0.router().into_iter().for_each(|address| each("default router", address));
        self.0.role().registered().for_each(|address| each("registration", address));
        self.0.neighbours().for_each(|it| each("neighbour", it.address()));
    }

    fn listens(&self) -> bool {
        self.0.listens()
    }

    fn handle_icmpv6(&mut self, now: Instant, message: Icmpv6In<'_>, own: Own<'_>) {
        let Icmpv6In { from, header, octets } = message;
        // Discovery counts its own discards.
        let _ = self.0.handle_message(now, from, &header, octets, |it| own.contains(it));
    }

    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        let nd::Message { src, dst, via, hop_limit, len } = self.0.poll_message(now, buf)?;
        Some(Icmpv6Out { src, dst, via, hop_limit, alert: false, len })
    }

    fn handle_join(&mut self) {
        self.0.handle_join();
    }

    fn poll_report(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8; MAX_ICMPV6],
    ) -> Option<Icmpv6Out> {
        let nd::Message { src, dst, via, hop_limit, len } = self.0.poll_report(now, groups, buf)?;
        Some(Icmpv6Out { src, dst, via, hop_limit, alert: true, len })
    }

    fn handle_sent(&mut self, now: Instant, to: Address, acked: bool) {
        self.0.handle_sent(now, to, acked);
    }

    fn poll_resolved(&mut self) -> Option<Resolved> {
        Some(match self.0.poll_change()? {
            nd::Change::Found(neighbour) => Resolved { neighbour, found: true },
            nd::Change::Lost(neighbour) => Resolved { neighbour, found: false },
        })
    }

    fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        self.0.poll_configured(now)
    }

    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        self.0.poll_routed(now)
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.0.handle_deadline(now);
    }
}
