//! TOML to [`Scenario`], with every range checked.

use super::error::Result;
use super::flow::flows;
use super::keys::{self, Buffers};
use super::read::{Reader, Source};
use super::renamed::upgrade;
use super::table::{Key, read};
use super::{CONTEXTS, interference, places};
use super::{
    Fault, Flow, FlowKind, HostCost, Link, Mss, NodeId, NodePlace, Pairs, Propagation, Radio,
    RadioProfile, Role, Route, Routing, Scenario, Tcp, Tunnel, Wake, Wire,
};
use kinglet::mesh::MAX_DATA;
use kinglet::wire::sixlowpan::Context;
use std::path::Path;

/// Octets of the prefix of the addresses in the network data of a mesh.
const PREFIX_OCTETS: usize = 8;

pub(super) fn scenario(file: &Path, text: &str) -> Result<Scenario> {
    let upgraded = upgrade(file, text)?;
    let source = Source { file, text: &upgraded.text };
    match read_scenario(source) {
        Ok(scenario) => Ok(Scenario { renamed: upgraded.changes, ..scenario }),
        Err(error) => Err(upgraded.explain(error)),
    }
}

fn read_scenario(source: Source<'_>) -> Result<Scenario> {
    let document = source.document()?;
    let whole = 0..source.text.len().min(1);
    let mut root = Reader::new(source, document.get_ref(), whole, String::new());
    let mut given = Scenario::default();
    read(&mut root, keys::TOP, &mut given)?;
    let mut base = places::base(&mut root, given.seed)?;
    if root.has("name") {
        base.name = given.name;
    }
    let mut scenario = Scenario {
        duration_s: given.duration_s,
        start_hour: given.start_hour,
        seed: given.seed,
        ..base
    };
    radio(root.table_opt("radio")?, &mut scenario.radio, &scenario.nodes)?;
    medium(root.table_opt("medium")?, &mut scenario)?;
    mac(root.table_opt("mac")?, &mut scenario)?;
    leaf(root.table_opt("leaf")?, &mut scenario)?;
    wake(root.table_opt("wake")?, &mut scenario)?;
    net(root.table_opt("net")?, &mut scenario)?;
    let mtu = scenario.net.mtu;
    tcp(root.table_opt("tcp")?, &mut scenario.tcp, mtu)?;
    if let Some(table) = root.table_opt("wire")? {
        let base = scenario.wire.take().unwrap_or(Wire::PERFECT);
        scenario.wire = Some(wire(table, &scenario.nodes, base)?);
    }
    let nodes = scenario.nodes.len();
    if let Some(table) = root.table_opt("tunnel")? {
        scenario.tunnel = Some(tunnel(table, nodes)?);
    }
    scenario.interference =
        interference::tables(&mut root, &scenario.medium, nodes, scenario.interference)?;
    scenario.flows = flows(root.tables("flow")?, &scenario)?;
    if let Some(table) = root.table_opt("pairs")? {
        scenario.pairs = Some(pairs(table, &scenario.flows)?);
    }
    for table in root.tables("fault")? {
        scenario.faults.push(fault(table, scenario.nodes.len(), scenario.duration_s)?);
    }
    let hosts = scenario.nodes.iter().any(|place| place.role == Role::Host);
    if hosts && (scenario.routing.by_short() || !scenario.registration) {
        let message =
            "a host needs [net] registration = true, and neither a mesh nor AODV".to_owned();
        return Err(root.error_at("node", message));
    }
    let sleeps = |place: &NodePlace| place.role == Role::Leaf;
    if let Some(facts) = scenario.routing.facts()
        && let Some(why) = facts.no_leaves
        && scenario.nodes.iter().any(sleeps)
    {
        let message = format!("{} has no leaves, as {why}; make it a router", facts.label);
        return Err(root.error_at("node", message));
    }
    if let Some(message) = scenario.needs_short_addresses() {
        return Err(root.error_at("mac", message));
    }
    if let Some(message) = scenario.misplaced_chip() {
        return Err(root.error_at("radio", message));
    }
    if let Some(message) = scenario.misplaced_peer() {
        return Err(root.error_at("tcp", message));
    }
    if let Some(message) = scenario.misplaced_tunnel() {
        return Err(root.error_at("tunnel", message));
    }
    root.finish()?;
    Ok(scenario)
}

/// Reads a section that is only a table of settings.
fn section<T>(table: Option<Reader<'_>>, keys: &[Key<T>], target: &mut T) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys, target)?;
    t.finish()
}

fn radio(table: Option<Reader<'_>>, radio: &mut Radio, nodes: &[NodePlace]) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys::RADIO, radio)?;
    chips(&mut t, radio, nodes)?;
    let msp430 = matches!(radio.profile, RadioProfile::Cc2420 | RadioProfile::Cc2420Contiki);
    if msp430 && radio.host_cost == HostCost::Measured {
        let message = "instructions were not counted on this radio's MSP430; give a time by \
                       `host_cost_us_per_frame`";
        return Err(t.error_at("host_cost", message.to_owned()));
    }
    t.finish()
}

/// Reads the nodes that are chips.
fn chips(t: &mut Reader<'_>, radio: &mut Radio, nodes: &[NodePlace]) -> Result<()> {
    let last = nodes.len().saturating_sub(1) as u64;
    radio.chips = t.integers("chips", last)?.into_iter().map(|node| node as NodeId).collect();
    radio.chips.sort_unstable();
    radio.chips.dedup();
    if radio.chips.is_empty() {
        return Ok(());
    }
    if !matches!(radio.profile, RadioProfile::Nrf52840 | RadioProfile::At86rf233) {
        let message = "there is no model of this radio's chip; profile = \"nrf52840\" and \
                       \"at86rf233\" have one";
        return Err(t.error_at("chips", message.to_owned()));
    }
    let outside = |node: &&NodeId| nodes[**node as usize].role == Role::Outside;
    if let Some(node) = radio.chips.iter().find(outside) {
        let message = format!("node {node} is outside the simulation and has no chip");
        return Err(t.error_at("chips", message));
    }
    Ok(())
}

fn medium(table: Option<Reader<'_>>, scenario: &mut Scenario) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    let Scenario { medium, nodes, .. } = scenario;
    read(&mut t, keys::MEDIUM, medium)?;
    match &mut medium.propagation {
        disc @ Propagation::UnitDisc { .. } => read(&mut t, keys::UNIT_DISC, disc)?,
        loss @ Propagation::PathLoss { .. } => read(&mut t, keys::PATH_LOSS, loss)?,
        Propagation::LinkMatrix { links } => {
            for table in t.tables("link")? {
                links.push(link(table, nodes.len())?);
            }
            if links.is_empty() {
                let message = "a link-matrix needs at least one [[medium.link]]".to_owned();
                return Err(t.error_at("model", message));
            }
        }
    }
    t.finish()
}

fn link(mut t: Reader<'_>, nodes: usize) -> Result<Link> {
    let (from, to) = (t.node("from", nodes)?, t.node("to", nodes)?);
    let mut link = Link { from, to, ..Link::USUAL };
    read(&mut t, keys::LINK, &mut link)?;
    t.finish()?;
    Ok(link)
}

fn mac(table: Option<Reader<'_>>, scenario: &mut Scenario) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys::MAC, scenario)?;
    // The MAC fills reserved octets with a padding element, which takes at least 7.
    if let octets @ 1..=6 = scenario.mac.reserved_security {
        let message = format!("{octets} is too small; allowed are 0 and 7 to 60");
        return Err(t.error_at("reserved_security_bytes", message));
    }
    section(t.table_opt("indirect")?, keys::INDIRECT, scenario)?;
    t.finish()
}

fn leaf(table: Option<Reader<'_>>, scenario: &mut Scenario) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys::LEAF, scenario)?;
    let cannot = matches!(scenario.radio.profile, RadioProfile::At86rf233 | RadioProfile::Cc2420);
    if scenario.mac.csl.is_some() && cannot {
        let message = "the radio cannot start reception at a given time; profile = \"nrf52840\" \
                       can";
        return Err(t.error_at("csl_period_ms", message.to_owned()));
    }
    t.finish()
}

fn wake(table: Option<Reader<'_>>, scenario: &mut Scenario) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    let mut wake = scenario.wake.unwrap_or(Wake::DEFAULT);
    read(&mut t, keys::WAKE, &mut wake)?;
    let able =
        matches!(scenario.radio.profile, RadioProfile::Nrf52840 | RadioProfile::Cc2420Contiki);
    if !able {
        let message = "the radio cannot retransmit frames and sense the channel by itself; \
                       profile = \"nrf52840\" and \"cc2420-contiki\" can";
        return Err(t.error(message.to_owned()));
    }
    if let Some(node) = scenario.radio.chips.first() {
        let message = format!(
            "the driver of the chip of node {node} cannot retransmit frames and sense the channel \
             by itself; [radio] without chips can"
        );
        return Err(t.error(message));
    }
    if scenario.nodes.iter().any(|place| place.role == Role::Leaf) {
        let message = "leaves poll their parents and cannot be duty-cycled as routers are; make \
                       them routers";
        return Err(t.error(message.to_owned()));
    }
    scenario.wake = Some(wake);
    if let Some(message) = scenario.cannot_wake() {
        return Err(t.error(message));
    }
    t.finish()
}

fn net(table: Option<Reader<'_>>, scenario: &mut Scenario) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys::NET, scenario)?;
    if scenario.contexts_advertised && !scenario.registration {
        let message = "contexts are advertised only with registration = true".to_owned();
        return Err(t.error_at("contexts_from", message));
    }
    for table in t.tables("route")? {
        let route = route(table, scenario.nodes.len())?;
        scenario.given_routes.get_or_insert_default().push(route);
    }
    if scenario.given_routes.is_some() && scenario.routing != Routing::Static {
        let message = "routes can be given only with routing = \"static\"".to_owned();
        return Err(t.error_at("route", message));
    }
    if t.has("context") {
        scenario.contexts.get_or_insert_default();
    }
    for table in t.tables("context")? {
        context(table, scenario.contexts.get_or_insert_default())?;
    }
    let octets = |context: &Context| 2 + usize::from(context.len.div_ceil(8));
    let contexts: usize = scenario.contexts.iter().flatten().flatten().map(octets).sum();
    if scenario.mesh_addresses && PREFIX_OCTETS + contexts > MAX_DATA {
        let message = format!(
            "the contexts take {contexts} octets, and a message of the mesh has room for {}",
            MAX_DATA - PREFIX_OCTETS
        );
        return Err(t.error_at("mesh_addresses", message));
    }
    t.finish()
}

fn route(mut t: Reader<'_>, nodes: usize) -> Result<Route> {
    let node = t.node("node", nodes)?;
    let (destination, next_hop) = (t.node("destination", nodes)?, t.node("next_hop", nodes)?);
    t.finish()?;
    Ok(Route { node, destination, next_hop })
}

fn context(mut t: Reader<'_>, contexts: &mut [Option<Context>; CONTEXTS]) -> Result<()> {
    let Some(id) = t.integer_opt("id", 0..=CONTEXTS as u64 - 1)? else {
        return Err(t.error_at("id", format!("missing; give one of 0 to {}", CONTEXTS - 1)));
    };
    let written = t.string_opt("prefix")?.unwrap_or_default();
    let parts = written.split_once('/');
    let prefix = parts.and_then(|(address, len)| Some((address.parse().ok()?, len.parse().ok()?)));
    let Some((prefix, len)) = prefix.filter(|(_, len)| *len <= 128) else {
        let message = format!("\"{written}\" is not a prefix, such as \"fd00::/64\"");
        return Err(t.error_at("prefix", message));
    };
    if contexts[id as usize].replace(Context { prefix, len }).is_some() {
        return Err(t.error_at("id", format!("context {id} is defined twice; give each id once")));
    }
    t.finish()
}

fn tcp(table: Option<Reader<'_>>, tcp: &mut Tcp, mtu: u16) -> Result<()> {
    let Some(mut t) = table else { return Ok(()) };
    read(&mut t, keys::TCP, tcp)?;
    // IPv6 and TCP headers, as in RFC 6691.
    if let Mss::Bytes(mss) = tcp.mss
        && mss + 60 > mtu
    {
        let message = format!("{mss} is too large: [net] mtu = {mtu} has room for {}", mtu - 60);
        return Err(t.error_at("mss", message));
    }
    let Buffers { send, receive } = Buffers::read(&mut t)?;
    tcp.send_buffer = send.unwrap_or(tcp.send_buffer);
    tcp.receive_buffer = receive.unwrap_or(tcp.receive_buffer);
    t.finish()
}

fn wire(mut t: Reader<'_>, nodes: &[NodePlace], mut wire: Wire) -> Result<Wire> {
    if !nodes.iter().any(|place| place.role == Role::BorderRouter) {
        return Err(t.error("needs a node with `role = \"border-router\"` as its end".to_owned()));
    }
    read(&mut t, keys::WIRE, &mut wire)?;
    t.finish()?;
    Ok(wire)
}

fn tunnel(mut t: Reader<'_>, nodes: usize) -> Result<Tunnel> {
    let mut tunnel = Tunnel::to(t.node("node", nodes)?);
    read(&mut t, keys::TUNNEL, &mut tunnel)?;
    t.finish()?;
    Ok(tunnel)
}

fn pairs(mut t: Reader<'_>, flows: &[Flow]) -> Result<Pairs> {
    let mut pairs = Pairs::USUAL;
    read(&mut t, keys::PAIRS, &mut pairs)?;
    if !matches!(flows, [Flow { kind: FlowKind::TcpBulk { .. }, .. }]) {
        let message = "needs exactly one [[flow]], of kind \"tcp-bulk\"".to_owned();
        return Err(t.error(message));
    }
    t.finish()?;
    Ok(pairs)
}

fn fault(mut t: Reader<'_>, nodes: usize, duration_s: f64) -> Result<Fault> {
    let Some(()) = t.choice_opt("kind", &[("partition", ())])? else {
        return Err(t.error_at("kind", "missing; give \"partition\"".to_owned()));
    };
    let from_s = t.number("from_s", 0.0..=duration_s, 0.0)?;
    let to_s = t.number_opt("to_s", from_s..=duration_s)?;
    let cut = t.integers("nodes", (nodes as u64).saturating_sub(1))?;
    if cut.is_empty() {
        let message = "missing; list the nodes that are cut off, such as [2, 3]".to_owned();
        return Err(t.error_at("nodes", message));
    }
    t.finish()?;
    Ok(Fault::Partition { nodes: cut.into_iter().map(|n| n as NodeId).collect(), from_s, to_s })
}
