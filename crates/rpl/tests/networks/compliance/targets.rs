//! Targets, and the nodes that learn of them (RFC 6550, 9).

use super::{DAO, DIO, FARTHER, Lone, ROOT, STEP, Sent, dao, dio, of_code, secs, transit};
use crate::common::{address, near};
use core::net::Ipv6Addr;
use kinglet_rpl::{CONFIGURATION, Counter, Discard, Mode, NextHop, Role, Root};
use kinglet_wire::rpl::{Configuration, ControlOption, Dao, Dio, Message, Target, Transit};

/// Returns the node's own address in this DODAG.
fn own() -> Ipv6Addr {
    address(0)
}

fn daos(lone: &mut Lone, seconds: u64) -> Vec<Sent> {
    of_code(lone.run(secs(seconds)), DAO)
}

//= rfc6550#9.1-2 rfc6550#9.1-3 rfc6550#9.1-4 rfc6550#9.8-1 rfc6550#9.8-4 type=test
#[test]
fn in_storing_mode_daos_go_to_the_parents_link_local_address_without_a_transit_address() {
    let mut lone = Lone::router(Mode::Storing);
    lone.announces(near(5), &[address(5)], transit(240, None)).unwrap();
    let sent = daos(&mut lone, 60);
    let targets: Vec<_> = sent.iter().flat_map(Sent::targets).collect();
    assert!(targets.len() >= 2 && sent.iter().all(|dao| dao.to == near(1)));
    assert!(targets.iter().all(|(_, transit)| transit.parent.is_none()));
    // A DAO from farther than a neighbour is discarded.
    let far = lone.announces(address(6), &[address(6)], transit(240, None));
    assert_eq!((far, lone.rpl.routes().count()), (Err(Discard::BadSource), 1));
}

//= rfc6550#9.1-5 rfc6550#9.1-6 rfc6550#9.7-1 rfc6550#9.7-2 type=test
#[test]
fn in_non_storing_mode_daos_go_to_the_root_with_the_parents_address() {
    let mut lone = Lone::router(Mode::NonStoring);
    let sent = daos(&mut lone, 60);
    assert!(!sent.is_empty() && sent.iter().all(|dao| dao.to == address(ROOT)));
    let targets: Vec<_> = sent.iter().flat_map(Sent::targets).collect();
    assert!(targets.iter().all(|(_, transit)| transit.parent == Some(address(1))));
}

//= rfc6550#9.2-1 rfc6550#9.2-2 type=test
#[test]
fn without_downward_routes_no_node_announces_targets() {
    let mut lone = Lone::router(Mode::UpwardOnly);
    let sent = lone.run(secs(600));
    let dios = sent.iter().filter(|message| message.code == DIO);
    assert!(dios.clone().count() > 3 && dios.into_iter().all(|it| it.dio().mode == 0));
    assert!(sent.iter().all(|message| message.code != DAO));
}

//= rfc6550#9.2-3 type=test
#[test]
fn a_root_makes_source_routes_of_announced_targets() {
    let mut lone = Lone::root(Mode::NonStoring);
    for (target, parent) in [(3, 2), (1, ROOT), (2, 1)] {
        let announced = transit(240, Some(address(parent)));
        lone.announces(address(target), &[address(target)], announced).unwrap();
    }
    let mut hops = [Ipv6Addr::UNSPECIFIED; 8];
    let len = lone.rpl.source_route(address(3), &mut hops).expect("a way");
    assert_eq!(hops[..len], [1, 2, 3].map(address));
    assert_eq!(lone.rpl.route(address(3)), NextHop::SourceRoute);
}

//= rfc6550#9.2-4 rfc6550#9.8-2 rfc6550#9.8-3 type=test
#[test]
fn in_storing_mode_a_router_keeps_its_childrens_targets_and_forwards_changes() {
    let mut lone = Lone::router(Mode::Storing);
    daos(&mut lone, 60);
    lone.announces(near(5), &[address(5), address(6)], transit(240, None)).unwrap();
    let next_hop = NextHop::Neighbour(near(5));
    assert_eq!([5, 6].map(|target| lone.rpl.route(address(target))), [next_hop; 2]);
    let passed: Vec<_> = daos(&mut lone, 60).iter().flat_map(Sent::targets).collect();
    let passed: Vec<_> = passed.iter().map(|(target, _)| target.prefix).collect();
    assert_eq!(passed, [5, 6].map(address));
    // A repetition is not passed on.
    lone.announces(near(5), &[address(5), address(6)], transit(240, None)).unwrap();
    assert_eq!(daos(&mut lone, 60).len(), 0);
}

//= rfc6550#9.2.1-2 rfc6550#9.4-3 type=test
#[test]
fn another_parent_gets_a_later_path_sequence_and_so_does_the_former() {
    let mut lone = Lone::router(Mode::Storing);
    let sequence = |sent: &[Sent], to| {
        let to = sent.iter().filter(|dao| dao.to == near(to)).flat_map(Sent::targets);
        to.map(|(_, transit)| (transit.path_sequence, transit.path_lifetime > 0)).next_back()
    };
    let (before, _) = sequence(&daos(&mut lone, 60), 1).expect("told");
    lone.says(1, dio(Mode::Storing, 9 * STEP)).unwrap();
    assert_eq!(lone.rpl.parent(), Some(near(2)));
    let sent = daos(&mut lone, 60);
    let (after, _) = sequence(&sent, 2).expect("told");
    assert!(Counter::new(after).is_after(Counter::new(before)));
    assert_eq!(sequence(&sent, 1), Some((after, false)), "No-Path");
}

//= rfc6550#9.3-1 type=test
#[test]
fn each_dao_has_the_next_sequence() {
    let mut lone = Lone::router(Mode::Storing);
    let mut sent = daos(&mut lone, 30);
    for child in 3..9 {
        lone.announces(near(child), &[address(child)], transit(240, None)).unwrap();
        sent.extend(daos(&mut lone, 30));
    }
    let sequences: Vec<_> = sent.iter().map(|dao| Counter::new(dao.dao().sequence)).collect();
    assert!(sequences.len() >= 7);
    assert!(sequences.windows(2).all(|pair| pair[1] == pair[0].next()), "{sequences:?}");
}

//= rfc6550#9.4-1 rfc6550#9.4-2 type=test
#[test]
fn every_dao_has_targets_and_the_first_is_the_own_address() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut lone = Lone::router(mode);
        let sent = daos(&mut lone, 4_000);
        assert!(sent.len() >= 3 && sent.iter().all(|dao| !dao.targets().is_empty()));
        let (target, transit) = sent[0].targets()[0];
        assert_eq!(target, Target { prefix: own(), prefix_len: 128 });
        assert!(transit.path_lifetime > 0 && !transit.external);
    }
}

//= rfc6550#9.4-6 rfc6550#7.2-2 type=test
#[test]
fn the_path_sequence_says_who_has_the_last_word_on_a_target() {
    for (first, second, later) in [(250, 249, false), (250, 251, true), (250, 2, true)] {
        let mut lone = Lone::router(Mode::Storing);
        lone.announces(near(5), &[address(7)], transit(first, None)).unwrap();
        lone.announces(near(6), &[address(7)], transit(second, None)).unwrap();
        let via = if later { near(6) } else { near(5) };
        assert_eq!(lone.rpl.route(address(7)), NextHop::Neighbour(via), "{first} and {second}");
    }
}

//= rfc6550#9.4-8 rfc6550#9.4-13 rfc6550#9.4-14 rfc6550#18.2.4-1 type=test
#[test]
fn a_leaf_is_announced_as_external_and_behind_its_router() {
    for mode in [Mode::NonStoring, Mode::Storing] {
        let mut lone = Lone::router(mode);
        daos(&mut lone, 60);
        lone.rpl.handle_leaf(lone.now, address(40), near(40), 240, secs(600)).unwrap();
        let announced: Vec<_> = daos(&mut lone, 60).iter().flat_map(Sent::targets).collect();
        let [(target, transit)] = announced[..] else { panic!("{announced:?}") };
        assert_eq!((target.prefix, transit.external), (address(40), true));
        assert_eq!(transit.parent, (mode == Mode::NonStoring).then(own));
    }
}

//= rfc6550#9.4-10 rfc6550#9.4-12 type=test
#[test]
fn the_address_in_the_prefix_that_a_router_advertises_is_announced_as_target() {
    let mut lone = Lone::router(Mode::NonStoring);
    let sent = lone.run(secs(60));
    let mut prefixes = sent.iter().filter(|it| it.code == DIO).filter_map(Sent::prefix);
    let prefix = prefixes.next().expect("a prefix");
    assert!(prefix.autonomous && prefix.router_address);
    let announced = sent.iter().filter(|it| it.code == DAO).flat_map(Sent::targets);
    assert!(announced.into_iter().any(|(target, _)| target.prefix == prefix.prefix));
}

//= rfc6550#9.6-1 rfc6550#9.6-2 type=test
#[test]
fn a_parent_that_asks_gets_the_targets_again_and_in_non_storing_mode_children_are_asked_too() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut lone = Lone::router(mode);
        daos(&mut lone, 60);
        let dtsn = |sent: &[Sent]| sent.iter().map(|it| it.dio().dtsn).next_back();
        let before = dtsn(&of_code(lone.run(secs(300)), DIO)).expect("a DIO");
        lone.says(2, Dio { dtsn: 245, ..dio(mode, FARTHER) }).unwrap();
        assert_eq!(daos(&mut lone, 60).len(), 0, "another neighbour is no parent");
        lone.says(1, Dio { dtsn: 241, ..dio(mode, 2 * STEP) }).unwrap();
        let sent = lone.run(secs(60));
        assert!(sent.iter().any(|it| it.code == DAO));
        let after = dtsn(&of_code(sent, DIO)).unwrap_or(before);
        let asks = Counter::new(after).is_after(Counter::new(before));
        assert_eq!(asks, mode == Mode::NonStoring);
    }
}

//= rfc6550#9.9-1 rfc6550#9.9-4 rfc6550#9.9-9 type=test
#[test]
fn path_control_has_an_active_bit_and_none_beyond_its_size() {
    for path_control_size in 0..8 {
        let configuration = Configuration { path_control_size, ..CONFIGURATION };
        let options =
            [ControlOption::Configuration(configuration), ControlOption::Prefix(super::prefix(1))];
        let mut lone = Lone::new(Role::Router, |_| {});
        let heard = Message::Dio(dio(Mode::NonStoring, STEP));
        lone.hear(near(1), true, heard, &options).unwrap();
        let announced: Vec<_> = daos(&mut lone, 60).iter().flat_map(Sent::targets).collect();
        let beyond = 0x7Fu8.checked_shr(path_control_size.into()).unwrap_or(0);
        assert!(!announced.is_empty());
        for (_, transit) in announced {
            assert!(transit.path_control != 0 && transit.path_control & beyond == 0);
        }
    }
}

//= rfc6550#9.9-2 type=test
#[test]
fn bits_beyond_the_size_of_path_control_make_no_parent_the_preferred() {
    let root = Root::new(address(ROOT), Mode::NonStoring);
    assert_eq!(root.configuration.path_control_size, 0);
    let mut lone = Lone::new(Role::Root(root), |_| {});
    for target in [1, 2] {
        let announced = transit(240, Some(address(ROOT)));
        lone.announces(address(target), &[address(target)], announced).unwrap();
    }
    let by = |parent, path_control| {
        let transit = Transit { path_control, ..transit(240, Some(address(parent))) };
        ControlOption::Transit(transit)
    };
    let target = ControlOption::Target(Target { prefix: address(3), prefix_len: 128 });
    let options = [target, by(1, 0x80), by(2, 0x7F)];
    lone.hear(address(3), false, Message::Dao(dao()), &options).unwrap();
    let mut hops = [Ipv6Addr::UNSPECIFIED; 8];
    let len = lone.rpl.source_route(address(3), &mut hops).expect("a way");
    assert_eq!(hops[..len], [1, 3].map(address));
}

//= rfc6550#9.10-3 type=test
#[test]
fn a_multicast_dao_makes_no_route_and_gets_no_acknowledgement() {
    for multicast in [true, false] {
        let mut lone = Lone::router(Mode::Storing);
        lone.run(secs(60));
        let target = ControlOption::Target(Target { prefix: address(5), prefix_len: 128 });
        let options = [target, ControlOption::Transit(transit(240, None))];
        let message = Message::Dao(Dao { acknowledge: true, ..dao() });
        let heard = lone.hear(near(5), multicast, message, &options);
        assert_eq!(heard.is_err(), multicast);
        let acknowledged = lone.sent().iter().any(|sent| sent.code == 3);
        assert_eq!((lone.rpl.routes().count() == 0, acknowledged), (multicast, !multicast));
    }
}
