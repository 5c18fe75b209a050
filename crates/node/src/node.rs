//! How the layers are joined.
//!
//! In: radio event → [`Mac`] → [`Net`] → TCP. Out is a pull: the MAC has a free slot → [`Net`] writes
//! the next frame into it, and when it has none, one segment is taken from TCP. Nothing is formed
//! before it can leave, and a payload is copied once, from the send ring into the slot.

use crate::peer::AddressPair;
use crate::profile::Profile;
use core::net::Ipv6Addr;
use kinglet_mac::{self as mac, Mac, Submission, TxRequest};
use kinglet_net::{self as net, Body, BodySource, Delivery, FrameIn, FrameLimits, Net, Outgoing};
use kinglet_radio::{Capabilities, Event, Filter};
use kinglet_tcp::{self as tcp, Endpoint, PayloadRef};
use kinglet_time::{Instant, earliest};
use kinglet_wire::ipv6::protocol;

/// What a node is told when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The MAC's part.
    pub mac: mac::Config,
    /// The network layer's part. `link` and `alias` must be the MAC's addresses.
    pub net: net::Config,
    /// TCP's part.
    pub tcp: tcp::Config,
    /// Decides the MAC's random numbers; must differ from node to node.
    pub seed: u64,
}

impl Config {
    /// The defaults of all layers for a node with these addresses. `seed` and `secret` must differ
    /// from node to node, and the secret from boot to boot.
    pub const fn new(short: u16, extended: [u8; 8], seed: u64, secret: [u8; 16]) -> Self {
        let mac = mac::Config { short, extended, ..mac::Config::DEFAULT };
        let net = net::Config::new(mac.source());
        Config { mac, net, tcp: tcp::Config::new(secret), seed }
    }
}

/// What passed between the layers and what got lost there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// TCP segments that had no route.
    pub unroutable_segments: u32,
    /// Commands that the radio driver refused.
    pub refused_commands: u32,
}

/// A whole stack. See the crate documentation for the loop around it.
pub struct Node<P: Profile> {
    pub(crate) mac: Mac<P>,
    pub(crate) net: Net<P, PayloadRef>,
    pub(crate) tcp: Endpoint<AddressPair, P>,
    stats: Stats,
}

/// Lets the network layer read payloads where they are.
struct SendRings<'a, P: Profile>(&'a Endpoint<AddressPair, P>);

impl<P: Profile> BodySource<PayloadRef> for SendRings<'_, P> {
    fn read(&self, key: PayloadRef, offset: usize, out: &mut [u8]) -> Result<(), net::Stale> {
        self.0.read_payload(key, offset, out).map_err(|_| net::Stale)
    }
}

impl<P: Profile> Node<P> {
    /// A node with empty tables for a radio with these capabilities. Add addresses, routes and
    /// 6LoWPAN contexts through [`Node::net`].
    pub const fn new(config: Config, radio: Capabilities) -> Self {
        Node {
            mac: Mac::new(config.mac, radio, config.seed),
            net: Net::new(config.net),
            tcp: Endpoint::new(config.tcp),
            stats: Stats { unroutable_segments: 0, refused_commands: 0 },
        }
    }

    /// The address filter to set in the radio before the first command.
    pub const fn filter(&self) -> Filter {
        self.mac.filter()
    }

    /// Takes an event of the radio; `frame` holds the octets of a received frame.
    pub fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        // What a layer discards it has counted.
        let Ok(Some(indication)) = self.mac.handle_radio(now, event, frame) else { return };
        let payload = frame.get(indication.payload).unwrap_or_default();
        let frame = FrameIn { src: indication.src, dst: indication.dst, payload };
        if let Ok(Some(delivery)) = self.net.handle_frame(now, frame) {
            self.deliver(now, delivery);
        }
    }

    /// Takes an IPv6 packet from the host interface of a border router.
    pub fn handle_host_packet(&mut self, now: Instant, packet: &[u8]) {
        if let Ok(Some(delivery)) = self.net.handle_host_packet(now, packet) {
            self.deliver(now, delivery);
        }
    }

    /// Passes a packet for this node to TCP, the one upper layer that is not the network layer's own.
    fn deliver(&mut self, now: Instant, delivery: Delivery) {
        let Delivery { packet, header, upper, protocol } = delivery;
        if protocol == protocol::TCP {
            let segment = self.net.packet(packet).get(upper).unwrap_or_default();
            let peer = AddressPair { local: header.dst, remote: header.src };
            // What TCP drops it has counted.
            let _ = self.tcp.handle_packet(now, peer, segment);
        }
        self.net.release(packet);
    }

    /// The next command for the radio. At most three before the next event, deadline or call of the
    /// application.
    pub fn poll_radio(&mut self, now: Instant) -> Option<Submission<'_>> {
        self.fill_mac(now);
        self.mac.poll_radio(now)
    }

    /// Tells that the driver refused the last command of [`Node::poll_radio`].
    pub fn radio_refused(&mut self, now: Instant) {
        self.stats.refused_commands = self.stats.refused_commands.saturating_add(1);
        self.mac.radio_refused(now);
    }

    /// Moves frames into the MAC until it is full or nothing waits. Every round fills a slot of the
    /// MAC's queue, drops a stale datagram or takes a segment from TCP, so the rounds are bounded by
    /// the tables.
    fn fill_mac(&mut self, now: Instant) {
        while let Some(outcome) = self.mac.poll_outcome(now) {
            let delivered = outcome.result == mac::Delivery::Delivered;
            self.net.handle_outcome(now, net::Token(outcome.token.0), delivered);
        }
        while self.mac.can_accept(mac::Class::Control) {
            self.take_segment(now);
            let Some(pending) = self.net.pending() else { return };
            let class = match pending.class {
                net::Class::Data => mac::Class::Data,
                net::Class::Control => mac::Class::Control,
            };
            if !self.mac.can_accept(class) {
                return;
            }
            let token = mac::Token(pending.token.0);
            let request = TxRequest { dst: pending.dst, ack: pending.ack, token, class };
            let limits = FrameLimits { max_payload: self.mac.max_payload(pending.dst) };
            let (net, rings) = (&mut self.net, SendRings(&self.tcp));
            let filled = self.mac.enqueue(now, request, |room| {
                net.poll_frame(now, limits, &rings, room).map_or(0, |frame| frame.len)
            });
            if filled.is_err() {
                return;
            }
        }
    }

    /// Takes a segment from TCP if the network layer has none of its own yet.
    fn take_segment(&mut self, now: Instant) {
        while self.net.can_submit() {
            let Some(packet) = self.tcp.poll_packet(now) else { return };
            let tcp::Packet { peer, header, payload } = packet;
            let body = match payload.len {
                0 => Body::None,
                len => Body::External { key: payload, len },
            };
            let AddressPair { local: src, remote: dst } = peer;
            let hop_limit = self.net.config().hop_limit;
            let outgoing = Outgoing {
                src,
                dst,
                hop_limit,
                traffic_class: 0,
                flow_label: 0,
                protocol: protocol::TCP,
                upper: &header,
                body,
            };
            if self.net.submit(now, outgoing).is_err() {
                // TCP finds out by its timers, as with any loss.
                self.stats.unroutable_segments = self.stats.unroutable_segments.saturating_add(1);
            }
        }
    }

    /// Writes the next packet for the host interface of a border router to `buf`; 1280 octets always
    /// suffice.
    pub fn poll_host_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        self.take_segment(now);
        self.net.poll_host_packet(now, &SendRings(&self.tcp), buf)
    }

    /// When [`Node::handle_deadline`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        let below = earliest(self.mac.deadline(), self.net.deadline());
        earliest(below, self.tcp.deadline())
    }

    /// Does what is due; before the deadline, nothing.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.mac.handle_deadline(now);
        self.net.handle_deadline(now);
        self.tcp.handle_deadline(now);
    }

    /// The MAC, to look at.
    pub const fn mac(&self) -> &Mac<P> {
        &self.mac
    }

    /// Changes the MAC's link-retry delay (TCPlp §7.1) from the next retry on.
    pub const fn set_retry_delay(&mut self, longest: kinglet_time::Duration) {
        self.mac.set_retry_delay(longest);
    }

    /// Whether `address` is one of this node's.
    pub fn is_own(&self, address: Ipv6Addr) -> bool {
        self.net.is_own(address)
    }

    /// What passed between the layers.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
