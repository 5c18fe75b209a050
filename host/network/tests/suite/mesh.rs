//! The office as a mesh: it forms and repairs itself, and carries its traffic.

use kinglet::Polling;
use kinglet::mesh::Mesh;
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Network, network};
use kinglet_network::protocols::Tables;
use kinglet_network::run::{Options, run};
use kinglet_scenario::{Flow, FlowKind, Role, Routing, Scenario};
use kinglet_sim::Fault as SimFault;

/// Time within which a network forms after it was switched on.
const FORMING: Duration = Duration::from_secs(60);
/// Time within which traffic takes a route around a dead router: four frames are given up, the loss
/// is reported and held down, and routes are advertised.
const REPAIR: Duration = Duration::from_secs(30);
/// Time within which a dead router is forgotten by nodes without traffic: leaves refresh their
/// parent every 236 s, neighbours age for 100 s.
const FORGETTING: Duration = Duration::from_secs(280);

fn office() -> Scenario {
    let mut scenario = Scenario::office();
    scenario.routing = Routing::Mesh;
    for node in &mut scenario.nodes {
        node.parent = None;
    }
    scenario
}

fn short(node: usize) -> u16 {
    node as u16 + 1
}

fn mesh(network: &Network, node: usize) -> &Mesh<Tables> {
    network.device(node).node().routing().mesh().expect("a mesh")
}

/// The nodes on the route from one to another; `None` if it is incomplete or loops.
fn path(network: &Network, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut path = vec![from];
    while *path.last()? != to {
        let next = mesh(network, *path.last()?).next_hop(short(to))?;
        path.push(usize::from(next) - 1);
        if path.len() > network.nodes() {
            return None;
        }
    }
    Some(path)
}

/// Returns true if there are routes between all these nodes, through these nodes only.
fn connected(network: &Network, nodes: &[usize]) -> bool {
    nodes.iter().all(|&from| {
        nodes.iter().all(|&to| {
            path(network, from, to).is_some_and(|path| path.iter().all(|node| nodes.contains(node)))
        })
    })
}

/// Runs until [`connected`]; returns the time that it took.
fn run_until_connected(network: &mut Network, nodes: &[usize], limit: Duration) -> Duration {
    let start = network.now();
    while !connected(network, nodes) {
        assert!(network.now() < start + limit, "not connected after {limit:?}");
        let next = network.now() + Duration::from_millis(100);
        network.run_until(next);
    }
    network.now() - start
}

#[test]
fn the_office_forms_by_itself_within_a_minute() {
    let (scenario, all) = (office(), Vec::from_iter(0..15));
    for seed in 1..=5 {
        let (mut network, _) = network(&scenario, seed);
        let took = run_until_connected(&mut network, &all, FORMING);
        println!("seed {seed}: formed in {took:?}");
        network.run_until(Instant::from_secs(120));
        assert!(connected(&network, &all));
        for leaf in 11..15 {
            let path = path(&network, leaf, 0).expect("connected");
            assert!((2..=5).contains(&(path.len() - 1)), "{path:?}");
            let parent = mesh(&network, leaf).parent().expect("attached");
            let parent = usize::from(parent) - 1;
            assert!(scenario.nodes[parent].role != Role::Leaf);
            assert!(mesh(&network, parent).children().any(|child| child == short(leaf)));
        }
    }
}

/// An early transfer was once given up for good before its network had formed.
#[test]
fn a_transfer_waits_for_its_network() {
    for (from, to) in [(2, 0), (0, 2), (2, 3), (3, 2)] {
        let text = format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 2 }}\n[wire]\n[net]\n\
             routing = \"mesh\"\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = {from}\nto = {to}\n"
        );
        let scenario = Scenario::from_toml("mesh.toml", &text).expect("a scenario");
        let run = run(&scenario, 1, &Options::default()).expect("it can be simulated");
        let flow = &run.flows[0];
        assert!(flow.is_intact() && flow.bytes > Some(50_000), "from {from} to {to}: {flow:?}");
    }
}

#[test]
fn a_leaf_with_a_parent_by_configuration_has_no_other() {
    let mut scenario = Scenario::office();
    scenario.routing = Routing::Mesh;
    let (mut network, _) = network(&scenario, 1);
    run_until_connected(&mut network, &Vec::from_iter(0..15), FORMING);
    for leaf in 11..15 {
        let given = scenario.nodes[leaf].parent.map(|parent| short(parent as usize));
        assert_eq!(mesh(&network, leaf).parent(), given);
    }
}

/// Runs until the routes from `leaf` to the border router and back avoid `dead`; returns the time
/// that it took.
fn run_until_avoided(network: &mut Network, leaf: usize, dead: usize) -> Duration {
    let start = network.now();
    let good = |path: Option<Vec<usize>>| path.is_some_and(|path| !path.contains(&dead));
    while !good(path(network, leaf, 0)) || !good(path(network, 0, leaf)) {
        assert!(network.now() < start + REPAIR, "still through {dead} after {REPAIR:?}");
        let next = network.now() + Duration::from_millis(100);
        network.run_until(next);
    }
    network.now() - start
}

#[test]
fn traffic_is_rerouted_around_a_dead_router_and_a_dead_parent() {
    let mut scenario = office();
    let host = scenario.host();
    let up = FlowKind::datagrams(13, host, 1_000, 82);
    let down = FlowKind::datagrams(host, 13, 1_000, 82);
    scenario.flows = [up, down].map(|kind| Flow::new(60.0, kind)).into();
    for seed in 1..=3 {
        // The parent, and the router behind it.
        for place in [1, 2] {
            let (mut network, _) = network(&scenario, seed);
            network.run_until(Instant::from_secs(120));
            let before = path(&network, 13, 0).expect("connected");
            let dead = before[place];
            network.schedule_fault(network.now(), SimFault::Partition(vec![dead]));
            let took = run_until_avoided(&mut network, 13, dead);
            println!("seed {seed}: {before:?} without {dead} after {took:?}");
        }
    }
}

#[test]
fn a_dead_router_is_forgotten_even_without_traffic() {
    let scenario = office();
    let (mut network, _) = network(&scenario, 1);
    network.run_until(Instant::from_secs(120));
    let dead = usize::from(mesh(&network, 13).parent().expect("attached")) - 1;
    network.schedule_fault(network.now(), SimFault::Partition(vec![dead]));
    let left: Vec<usize> = (0..15).filter(|&node| node != dead).collect();
    let took = run_until_connected(&mut network, &left, FORGETTING);
    println!("{dead} forgotten after {took:?}");
}

#[test]
fn leaves_and_host_reach_each_other_through_the_mesh() {
    let mut scenario = office();
    scenario.duration_s = 240.0;
    scenario.mac.retry_delay_max = Duration::from_millis(40);
    // Leaves that receive unsolicited packets must poll for them often.
    scenario.polling = Polling::Predictive { base: Duration::from_millis(500) };
    let host = scenario.host();
    let up = FlowKind::datagrams(13, host, 1_000, 82);
    let down = FlowKind::datagrams(host, 12, 1_000, 82);
    let bulk = |from, to| FlowKind::TcpBulk {
        from,
        to,
        bytes: Some(20_000),
        send_buffer: None,
        receive_buffer: None,
    };
    let kinds = [(70.0, up), (70.0, down), (80.0, bulk(11, host)), (110.0, bulk(host, 14))];
    scenario.flows = kinds.map(|(start_s, kind)| Flow::new(start_s, kind)).into();
    let result = run(&scenario, 1, &Options::default()).expect("a scenario that can be run");
    for flow in &result.flows {
        println!("{flow:?}");
    }
    for flow in &result.flows[..2] {
        assert!(flow.segments_sent >= Some(160) && flow.segment_loss < Some(0.05), "{flow:?}");
    }
    for flow in &result.flows[2..] {
        assert!(flow.is_well(), "{flow:?}");
    }
}

/// A grid of routers with a sink in one corner and a source in the opposite one. At 8 m a node
/// receives its four direct neighbours, at [`DENSE_M`] the twenty around it.
fn grid(columns: u32, rows: u32, spacing_m: f64) -> Scenario {
    let topology = format!("columns = {columns}, rows = {rows}, spacing_m = {spacing_m}");
    let text = format!(
        "duration_s = 150\n[net]\nrouting = \"mesh\"\n[topology]\ngrid = {{ {topology} }}\n\
         [[flow]]\nkind = \"udp-periodic\"\nfrom = {}\nto = 0\nstart_s = 90\n",
        columns * rows - 1,
    );
    Scenario::from_toml("grid", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All nodes within two rows and columns are in range, except for the corners.
const DENSE_M: f64 = 4.4;

#[test]
fn a_mesh_is_refused_with_its_limit_where_its_tables_or_its_costs_end() {
    let refused = |scenario: &Scenario| match run(scenario, 1, &Options::default()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("not refused"),
    };
    let error = refused(&grid(41, 25, DENSE_M));
    assert!(error.contains("1025 routers in a mesh; 1024 are possible"), "{error}");
    // Down one side and along the other.
    let error = refused(&grid(11, 7, 8.0));
    assert!(error.contains("from node 76 to node 0 costs 16"), "{error}");
    let result = run(&grid(10, 7, 8.0), 1, &Options::default()).expect("70 routers, cost 15");
    let flow = &result.flows[0];
    assert!(flow.bytes > Some(50 * 80), "of some 60 datagrams: {flow:?}");
}

#[test]
fn two_hundred_routers_find_routes_around_a_dead_one() {
    let (scenario, source) = (grid(20, 10, DENSE_M), 199);
    let (mut network, _) = network(&scenario, 1);
    network.run_until(Instant::from_secs(100));
    let before = path(&network, source, 0).expect("connected");
    assert!((10..=14).contains(&(before.len() - 1)), "{before:?}");
    let dead = before[before.len() / 2];
    network.schedule_fault(network.now(), SimFault::Partition(vec![dead]));
    let took = run_until_avoided(&mut network, source, dead);
    println!("{before:?} without {dead} after {took:?}");
}
