//! Autoconfiguration of a node by a router that knows RFC 4861 and nothing of this stack.

use crate::common::*;
use crate::stranger::{Link, group, link_option};
use kinglet::nd;
use kinglet::tcp::{ConnectionConfig, State};
use kinglet::time::Duration;
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::Context;
use kinglet::{Discovered, Discovery, Node, mac};
use std::net::Ipv6Addr;

kinglet::profile! {
    struct Host {
        discovery: Discovered<Self>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]>,
        discovered: 4,
        default_routers: 2,
        autoconfigured: 2,
        name_servers: 2,
        packets: 8,
        addresses: 2,
        contexts: 4,
    }
}

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const ROUTER: &str = "fe80::ff:fe00:9";
const OUTSIDE: &str = "2001:db8:ffff::1";

fn host() -> Box<Node<Host>> {
    let config = config(1, 1);
    let nd = nd::NdConfig::new(
        config.mac.source(),
        config.mac.extended,
        config.mac.pan_id.0,
        config.seed,
    );
    let discovery = Discovered::with(nd::NdConfig { autoconfigures: true, ..nd });
    Box::new(Node::with_layers(config, (), discovery, usual()))
}

/// A host and a router that also is `OUTSIDE`, to keep the path short.
fn line() -> Link<Host> {
    let addresses = [ip(ROUTER), ip(OUTSIDE)];
    Link::new(host(), Address::Short(1), Address::Short(9), &addresses)
}

/// Prefix Information with the A flag.
fn prefix(prefix: &str, valid_s: u32, preferred_s: u32) -> Vec<u8> {
    let lives = [valid_s.to_be_bytes(), preferred_s.to_be_bytes()].concat();
    [&[3, 4, 64, 0x40], &lives[..], &[0; 4], &ip(prefix).octets()].concat()
}

/// A context of 64 bits.
fn context(id: u8, compress: bool, valid_min: u16, prefix: &str) -> Vec<u8> {
    let flags = id | if compress { 0x10 } else { 0 };
    let valid = valid_min.to_be_bytes();
    [&[34, 2, 64, flags, 0, 0], &valid[..], &ip(prefix).octets()[..8]].concat()
}

#[test]
fn routers_are_solicited_less_and_less_often_until_one_answers() {
    let mut line = line();
    line.addresses.push(ip("ff02::2"));
    line.run(Duration::from_secs(2));
    let [(hop_limit, src, dst, upper)] = &line.heard_of(133)[..] else { panic!("at once") };
    assert_eq!((*hop_limit, *src, *dst), (255, local(1), ip("ff02::2")));
    // RFC 8505, 6.1: the E flag.
    let able = [36, 1, 0, 2, 0, 0, 0, 0];
    assert_eq!(upper[8..], [&link_option(1, Address::Short(1))[..], &able].concat());
    // RFC 6775, 5.3: at 10 s and 20 s, then 20 s, 40 s and 60 s apart.
    let mut counts = Vec::new();
    for secs in [20, 20, 40, 60, 60] {
        line.run(Duration::from_secs(secs));
        counts.push(line.heard_of(133).len());
    }
    assert_eq!(counts, [2, 1, 1, 1, 1]);
    line.advertise_router(local(1), 1_800, &[]);
    line.run(Duration::from_secs(1_340));
    assert_eq!(line.heard_of(133), []);
    // Before that is over, solicitations go first to the router alone and then to all.
    line.run(Duration::from_secs(25));
    let asked: Vec<_> = line.heard_of(133).into_iter().map(|(_, _, dst, _)| dst).collect();
    assert_eq!(asked, [ip(ROUTER), ip("ff02::2")]);
}

#[test]
fn an_address_is_made_and_everything_goes_to_the_router() {
    let mut line = line();
    line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 1_800, 900)]);
    let own = ip("2001:db8:1::ff:fe00:1");
    assert!(line.node.is_own(own));
    line.ping(ip(OUTSIDE), own);
    assert_eq!(line.heard_of(129).len(), 1);
    let now = line.now;
    line.node.datagrams().ping(now, ip(OUTSIDE), 1, 1, &[7]).unwrap();
    line.run(Duration::from_millis(200));
    assert!(line.node.datagrams().poll_echo_reply().is_some());
    // It is resolved and defended like any other address.
    line.solicit(own);
    assert_eq!(line.heard_of(136).len(), 1);
    // A router with lifetime 0 is no longer a route.
    line.advertise_router(ALL, 0, &[]);
    let now = line.now;
    assert!(line.node.datagrams().ping(now, ip(OUTSIDE), 1, 1, &[7]).is_err());
}

/// RFC 6724, 5, rule 3.
#[test]
fn a_deprecated_address_is_a_source_only_if_there_is_no_other() {
    let mut line = line();
    let (first, second) = (ip("2001:db8:1::ff:fe00:1"), ip("2001:db8:2::ff:fe00:1"));
    let mut source = |one, other| {
        line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 1_800, one)]);
        line.advertise_router(ALL, 1_800, &[prefix("2001:db8:2::", 1_800, other)]);
        line.node.net().source_for(ip(OUTSIDE))
    };
    for _ in 0..2 {
        assert_eq!(source(900, 0), Some(first));
        assert_eq!(source(0, 900), Some(second));
    }
    assert!(source(0, 0).is_some());
}

#[test]
fn an_invalid_router_advertisement_changes_nothing() {
    let mut line = line();
    let option = || prefix("2001:db8:1::", 1_800, 900);
    line.addresses[0] = ip("2001:db8::9");
    line.advertise_router(ALL, 1_800, &[option()]);
    line.addresses[0] = ip(ROUTER);
    let bad = [
        [&option()[..2], &[63], &option()[3..]].concat(),
        [&option()[..3], &[0x80], &option()[4..]].concat(),
        prefix("fe80::", 1_800, 900),
        prefix("2001:db8:1::", 900, 1_800),
        prefix("2001:db8:1::", 0, 0),
    ];
    for option in bad {
        line.advertise_router(ALL, 0, &[option]);
    }
    assert!(!line.node.is_own(ip("2001:db8:1::ff:fe00:1")));
    assert_eq!(line.node.net().discovery().nd().router(), None);
}

#[test]
fn a_network_is_renumbered_and_connections_of_the_old_address_end() {
    let mut line = line();
    let (old, new) = (ip("2001:db8:1::ff:fe00:1"), ip("2001:db8:2::ff:fe00:1"));
    line.advertise_router(ALL, 9_000, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    let (now, config) = (line.now, ConnectionConfig::default());
    let handle = line.node.streams().connect(now, ip(OUTSIDE), 80, config).unwrap();
    line.run(Duration::from_secs(1));
    // Both addresses exist; the old one is for the open connection.
    line.advertise_router(ALL, 9_000, &[prefix("2001:db8:1::", 60, 0)]);
    line.advertise_router(ALL, 9_000, &[prefix("2001:db8:2::", 90_000, 90_000)]);
    assert!(line.node.is_own(old) && line.node.is_own(new));
    assert_eq!(line.node.net().source_for(ip(OUTSIDE)), Some(new));
    assert_ne!(line.node.tcp().state(handle), Some(State::Closed));
    // No message can remove an address in less than two hours (RFC 4862, 5.5.3).
    line.run(Duration::from_secs(7_100));
    assert!(line.node.is_own(old));
    line.run(Duration::from_secs(200));
    assert!(!line.node.is_own(old) && line.node.is_own(new));
    assert_eq!(line.node.tcp().state(handle), Some(State::Closed));
    // Its place is free for another.
    line.advertise_router(ALL, 9_000, &[prefix("2001:db8:3::", 90_000, 90_000)]);
    assert!(line.node.is_own(ip("2001:db8:3::ff:fe00:1")));
}

#[test]
fn contexts_are_understood_first_and_used_when_that_is_said() {
    let mut line = line();
    let known = Context { prefix: ip("2001:db8:1::"), len: 64 };
    line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 1_800, 900)]);
    let own = ip("2001:db8:1::ff:fe00:1");
    let frame = |line: &mut Link<Host>| {
        line.ping(ip(OUTSIDE), own);
        assert_eq!(line.heard_of(129).len(), 1, "the stranger can read it");
    };
    line.advertise_router(ALL, 1_800, &[context(1, false, 10, "2001:db8:1::")]);
    assert_eq!(line.node.net().contexts()[1], Some(known));
    // The stranger could not decompress this if the context were used.
    frame(&mut line);
    line.advertise_router(ALL, 1_800, &[context(1, true, 10, "2001:db8:1::")]);
    line.contexts = vec![None, Some(known)];
    frame(&mut line);
    // When its lifetime is over it is understood for an hour, and then forgotten.
    line.run(Duration::from_secs(601));
    line.contexts.clear();
    frame(&mut line);
    assert_eq!(line.node.net().contexts()[1], Some(known));
    line.run(Duration::from_secs(3_600));
    assert_eq!(line.node.net().contexts()[1], None);
    line.advertise_router(ALL, 1_800, &[context(2, true, 10, "2001:db8:1::")]);
    line.advertise_router(ALL, 1_800, &[context(2, true, 0, "2001:db8:1::")]);
    assert_eq!(line.node.net().contexts()[2], None);
}

#[test]
fn a_router_is_asked_for_a_context_that_is_not_known_and_not_too_often() {
    let mut line = line();
    line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 1_800, 900)]);
    line.run(Duration::from_secs(60));
    line.heard_of(133);
    // From and to link addresses, by contexts 2 and 3: in one frame, and in the first fragment.
    let unread = [0x7A, 0xF7, 0x23, 58, 128, 0, 0, 0];
    let fragment = [&[0xC0, 80, 0, 1][..], &unread, &[0; 36]].concat();
    for payload in [&unread[..], &fragment].repeat(10) {
        line.frame(Address::Short(1), payload.to_vec());
    }
    assert_eq!(line.node.net().discovery().nd().stats().unknown_contexts, 20);
    let asked: Vec<_> = line.heard_of(133).into_iter().map(|(_, _, dst, _)| dst).collect();
    assert_eq!(asked, [ip(ROUTER)]);
}

/// Returns the registrations of RFC 8505 that were received: target, transaction identifier.
fn registrations(line: &mut Link<Host>) -> Vec<(Ipv6Addr, u8)> {
    let heard = line.heard_of(135).into_iter().filter(|(.., upper)| upper.len() > 32);
    let read = heard.map(|(_, src, dst, upper)| {
        assert_eq!((src, dst, upper.len(), upper[32]), (local(1), ip(ROUTER), 48, 33));
        // R and T; an hour; the EUI-64.
        assert_eq!((upper[36], &upper[38..40]), (3, &60_u16.to_be_bytes()[..]));
        assert_eq!(upper[40..], [2, 2, 2, 2, 2, 2, 2, 1]);
        let target: [u8; 16] = upper[8..24].try_into().unwrap();
        (Ipv6Addr::from(target), upper[37])
    });
    read.collect()
}

#[test]
fn an_address_is_registered_and_the_registration_kept() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    (line.registers, line.extended) = (Some(0), true);
    let life = u32::MAX;
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", life, life)]);
    // RFC 8505, 5.6: first the address from which the other is registered.
    assert_eq!(registrations(&mut line), [(local(1), 240), (own, 240)]);
    // After eleven twelfths of the hour, and no sooner.
    line.run(Duration::from_secs(3_290));
    assert_eq!(registrations(&mut line), []);
    line.run(Duration::from_secs(20));
    assert_eq!(registrations(&mut line), [(local(1), 241), (own, 241)]);
    assert_eq!(line.node.net().discovery().nd().stats().conflicts, 0);
}

#[test]
fn a_node_that_is_awake_anyway_does_not_wait_for_the_end() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    (line.registers, line.extended) = (Some(0), true);
    let life = u32::MAX;
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", life, life)]);
    registrations(&mut line);
    let ping = |line: &mut Link<Host>| {
        let now = line.now;
        line.node.datagrams().ping(now, ip(OUTSIDE), 1, 1, &[7]).unwrap();
        line.run(Duration::from_millis(200));
        registrations(line).len()
    };
    // Two thirds of the hour.
    line.run(Duration::from_secs(2_390));
    assert_eq!(ping(&mut line), 0);
    line.run(Duration::from_secs(20));
    assert_eq!(ping(&mut line), 2);
    line.run(Duration::from_secs(2_300));
    assert_eq!(registrations(&mut line), []);
    assert!(line.node.is_own(own));
}

#[test]
fn a_router_of_rfc_6775_gets_the_source() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    line.registers = Some(0);
    let life = u32::MAX;
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", life, life)]);
    let heard: Vec<_> = line.heard_of(135).into_iter().filter(|it| it.3.len() > 32).collect();
    let [(hop_limit, src, dst, upper)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((*hop_limit, *src, *dst), (255, own, ip(ROUTER)));
    assert_eq!((&upper[8..24], upper[32]), (&ip(ROUTER).octets()[..], 33));
    // No flags, no transaction.
    assert_eq!((upper[36], upper[37]), (0, 0));
    line.run(Duration::from_secs(3_200));
    assert_eq!(line.heard_of(135), []);
}

#[test]
fn a_forged_answer_takes_no_nodes_address() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    (line.registers, line.extended) = (Some(0), true);
    let life = u32::MAX;
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", life, life)]);
    registrations(&mut line);
    let forged = |line: &mut Link<Host>, (from, link): (&str, Address), (status, tid), rovr: u8| {
        let option = [&[33, 2, status, 0, 3, tid, 0, 60][..], &[2, 2, 2, 2, 2, 2, 2, rovr]];
        let head = [136, 0, 0, 0, 0xC0, 0, 0, 0];
        let upper = [&head[..], &own.octets(), &option.concat()].concat();
        let link = std::mem::replace(&mut line.link, link);
        line.send(ip(from), local(1), 255, upper);
        line.link = link;
    };
    let router = (ROUTER, Address::Short(9));
    // Unsolicited; from another router; from another link address; for another node; with another
    // transaction identifier.
    forged(&mut line, router, (1, 240), 1);
    line.registers = None;
    line.run(Duration::from_secs(3_310));
    assert!(!registrations(&mut line).is_empty());
    let local_of = |line: &mut Link<Host>| line.node.is_own(own);
    line.registers = Some(0);
    forged(&mut line, ("fe80::ff:fe00:8", Address::Short(8)), (1, 241), 1);
    forged(&mut line, (ROUTER, Address::Short(8)), (1, 241), 1);
    forged(&mut line, router, (1, 241), 9);
    forged(&mut line, router, (1, 239), 1);
    assert!(local_of(&mut line));
}

#[test]
fn a_node_that_was_restarted_is_registered_before_long() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    // The router has received later transactions of it.
    (line.registers, line.extended) = (Some(3), true);
    let life = u32::MAX;
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", life, life)]);
    assert_eq!(registrations(&mut line), [(local(1), 240), (own, 240)]);
    line.registers = Some(0);
    line.run(Duration::from_secs(11));
    assert_eq!(registrations(&mut line), [(local(1), 1), (own, 1)]);
}

#[test]
fn a_router_that_is_gone_is_given_up_and_another_looked_for() {
    let mut line = line();
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    line.addresses.push(ip("ff02::2"));
    line.there = false;
    for _ in 0..3 {
        let now = line.now;
        let _ = line.node.datagrams().ping(now, ip(OUTSIDE), 1, 1, &[7]);
        line.run(Duration::from_secs(2));
    }
    assert_eq!(line.node.net().discovery().nd().router(), None);
    line.there = true;
    line.run(Duration::from_secs(25));
    assert!(!line.heard_of(133).is_empty());
    // The next router may be the same.
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    assert_eq!(line.node.net().discovery().nd().router(), Some(ip(ROUTER)));
}

#[test]
fn hop_limit_and_times_of_a_router_are_taken_within_bounds() {
    let mut line = line();
    line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    let mut says = |hop_limit: u8, retrans_ms: u32| {
        let head = [134, 0, 0, 0, hop_limit, 0, 0xFF, 0xFF, 0, 0, 0, 0];
        let upper = [&head[..], &retrans_ms.to_be_bytes(), &link_option(1, Address::Short(9))];
        line.send(ip(ROUTER), ALL, 255, upper.concat());
        let now = line.now;
        line.node.datagrams().ping(now, ip(OUTSIDE), 1, 1, &[7]).unwrap();
        line.run(Duration::from_millis(200));
        line.heard_of(128).last().map(|it| it.0)
    };
    assert_eq!(says(200, 0), Some(200));
    // A low hop limit is ignored, so that packets still arrive.
    assert_eq!(says(1, 5), Some(200));
    assert_eq!(says(0, u32::MAX), Some(200));
}

#[test]
fn a_router_that_registers_no_host_is_asked_three_times() {
    let mut line = line();
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    line.run(Duration::from_secs(3_000));
    assert_eq!(line.heard_of(135).into_iter().filter(|it| it.3.len() > 32).count(), 3);
    assert!(line.node.is_own(ip("2001:db8:1::ff:fe00:1")));
}

#[test]
fn an_address_that_is_another_nodes_is_given_up_and_a_full_router_asked_later() {
    let (mut line, own) = (line(), ip("2001:db8:1::ff:fe00:1"));
    (line.registers, line.extended) = (Some(2), true);
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    line.run(Duration::from_secs(50));
    assert_eq!((registrations(&mut line).len(), line.node.is_own(own)), (2, true));
    line.registers = Some(1);
    line.run(Duration::from_secs(20));
    assert_eq!((registrations(&mut line).len(), line.node.is_own(own)), (2, false));
    // The next advertisement does not restore it.
    line.advertise_router(ALL, 0xFFFF, &[prefix("2001:db8:1::", 9_000, 9_000)]);
    assert!(!line.node.is_own(own));
}

#[test]
fn name_servers_are_known_for_as_long_as_they_are_said() {
    let mut line = line();
    let servers = |lifetime_s: u32| {
        let life = lifetime_s.to_be_bytes();
        [&[25, 3, 0, 0], &life[..], &ip("2001:db8::53").octets()].concat()
    };
    line.advertise_router(ALL, 1_800, &[servers(600)]);
    let known = |line: &Link<Host>| line.node.net().discovery().name_server();
    assert_eq!(known(&line), Some(ip("2001:db8::53")));
    line.run(Duration::from_secs(601));
    assert_eq!(known(&line), None);
    line.advertise_router(ALL, 1_800, &[servers(u32::MAX)]);
    line.run(Duration::from_secs(90_000));
    assert!(known(&line).is_some());
    line.advertise_router(ALL, 1_800, &[servers(0)]);
    assert_eq!(known(&line), None);
}

#[test]
fn too_many_routers_evict_none() {
    let mut line = line();
    line.advertise_router(ALL, 1_800, &[prefix("2001:db8:1::", 1_800, 900)]);
    for n in 0..40_u16 {
        line.addresses[0] = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, 100 + n);
        let other = format!("2001:db8:{:x}::", 100 + n);
        line.advertise_router(ALL, 1_800, &[prefix(&other, 1_800, 900)]);
    }
    let nd = line.node.net().discovery().nd();
    assert_eq!(nd.router(), Some(ip(ROUTER)));
    assert!(line.node.is_own(ip("2001:db8:1::ff:fe00:1")));
    assert!(nd.stats().refused > 0);
    assert_ne!(group(ip(ROUTER)), ALL);
}
