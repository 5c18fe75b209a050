//! A simulated network of the lab with its border router, and its externally visible state.

use crate::GatewayError;
use crate::beyond::{Beyond, Shared};
use crate::bridge::{self, End};
use crate::port::Port;
use crate::serial::{SerialMote, Site};
use crate::status::{LastMinute, Link, Status};
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::net::Discard;
use kinglet::radio::Channel;
use kinglet::rpl::{Info, Sequence};
use kinglet::wire::ieee802154::Address;
use kinglet_network::apps::coap::CoapServer;
use kinglet_network::apps::site::WebServer;
use kinglet_network::build::{self, Stations};
use kinglet_network::profile::LabProfile;
use kinglet_network::run::{
    BorderResult, FlowResult, LossResult, Reasons, Watch, add_faults, check, flow_records,
    prepare_life,
};
use kinglet_network::tree::{NextHops, links};
use kinglet_scenario::{Addressing, Fault, FlowKind, Listening, NodeId, Role, Scenario, Wire};
use kinglet_sim::pcap::Pcap;
use kinglet_sim::{Hosted, World};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_zep::air::Ends;
use kinglet_zep::state::{Kept, State, StateError};
use serde::Serialize;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// Protocol of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// HTTP over TCP.
    Http,
    /// CoAP over UDP.
    Coap,
}

/// A server of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its node.
    pub node: NodeId,
    /// Its protocol.
    pub service: Service,
    /// Its TCP or UDP port.
    pub port: u16,
    /// Its index among the applications of the node.
    app: usize,
}

/// A mote and its distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mote {
    /// Its number in the scenario.
    pub node: NodeId,
    /// Its address.
    pub address: Ipv6Addr,
    /// Radio hops from the border router; 0 for the border router itself.
    pub hops: usize,
}

/// A port of this machine to which a mote sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The sending node.
    pub node: NodeId,
    /// Its purpose, by the name of the flow's kind.
    pub kind: &'static str,
    /// The port.
    pub port: Listening,
}

/// Counters of a node since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeCounters {
    /// Its number.
    pub node: NodeId,
    /// Frames put on the air, retries included, acknowledgements not.
    pub frames: u64,
    /// Retransmissions among these, because of a missing acknowledgement.
    pub retries: u64,
    /// Frames given up: no acknowledgement after the last retry, or no clear channel.
    pub lost: u64,
    /// Packets dropped for lack of queue space or buffers.
    pub drops: u64,
    /// Requests answered over HTTP and CoAP; with CoAP each block is one.
    pub served: u64,
    /// HTTP connections open now.
    pub open: u64,
}

impl NodeCounters {
    /// Returns the counters of a stack; that of its applications is 0.
    pub(crate) fn of(number: NodeId, node: &Node<LabProfile>) -> Self {
        let (mac, net) = (node.mac().stats(), node.net().stats());
        let lost = [mac.no_ack, mac.channel_access_failure, mac.missed, mac.unknown];
        let full = [Discard::NoBuffer, Discard::QueueFull, Discard::NoReassembly];
        NodeCounters {
            node: number,
            frames: mac.transmissions.into(),
            retries: mac.retries.into(),
            lost: lost.map(u64::from).iter().sum(),
            drops: full.map(|reason| u64::from(net.discarded(reason))).iter().sum(),
            ..NodeCounters::default()
        }
    }
}

/// Time between two looks at the frame counters: no node sends half a block of them, 8,192 frames,
/// meanwhile.
const KEEPING: Duration = Duration::from_secs(1);
/// Longest time for route discovery before the network is announced, if the nodes discover routes
/// themselves.
const FORMING: Duration = Duration::from_secs(120);
/// Time without route changes after which the routes are announced.
const SETTLED: Duration = Duration::from_secs(20);

/// A lab network that has a border router.
pub struct Mesh {
    world: World<Site>,
    border: usize,
    /// The ports of computers: at the border router, and at the far end of a tunnel.
    ports: Vec<Port>,
    far_end: Option<NodeId>,
    addressing: Addressing,
    /// End of the route discovery at the start.
    began: Instant,
    roles: Vec<Role>,
    next_hops: NextHops,
    on: LastMinute,
    /// Nodes behind serial lines.
    serial: Vec<usize>,
    /// Positions of external devices that share the channel, and the notification of their data.
    beyond: Vec<usize>,
    news: Arc<Notify>,
    motes: Vec<Mote>,
    servers: Vec<Server>,
    /// Nodes with echo, sink and source.
    services: Vec<NodeId>,
    calls: Vec<Call>,
    faults: Vec<Fault>,
    /// The scenario with services, and the ends of its own flows.
    scenario: Scenario,
    ends: Vec<build::Ends>,
    /// Observes the relations of the nodes, if they maintain any.
    watch: Option<Watch>,
    /// What nodes outside of the simulation remember of these ones, and the time of the next look.
    state: Option<(State, Instant)>,
}

impl Mesh {
    /// Builds the network of `scenario`.
    ///
    /// # Errors
    /// [`GatewayError::NoBorderRouter`], [`GatewayError::Unsupported`]
    pub fn new(scenario: &Scenario) -> Result<Self, GatewayError> {
        Mesh::with_life(scenario, scenario.seed, &[])
    }

    /// The same with another seed for the lives of its nodes, which has to differ from run to run
    /// if nodes outside of the simulation or other computers remember the previous one. External
    /// devices share the channel by ZEP, each at the next position that is for them: they receive
    /// the messages from which neighbours learn of a restart.
    ///
    /// # Errors
    /// [`GatewayError::NoBorderRouter`], [`GatewayError::Unsupported`]; [`GatewayError::Zep`]:
    /// there are fewer positions, or a ZEP link cannot be opened.
    pub fn with_life(scenario: &Scenario, life: u64, zep: &[Ends]) -> Result<Self, GatewayError> {
        // This machine takes the place of the host behind the wire.
        if scenario.wire.as_ref().is_some_and(|wire| *wire != Wire::PERFECT) {
            let what = "a simulated [wire]: this machine takes the place of its host";
            return Err(GatewayError::Unsupported(what.to_owned()));
        }
        let border = scenario.nodes.iter().position(|n| n.role == Role::BorderRouter);
        let faults = scenario.faults.clone();
        let border = border
            .ok_or_else(|| GatewayError::NoBorderRouter { scenario: scenario.name.clone() })?;
        // Faults wait until the network is announced.
        let scenario = Scenario { wire: None, faults: Vec::new(), ..scenario.clone() };
        let own_flows = scenario.flows.len();
        let scenario = with_services(scenario, border as NodeId);
        let (world, mut ends) = prepare_life(&scenario, scenario.seed, life)
            .map_err(|error| GatewayError::Unsupported(error.to_string()))?;
        let servers = scenario.flows.iter().zip(&ends).filter_map(|(flow, ends)| {
            let (node, service, port) = match flow.kind {
                FlowKind::HttpServer { node, port } => (node, Service::Http, port),
                FlowKind::CoapServer { node, port, .. } => (node, Service::Coap, port),
                _ => return None,
            };
            Some(Server { node, service, port, app: ends.from.app })
        });
        let servers = servers.collect();
        ends.truncate(own_flows);
        let services = scenario.flows.iter().filter_map(|flow| match flow.kind {
            FlowKind::Services { node } => Some(node),
            _ => None,
        });
        let services = services.collect();
        let mut mesh = Mesh {
            world: world.map(|station| Site::Simulated(Box::new(station))),
            border,
            ports: ports(&scenario, border),
            far_end: scenario.tunnel.map(|tunnel| tunnel.node),
            addressing: scenario.addressing(),
            began: Instant::ZERO,
            roles: scenario.nodes.iter().map(|place| place.role).collect(),
            next_hops: NextHops::new(&scenario),
            on: LastMinute::default(),
            serial: Vec::new(),
            beyond: Vec::new(),
            news: Arc::default(),
            motes: Vec::new(),
            servers,
            services,
            calls: calls(&scenario),
            faults,
            watch: Watch::new(&scenario),
            scenario,
            ends,
            state: None,
        };
        mesh.share(zep)?;
        mesh.form();
        mesh.began = mesh.world.now();
        add_faults(&mut mesh.world, &mesh.faults, mesh.began);
        let mote = |node: usize| {
            let hops = mesh.hops(border, node)?;
            let node = node as NodeId;
            Some(Mote { node, address: mesh.addressing.address(node), hops })
        };
        mesh.motes = (0..mesh.nodes()).filter_map(mote).collect();
        Ok(mesh)
    }

    /// Runs until the nodes have discovered routes to each other and the border router, if they
    /// have to, and these do not improve any more.
    fn form(&mut self) {
        let (mut next_hops, mut since) = (Vec::new(), self.world.now());
        while !self.next_hops.are_static() && self.world.now() < Instant::ZERO + FORMING {
            let now: Vec<_> = (0..self.nodes())
                .filter(|node| self.roles[*node] != Role::Outside)
                .map(|node| (self.hops(self.border, node), self.hops(node, self.border)))
                .collect();
            if now != next_hops {
                (next_hops, since) = (now, self.world.now());
            }
            let connected = next_hops.iter().all(|(there, back)| there.is_some() && back.is_some());
            if connected && self.world.now() - since >= SETTLED {
                return;
            }
            let next = self.world.now() + Duration::from_millis(100);
            self.world.run_until(next);
        }
    }

    /// Returns the time since the network was announced; the time of the initial route discovery
    /// does not count.
    pub fn uptime(&self) -> Duration {
        self.world.now() - self.began
    }

    /// Returns the next hop on the route of `from` to `to`.
    fn next_hop(&self, from: usize, to: usize) -> Option<usize> {
        let stack = match self.world.device(from) {
            Site::Simulated(station) => Some(station.node()),
            Site::Serial(_) | Site::Beyond(_) => None,
        };
        let next = self.next_hops.next_hop(stack, from as NodeId, to as NodeId);
        next.map(|next| next as usize)
    }

    /// Returns the radio hops on the route of `from` to `to`; `None` if it ends or loops.
    fn hops(&self, from: usize, to: usize) -> Option<usize> {
        let (mut at, mut hops) = (from, 0);
        while at != to {
            at = self.next_hop(at, to).filter(|_| hops < self.nodes())?;
            hops += 1;
        }
        Some(hops)
    }

    /// Replaces `node` by the mote at the other end of `line`.
    ///
    /// # Errors
    /// [`GatewayError::Serial`]: there is no such node, or it is connected already.
    pub fn attach(&mut self, node: NodeId, line: UnixStream) -> Result<(), GatewayError> {
        let index = node as usize;
        let has_computer = |index: usize| self.ports.iter().any(|port| port.node() == index);
        if index >= self.world.nodes() || has_computer(index) || self.is_serial(node) {
            let motes = (0..self.nodes()).filter(|mote| !has_computer(*mote));
            let motes: Vec<_> = motes.map(|mote| mote.to_string()).collect();
            let why = match index {
                _ if index >= self.nodes() => "there is no such node",
                _ if index == self.border => "it is the border router",
                _ if has_computer(index) => "it is the far end of the tunnel",
                _ => "it has one already",
            };
            return Err(GatewayError::Serial(format!(
                "--serial {node}=…: node {node} cannot stand behind a serial line, because {why}; \
                 its motes are {}",
                motes.join(", ")
            )));
        }
        self.servers.retain(|server| server.node != node);
        self.services.retain(|services| *services != node);
        self.calls.retain(|call| call.node != node);
        self.serial.push(index);
        self.world.with_device(index, |site, _| {
            *site = Site::Serial(Box::new(SerialMote::new(line)));
        });
        Ok(())
    }

    /// Keeps the frame counters and RPL's sequence in `state`, now and every second.
    ///
    /// # Errors
    /// They cannot be kept.
    pub fn keep_in(&mut self, state: State) -> Result<(), StateError> {
        self.state = Some((state, self.world.now()));
        self.keep()
    }

    fn keep(&mut self) -> Result<(), StateError> {
        let now = self.world.now();
        let Some((state, next)) = self.state.as_mut().filter(|(_, next)| *next <= now) else {
            return Ok(());
        };
        *next = now + KEEPING;
        let kept = state.kept();
        let (mut frame_counter, mut rpl) = (kept.frame_counter, kept.rpl);
        for node in 0..self.world.nodes() {
            self.world.with_device(node, |site, now| {
                let Site::Simulated(station) = site else { return };
                let bound = station.node_mut().poll_counter_bound(now);
                frame_counter = frame_counter.max(bound.unwrap_or(0));
                if let Some(of_root) =
                    station.node().routing().rpl().filter(|_| node == self.border)
                {
                    let Info { version, dtsn, .. } = of_root.info();
                    rpl = Some(Sequence { version, dtsn }.next().next());
                }
            });
        }
        // All nodes begin with the same counter.
        state.keep(Kept { frame_counter, rpl })
    }

    fn share(&mut self, all: &[Ends]) -> Result<(), GatewayError> {
        let scenario = &self.scenario;
        if !all.is_empty() && scenario.mac.security.is_some() {
            let what = "--zep: frames are encrypted, and no other program has the key; give the \
                        scenario [mac] security = false";
            return Err(GatewayError::Zep(what.to_owned()));
        }
        let is_outside = |node: &usize| self.roles[*node] == Role::Outside;
        let (free, inside): (Vec<_>, Vec<_>) = (0..self.nodes()).partition(is_outside);
        if all.len() > free.len() {
            let what = format!(
                "--zep: the scenario has {} places for external nodes (role = \"outside\")",
                free.len()
            );
            return Err(GatewayError::Zep(what));
        }
        let addressing = self.addressing;
        let members = inside.into_iter().flat_map(|node| {
            let node = node as NodeId;
            [addressing.link(node), Address::Extended(addressing.eui64(node))]
        });
        let shared = Shared {
            pan_id: scenario.mac.pan_id.0,
            channel: Channel::new(scenario.radio.channel).unwrap_or_default(),
            power_dbm: scenario.radio.tx_power_dbm as i8,
            members: members.collect(),
            news: Arc::clone(&self.news),
        };
        for (&ends, node) in all.iter().zip(free) {
            let radio = Box::new(Beyond::open(ends, &shared)?);
            self.beyond.push(node);
            self.world.with_device(node, |site, _| *site = Site::Beyond(radio));
        }
        Ok(())
    }

    /// Adds an application to `node`; a fault that restarts the node ends it.
    ///
    /// # Errors
    /// [`GatewayError::Unsupported`]: there is no such node in the simulation, or a computer
    /// replaces it.
    pub fn add(
        &mut self,
        node: NodeId,
        app: Box<dyn Hosted<LabProfile>>,
    ) -> Result<(), GatewayError> {
        let index = node as usize;
        if index >= self.world.nodes() || self.is_serial(node) {
            let what = format!("an application on node {node}, which is not simulated");
            return Err(GatewayError::Unsupported(what));
        }
        if self.far_end == Some(node) {
            let what = format!("an application on node {node}, the far end of the tunnel");
            return Err(GatewayError::Unsupported(what));
        }
        self.world.with_device(index, |site, now| {
            if let Site::Simulated(station) = site {
                station.add_app(app);
                station.run_apps(now);
            }
        });
        Ok(())
    }

    /// Returns whether `node` is behind a serial line.
    pub fn is_serial(&self, node: NodeId) -> bool {
        self.serial.contains(&(node as usize))
    }

    /// Returns the node in front of a second computer, if there is one.
    pub fn far_end(&self) -> Option<NodeId> {
        self.far_end
    }

    /// Returns every node that can be reached from outside, by number.
    pub fn motes(&self) -> &[Mote] {
        &self.motes
    }

    /// Returns the servers, in the order of the scenario.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns whether `node` has an echo, a sink and a source
    /// ([`kinglet_scenario::SERVICE_PORTS`]).
    pub fn has_services(&self, node: NodeId) -> bool {
        self.services.contains(&node)
    }

    /// Returns the ports of this machine to which motes send, in the order of the scenario.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the faults of the scenario, with times in seconds of [`Mesh::uptime`].
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Captures the frames on the air from now on, or no longer.
    pub fn set_pcap(&mut self, pcap: Option<Pcap>) {
        self.world.set_pcap(pcap);
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.world.nodes()
    }

    /// Returns the role of `node`.
    pub fn role(&self, node: NodeId) -> Role {
        self.roles[node as usize]
    }

    /// Returns the present state of every node. It has no side effects on the network; the last
    /// minute of [`Status::duty_cycle`] is measured between calls.
    pub fn status(&mut self) -> Vec<Status> {
        let nodes = 0..self.nodes();
        let on = nodes.clone().map(|node| self.world.energy(node).ledger.total()).collect();
        self.on.add(self.world.now(), on);
        nodes.map(|node| self.status_of(node)).collect()
    }

    fn status_of(&mut self, node: usize) -> Status {
        let now = self.world.now();
        let parent = self.next_hop(node, self.border);
        let role = self.roles[node];
        let address = (role != Role::Outside).then(|| self.addressing.address(node as NodeId));
        let mut status = Status {
            parent: parent.map(|parent| parent as NodeId),
            hops: self.hops(self.border, node),
            duty_cycle: Some(self.on.share(node)),
            duty_cycle_overall: Some(self.world.energy(node).radio.duty_cycle()),
            ..Status::of_role(role, address)
        };
        if let Some(parent) = parent.filter(|_| status.role == Role::Leaf) {
            status.waiting = self.world.with_device(parent, |site, _| match site {
                Site::Simulated(station) => {
                    Some(station.node().net().waiting_for(self.addressing.short(node as NodeId)))
                }
                Site::Serial(_) | Site::Beyond(_) => None,
            });
        }
        let Site::Simulated(station) = self.world.device(node) else { return status };
        let node = station.node();
        let mut status = status.with_stack(node, now);
        status.link = parent.and_then(|parent| {
            let link = node.mac().link(self.addressing.link(parent as NodeId))?;
            let etx = link.etx_x128().map(|etx| f64::from(etx) / 128.0);
            Some(Link { rssi_dbm: link.rssi_dbm(), etx })
        });
        status
    }

    /// Returns the state of the border router's queue for packets of this machine, if there is one.
    pub fn border_queue(&self) -> Option<BorderResult> {
        match self.world.device(self.border) {
            Site::Simulated(station) => BorderResult::of(station.node()),
            Site::Serial(_) | Site::Beyond(_) => None,
        }
    }

    /// Returns the border router.
    pub const fn root(&self) -> NodeId {
        self.border as NodeId
    }

    /// Returns the next hop of each node on the route to the border router.
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        let parent =
            |node| if node == self.border { None } else { self.next_hop(node, self.border) };
        (0..self.nodes()).map(|node| parent(node).map(|next| next as NodeId)).collect()
    }

    /// Returns the number of frames that each node has put on the air, without acknowledgements.
    pub fn frames_sent(&self) -> Vec<u64> {
        (0..self.nodes()).map(|node| self.world.counters(node).frames_sent).collect()
    }

    /// Returns the pairs of nodes in range of each other, the smaller number first.
    pub fn links(&self, scenario: &Scenario) -> Vec<(NodeId, NodeId)> {
        links(&self.world, scenario)
    }

    /// Returns the counters of every node. It has no side effects.
    pub fn counters(&mut self) -> Vec<NodeCounters> {
        (0..self.world.nodes()).map(|node| self.counters_of(node)).collect()
    }

    /// Returns the reasons for which each node has lost frames and packets; `None` behind a serial
    /// line.
    pub fn reasons(&mut self) -> Vec<Option<Reasons>> {
        let of = |site: &mut Site| match site {
            Site::Simulated(station) => Some(Reasons::of(&**station, None)),
            _ => None,
        };
        let nodes = 0..self.world.nodes();
        nodes.map(|node| self.world.with_device(node, |site, _| of(site))).collect()
    }

    /// Returns the records of the scenario's flows, as if the network ended now. An end on this
    /// machine, or behind a serial line, cannot be queried: values that depend on it are absent.
    pub fn flows(&self) -> Vec<FlowResult> {
        let seconds = self.world.now().as_micros() as f64 / 1e6;
        flow_records(self, (&self.scenario, &self.ends), &self.next_hops, seconds)
    }

    /// Returns the relations that nodes have lost since the last call, in seconds of
    /// [`Mesh::uptime`]; nodes are checked at most every five seconds.
    pub fn losses(&mut self) -> Vec<LossResult> {
        let Some(watch) = &mut self.watch else { return Vec::new() };
        let began_s = (self.began - Instant::ZERO).as_micros() as f64 / 1e6;
        let lost = watch.look(&mut self.world).into_iter();
        lost.map(|lost| LossResult { at_s: lost.at_s - began_s, ..lost }).collect()
    }

    fn counters_of(&mut self, node: usize) -> NodeCounters {
        let mine = self.servers.iter().filter(|server| server.node as usize == node);
        let apps: Vec<usize> = mine.map(|server| server.app).collect();
        let mut counters = NodeCounters { node: node as NodeId, ..NodeCounters::default() };
        let radio = self.world.counters(node);
        (counters.frames, counters.lost) = (radio.frames_sent, radio.ack_missing);
        self.world.with_device(node, |site, _| {
            let Site::Simulated(station) = site else { return counters };
            for app in apps {
                if let Some(server) = station.app::<WebServer>(app) {
                    counters.served += u64::from(server.stats().served);
                    counters.open += server.open() as u64;
                }
                if let Some(server) = station.app::<CoapServer>(app) {
                    counters.served += u64::from(server.served());
                }
            }
            let NodeCounters { served, open, .. } = counters;
            NodeCounters { served, open, ..NodeCounters::of(counters.node, station.node()) }
        })
    }
}

/// Returns the scenario with echo, sink and source at every node if the tables have space for them;
/// otherwise only at nodes with a route, or at none.
fn with_services(scenario: Scenario, border: NodeId) -> Scenario {
    let next_hops: BTreeSet<_> = scenario.routes().iter().map(|route| route.node).collect();
    let fits = |scenario: &Scenario| check(scenario).is_ok();
    // The stack of a peer replaces the host: at the border router it would take its packets.
    let tcp = &scenario.tcp;
    let is_taken = tcp.peer_stack.unwrap_or(tcp.stack).is_some();
    let inside = |node: NodeId| {
        let is_simulated = scenario.nodes[node as usize].role != Role::Outside;
        is_simulated && !(is_taken && node == border) && !scenario.is_far_end(node)
    };
    let everywhere = scenario.clone().with_services(inside);
    if fits(&everywhere) {
        return everywhere;
    }
    let some = scenario
        .clone()
        .with_services(|node| inside(node) && (node == border || next_hops.contains(&node)));
    if fits(&some) { some } else { scenario }
}

/// Returns the ports of computers, each with its line, in the order of [`End`].
fn ports(scenario: &Scenario, border: usize) -> Vec<Port> {
    let rate_kbps = scenario.tunnel.and_then(|tunnel| tunnel.rate_kbps);
    let far = scenario.tunnel.map(|tunnel| Port::new(tunnel.node as usize, rate_kbps));
    [Port::new(border, rate_kbps)].into_iter().chain(far).collect()
}

/// Returns the ports of the host to which the flows of `scenario` send.
fn calls(scenario: &Scenario) -> Vec<Call> {
    let flows = scenario.flows.iter().enumerate();
    let calls = flows.filter_map(|(place, flow)| {
        let port = flow.target(place).filter(|port| port.node == scenario.host())?;
        Some(Call { node: flow.kind.ends().0, kind: flow.kind.name(), port })
    });
    calls.collect()
}

/// Refuses a mote that has the address of another node than the one that it replaces: packets to
/// either of them would not be answered.
fn right_place(node: NodeId, short: u16) -> io::Result<()> {
    // From 0xFFFE on it has no short address yet (IEEE 802.15.4-2015, 8.4.3.1).
    if short == Addressing::DEFAULT.short(node) || short >= 0xfffe || short == 0 {
        return Ok(());
    }
    let says = u32::from(short) - 1;
    let what = format!(
        "the mote behind --serial {node}=… says that it is node {says} (its short address is \
         {short}); give --serial {says}=…"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

impl Stations for Mesh {
    fn count(&self) -> usize {
        self.world.nodes()
    }

    fn station(&self, node: NodeId) -> Option<&build::Site> {
        if node as usize >= self.world.nodes() {
            return None;
        }
        match self.world.device(node as usize) {
            Site::Simulated(station) => Some(station),
            Site::Serial(_) | Site::Beyond(_) => None,
        }
    }
}

impl bridge::Network for Mesh {
    fn now(&self) -> Instant {
        self.world.now()
    }

    fn run_until(&mut self, until: Instant) {
        // Packets leave a line between two events.
        let arrival = |ports: &[Port]| ports.iter().filter_map(Port::arrival).min();
        while let Some(at) = arrival(&self.ports).filter(|at| *at <= until) {
            self.world.run_until(at);
            self.ports.iter_mut().for_each(|port| port.deliver(&mut self.world));
        }
        self.world.run_until(until);
    }

    fn next_event(&self) -> Option<Instant> {
        let lines = self.ports.iter().filter_map(Port::deadline).min();
        earliest(self.world.next_event_at(), lines)
    }

    fn takes(&self, end: End) -> bool {
        self.ports.get(end as usize).is_some_and(|port| port.takes(&self.world))
    }

    fn handle_host_packet(&mut self, end: End, packet: &[u8]) {
        if let Some(port) = self.ports.get_mut(end as usize) {
            port.handle(&mut self.world, packet);
        }
    }

    fn poll_host_packet(&mut self, end: End, buf: &mut [u8]) -> Option<usize> {
        self.ports.get_mut(end as usize)?.poll(&mut self.world, buf)
    }

    fn exchange(&mut self) -> io::Result<()> {
        self.keep().map_err(io::Error::other)?;
        for &node in &self.serial {
            let filter = self.world.with_device(node, |site, _| match site {
                Site::Serial(mote) => mote.exchange(),
                Site::Simulated(_) | Site::Beyond(_) => Ok(None),
            });
            match filter {
                Ok(None) => {}
                Ok(Some(filter)) => {
                    right_place(node as NodeId, filter.short)?;
                    self.world.set_filter(node, filter);
                }
                Err(error) => {
                    let what = format!("the serial line of node {node}: {error}");
                    return Err(io::Error::new(error.kind(), what));
                }
            }
        }
        for &node in &self.beyond {
            self.world.with_device(node, |site, _| match site {
                Site::Beyond(radio) => radio.exchange(),
                Site::Simulated(_) | Site::Serial(_) => Ok(()),
            })?;
        }
        Ok(())
    }

    async fn outside(&self) {
        let lines = poll_fn(|context| {
            let readable = self.serial.iter().any(|&node| match self.world.device(node) {
                Site::Simulated(_) | Site::Beyond(_) => false,
                // A read then returns the error.
                Site::Serial(mote) => mote.poll_readable(context).is_ready(),
            });
            if readable { Poll::Ready(()) } else { Poll::Pending }
        });
        tokio::select! {
            () = lines => {}
            () = self.news.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests;
