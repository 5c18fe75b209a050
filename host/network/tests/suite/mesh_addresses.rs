//! Addresses and 6LoWPAN contexts that come with the mesh.

use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::Scenario;

/// A line of routers, a leaf that sleeps at its end, and a host. Readings of the leaf and of a
/// router go to the host, and datagrams of the host to the leaf, from two minutes on.
fn network(net: &str) -> String {
    let mut text = format!(
        "duration_s = 900\n[net]\nrouting = \"mesh\"\n{net}\n[leaf]\nsleep_interval_s = 20\n\
         [wire]\n"
    );
    for (node, role) in ["border-router", "router", "router", "router", "leaf"].iter().enumerate() {
        text += &format!("[[node]]\nx_m = {}\nrole = \"{role}\"\n", node * 8);
    }
    for from in [4, 2] {
        text += &format!(
            "[[flow]]\nkind = \"anemometer\"\nfrom = {from}\nto = 5\nstart_s = 120\nbatch = 4\n"
        );
    }
    text + "[[flow]]\nkind = \"udp-periodic\"\nfrom = 5\nto = 4\nstart_s = 120\nperiod_ms = 30000\n"
}

fn result(net: &str, loss: f64, seed: u64) -> RunResult {
    let text = network(net) + &format!("[medium]\nframe_loss = {loss}\n");
    let scenario = Scenario::from_toml("mesh.toml", &text).expect("a scenario");
    run(&scenario, seed, &Options::default()).expect("it can be simulated")
}

#[test]
fn a_network_with_them_delivers_what_a_configured_one_does() {
    for (loss, seed) in [(0.0, 31), (0.1, 32), (0.2, 33)] {
        for net in ["mesh_addresses = true", "mesh_addresses = false"] {
            let result = result(net, loss, seed);
            for flow in &result.flows[..2] {
                let readings = flow.readings.as_ref().expect("a sensor");
                let (generated, delivered) = (readings.generated, readings.delivered);
                assert!(delivered + 10 >= generated && generated > 700, "{net}: {readings:?}");
            }
            let arrived = result.flows[2].segments_received.unwrap();
            assert!(arrived >= 25, "{net}: {arrived} of 26 datagrams");
        }
    }
}

#[test]
fn contexts_that_no_message_has_room_for_are_refused() {
    let context = |id| format!("[[net.context]]\nid = {id}\nprefix = \"fd00::{id}/128\"\n");
    let all: String = (0..4).map(context).collect();
    let message = |net: &str| {
        let read = Scenario::from_toml("mesh.toml", &network(&format!("{net}\n{all}")));
        read.err().map(|error| error.to_string())
    };
    assert_eq!(message("mesh_addresses = false"), None);
    let refused = message("mesh_addresses = true").expect("72 octets");
    assert!(refused.contains("the contexts take 72 octets"), "{refused}");
}
