//! Streams that must arrive whole, whatever the impairments of the path, and networks that must
//! become idle.

#[path = "../../examples/soak/sleepy.rs"]
mod sleepy;

use kinglet::time::Duration;
use kinglet_network::run::{Options, run};
use kinglet_scenario::{Flow, FlowKind, Scenario, Wire};
use rayon::prelude::*;

/// Spacing of neighbours in metres: within the range of 10 m, while twice the spacing is outside
/// it.
const SPACING_M: f64 = 8.0;

/// A transfer of `bytes` between a host and a mote three hops behind the border router, over a wire
/// that loses, duplicates and reorders a fifth of the packets.
fn bad_wire(bytes: u64, upload: bool, duration_s: f64) -> Scenario {
    let mut scenario = Scenario { duration_s, ..Scenario::default() }.on_line(3, SPACING_M);
    scenario.mac.retry_delay_max = Duration::from_millis(40);
    scenario.wire = Some(Wire {
        delay_ms: 6,
        loss: 0.2,
        loss_to_mesh: None,
        duplicate: 0.2,
        mark: 0.2,
        reorder: 0.2,
        reorder_delay_ms: 200,
        ..Wire::PERFECT
    });
    scenario.tcp.connection.ecn = true;
    let (mote, host) = (3, scenario.host());
    let (from, to) = if upload { (mote, host) } else { (host, mote) };
    let mut flow = Flow::bulk(from, to);
    if let FlowKind::TcpBulk { bytes: limit, .. } = &mut flow.kind {
        *limit = Some(bytes);
    }
    scenario.flows.push(flow);
    scenario
}

/// Runs it; reports how to repeat the run if the stream did not arrive whole.
fn must_arrive(scenario: &Scenario, seed: u64) {
    let result = run(scenario, seed, &Options::default()).expect("a scenario that can be run");
    let flow = &result.flows[0];
    assert!(
        flow.is_well(),
        "seed {seed}: {flow:?} in {} s; repeat with \
         `cargo run --release -- sim host/lab/scenarios/lossy.toml --seed {seed}`",
        result.sim_seconds
    );
}

#[test]
fn two_hundred_transfers_of_100_kb_over_a_bad_wire_and_three_hops_arrive_whole() {
    (0..200u64).into_par_iter().for_each(|seed| {
        must_arrive(&bad_wire(100_000, seed % 2 == 1, 1_500.0), seed);
    });
}

#[test]
fn ten_megabytes_over_a_bad_wire_and_three_hops_arrive_whole() {
    must_arrive(&bad_wire(10_000_000, false, 40_000.0), 1);
}

#[test]
fn an_hour_of_three_hop_tcp_brings_no_wrong_octet() {
    (0..4u64).into_par_iter().for_each(|seed| {
        let mut scenario =
            Scenario { duration_s: 900.0, ..Scenario::default() }.on_line(3, SPACING_M);
        scenario.flows.push(Flow::bulk(3, 0));
        let result = run(&scenario, seed, &Options::default()).expect("a scenario that can be run");
        let flow = &result.flows[0];
        assert!(flow.is_intact() && flow.bytes > Some(1_000_000), "seed {seed}: {flow:?}");
    });
}

#[test]
fn ten_sleeping_networks_recover_from_everything_and_keep_nothing() {
    (0..10u64).into_par_iter().for_each(|seed| {
        if let Err(what) = sleepy::live(seed) {
            panic!("soak -- sleepy {seed} 1: {what}");
        }
    });
}
