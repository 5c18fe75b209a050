//! nst-AODV on simulated radios: routes are discovered when packets need them, and again when they
//! break.

use crate::forged::{hear, near};
use kinglet::aodv::{self, Metric};
use kinglet::routing::PORT;
use kinglet::time::{Duration, Instant};
use kinglet::wire::aodv::{RerrWriter, Rrep, Rreq, Unreachable};
use kinglet::wire::icmpv6::Kind;
use kinglet::wire::ipv6::{Header, protocol};
use kinglet::wire::udp;
use kinglet_network::apps::bulk::BulkSink;
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Network, app_at, network};
use kinglet_network::protocols::Tables;
use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::{self as scenario, Addressing, Flow, FlowKind, NodeId, Scenario};
use kinglet_sim::Fault;
use kinglet_sim::rng::{Purpose, Stream, stream};

/// Returns a grid of routers, 8 m apart, in which each receives from the adjacent ones.
fn grid(columns: u32, rows: u32) -> Scenario {
    let text = format!(
        "name = \"aodv\"\nduration_s = 120\n[topology]\ngrid = {{ columns = {columns}, \
         rows = {rows}, spacing_m = 8 }}\n[net]\nrouting = \"aodv\"\n"
    );
    Scenario::from_toml("aodv.toml", &text).expect("a scenario")
}

fn bulk(from: NodeId, to: NodeId, bytes: u64) -> Flow {
    let bytes = Some(bytes);
    let (send_buffer, receive_buffer) = (None, None);
    Flow::new(5.0, FlowKind::TcpBulk { from, to, bytes, send_buffer, receive_buffer })
}

fn aodv(network: &Network, node: usize) -> &aodv::Aodv<Tables> {
    network.device(node).node().routing().aodv().expect("it routes by AODV")
}

/// Returns the nodes on the route from one node to another, by their routing tables; `None` if it
/// is incomplete.
fn path(network: &Network, from: NodeId, to: NodeId) -> Option<Vec<NodeId>> {
    let mut path = vec![from];
    while path.last() != Some(&to) {
        assert!(path.len() <= usize::from(aodv::NET_DIAMETER), "a loop: {path:?}");
        let at = *path.last().expect("it has a beginning");
        path.push(
            NodeId::from(aodv(network, at as usize).next_hop(Addressing::DEFAULT.short(to))?) - 1,
        );
    }
    Some(path)
}

fn hops(network: &Network, from: NodeId, to: NodeId) -> Option<usize> {
    path(network, from, to).map(|path| path.len() - 1)
}

fn simulate(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, seed, &Options::default()).expect("it can be simulated")
}

/// Returns the numbers of messages that all nodes have sent: requests, replies, errors.
fn messages(result: &RunResult) -> [u32; 3] {
    let of = |of: fn(&kinglet_network::run::AodvResult) -> u32| {
        result.nodes.iter().filter_map(|node| node.aodv.as_ref()).map(of).sum()
    };
    [of(|aodv| aodv.rreqs), of(|aodv| aodv.rreps), of(|aodv| aodv.rerrs)]
}

#[test]
fn six_nodes_find_routes_when_tcp_needs_them() {
    for metric in [Metric::HopCount, Metric::PathDr] {
        let mut scenario = grid(3, 2);
        scenario.aodv_metric = metric;
        scenario.flows = vec![bulk(0, 5, 20_000)];
        let (mut network, _) = network(&scenario, 1);
        network.run_until(Instant::from_secs(4));
        assert_eq!(hops(&network, 0, 5), None, "nobody has asked yet");
        network.run_until(Instant::from_secs(6));
        assert_eq!((hops(&network, 0, 5), hops(&network, 5, 0)), (Some(3), Some(3)));
        let result = simulate(&scenario, 1);
        let flow = &result.flows[0];
        assert!(flow.is_well(), "{metric:?}: {flow:?}");
    }
}

#[test]
fn a_route_over_five_hops_is_found_by_one_flood_and_carries_tcp() {
    for seed in 1..=3 {
        let mut scenario = grid(6, 1);
        scenario.flows = vec![bulk(0, 5, 44_000)];
        let result = simulate(&scenario, seed);
        let flow = &result.flows[0];
        assert!(flow.is_well(), "seed {seed}: {flow:?}");
        let first = result.nodes[0].aodv.expect("it routes by AODV");
        println!(
            "seed {seed}: {:.1} kb/s, {:?}",
            flow.goodput_kbps.unwrap_or(0.0),
            messages(&result)
        );
        assert_eq!(first.failed_discoveries, 0, "seed {seed}");
    }
}

#[test]
fn a_host_and_nodes_find_each_other_through_the_border_router() {
    let text = "name = \"outside\"\nduration_s = 120\n[topology]\nline = { hops = 3 }\n[wire]\n\
                [net]\nrouting = \"aodv\"\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 4\nto = 3\nstart_s = 5\nbytes = 10_000\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 4\nstart_s = 60\nbytes = 10_000\n";
    let scenario = Scenario::from_toml("outside.toml", text).expect("a scenario");
    let result = simulate(&scenario, 1);
    for flow in &result.flows {
        assert!(flow.is_well(), "{flow:?}");
    }
}

#[test]
fn a_route_whose_relay_is_gone_is_found_again_elsewhere() {
    for seed in 1..=3 {
        let mut scenario = grid(5, 4);
        scenario.duration_s = 240.0;
        scenario.flows = vec![bulk(0, 19, 60_000)];
        let (mut network, ends) = network(&scenario, seed);
        network.run_until(Instant::from_secs(8));
        let before = path(&network, 0, 19).expect("a way");
        let gone = before[before.len() / 2];
        network.schedule_fault(network.now(), Fault::Partition(vec![gone as usize]));
        let start = network.now();
        // Both ends send packets on the route, and a search of either one renews it for both.
        let searches = |network: &Network| {
            [0, 19].map(|end| aodv(network, end).stats().route_discoveries).iter().sum::<u32>()
        };
        let earlier = searches(&network);
        let around = |network: &Network| {
            searches(network) > earlier
                && path(network, 0, 19).is_some_and(|path| !path.contains(&gone))
        };
        while !around(&network) {
            assert!(network.now() < start + Duration::from_secs(30), "seed {seed}");
            let next = network.now() + Duration::from_millis(100);
            network.run_until(next);
        }
        println!("seed {seed}: {gone} is avoided after {:?}", network.now() - start);
        network.run_until(Instant::from_secs(240));
        let sink = app_at::<BulkSink>(&network, ends[0].to).expect("a sink");
        assert!(sink.received() == 60_000 && sink.intact(), "seed {seed}: {}", sink.received());
    }
}

/// The first connection ends because there is no route to node 5; the next one starts its counters
/// at zero.
#[test]
fn the_counters_of_a_connection_without_a_route_do_not_carry_over() {
    let mut scenario = grid(3, 2);
    scenario.duration_s = 90.0;
    scenario.flows = vec![bulk(0, 5, 5_000)];
    let (from_s, to_s) = (0.0, Some(20.0));
    scenario.faults.push(scenario::Fault::Partition { nodes: vec![5], from_s, to_s });
    let result = simulate(&scenario, 1);
    let flow = &result.flows[0];
    assert!(flow.is_complete());
    let handshake = flow.timeout_causes.map(|causes| causes.handshake);
    assert!(handshake.is_some_and(|count| (1..10).contains(&count)), "{flow:?}");
}

/// Columns 0 to 2 and 3 to 5 receive nothing from each other from the tenth second on.
#[test]
fn a_partitioned_network_notifies_the_sender_and_is_quiet() {
    let mut scenario = grid(6, 5);
    scenario.flows = vec![bulk(0, 29, 200_000)];
    scenario.flows.push(Flow::new(20.0, FlowKind::datagrams(6, 23, 1_000, 20)));
    let (mut network, _) = network(&scenario, 1);
    let side: Vec<usize> = (0..30).filter(|node| node % 6 < 3).collect();
    network.schedule_fault(Instant::from_secs(10), Fault::Partition(side.clone()));
    network.run_until(Instant::from_secs(15));
    let requests = |network: &Network| -> u32 {
        let of = |node| {
            let stats = aodv(network, node).stats();
            stats.requests + stats.relayed_requests
        };
        (0..30).map(of).sum()
    };
    let before = requests(&network);
    network.run_until(Instant::from_secs(115));
    let stats = *aodv(&network, 6).stats();
    println!("{} requests in 100 s; {stats:?}", requests(&network) - before);
    assert!(
        stats.failed_discoveries >= 8 && stats.route_discoveries - stats.failed_discoveries <= 1
    );
    // A search takes 9 s and three floods, and each of fifteen nodes sends each of them once.
    let floods = |searches: u32| searches * 3 * 15;
    let most = floods(stats.route_discoveries + aodv(&network, 0).stats().route_discoveries);
    assert!(requests(&network) - before <= most, "{most}");
    let report = network.with_device(6, |station, _| station.node_mut().datagrams().poll_error());
    let kind = report.map(|report| report.kind);
    assert!(matches!(kind, Some(Kind::DestinationUnreachable { .. })), "{kind:?}");
    network.schedule_fault(network.now(), Fault::Partition(Vec::new()));
    network.run_until(Instant::from_secs(140));
    assert!(hops(&network, 6, 23).is_some(), "together again");
}

/// A node in range of all nodes that forges messages.
struct Forger {
    random: Stream,
    sequence: u8,
}

impl Forger {
    /// Delivers to `to` a message whose source address is the neighbour `from`.
    fn say(&mut self, network: &mut Network, to: NodeId, from: u16, message: &[u8]) {
        let length = (udp::HEADER_LEN + message.len()) as u16;
        let header = Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: length,
            next_header: protocol::UDP,
            hop_limit: 255,
            src: near(from),
            dst: near(Addressing::DEFAULT.short(to)),
        };
        let (src_port, dst_port) = (PORT, PORT);
        let mut datagram = vec![0; udp::HEADER_LEN];
        let head = udp::Header { src_port, dst_port, length, checksum: 0 };
        head.emit(&mut datagram).expect("room");
        datagram.extend_from_slice(message);
        let sum = header.pseudo_header_sum(datagram.len(), protocol::UDP);
        udp::fill_checksum(&mut datagram, sum).expect("room");
        self.sequence = self.sequence.wrapping_add(1);
        hear(network, to, (from, self.sequence), &header, &datagram);
    }

    /// Returns a neighbour of a node, or an address that no node has.
    fn neighbour(&mut self, node: NodeId) -> u16 {
        let near = [1_i32, -1, 6, -6][self.random.below(4) as usize] + node as i32;
        if (0..30).contains(&near) { near as u16 + 1 } else { 0x777 }
    }

    /// Sends one random forged message to each node.
    fn attack(&mut self, network: &mut Network) {
        for to in 0..30 {
            let (from, mut buf) = (self.neighbour(to), [0; 80]);
            let (a, b) = (self.random.below(30) as u16 + 1, self.random.below(30) as u16 + 1);
            let number = self.random.bits();
            let len = match self.random.below(3) {
                0 => {
                    // A search for a node that may not exist, with a large sequence number.
                    let rreq = Rreq {
                        destination_only: true,
                        ttl: 16,
                        hop_count: 0,
                        id: number,
                        destination: if number & 1 == 0 { a } else { 0x700 + a },
                        destination_sequence: Some(number >> 1),
                        originator: b,
                        originator_sequence: number >> 1,
                        path_dr: Some(u16::MAX),
                    };
                    rreq.emit(&mut buf).expect("room");
                    rreq.buffer_len()
                }
                1 => {
                    // All routes lead through the sender of this reply.
                    let rrep = Rrep {
                        hop_count: 0,
                        destination: a,
                        destination_sequence: number >> 1,
                        originator: b,
                        lifetime_ms: u32::MAX,
                        path_dr: Some(u16::MAX),
                    };
                    rrep.emit(&mut buf).expect("room");
                    rrep.buffer_len()
                }
                _ => {
                    let mut writer = RerrWriter::new(&mut buf).expect("room");
                    let lost = Unreachable { destination: a, sequence: number >> 1 };
                    writer.entry(lost).expect("room");
                    writer.len()
                }
            };
            self.say(network, to, from, &buf[..len]);
        }
    }
}

/// Returns the datagrams that arrive in two minutes. In the first one, if `attacked`, messages are
/// forged twice a second at each node. The second one begins after the time for which a lost route
/// is remembered.
fn under_attack(security: bool, attacked: bool, seed: u64) -> [u64; 2] {
    let mut scenario = grid(6, 5);
    scenario.mac.security = security.then_some(scenario.mac.security).flatten();
    let periodic = |(from, to)| Flow::new(5.0, FlowKind::datagrams(from, to, 1_000, 20));
    scenario.flows = [(0, 29), (5, 24), (12, 17), (28, 1), (7, 22)].map(periodic).into();
    let (mut network, ends) = network(&scenario, seed);
    let mut forger = Forger { random: stream(seed, 0, Purpose::Fault), sequence: 0 };
    let arrived = |network: &Network| -> u64 {
        let sink = |ends: &Ends| app_at::<UdpSink>(network, ends.to).map_or(0, UdpSink::bytes);
        ends.iter().map(sink).sum::<u64>() / 20
    };
    let minute = |network: &mut Network, from_s, forger: Option<&mut Forger>| {
        network.run_until(Instant::from_secs(from_s));
        let before = arrived(network);
        if let Some(forger) = forger {
            for half in 0..120 {
                network.run_until(Instant::from_millis(from_s * 1_000 + half * 500));
                forger.attack(network);
            }
        }
        network.run_until(Instant::from_secs(from_s + 60));
        arrived(network) - before
    };
    let during = minute(&mut network, 30, attacked.then_some(&mut forger));
    let after = minute(&mut network, 90 + 310, None);
    println!("{seed} security {security} attacked {attacked}: {during} and {after}");
    [during, after]
}

#[test]
fn a_node_without_the_key_changes_nothing() {
    for seed in 1..=2 {
        let calm = under_attack(true, false, seed);
        assert_eq!(under_attack(true, true, seed), calm, "seed {seed}");
    }
}

#[test]
fn without_link_security_forgeries_cost_and_end() {
    for seed in 1..=4 {
        let [calm, attacked] = [false, true].map(|attacked| under_attack(false, attacked, seed));
        println!("seed {seed}: {calm:?} {attacked:?}");
        assert!(attacked[0] > 0 && attacked[0] < calm[0], "seed {seed}: {calm:?} {attacked:?}");
        assert!(attacked[1] * 100 > calm[1] * 95, "seed {seed}: {calm:?} {attacked:?}");
    }
}
