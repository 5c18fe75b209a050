//! nst-AODV on the simulated air: ways are found when packets need them, and again when they break.

use kinglet::aodv::{self, Metric};
use kinglet::time::Instant;
use kinglet_lab::build::{Network, network, short_of};
use kinglet_lab::profile::LabProfile;
use kinglet_lab::run::{Options, RunResult, run};
use kinglet_lab::scenario::{Flow, FlowKind, NodeId, Scenario};

/// So many by so many routers, 8 m apart, where each hears those beside it.
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

fn aodv(network: &Network, node: usize) -> &aodv::Aodv<LabProfile> {
    network.device(node).node().routing().aodv().expect("it routes by AODV")
}

/// How many hops the way from one node to another takes, as the nodes on it have it.
fn hops(network: &Network, from: NodeId, to: NodeId) -> Option<usize> {
    let mut at = short_of(from);
    for hops in 0..=usize::from(aodv::NET_DIAMETER) {
        if at == short_of(to) {
            return Some(hops);
        }
        at = aodv(network, usize::from(at - 1)).next_hop(short_of(to))?;
    }
    panic!("a loop from {from} to {to}");
}

fn simulate(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, seed, &Options::default()).expect("it can be simulated")
}

#[test]
fn six_nodes_find_ways_when_tcp_needs_them() {
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
        assert!(flow.complete && flow.intact, "{metric:?}: {flow:?}");
    }
}
