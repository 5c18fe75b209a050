//! Builds a network from a scenario: addresses, routes, applications.

mod border;
pub(crate) mod place;
mod registration;
mod routing;
pub(crate) mod transport;

pub use border::border_router;
pub use place::{Ends, NODE_BYTES, Network, Place, Site, Stations, app_at, wire_of};
pub use transport::{connection, payload_of};

use crate::chip;
use crate::cpu::host_cost_of;
use crate::flows::{Builder, HostApps};
use crate::profile::LabProfile;
use core::net::Ipv6Addr;
use kinglet::net::{self, InterfaceAddress, NextHop, Route};
use kinglet::radio::{Capabilities, Channel};
use kinglet::time::{Duration, Instant};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Node};
use kinglet_mac as mac;
use kinglet_scenario::simulated::{medium_of, radio_of};
use kinglet_scenario::{
    self as scenario, Addressing, CONTEXTS, Fragments, NO_SHORT, NodeId, Role, Routing, Scenario,
};
use kinglet_sim::chip::MakeChip;
use kinglet_sim::flash::FlashPart;
use kinglet_sim::medium::Position;
use kinglet_sim::profile::{RadioProfile as SimRadio, STANDARD};
use kinglet_sim::rng::{Purpose, Stream, stream};
use kinglet_sim::{NodeConfig, Station, Wire, WireConfig, World};
use rayon::prelude::*;

/// EUI-64 of the host: locally administered.
const HOST_EUI64: [u8; 8] = [0x02, 0, 0, 0, 0, 0, 0, 1];

/// Radio of nodes outside the network: it receives every frame in range and acknowledges the frames
/// for its node.
const OUTSIDE: SimRadio = SimRadio {
    name: "outside",
    abilities: &[Capabilities::ACK_WAIT, Capabilities::CSMA, Capabilities::SCHEDULED],
    ..STANDARD
};

/// Radio of a node.
fn radio_at(scenario: &Scenario, node: NodeId) -> SimRadio {
    match scenario.nodes[node as usize].role {
        Role::Outside => OUTSIDE,
        _ => chip_at(scenario, node).map_or_else(|| radio_of(scenario), |(radio, _)| radio),
    }
}

/// The chip of a node, if it is one.
fn chip_at(scenario: &Scenario, node: NodeId) -> Option<(SimRadio, MakeChip)> {
    let is_chip = scenario.radio.chips.contains(&node);
    chip::of(scenario.radio.profile).filter(|_| is_chip)
}

/// Supply voltage of a flash: two AA cells.
const SUPPLY_MV: u32 = 3_000;

/// Lowest channel of the band, and number of channels.
const FIRST_CHANNEL: u8 = 11;
const CHANNELS: u32 = 16;

/// First channel on which `node` listens: that of the radio, or one of those after it.
fn channel_number(scenario: &Scenario, node: NodeId) -> u8 {
    let base = scenario.radio.channel;
    let used = scenario.wake.map_or(1, |wake| wake.channels.max(1));
    let after = u32::from(base - FIRST_CHANNEL) + node % u32::from(used);
    FIRST_CHANNEL + (after % CHANNELS) as u8
}

fn mac_of(scenario: &Scenario, node: NodeId) -> mac::MacConfig {
    let addressing = scenario.addressing();
    mac::MacConfig {
        short: addressing.short(node),
        extended: addressing.eui64(node),
        channel: Channel::new(channel_number(scenario, node)).unwrap_or_default(),
        power_dbm: scenario.radio.tx_power_dbm as i8,
        rx_on_when_idle: scenario.nodes[node as usize].role != Role::Leaf,
        ..scenario.mac
    }
}

fn milliseconds(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

/// Nodes are switched on within this time, in microseconds. If all started at the same instant,
/// timers that are multiples of a symbol would stay in phase for ever.
const BEGINNINGS_US: u32 = 1_000;

/// Clock drift of `node` in parts per million, uniform over the allowed range, and the time at
/// which it starts, in microseconds.
fn clock_of(scenario: &Scenario, node: NodeId, seed: u64) -> (i32, u32) {
    let most = scenario.radio.drift_ppm;
    let mut random = stream(seed, u64::from(node), Purpose::Clock);
    let drift = random.below(2 * most + 1) as i32 - most as i32;
    (drift, random.below(BEGINNINGS_US))
}

/// Registers leaves and parents with each other. In a mesh they discover each other.
fn introduce(scenario: &Scenario, stacks: &mut [Box<Node<LabProfile>>]) {
    if scenario.routing != Routing::Static {
        return;
    }
    let addressing = scenario.addressing();
    for (child, parent) in (0..).zip(scenario.parents()) {
        // An always-on node is not registered as a child, even if it has only one neighbour.
        let sleeps = scenario.nodes[child as usize].role == Role::Leaf;
        let Some(parent) = parent.filter(|_| sleeps) else { continue };
        let known = stacks[parent as usize].add_child(addressing.short(child));
        known.expect("checked with the scenario");
        let routed =
            stacks[child as usize].set_parent(Instant::ZERO, Some(addressing.short(parent)));
        routed.expect("the profile has room for a default route");
    }
}

/// The stack of `node` on a radio with these capabilities, without applications.
fn stack(
    scenario: &Scenario,
    node: NodeId,
    seed: u64,
    routes: &[scenario::Route],
    radio: Capabilities,
) -> Box<Node<LabProfile>> {
    let mut random = stream(seed, u64::from(node), Purpose::Device);
    let secret = secret(&mut random);
    let seed = u64::from(random.bits()) << 32 | u64::from(random.bits());
    let mut config = Config::repeatable(NO_SHORT, [0; 8], seed, secret);
    config.mac = mac_of(scenario, node);
    config.yields = scenario.relays_yield;
    let place = &scenario.nodes[node as usize];
    // Another node behind the host interface owns its address, as a host behind a router does.
    let stands_before = scenario.stands_before(node);
    let by_peer = scenario.stack_at(node).is_some();
    config.net = net::NetConfig {
        link: config.mac.source(),
        first_tag: config.net.first_tag,
        forward: place.role.relays() || stands_before,
        // A border router has a longer queue than the routers that the limit applies to.
        queue_limit: match place.role {
            Role::BorderRouter => scenario.border_queue.unwrap_or(u8::MAX),
            // Packets from the node behind it are not relayed for other nodes. If routes are
            // discovered, every node can be a relay: the limit is then that of one shared queue,
            // as in TinyOS.
            _ if stands_before && scenario.routing == Routing::Static => u8::MAX,
            _ => scenario.net.queue_limit,
        },
        border: match by_peer {
            true => net::BorderPolicy::Shared,
            false => scenario.net.border,
        },
        border_limit: scenario.border_queue.unwrap_or(u8::MAX),
        ..scenario.net
    };
    config.polling = scenario.polling;
    let routing = routing::learning(scenario, node, config.identity());
    let discovery = registration::discovery(scenario, node, &config);
    let mut stack = Box::new(Node::with_layers(config, routing, discovery, radio));
    *stack.backoff_mut() = scenario.backoff;
    if let Some(wake) = scenario.wake {
        let has_mains = place.role == Role::BorderRouter || scenario.is_far_end(node);
        let sleeps = !has_mains || wake.border_duty_cycled;
        let numbers = (0..wake.channels.into()).map(|n| channel_number(scenario, n));
        let channels = numbers.fold(0, |set, number| set | 1 << (number - FIRST_CHANNEL));
        let settings = mac::Wake { sleeps, channels, ..wake.settings };
        stack.set_wake(Some(settings)).expect("checked with the scenario");
    }
    stack.forward_fragments(scenario.fragments == Fragments::Forwarded);
    let (mut interface, addressing) = (stack.interface(), scenario.addressing());
    if stands_before {
        let prefix = addressing.address(node);
        let behind = Route { prefix, prefix_len: 128, via: NextHop::Host };
        interface.add_route(behind).expect("checked with the scenario");
    }
    if let Some(address) = own_address(scenario, node) {
        let added = interface.add_address(InterfaceAddress { address, prefix_len: 64 });
        added.expect("the profile has room for an address");
    }
    let is_given = !(scenario.contexts_advertised || scenario.mesh_addresses);
    let reported = is_given || node == scenario.root();
    for (number, context) in (0..).zip(contexts(scenario)).filter(|_| reported) {
        interface.set_context(number, context).expect("the profile has room for all");
    }
    let next = |to: NodeId| NextHop::Link(addressing.link(to));
    for route in routes {
        let (prefix, via) = (addressing.address(route.destination), next(route.next_hop));
        interface
            .add_route(Route { prefix, prefix_len: 128, via })
            .expect("checked with the scenario");
    }
    stack
}

/// Returns the global address that a node has from the start, if there is one.
fn own_address(scenario: &Scenario, node: NodeId) -> Option<Ipv6Addr> {
    if scenario.is_far_end(node) {
        return Some(scenario.addressing().far_router(node));
    }
    let role = scenario.nodes[node as usize].role;
    let none =
        scenario.stands_before(node) || role == Role::Outside || takes_address(scenario, node);
    (!none).then(|| scenario.addressing().address(node))
}

/// Returns true if a node has no address until routing assigns one.
fn takes_address(scenario: &Scenario, node: NodeId) -> bool {
    let assigns = match scenario.routing {
        Routing::Rpl => scenario.rpl.addresses,
        Routing::Mesh => scenario.mesh_addresses,
        _ => false,
    };
    assigns && node != scenario.root()
}

/// The 6LoWPAN contexts (RFC 6282 §3.1.2): those of the scenario, or by default the mesh prefix and
/// all bits of the host's address, so that headers to and from it need not carry any of them.
pub fn contexts(scenario: &Scenario) -> [Option<Context>; CONTEXTS] {
    let prefix = scenario.prefix;
    let mesh = Context { prefix: prefix.mesh(), len: 64 };
    let host = Context { prefix: prefix.host(), len: 128 };
    scenario.contexts.unwrap_or([Some(mesh), Some(host), None, None])
}

/// Wire to a host with these applications. The host runs the same stack without a radio, or the TCP
/// of a peer stack.
fn wire_to_host(scenario: &Scenario, wire: &scenario::Wire, seed: u64, apps: HostApps) -> Wire {
    let node = u64::from(scenario.host());
    let link = WireConfig {
        delay: milliseconds(wire.delay_ms),
        rate_bps: wire.rate_kbps.map(|kbps| (kbps * 1e3) as u32),
        loss: wire.loss,
        loss_to_mesh: wire.loss_to_mesh,
        duplicate: wire.duplicate,
        mark: wire.mark,
        reorder: wire.reorder,
        reorder_delay: milliseconds(wire.reorder_delay_ms),
    };
    let faults = stream(seed, node, Purpose::Fault);
    let mut random = stream(seed, node, Purpose::Device);
    let secret = secret(&mut random);
    let config = Config::repeatable(NO_SHORT, HOST_EUI64, u64::from(random.bits()), secret);
    let mut host = Box::new(Node::new(config, Capabilities::NONE));
    let mut interface = host.interface();
    let own = InterfaceAddress { address: scenario.prefix.host(), prefix_len: 64 };
    interface.add_address(own).expect("the profile has room for an address");
    let everything = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    interface.add_route(everything).expect("the profile has room for a default route");
    Wire::new(apps.on(host), link, faults)
}

/// Secret of a node for sequence numbers and ports.
fn secret(random: &mut Stream) -> [u8; 16] {
    let mut secret = [0; 16];
    for four in secret.chunks_exact_mut(4) {
        four.copy_from_slice(&random.bits().to_le_bytes());
    }
    secret
}

/// Default routes out of the mesh: at the border router to its host, elsewhere towards the border
/// router.
fn add_default_route(
    addressing: Addressing,
    border: Option<NodeId>,
    node: NodeId,
    routes: &[scenario::Route],
    stack: &mut Node<LabProfile>,
) {
    let Some(border) = border else { return };
    let towards = routes.iter().find(|route| route.destination == border);
    let via = match towards {
        _ if node == border => NextHop::Host,
        Some(route) => NextHop::Link(addressing.link(route.next_hop)),
        None => return,
    };
    let route = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via };
    stack.interface().add_route(route).expect("the profile has room for a default route");
}

/// Builds the network of `scenario` for one run with `seed`.
pub fn network(scenario: &Scenario, seed: u64) -> (Network, Vec<Ends>) {
    network_of_life(scenario, seed, seed)
}

/// The same with another seed for the lives of the nodes: their secrets, first sequence numbers and
/// times of switching on. A node outside the simulation remembers these from the previous run.
pub(crate) fn network_of_life(scenario: &Scenario, seed: u64, life: u64) -> (Network, Vec<Ends>) {
    let (sites, ends) = sites(scenario, life);
    (World::new(seed, &medium_of(scenario), sites), ends)
}

/// Restarts `node` of a network of `scenario`, with the applications that it began with, and with
/// their host if it is the border router. It loses all state, also that of its radio and its
/// timers. `seed` is the seed of its new life. With link security its frame counters continue after
/// the bound that a device keeps in flash.
pub fn restart(network: &mut Network, scenario: &Scenario, node: NodeId, seed: u64) {
    let kept = |site: &mut Site, now| site.node_mut().poll_counter_bound(now);
    let bound = network.with_device(node as usize, kept);
    let mut scenario = scenario.clone();
    if let (Some(security), Some(bound)) = (&mut scenario.mac.security, bound) {
        security.first_counter = bound;
    }
    let (mut sites, _) = sites(&scenario, seed);
    let (_, site) = sites.swap_remove(node as usize);
    network.reboot(node as usize, site);
}

/// Configuration, stack and applications of each node at switch-on, and the ends of all flows.
fn sites(scenario: &Scenario, seed: u64) -> (Vec<(NodeConfig, Site)>, Vec<Ends>) {
    let routes = scenario.routes();
    let mut builder = Builder::new(scenario, seed);
    let flows = scenario.flows.iter().enumerate();
    let ends = flows.map(|(place, flow)| builder.add(flow, flow.receiver_port(place))).collect();
    let (apps, host_apps) = builder.finish();
    let wire = scenario.wire.as_ref();
    let mut wire = wire.map(|wire| wire_to_host(scenario, wire, seed, host_apps));
    let border = scenario.nodes.iter().position(|place| place.role == Role::BorderRouter);
    let border = border.map(|index| index as NodeId);
    let mut stacks: Vec<_> = (0..scenario.host())
        // Most of the cost is the first access to memory. Nodes are independent of each other.
        .into_par_iter()
        .map(|node| {
            // Routes are ordered by their nodes.
            let begin = routes.partition_point(|route| route.node < node);
            let own = routes.get(begin..).unwrap_or_default();
            let own = &own[..own.partition_point(|route| route.node == node)];
            let radio = radio_at(scenario, node).capabilities();
            let mut stack = stack(scenario, node, seed, own, radio);
            add_default_route(scenario.addressing(), border, node, own, &mut stack);
            stack
        })
        .collect();
    introduce(scenario, &mut stacks);
    let sites = (0..).zip(stacks.into_iter().zip(apps)).map(|(node, (stack, apps))| {
        let place = &scenario.nodes[node as usize];
        let (drift_ppm, begin_us) = match place.role {
            // Their applications run on this machine's time.
            Role::Outside => (0, 0),
            _ => clock_of(scenario, node, seed),
        };
        let config = NodeConfig {
            position: Position { x_m: place.x_m, y_m: place.y_m },
            filter: stack.filter(),
            radio: radio_at(scenario, node),
            host: host_cost_of(&scenario.radio),
            drift_ppm,
            begin_us,
            chip: chip_at(scenario, node).map(|(_, make)| make),
        };
        let mut station = Station::new(stack, apps);
        let forwards = scenario.fragments == Fragments::Forwarded;
        if let Some(part) = scenario.flash.part().filter(|_| forwards) {
            // The first erased sector is as random as on a device.
            let first = stream(seed, u64::from(node), Purpose::Flash).below(u32::from(u16::MAX));
            station = station.with_flash(FlashPart::new(part, SUPPLY_MV), first as u16);
        }
        let wire = if place.role == Role::BorderRouter { wire.take() } else { None };
        (config, wire.into_iter().fold(station, Station::with_wire))
    });
    (sites.collect(), ends)
}

#[cfg(test)]
mod tests {
    use super::transport::connection;
    use super::*;
    use kinglet::Polling;
    use kinglet::tcp::ConnectionConfig;
    use kinglet_scenario::polling_every;

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
        fast_poll_ms = 80
    "#;

    #[test]
    fn omitted_keys_of_a_scenario_have_the_defaults_of_a_node() {
        let scenario = Scenario::default();
        let (mac, node) = (mac_of(&scenario, 0), Config::repeatable(1, [0; 8], 1, [1; 16]));
        let own = mac::MacConfig {
            indirect: mac.indirect,
            security: mac.security,
            extended: mac.extended,
            ..node.mac
        };
        assert_eq!((mac, scenario.relays_yield), (own, node.yields));
        assert_eq!(scenario.polling, node.polling);
        // The stack has no default sizes: they depend on the link and the profile.
        let tcp = connection(&scenario, None, None);
        let ConnectionConfig { mss, send_buffer, receive_buffer, .. } = tcp;
        let default = ConnectionConfig { mss, send_buffer, receive_buffer, ..Default::default() };
        assert_eq!(tcp, default);
    }

    #[test]
    fn every_setting_of_connections_and_of_polling_arrives() {
        let scenario = Scenario::from_toml("settings.toml", SCENARIO).expect("a scenario");
        let tcp = connection(&scenario, None, None);
        let times = [tcp.delayed_ack, tcp.rto_initial, tcp.rto_min].map(|t| t.as_micros() / 1_000);
        assert_eq!((times, tcp.ack_every), ([350, 2_500, 300], 4));
        assert!(tcp.pacing && tcp.adaptive_mss && tcp.ecn && !tcp.timestamps && !tcp.link_losses);
        let base = milliseconds(7_500);
        let fixed = Polling::Fixed { base, fast_poll: milliseconds(80) };
        assert_eq!(scenario.polling, fixed);
        let text = SCENARIO.replace("fixed", "predictive");
        let scenario = Scenario::from_toml("settings.toml", &text).expect("a scenario");
        assert_eq!(scenario.polling, Polling::Predictive { base });
    }

    #[test]
    fn a_leaf_that_restarts_while_it_sends_receives_nothing_from_before() {
        let mut scenario = Scenario::office();
        scenario.polling = polling_every(scenario.polling, Duration::from_secs(1));
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
            let stats = network.device(11).node().mac().stats();
            let unexpected = stats.discarded(mac::Discard::UnexpectedEvent);
            assert_eq!(unexpected, 0, "an event of the life before {life}");
        }
    }
}
