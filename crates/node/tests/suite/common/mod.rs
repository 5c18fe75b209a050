//! Nodes in a row, each in range of the next, run by the canonical loop.
#![allow(dead_code, reason = "the tests of kinglet-apps use a part")]
#![allow(unreachable_pub, reason = "a module of test files")]

pub mod air;
pub mod frames;
pub mod stream;

use air::Air;
use core::net::Ipv6Addr;
use kinglet::mac::{Csma, LinkSecurity, Security, Sizes};
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::radio::Capabilities;
use kinglet::time::{Duration, Instant, earliest};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Node, Profile};

/// A memory plan whose nodes may have a key.
pub trait Plan: Profile + Sizes<Security: LinkSecurity<Key = Option<Security>>> {}
impl<P> Plan for P where P: Profile + Sizes<Security: LinkSecurity<Key = Option<Security>>> {}

/// A radio that acknowledges and waits for acknowledgements by itself, as most do.
pub fn usual() -> Capabilities {
    Capabilities::AUTO_ACK | Capabilities::ACK_WAIT
}

/// Returns 2001:db8::ff:fe00:n, whose IID contains the short address n.
pub fn global(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, n)
}

/// Returns fe80::ff:fe00:n.
pub fn local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

/// Returns the settings of node `n` after its `boot`-th start.
pub fn config(n: u16, boot: u8) -> Config {
    let mut extended = [2; 8];
    extended[7] = n as u8;
    let mut config =
        Config::repeatable(n, extended, u64::from(n) << 8 | u64::from(boot), [boot; 16]);
    config.tcp.secret[0] = n as u8;
    // This selects CSMA-CA in software where the radio has none.
    config.mac.csma = Csma::Hardware;
    // In some tests no time passes.
    config.mac.retry_delay_max = Duration::ZERO;
    config.net.forward = true;
    config
}

/// Returns node `n`, 1 to `count`, of a row, with routes to the others through its neighbours.
pub fn node<P: Plan>(n: u16, boot: u8, count: u16, capabilities: Capabilities) -> Box<Node<P>> {
    node_with(n, boot, count, capabilities, |_| {})
}

/// As `node`, with other settings.
pub fn node_with<P: Plan>(
    n: u16,
    boot: u8,
    count: u16,
    capabilities: Capabilities,
    change: impl FnOnce(&mut Config),
) -> Box<Node<P>> {
    let none = |_: &Config| kinglet::Routing::NONE;
    node_routed(n, boot, count, capabilities, change, none)
}

/// As `node_with`, with a routing protocol.
pub fn node_routed<P: Plan>(
    n: u16,
    boot: u8,
    count: u16,
    capabilities: Capabilities,
    change: impl FnOnce(&mut Config),
    routing: impl FnOnce(&Config) -> P::Routing,
) -> Box<Node<P>> {
    let mut config = config(n, boot);
    change(&mut config);
    let routing = routing(&config);
    let mut node = Box::new(Node::with_routing(config, routing, capabilities));
    let mut interface = node.interface();
    interface.add_address(InterfaceAddress { address: global(n), prefix_len: 64 }).unwrap();
    interface.set_context(0, Some(Context { prefix: prefix(), len: 64 })).unwrap();
    for other in (1..=count).filter(|&other| other != n) {
        let next = if other > n { n + 1 } else { n - 1 };
        let via = NextHop::Link(Address::Short(next));
        interface.add_route(Route { prefix: global(other), prefix_len: 128, via }).unwrap();
    }
    node
}

fn prefix() -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0)
}

/// All nodes, and the channel that joins them.
pub struct World<P: Plan> {
    pub now: Instant,
    pub nodes: Vec<Box<Node<P>>>,
    pub air: Air,
    capabilities: Capabilities,
    /// Packets that each node sent to its host.
    pub host: Vec<Vec<Vec<u8>>>,
    /// True if hosts take packets.
    pub hosts_up: bool,
}

impl<P: Plan> World<P> {
    /// `count` nodes in a row, with `loss` percent of frames lost.
    pub fn new(count: u16, capabilities: Capabilities, loss: u32, seed: u64) -> Self {
        let mut air = Air::new(capabilities, loss, seed);
        let nodes: Vec<_> = (1..=count).map(|n| node::<P>(n, 1, count, capabilities)).collect();
        nodes.iter().for_each(|node| air.add(node.filter()));
        let (now, host) = (Instant::from_secs(1), vec![Vec::new(); nodes.len()]);
        World { now, nodes, air, capabilities, host, hosts_up: true }
    }

    /// Switches node `index` off and on; it loses all its state.
    pub fn reboot(&mut self, index: usize) {
        let count = self.nodes.len() as u16;
        self.nodes[index] = node(index as u16 + 1, 2, count, self.capabilities);
        self.air.reset(index);
    }

    /// Runs until `app`, which is called after every event, returns true. Returns false if `limit`
    /// has passed.
    pub fn run(
        &mut self,
        limit: Duration,
        mut app: impl FnMut(Instant, &mut [Box<Node<P>>]) -> bool,
    ) -> bool {
        let end = self.now + limit;
        loop {
            if app(self.now, &mut self.nodes) {
                return true;
            }
            self.drain();
            let due = self.nodes.iter().fold(None, |due, node| earliest(due, node.deadline()));
            let next = earliest(due, self.air.deadline()).unwrap_or(Instant::MAX);
            // Applications are woken up at least this often.
            let next = next.min(self.now + Duration::from_millis(50));
            if next > end {
                self.now = end;
                return false;
            }
            self.now = self.now.max(next);
            self.air.advance(self.now);
            for (index, node) in self.nodes.iter_mut().enumerate() {
                while let Some((event, mut frame)) = self.air.poll_event(index) {
                    node.handle_radio(self.now, event, &mut frame);
                }
                if node.deadline().is_some_and(|at| at <= self.now) {
                    node.handle_deadline(self.now);
                }
            }
        }
    }

    fn drain(&mut self) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            while let Some(submission) = node.poll_radio(self.now) {
                let (command, frame) = (submission.command, submission.frame);
                if self.air.submit(self.now, index, command, frame).is_err() {
                    node.radio_refused(self.now);
                }
            }
            let mut packet = [0; 1280];
            while self.hosts_up
                && let Some(len) = node.poll_host_packet(self.now, &mut packet)
            {
                self.host[index].push(packet[..len].to_vec());
            }
        }
    }
}
