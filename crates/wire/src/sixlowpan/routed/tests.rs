use super::super::{ExtensionHeaders, MAX_CHAIN_COMPRESSED};
use super::*;
use proptest::prelude::*;
use std::vec::Vec;

const LINKS: (Address, Address) = (Address::Short(5), Address::Short(6));
const DODAG: Dodag = Dodag {
    root: node(1),
    instance: 0,
    option: PacketInformation::SKIPPED_IF_UNKNOWN,
    storing: false,
    compresses: true,
};
const STORING: Dodag = Dodag { storing: true, ..DODAG };
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 1, 2, 3, 4);

const fn node(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

fn contexts() -> [Option<Context>; 1] {
    [Some(Context { prefix: node(0), len: 64 })]
}

fn header(next_header: u8, src: Ipv6Addr, dst: Ipv6Addr, behind: &[u8]) -> Vec<u8> {
    let payload_len = behind.len() as u16;
    let (traffic_class, flow_label, hop_limit) = (0, 0, 63);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut octets = std::vec![0; ipv6::HEADER_LEN];
    header.emit(&mut octets).unwrap();
    [&octets, behind].concat()
}

const fn information(down: bool, sender_rank: u16) -> PacketInformation {
    let (rank_error, forwarding_error) = (false, false);
    PacketInformation { down, rank_error, forwarding_error, instance: 0, sender_rank }
}

fn option(next_header: u8, down: bool) -> [u8; 8] {
    information(down, 3).hop_by_hop(next_header, DODAG.option)
}

fn route(next_header: u8, first: Ipv6Addr, rest: &[Ipv6Addr]) -> Vec<u8> {
    let mut out = [0; 128];
    let len = SourceRoute::emit(next_header, first, rest, &mut out).unwrap();
    out[..len].to_vec()
}

fn udp(len: usize) -> Vec<u8> {
    let [high, low] = (len as u16 + 8).to_be_bytes();
    [&[0xF0, 0xB1, 0xF0, 0xB2, high, low, 1, 2][..], &std::vec![7; len]].concat()
}

fn expand(frame: &[u8], dodag: &Dodag, size: Option<u16>) -> Result<Vec<u8>, Error> {
    let mut out = [0; ipv6::HEADER_LEN + MAX_CHAIN];
    let integrity = Integrity::None;
    let done = decompress::<ExtensionHeaders>(
        frame,
        LINKS,
        &contexts(),
        dodag,
        size,
        integrity,
        &mut out,
    )?;
    assert!(done.consumed <= frame.len());
    Ok([&out[..done.written], &frame[done.consumed..]].concat())
}

/// Compresses a packet, which is restored as one frame and as the first of many. Returns the frame.
fn there_and_back(packet: &[u8], dodag: &Dodag) -> Option<Vec<u8>> {
    let mut out = [0; MAX_CHAIN_COMPRESSED];
    let done = compress::<ExtensionHeaders>(packet, LINKS, &contexts(), dodag, &mut out)?;
    let frame = [&out[..done.written], &packet[done.covered..]].concat();
    assert_eq!(expand(&frame, dodag, None).as_deref(), Ok(packet));
    let first = expand(&frame[..done.written], dodag, Some(packet.len() as u16));
    assert_eq!(first.as_deref(), Ok(&packet[..done.covered]));
    Some(frame)
}

#[test]
fn packet_information_is_as_in_figures_10_to_13() {
    for (instance, sender_rank, octets) in [
        (0, 0x0300, &[0x93, 5, 3][..]),
        (0, 0x0304, &[0x92, 5, 3, 4]),
        (7, 0x0300, &[0x91, 5, 7, 3]),
        (7, 0x0304, &[0x90, 5, 7, 3, 4]),
    ] {
        let it = PacketInformation { instance, ..information(true, sender_rank) };
        let mut out = [0; 8];
        let mut writer = Writer::new(&mut out);
        write_information(&it, &mut writer);
        assert_eq!(writer.finish(), Ok(octets.len()));
        assert_eq!(out[..octets.len()], *octets);
        assert_eq!(read_information(octets), Ok(it));
    }
    let flags = [(0x8B, true, false), (0x87, false, true)];
    for (first, rank_error, forwarding_error) in flags {
        let it = PacketInformation { rank_error, forwarding_error, ..information(false, 0) };
        assert_eq!(read_information(&[first, 5, 0]), Ok(it));
    }
}

#[test]
fn an_option_takes_an_octet_of_page_and_four_as_in_figures_16_and_18() {
    let behind = [&option(protocol::ICMPV6, false)[..], &[128, 0, 1, 2, 3, 4, 5, 6]].concat();
    let packet = header(protocol::HOP_BY_HOP, node(5), node(1), &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    // Page, RPI, IPHC with next header, hop limit and two octets of destination.
    let iphc = [0x78, 0x76, protocol::ICMPV6, 63, 0, 1];
    assert_eq!(frame, [&[PAGE_1, 0x82, 5, 0, 3][..], &iphc, &behind[8..]].concat());
    let behind = [&option(protocol::UDP, false)[..], &udp(9)].concat();
    let packet = header(protocol::HOP_BY_HOP, node(5), node(6), &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    let nhc = [0x7C, 0x77, 63, 0xF3, 0x12, 1, 2];
    assert_eq!(frame, [&[PAGE_1, 0x82, 5, 0, 3][..], &nhc, &[7; 9]].concat());
}

#[test]
fn a_tunnel_from_the_root_in_storing_mode_is_as_in_figure_19() {
    let inner = header(protocol::UDP, OUTSIDE, node(9), &udp(4));
    let behind = [&option(protocol::IPV6, true)[..], &inner].concat();
    let packet = header(protocol::HOP_BY_HOP, node(1), node(9), &behind);
    let frame = there_and_back(&packet, &STORING).unwrap();
    // The outer addresses are known: the root's, and that of the packet inside.
    assert_eq!(frame[..8], [PAGE_1, 0x92, 5, 0, 3, 0xA1, 6, 63]);
    // To a router before the destination: figure 2 of RFC 9008, with its address in one octet.
    let packet = header(protocol::HOP_BY_HOP, node(1), node(8), &behind);
    let frame = there_and_back(&packet, &STORING).unwrap();
    assert_eq!(frame[..11], [PAGE_1, 0x80, 0, 8, 0x92, 5, 0, 3, 0xA1, 6, 63]);
    // Nothing is implied where routers have no downward routes.
    let packet = header(protocol::HOP_BY_HOP, node(1), node(9), &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    assert_eq!(frame[..4], [PAGE_1, 0x80, 0, 9]);
}

#[test]
fn a_tunnel_to_the_root_names_who_began_it() {
    let inner = header(protocol::UDP, node(0x101), OUTSIDE, &udp(4));
    let behind = [&option(protocol::IPV6, false)[..], &inner].concat();
    let packet = header(protocol::HOP_BY_HOP, node(0x102), node(1), &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    assert_eq!(frame[..10], [PAGE_1, 0x82, 5, 0, 3, 0xA3, 6, 63, 1, 2]);
    // The packet inside may have an option of its own, behind the outer header's.
    let marked = [&option(protocol::UDP, false)[..], &udp(4)].concat();
    let inner = header(protocol::HOP_BY_HOP, node(0x101), OUTSIDE, &marked);
    let behind = [&option(protocol::IPV6, false)[..], &inner].concat();
    let packet = header(protocol::HOP_BY_HOP, node(0x102), node(1), &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    assert_eq!(frame[..14], [PAGE_1, 0x82, 5, 0, 3, 0xA3, 6, 63, 1, 2, 0x82, 5, 0, 3]);
}

#[test]
fn source_routes_are_as_in_figures_20_and_21() {
    let hops = [node(0x202), node(0x203), node(0x204)];
    let inner = header(protocol::UDP, OUTSIDE, node(0x204), &udp(4));
    let behind = [&route(protocol::IPV6, hops[0], &hops[1..])[..], &inner].concat();
    let behind = [&option(protocol::ROUTING, true)[..], &behind].concat();
    let packet = header(protocol::HOP_BY_HOP, node(1), hops[0], &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    let routed = [PAGE_1, 0x82, 1, 2, 2, 2, 3, 2, 4, 0x92, 5, 0, 3, 0xA1, 6, 63];
    assert_eq!(frame[..16], routed);
    // A packet from the root itself needs no tunnel, and its last hop is in IPHC.
    let hops = [node(0x202), node(0x203), node(0x204), node(0x205), node(0x206)];
    let behind = [&route(protocol::UDP, hops[0], &hops[1..])[..], &udp(4)].concat();
    let packet = header(protocol::ROUTING, node(1), hops[0], &behind);
    let frame = there_and_back(&packet, &DODAG).unwrap();
    assert_eq!(frame[..11], [PAGE_1, 0x83, 1, 2, 2, 2, 3, 2, 4, 2, 5]);
    // Another implementation may write the destination too (5.2.2).
    let mut longer = frame.clone();
    longer[1] = 0x84;
    longer.splice(11..11, [2, 6]);
    assert_eq!(expand(&longer, &DODAG, None).as_deref(), Ok(&packet[..]));
}

/// IPHC of a UDP packet from the root to node 0x301, with the payload of [`udp`].
fn iphc() -> Vec<u8> {
    [&[0x7C, 0x66, 63, 0, 1, 3, 1, 0xF3, 0x12, 1, 2][..], &[7; 4]].concat()
}

/// Appendix A.3, with the root's prefix before the octets of its figures.
#[test]
fn a_source_route_is_consumed_as_in_figures_22_to_25() {
    let at = |last: [u16; 4]| Ipv6Addr::new(0xFD00, 0, 0, 0, last[0], last[1], last[2], last[3]);
    let [a, b] = [[0xAAAA; 4], [0xAAAA, 0xAAAA, 0xAAAA, 0xBBBB]].map(at);
    let c = at([0xAAAA, 0xAAAA, 0xCCCC, 0xCCCC]);
    let d = at([0xAAAA, 0xAAAA, 0xDDDD, 0xDDDD]);
    let second = [&[0x81, 2][..], &[0xCC; 4], &[0xDD; 4]].concat();
    let third = [&[0x80, 2][..], &[0xDD; 4]].concat();
    let frames = [
        [&[0x80, 3][..], &[0xAA; 8], &[0x80, 1, 0xBB, 0xBB], &second].concat(),
        [&[0x80, 3][..], &b.octets()[8..], &second].concat(),
        [&[0x80, 3][..], &c.octets()[8..], &third].concat(),
        [&[0x80, 3][..], &d.octets()[8..]].concat(),
    ];
    let hops = [a, b, c, d, node(0x301)];
    for (n, headers) in frames.iter().enumerate() {
        let frame = [&[PAGE_1][..], headers, &iphc()].concat();
        let packet = expand(&frame, &DODAG, None).unwrap();
        let (first, rest) = hops[n..].split_first().unwrap();
        let behind = [&route(protocol::UDP, *first, rest)[..], &udp(4)].concat();
        assert_eq!(packet, header(protocol::ROUTING, node(1), *first, &behind), "hop {n}");
        // Compressed again, it is the same.
        there_and_back(&packet, &DODAG).unwrap();
    }
    // Behind the last hop nothing of the route is left.
    let packet = expand(&[&[PAGE_1][..], &iphc()].concat(), &DODAG, None).unwrap();
    assert_eq!(packet, header(protocol::UDP, node(1), node(0x301), &udp(4)));
}

#[test]
fn congestion_marked_in_the_outer_header_is_reported() {
    let marked = |outer: u8, inner: u8| {
        let mut packet = header(protocol::UDP, OUTSIDE, node(9), &udp(4));
        packet[1] = inner << 4;
        let behind = [&option(protocol::IPV6, true)[..], &packet].concat();
        let mut packet = header(protocol::HOP_BY_HOP, node(1), node(9), &behind);
        packet[1] = outer << 4;
        packet
    };
    let mut out = [0; MAX_CHAIN_COMPRESSED];
    let packet = marked(3, 2);
    let done = compress::<ExtensionHeaders>(&packet, LINKS, &contexts(), &STORING, &mut out);
    let frame = [&out[..done.unwrap().written], &[7; 4]].concat();
    assert_eq!(expand(&frame, &STORING, None).as_deref(), Ok(&marked(3, 3)[..]));
    // If the mark cannot be merged, both headers are kept.
    for (outer, inner) in [(3, 0), (0, 2), (2, 3)] {
        assert_eq!(there_and_back(&marked(outer, inner), &STORING), None);
    }
    assert!(there_and_back(&marked(2, 2), &STORING).is_some());
}

#[test]
fn headers_that_rfc_8138_cannot_represent_stay_unchanged() {
    let plain = header(protocol::UDP, node(5), node(6), &udp(4));
    assert_eq!(there_and_back(&plain, &DODAG), None);
    // An option of the other type, of another instance, with another flag.
    let mut marked = option(protocol::UDP, false);
    let packet = |option: &[u8; 8]| {
        header(protocol::HOP_BY_HOP, node(5), node(1), &[&option[..], &udp(4)].concat())
    };
    assert!(there_and_back(&packet(&marked), &DODAG).is_some());
    for (at, octet) in [(2, 0x63), (5, 1), (4, 0x10)] {
        let before = core::mem::replace(&mut marked[at], octet);
        assert_eq!(there_and_back(&packet(&marked), &DODAG), None);
        marked[at] = before;
    }
    // A source route that is partly used; one that ends at an earlier hop.
    for (left, last) in [(1, 9), (2, 9), (2, 8)] {
        let mut route = route(protocol::UDP, node(7), &[node(8), node(last)]);
        route[3] = left;
        let behind = [&option(protocol::ROUTING, true)[..], &route, &udp(4)].concat();
        let packet = header(protocol::HOP_BY_HOP, node(1), node(7), &behind);
        assert_eq!(there_and_back(&packet, &DODAG).is_some(), (left, last) == (2, 9));
    }
    // A tunnel between neighbours.
    let near = |n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n);
    let behind = [&option(protocol::IPV6, true)[..], &plain].concat();
    let packet = header(protocol::HOP_BY_HOP, near(5), near(6), &behind);
    assert_eq!(there_and_back(&packet, &STORING), None);
}

#[test]
fn headers_that_are_out_of_order_or_unknown_are_refused() {
    let frame = |headers: &[u8]| expand(&[&[PAGE_1], headers, &iphc()].concat(), &DODAG, None);
    let (information, hop, tunnel) = ([0x93, 5, 3], [0x80, 0, 9], [0xA1, 6, 63]);
    assert!(frame(&[hop, information, tunnel].concat()).is_ok());
    // An elective header is skipped, but not within a source route.
    assert!(frame(&[&[0xA2, 9, 1, 2][..], &hop, &information].concat()).is_ok());
    assert!(frame(&[&hop[..], &[0xA0, 9], &hop].concat()).is_err());
    for headers in [
        [information, hop, tunnel].concat(),
        [information, information].concat(),
        [hop, information, tunnel, information, tunnel].concat(),
        [hop, information, tunnel, hop].concat(),
        // A critical header, another instance, no hop limit, a multicast hop, no end.
        std::vec![0x80, 6, 0],
        std::vec![0x91, 5, 1, 3],
        [&information[..], &[0xA0, 6]].concat(),
        [&[0x80, 4, 0xFF, 2][..], &[0; 14]].concat(),
    ] {
        assert!(frame(&headers).is_err(), "{headers:x?}");
    }
    assert!(expand(&[PAGE_1, 0x9F, 4, 1], &DODAG, None).is_err());
    assert!(expand(&[0xF2, 0x93, 5, 3], &DODAG, None).is_err());
    // More hops than there is room for.
    let many = [&[0x9F, 0][..], &[9; 32]].concat();
    assert!(frame(&many).is_err());
}

fn addresses() -> impl Strategy<Value = Ipv6Addr> {
    prop_oneof![
        (1u16..0x300).prop_map(node),
        any::<u64>().prop_map(|n| Ipv6Addr::from_bits(0xFD00 << 112 | u128::from(n))),
        any::<u128>().prop_map(Ipv6Addr::from_bits),
    ]
}

proptest! {
    #[test]
    fn packets_of_all_shapes_come_back(
        ends in (addresses(), addresses(), addresses()),
        hops in prop::collection::vec(addresses(), 0..6),
        flags in any::<[bool; 4]>(), rank in any::<u16>(), data in 0usize..40,
    ) {
        let [tunnel, marked, down, storing] = flags;
        let (encapsulator, src, dst) = ends;
        let dodag = Dodag { storing, ..DODAG };
        let mut path = hops;
        path.push(dst);
        let add = |next: u8, behind: Vec<u8>| {
            let (kind, behind) = match path.split_first() {
                Some((first, rest)) if !rest.is_empty() => {
                    (protocol::ROUTING, [route(next, *first, rest), behind].concat())
                }
                _ => (next, behind),
            };
            [&information(down, rank).hop_by_hop(kind, dodag.option)[..], &behind].concat()
        };
        let packet = if tunnel {
            let inner = if marked {
                let behind = [&option(protocol::UDP, down)[..], &udp(data)].concat();
                header(protocol::HOP_BY_HOP, src, dst, &behind)
            } else {
                header(protocol::UDP, src, dst, &udp(data))
            };
            header(protocol::HOP_BY_HOP, encapsulator, path[0], &add(protocol::IPV6, inner))
        } else {
            header(protocol::HOP_BY_HOP, src, path[0], &add(protocol::UDP, udp(data)))
        };
        // The packets of one network are all compressed.
        let frame = there_and_back(&packet, &dodag);
        let own = |it: &Ipv6Addr| it.segments()[..7] == node(0).segments()[..7];
        let returns = !tunnel && path[..path.len() - 1].contains(&dst);
        if path.iter().chain([&src, &encapsulator]).all(own) && !returns {
            prop_assert!(frame.is_some());
        }
    }

    #[test]
    fn no_octets_panic_and_what_expands_can_be_written_again(
        octets in prop::collection::vec(any::<u8>(), 0..120), size in any::<Option<u16>>(),
        kind in 0u8..7, storing in any::<bool>(),
    ) {
        let mut octets = octets;
        if octets.len() > 4 {
            let first = 0x80 | octets[1] & 0x23;
            octets[..3].copy_from_slice(&[PAGE_1, first, kind]);
        }
        let dodag = Dodag { storing, ..DODAG };
        if let (Ok(packet), None) = (expand(&octets, &dodag, size), size) {
            there_and_back(&packet, &dodag);
        }
    }
}
