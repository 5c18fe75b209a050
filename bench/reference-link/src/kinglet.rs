//! Kinglet: the whole [`Node`], its MAC without CSMA-CA and without retries.
//!
//! The radio reports that it does channel access and acknowledgements itself, and the model
//! includes them. The MAC then neither backs off nor waits, and adds headers, sequence numbers and
//! duplicate rejection, as a driver would need them. Its queue has one slot for data (and the one
//! that it reserves for control frames), so that the station holds one frame, like the peers'
//! radios.

use crate::link::{FCS, FIXED_US, OCTET_US};
use crate::station::{Frame, Reader, Role, Setup, Station, Writer};
use core::net::Ipv6Addr;
use kinglet::mac::Csma;
use kinglet::radio::{Ack, Capabilities, Command, Event, MAX_FRAME};
use kinglet::tcp::congestion::NewReno;
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, Peer};
use kinglet::time::{Duration, Instant};
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Node, mac, net, polling, tcp};

/// The memory plan: `kinglet::Mote` with ring buffers of exactly `N` octets and one data frame.
struct Plan<const N: usize, const MAP: usize>;

impl<const N: usize, const MAP: usize> mac::Sizes for Plan<N, MAP> {
    type Queue = [mac::Slot; 2];
    type Neighbours = [mac::Neighbour; 4];
    type Listening = mac::Sampled;
    type DeliveryMethod = mac::Sleepers<[mac::Sleeper<mac::Samples>; 0]>;
    type Security = mac::CcmStar<mac::Tabled, [mac::PeerCounter; 0]>;
    type Backoff = mac::Exponential;
}

impl<const N: usize, const MAP: usize> net::Sizes for Plan<N, MAP> {
    type Storage = [u8; 1280];
    type Packets = [net::Slot<Self::Storage>; 5];
    type Reassembly = [Option<net::Partial>; 2];
    type Output = [Option<net::Queued>; 3];
    type Host = [Option<net::Queued>; 0];
    type Border = ();
    type Children = [Option<net::Child>; 0];
    type Indirect = [Option<net::Parked>; 0];
    type Addresses = [Option<net::InterfaceAddress>; 2];
    type Groups = [Option<core::net::Ipv6Addr>; 0];
    type Routes = [Option<net::Route>; 4];
    type Neighbours = [Option<net::Neighbour>; 2];
    type Contexts = [Option<Context>; 4];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = net::Rfc4944;
    type Ipv6Fragments = ();
    type Headers = net::Iphc;
    type UdpSockets = [net::UdpSocket; 2];
}

impl<const N: usize, const MAP: usize> tcp::Sizes for Plan<N, MAP> {
    type Congestion = NewReno;
    type SendBuffer = [u8; N];
    type Pieces = [tcp::Piece; 0];
    type ReceiveBuffer = [u8; N];
    type ReceiveMap = [u8; MAP];
    type Features = tcp::Full;
    type Segments = [tcp::SegmentRecord; 8];
    type Connections<K: Peer> = [tcp::Slot<K, Self>; 2];
    type Listeners = [Option<tcp::Listener>; 2];
    type HalfOpen<K: Peer> = [Option<tcp::HalfOpen<K>>; 2];
    type TimeWait<K: Peer> = [Option<tcp::TimeWait<K>>; 2];
    type Servers<K: Peer> = [Option<tcp::KnownServer<K>>; 0];
}

impl<const N: usize, const MAP: usize> polling::Sizes for Plan<N, MAP> {
    type PendingRequests = [polling::PendingRequest; 0];
    type Applications = [polling::Application; 0];
}

const PORT: u16 = 1;

struct KingletStation<const N: usize, const MAP: usize> {
    node: Box<Node<Plan<N, MAP>>>,
    role: Role,
    setup: Setup,
    handle: Option<Handle>,
    /// Octets of the frame in the radio.
    in_radio: usize,
    writer: Writer,
    reader: Reader,
}

/// A station with the buffers of `setup`.
pub fn station(role: Role, setup: Setup, seed: u64) -> Box<dyn Station> {
    match setup.buffer {
        1840 => Box::new(KingletStation::<1840, 230>::new(role, setup, seed)),
        1848 => Box::new(KingletStation::<1848, 231>::new(role, setup, seed)),
        2760 => Box::new(KingletStation::<2760, 345>::new(role, setup, seed)),
        other => panic!("no memory plan with buffers of {other} octets"),
    }
}

fn number(role: Role) -> u8 {
    match role {
        Role::Source => 1,
        Role::Sink => 2,
    }
}

/// The link-local address that follows from a link-layer address (RFC 4944, 6 and RFC 4291, 2.5.1).
fn address(role: Role, short: bool) -> Ipv6Addr {
    let n = u16::from(number(role));
    match short {
        true => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x00ff, 0xfe00, n),
        false => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n),
    }
}

impl<const N: usize, const MAP: usize> KingletStation<N, MAP> {
    fn new(role: Role, setup: Setup, seed: u64) -> Self {
        let n = number(role);
        // The universal/local bit is inverted in the IID, which is ::n.
        let extended = [2, 0, 0, 0, 0, 0, 0, n];
        let short = if setup.short { u16::from(n) } else { 0xffff };
        let secret = (u128::from(seed) << 8 | u128::from(n)).to_be_bytes();
        let mut config = Config::repeatable(short, extended, seed << 8 | u64::from(n), secret);
        config.mac.csma = Csma::Hardware;
        config.mac.max_frame_retries = 0;
        let radio = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
        let mut node = Box::new(Node::new(config, radio));
        if role == Role::Sink {
            let listen = ListenConfig {
                backlog: 1,
                connection: connection(&setup),
                ..ListenConfig::default()
            };
            node.streams().listen(PORT, listen).expect("a free listener");
        }
        let (writer, reader) = (Writer::new(&setup), Reader::new(&setup));
        KingletStation { node, role, setup, handle: None, in_radio: 0, writer, reader }
    }

    fn write(&mut self, handle: Handle) {
        let mut data = [0; 512];
        loop {
            let room = self.node.tcp().can_send(handle).min(data.len());
            if room == 0 {
                return;
            }
            self.writer.peek(&mut data[..room]);
            match self.node.streams().send(handle, &data[..room]) {
                Ok(0) | Err(_) => return,
                Ok(count) => self.writer.took(count),
            }
        }
    }

    fn read(&mut self, handle: Handle) {
        let mut data = [0; 512];
        while let Ok(count) = self.node.streams().recv(handle, &mut data)
            && count > 0
        {
            self.reader.check(&data[..count]);
        }
    }
}

fn connection(setup: &Setup) -> ConnectionConfig {
    let Setup { mss, adaptive: adaptive_mss, timestamps, ack_every, .. } = *setup;
    let default = ConnectionConfig::DEFAULT;
    let rto_min = if setup.lossy { Duration::from_millis(100) } else { default.rto_min };
    let lossy_path = setup.lossy;
    ConnectionConfig { mss, adaptive_mss, timestamps, ack_every, rto_min, lossy_path, ..default }
}

impl<const N: usize, const MAP: usize> Station for KingletStation<N, MAP> {
    fn start(&mut self, now: u64) {
        if self.role == Role::Source {
            let to = address(Role::Sink, self.setup.short);
            let config = connection(&self.setup);
            let handle = self.node.streams().connect(Instant::from_micros(now), to, PORT, config);
            self.handle = Some(handle.expect("a free connection"));
        }
    }

    fn deadline(&mut self, _now: u64) -> Option<u64> {
        self.node.deadline().map(Instant::as_micros)
    }

    fn run(&mut self, now: u64) {
        let now = Instant::from_micros(now);
        if self.node.deadline().is_some_and(|at| at <= now) {
            self.node.handle_deadline(now);
        }
        if self.role == Role::Sink && self.handle.is_none() {
            self.handle = self.node.streams().accept(PORT);
        }
        match (self.role, self.handle) {
            (Role::Source, Some(handle)) => self.write(handle),
            (Role::Sink, Some(handle)) => self.read(handle),
            _ => {}
        }
    }

    fn poll_frame(&mut self, now: u64, out: &mut Frame) -> bool {
        while let Some(submission) = self.node.poll_radio(Instant::from_micros(now)) {
            if let Command::Transmit { .. } = submission.command {
                out.set(submission.frame);
                self.in_radio = out.len;
                return true;
            }
        }
        false
    }

    fn sent(&mut self, now: u64, delivered: bool) {
        let known = delivered || !self.setup.feedback;
        let ack = if known { Ack::Received { frame_pending: false } } else { Ack::Missing };
        // The fixed part of the frame's time follows it, as link acknowledgement and interframe
        // spacing do: the MAC, which keeps the spacing, does not have to wait any more.
        let octets = OCTET_US * (1 + FCS + self.in_radio as u64);
        let (now, before) = (Instant::from_micros(now), Duration::from_micros(FIXED_US + octets));
        self.node.handle_radio(now, Event::Transmitted { sfd: now - before, ack }, &mut []);
    }

    fn receive(&mut self, now: u64, frame: &[u8]) {
        let now = Instant::from_micros(now);
        let len = frame.len() as u8;
        let event = Event::Received { sfd: now, len, rssi_dbm: -60, lqi: 255, acked: true };
        let mut octets = [0; MAX_FRAME];
        let octets = &mut octets[..frame.len()];
        octets.copy_from_slice(frame);
        self.node.handle_radio(now, event, octets);
    }

    fn received(&self) -> u64 {
        self.reader.offset
    }

    fn state(&mut self) -> String {
        let Some(info) = self.handle.and_then(|handle| self.node.tcp().info(handle)) else {
            return String::new();
        };
        let tcp::Info { bytes_acked, bytes_in_flight, cwnd, srtt, rto, snd_wnd, counters, .. } =
            info;
        let tcp::Counters { fast_retransmits, timeout_retransmits, dup_acks, .. } = counters;
        let tcp::Counters { fast_recoveries, timeouts, probes, .. } = counters;
        let (srtt, rto) = (srtt.as_micros() / 1_000, rto.as_micros() / 1_000);
        format!(
            "acked {bytes_acked} flight {bytes_in_flight} cwnd {cwnd} wnd {snd_wnd} srtt {srtt} \
             rto {rto} recoveries {fast_recoveries} resent {fast_retransmits} timeouts {timeouts} \
             resent {timeout_retransmits} duplicates {dup_acks} probes {probes}"
        )
    }
}
