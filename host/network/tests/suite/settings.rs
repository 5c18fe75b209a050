//! Settings of a scenario for the low-power network reach the stack of every node.

use kinglet::mesh::{self, Role};
use kinglet::net::{self, QueueDiscipline, Red};
use kinglet::time::Duration;
use kinglet::{Discovery as _, mac};
use kinglet_network::build::network;
use kinglet_scenario::Scenario;
use std::path::Path;

/// Every key of a scenario that configures a MAC or a network layer, with a value that is not the
/// default.
const SCENARIO: &str = r#"
[topology]
office = {}

[radio]
profile = "nrf52840"

[mac]
min_be = 2
max_be = 6
max_csma_backoffs = 3
max_frame_retries = 5
retry_delay_ms = 33
adaptive_retry_delay = true
csma = "hardware"

[mac.indirect]
retries = 3
retry_delay_ms = 17
min_be = 1
preempt = false
burst = false

[leaf]
data_request_timeout_ms = 45
csl_period_ms = 480
csl_drift_ppm = 55
csl_sync_s = 12.5

[net]
queue = "red"
queue_packets = 6
routing = "mesh"
"#;

/// A leaf of the office.
const LEAF: usize = 11;

fn configs(text: &str, node: usize) -> (mac::MacConfig<()>, net::NetConfig, mesh::MeshConfig) {
    let scenario = Scenario::from_toml("settings.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let (mut network, _) = network(&scenario, 1);
    let mesh = network.device(node).node().routing().mesh();
    let mesh = mesh.map_or(mesh::MeshConfig::OFF, |mesh| *mesh.config());
    let mac = *network.device(node).node().mac().config();
    (mac, network.with_device(node, |site, _| *site.node().net().config()), mesh)
}

#[test]
fn every_setting_of_the_mac_arrives() {
    let (leaf, ..) = configs(SCENARIO, LEAF);
    let (router, ..) = configs(SCENARIO, 2);
    assert_eq!((leaf.rx_on_when_idle, router.rx_on_when_idle), (false, true));
    for mac in [leaf, router] {
        let params = mac.csma_params;
        assert_eq!((params.min_be, params.max_be, params.max_backoffs), (2, 6, 3));
        assert_eq!(mac.max_frame_retries, 5);
        assert_eq!(mac.retry_delay_max, Duration::from_millis(33));
        assert!(mac.adaptive_retry_delay);
        assert_eq!(mac.csma, mac::Csma::Hardware);
        assert_eq!(mac.data_request_timeout, Duration::from_millis(45));
        let expected = mac::Indirect {
            max_retries: 3,
            retry_delay_max: Duration::from_millis(17),
            min_be: 1,
            preempt: false,
            burst: false,
        };
        assert_eq!(mac.indirect, expected);
        let csl = mac.csl.expect("sampling");
        assert_eq!((csl.period, csl.drift_ppm), (Duration::from_millis(480), 55));
        assert_eq!(csl.sync_interval, Duration::from_millis(12_500));
    }
}

#[test]
fn frames_are_secured_unless_the_scenario_says_otherwise() {
    for (text, secured) in [("[mac]", true), ("[mac]\nsecurity = false", false)] {
        let text = SCENARIO.replace("[mac]", text);
        let scenario = Scenario::from_toml("settings.toml", &text).unwrap();
        let (network, _) = network(&scenario, 1);
        assert_eq!([2, LEAF].map(|n| network.device(n).node().mac().is_secured()), [secured; 2]);
    }
}

#[test]
fn every_setting_of_the_network_layer_arrives() {
    let (_, leaf, leaf_mesh) = configs(SCENARIO, LEAF);
    let (_, router, router_mesh) = configs(SCENARIO, 2);
    let (_, border, border_mesh) = configs(SCENARIO, 0);
    assert_eq!((leaf.forward, router.forward, border.forward), (false, true, true));
    assert_eq!((leaf.queue_limit, router.queue_limit), (6, 6));
    assert_eq!(border.queue_limit, u8::MAX, "a border router has more room");
    assert_eq!(router.queue, QueueDiscipline::Red(Red::DEFAULT));
    // Both layers must agree.
    assert!(!router.indirect.burst);
    let roles = [leaf_mesh.role, router_mesh.role, border_mesh.role];
    assert_eq!(roles, [Role::Leaf, Role::Router, Role::BorderRouter]);
    assert!(leaf_mesh.sleeps && !router_mesh.sleeps);
    let (.., still) = configs(&SCENARIO.replace("routing = \"mesh\"", ""), 2);
    assert_eq!(still.role, Role::Off);
}

#[test]
fn discovery_is_there_if_the_scenario_says_so() {
    for on in [false, true] {
        let text = format!("{SCENARIO}discovery = {on}\n");
        let scenario = Scenario::from_toml("discovery.toml", &text).unwrap();
        let (network, _) = network(&scenario, 1);
        assert_eq!(network.device(0).node().net().discovery().is_on(), on);
    }
}

#[test]
fn every_scenario_that_comes_along_can_be_read_and_simulated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/scenarios");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file"));
    let files: Vec<_> = files.map(|file| file.path()).collect();
    assert!(files.iter().any(|path| path.ends_with("office-asleep.toml")), "{files:?}");
    for path in files {
        let scenario = Scenario::from_file(&path).unwrap_or_else(|e| panic!("{e}"));
        assert!(
            kinglet_network::run::check(&scenario).is_ok() && !scenario.flows.is_empty(),
            "{path:?}"
        );
        assert_eq!(scenario.warnings(), [""; 0], "{path:?}");
    }
}
