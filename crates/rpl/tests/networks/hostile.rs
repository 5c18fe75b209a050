//! Forged messages of a node in range without link security: their cost is bounded, and ends with
//! them.

use crate::common::{Fate, Net, ROUTES, address, near};
use core::net::Ipv6Addr;
use kinglet_rpl::{CONFIGURATION, Discard, Mode, NextHop, Role, Rpl, RplConfig};
use kinglet_time::Duration;
use kinglet_wire::rpl::{ControlOption, Dao, Dio, Message, Target, Transit};

const NODES: usize = 20;
/// The identifier of the forger.
const FORGER: usize = 99;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns a network after some time, in which every node reaches every other.
fn formed(seed: u64) -> Net {
    let mut net = Net::placed(NODES, Mode::Storing, true, seed);
    net.run_with_traffic(secs(60));
    assert!(net.all_joined());
    net
}

fn forge(net: &mut Net, to: usize, message: Message, options: &[ControlOption<'_>]) {
    let _ = net.say(FORGER, to, message, options);
}

fn dio(rank: u16, version: u8) -> Message {
    Message::Dio(Dio { rank, version, ..Net::dio(Mode::Storing) })
}

fn delivered(net: &mut Net) -> usize {
    (1..NODES)
        .filter(|&node| {
            let up = matches!(net.packet(node, address(0)), Fate::Delivered(_));
            up && matches!(net.packet(0, address(node)), Fate::Delivered(_))
        })
        .count()
}

/// Frames to the forger are never acknowledged: it is not the neighbour that it claims to be.
#[test]
fn a_forged_rank_draws_a_few_frames_and_no_more() {
    let mut net = formed(1);
    let (mut sent, mut lost) = (0, 0);
    for _ in 0..120 {
        for node in 1..NODES {
            forge(&mut net, node, dio(128, 240), &[]);
        }
        for node in 1..NODES {
            sent += 1;
            if !matches!(net.packet(node, address(0)), Fate::Delivered(_)) {
                lost += 1;
            }
        }
        net.run(secs(1));
    }
    assert!(lost * 5 <= sent, "{lost} of {sent}");
    net.run(secs(30));
    assert_eq!(delivered(&mut net), NODES - 1);
}

#[test]
fn ranks_that_no_neighbour_can_have_are_refused() {
    let mut net = formed(2);
    for rank in [0, 1, 127] {
        forge(&mut net, 3, dio(rank, 240), &[]);
    }
    assert_eq!(net.nodes[3].stats().discarded(Discard::BadRank), 3);
    assert!(net.nodes[3].candidates().all(|candidate| candidate.address != near(FORGER)));
}

#[test]
fn a_flood_of_daos_fills_the_table_and_evicts_no_route() {
    let mut net = formed(3);
    let router = net.busiest();
    let known: Vec<_> = (1..NODES).map(|node| net.nodes[router].route(address(node))).collect();
    for n in 0..1_000u16 {
        let prefix = Ipv6Addr::new(0xFD00, 0, 0, 1, 0, 0, 0, n);
        let target = ControlOption::Target(Target { prefix, prefix_len: 128 });
        let transit = ControlOption::Transit(Transit {
            external: false,
            path_control: 0x80,
            path_sequence: 240,
            path_lifetime: 255,
            parent: None,
        });
        let dao = Dao { instance: 0, acknowledge: true, sequence: 1, dodag_id: None };
        forge(&mut net, router, Message::Dao(dao), &[target, transit]);
    }
    assert_eq!(net.nodes[router].info().routes, ROUTES);
    assert!(net.nodes[router].stats().discarded(Discard::RoutesFull) > 900);
    let still: Vec<_> = (1..NODES).map(|node| net.nodes[router].route(address(node))).collect();
    assert_eq!(known, still);
    net.run(secs(60));
    assert_eq!(delivered(&mut net), NODES - 1);
}

#[test]
fn targets_that_are_the_roots_or_a_routers_own_are_refused() {
    let mut net = formed(4);
    for (prefix, prefix_len) in [
        (address(0), 128),
        (address(5), 128),
        (Ipv6Addr::UNSPECIFIED, 0),
        (address(7), 64),
        (Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1), 128),
    ] {
        let before = net.nodes[5].stats().discarded(Discard::BadTarget);
        let target = ControlOption::Target(Target { prefix, prefix_len });
        let transit = Transit {
            external: false,
            path_control: 0x80,
            path_sequence: 240,
            path_lifetime: 1,
            parent: None,
        };
        let dao = Dao { instance: 0, acknowledge: false, sequence: 1, dodag_id: None };
        forge(&mut net, 5, Message::Dao(dao), &[target, ControlOption::Transit(transit)]);
        let after = net.nodes[5].stats().discarded(Discard::BadTarget);
        assert_eq!(after, before + 1, "{prefix}/{prefix_len}");
    }
}

#[test]
fn version_games_are_limited_and_over_when_they_end() {
    let mut net = formed(5);
    let mut version = 240u8;
    for _ in 0..60 {
        for node in 1..NODES {
            let configuration = ControlOption::Configuration(CONFIGURATION);
            forge(&mut net, node, dio(128, version), &[configuration]);
        }
        version = if version == 255 { 0 } else { (version + 1) & 0x7F | version & 0x80 };
        net.run(secs(1));
    }
    let most = net.nodes.iter().map(|node| node.stats().repairs).max().unwrap();
    assert!(most <= 2 * 4, "{most} versions joined in a minute");
    net.run(secs(120));
    assert!(net.all_joined());
    net.run(secs(10));
    assert_eq!(delivered(&mut net), NODES - 1);
}

#[test]
fn solicitations_cost_no_more_than_they_may() {
    let mut net = formed(6);
    let before = net.nodes[4].stats().dios;
    for _ in 0..60 {
        for _ in 0..20 {
            let mut octets = [0; 2];
            Message::Dis(kinglet_wire::rpl::Dis).emit(&mut octets).unwrap();
            let now = net.now;
            let _ = net.nodes[4].handle_message(now, near(FORGER), -60, true, 0, &octets);
        }
        net.run(secs(1));
    }
    let stats = net.nodes[4].stats();
    assert!(stats.dios - before <= 60, "{} DIOs", stats.dios - before);
    assert!(stats.resets_refused > 0);
}

#[test]
fn a_packet_that_is_in_a_loop_is_dropped_the_second_time() {
    let mut net = formed(7);
    let node = net.busiest();
    let now = net.now;
    let mut information = net.nodes[0].originate(address(0));
    // Up, from a node nearer to the root.
    (information.down, information.sender_rank) = (false, 1);
    let first = net.nodes[node].relay(now, near(9), address(0), Some(information)).unwrap();
    assert!(first.information.rank_error);
    let again = kinglet_wire::rpl::PacketInformation { sender_rank: 1, ..first.information };
    let refused = net.nodes[node].relay(now, near(9), address(0), Some(again));
    assert_eq!(refused, Err(kinglet_rpl::Refusal::Loop));
    assert_eq!((net.nodes[node].stats().rank_errors, net.nodes[node].stats().loops), (1, 1));
}

/// A node that sends a packet in the wrong direction gets the rank that it has missed, by unicast.
#[test]
fn a_sender_in_the_wrong_direction_gets_this_nodes_rank() {
    let mut net = formed(7);
    let node = net.busiest();
    let mut information = net.nodes[0].originate(address(0));
    (information.down, information.sender_rank) = (false, 1);
    net.nodes[node].relay(net.now, near(9), address(0), Some(information)).unwrap();
    let mut buf = [0; kinglet_rpl::MAX_LEN];
    let announced = net.nodes[node].poll_message(net.now, &mut buf).expect("a DIO");
    assert_eq!((announced.to, announced.code), (near(9), 1));
}

/// Storing mode, 11.2.2.3: outdated routes through a restarted router are detected by a packet, and
/// corrected.
#[test]
fn a_router_that_restarts_is_known_again() {
    let mut roles = vec![Role::Router; 4];
    roles[0] = Role::Root(kinglet_rpl::Root::new(address(0), Mode::Storing));
    let mut net = Net::new(roles, kinglet_rpl::Probing::Passive, 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3)] {
        net.link(a, b, 100);
    }
    net.run(secs(60));
    assert_eq!(net.packet(0, address(3)), Fate::Delivered(3));
    net.nodes[2] = Rpl::new(RplConfig::new(Role::Router, 3, 1_000));
    net.run(secs(5));
    let mut fates = Vec::new();
    while fates.last() != Some(&Fate::Delivered(3)) {
        assert!(fates.len() < 60, "{fates:?}");
        fates.push(net.packet(0, address(3)));
        net.run(secs(1));
    }
    assert!(!fates.contains(&Fate::HopLimit), "{fates:?}");
    assert_ne!(net.nodes[0].route(address(3)), NextHop::Unreachable);
}
