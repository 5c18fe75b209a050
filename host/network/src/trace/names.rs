//! The flow of a packet, and the node of an address.

use core::net::Ipv6Addr;
use kinglet_scenario::{NO_SHORT, NodeId, Role, Scenario, Transport};
use kinglet_sim::trace::{Head, To};
use kinglet_wire::ipv6::protocol;
use serde::{Deserialize, Serialize};

/// A node of the scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NodeName {
    /// Its number.
    pub node: NodeId,
    /// Its address in the mesh.
    pub address: Ipv6Addr,
    /// Its short address, if it has one.
    pub short: Option<u16>,
    /// Its EUI-64, as in `02-00-00-ff-fe-00-00-01`; empty for a host without a radio.
    #[serde(default)]
    pub eui64: String,
}

/// A flow of the scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FlowName {
    /// Its number.
    pub flow: usize,
    /// Its kind.
    pub kind: String,
    /// The node where it begins; for a server the server itself.
    pub from: NodeId,
    /// The node of its server or receiver.
    pub to: Option<NodeId>,
    /// `tcp` or `udp`.
    pub transport: Option<String>,
    /// The port of its server or receiver.
    pub port: Option<u16>,
}

/// A source of interference.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Source {
    /// Name in scenario files.
    pub source: String,
    /// Time from which it is present, in seconds.
    pub from_s: f64,
    /// Time until which it is present, if it ends.
    pub until_s: Option<f64>,
}

/// The first line of a trace.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Names {
    /// `begin`.
    pub event: String,
    /// Version of the trace format: [`VERSION`](super::VERSION).
    pub trace: u32,
    /// The version of the program.
    pub kinglet: String,
    /// The name of the scenario.
    pub scenario: String,
    /// The seed of the run.
    pub seed: u64,
    /// The wired host's address and number, if there is one.
    pub host: Option<NodeName>,
    /// All nodes.
    pub nodes: Vec<NodeName>,
    /// All flows.
    pub flows: Vec<FlowName>,
    /// All sources of interference.
    pub interference: Vec<Source>,
}

impl Names {
    /// Names of `scenario`.
    pub(crate) fn of(scenario: &Scenario, seed: u64) -> Self {
        let addressing = scenario.addressing();
        let name = |node| NodeName {
            node,
            address: addressing.address(node),
            short: Some(addressing.short(node)).filter(|short| *short < NO_SHORT),
            eui64: eui64(addressing.eui64(node)),
        };
        let host = scenario.host();
        let host = scenario.wire.as_ref().map(|_| NodeName {
            node: host,
            address: scenario.prefix.host(),
            short: None,
            eui64: String::new(),
        });
        let flows = scenario.flows.iter().enumerate().map(|(place, flow)| {
            let (from, _) = flow.kind.ends();
            let target = flow.target(place);
            let transport = target.map(|target| match target.transport {
                Transport::Tcp => "tcp".to_owned(),
                Transport::Udp => "udp".to_owned(),
            });
            FlowName {
                flow: place,
                kind: flow.kind.name().to_owned(),
                from,
                to: target.map(|target| target.node),
                transport,
                port: target.map(|target| target.port),
            }
        });
        let sources = scenario.interference.iter().map(|it| Source {
            source: it.source.name().to_owned(),
            from_s: it.from_s,
            until_s: it.until_s,
        });
        let nodes = (0..).zip(&scenario.nodes);
        let nodes = nodes.filter(|(_, place)| place.role != Role::Outside);
        Names {
            event: "begin".to_owned(),
            trace: super::VERSION,
            kinglet: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: scenario.name.clone(),
            seed,
            nodes: nodes.map(|(node, _)| name(node)).collect(),
            host,
            flows: flows.collect(),
            interference: sources.collect(),
        }
    }

    /// The node with this address: in the mesh prefix, or link-local with the same identifier.
    pub fn node_of(&self, address: Ipv6Addr) -> Option<NodeId> {
        let identifier = |address: Ipv6Addr| address.to_bits() as u64;
        let local = address.is_unicast_link_local().then(|| identifier(address));
        let is =
            |name: &&NodeName| name.address == address || local == Some(identifier(name.address));
        self.nodes.iter().chain(&self.host).find(is).map(|name| name.node)
    }

    /// The flow between two ends; also true if it begins at the first one.
    pub fn flow(
        &self,
        transport: &str,
        from: (Ipv6Addr, u16),
        to: (Ipv6Addr, u16),
    ) -> Option<(usize, bool)> {
        let (from_node, to_node) = (self.node_of(from.0), self.node_of(to.0));
        let is = |flow: &FlowName, client: Option<NodeId>, server: Option<NodeId>, port: u16| {
            flow.transport.as_deref() == Some(transport)
                && flow.port == Some(port)
                && flow.to.is_some()
                && flow.to == server
                && client == Some(flow.from)
        };
        let forward = self.flows.iter().find(|flow| is(flow, from_node, to_node, to.1));
        let back = || self.flows.iter().find(|flow| is(flow, to_node, from_node, from.1));
        match forward {
            Some(flow) => Some((flow.flow, true)),
            None => back().map(|flow| (flow.flow, false)),
        }
    }

    /// The flow of a packet; also true if the packet goes forward.
    pub(crate) fn flow_of(&self, head: &Head) -> Option<(usize, bool)> {
        let transport = match head.protocol {
            protocol::TCP => "tcp",
            protocol::UDP => "udp",
            _ => return None,
        };
        let (from, to) = head.ports?;
        self.flow(transport, (head.src, from), (head.dst, to))
    }

    /// The recipient of a frame.
    pub(super) fn receiver(&self, to: To) -> Option<String> {
        let named = |is: &dyn Fn(&NodeName) -> bool, unknown: String| {
            let name = self.nodes.iter().find(|name| is(name));
            Some(name.map_or(unknown, |name| format!("node {}", name.node)))
        };
        match to {
            To::Absent => None,
            To::Short(0xffff) => Some("all".to_owned()),
            To::Short(short) => named(&|name| name.short == Some(short), format!("{short:04x}")),
            To::Extended(octets) => named(&|name| name.eui64 == eui64(octets), eui64(octets)),
        }
    }
}

/// An EUI-64 as people write it.
fn eui64(octets: [u8; 8]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join("-")
}
