//! RFC 4443: echo, and the conditions for sending and accepting errors.

use crate::common;
use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{Discard, InterfaceAddress, NetConfig, NextHop};
use kinglet_time::Duration;
use kinglet_wire::icmpv6::{self, Kind};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, protocol};

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Returns a whole packet with an ICMPv6 message.
fn message(src: Ipv6Addr, dst: Ipv6Addr, kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut upper = vec![0; 8];
    kind.emit(&mut upper).unwrap();
    upper.extend_from_slice(body);
    let header = Header::read(&packet(src, dst, protocol::ICMPV6, &upper)).unwrap();
    let pseudo = header.pseudo_header_sum(upper.len(), protocol::ICMPV6);
    icmpv6::fill_checksum(&mut upper, pseudo).unwrap();
    packet(src, dst, protocol::ICMPV6, &upper)
}

fn give(node: &mut Node, octets: &[u8]) -> Result<bool, Discard> {
    let heard = hear(node, NOW, 1, Address::Short(2), &plain(octets))?;
    Ok(heard.map(|delivery| node.release(delivery.packet)).is_some())
}

/// Returns code and pointer of the Parameter Problem with which a node reports this packet.
fn reported(octets: &[u8], why: Discard) -> (u8, u32) {
    let mut node = node(2);
    assert_eq!(give(&mut node, octets), Err(why));
    let (_, frame) = frames(&mut node, LIMITS).remove(0);
    let mut sender = common::node(1);
    // Only a quotation of TCP would be accepted; here the type is enough, so the frame is checked.
    let _ = hear(&mut sender, NOW, 2, Address::Short(1), &frame);
    let at = frame.windows(2).position(|w| w == [4, 0] || w == [4, 1]).unwrap();
    (frame[at + 1], u32::from_be_bytes(frame[at + 4..at + 8].try_into().unwrap()))
}

#[test]
fn pings_of_every_size_are_answered_with_their_data() {
    for (src, dst) in [(global(1), global(2)), (local(1), local(2)), (global(1), ALL_NODES)] {
        for len in [0usize, 1, 57, 400, 1232] {
            let mut asked = node(2);
            let kind = Kind::EchoRequest { ident: 3, seq: 4 };
            let request = message(src, dst, kind, &pattern(0, len));
            if request.len() < 120 {
                give(&mut asked, &request).unwrap();
            } else {
                let mut sender = node(1);
                if dst.is_multicast() {
                    continue;
                }
                sender.ping(NOW, dst, 3, 4, &pattern(0, len)).unwrap();
                carry(&mut sender, 1, &mut asked);
            }
            let mut sender = node(1);
            carry(&mut asked, 2, &mut sender);
            let reply = sender.poll_echo_reply().unwrap();
            assert_eq!((reply.ident, reply.seq, usize::from(reply.len)), (3, 4, len));
            assert_eq!(reply.src, if dst.is_multicast() { global(2) } else { dst });
            assert_eq!(asked.info().free_packets, PACKETS);
        }
    }
}

#[test]
fn a_wrong_checksum_is_discarded() {
    let mut node = node(2);
    let mut request = message(global(1), global(2), Kind::EchoRequest { ident: 0, seq: 0 }, &[]);
    request[45] ^= 1;
    assert_eq!(give(&mut node, &request), Err(Discard::Checksum));
    assert_eq!(node.pending(), None);
}

#[test]
fn pitfall_067_errors_are_rate_limited() {
    let mut node = node(2);
    let unknown = packet(global(1), global(2), 200, &[0; 8]);
    let ask = |node: &mut Node, now| {
        let _ = hear(node, now, 1, Address::Short(2), &plain(&unknown));
        frames(node, LIMITS).len()
    };
    for n in 0..30 {
        assert_eq!(ask(&mut node, NOW), usize::from(n < 10), "a burst of ten");
    }
    // After the burst, ten errors a second.
    let times = (1..=1_000).map(|step| NOW + Duration::from_millis(step * 3));
    assert_eq!(times.map(|now| ask(&mut node, now)).sum::<usize>(), 30);
    // An idle hour earns a burst, not an hour's worth.
    let late = NOW + Duration::from_secs(3_600);
    let burst: usize = (0..30).map(|_| ask(&mut node, late)).sum();
    assert_eq!(burst, 10);
}

#[test]
fn pitfall_071_errors_are_never_about_multicast_broadcast_errors_or_no_sender() {
    let quiet = |octets: &[u8], dst| {
        let mut node = node(2);
        assert!(hear(&mut node, NOW, 1, dst, &plain(octets)).is_err());
        assert_eq!(node.pending(), None, "{octets:02x?}");
    };
    let us = Address::Short(2);
    let unknown = |src, dst| packet(src, dst, 200, &[0; 8]);
    quiet(&unknown(global(1), ALL_NODES), us);
    quiet(&unknown(global(1), global(2)), Address::BROADCAST);
    quiet(&unknown(Ipv6Addr::UNSPECIFIED, global(2)), us);
    quiet(&unknown(ALL_NODES, global(2)), us);
    // An error whose own extension header is at fault.
    let error = message(global(1), global(2), Kind::TimeExceeded { code: 0 }, &[0; 48]);
    let mut nested =
        packet(global(1), global(2), protocol::DESTINATION, &[58, 0, 0xBE, 4, 0, 0, 0, 0]);
    nested.extend_from_slice(&error[40..]);
    nested[5] += (error.len() - 40) as u8;
    quiet(&nested, us);
    // The exceptions: an option that requests it (RFC 4443, 2.4 (e.3)).
    let asks =
        |kind| packet(global(1), ALL_NODES, protocol::DESTINATION, &[59, 0, kind, 4, 0, 0, 0, 0]);
    quiet(&asks(0xFE), us);
    let mut node = node(2);
    assert_eq!(give(&mut node, &asks(0xBE)), Err(Discard::Options));
    assert!(node.pending().is_some());
}

#[test]
fn pitfall_072_errors_are_accepted_only_if_they_quote_what_we_sent() {
    let mut node = node(2);
    let deliver = |node: &mut Node, quoted: &[u8]| {
        let kind = Kind::DestinationUnreachable { code: 0 };
        give(node, &message(global(1), global(2), kind, quoted))
    };
    let segment = packet(global(2), global(9), protocol::TCP, &[0x12, 0x34, 0, 80, 0, 0, 0, 1]);
    assert_eq!(deliver(&mut node, &segment), Ok(false));
    let report = node.poll_error().unwrap();
    assert_eq!((report.dst, report.protocol), (global(9), protocol::TCP));
    assert_eq!((report.reporter, report.ports()), (global(1), (0x1234, 80)));
    let not_ours = packet(global(3), global(9), protocol::TCP, &[0; 8]);
    assert_eq!(deliver(&mut node, &not_ours), Err(Discard::ForgedError));
    assert_eq!(deliver(&mut node, &segment[..47]), Err(Discard::ForgedError));
    let reply = packet(global(2), global(9), protocol::ICMPV6, &[129, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(deliver(&mut node, &reply), Err(Discard::ForgedError));
    let datagram = packet(global(2), global(9), protocol::UDP, &[0, 9, 0, 9, 0, 8, 0, 0]);
    assert_eq!(deliver(&mut node, &datagram), Err(Discard::ForgedError), "no socket at port 9");
    node.udp_bind(9).unwrap();
    assert_eq!(deliver(&mut node, &datagram), Ok(false));
    assert_eq!(node.poll_error().map(|report| report.protocol), Some(protocol::UDP));
    assert_eq!(node.poll_error(), None);
}

#[test]
fn pitfall_049_nested_quotations_are_not_followed() {
    // An error that quotes an error that quotes an error …: a check of the first is enough.
    let mut octets = packet(global(2), global(9), protocol::TCP, &[0; 8]);
    let mut node = node(2);
    let outside = "2001:db9::1".parse().unwrap();
    for _ in 0..8 {
        octets = message(outside, global(2), Kind::TimeExceeded { code: 0 }, &octets);
    }
    assert_eq!(node.handle_host_packet(NOW, &octets), Err(Discard::ForgedError));
    assert_eq!(node.poll_error(), None);
}

#[test]
fn unknown_protocols_and_routing_headers_are_reported_with_their_place() {
    assert_eq!(reported(&packet(global(1), global(2), 200, &[0; 8]), Discard::Protocol), (1, 6));
    let options = [200, 0, 1, 4, 0, 0, 0, 0];
    let behind = packet(global(1), global(2), protocol::DESTINATION, &options);
    assert_eq!(reported(&behind, Discard::Protocol), (1, 40));
    let routing = packet(global(1), global(2), protocol::ROUTING, &[6, 0, 9, 1, 0, 0, 0, 0]);
    assert_eq!(reported(&routing, Discard::RoutingHeader), (0, 42));
}

//= rfc9293#MUST-50
#[test]
fn extension_headers_that_ask_for_nothing_are_passed_over() {
    let mut node = node(2);
    // Destination options with padding, a routing header without segments, a fragment header of a
    // whole packet (RFC 6946).
    let headers = [
        [43, 0, 1, 4, 0, 0, 0, 0],
        [44, 0, 9, 0, 0, 0, 0, 0],
        [protocol::TCP, 0, 0, 0, 0, 0, 0, 1],
    ];
    let octets = packet(global(1), global(2), protocol::DESTINATION, headers.as_flattened());
    assert_eq!(give(&mut node, &octets), Ok(true));
    assert_eq!(node.pending(), None);
}

//= rfc9293#MUST-63
#[test]
fn addresses_that_may_not_occur_are_refused() {
    for (src, dst) in [
        (ALL_NODES, global(2)),
        (Ipv6Addr::LOCALHOST, global(2)),
        (global(2), global(2)),
        (global(1), Ipv6Addr::LOCALHOST),
        (global(1), Ipv6Addr::UNSPECIFIED),
    ] {
        let mut node = node(2);
        let octets = packet(src, dst, protocol::TCP, &[0; 20]);
        assert_eq!(give(&mut node, &octets), Err(Discard::Address));
    }
    // TCP is never multicast (RFC 9293, 3.9.2.3; pitfalls 013, 066, 094).
    let octets = packet(global(1), ALL_NODES, protocol::TCP, &[0; 20]);
    assert_eq!(give(&mut node(2), &octets), Err(Discard::Address));
}

#[test]
fn both_link_addresses_of_a_node_are_its_own() {
    let alias = Address::Extended([0, 0x12, 0x4B, 0, 0, 0, 0, 7]);
    let config = NetConfig { alias, ..NetConfig::new(Address::Short(2)) };
    let mut asked = bare(config, 2);
    asked.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    let by_alias: Ipv6Addr = "fe80::212:4b00:0:7".parse().unwrap();
    let mut sender = node(1);
    sender.ping(NOW, by_alias, 1, 1, &[]).unwrap();
    let (out, frame) = poll(&mut sender, LIMITS).unwrap();
    // The link address follows from the IID, so the destination is elided.
    assert_eq!((out.dst, out.ack), (alias, true));
    hear(&mut asked, NOW, 1, alias, &frame).unwrap();
    carry(&mut asked, 2, &mut sender);
    assert_eq!(sender.poll_echo_reply().map(|reply| reply.src), Some(by_alias));
}

//= rfc9293#MUST-44
#[test]
fn sources_have_the_scope_and_the_longest_prefix_of_the_destination() {
    let mut node = node(1);
    let other: Ipv6Addr = "2001:db9::1".parse().unwrap();
    node.add_address(InterfaceAddress { address: other, prefix_len: 64 }).unwrap();
    let source = |dst: &str| node.source_for(dst.parse().unwrap());
    assert_eq!(source("2001:db8::5"), Some(global(1)));
    assert_eq!(source("2001:db9:1::5"), Some(other));
    assert_eq!(source("fe80::5"), Some(local(1)));
    assert_eq!(source("ff02::1"), Some(local(1)));
    assert!(source("ff05::1").is_some_and(|src| src != local(1)));
}
