//! IPv6 packets for the host interface of a border router, from a host next to it or from anywhere
//! on the Internet.

use super::Known;
use super::message::{KINDS, Kind, packet, upper};
use crate::pair::{Seeded, Source};
use core::net::Ipv6Addr;
use kinglet_wire::ipv6::protocol;

/// Address of an attacker with a genuine source address.
const STRANGER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, 1);
/// Largest number of packets in which a packet is encapsulated.
const TUNNELS: u32 = 29;
/// Longest packet that a mesh may accept (RFC 4944, 5.3: eleven bits).
const MTU: usize = 2_047;
/// Types of Routing header: RFC 5095 (deprecated), RFC 6275, RFC 6554, RFC 8754, experiments.
const ROUTES: [u8; 5] = [0, 2, 3, 4, 253];

/// A packet for the host interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forged {
    /// The whole packet.
    pub octets: Vec<u8>,
    /// True if no border router may forward it: because of its source, its destination, or a header
    /// that belongs to the mesh. `false` for a damaged packet.
    pub is_foreign: bool,
}

/// The attacker's source of packets.
pub struct Outside {
    random: Seeded,
    known: Known,
    /// The destination node of the current packet, in all of its headers.
    victim: usize,
}

impl Outside {
    /// Creates an attacker of this network.
    pub fn new(seed: u64, known: Known) -> Outside {
        Outside { random: Seeded::new(seed), known, victim: 0 }
    }

    /// Returns the next packet.
    pub fn packet(&mut self) -> Forged {
        let kind = KINDS[self.random.below(KINDS.len() as u32) as usize];
        self.victim = self.random.below(self.known.nodes.len() as u32) as usize;
        let (src, dst) = (self.source(), self.destination());
        let hop_limit = [255, 64, 1][self.random.below(3) as usize];
        let (mut next, mut body) = upper(&mut self.random, &self.known, kind, (src, dst));
        let mut is_foreign = src != STRANGER || is_near(dst);
        if self.random.chance(40) {
            (next, body) = self.extended(next, &body);
            is_foreign |= matches!(next, protocol::ROUTING | protocol::HOP_BY_HOP);
        }
        let mut octets = packet((src, dst), next, hop_limit, &body);
        if self.random.chance(80) {
            octets = self.in_tunnels(octets);
            is_foreign = true;
        }
        let whole = octets.clone();
        self.damage(&mut octets);
        is_foreign &= octets == whole;
        Forged { octets, is_foreign }
    }

    /// Returns a flood of SYNs or of echo requests to one node, at most `most`.
    pub fn flood(&mut self, most: u32) -> Vec<Forged> {
        let kind = if self.random.chance(128) { Kind::Syn } else { Kind::Echo };
        let at = self.random.below(self.known.nodes.len() as u32) as usize;
        let ends = (STRANGER, self.known.nodes[at]);
        let count = self.random.between(1, most);
        let mut one = || {
            let (next, body) = upper(&mut self.random, &self.known, kind, ends);
            Forged { octets: packet(ends, next, 64, &body), is_foreign: false }
        };
        (0..count).map(|_| one()).collect()
    }

    /// Returns its own address, or one that it has no right to use. The host is left out: packets
    /// of hosts that the configuration names by a 6LoWPAN context are not limited.
    fn source(&mut self) -> Ipv6Addr {
        let node = self.random.below(self.known.nodes.len() as u32) as usize;
        match self.random.below(12) {
            0 => Ipv6Addr::UNSPECIFIED,
            1 => Ipv6Addr::LOCALHOST,
            2 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
            3 | 4 => self.known.near(node),
            5 | 6 => self.known.nodes[node],
            7 => self.no_node(),
            _ => STRANGER,
        }
    }

    fn destination(&mut self) -> Ipv6Addr {
        let node = self.victim;
        match self.random.below(12) {
            0 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x1a),
            1 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
            2 => Ipv6Addr::new([0xff03, 0xff05, 0xff0e][node % 3], 0, 0, 0, 0, 0, 0, 1),
            3 => self.known.near(node),
            4 => self.no_node(),
            5 | 6 => self.known.nodes[0],
            _ => self.known.nodes[node],
        }
    }

    /// Returns an address of the mesh's prefix that no node has.
    fn no_node(&mut self) -> Ipv6Addr {
        let [a, b, c, d, ..] = self.known.nodes[0].segments();
        Ipv6Addr::new(a, b, c, d, 0, 0xff, 0xfe00, 0x700 + self.random.below(200) as u16)
    }

    /// Adds an extension header before a body: a Routing header, the RPL option, or a fragment
    /// header.
    fn extended(&mut self, next: u8, body: &[u8]) -> (u8, Vec<u8>) {
        let node = self.random.below(self.known.nodes.len() as u32) as usize;
        let (through, number) = (self.known.nodes[node].octets(), self.random.below(256) as u8);
        match self.random.below(3) {
            0 => {
                let kind = ROUTES[self.random.below(ROUTES.len() as u32) as usize];
                let left = self.random.below(3) as u8;
                let head = [next, 2, kind, left, 0, 0, 0, 0];
                (protocol::ROUTING, [&head[..], &through, body].concat())
            }
            1 => {
                // RFC 6553 and RFC 9008: the option has two types.
                let kind = [0x63, 0x23][self.random.below(2) as usize];
                let head = [next, 0, kind, 4, number & 0xe0, 0, 1, number];
                (protocol::HOP_BY_HOP, [&head[..], body].concat())
            }
            _ => {
                let offset = [0, 1, 8][self.random.below(3) as usize] << 3;
                let more = self.random.below(2) as u8;
                let head = [next, 0, 0, offset | more, 0xba, 0xad, 0, number];
                (protocol::FRAGMENT, [&head[..], body].concat())
            }
        }
    }

    fn in_tunnels(&mut self, mut octets: Vec<u8>) -> Vec<u8> {
        let deep = self.random.chance(32);
        let count = self.random.between(1, if deep { TUNNELS } else { 2 });
        for _ in 0..count {
            let ends = (self.source(), self.destination());
            octets = packet(ends, protocol::IPV6, 64, &octets);
        }
        octets
    }

    /// Changes some octets of a few packets, and makes some too short or too long.
    fn damage(&mut self, octets: &mut Vec<u8>) {
        if self.random.chance(24) {
            let at = self.random.below(octets.len() as u32) as usize;
            octets[at] ^= 1 << self.random.below(8);
        }
        match self.random.below(40) {
            0 => octets.truncate(self.random.below(octets.len() as u32) as usize),
            1 => octets.resize(MTU, 0),
            _ => octets.truncate(MTU),
        }
    }
}

/// Returns whether a destination is on the link, or a group of the mesh itself (RFC 7346, 2).
fn is_near(dst: Ipv6Addr) -> bool {
    matches!(dst.octets(), [0xfe, 0x80, ..] | [0xff, 2 | 3, ..])
}
