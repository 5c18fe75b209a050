//! Runs a network and reads the results.

use super::activity;
use super::deaths::Deaths;
use super::losses::Lost;
use super::nodes::node_result;
use super::observed::{Observed, Seen, inside, instant};
use super::pairs::{Following, drawn, given_hops};
use super::pip;
use super::samples::Sampling;
use super::{
    CwndSample, FlowResult, NodeResult, Options, Reasons, RunError, RunResult, SCHEMA, Tree,
};
use crate::apps::bulk::BulkSender;
use crate::build::{Ends, NODE_BYTES, Network, network_of_life, payload_of};
use crate::flows::{self, Need};
use crate::profile::{BUFFER, CHILDREN, ROUTES};
use crate::protocols::{MESH_LEAVES, MESH_ROUTERS, RPL_TARGETS};
use crate::tree::{NextHops, Sampler, links};
use kinglet::mesh::UNREACHABLE;
use kinglet::time::{Duration, Instant};
use kinglet_scenario::{Fault, FlowKind, NodeId, Role, Routing, Scenario};
use kinglet_sim::timeline::Timeline;
use kinglet_sim::{Device, World};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Interval between checks for cancellation, in simulated time.
const SLICE: Duration = Duration::from_secs(10);

pub(super) fn simulate(
    scenario: &Scenario,
    seed: u64,
    options: &Options<'_>,
) -> Result<RunResult, RunError> {
    refuse_tunnel(scenario)?;
    let clock = std::time::Instant::now();
    let scenario = &*drawn(scenario, seed)?;
    check(scenario)?;
    pip::check_options(scenario, options)?;
    if let Some(file) = pip::file_of(scenario) {
        return Ok(pip::simulate(scenario, file, seed));
    }
    let (mut world, ends) = prepare(scenario, seed, seed)?;
    let setup_seconds = clock.elapsed().as_secs_f64();
    let observed = Observed::begin(&mut world, (scenario, seed), options)?;
    let clock = std::time::Instant::now();
    let follows = options.tree || scenario.routing == Routing::Rpl;
    let mut sampler = follows.then(|| Sampler::new(scenario));
    let mut following = Following::new(scenario);
    let mut deaths = Deaths::new(scenario);
    let mut lost = Lost::new(scenario);
    let mut sampling = options.samples.then(|| Sampling::new(scenario, &ends));
    let end = instant(scenario.duration_s);
    let lasts = |world: &Network, flow: usize| under_way(world, scenario, &ends, flow);
    let looks = Looks {
        tree: sampler.as_mut(),
        samples: sampling.as_mut(),
        following: following.as_mut(),
        deaths: deaths.as_mut(),
        lost: lost.as_mut(),
    };
    advance(&mut world, end, options, scenario, looks, &lasts);
    let samples = sampling.map(Sampling::into_samples).unwrap_or_default();
    let wall_seconds = clock.elapsed().as_secs_f64();
    let sim_seconds = world.now().as_micros() as f64 / 1e6;
    let timeline = activity::end(&mut world);
    let Seen { lanes, cut_short, identities } = observed.end(&mut world);
    let trees = sampler.map(Sampler::into_trees).unwrap_or_default();
    let mut flows = flow_results(&world, scenario, &ends, following.as_ref(), deaths.as_ref());
    if let Some(identities) = identities {
        let counted = |(index, flow)| inside(&identities).counted(index, flow);
        flows = flows.into_iter().enumerate().map(counted).collect();
    }
    let (nodes, reasons) = node_results(&mut world, scenario, &trees);
    let (losses, left_out) = lost.map(Lost::finish).unwrap_or_default();
    Ok(RunResult {
        schema: SCHEMA,
        flows,
        nodes,
        reasons,
        losses,
        losses_omitted: Some(left_out).filter(|count| *count > 0),
        sim_seconds,
        wall_seconds,
        setup_seconds,
        node_bytes: NODE_BYTES,
        events: world.events(),
        samples,
        cwnd: if options.cwnd { windows(&world, &ends) } else { Vec::new() },
        timeline_full_at_s: timeline.as_ref().and_then(full_at_s),
        timeline: timeline.map(|t| activity::shown(&t)).unwrap_or_default(),
        lanes,
        trees,
        links: if options.tree { links(&world, scenario) } else { Vec::new() },
        cut_short,
    })
}

/// The second at which a timeline was full.
fn full_at_s(timeline: &Timeline) -> Option<f64> {
    timeline.full_at_us().map(|us| us as f64 / 1e6)
}

/// The record of each node, and the reasons of all.
fn node_results(
    world: &mut Network,
    scenario: &Scenario,
    trees: &[Tree],
) -> (Vec<NodeResult>, Reasons) {
    let mut reasons = Reasons::default();
    let mut nodes = Vec::new();
    for node in 0..scenario.nodes.len() {
        let all = Reasons::of(world.device(node), Some(world.counters(node)));
        let result = node_result(world, scenario, node, trees);
        nodes.push(NodeResult { reasons: all.occurred(), ..result });
        reasons.merge(&all);
    }
    (nodes, reasons)
}

/// The record of each flow.
fn flow_results(
    world: &Network,
    scenario: &Scenario,
    ends: &[Ends],
    following: Option<&Following>,
    deaths: Option<&Deaths<'_>>,
) -> Vec<FlowResult> {
    let sim_seconds = world.now().as_micros() as f64 / 1e6;
    let records = flows::records(world, (scenario, ends), &NextHops::new(scenario), sim_seconds);
    let one = |(index, result): (usize, FlowResult)| {
        let given = result.to.and_then(|to| given_hops(scenario, result.from, to));
        let hops = given.or_else(|| following?.hops(index));
        let recovery_s = deaths.and_then(|deaths| deaths.recovery_s(index));
        FlowResult { hops, recovery_s, ..result }
    };
    records.into_iter().enumerate().map(one).collect()
}

/// Refuses a scenario that contains a computer.
pub(super) fn refuse_tunnel(scenario: &Scenario) -> Result<(), RunError> {
    if scenario.tunnel.is_some() {
        let what = "a [tunnel] to a computer at its far end; `kinglet gateway` runs this scenario";
        return Err(RunError::Unsupported(what.to_owned()));
    }
    Ok(())
}

pub(super) fn prepare(
    scenario: &Scenario,
    seed: u64,
    life: u64,
) -> Result<(Network, Vec<Ends>), RunError> {
    check(scenario)?;
    pip::refuse(scenario, "nodes with Kinglet's stack")?;
    let scenario = &*drawn(scenario, seed)?;
    let (mut world, ends) = network_of_life(scenario, seed, life);
    add_faults(&mut world, &scenario.faults, Instant::ZERO);
    Ok((world, ends))
}

/// Refuses unsupported features, rather than ignoring them.
pub(super) fn check(scenario: &Scenario) -> Result<(), RunError> {
    let payload = usize::from(payload_of(scenario));
    let tcp = &scenario.tcp;
    // Buffers of a peer stack are not limited.
    let own = |node: NodeId| scenario.stack_at(node).is_none();
    let mut buffers = Vec::new();
    for flow in &scenario.flows {
        let (from, to) = flow.kind.ends();
        if own(from) || to.is_some_and(own) {
            buffers.extend([tcp.send_buffer, tcp.receive_buffer]);
        }
        if let FlowKind::TcpBulk { send_buffer, receive_buffer, from, to, .. } = &flow.kind
            && (own(*from) || own(*to))
        {
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
    check_ports(scenario)?;
    check_tables(scenario)?;
    pip::check(scenario)
}

/// Refuses two receivers on one port: the second could not listen.
fn check_ports(scenario: &Scenario) -> Result<(), RunError> {
    let mut taken = BTreeSet::new();
    let mut listening = scenario.flows.iter().enumerate().flat_map(|(i, f)| f.listening(i));
    match listening.find(|listening| !taken.insert(*listening)) {
        Some(twice) => Err(RunError::Unsupported(format!("two receivers on {twice}"))),
        None => Ok(()),
    }
}

/// Refuses more sockets, connections or routes on one node than its tables hold.
fn check_tables(scenario: &Scenario) -> Result<(), RunError> {
    let mut count: BTreeMap<(Need, NodeId), usize> = BTreeMap::new();
    // The tables of a peer stack on the host are not limited. A host without a wire is outside this
    // simulation.
    let host = scenario.host();
    let unbounded = |(node, need): &(NodeId, Need)| {
        let by_peer = *need != Need::Socket && scenario.stack_at(host).is_some();
        *node == host && (by_peer || scenario.wire.is_none())
    };
    let needs = scenario.flows.iter().flat_map(|flow| flows::needs(&flow.kind));
    let needs = needs.filter(|need| !unbounded(need));
    needs.for_each(|(node, need)| *count.entry((need, node)).or_default() += 1);
    let crowded = count.into_iter().find(|((need, _), count)| *count > need.limit().0);
    if let Some(((need, node), count)) = crowded {
        return Err(too_many(count, need.limit(), node));
    }
    let mut routes: BTreeMap<NodeId, usize> = BTreeMap::new();
    scenario.routes().iter().for_each(|route| *routes.entry(route.node).or_default() += 1);
    // One more for the default route.
    if let Some((node, count)) = routes.into_iter().find(|(_, count)| *count > ROUTES - 1) {
        return Err(too_many(count, (ROUTES - 1, "routes"), node));
    }
    let mut children: BTreeMap<NodeId, usize> = BTreeMap::new();
    let parents = scenario.parents().into_iter().flatten();
    parents.for_each(|parent| *children.entry(parent).or_default() += 1);
    if let Some((node, count)) = children.into_iter().find(|(_, count)| *count > CHILDREN) {
        return Err(too_many(count, (CHILDREN, "leaves"), node));
    }
    check_mesh(scenario)?;
    check_rpl(scenario)
}

/// Refuses networks that exceed the tables of RPL.
fn check_rpl(scenario: &Scenario) -> Result<(), RunError> {
    if scenario.routing != Routing::Rpl {
        return Ok(());
    }
    let count = scenario.nodes.len();
    if count > RPL_TARGETS {
        let message = format!("{count} nodes with RPL; {RPL_TARGETS} are possible");
        return Err(RunError::Unsupported(message));
    }
    Ok(())
}

/// Refuses a mesh with more nodes than the tables of its routers hold, or with path costs above the
/// maximum of its messages: nodes beyond it would have no route.
fn check_mesh(scenario: &Scenario) -> Result<(), RunError> {
    if scenario.routing != Routing::Mesh {
        return Ok(());
    }
    let leaves = scenario.nodes.iter().filter(|node| node.role == Role::Leaf).count();
    let routers = scenario.nodes.len().saturating_sub(leaves);
    let tables = [(routers, MESH_ROUTERS, "routers"), (leaves, MESH_LEAVES, "leaves")];
    match tables.into_iter().find(|(count, limit, _)| count > limit) {
        Some((count, limit, what)) => Err(RunError::Unsupported(format!(
            "{count} {what} in a mesh; {limit} are possible, and more with `routing = \"static\"`"
        ))),
        None => check_routes(scenario),
    }
}

fn check_routes(scenario: &Scenario) -> Result<(), RunError> {
    let most = u32::from(UNREACHABLE - 1);
    match scenario.farther_than(most) {
        Some((from, to, cost)) => Err(RunError::Unsupported(format!(
            "the route from node {from} to node {to} costs {cost} in a mesh, where a good link \
             costs 1; {most} is possible, and more with `routing = \"static\"`"
        ))),
        None => Ok(()),
    }
}

fn too_many(count: usize, (limit, what): (usize, &str), node: NodeId) -> RunError {
    RunError::Unsupported(format!("{count} {what} on node {node}; {limit} are possible"))
}

pub(super) fn add_faults<D: Device>(world: &mut World<D>, faults: &[Fault], from: Instant) {
    let at = |seconds: f64| from + (instant(seconds) - Instant::ZERO);
    for fault in faults {
        let Fault::Partition { nodes, from_s, to_s } = fault;
        let side = nodes.iter().map(|n| *n as usize).collect();
        world.schedule_fault(at(*from_s), kinglet_sim::Fault::Partition(side));
        if let Some(to_s) = to_s {
            world.schedule_fault(at(*to_s), kinglet_sim::Fault::Partition(Vec::new()));
        }
    }
}

/// Returns true if a bulk transfer has begun and not yet ended.
fn under_way(world: &Network, scenario: &Scenario, ends: &[Ends], flow: usize) -> bool {
    let (Some(of), Some(ends)) = (scenario.flows.get(flow), ends.get(flow)) else { return false };
    let FlowKind::TcpBulk { bytes, .. } = of.kind else { return false };
    let begun = world.now() >= instant(of.start_s);
    begun && bytes.is_none_or(|bytes| flows::delivered(world, of, *ends) < bytes)
}

/// The observers of a running network.
struct Looks<'a, 'b> {
    tree: Option<&'a mut Sampler>,
    samples: Option<&'a mut Sampling<'b>>,
    following: Option<&'a mut Following>,
    deaths: Option<&'a mut Deaths<'b>>,
    lost: Option<&'a mut Lost>,
}

impl Looks<'_, '_> {
    /// Time of the next observation.
    fn next(&self) -> Option<Instant> {
        let tree = self.tree.as_ref().map(|it| it.next());
        let samples = self.samples.as_ref().map(|it| it.next());
        let following = self.following.as_ref().map(|it| it.next());
        let deaths = self.deaths.as_ref().and_then(|it| it.next());
        let lost = self.lost.as_ref().map(|it| it.next());
        [tree, samples, following, deaths, lost].into_iter().flatten().min()
    }
}

/// Runs to `end` in slices. Checks for cancellation and observes the network between them.
fn advance(
    world: &mut Network,
    end: Instant,
    options: &Options<'_>,
    scenario: &Scenario,
    mut looks: Looks<'_, '_>,
    lasts: &dyn Fn(&Network, usize) -> bool,
) {
    let cancelled = || options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed));
    while world.now() < end && !cancelled() {
        let slice = world.now() + SLICE;
        let next = looks.next().map_or(slice, |next| next.min(slice));
        world.run_until(next.min(end));
        if let Some(sampling) = &mut looks.samples {
            sampling.look(world);
        }
        if let Some(sampler) = &mut looks.tree {
            sampler.look(world);
        }
        if let Some(following) = &mut looks.following {
            following.look(world, scenario, |flow| lasts(world, flow));
        }
        if let Some(deaths) = &mut looks.deaths {
            deaths.look(world, lasts);
        }
        if let Some(lost) = &mut looks.lost {
            lost.look(world);
        }
        if let Some(progress) = options.progress {
            progress(world.now().as_micros() as f64 / end.as_micros() as f64);
        }
    }
}

fn windows(world: &Network, ends: &[Ends]) -> Vec<CwndSample> {
    let mut samples = Vec::new();
    for (flow, ends) in (0..).zip(ends) {
        for window in flows::bulk_sender(world, *ends).map(BulkSender::windows).unwrap_or_default()
        {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_all_routes_of_its_table_but_the_default_one() {
        let checked = |routes: usize| {
            let nodes: Vec<_> = (0..=ROUTES).map(|n| format!("{{ x_m = {n} }}")).collect();
            let route = |n| format!("{{ node = 0, destination = {n}, next_hop = 1 }}");
            let routes: Vec<_> = (1..=routes).map(route).collect();
            let (nodes, routes) = (nodes.join(", "), routes.join(", "));
            let text = format!("node = [{nodes}]\nnet = {{ route = [{routes}] }}\n");
            check_tables(&Scenario::from_toml("routes.toml", &text).unwrap())
        };
        assert!(checked(ROUTES - 1).is_ok());
        assert!(checked(ROUTES).unwrap_err().to_string().contains("routes"));
    }
}
