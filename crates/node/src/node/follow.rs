//! The execution of routing: its inputs, its decisions, its messages.

use super::{Node, SendRings};
use crate::discovery::{Discovery, Resolved};
use crate::profile::Profile;
use kinglet_mac as mac;
use kinglet_mem::Array;
use kinglet_nd::Configured;
use kinglet_net::{self as net, InterfaceAddress, Queued};
use kinglet_routing::{Change, MAX_ICMPV6, MAX_MESSAGE, Routing};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;

impl<P: Profile> Node<P> {
    /// Returns the routing protocol for inspection.
    pub const fn routing(&self) -> &P::Routing {
        self.net.routing()
    }

    pub(crate) const fn routing_mut(&mut self) -> &mut P::Routing {
        self.net.routing_mut()
    }

    /// Reports a frame from a neighbour to routing.
    pub(crate) fn routing_heard(&mut self, now: Instant, from: &Address, rssi_dbm: i8, lqi: u8) {
        if let &Address::Short(from) = from {
            self.routing_mut().handle_heard(now, from, rssi_dbm, lqi);
        }
    }

    /// Passes a message from a neighbour to routing.
    pub(crate) fn routing_message(
        &mut self,
        now: Instant,
        from: &Address,
        rssi_dbm: i8,
        message: net::Delivery,
    ) {
        let mut octets = [0; MAX_MESSAGE + 1];
        let packet = self.net.packet(message.packet).get(message.upper).unwrap_or_default();
        // A message longer than any valid one is passed one octet too long, so that it is refused.
        let len = kinglet_mem::copy(&mut octets, packet);
        let octets = octets.get(..len).unwrap_or_default();
        if let &Address::Short(from) = from {
            self.routing_mut().handle_message(now, from, rssi_dbm, octets);
        }
        self.net.release(message.packet);
    }

    /// Handles an ICMPv6 message from a neighbour whose type the network layer only carries.
    pub(crate) fn icmpv6_message(
        &mut self,
        now: Instant,
        from: &Address,
        rssi_dbm: i8,
        message: net::Delivery,
    ) {
        self.net.hear_icmpv6(*from, message, |routing, discovery, message, own| {
            let kind = message.octets.first();
            if kind.is_some_and(|kind| P::Routing::ICMPV6.contains(kind)) {
                routing.handle_icmpv6(now, rssi_dbm, message);
            } else {
                discovery.handle_icmpv6(now, message, own);
            }
        });
    }

    /// Reports the result of a frame. A channel that was never free is no information about a link.
    pub(crate) fn routing_outcome(&mut self, now: Instant, outcome: &mac::Outcome) {
        let acked = match outcome.result {
            mac::Delivery::Delivered => true,
            mac::Delivery::NoAck => false,
            _ => return,
        };
        let (to, transmissions) = (outcome.dst, outcome.transmissions);
        if to.is_unicast() {
            self.routing_mut().handle_sent(now, to, transmissions, acked);
            self.net.discovery_mut().handle_sent(now, to, acked);
        }
    }

    /// Releases packets for resolved neighbours, and takes discovery's messages while there is
    /// room.
    pub(crate) fn follow_discovery(&mut self, now: Instant) {
        if self.net.discovery().is_on() {
            self.carry_out_discovery(now);
            self.listen();
        }
    }

    #[inline(never)]
    fn carry_out_discovery(&mut self, now: Instant) {
        // At most one result for each neighbour.
        while let Some(Resolved { neighbour, found }) = self.net.discovery_mut().poll_resolved() {
            self.net.handle_resolution(now, neighbour, found);
        }
        // At most one change for each address and context.
        while let Some(configured) = self.net.discovery_mut().poll_configured(now) {
            self.configure(configured);
        }
        // At most one change for each registered host.
        while self.routing().serves_leaves()
            && let Some(leaf) = self.net.discovery_mut().poll_routed(now)
        {
            self.routing_mut().handle_leaf(now, &leaf);
        }
        let mut buf = [0; MAX_ICMPV6];
        while self.net.can_send_routing_message() {
            let mut out = self.net.discovery_mut().poll_icmpv6(now, &mut buf);
            if <P::Discovery as net::Discovery>::REPORTS && out.is_none() {
                out = self
                    .net
                    .with_groups(|discovery, groups| discovery.poll_report(now, groups, &mut buf));
            }
            let Some(out) = out else { return };
            // There is room, as was just checked; after any other failure discovery repeats itself.
            let _ = self.net.send_icmpv6(now, &out, &buf);
        }
    }

    /// Keeps the receiver of a sleepy node on while an answer may come at any time.
    fn listen(&mut self) {
        if self.sleeps {
            let listens = self.routing().listens() || self.net.discovery().listens();
            self.mac.set_rx_on_when_idle(listens);
        }
    }

    /// Carries out the decisions of routing, and takes its messages while there is room.
    pub(crate) fn follow_routing(&mut self, now: Instant) {
        if self.routing().is_on() {
            self.carry_out(now);
        }
    }

    #[inline(never)]
    fn carry_out(&mut self, now: Instant) {
        self.listen();
        if P::Routing::WATCHES_QUEUE {
            let limit = usize::from(self.net.config().queue_limit);
            let room = limit.min(<P::Output as Array<Option<Queued>>>::LEN);
            let waiting = self.net.info().queued;
            self.routing_mut().handle_queue(now, waiting, room);
        }
        // At most one change for each child, one for the parent, and those of new network data.
        while let Some(change) = self.routing_mut().poll_change() {
            match change {
                // A table without room for a default route is for static routes only, and routing
                // knows the route too.
                Change::Parent(parent) => {
                    let _ = self.set_parent(now, parent);
                    self.net.reroute_to_parent();
                    if Self::ASKS && !self.routing().announces_sleep() {
                        self.poller.ask_soon();
                    }
                }
                Change::Route => {
                    self.net.reroute_to_parent();
                    self.reroute(now);
                }
                // A child that does not fit into the network layer's table gets its packets
                // directly.
                Change::Child(child) if Self::HAS_CHILDREN => {
                    let _ = self.add_child(child);
                }
                Change::NoChild(child) if Self::HAS_CHILDREN => {
                    let _ = self.remove_child(now, child);
                }
                Change::Address(address) if P::Routing::GIVES_ADDRESSES => {
                    // An address that its host has stays with the host.
                    if !self.net.is_own(address) && !self.net.is_hosts(address) {
                        self.configure(Configured::Address(address));
                        self.routing_mut().handle_address(address);
                    }
                }
                Change::NoAddress(address) if P::Routing::GIVES_ADDRESSES => {
                    self.configure(Configured::NoAddress(address));
                }
                Change::Context { id, context } if P::Routing::GIVES_ADDRESSES => {
                    self.configure(Configured::Context { id, context });
                }
                Change::Child(_) | Change::NoChild(_) => {}
                Change::Address(_) | Change::NoAddress(_) | Change::Context { .. } => {}
            }
        }
        if !P::Routing::ICMPV6.is_empty() {
            self.send_icmpv6(now);
        }
        let mut buf = [0; MAX_MESSAGE];
        while self.net.can_send_routing_message() {
            let Some(out) = self.routing_mut().poll_message(now, &mut buf) else { return };
            // There is room, as was just checked; after any other failure routing repeats itself.
            let octets = buf.get(..out.len).unwrap_or_default();
            let _ = self.net.send_routing_message(now, out.to, octets);
        }
    }

    /// Reroutes packets that wait for a route, or drops them; their senders are notified.
    fn reroute(&mut self, now: Instant) {
        if !Self::DISCOVERS {
            return;
        }
        self.net.reroute(now);
        if self.net.has_errors() {
            self.report_soon(now);
        }
        self.net.park(now, &SendRings(&self.tcp));
        // At most as many reports as are kept.
        while let Some(report) = self.net.poll_error_about(protocol::TCP) {
            self.report(report);
        }
    }

    /// Leaves full tables as they are, so that manual configuration is never evicted.
    fn configure(&mut self, configured: Configured) {
        match configured {
            Configured::Address(address) if self.net.is_own(address) => {}
            Configured::Address(address) => {
                let _ = self.net.add_address(InterfaceAddress { address, prefix_len: 64 });
                self.net.discovery_mut().handle_join();
            }
            Configured::NoAddress(address) => {
                if let Some(index) = self.net.own_index(address) {
                    self.wake_tcp().forget(|peer| peer.local() == index);
                }
                let _ = self.net.remove_address(address);
            }
            Configured::HopLimit(hop_limit) => self.net.raise_hop_limit(hop_limit),
            Configured::Context { id, context } => {
                let _ = self.net.set_context(id, context);
            }
        }
    }

    fn send_icmpv6(&mut self, now: Instant) {
        let mut buf = [0; MAX_ICMPV6];
        while self.net.can_send_routing_message() {
            let Some(out) = self.routing_mut().poll_icmpv6(now, &mut buf) else { return };
            // The reasons are the same as for other messages.
            let _ = self.net.send_icmpv6(now, &out, &buf);
        }
    }
}
