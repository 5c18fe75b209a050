//! 6LoWPAN neighbour discovery in a network: a border router, routers and sleepy leaves.

use kinglet::nd::{Registered, Role, Serving};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::Context;
use kinglet_network::build::{Network, network};
use kinglet_network::run::{Options, run};
use kinglet_scenario::{Scenario, polling_every};
use kinglet_sim::Fault;
use std::net::Ipv6Addr;

/// A border router, two routers, and a sleepy leaf at the end.
const LINE: &str = r#"
duration_s = 120

[[node]]
x_m = 0
y_m = 0
role = "border-router"

[[node]]
x_m = 8
y_m = 0

[[node]]
x_m = 16
y_m = 0

[[node]]
x_m = 24
y_m = 0
role = "leaf"

[leaf]
sleep_interval_s = 20
"#;

const LEAF: usize = 3;
const SECOND: Duration = Duration::from_secs(1);
/// This makes routes from one end to the other.
const FLOW: &str = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 0\nbytes = 1_000\n";

fn scenario(more: &str) -> Scenario {
    let text = format!("{LINE}\n[net]\nregistration = true\n{more}");
    Scenario::from_toml("discovery.toml", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn nd(network: &Network, node: usize) -> &kinglet::nd::Discovery<kinglet_network::discovery::Plan> {
    network.device(node).node().net().discovery().nd().expect("it takes part")
}

fn registered(network: &Network, router: usize) -> Vec<(Ipv6Addr, Address)> {
    let serving = nd(network, router).role().as_ref();
    let all = serving.map(Serving::registrations).into_iter().flatten();
    all.map(|it: &Registered| (it.address(), it.link())).collect()
}

#[test]
fn a_leaf_is_registered_with_its_parent_and_known_to_the_border_router() {
    for routing in ["static", "mesh"] {
        let scenario = scenario(&format!("routing = \"{routing}\"\n{FLOW}"));
        let (mut network, _) = network(&scenario, 1);
        network.run_until(Instant::from_secs(100));
        let leaf = scenario.addressing().address(LEAF as u32);
        let link = scenario.addressing().link(LEAF as u32);
        assert_eq!(registered(&network, 2), [(leaf, link)], "{routing}");
        assert_eq!(registered(&network, 0), [(leaf, Address::None)], "{routing}");
        assert_eq!(registered(&network, 1), [], "{routing}");
    }
}

#[test]
fn a_leaf_that_sleeps_registers_when_it_is_awake_anyway() {
    // Only a data request every four minutes.
    let mut scenario = scenario(FLOW);
    scenario.polling = polling_every(scenario.polling, SECOND * 240);
    let (mut network, _) = network(&scenario, 1);
    let (mut at, mut sent) = (Vec::new(), 0);
    while network.now() < Instant::from_secs(4 * 3600) && network.step() {
        let now_sent = nd(&network, LEAF).stats().sent;
        if now_sent == sent {
            continue;
        }
        sent = now_sent;
        let asked = network.device(LEAF).node().last_data_request();
        at.push((network.now(), asked.map(|asked| network.now() - asked)));
    }
    let leaf = scenario.addressing().address(LEAF as u32);
    assert_eq!(registered(&network, 2).len(), 1, "{leaf} after four hours");
    let later = at.iter().filter(|(now, _)| *now > Instant::from_secs(60));
    let late: Vec<_> =
        later.clone().filter(|(_, since)| since.is_none_or(|it| it > SECOND / 5)).collect();
    assert!(later.count() >= 5 && late.is_empty(), "{at:?}");
}

#[test]
fn contexts_come_from_the_border_router_and_headers_shrink() {
    let text = "contexts_from = \"border-router\"\n[[net.context]]\nid = 1\nprefix = \
                \"fd6b:696e:676c:7400::/64\"\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 0\n\
                start_s = 60\nbytes = 20_000\n";
    let scenario = scenario(text);
    let (mut network, _) = network(&scenario, 1);
    let known = |network: &Network| {
        (0..4).map(|n| network.device(n).node().net().contexts()[1]).collect::<Vec<_>>()
    };
    let expected = Some(Context { prefix: scenario.prefix.mesh(), len: 64 });
    assert_eq!(known(&network), [expected, None, None, None]);
    network.run_until(Instant::from_secs(58));
    assert_eq!(known(&network), [expected; 4]);
    let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
    assert!(result.flows.iter().all(|flow| flow.is_well()), "{:?}", result.flows);
    for node in 0..4 {
        assert_eq!(nd(&network, node).stats().unknown_contexts, 0);
    }
}

#[test]
fn invalid_settings_of_contexts_are_refused() {
    let refused = |more: &str| {
        let text = format!("{LINE}\n[net]\n{more}");
        Scenario::from_toml("s.toml", &text).expect_err("it is wrong").to_string()
    };
    let message = refused("contexts_from = \"border-router\"\n");
    assert!(message.contains("net.contexts_from: contexts are advertised only"), "{message}");
    let message = refused("[[net.context]]\nid = 4\nprefix = \"fd00::/64\"\n");
    assert!(message.contains("id: 4 is out of range; allowed are 0 to 3"), "{message}");
    let message = refused("[[net.context]]\nid = 1\nprefix = \"fd00::/129\"\n");
    assert!(message.contains("is not a prefix"), "{message}");
    let twice = "[[net.context]]\nid = 1\nprefix = \"fd00::/64\"\n".repeat(2);
    assert!(refused(&twice).contains("context 1 is defined twice"));
}

/// The leaf is in range of two routers, which are both in range of the border router.
const DIAMOND: &str = r#"
duration_s = 900

[[node]]
x_m = 0
y_m = 0
role = "border-router"

[[node]]
x_m = 8
y_m = 3

[[node]]
x_m = 8
y_m = -3

[[node]]
x_m = 14
y_m = 0
role = "leaf"

[leaf]
sleep_interval_s = 5

[net]
registration = true
routing = "mesh"
"#;

#[test]
fn a_leaf_whose_parent_dies_is_registered_with_the_next_one() {
    for seed in 1..=3 {
        let scenario = Scenario::from_toml("diamond.toml", DIAMOND).expect("a scenario");
        let (mut network, _) = network(&scenario, seed);
        network.run_until(Instant::from_secs(100));
        let parent = network.device(LEAF).node().parent().expect("it has one") - 1;
        let (first, second) = (usize::from(parent), 3 - usize::from(parent));
        let leaf = scenario.addressing().address(LEAF as u32);
        let link = scenario.addressing().link(LEAF as u32);
        assert_eq!(registered(&network, first), [(leaf, link)], "seed {seed}");
        assert_eq!(registered(&network, second), [], "seed {seed}");
        network.schedule_fault(network.now(), Fault::Partition(vec![first]));
        network.run_until(Instant::from_secs(500));
        assert_eq!(registered(&network, second), [(leaf, link)], "seed {seed}");
        // The border router has it once, by a later transaction.
        assert_eq!(registered(&network, 0), [(leaf, Address::None)], "seed {seed}");
        // A node that last received it long ago learns that it is gone, or removes it.
        network.schedule_fault(network.now(), Fault::Partition(Vec::new()));
        network.run_until(Instant::from_secs(5_000));
        assert_eq!(registered(&network, first), [], "seed {seed}");
        assert_eq!(registered(&network, second), [(leaf, link)], "seed {seed}");
    }
}

#[test]
fn routers_of_rpl_learn_from_the_border_router_what_they_offer() {
    let text = LINE.replace("role = \"leaf\"\n", "")
        + "[net]\nregistration = true\n\
                routing = \"rpl\"\ncontexts_from = \"border-router\"\n";
    let scenario = Scenario::from_toml("rpl.toml", &text).expect("a scenario");
    let (mut network, _) = network(&scenario, 1);
    network.run_until(Instant::from_secs(60));
    for node in 1..4 {
        let router = nd(&network, node);
        assert!(router.role().as_ref().is_some_and(|role| role.is_router()), "{node}");
        // Its routes are those of its routing protocol.
        assert_eq!(router.router(), None, "{node}");
        assert!(network.device(node).node().net().contexts()[1].is_some(), "{node}");
    }
}
