//! Networks under attack from outside: packets through the host interface, and frames of a radio
//! without a key (`kinglet_testkit::attacker`). Network, flows and attack are drawn at random. No
//! packet of the host may change a table. No node may end up with other addresses, contexts, groups
//! or another DODAG. Flows must complete. The radio of a sleepy leaf may be on for little more than
//! in a twin run without the attack. No buffer may stay in use.

use kinglet::radio::{Access, Channel, Command, CsmaParams, Event, Start};
use kinglet::rpl::Mode;
use kinglet::time::{Duration, Instant};
use kinglet::{Node, routing};
use kinglet_network::apps::bulk::{BulkSender, BulkSink};
use kinglet_network::apps::http_client::HttpClient;
use kinglet_network::apps::sense::ReadingSink;
use kinglet_network::apps::udp::UdpSink;
use kinglet_network::build::{Ends, Place, Site, network};
use kinglet_network::profile::{LabProfile, PACKETS};
use kinglet_scenario::{
    Carrier, Flow, FlowKind, NodeId, NodePlace, Role, Routing, Scenario, Sensor, Wire,
    polling_every,
};
use kinglet_sim::{Device, World};
use kinglet_testkit::attacker::Known;
use kinglet_testkit::attacker::air::{Air, Habits, Shot};
use kinglet_testkit::attacker::outside::{Forged, Outside};
use kinglet_testkit::pair::{Seeded, Source};

/// The attack begins after routes have been found and connections have been opened.
const BEGIN_S: u64 = 120;
const END_S: u64 = 720;
/// Every node knows its neighbours again by this time after jamming: TCP's longest timeout is 60 s,
/// and the rest of a packet of IPv6 fragments is kept for 60 s (RFC 8200, 4.5).
const RECOVERED_S: u64 = 860;
const STOP_S: u64 = 1_060;
/// Interval between observations; not a multiple of what happens at whole seconds.
const LOOK: Duration = Duration::from_micros(1_037_017);
/// Allowed increase of a leaf's radio time by packets of unknown hosts: 0.8 percentage points.
const STRANGERS_US_PER_S: u64 = 8_000;

/// A network with the attacker as one of its members.
type Attacked = World<Member>;

/// Member of the network: a node, or the attacker's radio.
pub(crate) enum Member {
    Node(Box<Site>),
    Radio(Box<Radio>),
}

/// The attacker's radio, which listens and sends for it.
pub(crate) struct Radio {
    air: Option<Air>,
    channel: Channel,
    listens: bool,
    sends: bool,
    frame: Vec<u8>,
}

impl Radio {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match (event, &mut self.air) {
            (Event::Received { sfd, .. }, Some(air)) => air.handle_frame(now, sfd, frame),
            (Event::Received { .. }, None) => {}
            _ => self.sends = false,
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let channel = self.channel;
        if !core::mem::replace(&mut self.listens, true) {
            return Some((Command::Receive { start: Start::Asap, until: None, channel }, &[]));
        }
        if self.sends {
            return None;
        }
        let Shot { at, polite, octets } = self.air.as_mut()?.poll(now)?;
        (self.sends, self.frame) = (true, octets);
        let start = at.filter(|at| *at > now).map_or(Start::Asap, Start::At);
        let access = if polite { Access::Csma(CsmaParams::default()) } else { Access::Immediate };
        let send = Command::Transmit { start, access, channel, power_dbm: 0, ack: false };
        Some((send, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        self.air.as_ref().filter(|_| !self.sends)?.deadline()
    }
}

impl Device for Member {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match self {
            Member::Node(site) => site.handle_radio(now, event, frame),
            Member::Radio(radio) => radio.handle_radio(now, event, frame),
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        match self {
            Member::Node(site) => site.poll_radio(now),
            Member::Radio(radio) => radio.poll_radio(now),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Member::Node(site) => site.deadline(),
            Member::Radio(radio) => radio.deadline(),
        }
    }

    fn handle_deadline(&mut self, now: Instant) {
        // The attacker's radio handles its deadline when it is polled.
        if let Member::Node(site) = self {
            site.handle_deadline(now);
        }
    }
}

fn site(net: &Attacked, node: usize) -> &Site {
    match net.device(node) {
        Member::Node(site) => site,
        Member::Radio(_) => panic!("node {node} is the attacker"),
    }
}

fn stack(net: &Attacked, node: usize) -> &Node<LabProfile> {
    site(net, node).node()
}

/// The application at a place, possibly at the host.
fn app<A: 'static>(net: &Attacked, place: Place) -> Option<&A> {
    if place.node as usize >= net.nodes() {
        return site(net, 0).wire()?.app(place.app);
    }
    site(net, place.node as usize).app(place.app)
}

fn one<T: Copy>(random: &mut Seeded, of: &[T]) -> T {
    of[random.below(of.len() as u32) as usize]
}

fn coin(random: &mut Seeded) -> bool {
    random.below(2) == 1
}

/// Parameters of a run.
struct Plan {
    scenario: Scenario,
    /// The sleepy node, if there is one.
    leaf: Option<usize>,
    /// True if packets come through the host interface, and true if frames come over the air.
    by_host: bool,
    habits: Option<Habits>,
    /// Longest pause between two packets, in milliseconds.
    pause_ms: u32,
}

impl Plan {
    fn draw(random: &mut Seeded) -> Plan {
        let (columns, rows) =
            one(random, &[(4, 1), (5, 1), (6, 1), (2, 2), (3, 2), (4, 2), (7, 1), (3, 3)]);
        let mut scenario = Scenario::default().on_grid(columns, rows, 8.0);
        let last = scenario.nodes.len() - 1;
        let leaf = (random.below(4) > 0).then_some(last);
        if let Some(leaf) = leaf {
            scenario.nodes[leaf].role = Role::Leaf;
        }
        let near = &scenario.nodes[random.below(last as u32 + 1) as usize];
        let place = NodePlace {
            x_m: near.x_m + 2.0,
            y_m: near.y_m + 3.0,
            role: Role::Outside,
            parent: None,
        };
        scenario.nodes.push(place);
        settings(&mut scenario, random);
        flows(&mut scenario, random, last as NodeId, leaf.is_some());
        let route = random.below(3);
        let habits = Habits {
            pause_ms: one(random, &[300, 1_000, 4_000]),
            replays: one(random, &[0, 16, 64]),
            acknowledges: one(random, &[0, 8, 32]),
            jams: one(random, &[0, 4, 16]),
        };
        Plan {
            scenario,
            leaf,
            by_host: route != 1,
            habits: (route != 0).then_some(habits),
            pause_ms: one(random, &[100, 400, 2_000]),
        }
    }

    fn known(&self) -> Known {
        let scenario = &self.scenario;
        let nodes = scenario.nodes.len() as NodeId - 1;
        let flows = scenario.flows.iter().enumerate();
        Known {
            nodes: (0..nodes).map(|node| scenario.addressing().address(node)).collect(),
            host: scenario.prefix.host(),
            ports: flows.map(|(place, flow)| flow.receiver_port(place)).chain([80]).collect(),
            routing_port: routing::PORT,
            pan_id: scenario.mac.pan_id.0,
            shorts: (0..nodes).map(|node| scenario.addressing().short(node)).collect(),
        }
    }
}

fn settings(scenario: &mut Scenario, random: &mut Seeded) {
    scenario.wire = Some(Wire::PERFECT);
    scenario.medium.frame_loss = f64::from(random.below(3)) * 0.02;
    scenario.radio.drift_ppm = one(random, &[0, 20]);
    scenario.routing = one(random, &[Routing::Static, Routing::Mesh, Routing::Rpl, Routing::Rpl]);
    scenario.rpl.mode = one(random, &[Mode::Storing, Mode::NonStoring]);
    scenario.rpl.addresses = coin(random);
    scenario.rpl.compression = coin(random);
    scenario.discovery = coin(random);
    let registers = matches!(scenario.routing, Routing::Static | Routing::Rpl);
    scenario.registration = registers && coin(random);
    scenario.contexts_advertised = scenario.registration && coin(random);
    let base = Duration::from_millis(one(random, &[500, 1_000, 4_000]));
    scenario.polling = polling_every(scenario.polling, base);
}

/// Transfers and datagrams of routers, and a flow of the leaf.
fn flows(scenario: &mut Scenario, random: &mut Seeded, last: NodeId, sleeps: bool) {
    let host = scenario.host();
    let routers = if sleeps { last - 1 } else { last };
    let mut start = || 60.0 + f64::from(random.below(500));
    let starts = [start(), start(), start()];
    let mut router = || 1 + random.below(routers);
    let ends = [router(), router(), router(), router()];
    let mut kinds = vec![bulk(ends[0], host), bulk(host, ends[1])];
    if coin(random) {
        kinds.push(FlowKind::datagrams(ends[2], host, 7_000, 80));
    } else {
        kinds.push(FlowKind::datagrams(host, ends[3], 9_000, 80));
    }
    let flows = kinds.into_iter().zip(starts).map(|(kind, start)| Flow::new(start, kind));
    scenario.flows.extend(flows);
    if sleeps {
        let kinds = match random.below(3) {
            0 => {
                let (from, to, port, bytes) = (host, last, 80, 500);
                let (pause_ms, fast_open) = (20_000, coin(random));
                let client = FlowKind::HttpClient { from, to, port, bytes, pause_ms, fast_open };
                vec![FlowKind::HttpServer { node: last, port }, client]
            }
            1 => vec![FlowKind::datagrams(last, host, 8_000, 60)],
            _ => {
                let carrier = one(random, &[Carrier::Tcp, Carrier::Coap(kinglet_coap::Rto::Plain)]);
                let sensor = Sensor::new(last, host, carrier);
                vec![FlowKind::Anemometer(Sensor { batch: 8, period_ms: 2_000, ..sensor })]
            }
        };
        scenario.flows.extend(kinds.into_iter().map(|kind| Flow::new(60.0, kind)));
    }
}

fn bulk(from: NodeId, to: NodeId) -> FlowKind {
    FlowKind::TcpBulk { from, to, bytes: Some(20_000), send_buffer: None, receive_buffer: None }
}

/// State of a node about neighbours, routes, contexts and groups, as text.
fn tables(node: &Node<LabProfile>) -> String {
    let (net, routing) = (node.net(), node.routing());
    let rpl = routing.rpl().map(|rpl| {
        let routes: Vec<_> = rpl.routes().map(|it| (it.target(), it.via())).collect();
        let candidates: Vec<_> = rpl.candidates().map(|it| (it.address, it.rank)).collect();
        (rpl.info(), routes, candidates)
    });
    let mesh = routing.mesh().map(|mesh| {
        let neighbours: Vec<_> = mesh.neighbours().collect();
        let (routes, children): (Vec<_>, Vec<_>) =
            (mesh.routes().collect(), mesh.children().collect());
        (mesh.info(), neighbours, routes, children)
    });
    let nd = net.discovery().nd().map(|nd| {
        let (neighbours, servers): (Vec<_>, Vec<_>) =
            (nd.neighbours().collect(), nd.servers().collect());
        let registered = nd.role().as_ref().map(|serving| {
            let all = serving.registrations().map(|it| (it.address(), it.link(), it.rovr()));
            all.collect::<Vec<_>>()
        });
        format!("{neighbours:?} {servers:?} {registered:?} {:?}", nd.router())
    });
    format!("{} {rpl:?} {mesh:?} {nd:?} {:?}", standing(node), node.parent())
}

/// Identity of a node: addresses, contexts, DODAG and version, groups.
fn standing(node: &Node<LabProfile>) -> String {
    let net = node.net();
    let own: Vec<_> = (0..8).filter_map(|index| net.own_address(index)).collect();
    let groups = ["ff02::1", "ff02::2", "ff02::1a", "ff05::1", "ff05::bad"];
    let groups = groups.map(|group| net.is_member(group.parse().expect("an address")));
    let dodag = node.routing().rpl().map(|rpl| (rpl.info().dodag_id, rpl.info().version));
    format!("{own:?} {:?} {groups:?} {dodag:?}", net.contexts())
}

/// Resources in use at a node: each of these must be zero at some time.
fn in_use(node: &Node<LabProfile>) -> [(&'static str, usize); 9] {
    let info = node.info();
    [
        ("slots of the MAC", info.mac.slots_used),
        ("packets", PACKETS - info.net.free_packets),
        ("queued packets", info.net.queued),
        ("packets from the host", info.net.from_host),
        ("packets for children", info.net.indirect),
        ("packets for the host", info.net.host_queued),
        ("reassemblies", info.net.reassemblies + info.net.ipv6_partials),
        ("packets without a route", info.net.unrouted),
        ("handshakes and answers", node.tcp().expected_by_each().flatten().count()),
    ]
}

/// A run with or without the attack.
struct Run {
    plan: Plan,
    net: Attacked,
    ends: Vec<Ends>,
    wrong: Vec<String>,
}

impl Run {
    fn new(seed: u64, attacks: bool) -> Run {
        let random = &mut Seeded::new(seed);
        let plan = Plan::draw(random);
        let (net, ends) = network(&plan.scenario, seed);
        let outside = net.nodes() - 1;
        let channel = Channel::new(plan.scenario.radio.channel).unwrap_or_default();
        let during = (Instant::from_secs(BEGIN_S), Instant::from_secs(END_S));
        let habits = plan.habits.filter(|_| attacks);
        let mut air = habits.map(|habits| Air::new(seed, plan.known(), habits, during));
        let mut node = 0;
        let net = net.map(|station| {
            node += 1;
            if node <= outside {
                return Member::Node(Box::new(station));
            }
            let (listens, sends, frame) = (false, false, Vec::new());
            Member::Radio(Box::new(Radio { air: air.take(), channel, listens, sends, frame }))
        });
        Run { plan, net, ends, wrong: Vec::new() }
    }

    fn nodes(&self) -> usize {
        self.net.nodes() - 1
    }

    /// Runs until the attack is over; returns the microseconds for which the leaf's radio was on
    /// during it.
    fn attack(&mut self, outside: Option<Outside>, random: &mut Seeded) -> u64 {
        self.net.run_until(Instant::from_secs(BEGIN_S));
        let on = |net: &Attacked, leaf: Option<usize>| {
            leaf.map_or(0, |leaf| net.energy(leaf).ledger.total())
        };
        let before = on(&self.net, self.plan.leaf);
        let end = Instant::from_secs(END_S);
        if let Some(mut outside) = outside {
            while self.net.now() < end {
                let packets =
                    if random.chance(8) { outside.flood(20) } else { vec![outside.packet()] };
                packets.iter().for_each(|packet| self.inject(packet));
                let pause = Duration::from_millis(random.between(1, self.plan.pause_ms).into());
                self.net.run_until((self.net.now() + pause).min(end));
            }
        }
        self.net.run_until(end);
        on(&self.net, self.plan.leaf) - before
    }

    /// Passes a packet from the host to the border router: no table may change, and foreign packets
    /// must not cross.
    fn inject(&mut self, Forged { octets, is_foreign }: &Forged) {
        let before = tables(stack(&self.net, 0));
        let (taken, passed) = self.net.with_device(0, |member, now| {
            let Member::Node(site) = member else { return (String::new(), false) };
            let passes = |site: &Site| {
                let stats = site.node().net().stats();
                (stats.forwarded, stats.delivered, stats.packets_out)
            };
            let before = passes(site);
            site.node_mut().handle_host_packet(now, octets);
            let (taken, passed) = (tables(site.node()), passes(site) != before);
            site.run_apps(now);
            (taken, passed)
        });
        let later = tables(stack(&self.net, 0));
        if (&taken, &later) != (&before, &before) {
            self.wrong.push(format!("{octets:02x?} turned {before} into {taken}, {later}"));
        }
        if *is_foreign && passed {
            self.wrong.push(format!("{octets:02x?} was let in"));
        }
    }

    fn standings(&self) -> Vec<String> {
        (0..self.nodes()).map(|node| standing(stack(&self.net, node))).collect()
    }

    /// Progress of each flow: octets or messages.
    fn progress(&self) -> Vec<u64> {
        let (net, scenario) = (&self.net, &self.plan.scenario);
        let of = |(flow, ends): (&Flow, &Ends)| match flow.kind {
            FlowKind::TcpBulk { .. } => app::<BulkSink>(net, ends.to).map(BulkSink::received),
            FlowKind::Udp(_) => app::<UdpSink>(net, ends.to).map(|sink| sink.received().into()),
            FlowKind::HttpClient { .. } => {
                app::<HttpClient>(net, ends.from).map(|client| client.answered().len() as u64)
            }
            FlowKind::Anemometer(_) => {
                app::<ReadingSink>(net, ends.to).map(|sink| sink.delivered().into())
            }
            _ => None,
        };
        scenario.flows.iter().zip(&self.ends).map(|it| of(it).unwrap_or(0)).collect()
    }

    /// Returns true if the octets that arrived are correct.
    fn intact(&self, flow: &Flow, ends: Ends) -> bool {
        let net = &self.net;
        match flow.kind {
            FlowKind::TcpBulk { .. } => app::<BulkSink>(net, ends.to).is_some_and(BulkSink::intact),
            FlowKind::HttpClient { .. } => {
                app::<HttpClient>(net, ends.from).is_some_and(HttpClient::intact)
            }
            FlowKind::Anemometer(_) => {
                app::<ReadingSink>(net, ends.to).is_some_and(ReadingSink::intact)
            }
            _ => true,
        }
    }

    /// Limit of the radio-on time of a leaf during the attack, in microseconds; `calm` is its
    /// radio-on time without the attack. Packets of unknown hosts may add their share. On the air
    /// each frame may be disturbed until the leaf has made all of its attempts, and after a forged
    /// acknowledgement with the frame pending bit it waits for a frame.
    fn most(&self, calm: u64) -> u64 {
        let strangers = (END_S - BEGIN_S) * STRANGERS_US_PER_S;
        let air = match self.net.device(self.nodes()) {
            Member::Radio(radio) => radio.air.as_ref(),
            Member::Node(_) => None,
        };
        let Some(air) = air else { return calm + strangers };
        let mac = &self.plan.scenario.mac;
        let attempts = 1 + u64::from(mac.max_frame_retries);
        let waits = u64::from(air.shots().acknowledged) * mac.data_request_timeout.as_micros();
        calm * attempts + waits + strangers
    }

    /// Runs until the end; asserts that flows progress, and that no resource stays in use.
    fn settle(&mut self) {
        self.net.run_until(Instant::from_secs(RECOVERED_S));
        let before = self.progress();
        let mut least: Vec<_> =
            (0..self.nodes()).map(|node| in_use(stack(&self.net, node))).collect();
        while self.net.now() < Instant::from_secs(STOP_S) {
            self.net.run_until(self.net.now() + LOOK);
            for (node, least) in least.iter_mut().enumerate() {
                for (least, now) in least.iter_mut().zip(in_use(stack(&self.net, node))) {
                    least.1 = least.1.min(now.1);
                }
            }
        }
        for (node, least) in least.iter().enumerate() {
            let kept = least.iter().filter(|(_, least)| *least > 0);
            self.wrong
                .extend(kept.map(|(what, least)| format!("node {node} keeps {least} {what}")));
        }
        let after = self.progress();
        let flows = self.plan.scenario.flows.iter().zip(&self.ends);
        for ((flow, ends), (before, after)) in flows.zip(before.into_iter().zip(after)) {
            let works = match flow.kind {
                FlowKind::HttpServer { .. } => true,
                FlowKind::TcpBulk { bytes, .. } => Some(after) == bytes,
                _ => after > before,
            };
            if !works || !self.intact(flow, *ends) {
                let sender = app::<BulkSender>(&self.net, ends.from);
                let info = sender.map(BulkSender::info);
                self.wrong.push(format!("{:?}: {before} and then {after}; {info:?}", flow.kind));
            }
        }
    }
}

/// Simulates one network.
///
/// # Errors
/// What was wrong with it.
pub(crate) fn live(seed: u64) -> Result<(), String> {
    let mut run = Run::new(seed, true);
    run.net.run_until(Instant::from_secs(BEGIN_S));
    let before = run.standings();
    let outside = run.plan.by_host.then(|| Outside::new(seed, run.plan.known()));
    let on = run.attack(outside, &mut Seeded::new(!seed));
    let jammed = run.plan.habits.is_some_and(|habits| habits.jams + habits.acknowledges > 0);
    let compare = |run: &mut Run, when: &str| {
        for (node, (now, before)) in run.standings().into_iter().zip(&before).enumerate() {
            if now != *before {
                run.wrong.push(format!("{when}, node {node} is {now} and was {before}"));
            }
        }
    };
    if !jammed {
        compare(&mut run, "after the attack");
    }
    run.settle();
    compare(&mut run, "at the end");
    if run.plan.leaf.is_some() {
        let mut twin = Run::new(seed, false);
        let calm = twin.attack(None, &mut Seeded::new(!seed));
        let most = run.most(calm);
        if on > most {
            run.wrong.push(format!(
                "the leaf's radio was on for {on} us, {calm} us without attack, at most {most} us"
            ));
        }
    }
    let (wrong, scenario) = (run.wrong, &run.plan.scenario);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{wrong:#?} in {scenario:?}")) }
}
