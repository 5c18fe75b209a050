//! A node with AODV keeps the laws of a layer, whatever it receives.

use crate::common::frames::{Heard, datagram, hear};
use crate::common::{global, local, node_routed, usual};
use kinglet::aodv::{self, Role};
use kinglet::radio::{Command, Event};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::wire::aodv::{RerrWriter, Rrep, Rreq, Unreachable};
use kinglet::wire::ieee802154::Frame;
use kinglet::{Aoded, Config, Node, StreamConnectError, mac, net, routing};
use kinglet_radio::Ack;
use kinglet_testkit::contract::{Subject, check};
use rand_core::Rng;
use rand_pcg::Pcg32;

const WAITING: usize = 3;
const PACKETS: usize = 12;
const OUTPUT: usize = 4;

kinglet::profile! {
    struct Discoverer {
        routing: Aoded<Self, WAITING>,
        packets: PACKETS,
        output: OUTPUT,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]>,
    }
}

impl aodv::Sizes for Discoverer {
    type Routes = [Option<aodv::Route>; 4];
    type Requests = [Option<aodv::Request>; 3];
    type Searches = [Option<aodv::Search>; 2];
    type Links = [Option<aodv::Link>; 4];
}

/// Node 1, with neighbours 8 and 9.
struct Device {
    node: Box<Node<Discoverer>>,
    socket: net::UdpHandle,
    handles: Vec<Handle>,
    sequence: u8,
}

/// A message of AODV, or noise.
fn some_message(random: &mut Pcg32) -> Vec<u8> {
    let [kind, a, b, c] = random.next_u32().to_le_bytes();
    let near = |dice: u8| [1, 2, 3, 4, 8, 9, aodv::OUTSIDE, 5][usize::from(dice & 7)];
    let number = u32::from(b & 15).wrapping_sub(8);
    let path_dr = (kind & 0xF0 != 0).then_some(u16::from_be_bytes([c, b]));
    let mut octets = vec![0; 80];
    let len = match kind % 4 {
        0 => {
            let rreq = Rreq {
                destination_only: true,
                ttl: 1 + (c & 15),
                hop_count: c >> 5,
                id: number,
                destination: near(a),
                destination_sequence: (a & 8 != 0).then_some(number),
                originator: u16::from(1 + (a >> 4)),
                originator_sequence: number,
                path_dr,
            };
            rreq.emit(&mut octets).unwrap();
            rreq.buffer_len()
        }
        1 => {
            let rrep = Rrep {
                hop_count: c >> 5,
                destination: near(a),
                destination_sequence: number,
                originator: 1 + u16::from(a >> 7),
                lifetime_ms: u32::from(c) * 100,
                path_dr,
            };
            rrep.emit(&mut octets).unwrap();
            rrep.buffer_len()
        }
        2 => {
            let mut writer = RerrWriter::new(&mut octets).unwrap();
            writer.entry(Unreachable { destination: near(a), sequence: number }).unwrap();
            writer.len()
        }
        _ => {
            random.fill_bytes(&mut octets);
            usize::from(a) % 80
        }
    };
    octets.truncate(len);
    octets
}

/// Returns a datagram, with hop limit 255 if it is from a neighbour.
fn packet(from: u16, (to, port): (core::net::Ipv6Addr, u16), data: &[u8]) -> Vec<u8> {
    match port {
        routing::PORT => datagram(local(from), to, 255, port, data),
        _ => datagram(global(from), to, 9, port, data),
    }
}

impl Device {
    fn hear(&mut self, now: Instant, from: u16, lqi: u8, packet: &[u8]) {
        self.sequence = self.sequence.wrapping_add(1);
        let payload = [&[0x41], &packet[..packet.len().min(100)]].concat();
        let (sequence, more) = (self.sequence, false);
        let heard = Heard { from, to: 1, sequence, more, lqi, payload: &payload };
        hear(&mut self.node, now, &heard);
    }
}

impl Subject for Device {
    /// Commands that a radio takes at once, with messages and packets in between.
    const DRAIN_BOUND: usize = 64;

    fn fresh(seed: u64) -> Self {
        let role = if seed.is_multiple_of(4) { Role::BorderRouter } else { Role::Router };
        let change = |config: &mut Config| config.mac.retry_delay_max = Duration::ZERO;
        let routing = |config: &Config| {
            Aoded::new(
                config.identity(),
                aodv::AodvConfig { role, ..aodv::AodvConfig::OFF },
                global(0),
            )
        };
        let mut node = node_routed::<Discoverer>(1, 1, 1, usual(), change, routing);
        let socket = node.datagrams().bind(7).unwrap();
        node.streams().listen(80, ListenConfig::default()).unwrap();
        Device { node, socket, handles: Vec::new(), sequence: 0 }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let [kind, a, b, c] = random.next_u32().to_le_bytes();
        let to = global(u16::from(2 + (a & 3)));
        let from = u16::from(8 + (b & 1));
        match kind % 8 {
            0 => format!("udp {:?}", self.node.datagrams().send(now, self.socket, to, 7, &[a; 30])),
            1 => {
                let opened = self.node.streams().connect(now, to, 80, ConnectionConfig::DEFAULT);
                self.handles.splice(0..0, opened.ok());
                self.handles.truncate(4);
                format!("connect {opened:?}")
            }
            2 => {
                let sent = self
                    .handles
                    .first()
                    .map(|handle| self.node.streams().send(*handle, &vec![a; usize::from(b) * 4]));
                format!("send {sent:?}")
            }
            3 => {
                // For this node, or to be forwarded, also back to its sender.
                let dst = [global(1), to, global(from), global(9)][usize::from(c & 3)];
                self.hear(now, from, c, &packet(from, (dst, 7), &[a; 20]));
                format!("a packet to {dst} from {from}")
            }
            4 | 5 => {
                let message = some_message(random);
                self.hear(now, from, c, &packet(from, (local(1), routing::PORT), &message));
                format!("{message:02x?} from {from}")
            }
            _ => {
                let received = Ack::Received { frame_pending: false };
                let ack = [Ack::Missing, received, received, Ack::NotAwaited][usize::from(c & 3)];
                let event = Event::Transmitted { sfd: now, ack };
                self.node.handle_radio(now, event, &mut []);
                format!("{event:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let submission = self.node.poll_radio(now)?;
        if let Command::Transmit { .. } = submission.command {
            let frame = Frame::parse(submission.frame).expect("a malformed frame");
            assert!(!frame.dst().is_empty(), "to nobody");
        }
        Some(format!("{submission:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.node.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let node = &self.node;
        let aodv = node.routing().aodv();
        let routes: Vec<_> = aodv.routes().collect();
        let (info, stats, net) = (node.info(), node.stats(), node.net().stats());
        format!("{info:?} {stats:?} {net:?} {routes:?} {:?} {:?}", aodv.info(), aodv.stats())
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.node.info().net;
        let used = PACKETS - info.free_packets;
        vec![(used, PACKETS), (info.unrouted, WAITING), (info.queued, OUTPUT + 2)]
    }
}

#[test]
fn a_node_that_discovers_routes_keeps_the_laws() {
    check::<Device>(0..40, 300);
}

#[test]
fn a_connection_is_opened_where_routing_can_discover_the_route() {
    let outside = "2001:db8:1::1".parse().unwrap();
    let connect = |seed, to| {
        let (mut node, now) = (Device::fresh(seed).node, Instant::from_secs(1));
        node.streams().connect(now, to, 80, ConnectionConfig::DEFAULT).map(|_| ())
    };
    assert_eq!(connect(1, global(2)), Ok(()));
    assert_eq!(connect(1, outside), Ok(()));
    // A border router has the routes out of the mesh itself.
    assert_eq!(connect(4, outside), Err(StreamConnectError::NoRoute));
}

/// Applications look for errors after each event of their node: without a deadline they would learn
/// of this one at the next event.
#[test]
fn a_search_without_result_is_reported_at_once() {
    let mut device = Device::fresh(1);
    let mut now = Instant::from_secs(1);
    let Device { node, socket, .. } = &mut device;
    node.datagrams().send(now, *socket, global(2), 7, b"x").unwrap();
    let soon = |now| Some(now + Duration::from_micros(1));
    while !node.net().has_errors() {
        assert!(now < Instant::from_secs(60), "the search does not end");
        while let Some(submission) = node.poll_radio(now) {
            if let Command::Transmit { .. } = submission.command {
                let event = Event::Transmitted { sfd: now, ack: Ack::NotAwaited };
                node.handle_radio(now, event, &mut []);
            }
        }
        if node.net().has_errors() {
            break;
        }
        assert_ne!(node.deadline(), soon(now), "nothing is to be reported yet");
        now = node.deadline().unwrap();
        node.handle_deadline(now);
    }
    assert_eq!(node.deadline(), soon(now));
    assert!(node.datagrams().poll_error().is_some());
}
