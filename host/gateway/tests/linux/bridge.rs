//! Kinglet's endpoint on a TUN device, and the faults between it and the kernel.

use crate::flow::Flow;
use crate::matrix::Case;
use core::net::Ipv6Addr;
use kinglet::AddressPair;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::{
    ConnectionConfig, Ecn, Endpoint, HalfOpen, KnownServer, ListenConfig, Listener, Peer, Piece,
    SegmentRecord, Sizes, Slot, TcpConfig, TimeWait,
};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ipv6::{HEADER_LEN, Header, protocol};
use kinglet_wire::tcp::{Flags, Segment};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tun_rs::AsyncDevice;

pub(crate) const TUN: &str = "kllinux0";
pub(crate) const HOST: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7402, 0, 0, 0, 1);
pub(crate) const KINGLET: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7402, 0, 0, 0, 2);
pub(crate) const KINGLET_PORT: u16 = 7;
pub(crate) const LINUX_PORT: u16 = 9;
/// 16 segments.
pub(crate) const RING: usize = 16 * 1220;

/// Time that a packet takes, in either direction.
const DELAY: Duration = Duration::from_millis(3);
/// Longest time that a packet is held back, in milliseconds.
const HELD_MS: u64 = 12;
/// Overrun of a timer that an idle machine shows as well: the timers count milliseconds.
const PUNCTUAL: Duration = Duration::from_millis(5);
/// Probabilities in 1/1000.
const LOSS: u32 = 20;
/// For ECN-capable packets.
const MARK: u32 = 10;
const DUPLICATE: u32 = 10;
const HOLD: u32 = 30;

pub(crate) struct Memory;

impl Sizes for Memory {
    type Congestion = NewReno;
    type SendBuffer = [u8; RING];
    type Pieces = [Piece; 0];
    type ReceiveBuffer = [u8; RING];
    type ReceiveMap = [u8; RING / 8];
    type Features = kinglet_tcp::Full;
    type Segments = [SegmentRecord; 24];
    type Connections<K: Peer> = [Slot<K, Self>; 4];
    type Listeners = [Option<Listener>; 1];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 4];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 8];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
}

pub(crate) type Tcp = Endpoint<AddressPair, Memory>;

fn pair() -> AddressPair {
    AddressPair::new(Some(0), KINGLET, HOST)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    ToLinux,
    ToKinglet,
}

/// A packet, ordered by arrival and then by sending.
type UnderWay = (Instant, u64, Direction, Vec<u8>);

pub(crate) struct Bridge<'a> {
    device: &'a AsyncDevice,
    tcp: Box<Tcp>,
    case: Case,
    began: std::time::Instant,
    random: Pcg64Mcg,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    sequence: u64,
    /// Connections of the current round.
    flows: Vec<Flow>,
    /// Octets of the connection that Linux is to open.
    expected: Option<usize>,
    packets: u64,
    lost: u64,
    silence: Duration,
    /// Time by which this thread has run late. It includes what the kernel's own count of waiting
    /// for a core cannot see: the time that a hypervisor takes.
    late: Duration,
    /// Number of SYNs of Linux that were checked.
    syns: u32,
    /// SYNs with data: to Linux, to Kinglet.
    fast: [u32; 2],
    capable: [usize; 2],
}

const CONFIG: ConnectionConfig =
    ConnectionConfig { fast_open: true, ecn: true, timestamps: true, ..ConnectionConfig::DEFAULT };

impl<'a> Bridge<'a> {
    pub(crate) fn new(device: &'a AsyncDevice, seed: u64, case: Case) -> Self {
        let mut random = Pcg64Mcg::new(u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15);
        let mut secret = [0; 16];
        random.fill_bytes(&mut secret);
        // Other ports than the previous case, whose connections are still in TIME-WAIT on Linux.
        let first = 49_152 + (seed as u16 % 16) * 1_000;
        let config_of_all = TcpConfig {
            ephemeral_first: first,
            ephemeral_last: first + 999,
            ..TcpConfig::new(secret)
        };
        let mut tcp: Box<Tcp> = Box::new(Endpoint::new(config_of_all));
        let listen = ListenConfig { fast_open: 2, connection: CONFIG, ..ListenConfig::default() };
        tcp.listen(KINGLET_PORT, listen).unwrap();
        Bridge {
            device,
            tcp,
            case,
            began: std::time::Instant::now(),
            random,
            under_way: BinaryHeap::new(),
            sequence: 0,
            flows: Vec::new(),
            expected: None,
            packets: 0,
            lost: 0,
            silence: Duration::ZERO,
            late: Duration::ZERO,
            syns: 0,
            fast: [0; 2],
            capable: [0; 2],
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_micros(self.began.elapsed().as_micros() as u64)
    }

    /// Opens a connection to Linux.
    pub(crate) fn connect(&mut self, total: usize) {
        let now = self.now();
        let handle = self.tcp.connect(now, pair(), LINUX_PORT, CONFIG).unwrap();
        let (_, port, _) = self.tcp.name(handle).unwrap();
        self.flows = vec![Flow::new(now, handle, (port, LINUX_PORT), total)];
    }

    /// Prepares for a connection that Linux opens.
    pub(crate) fn expect(&mut self, total: usize) {
        self.expected = Some(total);
    }

    /// Runs until both connections have ended. Returns whether they have within `patience`.
    pub(crate) async fn serve(&mut self, patience: std::time::Duration) -> bool {
        let end = std::time::Instant::now() + patience;
        let mut packet = [0; 2048];
        while std::time::Instant::now() < end {
            let now = self.now();
            self.arrive(now).await;
            if self.tcp.deadline().is_some_and(|at| at <= now) {
                self.tcp.handle_deadline(now);
            }
            if self.applications(now) {
                return true;
            }
            self.send(now);
            let soon = now + Duration::from_millis(50);
            let next = self.under_way.peek().map(|Reverse((at, ..))| *at);
            let next = earliest(earliest(next, self.tcp.deadline()), Some(soon)).unwrap_or(soon);
            let wait = std::time::Duration::from_micros((next - self.now()).as_micros());
            tokio::select! {
                received = self.device.recv(&mut packet) => {
                    let length = received.unwrap();
                    self.offer(Direction::ToKinglet, &packet[..length]);
                }
                () = tokio::time::sleep(wait) => {}
            }
            let overrun = self.now() - next.max(now);
            self.late += if overrun > PUNCTUAL { overrun } else { Duration::ZERO };
        }
        false
    }

    /// Returns whether both have ended.
    fn applications(&mut self, now: Instant) -> bool {
        if let Some(total) = self.expected
            && let Some(handle) = self.tcp.accept(KINGLET_PORT)
        {
            let (_, own, port) = self.tcp.name(handle).unwrap();
            self.flows.push(Flow::new(now, handle, (own, port), total));
            self.expected = None;
        }
        let mut over = self.expected.is_none();
        for flow in &mut self.flows {
            flow.run(&mut self.tcp);
            flow.watch(now, self.late, &self.tcp);
            over &= flow.is_over(&self.tcp);
            self.silence = self.silence.max(flow.longest_silence());
        }
        over
    }

    fn send(&mut self, now: Instant) {
        while let Some(segment) = self.tcp.poll_packet(now) {
            let header = segment.header.len();
            let tcp_len = header + usize::from(segment.payload.len);
            let mut packet = vec![0; HEADER_LEN + tcp_len];
            let ip = Header {
                traffic_class: segment.ecn.traffic_class(),
                flow_label: 0,
                payload_len: tcp_len as u16,
                next_header: protocol::TCP,
                hop_limit: 64,
                src: KINGLET,
                dst: HOST,
            };
            ip.emit(&mut packet).unwrap();
            packet[HEADER_LEN..][..header].copy_from_slice(&segment.header);
            if segment.payload.len > 0 {
                let room = &mut packet[HEADER_LEN + header..];
                self.tcp.read_payload(segment.payload, 0, room).unwrap();
            }
            self.offer(Direction::ToLinux, &packet);
        }
    }

    fn chance(&mut self, of_1000: u32) -> bool {
        self.random.next_u32() % 1000 < of_1000
    }

    /// Puts a packet on the wire.
    fn offer(&mut self, direction: Direction, packet: &[u8]) {
        let Ok(ip) = Header::read(packet) else { return };
        if ip.next_header != protocol::TCP || (ip.src != KINGLET && ip.dst != KINGLET) {
            return;
        }
        let ports = self.inspect(direction, &packet[HEADER_LEN..]);
        self.packets += 1;
        let is_lost = self.chance(LOSS);
        let (now, header) = (self.now(), Segment::parse(&packet[HEADER_LEN..]).map(|s| s.header));
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.ports == ports) {
            let fate = if is_lost { "lost" } else { "" };
            flow.note(format!("{now:?} {direction:?} {} octets {fate} {header:?}", packet.len()));
            if is_lost {
                flow.lost();
            }
        }
        if is_lost {
            self.lost += 1;
            return;
        }
        let mut packet = packet.to_vec();
        if Ecn::of(ip.traffic_class) != Ecn::NotEct {
            self.capable[direction as usize] += 1;
            // The lower bits of the Traffic Class.
            packet[1] |= if self.chance(MARK) { Ecn::Ce.traffic_class() << 4 } else { 0 };
        }
        for _ in 0..1 + usize::from(self.chance(DUPLICATE)) {
            let mut at = self.now() + DELAY;
            if self.chance(HOLD) {
                at += Duration::from_millis(u64::from(self.random.next_u32()) % HELD_MS);
            }
            self.sequence += 1;
            self.under_way.push(Reverse((at, self.sequence, direction, packet.clone())));
        }
    }

    /// Checks the contents of a packet. Returns the ports, Kinglet's first.
    fn inspect(&mut self, direction: Direction, octets: &[u8]) -> (u16, u16) {
        let segment = Segment::parse(octets).expect("a well-formed segment");
        let header = segment.header;
        let ports = match direction {
            Direction::ToLinux => (header.src_port, header.dst_port),
            Direction::ToKinglet => (header.dst_port, header.src_port),
        };
        // A late duplicate for a closed connection may be answered with RST, and Linux does so.
        let open = self.flows.iter().find(|flow| flow.ports == ports);
        if header.flags.contains(Flags::RST) && open.is_some_and(|flow| !flow.is_over(&self.tcp)) {
            panic!("{direction:?}: a reset: {header:?}; {}", self.status());
        }
        if header.flags.contains(Flags::SYN) && !segment.payload.is_empty() {
            self.fast[direction as usize] += 1;
        }
        if direction == Direction::ToKinglet && header.flags.contains(Flags::SYN) {
            let Case { sack, timestamps, .. } = self.case;
            let options = header.options;
            assert_eq!(options.sack_permitted, sack, "{options:?}");
            assert_eq!(options.timestamps.is_some(), timestamps, "{options:?}");
            self.syns += 1;
        }
        ports
    }

    async fn arrive(&mut self, now: Instant) {
        while self.under_way.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, _, direction, packet))) = self.under_way.pop() else { return };
            match direction {
                Direction::ToLinux => {
                    self.device.send(&packet).await.unwrap();
                }
                Direction::ToKinglet => {
                    let ecn = Ecn::of(packet[1] >> 4);
                    let _ = self.tcp.handle_packet(now, pair(), ecn, &packet[HEADER_LEN..]);
                }
            }
        }
    }

    /// Checks what the whole case must have observed.
    pub(crate) fn judge(&self) {
        assert!(self.syns >= 4, "two connections opened by each side");
        let fast = self.fast.map(|count| count > 0);
        assert_eq!(fast, [self.case.fast_open; 2], "data in SYNs to Linux, to Kinglet");
        let capable = self.capable.map(|count| count > 0);
        assert_eq!(capable, [self.case.ecn; 2], "ECN-capable data to Linux, to Kinglet");
        assert!(self.lost > 40, "a wire without faults proves nothing: {} lost", self.lost);
    }

    pub(crate) fn summary(&self) -> String {
        let Bridge { packets, lost, silence, late, .. } = self;
        format!("{packets} packets, {lost} lost, longest silence {silence:?}, {late:?} late")
    }

    pub(crate) fn status(&self) -> String {
        self.flows.iter().map(|flow| flow.status(&self.tcp)).collect()
    }
}
