//! Neighbour discovery of a node as host or router, from a scenario.

use super::contexts;
use crate::discovery::{Optional, Plan};
use kinglet::time::Instant;
use kinglet::wire::nd::{BorderRouter, ContextInformation, PrefixInformation, RouterAdvertisement};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, nd, net};
use kinglet_scenario::{NodeId, Role, Routing, Scenario};

/// Router lifetime in seconds: the longest that RFC 4861, 6.2.1, allows, so that sleepy nodes
/// seldom need to refresh it.
const ROUTER_S: u16 = 9_000;
/// AdvValidLifetime and AdvPreferredLifetime (RFC 4861, 6.2.1): 30 days and 7 days.
const VALID_S: u32 = 2_592_000;
const PREFERRED_S: u32 = 604_800;
/// Valid lifetime of contexts and of the Authoritative Border Router Option, in minutes.
const VALID_MIN: u16 = 43_200;

/// Neighbour discovery of `node`, which has this configuration.
pub(super) fn discovery(scenario: &Scenario, node: NodeId, config: &Config) -> Optional {
    let role = scenario.nodes[node as usize].role;
    if role == Role::Outside || !scenario.discovery && !scenario.registration {
        return net::Discovery::NONE;
    }
    let mac = &config.mac;
    let settings = nd::NdConfig::new(mac.source(), mac.extended, mac.pan_id.0, config.seed);
    let border = scenario.root();
    let autoconfigures = scenario.registration && node != border;
    let has_parent = !mac.rx_on_when_idle;
    let reports = scenario.listener_reports;
    // With RPL a leaf advertises its own address.
    let routed = scenario.routing != Routing::Rpl || role == Role::Host;
    let settings = nd::NdConfig { autoconfigures, has_parent, reports, routed, ..settings };
    let serves = scenario.registration && (node == border || role.relays());
    let role = serves.then(|| serving(scenario, node == border));
    Optional::new(settings, role)
}

/// Information that a router advertises: the border router that of the scenario, other routers the
/// information that they received from it.
fn serving(scenario: &Scenario, is_border: bool) -> nd::Serving<Plan> {
    let border = if is_border {
        let address = scenario.addressing().address(scenario.root());
        nd::Border::This(BorderRouter { version: 1, valid_min: VALID_MIN, address })
    } else {
        nd::Border::Learnt
    };
    let offer = nd::Offer::new(border);
    let router = RouterAdvertisement { lifetime_s: ROUTER_S, ..offer.router };
    let registrar = scenario.routing == Routing::Rpl;
    let mut serving = nd::Serving::new(nd::Offer { router, registrar, ..offer });
    if is_border {
        let (prefix, on_link, autonomous) = (scenario.prefix.mesh(), false, true);
        let (len, valid_s, preferred_s) = (64, VALID_S, PREFERRED_S);
        let prefix = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
        serving.offer_prefix(Instant::ZERO, prefix).expect("the plan has room for two");
        for (id, context) in (0..).zip(contexts(scenario)) {
            let Some(Context { prefix, len }) = context else { continue };
            let (compress, valid_min) = (true, VALID_MIN);
            let context = ContextInformation { id, compress, prefix, len, valid_min };
            serving.offer_context(Instant::ZERO, context).expect("the plan has room for all");
        }
    }
    serving
}
