//! The stack of a border router for a radio that is not simulated: that of a simulated one.

use super::{add_default_route, stack};
use crate::profile::LabProfile;
use kinglet::Node;
use kinglet::mac::Csma;
use kinglet::radio::Capabilities;
use kinglet_scenario::{NodeId, Scenario};

/// Returns the stack of the border router of `scenario`, which has no other node, on a radio with
/// these capabilities. `life` is the seed of its secrets and first sequence numbers: it has to
/// differ from run to run.
pub fn border_router(scenario: &Scenario, life: u64, radio: Capabilities) -> Box<Node<LabProfile>> {
    let mut scenario = scenario.clone();
    if radio.contains(Capabilities::CSMA) {
        scenario.mac.csma = Csma::Hardware;
    }
    let node: NodeId = 0;
    let mut router = stack(&scenario, node, life, &[], radio);
    add_default_route(scenario.addressing(), Some(node), node, &[], &mut router);
    router
}
