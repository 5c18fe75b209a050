//! A plan without the features that a host does not need.

use crate::common::{NOW, global, packet, route};
use kinglet_net::{
    Child, Discard, FrameIn, InterfaceAddress, Iphc, Neighbour, Net, NetConfig, NextHop, Parked,
    Partial, QueueDiscipline, Queued, Red, Rfc4944, Route, SendError, Sizes, Slot, UdpSocket,
};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;
use kinglet_wire::sixlowpan::{Context, DISPATCH_IPV6};

struct Minimal;

impl Sizes for Minimal {
    const FORWARDS: bool = false;
    const DETECTS_CONGESTION: bool = false;
    const REPORTS_ERRORS: bool = false;
    type Storage = [u8; 1280];
    type Packets = [Slot<Self::Storage>; 4];
    type Reassembly = [Option<Partial>; 1];
    type Output = [Option<Queued>; 2];
    type Host = [Option<Queued>; 0];
    type Children = [Option<Child>; 0];
    type Indirect = [Option<Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 1];
    type Groups = [Option<core::net::Ipv6Addr>; 0];
    type Routes = [Option<Route>; 2];
    type Neighbours = [Option<Neighbour>; 0];
    type Contexts = [Option<Context>; 0];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc4944;
    type Border = ();
    type Ipv6Fragments = ();
    type Headers = Iphc<()>;
    type UdpSockets = [UdpSocket; 1];
}

/// Returns node 2, whose configuration requests features that its plan lacks.
fn node() -> Net<Minimal, u32> {
    let queue = QueueDiscipline::Red(Red::DEFAULT);
    let mut node =
        Net::new(NetConfig { forward: true, queue, ..NetConfig::new(Address::Short(2)) });
    node.add_address(InterfaceAddress { address: global(2), prefix_len: 64 }).unwrap();
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node
}

fn hear(node: &mut Net<Minimal, u32>, packet: &[u8]) -> Discard {
    let payload = &[&[DISPATCH_IPV6], packet].concat();
    let frame = FrameIn { src: Address::Short(1), dst: Address::Short(2), payload };
    node.handle_frame(NOW, frame).unwrap_err()
}

#[test]
fn settings_cannot_enable_a_function_that_the_plan_lacks() {
    let mut node = node();
    let relayed = packet(global(1), global(3), protocol::TCP, &[0; 20]);
    assert_eq!(hear(&mut node, &relayed), Discard::NotForUs);
    let unknown = packet(global(1), global(2), 0xFD, &[0; 8]);
    assert_eq!(hear(&mut node, &unknown), Discard::Protocol);
    assert_eq!((node.pending(), node.stats().errors_out), (None, 0));
    assert_eq!(node.info().free_packets, 4);
}

#[test]
fn without_a_host_interface_no_route_leads_there() {
    let mut node = node();
    let outside = "2001:db9::1".parse().unwrap();
    node.add_route(route(outside, 64, NextHop::Host)).unwrap();
    let socket = node.udp_bind(7).unwrap();
    assert_eq!(node.udp_send(NOW, socket, outside, 7, b""), Err(SendError::NoRoute));
}

#[test]
fn without_its_compression_a_udp_header_goes_and_comes_in_line() {
    let mut node = node();
    let socket = node.udp_bind(7).unwrap();
    node.udp_send(NOW, socket, global(1), 7, b"data").unwrap();
    let limits = kinglet_net::FrameLimits { max_payload: 104 };
    let mut frame = [0; 104];
    let sent = node.poll_frame(NOW, limits, &kinglet_net::NoBody, &mut frame).unwrap();
    // IPHC, next header, two whole addresses; then all of UDP.
    assert_eq!((frame[2], sent.len), (protocol::UDP, 3 + 32 + 8 + 4));
    let compressed = [0x7E, 0x33, 0xF3, 0x12, 0xAA, 0xBB, 1, 2, 3];
    let (src, dst) = (Address::Short(1), Address::Short(2));
    let refused = node.handle_frame(NOW, FrameIn { src, dst, payload: &compressed });
    assert_eq!(refused, Err(Discard::Compression));
}
