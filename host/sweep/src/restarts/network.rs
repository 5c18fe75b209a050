//! The network of a cell.

use super::cells::{Cell, Changed, POLL_S, Part, Routing};
use kinglet::rpl::Mode;
use kinglet_network::build::Network;
use kinglet_scenario::{Addressing, CONTEXTS, LinkAddresses, NodeId, Objective, Scenario};
use std::net::Ipv6Addr;

/// The scenario of a cell before the restart.
pub fn scenario(cell: &Cell) -> Scenario {
    let mut text = String::from("name = \"restart\"\nduration_s = 3_600\n");
    for (node, role) in (0..).zip(["border-router", "router", "router", "router", "leaf"]) {
        if role == "leaf" && !cell.has_leaf() {
            continue;
        }
        text += &format!("[[node]]\nx_m = {}\ny_m = 0\nrole = \"{role}\"\n", node * 8);
        if role == "leaf" && cell.routing == Routing::Static {
            text += "parent = 3\n";
        }
    }
    text += match cell.routing {
        Routing::Storing => "[net]\nrouting = \"rpl\"\n",
        Routing::NonStoring => "[net]\nrouting = \"rpl\"\nrpl_mode = \"non-storing\"\n",
        Routing::Mesh => "[net]\nrouting = \"mesh\"\n",
        Routing::Aodv => "[net]\nrouting = \"aodv\"\n",
        Routing::Static => "[net]\nregistration = true\n",
    };
    if cell.asleep {
        text += "[radio]\nprofile = \"nrf52840\"\n[wake]\nrate_hz = 8\n";
    }
    if cell.addresses == LinkAddresses::Extended {
        text += "[mac]\naddresses = \"eui64\"\n";
    }
    if cell.lossy {
        text += "[medium]\nframe_loss = 0.1\n";
    }
    if cell.has_leaf() {
        text += &format!("[leaf]\nsleep_interval_s = {POLL_S}\n");
    }
    if cell.routing == Routing::Static {
        // Static routes exist only for flows; these flows never begin.
        for node in 1..if cell.has_leaf() { 5 } else { 4 } {
            for (from, to) in [(0, node), (node, 0)] {
                text += &format!("[[flow]]\nkind = \"udp-periodic\"\nfrom = {from}\nto = {to}\n");
                text += "start_s = 3_599\n";
            }
        }
    }
    let mut scenario = Scenario::from_toml("restart.toml", &text).expect("a scenario");
    scenario.rpl.addresses = true;
    if cell.changed == Changed::Prefix {
        // RPL announces no contexts, and old ones would be wrong.
        scenario.contexts = Some([None; CONTEXTS]);
    }
    scenario
}

/// Returns the scenario with the changed setting of the restarted node.
pub(super) fn changed(cell: &Cell, scenario: &Scenario) -> Scenario {
    let mut changed = scenario.clone();
    match cell.changed {
        Changed::Nothing => {}
        Changed::Mode => {
            changed.rpl.mode = match changed.rpl.mode {
                Mode::Storing => Mode::NonStoring,
                Mode::NonStoring | Mode::UpwardOnly => Mode::Storing,
            }
        }
        Changed::Objective => changed.rpl.objective = Objective::Of0,
        Changed::Compression => changed.rpl.compression = !changed.rpl.compression,
        Changed::Prefix => changed.prefix = "fd00:1:2::/48".parse().expect("a prefix"),
    }
    debug_assert!(cell.changed == Changed::Nothing || cell.part == Part::Border);
    changed
}

/// Returns the present address of each node.
pub(super) fn addresses(world: &Network, addressing: Addressing) -> Vec<Option<Ipv6Addr>> {
    let address = |node: usize| match world.device(node).node().routing().rpl() {
        Some(rpl) => rpl.address(),
        None => Some(addressing.address(node as NodeId)),
    };
    (0..world.nodes()).map(address).collect()
}

/// Returns the messages of routing and discovery that a node has sent so far.
pub(super) fn control_messages(world: &Network, node: usize) -> f64 {
    let node = world.device(node).node();
    let routing = node.routing();
    let rpl = routing.rpl().map_or(0, |rpl| {
        let stats = rpl.stats();
        stats.dios + stats.diss + stats.daos + stats.dao_acks
    });
    let mesh = routing.mesh().map_or(0, |mesh| mesh.stats().sent);
    let aodv = routing.aodv().map_or(0, |aodv| {
        let stats = aodv.stats();
        let relayed = stats.relayed_requests + stats.relayed_replies;
        stats.requests + stats.replies + stats.errors + stats.probes + relayed
    });
    let nd = node.net().discovery().nd().map_or(0, |nd| nd.stats().sent);
    f64::from(rpl + mesh + aodv + nd)
}
