//! A sleeping leaf of a mesh on a stick, which sends readings to a host by TCP: lines with their
//! numbers. It polls once a second while it expects nothing.

use core::net::Ipv6Addr;
use kinglet::mac::{Csma, Polled};
use kinglet::mesh::{MeshConfig, Role};
use kinglet::radio::Driver;
use kinglet::tcp::ConnectionConfig;
use kinglet::wire::ieee802154::PanId;
use kinglet::{Config, Meshed, Node, Polling, Stats};
use kinglet_apps::App;
use kinglet_apps::sense::{Probe, Readings, Sampling, StreamSensor, Waiting};
use kinglet_spinel::{Stick, Url};
use kinglet_time::{Duration, Instant, earliest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

kinglet::profile! {
    /// A leaf that gets its addresses from the mesh.
    struct Leaf {
        routing: Meshed<Self>,
        listening: Polled,
        network_data: 76,
        contexts: 4,
        addresses: 1,
        pending_requests: 1,
        send_buffer: 1024,
        receive_buffer: 256,
        features: kinglet::tcp::Full,
    }
}

/// The link addresses, and the network: that of `kinglet router` unless it says otherwise.
const SHORT: u16 = 9;
const EUI64: [u8; 8] = [2, 0x12, 0x4b, 0, 0, 0, 0, 9];
const PAN: PanId = PanId(0x0023);
const CHANNEL: u8 = 26;
/// Interval of data requests while nothing is expected.
const BASE: Duration = Duration::from_secs(1);
/// Readings that wait while there is no connection.
const QUEUE: usize = 64;
/// Time in which the coprocessor answers, and for which the network may need longer.
const READY: Duration = Duration::from_secs(20);
const LATE: Duration = Duration::from_secs(60);

type Queue = [Option<Waiting<()>>; QUEUE];

/// Numbers its readings.
struct Counter;

impl Probe for Counter {
    type Reading = ();
    const LEN: usize = 9;
    const HEAD: usize = 0;

    fn sample(&mut self, _: Instant) {}

    fn write(&self, number: u32, (): (), at: usize, out: &mut [u8]) {
        let line = format!("{number:08}\n").into_bytes();
        for (octet, from) in out.iter_mut().zip(line.iter().skip(at)) {
            *octet = *from;
        }
    }
}

/// Sends `count` readings to a port of a host, one in each period, until the host has acknowledged
/// all of them. Returns the counters of the node.
pub(crate) fn send_readings(url: &str, to: (Ipv6Addr, u16), count: u32, period: Duration) -> Stats {
    let begin = std::time::Instant::now();
    let clock = || Instant::from_micros(begin.elapsed().as_micros() as u64);
    let mut stick = Stick::open(clock(), &url.parse::<Url>().unwrap()).unwrap();
    stick.wait_until_ready(clock, READY).unwrap();
    let mut node = node(&stick);
    stick.set_filter(node.filter());
    let start = clock();
    let sampling = Sampling { start, period, batch: 1, queue: QUEUE };
    let readings = Readings::<Counter, Queue>::new(sampling, Counter);
    let mut sensor = StreamSensor::new(readings, to, start, ConnectionConfig::DEFAULT);
    let limit = start + period * count + LATE;
    loop {
        let now = clock();
        assert!(now < limit, "{} sent, {:?}", sensor.readings().left(), stick.trouble());
        let _ = stick.exchange(now);
        let is_over = sensor.readings().left() >= count;
        if is_over && is_delivered(&node, &sensor) {
            return *node.stats();
        }
        let busy = !is_over && sensor.poll(now, &mut *node);
        let driven = node.drive(now, &mut stick);
        let app = if busy { Some(now) } else { sensor.deadline().filter(|_| !is_over) };
        let stack = earliest(earliest(driven, node.deadline()), stick.deadline());
        // The end of the connection's queue is noticed within this time.
        wait(&stick, earliest(earliest(app, stack), Some(now + BASE)), clock());
    }
}

fn node(stick: &Stick) -> Box<Node<Leaf>> {
    let seed = u64::from(std::process::id());
    let mut config = Config::repeatable(SHORT, EUI64, seed, [9; 16]).unsecured();
    config.mac.csma = Csma::Hardware;
    config.mac.pan_id = PAN;
    config.mac.channel = kinglet::radio::Channel::new(CHANNEL).unwrap_or_default();
    config.mac.rx_on_when_idle = false;
    config.polling = Polling::Predictive { base: BASE };
    let mesh = MeshConfig { role: Role::Leaf, ..MeshConfig::OFF };
    let mesh = Meshed::new(config.identity(), mesh, Ipv6Addr::UNSPECIFIED);
    Box::new(Node::with_routing(config, mesh, stick.capabilities()))
}

fn is_delivered(node: &Node<Leaf>, sensor: &StreamSensor<Counter, Queue>) -> bool {
    let info = sensor.connection().and_then(|handle| node.tcp().info(handle));
    info.is_some_and(|info| info.bytes_queued == 0)
}

/// Waits for octets of the line, for space on it, or until then.
fn wait(stick: &Stick, until: Option<Instant>, now: Instant) {
    let left = until.map_or(Duration::ZERO, |until| until - now).as_micros();
    let time =
        Timespec { tv_sec: (left / 1_000_000) as i64, tv_nsec: (left % 1_000_000 * 1_000) as i64 };
    let write = if stick.wants_write() { PollFlags::OUT } else { PollFlags::empty() };
    let fd = stick.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN | write));
    // A signal only ends the wait early.
    let _ = poll(&mut fd.into_iter().collect::<Vec<_>>(), Some(&time));
}
