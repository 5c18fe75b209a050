//! Random networks in which all nodes are duty-cycled: lines and trees whose relays wake a few
//! times a second and forward or reassemble fragments, with and without flash. Links fail, nodes
//! fall silent and nodes restart. Afterwards everything must work as before, without leftovers: no
//! frame in a store, no radio that listens for ever.

use crate::sleepy::{coin, one, progress_of_all, run_with_restarts, trouble};
use kinglet::mac::RadioUse;
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Network, network};
use kinglet_network::profile::PACKETS;
use kinglet_scenario::{
    Flash, Flow, FlowKind, Fragments, NodeId, RadioProfile, Routing, SECURITY, Scenario, Wake,
};
use kinglet_sim::rng::{Purpose, Stream, stream};

/// Faults begin after streams have begun, and end at the second instant.
const BEGIN_S: u64 = 60;
const END_S: u64 = 500;
/// Everything has recovered by this time: a silent neighbour is probed after sixteen failures,
/// which back-offs spread over half a minute, and TCP's longest timeout is 60 s.
const RECOVERED_S: u64 = 1_000;
const STOP_S: u64 = 1_400;
/// Interval between observations; not a multiple of what happens at whole seconds.
const LOOK: Duration = Duration::from_micros(637_017);
/// Share of the observations at which the radio of each node must be off. A datagram crosses a
/// relay every few seconds during that time.
const OFF: f64 = 0.8;

fn draw(random: &mut Stream) -> Scenario {
    let hops = 2 + random.below(4);
    let mut scenario = Scenario::default().on_line(hops, 8.0);
    scenario.radio.profile = one(random, &[RadioProfile::Nrf52840, RadioProfile::Cc2420Contiki]);
    scenario.radio.drift_ppm = one(random, &[0, 20, 40]);
    scenario.medium.frame_loss = f64::from(random.below(4)) * 0.1;
    scenario.fragments = one(random, &[Fragments::Forwarded, Fragments::Reassembled]);
    scenario.flash = one(random, &[Flash::None, Flash::M25p80]);
    scenario.mac.security = coin(random).then_some(SECURITY);
    if random.below(4) == 0 {
        scenario.routing = Routing::Rpl;
    }
    let mut wake = Wake { border_duty_cycled: coin(random), ..Wake::DEFAULT };
    wake.channels = one(random, &[1, 1, 4]);
    wake.settings.period = Duration::from_micros(1_000_000 / one(random, &[4, 8, 16]));
    wake.settings.burst = Duration::from_millis(one(random, &[0, 400, 2_000]));
    wake.settings.sleeps_in_gaps = coin(random);
    wake.settings.max_attempts = one(random, &[None, None, Some(20)]);
    scenario.wake = Some(wake);
    let bulk = |from, to| FlowKind::TcpBulk {
        from,
        to,
        bytes: Some(10_000),
        send_buffer: None,
        receive_buffer: None,
    };
    let end = hops;
    let streams = [vec![bulk(end, 0)], vec![bulk(0, end)], vec![bulk(end, 0), bulk(0, end)]];
    let streams = streams[random.below(3) as usize].clone();
    let all = [FlowKind::datagrams(end, 0, 7_000, 80), FlowKind::datagrams(0, end, 11_000, 300)];
    scenario.flows.extend(streams.into_iter().chain(all).map(|kind| Flow::new(30.0, kind)));
    scenario
}

/// Resources in use at a node: each of these must be zero at some time.
fn in_use(network: &Network, node: usize) -> [(&'static str, usize); 5] {
    let stack = network.device(node).node();
    let info = stack.info();
    [
        ("slots of the MAC", info.mac.slots_used),
        ("packets", PACKETS - info.net.free_packets),
        ("queued packets", info.net.queued),
        ("reassemblies", info.net.reassemblies),
        ("frames in the store", stack.net().relayed_waiting()),
    ]
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
    let restarted = |node: NodeId| restarts.iter().any(|(_, n)| *n == node);
    run_with_restarts(&mut net, &scenario, &restarts, seed);
    net.run_until(Instant::from_secs(RECOVERED_S));
    let count = |net: &Network| progress_of_all(net, &scenario, &ends);
    let before = count(&net);
    let nodes = net.nodes();
    let mut least: Vec<_> = (0..nodes).map(|node| in_use(&net, node)).collect();
    let (mut looks, mut off) = (0_u32, vec![0_u32; nodes]);
    while net.now() < Instant::from_secs(STOP_S) {
        net.run_until(net.now() + LOOK);
        looks += 1;
        for node in 0..nodes {
            for (least, now) in least[node].iter_mut().zip(in_use(&net, node)) {
                least.1 = least.1.min(now.1);
            }
            let radio = net.device(node).node().info().mac.radio;
            off[node] += u32::from(radio == RadioUse::Off);
        }
    }
    let mut wrong = Vec::new();
    let counts = before.into_iter().zip(count(&net));
    for (flow, (before, after)) in scenario.flows.iter().zip(counts) {
        let (from, to) = flow.kind.ends();
        let works = match flow.kind {
            // A restarted node has lost its connection.
            FlowKind::TcpBulk { bytes, .. } => {
                restarted(from) || to.is_some_and(restarted) || Some(after) == bytes
            }
            _ => after > before,
        };
        if !works {
            wrong.push(format!("{:?}: {before} and then {after}", flow.kind));
        }
    }
    for (node, least) in least.iter().enumerate() {
        let kept = least.iter().filter(|(_, least)| *least > 0);
        wrong.extend(kept.map(|(what, least)| format!("node {node} keeps {least} {what}")));
    }
    let sleeps =
        |node: usize| node > 0 || scenario.wake.is_some_and(|wake| wake.border_duty_cycled);
    for (node, off) in off.iter().enumerate().filter(|(node, _)| sleeps(*node)) {
        if f64::from(*off) < OFF * f64::from(looks) {
            wrong.push(format!("of {looks} looks, node {node} was off at {off}"));
        }
        let stats = net.device(node).node().mac().wake_stats();
        if stats.is_none_or(|stats| stats.endless > 0) {
            wrong.push(format!("node {node} left a burst: {stats:?}"));
        }
    }
    // The simulator loses no event, and no radio may be taken for one that does.
    let silent = |node: &usize| net.device(*node).node().mac().stats().radio_silent > 0;
    let silent: Vec<usize> = (0..nodes).filter(silent).collect();
    if !silent.is_empty() {
        wrong.push(format!("the radios of {silent:?} were reset"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong:#?} in {scenario:?}")) }
}
