//! Thirty nodes with RPL on the simulated air: a tree forms, and carries TCP up and down.

use kinglet::Polling;
use kinglet::rpl::{self, Mode};
use kinglet::time::{Duration, Instant};
use kinglet_lab::build::{Network, network};
use kinglet_lab::profile::LabProfile;
use kinglet_lab::run::{Options, run};
use kinglet_lab::scenario::{Flow, FlowKind, Role, Rpl, Scenario};
use kinglet_sim::Fault;

/// Within this all have joined, and their targets are known to the root.
const FORMING: Duration = Duration::from_secs(30);

/// Six by five routers; node 0, in a corner, is the root, node 29 in the opposite one nine hops
/// away.
fn grid() -> Scenario {
    let text = "name = \"rpl\"\nduration_s = 240\n[topology]\ngrid = { columns = 6, rows = 5, \
                spacing_m = 8 }\n[net]\nrouting = \"rpl\"\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 29\nto = 0\nstart_s = 60\nbytes = 20_000\n";
    Scenario::from_toml("rpl.toml", text).expect("a scenario")
}

fn rpl(network: &Network, node: usize) -> &rpl::Rpl<LabProfile> {
    network.device(node).node().routing().rpl().expect("it routes by RPL")
}

fn run_until(network: &mut Network, limit: Duration, done: impl Fn(&Network) -> bool) -> Duration {
    let start = network.now();
    while !done(network) {
        assert!(network.now() < start + limit, "not after {limit:?}");
        let next = network.now() + Duration::from_millis(100);
        network.run_until(next);
    }
    network.now() - start
}

fn formed(network: &Network) -> bool {
    let joined = (1..30).all(|node| rpl(network, node).parent().is_some());
    joined && rpl(network, 0).info().routes == 29
}

#[test]
fn thirty_nodes_form_a_tree_whose_root_knows_all() {
    for seed in 1..=3 {
        let (mut network, _) = network(&grid(), seed);
        let took = run_until(&mut network, FORMING, formed);
        println!("seed {seed}: formed after {took:?}");
    }
}

#[test]
fn tcp_goes_up_and_down_the_tree_in_both_modes() {
    for (mode, option, addresses) in [
        (Mode::Storing, true, false),
        (Mode::NonStoring, true, true),
        (Mode::NonStoring, false, false),
        (Mode::Storing, false, true),
    ] {
        let mut scenario = grid();
        scenario.rpl = Rpl { mode, option, addresses, load: addresses, ..scenario.rpl };
        carries_tcp(scenario);
    }
}

fn carries_tcp(mut scenario: Scenario) {
    let bulk = |from, to| FlowKind::TcpBulk {
        from,
        to,
        bytes: Some(20_000),
        send_buffer: None,
        receive_buffer: None,
    };
    let kinds = [(60.0, bulk(29, 0)), (110.0, bulk(0, 24)), (160.0, bulk(17, 28))];
    scenario.flows = kinds.map(|(start_s, kind)| Flow::new(start_s, kind)).into();
    let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
    println!("{:?}", scenario.rpl);
    for flow in &result.flows {
        assert!(flow.complete && flow.intact, "{} -> {}: {flow:?}", flow.from, flow.to);
    }
}

#[test]
fn the_tree_heals_around_a_dead_router() {
    let mut scenario = grid();
    let up = |from| FlowKind::UdpPeriodic { from, to: 0, period_ms: 2_000, payload_bytes: 40 };
    // A node has 24 sockets.
    scenario.flows = (8..30).map(|node| Flow::new(40.0, up(node))).collect();
    let (mut network, _) = network(&scenario, 2);
    network.run_until(Instant::from_secs(90));
    let carried = |network: &Network, node: usize| rpl(network, node).info().routes;
    let busiest = (1..30).max_by_key(|&node| carried(&network, node)).expect("thirty nodes");
    network.schedule_fault(network.now(), Fault::Partition(vec![busiest]));
    let dead = rpl(&network, busiest).config().identifier;
    let took = run_until(&mut network, Duration::from_secs(20), |network| {
        (1..30).filter(|&node| node != busiest).all(|node| {
            let parent = rpl(network, node).parent();
            parent.is_some_and(|parent| parent.to_bits() as u64 != dead)
        })
    });
    println!("{busiest} is avoided after {took:?}");
}

/// Nodes 26 to 29 sleep, with a parent that they find themselves, which learns of them by their
/// data requests.
#[test]
fn leaves_that_sleep_are_reached_behind_their_parents() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut scenario = grid();
        scenario.rpl.mode = mode;
        scenario.polling = Polling::Predictive { base: Duration::from_secs(5) };
        scenario.nodes[26..30].iter_mut().for_each(|node| node.role = Role::Leaf);
        let bulk = |from, to| FlowKind::TcpBulk {
            from,
            to,
            bytes: Some(5_000),
            send_buffer: None,
            receive_buffer: None,
        };
        let kinds = [(60.0, bulk(29, 0)), (110.0, bulk(28, 0))];
        scenario.flows = kinds.map(|(start_s, kind)| Flow::new(start_s, kind)).into();
        scenario.flows.push(Flow::new(
            40.0,
            FlowKind::UdpPeriodic { from: 0, to: 27, period_ms: 10_000, payload_bytes: 40 },
        ));
        let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
        for flow in &result.flows {
            assert!(
                flow.complete && flow.intact,
                "{mode:?} {} -> {}: {flow:?}",
                flow.from,
                flow.to
            );
        }
        // One may be lost on the air, none because nobody kept it until it was asked for.
        assert!(result.flows[2].segments_received >= 19, "{mode:?}: {:?}", result.flows[2]);
    }
}
