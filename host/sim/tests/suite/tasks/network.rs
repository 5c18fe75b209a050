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
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::Instant;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

pub(super) type Plan = BorderRouter;
pub(super) type Sockets = Stack<'static, Plan>;

pub(super) const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);

/// The address of the node with this short address.
pub(super) fn address(short: u16) -> Ipv6Addr {
    let [a, b, c, d, ..] = PREFIX.segments();
    Ipv6Addr::new(a, b, c, d, 0, 0xFF, 0xFE00, short)
}

/// Returns a node of the network.
pub(super) fn commissioned(config: Config) -> Box<Node<Plan>> {
    let mut node = Box::new(Node::<Plan>::new(config, NRF52840.capabilities()));
    let mut interface = node.interface();
    let own = InterfaceAddress { address: address(config.mac.short), prefix_len: 64 };
    interface.add_address(own).expect("room");
    interface.set_context(0, Some(Context { prefix: PREFIX, len: 64 })).expect("room");
    let route = Route { prefix: PREFIX, prefix_len: 64, via: NextHop::OnLink };
    interface.add_route(route).expect("room");
    node
}

/// The settings of the node with this short address.
pub(super) fn settings(short: u16) -> Config {
    Config::repeatable(short, [0; 8], short.into(), [short as u8; 16])
}

/// Returns the software of a node with a running stack. Of a test, nothing is freed.
pub(super) fn software<const TASKS: usize>(
    short: u16,
    change: impl FnOnce(&mut Config),
) -> (Sockets, Tasks) {
    let mut config = settings(short);
    change(&mut config);
    let (mut tasks, mut radio) = Tasks::new(NRF52840.capabilities());
    let node = Box::leak(commissioned(config));
    let (stack, runner) = Box::leak(Box::new(Resources::<Plan, TASKS>::new(node))).split();
    tasks.spawn(async move { runner.run(&mut radio).await });
    (stack, tasks)
}

/// The same with the usual settings, and places for the tasks of these tests.
pub(super) fn node(short: u16) -> (Sockets, Tasks) {
    software::<6>(short, |_| ())
}

/// Waits for both futures.
pub(super) async fn both(a: impl Future<Output = ()>, b: impl Future<Output = ()>) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut a_waits, mut b_waits) = (true, true);
    poll_fn(|cx| {
        a_waits = a_waits && a.as_mut().poll(cx).is_pending();
        b_waits = b_waits && b.as_mut().poll(cx).is_pending();
        if a_waits || b_waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

/// The network of these nodes, with short addresses 1, 2, …
pub(super) fn network(seed: u64, nodes: Vec<Tasks>) -> World<Tasks> {
    network_with_loss(seed, nodes, 0.0)
}

/// The same, and a part of all frames is lost.
pub(super) fn network_with_loss<D: Device>(seed: u64, nodes: Vec<D>, frame_loss: f64) -> World<D> {
    let place = |(short, software): (u16, D)| {
        let config = Config::repeatable(short, [0; 8], 0, [0; 16]);
        let node = NodeConfig {
            position: Position { x_m: f64::from(short) * 2.0, y_m: 0.0 },
            filter: Node::<Plan>::new(config, NRF52840.capabilities()).filter(),
            radio: NRF52840,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
            chip: None,
        };
        (node, software)
    };
    let nodes = (1..).zip(nodes).map(place).collect();
    World::new(seed, &MediumConfig { frame_loss, ..MediumConfig::unit_disc(10.0) }, nodes)
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

/// Runs one task on each of two nodes until that of the second one returns.
pub(super) fn pair<A, B, T: 'static>(
    first: impl FnOnce(Sockets) -> A,
    second: impl FnOnce(Sockets) -> B,
) -> T
where
    A: Future<Output = ()> + 'static,
    B: Future<Output = T> + 'static,
{
    let (one, mut nodes) = node(1);
    nodes.spawn(first(one));
    let (two, mut other) = node(2);
    let done = Rc::new(Cell::new(None));
    let (task, result) = (second(two), Rc::clone(&done));
    other.spawn(async move { result.set(Some(task.await)) });
    let mut world = network(1, vec![nodes, other]);
    let is_done = || {
        let result = done.take();
        let is_some = result.is_some();
        done.set(result);
        is_some
    };
    run_until(&mut world, 600, is_done);
    done.take().expect("a result")
}
