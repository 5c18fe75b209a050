//! Bursts of interference: losses of ten seconds keep no node silent after them.

use super::common::{Fate, Net, address};
use kinglet_rpl::{CONFIGURATION, Mode, Probing, Role, Root};
use kinglet_time::Duration;
use kinglet_wire::rpl::Configuration;

const SECOND: Duration = Duration::from_secs(1);
/// Seconds before the burst, of the burst, and after it.
const BEFORE: u32 = 60;
const BURST: u32 = 10;
const AFTER: u32 = 600;

/// Returns the roles of a network whose root uses this objective function.
fn roles(nodes: usize, mode: Mode, objective: u16) -> Vec<Role> {
    let of0 = Configuration {
        objective: 0,
        min_hop_rank_increase: 256,
        max_rank_increase: 7 * 256,
        ..CONFIGURATION
    };
    let configuration = if objective == 0 { of0 } else { CONFIGURATION };
    let mut roles = vec![Role::Router; nodes];
    roles[0] = Role::Root(Root { configuration, ..Root::new(address(0), mode) });
    roles
}

fn line(mode: Mode, objective: u16, seed: u64) -> Net {
    let mut net = Net::new(roles(5, mode, objective), Probing::Passive, seed);
    (1..5).for_each(|node| net.link(node - 1, node, 100));
    net
}

/// Returns six by five nodes, each in range of its direct neighbours.
fn grid(mode: Mode, objective: u16, seed: u64) -> Net {
    let mut net = Net::new(roles(30, mode, objective), Probing::Passive, seed);
    for node in 0..30 {
        if node % 6 < 5 {
            net.link(node, node + 1, 100);
        }
        if node < 24 {
            net.link(node, node + 6, 100);
        }
    }
    net
}

/// Sends a reading a second from each of `from` to the root. Returns the number of arrivals.
fn readings(net: &mut Net, seconds: u32, from: std::ops::Range<usize>) -> u32 {
    let mut arrived = 0;
    for _ in 0..seconds {
        for node in from.clone() {
            arrived += u32::from(matches!(net.packet(node, address(0)), Fate::Delivered(_)));
        }
        net.run(SECOND);
    }
    arrived
}

/// Returns the number of readings that arrive after ten seconds in which `arrives` % of the frames
/// do.
fn after_a_burst(mut net: Net, arrives: u32, from: std::ops::Range<usize>) -> u32 {
    readings(&mut net, BEFORE, from.clone());
    let usual = net.links.clone();
    net.links.values_mut().for_each(|link| *link = arrives);
    readings(&mut net, BURST, from.clone());
    net.links = usual;
    readings(&mut net, AFTER, from)
}

/// A link that is bad for ten seconds raises its node's rank, but never costs its only parent: with
/// OF0, one such link alone raises a rank by more than the limit of seven hops.
#[test]
fn ten_bad_seconds_keep_no_node_silent_with_any_objective_function() {
    let modes = [Mode::Storing, Mode::NonStoring];
    for (objective, mode) in [0, 1].into_iter().flat_map(|of| modes.map(|mode| (of, mode))) {
        for (arrives, seed) in [0, 20, 40, 60].into_iter().zip(1..) {
            let what = format!("objective {objective}, {mode:?}, {arrives} %");
            let one = after_a_burst(line(mode, objective, seed), arrives, 4..5);
            assert!(one >= AFTER - 20, "{what}: {one} readings of {AFTER}");
            let (all, sent) =
                (after_a_burst(grid(mode, objective, seed), arrives, 1..30), 29 * AFTER);
            assert!(all >= sent - sent / 40, "{what}: {all} readings of {sent}");
        }
    }
}
