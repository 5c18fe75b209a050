//! Learned routes, and routing messages.

use crate::common;

use crate::common::{LIMITS, NOW, Plan, global, local};
use core::net::Ipv6Addr;
use kinglet_net::{
    BindError, Discard, FrameIn, Icmpv6Out, InterfaceAddress, Net, NetConfig, NextHop, Route,
    SendError,
};
use kinglet_routing::{Learnt, NoHeaders, Routing};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, protocol};
use kinglet_wire::sixlowpan::link_address_of;

const PORT: u16 = 0xF0BF;
const ALL_RPL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);

/// Routes 2001:db8:: to node 5, except for node 9, which is unreachable, and all other addresses to
/// node 6.
struct Knowing;
impl Routing for Knowing {
    const NONE: Self = Knowing;
    const PORT: Option<u16> = Some(PORT);
    const ICMPV6: &'static [u8] = &[155];
    const GROUP: Option<Ipv6Addr> = Some(ALL_RPL_NODES);
    type Additions = NoHeaders;
    type Waiting<H: Copy + std::fmt::Debug> = [Option<H>; 0];

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let via = |n| Some(NextHop::Link(Address::Short(n)));
        Some(match (dst.segments()[0], link_address_of(dst)) {
            (0x2001, Address::Short(9)) => Learnt { prefix_len: 64, via: None },
            (0x2001, _) => Learnt { prefix_len: 64, via: via(5) },
            _ => Learnt { prefix_len: 0, via: via(6) },
        })
    }
}

type Node = Net<Plan<Knowing>, u32>;

fn learner() -> Node {
    let mut node = Node::new(NetConfig::new(Address::Short(1)));
    node.add_address(InterfaceAddress { address: global(1), prefix_len: 64 }).unwrap();
    node
}

/// Returns the next hop of a datagram to `dst`.
fn next_hop(node: &mut Node, dst: Ipv6Addr) -> Result<Address, SendError> {
    let socket = node.udp_bind(1000).unwrap();
    let sent = node.udp_send(NOW, socket, dst, 1000, b"x");
    node.udp_close(socket);
    sent?;
    let pending = node.pending().expect("sent");
    let mut buf = [0; 128];
    node.poll_frame(NOW, LIMITS, &kinglet_net::NoBody, &mut buf).expect("pending");
    Ok(pending.dst)
}

#[test]
fn a_static_route_precedes_a_learned_one_of_the_same_length() {
    let (mut node, short) = (learner(), Address::Short);
    let outside = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    assert_eq!(next_hop(&mut node, global(2)), Ok(short(5)));
    assert_eq!(next_hop(&mut node, outside), Ok(short(6)));
    assert_eq!(next_hop(&mut node, global(9)), Err(SendError::NoRoute));
    let route = |prefix, prefix_len, n| Route { prefix, prefix_len, via: NextHop::Link(short(n)) };
    // A default route is shorter than a learned route of the mesh, even one to an unreachable node.
    node.add_route(route(Ipv6Addr::UNSPECIFIED, 0, 7)).unwrap();
    assert_eq!(next_hop(&mut node, outside), Ok(short(7)));
    assert_eq!(next_hop(&mut node, global(2)), Ok(short(5)));
    assert_eq!(next_hop(&mut node, global(9)), Err(SendError::NoRoute));
    node.add_route(route(global(2), 128, 8)).unwrap();
    assert_eq!(next_hop(&mut node, global(2)), Ok(short(8)));
    node.add_route(route(global(0), 64, 8)).unwrap();
    assert_eq!(next_hop(&mut node, global(9)), Ok(short(8)));
}

/// Returns the only frame that a node has to send.
fn frame(node: &mut Node) -> (Address, Vec<u8>) {
    let mut buf = [0; 128];
    let pending = node.pending().expect("sent");
    assert_eq!(pending.class, kinglet_net::Class::Control);
    let out = node.poll_frame(NOW, LIMITS, &kinglet_net::NoBody, &mut buf).expect("pending");
    (out.dst, buf[..out.len].to_vec())
}

fn receive(node: &mut Node, frame: &[u8]) -> Result<Option<kinglet_net::Delivery>, Discard> {
    let (src, dst) = (Address::Short(2), Address::Short(1));
    node.handle_frame(NOW, kinglet_net::FrameIn { src, dst, payload: frame })
}

#[test]
fn messages_go_at_once_and_first_also_to_a_child() {
    let mut node = learner();
    node.add_child(3).unwrap();
    let socket = node.udp_bind(1000).unwrap();
    node.udp_send(NOW, socket, global(2), 1000, b"x").unwrap();
    node.send_routing_message(NOW, Address::Short(3), b"hello").unwrap();
    node.send_routing_message(NOW, Address::BROADCAST, b"hello").unwrap();
    assert!(!node.can_send_routing_message());
    let refused = node.send_routing_message(NOW, Address::BROADCAST, b"hello");
    assert_eq!(refused, Err(SendError::NoBuffer));
    let (dst, octets) = frame(&mut node);
    // Addresses, hop limit, both ports and the length are compressed.
    assert_eq!((dst, octets.len()), (Address::Short(3), 2 + 4 + 5));
    assert_eq!(frame(&mut node).0, Address::BROADCAST);
    assert_eq!(node.info().queued, 1);
}

#[test]
fn only_what_a_neighbour_has_sent_is_a_message() {
    let mut sender = Node::new(NetConfig::new(Address::Short(2)));
    let mut node = learner();
    sender.send_routing_message(NOW, Address::Short(1), b"hello").unwrap();
    let (_, octets) = frame(&mut sender);
    let message = receive(&mut node, &octets).unwrap().expect("for whoever learns");
    assert_eq!(&node.packet(message.packet)[message.upper], b"hello");
    assert_eq!((message.protocol, message.header.src), (protocol::UDP, local(2)));
    assert_eq!(message.header.hop_limit, 255);
    node.release(message.packet);
    // The same with the hop limit of a forwarded message, in full.
    let header = Header { hop_limit: 254, ..message.header };
    let mut packet = vec![0; 1 + 40 + 13];
    packet[0] = 0x41;
    header.emit(&mut packet[1..]).unwrap();
    let data = [(PORT >> 8) as u8, PORT as u8].repeat(2);
    packet[41..45].copy_from_slice(&data);
    packet[46] = 13;
    packet[49..].copy_from_slice(b"hello");
    let pseudo = header.pseudo_header_sum(13, protocol::UDP);
    kinglet_wire::udp::fill_checksum(&mut packet[41..], pseudo).unwrap();
    assert_eq!(receive(&mut node, &packet), Err(Discard::HopLimit));
    packet[8] = 255;
    assert!(matches!(receive(&mut node, &packet), Ok(Some(_))));
    assert_eq!(node.udp_bind(PORT), Err(BindError::PortInUse));
}

/// Returns the message that `node` receives from `sender`.
fn heard(sender: &mut Node, node: &mut Node, out: &Icmpv6Out, octets: &[u8]) -> Option<Vec<u8>> {
    sender.send_icmpv6(NOW, out, octets).unwrap();
    let (dst, frame) = frame(sender);
    let from = Address::Short(2);
    let delivery = node.handle_frame(NOW, FrameIn { src: from, dst, payload: &frame }).unwrap()?;
    assert_eq!(delivery.protocol, protocol::ICMPV6);
    let octets = node.hear_icmpv6(from, delivery, |_, _, message, _| {
        assert_eq!((message.from, message.header.hop_limit), (from, out.hop_limit));
        assert_eq!((message.header.src, message.header.dst), (local(2), out.dst));
        message.octets.to_vec()
    });
    Some(octets)
}

#[test]
fn icmpv6_of_its_types_is_carried_whole_from_the_shortest_message_on() {
    let mut sender = Node::new(NetConfig::new(Address::Short(2)));
    let mut node = learner();
    let to = |dst, via| Icmpv6Out { src: None, dst, via, hop_limit: 255, alert: false, len: 6 };
    // A DIS has two octets behind its checksum.
    let dis = [155, 0, 0, 0, 0, 0];
    let next_hops = [(ALL_RPL_NODES, Some(Address::BROADCAST)), (local(1), None)];
    for (dst, via) in next_hops {
        let octets = heard(&mut sender, &mut node, &to(dst, via), &dis).expect("for routing");
        assert_eq!((octets.len(), &octets[..2], &octets[4..]), (6, &dis[..2], &dis[4..]));
        assert_ne!(octets[2..4], [0, 0], "the checksum");
    }
    assert_eq!(node.info().free_packets, common::PACKETS);
    // A message of another type has no receiver, nor has a damaged one.
    let other = Icmpv6Out { len: 8, ..to(local(1), None) };
    sender.send_icmpv6(NOW, &other, &[200; 8]).unwrap();
    let (_, octets) = frame(&mut sender);
    assert_eq!(receive(&mut node, &octets), Err(Discard::IcmpType));
    sender.send_icmpv6(NOW, &to(local(1), None), &dis).unwrap();
    let (_, mut octets) = frame(&mut sender);
    *octets.last_mut().unwrap() ^= 1;
    assert_eq!(receive(&mut node, &octets), Err(Discard::Checksum));
}

#[test]
fn icmpv6_goes_first_and_has_two_places() {
    let mut node = learner();
    node.add_child(3).unwrap();
    let out =
        |via, len| Icmpv6Out { src: None, dst: local(3), via, hop_limit: 255, alert: false, len };
    let (child, via) = (Some(Address::Short(3)), Some(Address::Short(4)));
    assert_eq!(node.send_icmpv6(NOW, &out(via, 9), &[155; 8]), Err(SendError::TooLong));
    assert_eq!(node.send_icmpv6(NOW, &out(via, 2), &[155; 8]), Err(SendError::TooLong));
    // A packet that waits for a sleeping child does not delay a direct one.
    for via in [None, child, via, via] {
        node.send_icmpv6(NOW, &out(via, 8), &[155; 8]).unwrap();
    }
    assert_eq!(node.waiting_for(3), 2, "also what names its link address");
    assert_eq!(node.send_icmpv6(NOW, &out(via, 8), &[155; 8]), Err(SendError::NoBuffer));
    assert_eq!(frame(&mut node).0, Address::Short(4));
    assert_eq!(frame(&mut node).0, Address::Short(4));
    assert_eq!(node.pending(), None);
}
