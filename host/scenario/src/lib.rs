//! Description of a simulation: radio, medium, protocol parameters, nodes, flows and faults.
//!
//! A [`Scenario`] is a plain value. Experiments build theirs in code and vary single fields; users
//! write TOML ([`Scenario::from_toml`]; `host/lab/SCENARIO.md` lists every key).

mod addressing;
mod backoff;
mod building;
mod ceiling;
mod each;
mod error;
mod flow;
mod interference;
mod keys;
mod near;
mod office;
mod pairs;
mod parse;
mod path;
mod peers;
mod places;
mod prefix;
mod presets;
mod protocols;
pub mod read;
mod reference;
pub mod renamed;
pub mod simulated;
mod street;
mod table;
mod topology;
mod tunnel;

pub use addressing::{Addressing, LinkAddresses, NO_SHORT};
pub use backoff::EitherBackoff;
pub use building::Building;
pub use error::{ScenarioError, nearest};
pub use flow::{
    Carrier, Datagrams, File, Flow, FlowKind, Listening, Method, Pace, SERVICE_PORTS, Sensor,
    Transport,
};
pub use interference::{Hours, Interferer, Source};
pub use pairs::{Pairs, RelayDeath};
pub use path::FieldPath;
pub use prefix::Prefix;
pub use presets::{
    Control, MAC, NET, SECURITY, Tcp, base_of, csl_every, motes, polling_every, tcplp, tinyos,
};
pub use protocols::{Facts, Routing};
pub use reference::reference;
pub use topology::{Route, connected};
pub use tunnel::Tunnel;

use kinglet::aodv;
use kinglet::flash::Geometry;
use kinglet::rpl::{Mode, Sequence};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Polling, mac, net};
use kinglet_peers::Stack;
use kinglet_sim::flash::{FlashProfile, M25P80};
pub use kinglet_sim::place::Fading;
use std::collections::BTreeSet;
use std::path::Path;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Nodes are numbered from 0 without gaps.
pub type NodeId = u32;

/// A complete description of one simulation, apart from the use of its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name for display.
    pub name: String,
    /// Simulated time in seconds.
    pub duration_s: f64,
    /// Hour of the day at which it begins, 0 to 24; interference depends on it.
    pub start_hour: f64,
    /// Root seed unless the caller gives another.
    pub seed: u64,
    /// The radio hardware.
    pub radio: Radio,
    /// Propagation and collisions between the radios.
    pub medium: Medium,
    /// Other users of the band.
    pub interference: Vec<Interferer>,
    /// Link layer of every node. Addresses, channel, power and idle listening come from the node
    /// and its radio.
    pub mac: mac::MacConfig,
    /// CSMA-CA backoff of every node.
    pub backoff: EitherBackoff,
    /// Polling of leaves.
    pub polling: Polling,
    /// Wake-ups of duty-cycled nodes, if any.
    pub wake: Option<Wake>,
    /// Network layer of every node, except for addresses and tags. Only routers forward, and a
    /// border router's queue is longer than the limit.
    pub net: net::NetConfig,
    /// Limit of packets that wait at the border router for the radio; `None` is its whole memory.
    pub border_queue: Option<u8>,
    /// Treatment of fragments in routers.
    pub fragments: Fragments,
    /// Memory for frames of forwarded fragments.
    pub flash: Flash,
    /// Routing protocol.
    pub routing: Routing,
    /// Static routes, if they are not the cheapest paths.
    pub given_routes: Option<Vec<Route>>,
    /// Settings of RPL, if it is the routing protocol.
    pub rpl: Rpl,
    /// Metric of AODV, if it is the routing protocol.
    pub aodv_metric: aodv::Metric,
    /// True if AODV probes a neighbour before its link counts as broken.
    pub aodv_link_probes: bool,
    /// Nodes take part in neighbour discovery.
    pub discovery: bool,
    /// The border router is a 6LBR, routers are 6LRs, and leaves register their addresses.
    pub registration: bool,
    /// Nodes with neighbour discovery report their multicast groups to routers (RFC 3810).
    pub listener_reports: bool,
    /// 6LoWPAN contexts by their identifiers, if they do not follow from the prefix.
    pub contexts: Option<[Option<Context>; CONTEXTS]>,
    /// Only the border router has the contexts at the start.
    pub contexts_advertised: bool,
    /// Nodes of a mesh get the prefix of their address and the contexts from the border router.
    pub mesh_addresses: bool,
    /// A relay defers its own segments in favour of relayed ones.
    pub relays_yield: bool,
    /// Longest hop of static routes, in metres.
    pub hop_m: f64,
    /// Transport parameters of all nodes, unless a flow has its own.
    pub tcp: Tcp,
    /// Prefix of all addresses.
    pub prefix: Prefix,
    /// Link-layer addresses of all nodes.
    pub link_addresses: LinkAddresses,
    /// Position and role of each node.
    pub nodes: Vec<NodePlace>,
    /// The building of the nodes, if each seed draws another ([`Scenario::drawn`]).
    pub building: Option<Building>,
    /// The wire to a host behind the border router, if there is one. The number of the host is that
    /// after the last node's.
    pub wire: Option<Wire>,
    /// Place of a second computer, if the gateway has one.
    pub tunnel: Option<Tunnel>,
    /// The applications.
    pub flows: Vec<Flow>,
    /// Pairs of nodes between which the only flow is repeated, if the seed draws them.
    pub pairs: Option<Pairs>,
    /// Injected faults.
    pub faults: Vec<Fault>,
    /// Relays that fail while a flow needs them, in order of time.
    pub relay_deaths: Vec<RelayDeath>,
    /// Old names in its file, which were read as the new ones.
    pub renamed: Vec<renamed::Change>,
}

impl Default for Scenario {
    /// One hop without applications: a base for variations.
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
                sequence: None,
                routes_expire: false,
            },
            aodv_metric: aodv::Metric::PathDr,
            aodv_link_probes: true,
            discovery: false,
            registration: false,
            listener_reports: false,
            contexts: None,
            contexts_advertised: false,
            mesh_addresses: false,
            relays_yield: true,
            hop_m: topology::ANY_HOP_M,
            tcp: Tcp::default(),
            prefix: Prefix::DEFAULT,
            link_addresses: LinkAddresses::Short,
            nodes: topology::line(1, LINE_SPACING_M),
            building: None,
            wire: None,
            tunnel: None,
            flows: Vec::new(),
            pairs: None,
            faults: Vec::new(),
            relay_deaths: Vec::new(),
            renamed: Vec::new(),
        }
    }
}

/// Number of 6LoWPAN contexts of a scenario.
pub const CONTEXTS: usize = 4;

/// Default distance of neighbours on a line or grid: within the default range (10 m), while twice
/// the distance is outside it.
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

    /// Reads a scenario from text; `name` replaces the file name in messages.
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

    /// The same network with the published settings of TCPlp's nodes: clear channel assessment as
    /// in the driver of the radio, `d` = 40 ms, polling, and at the ends of streams FreeBSD's TCP,
    /// of which TCPlp is a port.
    #[must_use]
    pub fn as_tcplp(self) -> Self {
        Scenario {
            radio: Radio { cca: Cca::Energy, ..self.radio },
            mac: mac::MacConfig {
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
            net: net::NetConfig { border: net::BorderPolicy::Shared, ..self.net },
            relays_yield: false,
            ..self
        }
    }

    /// The same network with the settings of TinyOS's nodes, and BLIP's TCP with segments of `mss`
    /// octets and a window of one segment. The host runs Linux's TCP.
    #[must_use]
    pub fn as_tinyos(self, mss: u16) -> Self {
        Scenario {
            radio: Radio { host_cost: motes::TMOTE, ..self.radio },
            mac: tinyos::MAC,
            backoff: EitherBackoff::TINYOS,
            net: net::NetConfig { border: net::BorderPolicy::Shared, ..NET },
            border_queue: Some(NET.queue_limit),
            // A reading with its headers leaves seven octets of a frame: with the option it would
            // need two frames.
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

    /// The same network with all of Kinglet's defaults; frames keep their length.
    #[must_use]
    pub fn as_kinglet(self) -> Self {
        Scenario {
            radio: Radio { cca: Radio::default().cca, ..self.radio },
            mac: mac::MacConfig {
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

    /// Returns true if MAC, transport and relays have Kinglet's defaults. Buffers, segments and the
    /// first timeout are not compared.
    pub fn has_defaults(&self) -> bool {
        let default = self.clone().as_kinglet();
        let mut tcp = Tcp { connection: default.tcp.connection, ..self.tcp.clone() };
        tcp.connection.rto_initial = self.tcp.connection.rto_initial;
        // Settings of sleepy leaves and of their parents are not compared.
        let mac = mac::MacConfig {
            indirect: self.mac.indirect,
            data_request_timeout: self.mac.data_request_timeout,
            csl: self.mac.csl,
            ..default.mac
        };
        (&self.mac, &self.tcp, self.relays_yield) == (&mac, &tcp, default.relays_yield)
    }

    /// The same with echo, sink and source at every node that is `wanted` and has no other listener
    /// on one of their ports.
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

    /// Number of the host behind the border router, even if there is none.
    pub fn host(&self) -> NodeId {
        self.nodes.len() as NodeId
    }

    /// Static routes for every flow, in both directions. Routes of a server lead to the border
    /// router, as do those of flows with the host and of a tunnel. They are the given ones, or else
    /// the cheapest paths. A hop costs 1; with path loss it costs 1, 2 or 4 by its margin, as in
    /// Thread.
    pub fn routes(&self) -> Vec<Route> {
        match self.routing {
            Routing::Static => self.given_routes.clone().unwrap_or_else(|| topology::routes(self)),
            _ => Vec::new(),
        }
    }

    /// The farthest pair of routers whose cheapest path costs more than `most`: source, destination
    /// and cost. One of them is the border router, or both are ends of the same flow.
    pub fn farther_than(&self, most: u32) -> Option<(NodeId, NodeId, u32)> {
        topology::farther_than(self, most)
    }

    /// Warnings about a valid scenario: flows between nodes that no static route connects.
    pub fn warnings(&self) -> Vec<String> {
        match self.routing {
            Routing::Static if self.given_routes.is_some() => topology::missing_routes(self),
            Routing::Static => topology::missing_paths(self),
            _ => Vec::new(),
        }
    }

    /// Reason why duty-cycled nodes would not wake for a link that they need; `None` if they do.
    pub(crate) fn cannot_wake(&self) -> Option<String> {
        topology::cannot_wake(self)
    }

    /// Reason why a chip is misplaced, if one is: the AT86RF233 sets no frame-pending bit for data
    /// requests with link security, so that a leaf of such a parent would receive nothing.
    pub(crate) fn misplaced_chip(&self) -> Option<String> {
        if self.radio.profile != RadioProfile::At86rf233 || self.mac.security.is_none() {
            return None;
        }
        let parents = self.parents();
        let mut parents = parents.iter().flatten();
        let parent = parents.find(|parent| self.radio.chips.contains(parent))?;
        Some(format!(
            "the chip of node {parent} sets no frame-pending bit for data requests with link \
             security, and its leaf would receive nothing; [mac] security = false"
        ))
    }

    /// Root of the network: the border router, or node 0 if there is none.
    pub fn root(&self) -> NodeId {
        let border = self.nodes.iter().position(|node| node.role == Role::BorderRouter);
        border.unwrap_or(0) as NodeId
    }

    /// For each node the parent that it polls, if it is a leaf: the given one, or else its next hop
    /// to the border router, or to node 0 if there is none.
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
    /// Largest clock drift of a node in either direction, in parts per million.
    pub drift_ppm: u32,
    /// CPU time of a node for sent and received data.
    pub host_cost: HostCost,
    /// Clear channel assessment mode.
    pub cca: Cca,
    /// Energy threshold of the assessment in dBm, if it differs from the profile's.
    pub cca_threshold_dbm: Option<f64>,
    /// Nodes whose radio is the modelled chip of the profile with its driver, in ascending order.
    pub chips: Vec<NodeId>,
}

impl Default for Radio {
    /// A channel is busy by energy or by a frame; both radios support this mode. Energy alone
    /// misses the weak links of a building, and a frame alone misses other protocols.
    fn default() -> Self {
        Radio {
            profile: RadioProfile::At86rf233,
            channel: 26,
            tx_power_dbm: 0.0,
            drift_ppm: 0,
            host_cost: HostCost::Micros(0),
            cca: Cca::Either,
            cca_threshold_dbm: None,
            chips: Vec::new(),
        }
    }
}

/// Clear channel assessment mode (IEEE 802.15.4-2015, 10.2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cca {
    /// Energy at or above the threshold, averaged over eight symbols.
    Energy,
    /// A frame that could be received.
    Carrier,
    /// Energy or carrier.
    Either,
    /// Energy and carrier.
    Both,
}

impl Cca {
    /// All modes.
    pub const ALL: [Cca; 4] = [Cca::Energy, Cca::Carrier, Cca::Either, Cca::Both];

    /// Name in scenario files and labels.
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
    /// TI CC2420 on a Tmote Sky under Contiki, whose driver does CCA and strobes.
    Cc2420Contiki,
    /// Timing of IEEE 802.15.4, and an ideal receiver.
    Standard,
}

impl RadioProfile {
    /// Radios with known closed forms, against which simulations are checked.
    pub const CLOSED: [RadioProfile; 3] =
        [RadioProfile::At86rf233, RadioProfile::Nrf52840, RadioProfile::Standard];

    /// Name in scenario files and labels.
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

/// CPU time of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCost {
    /// Microseconds per frame.
    Micros(u32),
    /// Time implied by TCPlp's 75 kb/s against its bound of 95 kb/s: 2 ms a frame.
    ///
    /// At 75 kb/s a segment of 462 B takes 49.3 ms, at the bound of 95 kb/s 38.9 ms (TCPlp §6.3):
    /// 10.4 ms per segment of five frames. The paper attributes this gap to "network stack
    /// processing and other real-world inefficiencies". It is not a measurement of a processor;
    /// only rows that say so use it.
    FittedTcplp,
    /// Time of this stack's instructions on the chip of the radio's profile.
    Measured,
}

/// Default received power on a unit disc, in dBm: well above every threshold.
pub(crate) const DISC_RSSI_DBM: f64 = -60.0;

/// Propagation between the radios, and collisions.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    /// Reception and signal strength between nodes.
    pub propagation: Propagation,
    /// Effect of overlapping frames at a receiver.
    pub overlap: Overlap,
    /// `false` lets every node's clear channel assessment sense every transmission in the network
    /// (reception is unchanged): the control experiment without hidden terminals.
    pub hidden_terminals: bool,
    /// Probability that a frame that would be received is lost nevertheless, 0 to 1.
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

/// Reception between nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Propagation {
    /// All nodes within `range_m` receive. All nodes within `interference_range_m` are disturbed;
    /// beyond `range_m` they can neither receive nor sense the signal.
    UnitDisc {
        /// Range of reception and carrier sense, in metres.
        range_m: f64,
        /// Interference range, in metres; at least `range_m`.
        interference_range_m: f64,
        /// Received power of every signal, in dBm. Carrier sense may miss a weak one.
        rssi_dbm: f64,
    },
    /// Only the listed links.
    LinkMatrix {
        /// One entry per pair, or per direction.
        links: Vec<Link>,
    },
    /// Log-distance path loss with shadowing, hardware variation and fading; reception by signal to
    /// interference and noise.
    PathLoss {
        /// Path loss exponent; 2 in free space, about 3 in offices.
        exponent: f64,
        /// Loss at one metre in dB; 40.2 dB in free space at 2.45 GHz.
        reference_loss_db: f64,
        /// Standard deviation of the shadowing per link in dB.
        shadowing_db: f64,
        /// Standard deviation of the variation between transmitters, and between receivers, in dB.
        asymmetry_db: f64,
        /// Variation of links in time.
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
    /// True if the other direction is the same.
    pub symmetric: bool,
}

impl Link {
    /// Defaults of a link: without loss, in both directions.
    const USUAL: Link =
        Link { from: 0, to: 0, loss: 0.0, rssi_dbm: DISC_RSSI_DBM, symmetric: true };
}

/// Effect of frames that overlap at a receiver. Established simulators differ here, so it is a
/// parameter, and experiments show its influence.
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
    /// Name in scenario files and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Overlap::Strict => "strict",
            Overlap::SinrBer => "sinr-ber",
            Overlap::Capture => "capture",
        }
    }
}

/// Treatment of the fragments of a packet for another node in routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// Reassembly at each hop (RFC 4944).
    Reassembled,
    /// Forwarding of single fragments (RFC 8930).
    Forwarded,
}

/// Memory of a router for the frames of forwarded fragments, if many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flash {
    /// In memory.
    None,
    /// In ST's M25P80.
    M25p80,
    /// In a quarter of it, for a quarter of the frames.
    QuarterOfM25p80,
}

impl Flash {
    /// The part, if there is one.
    pub fn part(self) -> Option<FlashProfile> {
        let sectors = match self {
            Flash::None => return None,
            Flash::M25p80 => M25P80.geometry.sectors,
            Flash::QuarterOfM25p80 => M25P80.geometry.sectors / 4,
        };
        Some(FlashProfile { geometry: Geometry { sectors, ..M25P80.geometry }, ..M25P80 })
    }
}

/// Wake-ups several times a second, as in ContikiMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// All settings except whether a node sleeps.
    pub settings: mac::Wake,
    /// The border router is duty-cycled as well, and so is the far end of a tunnel.
    pub border_duty_cycled: bool,
    /// Number of channels on which nodes listen, one at each wake-up, 1 to 16.
    pub channels: u8,
}

impl Wake {
    /// Defaults of the stack; a border router is mains-powered.
    pub const DEFAULT: Wake =
        Wake { settings: mac::Wake::DEFAULT, border_duty_cycled: false, channels: 1 };
}

/// Settings of RPL (RFC 6550).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rpl {
    /// Mode of operation, for downward routes.
    pub mode: Mode,
    /// Packets carry the RPL option (RFC 6553).
    pub option: bool,
    /// Nodes other than the root have no address until they derive one from the DODAG's prefix.
    pub addresses: bool,
    /// Routers signal full queues, and other nodes prefer parents that are not congested.
    pub load: bool,
    /// RPL's additions to packets are compressed as 6LoWPAN Routing Headers (RFC 8138).
    pub compression: bool,
    /// The root's objective function.
    pub objective: Objective,
    /// Version and DTSN with which the root begins, if it has kept those of its former life.
    pub sequence: Option<Sequence>,
    /// TinyRPL's fault: downward routes expire in spite of refreshes.
    pub routes_expire: bool,
}

/// Objective function of RPL's ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Expected transmissions: MRHOF (RFC 6719).
    Mrhof,
    /// Hops: OF0 (RFC 6552), as in RIOT.
    Of0,
}

/// Largest segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mss {
    /// Payload octets.
    Bytes(u16),
    /// As many octets as fit into this number of link frames.
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
    /// Role in the network.
    pub role: Role,
    /// The parent of a leaf, if it is given: its only neighbour.
    pub parent: Option<NodeId>,
}

/// Role of a node in the network: it determines the duty cycle of its radio and the nodes that it
/// serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends and receives, and forwards for others.
    Router,
    /// Only sends and receives, and sleeps.
    Leaf,
    /// Only sends and receives, and is always on. It takes no part in routing: its address is
    /// registered with a router in range, which does.
    Host,
    /// Not a node of the simulation: a radio for devices outside it, which share its medium through
    /// the gateway.
    Outside,
    /// Exit of the network: the default route of all others.
    BorderRouter,
}

impl Role {
    /// Returns true if it forwards for others.
    pub const fn relays(self) -> bool {
        matches!(self, Role::Router | Role::BorderRouter)
    }
}

/// A wire between the border router and a host, with its impairments of IP packets, the same in
/// both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// Propagation delay of a packet, in milliseconds.
    pub delay_ms: u32,
    /// Bits per second of each direction, in thousands; `None` is no limit.
    pub rate_kbps: Option<f64>,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Probability of loss towards the mesh, if it differs.
    pub loss_to_mesh: Option<f64>,
    /// Probability that a packet arrives twice, 0 to 1.
    pub duplicate: f64,
    /// Probability that a packet is marked (CE) if its sender is ECN-capable, 0 to 1.
    pub mark: f64,
    /// Probability that a packet is delayed, so that later ones overtake it, 0 to 1.
    pub reorder: f64,
    /// Longest such delay, in milliseconds; the delay is uniformly random.
    pub reorder_delay_ms: u32,
    /// TCP of the host.
    pub host: HostTcp,
}

/// TCP of the host behind the border router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostTcp {
    /// Same settings as all nodes.
    Same,
    /// TCP of Linux ([`Stack::Linux`]).
    Linux,
}

impl Wire {
    /// A wire without impairments. The round-trip time between TCPlp's border router and its server
    /// was 12 ms (§8).
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

/// An injected fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Two groups of nodes cannot receive each other for some time.
    Partition {
        /// Nodes cut off from all others.
        nodes: Vec<NodeId>,
        /// Start in seconds.
        from_s: f64,
        /// End in seconds; `None` = no end.
        to_s: Option<f64>,
    },
}

#[cfg(test)]
mod tests;
