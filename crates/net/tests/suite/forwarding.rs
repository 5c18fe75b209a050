//! RFC 8200 and RFC 4443 in forwarding: a router's treatment of packets for other nodes.

use crate::common;
use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{
    Body, Discard, Neighbour, NetConfig, NextHop, Outgoing, RESERVED, SendError, TableFull,
};
use kinglet_wire::icmpv6::{Kind, Message};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, Packet, protocol};

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Returns router 2 between node 1 and the rest.
fn middle() -> Node {
    let mut node = router(2);
    node.add_route(route(global(1), 128, NextHop::Link(Address::Short(1)))).unwrap();
    node.add_route(route(global(0), 64, NextHop::Link(Address::Short(3)))).unwrap();
    node
}

/// Returns a router's discard and error for a packet that node 1 has sent to it.
fn answer(router: &mut Node, packet: &[u8]) -> (Discard, Option<Kind>) {
    let discard = hear(router, NOW, 1, Address::Short(2), &plain(packet)).unwrap_err();
    (discard, error_to_node_1(router, packet))
}

fn error_to_node_1(router: &mut Node, about: &[u8]) -> Option<Kind> {
    let mut sender = node(1);
    let out = frames(router, LIMITS);
    assert!(out.iter().all(|(dst, _)| *dst == Address::Short(1)));
    let mut kinds = out.iter().filter_map(|(dst, frame)| {
        hear(&mut sender, NOW, 2, *dst, frame).ok();
        sender.poll_error()
    });
    let report = kinds.next();
    assert!(kinds.next().is_none());
    assert!(report.is_none_or(|report| report.dst == Header::read(about).unwrap().dst));
    report.map(|report| report.kind)
}

fn tcp_to(dst: Ipv6Addr) -> Vec<u8> {
    packet(global(1), dst, protocol::TCP, &[7; 40])
}

//= rfc6550#11.1-1 type=test
#[test]
fn a_packet_crosses_three_routers_with_its_hop_limit_counted_down() {
    let mut origin = bare(NetConfig::new(Address::Short(1)), 1);
    origin.add_route(route(global(0), 0, NextHop::Link(Address::Short(2)))).unwrap();
    let mut chain: Vec<Node> = (2..5).map(router).collect();
    for (node, next) in chain.iter_mut().zip(3..) {
        node.add_route(route(global(0), 64, NextHop::Link(Address::Short(next)))).unwrap();
    }
    let mut last = node(5);
    origin.ping(NOW, global(5), 1, 1, &[3; 300]).unwrap();
    let (mut from, mut sent) = (1, frames(&mut origin, LIMITS));
    for node in &mut chain {
        for (dst, frame) in &sent {
            hear(node, NOW, from, *dst, frame).unwrap();
        }
        (from, sent) = (from + 1, frames(node, LIMITS));
        assert_eq!((node.stats().forwarded, node.info().free_packets), (1, PACKETS));
    }
    for (dst, frame) in &sent {
        assert_eq!(*dst, Address::Short(5));
        hear(&mut last, NOW, 4, *dst, frame).unwrap();
    }
    let reply = frames(&mut last, LIMITS);
    let mut origin = node(1);
    for (_, frame) in &reply {
        hear(&mut origin, NOW, 5, Address::Short(1), frame).unwrap();
    }
    assert_eq!(origin.poll_echo_reply().unwrap().len, 300);
    // Behind the fragment header: hop limit in-line and 64 - 3, source in-line, destination elided.
    assert_eq!(sent[0].1[4..8], [0x78, 0x67, 58, 61]);
}

#[test]
fn the_limit_of_a_queue_is_for_what_is_relayed() {
    let config = NetConfig { forward: true, queue_limit: 2, ..NetConfig::new(Address::Short(2)) };
    let mut node = bare(config, 2);
    node.add_route(route(global(0), 64, NextHop::Link(Address::Short(3)))).unwrap();
    let packet = plain(&tcp_to(global(9)));
    for _ in 0..2 {
        hear(&mut node, NOW, 1, Address::Short(2), &packet).unwrap();
    }
    let refused = hear(&mut node, NOW, 1, Address::Short(2), &packet);
    assert_eq!(refused.err(), Some(Discard::QueueFull));
    // The node's own packets may wait as well.
    node.ping(NOW, global(9), 1, 1, &[]).unwrap();
    assert_eq!(frames(&mut node, LIMITS).len(), 3);
    hear(&mut node, NOW, 1, Address::Short(2), &packet).unwrap();
}

#[test]
fn the_longest_prefix_wins_and_replaced_or_removed_routes_are_gone() {
    let mut node = router(2);
    let link = |n| NextHop::Link(Address::Short(n));
    let via = |node: &mut Node, dst| {
        hear(node, NOW, 1, Address::Short(2), &plain(&tcp_to(dst))).ok();
        frames(node, LIMITS).first().map(|(dst, _)| *dst)
    };
    node.add_route(route(ip("::"), 0, link(10))).unwrap();
    node.add_route(route(ip("2001:db8:1::"), 48, link(11))).unwrap();
    node.add_route(route(ip("2001:db8:1:2::"), 64, link(12))).unwrap();
    node.add_route(route(ip("2001:db8:1:2::9"), 128, NextHop::OnLink)).unwrap();
    assert_eq!(via(&mut node, ip("2001:db9::1")), Some(Address::Short(10)));
    assert_eq!(via(&mut node, ip("2001:db8:1:3::1")), Some(Address::Short(11)));
    assert_eq!(via(&mut node, ip("2001:db8:1:2::1")), Some(Address::Short(12)));
    let derived = Address::Extended([2, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!(via(&mut node, ip("2001:db8:1:2::9")), Some(derived));
    let known = Neighbour { address: ip("2001:db8:1:2::9"), link: Address::Short(13) };
    node.add_neighbour(known).unwrap();
    assert_eq!(via(&mut node, ip("2001:db8:1:2::9")), Some(Address::Short(13)));
    node.add_route(route(ip("2001:db8:1:2::"), 64, link(14))).unwrap();
    assert_eq!(via(&mut node, ip("2001:db8:1:2::1")), Some(Address::Short(14)));
    assert!(node.remove_route(ip("2001:db8:1:2::"), 64));
    assert!(!node.remove_route(ip("2001:db8:1:2::"), 64));
    assert_eq!(via(&mut node, ip("2001:db8:1:2::1")), Some(Address::Short(11)));
    for n in 0..3 {
        node.add_route(route(global(n), 128, link(n))).unwrap();
    }
    assert_eq!(node.add_route(route(global(9), 128, link(9))), Err(TableFull));
}

#[test]
fn a_host_does_not_forward() {
    let mut host = node(2);
    let heard = hear(&mut host, NOW, 1, Address::Short(2), &plain(&tcp_to(global(3))));
    assert_eq!(heard, Err(Discard::NotForUs));
    assert_eq!(host.pending(), None);
}

#[test]
fn without_a_route_the_sender_gets_destination_unreachable() {
    let mut node = middle();
    let kind = Kind::DestinationUnreachable { code: 0 };
    let expected = (Discard::NoRoute, Some(kind));
    assert_eq!(answer(&mut node, &tcp_to(ip("2001:db9::1"))), expected);
}

#[test]
fn a_packet_does_not_go_back_to_the_neighbour_that_forwarded_it() {
    // Node 1 has a route to node 9 through this router, whose route leads through node 1.
    let mut node = middle();
    node.add_route(route(global(9), 128, NextHop::Link(Address::Short(1)))).unwrap();
    let unreachable = Some(Kind::DestinationUnreachable { code: 3 });
    assert_eq!(answer(&mut node, &tcp_to(global(9))), (Discard::Loop, unreachable));
    assert_eq!(node.stats().forwarded, 0);
    // From another neighbour it is forwarded.
    let from_3 = packet(global(3), global(9), protocol::TCP, &[7; 40]);
    assert_eq!(hear(&mut node, NOW, 3, Address::Short(2), &plain(&from_3)), Ok(None));
    assert_eq!(node.stats().forwarded, 1);
}

#[test]
fn a_used_up_hop_limit_is_reported() {
    for hop_limit in [0, 1] {
        let mut octets = tcp_to(global(3));
        octets[7] = hop_limit;
        let expected = (Discard::HopLimit, Some(Kind::TimeExceeded { code: 0 }));
        assert_eq!(answer(&mut middle(), &octets), expected);
    }
}

#[test]
fn link_local_and_multicast_packets_are_never_forwarded() {
    for (src, dst, why) in [
        (local(1), global(3), Discard::Scope),
        (global(1), local(3), Discard::Scope),
        (ip("::"), global(3), Discard::Scope),
        (global(1), ip("ff05::1"), Discard::NotForUs),
    ] {
        let octets = packet(src, dst, protocol::TCP, &[0; 20]);
        let mut node = middle();
        let heard = hear(&mut node, NOW, 1, Address::Short(2), &plain(&octets));
        assert_eq!(heard, Err(why));
        assert_eq!(node.pending(), None);
    }
}

#[test]
fn a_link_broadcast_is_not_forwarded() {
    let mut node = middle();
    let heard = hear(&mut node, NOW, 1, Address::BROADCAST, &plain(&tcp_to(global(3))));
    assert_eq!(heard, Err(Discard::NotForUs));
    assert_eq!(node.pending(), None);
}

#[test]
fn pitfall_056_frames_for_another_destination_are_dropped() {
    let mut node = middle();
    let frame = plain(&tcp_to(global(2)));
    assert_eq!(hear(&mut node, NOW, 1, Address::Short(9), &frame), Err(Discard::NotOurFrame));
    assert_eq!(hear(&mut node, NOW, 1, Address::None, &frame), Err(Discard::NotOurFrame));
    assert!(hear(&mut node, NOW, 1, Address::Short(2), &frame).unwrap().is_some());
}

#[test]
fn hop_by_hop_options_concern_the_router_and_others_do_not() {
    let with = |next_header, kind| {
        let mut payload = vec![protocol::TCP, 0, kind, 4, 0, 0, 0, 0];
        payload.extend([0; 20]);
        packet(global(1), global(3), next_header, &payload)
    };
    for (kind, errors) in [(0xBE, 1), (0xFE, 1), (0x7E, 0)] {
        let mut node = middle();
        let octets = with(protocol::HOP_BY_HOP, kind);
        let heard = hear(&mut node, NOW, 1, Address::Short(2), &plain(&octets));
        assert_eq!(heard, Err(Discard::Options));
        let sent = frames(&mut node, LIMITS);
        assert_eq!((sent.len(), node.stats().errors_out), (errors, errors as u32));
        // Parameter Problem, code 2, and the option's offset.
        let says = |frame: &[u8]| frame.windows(8).any(|w| w[..2] == [4, 2] && w[7] == 42);
        assert!(sent.iter().all(|(_, frame)| says(frame)));
    }
    for octets in [with(protocol::HOP_BY_HOP, 0x3E), with(protocol::DESTINATION, 0xBE)] {
        let mut node = middle();
        assert_eq!(hear(&mut node, NOW, 1, Address::Short(2), &plain(&octets)), Ok(None));
        assert_eq!(frames(&mut node, LIMITS)[0].0, Address::Short(3));
    }
}

fn border() -> Node {
    border_of(router(2))
}

fn border_of(mut node: Node) -> Node {
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node.add_route(route(ip("::"), 0, NextHop::Host)).unwrap();
    node
}

#[test]
fn a_border_router_forwards_packets_in_both_directions() {
    let mut node = border();
    let outside = ip("2001:db9::1");
    let inward = packet(outside, global(7), protocol::TCP, &[1; 60]);
    assert_eq!(node.handle_host_packet(NOW, &inward), Ok(None));
    let (dst, frame) = frames(&mut node, LIMITS).remove(0);
    assert_eq!((dst, frame.len() > 60), (Address::Short(7), true));
    let outward = packet(global(7), outside, protocol::TCP, &[2; 60]);
    assert_eq!(hear(&mut node, NOW, 7, Address::Short(2), &plain(&outward)), Ok(None));
    let mut buf = [0; 1280];
    assert_eq!(node.poll_host_packet(NOW, &Pattern, &mut buf[..99]), None);
    assert_eq!(node.poll_host_packet(NOW, &Pattern, &mut buf), Some(100));
    assert_eq!((&buf[..7], buf[7]), (&outward[..7], outward[7] - 1));
    assert_eq!(buf[8..100], outward[8..]);
    assert_eq!(node.poll_host_packet(NOW, &Pattern, &mut buf), None);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn host_packets_leave_the_reserved_slots_alone() {
    let mut node = border();
    let inward = packet(ip("2001:db9::1"), global(7), protocol::TCP, &[1; 60]);
    for _ in 0..PACKETS - RESERVED {
        assert!(node.takes_host_packet(), "{} slots are free", node.info().free_packets);
        let held = plain(&tcp_to(global(2)));
        assert!(hear(&mut node, NOW, 1, Address::Short(2), &held).unwrap().is_some());
    }
    assert_eq!((node.info().free_packets, node.takes_host_packet()), (RESERVED, false));
    assert_eq!(node.handle_host_packet(NOW, &inward), Err(Discard::NoBuffer));
    assert_eq!(node.info().free_packets, RESERVED);
}

#[test]
fn a_host_packet_that_would_return_to_the_host_is_reported_unreachable() {
    let mut node = border();
    let astray = packet(ip("2001:db9::1"), ip("2001:db9::2"), protocol::TCP, &[1; 60]);
    assert_eq!(node.handle_host_packet(NOW, &astray), Err(Discard::NoRoute));
    let mut buf = [0; 1280];
    let len = node.poll_host_packet(NOW, &Pattern, &mut buf).unwrap();
    assert_eq!((len, &buf[40..42]), (40 + 8 + 100, &[1, 3][..]), "RFC 4443, 3.1: code 3");
    assert_eq!(buf[24..40], ip("2001:db9::1").octets());
    assert_eq!(buf[48..len], astray);
    assert_eq!(node.poll_host_packet(NOW, &Pattern, &mut buf), None);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn pitfall_030_a_host_packet_above_the_mtu_is_answered_with_packet_too_big() {
    let mut node = border();
    let big = packet(ip("2001:db9::1"), global(7), protocol::TCP, &[1; 1300]);
    assert_eq!(node.handle_host_packet(NOW, &big), Err(Discard::TooBig));
    let mut buf = [0; 1280];
    let len = node.poll_host_packet(NOW, &Pattern, &mut buf).unwrap();
    assert_eq!(len, 1280, "as much as fits into the minimum MTU, no more");
    let packet = Packet::parse(&buf[..len]).unwrap();
    let (header, upper) = (packet.header(), &buf[40..len]);
    assert_eq!(header.dst, ip("2001:db9::1"));
    let pseudo = header.pseudo_header_sum(upper.len(), protocol::ICMPV6);
    let message = Message::parse(upper, pseudo).unwrap();
    assert_eq!(message.kind(), Kind::PacketTooBig { mtu: 1280 });
    assert_eq!(message.body(), &big[..1232]);
}

#[test]
fn the_mtu_may_be_a_hosts_1500_octets() {
    let node = |n| {
        let link = Address::Short(n);
        bare(NetConfig { forward: true, mtu: 1500, ..NetConfig::new(link) }, n)
    };
    let (mut near, mut far) = (border_of(node(2)), border_of(node(7)));
    let text: Vec<u8> = (0..1461).map(|i| i as u8).collect();
    let whole = packet(ip("2001:db9::1"), ip("2001:db9::2"), protocol::TCP, &text[..1460]);
    far.add_route(route(ip("2001:db9::2"), 128, NextHop::Host)).unwrap();
    far.add_route(route(ip("2001:db9::1"), 128, NextHop::Link(Address::Short(2)))).unwrap();
    near.add_route(route(ip("2001:db9::2"), 128, NextHop::Link(Address::Short(7)))).unwrap();
    assert_eq!(whole.len(), 1500);
    assert_eq!(near.handle_host_packet(NOW, &whole), Ok(None));
    for (_, frame) in frames(&mut near, LIMITS) {
        hear(&mut far, NOW, 2, Address::Short(7), &frame).unwrap();
    }
    let mut buf = [0; 1500];
    assert_eq!(far.poll_host_packet(NOW, &Pattern, &mut buf), Some(1500));
    assert_eq!(buf[40..], whole[40..]);
    let longer = packet(ip("2001:db9::1"), ip("2001:db9::2"), protocol::TCP, &text[..1461]);
    assert_eq!(near.handle_host_packet(NOW, &longer), Err(Discard::TooBig));
}

#[test]
fn the_host_interface_of_a_border_router_answers_pings() {
    let mut node = border();
    let mut request = vec![128, 0, 0, 0, 0, 1, 0, 2, 9, 9];
    let header = Header::read(&packet(ip("2001:db9::1"), global(2), 58, &request)).unwrap();
    let pseudo = header.pseudo_header_sum(request.len(), protocol::ICMPV6);
    kinglet_wire::icmpv6::fill_checksum(&mut request, pseudo).unwrap();
    let octets = packet(ip("2001:db9::1"), global(2), 58, &request);
    assert_eq!(node.handle_host_packet(NOW, &octets), Ok(None));
    let mut buf = [0; 1280];
    let len = node.poll_host_packet(NOW, &Pattern, &mut buf).unwrap();
    assert_eq!((len, buf[40], &buf[48..50]), (50, 129, &[9, 9][..]));
}

#[test]
fn pitfalls_004_006_007_048_parked_packets_never_starve_what_would_unpark_them() {
    let mut node = middle();
    let frame = plain(&tcp_to(global(3)));
    // No node accepts frames from the router, and all its queues fill up.
    for _ in 0..20 {
        let _ = hear(&mut node, NOW, 1, Address::Short(2), &frame);
    }
    assert!(node.stats().discarded(Discard::QueueFull) > 0);
    // Reassemblies and unread datagrams come in addition.
    let socket = node.udp_bind(9).unwrap();
    let mut peer = common::node(1);
    let from = peer.udp_bind(9).unwrap();
    for _ in 0..20 {
        peer.udp_send(NOW, from, global(2), 9, &[1; 300]).unwrap();
        carry(&mut peer, 1, &mut node);
    }
    assert!(node.info().free_packets >= 1);
    // An unfragmented segment, such as an acknowledgement, still gets through to TCP …
    let ack = plain(&tcp_to(global(2)));
    let delivery = hear(&mut node, NOW, 3, Address::Short(2), &ack).unwrap().unwrap();
    node.release(delivery.packet);
    // … and when the queues are drained, everything is free again.
    frames(&mut node, LIMITS);
    node.udp_close(socket);
    node.handle_deadline(NOW + node.config().reassembly_timeout);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn packets_are_parked_only_while_the_reserve_stays_free() {
    let mut node = middle();
    for _ in 0..PACKETS - RESERVED - 1 {
        let held = plain(&tcp_to(global(2)));
        assert!(hear(&mut node, NOW, 1, Address::Short(2), &held).unwrap().is_some());
    }
    let through = plain(&tcp_to(global(3)));
    assert_eq!(hear(&mut node, NOW, 1, Address::Short(2), &through), Ok(None));
    assert_eq!(node.info().free_packets, RESERVED);
    let heard = hear(&mut node, NOW, 1, Address::Short(2), &through);
    assert_eq!(heard, Err(Discard::NoBuffer));
    assert_eq!(node.ping(NOW, global(3), 0, 0, &[]), Err(SendError::NoBuffer));
}

#[test]
fn a_segment_for_the_host_does_not_keep_others_waiting() {
    let mut router = border();
    let submit = |router: &mut Node, dst, key| {
        let body = Body::External { key, len: 300 };
        let (src, hop_limit, upper) = (global(1), 64, &[0u8; 20][..]);
        let (traffic_class, flow_label, protocol) = (0, 0, protocol::TCP);
        router.submit(
            NOW,
            Outgoing { src, dst, hop_limit, traffic_class, flow_label, protocol, upper, body },
        )
    };
    let outside = ip("2001:db8:ffff::1");
    let mut buf = [0; 1280];
    submit(&mut router, outside, 1).unwrap();
    assert!(!router.can_submit());
    router.park(NOW, &Pattern);
    assert!(router.can_submit());
    assert_eq!(router.poll_host_packet(NOW, &Pattern, &mut buf), Some(360));
    assert_eq!(buf[60..360], pattern(1, 300));
    // A packet for the radio stays where it is.
    submit(&mut router, global(3), 2).unwrap();
    router.park(NOW, &Pattern);
    assert!(!router.can_submit());
    assert_eq!(frames(&mut router, LIMITS).len(), 4);
    // Without room the segment is lost, but no slot leaks.
    let free = router.info().free_packets;
    for key in 0..4 {
        submit(&mut router, outside, key).unwrap();
        router.park(NOW, &Pattern);
    }
    assert_eq!(router.stats().discarded(Discard::QueueFull), 2);
    assert_eq!(router.info().free_packets, free - 2);
}
