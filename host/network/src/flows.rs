//! Flows: the applications and sockets of each kind. `measured.rs` makes the record at the end,
//! `fate.rs` determines whether a flow is dead, and the reason.

mod fate;
mod measured;

pub use measured::records;
pub(crate) use measured::{bulk_sender, delivered};

use crate::apps::bulk::{BulkSender, BulkSink};
use crate::apps::coap::{self, CoapClient, CoapServer, CoapSocket};
use crate::apps::controlled::Controlled;
use crate::apps::crowd::{Crowd, Member};
use crate::apps::http_client::{HttpClient, Requests};
use crate::apps::peer::{OnPeer, PeerEnd, PeerStack};
use crate::apps::sense::{
    self, AROUND, Anemometer, CoapUplink, IdealUplink, Oracle, ReadingSink, TcpUplink,
};
use crate::apps::services::Services;
use crate::apps::site::{Manner, MoteSite, WebServer};
use crate::apps::tcp::{Foreign, OnOwn, Socket, Speaker};
use crate::apps::udp::{UdpSender, UdpSink};
use crate::build::place::{Ends, Place, address_in};
use crate::build::transport::{connection, listen, payload_of};
use crate::layout::Format;
use crate::profile::{CONNECTIONS, LISTENERS, LabProfile, UDP_SOCKETS};
use kinglet::Node;
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet_apps::StreamApp;
use kinglet_apps::sense::{Sampling, TAG};
use kinglet_apps::snack::{self, Sending};
use kinglet_apps::udp;
use kinglet_coap::Delivery;
use kinglet_scenario::{
    Carrier, Control, Datagrams, File, Flow, FlowKind, NodeId, Pace, Role, SERVICE_PORTS, Scenario,
    Sensor,
};
use kinglet_sim::rng::{Purpose, Stream, stream};
use kinglet_sim::wire::FarEnd;
use kinglet_sim::{Hosted, SameStack};
use std::any::Any;
use std::collections::BTreeMap;

/// Octets of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;

/// Number of the random stream of a peer stack, distinct from those of applications.
const PEER: u64 = 1 << 63;

/// Largest number of streams at the host that share a stack.
const MANY: usize = 64;

/// Both ends of a file by Snack, with the largest table that a datagram can describe.
pub(crate) type Source = snack::Source<{ snack::MAX_TABLE }>;
pub(crate) type Sink = snack::Sink<{ snack::MAX_TABLE }>;
/// Pause after a node refused a datagram for lack of space: two frames take longer.
const PAUSE: Duration = Duration::from_millis(10);

/// Number of SYNs with requests that a web server accepts at a time.
const EARLY: u8 = 4;

/// Table entry of a node that a flow needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    Socket,
    Connection,
    Listener,
}

impl Need {
    /// Number of such entries of a node, and their name.
    pub(crate) const fn limit(self) -> (usize, &'static str) {
        match self {
            Need::Socket => (UDP_SOCKETS, "datagram sockets"),
            Need::Connection => (CONNECTIONS, "TCP connections"),
            Need::Listener => (LISTENERS, "listening ports"),
        }
    }
}

/// Table entries that the applications of a flow need, by node.
pub(crate) fn needs(kind: &FlowKind) -> Vec<(NodeId, Need)> {
    match *kind {
        FlowKind::TcpBulk { from, to, .. }
        | FlowKind::Anemometer(Sensor { from, to, carrier: Carrier::Tcp, .. }) => {
            vec![(from, Need::Connection), (to, Need::Connection), (to, Need::Listener)]
        }
        FlowKind::Udp(Datagrams { from, to, .. })
        | FlowKind::Anemometer(Sensor { from, to, .. }) => {
            vec![(from, Need::Socket), (to, Need::Socket)]
        }
        FlowKind::Snack { file: File { from, to, .. }, .. } => {
            vec![(from, Need::Socket), (to, Need::Socket)]
        }
        FlowKind::Pip(_) => Vec::new(),
        FlowKind::Services { node } => vec![(node, Need::Listener); SERVICE_PORTS.len()],
        FlowKind::HttpServer { node, .. } => vec![(node, Need::Listener)],
        FlowKind::CoapServer { node, .. } | FlowKind::CoapClient { from: node, .. } => {
            vec![(node, Need::Socket)]
        }
        FlowKind::HttpClient { from, to, .. } => {
            vec![(from, Need::Connection), (to, Need::Connection)]
        }
    }
}

/// Returns true if each stream to the host has a stack of its own.
fn is_crowded(scenario: &Scenario) -> bool {
    let host = scenario.host();
    let all = scenario.streams_at_host();
    let come = scenario.flows.iter().filter(|flow| flow.kind.ends().1 == Some(host)).count();
    all > MANY && come == all && scenario.stack_at(host).is_some()
}

/// The applications of a node.
type Apps = Vec<Box<dyn Hosted<LabProfile>>>;
/// The applications of a host with a peer stack.
type Speakers = Vec<Box<dyn Speaker<LabProfile>>>;

/// Puts applications on nodes.
pub(crate) struct Builder<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seed: u64,
    /// The applications of each node, the host's last.
    apps: Vec<Apps>,
    /// The peer stacks of nodes, where present.
    peers: BTreeMap<NodeId, PeerStack>,
    /// The applications of a host with a peer stack.
    speakers: Speakers,
    /// The applications of a host with more streams than one stack searches efficiently for each
    /// packet.
    crowd: Vec<Member<LabProfile>>,
    crowded: bool,
}

/// The applications of the host behind the border router.
pub(crate) struct HostApps {
    /// Applications of Kinglet's stack.
    own: Apps,
    /// Applications of a peer stack, if there is one.
    peer: Option<PeerApps>,
}

/// Applications that use a peer's TCP at the host.
enum PeerApps {
    /// All share one stack.
    Few(PeerStack, Speakers),
    /// Each has its own.
    Many(Foreign, Vec<Member<LabProfile>>),
}

impl HostApps {
    /// Builds the far end of a wire, with `node` for the applications that do not use a peer stack.
    pub(crate) fn on(self, node: Box<Node<LabProfile>>) -> Box<dyn FarEnd + Send> {
        let own = SameStack::new(node, self.own);
        match self.peer {
            Some(PeerApps::Few(peer, apps)) => Box::new(PeerEnd::new(peer, apps, own)),
            Some(PeerApps::Many(foreign, members)) => Box::new(Crowd::new(foreign, members, own)),
            None => Box::new(own),
        }
    }
}

impl<'a> Builder<'a> {
    /// Creates nodes without applications.
    pub(crate) fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let mut apps = Vec::new();
        // One more for the host.
        apps.resize_with(scenario.nodes.len() + 1, Vec::new);
        let (peers, speakers, crowd) = (BTreeMap::new(), Vec::new(), Vec::new());
        let crowded = is_crowded(scenario);
        Builder { scenario, seed, apps, peers, speakers, crowd, crowded }
    }

    /// Returns the applications of each node, and of the host.
    pub(crate) fn finish(mut self) -> (Vec<Apps>, HostApps) {
        let own = self.apps.pop().unwrap_or_default();
        let host = self.scenario.host();
        let peer = match (self.peers.remove(&host), self.foreign_at(host)) {
            (_, Some(foreign)) if self.crowded => Some(PeerApps::Many(foreign, self.crowd)),
            (peer, _) => peer.map(|peer| PeerApps::Few(peer, self.speakers)),
        };
        (self.apps, HostApps { own, peer })
    }

    /// Places a TCP application on `node`, on the stack of that node.
    fn speak<A>(&mut self, node: NodeId, app: A) -> Place
    where
        A: StreamApp<Socket> + Any + Send,
    {
        let Some(foreign) = self.foreign_at(node) else {
            return self.place(node, Box::new(OnOwn(app)));
        };
        let first = !self.peers.contains_key(&node);
        let address = address_in(self.scenario, node);
        let seed = self.peer_seed(u64::from(node));
        let peer = self.peers.entry(node).or_insert_with(|| PeerStack::new(foreign, address, seed));
        let record = if (&app as &dyn Any).is::<Anemometer>() { sense::LEN } else { 1 };
        let peer = peer.clone().with_records(record);
        if node == self.scenario.host() {
            self.speakers.push(Box::new(app));
            return Place { node, app: self.speakers.len() - 1 };
        }
        self.place(node, Box::new(OnPeer::new(app, peer, first)))
    }

    fn foreign_at(&self, node: NodeId) -> Option<Foreign> {
        let quirks = self.scenario.tcp.quirks;
        self.scenario.stack_at(node).map(|stack| Foreign::new(stack, quirks))
    }

    fn peer_seed(&self, number: u64) -> u64 {
        let mut random = stream(self.seed, number | PEER, Purpose::Device);
        u64::from(random.bits()) << 32 | u64::from(random.bits())
    }

    /// Places both ends of a stream, whose receiver listens on `port`.
    fn streams<A, B>(
        &mut self,
        (from, sender): (NodeId, A),
        (to, receiver): (NodeId, B),
        port: u16,
    ) -> Ends
    where
        A: StreamApp<Socket> + Any + Send,
        B: StreamApp<Socket> + Any + Send,
    {
        let from = self.speak(from, sender);
        if to == self.scenario.host() && self.crowded {
            let app = self.crowd.len();
            let place = (address_in(self.scenario, to), port);
            let seed = self.peer_seed(u64::from(to) | (app as u64 + 1) << 32);
            self.crowd.push(Member::new(Box::new(receiver), place, seed));
            return Ends { from, to: Place { node: to, app } };
        }
        Ends { from, to: self.speak(to, receiver) }
    }

    fn place(&mut self, node: NodeId, app: Box<dyn Hosted<LabProfile>>) -> Place {
        let host = self.scenario.host();
        let by_peer = node == host && self.scenario.stack_at(host).is_some();
        // Applications on the peer stack come first.
        let before = if by_peer { self.scenario.streams_at_host() } else { 0 };
        let list = &mut self.apps[node as usize];
        list.push(app);
        Place { node, app: before + list.len() - 1 }
    }

    /// Places both ends of a flow.
    fn pair(
        &mut self,
        (from, sender): (NodeId, Box<dyn Hosted<LabProfile>>),
        (to, receiver): (NodeId, Box<dyn Hosted<LabProfile>>),
    ) -> Ends {
        let from = self.place(from, sender);
        Ends { from, to: self.place(to, receiver) }
    }

    /// Places a TCP application without a fixed peer.
    fn speak_alone(&mut self, node: NodeId, app: impl StreamApp<Socket> + Any + Send) -> Ends {
        Ends::both(self.speak(node, app))
    }

    /// Places the applications of `flow`; its receiver listens on `port`.
    pub(crate) fn add(&mut self, flow: &Flow, port: u16) -> Ends {
        let scenario = self.scenario;
        let start = Instant::from_micros((flow.start_s * 1e6) as u64);
        match flow.kind {
            FlowKind::TcpBulk { from, to, bytes, send_buffer, receive_buffer } => {
                let config = connection(scenario, send_buffer, receive_buffer);
                let to_port = (address_in(scenario, to), port);
                let sender = BulkSender::new(to_port, start, bytes, config).recording();
                let sink = BulkSink::new(port, listen(config));
                let control = scenario.tcp.congestion;
                if control != Control::NewReno && self.foreign_at(from).is_none() {
                    let sender = self.place(from, Box::new(Controlled::new(sender, control)));
                    return Ends { from: sender, to: self.speak(to, sink) };
                }
                self.streams((from, sender), (to, sink), port)
            }
            FlowKind::Udp(ref datagrams) => self.add_datagrams(datagrams, start, port),
            FlowKind::Snack { file: File { from, to, bytes }, payload_bytes: piece } => {
                let to_port = (address_in(scenario, to), port);
                let sending = Sending { to: to_port, start, octets: bytes, piece, pause: PAUSE };
                let source = Source::new(sending);
                self.pair((from, Box::new(source)), (to, Box::new(Sink::new(port))))
            }
            // PIP has its own nodes: `run/pip.rs`.
            FlowKind::Pip(File { from, .. }) => Ends::both(Place { node: from, app: 0 }),
            FlowKind::Services { node } => {
                let config = listen(connection(scenario, None, None));
                self.speak_alone(node, Services::new(config))
            }
            FlowKind::HttpServer { node, port } => {
                let config = connection(scenario, None, None);
                // All requests are idempotent (RFC 7413 §6.1).
                let config = ListenConfig { fast_open: EARLY, ..listen(config) };
                let site = MoteSite::new(format!("Mote {node}"), Manner::Page);
                self.speak_alone(node, WebServer::new(port, config, site))
            }
            FlowKind::HttpClient { from, to, port, bytes, pause_ms, fast_open } => {
                let config = connection(scenario, None, None);
                let config = ConnectionConfig { fast_open, ..config };
                let (to, pause) = ((address_in(scenario, to), port), millis(pause_ms));
                let requests = Requests { to, start, bytes, pause, config };
                let client = HttpClient::new(requests, self.random(from));
                self.speak_alone(from, client)
            }
            FlowKind::CoapServer { node, port, block_bytes } => {
                let config = self.coap(node);
                let site = MoteSite::new(format!("Mote {node}"), Manner::Line);
                let server = CoapServer::new(port, site, block_bytes, config);
                Ends::both(self.place(node, Box::new(server)))
            }
            FlowKind::CoapClient {
                from,
                to,
                port,
                method,
                bytes,
                block_bytes: block,
                pause_ms,
                rto,
                ack_timeout_ms,
            } => {
                let (to, pause) = ((address_in(scenario, to), port), millis(pause_ms));
                let requests = coap::Requests { to, method, start, bytes, block, pause };
                let ack_timeout = millis(ack_timeout_ms);
                let config = kinglet_coap::CoapConfig { rto, ack_timeout, ..self.coap(from) };
                let client = CoapClient::new(requests, config, self.random(from));
                Ends::both(self.place(from, Box::new(client)))
            }
            FlowKind::Anemometer(ref sensor) => self.add_sensor(sensor, start, port),
        }
    }

    fn add_datagrams(&mut self, datagrams: &Datagrams, start: Instant, port: u16) -> Ends {
        let Datagrams { from, to, payload_bytes, pace } = *datagrams;
        let (to_port, len) = ((address_in(self.scenario, to), port), usize::from(payload_bytes));
        let every = |ms| udp::Sender::new(to_port, start, millis(ms), len);
        let sender = match pace {
            Pace::Every(ms) => UdpSender::periodic(every(ms)),
            Pace::Between(least, most) => {
                let range = (millis(least), millis(most));
                UdpSender::random(every(least), range, self.random(from))
            }
            Pace::Bulk(most) => {
                let most = most.unwrap_or(u32::MAX);
                UdpSender::bulk(udp::Bulk::new(to_port, start, most, len))
            }
        };
        self.pair((from, Box::new(sender)), (to, Box::new(UdpSink::new(port))))
    }

    fn add_sensor(&mut self, sensor: &Sensor, start: Instant, port: u16) -> Ends {
        let Sensor {
            from,
            to,
            carrier,
            period_ms,
            batch,
            queue,
            ack_timeout_ms,
            connection_per_batch,
        } = *sensor;
        let (period, batch) = (millis(period_ms), usize::from(batch));
        // Sensors are switched on one by one: each starts at its own phase of a batch.
        let share = self.random(from).unit();
        let whole = period.as_micros() as f64 * batch as f64;
        let start = start + Duration::from_micros((share * whole) as u64);
        let sampling = Sampling { start, period, batch, queue: usize::from(queue) };
        let to_port = (address_in(self.scenario, to), port);
        let coap =
            kinglet_coap::CoapConfig { ack_timeout: millis(ack_timeout_ms), ..self.coap(from) };
        // The receiver of readings is a server, at the host or in its place at the border router.
        let place = self.scenario.nodes.get(to as usize);
        let on_mote = place.is_some_and(|place| place.role != Role::BorderRouter);
        let (sensor, source) = carry(
            self.scenario,
            (carrier, connection_per_batch),
            to_port,
            on_mote,
            (sampling, coap),
        );
        let sink = ReadingSink::new(source);
        if carrier == Carrier::Tcp {
            return self.streams((from, sensor), (to, sink), port);
        }
        self.pair((from, Box::new(sensor)), (to, Box::new(sink)))
    }

    /// Default CoAP settings for the next application of `node`.
    fn coap(&self, node: NodeId) -> kinglet_coap::CoapConfig {
        // The stack of the node has number 0.
        let number = self.apps[node as usize].len() as u64 + 1;
        let mut random = stream(self.seed, u64::from(node) | number << 32, Purpose::Device);
        kinglet_coap::CoapConfig::new(u64::from(random.bits()) << 32 | u64::from(random.bits()))
    }

    /// Random stream for the next application of `node`.
    fn random(&self, node: NodeId) -> Stream {
        // Each application of a node has its own stream.
        let number = self.apps[node as usize].len() as u64;
        stream(self.seed, u64::from(node) | number << 32, Purpose::Application)
    }
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

/// Returns both ends of the carrier of readings.
fn carry(
    scenario: &Scenario,
    (carrier, connection_per_batch): (Carrier, bool),
    to: (core::net::Ipv6Addr, u16),
    on_mote: bool,
    (sampling, coap): (Sampling, kinglet_coap::CoapConfig),
) -> (Anemometer, sense::Source) {
    let config = connection(scenario, None, None);
    let payload = usize::from(payload_of(scenario));
    match carrier {
        Carrier::Tcp => {
            let uplink = TcpUplink::new(sampling, to, config, connection_per_batch);
            // A server is not a mote: its buffers set no limit.
            let server = match on_mote {
                true => config,
                false => ConnectionConfig { send_buffer: 0, receive_buffer: 0, ..config },
            };
            (Anemometer::Tcp(Box::new(uplink)), sense::Source::Tcp(to.1, listen(server)))
        }
        Carrier::Ideal => {
            // Its datagrams are as long as segments: padding replaces the longer header of TCP.
            let tcp = Format::of(&scenario.mac, scenario.tcp.connection.timestamps).tcp;
            let padding = tcp.saturating_sub(UDP_HEADER + TAG);
            let oracle = Oracle::default();
            let window = (config.send_buffer / payload).max(1);
            let uplink = IdealUplink::new(sampling, to, (payload, padding, window), oracle.clone());
            (
                Anemometer::Ideal(Box::new(uplink)),
                sense::Source::Datagrams { port: to.1, padding, oracle },
            )
        }
        Carrier::Coap(rto) => {
            let payload = message(scenario, payload);
            let config = kinglet_coap::CoapConfig { rto, ..coap };
            let uplink = CoapUplink::new(sampling, to, payload, Delivery::Confirmable, config);
            let source = sense::Source::Coap(Box::new(CoapSocket::new(to.1, coap)));
            (Anemometer::Coap(Box::new(uplink)), source)
        }
        Carrier::NonConfirmable => {
            let payload = message(scenario, payload);
            let uplink = CoapUplink::new(sampling, to, payload, Delivery::NonConfirmable, coap);
            (Anemometer::Coap(Box::new(uplink)), sense::Source::NonConfirmable(to.1))
        }
    }
}

/// Octets of readings in a CoAP message. The message is as long as a TCP segment with `payload`
/// octets, but has at most `payload` octets of readings: without timestamps the header of a segment
/// is shorter, and the message must not need another frame.
fn message(scenario: &Scenario, payload: usize) -> usize {
    let tcp = Format::of(&scenario.mac, scenario.tcp.connection.timestamps).tcp;
    payload.min(payload + tcp - (UDP_HEADER + AROUND).min(payload + tcp))
}
