//! Nodes in range of each other whose software is tasks.

use super::executor::Tasks;
use core::net::Ipv6Addr;
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::wire::sixlowpan::Context;
use kinglet::{BorderRouter, Config, Node};
use kinglet_embassy::{Resources, Stack};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{MediumConfig, Position};
use kinglet_sim::profile::NRF52840;
use kinglet_sim::{NodeConfig, World};
use kinglet_time::Instant;

pub(super) type Plan = BorderRouter;
pub(super) type Sockets = Stack<'static, Plan>;

pub(super) const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);

/// The address of the node with this short address.
pub(super) fn address(short: u16) -> Ipv6Addr {
    let [a, b, c, d, ..] = PREFIX.segments();
    Ipv6Addr::new(a, b, c, d, 0, 0xFF, 0xFE00, short)
}

/// Returns the software of a node with a running stack. Of a test, nothing is freed.
pub(super) fn software(short: u16, change: impl FnOnce(&mut Config)) -> (Sockets, Tasks) {
    let mut config = Config::new(short, [0; 8], short.into(), [short as u8; 16]);
    change(&mut config);
    let (mut tasks, mut radio) = Tasks::new(NRF52840.capabilities());
    let node = Box::leak(Box::new(Node::<Plan>::new(config, NRF52840.capabilities())));
    let mut interface = node.interface();
    let own = InterfaceAddress { address: address(short), prefix_len: 64 };
    interface.add_address(own).expect("room");
    interface.set_context(0, Some(Context { prefix: PREFIX, len: 64 })).expect("room");
    let route = Route { prefix: PREFIX, prefix_len: 64, via: NextHop::OnLink };
    interface.add_route(route).expect("room");
    let (stack, runner) = Box::leak(Box::new(Resources::<Plan, 6>::new(node))).split();
    tasks.spawn(async move { runner.run(&mut radio).await });
    (stack, tasks)
}

/// The network of these nodes, with short addresses 1, 2, …
pub(super) fn network(seed: u64, nodes: Vec<Tasks>) -> World<Tasks> {
    let place = |(short, tasks): (u16, Tasks)| {
        let config = Config::new(short, [0; 8], 0, [0; 16]);
        let node = NodeConfig {
            position: Position { x_m: f64::from(short) * 2.0, y_m: 0.0 },
            filter: Node::<Plan>::new(config, NRF52840.capabilities()).filter(),
            radio: NRF52840,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
        };
        (node, tasks)
    };
    let nodes = (1..).zip(nodes).map(place).collect();
    World::new(seed, &MediumConfig::unit_disc(10.0), nodes)
}

/// Runs until `done`, at most to `limit_s`.
pub(super) fn run_until(
    world: &mut World<Tasks>,
    limit_s: u64,
    done: impl Fn() -> bool,
) -> Instant {
    while !done() {
        assert!(world.now() < Instant::from_secs(limit_s), "not done after {limit_s} s");
        assert!(world.step(), "nothing is due any more");
    }
    world.now()
}
