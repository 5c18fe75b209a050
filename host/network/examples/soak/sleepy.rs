//! Random networks of sleepy nodes in which links fail, nodes fall silent and nodes restart.
//! Afterwards everything must work as before, without leftovers: no packet in a buffer, no leaf
//! that listens for ever, no leaf that no longer polls.

use kinglet::Polling;
use kinglet::mac::{Indirect, RadioUse};
use kinglet::net::{QueueDiscipline, Red};
use kinglet::tcp::ConnectionError;
use kinglet::time::{Duration, Instant};
use kinglet_network::apps::bulk::{BulkSender, BulkSink};
use kinglet_network::apps::coap::CoapClient;
use kinglet_network::apps::http_client::HttpClient;
use kinglet_network::apps::sense::ReadingSink;
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Network, app_at, network, restart};
use kinglet_network::profile::PACKETS;
use kinglet_scenario::{
    Carrier, Flow, FlowKind, MAC, Method, NodeId, RadioProfile, Routing, SECURITY, Scenario,
    Sensor, Tcp, base_of, csl_every, polling_every, tcplp,
};
use kinglet_sim::Fault;
use kinglet_sim::rng::{Purpose, Stream, stream};

/// Beginning of the faults.
const BEGIN_S: u64 = 120;
/// End of the faults.
const END_S: u64 = 900;
/// Everything has recovered by this time. TCP's longest timeout is 60 s, a leaf that has lost its
/// parent silently detects that when it polls, at least every 240 s, and mesh neighbours age for
/// 100 s.
const RECOVERED_S: u64 = 1_600;
const STOP_S: u64 = 2_200;
/// Interval between observations; not a multiple of what happens at whole seconds.
const LOOK: Duration = Duration::from_micros(1_037_017);
/// The leaves of the office.
const LEAVES: std::ops::Range<NodeId> = 11..15;

/// Returns one of several values.
pub(crate) fn one<T: Copy>(random: &mut Stream, of: &[T]) -> T {
    of[random.below(of.len() as u32) as usize]
}

pub(crate) fn coin(random: &mut Stream) -> bool {
    random.below(2) == 1
}

/// Draws a network, its settings and its applications.
fn draw(random: &mut Stream) -> Scenario {
    let mut scenario = Scenario::office();
    if coin(random) {
        scenario = scenario.by_day();
    }
    scenario.start_hour = f64::from(random.below(24));
    if coin(random) {
        scenario.routing = Routing::Mesh;
        if coin(random) {
            scenario.nodes.iter_mut().for_each(|node| node.parent = None);
        }
    }
    scenario.medium.frame_loss = f64::from(random.below(4)) * 0.03;
    scenario.radio.drift_ppm = one(random, &[0, 20]);
    if coin(random) {
        scenario.radio.profile = RadioProfile::Nrf52840;
        if coin(random) {
            scenario.mac.csl = Some(csl_every(one(random, &[50, 250, 1_000])));
        }
    }
    if let Some(wire) = &mut scenario.wire {
        wire.loss = f64::from(random.below(3)) * 0.05;
        wire.duplicate = f64::from(random.below(2)) * 0.05;
        wire.reorder = f64::from(random.below(2)) * 0.1;
    }
    settings(&mut scenario, random);
    flows(&mut scenario, random);
    // A leaf without incoming requests may sleep for minutes; with others the senders would give
    // up.
    let called = scenario.flows.iter().any(|flow| match flow.kind.ends() {
        (node, None) => LEAVES.contains(&node),
        (_, Some(to)) => LEAVES.contains(&to),
    });
    let intervals: &[u64] = if called { &[250, 1_000, 5_000] } else { &[20_000, 240_000] };
    let base = Duration::from_millis(one(random, intervals));
    scenario.polling = polling_every(scenario.polling, base);
    scenario
}

fn settings(scenario: &mut Scenario, random: &mut Stream) {
    let Scenario { mac, polling, net, tcp: Tcp { connection, .. }, .. } = scenario;
    let ms = Duration::from_millis;
    mac.retry_delay_max = ms(one(random, &[0, 20, 40]));
    mac.adaptive_retry_delay = coin(random);
    mac.security = coin(random).then_some(SECURITY);
    mac.max_frame_retries = one(random, &[3, 7]);
    *polling = one(random, &[Polling::TCPLP, Polling::DEFAULT]);
    mac.data_request_timeout = ms(one(random, &[20, 100]));
    mac.indirect = one(random, &[MAC.indirect, tcplp::INDIRECT, Indirect::DEFAULT]);
    net.queue = one(random, &[QueueDiscipline::TailDrop, QueueDiscipline::Red(Red::DEFAULT)]);
    net.queue_limit = one(random, &[4, 10]);
    connection.pacing = coin(random);
    connection.ecn = coin(random);
    connection.timestamps = coin(random);
    connection.link_losses = coin(random);
    connection.adaptive_mss = coin(random);
    let (every, delay) = one(random, &[(1, 0), (2, 100), (4, 400)]);
    (connection.ack_every, connection.delayed_ack) = (every, ms(delay));
}

/// Flows on three of the leaves; the fourth one only sleeps.
fn flows(scenario: &mut Scenario, random: &mut Stream) {
    let host = scenario.host();
    for leaf in LEAVES.take(3) {
        let kinds = match random.below(6) {
            0 => vec![bulk(leaf, host), bulk(host, leaf)],
            1 => vec![
                FlowKind::datagrams(leaf, host, 7_000, 80),
                FlowKind::datagrams(host, leaf, 9_000, 80),
            ],
            2 => {
                let fast_open = coin(random);
                let (bytes, pause_ms) = (one(random, &[82, 2_000]), 20_000);
                let (from, to, port) = (host, leaf, 80);
                let client = FlowKind::HttpClient { from, to, port, bytes, pause_ms, fast_open };
                vec![FlowKind::HttpServer { node: leaf, port }, client]
            }
            3 => {
                let block_bytes = one(random, &[64, 512]);
                let server = FlowKind::CoapServer { node: leaf, port: 5683, block_bytes };
                let client = FlowKind::CoapClient {
                    from: host,
                    to: leaf,
                    port: 5683,
                    method: one(random, &[Method::Get, Method::Put]),
                    bytes: one(random, &[82, 2_000]),
                    block_bytes,
                    pause_ms: 20_000,
                    rto: one(random, &[kinglet_coap::Rto::Plain, kinglet_coap::Rto::Cocoa]),
                    ack_timeout_ms: 2_000,
                };
                vec![server, client]
            }
            _ => {
                let (_, carrier) = one(random, &Carrier::ALL);
                let batch = one(random, &[1, 16]);
                let sensor = Sensor { batch, period_ms: 4_000, ..Sensor::new(leaf, host, carrier) };
                vec![FlowKind::Anemometer(sensor)]
            }
        };
        scenario.flows.extend(kinds.into_iter().map(|kind| Flow::new(60.0, kind)));
    }
}

fn bulk(from: NodeId, to: NodeId) -> FlowKind {
    FlowKind::TcpBulk { from, to, bytes: Some(20_000), send_buffer: None, receive_buffer: None }
}

/// Schedules failures of links and nodes, from `begin_s` to `end_s`; returns the restarts of nodes
/// with their times.
pub(crate) fn trouble(
    network: &mut Network,
    scenario: &Scenario,
    random: &mut Stream,
    (begin_s, end_s): (u64, u64),
) -> Vec<(Instant, NodeId)> {
    let nodes = scenario.nodes.len() as u32;
    let mut at = begin_s;
    let mut restarts = Vec::new();
    loop {
        let (pause, lasts) = (u64::from(random.below(100)), 5 + u64::from(random.below(150)));
        let (from, to) = (Instant::from_secs(at + pause), Instant::from_secs(at + pause + lasts));
        at += pause + lasts;
        if at >= end_s {
            return restarts;
        }
        match random.below(4) {
            // With security a restarted node must know its last frame counter, and scenarios have
            // no setting for it.
            0 if scenario.mac.security.is_none() => restarts.push((from, random.below(nodes))),
            0 | 1 => {
                let (a, b) = (random.below(nodes) as usize, random.below(nodes) as usize);
                network.schedule_fault(from, Fault::LinkLoss { from: a, to: b, loss: 0.7 });
                network.schedule_fault(to, Fault::LinkLoss { from: a, to: b, loss: 0.0 });
            }
            _ => {
                let silent = (0..nodes).filter(|_| random.below(5) == 0);
                network
                    .schedule_fault(from, Fault::Partition(silent.map(|n| n as usize).collect()));
                network.schedule_fault(to, Fault::Partition(Vec::new()));
            }
        }
    }
}

/// Runs until after the last restart; each node restarts at its time.
pub(crate) fn run_with_restarts(
    net: &mut Network,
    scenario: &Scenario,
    restarts: &[(Instant, NodeId)],
    seed: u64,
) {
    for (life, (at, node)) in (1..).zip(restarts) {
        net.run_until(*at);
        restart(net, scenario, *node, seed ^ life << 32);
    }
}

/// Progress of each flow so far.
pub(crate) fn progress_of_all(net: &Network, scenario: &Scenario, ends: &[Ends]) -> Vec<u64> {
    scenario.flows.iter().zip(ends).map(|(flow, ends)| progress(net, flow, *ends)).collect()
}

/// Progress of a flow so far.
fn progress(network: &Network, flow: &Flow, ends: Ends) -> u64 {
    let (from, to) = (ends.from, ends.to);
    let count = match flow.kind {
        FlowKind::TcpBulk { .. } => app_at::<BulkSink>(network, to).map(BulkSink::received),
        FlowKind::Udp(_) => app_at::<UdpSink>(network, to).map(|sink| sink.received().into()),
        FlowKind::HttpClient { .. } => {
            app_at::<HttpClient>(network, from).map(|client| client.answered().len() as u64)
        }
        FlowKind::CoapClient { .. } => {
            app_at::<CoapClient>(network, from).map(|client| client.answered().len() as u64)
        }
        FlowKind::Anemometer(_) => {
            // A restarted sensor counts its readings from the first again.
            let count = |sink: &ReadingSink| sink.delivered() + sink.duplicates();
            app_at::<ReadingSink>(network, to).map(|sink| count(sink).into())
        }
        // Servers, and flows that these networks do not have.
        FlowKind::Snack { .. }
        | FlowKind::Pip(_)
        | FlowKind::Services { .. }
        | FlowKind::HttpServer { .. }
        | FlowKind::CoapServer { .. } => None,
    };
    count.unwrap_or(0)
}

/// Resources in use at a node: each of these must be zero at some time.
fn in_use(network: &Network, node: usize) -> [(&'static str, usize); 6] {
    let info = network.device(node).node().info();
    [
        ("slots of the MAC", info.mac.slots_used),
        ("packets", PACKETS - info.net.free_packets),
        ("queued packets", info.net.queued),
        ("packets for children", info.net.indirect),
        ("packets for the host", info.net.host_queued),
        ("reassemblies", info.net.reassemblies),
    ]
}

/// Observes the last part of a run.
struct Watch {
    least: Vec<[(&'static str, usize); 6]>,
    looks: u32,
    /// Number of observations at which the radio of each leaf was off.
    off: Vec<u32>,
    longest_silence: Duration,
}

impl Watch {
    fn new(network: &Network) -> Self {
        let least = (0..network.nodes()).map(|node| in_use(network, node)).collect();
        Watch { least, looks: 0, off: vec![0; LEAVES.len()], longest_silence: Duration::ZERO }
    }

    fn look(&mut self, network: &Network) {
        self.looks += 1;
        for (node, least) in self.least.iter_mut().enumerate() {
            for (least, now) in least.iter_mut().zip(in_use(network, node)) {
                least.1 = least.1.min(now.1);
            }
        }
        for (leaf, off) in LEAVES.zip(&mut self.off) {
            let node = network.device(leaf as usize).node();
            let radio = node.info().mac.radio;
            *off += u32::from(matches!(radio, RadioUse::Off | RadioUse::Sampling));
            let last = node.last_data_request().unwrap_or(Instant::ZERO);
            self.longest_silence = self.longest_silence.max(network.now() - last);
        }
    }
}

/// Simulates one network.
///
/// # Errors
/// What was wrong with it.
pub(crate) fn live(seed: u64) -> Result<(), String> {
    let random = &mut stream(seed, 0, Purpose::Placement);
    let scenario = draw(random);
    let (mut net, ends) = network(&scenario, seed);
    let restarts = trouble(&mut net, &scenario, random, (BEGIN_S, END_S));
    // The host is behind the border router, and restarts together with it.
    let site = |node: NodeId| if node == scenario.host() { 0 } else { node };
    let restarted = |node: NodeId| restarts.iter().any(|(_, n)| *n == site(node));
    run_with_restarts(&mut net, &scenario, &restarts, seed);
    net.run_until(Instant::from_secs(RECOVERED_S));
    let count = |net: &Network| progress_of_all(net, &scenario, &ends);
    let before = count(&net);
    let mut watch = Watch::new(&net);
    while net.now() < Instant::from_secs(STOP_S) {
        net.run_until(net.now() + LOOK);
        watch.look(&net);
    }
    let mut wrong = Vec::new();
    let counts = before.into_iter().zip(count(&net));
    for ((flow, ends), (before, after)) in scenario.flows.iter().zip(&ends).zip(counts) {
        let (from, to) = flow.kind.ends();
        let works = match flow.kind {
            FlowKind::Services { .. }
            | FlowKind::HttpServer { .. }
            | FlowKind::CoapServer { .. } => true,
            // A transfer is not completed in three cases: one of its ends restarted, its connection
            // was refused because a router had no route for a moment (RFC 5461, 4), or TCP gave up
            // during the faults (R2 of RFC 9293, 3.8.3).
            FlowKind::TcpBulk { bytes, .. } => {
                let info = app_at::<BulkSender>(&net, ends.from).and_then(BulkSender::info);
                let gone = info.is_some_and(|info| match info.error {
                    Some(ConnectionError::Unreachable) => info.bytes_acked == 0,
                    Some(ConnectionError::TimedOut) => info.last_sent < Instant::from_secs(END_S),
                    _ => false,
                });
                let ended = gone || restarted(from) || to.is_some_and(restarted);
                ended || Some(after) == bytes
            }
            FlowKind::Anemometer(Sensor { carrier, .. }) => match carrier {
                // The loss notification of the ideal protocol is outside the network: a restarted
                // sender or sink has its own.
                Carrier::Ideal if restarted(from) || to.is_some_and(restarted) => true,
                // Its timeouts grow to minutes, as this variant is meant to show.
                Carrier::Coap(kinglet_coap::Rto::CocoaAsMeasured) => true,
                _ => after > before,
            },
            _ => after > before,
        };
        if !works {
            let info = app_at::<BulkSender>(&net, ends.from).map(BulkSender::info);
            wrong.push(format!("{:?}: {before} and then {after}; {info:?}", flow.kind));
        }
    }
    for (node, least) in watch.least.iter().enumerate() {
        let kept = least.iter().filter(|(_, least)| *least > 0);
        wrong.extend(kept.map(|(what, least)| format!("node {node} keeps {least} {what}")));
    }
    let interval = base_of(scenario.polling);
    // A parent that does not respond is polled again within seconds.
    if watch.longest_silence > interval + Duration::from_secs(15) {
        wrong.push(format!("a leaf has not asked for {:?}", watch.longest_silence));
    }
    // A transfer or a lost response may keep a leaf awake, but not for half of the time.
    if watch.off.iter().any(|off| *off < watch.looks / 2) {
        wrong.push(format!("of {} looks, leaves were off at {:?}", watch.looks, watch.off));
    }
    // The simulator loses no event, and no radio may be taken for one that does.
    let silent = |node: &usize| net.device(*node).node().mac().stats().radio_silent > 0;
    let silent: Vec<usize> = (0..net.nodes()).filter(silent).collect();
    if !silent.is_empty() {
        wrong.push(format!("the radios of {silent:?} were reset"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong:#?} in {scenario:?}")) }
}
