//! Datagrams and echo requests between nodes, through every layer.

use crate::common::*;
use kinglet::mac::{CcmStar, PeerCounter, Tabled};
use kinglet::net::{InterfaceAddress, Ipv6Reassembly, NextHop, Route, SendError, Sending};
use kinglet::radio::Capabilities;
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::{BorderRouter, Meshed, Mote, Router};

const MINUTE: Duration = Duration::from_secs(60);

/// Sends datagrams of `len` octets from node 1 to the last node, which echoes each. Returns the
/// number of echoes.
fn echoed<P: Plan>(world: &mut World<P>, to: core::net::Ipv6Addr, len: usize) -> u32 {
    let last = world.nodes.len() - 1;
    let client = world.nodes[0].datagrams().bind(0).unwrap();
    let server = world.nodes[last].datagrams().bind(7).unwrap();
    world.nodes[0].datagrams().accept_long(client);
    world.nodes[last].datagrams().accept_long(server);
    let (mut sent, mut came, mut due) = (0u32, 0u32, world.now);
    let payload = |n: u32| (0..len).map(|i| (i as u32 * 7 + n) as u8).collect::<Vec<_>>();
    world.run(MINUTE, |now, nodes| {
        let mut buf = [0; 1500];
        if sent < 20 && now >= due {
            nodes[0].datagrams().send(now, client, to, 7, &payload(sent)).unwrap();
            (sent, due) = (sent + 1, now + Duration::from_millis(500));
        }
        while let Ok(Some(got)) = nodes[last].datagrams().recv(server, &mut buf) {
            let (src, port) = (got.src, got.src_port);
            nodes[last].datagrams().send(now, server, src, port, &buf[..got.len]).unwrap();
        }
        while let Ok(Some(got)) = nodes[0].datagrams().recv(client, &mut buf) {
            assert_eq!((got.src, got.src_port, got.len), (to, 7, len));
            let n = (0..20).find(|&n| payload(n) == buf[..len]);
            assert!(n.is_some(), "a datagram came back changed");
            came += 1;
        }
        came == 20
    });
    came
}

fn datagrams_arrive_on<P: Plan>() {
    for (loss, least) in [(0, 20), (10, 18), (30, 14)] {
        let mut world = World::<P>::new(2, usual(), loss, 7);
        let came = echoed(&mut world, global(2), 40);
        assert!(came >= least, "{came} of 20 at {loss} % loss");
    }
    // In fourteen fragments, and by link-local addresses.
    assert_eq!(echoed(&mut World::<P>::new(2, usual(), 0, 8), local(2), 1200), 20);
}

#[test]
fn datagrams_go_in_both_directions_on_every_profile() {
    datagrams_arrive_on::<Mote>();
    datagrams_arrive_on::<Router>();
    datagrams_arrive_on::<BorderRouter>();
}

kinglet::profile! {
    /// Reassembles IPv6 fragments.
    struct Long {
        routing: Meshed<Self>,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        ipv6_fragments: Ipv6Reassembly<1>,
        storage: 1500,
        packets: 6,
        output: 4,
        routes: 4,
    }
}

#[test]
fn a_profile_with_room_sends_and_takes_1452_octets_in_fragments_of_ipv6() {
    assert_eq!(echoed(&mut World::<Long>::new(2, usual(), 0, 8), global(2), 1452), 20);
}

#[test]
fn datagrams_cross_a_middle_node() {
    let mut world = World::<Router>::new(3, usual(), 0, 1);
    assert_eq!(echoed(&mut world, global(3), 600), 20);
    let forwarded = world.nodes[1].net().stats().forwarded;
    assert_eq!(forwarded, 40);
    let came = echoed(&mut World::<Mote>::new(3, usual(), 10, 2), global(3), 40);
    assert!(came >= 17, "{came}");
}

#[test]
fn a_datagram_for_a_group_reaches_members_with_what_its_sender_chose() {
    let mut world = World::<Mote>::new(3, usual(), 0, 4);
    let group = "ff02::123".parse().unwrap();
    world.nodes[0].interface().join_group(group).unwrap();
    world.nodes[2].interface().join_group(group).unwrap();
    assert!(world.nodes[2].interface().leave_group(group));
    let sockets = [0, 1, 2].map(|n| world.nodes[n].datagrams().bind(7).unwrap());
    let sending = Sending { src: Some(global(2)), hop_limit: Some(255), traffic_class: 0 };
    let (now, mut sender) = (world.now, world.nodes[1].datagrams());
    sender.send_with(now, sockets[1], group, 7, sending, b"all").unwrap();
    let stranger = Sending { src: Some(global(9)), ..sending };
    let refused = sender.send_with(now, sockets[1], group, 7, stranger, b"all");
    assert_eq!(refused, Err(SendError::NoRoute));
    world.run(Duration::from_secs(1), |_, _| false);
    let mut buf = [0; 1280];
    let got = world.nodes[0].datagrams().recv(sockets[0], &mut buf).unwrap().unwrap();
    assert_eq!((got.src, got.dst, got.hop_limit, got.len), (global(2), group, 255, 3));
    assert_eq!(world.nodes[2].datagrams().recv(sockets[2], &mut buf), Ok(None));
}

#[test]
fn radios_that_do_nothing_by_themselves_serve_as_well() {
    let mut world = World::<Mote>::new(2, Capabilities::NONE, 5, 3);
    let came = echoed(&mut world, global(2), 300);
    assert!(came >= 18, "{came}");
    assert!(world.nodes[0].mac().stats().acks_sent > 20);
}

#[test]
fn pings_are_answered_over_one_hop_and_two() {
    for (to, hop_limit) in [(local(2), 64), (global(2), 64), (global(3), 63)] {
        let mut world = World::<Mote>::new(3, usual(), 0, 4);
        world.nodes[0].datagrams().ping(world.now, to, 5, 6, &[0; 200]).unwrap();
        let mut reply = None;
        assert!(world.run(MINUTE, |_, nodes| {
            reply = nodes[0].datagrams().poll_echo_reply();
            reply.is_some()
        }));
        let reply = reply.unwrap();
        assert_eq!((reply.src, reply.ident, reply.seq, reply.len), (to, 5, 6, 200));
        assert_eq!(reply.hop_limit, hop_limit);
    }
}

#[test]
fn frames_to_the_extended_address_arrive_also_where_a_short_one_is_in_use() {
    // The IID of 02-02-02-02-02-02-02-02 (RFC 4944, 6).
    let to = core::net::Ipv6Addr::new(0xFE80, 0, 0, 0, 2, 0x202, 0x202, 0x202);
    let mut world = World::<Mote>::new(2, usual(), 0, 5);
    assert!(world.nodes[1].is_own(to));
    world.nodes[0].datagrams().ping(world.now, to, 5, 6, &[]).unwrap();
    assert!(world.run(MINUTE, |_, nodes| nodes[0].datagrams().poll_echo_reply().is_some()));
}

#[test]
fn a_packet_that_no_frame_has_room_for_is_given_up_instead_of_tried_for_ever() {
    let mut config = config(1, 1);
    config.mac.reserved_security = 100;
    let mut node = Box::new(kinglet::Node::<Mote>::new(config, usual()));
    let now = kinglet::time::Instant::from_secs(1);
    // Some ten octets are left, and without a context the addresses alone take 32.
    let (address, via) = (global(1), NextHop::Link(Address::Short(2)));
    node.interface().add_address(InterfaceAddress { address, prefix_len: 64 }).unwrap();
    node.interface().add_route(Route { prefix: global(0), prefix_len: 64, via }).unwrap();
    node.datagrams().ping(now, global(2), 1, 1, &[0; 400]).unwrap();
    let handle = node.streams().connect(now, global(2), 80, Default::default()).unwrap();
    assert!(matches!(
        node.poll_radio(now).map(|submission| submission.command),
        Some(kinglet::radio::Command::Receive { .. })
    ));
    assert_eq!(node.stats().unsendable_packets, 2);
    assert!(node.tcp().state(handle).is_some() && node.deadline().is_some());
}
