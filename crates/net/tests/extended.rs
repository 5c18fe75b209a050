//! What routing adds to packets: the option, source routes and outer headers, and what becomes of
//! them at those who get such packets.

mod common;

use common::{LIMITS, NOW, global};
use core::net::Ipv6Addr;
use kinglet_net::{
    Added, Body, BodySource, Config, Delivery, Discard, ExtendedHead, ExtendedIphc, FrameIn,
    FrameLimits, InterfaceAddress, Learnt, MAX_ADDED, Net, NextHop, Origin, Outgoing, Partial,
    Queued, Rfc4944, Route, Routing, Sizes, Slot, Stale, UdpSocket,
};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{HEADER_LEN, Header, protocol};
use kinglet_wire::rpl::{PacketInformation, SourceRoute};
use kinglet_wire::sixlowpan::{Context, ExtensionHeaders, Integrity, decompress};

/// Everybody is behind node 2; node 1 is the root, whose packets to node 3 take a source route.
/// A SenderRank of 666 is refused, and node 9 cannot be reached.
struct Marking {
    root: bool,
    broken: Vec<(Ipv6Addr, Ipv6Addr)>,
}

const OPTION: PacketInformation = PacketInformation {
    down: true,
    rank_error: false,
    forwarding_error: false,
    instance: 0,
    sender_rank: 256,
};

impl Routing for Marking {
    const NONE: Self = Marking { root: false, broken: Vec::new() };
    const PORT: Option<u16> = None;
    const EXTENDS: bool = true;
    type Head = ExtendedHead;

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        if self.root && dst == OUTSIDE {
            return None;
        }
        let via = Some(NextHop::Link(Address::Short(2)));
        Some(Learnt { prefix_len: 64, via })
    }

    fn add(&self, packet: &Header, origin: Origin, out: &mut [u8; MAX_ADDED]) -> Option<Added> {
        let outer = match origin {
            Origin::Here => None,
            _ if !self.root => return None,
            _ => Some(global(1)),
        };
        let next = if outer.is_some() { protocol::IPV6 } else { packet.next_header };
        let (option, room) = out.split_at_mut(8);
        let far = self.root && packet.dst != global(2);
        let (kind, len, dst) = if far {
            let len = SourceRoute::emit(next, global(2), &[packet.dst], room).unwrap();
            (protocol::ROUTING, 8 + len, global(2))
        } else {
            (next, 8, packet.dst)
        };
        option.copy_from_slice(&OPTION.hop_by_hop(kind, PacketInformation::SKIPPED_IF_UNKNOWN));
        Some(Added { kind: protocol::HOP_BY_HOP, len, dst, outer })
    }

    fn relay(
        &mut self,
        _: Instant,
        _: &Header,
        option: &mut [u8],
    ) -> Result<Option<NextHop>, Discard> {
        let information = PacketInformation::read(option).unwrap();
        if information.sender_rank == 666 {
            return Err(Discard::Options);
        }
        PacketInformation { sender_rank: 1, ..information }.emit(option).unwrap();
        Ok(None)
    }

    fn follow(&mut self, _: Instant, next: Ipv6Addr, option: &mut [u8]) -> Result<(), Discard> {
        if next == global(9) {
            return Err(Discard::NoRoute);
        }
        let information = PacketInformation::read(option).unwrap();
        PacketInformation { sender_rank: 2, ..information }.emit(option).unwrap();
        Ok(())
    }

    fn handle_broken_route(&mut self, _: Instant, reporter: Ipv6Addr, next: Ipv6Addr) {
        self.broken.push((reporter, next));
    }
}

struct Plan;
impl Sizes for Plan {
    type Storage = [u8; 1400];
    type Packets = [Slot<Self::Storage>; 8];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 2];
    type Children = [Option<kinglet_net::Child>; 0];
    type Indirect = [Option<kinglet_net::Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 0];
    type Routes = [Option<Route>; 2];
    type Neighbours = [Option<kinglet_net::Neighbour>; 0];
    type Contexts = [Option<Context>; 1];
    type Routing = Marking;
    type Discovery = ();
    type Fragmentation = Rfc4944;
    type Border = ();
    type Ipv6Fragments = ();
    type Headers = ExtendedIphc;
    type UdpSockets = [UdpSocket; 2];
}

type Node = Net<Plan, u32>;

const PORT: u16 = 1000;
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1);

/// Octets that say where they are.
struct Counting;
impl BodySource<u32> for Counting {
    fn read(&self, _: u32, offset: usize, out: &mut [u8]) -> Result<(), Stale> {
        for (n, octet) in out.iter_mut().enumerate() {
            *octet = (offset + n) as u8;
        }
        Ok(())
    }
}

fn node(n: u16) -> Node {
    let config = Config { forward: true, ..Config::new(Address::Short(n)) };
    let routing = Marking { root: n == 1, ..Marking::NONE };
    let mut node = Node::with_layers(config, routing, ());
    node.add_address(InterfaceAddress { address: global(n), prefix_len: 64 }).unwrap();
    node.set_context(0, Some(Context { prefix: global(0), len: 64 })).unwrap();
    if n == 1 {
        let route = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
        node.add_route(route).unwrap();
    }
    node.udp_bind(PORT).unwrap();
    node
}

/// Carries all frames of `from` to `to`; what `to` delivers, and what it discards.
fn carry(from: &mut Node, to: &mut Node) -> Result<Vec<Delivery>, Discard> {
    let (src, mut all) = (from.config().link, Vec::new());
    let mut buf = [0; 128];
    while from.pending().is_some() {
        let Some(frame) = from.poll_frame(NOW, LIMITS, &Counting, &mut buf) else { continue };
        assert_eq!(frame.dst, to.config().link);
        let payload = &buf[..frame.len];
        all.extend(to.handle_frame(NOW, FrameIn { src, dst: frame.dst, payload })?);
    }
    Ok(all)
}

/// The next packet of a node, which has to fit into a frame.
fn seen(node: &mut Node) -> Vec<u8> {
    let mut buf = [0; 128];
    let limits = FrameLimits { max_payload: 128 };
    let frame = node.poll_frame(NOW, limits, &Counting, &mut buf).expect("a packet");
    let mut out = [0; 200];
    let contexts = [Some(Context { prefix: global(0), len: 64 })];
    let (src, dst, payload) = (node.config().link, frame.dst, &buf[..frame.len]);
    let integrity = Integrity::None;
    let done =
        decompress::<ExtensionHeaders>(payload, src, dst, &contexts, None, integrity, &mut out);
    let done = done.unwrap();
    [&out[..done.written], &buf[done.consumed..frame.len]].concat()
}

fn outgoing(src: Ipv6Addr, dst: Ipv6Addr, len: u16) -> Outgoing<'static, u32> {
    Outgoing {
        src,
        dst,
        hop_limit: 64,
        traffic_class: 2,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &[9; 20],
        body: Body::External { key: 1, len },
    }
}

/// A packet from outside with this payload behind a UDP header to [`PORT`].
fn from_outside(dst: Ipv6Addr, traffic_class: u8, data: &[u8]) -> Vec<u8> {
    let payload_len = 8 + data.len() as u16;
    let (flow_label, next_header, hop_limit, src) = (0, protocol::UDP, 64, OUTSIDE);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut octets = vec![0; HEADER_LEN + 8];
    header.emit(&mut octets).unwrap();
    octets.extend_from_slice(data);
    let udp = &mut octets[HEADER_LEN..];
    kinglet_wire::udp::Header { src_port: 7, dst_port: PORT, length: payload_len, checksum: 0 }
        .emit(udp)
        .unwrap();
    let sum = header.pseudo_header_sum(payload_len.into(), protocol::UDP);
    kinglet_wire::udp::fill_checksum(udp, sum).unwrap();
    octets
}

fn free(node: &Node) -> usize {
    node.info().free_packets
}

#[test]
fn what_begins_here_has_the_option_in_it() {
    let (mut a, mut b) = (node(3), node(2));
    let socket = a.udp_bind(1).unwrap();
    a.udp_send(NOW, socket, global(2), PORT, b"hello").unwrap();
    let packet = seen(&mut a);
    assert_eq!((packet[6], packet[40], packet[42], packet.len()), (0, 17, 0x23, 40 + 8 + 13));
    a.udp_send(NOW, socket, global(2), PORT, &[7; 300]).unwrap();
    carry(&mut a, &mut b).unwrap();
    assert_eq!(b.stats().datagrams_in, 1);
    assert_eq!(free(&a), 8);
}

#[test]
fn payload_that_stays_outside_is_read_where_it_belongs() {
    let (mut a, mut b) = (node(3), node(2));
    a.submit(NOW, outgoing(global(3), global(2), 500)).unwrap();
    let delivered = carry(&mut a, &mut b).unwrap();
    let [delivery] = &delivered[..] else { panic!("one packet: {delivered:?}") };
    let upper = &b.packet(delivery.packet)[delivery.upper.clone()];
    assert_eq!(upper[..20], [9; 20]);
    assert!(upper[20..].iter().enumerate().all(|(at, octet)| *octet == at as u8));
    assert_eq!((upper.len(), delivery.header.src), (520, global(3)));
    // From the root it takes its source route along.
    let (mut root, mut c) = (node(1), node(3));
    root.submit(NOW, outgoing(global(1), global(3), 500)).unwrap();
    carry(&mut root, &mut b).unwrap();
    let delivered = carry(&mut b, &mut c).unwrap();
    assert_eq!((delivered.len(), delivered[0].header.dst), (1, global(3)));
    assert_eq!(c.packet(delivered[0].packet)[delivered[0].upper.clone()].len(), 520);
}

#[test]
fn what_comes_from_outside_goes_through_a_tunnel_and_is_as_it_was() {
    let (mut root, mut b, mut c) = (node(1), node(2), node(3));
    let packet = from_outside(global(3), 0, &[5; 600]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    carry(&mut root, &mut b).unwrap();
    carry(&mut b, &mut c).unwrap();
    assert_eq!(c.stats().datagrams_in, 1);
    assert_eq!((free(&root), free(&b), free(&c)), (8, 8, 7));
    // As long as every link must take.
    let packet = from_outside(global(3), 0, &[5; 1232]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    carry(&mut root, &mut b).unwrap();
    carry(&mut b, &mut c).unwrap();
    assert_eq!(c.stats().datagrams_in, 2);
}

#[test]
fn congestion_on_the_way_through_a_tunnel_is_told() {
    for (inner, outer, expected) in
        [(2, 3, Some(3)), (1, 3, Some(3)), (0, 3, None), (2, 2, Some(2))]
    {
        let (mut root, mut b) = (node(1), node(2));
        let mut packet = from_outside(global(2), inner, b"x");
        packet[6] = protocol::TCP;
        assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
        let mut tunnel = seen(&mut root);
        assert_eq!(tunnel[1] >> 4 & 3, inner, "ECN is copied outward");
        tunnel[1] = tunnel[1] & 0xCF | outer << 4;
        let frame = [&[0x41][..], &tunnel].concat();
        let (src, dst) = (Address::Short(1), Address::Short(2));
        let delivered = b.handle_frame(NOW, FrameIn { src, dst, payload: &frame });
        let class = delivered.ok().flatten().map(|delivery| delivery.header.traffic_class & 3);
        assert_eq!(class, expected, "{inner} in {outer}");
    }
}

#[test]
fn the_option_comes_off_toward_the_host() {
    let (mut a, mut root) = (node(2), node(1));
    let socket = a.udp_bind(1).unwrap();
    a.udp_send(NOW, socket, OUTSIDE, PORT, b"hello").unwrap();
    let packet = seen(&mut a);
    let frame = [&[0x41][..], &packet].concat();
    let (src, dst) = (Address::Short(2), Address::Short(1));
    assert_eq!(root.handle_frame(NOW, FrameIn { src, dst, payload: &frame }), Ok(None));
    let mut buf = [0; 1280];
    let len = root.poll_host_packet(NOW, &Counting, &mut buf).expect("for the host");
    assert_eq!((len, buf[5], buf[6], buf[7]), (40 + 13, 13, protocol::UDP, 63));
    assert_eq!(buf[HEADER_LEN + 8..len], *b"hello");
    assert_eq!(packet.len(), len + 8);
}

#[test]
fn a_router_relays_as_routing_says() {
    let (mut a, mut b) = (node(3), node(4));
    let socket = a.udp_bind(1).unwrap();
    a.udp_send(NOW, socket, global(5), PORT, b"hello").unwrap();
    let mut packet = seen(&mut a);
    let mut give = |packet: &[u8]| {
        let frame = [&[0x41][..], packet].concat();
        let (src, dst) = (Address::Short(3), Address::Short(4));
        b.handle_frame(NOW, FrameIn { src, dst, payload: &frame }).map(|_| seen(&mut b))
    };
    let relayed = give(&packet).unwrap();
    assert_eq!((&relayed[46..48], relayed[7]), (&[0, 1][..], 63), "a SenderRank of 1");
    packet[46..48].copy_from_slice(&666_u16.to_be_bytes());
    assert_eq!(give(&packet), Err(Discard::Options));
}

#[test]
fn a_dead_end_of_a_source_route_is_told_to_its_root() {
    let (mut root, mut b) = (node(1), node(2));
    let packet = from_outside(global(9), 0, &[5; 40]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    assert_eq!(carry(&mut root, &mut b), Err(Discard::NoRoute));
    // The error goes to whoever made the outer header, which is the root.
    let mut buf = [0; 128];
    while b.pending().is_some() {
        let Some(frame) = b.poll_frame(NOW, LIMITS, &Counting, &mut buf) else { continue };
        let payload = &buf[..frame.len];
        let (src, dst) = (Address::Short(2), Address::Short(1));
        let _ = root.handle_frame(NOW, FrameIn { src, dst, payload });
    }
    assert_eq!(root.routing().broken, [(global(2), global(9))]);
    assert_eq!((free(&root), free(&b)), (8, 8));
}

#[test]
fn errors_about_own_packets_are_believed_behind_what_was_added() {
    let (mut a, mut b) = (node(3), node(2));
    let socket = a.udp_bind(1).unwrap();
    a.udp_send(NOW, socket, global(2), 77, b"nobody").unwrap();
    assert_eq!(carry(&mut a, &mut b), Err(Discard::Port));
    let error = seen(&mut b);
    let frame = [&[0x41][..], &error].concat();
    let (src, dst) = (Address::Short(2), Address::Short(3));
    assert_eq!(a.handle_frame(NOW, FrameIn { src, dst, payload: &frame }), Ok(None));
    let report = a.poll_error().expect("believed");
    assert_eq!((report.kind, report.ports()), (Kind::DestinationUnreachable { code: 4 }, (1, 77)));
}

#[test]
fn nobody_outside_may_use_tunnels_or_source_routes() {
    let mut root = node(1);
    let inner = from_outside(global(3), 0, b"x");
    let payload_len = inner.len() as u16;
    let (traffic_class, flow_label, hop_limit) = (0, 0, 64);
    let (src, dst, next_header) = (OUTSIDE, global(1), protocol::IPV6);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut packet = vec![0; HEADER_LEN];
    header.emit(&mut packet).unwrap();
    packet.extend_from_slice(&inner);
    assert_eq!(root.handle_host_packet(NOW, &packet), Err(Discard::Protocol));
    let mut route = [0; 64];
    let len = SourceRoute::emit(protocol::UDP, global(1), &[global(3)], &mut route).unwrap();
    let payload_len = len as u16;
    let header = Header { payload_len, next_header: protocol::ROUTING, ..header };
    let mut packet = vec![0; HEADER_LEN];
    header.emit(&mut packet).unwrap();
    packet.extend_from_slice(&route[..len]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Err(Discard::RoutingHeader));
}
