//! Neighbour discovery with a neighbour that knows RFC 4861 and nothing of this stack.

use crate::common::*;
use crate::stranger::{Link, checksum, group, link_option};
use kinglet::mac;
use kinglet::nd::{self, State};
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::{Discovered, Node};
use std::net::Ipv6Addr;

kinglet::profile! {
    struct Speaker {
        discovery: Discovered<Self>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]>,
        discovered: 4,
        forwards: true,
        packets: 8,
        addresses: 2,
        groups: 1,
        listener: nd::Reporting,
    }
}

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

const SHORT: Address = Address::Short(9);
const EXTENDED: Address = Address::Extended([2, 0, 0, 0xFF, 0xFE, 0, 0, 9]);

/// Returns a node with the short address 1 and 2001:db8::1, whose prefix is on-link.
fn speaker() -> Box<Node<Speaker>> {
    let config = config(1, 1);
    let discovery = Discovered::new(&config);
    let mut node = Box::new(Node::with_layers(config, (), discovery, usual()));
    let (prefix, address) = (ip("2001:db8::"), ip("2001:db8::1"));
    let mut interface = node.interface();
    interface.add_address(InterfaceAddress { address, prefix_len: 64 }).unwrap();
    interface.add_route(Route { prefix, prefix_len: 64, via: NextHop::OnLink }).unwrap();
    node
}

fn line(link: Address, addresses: &[&str]) -> Link<Speaker> {
    let addresses: Vec<_> = addresses.iter().map(|it| ip(it)).collect();
    Link::new(speaker(), Address::Short(1), link, &addresses)
}

//= rfc6775#6.5.5-2 type=test
#[test]
fn a_solicitation_is_answered_to_group_and_node_for_both_kinds_of_link_address() {
    for link in [SHORT, EXTENDED] {
        for target in ["fe80::ff:fe00:1", "2001:db8::1"].map(ip) {
            let mut line = line(link, &["fe80::1234"]);
            line.solicit(target);
            let [(hop_limit, src, dst, upper)] = &line.heard_of(136)[..] else {
                panic!("one answer")
            };
            assert_eq!((*hop_limit, *dst), (255, ip("fe80::1234")));
            assert!(*src == target || *src == local(1));
            // Flags: solicited and overriding, not a router. Then its link address.
            assert_eq!((upper[4], &upper[8..24]), (0x60, &target.octets()[..]));
            assert_eq!(upper[24..], link_option(2, Address::Short(1)));
            // The same solicitation to the node alone, and without a source link address.
            let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &target.octets()[..]].concat();
            line.send(ip("fe80::1234"), target, 255, upper);
            assert_eq!(line.heard_of(136).len(), 1);
        }
    }
}

#[test]
fn forwarded_solicitations_and_those_for_other_nodes_are_not_answered() {
    let mut line = line(EXTENDED, &["fe80::1234"]);
    let (src, target) = (ip("fe80::1234"), local(1));
    let asks = |target: Ipv6Addr| [&[135, 0, 0, 0, 0, 0, 0, 0], &target.octets()[..]].concat();
    line.send(src, group(target), 254, asks(target));
    line.send(src, group(target), 255, asks(ip("fe80::1:ff:fe00:1")));
    line.send(src, local(1), 255, asks(ip("fe80::2")));
    let mut coded = asks(target);
    coded[1] = 1;
    line.send(src, local(1), 255, coded);
    assert_eq!(line.heard_of(136), []);
}

#[test]
fn an_address_is_defended_against_duplicate_address_detection() {
    let mut line = line(EXTENDED, &["fe80::1234"]);
    let target = ip("2001:db8::1");
    let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &target.octets()[..]].concat();
    line.send(Ipv6Addr::UNSPECIFIED, group(target), 255, upper);
    let [(_, _, dst, upper)] = &line.heard_of(136)[..] else { panic!("one answer") };
    assert_eq!((*dst, upper[4]), (ip("ff02::1"), 0x20));
}

#[test]
fn both_ping_each_other_where_no_address_contains_the_link_address() {
    for link in [SHORT, EXTENDED] {
        let mut line = line(link, &["fe80::a:b:c:d", "2001:db8::beef"]);
        let beef = ip("2001:db8::beef");
        for (count, len) in [(1, 4), (2, 30)] {
            line.node.datagrams().ping(line.now, beef, 1, count, &vec![7; len]).unwrap();
            line.run(Duration::from_millis(200));
            let reply = line.node.datagrams().poll_echo_reply().expect("it answers");
            assert_eq!((reply.src, reply.seq), (beef, count));
        }
        // One solicitation for both.
        assert_eq!(line.heard_of(135).len(), 1);
        line.ping(beef, ip("2001:db8::1"));
        assert_eq!(line.heard_of(129).len(), 1);
    }
}

#[test]
fn one_who_is_first_to_speak_need_not_be_asked() {
    let mut line = line(EXTENDED, &["2001:db8::beef"]);
    line.solicit(ip("2001:db8::1"));
    line.ping(ip("2001:db8::beef"), ip("2001:db8::1"));
    assert_eq!((line.heard_of(129).len(), line.frames.contains(&Address::BROADCAST)), (1, false));
}

#[test]
fn the_short_address_of_another_system_is_recognised_by_its_pan() {
    let mut line = line(SHORT, &["fe80::a9cd:ff:fe00:9"]);
    line.ping(ip("fe80::a9cd:ff:fe00:9"), local(1));
    assert_eq!(line.heard_of(129).len(), 1);
    assert_eq!(line.frames, [SHORT]);
}

#[test]
fn a_guess_that_is_wrong_is_mended_by_asking() {
    // An identifier that is not predictable, and looks like an EUI-64.
    let address = "fe80::a1b2:c3d4:e5f6:789";
    let mut line = line(EXTENDED, &[address]);
    let end = line.now + Duration::from_secs(8);
    let mut replies = 0;
    while line.now < end {
        let now = line.now;
        let _ = line.node.datagrams().ping(now, ip(address), 1, 1, &[1]);
        line.run(Duration::from_millis(500));
        replies += usize::from(line.node.datagrams().poll_echo_reply().is_some());
    }
    assert!(replies >= 6, "{replies} of 16");
    assert_eq!(
        line.node.net().discovery().nd().resolution(ip(address)),
        kinglet::nd::Resolution::To(EXTENDED)
    );
}

#[test]
fn packets_are_dropped_if_no_neighbour_answers() {
    let mut line = line(EXTENDED, &["2001:db8::beef"]);
    line.answers = false;
    let free = line.node.info().net.free_packets;
    for seq in 0..5 {
        let now = line.now;
        line.node.datagrams().ping(now, ip("2001:db8::beef"), 1, seq, &[1]).unwrap();
    }
    line.run(Duration::from_millis(100));
    assert_eq!(free - line.node.info().net.free_packets, 2, "the newest two wait");
    line.run(Duration::from_secs(10));
    // RFC 4861, 7.2.2: three, a second apart.
    assert_eq!(line.heard_of(135).len(), 3);
    assert_eq!(line.node.info().net.free_packets, free);
    assert_eq!(line.node.net().discovery().nd().neighbours().count(), 0);
}

#[test]
fn a_neighbour_that_acknowledges_frames_is_not_probed_and_another_is() {
    let mut line = line(EXTENDED, &["2001:db8::beef"]);
    let beef = ip("2001:db8::beef");
    let ping = |line: &mut Link<Speaker>| {
        let now = line.now;
        line.node.datagrams().ping(now, beef, 1, 1, &[1]).unwrap();
        line.run(Duration::from_secs(10));
    };
    for _ in 0..30 {
        ping(&mut line);
    }
    assert_eq!(line.heard_of(135).len(), 1, "five minutes of traffic, and one question");
    line.there = false;
    line.frames.clear();
    ping(&mut line);
    let states: Vec<_> =
        line.node.net().discovery().nd().neighbours().map(|it| it.state()).collect();
    assert_eq!(states, [], "probed and forgotten");
    // It returns with another link address.
    (line.there, line.link) = (true, SHORT);
    ping(&mut line);
    assert!(line.node.datagrams().poll_echo_reply().is_some());
    let known = line.node.net().discovery().nd().neighbours().next().unwrap();
    assert_eq!((known.link(), known.state()), (SHORT, State::Reachable));
}

#[test]
fn a_segment_of_tcp_that_was_taken_shows_that_its_neighbour_is_there() {
    let (beef, own) = (ip("2001:db8::beef"), ip("2001:db8::1"));
    let mut line = line(EXTENDED, &["2001:db8::beef"]);
    let settings = kinglet::tcp::ListenConfig::default();
    line.node.streams().listen(80, settings).unwrap();
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    line.segment(beef, own, SYN, 99, 0);
    line.run(Duration::from_millis(200));
    let syn_ack = line.segments.pop().expect("an answer");
    let seq = u32::from_be_bytes(syn_ack[4..8].try_into().unwrap());
    line.segment(beef, own, ACK, 100, seq + 1);
    let state = |line: &Link<Speaker>| {
        line.node.net().discovery().nd().neighbours().map(|it| it.state()).next()
    };
    line.run(Duration::from_secs(60));
    assert_eq!(state(&line), Some(State::Stale), "silent for a minute");
    // A forged segment is not accepted, and proves nothing.
    line.segment(beef, own, ACK, 70_000, seq + 1);
    line.there = false;
    line.run(Duration::from_secs(60));
    line.there = true;
    let before = state(&line);
    line.segment(beef, own, ACK, 100, seq + 1);
    assert_eq!((before, state(&line)), (Some(State::Stale), Some(State::Reachable)));
}

#[test]
fn a_router_that_asks_gets_the_groups() {
    let config = config(1, 1);
    let (mac, seed) = (&config.mac, config.seed);
    let settings = nd::NdConfig::new(mac.source(), mac.extended, mac.pan_id.0, seed);
    let discovery = Discovered::with(nd::NdConfig { reports: true, ..settings });
    let mut node: Box<Node<Speaker>> = Box::new(Node::with_layers(config, (), discovery, usual()));
    let address = InterfaceAddress { address: ip("2001:db8::1"), prefix_len: 64 };
    node.interface().add_address(address).unwrap();
    let mut line = Link::new(node, Address::Short(1), SHORT, &[ip("fe80::ff:fe00:9")]);
    // A new membership is reported unsolicited, twice.
    line.run(Duration::from_secs(10));
    assert_eq!(std::mem::take(&mut line.segments).len(), 2);
    line.query();
    line.run(Duration::from_secs(1));
    let [report] = &std::mem::take(&mut line.segments)[..] else { panic!("one report") };
    // Router Alert, then the report, whose checksum is right.
    assert_eq!(report[..8], [58, 0, 5, 2, 0, 0, 1, 0]);
    let report = &report[8..];
    assert_eq!(checksum(local(1), ip("ff02::16"), 58, report), 0);
    let groups: Vec<_> = report[8..]
        .chunks(20)
        .map(|record| {
            assert_eq!(record[..4], [2, 0, 0, 0]);
            Ipv6Addr::from(<[u8; 16]>::try_from(&record[4..]).unwrap())
        })
        .collect();
    // The groups of all routers, and the solicited-node groups of the link addresses; one of these
    // is that of the address too.
    assert_eq!(groups, ["ff02::2", "ff02::1:ff00:1", "ff02::1:ff02:201"].map(ip));
    assert_eq!(report[7], 3);
    // A group that it joins later is also reported.
    line.node.interface().join_group(ip("ff05::7")).unwrap();
    line.run(Duration::from_secs(3));
    assert_eq!(std::mem::take(&mut line.segments).len(), 2);
}
