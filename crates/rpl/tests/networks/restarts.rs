//! Nodes that restart in a network that remembers them.

use crate::common::{Fate, Net, Plan, address, near};
use kinglet_rpl::{
    CONFIGURATION, Counter, INFINITE_RANK, Info, Mode, Probing, Role, Root, Rpl, RplConfig,
    Sequence, dag_rank,
};
use kinglet_time::Duration;
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dao, Dio, Dis, Message, PrefixInformation, Target, Transit,
};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns a line of a root and three routers.
fn line(mode: Mode, seed: u64) -> Net {
    let mut roles = vec![Role::Router; 4];
    roles[0] = Role::Root(Root::new(address(0), mode));
    let mut net = Net::new(roles, Probing::Passive, seed);
    (0..3).for_each(|node| net.link(node, node + 1, 100));
    net.run(secs(120));
    assert!((1..4).all(|node| reaches(&mut net, node)));
    net
}

fn reaches(net: &mut Net, node: usize) -> bool {
    matches!(net.packet(0, address(node)), Fate::Delivered(_))
}

/// Restarts a node without its state.
fn restart(net: &mut Net, node: usize, seed: u64) {
    let config = *net.nodes[node].config();
    net.nodes[node] = Rpl::new(RplConfig { seed, ..config });
}

#[test]
fn a_root_that_restarts_reaches_all_within_seconds_without_traffic() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        for seed in 1..20 {
            let mut net = line(mode, seed);
            let version = net.nodes[0].info().version;
            restart(&mut net, 0, seed + 1_000);
            net.run(secs(10));
            let reached = (1..4).filter(|node| reaches(&mut net, *node)).count();
            assert_eq!(reached, 3, "{mode:?}, seed {seed}");
            assert!(net.nodes.iter().all(|node| node.info().version == version + 1));
        }
    }
}

/// The DIS and its answers are lost, so the root learns no version from others.
#[test]
fn a_root_that_has_kept_its_sequence_begins_above_it_without_an_answer() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = line(mode, 3);
        for _ in 0..12 {
            let now = net.now;
            net.nodes[0].repair(now);
            // A node moves to four versions a minute.
            net.run(secs(20));
        }
        let Info { version, dtsn, .. } = net.nodes[0].info();
        assert_eq!(net.nodes[3].info().version, version);
        let config = *net.nodes[0].config();
        let Role::Root(root) = config.role else { panic!("it is the root") };
        let kept = Sequence { version, dtsn }.next();
        assert_eq!((kept.version, kept.dtsn), (253, Counter::new(dtsn).next().value()));
        let role = Role::Root(Root { sequence: Some(kept), ..root });
        net.nodes[0] = Rpl::new(RplConfig { role, seed: 1_003, ..config });
        net.multicasts_lost = Some((0, 1));
        net.drain();
        let Info { version, dtsn, .. } = net.nodes[0].info();
        assert_eq!(Sequence { version, dtsn }, kept, "it draws no other DTSN");
        net.run(secs(2));
        assert_eq!(net.nodes[0].info().version, kept.version, "no answer has changed it");
        net.multicasts_lost = None;
        net.run(secs(10));
        assert!(net.nodes.iter().all(|node| node.info().version == kept.version), "{mode:?}");
    }
}

/// The DIS is lost, so the root announces the version that the others know.
#[test]
fn a_root_whose_start_was_missed_asks_by_another_dtsn() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = line(mode, 3);
        restart(&mut net, 0, 1_003);
        net.multicasts_lost = Some((0, 1));
        net.run(secs(2));
        net.multicasts_lost = None;
        net.run(secs(20));
        assert_eq!(net.nodes[1].info().version, 240);
        assert!((1..4).all(|node| reaches(&mut net, node)), "{mode:?}");
    }
}

#[test]
fn a_router_that_restarts_learns_its_children_again_without_traffic() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        for (seed, off) in (1..10).flat_map(|seed| [(seed, 0), (seed, 30)]) {
            let mut net = line(mode, seed);
            net.alive[1] = false;
            net.run(secs(off));
            restart(&mut net, 1, seed + 1_000);
            net.alive[1] = true;
            net.run(secs(15));
            assert!((1..4).all(|node| reaches(&mut net, node)), "{mode:?}, seed {seed}");
        }
    }
}

/// One of 128 lives begins with the DTSN of the life before, which no child takes for a request.
#[test]
fn a_router_that_begins_with_the_same_dtsn_learns_its_children_all_the_same() {
    let mut same = 0;
    for seed in 1_000..2_000 {
        let mut net = line(Mode::Storing, 5);
        let before = net.nodes[1].epoch();
        net.alive[1] = false;
        // The root forgets all routes through it.
        while net.nodes[0].info().routes > 0 {
            net.packet(0, address(3));
            net.run(secs(1));
        }
        restart(&mut net, 1, seed);
        net.alive[1] = true;
        while net.nodes[1].epoch().is_none() {
            net.run(Duration::from_millis(20));
        }
        if net.nodes[1].epoch() == before {
            same += 1;
            net.run(secs(15));
            assert!((1..4).all(|node| reaches(&mut net, node)), "seed {seed}");
        }
    }
    assert!(same > 2, "{same}");
}

/// The same of a root whose DIS is lost, so that it announces the version that the others know.
#[test]
fn a_root_that_begins_with_the_same_dtsn_learns_all_nodes_all_the_same() {
    let mut same = 0;
    for seed in 1_000..1_600 {
        let mode = if seed % 2 == 0 { Mode::Storing } else { Mode::NonStoring };
        let mut net = line(mode, 5);
        let before = net.nodes[0].epoch();
        restart(&mut net, 0, seed);
        net.multicasts_lost = Some((0, 1));
        while net.nodes[0].epoch().is_none() {
            net.run(Duration::from_millis(20));
        }
        let collides = net.nodes[0].epoch() == before;
        net.multicasts_lost = None;
        if collides {
            same += 1;
            net.run(secs(20));
            assert!((1..4).all(|node| reaches(&mut net, node)), "{mode:?}, seed {seed}");
        }
    }
    assert!(same > 2, "{same}");
}

/// In non-storing mode the root keeps all routes: a router that returns asks for nothing more.
#[test]
fn a_router_without_routes_asks_once_more_in_storing_mode_alone() {
    for (mode, epochs) in [(Mode::Storing, 2), (Mode::NonStoring, 1)] {
        let roles = vec![Role::Root(Root::new(address(0), mode)), Role::Router];
        let mut net = Net::new(roles, Probing::Passive, 3);
        net.link(0, 1, 100);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..600 {
            net.run(Duration::from_millis(200));
            seen.extend(net.nodes[1].epoch());
        }
        assert_eq!(seen.len(), epochs, "{mode:?}");
    }
}

#[test]
fn a_root_with_another_mode_objective_or_instance_is_followed() {
    let of0 = Configuration {
        objective: 0,
        min_hop_rank_increase: 256,
        max_rank_increase: 7 * 256,
        ..CONFIGURATION
    };
    let storing = Root::new(address(0), Mode::Storing);
    for (root, instance) in [
        (Root::new(address(0), Mode::NonStoring), None),
        (Root { configuration: of0, ..storing }, None),
        (storing, Some(7)),
    ] {
        for lost in [None, Some((0, 1))] {
            let mut net = line(Mode::Storing, 4);
            let config = *net.nodes[0].config();
            net.nodes[0] =
                Rpl::new(RplConfig { role: Role::Root(root), instance, seed: 9, ..config });
            net.multicasts_lost = lost;
            net.run(secs(2));
            net.multicasts_lost = None;
            net.run(secs(25));
            assert!((1..4).all(|node| reaches(&mut net, node)), "{root:?}");
            let step = root.configuration.min_hop_rank_increase;
            let ranks = [1, 2, 3].map(|node| dag_rank(net.nodes[node].rank(), step));
            assert!(ranks.is_sorted() && ranks[2] < 20, "{ranks:?}");
            let used = net.nodes[3].originate(address(0)).instance;
            assert_eq!(used, instance.unwrap_or(0));
        }
    }
}

/// One router that receives neighbours 1 and 2; see `neighbours.rs`.
fn router(mode: Mode, change: impl FnOnce(&mut RplConfig)) -> Net {
    let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
    let mut config = RplConfig { acknowledged: false, ..*net.nodes[0].config() };
    change(&mut config);
    net.nodes[0] = Rpl::new(config);
    say(&mut net, 1, dio(mode, 256)).unwrap();
    net.nodes[0].handle_sent(net.now, near(1), 1, true);
    assert_eq!(net.nodes[0].parent(), Some(near(1)));
    pass(&mut net, 60);
    net
}

/// Advances the time, and acknowledges the router's messages to neighbours.
fn pass(net: &mut Net, seconds: u64) {
    let (end, mut buf) = (net.now + secs(seconds), [0; kinglet_rpl::MAX_LEN]);
    while net.now < end {
        net.now = net.nodes[0].deadline().unwrap_or(end).clamp(net.now, end);
        net.nodes[0].handle_deadline(net.now);
        while let Some(out) = net.nodes[0].poll_message(net.now, &mut buf) {
            if out.to.is_unicast_link_local() {
                net.nodes[0].handle_sent(net.now, out.to, 1, true);
            }
        }
    }
}

fn dio(mode: Mode, rank: u16) -> Dio {
    Dio { rank, dodag_id: address(9), ..Net::dio(mode) }
}

fn prefix(address: std::net::Ipv6Addr, router_address: bool) -> ControlOption<'static> {
    ControlOption::Prefix(PrefixInformation {
        prefix_len: 64,
        on_link: false,
        autonomous: true,
        router_address,
        valid_secs: u32::MAX,
        preferred_secs: u32::MAX,
        prefix: address,
    })
}

fn say(net: &mut Net, from: usize, dio: Dio) -> Result<(), kinglet_rpl::Discard> {
    let options = [ControlOption::Configuration(CONFIGURATION), prefix(address(from), true)];
    net.say(from, 0, Message::Dio(dio), &options)
}

fn solicit(net: &mut Net, from: usize) {
    let mut octets = [0; 2];
    Message::Dis(Dis).emit(&mut octets).unwrap();
    let now = net.now;
    let _ = net.nodes[0].handle_message(now, near(from), -60, true, 0, &octets);
}

#[test]
fn a_parent_that_solicits_dios_of_all_gets_the_targets_again_after_its_next_dio() {
    // In non-storing mode a router that is not the root keeps no routes to be refreshed.
    for (mode, rank, announces) in
        [(Mode::Storing, 256, true), (Mode::NonStoring, 128, true), (Mode::NonStoring, 256, false)]
    {
        let mut net = router(mode, |_| {});
        say(&mut net, 1, dio(mode, rank)).unwrap();
        pass(&mut net, 20);
        let before = net.nodes[0].stats().daos;
        solicit(&mut net, 2);
        say(&mut net, 1, dio(mode, rank)).unwrap();
        pass(&mut net, 5);
        assert_eq!(net.nodes[0].stats().daos, before, "another has restarted, {mode:?} {rank}");
        solicit(&mut net, 1);
        pass(&mut net, 5);
        assert_eq!(net.nodes[0].stats().daos, before, "the parent may have no DODAG yet");
        say(&mut net, 1, dio(mode, rank)).unwrap();
        pass(&mut net, 5);
        assert_eq!(net.nodes[0].stats().daos > before, announces, "{mode:?}, rank {rank}");
    }
}

/// The root requests DAOs while the router has no parent: the request would not reach nodes below.
#[test]
fn a_router_that_has_a_parent_again_asks_those_below() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = router(mode, |_| {});
        let before = net.nodes[0].epoch().unwrap();
        say(&mut net, 1, dio(mode, INFINITE_RANK)).unwrap();
        pass(&mut net, 1);
        assert_eq!(net.nodes[0].parent(), None);
        say(&mut net, 1, dio(mode, 256)).unwrap();
        assert_eq!(net.nodes[0].parent(), Some(near(1)));
        assert_ne!(net.nodes[0].epoch().unwrap(), before, "{mode:?}");
    }
}

#[test]
fn a_dead_parent_that_restarts_is_used_at_once() {
    let mut net = router(Mode::Storing, |_| {});
    (0..4).for_each(|_| net.nodes[0].handle_sent(net.now, near(1), 4, false));
    assert_eq!(net.nodes[0].parent(), None);
    say(&mut net, 1, dio(Mode::Storing, 256)).unwrap();
    assert_eq!(net.nodes[0].parent(), None, "what it says is no reason to come back");
    solicit(&mut net, 1);
    say(&mut net, 1, dio(Mode::Storing, 256)).unwrap();
    assert_eq!(net.nodes[0].parent(), Some(near(1)));
}

#[test]
fn only_the_configured_instance_is_joined() {
    for (instance, joins) in [(None, true), (Some(5), true), (Some(6), false)] {
        let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
        let config = RplConfig { instance, ..*net.nodes[0].config() };
        net.nodes[0] = Rpl::new(config);
        let heard = say(&mut net, 1, Dio { instance: 5, ..dio(Mode::Storing, 256) });
        assert_eq!(heard.is_ok(), joins, "{instance:?}");
        assert_eq!(net.nodes[0].parent().is_some(), joins);
    }
}

#[test]
fn a_bad_target_in_a_dao_does_not_take_the_others_with_it() {
    let mut net = router(Mode::Storing, |_| {});
    let own = net.nodes[0].address().unwrap();
    let target = |prefix| ControlOption::Target(Target { prefix, prefix_len: 128 });
    let transit = ControlOption::Transit(Transit {
        external: false,
        path_control: 0x80,
        path_sequence: 240,
        path_lifetime: 30,
        parent: None,
    });
    let dao = Message::Dao(Dao { instance: 0, acknowledge: true, sequence: 3, dodag_id: None });
    let statuses = |net: &mut Net| {
        let mut buf = [0; kinglet_rpl::MAX_LEN];
        let mut statuses = Vec::new();
        while let Some(out) = net.nodes[0].poll_message(net.now, &mut buf) {
            if let Ok((Message::DaoAck(ack), _)) = Message::parse(out.code, &buf[..out.len]) {
                statuses.push((out.to, ack.status));
            }
        }
        statuses
    };
    let options = [target(own), transit, target(address(5)), target(address(6)), transit];
    assert!(net.say(5, 0, dao, &options).is_err(), "it is counted");
    let routes: Vec<_> = net.nodes[0].routes().map(|route| route.target().prefix).collect();
    assert_eq!(routes, [address(5), address(6)]);
    assert_eq!(statuses(&mut net), [(near(5), 0)]);
    // Without a valid target, the DAO is rejected.
    assert!(net.say(7, 0, dao, &[target(own), transit]).is_err());
    assert_eq!(statuses(&mut net), [(near(7), 128)]);
}

/// Contiki-NG passes on the root's prefix with the R flag, and no interface identifier.
#[test]
fn a_prefix_without_identifier_is_no_address_of_a_parent() {
    let none = std::net::Ipv6Addr::from_bits(address(0).to_bits() >> 64 << 64);
    for prefix_sent in [prefix(none, true), prefix(none, false), prefix(address(1), true)] {
        let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
        let options = [ControlOption::Configuration(CONFIGURATION), prefix_sent];
        net.say(1, 0, Message::Dio(dio(Mode::NonStoring, 256)), &options).unwrap();
        net.nodes[0].handle_sent(net.now, near(1), 1, true);
        let mut buf = [0; kinglet_rpl::MAX_LEN];
        let mut parent = None;
        while parent.is_none() {
            net.now = net.nodes[0].deadline().unwrap();
            net.nodes[0].handle_deadline(net.now);
            while let Some(out) = net.nodes[0].poll_message(net.now, &mut buf) {
                let Ok((Message::Dao(_), options)) = Message::parse(out.code, &buf[..out.len])
                else {
                    continue;
                };
                parent = options.into_iter().find_map(|option| match option {
                    ControlOption::Transit(transit) => transit.parent,
                    _ => None,
                });
            }
        }
        assert_eq!(parent, Some(address(1)));
    }
}

/// A root with another prefix begins with the same version, and one of 128 routers that follow it
/// draws the same DTSN again.
#[test]
fn an_epoch_names_the_dodag_whatever_its_version_and_dtsn_are() {
    let mode = Mode::NonStoring;
    for seed in 0..600 {
        let mut net = router(mode, |config| config.seed = seed);
        let before = net.nodes[0].epoch().unwrap();
        say(&mut net, 1, dio(mode, INFINITE_RANK)).unwrap();
        say(&mut net, 1, Dio { dodag_id: address(8), ..dio(mode, 256) }).unwrap();
        assert_eq!(net.nodes[0].info().dodag_id, Some(address(8)));
        assert_ne!(net.nodes[0].epoch().unwrap(), before, "seed {seed}");
    }
}

/// A sleeping child receives no multicast, so that its parent has to know whether there is news.
#[test]
fn an_epoch_changes_with_each_request_for_daos_and_each_life() {
    let mut net = line(Mode::Storing, 5);
    let mut epochs = vec![net.nodes[1].epoch().unwrap()];
    let now = net.now;
    net.nodes[0].repair(now);
    net.run(secs(10));
    epochs.push(net.nodes[1].epoch().unwrap());
    restart(&mut net, 1, 77);
    assert_eq!(net.nodes[1].epoch(), None, "it announces no DODAG");
    net.run(secs(10));
    epochs.push(net.nodes[1].epoch().unwrap());
    assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2] && epochs[0] != epochs[2]);
    assert_ne!(net.nodes[1].rank(), INFINITE_RANK);
    assert!(net.nodes[1].inform_neighbour(near(9)));
    let mut buf = [0; kinglet_rpl::MAX_LEN];
    let out = net.nodes[1].poll_message(net.now, &mut buf).unwrap();
    assert_eq!((out.to, out.code), (near(9), 1));
}

/// New nodes wait for the first DIO.
#[test]
fn the_first_dio_of_a_root_leaves_as_soon_as_it_has_listened() {
    let mut root =
        Rpl::<Plan>::new(RplConfig::new(Role::Root(Root::new(address(0), Mode::Storing)), 1, 7));
    let mut buf = [0; kinglet_rpl::MAX_LEN];
    let mut next = || {
        let at = root.deadline().expect("a root begins");
        root.handle_deadline(at);
        let code = root.poll_message(at, &mut buf).map(|out| out.code);
        (at, code)
    };
    let (asked, solicitation) = next();
    let (announced, information) = next();
    assert_eq!((solicitation, information), (Some(0), Some(1)), "a DIS and a DIO");
    let shortest = Duration::from_millis(1 << CONFIGURATION.interval_min);
    assert_eq!(announced - asked, shortest / 4 * 5);
}

/// A leaf announces nothing, so that it has no reason to wake.
#[test]
fn a_leaf_that_has_a_parent_again_has_no_trickle_timer() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = router(mode, |config| config.role = Role::Leaf);
        say(&mut net, 1, dio(mode, INFINITE_RANK)).unwrap();
        pass(&mut net, 1);
        say(&mut net, 1, dio(mode, 256)).unwrap();
        assert_eq!(net.nodes[0].parent(), Some(near(1)));
        assert_eq!(net.nodes[0].info().interval, None, "{mode:?}");
    }
}
