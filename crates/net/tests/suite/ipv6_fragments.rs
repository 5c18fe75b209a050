//! RFC 8200, 4.5: a packet is reassembled exactly or not at all, and the sender of unusable
//! fragments gets an error.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{
    Delivery, Discard, InterfaceAddress, Net, NetConfig, NextHop, SendError, Small, UdpError,
    UdpHandle,
};
use kinglet_time::Duration;
use kinglet_wire::icmpv6::{self, Kind};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Fragment, Header, protocol};
use kinglet_wire::udp;
use proptest::prelude::*;

const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const MINUTE: Duration = Duration::from_secs(60);

/// Returns node 2, which is its own border router: packets come from its host, of any length that a
/// link takes, and go there.
fn border() -> Node {
    let mut node = bare(NetConfig { forward: true, ..NetConfig::new(Address::Short(2)) }, 2);
    node.add_route(route("::".parse().unwrap(), 0, NextHop::Host)).unwrap();
    node
}

fn outside() -> Ipv6Addr {
    "2001:db9::1".parse().unwrap()
}

/// Returns the fragmentable part of a packet: an upper layer's octets with their checksum.
fn with_checksum(protocol: u8, mut upper: Vec<u8>, dst: Ipv6Addr) -> Vec<u8> {
    let header = Header::read(&packet(outside(), dst, protocol, &upper)).unwrap();
    let pseudo = header.pseudo_header_sum(upper.len(), protocol);
    if protocol == protocol::UDP {
        udp::fill_checksum(&mut upper, pseudo).unwrap();
    } else {
        icmpv6::fill_checksum(&mut upper, pseudo).unwrap();
    }
    upper
}

fn echo(len: usize) -> Vec<u8> {
    let mut upper = vec![0; 8];
    Kind::EchoRequest { ident: 3, seq: 4 }.emit(&mut upper).unwrap();
    upper.extend(pattern(0, len));
    with_checksum(protocol::ICMPV6, upper, global(2))
}

fn datagram(port: u16, len: usize) -> Vec<u8> {
    let mut upper = vec![0; 8];
    let length = len as u16 + 8;
    let header = udp::Header { src_port: 7, dst_port: port, length, checksum: 0 };
    header.emit(&mut upper).unwrap();
    upper.extend(pattern(0, len));
    with_checksum(protocol::UDP, upper, global(2))
}

/// Returns a fragment from outside with these octets of its packet.
fn fragment(kind: u8, id: u32, offset: usize, more: bool, octets: &[u8]) -> Vec<u8> {
    fragment_from(outside(), kind, id, offset, more, octets)
}

fn fragment_from(
    src: Ipv6Addr,
    next_header: u8,
    identification: u32,
    offset: usize,
    more: bool,
    octets: &[u8],
) -> Vec<u8> {
    let mut payload = vec![0; 8];
    let offset = offset as u16;
    Fragment { next_header, offset, more, identification }.emit(&mut payload).unwrap();
    payload.extend_from_slice(octets);
    packet(src, global(2), protocol::FRAGMENT, &payload)
}

/// Returns the fragments of a packet that end at these octets, and at its end.
fn cut(kind: u8, id: u32, whole: &[u8], ends: &[usize]) -> Vec<Vec<u8>> {
    let mut from = 0;
    let mut fragments = Vec::new();
    for &to in ends.iter().chain([&whole.len()]) {
        fragments.push(fragment(kind, id, from, to < whole.len(), &whole[from..to]));
        from = to;
    }
    fragments
}

fn give(node: &mut Node, octets: &[u8]) -> Result<Option<Delivery>, Discard> {
    node.handle_host_packet(NOW, octets)
}

/// Returns the packets that the node sends to the host.
fn answers(node: &mut Node) -> Vec<Vec<u8>> {
    let mut buf = [0; 1280];
    let next = || node.poll_host_packet(NOW, &Pattern, &mut buf).map(|len| buf[..len].to_vec());
    std::iter::from_fn(next).collect()
}

/// Returns type, code and the word behind the checksum of the only error that the node sends;
/// checks that it quotes `about`.
fn error_about(node: &mut Node, about: &[u8]) -> (u8, u8, u32) {
    let [error] = &answers(node)[..] else { panic!("one answer") };
    let upper = &error[40..];
    let quoted = about.len().min(1280 - 48);
    assert_eq!(upper[8..], about[..quoted], "as much as the smallest MTU takes");
    (upper[0], upper[1], u32::from_be_bytes(upper[4..8].try_into().unwrap()))
}

/// Checks that nothing is stored, not even for an abandoned packet.
fn all_is_free(node: &mut Node) {
    node.handle_deadline(NOW + MINUTE);
    answers(node);
    assert_eq!((node.info().ipv6_partials, node.info().free_packets), (0, PACKETS));
    assert_eq!(node.deadline(), None);
}

#[test]
fn a_ping_of_the_longest_packet_is_answered_in_fragments_with_its_data() {
    for len in [1233usize, 1300, 1452] {
        let mut node = border();
        for octets in cut(protocol::ICMPV6, 9, &echo(len), &[1232]) {
            assert_eq!(give(&mut node, &octets), Ok(None));
        }
        let sent = answers(&mut node);
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [1280, 48 + 8 + len - 1232]);
        // Reassembled manually.
        let (first, second) = (&sent[0], &sent[1]);
        let head = |octets: &[u8]| Fragment::read(&octets[40..]).unwrap();
        assert_eq!((head(first).offset, head(first).more), (0, true));
        assert_eq!((head(second).offset, head(second).more), (1232, false));
        assert_eq!(head(first).identification, head(second).identification);
        assert_eq!(head(first).next_header, protocol::ICMPV6);
        let whole = [&first[48..], &second[48..]].concat();
        let header = Header::read(first).unwrap();
        let pseudo = header.pseudo_header_sum(whole.len(), protocol::ICMPV6);
        let reply = icmpv6::Message::parse(&whole, pseudo).unwrap();
        assert_eq!(reply.kind(), Kind::EchoReply { ident: 3, seq: 4 });
        assert_eq!(reply.body(), pattern(0, len));
        all_is_free(&mut node);
    }
}

#[test]
fn identifications_of_packets_sent_in_fragments_differ() {
    let mut node = border();
    let mut seen = Vec::new();
    for seq in 0..20 {
        node.ping(NOW, outside(), 1, seq, &[0; 1400]).unwrap();
        let sent = answers(&mut node);
        seen.push(Fragment::read(&sent[0][40..]).unwrap().identification);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 20);
}

/// Returns two nodes with a socket each, the second one for long datagrams.
fn pair() -> ((Node, UdpHandle), (Node, UdpHandle)) {
    let (mut one, mut two) = (node(1), node(2));
    let (a, b) = (one.udp_bind(1000).unwrap(), two.udp_bind(2000).unwrap());
    two.udp_accept_long(b);
    ((one, a), (two, b))
}

#[test]
fn a_datagram_of_1452_octets_crosses_the_link_in_fragments() {
    let ((mut one, a), (mut two, b)) = pair();
    let data = pattern(5, 1452);
    one.udp_send(NOW, a, global(2), 2000, &data).unwrap();
    assert_eq!(one.udp_send(NOW, a, global(2), 2000, &[0; 1453]), Err(SendError::TooLong));
    carry(&mut one, 1, &mut two);
    let mut buf = [0; 1452];
    assert_eq!(two.udp_recv(b, &mut buf[..1280]), Err(UdpError::BufferTooShort(1452)));
    let got = two.udp_recv(b, &mut buf).unwrap().unwrap();
    assert_eq!((got.len, got.src_port, got.src), (1452, 1000, global(1)));
    assert_eq!(buf[..], data);
    assert_eq!((one.info().free_packets, two.info().free_packets), (PACKETS, PACKETS));
}

#[test]
fn a_socket_that_has_not_said_so_gets_no_long_datagram_and_is_not_stuck() {
    let ((mut one, a), (mut two, b)) = pair();
    two.udp_close(b);
    let b = two.udp_bind(2000).unwrap();
    one.udp_send(NOW, a, global(2), 2000, &[1; 1233]).unwrap();
    one.udp_send(NOW, a, global(2), 2000, &[2; 1232]).unwrap();
    carry(&mut one, 1, &mut two);
    assert_eq!(two.stats().discarded(Discard::SocketFull), 1);
    let got = two.udp_recv(b, &mut [0; 1232]).unwrap().unwrap();
    assert_eq!(got.len, 1232);
    assert_eq!(two.udp_recv(b, &mut [0; 1232]), Ok(None));
}

#[test]
fn if_only_the_first_fragment_finds_room_nothing_is_lost_but_the_packet() {
    let ((mut one, a), (mut two, _)) = pair();
    // Four entries in the queue: three short datagrams, and one fragment.
    for _ in 0..3 {
        one.udp_send(NOW, a, global(2), 2000, &[0; 8]).unwrap();
    }
    one.udp_send(NOW, a, global(2), 2000, &[1; 1400]).unwrap();
    assert_eq!(one.stats().discarded(Discard::QueueFull), 1);
    assert_eq!(one.udp_send(NOW, a, global(2), 2000, &[1; 1400]), Err(SendError::QueueFull));
    carry(&mut one, 1, &mut two);
    assert_eq!((one.info().free_packets, two.info().ipv6_partials), (PACKETS, 1));
    two.handle_deadline(NOW + MINUTE);
    carry(&mut two, 2, &mut one);
    let report = one.poll_error().expect("it quotes our datagram's fragment");
    assert_eq!(report.kind, Kind::TimeExceeded { code: 1 });
}

#[test]
fn tcp_segments_in_fragments_go_to_tcp() {
    let mut node = border();
    let segment = pattern(1, 1460);
    let fragments = cut(protocol::TCP, 1, &segment, &[800]);
    assert_eq!(give(&mut node, &fragments[1]), Ok(None));
    let delivery = give(&mut node, &fragments[0]).unwrap().unwrap();
    assert_eq!((delivery.protocol, delivery.header.total_len()), (protocol::TCP, 1500));
    assert_eq!(node.packet(delivery.packet)[delivery.upper.clone()], segment);
    node.release(delivery.packet);
    all_is_free(&mut node);
}

#[test]
fn headers_on_both_sides_of_the_fragment_header_are_followed() {
    let mut node = border();
    // Destination options with padding behind it, and in front of it in the second fragment.
    let options = |next: u8| vec![next, 0, 1, 4, 0, 0, 0, 0];
    let whole = [options(protocol::TCP), pattern(0, 100)].concat();
    let fragments = cut(protocol::DESTINATION, 1, &whole, &[40]);
    assert_eq!(give(&mut node, &fragments[0]), Ok(None));
    let second = [options(protocol::FRAGMENT), fragments[1][40..].to_vec()].concat();
    let second = packet(outside(), global(2), protocol::DESTINATION, &second);
    let delivery = give(&mut node, &second).unwrap().unwrap();
    assert_eq!(node.packet(delivery.packet)[delivery.upper.clone()], pattern(0, 100));
    node.release(delivery.packet);
    // An option that must be recognised causes the same error as in a packet without fragments.
    let mut whole = [options(protocol::TCP), pattern(0, 100)].concat();
    whole[2] = 0xC7;
    let fragments = cut(protocol::DESTINATION, 2, &whole, &[40]);
    assert_eq!(give(&mut node, &fragments[0]), Ok(None));
    assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Options));
    assert_eq!(answers(&mut node).len(), 1);
    all_is_free(&mut node);
}

#[test]
fn a_whole_packet_with_a_fragment_header_is_taken_at_once() {
    // RFC 6946: independent of other packets with its identification.
    let mut node = border();
    let whole = echo(100);
    assert_eq!(give(&mut node, &fragment(protocol::ICMPV6, 1, 0, true, &whole[..16])), Ok(None));
    assert_eq!(give(&mut node, &fragment(protocol::ICMPV6, 1, 0, false, &whole)), Ok(None));
    assert_eq!(answers(&mut node).len(), 1, "an echo reply");
    assert_eq!(give(&mut node, &fragment(protocol::ICMPV6, 1, 16, false, &whole[16..])), Ok(None));
    assert_eq!(answers(&mut node).len(), 1, "and another one");
}

#[test]
fn after_a_minute_the_sender_of_the_first_fragment_is_notified() {
    let mut node = border();
    let fragments = cut(protocol::UDP, 1, &datagram(9, 1400), &[600, 1200]);
    assert_eq!(give(&mut node, &fragments[1]), Ok(None));
    let began = NOW;
    let later = NOW + Duration::from_secs(30);
    assert_eq!(node.handle_host_packet(later, &fragments[0]), Ok(None));
    assert_eq!(node.deadline(), Some(began + MINUTE), "from the first to arrive");
    node.handle_deadline(began + MINUTE);
    assert_eq!(error_about(&mut node, &fragments[0]), (3, 1, 0));
    assert_eq!(node.stats().expired_reassemblies, 1);
    all_is_free(&mut node);
    // Without the first one there is nothing to quote.
    assert_eq!(give(&mut node, &fragments[1]), Ok(None));
    node.handle_deadline(NOW + MINUTE);
    assert!(answers(&mut node).is_empty());
    all_is_free(&mut node);
}

#[test]
fn a_fragment_that_does_not_end_at_a_unit_is_answered() {
    let mut node = border();
    let odd = fragment(protocol::UDP, 1, 0, true, &datagram(9, 100)[..23]);
    assert_eq!(give(&mut node, &odd), Err(Discard::Ipv6Fragment));
    assert_eq!(error_about(&mut node, &odd), (4, 0, 4));
    let odd = fragment(protocol::UDP, 1, 64, true, &[0; 9]);
    assert_eq!(give(&mut node, &odd), Err(Discard::Ipv6Fragment));
    assert_eq!(error_about(&mut node, &odd), (4, 0, 4));
    // An empty fragment is none of these, and causes no error.
    let empty = fragment(protocol::UDP, 1, 64, true, &[]);
    assert_eq!(give(&mut node, &empty), Err(Discard::Ipv6Fragment));
    assert!(answers(&mut node).is_empty());
    all_is_free(&mut node);
}

#[test]
fn a_packet_that_is_too_long_is_answered_once() {
    for len in [1453usize, 2000] {
        let mut node = border();
        let fragments = cut(protocol::ICMPV6, 1, &echo(len), &[1232]);
        assert_eq!(give(&mut node, &fragments[0]), Ok(None));
        assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Ipv6Fragment));
        // The error is about the first one, which identifies the packet for its sender.
        assert_eq!(error_about(&mut node, &fragments[0]), (4, 0, 42));
        assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Ipv6Fragment));
        assert!(answers(&mut node).is_empty());
        assert_eq!(node.info().free_packets, PACKETS, "the rest is given up");
        all_is_free(&mut node);
        // In the other order the upper layer is unknown; the sender gets the timeout error.
        assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Ipv6Fragment));
        assert_eq!(give(&mut node, &fragments[0]), Ok(None));
        assert!(answers(&mut node).is_empty());
        node.handle_deadline(NOW + MINUTE);
        assert_eq!(error_about(&mut node, &fragments[0]), (3, 1, 0));
        all_is_free(&mut node);
    }
    // More than 65,535 octets: the Fragment Offset of the fragment that ends beyond that.
    let mut node = border();
    assert_eq!(give(&mut node, &fragment(protocol::UDP, 1, 0, true, &datagram(9, 8))), Ok(None));
    let far = fragment(protocol::UDP, 1, 65_528, false, &[0; 16]);
    assert_eq!(give(&mut node, &far), Err(Discard::Ipv6Fragment));
    assert_eq!(error_about(&mut node, &far), (4, 0, 42));
}

#[test]
fn a_first_fragment_without_all_headers_is_answered() {
    // RFC 7112: an option header that continues in the next fragment, and half a header of TCP.
    let options = [[protocol::TCP, 1, 1, 4, 0, 0, 0, 0]].concat();
    for (kind, octets) in [(protocol::DESTINATION, options), (protocol::TCP, vec![0; 16])] {
        let mut node = border();
        let first = fragment(kind, 1, 0, true, &octets);
        assert_eq!(give(&mut node, &first), Err(Discard::Ipv6Fragment));
        assert_eq!(error_about(&mut node, &first), (4, 3, 0));
        all_is_free(&mut node);
    }
    // A fragment of a fragment, and hop-by-hop options that are not the first header.
    let nested = fragment(protocol::FRAGMENT, 1, 0, true, &[protocol::UDP, 0, 0, 1, 0, 0, 0, 1]);
    let mut node = border();
    assert_eq!(give(&mut node, &nested), Err(Discard::Ipv6Fragment));
    assert_eq!(error_about(&mut node, &nested), (4, 1, 40));
    let misplaced = fragment(0, 1, 0, true, &[protocol::UDP, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(give(&mut node, &misplaced), Err(Discard::Extensions));
    assert_eq!(error_about(&mut node, &misplaced), (4, 1, 40));
    all_is_free(&mut node);
}

#[test]
fn errors_and_neighbour_discovery_never_come_in_fragments() {
    // An error about an error, and RFC 6980.
    for kind in [1, 4, 127, 133, 135, 137] {
        let mut node = border();
        let first = fragment(protocol::ICMPV6, 1, 0, true, &[kind, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(give(&mut node, &first), Err(Discard::Ipv6Fragment));
        let later = fragment(protocol::ICMPV6, 1, 1456, false, &[0; 16]);
        assert_eq!(give(&mut node, &later), Err(Discard::Ipv6Fragment));
        node.handle_deadline(NOW + MINUTE);
        assert!(answers(&mut node).is_empty());
        all_is_free(&mut node);
    }
}

#[test]
fn no_node_answers_fragments_to_a_group() {
    let mut node = border();
    let mut octets = fragment(protocol::UDP, 1, 0, true, &datagram(9, 100)[..24]);
    octets[24..40].copy_from_slice(&ALL_NODES.octets());
    hear(&mut node, NOW, 1, Address::BROADCAST, &plain(&octets)).unwrap();
    let mut odd = fragment(protocol::UDP, 2, 0, true, &datagram(9, 100)[..23]);
    odd[24..40].copy_from_slice(&ALL_NODES.octets());
    let heard = hear(&mut node, NOW, 1, Address::BROADCAST, &plain(&odd));
    assert_eq!(heard, Err(Discard::Ipv6Fragment));
    node.handle_deadline(NOW + MINUTE);
    assert!(answers(&mut node).is_empty() && node.pending().is_none());
    all_is_free(&mut node);
}

#[test]
fn overlapping_fragments_end_their_packet_without_a_word() {
    let whole = datagram(9, 1000);
    // Starts inside another, ends inside another, covers another, lies behind the end, moves it.
    let strange = [
        (400usize, 904usize, true),
        (400, 504, true),
        (304, 800, true),
        (0, 488, true),
        (504, 600, false),
        (1008, 1016, true),
        (1000, 1016, false),
    ];
    for (from, to, more) in strange {
        let mut node = border();
        let room = [&whole[..], &[0; 16]].concat();
        for piece in [(504, 800, true), (800, 1008, false), (0, 496, true)] {
            let octets = fragment(protocol::UDP, 1, piece.0, piece.2, &room[piece.0..piece.1]);
            assert_eq!(give(&mut node, &octets), Ok(None));
        }
        let octets = fragment(protocol::UDP, 1, from, more, &room[from..to]);
        assert_eq!(give(&mut node, &octets), Err(Discard::Ipv6Fragment), "{from} {to}");
        assert_eq!(node.stats().conflicting_fragments, 1);
        assert_eq!((node.info().ipv6_partials, node.info().free_packets), (1, PACKETS));
        // RFC 5722: those not yet received are discarded too.
        let octets = fragment(protocol::UDP, 1, 496, true, &room[496..504]);
        assert_eq!(give(&mut node, &octets), Err(Discard::Ipv6Fragment));
        node.handle_deadline(NOW + MINUTE);
        assert!(answers(&mut node).is_empty());
        all_is_free(&mut node);
    }
}

#[test]
fn a_repeated_fragment_with_other_octets_is_an_overlap() {
    let mut node = border();
    let whole = datagram(9, 1000);
    let fragments = cut(protocol::UDP, 1, &whole, &[504]);
    assert_eq!(give(&mut node, &fragments[0]), Ok(None));
    assert_eq!(give(&mut node, &fragments[0]), Ok(None));
    assert_eq!(node.stats().duplicate_fragments, 1);
    let mut other = fragments[0].clone();
    other[100] ^= 1;
    assert_eq!(give(&mut node, &other), Err(Discard::Ipv6Fragment));
    assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Ipv6Fragment));
    all_is_free(&mut node);
}

//= rfc3168#5.3-1 rfc3168#5.3-2 rfc3168#5.3-3 rfc3168#5.3-4
#[test]
fn marks_of_congestion_survive_and_contradictions_do_not() {
    // RFC 3168, 5.3.
    let whole = pattern(0, 100);
    for (marks, expected) in [
        ([2, 2], Some(2)),
        ([2, 3], Some(3)),
        ([3, 1], Some(3)),
        ([0, 0], Some(0)),
        ([0, 3], None),
        ([3, 0], None),
    ] {
        let mut node = border();
        let mut last = None;
        for (octets, mark) in cut(protocol::TCP, 1, &whole, &[40]).iter_mut().zip(marks) {
            octets[1] |= mark << 4;
            last = give(&mut node, octets).unwrap();
        }
        let seen = last.as_ref().map(|delivery| delivery.header.traffic_class);
        assert_eq!(seen, expected, "{marks:?}");
        if let Some(delivery) = last {
            node.release(delivery.packet);
        }
        all_is_free(&mut node);
    }
}

#[test]
fn a_flood_of_first_fragments_evicts_no_packet_that_is_almost_complete() {
    let mut node = border();
    let whole = datagram(9, 1000);
    let fragments = cut(protocol::UDP, 1, &whole, &[504]);
    assert_eq!(give(&mut node, &fragments[0]), Ok(None));
    let stranger = |n: u16| Ipv6Addr::new(0x2001, 0xDB9, 0, 0, 0, 0, 1, n);
    let first = |n| fragment_from(stranger(n), protocol::UDP, 1, 0, true, &whole[..504]);
    let refused =
        (0..100).filter(|n| give(&mut node, &first(*n)) == Err(Discard::NoReassembly)).count();
    assert_eq!(refused, 99, "one of two places");
    // A sender that repeats its first fragment replaces its own packet.
    let again = fragment_from(stranger(0), protocol::UDP, 2, 0, true, &whole[..504]);
    assert_eq!(give(&mut node, &again), Ok(None));
    assert_eq!((node.info().ipv6_partials, node.stats().evicted_reassemblies), (2, 1));
    // A later fragment evicts no packet.
    let later = fragment_from(stranger(0), protocol::UDP, 3, 8, true, &whole[..504]);
    assert_eq!(give(&mut node, &later), Err(Discard::NoReassembly));
    // No socket has this port, so the whole packet causes an error.
    assert_eq!(give(&mut node, &fragments[1]), Err(Discard::Port));
    assert_eq!(answers(&mut node).len(), 1);
    // A packet that is idle for longer than a fragment takes is evicted, the first one first.
    let now = NOW + Duration::from_millis(1);
    assert_eq!(node.handle_host_packet(now, &fragments[0]), Ok(None));
    let late = NOW + Duration::from_secs(5);
    assert_eq!(node.handle_host_packet(late, &first(200)), Ok(None));
    assert_eq!(node.info().ipv6_partials, 2);
    assert_eq!(node.stats().evicted_reassemblies, 2);
    assert_eq!(node.handle_host_packet(late, &fragments[1]), Err(Discard::Port));
    node.handle_deadline(late + MINUTE);
    answers(&mut node);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn fragments_leave_slots_to_others() {
    let mut node = border();
    let mut held = Vec::new();
    let segment = packet(outside(), global(2), protocol::TCP, &[0; 20]);
    while let Ok(Some(delivery)) = give(&mut node, &segment) {
        held.push(delivery.packet);
    }
    // Packets of the host leave the reserve free, and a reassembly from the radio must do so, too.
    let octets = plain(&fragment(protocol::UDP, 1, 0, true, &datagram(9, 100)[..64]));
    let heard = hear(&mut node, NOW, 1, Address::Short(2), &octets);
    assert_eq!(heard, Err(Discard::NoBuffer));
    held.drain(..).for_each(|packet| node.release(packet));
    assert_eq!(hear(&mut node, NOW, 1, Address::Short(2), &octets), Ok(None));
    all_is_free(&mut node);
}

#[test]
fn a_relay_passes_fragments_on_as_they_are() {
    let mut relay = router(3);
    relay.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    let octets = fragment(protocol::UDP, 1, 504, false, &[7; 40]);
    hear(&mut relay, NOW, 1, Address::Short(3), &plain(&octets)).unwrap();
    let mut two = node(2);
    let mut whole = Vec::new();
    for (dst, frame) in frames(&mut relay, LIMITS) {
        whole.push(hear(&mut two, NOW, 3, dst, &frame));
    }
    assert_eq!(relay.stats().forwarded, 1);
    assert!(whole.iter().all(|heard| *heard == Ok(None)));
    assert_eq!(two.info().ipv6_partials, 1);
}

/// A plan without reassembly reports the first fragment, and no other.
#[test]
fn a_plan_without_places_refuses_fragments() {
    let node = || {
        let mut node = Net::<Small, u32>::new(NetConfig::new(Address::Short(2)));
        node.add_address(InterfaceAddress { address: global(2), prefix_len: 64 }).unwrap();
        node.add_route(route("::".parse().unwrap(), 0, NextHop::Host)).unwrap();
        node
    };
    let answer = |octets: &[u8]| {
        let (mut node, mut buf) = (node(), [0; 1280]);
        assert_eq!(node.handle_host_packet(NOW, octets), Err(Discard::Ipv6Fragment));
        let len = node.poll_host_packet(NOW, &Pattern, &mut buf)?;
        assert_eq!(buf[48..len], *octets);
        Some((buf[40], buf[41], buf[47]))
    };
    let whole = echo(100);
    // Parameter Problem, code 1, at the field that announces a Fragment header.
    let first = fragment(protocol::ICMPV6, 1, 0, true, &whole[..16]);
    assert_eq!(answer(&first), Some((4, 1, 6)));
    let behind = [&[protocol::FRAGMENT, 0, 1, 4, 0, 0, 0, 0], &first[40..]].concat();
    let behind = packet(outside(), global(2), protocol::DESTINATION, &behind);
    assert_eq!(answer(&behind), Some((4, 1, 40)));
    // Later ones, and the beginning of an error.
    let error = fragment(protocol::ICMPV6, 1, 0, true, &[1, 0, 0, 0, 0, 0, 0, 0]);
    for silent in cut(protocol::ICMPV6, 1, &whole, &[16, 32])[1..].iter().chain([&error]) {
        assert_eq!(answer(silent), None);
    }
    // The node sends no fragments either.
    let mut node = node();
    let socket = node.udp_bind(9).unwrap();
    let mut send = |len| node.udp_send(NOW, socket, outside(), 9, &vec![0; len]);
    assert_eq!((send(1233), send(1232)), (Err(SendError::TooLong), Ok(())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn fragments_of_any_length_in_any_order_give_the_packet_once(
        len in 8usize..=1452, cuts in prop::collection::vec(1usize..182, 1..12),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..4), shuffle in any::<u64>(),
    ) {
        let whole = datagram(2000, len);
        let mut ends: Vec<usize> = cuts.iter().map(|unit| unit * 8).collect();
        ends.retain(|end| *end < whole.len());
        ends.sort_unstable();
        ends.dedup();
        // Fragments of no more than the MTU.
        ends.push(800.min(whole.len() - 1) & !7);
        ends.sort_unstable();
        ends.dedup();
        ends.retain(|end| *end > 0);
        let mut fragments = cut(protocol::UDP, 1, &whole, &ends);
        let distinct = fragments.clone();
        let repeated: Vec<_> = again.iter().map(|at| at.get(&fragments).clone()).collect();
        fragments.extend(repeated);
        let mut state = shuffle | 1;
        for i in (1..fragments.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            fragments.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut node = border();
        let socket = node.udp_bind(2000).unwrap();
        node.udp_accept_long(socket);
        // Repetitions after completion start a new packet.
        let (mut missing, mut times) = (distinct.clone(), 0);
        for octets in &fragments {
            prop_assert_eq!(give(&mut node, octets), Ok(None));
            missing.retain(|it| it != octets);
            if missing.is_empty() {
                missing.clone_from(&distinct);
                times += 1;
            }
        }
        prop_assert!(times > 0);
        let mut buf = [0; 1452];
        for _ in 0..times {
            let got = node.udp_recv(socket, &mut buf).unwrap().unwrap();
            prop_assert_eq!(&buf[..got.len], &pattern(0, len)[..]);
        }
        prop_assert_eq!(node.udp_recv(socket, &mut buf), Ok(None));
        prop_assert!(answers(&mut node).is_empty());
        all_is_free(&mut node);
    }

    #[test]
    fn any_fragment_that_overlaps_leaves_nothing_of_its_packet(
        ends in prop::collection::btree_set(1usize..60, 2..8), from in 0usize..60,
        units in 1usize..60, more: bool, after: bool,
    ) {
        let whole = datagram(2000, 60 * 8 - 8);
        let ends: Vec<usize> = ends.into_iter().map(|unit| unit * 8).collect();
        let (from, to) = (from * 8, ((from + units) * 8).min(whole.len()));
        let more = more || to < whole.len();
        let fragments = cut(protocol::UDP, 1, &whole, &ends);
        let octets = fragment(protocol::UDP, 1, from, more, &whole[from..to]);
        let atomic = from == 0 && !more;
        prop_assume!(!fragments.contains(&octets) && !atomic);
        prop_assume!(from > 0 || to >= 8);
        // Before all others, together with one that it overlaps: they could complete the packet.
        let extents = fragments.iter().map(|it| {
            let start = usize::from(Fragment::read(&it[40..]).unwrap().offset);
            start..start + it.len() - 48
        });
        let overlaps: Vec<bool> = extents.map(|it| it.start < to && from < it.end).collect();
        let at = overlaps.iter().position(|it| *it).unwrap();
        let mut sent = fragments.clone();
        sent.swap(0, at);
        sent.insert(usize::from(after), octets);
        let mut node = border();
        let socket = node.udp_bind(2000).unwrap();
        let _ = sent.iter().filter(|octets| give(&mut node, octets).is_ok()).count();
        prop_assert_eq!(node.udp_recv(socket, &mut [0; 1452]), Ok(None));
        prop_assert_eq!(node.stats().conflicting_fragments, 1);
        prop_assert!(answers(&mut node).is_empty());
        all_is_free(&mut node);
    }
}
