//! Routing protocol of a simulated node, selected by the scenario: none (static routes), mesh, RPL
//! or AODV. One node type plays every role, and takes memory only for its own.

use crate::memory::Later;
use crate::tinyrpl::RemoveTimers;
use core::net::Ipv6Addr;
use kinglet::net::{Added, Icmpv6In, Icmpv6Out, Learnt, MAX_ADDED, NextHop, Origin};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::ipv6::Header;
use kinglet::wire::sixlowpan::routed::Dodag;
use kinglet::{
    Aoded, Change, Each, EachRelation, MAX_ICMPV6, MAX_MESSAGE, Meshed, Message, Routing, Rpled,
    aodv, mesh, nd, net, rpl,
};
use kinglet_time::{Duration, Instant, earliest};

/// Packets of a node that can wait for a route discovery: as many as two connections have in flight
/// (buffers of "design criteria", II-C, are large enough to drop nothing).
const WAITING: usize = 16;

/// Static routes, the mesh, RPL, or AODV.
pub enum Learning<S: mesh::Sizes + rpl::Sizes + aodv::Sizes> {
    /// Static routes only.
    Static,
    /// The mesh.
    Mesh(Box<Meshed<S>>),
    /// RPL, with TinyRPL's timers if its fault is enabled.
    Rpl(Box<Rpled<S>>, Option<RemoveTimers>),
    /// AODV.
    Aodv(Box<Aoded<S>>),
}

impl<S: mesh::Sizes + rpl::Sizes + aodv::Sizes> Learning<S> {
    /// State of the mesh, if the node uses it.
    pub fn mesh(&self) -> Option<&mesh::Mesh<S>> {
        match self {
            Learning::Mesh(mesh) => Some(mesh.mesh()),
            _ => None,
        }
    }

    /// Returns true if the emulated fault has removed the route to `dst`.
    fn has_removed(&self, dst: Ipv6Addr) -> bool {
        matches!(self, Learning::Rpl(_, Some(timers)) if timers.has_removed(dst))
    }

    /// State of RPL, if the node uses it.
    pub fn rpl(&self) -> Option<&rpl::Rpl<S>> {
        match self {
            Learning::Rpl(rpl, _) => Some(rpl.rpl()),
            _ => None,
        }
    }

    /// State of AODV, if the node uses it.
    pub fn aodv(&self) -> Option<&aodv::Aodv<S>> {
        match self {
            Learning::Aodv(aodv) => Some(aodv.aodv()),
            _ => None,
        }
    }
}

/// Calls the routing protocol in use; evaluates to the last argument with static routes.
macro_rules! whoever {
    ($self:ident, $it:ident => $call:expr, $none:expr) => {
        match $self {
            Learning::Static => $none,
            Learning::Mesh($it) => $call,
            Learning::Rpl($it, _) => $call,
            Learning::Aodv($it) => $call,
        }
    };
}

impl<S: mesh::Sizes + rpl::Sizes + aodv::Sizes> net::Routing for Learning<S> {
    const NONE: Self = Learning::Static;
    // AODV uses the same port.
    const PORT: Option<u16> = <Meshed<S> as net::Routing>::PORT;
    const ICMPV6: &'static [u8] = <Rpled<S> as net::Routing>::ICMPV6;
    const GROUP: Option<Ipv6Addr> = <Rpled<S> as net::Routing>::GROUP;
    const EXTENDS: bool = true;
    type Head = net::ExtendedHead;
    type Waiting = Later<Option<net::PacketHandle>, WAITING>;

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let learnt = whoever!(self, it => it.route(dst), None)?;
        Some(if self.has_removed(dst) { Learnt { via: None, ..learnt } } else { learnt })
    }

    fn discovers(&self, dst: Ipv6Addr) -> bool {
        whoever!(self, it => it.discovers(dst), false)
    }

    fn is_discovering(&self, dst: Ipv6Addr) -> bool {
        whoever!(self, it => it.is_discovering(dst), false)
    }

    fn discover(&mut self, now: Instant, dst: Ipv6Addr) -> bool {
        whoever!(self, it => it.discover(now, dst), false)
    }

    fn handle_use(&mut self, now: Instant, src: Ipv6Addr, dst: Ipv6Addr, from: Address) {
        whoever!(self, it => it.handle_use(now, src, dst, from), ());
    }

    fn handle_stray(&mut self, now: Instant, dst: Ipv6Addr, from: Address) -> bool {
        whoever!(self, it => it.handle_stray(now, dst, from), false)
    }

    fn handle_loop(&mut self, now: Instant, dst: Ipv6Addr) {
        whoever!(self, it => it.handle_loop(now, dst), ());
    }

    fn add(&self, packet: &Header, origin: Origin, out: &mut [u8; MAX_ADDED]) -> Option<Added> {
        whoever!(self, it => it.add(packet, origin, out), None)
    }

    fn handle_arrival(&mut self, from: Address) {
        whoever!(self, it => it.handle_arrival(from), ());
    }

    fn take(&mut self, now: Instant, packet: &Header, option: &[u8]) {
        whoever!(self, it => it.take(now, packet, option), ());
    }

    fn relay(
        &mut self,
        now: Instant,
        packet: &Header,
        option: &mut [u8],
    ) -> Result<Option<NextHop>, net::Discard> {
        if self.has_removed(packet.dst) {
            return Err(net::Discard::NoRoute);
        }
        whoever!(self, it => it.relay(now, packet, option), Ok(None))
    }

    fn follow(
        &mut self,
        now: Instant,
        next: Ipv6Addr,
        option: &mut [u8],
    ) -> Result<(), net::Discard> {
        whoever!(self, it => it.follow(now, next, option), Ok(()))
    }

    fn reroute(&self, destination: Ipv6Addr, option: &mut [u8]) -> Option<NextHop> {
        whoever!(self, it => it.reroute(destination, option), None)
    }

    fn ends_tunnel(&self, src: Ipv6Addr) -> bool {
        whoever!(self, it => it.ends_tunnel(src), false)
    }

    fn is_unaware(&self, dst: Ipv6Addr) -> bool {
        whoever!(self, it => it.is_unaware(dst), false)
    }

    fn handle_broken_route(&mut self, now: Instant, reporter: Ipv6Addr, next: Ipv6Addr) {
        whoever!(self, it => it.handle_broken_route(now, reporter, next), ());
    }

    fn dodag(&self) -> Option<Dodag> {
        whoever!(self, it => it.dodag(), None)
    }

    fn added_len(&self, remote: Ipv6Addr) -> usize {
        whoever!(self, it => it.added_len(remote), 0)
    }
}

impl<S: mesh::Sizes + rpl::Sizes + aodv::Sizes> Routing for Learning<S> {
    fn is_on(&self) -> bool {
        whoever!(self, it => it.is_on(), false)
    }

    fn listens(&self) -> bool {
        whoever!(self, it => it.listens(), false)
    }

    fn set_broadcast_time(&mut self, time: Duration) {
        whoever!(self, it => it.set_broadcast_time(time), ());
    }

    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8, lqi: u8) {
        whoever!(self, it => it.handle_heard(now, from, rssi_dbm, lqi), ());
    }

    const GIVES_ADDRESSES: bool = true;
    const WATCHES_QUEUE: bool = true;

    fn handle_queue(&mut self, now: Instant, waiting: usize, room: usize) {
        whoever!(self, it => it.handle_queue(now, waiting, room), ());
    }

    fn announces_sleep(&self) -> bool {
        whoever!(self, it => it.announces_sleep(), true)
    }

    fn handle_asked(&mut self, now: Instant, from: u16) {
        whoever!(self, it => it.handle_asked(now, from), ());
    }

    fn handle_sent(&mut self, now: Instant, to: Address, transmissions: u8, acked: bool) {
        whoever!(self, it => it.handle_sent(now, to, transmissions, acked), ());
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        whoever!(self, it => it.handle_message(now, from, rssi_dbm, message), ());
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        whoever!(self, it => it.poll_message(now, buf), None)
    }

    fn handle_icmpv6(&mut self, now: Instant, rssi_dbm: i8, message: Icmpv6In<'_>) {
        whoever!(self, it => it.handle_icmpv6(now, rssi_dbm, message), ());
        if let Learning::Rpl(rpl, Some(timers)) = self {
            timers.handle_icmpv6(now, message, rpl.rpl());
        }
    }

    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        whoever!(self, it => it.poll_icmpv6(now, buf), None)
    }

    fn serves_leaves(&self) -> bool {
        whoever!(self, it => it.serves_leaves(), false)
    }

    fn handle_leaf(&mut self, now: Instant, leaf: &nd::Routed) {
        whoever!(self, it => it.handle_leaf(now, leaf), ());
    }

    fn handle_address(&mut self, address: Ipv6Addr) {
        whoever!(self, it => it.handle_address(address), ());
    }

    fn reasons(&self, each: &mut Each<'_>) {
        whoever!(self, it => it.reasons(each), ());
    }

    fn relations(&self, each: &mut EachRelation<'_>) {
        whoever!(self, it => it.relations(each), ());
    }

    fn poll_change(&mut self) -> Option<Change> {
        whoever!(self, it => it.poll_change(), None)
    }

    fn deadline(&self) -> Option<Instant> {
        let timers = match self {
            Learning::Rpl(_, Some(timers)) => timers.deadline(),
            _ => None,
        };
        earliest(whoever!(self, it => it.deadline(), None), timers)
    }

    fn handle_deadline(&mut self, now: Instant) {
        whoever!(self, it => it.handle_deadline(now), ());
        if let Learning::Rpl(_, Some(timers)) = self {
            timers.handle_deadline(now);
        }
    }
}
