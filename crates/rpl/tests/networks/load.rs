//! Parents with full queues, and how often children leave them.

use crate::common::{Net, address, near, node_of};
use kinglet_rpl::{CONFIGURATION, INFINITE_RANK, Mode, Probing, Role, Root, Rpl, RplConfig};
use kinglet_time::Duration;
use kinglet_wire::rpl::{ControlOption, Dio, Message};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Returns the same network, whose nodes honour loads or not.
fn announcing_load(mut net: Net, load: bool) -> Net {
    for node in &mut net.nodes {
        *node = Rpl::new(RplConfig { load, ..*node.config() });
    }
    net
}

#[test]
fn a_child_leaves_a_parent_whose_queue_is_full_for_one_with_room() {
    for load in [false, true] {
        let root = Role::Root(Root::new(address(0), Mode::Storing));
        let roles = vec![root, Role::Router, Role::Router, Role::Router];
        let mut net = announcing_load(Net::new(roles, Probing::After(secs(30)), 5), load);
        for (a, b, arrives) in [(0, 1, 100), (0, 2, 100), (1, 3, 100), (2, 3, 97)] {
            net.link(a, b, arrives);
        }
        net.run(secs(60));
        let first = net.nodes[3].parent().expect("joined");
        let full = usize::from(first == near(2)) + 1;
        for _ in 0..720 {
            let now = net.now;
            net.nodes[full].handle_queue(now, 8, 8);
            net.nodes[3 - full].handle_queue(now, 0, 8);
            net.run_with_traffic(secs(5));
        }
        let moved = net.nodes[3].parent() != Some(first);
        assert_eq!(moved, load);
        assert!(net.nodes[3].stats().parent_changes <= 1 + u32::from(load));
    }
}

/// Two parents have the lower rank in turn, half a minute each: a node follows less and less often,
/// as each change is announced.
#[test]
fn parent_changes_back_off() {
    let changes = |mode| {
        let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
        for round in 0..40 {
            for parent in [1, 2] {
                let rank = if round % 2 == parent % 2 { 256 } else { 512 };
                let configuration = ControlOption::Configuration(CONFIGURATION);
                let dio = Dio { rank, dodag_id: address(9), ..Net::dio(mode) };
                net.say(parent, 0, Message::Dio(dio), &[configuration]).unwrap();
            }
            for parent in [1, 2] {
                net.nodes[0].handle_sent(net.now, near(parent), 1, true);
            }
            net.now += secs(30);
            net.nodes[0].handle_deadline(net.now);
        }
        // Without a parent no node waits.
        let other = Dio { rank: 512, dodag_id: address(9), ..Net::dio(mode) };
        let gone = Dio { rank: INFINITE_RANK, ..other };
        let parent = node_of(net.nodes[0].parent().unwrap());
        net.say(parent, 0, Message::Dio(gone), &[]).unwrap();
        net.say(3 - parent, 0, Message::Dio(other), &[]).unwrap();
        assert_eq!(net.nodes[0].parent(), Some(near(3 - parent)));
        net.nodes[0].stats().parent_changes
    };
    for mode in [Mode::NonStoring, Mode::Storing] {
        assert!((8..=14).contains(&changes(mode)), "{mode:?}");
    }
}

/// A parent over an unprobed link needs a lower expected cost: otherwise all nodes that receive the
/// DIO of a router that has moved nearer to the root would change to it within a second.
#[test]
fn an_untried_link_to_a_better_parent_has_to_promise_more() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut net = Net::new(vec![Role::Router], Probing::Passive, 7);
        let configuration = ControlOption::Configuration(CONFIGURATION);
        let dio = Dio { rank: 512, dodag_id: address(9), ..Net::dio(mode) };
        net.say(1, 0, Message::Dio(dio), &[configuration]).unwrap();
        net.nodes[0].handle_sent(net.now, near(1), 1, true);
        // Nearer by two hops: by more than the threshold, but not by a hop more than that.
        net.say(2, 0, Message::Dio(Dio { rank: 256, ..dio }), &[]).unwrap();
        assert_eq!(net.nodes[0].parent(), Some(near(1)), "{mode:?}");
        net.nodes[0].handle_sent(net.now, near(2), 1, true);
        assert_eq!(net.nodes[0].parent(), Some(near(2)), "{mode:?}");
    }
}

/// Routers with many nodes below have full queues: a child that leaves fills another queue.
#[test]
fn loads_that_move_with_the_children_do_not_make_them_come_and_go() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..24 {
        for load in [false, true] {
            let mut net = announcing_load(Net::placed(30, Mode::Storing, false, 300 + seed), load);
            net.until_joined(secs(60)).expect("it forms");
            for _ in 0..240 {
                for node in 1..30 {
                    let (now, below) = (net.now, net.nodes[node].info().routes);
                    net.nodes[node].handle_queue(now, below.min(10), 10);
                }
                net.run_with_traffic(secs(5));
            }
            assert!(net.all_joined(), "{seed}");
            assert!(net.longest_loop <= secs(1), "{seed}: {:?}", net.longest_loop);
            let changes: u32 = net.nodes.iter().map(|node| node.stats().parent_changes).sum();
            *(if load { &mut with } else { &mut without }) += changes;
        }
    }
    println!("{with} changes of parents with loads, {without} without");
    assert!(with <= without + without / 5, "{with} changes, and {without} without");
}
