//! Connections of one address, and their packets.

use crate::block::Segment;
use crate::connection::Connection;
use crate::info::{Info, State};
use crate::settings::Settings;
use core::net::Ipv6Addr;
use kinglet_time::{Instant, earliest};
use kinglet_wire::checksum::Accumulator;
use kinglet_wire::icmpv6::{self, Kind};
use kinglet_wire::ipv6::{self, Packet, protocol};
use kinglet_wire::tcp::{self, Flags};
use kinglet_wire::{Ecn, tcp::Header};

/// A connection of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

#[derive(Debug)]
struct Held {
    peer: Ipv6Addr,
    connection: Connection,
    /// True if no application has accepted it yet.
    waits: bool,
    /// True if it was released: its entry is free when it has ended.
    left: bool,
}

#[derive(Debug)]
struct Listener {
    port: u16,
    settings: Settings,
}

/// All connections of an address; receives and sends IPv6 packets.
#[derive(Debug)]
pub struct Host {
    address: Ipv6Addr,
    hop_limit: u8,
    listeners: Vec<Listener>,
    held: Vec<Held>,
    resets: Vec<(Ipv6Addr, Segment)>,
    random: u64,
    next_port: u16,
    segments: u32,
}

/// First ephemeral port (RFC 6335 §6).
const FIRST_PORT: u16 = 49_152;

impl Host {
    /// A host at `address` that sends packets with `hop_limit`; `seed` selects sequence numbers and
    /// ports.
    pub fn new(address: Ipv6Addr, hop_limit: u8, seed: u64) -> Self {
        let mut host = Host {
            address,
            hop_limit,
            listeners: Vec::new(),
            held: Vec::new(),
            resets: Vec::new(),
            random: seed | 1,
            next_port: 0,
            segments: 0,
        };
        host.next_port = FIRST_PORT + (host.draw() % 4096) as u16;
        host
    }

    /// The next random number (xorshift*).
    fn draw(&mut self) -> u32 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        (self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// Opens a connection.
    pub fn connect(&mut self, now: Instant, to: Ipv6Addr, port: u16, settings: Settings) -> Handle {
        let (iss, local) = (self.draw(), self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        let connection = Connection::connect(now, settings, (local, port), iss);
        self.hold(Held { peer: to, connection, waits: false, left: false })
    }

    /// Adds a connection, in the entry of a released one that has ended, if there is any.
    fn hold(&mut self, held: Held) -> Handle {
        let is_free = |held: &Held| held.left && held.connection.is_over();
        let place = self.held.iter().position(is_free).unwrap_or(self.held.len());
        match self.held.get_mut(place) {
            Some(free) => *free = held,
            None => self.held.push(held),
        }
        Handle(place)
    }

    /// Accepts connections to `port`.
    pub fn listen(&mut self, port: u16, settings: Settings) {
        self.listeners.push(Listener { port, settings });
    }

    /// Returns an established connection to `port` that was not accepted yet.
    pub fn accept(&mut self, port: u16) -> Option<Handle> {
        let place = self.held.iter().position(|held| {
            held.waits
                && held.connection.ports().0 == port
                && !matches!(held.connection.info().state, State::SynReceived)
        })?;
        self.held[place].waits = false;
        Some(Handle(place))
    }

    /// As [`Connection::send`].
    pub fn send(&mut self, handle: Handle, octets: &[u8]) -> usize {
        self.held[handle.0].connection.send(octets)
    }

    /// As [`Connection::can_send`].
    pub fn can_send(&self, handle: Handle) -> usize {
        self.held[handle.0].connection.can_send()
    }

    /// As [`Connection::recv`].
    pub fn recv(&mut self, handle: Handle, buf: &mut [u8]) -> Option<usize> {
        self.held[handle.0].connection.recv(buf)
    }

    /// As [`Connection::peek`].
    pub fn peek(&self, handle: Handle, buf: &mut [u8]) -> Option<usize> {
        self.held[handle.0].connection.peek(buf)
    }

    /// As [`Connection::close`].
    pub fn close(&mut self, handle: Handle) {
        self.held[handle.0].connection.close();
    }

    /// As [`Host::close`]; the handle is not used any more.
    pub fn release(&mut self, handle: Handle) {
        self.close(handle);
        self.held[handle.0].left = true;
    }

    /// As [`Connection::info`].
    pub fn info(&self, handle: Handle) -> Info {
        self.held[handle.0].connection.info()
    }

    /// Snapshots of all connections, in the order in which they began if none was released.
    pub fn connections(&self) -> impl Iterator<Item = Info> {
        self.held.iter().map(|held| held.connection.info())
    }

    /// Segments received and sent, wrapping.
    pub fn segments(&self) -> u32 {
        self.segments
    }

    /// Processes an IPv6 packet. Damaged packets, and packets that are neither TCP for this address
    /// nor an error about it, are dropped.
    pub fn handle_packet(&mut self, now: Instant, octets: &[u8]) {
        let Ok(packet) = Packet::parse(octets) else { return };
        let header = packet.header();
        let Ok((protocol, upper)) = packet.upper() else { return };
        if header.dst != self.address {
            return;
        }
        let upper = &packet.octets()[upper];
        let sum = header.pseudo_header_sum(upper.len(), protocol);
        match protocol {
            protocol::TCP if tcp::verify_checksum(upper, sum) => {
                let Ok(segment) = tcp::Segment::parse(upper) else { return };
                self.segments = self.segments.wrapping_add(1);
                let marked = Ecn::of(header.traffic_class) == Ecn::Ce;
                self.dispatch(now, header.src, &segment, marked);
            }
            protocol::ICMPV6 => {
                let Ok(message) = icmpv6::Message::parse(upper, sum) else { return };
                if let Kind::DestinationUnreachable { .. } = message.kind() {
                    self.unreachable(message.body());
                }
            }
            _ => {}
        }
    }

    /// Handles an error about the packet that begins with `quoted`.
    fn unreachable(&mut self, quoted: &[u8]) {
        let Ok(header) = ipv6::Header::read(quoted) else { return };
        let upper = quoted.get(ipv6::HEADER_LEN..).and_then(|upper| upper.first_chunk::<8>());
        let Some([a, b, c, d, seq @ ..]) = upper.filter(|_| header.next_header == protocol::TCP)
        else {
            return;
        };
        let ports = (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]));
        let mut held = self.held.iter_mut();
        if let Some(held) =
            held.find(|held| held.peer == header.dst && held.connection.ports() == ports)
        {
            held.connection.unreachable(u32::from_be_bytes(*seq));
        }
    }

    fn dispatch(&mut self, now: Instant, peer: Ipv6Addr, segment: &tcp::Segment<'_>, marked: bool) {
        let header = &segment.header;
        let ports = (header.dst_port, header.src_port);
        let known = self.held.iter_mut().find(|held| {
            let connection = &held.connection;
            held.peer == peer && connection.ports() == ports && !connection.is_over()
        });
        if let Some(held) = known {
            return held.connection.handle_segment(now, segment, marked);
        }
        if header.flags.contains(Flags::RST) {
            return;
        }
        let listener = self.listeners.iter().find(|listener| listener.port == ports.0);
        let opens = header.flags.contains(Flags::SYN) && !header.flags.contains(Flags::ACK);
        if let Some(settings) = listener.filter(|_| opens).map(|listener| listener.settings) {
            let iss = self.draw();
            let connection = Connection::answer(now, settings, header, iss);
            self.hold(Held { peer, connection, waits: true, left: false });
            return;
        }
        self.resets.push((peer, reset(segment)));
    }

    /// The next IPv6 packet to be sent; to be drained after every event.
    pub fn poll_packet(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (peer, segment) = match self.resets.pop() {
            Some(reset) => reset,
            None => self.held.iter_mut().find_map(|held| {
                let segment = held.connection.poll_segment(now)?;
                Some((held.peer, segment))
            })?,
        };
        self.segments = self.segments.wrapping_add(1);
        Some(self.packet(peer, &segment))
    }

    fn packet(&self, peer: Ipv6Addr, segment: &Segment) -> Vec<u8> {
        let len = segment.header.header_len() + segment.payload.len();
        let header = ipv6::Header {
            traffic_class: segment.ecn.traffic_class(),
            flow_label: 0,
            payload_len: len as u16,
            next_header: protocol::TCP,
            hop_limit: self.hop_limit,
            src: self.address,
            dst: peer,
        };
        let mut packet = vec![0; ipv6::HEADER_LEN + len];
        let (ip, text) = packet.split_at_mut(ipv6::HEADER_LEN);
        // Both buffers are long enough.
        let _ = header.emit(ip);
        let _ = segment.header.emit(text);
        let (head, payload) = text.split_at_mut(segment.header.header_len());
        payload.copy_from_slice(&segment.payload);
        let mut sum = Accumulator::new(header.pseudo_header_sum(len, protocol::TCP));
        sum.push(payload);
        tcp::set_checksum(head, sum.sum());
        packet
    }

    /// Latest time for the next call of [`Host::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = self.held.iter().map(|held| held.connection.deadline());
        deadlines.fold(None, earliest)
    }

    /// Handles timers that are due.
    pub fn handle_deadline(&mut self, now: Instant) {
        for held in &mut self.held {
            if held.connection.deadline().is_some_and(|at| at <= now) {
                held.connection.handle_deadline(now);
            }
        }
    }
}

/// The response to a segment of no connection (RFC 9293 §3.10.7.1).
fn reset(segment: &tcp::Segment<'_>) -> Segment {
    let from = &segment.header;
    let (src_port, dst_port) = (from.dst_port, from.src_port);
    let header = if from.flags.contains(Flags::ACK) {
        Header { src_port, dst_port, seq: from.ack, flags: Flags::RST, ..Header::default() }
    } else {
        let ack = from.seq.wrapping_add(segment.seq_len());
        Header { src_port, dst_port, ack, flags: Flags::RST | Flags::ACK, ..Header::default() }
    };
    Segment { header, payload: Vec::new(), ecn: Ecn::NotEct }
}
