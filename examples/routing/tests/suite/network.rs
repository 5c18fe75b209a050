//! Nodes in the simulator that route by flooding, as their memory plan says or by a choice at run
//! time.

use core::net::Ipv6Addr;
use kinglet::net::InterfaceAddress;
use kinglet::routing::Identity;
use kinglet::{Config, Meshed, Node, Profile, Router, mac, mesh, routing_choice};
use kinglet_flood::Flood;
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{MediumConfig, Position};
use kinglet_sim::profile::AT86RF233;
use kinglet_sim::world::Fault;
use kinglet_sim::{NodeConfig, Station, World};
use kinglet_time::{Duration, Instant};

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);

/// Places in metres; nodes at most 10 m apart are in range. Two paths of two hops lead from the
/// first to the fourth node, and one from there to the last.
const PLACES: [(f64, f64); 6] =
    [(0.0, 0.0), (8.0, 4.0), (8.0, -4.0), (16.0, 0.0), (25.0, 0.0), (34.0, 0.0)];
const LAST: usize = PLACES.len() - 1;

kinglet::profile! {
    /// The one line of a node.
    struct Plan { routing: Flood<8>, forwards: true, packets: 8, output: 6, neighbours: 8 }
}

routing_choice! {
    /// The protocols of a product.
    enum Protocol {
        /// Flooding.
        Flood(Box<Flood<8>>),
        /// The mesh.
        Mesh(Box<Meshed<Router>>),
    }
    type Waiting<H> = [Option<H>; 0];
}

kinglet::profile! {
    struct Chosen { routing: Protocol, forwards: true, packets: 8, output: 6, neighbours: 8 }
}

fn address(node: usize) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, short(node))
}

fn short(node: usize) -> u16 {
    node as u16 + 1
}

fn flood(node: Identity) -> Flood<8> {
    Flood::new(node, PREFIX, node.short == short(0))
}

fn world<P: Profile + mac::Sizes<Security = ()>>(
    protocol: fn(Identity) -> P::Routing,
) -> World<Station<P>> {
    let nodes = PLACES.into_iter().enumerate().map(|(node, (x_m, y_m))| {
        let seed = node as u64 + 7;
        let mut config = Config::repeatable(short(node), [node as u8; 8], seed, [node as u8; 16]);
        config.net.forward = true;
        let routing = protocol(config.identity());
        let config = config.unsecured();
        let mut stack =
            Box::new(Node::<P>::with_routing(config, routing, AT86RF233.capabilities()));
        let own = InterfaceAddress { address: address(node), prefix_len: 64 };
        stack.interface().add_address(own).unwrap();
        let place = NodeConfig {
            position: Position { x_m, y_m },
            filter: stack.filter(),
            radio: AT86RF233,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: node as u32 * 137,
            chip: None,
        };
        (place, Station::new(stack, Vec::new()))
    });
    World::new(3, &MediumConfig::unit_disc(10.0), nodes.collect())
}

/// Pings the last node from the first one every second for so many seconds. Returns the number of
/// replies.
fn replies<P: Profile>(world: &mut World<Station<P>>, seconds: u64) -> u64 {
    let mut replies = 0;
    for seq in 0..seconds {
        world.with_device(0, |first, now| {
            // Without a route it is not sent.
            let _ = first.node_mut().datagrams().ping(now, address(LAST), 1, seq as u16, b"?");
        });
        world.run_until(world.now() + Duration::from_secs(1));
        let reply = world.with_device(0, |first, _| first.node_mut().datagrams().poll_echo_reply());
        replies += u64::from(reply.is_some_and(|reply| reply.seq == seq as u16));
    }
    replies
}

#[test]
fn packets_cross_four_hops_and_another_path_if_a_relay_fails() {
    let mut world = world::<Plan>(flood);
    world.run_until(Instant::from_secs(15));
    let got = replies(&mut world, 20);
    assert!(got >= 19, "{got}");
    let route = world.device(0).node().routing();
    let next = [1, 2].into_iter().find(|relay| {
        use kinglet::routing::{NextHop, Routing};
        let via = NextHop::Link(kinglet::wire::ieee802154::Address::Short(short(*relay)));
        route.route(address(LAST)).and_then(|route| route.via) == Some(via)
    });
    let relay = next.expect("one of the two relays is the next hop");
    world.schedule_fault(world.now(), Fault::Partition(vec![relay]));
    // A frame that the MAC gives up ends the route, and the next beacon makes another one.
    replies(&mut world, 20);
    let got = replies(&mut world, 20);
    assert!(got >= 19, "{got}");
}

#[test]
fn a_choice_at_run_time_routes_by_either_protocol() {
    let mesh = |node: Identity| {
        let config = mesh::MeshConfig::new(node.short, mesh::Role::Router, node.seed);
        Protocol::Mesh(Box::new(Meshed::new(node, config, PREFIX)))
    };
    for protocol in [|node| Protocol::Flood(Box::new(flood(node))), mesh] {
        let mut world = world::<Chosen>(protocol);
        world.run_until(Instant::from_secs(60));
        let got = replies(&mut world, 20);
        assert!(got >= 19, "{got}");
    }
    let mut world = world::<Chosen>(|_| Protocol::Static);
    world.run_until(Instant::from_secs(60));
    assert_eq!(replies(&mut world, 5), 0, "there are no static routes");
}
