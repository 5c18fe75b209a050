//! Tests the features of a TCP from outside: the probe sends handmade segments and examines the
//! responses.
//!
//! The tests do not depend on the settings of a stack. Each test is one connection, in virtual
//! time.

use core::net::Ipv6Addr;
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::radio::Capabilities;
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ipv6::{HEADER_LEN, Header as Ip, MIN_MTU, Packet, protocol};
use kinglet::wire::tcp::{Flags, Header, Options, Segment, Timestamps, set_checksum};
use kinglet::wire::{Ecn, checksum};
use kinglet::{Config, Node};
use kinglet_apps::Sockets;
use kinglet_network::apps::tcp::{Foreign, Socket, Tcp};
use kinglet_network::profile::LabProfile;
use kinglet_peers::{Host, Quirks, Stack};

const PROBE: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const SUBJECT: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
const PORTS: (u16, u16) = (5_000, 7);
/// The probe's first sequence number.
const ISS: u32 = 1_000;
/// Receive window of the probe, unless a test is about the window.
const WINDOW: u16 = 20_000;
const MSS: u16 = 1220;

/// Tests, in the order of TCPlp's table 9.
pub(crate) const FEATURES: [(&str, Question); 8] = [
    ("flow_control", flow_control),
    ("congestion_control", congestion_control),
    ("rtt_estimation", rtt_estimation),
    ("mss_option", |stack, config| Some(Probe::asked(stack, config).syn().options.mss.is_some())),
    ("ooo_reassembly", reassembly),
    ("timestamps", |stack, config| {
        Some(Probe::asked(stack, config).syn().options.timestamps.is_some())
    }),
    ("selective_acks", selective_acks),
    ("delayed_acks", delayed_acks),
];

/// Tests whether a stack, by default Kinglet's, has a feature; `None` if the test does not apply.
pub(crate) type Question = fn(Option<Stack>, ConnectionConfig) -> Option<bool>;

enum Subject {
    Own(Box<Node<LabProfile>>),
    Peer(Box<Host>, Stack),
}

/// A segment of the subject.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    header: Header,
    len: u32,
}

struct Probe {
    subject: Subject,
    socket: Option<Socket>,
    now: Instant,
    seen: Vec<Seen>,
    /// True if the application of the subject writes.
    writes: bool,
    /// Next sequence number of the probe, and its window.
    seq: u32,
    window: u16,
}

impl Probe {
    fn new(stack: Option<Stack>) -> Probe {
        let subject = match stack {
            Some(stack) => Subject::Peer(Box::new(Host::new(SUBJECT, 64, 1)), stack),
            None => Subject::Own(own()),
        };
        let (now, seen) = (Instant::from_secs(10), Vec::new());
        Probe { subject, socket: None, now, seen, writes: false, seq: ISS, window: WINDOW }
    }

    fn with<R>(&mut self, act: impl FnOnce(&mut Tcp<'_, LabProfile>) -> R) -> R {
        match &mut self.subject {
            Subject::Own(node) => act(&mut Tcp::Own(node)),
            Subject::Peer(host, stack) => {
                act(&mut Tcp::Peer(host, Foreign::new(*stack, Quirks::NONE)))
            }
        }
    }

    /// A subject that has sent a SYN.
    fn asked(stack: Option<Stack>, config: ConnectionConfig) -> Probe {
        let mut probe = Probe::new(stack);
        let now = probe.now;
        probe.socket = probe.with(|tcp| tcp.connect(now, (PROBE, PORTS.0), config));
        probe.collect();
        probe
    }

    /// Header of the subject's SYN.
    fn syn(&self) -> Header {
        self.seen.first().map_or_else(Header::default, |seen| seen.header)
    }

    /// A connection that the subject has opened, on which its application writes without end.
    fn writing(stack: Option<Stack>, config: ConnectionConfig, window: u16) -> Probe {
        let mut probe = Probe::asked(stack, config);
        probe.window = window;
        let syn = probe.syn();
        let mut options = Options { mss: Some(MSS), ..Options::NONE };
        options.sack_permitted = syn.options.sack_permitted;
        options.timestamps = syn.options.timestamps;
        probe.writes = true;
        probe.report(Flags::SYN | Flags::ACK, syn.seq.wrapping_add(1), options, &[]);
        probe.seq += 1;
        probe
    }

    /// A connection that the subject has accepted.
    fn listening(stack: Option<Stack>, config: ConnectionConfig) -> Probe {
        let mut probe = Probe::new(stack);
        let listen = ListenConfig { connection: config, ..ListenConfig::default() };
        probe.with(|tcp| tcp.listen(PORTS.1, listen));
        let mut options = Options { mss: Some(MSS), sack_permitted: true, ..Options::NONE };
        options.timestamps = Some(Timestamps { val: probe.clock(), ecr: 0 });
        probe.report(Flags::SYN, 0, options, &[]);
        probe.seq += 1;
        let ack = probe.syn().seq.wrapping_add(1);
        probe.report(Flags::ACK, ack, Options::NONE, &[]);
        probe.socket = probe.with(|tcp| tcp.accept(PORTS.1));
        probe
    }

    fn clock(&self) -> u32 {
        self.now.as_millis() as u32
    }

    /// Sends a segment at the probe's next sequence number; the subject responds.
    fn report(&mut self, flags: Flags, ack: u32, options: Options, text: &[u8]) {
        let mut options = options;
        let last = self.seen.iter().rev().find_map(|seen| seen.header.options.timestamps);
        if let Some(last) = last {
            options.timestamps = Some(Timestamps { val: self.clock(), ecr: last.val });
        }
        let dst_port = if self.syn().src_port == 0 { PORTS.1 } else { self.syn().src_port };
        let (seq, window) = (self.seq, self.window);
        let src_port = PORTS.0;
        let header = Header { src_port, dst_port, seq, ack, flags, window, urgent: 0, options };
        let packet = packet(&header, text);
        match &mut self.subject {
            Subject::Own(node) => node.handle_host_packet(self.now, &packet),
            Subject::Peer(host, _) => host.handle_packet(self.now, &packet),
        }
        self.collect();
    }

    /// Acknowledges everything up to `ack`.
    fn acknowledge(&mut self, ack: u32) {
        self.report(Flags::ACK, ack, Options::NONE, &[]);
    }

    /// Sends text outside the stream, `skipped` octets after the next sequence number, and restores
    /// it.
    fn text(&mut self, skipped: u32, len: usize) {
        self.seq += skipped;
        let ack = self.end();
        self.report(Flags::ACK | Flags::PSH, ack, Options::NONE, &vec![7; len]);
        self.seq -= skipped;
    }

    /// Sequence number after the last one that the subject has sent.
    fn end(&self) -> u32 {
        let ends = self.seen.iter().map(|seen| {
            let syn = u32::from(seen.header.flags.contains(Flags::SYN));
            seen.header.seq.wrapping_add(seen.len + syn)
        });
        let base = self.syn().seq;
        ends.max_by_key(|end| end.wrapping_sub(base)).unwrap_or(base)
    }

    /// Runs the application and collects the segments of the subject.
    fn collect(&mut self) {
        let (now, writes) = (self.now, self.writes);
        loop {
            if let Some(socket) = self.socket {
                self.with(|tcp| {
                    let mut buf = [0; 2048];
                    let _ = tcp.recv(socket, &mut buf);
                    if writes {
                        // BLIP refuses what does not fit as a whole.
                        let room = tcp.can_send(socket).min(buf.len());
                        let _ = tcp.send(socket, &buf[..room]);
                    }
                });
            }
            let mut buf = [0; MIN_MTU];
            let packet = match &mut self.subject {
                Subject::Own(node) => {
                    node.poll_host_packet(now, &mut buf).map(|len| buf[..len].to_vec())
                }
                Subject::Peer(host, _) => host.poll_packet(now),
            };
            let Some(packet) = packet else { return };
            let upper = Packet::parse(&packet).ok().and_then(|packet| packet.upper().ok());
            let text = upper.and_then(|(_, upper)| packet.get(upper)).unwrap_or_default();
            if let Ok(Segment { header, payload }) = Segment::parse(text) {
                self.seen.push(Seen { at: now, header, len: payload.len() as u32 });
            }
        }
    }

    /// Advances the time.
    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            let deadline = match &self.subject {
                Subject::Own(node) => node.deadline(),
                Subject::Peer(host, _) => host.deadline(),
            };
            let Some(at) = deadline.filter(|at| *at <= until) else { break };
            self.now = self.now.max(at);
            match &mut self.subject {
                Subject::Own(node) => node.handle_deadline(self.now),
                Subject::Peer(host, _) => host.handle_deadline(self.now),
            }
            self.collect();
        }
        self.now = until;
    }

    /// Octets in flight after `acked` was acknowledged.
    fn flight(&self, acked: u32) -> u32 {
        self.end().wrapping_sub(acked)
    }

    /// Segments with data from `since` on.
    fn texts(&self, since: Instant) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.len > 0 && seen.at >= since)
    }
}

/// Kinglet's stack without a radio.
fn own() -> Box<Node<LabProfile>> {
    let config = Config::repeatable(0xfffe, [2, 0, 0, 0, 0, 0, 0, 1], 1, [1; 16]);
    let mut node = Box::new(Node::<LabProfile>::new(config, Capabilities::NONE));
    let mut interface = node.interface();
    // An empty table has room for an address.
    let _ = interface.add_address(InterfaceAddress { address: SUBJECT, prefix_len: 128 });
    let prefix = Ipv6Addr::UNSPECIFIED;
    let _ = interface.add_route(Route { prefix, prefix_len: 0, via: NextHop::Host });
    node
}

fn packet(header: &Header, text: &[u8]) -> Vec<u8> {
    let tcp_len = header.header_len() + text.len();
    let ip = Ip {
        traffic_class: Ecn::NotEct.traffic_class(),
        flow_label: 0,
        payload_len: tcp_len as u16,
        next_header: protocol::TCP,
        hop_limit: 64,
        src: PROBE,
        dst: SUBJECT,
    };
    let mut packet = vec![0; HEADER_LEN + tcp_len];
    // The buffer is as long as both headers.
    let _ = ip.emit(&mut packet);
    let _ = header.emit(&mut packet[HEADER_LEN..]);
    let (head, payload) = packet[HEADER_LEN..].split_at_mut(header.header_len());
    payload.copy_from_slice(text);
    let mut sum = checksum::Accumulator::new(ip.pseudo_header_sum(tcp_len, protocol::TCP));
    sum.push(payload);
    set_checksum(head, sum.sum());
    packet
}

/// Advertises a window of 100 octets. Passes if the subject never has more in flight.
fn flow_control(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    const NARROW: u16 = 100;
    let mut probe = Probe::writing(stack, config, NARROW);
    let mut most = 0;
    for _ in 0..8 {
        let acked = probe.end();
        probe.acknowledge(acked);
        probe.wait(Duration::from_millis(900));
        most = most.max(probe.flight(acked));
    }
    Some(most > 0 && most <= u32::from(NARROW))
}

/// Acknowledges nothing for 30 s. Passes if the subject then sends fewer segments at once than
/// before. Does not apply to windows of one segment.
fn congestion_control(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    let mut probe = Probe::writing(stack, config, WINDOW);
    let mut before = 0;
    for _ in 0..30 {
        let (acked, known) = (probe.end(), probe.seen.len());
        probe.acknowledge(acked);
        probe.wait(Duration::from_millis(600));
        before = before.max(probe.seen[known..].iter().filter(|seen| seen.len > 0).count());
    }
    let silent = probe.now;
    let end = probe.end();
    probe.wait(Duration::from_secs(30));
    let again = probe.texts(silent).find(|seen| end.wrapping_sub(seen.header.seq) as i32 > 0)?.at;
    let after = probe.texts(again).filter(|seen| seen.at == again).count();
    (before > 1).then_some(after < before)
}

/// Time until a retransmission after round trips of these lengths, in microseconds.
fn patience(stack: Option<Stack>, config: ConnectionConfig, trips_ms: [u64; 2]) -> Option<u64> {
    let mut probe = Probe::writing(stack, config, WINDOW);
    for trip in trips_ms.into_iter().cycle().take(12) {
        probe.wait(Duration::from_millis(trip));
        let end = probe.end();
        probe.acknowledge(end);
        // A stack with a timer of half a second sends at its next tick.
        if probe.flight(end) == 0 {
            probe.wait(Duration::from_millis(500));
        }
    }
    let first = probe.texts(Instant::ZERO).last()?.at;
    let sent = probe.seen.len();
    probe.wait(Duration::from_secs(60));
    let again = probe.seen[sent..].iter().find(|seen| seen.len > 0)?.at;
    Some((again - first).as_micros())
}

/// Passes if the subject waits longer after highly variable round trips.
fn rtt_estimation(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    let steady = patience(stack, config, [50, 50])?;
    let swinging = patience(stack, config, [900, 100])?;
    Some(swinging * 10 >= steady * 13)
}

/// The responses to data out of order, and then to the missing data.
fn out_of_order(stack: Option<Stack>, config: ConnectionConfig) -> Probe {
    let mut probe = Probe::listening(stack, config);
    probe.text(20, 20);
    probe.text(0, 20);
    probe.wait(Duration::from_secs(1));
    probe
}

fn reassembly(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    let probe = out_of_order(stack, config);
    let last = probe.seen.last()?.header;
    Some(last.ack == probe.seq.wrapping_add(40))
}

fn selective_acks(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    let probe = out_of_order(stack, config);
    Some(probe.seen.iter().any(|seen| !seen.header.options.sack.is_empty()))
}

/// Sends one segment in order. Passes if its acknowledgement is delayed.
fn delayed_acks(stack: Option<Stack>, config: ConnectionConfig) -> Option<bool> {
    let mut probe = Probe::listening(stack, config);
    let sent = probe.now;
    probe.text(0, 20);
    probe.wait(Duration::from_secs(1));
    let end = probe.seq.wrapping_add(20);
    let ack = probe.seen.iter().find(|seen| seen.header.ack == end)?;
    Some(ack.at > sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(stack: Option<Stack>, config: ConnectionConfig) -> Vec<Option<bool>> {
        FEATURES.iter().map(|(_, ask)| ask(stack, config)).collect()
    }

    fn config(mss: u16, buffer: usize) -> ConnectionConfig {
        ConnectionConfig {
            mss,
            send_buffer: buffer,
            receive_buffer: buffer,
            timestamps: true,
            ..ConnectionConfig::DEFAULT
        }
    }

    #[test]
    fn a_stack_of_one_segment_and_a_full_one_differ_in_every_answer_but_two() {
        let (yes, no) = (Some(true), Some(false));
        let uip = features(Some(Stack::Uip), config(48, 48));
        assert_eq!(uip, [yes, None, yes, yes, no, no, no, no]);
        let freebsd = features(Some(Stack::FreeBsd), config(474, 1848));
        assert_eq!(freebsd, [yes; 8]);
        assert_eq!(features(None, config(474, 1848)), [yes; 8]);
    }

    #[test]
    fn features_that_are_switched_off_are_not_found() {
        let off = ConnectionConfig {
            timestamps: false,
            sack: false,
            ack_every: 1,
            delayed_ack: Duration::ZERO,
            ..config(474, 1848)
        };
        for stack in [Some(Stack::FreeBsd), None] {
            let found = features(stack, off);
            assert_eq!(found[5..], [Some(false); 3], "{stack:?}");
        }
    }
}
