//! An attacker in range of all thirty nodes forges RPL messages. Without the key no node loses a
//! route. Without link security the attack has the cost that docs/decisions/0035-rpl.md describes,
//! and its effect ends with it.

use crate::forged::{hear, near};
use kinglet::rpl::{INFINITE_RANK, Mode, Rpl};
use kinglet::time::{Duration, Instant};
use kinglet::wire::icmpv6;
use kinglet::wire::ipv6::{Header, protocol};
use kinglet::wire::rpl::{ALL_NODES, ControlOption, Dao, Dio, Message, Target, Transit, Writer};
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Network, app_at, network};
use kinglet_network::protocols::Tables;
use kinglet_scenario::{self as scenario, Flow, FlowKind, NodeId, Scenario};
use kinglet_sim::rng::{Purpose, Stream, stream};
use std::net::Ipv6Addr;

const NODES: NodeId = 30;
/// Beginning and end of the forgeries.
const FROM_S: u64 = 60;
const TO_S: u64 = 180;
/// Time within which all nodes with traffic have routes again. A route to a node without traffic
/// that a forgery has removed may be missing until routers announce all targets again: a router
/// announces lifetimes of up to 254 minutes, and repeats an unchanged target only then.
const OVER_S: u64 = TO_S + 60;
/// Time in seconds within which ongoing changes end and the root has routes to all nodes.
const PATIENCE_S: u64 = 60;
/// Address of the forger, if it does not impersonate another node.
const FORGER: u16 = 0x777;

/// Six by five routers, datagrams to and from every third.
fn scenario(mode: Mode, security: bool) -> Scenario {
    let text = format!(
        "name = \"attacks\"\nduration_s = {OVER_S}\n[topology]\n\
         grid = {{ columns = 6, rows = 5, spacing_m = 8 }}\n[mac]\nsecurity = {security}\n\
         [net]\nrouting = \"rpl\"\n"
    );
    let mut scenario = Scenario::from_toml("attacks.toml", &text).expect("a scenario");
    scenario.rpl = scenario::Rpl { mode, ..scenario.rpl };
    let periodic = |from, to| FlowKind::datagrams(from, to, 1_000, 20);
    let ends = talkers().flat_map(|node| [periodic(node, 0), periodic(0, node)]);
    scenario.flows = ends.map(|kind| Flow::new(30.0, kind)).collect();
    scenario
}

fn rpl(network: &Network, node: NodeId) -> &Rpl<Tables> {
    network.device(node as usize).node().routing().rpl().expect("RPL")
}

/// A node that forges messages, with its knowledge of the network.
struct Forger<'a> {
    scenario: &'a Scenario,
    random: Stream,
    sequence: u8,
}

impl Forger<'_> {
    /// Makes `to` receive a DIO of this rank and version from a neighbour with the address `from`.
    fn dio(&mut self, network: &mut Network, to: NodeId, from: u16, rank: u16, version: u8) {
        let mode = if self.scenario.rpl.mode == Mode::Storing { 2 } else { 1 };
        let dodag_id = self.scenario.addressing().address(0);
        let dio = Dio {
            instance: 0,
            version,
            rank,
            grounded: true,
            mode,
            preference: 0,
            dtsn: self.random.below(256) as u8,
            dodag_id,
        };
        self.say(network, to, from, ALL_NODES, &Message::Dio(dio), &[]);
    }

    /// Sends a DAO from `from` that announces or withdraws a route to `of`.
    fn dao(&mut self, network: &mut Network, to: NodeId, from: u16, of: NodeId, lifetime: u8) {
        let storing = self.scenario.rpl.mode == Mode::Storing;
        let prefix = self.scenario.addressing().address(of);
        let parent = (!storing).then(|| self.scenario.addressing().address(NODES + 5));
        let transit = Transit {
            external: false,
            path_control: 0x80,
            path_sequence: 240 + self.random.below(16) as u8,
            path_lifetime: lifetime,
            parent,
        };
        let target = Target { prefix, prefix_len: 128 };
        let dao = Dao { instance: 0, acknowledge: false, sequence: 240, dodag_id: None };
        let options = [ControlOption::Target(target), ControlOption::Transit(transit)];
        let dst = near(to as u16 + 1);
        self.say(network, to, from, dst, &Message::Dao(dao), &options);
    }

    fn say(
        &mut self,
        network: &mut Network,
        to: NodeId,
        from: u16,
        dst: Ipv6Addr,
        message: &Message,
        options: &[ControlOption<'_>],
    ) {
        let mut body = [0; 100];
        let mut writer = Writer::new(&mut body, message).expect("room");
        for option in options {
            writer.option(option).expect("room");
        }
        let len = writer.len();
        let mut icmp = vec![155, message.code(), 0, 0];
        icmp.extend_from_slice(&body[..len]);
        let header = Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: icmp.len() as u16,
            next_header: protocol::ICMPV6,
            hop_limit: 255,
            src: near(from),
            dst,
        };
        let sum = header.pseudo_header_sum(icmp.len(), protocol::ICMPV6);
        icmpv6::fill_checksum(&mut icmp, sum).expect("room");
        self.sequence = self.sequence.wrapping_add(1);
        hear(network, to, (from, self.sequence), &header, &icmp);
    }

    /// Sends one random forged message to each node.
    fn attack(&mut self, network: &mut Network) {
        let version = rpl(network, 0).info().version;
        for node in 1..NODES {
            let parent = rpl(network, node).parent().map_or(1, |parent| parent.segments()[7]);
            match self.random.below(6) {
                // The parent has lost its route.
                0 => self.dio(network, node, parent, INFINITE_RANK, version),
                // A strong node is close to the root.
                1 => self.dio(network, node, FORGER, 256, version),
                // The DODAG has a new version.
                2 => self.dio(network, node, parent, 512, version.wrapping_add(1)),
                // A node is no longer below a child, or is below the forger.
                3 => {
                    let (child, of) = (1 + self.random.below(29), 1 + self.random.below(29));
                    self.dao(network, node, child as u16 + 1, of as NodeId, 0);
                }
                4 => {
                    let of = 1 + self.random.below(29);
                    self.dao(network, node, FORGER, of as NodeId, 30);
                }
                _ => {
                    // Nodes that do not exist.
                    let of = 1_000 + self.random.below(5_000);
                    self.dao(network, 0, FORGER, of as NodeId, 30);
                }
            }
        }
    }
}

/// Results of a run.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// Datagrams that arrived during the forgeries.
    delivered: u64,
    /// Number of observations at which a node had no parent, or the root did not know all nodes.
    gaps: u32,
}

fn arrived(network: &Network, ends: &[Ends]) -> u64 {
    let sink = |ends: &Ends| app_at::<UdpSink>(network, ends.to).map_or(0, UdpSink::bytes);
    ends.iter().map(sink).sum()
}

/// Nodes that exchange datagrams with the root.
fn talkers() -> impl Iterator<Item = NodeId> {
    (1..NODES).step_by(3)
}

/// Returns true if all nodes have parents, and the root has routes to these `nodes`.
fn knows(network: &Network, mut nodes: impl Iterator<Item = NodeId>) -> bool {
    let known = |node| {
        rpl(network, 0)
            .routes()
            .any(|route| route.target().prefix == rpl(network, node).address().expect("an address"))
    };
    (1..NODES).all(|node| rpl(network, node).parent().is_some()) && nodes.all(known)
}

fn is_whole(network: &Network) -> bool {
    knows(network, 1..NODES)
}

fn run(mode: Mode, security: bool, attacked: bool, seed: u64) -> Outcome {
    let scenario = scenario(mode, security);
    let (mut network, ends) = network(&scenario, seed);
    network.run_until(Instant::from_secs(FROM_S));
    // In storing mode the root has no route to a node immediately after a parent change.
    while !is_whole(&network) {
        assert!(network.now() < Instant::from_secs(FROM_S + PATIENCE_S), "{mode:?} {seed}");
        let next = network.now() + Duration::from_secs(1);
        network.run_until(next);
    }
    let random = stream(seed, 0, Purpose::Fault);
    let mut forger = Forger { scenario: &scenario, random, sequence: 0 };
    let before = arrived(&network, &ends);
    let mut gaps = 0;
    while network.now() < Instant::from_secs(TO_S) {
        if attacked {
            forger.attack(&mut network);
        }
        let next = network.now() + Duration::from_secs(1);
        network.run_until(next);
        gaps += u32::from(!is_whole(&network));
    }
    let delivered = (arrived(&network, &ends) - before) / 20;
    while !knows(&network, talkers()) {
        assert!(network.now() < Instant::from_secs(OVER_S), "{mode:?} {seed}: it is not over");
        let next = network.now() + Duration::from_secs(1);
        network.run_until(next);
    }
    println!(
        "{mode:?} {seed} security {security} attacked {attacked}: {delivered} {gaps}, whole again \
              {} s after the last",
        (network.now() - Instant::from_secs(TO_S)).as_micros() / 1_000_000
    );
    Outcome { delivered, gaps }
}

/// Both modes with seeds from 1 to `seeds`.
fn cases(seeds: u64) -> impl Iterator<Item = (Mode, u64)> {
    let modes = [Mode::Storing, Mode::NonStoring];
    modes.into_iter().flat_map(move |mode| (1..=seeds).map(move |seed| (mode, seed)))
}

#[test]
fn a_node_without_the_key_takes_no_route_from_any_node() {
    for (mode, seed) in cases(2) {
        let calm = run(mode, true, false, seed);
        assert_eq!(run(mode, true, true, seed), calm, "{mode:?} {seed}: as if nobody were there");
    }
}

#[test]
fn without_link_security_forgeries_cost_and_end() {
    for (mode, seed) in cases(12) {
        let [calm, attacked] = [false, true].map(|attacked| run(mode, false, attacked, seed));
        assert!(attacked.gaps > 0, "{mode:?} {seed}: that was no attack");
        assert!(attacked.delivered > 0 && attacked.delivered < calm.delivered, "{attacked:?}");
    }
}
