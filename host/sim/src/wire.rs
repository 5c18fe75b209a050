//! A wire between a border router and a host that can lose, duplicate and reorder packets.
//!
//! TCPlp §8.2 injects packet loss at the border router. This module injects it on the wire, outside
//! the stack. The host runs the same stack without a radio, or another one.

use crate::app::{Hosted, Tenants};
use crate::pcap::Captures;
use crate::rng::Stream;
use crate::trace::PacketId;
use core::any::Any;
use kinglet::wire::Ecn;
use kinglet::{Node, Profile};
use kinglet_time::{Duration, Instant, earliest};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Maximum packet length in a mesh (RFC 4944, 5.3: eleven bits).
const MTU: usize = 2047;

/// Behaviour of the wire; probabilities from 0 to 1. Values apply to both directions unless stated
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WireConfig {
    /// Delay of a packet on the wire.
    pub delay: Duration,
    /// Bits per second of each direction; packets are queued. `None` means no limit.
    pub rate_bps: Option<u32>,
    /// Probability of loss.
    pub loss: f64,
    /// Probability of loss towards the mesh, if it differs from `loss`.
    pub loss_to_mesh: Option<f64>,
    /// Probability of a duplicate.
    pub duplicate: f64,
    /// Probability of a mark (CE) if the sender is ECN-capable (RFC 3168 §5).
    pub mark: f64,
    /// Probability of an additional delay of up to `reorder_delay`, so that other packets overtake.
    pub reorder: f64,
    /// Maximum additional delay.
    pub reorder_delay: Duration,
}

/// Counters of packets on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireStats {
    /// Packets put on the wire.
    pub sent: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets duplicated.
    pub duplicated: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets with an additional delay.
    pub held_back: u64,
}

/// Direction of a packet; its order is used for packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    ToHost,
    ToMesh,
}

/// A packet on the wire, ordered by arrival and then by sending.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Packet {
    at: Instant,
    sequence: u64,
    direction: Direction,
    octets: Vec<u8>,
}

/// An event of a packet on the wire, for a trace.
#[derive(Clone, Debug)]
pub struct Passed {
    /// True towards the host, false towards the mesh.
    pub(crate) to_host: bool,
    pub(crate) fate: Passing,
    /// Number of the packet on the wire; a copy has the next number.
    pub(crate) number: u64,
    pub(crate) octets: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    Sent,
    Lost,
    Duplicated,
    Arrived,
}

impl Passed {
    /// Writes the event to the capture of the host if the host has sent or received the packet.
    pub(crate) fn capture(&self, captures: &mut Captures, now: u64, packet: Option<PacketId>) {
        let lost = if self.fate == Passing::Lost { ", lost on the wire" } else { "" };
        let comment = packet.map_or_else(String::new, |packet| format!("packet {packet}{lost}"));
        let out = !self.to_host;
        let here = match self.fate {
            Passing::Arrived => self.to_host,
            Passing::Sent | Passing::Lost => out,
            Passing::Duplicated => false,
        };
        if here {
            captures.packet(now, out, &comment, &self.octets);
        }
    }
}

impl Passing {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Passing::Sent => "sent",
            Passing::Lost => "lost",
            Passing::Duplicated => "duplicated",
            Passing::Arrived => "arrived",
        }
    }
}

/// Node at the far end of a wire.
pub trait FarEnd {
    /// Processes an IPv6 packet.
    fn handle_packet(&mut self, now: Instant, packet: &[u8]);

    /// Handles deadlines. Returns whether any was due.
    fn expire(&mut self, now: Instant) -> bool;

    /// Runs the applications. Returns whether they did anything.
    fn work(&mut self, now: Instant) -> bool;

    /// Writes the next IPv6 packet for the mesh to `buf`, which holds 2047 octets. Returns its
    /// length.
    fn poll_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize>;

    /// Time of the next deadline.
    fn deadline(&self) -> Option<Instant>;

    /// Application number `index`.
    fn app(&self, index: usize) -> Option<&dyn Any>;
}

/// A host with the same stack as the nodes.
pub struct SameStack<P: Profile> {
    node: Box<Node<P>>,
    apps: Tenants<P>,
}

impl<P: Profile> SameStack<P> {
    /// `node` with these applications.
    pub fn new(node: Box<Node<P>>, apps: Vec<Box<dyn Hosted<P>>>) -> Self {
        SameStack { node, apps: Tenants::new(apps) }
    }
}

impl<P: Profile> FarEnd for SameStack<P> {
    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        self.node.handle_host_packet(now, packet);
    }

    fn expire(&mut self, now: Instant) -> bool {
        let due = self.node.deadline().is_some_and(|at| at <= now);
        if due {
            self.node.handle_deadline(now);
        }
        due
    }

    fn work(&mut self, now: Instant) -> bool {
        self.apps.poll(now, &mut self.node)
    }

    fn poll_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        self.node.poll_host_packet(now, buf)
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.node.deadline(), self.apps.deadline())
    }

    fn app(&self, index: usize) -> Option<&dyn Any> {
        self.apps.any(index)
    }
}

/// A wire and the host at its end.
pub struct Wire {
    far: Box<dyn FarEnd + Send>,
    config: WireConfig,
    random: Stream,
    packets: BinaryHeap<Reverse<Packet>>,
    /// Time at which the last packet has left its sender, for each direction.
    free_at: [Instant; 2],
    sequence: u64,
    stats: WireStats,
    /// Events of packets, if traced.
    passed: Option<Vec<Passed>>,
}

impl Wire {
    /// A wire to `far`.
    pub fn new(far: Box<dyn FarEnd + Send>, config: WireConfig, random: Stream) -> Self {
        let (packets, stats) = (BinaryHeap::new(), WireStats::default());
        let free_at = [Instant::ZERO; 2];
        Wire { far, config, random, packets, free_at, sequence: 0, stats, passed: None }
    }

    /// Application number `index` of the host, if it is an `A`.
    pub fn app<A: 'static>(&self, index: usize) -> Option<&A> {
        self.far.app(index)?.downcast_ref()
    }

    /// Counters of packets.
    pub fn stats(&self) -> &WireStats {
        &self.stats
    }

    /// Time of the next event on the wire or at the host.
    pub fn deadline(&self) -> Option<Instant> {
        let arrival = self.packets.peek().map(|Reverse(packet)| packet.at);
        earliest(arrival, self.far.deadline())
    }

    /// Starts or stops the recording of packet events.
    pub(crate) fn trace(&mut self, on: bool) {
        self.passed = on.then(Vec::new);
    }

    /// Packet events since the last call.
    pub(crate) fn take_passed(&mut self) -> Vec<Passed> {
        self.passed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note(&mut self, direction: Direction, fate: Passing, number: u64, octets: &[u8]) {
        if let Some(passed) = &mut self.passed {
            let (to_host, octets) = (direction == Direction::ToHost, octets.to_vec());
            passed.push(Passed { to_host, fate, number, octets });
        }
    }

    /// Moves due packets between `router` and the host. Returns whether any moved.
    pub(crate) fn exchange<P: Profile>(&mut self, now: Instant, router: &mut Node<P>) -> bool {
        let mut busy = self.far.expire(now);
        while self.packets.peek().is_some_and(|Reverse(packet)| packet.at <= now) {
            let Some(Reverse(packet)) = self.packets.pop() else { break };
            self.note(packet.direction, Passing::Arrived, packet.sequence, &packet.octets);
            match packet.direction {
                Direction::ToHost => self.far.handle_packet(now, &packet.octets),
                Direction::ToMesh => router.handle_host_packet(now, &packet.octets),
            }
            busy = true;
        }
        busy |= self.far.work(now);
        let mut buf = [0; MTU];
        while let Some(len) = router.poll_host_packet(now, &mut buf) {
            self.put(now, Direction::ToHost, &buf[..len]);
            busy = true;
        }
        while let Some(len) = self.far.poll_packet(now, &mut buf) {
            self.put(now, Direction::ToMesh, &buf[..len]);
            busy = true;
        }
        busy
    }

    fn put(&mut self, now: Instant, direction: Direction, octets: &[u8]) {
        self.stats.sent += 1;
        let WireConfig { loss, loss_to_mesh, .. } = self.config;
        let loss = loss_to_mesh.filter(|_| direction == Direction::ToMesh).unwrap_or(loss);
        if self.random.chance(loss) {
            self.stats.lost += 1;
            return self.note(direction, Passing::Lost, 0, octets);
        }
        let mut octets = octets.to_vec();
        if self.config.mark > 0.0 && self.random.chance(self.config.mark) && mark(&mut octets) {
            self.stats.marked += 1;
        }
        let copies = if self.random.chance(self.config.duplicate) { 2 } else { 1 };
        self.stats.duplicated += copies - 1;
        for copy in 0..copies {
            let mut at = self.leaves(now, direction, octets.len()) + self.config.delay;
            if self.random.chance(self.config.reorder) {
                self.stats.held_back += 1;
                let longest = self.config.reorder_delay.as_micros() as f64;
                at += Duration::from_micros((self.random.unit() * longest) as u64);
            }
            self.sequence += 1;
            let fate = if copy == 0 { Passing::Sent } else { Passing::Duplicated };
            self.note(direction, fate, self.sequence, &octets);
            let packet = Packet { at, sequence: self.sequence, direction, octets: octets.clone() };
            self.packets.push(Reverse(packet));
        }
    }
}

impl Wire {
    /// Time at which a packet of `len` octets has left its sender, after those queued before it.
    fn leaves(&mut self, now: Instant, direction: Direction, len: usize) -> Instant {
        let Some(rate_bps) = self.config.rate_bps else { return now };
        left_at(rate_bps, &mut self.free_at[direction as usize], now, len)
    }
}

/// Time at which the last bit of `len` octets has been sent on a wire that is free at `free_at`.
fn left_at(rate_bps: u32, free_at: &mut Instant, now: Instant, len: usize) -> Instant {
    let bits = len as u64 * 8;
    let takes = Duration::from_micros((bits * 1_000_000).div_ceil(u64::from(rate_bps.max(1))));
    *free_at = now.max(*free_at) + takes;
    *free_at
}

/// Marks an IPv6 packet like a congested router. Returns whether the sender is ECN-capable.
fn mark(packet: &mut [u8]) -> bool {
    // Version, Traffic Class and Flow Label: the class's lower half begins the second octet.
    let Some(octet) = packet.get_mut(1) else { return false };
    let capable = Ecn::of(*octet >> 4) != Ecn::NotEct;
    if capable {
        *octet |= Ecn::Ce.traffic_class() << 4;
    }
    capable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_for_those_before_them() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut free_at = Instant::ZERO;
        let mut leaves = |ms, len| left_at(8_000, &mut free_at, at(ms), len);
        // One octet per millisecond.
        assert_eq!(leaves(10, 100), at(110));
        assert_eq!(leaves(20, 50), at(160), "behind the first");
        assert_eq!(leaves(500, 1), at(501), "nothing is in its way");
    }

    #[test]
    fn only_packets_of_capable_senders_are_marked() {
        for (before, after) in [(0x0f, 0x0f), (0x1f, 0x3f), (0x2a, 0x3a), (0x3f, 0x3f)] {
            let mut packet = [0x6f, before, 0xff];
            assert_eq!(mark(&mut packet), before > 0x0f);
            assert_eq!(packet, [0x6f, after, 0xff]);
        }
    }
}
