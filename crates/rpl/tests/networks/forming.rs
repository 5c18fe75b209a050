//! Whole networks: they form, carry packets up and down, recover, and are repaired.

use crate::common::{Fate, Net, address, near};
use kinglet_rpl::{Mode, Probing, Role, Root};
use kinglet_time::Duration;
use rand_core::Rng;

const MINUTE: Duration = Duration::from_secs(60);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Sends at most `tries` packets from one node to an address, two seconds apart, until one arrives.
fn reaches(net: &mut Net, from: usize, to: core::net::Ipv6Addr, tries: usize) -> bool {
    (0..tries).any(|_| {
        let delivered = matches!(net.packet(from, to), Fate::Delivered(_));
        if !delivered {
            net.run(secs(2));
        }
        delivered
    })
}

#[test]
fn thirty_nodes_join_within_half_a_minute_and_all_reach_each_other() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        for seed in 0..5 {
            let mut net = Net::placed(31, mode, true, seed);
            let formed = net.until_joined(secs(30));
            assert!(formed.is_some(), "{mode:?} {seed}");
            println!("{mode:?} {seed}: formed after {formed:?}");
            net.run(secs(60));
            assert!(net.ranks_are_monotone());
            for node in 1..31 {
                let up = net.packet(node, address(0));
                assert!(matches!(up, Fate::Delivered(_)), "{mode:?} {seed} {node}: {up:?}");
                let down = net.packet(0, address(node));
                assert!(matches!(down, Fate::Delivered(_)), "{mode:?} {seed} {node}: {down:?}");
                let across = net.packet(node, address(1 + (node + 7) % 30));
                assert!(matches!(across, Fate::Delivered(_)), "{mode:?} {seed} {node}: {across:?}");
            }
            assert_eq!(net.longest_loop, Duration::ZERO);
        }
    }
}

#[test]
fn links_that_lose_delay_but_do_not_loop() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        for seed in 0..5 {
            let mut net = Net::placed(31, mode, false, seed);
            assert!(net.until_joined(secs(30)).is_some(), "{mode:?} {seed}");
            net.run_with_traffic(secs(300));
            assert!(net.all_joined(), "{mode:?} {seed}");
            println!(
                "{mode:?} {seed}: longest loop {:?}, {} messages",
                net.longest_loop, net.messages
            );
            assert!(net.longest_loop <= secs(5), "{mode:?} {seed}: {:?}", net.longest_loop);
            for node in 1..31 {
                assert!(reaches(&mut net, 0, address(node), 8), "{mode:?} {seed}: {node}");
                assert!(reaches(&mut net, node, address(0), 8), "{mode:?} {seed}: {node}");
            }
        }
    }
}

/// No DAO of more than one frame arrives over the link to the root. Repeated DAOs have one frame.
#[test]
fn many_targets_are_announced_over_a_link_that_loses_most_frames() {
    let mut roles = vec![Role::Router; 8];
    roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
    let mut net = Net::new(roles, Probing::Passive, 5);
    net.link(0, 1, 100);
    (2..8).for_each(|below| net.link(1, below, 100));
    net.daos_lost = Some((1, 0, 0));
    net.run(secs(3));
    net.daos_lost = Some((1, 0, 86));
    net.run(secs(30));
    for node in 1..8 {
        assert_eq!(net.packet(0, address(node)), Fate::Delivered(if node == 1 { 1 } else { 2 }));
    }
}

/// Returns a network in non-storing mode. Node 3 has parent 1, and could have parent 2.
fn with_two_routes() -> Net {
    let mut roles = vec![Role::Router; 4];
    roles[0] = Role::Root(Root::new(address(0), Mode::NonStoring));
    let mut net = Net::new(roles, Probing::Passive, 5);
    for (a, b) in [(0, 1), (0, 2), (1, 3)] {
        net.link(a, b, 100);
    }
    net.run(secs(30));
    net.link(2, 3, 100);
    net.run(secs(180));
    assert_eq!(net.nodes[3].parent(), Some(near(1)));
    net
}

/// A router that sends a packet only every minute detects within seconds that its parent is gone,
/// by the first unacknowledged frame.
#[test]
fn one_frame_in_vain_is_enough_to_find_out_that_the_parent_is_gone() {
    let mut net = with_two_routes();
    net.alive[1] = false;
    net.run(secs(30));
    assert_eq!(net.nodes[3].parent(), Some(near(1)), "nothing was sent");
    assert_eq!(net.packet(3, address(0)), Fate::Lost);
    net.run(secs(5));
    assert_eq!(net.nodes[3].parent(), Some(near(2)));
}

/// The root has a route to node 3 through 1, which has lost its link to the root and now has 3 as
/// its parent. The source route is a loop until the root learns that 3 has parent 2.
#[test]
fn a_root_learns_at_once_that_a_former_parent_is_below() {
    let mut net = with_two_routes();
    net.link(0, 1, 0);
    while net.nodes[1].parent() != Some(near(3)) {
        net.run_with_traffic(secs(1));
        assert!(net.now < kinglet_time::Instant::from_secs(240));
    }
    net.run(secs(2));
    assert_eq!(net.packet(0, address(1)), Fate::Delivered(3));
}

#[test]
fn the_network_heals_when_its_busiest_router_dies() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        for seed in 0..6 {
            let mut net = Net::placed(31, mode, false, 100 + seed);
            net.run_with_traffic(secs(120));
            let gone = net.busiest();
            net.alive[gone] = false;
            let mut healed = 0;
            while !net.all_joined() {
                net.run_with_traffic(secs(1));
                healed += 1;
                assert!(healed <= 20, "{mode:?} {seed}");
            }
            println!("{mode:?} {seed}: healed after {healed} s");
            // Downward routes follow.
            net.run_with_traffic(secs(20));
            let reachable = net.reachable();
            for node in (1..31).filter(|&n| reachable[n]) {
                assert!(reaches(&mut net, 0, address(node), 8), "{mode:?} {seed}: {node}");
            }
        }
    }
}

#[test]
fn a_new_version_is_joined_by_all() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = Net::placed(31, mode, true, 3);
        net.run(secs(60));
        let now = net.now;
        net.nodes[0].repair(now);
        net.run(secs(20));
        let version = net.nodes[0].info().version;
        assert_eq!(version, 241);
        assert!(net.nodes.iter().all(|node| node.info().version == version));
        assert!(net.all_joined() && net.ranks_are_monotone());
        for node in 1..31 {
            assert!(reaches(&mut net, 0, address(node), 1), "{mode:?}: {node}");
        }
    }
}

#[test]
fn a_root_that_restarts_finds_the_version_that_others_remember() {
    let mut net = Net::placed(12, Mode::Storing, true, 5);
    net.run(secs(30));
    for _ in 0..3 {
        let now = net.now;
        net.nodes[0].repair(now);
        net.run(secs(30));
    }
    let roles = vec![Role::Root(Root::new(address(0), Mode::Storing))];
    net.nodes[0] = Net::new(roles, Probing::Passive, 77).nodes.remove(0);
    net.run(secs(200));
    assert_eq!(net.nodes[0].info().version, 244);
    assert!(net.nodes.iter().all(|node| node.info().version == 244));
    assert!((1..12).all(|node| reaches(&mut net, 0, address(node), 1)));
}

#[test]
fn a_leaf_has_a_parent_and_no_children() {
    let mut roles = vec![Role::Router; 4];
    roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
    roles[2] = Role::Leaf;
    let mut net = Net::new(roles, Probing::Passive, 1);
    for (a, b) in [(0, 1), (1, 2), (2, 3)] {
        net.link(a, b, 100);
    }
    net.run(secs(60));
    assert!(net.is_joined(1) && net.is_joined(2) && !net.is_joined(3));
    assert!(matches!(net.packet(0, address(2)), Fate::Delivered(2)));
    assert!(matches!(net.packet(2, address(0)), Fate::Delivered(2)));
}

#[test]
fn a_leaf_that_knows_no_rpl_is_reached_through_its_router() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = Net::placed(6, mode, true, 2);
        net.run(secs(30));
        let (leaf, router) = (address(40), 5);
        let now = net.now;
        net.nodes[router].handle_leaf(now, leaf, near(40), 240, MINUTE * 10).unwrap();
        net.run(secs(10));
        let mut out = [core::net::Ipv6Addr::UNSPECIFIED; 8];
        match mode {
            Mode::NonStoring => {
                let len = net.nodes[0].source_route(leaf, &mut out).expect("a route");
                assert_eq!(out[len - 2..len], [address(router), leaf]);
            }
            _ => assert_ne!(net.nodes[0].route(leaf), kinglet_rpl::NextHop::Unreachable),
        }
        assert_eq!(net.nodes[router].route(leaf), kinglet_rpl::NextHop::Neighbour(near(40)));
        let now = net.now;
        net.nodes[router].handle_leaf(now, leaf, near(40), 241, Duration::ZERO).unwrap();
        net.run(secs(30));
        assert_eq!(net.nodes[0].route(leaf), kinglet_rpl::NextHop::Unreachable);
    }
}

#[test]
fn routers_that_fail_and_come_back_leave_no_loop_behind() {
    for seed in 0..4 {
        let mode = if seed % 2 == 0 { Mode::Storing } else { Mode::NonStoring };
        let mut net = Net::placed(30, mode, false, 900 + seed);
        net.run(secs(30));
        for _ in 0..20 {
            let node = 1 + net.random.next_u32() as usize % 29;
            net.alive[node] = !net.alive[node];
            net.run_with_traffic(secs(15));
        }
        net.alive.fill(true);
        net.run_with_traffic(secs(180));
        assert!(net.all_joined(), "{seed}");
        println!("{seed}: longest loop {:?}", net.longest_loop);
        assert!(net.longest_loop <= secs(10), "{seed}: {:?}", net.longest_loop);
        for node in 1..30 {
            assert!(reaches(&mut net, 0, address(node), 8), "{seed}: {node}");
        }
    }
}

/// RFC 9008: if a receiver may not know the option, one of type 0x63 needs an outer header.
#[test]
fn the_configuration_says_which_option_packets_carry() {
    for (skips_unknown, kind) in [(true, 0x23), (false, 0x63)] {
        let mut root = Root::new(address(0), Mode::Storing);
        root.configuration.skips_unknown = skips_unknown;
        let roles = vec![Role::Root(root), Role::Router];
        let mut net = Net::new(roles, Probing::Passive, 1);
        net.link(0, 1, 100);
        net.run(secs(20));
        let now = net.now;
        net.nodes[1].handle_leaf(now, address(40), near(40), 240, MINUTE * 10).unwrap();
        let outside = core::net::Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 1);
        let router = &net.nodes[1];
        assert_eq!(router.option_type(), kind);
        assert!(!router.encapsulates(address(0)));
        assert_eq!([outside, address(40)].map(|to| router.encapsulates(to)), [!skips_unknown; 2]);
        let information = router.originate(outside);
        let own = kinglet_rpl::dag_rank(router.rank(), 128);
        assert_eq!((information.down, information.sender_rank), (false, own));
    }
}

/// A router whose upward link is bad for a moment does not select a node below it, although it does
/// not know their lower ranks yet, and so does not forget its routes to them.
#[test]
fn a_router_with_a_bad_upward_route_does_not_take_a_child_for_its_parent() {
    for seed in 0..10 {
        let mut roles = vec![Role::Router; 4];
        roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
        let mut net = Net::new(roles, Probing::Passive, seed);
        net.link(1, 2, 100);
        net.link(2, 3, 100);
        for round in 0..60 {
            net.link(0, 1, if round % 4 == 3 { 40 } else { 100 });
            for _ in 0..10 {
                net.run_with_traffic(secs(1));
                assert_ne!(net.nodes[1].parent(), Some(near(2)), "{seed}, round {round}");
            }
        }
    }
}

/// Returns the number of DAOs that the router next to the root of a chain sends in ten hours.
fn daos_at_the_top(below: usize) -> u32 {
    let mut roles = vec![Role::Router; below + 2];
    roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
    let mut net = Net::new(roles, Probing::Passive, 1);
    (0..=below).for_each(|node| net.link(node, node + 1, 100));
    net.run(MINUTE * 30);
    let before = net.nodes[1].stats().daos;
    net.run(MINUTE * 600);
    let last = below + 1;
    assert!(matches!(net.packet(0, address(last)), Fate::Delivered(_)), "{below} below");
    net.nodes[1].stats().daos - before
}

#[test]
fn the_targets_of_others_are_refreshed_in_few_daos() {
    let (alone, many) = (daos_at_the_top(0), daos_at_the_top(8));
    // Its own every 15 to 22.5 minutes, and those of eight others in two DAOs every 127 to 190.
    assert!((26..=40).contains(&alone), "{alone}");
    assert!((26 + 6..=40 + 16).contains(&many), "{many}, alone {alone}");
}

#[test]
fn those_behind_a_router_that_falls_silent_are_forgotten_with_it() {
    let mut roles = vec![Role::Router; 4];
    roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
    let mut net = Net::new(roles, Probing::Passive, 1);
    (0..3).for_each(|node| net.link(node, node + 1, 100));
    net.run(MINUTE * 2);
    let routes = |net: &Net| net.nodes[0].info().routes;
    assert_eq!(routes(&net), 3);
    net.alive[2] = false;
    net.alive[3] = false;
    net.run(MINUTE * 31);
    assert_eq!(routes(&net), 1, "the root has been told");
}

/// In non-storing mode a route through a former parent still works, as long as the link between the
/// two is good: the root is notified of the new one without hurry.
#[test]
fn the_root_learns_another_route_in_time_and_uses_the_old_one_until_then() {
    let mut net = with_two_routes();
    let announced = net.nodes[3].stats().daos;
    net.link(0, 1, 40);
    let moved = (0..120).any(|_| {
        net.run_with_traffic(secs(1));
        net.nodes[3].parent() == Some(near(2))
    });
    assert!(moved);
    net.run(secs(4));
    assert_eq!(net.nodes[3].stats().daos, announced, "there is time");
    assert!(reaches(&mut net, 0, address(3), 8));
    net.run(secs(10));
    assert!(net.nodes[3].stats().daos > announced);
    net.alive[1] = false;
    assert!(matches!(net.packet(0, address(3)), Fate::Delivered(_)), "through the other");
}
