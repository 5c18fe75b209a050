//! The applications of a scenario.

use super::each::{Each, ends};
use super::error::{Result, ScenarioError};
use super::keys::Buffers;
use super::near::Cells;
use super::read::Reader;
use super::{Buffer, NodeId, NodePlace, Role, Scenario};
use kinglet_apps::coap::PORT;
use kinglet_apps::service::{Echo, Service, Sink, Source};
use kinglet_apps::snack::{MAX_PIECE, MAX_TABLE};
use kinglet_coap::Rto;
use std::collections::BTreeMap;
use std::fmt;

/// Ports and names of the services of [`FlowKind::Services`].
pub const SERVICE_PORTS: [(u16, &str); 3] =
    [(Echo::PORT, "echo"), (Sink::PORT, "sink"), (Source::PORT, "source")];

/// Operation on the resources of a CoAP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET /bytes/N`
    Get,
    /// `PUT /upload`
    Put,
}

/// An application.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Start in seconds.
    pub start_s: f64,
    /// Port of its receiver, if it has one and the port does not follow from its index among the
    /// flows: [`Flow::receiver_port`].
    pub port: Option<u16>,
    /// Kind and settings.
    pub kind: FlowKind,
}

/// A port of a flow's receiver or server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listening {
    /// Node of the port.
    pub node: NodeId,
    /// Transport protocol.
    pub transport: Transport,
    /// Port number.
    pub port: u16,
}

/// Transport protocol of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {} of node {}", self.transport, self.port, self.node)
    }
}

impl Transport {
    /// Name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        })
    }
}

/// The port of the first flow's receiver.
const FIRST_PORT: u16 = 5001;

/// Kind of an application, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowKind {
    /// One connection with as much data as possible.
    TcpBulk {
        /// Sender, which also opens the connection.
        from: NodeId,
        /// Receiver.
        to: NodeId,
        /// Octets to carry; `None` = until the end of the simulation.
        bytes: Option<u64>,
        /// Send buffer of this flow, if it differs from the scenario's.
        send_buffer: Option<Buffer>,
        /// Receive buffer of this flow, if it differs from the scenario's.
        receive_buffer: Option<Buffer>,
    },
    /// Datagrams, each sent once.
    Udp(Datagrams),
    /// A file by Snack: datagrams, with retransmission of those that the receiver reports missing.
    Snack {
        /// Ends and length of the file.
        file: File,
        /// Octets of the file in a datagram.
        payload_bytes: u16,
    },
    /// A file by PIP, on a network of its own: no node runs Kinglet's stack.
    Pip(File),
    /// Echo, sink and source on their well-known TCP ports ([`SERVICE_PORTS`]).
    Services {
        /// Node of the servers.
        node: NodeId,
    },
    /// An HTTP/1.1 server.
    HttpServer {
        /// Node of the server.
        node: NodeId,
        /// TCP port of the server.
        port: u16,
    },
    /// `GET /bytes/N` at random times, each over a new connection.
    HttpClient {
        /// Client.
        from: NodeId,
        /// Server.
        to: NodeId,
        /// TCP port of the server.
        port: u16,
        /// Requested octets of the body.
        bytes: u32,
        /// Mean pause between a response and the next request, in milliseconds; the pause is
        /// uniform between zero and twice the mean.
        pause_ms: u32,
        /// The request is sent in the SYN if the server has issued a cookie (RFC 7413).
        fast_open: bool,
    },
    /// A CoAP server.
    CoapServer {
        /// Node of the server.
        node: NodeId,
        /// UDP port of the server.
        port: u16,
        /// Largest octets of a block, a power of two.
        block_bytes: u16,
    },
    /// `GET /bytes/N` or `PUT /upload` over CoAP at random times.
    CoapClient {
        /// Client.
        from: NodeId,
        /// Server.
        to: NodeId,
        /// UDP port of the server.
        port: u16,
        /// Direction of the body.
        method: Method,
        /// Octets of the body.
        bytes: u32,
        /// Largest octets of a block, a power of two.
        block_bytes: u16,
        /// Mean pause between a response and the next request, in milliseconds; the pause is
        /// uniform between zero and twice the mean.
        pause_ms: u32,
        /// Algorithm of the retransmission timeout.
        rto: Rto,
        /// ACK_TIMEOUT in milliseconds.
        ack_timeout_ms: u32,
    },
    /// Sense and send: readings of 82 octets (TCPlp §8.2).
    Anemometer(Sensor),
}

/// A file from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Length in octets.
    pub bytes: u32,
}

/// Datagrams from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// UDP payload octets.
    pub payload_bytes: u16,
    /// Timing of the datagrams.
    pub pace: Pace,
}

/// Timing of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Period in milliseconds.
    Every(u32),
    /// Interval between these limits, in milliseconds, drawn independently for each datagram.
    Between(u32, u32),
    /// Back to back; the number of datagrams, `None` = until the end of the simulation.
    Bulk(Option<u32>),
}

/// A sensor that sends readings.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensor {
    /// Node of the sensor.
    pub from: NodeId,
    /// Node at which readings are counted.
    pub to: NodeId,
    /// Protocol that carries them.
    pub carrier: Carrier,
    /// Time between readings in milliseconds.
    pub period_ms: u32,
    /// Number of waiting readings at which they are sent.
    pub batch: u16,
    /// Largest number of waiting readings; more are lost.
    pub queue: u16,
    /// CoAP's ACK_TIMEOUT in milliseconds.
    pub ack_timeout_ms: u32,
    /// Over TCP: each batch has its own connection.
    pub connection_per_batch: bool,
}

impl Sensor {
    /// TCPlp's reading per second and batch of 64 (§8.2), and the queue that its published code has
    /// in addition to TCP's buffers; RFC 7252's timeout.
    pub const fn new(from: NodeId, to: NodeId, carrier: Carrier) -> Self {
        let (period_ms, ack_timeout_ms) = (1_000, 2_000);
        let (batch, queue, connection_per_batch) = (64, 64, false);
        Sensor { from, to, carrier, period_ms, batch, queue, ack_timeout_ms, connection_per_batch }
    }
}

/// Protocol that carries the readings of an anemometer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// One connection that is kept open, unless the sensor closes it.
    Tcp,
    /// Confirmable CoAP messages, one at a time.
    Coap(Rto),
    /// Non-confirmable CoAP messages, at most one every half second.
    NonConfirmable,
    /// The roofline of TCPlp §8.2.2: datagrams as large as TCP's; the sender is notified of losses
    /// at no cost.
    Ideal,
}

impl Carrier {
    /// All carriers with their names in scenario files.
    pub const ALL: [(&'static str, Carrier); 6] = [
        ("tcp", Carrier::Tcp),
        ("coap", Carrier::Coap(Rto::Plain)),
        ("cocoa", Carrier::Coap(Rto::Cocoa)),
        ("cocoa-as-measured", Carrier::Coap(Rto::CocoaAsMeasured)),
        ("non-confirmable", Carrier::NonConfirmable),
        ("ideal", Carrier::Ideal),
    ];

    /// Name in scenario files and labels.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, carrier)| *carrier == self).map_or("", |(name, _)| name)
    }
}

impl FlowKind {
    /// Datagrams of `payload_bytes` octets every `period_ms`.
    pub const fn datagrams(from: NodeId, to: NodeId, period_ms: u32, payload_bytes: u16) -> Self {
        FlowKind::Udp(Datagrams { from, to, payload_bytes, pace: Pace::Every(period_ms) })
    }

    /// Name in scenario files and results.
    pub const fn name(&self) -> &'static str {
        match self {
            FlowKind::TcpBulk { .. } => "tcp-bulk",
            FlowKind::Udp(Datagrams { pace: Pace::Bulk(_), .. }) => "udp-bulk",
            FlowKind::Udp(_) => "udp-periodic",
            FlowKind::Snack { .. } => "snack",
            FlowKind::Pip(_) => "pip",
            FlowKind::Services { .. } => "services",
            FlowKind::HttpServer { .. } => "http-server",
            FlowKind::HttpClient { .. } => "http-client",
            FlowKind::CoapServer { .. } => "coap-server",
            FlowKind::CoapClient { .. } => "coap-client",
            FlowKind::Anemometer(_) => "anemometer",
        }
    }

    /// The end that begins (or serves), and its peer; a server has no fixed peer.
    pub const fn ends(&self) -> (NodeId, Option<NodeId>) {
        match self {
            FlowKind::TcpBulk { from, to, .. }
            | FlowKind::Udp(Datagrams { from, to, .. })
            | FlowKind::Snack { file: File { from, to, .. }, .. }
            | FlowKind::Pip(File { from, to, .. })
            | FlowKind::HttpClient { from, to, .. }
            | FlowKind::CoapClient { from, to, .. }
            | FlowKind::Anemometer(Sensor { from, to, .. }) => (*from, Some(*to)),
            FlowKind::Services { node }
            | FlowKind::HttpServer { node, .. }
            | FlowKind::CoapServer { node, .. } => (*node, None),
        }
    }
}

impl Flow {
    /// A flow that starts at `start_s` seconds. The port of its receiver follows from its index.
    pub const fn new(start_s: f64, kind: FlowKind) -> Self {
        Flow { start_s, port: None, kind }
    }

    /// An endless transfer from one node to another, with a start at one second.
    pub fn bulk(from: NodeId, to: NodeId) -> Self {
        let kind =
            FlowKind::TcpBulk { from, to, bytes: None, send_buffer: None, receive_buffer: None };
        Flow::new(1.0, kind)
    }

    /// Port on which the receiver of flow number `place` listens: its given one, or else 5001 for
    /// flow 0, 5002 for flow 1 and so on. All flows beyond the last port share it, so that they are
    /// refused if they conflict.
    pub fn receiver_port(&self, place: usize) -> u16 {
        let counted = u16::try_from(place).unwrap_or(u16::MAX);
        self.port.unwrap_or(FIRST_PORT.saturating_add(counted))
    }

    /// Port to which flow number `place` sends; a server has none.
    pub fn target(&self, place: usize) -> Option<Listening> {
        let received = self.receiver_port(place);
        let (node, transport, port) = match self.kind {
            FlowKind::TcpBulk { to, .. }
            | FlowKind::Anemometer(Sensor { to, carrier: Carrier::Tcp, .. }) => {
                (to, Transport::Tcp, received)
            }
            FlowKind::Udp(Datagrams { to, .. })
            | FlowKind::Snack { file: File { to, .. }, .. }
            | FlowKind::Anemometer(Sensor { to, .. }) => (to, Transport::Udp, received),
            FlowKind::HttpClient { to, port, .. } => (to, Transport::Tcp, port),
            FlowKind::CoapClient { to, port, .. } => (to, Transport::Udp, port),
            FlowKind::Services { .. }
            | FlowKind::HttpServer { .. }
            | FlowKind::CoapServer { .. }
            | FlowKind::Pip(_) => return None,
        };
        Some(Listening { node, transport, port })
    }

    /// Ports on which the receiver or server of flow number `place` listens.
    pub fn listening(&self, place: usize) -> Vec<Listening> {
        let tcp = |node, port| Listening { node, transport: Transport::Tcp, port };
        match self.kind {
            FlowKind::Services { node } => {
                SERVICE_PORTS.iter().map(|(port, _)| tcp(node, *port)).collect()
            }
            FlowKind::HttpServer { node, port } => vec![tcp(node, port)],
            FlowKind::CoapServer { node, port, .. } => {
                vec![Listening { node, transport: Transport::Udp, port }]
            }
            // Their servers are separate flows, or outside.
            FlowKind::HttpClient { .. } | FlowKind::CoapClient { .. } => Vec::new(),
            FlowKind::TcpBulk { .. }
            | FlowKind::Udp(_)
            | FlowKind::Snack { .. }
            | FlowKind::Pip(_)
            | FlowKind::Anemometer(_) => self.target(place).into_iter().collect(),
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    TcpBulk,
    UdpPeriodic,
    UdpBulk,
    Snack,
    Pip,
    UdpNeighbours,
    Services,
    HttpServer,
    HttpClient,
    CoapServer,
    CoapClient,
    Anemometer,
    Meters,
}

/// The longest file, in octets.
const MAX_FILE: u64 = 5_000_000;
/// Largest number of datagrams of a file by Snack, whose table has a bit for each.
const MOST_PIECES: u32 = 8 * MAX_TABLE as u32;

/// Names of kinds of flows.
const KINDS: [(&str, Kind); 13] = [
    ("tcp-bulk", Kind::TcpBulk),
    ("udp-periodic", Kind::UdpPeriodic),
    ("udp-bulk", Kind::UdpBulk),
    ("snack", Kind::Snack),
    ("pip", Kind::Pip),
    ("udp-neighbours", Kind::UdpNeighbours),
    ("services", Kind::Services),
    ("http-server", Kind::HttpServer),
    ("http-client", Kind::HttpClient),
    ("coap-server", Kind::CoapServer),
    ("coap-client", Kind::CoapClient),
    ("anemometer", Kind::Anemometer),
    ("meters", Kind::Meters),
];

/// Names of CoAP's timeout algorithms.
const RTOS: [(&str, Rto); 3] =
    [("plain", Rto::Plain), ("cocoa", Rto::Cocoa), ("cocoa-as-measured", Rto::CocoaAsMeasured)];

/// Reads the tables `[[flow]]`.
///
/// # Errors
/// The first value that is not allowed; a port on which two flows would listen.
pub(super) fn flows(tables: Vec<Reader<'_>>, scenario: &Scenario) -> Result<Vec<Flow>> {
    let (mut flows, mut taken) = (Vec::new(), BTreeMap::new());
    for mut t in tables {
        let first = flows.len();
        flow(&mut t, scenario, &mut flows).map_err(|error| about_host(error, scenario))?;
        for (place, flow) in flows.iter().enumerate().skip(first) {
            for listening in flow.listening(place) {
                let Some(line) = taken.insert(listening, t.line()) else { continue };
                let message = format!(
                    "{listening} is taken by the flow of line {line}; give one of the two another \
                     `port` (unless given, the receiver of flow i, counted from 0, listens on \
                     {FIRST_PORT} + i)"
                );
                return Err(t.error_at("port", message));
            }
        }
        t.finish()?;
    }
    Ok(flows)
}

/// The same error, with a remark if the number of a flow's end is that of a missing host.
fn about_host(mut error: ScenarioError, scenario: &Scenario) -> ScenarioError {
    let host = scenario.host();
    let is_end = [".from", ".to"].iter().any(|end| error.field.ends_with(end));
    if is_end && error.message.starts_with(&format!("{host} is out of range")) {
        error.message += &format!("; node {host} is the host, which a `[wire]` adds");
    }
    error
}

fn flow(t: &mut Reader<'_>, scenario: &Scenario, flows: &mut Vec<Flow>) -> Result<()> {
    let Scenario { nodes, duration_s, wire, .. } = scenario;
    let (duration_s, wired) = (*duration_s, wire.is_some());
    let Some(kind) = t.choice_opt("kind", &KINDS)? else {
        let names = KINDS.map(|(name, _)| format!("\"{name}\"")).join(", ");
        return Err(t.error_at("kind", format!("missing; give one of {names}")));
    };
    let start_s =
        t.number("start_s", 0.0..=duration_s, if duration_s > 1.0 { 1.0 } else { 0.0 })?;
    let everyone = nodes.len() + usize::from(wired);
    let each = match kind {
        Kind::TcpBulk | Kind::UdpPeriodic | Kind::Anemometer => Each::read(t)?,
        _ => None,
    };
    let kind = match kind {
        Kind::TcpBulk => {
            let (from, to) = Each::ends(each, t, everyone)?;
            let bytes = t.integer_opt("bytes", 1..=1_000_000_000_000)?;
            let Buffers { send: send_buffer, receive: receive_buffer } = Buffers::read(t)?;
            FlowKind::TcpBulk { from, to, bytes, send_buffer, receive_buffer }
        }
        Kind::UdpPeriodic => {
            let ends = Each::ends(each, t, everyone)?;
            periodic(t, ends, scenario.net.mtu)?
        }
        Kind::UdpBulk => in_bulk(t, everyone, scenario.net.mtu)?,
        Kind::Snack => snack(t, nodes.len())?,
        Kind::Pip => FlowKind::Pip(file(t, nodes.len())?),
        Kind::UdpNeighbours => {
            flows.extend(neighbours(t, scenario, start_s)?);
            return Ok(());
        }
        Kind::Meters => {
            if !wired {
                return Err(t.error_at("kind", "meters need a host behind a [wire]".to_owned()));
            }
            flows.extend(scenario.meters(start_s));
            return Ok(());
        }
        Kind::Services => FlowKind::Services { node: t.node("node", nodes.len())? },
        Kind::HttpServer => {
            let node = t.node("node", nodes.len())?;
            FlowKind::HttpServer { node, port: t.integer("port", 1..=65_535, 80)? as u16 }
        }
        Kind::HttpClient => http_client(t, everyone)?,
        Kind::CoapServer => {
            let node = t.node("node", nodes.len())?;
            let port = t.integer("port", 1..=65_535, PORT.into())? as u16;
            FlowKind::CoapServer { node, port, block_bytes: block(t)? }
        }
        Kind::CoapClient => coap_client(t, nodes)?,
        Kind::Anemometer => {
            let (from, to) = Each::ends(each, t, everyone)?;
            anemometer(t, from, to)?
        }
    };
    let port = match kind {
        FlowKind::TcpBulk { .. }
        | FlowKind::Udp(_)
        | FlowKind::Snack { .. }
        | FlowKind::Anemometer(_) => t.integer_opt("port", 1..=65_535)?.map(|port| port as u16),
        _ => None,
    };
    let flow = Flow { start_s, port, kind };
    match each {
        Some(each) => flows.extend(each.flows(&flow, scenario)),
        None => flows.push(flow),
    }
    Ok(())
}

fn periodic(t: &mut Reader<'_>, (from, to): (NodeId, NodeId), mtu: u16) -> Result<FlowKind> {
    let (period_ms, payload_bytes) = datagrams(t, mtu)?;
    let most = t.integer_opt("period_max_ms", u64::from(period_ms)..=86_400_000)?;
    let pace = most.map_or(Pace::Every(period_ms), |most| Pace::Between(period_ms, most as u32));
    Ok(FlowKind::Udp(Datagrams { from, to, payload_bytes, pace }))
}

fn in_bulk(t: &mut Reader<'_>, nodes: usize, mtu: u16) -> Result<FlowKind> {
    let (from, to) = ends(t, nodes)?;
    let payload_bytes = payload(t, mtu)?;
    let bytes = t.integer_opt("bytes", 1..=1_000_000_000)?;
    let count = bytes.map(|bytes| bytes.div_ceil(payload_bytes.into()) as u32);
    Ok(FlowKind::Udp(Datagrams { from, to, payload_bytes, pace: Pace::Bulk(count) }))
}

fn file(t: &mut Reader<'_>, nodes: usize) -> Result<File> {
    let (from, to) = ends(t, nodes)?;
    let bytes = t.integer("bytes", 1..=MAX_FILE, 100_000)? as u32;
    Ok(File { from, to, bytes })
}

fn snack(t: &mut Reader<'_>, nodes: usize) -> Result<FlowKind> {
    let file = file(t, nodes)?;
    let most = MAX_PIECE as u64;
    let payload_bytes = t.integer("payload_bytes", 32..=most, most)? as u16;
    let pieces = file.bytes.div_ceil(payload_bytes.into());
    if pieces > MOST_PIECES {
        let message = format!("{pieces} datagrams; {MOST_PIECES} are possible");
        return Err(t.error_at("bytes", message));
    }
    Ok(FlowKind::Snack { file, payload_bytes })
}

/// Flows from every node to its nearest.
fn neighbours(t: &mut Reader<'_>, scenario: &Scenario, start_s: f64) -> Result<Vec<Flow>> {
    let nodes = &scenario.nodes;
    let (period_ms, payload_bytes) = datagrams(t, scenario.net.mtu)?;
    let count = nodes.len() as NodeId;
    let cells = Cells::of_one(nodes);
    let flow = |from| {
        // Starts are spread evenly over one period, so that no nodes are in phase.
        let phase_s = f64::from(period_ms) / 1e3 * f64::from(from) / f64::from(count);
        let to = cells.nearest(from);
        let kind = FlowKind::datagrams(from, to, period_ms, payload_bytes);
        Flow::new(start_s + phase_s, kind)
    };
    Ok((0..count).map(flow).collect())
}

fn http_client(t: &mut Reader<'_>, nodes: usize) -> Result<FlowKind> {
    let (from, to) = ends(t, nodes)?;
    Ok(FlowKind::HttpClient {
        from,
        to,
        port: t.integer("port", 1..=65_535, 80)? as u16,
        bytes: t.integer("bytes", 0..=100_000_000, 82)? as u32,
        pause_ms: t.integer("pause_ms", 1..=86_400_000, 10_000)? as u32,
        fast_open: t.boolean("fast_open", false)?,
    })
}

fn coap_client(t: &mut Reader<'_>, nodes: &[NodePlace]) -> Result<FlowKind> {
    // The host may be a real one behind the gateway, which the scenario describes by no wire.
    let outside = nodes.iter().any(|place| place.role == Role::BorderRouter);
    let (from, to) = ends(t, nodes.len() + usize::from(outside))?;
    let methods = [("get", Method::Get), ("put", Method::Put)];
    Ok(FlowKind::CoapClient {
        from,
        to,
        port: t.integer("port", 1..=65_535, PORT.into())? as u16,
        method: t.choice("method", &methods, Method::Get)?,
        bytes: t.integer("bytes", 0..=1_000_000, 82)? as u32,
        block_bytes: block(t)?,
        pause_ms: t.integer("pause_ms", 1..=86_400_000, 10_000)? as u32,
        rto: t.choice("rto", &RTOS, Rto::Plain)?,
        ack_timeout_ms: t.integer("ack_timeout_ms", 1..=60_000, 2_000)? as u32,
    })
}

/// Block size of CoAP.
fn block(t: &mut Reader<'_>) -> Result<u16> {
    let bytes = t.integer("block_bytes", 16..=1_024, 512)?;
    if !bytes.is_power_of_two() {
        let message = "needs a power of two, 16 to 1024 (RFC 7959)";
        return Err(t.error_at("block_bytes", message.to_owned()));
    }
    Ok(bytes as u16)
}

fn anemometer(t: &mut Reader<'_>, from: NodeId, to: NodeId) -> Result<FlowKind> {
    let carrier = t.choice("carrier", &Carrier::ALL, Carrier::Tcp)?;
    let d = Sensor::new(from, to, carrier);
    let queue = t.integer("queue", 1..=10_000, d.queue.into())?;
    let timeout = d.ack_timeout_ms.into();
    Ok(FlowKind::Anemometer(Sensor {
        period_ms: t.integer("period_ms", 1..=86_400_000, d.period_ms.into())? as u32,
        batch: t.integer("batch", 1..=queue, queue.min(d.batch.into()))? as u16,
        queue: queue as u16,
        ack_timeout_ms: t.integer("ack_timeout_ms", 1..=60_000, timeout)? as u32,
        connection_per_batch: t.boolean("connection_per_batch", d.connection_per_batch)?,
        ..d
    }))
}

fn datagrams(t: &mut Reader<'_>, mtu: u16) -> Result<(u32, u16)> {
    let period_ms = t.integer("period_ms", 1..=86_400_000, 1_000)? as u32;
    Ok((period_ms, payload(t, mtu)?))
}

fn payload(t: &mut Reader<'_>, mtu: u16) -> Result<u16> {
    // Room in a packet after the IPv6 and UDP headers.
    Ok(t.integer("payload_bytes", 4..=u64::from(mtu - 48), 80)? as u16)
}
