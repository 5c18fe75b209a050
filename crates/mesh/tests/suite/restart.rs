//! A parent that restarts, or has no network data yet.

use crate::network::{Net, Walk, short};
use kinglet_mesh::{Mesh, MeshConfig, Role};
use kinglet_time::Duration;

/// A leaf whose receiver is on sends no data requests, which would remind the parent of it.
#[test]
fn a_leaf_that_is_awake_is_known_again_soon_after_its_parent_restarts() {
    for seed in 1..20 {
        let mut net = Net::new(&[Role::BorderRouter, Role::Router, Role::Leaf], seed, 0);
        net.link(0, 1, -60, -60);
        net.link(1, 2, -60, -60);
        net.run(Duration::from_secs(100));
        let children = |net: &Net| net.nodes[1].children().collect::<Vec<_>>();
        assert_eq!(children(&net), [short(2)]);
        net.nodes[1] = Mesh::new(MeshConfig::new(short(1), Role::Router, seed + 100));
        net.run(Duration::from_secs(3));
        assert_eq!(children(&net), [short(2)], "seed {seed}");
    }
}

/// Advertisements of a calm mesh are up to 32 s apart.
#[test]
fn a_leaf_that_attaches_to_a_calm_mesh_is_reachable_soon() {
    let roles = [Role::BorderRouter, Role::Router, Role::Router, Role::Leaf];
    for seed in 1..20 {
        let mut net = Net::new(&roles, seed, 0);
        (1..4).for_each(|node| net.link(node - 1, node, -60, -60));
        net.alive[3] = false;
        net.run(Duration::from_secs(300));
        net.alive[3] = true;
        while net.nodes[3].parent().is_none() {
            net.run(Duration::from_millis(100));
        }
        net.run(Duration::from_secs(4));
        assert_eq!(net.walk(0, short(3)), Walk::Arrived(3), "seed {seed}");
    }
}

#[test]
fn a_leaf_that_needs_data_gets_them_soon_after_its_parent() {
    let mut net = Net::new(&[Role::BorderRouter, Role::Router, Role::Leaf], 5, 0);
    for (node, sleeps) in [(0, false), (1, false), (2, true)] {
        let config = net.nodes[node].config();
        net.nodes[node] = Mesh::new(MeshConfig { sleeps, awaits_data: true, ..*config });
    }
    net.link(0, 1, -60, -60);
    net.link(1, 2, -60, -60);
    net.run(Duration::from_secs(20));
    assert_eq!(net.nodes[2].parent(), Some(short(1)));
    // Reports follow after 4, 8, 16, 32 s.
    let now = net.now;
    assert!(net.nodes[0].announce(now, &[7]));
    net.run(Duration::from_secs(40));
    assert_eq!(net.nodes[2].data(), [7]);
}

#[test]
fn only_a_leaf_that_needs_data_repeats_its_report_to_a_parent_without_them() {
    let sent = |awaits_data| {
        let mut net = Net::new(&[Role::BorderRouter, Role::Leaf], 6, 0);
        let config = *net.nodes[1].config();
        net.nodes[1] = Mesh::new(MeshConfig { awaits_data, ..config });
        net.link(0, 1, -60, -60);
        net.run(Duration::from_secs(200));
        net.nodes[1].stats().sent
    };
    // A search and a report; the next report comes after 236 s. The others follow after 4, 8, 16,
    // 32, 64 and 128 s, the last of them later than this.
    assert_eq!((sent(false), sent(true)), (2, 7));
}
