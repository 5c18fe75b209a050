//! nst-AODV as a node's routing.

use crate::config::{AodvConfig, Role, Sizes};
use crate::engine::{Aodv, Destination};
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_routing::{Change, Each, Identity, Learnt, MAX_MESSAGE, Message, NextHop, NoHeaders};
use kinglet_routing::{PORT, Routing};
use kinglet_time::{Duration, Instant};
use kinglet_wire::aodv::OUTSIDE;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{is_link_local, same_prefix};
use kinglet_wire::sixlowpan::link_address_of;

/// Bits of the prefix: the rest is the interface identifier, which holds the short address.
const PREFIX_LEN: u8 = 64;

/// nst-AODV, the prefix of its addresses, and room for `WAITING` packets that wait for a route.
pub struct Aoded<S: Sizes, const WAITING: usize = 4> {
    aodv: Aodv<S>,
    prefix: Ipv6Addr,
}

impl<S: Sizes, const WAITING: usize> Aoded<S, WAITING> {
    /// Creates AODV for a node. Its short address and seed replace those in `aodv`. All addresses
    /// of the network begin with the first 64 bits of `prefix`.
    pub const fn new(node: Identity, aodv: AodvConfig, prefix: Ipv6Addr) -> Self {
        let aodv = AodvConfig { short: node.short, seed: node.seed, ..aodv };
        Aoded { aodv: Aodv::new(aodv), prefix }
    }

    /// Returns AODV for inspection.
    pub const fn aodv(&self) -> &Aodv<S> {
        &self.aodv
    }

    /// Returns AODV's name of the destination `dst`. It is `None` if AODV does not search for a
    /// route to it, as for neighbours on the link and for destinations to which a border router has
    /// routes of its own.
    fn name_of(&self, dst: Ipv6Addr) -> Option<u16> {
        let role = self.aodv.config().role;
        if role == Role::Off || is_link_local(dst) || dst.is_multicast() {
            return None;
        }
        if !same_prefix(dst, self.prefix, PREFIX_LEN) {
            return (role != Role::BorderRouter).then_some(OUTSIDE);
        }
        match link_address_of(dst) {
            Address::Short(short) => Some(short),
            _ => None,
        }
    }
}

impl<S: Sizes, const WAITING: usize> Routing for Aoded<S, WAITING> {
    const NONE: Self = Aoded { aodv: Aodv::new(AodvConfig::OFF), prefix: Ipv6Addr::UNSPECIFIED };
    const PORT: Option<u16> = Some(PORT);
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; WAITING];

    fn is_on(&self) -> bool {
        self.aodv.config().role != Role::Off
    }

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let name = self.name_of(dst)?;
        let via = self.aodv.next_hop(name).map(|next| NextHop::Link(Address::Short(next)));
        Some(Learnt { prefix_len: if name == OUTSIDE { 0 } else { PREFIX_LEN }, via })
    }

    fn discovers(&self, dst: Ipv6Addr) -> bool {
        self.name_of(dst).is_some()
    }

    fn is_discovering(&self, dst: Ipv6Addr) -> bool {
        self.name_of(dst).is_some_and(|name| self.aodv.is_discovering(name))
    }

    fn discover(&mut self, now: Instant, dst: Ipv6Addr) -> bool {
        self.name_of(dst).is_some_and(|name| self.aodv.discover(now, name))
    }

    fn handle_use(&mut self, now: Instant, src: Ipv6Addr, dst: Ipv6Addr, from: Address) {
        // A packet that begins here has no previous hop.
        let from = match from {
            Address::Short(from) => Some(from),
            _ => None,
        };
        let (src, dst) = (self.name_of(src), self.name_of(dst));
        self.aodv.handle_use(now, src, dst, from);
    }

    fn handle_stray(&mut self, now: Instant, dst: Ipv6Addr, from: Address) -> bool {
        let (Some(name), Address::Short(from)) = (self.name_of(dst), from) else { return false };
        self.aodv.handle_stray(now, name, from);
        true
    }

    fn handle_loop(&mut self, now: Instant, dst: Ipv6Addr) {
        if let Some(name) = self.name_of(dst) {
            self.aodv.handle_loop(now, name);
        }
    }

    // With several channels a flood takes longer than its delays allow for. Longer delays cost more
    // datagrams than the collisions: 2 % of them in 344 networks with four channels.
    fn set_broadcast_time(&mut self, period: Duration, _: u32) {
        self.aodv.set_broadcast(period);
    }

    fn handle_heard(&mut self, now: Instant, from: u16, _: i8, lqi: u8) {
        self.aodv.handle_heard(now, from, lqi);
    }

    fn handle_sent(&mut self, now: Instant, to: Address, _: u8, acked: bool) {
        if let Address::Short(to) = to {
            self.aodv.handle_sent(now, to, acked);
        }
    }

    fn handle_message(&mut self, now: Instant, from: u16, _: i8, message: &[u8]) {
        // AODV counts the messages that it discards.
        let _ = self.aodv.handle_message(now, from, message);
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        let out = self.aodv.poll_message(now, buf)?;
        let to = match out.to {
            Destination::Broadcast => Address::BROADCAST,
            Destination::Short(to) => Address::Short(to),
        };
        Some(Message { to, len: out.len })
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.aodv.stats().reasons().for_each(|(reason, count)| each("aodv", reason, count));
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.aodv.poll_change().then_some(Change::Route)
    }

    fn deadline(&self) -> Option<Instant> {
        self.aodv.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.aodv.handle_deadline(now);
    }
}
