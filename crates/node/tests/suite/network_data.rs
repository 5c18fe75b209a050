//! Addresses and contexts from the mesh: only the border router is configured.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet::mesh::{self, Role, UnfitData};
use kinglet::net::InterfaceAddress;
use kinglet::tcp::{ConnectionConfig, ListenConfig, State};
use kinglet::time::{Duration, Instant};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Attachment, Meshed, Node, Router};

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
const HOST: Ipv6Addr = Ipv6Addr::new(0xFD00, 0, 0, 1, 0, 0, 0, 7);
/// Longer than the interval of a leaf's reports to its parent.
const LEAF: Duration = Duration::from_secs(300);
const LAST: usize = 3;

fn bare(n: u16, role: Role) -> Box<Node<Router>> {
    let mut config = config(n, 1);
    config.mac.rx_on_when_idle = role != Role::Leaf;
    let mesh = mesh::MeshConfig { role, ..mesh::MeshConfig::OFF };
    let mesh = Meshed::new(config.identity(), mesh, Ipv6Addr::UNSPECIFIED);
    Box::new(Node::with_routing(config, mesh, usual()))
}

/// A border router, two routers and a leaf that sleeps, without addresses.
fn line(loss: u32, seed: u64) -> World<Router> {
    let mut world = World::new(4, usual(), loss, seed);
    let roles = [Role::BorderRouter, Role::Router, Role::Router, Role::Leaf];
    for (index, role) in roles.into_iter().enumerate() {
        world.nodes[index] = bare(index as u16 + 1, role);
    }
    world
}

/// The address that node `n` has in a network.
fn address(prefix: Ipv6Addr, n: u16) -> Ipv6Addr {
    Ipv6Addr::from_bits(prefix.to_bits() | global(n).to_bits() & u128::from(u64::MAX))
}

fn has(node: &Node<Router>, address: Ipv6Addr) -> bool {
    node.net().is_own(address)
}

fn context(node: &Node<Router>, id: usize) -> Option<Context> {
    node.net().contexts()[id]
}

fn sixty_four(prefix: Ipv6Addr) -> Context {
    Context { prefix, len: 64 }
}

#[test]
fn nodes_get_addresses_and_contexts_and_talk_tcp() {
    for (loss, seed) in [(0, 1), (10, 2), (10, 3)] {
        let mut world = line(loss, seed);
        let host = Context { prefix: HOST, len: 128 };
        let contexts = [(0, sixty_four(PREFIX)), (3, host)];
        let now = world.now;
        world.nodes[0].announce(now, PREFIX, &contexts).unwrap();
        assert!(has(&world.nodes[0], address(PREFIX, 1)));
        let all = |nodes: &[Box<Node<Router>>]| {
            let mut nodes = (1..).zip(nodes);
            nodes.all(|(n, node)| has(node, address(PREFIX, n)))
        };
        assert!(world.run(Duration::from_secs(60), |_, nodes| all(nodes)), "seed {seed}");
        let leaf = &world.nodes[LAST];
        assert_eq!((leaf.attachment(), leaf.parent()), (Attachment::Attached, Some(3)));
        assert_eq!(context(leaf, 0), Some(sixty_four(PREFIX)));
        assert_eq!(context(leaf, 3), Some(host));
        world.nodes[0].streams().listen(80, ListenConfig::default()).unwrap();
        let (now, to) = (world.now, address(PREFIX, 1));
        let config = ConnectionConfig { mss: 460, ..ConnectionConfig::DEFAULT };
        // The air of these tests has no pending bit, with which a leaf would poll.
        let client = world.nodes[LAST - 1].streams().connect(now, to, 80, config).unwrap();
        let open = |_: Instant, nodes: &mut [Box<Node<Router>>]| {
            nodes[LAST - 1].tcp().state(client) == Some(State::Established)
        };
        assert!(world.run(Duration::from_secs(30), open), "seed {seed}");
    }
}

#[test]
fn a_new_prefix_replaces_address_and_contexts() {
    let mut world = line(0, 4);
    let other = Ipv6Addr::new(0x2001, 0xDB8, 0, 9, 0, 0, 0, 0);
    let contexts = [(0, sixty_four(PREFIX)), (1, sixty_four(HOST))];
    let now = world.now;
    // A context of the node's own stays.
    world.nodes[LAST].interface().set_context(2, Some(sixty_four(PREFIX))).unwrap();
    world.nodes[0].announce(now, PREFIX, &contexts).unwrap();
    let joined = |_: Instant, nodes: &mut [Box<Node<Router>>]| has(&nodes[LAST], global(4));
    assert!(world.run(Duration::from_secs(60), joined));
    let now = world.now;
    world.nodes[0].announce(now, other, &[(0, sixty_four(other))]).unwrap();
    world.run(LEAF, |_, _| false);
    for (n, node) in (1..).zip(&world.nodes) {
        assert!(has(node, address(other, n)) && !has(node, address(PREFIX, n)), "node {n}");
        assert_eq!(context(node, 0), Some(sixty_four(other)));
        assert_eq!(context(node, 1), None);
    }
    assert_eq!(context(&world.nodes[LAST], 2), Some(sixty_four(PREFIX)));
}

#[test]
fn an_address_that_is_configured_stays_and_data_that_do_not_fit_are_refused() {
    let mut world = line(0, 5);
    let own = InterfaceAddress { address: address(HOST, 2), prefix_len: 64 };
    world.nodes[1].interface().add_address(own).unwrap();
    let now = world.now;
    let many = [(1, sixty_four(HOST)); 5];
    assert_eq!(world.nodes[0].announce(now, PREFIX, &many), Err(UnfitData));
    let none = Context { prefix: HOST, len: 129 };
    assert_eq!(world.nodes[0].announce(now, PREFIX, &[(1, none)]), Err(UnfitData));
    world.nodes[0].announce(now, PREFIX, &many[..4]).unwrap();
    let both = |_: Instant, nodes: &mut [Box<Node<Router>>]| has(&nodes[1], global(2));
    assert!(world.run(Duration::from_secs(60), both));
    assert!(has(&world.nodes[1], own.address));
}
