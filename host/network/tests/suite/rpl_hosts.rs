//! Hosts without RPL behind RPL routers (RFC 9010).

use kinglet::nd::Serving;
use kinglet::rpl::{self, Mode, NextHop};
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Network, network};
use kinglet_network::protocols::Tables;
use kinglet_network::run::{Options, run};
use kinglet_scenario::Scenario;
use kinglet_sim::Fault;

/// A border router with a host behind it, two routers in a row, two more side by side at the end,
/// and a host in range of those two only.
const LINE: &str = r#"
duration_s = 180
node = [
    { x_m = 0, role = "border-router" }, { x_m = 8 }, { x_m = 16 },
    { x_m = 24, y_m = 3 }, { x_m = 24, y_m = -3 }, { x_m = 32, role = "host" },
]
net = { routing = "rpl", registration = true }
wire = {}
flow = [
    { kind = "tcp-bulk", from = 6, to = 5, start_s = 60, bytes = 10_000 },
    { kind = "tcp-bulk", from = 5, to = 6, start_s = 100, bytes = 10_000 },
    { kind = "udp-periodic", from = 6, to = 5, start_s = 60, period_ms = 5_000 },
]
"#;
const HOST: usize = 5;

fn scenario(mode: Mode, addresses: bool) -> Scenario {
    let mut scenario = Scenario::from_toml("hosts.toml", LINE).expect("a scenario");
    (scenario.rpl.mode, scenario.rpl.addresses) = (mode, addresses);
    scenario
}

fn rpl(network: &Network, node: usize) -> &rpl::Rpl<Tables> {
    network.device(node).node().routing().rpl().expect("it routes by RPL")
}

/// Routers with which the host is registered.
fn router_of(network: &Network) -> Vec<usize> {
    let has = |node: &usize| {
        let nd = network.device(*node).node().net().discovery().nd().expect("it takes part");
        let table = nd.role().as_ref().map(Serving::registrations).into_iter().flatten();
        table.into_iter().any(|it| it.link() != kinglet::wire::ieee802154::Address::None)
    };
    (0..HOST).filter(has).collect()
}

#[test]
fn a_host_three_hops_behind_the_border_router_is_reached_from_outside_and_reaches_it() {
    for (mode, addresses) in [(Mode::Storing, false), (Mode::NonStoring, true)] {
        let result = run(&scenario(mode, addresses), 1, &Options::default()).expect("it runs");
        for flow in &result.flows[..2] {
            assert!(flow.is_well(), "{mode:?}: {flow:?}");
        }
        // From 60 s to 180 s.
        assert!(result.flows[2].segments_received >= Some(22), "{mode:?}: {:?}", result.flows[2]);
    }
}

#[test]
fn a_host_that_is_gone_is_taken_back_and_one_that_moves_is_followed() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut scenario = scenario(mode, false);
        scenario.flows.clear();
        let host = scenario.addressing().address(HOST as u32);
        let (mut network, _) = network(&scenario, 2);
        network.run_until(Instant::from_secs(60));
        assert_ne!(rpl(&network, 0).route(host), NextHop::Unreachable, "{mode:?}");
        let [first] = router_of(&network)[..] else { panic!("{mode:?}: one router has it") };
        // It refreshes its registration in time, and its route is refreshed.
        network.run_until(Instant::from_secs(3 * 3_600));
        assert_ne!(rpl(&network, 0).route(host), NextHop::Unreachable, "{mode:?}");
        // Without its router it finds the other one.
        network.schedule_fault(network.now(), Fault::Partition(vec![first]));
        let patience = network.now() + Duration::from_secs(4_000);
        network.run_until(patience);
        let second = 7 - first;
        assert!(router_of(&network).contains(&second), "{mode:?}");
        let near = rpl(&network, second).route(host);
        assert!(matches!(near, NextHop::Neighbour(_)), "{mode:?}: {near:?}");
        assert_ne!(rpl(&network, 0).route(host), NextHop::Unreachable, "{mode:?}");
        // No node receives it any more.
        network.schedule_fault(network.now(), Fault::Partition(vec![HOST]));
        let patience = network.now() + Duration::from_secs(4_000);
        network.run_until(patience);
        assert!(router_of(&network).is_empty(), "{mode:?}");
        assert_eq!(rpl(&network, 0).route(host), NextHop::Unreachable, "{mode:?}");
        // The route itself would have lasted much longer. The other router is back and may be its
        // child; it has no route to the host.
        let mut routes = rpl(&network, second).routes();
        assert!(routes.all(|it| it.target().prefix != host), "{mode:?}");
    }
}
