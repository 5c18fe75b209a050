//! The rules of the protocol, one by one.

use core::net::Ipv6Addr;
use kinglet_flood::{Flood, LIFETIME, PERIOD};
use kinglet_routing::{Change, Identity, Learnt, MAX_MESSAGE, NextHop, Routing};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0x4860, 0, 0, 0, 0, 0, 1);
const STRONG: i8 = -60;

fn at(seconds: u64) -> Instant {
    Instant::from_secs(100 + seconds)
}

fn node(is_border: bool) -> Flood<3> {
    let node = Identity { link: Address::Short(1), short: 1, sleeps: false, seed: 5 };
    Flood::new(node, PREFIX, is_border)
}

fn of(short: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, short)
}

fn beacon(originator: u8, sequence: u8, tail: u8) -> [u8; 6] {
    [0x46, 0, originator, 0, sequence, tail]
}

/// Returns the next hop to a node.
fn via(flood: &Flood<3>, dst: Ipv6Addr) -> Option<u16> {
    match flood.route(dst)?.via? {
        NextHop::Link(Address::Short(short)) => Some(short),
        other => panic!("{other:?}"),
    }
}

/// Serves all deadlines up to `until`. Returns the messages with their times.
fn run(flood: &mut Flood<3>, until: Instant) -> Vec<(Instant, Vec<u8>)> {
    let mut sent = Vec::new();
    while let Some(now) = flood.deadline().filter(|at| *at <= until) {
        flood.handle_deadline(now);
        assert!(flood.deadline() > Some(now), "what is due is handled");
        let mut buf = [0; MAX_MESSAGE];
        while let Some(out) = flood.poll_message(now, &mut buf) {
            assert_eq!(out.to, Address::BROADCAST);
            sent.push((now, buf[..out.len].to_vec()));
            assert!(sent.len() < 1_000, "draining ends");
        }
    }
    sent
}

#[test]
fn the_first_copy_of_a_beacon_makes_the_route_and_a_later_one_does_not() {
    let mut flood = node(false);
    flood.handle_message(at(0), 5, STRONG, &beacon(9, 20, 3));
    assert_eq!((via(&flood, of(9)), via(&flood, of(5))), (Some(5), None));
    assert_eq!(flood.poll_change(), Some(Change::Route));
    // Late copies of this one and of the sixteen before it.
    for sequence in [20, 19, 4] {
        flood.handle_message(at(1), 6, STRONG, &beacon(9, sequence, 0));
        assert_eq!(via(&flood, of(9)), Some(5), "{sequence}");
    }
    flood.handle_message(at(2), 6, STRONG, &beacon(9, 21, 0));
    assert_eq!(via(&flood, of(9)), Some(6));
    assert_eq!(flood.poll_change(), None, "packets have a route in any case");
    // It has restarted.
    flood.handle_message(at(3), 7, STRONG, &beacon(9, 3, 0));
    assert_eq!(via(&flood, of(9)), Some(7));
}

#[test]
fn a_copy_is_sent_once_with_one_hop_more_and_not_without_end() {
    let mut flood = node(false);
    flood.handle_message(at(0), 5, STRONG, &beacon(9, 20, 3));
    flood.handle_message(at(0), 6, STRONG, &beacon(9, 20, 3));
    assert_eq!(flood.poll_message(at(0), &mut [0; MAX_MESSAGE]), None, "before its delay");
    let sent = run(&mut flood, at(1));
    let copies: Vec<_> = sent.iter().filter(|(_, octets)| octets[2] == 9).collect();
    let [(time, octets)] = copies[..] else { panic!("{sent:?}") };
    assert!(*time <= at(0) + Duration::from_millis(50));
    assert_eq!(octets[..], beacon(9, 20, 4));
    // After 32 hops it has gone far enough; the border router's mark is no hop.
    flood.handle_message(at(2), 5, STRONG, &beacon(9, 21, 32));
    flood.handle_message(at(2), 5, STRONG, &beacon(8, 21, 0x80 | 31));
    let sent = run(&mut flood, at(3));
    let copies: Vec<_> = sent.iter().filter(|(_, octets)| octets[2] != 1).collect();
    let [(_, octets)] = copies[..] else { panic!("{sent:?}") };
    assert_eq!(octets[..], beacon(8, 21, 0x80 | 32));
    assert_eq!(via(&flood, of(9)), Some(5), "but there is a route");
}

#[test]
fn own_beacons_come_once_in_a_period_and_make_no_route() {
    for (is_border, tail) in [(false, 0), (true, 0x80)] {
        let mut flood = node(is_border);
        flood.handle_deadline(at(0));
        let sent = run(&mut flood, at(0) + PERIOD * 3);
        let octets: Vec<_> = sent.iter().map(|(_, octets)| octets.clone()).collect();
        assert_eq!(octets[..3], [1, 2, 3].map(|sequence| beacon(1, sequence, tail).to_vec()));
        flood.handle_message(at(1), 5, STRONG, &octets[0]);
        assert_eq!(via(&flood, of(1)), None);
    }
}

#[test]
fn packets_for_other_networks_go_to_the_border_router() {
    let mut flood = node(false);
    assert_eq!(flood.route(OUTSIDE), Some(Learnt { prefix_len: 0, via: None }));
    flood.handle_message(at(0), 5, STRONG, &beacon(9, 20, 3));
    assert_eq!(via(&flood, OUTSIDE), None);
    flood.handle_message(at(0), 6, STRONG, &beacon(8, 20, 0x80 | 1));
    assert_eq!(via(&flood, OUTSIDE), Some(6));
    let off: Flood<3> = Routing::NONE;
    assert_eq!((node(true).route(OUTSIDE), off.route(OUTSIDE)), (None, None));
    assert_eq!((off.is_on(), off.deadline()), (false, None));
}

#[test]
fn a_route_ends_with_its_lifetime_or_with_a_frame_that_was_given_up() {
    let mut flood = node(false);
    flood.handle_message(at(0), 5, STRONG, &beacon(9, 20, 0));
    flood.handle_message(at(1), 6, STRONG, &beacon(8, 20, 0));
    assert_eq!(flood.poll_change(), Some(Change::Route));
    flood.handle_sent(at(2), Address::Short(6), 3, true);
    assert_eq!(via(&flood, of(8)), Some(6));
    flood.handle_sent(at(2), Address::Short(6), 16, false);
    assert_eq!((via(&flood, of(8)), via(&flood, of(9))), (None, Some(5)));
    assert_eq!(flood.poll_change(), Some(Change::Route));
    run(&mut flood, at(0) + LIFETIME - Duration::from_micros(1));
    assert_eq!(via(&flood, of(9)), Some(5));
    run(&mut flood, at(0) + LIFETIME);
    assert_eq!((via(&flood, of(9)), flood.poll_change()), (None, Some(Change::Route)));
}

#[test]
fn what_is_no_beacon_or_comes_over_a_weak_link_or_has_no_room_is_counted() {
    let mut flood = node(false);
    flood.handle_message(at(0), 5, STRONG, &beacon(9, 20, 0)[..5]);
    flood.handle_message(at(0), 5, STRONG, &[0x45, 0, 9, 0, 20, 0]);
    flood.handle_message(at(0), 5, -88, &beacon(9, 20, 0));
    assert_eq!(via(&flood, of(9)), None);
    flood.handle_message(at(0), 5, -87, &beacon(9, 20, 0));
    assert_eq!(via(&flood, of(9)), Some(5));
    for originator in [8, 7, 6] {
        flood.handle_message(at(0), 5, STRONG, &beacon(originator, 20, 0));
    }
    assert_eq!((via(&flood, of(7)), via(&flood, of(6))), (Some(5), None));
    let mut counted = Vec::new();
    flood.reasons(&mut |layer, reason, count| counted.push((layer, reason, count)));
    let expected = [("malformed", 2), ("weak", 1), ("no_room", 1)];
    assert_eq!(counted, expected.map(|(reason, count)| ("flood", reason, count)));
}
