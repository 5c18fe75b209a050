//! Packets that wait for route discovery.

use crate::common::{LIMITS, NOW, PACKETS, Pattern, Plan, global, packet};
use core::net::Ipv6Addr;
use kinglet_net::{
    Body, Discard, FrameIn, InterfaceAddress, Net, NetConfig, NextHop, Outgoing, Route, SendError,
};
use kinglet_routing::{Learnt, NoHeaders, Routing};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;

/// Discovers routes to 2001:db8::/64, as many at a time as it has entries.
#[derive(Default)]
struct Discovering {
    known: Vec<(Ipv6Addr, u16)>,
    discovering: Vec<Ipv6Addr>,
    used: Vec<(Ipv6Addr, Address)>,
    strays: Vec<(Ipv6Addr, Address)>,
    loops: Vec<Ipv6Addr>,
}

impl Routing for Discovering {
    const NONE: Self = Discovering {
        known: Vec::new(),
        discovering: Vec::new(),
        used: Vec::new(),
        strays: Vec::new(),
        loops: Vec::new(),
    };
    type Additions = NoHeaders;
    type Waiting<H: Copy + std::fmt::Debug> = [Option<H>; 2];

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let known = self.known.iter().find(|known| known.0 == dst);
        let via = known.map(|known| NextHop::Link(Address::Short(known.1)));
        self.discovers(dst).then_some(Learnt { prefix_len: 64, via })
    }

    fn discovers(&self, dst: Ipv6Addr) -> bool {
        dst.segments()[0] == 0x2001
    }

    fn is_discovering(&self, dst: Ipv6Addr) -> bool {
        self.discovering.contains(&dst)
    }

    fn discover(&mut self, _: Instant, dst: Ipv6Addr) -> bool {
        if !self.is_discovering(dst) && self.discovering.len() < 2 {
            self.discovering.push(dst);
        }
        self.is_discovering(dst)
    }

    fn handle_use(&mut self, _: Instant, _: Ipv6Addr, dst: Ipv6Addr, from: Address) {
        self.used.push((dst, from));
    }

    fn handle_stray(&mut self, _: Instant, dst: Ipv6Addr, from: Address) -> bool {
        self.strays.push((dst, from));
        true
    }

    fn handle_loop(&mut self, _: Instant, dst: Ipv6Addr) {
        self.loops.push(dst);
    }
}

type Node = Net<Plan<Discovering>, u32>;

fn discoverer(n: u16) -> Node {
    let mut node = Node::new(NetConfig { forward: true, ..NetConfig::new(Address::Short(n)) });
    node.add_address(InterfaceAddress { address: global(n), prefix_len: 64 }).unwrap();
    node
}

/// Sends a datagram with this octet.
fn send(node: &mut Node, dst: Ipv6Addr, octet: u8) -> Result<(), SendError> {
    let socket = node.udp_bind(1000).unwrap();
    let sent = node.udp_send(NOW, socket, dst, 1000, &[octet]);
    node.udp_close(socket);
    sent
}

fn find(node: &mut Node, dst: Ipv6Addr, via: u16) {
    node.routing_mut().discovering.retain(|discovering| *discovering != dst);
    node.routing_mut().known.push((dst, via));
    node.reroute(NOW);
}

fn lose(node: &mut Node, dst: Ipv6Addr) {
    node.routing_mut().known.retain(|known| known.0 != dst);
    node.routing_mut().discovering.retain(|discovering| *discovering != dst);
    node.reroute(NOW);
}

/// Returns the destination of the next frame, and its last octet.
fn next(node: &mut Node) -> Option<(Address, u8)> {
    let dst = node.pending()?.dst;
    let mut buf = [0; 128];
    let out = node.poll_frame(NOW, LIMITS, &Pattern, &mut buf).expect("pending");
    Some((dst, buf[out.len - 1]))
}

#[test]
fn packets_wait_in_order_until_a_route_was_found() {
    let mut node = discoverer(1);
    send(&mut node, global(7), 1).unwrap();
    send(&mut node, global(8), 2).unwrap();
    assert_eq!((node.info().unrouted, next(&mut node)), (2, None));
    // A third destination is not searched for.
    assert_eq!(send(&mut node, global(9), 3), Err(SendError::NoRoute));
    find(&mut node, global(8), 5);
    assert_eq!((next(&mut node), next(&mut node)), (Some((Address::Short(5), 2)), None));
    find(&mut node, global(7), 6);
    assert_eq!((next(&mut node), next(&mut node)), (Some((Address::Short(6), 1)), None));
    assert_eq!((node.info().unrouted, node.info().free_packets), (0, PACKETS));
    let here = |n| (global(n), Address::None);
    assert_eq!(node.routing().used, [here(8), here(7)]);
}

#[test]
fn the_oldest_goes_when_there_is_no_place() {
    let mut node = discoverer(1);
    for octet in 1..=5 {
        send(&mut node, global(7), octet).unwrap();
    }
    assert_eq!((node.info().unrouted, node.stats().discarded(Discard::QueueFull)), (2, 3));
    find(&mut node, global(7), 6);
    let sent: Vec<_> = core::iter::from_fn(|| next(&mut node)).map(|sent| sent.1).collect();
    assert_eq!((sent, node.info().free_packets), (vec![4, 5], PACKETS));
}

#[test]
fn an_upper_layer_is_notified_that_no_route_was_found() {
    let mut node = discoverer(1);
    let socket = node.udp_bind(1000).unwrap();
    node.udp_send(NOW, socket, global(7), 1000, b"x").unwrap();
    lose(&mut node, global(7));
    let report = node.poll_error().expect("a report");
    assert!(matches!(report.kind, Kind::DestinationUnreachable { .. }));
    assert_eq!((report.src, report.dst), (global(1), global(7)));
    assert_eq!(report.ports(), (1000, 1000));
    assert_eq!((node.info().unrouted, node.info().free_packets), (0, PACKETS));
    assert_eq!(node.stats().discarded(Discard::NoRoute), 1);
}

/// Submits a segment of an upper layer, which keeps its payload.
fn submit(node: &mut Node) {
    let packet = Outgoing {
        src: global(1),
        dst: global(7),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &[0; 20],
        body: Body::External { key: 9, len: 8 },
    };
    node.submit(NOW, packet).unwrap();
}

#[test]
fn payload_that_stays_where_it_is_is_copied_when_it_has_to_wait() {
    let mut node = discoverer(1);
    submit(&mut node);
    assert!(!node.can_submit());
    node.park(NOW, &Pattern);
    assert!(node.can_submit() && node.info().unrouted == 1);
    find(&mut node, global(7), 6);
    assert_eq!(next(&mut node), Some((Address::Short(6), 16)));
    // The same if the route is lost before the segment has left.
    submit(&mut node);
    lose(&mut node, global(7));
    node.park(NOW, &Pattern);
    assert!(node.can_submit() && node.info().unrouted == 1);
}

#[test]
fn waiting_packets_are_rerouted_or_wait_again() {
    let mut node = discoverer(1);
    for n in [7, 8] {
        send(&mut node, global(n), 0).unwrap();
        find(&mut node, global(n), 5);
        assert!(next(&mut node).is_some());
    }
    // The first uses a static route, which routing does not control.
    let (prefix, via) =
        (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0), NextHop::Link(Address::Short(3)));
    node.add_route(Route { prefix, prefix_len: 64, via }).unwrap();
    send(&mut node, Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9), 1).unwrap();
    send(&mut node, global(7), 2).unwrap();
    send(&mut node, global(8), 3).unwrap();
    node.routing_mut().known = vec![(global(8), 6)];
    node.reroute(NOW);
    assert_eq!(next(&mut node), Some((Address::Short(3), 1)));
    assert_eq!(next(&mut node), Some((Address::Short(6), 3)));
    assert_eq!((next(&mut node), node.info().unrouted), (None, 1));
    find(&mut node, global(7), 4);
    assert_eq!(next(&mut node), Some((Address::Short(4), 2)));
}

/// Relays a datagram from node 2 to another node.
fn relayed(node: &mut Node, src: Ipv6Addr, dst: Ipv6Addr) -> Result<(), Discard> {
    let (mut source, mut buf) = (Node::new(NetConfig::new(Address::Short(2))), [0; 128]);
    source.add_address(InterfaceAddress { address: src, prefix_len: 64 }).unwrap();
    source.routing_mut().known.push((dst, 1));
    send(&mut source, dst, 1).unwrap();
    let out = source.poll_frame(NOW, LIMITS, &Pattern, &mut buf).expect("pending");
    let (from, to) = (Address::Short(2), Address::Short(1));
    let frame = FrameIn { src: from, dst: to, payload: &buf[..out.len] };
    node.handle_frame(NOW, frame).map(|_| ())
}

#[test]
fn packets_of_others_do_not_wait_and_their_neighbour_is_notified() {
    let mut node = discoverer(1);
    let stray = relayed(&mut node, global(2), global(7));
    assert_eq!(stray, Err(Discard::NoRoute));
    assert_eq!(node.routing().strays, [(global(7), Address::Short(2))]);
    // Its source may know another route, so this node sends no error.
    assert_eq!((node.info().unrouted, next(&mut node)), (0, None));
    find(&mut node, global(7), 6);
    relayed(&mut node, global(2), global(7)).unwrap();
    assert_eq!(node.routing().used, [(global(7), Address::Short(2))]);
    assert_eq!(node.info().queued, 1);
    // The route is lost while the packet waits for the radio: there is no local repair.
    lose(&mut node, global(7));
    assert_eq!((node.info().queued, node.info().free_packets), (0, PACKETS));
}

#[test]
fn a_packet_that_comes_back_is_reported_to_routing() {
    let mut node = discoverer(1);
    find(&mut node, global(7), 2);
    assert_eq!(relayed(&mut node, global(2), global(7)), Err(Discard::NoRoute));
    assert_eq!(node.routing().loops, [global(7)]);
    assert_eq!(relayed(&mut node, global(1), global(8)), Err(Discard::Address));
    assert_eq!(node.routing().loops, [global(7), global(8)]);
}

#[test]
fn a_packet_of_the_host_waits_for_its_route() {
    let mut node = discoverer(1);
    let via = NextHop::Host;
    let outside = Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 1);
    node.add_route(Route { prefix: outside, prefix_len: 64, via }).unwrap();
    let octets = packet(outside, global(7), protocol::TCP, &[9; 40]);
    assert_eq!(node.handle_host_packet(NOW, &octets), Ok(None));
    assert_eq!((next(&mut node), node.info().unrouted), (None, 1));
    find(&mut node, global(7), 4);
    assert_eq!(next(&mut node), Some((Address::Short(4), 9)));
}
