//! Headers that routing adds to packets: the option, source routes and outer headers, and their
//! processing at the nodes that receive such packets.

use crate::common::{LIMITS, NOW, global};
use core::net::Ipv6Addr;
use kinglet_net::{
    Body, BodySource, Delivery, Discard, ExtendedIphc, FrameIn, FrameLimits, InterfaceAddress, Net,
    NetConfig, NextHop, Outgoing, Partial, Queued, Rfc4944, Route, Sizes, Slot, Stale, UdpSocket,
};
use kinglet_routing::{Added, AddedHeaders, Learnt, MAX_ADDED, Origin, Refusal, Routing};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{HEADER_LEN, Header, MIN_MTU, protocol};
use kinglet_wire::rpl::{PacketInformation, SourceRoute};
use kinglet_wire::sixlowpan::routed::{Dodag, PAGE_1};
use kinglet_wire::sixlowpan::{Context, DISPATCH_IPV6, ExtensionHeaders, Integrity, decompress};

/// All nodes are behind node 2; node 1 is the root, whose packets to node 3 have a source route.
/// The one to node 5 lists all nodes in between, the one to node 7 has the maximum length. A
/// SenderRank of 666 is refused, and node 9 cannot be reached.
struct Marking {
    root: bool,
    /// True if the added headers are written as 6LoWPAN Routing Headers.
    compresses: bool,
    broken: Vec<(Ipv6Addr, Ipv6Addr)>,
    /// Current next hop of upward packets.
    moved: Option<u16>,
    /// Sources of packets that have arrived for this node.
    taken: Vec<Ipv6Addr>,
}

const OPTION: PacketInformation = PacketInformation {
    down: true,
    rank_error: false,
    forwarding_error: false,
    instance: 0,
    sender_rank: 256,
};

impl Routing for Marking {
    const NONE: Self = Marking {
        root: false,
        compresses: false,
        broken: Vec::new(),
        moved: None,
        taken: Vec::new(),
    };
    type Additions = AddedHeaders;
    type Waiting<H: Copy + std::fmt::Debug> = [Option<H>; 0];

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
            // A packet from a neighbour's host would be put into a tunnel.
            Origin::Bare if !self.root && packet.dst == global(3) => Some(global(4)),
            _ if !self.root => return None,
            _ => Some(global(1)),
        };
        let next = if outer.is_some() { protocol::IPV6 } else { packet.next_header };
        let (option, room) = out.split_at_mut(8);
        let far = self.root && packet.dst != global(2);
        let (kind, len, dst) = if far {
            // Two octets each, as they differ from the destination in the second last.
            let longest: Vec<_> = (0..27).map(|n| global(0x300 + n)).chain([packet.dst]).collect();
            let rest = [global(3), global(4), packet.dst];
            let rest = match packet.dst {
                dst if dst == global(7) => &longest[..],
                dst if dst == global(5) => &rest[..],
                _ => &rest[2..],
            };
            let len = SourceRoute::emit(next, global(2), rest, room).unwrap();
            (protocol::ROUTING, 8 + len, global(2))
        } else {
            (next, 8, packet.dst)
        };
        option.copy_from_slice(&OPTION.hop_by_hop(kind, PacketInformation::SKIPPED_IF_UNKNOWN));
        Some(Added { kind: protocol::HOP_BY_HOP, len, dst, outer })
    }

    fn take(&mut self, _: Instant, packet: &Header, option: &[u8]) {
        assert!(PacketInformation::read(option).is_ok());
        self.taken.push(packet.src);
    }

    fn relay(
        &mut self,
        _: Instant,
        _: &Header,
        option: &mut [u8],
    ) -> Result<Option<NextHop>, Refusal> {
        let information = PacketInformation::read(option).unwrap();
        if information.sender_rank == 666 {
            return Err(Refusal::Data);
        }
        PacketInformation { sender_rank: 1, ..information }.emit(option).unwrap();
        Ok(None)
    }

    fn follow(&mut self, _: Instant, next: Ipv6Addr, option: &mut [u8]) -> Result<(), Refusal> {
        if next == global(9) {
            return Err(Refusal::NoRoute);
        }
        let information = PacketInformation::read(option).unwrap();
        PacketInformation { sender_rank: 2, ..information }.emit(option).unwrap();
        Ok(())
    }

    fn reroute(&self, dst: Ipv6Addr, option: &mut [u8]) -> Option<NextHop> {
        let to = self.moved.filter(|_| dst != global(2))?;
        let information = PacketInformation::read(option).unwrap();
        PacketInformation { sender_rank: 3, ..information }.emit(option).unwrap();
        Some(NextHop::Link(Address::Short(to)))
    }

    fn dodag(&self) -> Option<Dodag> {
        let (option, storing) = (PacketInformation::SKIPPED_IF_UNKNOWN, false);
        let compresses = self.compresses;
        Some(Dodag { root: global(1), instance: 0, option, storing, compresses })
    }

    /// The domain is the prefix of all nodes.
    fn ends_tunnel(&self, src: Ipv6Addr) -> bool {
        src.segments()[..4] == global(0).segments()[..4]
    }

    fn handle_broken_route(&mut self, _: Instant, reporter: Ipv6Addr, next: Ipv6Addr) {
        self.broken.push((reporter, next));
    }
}

struct Plan;
impl Sizes for Plan {
    type Storage = [u8; MIN_MTU + MAX_ADDED + HEADER_LEN];
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

/// Octets that encode their offset.
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
    node_that(n, false)
}

/// Returns a node that writes the added headers as 6LoWPAN Routing Headers, or does not.
fn node_that(n: u16, compresses: bool) -> Node {
    let config = NetConfig { forward: true, ..NetConfig::new(Address::Short(n)) };
    let routing = Marking { root: n == 1, compresses, ..Marking::NONE };
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

/// Carries all frames of `from` to `to`. Returns the deliveries, or the reason of a discard.
fn carry(from: &mut Node, to: &mut Node) -> Result<Vec<Delivery>, Discard> {
    carry_frames(from, to, &mut Vec::new())
}

/// Does the same, and records the frames.
fn carry_frames(
    from: &mut Node,
    to: &mut Node,
    frames: &mut Vec<Vec<u8>>,
) -> Result<Vec<Delivery>, Discard> {
    let (src, mut all) = (from.config().link, Vec::new());
    let mut buf = [0; 128];
    while from.pending().is_some() {
        let Some(frame) = from.poll_frame(NOW, LIMITS, &Counting, &mut buf) else { continue };
        assert_eq!(frame.dst, to.config().link);
        let payload = &buf[..frame.len];
        frames.push(payload.to_vec());
        all.extend(to.handle_frame(NOW, FrameIn { src, dst: frame.dst, payload })?);
    }
    Ok(all)
}

/// Returns the next packet of a node, which has to fit into a frame.
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

/// Returns a packet from outside with this payload behind a UDP header to [`PORT`].
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
fn waiting_packets_are_rerouted_to_the_present_parent() {
    let mut a = node(3);
    let socket = a.udp_bind(1).unwrap();
    for dst in [global(2), global(8), global(8)] {
        a.udp_send(NOW, socket, dst, PORT, b"hello").unwrap();
    }
    a.submit(NOW, outgoing(global(3), global(8), 4)).unwrap();
    a.reroute_to_parent();
    a.routing_mut().moved = Some(4);
    a.reroute_to_parent();
    let mut buf = [0; 128];
    let mut to = Vec::new();
    while let Some(frame) = a.poll_frame(NOW, LIMITS, &Counting, &mut buf) {
        to.push(frame.dst);
    }
    let mut expected = [Address::Short(4); 4];
    expected[1] = Address::Short(2);
    assert_eq!(to, expected, "that of the upper layer is first, and one stays");
    a.udp_send(NOW, socket, global(8), PORT, b"hello").unwrap();
    a.reroute_to_parent();
    // SenderRank, in the last two octets of the option.
    assert_eq!(seen(&mut a)[46..48], [0, 3]);
}

#[test]
fn an_own_packet_has_the_option_without_a_tunnel() {
    let (mut a, mut b) = (node(3), node(2));
    let socket = a.udp_bind(1).unwrap();
    a.udp_send(NOW, socket, global(2), PORT, b"hello").unwrap();
    let packet = seen(&mut a);
    assert_eq!((packet[6], packet[40], packet[42], packet.len()), (0, 17, 0x23, 40 + 8 + 13));
    a.udp_send(NOW, socket, global(2), PORT, &[7; 300]).unwrap();
    carry(&mut a, &mut b).unwrap();
    assert_eq!(b.stats().datagrams_in, 1);
    assert_eq!(b.routing().taken, [global(3)], "routing hears of it, too");
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
    // A packet of the root has its source route from the start.
    let (mut root, mut c) = (node(1), node(3));
    root.submit(NOW, outgoing(global(1), global(3), 500)).unwrap();
    carry(&mut root, &mut b).unwrap();
    let delivered = carry(&mut b, &mut c).unwrap();
    assert_eq!((delivered.len(), delivered[0].header.dst), (1, global(3)));
    assert_eq!(c.packet(delivered[0].packet)[delivered[0].upper.clone()].len(), 520);
}

#[test]
fn a_packet_from_outside_arrives_through_a_tunnel_unchanged() {
    let (mut root, mut b, mut c) = (node(1), node(2), node(3));
    let packet = from_outside(global(3), 0, &[5; 600]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    carry(&mut root, &mut b).unwrap();
    carry(&mut b, &mut c).unwrap();
    assert_eq!(c.stats().datagrams_in, 1);
    assert_eq!((free(&root), free(&b), free(&c)), (8, 8, 7));
    // The minimum MTU of links.
    let packet = from_outside(global(3), 0, &[5; 1232]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    carry(&mut root, &mut b).unwrap();
    carry(&mut b, &mut c).unwrap();
    assert_eq!(c.stats().datagrams_in, 2);
}

#[test]
fn congestion_in_a_tunnel_is_reported() {
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

/// The inner hop limit counts again where the tunnel ends (RFC 2473 §3.3, RFC 4443 §3.3).
#[test]
fn the_end_of_a_tunnel_reports_that_the_inner_hop_limit_is_exceeded() {
    for (hop_limit, expected) in [(2, Err(Discard::HopLimit)), (3, Ok(None))] {
        let (mut root, mut b) = (node(1), node(2));
        let mut packet = from_outside(global(2), 0, b"x");
        packet[7] = hop_limit;
        assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
        let mut tunnel = seen(&mut root);
        // To a node behind the end of the tunnel: the last octet of the inner destination.
        tunnel[HEADER_LEN + 8 + HEADER_LEN - 1] = 6;
        let frame = [&[0x41][..], &tunnel].concat();
        let (src, dst) = (Address::Short(1), Address::Short(2));
        let result = b.handle_frame(NOW, FrameIn { src, dst, payload: &frame });
        assert_eq!(result, expected);
        let sent = seen(&mut b);
        let to = if expected.is_ok() { global(6) } else { OUTSIDE };
        assert_eq!(sent[24..HEADER_LEN], to.octets());
        if expected.is_err() {
            // Behind the RPL option.
            assert_eq!((sent[HEADER_LEN], sent[HEADER_LEN + 8]), (protocol::ICMPV6, 3));
        }
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
    assert_eq!(root.routing().taken, [global(2)], "who is not known is asked for");
}

/// The radio carries longer packets than the host, as routing adds headers to them.
#[test]
fn a_packet_too_long_for_the_host_is_refused_and_delays_no_other() {
    for (len, taken) in [(MIN_MTU, true), (MIN_MTU + 1, false), (MIN_MTU + 80, false)] {
        let mut root = node(1);
        let mut packet = from_outside(OUTSIDE, 0, &vec![7; len - HEADER_LEN - 8]);
        packet[8..24].copy_from_slice(&global(3).octets());
        let frame = [&[0x41][..], &packet].concat();
        let (src, dst) = (Address::Short(2), Address::Short(1));
        let result = root.handle_frame(NOW, FrameIn { src, dst, payload: &frame });
        assert_eq!(result, if taken { Ok(None) } else { Err(Discard::TooBig) }, "{len}");
        let mut buf = [0; MIN_MTU];
        assert_eq!(root.poll_host_packet(NOW, &Counting, &mut buf), taken.then_some(len));
        assert_eq!(root.info().host_queued, 0);
        // The sender gets the MTU.
        assert_eq!(root.pending().is_some(), !taken);
        if !taken {
            let error = carry(&mut root, &mut node(2));
            assert_eq!(error, Ok(vec![]), "forwarded");
        }
        assert_eq!(free(&root), 8);
    }
}

/// [`Sizes::Storage`] gives the minimum length of a slot: no octet is unused. In the form of RFC
/// 6282 the headers are longer than a frame.
#[test]
fn a_slot_has_room_for_the_longest_packet_with_the_longest_route() {
    for compresses in [false, true] {
        let (mut root, mut b) = (node_that(1, compresses), node_that(2, compresses));
        let packet = from_outside(global(7), 0, &[5; MIN_MTU - HEADER_LEN - 8]);
        assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
        let mut frames = Vec::new();
        assert_eq!(carry_frames(&mut root, &mut b, &mut frames), Ok(vec![]));
        let size = u16::from_be_bytes([frames[0][0], frames[0][1]]) & 0x7FF;
        assert_eq!(usize::from(size), MIN_MTU + MAX_ADDED + HEADER_LEN);
        assert_eq!(frames[0][4], if compresses { PAGE_1 } else { DISPATCH_IPV6 });
        assert_eq!((b.stats().packets_in, b.stats().forwarded), (1, 1));
        // The next hop can read it too.
        let mut c = node_that(0x300, compresses);
        assert_eq!(carry(&mut b, &mut c), Ok(vec![]));
        assert_eq!((c.stats().packets_in, c.stats().forwarded), (1, 1));
        assert_eq!((free(&root), free(&b), free(&c)), (8, 8, 7));
    }
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
fn a_dead_end_of_a_source_route_is_reported_to_its_root() {
    let (mut root, mut b) = (node(1), node(2));
    let packet = from_outside(global(9), 0, &[5; 40]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
    assert_eq!(carry(&mut root, &mut b), Err(Discard::NoRoute));
    // The error goes to the source of the outer header, which is the root.
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

/// A root of another implementation inserts the source route into the packet itself. Its first hop
/// may be the router that has sent the packet.
#[test]
fn an_own_packet_that_returns_with_a_source_route_goes_on() {
    let mut b = node(2);
    let mut route = [0; 64];
    let len = SourceRoute::emit(protocol::UDP, global(2), &[global(3)], &mut route).unwrap();
    let datagram = [0, 1, 0x03, 0xE8, 0, 12, 0, 0, 1, 2, 3, 4];
    let option = OPTION.hop_by_hop(protocol::ROUTING, PacketInformation::SKIPPED_IF_UNKNOWN);
    let octets = [&option[..], &route[..len], &datagram].concat();
    let header = Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: octets.len() as u16,
        next_header: protocol::HOP_BY_HOP,
        hop_limit: 60,
        src: global(2),
        dst: global(2),
    };
    let mut packet = vec![0; HEADER_LEN];
    header.emit(&mut packet).unwrap();
    let frame = [&[0x41][..], &packet, &octets].concat();
    let (src, dst) = (Address::Short(1), Address::Short(2));
    assert_eq!(b.handle_frame(NOW, FrameIn { src, dst, payload: &frame }), Ok(None));
    let relayed = Header::read(&seen(&mut b)).unwrap();
    assert_eq!((relayed.src, relayed.dst, relayed.hop_limit), (global(2), global(3), 59));
    // Without one it is in a routing loop.
    packet[6] = protocol::UDP;
    let frame = [&[0x41][..], &packet, &datagram].concat();
    assert!(b.handle_frame(NOW, FrameIn { src, dst, payload: &frame }).is_err());
}

#[test]
fn errors_about_own_packets_are_accepted_behind_added_headers() {
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
fn no_outside_node_may_use_tunnels_or_source_routes() {
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
    assert_eq!(root.handle_host_packet(NOW, &packet), Err(Discard::BorderTunnel));
    let mut route = [0; 64];
    let len = SourceRoute::emit(protocol::UDP, global(1), &[global(3)], &mut route).unwrap();
    let payload_len = len as u16;
    let header = Header { payload_len, next_header: protocol::ROUTING, ..header };
    let mut packet = vec![0; HEADER_LEN];
    header.emit(&mut packet).unwrap();
    packet.extend_from_slice(&route[..len]);
    assert_eq!(root.handle_host_packet(NOW, &packet), Err(Discard::BorderRoutingHeader));
}

/// Returns the octets of all frames on each of the four hops from the root to node 5, for a packet
/// from outside with this payload.
fn octets_to_five(compresses: [bool; 5], payload: usize) -> [usize; 4] {
    let mut nodes: Vec<_> =
        (1..).zip(compresses).map(|(n, compresses)| node_that(n, compresses)).collect();
    let packet = from_outside(global(5), 0, &vec![5; payload]);
    assert_eq!(nodes[0].handle_host_packet(NOW, &packet), Ok(None));
    let octets = [0, 1, 2, 3].map(|hop| {
        let [from, to] = &mut nodes[hop..hop + 2] else { panic!("two nodes") };
        let mut frames = Vec::new();
        assert_eq!(carry_frames(from, to, &mut frames), Ok(vec![]));
        let first = if frames.len() == 1 { 0 } else { 4 };
        assert_eq!(frames[0][first] == PAGE_1, compresses[hop]);
        frames.iter().map(Vec::len).sum()
    });
    assert_eq!(nodes[4].stats().datagrams_in, 1);
    let free: Vec<_> = nodes.iter().map(free).collect();
    assert_eq!(free, [8, 8, 8, 8, 7]);
    octets
}

#[test]
fn headers_of_rfc_8138_shrink_with_each_hop() {
    // The tunnel's IPHC with its option and route, and without elided addresses inside.
    let plain = octets_to_five([false; 5], 20);
    let routed = octets_to_five([true; 5], 20);
    // Page, tunnel and option are 8, which has a rank of one octet at first; a route has two octets
    // and one a hop. IPHC with the source in full is 21, UDP 7.
    let expected = [(7, 4), (8, 3), (8, 2), (8, 1)].map(|(added, hops)| added + 2 + hops + 28 + 20);
    assert_eq!(routed, expected);
    for (hop, (plain, routed)) in plain.into_iter().zip(routed).enumerate() {
        assert!(routed + 10 + hop <= plain, "hop {hop}: {routed}, {plain}");
    }
    // Fragments find their places although the packet gets shorter.
    let plain: usize = octets_to_five([false; 5], 600).into_iter().sum();
    let routed: usize = octets_to_five([true; 5], 600).into_iter().sum();
    assert!(routed + 40 < plain, "{routed}, {plain}");
    octets_to_five([true; 5], 1232);
}

#[test]
fn both_forms_are_read_whichever_is_written() {
    for from in 0..32 {
        let compresses = [0, 1, 2, 3, 4].map(|node| from >> node & 1 != 0);
        octets_to_five(compresses, 20);
        octets_to_five(compresses, 600);
    }
}

#[test]
fn outer_headers_come_off_in_front_of_a_host_behind_the_node() {
    for compresses in [false, true] {
        let (mut root, mut b) = (node_that(1, compresses), node_that(2, compresses));
        // Node 3's address is that of the host behind it.
        let config = NetConfig { forward: true, ..NetConfig::new(Address::Short(3)) };
        let routing = Marking { compresses, ..Marking::NONE };
        let mut c = Node::with_layers(config, routing, ());
        c.set_context(0, Some(Context { prefix: global(0), len: 64 })).unwrap();
        c.add_route(Route { prefix: global(3), prefix_len: 128, via: NextHop::Host }).unwrap();
        let packet = from_outside(global(3), 0, &[5; 300]);
        assert_eq!(root.handle_host_packet(NOW, &packet), Ok(None));
        carry(&mut root, &mut b).unwrap();
        assert_eq!(carry(&mut b, &mut c), Ok(vec![]));
        let mut buf = [0; 1280];
        let len = c.poll_host_packet(NOW, &Counting, &mut buf).expect("for the host");
        assert_eq!((len, buf[6]), (packet.len(), protocol::UDP));
        assert_eq!(buf[8..len], packet[8..]);
        assert_eq!((free(&root), free(&b), free(&c)), (8, 8, 8));
    }
}
