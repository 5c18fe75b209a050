//! The record of each node at the end of a simulation.

use super::power::{Power, VOLTS};
use super::{AodvResult, BorderResult, FlashResult, NodeResult, RplResult, StrobeResult, Tree};
use crate::build::Network;
use kinglet_scenario::{HostCost, NodeId, Role, Scenario};
use kinglet_sim::energy::Energy;

/// AODV counters of `node`.
fn aodv_result(world: &Network, node: usize) -> Option<AodvResult> {
    let stats = world.device(node).node().routing().aodv()?.stats();
    Some(AodvResult {
        route_discoveries: stats.route_discoveries,
        failed_discoveries: stats.failed_discoveries,
        rreqs: stats.requests + stats.relayed_requests,
        rreps: stats.replies + stats.relayed_replies,
        rerrs: stats.errors,
        broken_links: stats.broken_links,
        lost_routes: stats.lost_routes,
        no_route: stats.no_route,
    })
}

/// RPL counters of `node`, and its mean depth in these trees.
fn rpl_result(world: &Network, node: usize, trees: &[Tree]) -> Option<RplResult> {
    let stats = world.device(node).node().routing().rpl()?.stats();
    let hops = trees.iter().filter_map(|tree| tree.nodes[node].hops.map(f64::from));
    let (sum, count) = hops.fold((0.0, 0.0), |(sum, count), hops| (sum + hops, count + 1.0));
    Some(RplResult {
        hops: (count > 0.0).then(|| sum / count),
        messages: [stats.dios, stats.diss, stats.daos, stats.dao_acks].iter().sum(),
        dios: stats.dios,
        daos: stats.daos,
        parent_changes: stats.parent_changes,
    })
}

/// Counters of the queue between host and radio, if `node` is a border router with a host.
fn border_result(world: &Network, scenario: &Scenario, node: usize) -> Option<BorderResult> {
    let borders = scenario.nodes[node].role == Role::BorderRouter && scenario.wire.is_some();
    borders.then(|| BorderResult::of(world.device(node).node())).flatten()
}

fn strobe_result(world: &Network, scenario: &Scenario, node: usize) -> Option<StrobeResult> {
    scenario.wake?;
    let stats = world.device(node).node().mac().strobe_stats()?;
    Some(StrobeResult {
        all: stats.strobes,
        in_bursts: stats.in_bursts,
        acked_at_first: stats.at_once,
        failed: stats.failed,
        busy: stats.busy,
        responses: stats.answers,
    })
}

fn flash_result(world: &Network, node: usize) -> Option<FlashResult> {
    let station = world.device(node);
    let (part, now) = (station.flash()?, world.now());
    let stats = station.node().net().store_stats()?;
    let times = part.times(now);
    let share = |us: u64| us as f64 / now.as_micros().max(1) as f64;
    Some(FlashResult {
        written: stats.written,
        read: stats.read,
        erased: stats.erased,
        peak: stats.most,
        reading: share(times.read_us),
        writing: share(times.pass_us + times.program_us + times.erase_us),
        mj: part.charges(now).total_uc() * VOLTS / 1e3,
    })
}

pub(super) fn node_result(
    world: &mut Network,
    scenario: &Scenario,
    node: usize,
    trees: &[Tree],
) -> NodeResult {
    let energy = world.energy(node);
    let (frames_sent, offered) = (world.counters(node).frames_sent, world.counters(node).mine);
    let mac = *world.device(node).node().mac().stats();
    use kinglet::net::Discard::{Congestion, NoBuffer, QueueFull};
    let queue_drops = world.with_device(node, |station, _| {
        let stats = station.node().net().stats();
        [Congestion, NoBuffer, QueueFull].map(|why| u64::from(stats.discarded(why))).iter().sum()
    });
    let power = Power::of(world.now(), &energy, world.device(node).flash());
    let has_cpu_cost = scenario.radio.host_cost != HostCost::Micros(0);
    NodeResult {
        id: node as NodeId,
        frames_sent,
        frames_failed: Some(
            [mac.no_ack, mac.channel_access_failure, mac.unknown].map(u64::from).iter().sum(),
        ),
        frames_acked: Some(mac.delivered.into()),
        acks_missing: Some(mac.ack_missing.into()),
        retries: Some(mac.retries.into()),
        frames_offered: Some(offered.total()),
        frames_accepted: Some(u64::from(mac.received) + u64::from(mac.received_empty)),
        queue_drops: Some(queue_drops),
        rpl: rpl_result(world, node, trees),
        aodv: aodv_result(world, node),
        border_queue: border_result(world, scenario, node),
        strobes: strobe_result(world, scenario, node),
        flash: flash_result(world, node),
        cpu_duty_cycle: has_cpu_cost.then(|| energy.cpu_duty_cycle()),
        cpu_mj: has_cpu_cost.then_some(energy.cpu_uc * VOLTS / 1e3),
        cpu_work: Some(energy.cpu_work),
        power,
        mj_per_frame: (mac.delivered > 0).then(|| power.mj() / f64::from(mac.delivered)),
        ..radio_result(&energy)
    }
}

/// Radio counters of a node, independent of its stack.
pub(super) fn radio_result(energy: &Energy) -> NodeResult {
    let share = |us: u64| us as f64 / energy.elapsed_us.max(1) as f64;
    NodeResult {
        duty_cycle: energy.radio.duty_cycle(),
        starting: share(energy.radio.starting()),
        between_attempts: share(energy.between_attempts_us),
        radio_s: energy.ledger.into(),
        duty_by_hour: by_hour(energy),
        energy_mj: energy.radio_uc * VOLTS / 1e3,
        ..NodeResult::default()
    }
}

fn by_hour(energy: &Energy) -> Vec<f64> {
    const HOUR_US: u64 = 3_600_000_000;
    let of = |(hour, on): (u64, &u64)| {
        let length = energy.elapsed_us.saturating_sub(hour * HOUR_US).clamp(1, HOUR_US);
        *on as f64 / length as f64
    };
    (0..).zip(&energy.on_by_hour_us).map(of).collect()
}
