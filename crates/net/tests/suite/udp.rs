//! UDP sockets.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{BindError, Discard, JoinError, SendError, Sending, UdpError, UdpHandle};
use kinglet_wire::icmpv6::Kind;

fn pair() -> (Node, UdpHandle, Node, UdpHandle) {
    let (mut a, mut b) = (node(1), node(2));
    let (from, to) = (a.udp_bind(0).unwrap(), b.udp_bind(5683).unwrap());
    (a, from, b, to)
}

#[test]
fn a_datagram_arrives_with_its_addresses_and_ports() {
    for len in [0usize, 1, 70, 71, 500, 1232] {
        let (mut a, from, mut b, to) = pair();
        a.udp_send(NOW, from, global(2), 5683, &pattern(5, len)).unwrap();
        assert!(carry(&mut a, 1, &mut b).is_empty());
        let mut buf = [0; 1280];
        let got = b.udp_recv(to, &mut buf).unwrap().unwrap();
        assert_eq!((got.src, got.src_port, got.dst), (global(1), 0xF0B0, global(2)));
        assert_eq!(buf[..got.len], pattern(5, len));
        assert_eq!(b.udp_recv(to, &mut buf), Ok(None));
        assert_eq!((a.info().free_packets, b.info().free_packets), (PACKETS, PACKETS));
    }
}

//= rfc6775#5.2-1 type=test
#[test]
fn multicast_reaches_all_nodes() {
    let (mut a, from, mut b, to) = pair();
    let all: Ipv6Addr = "ff02::1".parse().unwrap();
    a.udp_send(NOW, from, all, 5683, b"hello").unwrap();
    carry(&mut a, 1, &mut b);
    let mut buf = [0; 8];
    let got = b.udp_recv(to, &mut buf).unwrap().unwrap();
    assert_eq!((got.src, got.dst, got.len), (local(1), all, 5));
}

#[test]
fn a_group_is_received_from_joining_to_leaving() {
    let (mut a, from, mut b, to) = pair();
    let [group, other, third]: [Ipv6Addr; 3] =
        ["ff02::fd", "ff05::fd", "ff02::1:2"].map(|text| text.parse().unwrap());
    let mut heard = |b: &mut Node| {
        a.udp_send(NOW, from, group, 5683, b"all").unwrap();
        carry(&mut a, 1, b);
        b.udp_recv(to, &mut [0; 8]).unwrap().map(|got| got.dst)
    };
    assert_eq!(heard(&mut b), None);
    assert_eq!(b.stats().discarded(Discard::NotForUs), 1);
    assert_eq!((b.join_group(group), b.join_group(group)), (Ok(()), Ok(())));
    assert_eq!(heard(&mut b), Some(group));
    assert_eq!(b.join_group(other), Ok(()));
    assert_eq!(b.join_group(third), Err(JoinError::TableFull));
    assert_eq!(b.join_group(global(2)), Err(JoinError::NotMulticast));
    assert_eq!((b.leave_group(group), b.leave_group(group)), (true, false));
    assert_eq!(heard(&mut b), None);
    assert_eq!(b.join_group(third), Ok(()));
}

#[test]
fn source_hop_limit_and_traffic_class_are_chosen_for_each_datagram() {
    let (mut a, from, mut b, to) = pair();
    let sending = Sending { src: Some(local(1)), hop_limit: Some(255), traffic_class: 0xB8 };
    a.udp_send_with(NOW, from, global(2), 5683, sending, b"x").unwrap();
    a.udp_send(NOW, from, global(2), 5683, b"y").unwrap();
    let sent = frames(&mut a, LIMITS);
    // IPHC with the traffic class in-line (RFC 6282, 3.2.1), ECN first.
    assert_eq!((sent[0].1[0] >> 3 & 3, sent[0].1[2]), (0b10, 0xB8_u8.rotate_right(2)));
    for (dst, payload) in &sent {
        assert_eq!(hear(&mut b, NOW, 1, *dst, payload), Ok(None));
    }
    let mut recv = || b.udp_recv(to, &mut [0; 8]).unwrap().unwrap();
    let first = recv();
    assert_eq!((first.src, first.dst, first.hop_limit), (local(1), global(2), 255));
    let second = recv();
    assert_eq!((second.src, second.dst, second.hop_limit), (global(1), global(2), 64));
    let foreign = Sending { src: Some(global(7)), ..Sending::default() };
    let refused = a.udp_send_with(NOW, from, global(2), 5683, foreign, b"z");
    assert_eq!((refused, a.pending()), (Err(SendError::NoRoute), None));
}

#[test]
fn pitfalls_074_and_098_a_send_larger_than_the_longest_packet_is_an_error() {
    let (mut a, from, ..) = pair();
    let send = |a: &mut Node, len| a.udp_send(NOW, from, global(2), 5683, &vec![0; len]);
    // 1500 octets with the headers, in fragments; `ipv6_partials.rs` has a plan without those.
    assert_eq!(send(&mut a, 1453), Err(SendError::TooLong));
    assert_eq!(send(&mut a, 70_000), Err(SendError::TooLong));
    assert_eq!(a.pending(), None);
    assert_eq!(send(&mut a, 1452), Ok(()));
    let ping = a.ping(NOW, global(2), 0, 0, &[0; 1453]);
    assert_eq!(ping, Err(SendError::TooLong));
}

#[test]
fn sends_without_route_room_or_socket_are_errors() {
    let (mut a, from, ..) = pair();
    let outside: Ipv6Addr = "2001:db9::1".parse().unwrap();
    assert_eq!(a.udp_send(NOW, from, outside, 1, &[]), Err(SendError::NoRoute));
    assert_eq!(a.udp_send(NOW, from, global(1), 1, &[]), Err(SendError::NoRoute), "oneself");
    for _ in 0..4 {
        a.udp_send(NOW, from, global(2), 1, &[]).unwrap();
    }
    assert_eq!(a.udp_send(NOW, from, global(2), 1, &[]), Err(SendError::QueueFull));
    a.udp_close(from);
    assert_eq!(a.udp_send(NOW, from, global(2), 1, &[]), Err(SendError::NotBound));
    assert_eq!(a.udp_recv(from, &mut []), Err(UdpError::NotBound));
}

#[test]
fn a_port_has_one_socket_and_the_table_an_end() {
    let mut node = node(1);
    let first = node.udp_bind(7).unwrap();
    assert_eq!(node.udp_bind(7), Err(BindError::PortInUse));
    let second = node.udp_bind(0).unwrap();
    assert_eq!(node.udp_port(second), Some(0xF0B0));
    assert_eq!(node.udp_bind(8), Err(BindError::TableFull));
    node.udp_close(first);
    assert_eq!(node.udp_port(first), None);
    assert_eq!(node.udp_bind(7), Ok(first));
}

#[test]
fn a_short_buffer_leaves_the_datagram() {
    let (mut a, from, mut b, to) = pair();
    a.udp_send(NOW, from, global(2), 5683, b"four").unwrap();
    carry(&mut a, 1, &mut b);
    assert_eq!(b.udp_recv(to, &mut [0; 3]), Err(UdpError::BufferTooShort(4)));
    assert_eq!(b.udp_recv(to, &mut [0; 4]).map(|got| got.unwrap().len), Ok(4));
}

#[test]
fn a_part_of_a_datagram_is_read_on_request_and_the_rest_is_gone() {
    let (mut a, from, mut b, to) = pair();
    assert_eq!(b.udp_unread(to), Ok(None));
    for text in [&b"four"[..], b"five5"] {
        a.udp_send(NOW, from, global(2), 5683, text).unwrap();
        carry(&mut a, 1, &mut b);
    }
    assert_eq!(b.udp_unread(to), Ok(Some(4)));
    let mut buf = [0; 3];
    assert_eq!(b.udp_recv_part(to, &mut buf).map(|got| got.unwrap().len), Ok(4));
    assert_eq!((&buf, b.udp_unread(to)), (b"fou", Ok(Some(5))));
    b.udp_close(to);
    assert_eq!(b.udp_unread(to), Err(UdpError::NotBound));
    assert_eq!(b.udp_recv_part(to, &mut buf).err(), Some(UdpError::NotBound));
}

#[test]
fn an_unbound_port_is_reported_to_the_sender() {
    let (mut a, from, mut b, _) = pair();
    a.udp_send(NOW, from, global(2), 99, b"anyone?").unwrap();
    carry(&mut a, 1, &mut b);
    assert_eq!(b.stats().discarded(Discard::Port), 1);
    carry(&mut b, 2, &mut a);
    let report = a.poll_error().unwrap();
    assert_eq!(report.kind, Kind::DestinationUnreachable { code: 4 });
    assert_eq!((report.reporter, report.ports()), (global(2), (0xF0B0, 99)));
}

#[test]
fn unread_datagrams_are_bounded_and_come_in_order() {
    let (mut a, from, mut b, to) = pair();
    for n in 0..10u8 {
        a.udp_send(NOW, from, global(2), 5683, &[n]).unwrap();
        carry(&mut a, 1, &mut b);
    }
    assert_eq!(b.info().free_packets, PACKETS - 4);
    let mut buf = [0; 1];
    for n in 0..4u8 {
        assert!(b.udp_recv(to, &mut buf).unwrap().is_some());
        assert_eq!(buf, [n]);
    }
    assert_eq!(b.udp_recv(to, &mut buf), Ok(None));
    assert_eq!(b.info().free_packets, PACKETS);
}

#[test]
fn closing_a_socket_frees_what_it_had_not_read() {
    let (mut a, from, mut b, to) = pair();
    a.udp_send(NOW, from, global(2), 5683, b"unread").unwrap();
    carry(&mut a, 1, &mut b);
    b.udp_close(to);
    assert_eq!(b.info().free_packets, PACKETS);
}

#[test]
fn unread_datagrams_of_all_sockets_hold_at_most_half_of_the_slots() {
    let (mut a, from, mut b, _) = pair();
    b.udp_bind(9).unwrap();
    for port in [5683, 9, 5683, 9, 5683, 9, 5683, 9] {
        a.udp_send(NOW, from, global(2), port, b"unread").unwrap();
        carry(&mut a, 1, &mut b);
    }
    assert_eq!(b.info().free_packets, PACKETS / 2);
    assert_eq!(b.stats().discarded(Discard::NoBuffer), 4);
}
