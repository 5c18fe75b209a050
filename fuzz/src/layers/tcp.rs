//! A TCP endpoint: segments, calls and time in any order.

use crate::input::Input;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::{
    ConnectionConfig, Ecn, Endpoint, HalfOpen, Handle, KeepAlive, KnownServer, ListenConfig,
    Listener, Peer, Piece, SegmentRecord, Sizes, Slot, TcpConfig, TimeWait,
};
use kinglet_testkit::pair::Octets;
use kinglet_time::{Duration, Instant};
use kinglet_wire::checksum;
use kinglet_wire::tcp::{Flags, Header, MIN_HEADER_LEN, Segment, set_checksum, verify_checksum};
use std::hash::Hasher;

const BUFFER: usize = 512;
const CONNECTIONS: usize = 2;
const LISTENED: u16 = 7;
const REMOTE: u16 = 9;
/// More segments than all send rings, half-open records, TIME-WAIT records and replies can request
/// at a time: one per octet.
const DRAIN: usize = CONNECTIONS * (BUFFER + PAGE.len()) + 64;

/// Constant data to send.
static PAGE: [u8; 700] = [0x5a; 700];

struct Plan;

impl Sizes for Plan {
    type Congestion = NewReno;
    type SendBuffer = [u8; BUFFER];
    type Pieces = [Piece; 1];
    type ReceiveBuffer = [u8; BUFFER];
    type ReceiveMap = [u8; BUFFER / 8];
    type Features = kinglet_tcp::Full;
    type Segments = [SegmentRecord; 4];
    type Connections<K: Peer> = [Slot<K, Self>; CONNECTIONS];
    type Listeners = [Option<Listener>; 1];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 2];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 1];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
}

/// A host with a number; the highest is not a unicast address.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Host(u8);

impl Peer for Host {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        u16::from(self.0).wrapping_add(tcp_len as u16)
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.0);
    }

    fn is_unicast(&self) -> bool {
        self.0 < 3
    }
}

/// The endpoint, and the knowledge of an attacker that sees its segments.
struct World {
    tcp: Endpoint<Host, Plan>,
    handles: Vec<Handle>,
    last: Header,
}

/// Settings selected by the first octet of an input.
fn connection(setup: u8) -> ConnectionConfig {
    let keepalive = (setup & 1 == 1).then_some(KeepAlive {
        idle: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        probes: 3,
    });
    ConnectionConfig {
        mss: u16::from(setup) * 4,
        timestamps: setup & 2 == 0,
        sack: setup & 4 == 0,
        nagle: setup & 8 == 0,
        keepalive,
        fast_open: setup & 16 == 0,
        ..ConnectionConfig::DEFAULT
    }
}

/// A TCP endpoint: with any input draining ends, no deadline stays in the past, and nothing panics.
pub fn tcp_segments(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let connection = connection(setup);
    let mut tcp = Endpoint::new(TcpConfig::new([setup; 16]));
    tcp.listen(LISTENED, ListenConfig { backlog: 2, fast_open: 1, connection })
        .expect("a free place");
    let mut world = World { tcp, handles: Vec::new(), last: Header::default() };
    while let Some(call) = input.octet() {
        world.step(&mut input, call, connection);
        // Older ones no longer serve as stale handles.
        if world.handles.len() > 8 {
            world.handles.remove(0);
        }
    }
}

/// Two endpoints whose link, settings and applications are selected by `data`: both streams arrive
/// whole or end for a reason, and then both endpoints are idle (`kinglet_testkit::pair`).
pub fn tcp_pair(data: &[u8]) {
    kinglet_testkit::pair::run::<NewReno>(&mut Octets(data), false);
}

impl World {
    fn step(&mut self, input: &mut Input<'_>, call: u8, connection: ConnectionConfig) {
        let now = input.now();
        let peer = Host(call >> 6);
        let chosen = usize::from(call >> 5 & 1);
        let handle = self.handles.iter().rev().nth(chosen).copied();
        match (call % 8, handle) {
            (0, _) => {
                let raw = input.octets();
                let _ = self.tcp.handle_packet(now, peer, Ecn::of(call >> 3), raw);
            }
            (1 | 2, _) => {
                let segment = self.forge(input, peer, call);
                let _ = self.tcp.handle_packet(now, peer, Ecn::of(call >> 3), &segment);
            }
            (3, _) if call & 8 == 0 => self.handles.extend(self.tcp.accept(LISTENED)),
            (3, _) => {
                self.handles.extend(self.tcp.connect(now, peer, REMOTE, connection));
            }
            (4, Some(handle)) if call & 8 == 0 => {
                let (data, room) = (input.octets(), self.tcp.can_send(handle));
                let taken = self.tcp.send(handle, data);
                assert!(taken.is_err() || taken == Ok(data.len().min(room)));
                let _ = self.tcp.send_static(handle, PAGE.get(..data.len()).unwrap_or(&PAGE));
            }
            (4, Some(handle)) => {
                let readable = self.tcp.can_recv(handle);
                let read = self.tcp.recv(handle, &mut [0; 100]);
                assert_eq!(read.map_or(0, |n| n), readable.min(100));
            }
            (5, Some(handle)) if call & 8 == 0 => {
                let _ = self.tcp.close(handle);
            }
            (5, Some(handle)) => {
                let _ = self.tcp.abort(handle);
            }
            (6, _) => {
                let now = match call & 8 {
                    0 => now,
                    _ => input.skip_to(self.tcp.deadline().unwrap_or(now)),
                };
                self.tcp.handle_deadline(now);
                self.drain(now);
                assert_eq!(self.tcp.check(), Ok(()));
                assert!(self.tcp.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            _ => {
                input.later();
            }
        }
    }

    /// Drains all segments of the endpoint.
    fn drain(&mut self, now: Instant) {
        let mut count = 0;
        while let Some(packet) = self.tcp.poll_packet(now) {
            count += 1;
            assert!(count < DRAIN, "draining ends");
            let len = usize::from(packet.payload.len);
            let mut segment = packet.header.to_vec();
            segment.resize(segment.len() + len, 0);
            let body = segment.len() - len;
            let payload = self.tcp.read_payload(packet.payload, 0, &mut segment[body..]);
            assert!(len == 0 || payload.is_ok(), "a fresh segment has its payload");
            let sum = packet.peer.pseudo_header_sum(segment.len());
            assert!(verify_checksum(&segment, sum));
            self.last = Segment::parse(&segment).expect("a segment sent can be read").header;
        }
    }

    /// A segment in response to the last one, with some variation: numbers near the right ones, any
    /// flags, options and payload, and a right checksum.
    fn forge(&self, input: &mut Input<'_>, peer: Host, call: u8) -> Vec<u8> {
        let near = |number: u32, by: u8| number.wrapping_add_signed(i32::from(by as i8));
        let mut next = || input.octet().unwrap_or(0);
        let flags = Flags::from_bits(u16::from(next()));
        let (seq, ack, scale) = (next(), next(), next());
        let syn = u32::from(self.last.flags.contains(Flags::SYN));
        let (src_port, dst_port) = match call & 8 {
            0 => (self.last.dst_port, self.last.src_port),
            _ => (REMOTE, LISTENED),
        };
        let header = Header {
            src_port,
            dst_port,
            seq: near(self.last.ack, seq),
            ack: near(self.last.seq.wrapping_add(syn), ack),
            flags,
            window: u16::from(scale) << 4,
            ..Header::default()
        };
        let mut segment = vec![0; MIN_HEADER_LEN];
        header.emit(&mut segment).expect("there is room");
        let options = input.octets();
        let options = &options[..options.len().min(40) & !3];
        segment.extend(options);
        segment[12] += (options.len() as u8) << 2;
        segment.extend(input.octets());
        let payload = checksum::sum(&segment[MIN_HEADER_LEN..]);
        let sum = checksum::add(peer.pseudo_header_sum(segment.len()), payload);
        set_checksum(&mut segment[..MIN_HEADER_LEN], sum);
        segment
    }
}
