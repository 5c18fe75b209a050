//! RFC 8930: fragments that routers forward one by one, and attacks on this.

use crate::common::{LIMITS, NOW, Pattern, Plan, global, local, packet, pattern, plain};
use core::net::Ipv6Addr;
use kinglet_net::{
    AdmissionPolicy, Body, Delivery, Discard, FrameIn, FrameOut, InterfaceAddress, Iphc,
    Ipv6Reassembly, Net, NetConfig, NextHop, Outgoing, Partial, Queued, Rfc8930, Route, Sizes,
    Slot, UdpSocket, Virtual,
};
use kinglet_store::{Frame, Ram};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{HOP_LIMIT_OFFSET, protocol};
use kinglet_wire::sixlowpan::{Context, FragmentHeader};

const FRAMES: usize = 12;
const DATAGRAMS: usize = 3;
const ROOM: usize = LIMITS.max_payload;

struct Relays;
impl Sizes for Relays {
    type Storage = [u8; 1500];
    type Packets = [Slot<Self::Storage>; 8];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 0];
    type Children = <Plan as Sizes>::Children;
    type Indirect = <Plan as Sizes>::Indirect;
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 2];
    type Routes = [Option<Route>; 6];
    type Neighbours = [Option<kinglet_net::Neighbour>; 2];
    type Contexts = [Option<Context>; 2];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc8930<[Option<Virtual>; DATAGRAMS], Ram<[Frame; FRAMES]>>;
    type Border = ();
    type Ipv6Fragments = Ipv6Reassembly<2>;
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 2];
}

type Node = Net<Relays, u32>;

/// Returns node `n` of a line; packets go to lower and higher numbers through the adjacent node.
fn node(n: u16, forward: bool) -> Node {
    let mut node = Node::new(NetConfig { forward, ..NetConfig::new(Address::Short(n)) });
    node.add_address(InterfaceAddress { address: global(n), prefix_len: 64 }).unwrap();
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    node.set_context(0, Some(Context { prefix, len: 64 })).unwrap();
    for other in (1..6).filter(|other| *other != n) {
        let next = if other > n { n + 1 } else { n - 1 };
        let via = NextHop::Link(Address::Short(next));
        node.add_route(Route { prefix: global(other), prefix_len: 128, via }).unwrap();
    }
    node.relay_frames(Some(ROOM));
    node
}

/// Returns the next frame, with its token for results.
fn poll(node: &mut Node) -> Option<(FrameOut, Vec<u8>)> {
    let mut buf = [0; 128];
    let pending = node.pending()?;
    let relayed = node.poll_relayed(NOW, &pending, &mut buf[..ROOM]);
    let out = relayed.or_else(|| node.poll_frame(NOW, LIMITS, &Pattern, &mut buf))?;
    assert_eq!((pending.dst, pending.token), (out.dst, out.token));
    Some((out, buf[..out.len].to_vec()))
}

fn frames(node: &mut Node) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| poll(node)).map(|(_, payload)| payload).collect()
}

fn hear(node: &mut Node, src: u16, payload: &[u8]) -> Result<Option<Delivery>, Discard> {
    hear_at(node, NOW, src, payload)
}

fn hear_at(
    node: &mut Node,
    now: Instant,
    src: u16,
    payload: &[u8],
) -> Result<Option<Delivery>, Discard> {
    let dst = node.config().link;
    let frame = FrameIn { src: Address::Short(src), dst, payload };
    if node.keep_fragment(now, &frame) {
        return Ok(None);
    }
    node.handle_frame(now, frame)
}

/// Returns the frames of a segment of `len` octets from node 1 to node `to`.
fn segment(to: u16, len: u16) -> Vec<Vec<u8>> {
    let mut origin = node(1, false);
    let outgoing = Outgoing {
        src: global(1),
        dst: global(to),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &[9; 20],
        body: Body::External { key: 7, len },
    };
    origin.submit(NOW, outgoing).unwrap();
    frames(&mut origin)
}

fn tag_of(frame: &[u8]) -> (u16, Option<u16>) {
    let (header, _) = FragmentHeader::parse(frame).unwrap();
    (header.tag, header.offset)
}

#[test]
fn fragments_cross_relays_one_by_one_and_meet_at_the_end() {
    let sent = segment(4, 900);
    assert!(sent.len() > 8, "{}", sent.len());
    let (mut second, mut third, mut end) = (node(2, true), node(3, true), node(4, false));
    let mut delivered = None;
    for frame in &sent {
        // Each one is forwarded before the next one comes.
        assert_eq!(hear(&mut second, 1, frame), Ok(None));
        let [onward] = &frames(&mut second)[..] else { panic!("one frame") };
        assert_eq!(hear(&mut third, 2, onward), Ok(None));
        let [last] = &frames(&mut third)[..] else { panic!("one frame") };
        assert_eq!(tag_of(last).1, tag_of(frame).1, "where it belongs");
        delivered = hear(&mut end, 3, last).unwrap();
    }
    let delivery = delivered.expect("the whole packet");
    let octets = end.packet(delivery.packet);
    assert_eq!(octets[HOP_LIMIT_OFFSET], 62, "two hops");
    assert_eq!(&octets[40..60], [9; 20]);
    assert_eq!(&octets[60..], pattern(7, 900));
    for relay in [&second, &third] {
        assert_eq!((relay.info().reassemblies, relay.info().free_packets), (0, 8));
        assert_eq!(relay.stats().forwarded, 1);
        let stats = relay.relay_stats().unwrap();
        assert_eq!((stats.datagrams, stats.frames as usize), (1, sent.len()));
        assert_eq!(relay.deadline(), None, "it is forgotten");
    }
}

#[test]
fn datagrams_of_several_senders_with_one_tag_are_kept_apart() {
    let sent = segment(4, 200);
    let mut relay = node(2, true);
    let mut tags = Vec::new();
    for n in 0..sent.len() {
        for src in [1, 5] {
            assert_eq!(hear(&mut relay, src, &sent[n]), Ok(None));
            tags.push(tag_of(&frames(&mut relay)[0]).0);
        }
    }
    let [a, b] = [tags[0], tags[1]];
    assert!(a != b && tags.chunks(2).all(|pair| pair == [a, b]), "{tags:?}");
}

#[test]
fn without_fragments_to_pass_on_every_hop_reassembles() {
    let sent = segment(4, 300);
    let mut relay = node(2, true);
    relay.relay_frames(None);
    for frame in &sent[..sent.len() - 1] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
        assert_eq!(frames(&mut relay).len(), 0);
    }
    hear(&mut relay, 1, sent.last().unwrap()).unwrap();
    assert_eq!(frames(&mut relay).len(), sent.len());
    assert_eq!(relay.relay_room(), None);
}

#[test]
fn packets_of_one_frame_wait_in_the_same_store_and_order_is_kept() {
    let mut relay = node(2, true);
    let mut sent = segment(4, 150);
    sent.extend(segment(4, 30));
    for frame in &sent {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
    }
    assert_eq!((relay.relayed_waiting(), relay.info().queued), (3, 0));
    let out = frames(&mut relay);
    let places: Vec<_> = out.iter().map(|frame| FragmentHeader::parse(frame).ok()).collect();
    let [Some((first, _)), Some((next, _)), None] = places[..] else { panic!("{places:?}") };
    assert!(first.offset.is_none() && next.offset.is_some() && first.tag == next.tag);
}

#[test]
fn headers_that_grow_take_another_frame() {
    // Its source is on another link: 16 octets that an earlier hop could elide.
    let source = local(1);
    let far: Ipv6Addr = "2001:db9::1234:5678:9abc:def0".parse().unwrap();
    let whole = packet(far, global(4), protocol::TCP, &[5; 300]);
    assert_ne!(source, far);
    let tag = 77;
    let size = whole.len() as u16;
    // A first fragment as full as it can be, uncompressed.
    let header = FragmentHeader { size, tag, offset: None };
    let mut first = vec![0; ROOM];
    let at = header.emit(&mut first).unwrap();
    first[at] = 0x41;
    let fits = (ROOM - at - 1) & !7;
    first.truncate(at + 1);
    first.extend(&whole[..fits]);
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &first), Ok(None));
    let mut sent = fits;
    while sent < whole.len() {
        let len = (whole.len() - sent).min(96);
        let header = FragmentHeader { size, tag, offset: Some(sent as u16) };
        let mut next = vec![0; 5];
        header.emit(&mut next).unwrap();
        next.extend(&whole[sent..sent + len]);
        assert_eq!(hear(&mut relay, 1, &next), Ok(None));
        sent += len;
    }
    let mut end = node(3, false);
    end.add_address(InterfaceAddress { address: global(4), prefix_len: 64 }).unwrap();
    let out = frames(&mut relay);
    assert!(out.iter().all(|frame| frame.len() <= ROOM));
    let last = out.iter().filter_map(|frame| hear(&mut end, 2, frame).unwrap()).last();
    let octets = end.packet(last.expect("the whole packet").packet);
    assert_eq!(octets[40..], whole[40..]);
}

#[test]
fn a_gap_or_a_frame_that_is_lost_ends_the_datagram_and_spares_the_rest() {
    let sent = segment(4, 600);
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    assert_eq!(hear(&mut relay, 1, &sent[2]), Err(Discard::Fragment), "one is missing");
    assert_eq!(hear(&mut relay, 1, &sent[3]), Ok(None), "and the rest is of no use");
    assert_eq!(frames(&mut relay).len(), 0, "also what waits already");

    let mut relay = node(2, true);
    for frame in &sent[..3] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
    }
    let (out, _) = poll(&mut relay).unwrap();
    assert_eq!(relay.handle_outcome(NOW, out.token, false), None);
    assert_eq!(relay.relayed_waiting(), 0);
    assert_eq!(hear(&mut relay, 1, &sent[3]), Ok(None));
    assert_eq!(relay.relayed_waiting(), 0);
    assert_eq!(relay.relay_stats().unwrap().dropped, 2);
    // The next datagram of the same sender is forwarded.
    assert_eq!(hear(&mut relay, 1, &segment(4, 30)[0]), Ok(None));
    assert_eq!(frames(&mut relay).len(), 1);
}

/// RFC 4944, 5.3: all fragments but the last have a multiple of eight octets.
#[test]
fn a_fragment_of_impossible_length_is_not_passed_on() {
    let sent = segment(4, 600);
    let (FragmentHeader { size, tag, offset }, _) = FragmentHeader::parse(&sent[1]).unwrap();
    let offset = offset.unwrap();
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    assert_eq!(frames(&mut relay).len(), 1);
    let fragment = |len: usize, offset| {
        let mut frame = vec![0; 5 + len];
        FragmentHeader { size, tag, offset: Some(offset) }.emit(&mut frame).unwrap();
        frame
    };
    for (len, offset) in [(0, offset), (9, offset), (16, size & !7)] {
        assert_eq!(hear(&mut relay, 1, &fragment(len, offset)), Err(Discard::Fragment), "{len}");
    }
    assert_eq!(frames(&mut relay).len(), 0);
    assert_eq!(hear(&mut relay, 1, &sent[1]), Ok(None), "the rest is still expected");
    assert_eq!(frames(&mut relay).len(), 1);
}

#[test]
fn a_fragment_that_is_repeated_is_passed_on_once() {
    let sent = segment(4, 300);
    let mut relay = node(2, true);
    for frame in &sent[..2] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
    }
    assert_eq!(hear(&mut relay, 1, &sent[1]), Ok(None));
    assert_eq!(frames(&mut relay).len(), 2);
}

/// Otherwise it would stay at the head of its neighbour's queue for ever. Found by libFuzzer.
#[test]
fn a_fragment_that_is_longer_than_a_frame_of_this_node_leaves_in_two() {
    let sent = segment(4, 600);
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    frames(&mut relay);
    let mut longer = sent[1].clone();
    longer.resize(5 + (ROOM + 8 - 5) / 8 * 8, 0);
    assert!(longer.len() > ROOM && longer.len() <= 118);
    assert_eq!(hear(&mut relay, 1, &longer), Ok(None));
    let [one, other] = &frames(&mut relay)[..] else { panic!("two frames") };
    assert_eq!(one[5..], longer[5..one.len()]);
    assert_eq!(other[5..], longer[one.len()..]);
    let offsets = [&longer, one, other].map(|frame| usize::from(tag_of(frame).1.unwrap()));
    assert_eq!(offsets[1..], [offsets[0], offsets[0] + one.len() - 5]);
}

/// A neighbour with an EUI-64 gets frames with a longer header than one with a short address.
#[test]
fn frames_for_a_neighbour_without_a_short_address_have_its_header_and_arrive() {
    let neighbour = Address::Extended([2, 0, 0, 0, 0, 0, 0, 3]);
    let sent = segment(4, 900);
    let (mut relay, mut end) = (node(2, true), node(4, false));
    let via = NextHop::Link(neighbour);
    relay.add_route(Route { prefix: global(4), prefix_len: 128, via }).unwrap();
    let mut delivered = None;
    for frame in &sent {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
        for onward in frames(&mut relay) {
            assert!(onward.len() <= ROOM - 6, "{}", onward.len());
            let frame = FrameIn { src: neighbour, dst: end.config().link, payload: &onward };
            delivered = end.handle_frame(NOW, frame).unwrap();
        }
    }
    let delivery = delivered.expect("the whole packet");
    assert_eq!(&end.packet(delivery.packet)[60..], pattern(7, 900));
}

#[test]
fn fragments_of_unknown_datagrams_pin_nothing() {
    let sent = segment(4, 300);
    let mut relay = node(2, true);
    for tag in 0..1_000_u16 {
        let mut stray = sent[1].clone();
        stray[2..4].copy_from_slice(&tag.to_be_bytes());
        assert_eq!(hear(&mut relay, 1, &stray), Err(Discard::NoReassembly));
    }
    assert_eq!((relay.info().reassemblies, relay.info().free_packets), (0, 8));
    assert_eq!(relay.deadline(), None);
}

#[test]
fn a_flood_of_first_fragments_costs_others_nothing_but_its_own_sender_places() {
    let sent = segment(4, 600);
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    frames(&mut relay);
    for tag in 0..500_u16 {
        let mut forged = sent[0].clone();
        forged[2..4].copy_from_slice(&(tag + 10_000).to_be_bytes());
        let _ = hear(&mut relay, 5, &forged);
        frames(&mut relay);
    }
    for frame in &sent[1..] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
        assert_eq!(frames(&mut relay).len(), 1, "the datagram goes on");
    }
    assert!(relay.relay_stats().unwrap().evicted > 490);
}

#[test]
fn a_datagram_that_overflows_the_store_is_dropped_as_a_whole() {
    let sent = segment(4, 1_180);
    assert!(sent.len() > FRAMES);
    let mut relay = node(2, true);
    for frame in &sent[..FRAMES] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
    }
    assert_eq!(relay.relay_room(), Some(0));
    assert_eq!(hear(&mut relay, 1, &sent[FRAMES]), Err(Discard::QueueFull));
    assert_eq!((relay.relay_room(), relay.relayed_waiting()), (Some(FRAMES), 0));
    assert_eq!(relay.relay_stats().unwrap().full, 1);
}

#[test]
fn a_sender_that_fills_a_store_leaves_room_for_others_and_for_next_hops() {
    let sent = segment(4, 1_180);
    let mut relay = node(2, true);
    let mut admission = Vec::new();
    for frame in &sent[..FRAMES] {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
        admission.push(relay.relay_admission(Instant::ZERO));
    }
    let expected = (1..=FRAMES).map(|waiting| match FRAMES - waiting {
        0..=2 => AdmissionPolicy::Only(Address::Short(3)),
        3 => AdmissionPolicy::AllBut(Address::Short(1)),
        _ => AdmissionPolicy::All,
    });
    assert!(admission.iter().copied().eq(expected), "{admission:?}");
    assert_eq!(node(2, true).relay_admission(Instant::ZERO), AdmissionPolicy::All);
}

/// Stores are far from full: only the numbers of frames decide.
#[test]
fn of_two_that_bring_as_much_as_they_can_the_one_that_is_ahead_waits() {
    let mut relay = node(2, true);
    let mut now = NOW;
    let mut bring = |sender, times| {
        let mut waits = Vec::new();
        for _ in 0..times {
            now += Duration::from_millis(8);
            let one = &segment(4, 20)[0];
            assert_eq!(hear_at(&mut relay, now, sender, one), Ok(None));
            frames(&mut relay);
            waits.push(relay.relay_admission(now));
        }
        waits
    };
    let mut admission = bring(1, 60);
    admission.extend(bring(5, 60));
    assert!(admission.iter().all(|admission| *admission == AdmissionPolicy::All), "{admission:?}");
    assert_eq!(bring(1, 130).last(), Some(&AdmissionPolicy::AllBut(Address::Short(1))));
    assert_eq!(bring(5, 80).last(), Some(&AdmissionPolicy::All));
}

#[test]
fn a_slow_sender_does_not_wait_for_one_that_fills_the_store() {
    let long = segment(4, 600);
    let short = segment(4, 20);
    assert_eq!((long.len() > 6, short.len()), (true, 1));
    let mut relay = node(2, true);
    for frame in &long {
        assert_eq!(hear(&mut relay, 1, frame), Ok(None));
    }
    // The short datagram comes through another neighbour, which has sent no other frames.
    assert_eq!(hear(&mut relay, 5, &short[0]), Ok(None));
    let passed = frames(&mut relay);
    let is_short = |frame: &Vec<u8>| FragmentHeader::parse(frame).is_err();
    assert_eq!(passed.iter().position(is_short), Some(0));
    let tags: Vec<_> = passed[1..].iter().map(|frame| tag_of(frame).1).collect();
    assert!(tags.is_sorted(), "those of one neighbour keep their order: {tags:?}");
}

#[test]
fn a_datagram_that_is_not_continued_is_forgotten() {
    let sent = segment(4, 300);
    let mut relay = node(2, true);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    let expires = relay.deadline().expect("a time");
    assert_eq!(expires, NOW + relay.config().reassembly_timeout);
    let later = NOW + Duration::from_secs(1);
    assert_eq!(hear_at(&mut relay, later, 1, &sent[1]), Ok(None));
    assert_eq!(relay.deadline(), Some(expires + Duration::from_secs(1)), "it goes on");
    relay.handle_deadline(expires + Duration::from_secs(1));
    assert_eq!(relay.deadline(), None);
    assert_eq!(hear(&mut relay, 1, &sent[2]), Err(Discard::NoReassembly));
}

#[test]
fn a_packet_that_draws_an_error_is_reassembled_and_answered() {
    for (dst, hop_limit, reason) in [
        (global(4), 1, Discard::HopLimit),
        (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 1), 64, Discard::NoRoute),
        (global(1), 64, Discard::Loop),
    ] {
        let mut whole = packet(global(1), dst, protocol::TCP, &[5; 200]);
        whole[HOP_LIMIT_OFFSET] = hop_limit;
        let size = whole.len() as u16;
        let mut relay = node(2, true);
        let mut first = vec![0; 4];
        FragmentHeader { size, tag: 3, offset: None }.emit(&mut first).unwrap();
        first.push(0x41);
        first.extend(&whole[..96]);
        assert_eq!(hear(&mut relay, 1, &first), Ok(None));
        assert_eq!(relay.relayed_waiting(), 0);
        let mut next = vec![0; 5];
        FragmentHeader { size, tag: 3, offset: Some(96) }.emit(&mut next).unwrap();
        next.extend(&whole[96..192]);
        assert_eq!(hear(&mut relay, 1, &next), Ok(None));
        FragmentHeader { size, tag: 3, offset: Some(192) }.emit(&mut next).unwrap();
        next.truncate(5);
        next.extend(&whole[192..]);
        assert_eq!(hear(&mut relay, 1, &next), Err(reason));
        let answer = frames(&mut relay);
        assert!(answer.len() > 1, "an error that quotes the packet");
        assert_eq!(relay.stats().errors_out, 1);
    }
    let alone = plain(&packet(global(1), global(2), protocol::NONE, &[]));
    assert!(hear(&mut node(2, true), 1, &alone).is_ok(), "and what is its own it takes");
}

#[test]
fn noise_and_impossible_fragments_leave_nothing_behind() {
    let sent = segment(4, 300);
    for octet in 0..24 {
        for bit in 0..8 {
            let mut relay = node(2, true);
            let mut damaged = sent.clone();
            for frame in &mut damaged {
                frame[octet] ^= 1 << bit;
                let _ = hear(&mut relay, 1, frame);
            }
            frames(&mut relay);
            relay.handle_deadline(NOW + Duration::from_secs(100));
            let info = relay.info();
            assert_eq!((info.reassemblies, info.free_packets), (0, 8), "{octet}.{bit}");
            assert_eq!((relay.relayed_waiting(), relay.deadline()), (0, None));
        }
    }
}

/// RFC 8930 has no such time: the MAC of a duty-cycled node asks for it.
#[test]
fn packets_of_other_nodes_of_the_mesh_show_that_they_need_the_channel() {
    let shared = NOW + Duration::from_secs(30);
    let nothing = |src, dst| plain(&packet(src, dst, protocol::NONE, &[]));
    let stranger = Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 1);
    let near = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, 1);
    for (what, src, dst, until) in [
        ("of the neighbour, for this node", global(2), global(3), Instant::ZERO),
        ("of another node, for this node", global(1), global(3), shared),
        ("of another node, link-local", near, global(3), Instant::ZERO),
        ("of a host outside, for this node", stranger, global(3), Instant::ZERO),
        ("forwarded as a whole", global(2), global(5), shared),
    ] {
        let mut node = node(3, true);
        let _ = hear(&mut node, 2, &nothing(src, dst));
        assert_eq!(node.shared_until(), until, "{what}");
    }
    let mut relay = node(2, true);
    let sent = segment(4, 300);
    assert_eq!(hear(&mut relay, 1, &sent[0]), Ok(None));
    assert_eq!(relay.shared_until(), shared, "its first fragment");
    assert_eq!(hear_at(&mut relay, shared, 1, &sent[1]), Ok(None));
    assert_eq!(relay.shared_until(), shared, "only the first fragment");
}

#[test]
fn neither_broadcasts_nor_packets_of_a_border_routers_host_show_that_others_need_the_channel() {
    let mut node = node(3, true);
    let octets = plain(&packet(global(1), global(3), protocol::NONE, &[]));
    let frame = FrameIn { src: Address::Short(2), dst: Address::BROADCAST, payload: &octets };
    let _ = node.handle_frame(NOW, frame);
    assert_eq!(node.shared_until(), Instant::ZERO, "a broadcast");

    // Context 0 covers the whole mesh, so context 1 names the host.
    let host = Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 1);
    node.set_context(1, Some(Context { prefix: host, len: 128 })).unwrap();
    for dst in [global(3), global(5)] {
        let _ = node.handle_host_packet(NOW, &packet(host, dst, protocol::NONE, &[]));
        assert_eq!(node.shared_until(), Instant::ZERO, "{dst}");
    }
    assert_eq!(node.stats().forwarded, 1);
}

#[test]
fn answers_to_own_packets_do_not_show_that_others_need_the_channel() {
    let mut node = node(3, true);
    let socket = node.udp_bind(1000).unwrap();
    let answer = |node: &mut Node, src| {
        let _ = hear(node, 2, &plain(&packet(src, global(3), protocol::NONE, &[])));
        node.shared_until() > Instant::ZERO
    };
    node.udp_send(NOW, socket, global(1), 9, b"x").unwrap();
    assert!(!answer(&mut node, global(1)));
    let upper = Outgoing {
        src: global(3),
        dst: global(5),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &[9; 20],
        body: Body::None,
    };
    node.submit(NOW, upper).unwrap();
    assert!(answer(&mut node, global(1)), "the last packet went to another node");
}
