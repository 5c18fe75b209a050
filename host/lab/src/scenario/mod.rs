//! What is simulated: radio, medium, protocol parameters, nodes, flows and faults.
//!
//! A [`Scenario`] is a plain value. Experiments build theirs in code and vary single fields; people
//! write TOML ([`Scenario::from_toml`], `SCENARIO.md` beside this crate lists every key).

mod building;
mod ceiling;
mod error;
mod flow;
mod interference;
mod keys;
mod near;
mod office;
mod pairs;
mod parse;
mod peers;
mod places;
mod prefix;
mod presets;
pub(crate) mod read;
mod reference;
mod street;
mod table;
mod topology;
mod tunnel;

pub use building::Building;
pub use error::{ScenarioError, nearest};
pub use flow::{Carrier, Datagrams, File, Flow, FlowKind, Listening, Pace, Sensor, Transport};
pub use interference::{Hours, Interferer, Source};
pub use pairs::{Pairs, RelayDeath};
pub use prefix::Prefix;
pub use presets::{MAC, NET, SECURITY, Tcp, base_of, csl_every, polling_every, tcplp, tinyos};
pub use reference::reference;
pub use topology::{Route, connected};
pub use tunnel::Tunnel;

use crate::backoff::EitherBackoff;
use kinglet::aodv;
use kinglet::rpl::Mode;
use kinglet::wire::sixlowpan::Context;
use kinglet::{Polling, mac, net};
use kinglet_peers::Stack;
pub use kinglet_sim::place::Fading;
use std::collections::BTreeSet;
use std::path::Path;

/// Nodes are numbered from 0 without gaps.
pub type NodeId = u32;

/// A complete description of one simulation, except for its seed's use.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// The hour of the day at which it begins, 0 to 24; interference depends on it.
    pub start_hour: f64,
    /// Root seed unless the caller gives another.
    pub seed: u64,
    /// The radio hardware.
    pub radio: Radio,
    /// What connects the radios.
    pub medium: Medium,
    /// Who else uses the band.
    pub interference: Vec<Interferer>,
    /// The link layer of every node; addresses, channel, power and whether its radio listens while
    /// nothing is sent come from the node and its radio.
    pub mac: mac::Config,
    /// How long every node leaves the channel alone before it assesses it.
    pub backoff: EitherBackoff,
    /// When leaves ask their parents.
    pub polling: Polling,
    /// How nodes wake several times a second, if they do.
    pub wake: Option<Wake>,
    /// The network layer of every node, but for addresses and tags; only routers relay, and a
    /// border router has more room than its limit of packets.
    pub net: net::Config,
    /// Packets that may wait at the border router for the radio; `None` is as many as it has room
    /// for.
    pub border_queue: Option<u8>,
    /// What routers do with fragments.
    pub fragments: Fragments,
    /// Where frames wait that are passed on one by one.
    pub flash: Flash,
    /// Who decides on routes.
    pub routing: Routing,
    /// The static routes, if they are not to be the cheapest paths.
    pub given_routes: Option<Vec<Route>>,
    /// What RPL does, if it is that.
    pub rpl: Rpl,
    /// What AODV takes for a good way, if it is that.
    pub aodv_metric: aodv::Metric,
    /// Whether AODV asks a neighbour before its link counts as broken.
    pub aodv_doubts: bool,
    /// Nodes take part in neighbour discovery.
    pub discovery: bool,
    /// The border router is a 6LBR, routers are 6LRs, and leaves register their addresses.
    pub registration: bool,
    /// Nodes with discovery tell routers which multicast groups they are in (RFC 3810).
    pub listener_reports: bool,
    /// 6LoWPAN contexts by their identifiers, if not those that follow from the prefix.
    pub contexts: Option<[Option<Context>; CONTEXTS]>,
    /// Only the border router knows them at the start.
    pub contexts_advertised: bool,
    /// Own segments of a relay leave room for what it relays.
    pub relays_yield: bool,
    /// Static routes have no hop that is longer, in metres.
    pub hop_m: f64,
    /// Transport parameters, the same on every node unless a flow says otherwise.
    pub tcp: Tcp,
    /// What all addresses begin with.
    pub prefix: Prefix,
    /// Who is where.
    pub nodes: Vec<NodePlace>,
    /// In which building that is, if each seed draws another ([`Scenario::drawn`]).
    pub building: Option<Building>,
    /// The wire to a host behind the border router, if there is one. The host's number is the one
    /// after the last node's.
    pub wire: Option<Wire>,
    /// Where a second computer is, if the gateway is to have one.
    pub tunnel: Option<Tunnel>,
    /// The applications.
    pub flows: Vec<Flow>,
    /// Between which nodes the only one of them goes, again and again, if the seed draws that.
    pub pairs: Option<Pairs>,
    /// What goes wrong on purpose.
    pub faults: Vec<Fault>,
    /// Relays that fall out while somebody needs them, in order of time.
    pub relay_deaths: Vec<RelayDeath>,
}

impl Default for Scenario {
    /// One hop, no application: a base for variations.
    fn default() -> Self {
        Scenario {
            name: "unnamed".to_owned(),
            duration_s: 60.0,
            start_hour: 0.0,
            seed: 1,
            radio: Radio::default(),
            medium: Medium::default(),
            interference: Vec::new(),
            mac: MAC,
            backoff: EitherBackoff::EXPONENTIAL,
            polling: Polling::DEFAULT,
            wake: None,
            net: NET,
            border_queue: None,
            fragments: Fragments::Reassembled,
            flash: Flash::None,
            routing: Routing::Static,
            given_routes: None,
            rpl: Rpl {
                mode: Mode::Storing,
                option: true,
                addresses: false,
                load: false,
                compression: false,
                objective: Objective::Mrhof,
                never_renews: false,
            },
            aodv_metric: aodv::Metric::PathDr,
            aodv_doubts: true,
            discovery: false,
            registration: false,
            listener_reports: false,
            contexts: None,
            contexts_advertised: false,
            relays_yield: true,
            hop_m: topology::ANY_HOP_M,
            tcp: Tcp::default(),
            prefix: Prefix::DEFAULT,
            nodes: topology::line(1, LINE_SPACING_M),
            building: None,
            wire: None,
            tunnel: None,
            flows: Vec::new(),
            pairs: None,
            faults: Vec::new(),
            relay_deaths: Vec::new(),
        }
    }
}

/// 6LoWPAN contexts that a scenario can name.
pub const CONTEXTS: usize = 4;

/// Distance of neighbours on a line or grid unless given; inside the default disc (10 m), while two
/// steps are outside of it.
pub const LINE_SPACING_M: f64 = 8.0;

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// A [`ScenarioError`] with file, line, column and key; `io` is set if the file is unreadable.
    pub fn from_file(path: &Path) -> Result<Self, ScenarioError> {
        let text =
            std::fs::read_to_string(path).map_err(|e| ScenarioError::unreadable(path, &e))?;
        parse::scenario(path, &text)
    }

    /// Reads a scenario from text; `name` stands in for the file in messages.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line, column and key.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ScenarioError> {
        parse::scenario(Path::new(name), text)
    }

    /// Puts `hops + 1` nodes on a line, `spacing_m` apart; node 0 is the border router.
    #[must_use]
    pub fn on_line(mut self, hops: u32, spacing_m: f64) -> Self {
        self.nodes = topology::line(hops, spacing_m);
        self
    }

    /// Puts `columns × rows` nodes on a grid; node 0, in the corner, is the border router.
    #[must_use]
    pub fn on_grid(mut self, columns: u32, rows: u32, spacing_m: f64) -> Self {
        self.nodes = topology::grid(columns, rows, spacing_m);
        self
    }

    /// The same network with the settings of TCPlp's nodes, as far as it gives them: clear channel
    /// assessment as the driver of the part has it, `d` = 40 ms, polling, and FreeBSD's TCP, which
    /// TCPlp is a port of, at the ends of streams.
    #[must_use]
    pub fn as_tcplp(self) -> Self {
        Scenario {
            radio: Radio { cca: Cca::Energy, ..self.radio },
            mac: mac::Config {
                security: self.mac.security,
                reserved_security: self.mac.reserved_security,
                ..tcplp::MAC
            },
            backoff: EitherBackoff::EXPONENTIAL,
            tcp: Tcp {
                stack: Some(Stack::FreeBsd),
                connection: tcplp::CONNECTION,
                ..Tcp::default()
            },
            polling: Polling::TCPLP,
            net: net::Config { border: net::BorderPolicy::Shared, ..self.net },
            relays_yield: false,
            ..self
        }
    }

    /// The same network with the settings of TinyOS's nodes, and BLIP's TCP with segments of `mss`
    /// octets and a window of one of them. The host is Linux's.
    #[must_use]
    pub fn as_tinyos(self, mss: u16) -> Self {
        Scenario {
            mac: tinyos::MAC,
            backoff: EitherBackoff::EXPONENTIAL,
            net: net::Config { border: net::BorderPolicy::Shared, ..NET },
            border_queue: Some(NET.queue_limit),
            // A reading and its headers fill a frame to seven octets: with the option it would take
            // two.
            rpl: Rpl { option: self.routing != Routing::Rpl, ..self.rpl },
            tcp: Tcp {
                stack: Some(Stack::Blip),
                mss: Mss::Bytes(mss),
                send_buffer: Buffer::Bytes(tinyos::SEND_BUFFER),
                receive_buffer: Buffer::Segments(1),
                quirks: tinyos::QUIRKS,
                ..Tcp::default()
            },
            relays_yield: false,
            wire: self.wire.map(|wire| Wire { host: HostTcp::Linux, ..wire }),
            ..self
        }
    }

    /// The same network with all defaults of Kinglet's; frames stay as long.
    #[must_use]
    pub fn as_kinglet(self) -> Self {
        Scenario {
            radio: Radio { cca: Radio::default().cca, ..self.radio },
            mac: mac::Config {
                security: self.mac.security,
                reserved_security: self.mac.reserved_security,
                ..MAC
            },
            backoff: EitherBackoff::EXPONENTIAL,
            tcp: Tcp::default(),
            polling: Polling::DEFAULT,
            net: NET,
            border_queue: None,
            rpl: Rpl { option: true, ..self.rpl },
            relays_yield: true,
            ..self
        }
    }

    /// Whether MAC, transport and relays have Kinglet's defaults; buffers, segments and the first
    /// timeout may be any.
    pub fn has_defaults(&self) -> bool {
        let default = self.clone().as_kinglet();
        let mut tcp = Tcp { connection: default.tcp.connection, ..self.tcp.clone() };
        tcp.connection.rto_initial = self.tcp.connection.rto_initial;
        // How leaves sleep and are answered is another question.
        let mac = mac::Config {
            indirect: self.mac.indirect,
            data_request_timeout: self.mac.data_request_timeout,
            csl: self.mac.csl,
            ..default.mac
        };
        (&self.mac, &self.tcp, self.relays_yield) == (&mac, &tcp, default.relays_yield)
    }

    /// The same with echo, sink and source at every node where `wanted` and where nobody else
    /// listens on one of their ports.
    #[must_use]
    pub fn with_services(mut self, wanted: impl Fn(NodeId) -> bool) -> Self {
        let flows = self.flows.iter().enumerate();
        let taken: BTreeSet<_> = flows.flat_map(|(place, flow)| flow.listening(place)).collect();
        for node in (0..self.host()).filter(|node| wanted(*node)) {
            let services = Flow::new(0.0, FlowKind::Services { node });
            let place = self.flows.len();
            if services.listening(place).iter().all(|listening| !taken.contains(listening)) {
                self.flows.push(services);
            }
        }
        self
    }

    /// The number of the host behind the border router, whether there is one or not.
    pub fn host(&self) -> NodeId {
        self.nodes.len() as NodeId
    }

    /// Static routes for every flow, both ways; those of a server lead to the border router, and so
    /// do those of flows with the host and of a tunnel. Those that are given, or else the cheapest
    /// paths: a hop costs 1, and where there is path loss 1, 2 or 4 by its margin, as in Thread.
    pub fn routes(&self) -> Vec<Route> {
        match self.routing {
            Routing::Static => self.given_routes.clone().unwrap_or_else(|| topology::routes(self)),
            Routing::Mesh | Routing::Rpl | Routing::Aodv => Vec::new(),
        }
    }

    /// The farthest of two routers between which the cheapest way costs more than `most`, one of
    /// them the border router or the end of a flow with the other: from where, to where and the
    /// cost.
    pub fn farther_than(&self, most: u32) -> Option<(NodeId, NodeId, u32)> {
        topology::farther_than(self, most)
    }

    /// What will not work in this scenario though it can be simulated: flows between nodes that no
    /// static route connects.
    pub fn warnings(&self) -> Vec<String> {
        match self.routing {
            Routing::Static if self.given_routes.is_some() => topology::missing_routes(self),
            Routing::Static => topology::missing_paths(self),
            Routing::Mesh | Routing::Rpl | Routing::Aodv => Vec::new(),
        }
    }

    /// Why nodes that sleep several times a second would not wake for a link that they need; `None`
    /// if they do.
    pub(super) fn cannot_wake(&self) -> Option<String> {
        topology::cannot_wake(self)
    }

    /// The root of what has one: the border router, or node 0 if there is none.
    pub fn root(&self) -> NodeId {
        let border = self.nodes.iter().position(|node| node.role == Role::BorderRouter);
        border.unwrap_or(0) as NodeId
    }

    /// For each node the parent that it asks for its packets, if it is a leaf: the one that it was
    /// given, else its next hop to the border router, or to node 0 if there is none.
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        topology::parents(self)
    }
}

/// The radio hardware of every node.
#[derive(Clone, Debug, PartialEq)]
pub struct Radio {
    /// Timing, currents and buffers.
    pub profile: RadioProfile,
    /// IEEE 802.15.4 channel, 11 to 26.
    pub channel: u8,
    /// Output power in dBm (used by path loss and energy).
    pub tx_power_dbm: f64,
    /// How much too fast or too slow a node's clock is at most, in parts per million.
    pub drift_ppm: u32,
    /// CPU time that a node spends on what it sends and receives.
    pub host_cost: HostCost,
    /// What makes the channel busy.
    pub cca: Cca,
    /// The threshold of energy for that in dBm, if not the profile's.
    pub cca_threshold_dbm: Option<f64>,
}

impl Default for Radio {
    /// A channel is busy by energy or by a frame, as both parts can have it: energy alone does not
    /// notice the weak links of a building, and a frame alone not who speaks something else.
    fn default() -> Self {
        Radio {
            profile: RadioProfile::At86rf233,
            channel: 26,
            tx_power_dbm: 0.0,
            drift_ppm: 0,
            host_cost: HostCost::Micros(0),
            cca: Cca::Either,
            cca_threshold_dbm: None,
        }
    }
}

/// What makes the channel busy (IEEE 802.15.4-2015, 10.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cca {
    /// Energy at or above the threshold, averaged over eight symbols.
    Energy,
    /// A frame that could be received.
    Carrier,
    /// One of both.
    Either,
    /// Both.
    Both,
}

impl Cca {
    /// All of them.
    pub const ALL: [Cca; 4] = [Cca::Energy, Cca::Carrier, Cca::Either, Cca::Both];

    /// The name in scenario files and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Cca::Energy => "energy",
            Cca::Carrier => "carrier",
            Cca::Either => "either",
            Cca::Both => "both",
        }
    }
}

/// Known radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioProfile {
    /// Microchip AT86RF233: one frame buffer behind SPI (TCPlp's radio).
    At86rf233,
    /// Nordic nRF52840: frames by DMA, no copy over a bus.
    Nrf52840,
    /// TI CC2420 on a TelosB: FIFOs behind a slow SPI.
    Cc2420,
    /// The same on a Tmote Sky under Contiki, whose driver senses and strobes.
    Cc2420Contiki,
    /// What IEEE 802.15.4 says, and the ideal receiver.
    Standard,
}

impl RadioProfile {
    /// Those whose closed forms are known, to which simulations are compared.
    pub const CLOSED: [RadioProfile; 3] =
        [RadioProfile::At86rf233, RadioProfile::Nrf52840, RadioProfile::Standard];

    /// The name in scenario files and labels.
    pub const fn name(self) -> &'static str {
        match self {
            RadioProfile::At86rf233 => "at86rf233",
            RadioProfile::Nrf52840 => "nrf52840",
            RadioProfile::Cc2420 => "cc2420",
            RadioProfile::Cc2420Contiki => "cc2420-contiki",
            RadioProfile::Standard => "standard",
        }
    }
}

/// CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCost {
    /// So many microseconds per frame.
    Micros(u32),
    /// What TCPlp's 75 kb/s implies beside its own bound of 95 kb/s: 2 ms a frame.
    ///
    /// At 75 kb/s a segment of 462 B takes 49.3 ms, at the bound of 95 kb/s 38.9 ms (TCPlp §6.3):
    /// 10.4 ms per segment of five frames. It is the gap that the paper leaves to "network stack
    /// processing and other real-world inefficiencies", not a measurement of a processor; only
    /// rows that say so use it.
    FittedTcplp,
    /// What the instructions of this stack take on the chip that belongs to the radio's profile.
    Measured,
}

/// Received power on a unit disc unless a scenario says otherwise, in dBm: well above every
/// threshold.
pub(crate) const DISC_RSSI_DBM: f64 = -60.0;

/// What connects the radios, and what happens when frames overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Who hears whom, and how loudly.
    pub propagation: Propagation,
    /// What an overlap of frames at a receiver does.
    pub overlap: Overlap,
    /// `false` lets every node's clear channel assessment sense every transmission in the network
    /// (reception is unchanged): the control experiment without hidden terminals.
    pub hidden_terminals: bool,
    /// Probability that a frame that would be received is lost all the same, 0 to 1.
    pub frame_loss: f64,
}

impl Default for Medium {
    fn default() -> Self {
        Medium {
            propagation: keys::DISC,
            overlap: Overlap::SinrBer,
            hidden_terminals: true,
            frame_loss: 0.0,
        }
    }
}

/// Who hears whom.
#[derive(Clone, Debug, PartialEq)]
pub enum Propagation {
    /// Everyone within `range_m` receives; everyone within `interference_range_m` is disturbed,
    /// without being able to hear or sense it.
    UnitDisc {
        /// Reception and carrier sense, in metres.
        range_m: f64,
        /// Interference, in metres; at least `range_m`.
        interference_range_m: f64,
        /// Received power of every signal, in dBm. Carrier sense may not notice a weak one.
        rssi_dbm: f64,
    },
    /// Exactly the listed links.
    LinkMatrix {
        /// One entry per pair, or per direction.
        links: Vec<Link>,
    },
    /// Log-distance path loss with shadowing, what nodes differ by, and fading; reception by signal
    /// to interference and noise.
    PathLoss {
        /// Path loss exponent; 2 in free space, about 3 in offices.
        exponent: f64,
        /// Loss at one metre in dB; 40.2 dB in free space at 2.45 GHz.
        reference_loss_db: f64,
        /// Standard deviation of the shadowing per link in dB.
        shadowing_db: f64,
        /// Standard deviation of what transmitters differ by, and receivers, in dB.
        asymmetry_db: f64,
        /// How links change in time.
        fading: Fading,
        /// Noise floor in dBm; -111 dBm thermal in 2 MHz plus the receiver's noise figure.
        noise_floor_dbm: f64,
    },
}

/// One link of a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Probability that a frame on it is lost, 0 to 1.
    pub loss: f64,
    /// Received signal strength in dBm.
    pub rssi_dbm: f64,
    /// Whether the other direction is the same.
    pub symmetric: bool,
}

impl Link {
    /// Without loss, both ways; what a file does not say of a link.
    const USUAL: Link =
        Link { from: 0, to: 0, loss: 0.0, rssi_dbm: DISC_RSSI_DBM, symmetric: true };
}

/// What happens to frames that overlap at a receiver. Simulators in use contradict each other here,
/// so it is a parameter and experiments show how much depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// All of them are lost.
    Strict,
    /// Bit errors by signal to interference ratio (O-QPSK, IEEE 802.15.4-2006 Annex E).
    SinrBer,
    /// The stronger one survives above a threshold, even if it starts later.
    Capture,
}

impl Overlap {
    /// The name in scenario files and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Overlap::Strict => "strict",
            Overlap::SinrBer => "sinr-ber",
            Overlap::Capture => "capture",
        }
    }
}

/// Who decides on routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// They are computed from the links and never change.
    Static,
    /// The nodes, by what they hear of each other.
    Mesh,
    /// The nodes, by RPL (RFC 6550).
    Rpl,
    /// The nodes, when packets need ways: nst-AODV (RFC 3561).
    Aodv,
}

/// What routers do with the fragments of a packet for somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// They put it together (RFC 4944).
    Reassembled,
    /// They pass them on one by one (RFC 8930).
    Forwarded,
}

/// Where a router keeps frames that it passes on one by one, if many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flash {
    /// In memory.
    None,
    /// In ST's M25P80.
    M25p80,
}

/// How nodes wake several times a second, as ContikiMAC has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// All but whether a node sleeps.
    pub settings: mac::Wake,
    /// The border router sleeps as well, and so does the far end of a tunnel.
    pub border_sleeps: bool,
    /// On how many channels nodes listen, one at each wake-up, 1 to 16.
    pub channels: u8,
}

impl Wake {
    /// The defaults of the stack; a border router has mains.
    pub const DEFAULT: Wake =
        Wake { settings: mac::Wake::DEFAULT, border_sleeps: false, channels: 1 };
}

/// What RPL does (RFC 6550).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rpl {
    /// How packets find their way down.
    pub mode: Mode,
    /// Packets carry the RPL option (RFC 6553).
    pub option: bool,
    /// Nodes other than the root have no address until the DODAG's prefix gives them one.
    pub addresses: bool,
    /// Routers say when their queues are full, and others rather have parents with room.
    pub load: bool,
    /// What RPL adds to packets is written as 6LoWPAN Routing Headers (RFC 8138).
    pub compression: bool,
    /// The root's objective function.
    pub objective: Objective,
    /// TinyRPL's fault ([`crate::tinyrpl`]).
    pub never_renews: bool,
}

/// What RPL's ranks are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Transmissions (RFC 6719).
    Mrhof,
    /// Hops, as RIOT has it (RFC 6552).
    Of0,
}

/// Largest segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mss {
    /// Payload octets.
    Bytes(u16),
    /// As many octets as fit into so many link frames.
    Frames(u8),
}

/// A buffer size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// In octets.
    Bytes(u32),
    /// In segments of the MSS.
    Segments(u16),
}

impl Buffer {
    /// The size in octets, given the MSS in octets.
    pub fn bytes(self, mss: usize) -> usize {
        match self {
            Buffer::Bytes(bytes) => bytes as usize,
            Buffer::Segments(segments) => usize::from(segments) * mss,
        }
    }
}

/// A node and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePlace {
    /// Metres east.
    pub x_m: f64,
    /// Metres north.
    pub y_m: f64,
    /// What it is for.
    pub role: Role,
    /// The parent of a leaf, if that is given: the only neighbour that it uses.
    pub parent: Option<NodeId>,
}

/// What a node is for; it decides how long its radio is on and whom it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends and receives, forwards for others too.
    Router,
    /// Only sends and receives, and sleeps.
    Leaf,
    /// Only sends and receives, and is always on. It knows nothing of routing: routers near it do,
    /// with one of which its address is registered.
    Host,
    /// Nobody of the simulation: a radio for those who are outside of it and share its air by way
    /// of the gateway.
    Outside,
    /// The way out of the network: default route of all others.
    BorderRouter,
}

impl Role {
    /// Whether it forwards for others.
    pub const fn relays(self) -> bool {
        matches!(self, Role::Router | Role::BorderRouter)
    }
}

/// A wire between the border router and a host, and what it does to IP packets, both ways alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// Time that a packet takes once it is on the wire, in milliseconds.
    pub delay_ms: u32,
    /// Bits per second of each direction, in thousands; `None` is no limit.
    pub rate_kbps: Option<f64>,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// The same on the way to the mesh, if it differs.
    pub loss_to_mesh: Option<f64>,
    /// Probability that it arrives twice, 0 to 1.
    pub duplicate: f64,
    /// Probability that it is marked (CE) if its sender is ECN-capable, 0 to 1.
    pub mark: f64,
    /// Probability that it is held back, so that later ones overtake it, 0 to 1.
    pub reorder: f64,
    /// Longest time that it is held back, in milliseconds; the time is uniformly random.
    pub reorder_delay_ms: u32,
    /// Whose TCP the host has.
    pub host: HostTcp,
}

/// Whose TCP the host behind the border router has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTcp {
    /// The same settings as all nodes.
    Same,
    /// Linux's ([`Stack::Linux`]).
    Linux,
}

impl Wire {
    /// Nothing goes wrong on it. TCPlp's border router and its server were 12 ms of round trip
    /// apart (§8).
    pub const PERFECT: Wire = Wire {
        delay_ms: 6,
        rate_kbps: None,
        loss: 0.0,
        loss_to_mesh: None,
        duplicate: 0.0,
        mark: 0.0,
        reorder: 0.0,
        reorder_delay_ms: 200,
        host: HostTcp::Same,
    };
}

/// Something that goes wrong on purpose.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Two groups of nodes do not hear each other for a while.
    Partition {
        /// Nodes cut off from all others.
        nodes: Vec<NodeId>,
        /// Start in seconds.
        from_s: f64,
        /// End in seconds; `None` = it does not end.
        to_s: Option<f64>,
    },
}

#[cfg(test)]
mod tests;
