//! A sleepy leaf sends batches over TCP to a host behind its parent, or fetches a page from it.

use core::net::Ipv6Addr;
use kinglet::mac::Csl;
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::radio::Capabilities;
use kinglet::tcp::{ConnectionConfig, Handle, Info, ListenConfig, State};
use kinglet::wire::sixlowpan::Context;
use kinglet::{BorderRouter, Config, Node, Polling, Profile};
use kinglet_apps::App;
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{MediumConfig, Position};
use kinglet_sim::profile::{AT86RF233, NRF52840, RadioProfile};
use kinglet_sim::rng::{Purpose, stream};
use kinglet_sim::{Hosted, NodeConfig, SameStack, Station, Wire, WireConfig, World};
use kinglet_time::{Duration, Instant};

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1);
/// TCPlp §9: 64 readings of 82 octets, one per second.
const BATCH: usize = 64 * 82;
const PERIOD: Duration = Duration::from_secs(64);
const BATCHES: u64 = 60;

type Stack = Node<BorderRouter>;
/// Applications of the leaf and of the host.
type Apps = (Box<dyn Hosted<BorderRouter>>, Sink);

/// Sends a batch every 64 s over one connection.
struct Sender {
    handle: Option<Handle>,
    next: Instant,
    waiting: usize,
}

impl App for Sender {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let handle = *self.handle.get_or_insert_with(|| {
            let config = ConnectionConfig {
                mss: 462 + 12,
                timestamps: true,
                pacing: false,
                ..ConnectionConfig::DEFAULT
            };
            node.streams().connect(now, HOST, 80, config).unwrap()
        });
        while self.next <= now {
            self.next += PERIOD;
            self.waiting += BATCH;
        }
        let sent = node.streams().send(handle, &vec![1; self.waiting]).unwrap_or(0);
        self.waiting -= sent;
        sent > 0
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// Reads all received data.
#[derive(Default)]
struct Sink {
    up: Option<Handle>,
    read: usize,
    /// Octets to send after it has accepted a connection.
    page: usize,
}

impl App for Sink {
    fn poll<P: Profile>(&mut self, _: Instant, node: &mut Node<P>) -> bool {
        self.up = self.up.or_else(|| node.streams().accept(80));
        let mut buf = [0; 4096];
        let Some(up) = self.up else { return false };
        let sent = node.streams().send(up, &vec![2; self.page]).unwrap_or(0);
        self.page -= sent;
        let len = node.streams().recv(up, &mut buf).unwrap_or(0);
        self.read += len;
        len + sent > 0
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

fn own(short: u16) -> Ipv6Addr {
    let [a, b, c, d, ..] = PREFIX.segments();
    Ipv6Addr::new(a, b, c, d, 0, 0xFF, 0xFE00, short)
}

fn stack(
    short: u16,
    address: Ipv6Addr,
    radio: Capabilities,
    sleeps: Option<Polling>,
    csl: Option<Csl>,
) -> Box<Stack> {
    let mut config = Config::repeatable(short, [0; 8], short.into(), [short as u8; 16]);
    config.net.forward = sleeps.is_none();
    config.mac.rx_on_when_idle = sleeps.is_none();
    config.mac.indirect.burst = true;
    config.mac.indirect.max_retries = 3;
    config.mac.max_frame_retries = 7;
    config.polling = sleeps.unwrap_or(Polling::DEFAULT);
    config.mac.csl = csl;
    let mut node = Box::new(Stack::new(config, radio));
    node.interface().add_address(InterfaceAddress { address, prefix_len: 64 }).unwrap();
    node.interface().set_context(0, Some(Context { prefix: PREFIX, len: 64 })).unwrap();
    node
}

/// Connects, requests and reads all received data.
#[derive(Default)]
struct Reader {
    handle: Option<Handle>,
    read: usize,
    /// Time at which the last octet was received.
    last: Instant,
}

impl App for Reader {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < Instant::from_secs(1) {
            return false;
        }
        let config = ConnectionConfig {
            mss: 462 + 12,
            timestamps: true,
            pacing: false,
            ..ConnectionConfig::DEFAULT
        };
        let handle = *self.handle.get_or_insert_with(|| {
            let handle = node.streams().connect(now, HOST, 80, config).unwrap();
            node.streams().send(handle, b"GET /").unwrap();
            handle
        });
        let mut buf = [0; 4096];
        let len = node.streams().recv(handle, &mut buf).unwrap_or(0);
        self.read += len;
        if len > 0 {
            self.last = now;
        }
        len > 0
    }

    fn deadline(&self) -> Option<Instant> {
        self.handle.is_none().then_some(Instant::from_secs(1))
    }
}

#[derive(Debug)]
struct Outcome {
    /// Octets received.
    read: usize,
    /// Radio-on time of the leaf for each batch, in microseconds.
    radio_us: u64,
    requests: u32,
    in_vain: u32,
    timeouts: u16,
    resent: u16,
}

/// Runs 64 minutes with this delay and loss on the wire.
fn run(radio: RadioProfile, polling: Polling, delay: Duration, loss: f64, seed: u64) -> Outcome {
    run_sampling(radio, polling, None, delay, loss, seed)
}

/// The same with a leaf that uses CSL.
fn run_sampling(
    radio: RadioProfile,
    polling: Polling,
    csl: Option<Csl>,
    delay: Duration,
    loss: f64,
    seed: u64,
) -> Outcome {
    let sender = Sender { handle: None, next: Instant::from_secs(10), waiting: 0 };
    let apps: Apps = (Box::new(sender), Sink::default());
    let config = wire(delay, loss);
    let mut world = world(radio, polling, csl, config, apps, seed);
    // A SYN may wait for a sample for longer than its initial timeout of a second, so the handshake
    // is excluded.
    let mut until = Instant::from_secs(10);
    let opening = loop {
        until += Duration::from_millis(100);
        world.run_until(until);
        if let Some(info) = connection(&mut world).filter(|it| it.state == State::Established) {
            break info.counters;
        }
    };
    world.run_until(Instant::from_secs(10) + PERIOD * BATCHES as u32);
    let read = world.device(0).wire().unwrap().app::<Sink>(0).unwrap().read;
    let energy = world.energy(1);
    let on = (energy.radio.duty_cycle() * world.now().as_micros() as f64) as u64;
    let stats = *world.device(1).node().stats();
    let info = connection(&mut world).unwrap();
    assert_eq!(info.state, State::Established);
    Outcome {
        read,
        radio_us: on / BATCHES,
        requests: stats.data_requests,
        in_vain: stats.nothing_pending,
        timeouts: info.counters.timeouts - opening.timeouts,
        resent: info.counters.retransmits() - opening.retransmits(),
    }
}

/// Connection of the leaf, if it has one.
fn connection(world: &mut World<Station<BorderRouter>>) -> Option<Info> {
    let handle = world.device(1).app::<Sender>(0)?.handle?;
    world.with_device(1, |leaf, _| leaf.node().tcp().info(handle))
}

fn wire(delay: Duration, loss: f64) -> WireConfig {
    let reorder_delay = Duration::ZERO;
    let (duplicate, mark, reorder) = (0.0, 0.0, 0.0);
    WireConfig {
        delay,
        rate_bps: None,
        loss,
        loss_to_mesh: None,
        duplicate,
        mark,
        reorder,
        reorder_delay,
    }
}

/// A parent with a host, and its leaf, with their applications.
fn world(
    radio: RadioProfile,
    polling: Polling,
    csl: Option<Csl>,
    config: WireConfig,
    apps: Apps,
    seed: u64,
) -> World<Station<BorderRouter>> {
    let capabilities = radio.capabilities();
    let mut leaf = stack(2, own(2), capabilities, Some(polling), csl);
    leaf.set_parent(Instant::ZERO, Some(1)).unwrap();
    let mut parent = stack(1, own(1), capabilities, None, None);
    parent.add_child(2).unwrap();
    let via = NextHop::OnLink;
    parent.interface().add_route(Route { prefix: PREFIX, prefix_len: 64, via }).unwrap();
    let (prefix, via) = (Ipv6Addr::UNSPECIFIED, NextHop::Host);
    parent.interface().add_route(Route { prefix, prefix_len: 0, via }).unwrap();
    let mut host = stack(9, HOST, Capabilities::NONE, None, None);
    host.interface().add_route(Route { prefix, prefix_len: 0, via }).unwrap();
    host.streams().listen(80, ListenConfig::default()).unwrap();

    let host = Box::new(SameStack::new(host, vec![Box::new(apps.1)]));
    let wire = Wire::new(host, config, stream(seed, 0, Purpose::Fault));
    let stations =
        [Station::new(parent, Vec::new()).with_wire(wire), Station::new(leaf, vec![apps.0])];
    let nodes = (0..).zip(stations).map(|(n, station)| {
        let config = NodeConfig {
            position: Position { x_m: f64::from(n) * 5.0, y_m: 0.0 },
            filter: station.node().filter(),
            radio,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
            chip: None,
        };
        (config, station)
    });
    World::new(seed, &MediumConfig::unit_disc(10.0), nodes.collect())
}

/// Runs without and with prediction, and prints both outcomes.
fn compare(radio: RadioProfile, delay_ms: u64, loss: f64) -> [Outcome; 2] {
    [Polling::TCPLP, Polling::DEFAULT].map(|polling| {
        let outcome = run(radio, polling, Duration::from_millis(delay_ms), loss, 1);
        println!("{} {delay_ms} ms {loss} {polling:?}: {outcome:?}", radio.name);
        assert_eq!(outcome.read, BATCH * BATCHES as usize);
        outcome
    })
}

#[test]
fn prediction_saves_radio_time_on_every_path_and_causes_no_timeout() {
    for radio in [AT86RF233, NRF52840] {
        for delay_ms in [6, 100, 400] {
            let [fixed, predicted] = compare(radio, delay_ms, 0.0);
            assert!(predicted.radio_us < fixed.radio_us);
            assert!(predicted.in_vain * 5 < fixed.in_vain.max(predicted.requests));
            // One acknowledgement per two segments: six for a batch of twelve, fetched in bursts.
            assert!(u64::from(predicted.requests) < BATCHES * 5, "{}", predicted.requests);
            assert_eq!((predicted.timeouts, predicted.resent), (0, 0));
        }
    }
}

#[test]
fn loss_does_not_lead_prediction_astray() {
    let [fixed, predicted] = compare(AT86RF233, 100, 0.05);
    assert!(predicted.radio_us < fixed.radio_us);
    assert!(predicted.in_vain * 4 < fixed.in_vain);
    assert!(predicted.timeouts < fixed.timeouts + 10);
}

#[test]
fn a_leaf_that_samples_the_channel_need_not_ask_and_may() {
    let csl = Csl {
        period: Duration::from_secs(2),
        drift_ppm: 40,
        sync_interval: Duration::from_secs(50),
    };
    let delay = Duration::from_millis(6);
    let asks = run(NRF52840, Polling::DEFAULT, delay, 0.0, 1);
    let base = Duration::from_secs(240);
    let never = Polling::Fixed { base, fast_poll: base };
    let [alone, both] = [never, Polling::DEFAULT].map(|polling| {
        let outcome = run_sampling(NRF52840, polling, Some(csl), delay, 0.0, 1);
        println!("{polling:?}: {outcome:?}; without samples: {asks:?}");
        assert_eq!((outcome.read, outcome.timeouts), (BATCH * BATCHES as usize, 0));
        outcome
    });
    // One request every four minutes remains.
    assert!(alone.requests < 20);
    // 32 samples and the synchronisation, less the data requests.
    assert!(alone.radio_us < asks.radio_us * 21 / 20);
    assert!(both.radio_us < asks.radio_us * 11 / 10 && both.requests > asks.requests / 2);
}

/// Fetches a page, of 40 full segments or of 40 and a half, from a host 100 ms away.
fn fetch(polling: Polling, page: usize) -> (Duration, u32) {
    let apps: Apps = (Box::new(Reader::default()), Sink { page, ..Sink::default() });
    let config = wire(Duration::from_millis(100), 0.0);
    let mut world = world(AT86RF233, polling, None, config, apps, 1);
    let asked = |world: &World<Station<BorderRouter>>| world.device(1).node().stats().data_requests;
    let begin = Instant::from_secs(1);
    let mut during = 0;
    for ms in (0..60_000).step_by(10) {
        world.run_until(Instant::from_millis(ms));
        let reader = world.device(1).app::<Reader>(0).unwrap();
        if reader.read < page {
            during = asked(&world);
        }
    }
    let reader = world.device(1).app::<Reader>(0).unwrap();
    assert_eq!(reader.read, page);
    let time = reader.last.checked_since(begin).unwrap();
    let after = asked(&world) - during;
    println!("{polling:?}: {page} octets in {time:?}, {during} data requests, then {after}");
    (time, after)
}

#[test]
fn a_leaf_that_receives_asks_until_it_has_everything_and_hardly_longer() {
    let base = Duration::from_secs(240);
    for (polling, most) in [(Polling::TCPLP, 10), (Polling::Predictive { base }, 6)] {
        // A full last segment suggests that there is more data; a partial one with PSH does not.
        for (page, most) in [(40 * 462, most), (40 * 462 + 231, 0)] {
            let (time, after) = fetch(polling, page);
            assert!(time < Duration::from_secs(8), "{time:?}");
            assert!(after <= most, "{after}");
        }
    }
}
