//! Versions, parents and ranks (RFC 6550, 8.1 and 8.2).

use super::{DIO, Lone, ROOT, STEP, Sent, dio, of_code, secs};
use crate::common::{address, near};
use kinglet_rpl::{CONFIGURATION, Counter, Discard, INFINITE_RANK, Mode, NextHop, Role, Root};
use kinglet_wire::rpl::{Configuration, ControlOption, Dio, Message};

//= rfc6550#8-1 type=test
#[test]
fn a_node_that_joins_uses_its_parent_as_default_route() {
    let outside = "2001:db8::1".parse().unwrap();
    let mut lone = Lone::new(Role::Router, |_| {});
    assert_eq!(lone.rpl.route(outside), NextHop::Unreachable);
    lone.says(1, dio(Mode::NonStoring, STEP)).unwrap();
    assert_eq!(lone.rpl.route(outside), NextHop::Neighbour(near(1)));
}

//= rfc6550#8.1-1 type=test
#[test]
fn a_router_says_of_the_dodag_what_its_preferred_parent_says() {
    for mode in [Mode::UpwardOnly, Mode::NonStoring, Mode::Storing] {
        for (grounded, preference, version) in [(true, 3, 240), (false, 7, 5)] {
            let heard = Dio { grounded, preference, version, ..dio(mode, STEP) };
            let mut lone = Lone::new(Role::Router, |_| {});
            lone.says(1, heard).unwrap();
            let other = Dio { grounded: !grounded, preference: 1, ..heard };
            lone.says(2, Dio { rank: 9 * STEP, ..other }).unwrap();
            for said in of_code(lone.run(secs(20)), DIO).iter().map(Sent::dio) {
                let (rank, dtsn) = (heard.rank, heard.dtsn);
                assert_eq!(Dio { rank, dtsn, ..said }, heard);
            }
        }
    }
}

//= rfc6550#8.2.1-1 rfc6550#8.2.1-3 rfc6550#8.2.3-2 type=test
#[test]
fn the_parent_is_a_neighbour_whose_dios_were_taken() {
    let mut lone = Lone::router(Mode::NonStoring);
    let parent = lone.rpl.parent().unwrap();
    assert!(lone.rpl.candidates().any(|candidate| candidate.address == parent));
    lone.says(2, dio(Mode::NonStoring, 2 * STEP + 5)).unwrap();
    let rank = lone.rpl.candidates().find(|candidate| candidate.address == near(2));
    assert_eq!(rank.map(|candidate| candidate.rank), Some(2 * STEP + 5));
}

//= rfc6550#8.2.1-2 type=test
#[test]
fn a_root_has_no_parent() {
    let mut lone = Lone::root(Mode::Storing);
    for rank in [1, STEP, 2 * STEP] {
        let _ = lone.says(1, dio(Mode::Storing, rank));
        let other = Dio { dodag_id: address(66), preference: 7, ..dio(Mode::Storing, rank) };
        let _ = lone.says(2, other);
    }
    assert_eq!((lone.rpl.parent(), lone.rpl.candidates().count()), (None, 0));
    assert_eq!(lone.rpl.rank(), STEP);
}

//= rfc6550#3.5.2-1 rfc6550#8.2.1-4 rfc6550#8.2.2.4-1 type=test
#[test]
fn the_rank_is_a_hop_above_the_parents_whatever_that_says() {
    for objective in [0, 1] {
        let configuration = Configuration { objective, ..CONFIGURATION };
        let options = [ControlOption::Configuration(configuration)];
        let mut lone = Lone::new(Role::Router, |_| {});
        for rank in [5 * STEP, STEP, 3 * STEP, 9 * STEP, 2 * STEP] {
            let heard = Message::Dio(dio(Mode::NonStoring, rank));
            lone.hear(near(1), true, heard, &options).unwrap();
            for said in of_code(lone.run(secs(20)), DIO).iter().map(Sent::dio) {
                assert!(said.rank >= rank + STEP, "{} after {rank}", said.rank);
            }
        }
    }
}

//= rfc6550#8.2.1-5 type=test
#[test]
fn a_neighbour_that_does_not_answer_is_no_parent_until_it_does() {
    let mut lone = Lone::new(Role::Router, |_| {});
    lone.says(1, dio(Mode::NonStoring, STEP)).unwrap();
    lone.says(2, dio(Mode::NonStoring, STEP + 1)).unwrap();
    (0..40).for_each(|_| lone.rpl.handle_sent(lone.now, near(2), 4, true));
    assert_eq!(lone.rpl.parent(), Some(near(1)));
    (0..4).for_each(|_| lone.rpl.handle_sent(lone.now, near(1), 4, false));
    assert_eq!(lone.rpl.parent(), Some(near(2)));
    lone.run(secs(60));
    assert_eq!(lone.rpl.parent(), Some(near(2)), "nothing was heard of it");
    // Received again, it is the parent; one lost frame, and it is not for a while.
    lone.says(1, dio(Mode::NonStoring, STEP)).unwrap();
    assert_eq!(lone.rpl.parent(), Some(near(1)));
    lone.rpl.handle_sent(lone.now, near(1), 4, false);
    lone.says(1, dio(Mode::NonStoring, STEP)).unwrap();
    lone.run(secs(9));
    assert_eq!(lone.rpl.parent(), Some(near(2)));
    (0..9).for_each(|_| lone.rpl.handle_sent(lone.now, near(1), 1, true));
    lone.says(1, dio(Mode::NonStoring, STEP)).unwrap();
    assert_eq!(lone.rpl.parent(), Some(near(1)));
}

//= rfc6550#8.2.1-6 type=test
#[test]
fn nothing_goes_through_a_child_that_does_not_answer() {
    let mut lone = Lone::router(Mode::Storing);
    lone.announces(near(5), &[address(5), address(6)], super::transit(240, None)).unwrap();
    assert_eq!(lone.rpl.route(address(6)), NextHop::Neighbour(near(5)));
    (0..4).for_each(|_| lone.rpl.handle_sent(lone.now, near(5), 4, false));
    assert_eq!(lone.rpl.routes().count(), 0);
    assert_eq!(lone.rpl.route(address(6)), NextHop::Neighbour(near(1)));
}

//= rfc6550#8.2.2.1-1 rfc6550#8.2.2.1-2 rfc6550#8.2.2.1-4 rfc6550#8.2.2.1-5 type=test
#[test]
fn a_router_is_of_one_version_says_no_other_and_does_not_return() {
    let mut lone = Lone::router(Mode::NonStoring);
    let versions = |sent: Vec<Sent>| -> Vec<u8> {
        of_code(sent, DIO).iter().map(|sent| sent.dio().version).collect()
    };
    let before = versions(lone.run(secs(20)));
    assert!(!before.is_empty() && before.iter().all(|version| *version == 240));
    lone.says(1, Dio { version: 241, ..dio(Mode::NonStoring, 2 * STEP) }).unwrap();
    for rank in [STEP, 3 * STEP] {
        let old = lone.says(2, dio(Mode::NonStoring, rank));
        assert_eq!(old, Err(Discard::OldVersion));
        assert_eq!((lone.rpl.parent(), lone.rpl.info().version), (Some(near(1)), 241));
    }
    let after = versions(lone.run(secs(20)));
    assert!(!after.is_empty() && after.iter().all(|version| *version == 241));
}

//= rfc6550#8.2.2.1-3 rfc6550#7.2-1 type=test
#[test]
fn a_root_counts_versions_up_and_begins_the_circle_after_its_end() {
    let mut lone = Lone::root(Mode::Storing);
    let mut seen = Vec::new();
    for _ in 0..300 {
        let before = Counter::new(lone.rpl.info().version);
        lone.rpl.repair(lone.now);
        let after = Counter::new(lone.rpl.info().version);
        assert!(after.is_after(before), "{before:?} {after:?}");
        seen.push((before.value(), after.value()));
    }
    assert!(seen.contains(&(255, 0)) && seen.contains(&(127, 0)));
}

//= rfc6550#8.2.2.2-1 rfc6550#8.2.2.2-2 type=test
#[test]
fn a_root_says_the_rank_of_a_root_and_whether_it_is_grounded() {
    for grounded in [false, true] {
        for min_hop_rank_increase in [STEP, 256] {
            let configuration = Configuration { min_hop_rank_increase, ..CONFIGURATION };
            let root = Root::new(address(ROOT), Mode::Storing);
            let root = Root { grounded, configuration, ..root };
            let mut lone = Lone::new(Role::Root(root), |_| {});
            let said = of_code(lone.run(secs(9)), DIO).pop().expect("a DIO").dio();
            assert_eq!((said.grounded, said.rank), (grounded, min_hop_rank_increase));
        }
    }
}

//= rfc6550#8.2.2.4-2 rfc6550#8.2.2.4-3 type=test
#[test]
fn a_rank_beyond_the_greatest_increase_is_said_as_infinite() {
    let configuration = Configuration { max_rank_increase: 2 * STEP, ..CONFIGURATION };
    let options = [ControlOption::Configuration(configuration)];
    for (rank, own) in [(4 * STEP, 5 * STEP), (5 * STEP, INFINITE_RANK)] {
        let mut lone = Lone::new(Role::Router, |_| {});
        let mut said = Vec::new();
        for rank in [2 * STEP, rank] {
            let heard = Message::Dio(dio(Mode::NonStoring, rank));
            lone.hear(near(1), true, heard, &options).unwrap();
            said = of_code(lone.run(secs(30)), DIO).iter().map(|sent| sent.dio().rank).collect();
        }
        assert!(!said.is_empty() && said.iter().all(|rank| *rank == own), "{said:?}");
    }
}

/// MOP 3: storing, with multicast routes, which this stack does not keep.
//= rfc6550#8.1-1 rfc6550#9.2-1 type=test
#[test]
fn a_dodag_with_multicast_routes_is_joined_as_a_leaf_and_left_for_the_mode_of_the_parent() {
    let mut lone = Lone::new(Role::Router, |_| {});
    lone.says(1, Dio { mode: 3, ..dio(Mode::Storing, STEP) }).unwrap();
    let sent = lone.run(secs(60));
    assert!(sent.iter().any(|sent| sent.code == super::DAO), "it is reached");
    assert_eq!(of_code(sent, DIO).len(), 0);
    lone.asks(false, &[]).unwrap();
    let said = of_code(lone.sent(), DIO).pop().expect("a DIO").dio();
    assert_eq!((said.mode, said.rank), (3, INFINITE_RANK));
    lone.says(1, dio(Mode::Storing, STEP)).unwrap();
    let said = of_code(lone.run(secs(9)), DIO).pop().expect("a DIO").dio();
    assert_eq!((said.mode, said.rank), (2, 2 * STEP));
}

/// Without the parent no frame uses the link, which would then count as bad for ever.
//= rfc6550#8.2.2.4-2 type=test
#[test]
fn a_bad_link_alone_lifts_the_rank_to_the_limit_and_costs_no_parent() {
    for (objective, step) in [(0, 256), (1, STEP)] {
        let (max_rank_increase, min_hop_rank_increase) = (3 * step, step);
        let configuration =
            Configuration { objective, max_rank_increase, min_hop_rank_increase, ..CONFIGURATION };
        let options = [ControlOption::Configuration(configuration)];
        let mut lone = Lone::new(Role::Router, |_| {});
        let heard = Message::Dio(dio(Mode::NonStoring, step));
        lone.hear(near(1), true, heard, &options).unwrap();
        assert_eq!(lone.rpl.rank(), 2 * step);
        (0..20).for_each(|_| lone.rpl.handle_sent(lone.now, near(1), 4, true));
        (0..3).for_each(|_| lone.rpl.handle_sent(lone.now, near(1), 4, false));
        assert_eq!((lone.rpl.parent(), lone.rpl.rank()), (Some(near(1)), 5 * step));
        let said = of_code(lone.run(secs(30)), DIO).pop().expect("a DIO");
        assert_eq!(said.dio().rank, 5 * step);
        (0..200).for_each(|_| lone.rpl.handle_sent(lone.now, near(1), 1, true));
        assert!(lone.rpl.rank() < 3 * step, "{}", lone.rpl.rank());
    }
}

//= rfc6550#8.2.2.5-1 type=test
#[test]
fn no_node_with_an_infinite_rank_is_a_parent() {
    let mut lone = Lone::new(Role::Router, |_| {});
    let _ = lone.says(1, dio(Mode::NonStoring, INFINITE_RANK));
    assert_eq!(lone.rpl.parent(), None);
    let mut lone = Lone::router(Mode::NonStoring);
    for (neighbour, parent) in [(1, Some(near(2))), (2, None)] {
        lone.says(neighbour, dio(Mode::NonStoring, INFINITE_RANK)).unwrap();
        assert_eq!(lone.rpl.parent(), parent);
    }
}
