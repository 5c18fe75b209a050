//! Network data: each node of the mesh gets those of the border router.

use crate::network::{Net, Plan, short};
use kinglet_mesh::{Change, Discard, MAX_DATA, MAX_LEN, Mesh, MeshConfig, Role, Sizes};
use kinglet_time::{Duration, Instant};
use proptest::prelude::*;

/// Longest time between two reports of a leaf to its parent, and its requests after that.
const LEAF: Duration = Duration::from_secs(240);
/// Time in which advertisements reach all routers.
const SPREAD: Duration = Duration::from_secs(120);

/// A random mesh with a leaf in range of its last router.
fn with_leaf(routers: usize, more: usize, seed: u64, loss: u32) -> Net {
    let mut net = Net::random(routers, more, seed, loss);
    let leaf = MeshConfig::new(short(routers), Role::Leaf, seed);
    net.nodes.push(Mesh::new(leaf));
    net.alive.push(true);
    net.link(routers - 1, routers, -60, -60);
    net
}

fn have(net: &Net, data: &[u8]) -> bool {
    (0..net.nodes.len()).filter(|&node| net.alive[node]).all(|node| net.nodes[node].data() == data)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn every_node_gets_the_data_their_changes_and_those_after_a_restart(
        routers in 2usize..12,
        more in 0usize..12,
        seed in any::<u32>(),
        loss in 0u32..21,
    ) {
        let mut net = with_leaf(routers, more, seed.into(), loss);
        for octets in [&[1, 2, 3][..], &[4; 32], &[]] {
            prop_assert!(net.nodes[0].announce(net.now, octets));
            net.run(SPREAD + LEAF);
            prop_assert!(have(&net, octets), "{octets:?}");
        }
        // The serial number begins again at 0.
        net.nodes[0] = Mesh::new(MeshConfig::new(short(0), Role::BorderRouter, 1));
        prop_assert!(net.nodes[0].announce(net.now, &[5]));
        net.run(SPREAD + LEAF);
        prop_assert!(have(&net, &[5]));
        // A router that restarts has none.
        net.nodes[1] = Mesh::new(MeshConfig::new(short(1), Role::Router, 2));
        net.run(SPREAD);
        prop_assert!(have(&net, &[5]));
        for node in 1..=routers {
            let new = net.changes.iter().filter(|change| **change == (node, Change::Data));
            prop_assert_eq!(new.count(), if node == 1 { 5 } else { 4 }, "node {}", node);
        }
    }
}

/// Two border routers at the ends of a line.
#[test]
fn the_lowest_source_wins_as_long_as_there_is_a_route_to_it() {
    let mut net =
        Net::new(&[Role::BorderRouter, Role::Router, Role::Router, Role::BorderRouter], 7, 0);
    for node in 0..3 {
        net.link(node, node + 1, -60, -60);
    }
    assert!(net.nodes[3].announce(net.now, &[3]));
    net.run(SPREAD);
    assert!(net.nodes[0].announce(net.now, &[0]));
    net.run(SPREAD);
    let data = |net: &Net| [0, 1, 2, 3].map(|node| net.nodes[node].data()[0]);
    assert_eq!(data(&net), [0, 0, 0, 3]);
    net.alive[0] = false;
    net.run(SPREAD * 4);
    assert_eq!(data(&net), [0, 3, 3, 3]);
    net.alive[0] = true;
    net.run(SPREAD);
    assert_eq!(data(&net), [0, 0, 0, 3]);
}

#[test]
fn a_mesh_without_data_sends_no_octet_of_them() {
    let mut net = Net::new(&[Role::BorderRouter, Role::Router, Role::Leaf], 7, 0);
    net.link(0, 1, -60, -60);
    net.link(1, 2, -60, -60);
    net.run(SPREAD + LEAF);
    assert!(have(&net, &[]));
    assert!(net.changes.iter().all(|(_, change)| *change != Change::Data));
    let mut longest = [0; MAX_LEN];
    let mut router = Mesh::<Plan>::new(MeshConfig::new(1, Role::BorderRouter, 1));
    while router.deadline().unwrap() < Instant::from_secs(10) {
        let now = router.deadline().unwrap();
        router.handle_deadline(now);
        while let Some(out) = router.poll_message(now, &mut longest) {
            assert_eq!(out.len, 2, "a header without destinations");
        }
    }
}

struct Little;
impl Sizes for Little {
    type Neighbours = <Plan as Sizes>::Neighbours;
    type Routes = <Plan as Sizes>::Routes;
    type Leaves = <Plan as Sizes>::Leaves;
    type Data = [u8; 0];
}

/// Kind 7 of source 1 with serial number 0.
const DATA: [u8; 5] = [0x17, 0, 1, 0, 9];
/// An advertisement of the border router 1 that has these data and receives node 2.
const ADVERTISEMENT: [u8; 8] = [0x11, 0xA1, 0, 1, 0, 0, 2, 0xF1];

fn messages<S: Sizes>(node: &mut Mesh<S>) -> Vec<Vec<u8>> {
    let mut buf = [0; MAX_LEN];
    let now = Instant::from_secs(1);
    let mut next = || node.poll_message(now, &mut buf).map(|out| buf[..out.len].to_vec());
    core::iter::from_fn(&mut next).collect()
}

#[test]
fn a_node_without_room_ignores_the_data() {
    let now = Instant::from_secs(1);
    let mut node = Mesh::<Little>::new(MeshConfig::new(2, Role::Router, 1));
    assert_eq!(node.handle_message(now, 1, -60, &ADVERTISEMENT), Ok(()));
    assert_eq!(node.default_next_hop(), Some(1));
    assert_eq!(node.handle_message(now, 1, -60, &DATA), Err(Discard::NotForRole));
    assert_eq!(node.handle_message(now, 1, -60, &[0x18]), Err(Discard::NotForRole));
    assert!(!node.announce(now, &[1]) && node.poll_change().is_none());
    assert_eq!(messages(&mut node), Vec::<Vec<u8>>::new());
}

#[test]
fn a_router_requests_newer_data_once_and_responds_with_its_own() {
    let now = Instant::from_secs(1);
    let mut node = Mesh::<Plan>::new(MeshConfig::new(2, Role::Router, 1));
    assert_eq!(node.handle_message(now, 1, -60, &[0x18]), Err(Discard::NotForRole));
    node.handle_message(now, 1, -60, &ADVERTISEMENT).unwrap();
    assert_eq!(messages(&mut node), [[0x18]]);
    node.handle_message(now, 1, -60, &DATA).unwrap();
    assert_eq!((node.poll_change(), node.data()), (Some(Change::Data), &[9][..]));
    // Neither the same version nor an older one changes anything.
    node.handle_message(now, 1, -60, &ADVERTISEMENT).unwrap();
    node.handle_message(now, 1, -60, &[0x17, 0, 1, 255, 8]).unwrap();
    assert_eq!((node.poll_change(), node.data()), (None, &[9][..]));
    assert_eq!(messages(&mut node), Vec::<Vec<u8>>::new());
    node.handle_message(now, 3, -60, &[0x18]).unwrap();
    assert_eq!(messages(&mut node), [DATA]);
    let long = [&[0x17, 0, 1, 1][..], &[0; 33]].concat();
    assert_eq!(node.handle_message(now, 1, -60, &long), Err(Discard::DataTooLong));
    assert_eq!(node.data(), [9]);
}

#[test]
fn a_leaf_takes_data_from_its_parent_alone_and_listens_for_them() {
    let mut now = Instant::from_secs(1);
    let config = MeshConfig { parent: Some(1), ..MeshConfig::new(9, Role::Leaf, 1) };
    let mut leaf = Mesh::<Plan>::new(config);
    while leaf.parent().is_none() {
        now = now.max(leaf.deadline().unwrap());
        leaf.handle_deadline(now);
        for message in messages(&mut leaf) {
            if let [0x14, sequence, _] = message[..] {
                let response = [0x15, 0, sequence, 0, 1, 0];
                leaf.handle_message(now, 2, -60, &response).unwrap();
                leaf.handle_message(now, 1, -60, &response).unwrap();
            }
        }
    }
    assert!(leaf.listens());
    leaf.handle_message(now, 2, -60, &DATA).unwrap();
    assert_eq!(leaf.data(), []);
    leaf.handle_deadline(now);
    assert_eq!(messages(&mut leaf), [[0x18]]);
    leaf.handle_message(now, 1, -60, &DATA).unwrap();
    assert!(!leaf.listens());
    assert_eq!(leaf.data(), [9]);
    // It asked for no others.
    leaf.handle_message(now, 1, -60, &[0x17, 0, 1, 1, 8]).unwrap();
    assert_eq!(leaf.data(), [9]);
    // Neither a response nor an advertisement of another router makes it ask.
    leaf.handle_message(now, 2, -60, &[0x15, 0, 9, 0, 1, 5]).unwrap();
    assert!(!leaf.listens());
    // Nor does an advertisement of its parent that carries only changes bring its report forward.
    let due = leaf.deadline();
    leaf.handle_message(now, 1, -60, &[0x11, 0x80]).unwrap();
    assert_eq!(leaf.deadline(), due);
    let foreign = leaf.handle_message(now, 2, -60, &[0x11, 0xE0, 0, 1, 5]);
    assert_eq!((foreign, leaf.listens()), (Err(Discard::NotForRole), false));
}

#[test]
fn announced_data_fit_into_one_message() {
    struct Much;
    impl Sizes for Much {
        type Neighbours = <Plan as Sizes>::Neighbours;
        type Routes = <Plan as Sizes>::Routes;
        type Leaves = <Plan as Sizes>::Leaves;
        type Data = [u8; 255];
    }
    let mut node = Mesh::<Much>::new(MeshConfig::new(2, Role::BorderRouter, 1));
    let now = Instant::from_secs(1);
    assert!(!node.announce(now, &[1; MAX_DATA + 1]));
    assert!(node.data().is_empty() && node.announce(now, &[1; MAX_DATA]));
    node.handle_message(now, 3, -60, &[0x18]).unwrap();
    assert_eq!(messages(&mut node)[0].len(), MAX_LEN);
}
