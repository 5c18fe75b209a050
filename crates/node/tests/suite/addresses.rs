//! Addresses and hop limit of a connection's packets.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet::net::{InterfaceAddress, NextHop, Route, SendError};
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Node};

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

const ADDRESSES: [&str; 2] = ["2001:db8:1::1", "2001:db8:2::1"];

/// A node with two addresses at a host interface, and this hop limit.
fn two_addresses(hop_limit: u8) -> Box<Node<BorderRouter>> {
    let mut settings = config(99, 1);
    settings.net.hop_limit = hop_limit;
    let mut node = Box::new(Node::new(settings, usual()));
    for address in ADDRESSES {
        node.interface()
            .add_address(InterfaceAddress { address: ip(address), prefix_len: 64 })
            .unwrap();
    }
    let everywhere = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    node.interface().add_route(everywhere).unwrap();
    node
}

/// Returns hop limits and sources of the SYN and its first retransmission.
fn syns(node: &mut Node<BorderRouter>, mut now: Instant) -> Vec<(u8, [u8; 16])> {
    let mut found = Vec::new();
    let mut packet = [0; 1280];
    while found.len() < 2 && now < Instant::ZERO + Duration::from_secs(10) {
        if node.deadline().is_some_and(|at| at <= now) {
            node.handle_deadline(now);
        }
        while node.poll_host_packet(now, &mut packet).is_some() {
            found.push((packet[7], packet[8..24].try_into().unwrap()));
        }
        now += Duration::from_millis(100);
    }
    found
}

//= rfc9293#MUST-43 rfc9293#MUST-45
#[test]
fn a_local_address_that_is_asked_for_is_that_of_every_segment() {
    for local in ADDRESSES.map(ip) {
        let mut node = two_addresses(64);
        let (remote, default) = (ip("2001:db8:3::3"), Default::default());
        node.streams().connect_from(Instant::ZERO, local, remote, 80, default).unwrap();
        assert_eq!(syns(&mut node, Instant::ZERO), [(64, local.octets()); 2]);
    }
}

//= rfc9293#MUST-44 rfc9293#MUST-45
#[test]
fn without_one_the_network_layer_chooses_it() {
    for (remote, local) in [("2001:db8:1::9", ADDRESSES[0]), ("2001:db8:2::9", ADDRESSES[1])] {
        let mut node = two_addresses(64);
        node.streams().connect(Instant::ZERO, ip(remote), 80, Default::default()).unwrap();
        assert_eq!(syns(&mut node, Instant::ZERO), [(64, ip(local).octets()); 2]);
    }
}

//= rfc9293#MUST-49
#[test]
fn the_hop_limit_is_the_configured_one() {
    for hop_limit in [1, 7, 255] {
        let mut node = two_addresses(hop_limit);
        node.streams().connect(Instant::ZERO, ip("2001:db8:3::3"), 80, Default::default()).unwrap();
        assert_eq!(syns(&mut node, Instant::ZERO)[0].0, hop_limit);
    }
}

//= rfc9293#MUST-48 rfc9293#SHLD-21 rfc9293#SHLD-22
#[test]
fn the_differentiated_services_field_is_the_applications_and_can_change() {
    use kinglet::tcp::ConnectionConfig;
    let mut node = two_addresses(64);
    let mut settings = ConnectionConfig { diffserv: 46, ..ConnectionConfig::DEFAULT };
    let now = Instant::ZERO;
    let handle = node.streams().connect(now, ip("2001:db8:3::3"), 80, settings).unwrap();
    let mut packet = [0; 1280];
    let mut class = |node: &mut Node<BorderRouter>, at| {
        node.handle_deadline(at);
        node.poll_host_packet(at, &mut packet).expect("a SYN");
        packet[0] << 4 | packet[1] >> 4
    };
    assert_eq!(class(&mut node, now), 46 << 2);
    settings.diffserv = 8;
    node.streams().configure(now, handle, &settings).unwrap();
    assert_eq!(class(&mut node, now + Duration::from_secs(2)), 8 << 2);
}

#[test]
fn without_a_parent_there_is_no_route_to_it() {
    for awake in [true, false] {
        let mut settings = config(99, 1);
        settings.mac.rx_on_when_idle = awake;
        let mut leaf = Box::new(Node::<BorderRouter>::new(settings, usual()));
        let address = InterfaceAddress { address: ip(ADDRESSES[0]), prefix_len: 64 };
        leaf.interface().add_address(address).unwrap();
        let socket = leaf.datagrams().bind(7).unwrap();
        let send = |leaf: &mut Node<BorderRouter>| {
            leaf.datagrams().send(Instant::ZERO, socket, ip("2001:db8:3::3"), 7, b"")
        };
        assert_eq!(send(&mut leaf), Err(SendError::NoRoute));
        for parent in [1, 2] {
            leaf.set_parent(Instant::ZERO, Some(parent)).unwrap();
            assert_eq!(send(&mut leaf), Ok(()));
            assert_eq!(leaf.parent(), (!awake).then_some(parent));
        }
        leaf.set_parent(Instant::ZERO, None).unwrap();
        assert_eq!(send(&mut leaf), Err(SendError::NoRoute));
        // A default route from another source stays.
        let everywhere = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
        leaf.interface().add_route(everywhere).unwrap();
        leaf.set_parent(Instant::ZERO, None).unwrap();
        assert_eq!(send(&mut leaf), Ok(()));
    }
}
