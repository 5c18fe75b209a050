//! From a scenario to a network that can run: addresses, routes, applications.

use crate::cpu::host_cost_of;
use crate::flows::Builder;
use crate::layout::{Format, TIMESTAMPS};
use crate::plan::{BUFFER, LabPlan};
use crate::radio::profile_of;
use crate::scenario::{
    self, Buffer, Cca, Csma, HostTcp, Mss, NodeId, Overlap, Propagation, Queue, Role, Routing,
    Scenario, Source,
};
use core::net::Ipv6Addr;
use kinglet::mesh;
use kinglet::net::{InterfaceAddress, NextHop, QueueDiscipline, Red, Route};
use kinglet::radio::{Capabilities, Channel, CsmaParams};
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Meshed, Node, Polling};
use kinglet_mac as mac;
use kinglet_sim::interference;
use kinglet_sim::medium::{self, Connectivity, MatrixLink, MediumConfig, PathLoss, Position};
use kinglet_sim::profile::{CcaMode, NOISE_FLOOR_DBM, RadioProfile as SimRadio};
use kinglet_sim::rng::{Purpose, Stream, stream};
use kinglet_sim::{App, NodeConfig, Station, Wire, WireConfig, World};

/// A network of the lab.
pub type Network = World<Site>;
/// What stands at each of its nodes.
pub type Site = Station<LabPlan>;

/// The mesh's prefix, 64 bits: a unique local address (RFC 4193) that spells "kinglt".
pub const MESH_PREFIX: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0, 0, 0);
/// The host behind the border router: where the gateway's TUN device ends. Outside of the mesh's 64
/// bits, so that motes send to it by way of the border router.
pub const HOST_ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7401, 0, 0, 0, 1);
/// macShortAddress of a device that has none.
const NO_SHORT: u16 = 0xfffe;
/// The host's EUI-64: locally administered.
const HOST_EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 1];
/// First port of the flows' receivers; flow number i listens on the i-th.
const FIRST_PORT: u16 = 5001;

/// Where an application of a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its node.
    pub node: NodeId,
    /// Its number on that node.
    pub app: usize,
}

/// The application at `place`, if it is an `A`.
pub fn app_at<A: 'static>(network: &Network, place: Place) -> Option<&A> {
    if (place.node as usize) < network.nodes() {
        return network.device(place.node as usize).app(place.app);
    }
    wire_of(network).and_then(|wire| wire.app(place.app))
}

/// The wire to the host, if there is one.
pub fn wire_of(network: &Network) -> Option<&Wire<LabPlan>> {
    (0..network.nodes()).find_map(|node| network.device(node).wire())
}

/// The ends of a flow: who sends (or serves), and who receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Sender or server.
    pub from: Place,
    /// Receiver; the server itself for a server.
    pub to: Place,
}

/// The address of `node` in the mesh: its short address as interface identifier (RFC 4944 §6).
pub fn address_of(node: NodeId) -> Ipv6Addr {
    with_short(MESH_PREFIX, node)
}

/// The address of `node`, which may be the host.
pub(crate) fn address_in(scenario: &Scenario, node: NodeId) -> Ipv6Addr {
    if node == scenario.host() { HOST_ADDRESS } else { address_of(node) }
}

fn with_short(prefix: Ipv6Addr, node: NodeId) -> Ipv6Addr {
    let [a, b, c, d, ..] = prefix.segments();
    Ipv6Addr::new(a, b, c, d, 0, 0xff, 0xfe00, short_of(node))
}

/// The short address of `node`; counted from 1, because 0 is what an unset one looks like.
pub fn short_of(node: NodeId) -> u16 {
    (node + 1) as u16
}

/// The MSS of a scenario in octets: the largest TCP payload, options not counted.
pub fn payload_of(scenario: &Scenario) -> u16 {
    match scenario.tcp.mss {
        Mss::Bytes(bytes) => bytes,
        Mss::Frames(frames) => {
            let format = Format::of(&scenario.mac, scenario.tcp.timestamps);
            format.mss_for_frames(usize::from(frames)) as u16
        }
    }
}

/// TCP settings of a node, or of the host, with buffers of their own if given.
pub(crate) fn connection(
    scenario: &Scenario,
    node: NodeId,
    send: Option<Buffer>,
    receive: Option<Buffer>,
) -> ConnectionConfig {
    let wire = scenario.wire.as_ref().filter(|_| node == scenario.host());
    let config = settings(scenario, send, receive);
    match wire.map(|wire| wire.host) {
        // Linux has TCP_DELACK_MIN = 40 ms and TCP_INIT_CWND = 10 (`include/net/tcp.h`).
        Some(HostTcp::Linux) => ConnectionConfig {
            ack_every: 2,
            delayed_ack: Duration::from_millis(40),
            initial_window: 10,
            pacing: false,
            link_losses: false,
            ..config
        },
        Some(HostTcp::Same) | None => config,
    }
}

fn settings(
    scenario: &Scenario,
    send: Option<Buffer>,
    receive: Option<Buffer>,
) -> ConnectionConfig {
    let tcp = &scenario.tcp;
    let payload = usize::from(payload_of(scenario));
    // The stack's MSS counts options with the payload (RFC 9293 §3.7.1, RFC 6691).
    let options = if tcp.timestamps { TIMESTAMPS } else { 0 };
    let bytes = |buffer: Buffer| buffer.bytes(payload).clamp(1, BUFFER);
    ConnectionConfig {
        mss: (payload + options) as u16,
        adaptive_mss: tcp.adaptive_segments,
        link_losses: tcp.link_losses,
        send_buffer: bytes(send.unwrap_or(tcp.send_buffer)),
        receive_buffer: bytes(receive.unwrap_or(tcp.receive_buffer)),
        timestamps: tcp.timestamps,
        sack: tcp.sack,
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        delayed_ack: Duration::from_millis(u64::from(tcp.ack_delay_ms)),
        ack_every: tcp.ack_every,
        pacing: tcp.pacing,
        rto_min: Duration::from_millis(u64::from(tcp.min_rto_ms)),
        rto_initial: Duration::from_millis(u64::from(tcp.initial_rto_ms)),
        ..ConnectionConfig::DEFAULT
    }
}

pub(crate) fn listen(connection: ConnectionConfig) -> ListenConfig {
    ListenConfig { backlog: 12, connection, ..ListenConfig::default() }
}

/// The radio profile that a scenario names.
pub fn radio_of(scenario: &Scenario) -> SimRadio {
    let mut radio = profile_of(scenario.radio.profile);
    radio.cca.mode = match scenario.radio.cca {
        Cca::Energy => CcaMode::Energy,
        Cca::Carrier => CcaMode::Carrier,
        Cca::Either => CcaMode::Either,
        Cca::Both => CcaMode::Both,
    };
    radio.cca.threshold_dbm = scenario.radio.cca_threshold_dbm.unwrap_or(radio.cca.threshold_dbm);
    radio
}

fn medium_of(scenario: &Scenario) -> MediumConfig {
    let medium = &scenario.medium;
    let mut noise_floor_dbm = NOISE_FLOOR_DBM;
    let connectivity = match &medium.propagation {
        Propagation::UnitDisc { range_m, interference_range_m, rssi_dbm } => {
            Connectivity::UnitDisc {
                range_m: *range_m,
                interference_range_m: Some(*interference_range_m),
                rssi_dbm: *rssi_dbm,
            }
        }
        Propagation::LinkMatrix { links } => Connectivity::LinkMatrix(
            links.iter().flat_map(|link| both_ways(link).into_iter().flatten()).collect(),
        ),
        Propagation::PathLoss {
            exponent,
            reference_loss_db,
            shadowing_db,
            noise_floor_dbm: floor,
        } => {
            noise_floor_dbm = *floor;
            Connectivity::PathLoss(PathLoss {
                exponent: *exponent,
                reference_loss_db: *reference_loss_db,
                shadowing_sigma_db: *shadowing_db,
            })
        }
    };
    MediumConfig {
        connectivity,
        overlap: match medium.overlap {
            Overlap::Strict => medium::Overlap::Strict,
            Overlap::SinrBer => medium::Overlap::SinrBer,
            // Co-channel rejection of 3 dB, as Cooja has it for CC2420-class radios.
            Overlap::Capture => medium::Overlap::Capture { threshold_db: 3.0, relock: true },
        },
        noise_floor_dbm,
        frame_loss: medium.frame_loss,
        hidden_terminals: medium.hidden_terminals,
        interferers: scenario.interference.iter().map(interferer_of).collect(),
        start_us: (scenario.start_hour * 3.6e9) as u64,
    }
}

fn interferer_of(of: &scenario::Interferer) -> interference::Interferer {
    interference::Interferer {
        position: Position { x_m: of.x_m, y_m: of.y_m },
        power_dbm: of.power_dbm,
        path: PathLoss::INDOOR_NLOS,
        pattern: match of.source {
            Source::WifiFile => interference::WIFI_FILE,
            Source::WifiVideo => interference::WIFI_VIDEO,
            Source::Bluetooth => interference::BLUETOOTH,
            Source::Microwave => interference::MICROWAVE,
        },
        hours: of.hours.profile().map(|share| share * of.share),
    }
}

fn both_ways(link: &scenario::Link) -> [Option<MatrixLink>; 2] {
    let one = |from: NodeId, to: NodeId| MatrixLink {
        from: from as usize,
        to: to as usize,
        prr: 1.0 - link.loss,
        rssi_dbm: link.rssi_dbm,
    };
    let back = link.symmetric.then(|| one(link.to, link.from));
    [Some(one(link.from, link.to)), back]
}

/// Scenarios are no secret. A mote that joins the gateway by a serial line has the same.
const SECURITY: mac::Security = mac::Security {
    key: mac::Key(*b"Kinglet scenario"),
    eui64_prefix: [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00],
    first_counter: 0,
};

fn mac_of(scenario: &Scenario, node: NodeId) -> mac::Config {
    let config = &scenario.mac;
    mac::Config {
        short: short_of(node),
        channel: Channel::new(scenario.radio.channel).unwrap_or_default(),
        power_dbm: scenario.radio.tx_power_dbm as i8,
        csma: match config.csma {
            Csma::Software => mac::Csma::Software,
            Csma::Hardware => mac::Csma::Hardware,
        },
        csma_params: CsmaParams {
            min_be: config.min_be,
            max_be: config.max_be,
            max_backoffs: config.max_csma_backoffs,
        },
        max_frame_retries: config.max_frame_retries,
        retry_delay_max: milliseconds(config.retry_delay_ms),
        adaptive_retry_delay: config.adaptive_retry_delay,
        security: config.security.then_some(SECURITY),
        reserved_security: config.reserved_security_bytes,
        rx_on_when_idle: scenario.nodes[node as usize].role != Role::Leaf,
        data_request_timeout: milliseconds(scenario.leaf.data_request_timeout_ms),
        csl: scenario.leaf.csl.map(csl_of),
        indirect: mac::Indirect {
            max_retries: scenario.indirect.retries,
            retry_delay_max: milliseconds(scenario.indirect.retry_delay_ms),
            min_be: scenario.indirect.min_be,
            preempt: scenario.indirect.preempt,
            burst: scenario.indirect.burst,
        },
        ..mac::Config::DEFAULT
    }
}

fn milliseconds(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

fn csl_of(csl: scenario::Csl) -> mac::Csl {
    mac::Csl {
        period: milliseconds(csl.period_ms),
        drift_ppm: csl.drift_ppm as u16,
        sync_interval: Duration::from_micros((csl.sync_s * 1e6) as u64),
    }
}

/// Nodes are switched on within this time, in microseconds. If it were at the same instant, those
/// whose timers are all multiples of a symbol would stay in phase on its grid for ever.
const BEGINNINGS_US: u32 = 1_000;

/// How much too fast the clock of `node` is, anything from the slowest to the fastest allowed, in
/// parts per million, and when it begins, in microseconds.
fn clock_of(scenario: &Scenario, node: NodeId, seed: u64) -> (i32, u32) {
    let most = scenario.radio.drift_ppm;
    let mut random = stream(seed, u64::from(node), Purpose::Clock);
    let drift = random.below(2 * most + 1) as i32 - most as i32;
    (drift, random.below(BEGINNINGS_US))
}

/// When a leaf asks its parent.
fn polling_of(leaf: &scenario::Leaf) -> Polling {
    let base = Duration::from_micros((leaf.sleep_interval_s * 1e6) as u64);
    match leaf.polling {
        scenario::Polling::Fixed => {
            Polling::Fixed { base, expecting: milliseconds(leaf.expecting_ms) }
        }
        scenario::Polling::Predictive => Polling::Predictive { base },
    }
}

/// Tells leaves and parents of each other; in a mesh they find each other.
fn introduce(scenario: &Scenario, stacks: &mut [Box<Node<LabPlan>>]) {
    if scenario.net.routing == Routing::Mesh {
        return;
    }
    for (child, parent) in (0..).zip(scenario.parents()) {
        // A node that is always on may have one neighbour only, and be nobody's child.
        let sleeps = scenario.nodes[child as usize].role == Role::Leaf;
        let Some(parent) = parent.filter(|_| sleeps) else { continue };
        let known = stacks[parent as usize].add_child(short_of(child));
        known.expect("checked with the scenario");
        let routed = stacks[child as usize].set_parent(Instant::ZERO, Some(short_of(parent)));
        routed.expect("the plan has room for a default route");
    }
}

/// The stack of `node`, without applications.
fn stack(
    scenario: &Scenario,
    node: NodeId,
    seed: u64,
    routes: &[scenario::Route],
) -> Box<Node<LabPlan>> {
    let mut random = stream(seed, u64::from(node), Purpose::Device);
    let secret = secret(&mut random);
    let seed = u64::from(random.bits()) << 32 | u64::from(random.bits());
    let mut config = Config::new(short_of(node), [0; 8], seed, secret);
    config.mac = mac_of(scenario, node);
    config.yields = scenario.net.relays_yield;
    config.net.link = config.mac.source();
    let place = &scenario.nodes[node as usize];
    config.net.forward = place.role != Role::Leaf;
    // A border router has more room than the routers that the limit is meant for.
    if place.role != Role::BorderRouter {
        config.net.queue_limit = scenario.net.queue_packets;
    }
    config.net.queue = match scenario.net.queue {
        Queue::TailDrop => QueueDiscipline::TailDrop,
        Queue::Red => QueueDiscipline::Red(Red::DEFAULT),
    };
    config.polling = polling_of(&scenario.leaf);
    let mut mesh = mesh::Config::OFF;
    if scenario.net.routing == Routing::Mesh {
        mesh.role = mesh_role(place.role);
        mesh.parent = place.parent.map(short_of);
    }
    let routing = Meshed::new(&config, mesh, MESH_PREFIX);
    let capabilities = radio_of(scenario).capabilities();
    let mut stack = Box::new(Node::with_routing(config, routing, capabilities));
    let mut interface = stack.interface();
    let own = InterfaceAddress { address: address_of(node), prefix_len: 64 };
    interface.add_address(own).expect("the plan has room for an address");
    let context = Context { prefix: MESH_PREFIX, len: 64 };
    interface.set_context(0, Some(context)).expect("the plan has room for a context");
    // All bits of the host's address: headers to and from it need not carry any of them.
    let host = Context { prefix: HOST_ADDRESS, len: 128 };
    interface.set_context(1, Some(host)).expect("the plan has room for two contexts");
    let next = |to: NodeId| NextHop::Link(Address::Short(short_of(to)));
    for route in routes.iter().filter(|route| route.node == node) {
        let (prefix, via) = (address_of(route.destination), next(route.next_hop));
        interface
            .add_route(Route { prefix, prefix_len: 128, via })
            .expect("checked with the scenario");
    }
    stack
}

const fn mesh_role(role: Role) -> mesh::Role {
    match role {
        Role::Leaf => mesh::Role::Leaf,
        Role::Router => mesh::Role::Router,
        Role::BorderRouter => mesh::Role::BorderRouter,
    }
}

/// The wire to a host with these applications. The host runs the same stack, without a radio.
fn wire_to_host(
    scenario: &Scenario,
    wire: &scenario::Wire,
    seed: u64,
    apps: Vec<Box<dyn App<LabPlan>>>,
) -> Wire<LabPlan> {
    let node = u64::from(scenario.host());
    let mut random = stream(seed, node, Purpose::Device);
    let secret = secret(&mut random);
    let config = Config::new(NO_SHORT, HOST_EUI64, u64::from(random.bits()), secret);
    let mut host = Box::new(Node::new(config, Capabilities::NONE));
    let mut interface = host.interface();
    let own = InterfaceAddress { address: HOST_ADDRESS, prefix_len: 64 };
    interface.add_address(own).expect("the plan has room for an address");
    let everything = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    interface.add_route(everything).expect("the plan has room for a default route");
    let config = WireConfig {
        delay: milliseconds(wire.delay_ms),
        loss: wire.loss,
        loss_to_mesh: wire.loss_to_mesh,
        duplicate: wire.duplicate,
        mark: wire.mark,
        reorder: wire.reorder,
        reorder_delay: milliseconds(wire.reorder_delay_ms),
    };
    Wire::new(host, apps, config, stream(seed, node, Purpose::Fault))
}

/// A node's secret for sequence numbers and ports.
fn secret(random: &mut Stream) -> [u8; 16] {
    let mut secret = [0; 16];
    for four in secret.chunks_exact_mut(4) {
        four.copy_from_slice(&random.bits().to_le_bytes());
    }
    secret
}

/// The default routes that lead out of the mesh: at the border router to its host, elsewhere
/// towards the border router.
fn add_default_route(
    scenario: &Scenario,
    node: NodeId,
    routes: &[scenario::Route],
    stack: &mut Node<LabPlan>,
) {
    let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let Some(border) = border.map(|index| index as NodeId) else { return };
    let towards = routes.iter().find(|route| route.node == node && route.destination == border);
    let via = match towards {
        _ if node == border => NextHop::Host,
        Some(route) => NextHop::Link(Address::Short(short_of(route.next_hop))),
        None => return,
    };
    let route = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via };
    stack.interface().add_route(route).expect("the plan has room for a default route");
}

/// Builds the network of `scenario` for one run with `seed`.
pub fn network(scenario: &Scenario, seed: u64) -> (Network, Vec<Ends>) {
    let (sites, ends) = sites(scenario, seed);
    (World::new(seed, &medium_of(scenario), sites), ends)
}

/// Lets `node` of a network of `scenario` start anew, with the applications that it began with and
/// their host if it is the border router. Nothing is left of what it knew, of what its radio did
/// and of what it waited for. `seed` is that of its new life.
/// Its frame counters begin anew too, so with link security the others take its frames for replays.
pub fn restart(network: &mut Network, scenario: &Scenario, node: NodeId, seed: u64) {
    let (mut sites, _) = sites(scenario, seed);
    let (_, site) = sites.swap_remove(node as usize);
    network.reboot(node as usize, site);
}

/// What stands at each node when it is switched on.
fn sites(scenario: &Scenario, seed: u64) -> (Vec<(NodeConfig, Site)>, Vec<Ends>) {
    let routes = scenario.routes();
    let mut apps = Vec::new();
    // One more for the host.
    apps.resize_with(scenario.nodes.len() + 1, Vec::new);
    let mut builder = Builder { scenario, seed, apps };
    let flows = scenario.flows.iter().zip(FIRST_PORT..);
    let ends = flows.map(|(flow, port)| builder.add(flow, port)).collect();
    let mut apps = builder.apps;
    let host_apps = apps.pop().unwrap_or_default();
    let mut wire = scenario.wire.as_ref().map(|w| wire_to_host(scenario, w, seed, host_apps));
    let mut stacks: Vec<_> = (0..scenario.host())
        .map(|node| {
            let mut stack = stack(scenario, node, seed, &routes);
            add_default_route(scenario, node, &routes, &mut stack);
            stack
        })
        .collect();
    introduce(scenario, &mut stacks);
    let sites = (0..).zip(stacks.into_iter().zip(apps)).map(|(node, (stack, apps))| {
        let place = &scenario.nodes[node as usize];
        let (drift_ppm, begin_us) = clock_of(scenario, node, seed);
        let config = NodeConfig {
            position: Position { x_m: place.x_m, y_m: place.y_m },
            filter: stack.filter(),
            radio: radio_of(scenario),
            host: host_cost_of(&scenario.radio),
            drift_ppm,
            begin_us,
        };
        let station = Station::new(stack, apps);
        let wire = if place.role == Role::BorderRouter { wire.take() } else { None };
        (config, wire.into_iter().fold(station, Station::with_wire))
    });
    (sites.collect(), ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        [topology]
        office = {}
        [tcp]
        ack_delay_ms = 350
        ack_every = 4
        initial_rto_ms = 2500
        min_rto_ms = 300
        pacing = true
        link_losses = false
        adaptive_segments = true
        timestamps = false
        ecn = true
        [leaf]
        sleep_interval_s = 7.5
        polling = "fixed"
        expecting_ms = 80
    "#;

    #[test]
    fn what_a_scenario_does_not_say_is_what_a_node_has_by_default() {
        let scenario = Scenario::default();
        let (mac, node) = (mac_of(&scenario, 0), Config::new(1, [0; 8], 1, [1; 16]));
        assert_eq!(
            (mac.csma_params, mac.max_frame_retries, mac.retry_delay_max),
            (node.mac.csma_params, node.mac.max_frame_retries, node.mac.retry_delay_max)
        );
        assert_eq!(mac.adaptive_retry_delay, node.mac.adaptive_retry_delay);
        assert_eq!(scenario.net.relays_yield, node.yields);
        // The stack leaves the sizes to whoever knows the link and the plan.
        let tcp = connection(&scenario, 0, None, None);
        let ConnectionConfig { mss, send_buffer, receive_buffer, .. } = tcp;
        let default = ConnectionConfig { mss, send_buffer, receive_buffer, ..Default::default() };
        assert_eq!(format!("{tcp:?}"), format!("{default:?}"));
    }

    #[test]
    fn every_setting_of_connections_and_of_polling_arrives() {
        let scenario = Scenario::from_toml("settings.toml", SCENARIO).expect("a scenario");
        let tcp = connection(&scenario, 1, None, None);
        let times = [tcp.delayed_ack, tcp.rto_initial, tcp.rto_min].map(|t| t.as_micros() / 1_000);
        assert_eq!((times, tcp.ack_every), ([350, 2_500, 300], 4));
        assert!(tcp.pacing && tcp.adaptive_mss && tcp.ecn && !tcp.timestamps && !tcp.link_losses);
        let base = milliseconds(7_500);
        let fixed = Polling::Fixed { base, expecting: milliseconds(80) };
        assert_eq!(polling_of(&scenario.leaf), fixed);
        let polling = scenario::Polling::Predictive;
        let leaf = scenario::Leaf { polling, ..scenario.leaf };
        assert_eq!(polling_of(&leaf), Polling::Predictive { base });
    }

    #[test]
    fn a_leaf_that_starts_anew_while_it_sends_hears_nothing_of_its_life_before() {
        let mut scenario = Scenario::office();
        scenario.leaf.sleep_interval_s = 1.0;
        let (mut network, _) = network(&scenario, 1);
        let asks = |network: &Network| network.device(11).node().last_data_request();
        for life in 1..10 {
            network.run_until(Instant::from_secs(10 * life));
            while network.device(11).node().info().mac.tx != mac::TxState::Submitted {
                assert!(network.step());
            }
            let begun = network.now();
            restart(&mut network, &scenario, 11, life);
            network.run_until(begun + Duration::from_secs(5));
            assert!(asks(&network) > Some(begun + Duration::from_secs(3)), "life {life}");
            let mac = network.device(11).node().mac().stats();
            assert_eq!(mac.unexpected_events, 0, "an event of the life before {life}");
        }
    }
}
