//! Runs a network and reads the results off it.

use crate::apps::bulk::{BulkSender, BulkSink};
use crate::apps::udp::{UdpSender, UdpSink};
use crate::build::{Ends, Network, app_at, network, payload_of};
use crate::plan::{BUFFER, CONNECTIONS, LISTENERS, ROUTES, UDP_SOCKETS};
use crate::run::{
    Activity, ActivityKind, CwndSample, FlowResult, NodeResult, Options, RunError, RunResult,
};
use crate::scenario::{Fault, FlowKind, NodeId, Scenario};
use kinglet::time::{Duration, Instant};
use kinglet_sim::observe::Trace;
use kinglet_sim::pcap::Pcap;
use kinglet_sim::timeline::{Kind, Timeline};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;

/// How often cancellation is looked for, in simulated time.
const SLICE: Duration = Duration::from_secs(10);
/// Intervals of a timeline; half a second of four busy radios has some hundred.
const MAX_INTERVALS: usize = 20_000;
/// Supply voltage for energy: two AA cells, and inside of what these radios take (1.8 to 3.6 V).
const VOLTS: f64 = 3.0;

fn instant(seconds: f64) -> Instant {
    Instant::from_micros((seconds * 1e6).round() as u64)
}

pub(crate) fn simulate(
    scenario: &Scenario,
    seed: u64,
    options: &Options<'_>,
) -> Result<RunResult, RunError> {
    let (mut world, ends) = prepare(scenario, seed)?;
    observe(&mut world, options)?;
    let clock = std::time::Instant::now();
    advance(&mut world, instant(scenario.duration_s), options);
    let wall_seconds = clock.elapsed().as_secs_f64();
    let sim_seconds = world.now().as_micros() as f64 / 1e6;
    let timeline = world.set_timeline(None);
    let flows = scenario.flows.iter().zip(&ends);
    let flows =
        flows.map(|(f, e)| flow_result(&world, &f.kind, f.start_s, *e, sim_seconds)).collect();
    Ok(RunResult {
        flows,
        nodes: (0..scenario.nodes.len()).map(|n| node_result(&mut world, n)).collect(),
        sim_seconds,
        wall_seconds,
        events: world.events(),
        cwnd: if options.cwnd { windows(&world, &ends) } else { Vec::new() },
        timeline: timeline.map(|t| activity(&t)).unwrap_or_default(),
    })
}

pub(crate) fn prepare(scenario: &Scenario, seed: u64) -> Result<(Network, Vec<Ends>), RunError> {
    check(scenario)?;
    let (mut world, ends) = network(scenario, seed);
    add_faults(&mut world, scenario);
    Ok((world, ends))
}

/// Refuses what cannot be simulated, rather than leaving it out.
fn check(scenario: &Scenario) -> Result<(), RunError> {
    let payload = usize::from(payload_of(scenario));
    let tcp = &scenario.tcp;
    let mut buffers = vec![tcp.send_buffer, tcp.receive_buffer];
    for flow in &scenario.flows {
        if let FlowKind::TcpBulk { send_buffer, receive_buffer, .. } = &flow.kind {
            buffers.extend(send_buffer.iter().chain(receive_buffer));
        }
    }
    let largest = buffers.iter().map(|b| b.bytes(payload)).max().unwrap_or(0);
    if largest > BUFFER {
        return Err(RunError::Unsupported(format!(
            "a TCP buffer of {largest} octets; {BUFFER} are possible, which is {} segments",
            BUFFER / payload.max(1)
        )));
    }
    check_tables(scenario)
}

/// Refuses more sockets, connections or routes on one node than its tables hold.
fn check_tables(scenario: &Scenario) -> Result<(), RunError> {
    type Count = BTreeMap<NodeId, usize>;
    let (mut udp, mut connections, mut listeners) = (Count::new(), Count::new(), Count::new());
    let mut routes = Count::new();
    let one = |count: &mut Count, node: NodeId| *count.entry(node).or_default() += 1;
    for flow in &scenario.flows {
        match flow.kind {
            FlowKind::TcpBulk { from, to, .. } => {
                one(&mut connections, from);
                one(&mut connections, to);
                one(&mut listeners, to);
            }
            FlowKind::UdpPeriodic { from, to, .. } => {
                one(&mut udp, from);
                one(&mut udp, to);
            }
            FlowKind::HttpServer { node, .. } => one(&mut listeners, node),
        }
    }
    // One more for the default route.
    scenario.routes().iter().for_each(|route| one(&mut routes, route.node));
    for (count, limit, what) in [
        (udp, UDP_SOCKETS, "datagram sockets"),
        (connections, CONNECTIONS, "TCP connections"),
        (listeners, LISTENERS, "listening ports"),
        (routes, ROUTES - 1, "routes"),
    ] {
        if let Some((node, needed)) = count.into_iter().find(|(_, needed)| *needed > limit) {
            let what = format!("{needed} {what} on node {node}; {limit} are possible");
            return Err(RunError::Unsupported(what));
        }
    }
    Ok(())
}

fn add_faults(world: &mut Network, scenario: &Scenario) {
    for fault in &scenario.faults {
        let Fault::Partition { nodes, from_s, to_s } = fault;
        let side = nodes.iter().map(|n| *n as usize).collect();
        world.schedule_fault(instant(*from_s), kinglet_sim::Fault::Partition(side));
        world.schedule_fault(instant(*to_s), kinglet_sim::Fault::Partition(Vec::new()));
    }
}

fn observe(world: &mut Network, options: &Options<'_>) -> Result<(), RunError> {
    if let Some(path) = &options.pcap {
        let pcap = Pcap::new(create(path)?).map_err(|e| output_error(path, e))?;
        world.set_pcap(Some(pcap));
    }
    if let Some(path) = &options.trace {
        world.set_trace(Some(Trace::Writer(create(path)?)));
    }
    if let Some((from, to)) = options.timeline_s {
        world.set_timeline(Some(Timeline::new(instant(from), instant(to), MAX_INTERVALS)));
    }
    Ok(())
}

fn create(path: &Path) -> Result<Box<dyn Write + Send>, RunError> {
    let file = File::create(path).map_err(|e| output_error(path, e))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn output_error(path: &Path, error: std::io::Error) -> RunError {
    RunError::Output { path: path.to_path_buf(), error }
}

/// Runs to `end`, in slices between which cancellation is seen.
fn advance(world: &mut Network, end: Instant, options: &Options<'_>) {
    let cancelled = || options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    while world.now() < end && !cancelled() {
        let next = world.now() + SLICE;
        world.run_until(next.min(end));
    }
}

fn sender(world: &Network, ends: Ends) -> Option<&BulkSender> {
    app_at(world, ends.from)
}

fn flow_result(
    world: &Network,
    kind: &FlowKind,
    start_s: f64,
    ends: Ends,
    sim_seconds: f64,
) -> FlowResult {
    let (from, to) = (ends.from.node, ends.to.node);
    match kind {
        FlowKind::TcpBulk { bytes, .. } => {
            let base = FlowResult { kind: "tcp-bulk", from, to, ..FlowResult::default() };
            let sink = app_at::<BulkSink>(world, ends.to);
            let (Some(sender), Some(sink)) = (sender(world, ends), sink) else { return base };
            bulk_result(base, sender, sink, *bytes, start_s, sim_seconds)
        }
        FlowKind::UdpPeriodic { .. } => {
            let base = FlowResult { kind: "udp-periodic", from, to, ..FlowResult::default() };
            let sender = app_at::<UdpSender>(world, ends.from);
            let sink = app_at::<UdpSink>(world, ends.to);
            let (Some(sender), Some(sink)) = (sender, sink) else { return base };
            let sent = u64::from(sender.sent()) + u64::from(sender.refused());
            let received = u64::from(sink.received());
            let seconds = (sim_seconds - start_s).max(0.0);
            FlowResult {
                bytes: sink.bytes(),
                seconds,
                goodput_kbps: rate_kbps(sink.bytes(), seconds),
                segments_sent: sent,
                segments_received: received,
                segment_loss: lost_share(sent, received),
                intact: true,
                complete: true,
                ..base
            }
        }
        FlowKind::HttpServer { .. } => {
            FlowResult { kind: "http-server", from, to, intact: true, ..FlowResult::default() }
        }
    }
}

fn bulk_result(
    base: FlowResult,
    sender: &BulkSender,
    sink: &BulkSink,
    limit: Option<u64>,
    start_s: f64,
    sim_seconds: f64,
) -> FlowResult {
    // An endless transfer is measured to the end, one of given size to its last octet.
    let end_s = match limit {
        Some(_) => sink.last().as_micros() as f64 / 1e6,
        None => sim_seconds,
    };
    let seconds = (end_s - start_s).max(0.0);
    let base = FlowResult {
        bytes: sink.received(),
        seconds,
        goodput_kbps: rate_kbps(sink.received(), seconds),
        rtt_ms: sender.mean_rtt_ms(),
        intact: sink.intact(),
        complete: limit.is_none_or(|limit| sink.finished() && sink.received() == limit),
        ..base
    };
    let Some(info) = sender.info() else { return base };
    let counters = info.counters;
    // What is on its way at the end is neither lost nor received: unacknowledged, less what the
    // receiver has but has not acknowledged.
    let unacknowledged = sink.received().saturating_sub(u64::from(info.bytes_acked));
    let flying = u64::from(info.bytes_in_flight).saturating_sub(unacknowledged);
    let flying = flying.div_ceil(u64::from(info.mss.max(1)));
    let sent = u64::from(counters.segments_sent).saturating_sub(flying);
    let received = sink.info().map_or(0, |i| u64::from(i.counters.segments_received));
    FlowResult {
        segments_sent: sent,
        segments_received: received,
        segment_loss: lost_share(sent, received),
        retransmissions: u64::from(counters.fast_retransmits)
            + u64::from(counters.timeout_retransmits),
        fast_retransmissions: u64::from(counters.fast_recoveries),
        timeouts: u64::from(counters.timeouts),
        mss: info.mss,
        ..base
    }
}

fn rate_kbps(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds / 1e3 } else { 0.0 }
}

fn lost_share(sent: u64, received: u64) -> f64 {
    if sent == 0 { 0.0 } else { sent.saturating_sub(received) as f64 / sent as f64 }
}

fn node_result(world: &mut Network, node: usize) -> NodeResult {
    let energy = world.energy(node);
    let frames_sent = world.counters(node).frames_sent;
    let mac = *world.device(node).node().mac().stats();
    let full = kinglet::net::Discard::QueueFull;
    let none = kinglet::net::Discard::NoBuffer;
    let net = world.with_device(node, |station, _| {
        let stats = station.node_mut().net().stats();
        u64::from(stats.discarded(full)) + u64::from(stats.discarded(none))
    });
    NodeResult {
        id: node as NodeId,
        frames_sent,
        frames_failed: u64::from(mac.no_ack) + u64::from(mac.channel_access_failure),
        queue_drops: net,
        duty_cycle: energy.radio.duty_cycle(),
        energy_mj: energy.radio_uc * VOLTS / 1e3,
        cpu_duty_cycle: energy.cpu_duty_cycle(),
        cpu_mj: energy.cpu_uc * VOLTS / 1e3,
        cpu_work: energy.cpu_work,
    }
}

fn windows(world: &Network, ends: &[Ends]) -> Vec<CwndSample> {
    let mut samples = Vec::new();
    for (flow, ends) in (0..).zip(ends) {
        for window in sender(world, *ends).map(BulkSender::windows).unwrap_or_default() {
            samples.push(CwndSample {
                flow,
                at_s: window.at.as_micros() as f64 / 1e6,
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
            });
        }
    }
    samples
}

fn activity(timeline: &Timeline) -> Vec<Activity> {
    let kind = |kind| match kind {
        Kind::Send => Some(ActivityKind::Transmit),
        Kind::SendAck => Some(ActivityKind::Ack),
        Kind::Receive => Some(ActivityKind::Receive),
        Kind::Collision => Some(ActivityKind::Collision),
        _ => None,
    };
    let interval = |i: &kinglet_sim::timeline::Interval| {
        let kind = kind(i.kind)?;
        Some(Activity { node: i.node, from_us: i.start_us, to_us: i.end_us, kind })
    };
    timeline.intervals().iter().filter_map(interval).collect()
}
