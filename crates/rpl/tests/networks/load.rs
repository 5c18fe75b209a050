//! Parents with full queues, and how often they are left.

use crate::common::{Net, address, near};
use kinglet_rpl::{Config, Mode, Probing, Role, Root, Rpl};
use kinglet_time::Duration;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The same network whose nodes heed loads, or not.
fn heeding(mut net: Net, load: bool) -> Net {
    for node in &mut net.nodes {
        *node = Rpl::new(Config { load, ..*node.config() });
    }
    net
}

#[test]
fn a_child_leaves_a_parent_whose_queue_is_full_for_one_with_room() {
    for load in [false, true] {
        let root = Role::Root(Root::new(address(0), Mode::Storing));
        let roles = vec![root, Role::Router, Role::Router, Role::Router];
        let mut net = heeding(Net::new(roles, Probing::After(secs(30)), 5), load);
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

/// Routers with many below them have full queues: whoever leaves fills another one.
#[test]
fn loads_that_move_with_the_children_do_not_make_them_come_and_go() {
    let (mut with, mut without) = (0, 0);
    for seed in 0..24 {
        for load in [false, true] {
            let mut net = heeding(Net::placed(30, Mode::Storing, false, 300 + seed), load);
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
