//! Packets and their option (RFC 6550, 11).

use super::{Lone, ROOT, STEP, dio, secs, transit};
use crate::common::{address, near};
use kinglet_rpl::{CONFIGURATION, Mode, Needs, NextHop, Refusal, Role};
use kinglet_wire::rpl::{Configuration, ControlOption, Message, PacketInformation};

/// Returns an address outside the DODAG.
fn outside() -> core::net::Ipv6Addr {
    "2001:db8::1".parse().unwrap()
}

fn information(down: bool, sender_rank: u16) -> PacketInformation {
    let (rank_error, forwarding_error, instance) = (false, false, 0);
    PacketInformation { down, rank_error, forwarding_error, instance, sender_rank }
}

/// Returns a router in storing mode with rank 3, and a route to node 5 through its child 5.
fn with_child() -> Lone {
    let mut lone = Lone::router(Mode::Storing);
    lone.announces(near(5), &[address(5)], transit(240, None)).unwrap();
    assert_eq!(lone.rpl.dag_rank(), 3);
    lone
}

//= rfc6550#11.1-2 type=test
#[test]
fn a_packet_up_does_not_go_back_to_who_sent_it() {
    let mut lone = Lone::router(Mode::NonStoring);
    let up = Some(information(false, 9));
    let onward = lone.rpl.relay(lone.now, near(1), address(ROOT), up).unwrap();
    assert_eq!(
        onward.next_hop,
        NextHop::Neighbour(near(2)),
        "not to the parent, which has sent it"
    );
    let refused = lone.rpl.relay(lone.now, near(2), address(ROOT), up);
    assert_eq!(refused, Err(Refusal::NoRoute), "nobody is left");
}

//= rfc6550#11.1-2 type=test
#[test]
fn a_packet_down_does_not_go_on_to_the_child_that_sent_it() {
    let mut lone = with_child();
    lone.announces(near(5), &[address(6)], transit(240, None)).unwrap();
    let down = information(true, 4);
    let onward = lone.rpl.relay(lone.now, near(5), address(6), Some(down)).unwrap();
    assert_eq!(onward.next_hop, NextHop::Neighbour(near(5)));
    assert!(onward.information.forwarding_error, "it is returned");
    assert_ne!(lone.rpl.route(address(6)), NextHop::Neighbour(near(5)), "the route is a stale one");
    // From another neighbour, or up from the child, it goes down.
    lone.announces(near(5), &[address(7)], transit(241, None)).unwrap();
    for (from, option) in [(5, information(false, 4)), (1, information(true, 2))] {
        let onward = lone.rpl.relay(lone.now, near(from), address(7), Some(option)).unwrap();
        assert_eq!(
            (onward.next_hop, onward.information),
            (NextHop::Neighbour(near(5)), information(true, 3))
        );
    }
}

//= rfc6550#11.2-1 rfc6550#11.2-2 rfc6550#11.2-3 type=test
#[test]
fn a_leaf_sets_no_flag() {
    let mut lone = Lone::new(Role::Leaf, |_| {});
    lone.says(1, dio(Mode::Storing, STEP)).unwrap();
    lone.rpl.handle_leaf(lone.now, address(5), near(5), 240, secs(60)).unwrap_err();
    for destination in [address(ROOT), address(1), address(5), outside()] {
        let begun = lone.rpl.originate(destination);
        assert_eq!(begun, information(false, 0));
        let mut octets = [0xFF; 4];
        begun.emit(&mut octets).unwrap();
        assert_eq!(octets, [0; 4]);
    }
}

//= rfc6550#11.2.1-1 rfc6550#11.2.2.1-4 type=test
#[test]
fn a_packet_that_begins_or_enters_here_is_of_this_nodes_instance() {
    let mut lone = with_child();
    assert_eq!(lone.rpl.originate(address(ROOT)).instance, 0);
    let entered = lone.rpl.relay(lone.now, near(6), address(ROOT), None).unwrap();
    assert_eq!(entered.information.instance, 0);
}

//= rfc6550#11.2.2.1-1 rfc6550#11.2.2.1-6 type=test
#[test]
fn a_packet_of_another_instance_goes_no_further_and_one_of_this_keeps_it() {
    let mut lone = with_child();
    let other = PacketInformation { instance: 9, ..information(false, 9) };
    let refused = lone.rpl.relay(lone.now, near(5), address(ROOT), Some(other));
    assert_eq!(refused, Err(Refusal::OtherInstance));
    assert_eq!(lone.rpl.follow(lone.now, other), Err(Refusal::OtherInstance));
    let ours = information(false, 9);
    let onward = lone.rpl.relay(lone.now, near(5), address(ROOT), Some(ours)).unwrap();
    assert_eq!(onward.information.instance, ours.instance);
}

//= rfc6550#11.2.2.1-2 rfc6550#11.2.2.1-3 type=test
#[test]
fn a_packet_without_the_option_gets_one() {
    let mut lone = with_child();
    for (from, destination, down) in [(5, address(ROOT), false), (1, address(5), true)] {
        let onward = lone.rpl.relay(lone.now, near(from), destination, None).unwrap();
        assert_eq!(onward.information, information(down, 3));
    }
    assert_eq!(lone.rpl.needs(address(ROOT), true, false), Needs::Own);
    assert_eq!(lone.rpl.needs(address(ROOT), false, false), Needs::Outer(address(ROOT)));
    assert_eq!(lone.rpl.needs(address(ROOT), false, true), Needs::Nothing);
}

//= rfc6550#11.2.2.2-2 type=test
#[test]
fn a_second_upward_rank_error_discards_the_packet_and_resets_trickle() {
    for mode in [Mode::NonStoring, Mode::Storing] {
        let mut lone = Lone::router(mode);
        lone.calm();
        let again = PacketInformation { rank_error: true, ..information(false, 1) };
        let refused = lone.rpl.relay(lone.now, near(5), address(ROOT), Some(again));
        assert_eq!((refused, lone.has_reset()), (Err(Refusal::Loop), true));
    }
}

//= rfc6550#11.2.2.3-2 rfc6550#11.2.2.3-3 rfc6550#11.2.2.3-4 type=test
#[test]
fn a_packet_that_comes_back_takes_another_route_and_the_first_is_forgotten() {
    let mut lone = with_child();
    let back = PacketInformation { forwarding_error: true, ..information(true, 4) };
    let onward = lone.rpl.relay(lone.now, near(5), address(5), Some(back));
    assert_eq!(lone.rpl.routes().count(), 0);
    // No other node is below: it returns to its previous hop.
    let onward = onward.unwrap();
    assert_eq!((onward.next_hop, onward.information.down), (NextHop::Neighbour(near(1)), true));
    let mut lone = with_child();
    lone.announces(near(6), &[address(7)], transit(240, None)).unwrap();
    lone.announces(near(5), &[address(7)], transit(240, None)).unwrap();
    let onward = lone.rpl.relay(lone.now, near(5), address(7), Some(back)).unwrap();
    assert_eq!(
        (onward.next_hop, onward.information),
        (NextHop::Neighbour(near(6)), information(true, 3))
    );
}

//= rfc6550#11.2.2.1-5 type=test
#[test]
fn the_option_that_strangers_discard_comes_off_at_the_root() {
    for skips_unknown in [true, false] {
        let configuration = Configuration { skips_unknown, ..CONFIGURATION };
        let options = [ControlOption::Configuration(configuration)];
        let mut lone = Lone::new(Role::Router, |_| {});
        let heard = Message::Dio(dio(Mode::Storing, STEP));
        lone.hear(near(1), true, heard, &options).unwrap();
        let own = if skips_unknown { Needs::Own } else { Needs::Outer(address(ROOT)) };
        assert_eq!(lone.rpl.needs(outside(), true, false), own);
        assert_eq!(lone.rpl.needs(outside(), false, false), Needs::Outer(address(ROOT)));
    }
    let mut lone = Lone::root(Mode::Storing);
    assert_eq!(lone.rpl.needs(outside(), false, true), Needs::Nothing);
    let up = Some(information(false, 2));
    let onward = lone.rpl.relay(lone.now, near(5), outside(), up).unwrap();
    assert_eq!(onward.next_hop, NextHop::Outside);
}
