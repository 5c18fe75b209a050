//! RPL as a node's routing: its messages are ICMPv6's, its neighbours link-local addresses.
//!
//! Packets carry no RPL option here, as RIOT's carry none, so what finds a loop is the hop limit;
//! and a root sends no source routes, so networks are in storing mode.

use crate::config::Config;
use crate::routing::{Change, MAX_ICMPV6, MAX_MESSAGE, Message, Routing};
use core::net::Ipv6Addr;
use kinglet_net::{self as net, Icmpv6In, Icmpv6Out, Learnt, NextHop};
use kinglet_rpl::{self as rpl, Role, Rpl, Way};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::rpl::{ALL_NODES, ICMPV6_TYPE};
use kinglet_wire::sixlowpan::link_address_of;

/// Octets of an ICMPv6 message before what RPL writes: type, code, checksum.
const HEAD: usize = 4;
/// The hop limit of messages, of which those of a neighbour are one hop.
const HOP_LIMIT: u8 = 255;
/// Bits of an address that all nodes share.
const PREFIX_LEN: u8 = 64;

/// RPL among the layers of a node.
pub struct Rpled<S: rpl::Sizes> {
    rpl: Rpl<S>,
}

impl<S: rpl::Sizes> Rpled<S> {
    /// RPL for the node with this configuration, whose short address and seed take the place of
    /// those in `rpl`.
    pub const fn new<K>(node: &Config<K>, rpl: rpl::Config) -> Self {
        let identifier = identifier_of(node.mac.short);
        Rpled { rpl: Rpl::new(rpl::Config { identifier, seed: node.seed, ..rpl }) }
    }

    /// RPL, to look at.
    pub const fn rpl(&self) -> &Rpl<S> {
        &self.rpl
    }

    fn is_leaf(&self) -> bool {
        self.rpl.config().role == Role::Leaf
    }
}

/// The interface identifier of a short address (RFC 6282, 3.2.2).
const fn identifier_of(short: u16) -> u64 {
    0x0000_00FF_FE00_0000 | short as u64
}

/// The link-local address of the neighbour with a short address.
fn link_local_of(short: u16) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(identifier_of(short)))
}

impl<S: rpl::Sizes> net::Routing for Rpled<S> {
    const NONE: Self = Rpled { rpl: Rpl::new(rpl::Config::OFF) };
    const PORT: Option<u16> = None;
    const ICMPV6: &'static [u8] = &[ICMPV6_TYPE];
    const GROUP: Option<Ipv6Addr> = Some(ALL_NODES);

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        if self.rpl.config().role == Role::Off {
            return None;
        }
        let via = match self.rpl.route(dst) {
            Way::Neighbour(next) => Some(NextHop::Link(link_address_of(next))),
            Way::SourceRoute | Way::Unreachable => None,
            // The root has ways of its own.
            Way::Outside => return None,
        };
        let own = self.rpl.address();
        let inside = own.is_some_and(|own| kinglet_wire::ipv6::same_prefix(own, dst, PREFIX_LEN));
        Some(Learnt { prefix_len: if inside { PREFIX_LEN } else { 0 }, via })
    }
}

impl<S: rpl::Sizes> Routing for Rpled<S> {
    fn is_on(&self) -> bool {
        self.rpl.config().role != Role::Off
    }

    fn listens(&self) -> bool {
        self.is_leaf() && self.rpl.parent().is_none()
    }

    fn handle_heard(&mut self, _: Instant, _: u16, _: i8) {}

    fn handle_sent(&mut self, now: Instant, to: u16, transmissions: u8, acked: bool) {
        self.rpl.handle_sent(now, link_local_of(to), transmissions, acked);
    }

    fn handle_message(&mut self, _: Instant, _: u16, _: i8, _: &[u8]) {}

    fn poll_message(&mut self, _: Instant, _: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        None
    }

    fn handle_icmpv6(&mut self, now: Instant, message: Icmpv6In<'_>) {
        let Some((&[_, code, ..], body)) = message.octets.split_first_chunk::<HEAD>() else {
            return;
        };
        let (from, multicast) = (message.header.src, message.header.dst.is_multicast());
        // A neighbour's own message comes from its own address.
        if is_link_local(from) && link_address_of(from) != message.from {
            return;
        }
        // What RPL discards it has counted.
        let _ = self.rpl.handle_message(now, from, multicast, code, body);
    }

    fn poll_icmpv6(&mut self, now: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        let (head, body) = buf.split_first_chunk_mut::<HEAD>()?;
        let out = self.rpl.poll_message(now, body)?;
        *head = [ICMPV6_TYPE, out.code, 0, 0];
        let via = match out.to {
            to if to.is_multicast() => Some(Address::BROADCAST),
            to if is_link_local(to) => Some(link_address_of(to)),
            _ => None,
        };
        let len = out.len.saturating_add(HEAD);
        let src = via.is_some().then(|| {
            let identifier = self.rpl.config().identifier;
            Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(identifier))
        });
        Some(Icmpv6Out { src, dst: out.to, via, hop_limit: HOP_LIMIT, len })
    }

    fn poll_change(&mut self) -> Option<Change> {
        loop {
            match self.rpl.poll_change()? {
                rpl::Change::Parent(parent) if self.is_leaf() => {
                    let short = parent.map(link_address_of).and_then(|address| match address {
                        Address::Short(short) => Some(short),
                        _ => None,
                    });
                    return Some(Change::Parent(short));
                }
                // Routers ask for their ways, and addresses are given.
                rpl::Change::Parent(_) | rpl::Change::Prefix(_) => {}
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.rpl.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.rpl.handle_deadline(now);
    }
}
