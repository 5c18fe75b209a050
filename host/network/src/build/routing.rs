//! The routing protocol of a node, from a scenario.

use super::{contexts, takes_address};
use crate::protocols::{Learning, Tables};
use crate::tinyrpl::{RemoveTimers, TinyRpl};
use core::net::Ipv6Addr;
use kinglet::routing::Identity;
use kinglet::time::Instant;
use kinglet::{Aoded, Meshed, Rpled};
use kinglet_scenario::{self as scenario, NodeId, NodePlace, Objective, Role, Routing, Scenario};

/// With OF0 a hop is DEFAULT_MIN_HOP_RANK_INCREASE (RFC 6550, 17), and a rank may rise by seven.
const OF0_HOP: u16 = 256;
const OF0_HOPS: u16 = 7;

/// Scenario and node for which a protocol is made.
struct Site<'a> {
    scenario: &'a Scenario,
    node: NodeId,
    place: &'a NodePlace,
    identity: Identity,
}

/// Routing protocol and role of `node`.
pub(super) fn learning(scenario: &Scenario, node: NodeId, identity: Identity) -> Learning {
    let place = &scenario.nodes[node as usize];
    if matches!(place.role, Role::Host | Role::Outside) {
        return Learning::Static;
    }
    let site = Site { scenario, node, place, identity };
    macro_rules! make {
        ($(
            $(#[$about:meta])*
            $variant:ident $name:literal ($storage:ty) = $make:expr, $facts:expr, $text:literal;
        )+) => {
            match scenario.routing {
                Routing::Static => Learning::Static,
                $(Routing::$variant => Learning::$variant($make(&site)),)+
            }
        };
    }
    kinglet_scenario::protocols!(make)
}

fn mesh(site: &Site<'_>) -> Box<Meshed<Tables>> {
    use kinglet::mesh::MeshConfig;
    let Site { scenario, node, place, identity } = *site;
    let parent = place.parent.map(|parent| scenario.addressing().short(parent));
    let mesh = MeshConfig { role: mesh_role(place.role), parent, ..MeshConfig::OFF };
    let prefix = scenario.prefix.mesh();
    let known = if takes_address(scenario, node) { Ipv6Addr::UNSPECIFIED } else { prefix };
    let mut mesh = Box::new(Meshed::new(identity, mesh, known));
    if scenario.mesh_addresses && node == scenario.root() {
        let contexts = (0..).zip(contexts(scenario));
        let contexts: Vec<_> = contexts.filter_map(|(id, it)| Some((id, it?))).collect();
        mesh.announce(Instant::ZERO, prefix, &contexts).expect("checked with the scenario");
    }
    mesh
}

const fn mesh_role(role: Role) -> kinglet::mesh::Role {
    use kinglet::mesh;
    match role {
        // They do not take part in the mesh.
        Role::Host | Role::Outside => mesh::Role::Off,
        Role::Leaf => mesh::Role::Leaf,
        Role::Router => mesh::Role::Router,
        Role::BorderRouter => mesh::Role::BorderRouter,
    }
}

fn rpl(site: &Site<'_>) -> TinyRpl<Tables> {
    use kinglet::rpl;
    let Site { scenario, node, place, identity } = *site;
    let role = if scenario.root() == node {
        let dodag_id = scenario.addressing().address(node);
        let mut root = rpl::Root::new(dodag_id, scenario.rpl.mode);
        root.configuration.compressed = scenario.rpl.compression;
        root.sequence = scenario.rpl.sequence;
        if scenario.rpl.objective == Objective::Of0 {
            root.configuration.objective = 0;
            root.configuration.min_hop_rank_increase = OF0_HOP;
            root.configuration.max_rank_increase = OF0_HOP * OF0_HOPS;
        }
        rpl::Role::Root(root)
    } else if place.role == Role::Leaf {
        rpl::Role::Leaf
    } else {
        rpl::Role::Router
    };
    let scenario::Rpl { option, load, .. } = scenario.rpl;
    let rpl = rpl::RplConfig { option, load, ..rpl::RplConfig::new(role, 0, 0) };
    let timers = scenario.rpl.routes_expire.then(RemoveTimers::default);
    TinyRpl::new(Rpled::new(identity, rpl), timers)
}

fn aodv(site: &Site<'_>) -> Box<Aoded<Tables>> {
    use kinglet::aodv;
    let Site { scenario, place, identity, .. } = *site;
    let role = match place.role {
        Role::BorderRouter => aodv::Role::BorderRouter,
        _ => aodv::Role::Router,
    };
    let (metric, link_probes) = (scenario.aodv_metric, scenario.aodv_link_probes);
    let aodv = aodv::AodvConfig { role, metric, link_probes, ..aodv::AodvConfig::OFF };
    Box::new(Aoded::new(identity, aodv, scenario.prefix.mesh()))
}
