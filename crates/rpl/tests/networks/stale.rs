//! Outdated routes are given up as soon as a node has newer information.

use super::common::{Fate, Net, address, near, node_of};
use core::net::Ipv6Addr;
use kinglet_rpl::{INFINITE_RANK, Mode, NextHop, Onward, Probing, Refusal, Role, Root};
use kinglet_time::Duration;
use kinglet_wire::rpl::{ControlOption, Dao, Dio, Message, PacketInformation, Target, Transit};

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn net(nodes: usize, links: &[(usize, usize)], seed: u64) -> Net {
    let mut roles = vec![Role::Router; nodes];
    roles[0] = Role::Root(Root::new(address(0), Mode::Storing));
    let mut net = Net::new(roles, Probing::Passive, seed);
    for (a, b) in links {
        net.link(*a, *b, 100);
    }
    net.run(secs(60));
    net
}

/// Returns an option for an upward or downward packet, from a sender with this rank.
fn option(net: &Net, down: bool, sender_rank: u16) -> PacketInformation {
    PacketInformation { down, sender_rank, ..net.nodes[0].originate(address(1)) }
}

/// Returns a packet for node `to` from there to `node`; the sender has this rank.
fn returned(net: &mut Net, node: usize, to: usize, sender_rank: u16) -> Result<Onward, Refusal> {
    let back = PacketInformation { forwarding_error: true, ..option(net, true, sender_rank) };
    net.nodes[node].relay(net.now, near(to), address(to), Some(back))
}

/// Delivers an upward packet of node `source` to `node`.
fn passes_up(net: &mut Net, node: usize, source: usize) {
    net.nodes[node].note_source(net.now, near(source), address(source));
    net.drain();
}

#[test]
fn a_parent_that_goes_up_through_its_child_is_left_at_once() {
    for by_packet in [true, false] {
        let mut net = net(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], 1);
        let now = net.now;
        let parent = net.nodes[3].parent().expect("a parent");
        if by_packet {
            let up = option(&net, false, 9);
            let onward = net.nodes[3].relay(now, parent, address(0), Some(up)).unwrap();
            assert_eq!(onward.next_hop, NextHop::Neighbour(near(3 - node_of(parent))));
        } else {
            let dao = Dao { instance: 0, acknowledge: false, sequence: 240, dodag_id: None };
            let (code, mut body) = (2, [0; 4]);
            Message::Dao(dao).emit(&mut body).unwrap();
            net.nodes[3].handle_message(now, parent, -50, false, code, &body).unwrap_err();
        }
        assert_eq!(net.nodes[3].parent(), Some(near(3 - node_of(parent))), "{by_packet}");
    }
}

/// Node 2, whose rank equals this node's, could be the parent and return the packet.
#[test]
fn a_packet_that_comes_back_from_another_subtree_shows_a_stale_route_too() {
    for sender_rank in [1, 2] {
        let mut net = net(3, &[(0, 1), (1, 2)], 1);
        assert_eq!(net.nodes[1].dag_rank(), 2);
        assert_eq!(net.nodes[1].route(address(2)), NextHop::Neighbour(near(2)));
        assert_eq!(returned(&mut net, 1, 2, sender_rank), Err(Refusal::Loop));
        let up = NextHop::Neighbour(near(0));
        assert_eq!(net.nodes[1].route(address(2)), up, "as all it does not know");
    }
}

/// In buildings a router that had moved was still behind another, far below: its packets looped for
/// minutes, until each destination refreshed its route.
#[test]
fn a_downward_packet_that_comes_up_again_ends_the_loop() {
    let mut net = net(4, &[(0, 1), (1, 2), (2, 3)], 1);
    let now = net.now;
    for (node, next_hop) in [(3, near(0)), (2, near(2))] {
        let again = PacketInformation { rank_error: true, ..option(&net, true, 9) };
        let onward = net.nodes[1].relay(now, near(2), address(node), Some(again)).unwrap();
        assert!(onward.information.forwarding_error && onward.information.down);
        assert_eq!(onward.next_hop, NextHop::Neighbour(near(2)));
        assert_eq!(net.nodes[1].route(address(node)), NextHop::Neighbour(next_hop));
    }
    net.run(secs(10));
    assert_eq!(net.nodes[1].route(address(3)), NextHop::Neighbour(near(2)), "it was asked");
    // An upward sender has the wrong parent.
    let up = PacketInformation { rank_error: true, ..option(&net, false, 1) };
    let refused = net.nodes[1].relay(net.now, near(0), address(0), Some(up));
    assert_eq!(refused, Err(Refusal::Loop));
}

/// Delivers a DIO to a node as if from a neighbour. Returns the node's parent after that.
fn hear(net: &mut Net, node: usize, from: usize, rank: u16, version: u8) -> Option<Ipv6Addr> {
    net.say(from, node, Message::Dio(Dio { rank, version, ..Net::dio(Mode::Storing) }), &[])
        .unwrap();
    net.nodes[node].parent()
}

/// Delivers a DAO to a node as if from a neighbour, with these targets and this lifetime in
/// minutes.
fn announced(net: &mut Net, node: usize, from: usize, targets: &[usize], path_lifetime: u8) {
    let dao = Dao { instance: 0, acknowledge: false, sequence: 250, dodag_id: None };
    let target = |&target: &usize| Target { prefix: address(target), prefix_len: 128 };
    let targets = targets.iter().map(target).map(ControlOption::Target);
    let (external, path_control, path_sequence, parent) = (false, 0, 255, None);
    let transit = Transit { external, path_control, path_sequence, path_lifetime, parent };
    let options: Vec<_> = targets.chain([ControlOption::Transit(transit)]).collect();
    net.say(from, node, Message::Dao(dao), &options).unwrap();
}

/// Otherwise the parent would refuse every announcement, again and again.
#[test]
fn a_parent_gets_no_route_loss_about_itself() {
    let mut net = net(4, &[(0, 1), (1, 2), (2, 3)], 1);
    net.link(0, 1, 0);
    net.run_with_traffic(secs(20));
    assert_eq!(net.nodes[1].parent(), None);
    net.link(1, 3, 100);
    announced(&mut net, 1, 2, &[3, 6], 30);
    let refused: Vec<_> = net.nodes[3].stats().reasons().collect();
    assert_eq!(hear(&mut net, 1, 3, 300, 240), Some(near(3)));
    net.run(Duration::from_millis(400));
    assert_eq!(net.nodes[3].route(address(6)), NextHop::Neighbour(near(1)));
    assert!(net.nodes[3].stats().reasons().eq(refused));
}

/// The former parent gets no withdrawal before others have the new route. A node that returns
/// before that is known there, and the others must be notified.
#[test]
fn a_node_that_changes_its_parent_always_has_a_downward_route() {
    for seed in 1..=8 {
        let mut net = net(6, &[(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)], seed);
        let mut parent = node_of(net.nodes[5].parent().unwrap());
        for _ in 0..3 {
            let (other, rank) = (6 - parent, net.nodes[6 - parent].rank());
            hear(&mut net, 5, other, rank, 240);
            assert_eq!(hear(&mut net, 5, parent, 2_000, 240), Some(near(other)));
            for _ in 0..40 {
                assert_ne!(net.nodes[0].route(address(5)), NextHop::Unreachable);
                net.run(Duration::from_millis(50));
            }
            parent = other;
            assert_eq!(
                net.nodes[0].route(address(5)),
                NextHop::Neighbour(near(parent - 1)),
                "{seed}"
            );
        }
        net.run(secs(10));
        assert!(net.nodes[6 - parent].routes().all(|route| route.target().prefix != address(5)));
    }
}

/// A new parent that has not acknowledged has no routes: the former one is withdrawn after that.
#[test]
fn a_node_unknown_through_its_new_parent_is_reached_through_the_former() {
    let mut net = net(6, &[(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)], 1);
    let former = node_of(net.nodes[5].parent().unwrap());
    let (other, rank) = (6 - former, net.nodes[6 - former].rank());
    net.daos_lost = Some((5, other, 0));
    hear(&mut net, 5, other, rank, 240);
    assert_eq!(hear(&mut net, 5, former, 2_000, 240), Some(near(other)));
    for _ in 0..20 {
        net.run(secs(1));
        assert!(matches!(net.packet(0, address(5)), Fate::Delivered(_)), "{:?}", net.now);
    }
    net.daos_lost = None;
    net.run(secs(40));
    assert_eq!(net.nodes[0].route(address(5)), NextHop::Neighbour(near(other - 1)));
    assert!(net.nodes[former].routes().all(|route| route.target().prefix != address(5)));
}

/// A forger invented a version and is gone: no other node will ever have it.
#[test]
fn a_node_alone_in_a_version_comes_back() {
    let mut net = net(3, &[(0, 1), (1, 2)], 1);
    let version = net.nodes[0].info().version;
    assert_eq!(hear(&mut net, 2, 9, 200, version + 1), Some(near(9)));
    assert_eq!(hear(&mut net, 2, 9, INFINITE_RANK, version + 1), None);
    net.run_with_traffic(secs(60));
    assert_eq!((0..3).map(|n| net.nodes[n].info().version).max(), Some(version));
    assert_eq!(net.packet(0, address(2)), Fate::Delivered(2));
}

/// The root has lost a route, and all routers on the path assume that it has it.
#[test]
fn an_unknown_source_of_upward_packets_is_asked_for_its_daos() {
    let mut net = net(4, &[(0, 1), (1, 2), (2, 3)], 1);
    announced(&mut net, 0, 1, &[3], 0);
    net.run(secs(20));
    assert_eq!(net.nodes[0].route(address(3)), NextHop::Unreachable);
    for _ in 0..6 {
        let now = net.now;
        net.nodes[0].note_source(now, near(1), address(3));
        net.run(secs(1));
    }
    net.run(secs(9));
    assert_eq!(net.packet(0, address(3)), Fate::Delivered(3));
}

/// Multicast DIOs do not arrive, as over a bad link: a neighbour that sends packets up gets a
/// unicast one.
#[test]
fn a_node_that_missed_a_request_gets_it_when_it_forwards_upward() {
    let mut net = net(3, &[(0, 1), (1, 2)], 1);
    net.multicasts_lost = Some((1, 2));
    returned(&mut net, 1, 2, 9).unwrap();
    net.run(secs(60));
    assert_ne!(net.nodes[1].route(address(2)), NextHop::Neighbour(near(2)));
    passes_up(&mut net, 1, 2);
    net.run(secs(3));
    assert_eq!(net.packet(0, address(2)), Fate::Delivered(2));
    // The same if only packets show that a node is unknown.
    announced(&mut net, 1, 2, &[2], 0);
    net.run(secs(20));
    assert_ne!(net.nodes[1].route(address(2)), NextHop::Neighbour(near(2)));
    for _ in 0..5 {
        passes_up(&mut net, 1, 2);
        net.run(secs(1));
    }
    net.run(secs(3));
    assert_eq!(net.packet(0, address(2)), Fate::Delivered(2));
}

/// A source that was unknown and is known by now does not prevent a request for another.
#[test]
fn a_source_that_is_known_again_makes_room_for_the_next() {
    let mut net = net(4, &[(0, 1), (1, 2), (1, 3)], 1);
    let now = net.now;
    net.nodes[1].note_source(now, near(3), address(9));
    announced(&mut net, 1, 3, &[9], 30);
    net.multicasts_lost = Some((1, 2));
    returned(&mut net, 1, 2, 9).unwrap();
    net.run(secs(2));
    passes_up(&mut net, 1, 2);
    net.run(secs(3));
    assert_eq!(net.packet(0, address(2)), Fate::Delivered(2));
}

/// A root has no candidates, and so no link estimates; its own frames show which children are gone.
#[test]
fn a_root_forgets_a_child_that_acknowledges_nothing() {
    let mut net = net(3, &[(0, 1), (1, 2)], 1);
    net.alive[1] = false;
    for _ in 0..4 {
        assert_eq!(net.nodes[0].route(address(2)), NextHop::Neighbour(near(1)));
        assert_eq!(net.packet(0, address(2)), Fate::Lost);
    }
    assert_eq!(net.nodes[0].route(address(2)), NextHop::Unreachable);
    assert_eq!(net.nodes[0].route(address(1)), NextHop::Unreachable);
}

/// A source whose address is never announced is requested, but does not keep the network busy.
#[test]
fn a_source_that_stays_unknown_is_asked_for_now_and_then() {
    let mut net = net(3, &[(0, 1), (1, 2)], 1);
    let before = net.nodes[0].stats().resets;
    for _ in 0..120 {
        let now = net.now;
        net.nodes[0].note_source(now, near(1), address(9));
        net.run(secs(1));
    }
    let asked = net.nodes[0].stats().resets - before;
    assert!((4..=10).contains(&asked), "{asked} times in two minutes");
}

/// A node below a router without a route may be its parent later.
#[test]
fn a_router_without_a_route_forgets_its_subtree() {
    let mut net = net(4, &[(0, 1), (1, 2), (0, 3)], 1);
    assert_eq!(net.nodes[1].route(address(2)), NextHop::Neighbour(near(2)));
    net.link(0, 1, 0);
    net.run_with_traffic(secs(20));
    assert_eq!((net.nodes[1].parent(), net.nodes[2].parent()), (None, None));
    net.link(2, 3, 100);
    net.run_with_traffic(secs(60));
    assert_eq!(net.nodes[1].parent(), Some(near(2)));
    assert_eq!(net.packet(0, address(1)), Fate::Delivered(3));
}

#[test]
fn a_packet_that_waits_to_go_up_goes_to_the_parent_of_now() {
    let net = net(3, &[(0, 1), (1, 2)], 1);
    let node = &net.nodes[1];
    let up = option(&net, false, 77);
    let onward = node.reroute(address(0), up).expect("a way");
    assert_eq!(onward.next_hop, NextHop::Neighbour(near(0)));
    assert_eq!(onward.information, PacketInformation { sender_rank: node.dag_rank(), ..up });
    assert_eq!(node.reroute(address(2), option(&net, true, 77)), None, "down");
    let other = PacketInformation { instance: 9, ..up };
    assert_eq!(node.reroute(address(0), other), None);
}
