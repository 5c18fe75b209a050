//! The endpoint with a clock, IPv6 headers around its segments, and the packets it has sent.

use super::Settings;
use super::descriptors::Table;
use super::sizes::Ample;
use kinglet_tcp::{Endpoint, Handle, Info, Packet, Peer, SoftError};
use kinglet_time::{Instant, earliest};
use kinglet_wire::checksum::pseudo_header;
use kinglet_wire::ipv6::{self, HEADER_LEN, Header, protocol};
use kinglet_wire::{Ecn, icmpv6, tcp};
use std::collections::VecDeque;
use std::hash::Hasher;
use std::net::Ipv6Addr;

/// Addresses of both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) local: Ipv6Addr,
    pub(super) remote: Ipv6Addr,
}

impl Peer for Flow {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        let len = u32::try_from(tcp_len).unwrap_or(u32::MAX);
        pseudo_header(self.local, self.remote, len, protocol::TCP)
    }

    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write(&self.local.octets());
        state.write(&self.remote.octets());
    }

    fn is_unicast(&self) -> bool {
        let unicast = |a: &Ipv6Addr| !a.is_multicast() && !a.is_unspecified();
        unicast(&self.local) && unicast(&self.remote)
    }
}

/// Largest number of packets sent at one instant; more indicate an endless loop.
const MOST_AT_ONCE: usize = 100_000;

/// A packet that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// Time at which it was sent.
    pub at: Instant,
    /// The packet with its IPv6 header.
    pub octets: Vec<u8>,
}

/// A TCP over IPv6 with sockets, in virtual time.
pub struct Stack {
    pub(super) endpoint: Box<Endpoint<Flow, Ample>>,
    pub(super) settings: Settings,
    pub(super) now: Instant,
    pub(super) table: Table,
    pub(super) notes: Vec<String>,
    sent: VecDeque<Emitted>,
    /// Number of packets sent so far.
    emitted: u64,
    /// The last opened or accepted connection.
    pub(super) current: Option<Handle>,
}

impl Stack {
    /// Creates a stack whose descriptors come from `descriptors`.
    pub fn new(settings: Settings, descriptors: Box<dyn FnMut() -> Option<i32> + Send>) -> Stack {
        Stack {
            endpoint: Box::new(Endpoint::new(settings.endpoint)),
            settings,
            now: settings.start,
            table: Table::new(descriptors),
            notes: Vec::new(),
            sent: VecDeque::new(),
            emitted: 0,
            current: None,
        }
    }

    /// Returns the time of its clock.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the time of the next timer.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.table.sockets.values().filter_map(|socket| socket.held.deadline()).min();
        earliest(self.endpoint.deadline(), held)
    }

    /// Returns the settings, for sockets that are opened from now on.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Lets time pass until the next timer, which runs, but not beyond `until`. Returns `false` if
    /// it reached `until` and no timer is left before it.
    pub fn step(&mut self, until: Instant) -> bool {
        match self.deadline() {
            Some(deadline) if deadline <= until => {
                self.now = self.now.max(deadline);
                self.endpoint.handle_deadline(self.now);
                self.drain();
                true
            }
            _ => {
                self.now = self.now.max(until);
                false
            }
        }
    }

    /// Returns the next packet that was sent.
    pub fn take_emitted(&mut self) -> Option<Emitted> {
        self.sent.pop_front()
    }

    /// Returns the number of packets sent so far, taken or not.
    pub fn count_emitted(&self) -> u64 {
        self.emitted
    }

    /// Returns the requests that were ignored since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Returns information about the last opened or accepted connection, or that of a descriptor.
    pub fn info(&self, fd: Option<i32>) -> Option<Info> {
        let handle = match fd {
            Some(fd) => self.table.handle(fd),
            None => self.current,
        };
        self.endpoint.info(handle?)
    }

    /// Handles a packet from the network, and sends the response at once.
    pub fn deliver(&mut self, octets: &[u8]) {
        let Ok(packet) = ipv6::Packet::parse(octets) else { return };
        let Ok((upper, place)) = packet.upper() else { return };
        let Some(payload) = packet.octets().get(place) else { return };
        let flow = Flow { local: packet.header().dst, remote: packet.header().src };
        match upper {
            // The stack counts the reason for a dropped segment.
            protocol::TCP => {
                let ecn = Ecn::of(packet.header().traffic_class);
                let _ = self.endpoint.handle_packet(self.now, flow, ecn, payload);
            }
            protocol::ICMPV6 => self.icmp(packet.header(), payload),
            _ => {}
        }
        self.drain();
    }

    /// Handles an ICMPv6 error that quotes a segment of this stack (RFC 4443 §2.4, RFC 5927).
    fn icmp(&mut self, header: &Header, octets: &[u8]) {
        let sum = header.pseudo_header_sum(octets.len(), protocol::ICMPV6);
        let Ok(message) = icmpv6::Message::parse(octets, sum) else { return };
        let quoted = message.body();
        let Ok(inner) = Header::read(quoted) else { return };
        let Some(&[a, b, c, d, e, f, g, h]) =
            quoted.get(HEADER_LEN..).and_then(|tail| tail.first_chunk())
        else {
            return;
        };
        if inner.next_header != protocol::TCP {
            return;
        }
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let seq = u32::from_be_bytes([e, f, g, h]);
        let flow = Flow { local: inner.src, remote: inner.dst };
        let error = match message.kind() {
            icmpv6::Kind::DestinationUnreachable { .. } => SoftError::Unreachable,
            icmpv6::Kind::TimeExceeded { .. } => SoftError::TimeExceeded,
            icmpv6::Kind::ParameterProblem { .. } => SoftError::ParameterProblem,
            icmpv6::Kind::PacketTooBig { mtu } => {
                return self.endpoint.notify_packet_too_big(&flow, ports, seq, mtu);
            }
            _ => return,
        };
        self.endpoint.notify_network_error(&flow, ports, seq, error);
    }

    /// Sends the packets that the endpoint has at this instant.
    pub(super) fn drain(&mut self) {
        for _ in 0..MOST_AT_ONCE {
            let Some(packet) = self.endpoint.poll_packet(self.now) else {
                if self.feed_all() {
                    continue;
                }
                return self.settle_lent();
            };
            match self.wrap(&packet) {
                Ok(octets) => {
                    self.sent.push_back(Emitted { at: self.now, octets });
                    self.emitted += 1;
                }
                Err(what) => self.notes.push(format!("a segment was not sent: {what}")),
            }
        }
        panic!("the stack sends without end");
    }

    fn wrap(&self, packet: &Packet<Flow>) -> Result<Vec<u8>, String> {
        let mut segment = packet.header.to_vec();
        let start = segment.len();
        segment.resize(start + usize::from(packet.payload.len), 0);
        if packet.payload.len > 0 {
            let read = self.endpoint.read_payload(packet.payload, 0, &mut segment[start..]);
            read.map_err(|_| "its payload is gone")?;
        }
        if !tcp::verify_checksum(&segment, packet.peer.pseudo_header_sum(segment.len())) {
            return Err("its checksum is wrong".to_owned());
        }
        let Flow { local, remote } = packet.peer;
        Ok(in_ipv6(local, remote, protocol::TCP, packet.ecn.traffic_class(), &segment))
    }
}

/// Returns an IPv6 packet.
pub(crate) fn in_ipv6(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    next_header: u8,
    traffic_class: u8,
    payload: &[u8],
) -> Vec<u8> {
    let header = Header {
        traffic_class,
        flow_label: 0,
        payload_len: u16::try_from(payload.len()).unwrap_or(u16::MAX),
        next_header,
        hop_limit: 64,
        src,
        dst,
    };
    let mut out = vec![0; HEADER_LEN];
    header.emit(&mut out).expect("the header has its length");
    out.extend_from_slice(payload);
    out
}
