//! Forged messages from the upper-layer header on, and the headers before it.

use super::Known;
use crate::pair::{Seeded, Source};
use core::net::Ipv6Addr;
use kinglet_wire::icmpv6;
use kinglet_wire::ipv6::{HEADER_LEN, Header, protocol};
use kinglet_wire::udp;

/// Ports of CoAP (RFC 7252, 6.1) and of an attacker.
const COAP: u16 = 5_683;
const OWN: u16 = 49_152;
/// A CoAP request for the list of all resources, confirmable (RFC 6690, 4).
const WELL_KNOWN_CORE: [u8; 21] = *b"\x40\x01\x12\x34\xbb.well-known\x04core";

/// Kinds of messages: those of routing, discovery and MLD, and those of any host.
pub(super) const KINDS: [Kind; 20] = [
    Kind::Dio,
    Kind::Dao,
    Kind::Dis,
    Kind::DaoAck,
    Kind::RouterAdvertisement,
    Kind::RouterSolicitation,
    Kind::NeighbourSolicitation,
    Kind::NeighbourAdvertisement,
    Kind::Redirect,
    Kind::DuplicateAddress,
    Kind::ListenerQuery,
    Kind::ListenerReport,
    Kind::Mesh,
    Kind::Aodv,
    Kind::Error,
    Kind::Syn,
    Kind::Segment,
    Kind::Echo,
    Kind::Coap,
    Kind::Nonsense,
];

/// Kind of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Dio,
    Dao,
    Dis,
    DaoAck,
    RouterAdvertisement,
    RouterSolicitation,
    NeighbourSolicitation,
    NeighbourAdvertisement,
    Redirect,
    DuplicateAddress,
    ListenerQuery,
    ListenerReport,
    Mesh,
    Aodv,
    Error,
    Syn,
    Segment,
    Echo,
    Coap,
    Nonsense,
}

/// Returns an IPv6 packet with this body.
pub(super) fn packet(
    (src, dst): (Ipv6Addr, Ipv6Addr),
    next_header: u8,
    hop_limit: u8,
    body: &[u8],
) -> Vec<u8> {
    let payload_len = body.len() as u16;
    let header =
        Header { traffic_class: 0, flow_label: 0, payload_len, next_header, hop_limit, src, dst };
    let mut octets = vec![0; HEADER_LEN];
    header.emit(&mut octets).expect("room for a header");
    octets.extend_from_slice(body);
    octets
}

/// Returns a message of this kind between these addresses: its protocol, and the octets with
/// checksum.
pub(super) fn upper(
    random: &mut Seeded,
    known: &Known,
    kind: Kind,
    ends: (Ipv6Addr, Ipv6Addr),
) -> (u8, Vec<u8>) {
    let random = &mut Draw { random, known };
    let (next_header, mut octets) = match kind {
        Kind::Mesh | Kind::Aodv => {
            let port = known.routing_port;
            (protocol::UDP, datagram(port, port, &random.octets(4, 60)))
        }
        Kind::Coap => (protocol::UDP, datagram(OWN, COAP, &WELL_KNOWN_CORE)),
        Kind::Syn | Kind::Segment => (protocol::TCP, segment(random, kind == Kind::Syn)),
        Kind::Nonsense => {
            let protocols = [0, 6, 17, 41, 43, 44, 58, 59, 60, 255];
            return (protocols[random.below(10)], random.octets(0, 200));
        }
        _ => (protocol::ICMPV6, icmp(random, kind)),
    };
    let (src, dst) = ends;
    let sum = kinglet_wire::checksum::pseudo_header(src, dst, octets.len() as u32, next_header);
    let filled = match next_header {
        protocol::UDP => udp::fill_checksum(&mut octets, sum),
        protocol::TCP => {
            let mut checksum = kinglet_wire::checksum::Accumulator::new(sum);
            checksum.push(&octets);
            let field = kinglet_wire::checksum::field(checksum.sum());
            octets[16..18].copy_from_slice(&field.to_be_bytes());
            Ok(())
        }
        _ => icmpv6::fill_checksum(&mut octets, sum),
    };
    filled.expect("room for a checksum");
    (next_header, octets)
}

/// Random contents of a message.
struct Draw<'a> {
    random: &'a mut Seeded,
    known: &'a Known,
}

impl Draw<'_> {
    fn below(&mut self, bound: u32) -> usize {
        self.random.below(bound) as usize
    }

    fn octet(&mut self) -> u8 {
        self.random.below(256) as u8
    }

    /// Returns `least` to `most` random octets.
    fn octets(&mut self, least: u32, most: u32) -> Vec<u8> {
        let len = self.random.between(least, most);
        (0..len).map(|_| self.octet()).collect()
    }

    /// Returns an address inside the mesh, perhaps of no node.
    fn inside(&mut self) -> Ipv6Addr {
        let node = self.below(self.known.nodes.len() as u32);
        let mut octets = self.known.nodes[node].octets();
        if self.random.chance(64) {
            octets[15] = self.octet();
        }
        octets.into()
    }

    /// Returns the prefix of the mesh, or the attacker's.
    fn prefix(&mut self) -> Ipv6Addr {
        let [a, b, c, d, ..] = self.known.nodes[0].segments();
        let own = Ipv6Addr::new(0x2001, 0xdb8, 0xbad, 0, 0, 0, 0, 0);
        if self.random.chance(128) { own } else { Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0) }
    }
}

fn datagram(src: u16, dst: u16, body: &[u8]) -> Vec<u8> {
    let length = (udp::HEADER_LEN + body.len()) as u16;
    let mut octets = vec![0; udp::HEADER_LEN];
    let header = udp::Header { src_port: src, dst_port: dst, length, checksum: 0 };
    header.emit(&mut octets).expect("room for a header");
    octets.extend_from_slice(body);
    octets
}

/// Returns a SYN, or a segment of a connection that the attacker cannot see.
fn segment(random: &mut Draw<'_>, syn: bool) -> Vec<u8> {
    let ports = &random.known.ports;
    let at = random.random.below(ports.len().max(1) as u32) as usize;
    let dst = ports.get(at).copied().unwrap_or(80);
    let src = 1_024 + random.below(60_000) as u16;
    let flags = if syn { 2 } else { [4, 16, 17, 18, 20][random.below(5)] };
    let mut octets = [src.to_be_bytes(), dst.to_be_bytes()].concat();
    octets.extend(random.octets(8, 8));
    octets.extend([0x50, flags, 4, 0, 0, 0, 0, 0]);
    if !syn {
        octets.extend(random.octets(0, 40));
    }
    octets
}

fn icmp(random: &mut Draw<'_>, kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Dio => dio(random),
        Kind::Dao => dao(random),
        Kind::Dis => vec![155, 0, 0, 0, 0, 0],
        Kind::DaoAck => vec![155, 3, 0, 0, 0, 0, random.octet(), random.octet()],
        Kind::RouterAdvertisement => router_advertisement(random),
        Kind::RouterSolicitation => [&[133, 0, 0, 0, 0, 0, 0, 0][..], &link(random, 1)].concat(),
        Kind::NeighbourSolicitation => {
            let target = random.inside().octets();
            [&[135, 0, 0, 0, 0, 0, 0, 0], &target[..], &link(random, 1)].concat()
        }
        Kind::NeighbourAdvertisement => {
            let target = random.inside().octets();
            [&[136, 0, 0, 0, 0xe0, 0, 0, 0], &target[..], &link(random, 2)].concat()
        }
        Kind::Redirect => {
            let (target, of) = (random.inside().octets(), random.inside().octets());
            [&[137, 0, 0, 0, 0, 0, 0, 0], &target[..], &of[..], &link(random, 2)].concat()
        }
        Kind::DuplicateAddress => {
            // A request or a confirmation (RFC 6775, 4.4).
            let (kind, status) = (157 + random.octet() % 2, random.octet() % 3);
            let (rovr, address) = (random.octets(8, 8), random.inside().octets());
            [&[kind, 0, 0, 0, status, 0, 0, 60], &rovr[..], &address[..]].concat()
        }
        Kind::ListenerQuery => [&[130, 0, 0, 0, 0, 1, 0, 0][..], &[0; 16], &[2, 1, 0, 0]].concat(),
        Kind::ListenerReport => {
            let group = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 0xbad).octets();
            let record = 1 + random.octet() % 6;
            [&[143, 0, 0, 0, 0, 0, 0, 1, record, 0, 0, 0], &group[..]].concat()
        }
        Kind::Error => error(random),
        _ => {
            let len = [8, 56, 500, 1_208][random.below(4)];
            let fill: Vec<u8> = (0..len).map(|at| at as u8).collect();
            [&[128, 0, 0, 0, 0xba, 0xad, 0, 1], &fill[..]].concat()
        }
    }
}

/// Returns a DIO of the mesh's DODAG with any rank and version, or of a false one; with the
/// shortest Trickle interval, and with a prefix.
fn dio(random: &mut Draw<'_>) -> Vec<u8> {
    let root = random.known.nodes[0];
    let dodag = if random.random.chance(128) { root } else { random.inside() };
    let [high, low] = [0, 128, 256, 512, 0xffff_u16][random.below(5)].to_be_bytes();
    let mode = 1 + random.octet() % 2;
    let version = [0, 240, 241, random.octet()][random.below(4)];
    let head = [155, 1, 0, 0, 0, version, high, low, 0x80 | mode << 3, random.octet(), 0, 0];
    let fast = [4, 14, 0, 20, 1, 1, 14, 0, 0, 128, 0, 1, 0, 255, 0, 1];
    let prefix = random.prefix().octets();
    let lasting = [8, 30, 64, 0xc0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0];
    [&head[..], &dodag.octets(), &fast, &lasting, &prefix].concat()
}

/// Returns a DAO that a node is behind another one, or not any more.
fn dao(random: &mut Draw<'_>) -> Vec<u8> {
    let (target, parent) = (random.inside().octets(), random.inside().octets());
    let (sequence, lifetime) = (random.octet(), [0, 30, 255][random.below(3)]);
    let head = [155, 2, 0, 0, 0, 0, 0, sequence];
    let storing = random.random.chance(128);
    let transit = [6, if storing { 4 } else { 20 }, 0, 0x80, sequence, lifetime];
    let parent = if storing { &[][..] } else { &parent };
    [&head[..], &[5, 18, 0, 128], &target, &transit, parent].concat()
}

/// Returns an advertisement with a prefix, and with a 6LoWPAN context that replaces a known one.
fn router_advertisement(random: &mut Draw<'_>) -> Vec<u8> {
    let (prefix, other) = (random.prefix().octets(), random.prefix().octets());
    let life = [0, 0x23, 0xff][random.below(3)];
    let head = [134, 0, 0, 0, 64, 0, life, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    let information = [3, 4, 64, 0xc0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0];
    let context = [34, 2, 64, 0x10 | (random.octet() % 4), 0, 0, 5, 160];
    let link = link(random, 1);
    [&head[..], &information, &prefix, &context, &other[..8], &link].concat()
}

/// Returns a link-layer address option with a short address.
fn link(random: &mut Draw<'_>, kind: u8) -> Vec<u8> {
    let shorts = &random.known.shorts;
    let [high, low] = shorts[random.random.below(shorts.len() as u32) as usize].to_be_bytes();
    vec![kind, 1, high, low, 0, 0, 0, 0]
}

/// Returns an error of any type about a segment of a node to the host.
fn error(random: &mut Draw<'_>) -> Vec<u8> {
    let (src, host) = (random.inside(), random.known.host);
    let mut quoted = segment(random, false);
    quoted.truncate(20);
    let quoted = packet((src, host), protocol::TCP, 60, &quoted);
    let (kind, code) = [(1, 0), (1, 1), (1, 3), (1, 4), (2, 0), (3, 0), (4, 1)][random.below(7)];
    let mtu = [68_u32, 1_280, 40][random.below(3)].to_be_bytes();
    let head = [kind, code, 0, 0];
    [&head[..], &mtu, &quoted].concat()
}
