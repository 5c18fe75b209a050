//! The composed stack keeps the ten laws of a layer, with any frames, events and calls.

mod common;
use common::*;
use kinglet::mac::Submission;
use kinglet::net::{NextHop, Route, UdpHandle};
use kinglet::radio::{Access, Ack, Capabilities, Command, Event};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::{Address, Frame, FrameType, PanId, Repr, Version};
use kinglet::wire::ipv6::{Header, protocol};
use kinglet::wire::{checksum, tcp};
use kinglet::{BorderRouter, Config, Node};
use kinglet_testkit::contract::{Subject, check};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::cell::RefCell;

/// A border router.
const ROUTER: u8 = 0;
/// One that sleeps and has node 9 as its parent.
const LEAF: u8 = 1;
/// One whose only neighbour, node 2, sleeps.
const PARENT: u8 = 2;

/// A border router of this kind with a listener, a socket and the handles that it was given.
struct Device<const KIND: u8> {
    // Reading the layers' counters takes `&mut`.
    node: RefCell<Box<Node<BorderRouter>>>,
    socket: UdpHandle,
    handles: Vec<Handle>,
}

/// A whole IPv6 packet from node 9 or a host.
fn some_packet(random: &mut Pcg32) -> Vec<u8> {
    let [a, b, c, d] = random.next_u32().to_le_bytes();
    let src = if a & 1 == 0 { global(9) } else { "2001:db8:1::1".parse().unwrap() };
    let dst = [global(1), global(1), global(3), local(1)][usize::from(a >> 1 & 3)];
    let mut upper = vec![0; usize::from(c) * if d & 7 == 0 { 5 } else { 1 } + 20];
    random.fill_bytes(&mut upper);
    let next_header = [protocol::TCP, protocol::TCP, protocol::UDP, 200][usize::from(b & 3)];
    if next_header == protocol::TCP {
        // To the listener or the first ephemeral ports, with numbers that are sometimes near.
        let header = tcp::Header {
            src_port: 80,
            dst_port: if b & 4 == 0 { 80 } else { 49_152 + u16::from(b >> 4) },
            seq: u32::from(c),
            ack: u32::from(d),
            flags: [tcp::Flags::SYN, tcp::Flags::ACK, tcp::Flags::RST][usize::from(b >> 3) % 3],
            ..tcp::Header::default()
        };
        if header.emit(&mut upper).is_ok() {
            let sum = checksum::pseudo_header(src, dst, upper.len() as u32, protocol::TCP);
            let mut rest = checksum::Accumulator::new(sum);
            rest.push(&upper[20..]);
            let sum = rest.sum();
            tcp::set_checksum(&mut upper[..20], sum);
        }
    }
    let (traffic_class, flow_label, hop_limit) = (0, 0, 64);
    let payload_len = upper.len() as u16;
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut packet = vec![0; 40];
    header.emit(&mut packet).unwrap();
    packet.extend_from_slice(&upper);
    if d & 24 == 24 {
        let at = usize::from(d >> 5);
        packet[at] ^= c;
    }
    packet
}

fn some_frame(random: &mut Pcg32) -> Vec<u8> {
    let [kind, sequence, noise, tag] = random.next_u32().to_le_bytes();
    let repr = Repr {
        frame_type: FrameType::Data,
        version: Version::V2006,
        ack_request: kind & 4 != 0,
        frame_pending: false,
        sequence,
        pan_id: PanId(0xabcd),
        dst: if kind & 24 == 24 { Address::BROADCAST } else { Address::Short(1) },
        src: Address::Short(9),
        security: None,
        csl: None,
        filling: 0,
    };
    let mut frame = vec![0; 125];
    random.fill_bytes(&mut frame);
    let mut len = repr.emit(&mut frame).unwrap();
    let packet = some_packet(random);
    match kind & 3 {
        0 => len += usize::from(noise) % 100,
        // A fragment of a packet, perhaps one of several with this tag.
        1 => {
            let head = [0xC0 | (packet.len() >> 8) as u8, packet.len() as u8, 0, tag & 3, 0x41];
            let part = &packet[..packet.len().min(80) & !7];
            frame[len..len + 5].copy_from_slice(&head);
            frame[len + 5..len + 5 + part.len()].copy_from_slice(part);
            len += 5 + part.len();
        }
        _ => {
            let part = &packet[..packet.len().min(100)];
            frame[len] = 0x41;
            frame[len + 1..len + 1 + part.len()].copy_from_slice(part);
            len += 1 + part.len();
        }
    }
    frame.truncate(len);
    frame
}

/// Node 2 asks for data.
fn data_request(sequence: u8) -> [u8; 10] {
    [0x63, 0x88, sequence, 0xCD, 0xAB, 1, 0, 2, 0, 4]
}

fn some_event(now: Instant, random: &mut Pcg32) -> (Event, Vec<u8>) {
    let dice = random.next_u32();
    let sfd = now - Duration::from_micros(u64::from(random.next_u32() % 5_000));
    let received = [false, true].map(|frame_pending| Ack::Received { frame_pending });
    let acks = [Ack::Missing, Ack::NotAwaited, received[0], received[1]];
    match dice % 8 {
        0 => (Event::ChannelBusy, Vec::new()),
        1 if dice & 0x700 == 0 => (Event::Missed, Vec::new()),
        1..=4 => (Event::Transmitted { sfd, ack: acks[(dice >> 16) as usize % 4] }, Vec::new()),
        _ => {
            let frame = some_frame(random);
            let len = frame.len() as u8;
            (Event::Received { sfd, len, rssi_dbm: -70, lqi: 100, acked: true }, frame)
        }
    }
}

impl<const KIND: u8> Subject for Device<KIND> {
    /// The radio's three; for the host its queue of 16, and all that TCP may send at once: four
    /// rings of 4096 octets in segments of 64 at the least, 4 half-open and 4 finished connections,
    /// and a few answers to strangers.
    const DRAIN_BOUND: usize = 3 + 16 + 4 * 64 + 16;

    fn fresh(seed: u64) -> Self {
        let bit = |n: u64, set| {
            if seed >> n & 1 != 0 { set } else { Capabilities::NONE }
        };
        let capabilities = bit(0, Capabilities::AUTO_ACK)
            | bit(1, Capabilities::ACK_WAIT)
            | bit(2, Capabilities::CSMA)
            | bit(3, Capabilities::SCHEDULED);
        let leaf = |config: &mut Config| config.mac.rx_on_when_idle = KIND != LEAF;
        let mut node = node_with::<BorderRouter>(1, 1, 9, capabilities, leaf);
        let prefix = core::net::Ipv6Addr::UNSPECIFIED;
        let route = Route { prefix, prefix_len: 0, via: NextHop::Host };
        node.net().add_route(route).unwrap();
        match KIND {
            LEAF => node.set_parent(Instant::ZERO, Some(9)).unwrap(),
            PARENT => node.add_child(2).unwrap(),
            _ => {}
        }
        let socket = node.net().udp_bind(7).unwrap();
        node.tcp_listen(80, ListenConfig::default()).unwrap();
        Device { node: RefCell::new(node), socket, handles: Vec::new() }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let node = self.node.get_mut();
        let to = if dice & 16 == 0 { global(9) } else { "2001:db8:1::1".parse().unwrap() };
        let handle = self.handles.get((dice >> 8) as usize % 8).copied();
        let data = vec![dice as u8; (dice >> 16) as usize % 1_300];
        match (dice & 15, handle) {
            (0, _) => {
                let opened = node.tcp_connect(now, to, 80, ConnectionConfig::default());
                if let Ok(handle) = opened {
                    self.handles.insert(0, handle);
                    self.handles.truncate(8);
                }
                format!("connect {opened:?}")
            }
            (1, _) => {
                self.handles.splice(0..0, node.tcp().accept(80));
                format!("handles {:?}", self.handles)
            }
            (2, Some(handle)) => format!("send {:?}", node.tcp().send(handle, &data)),
            (3, Some(handle)) => {
                format!("recv {:?}", node.tcp().recv(handle, &mut data.clone()))
            }
            (4, Some(handle)) if dice & 32 == 0 => format!("{:?}", node.tcp().close(handle)),
            (4, Some(handle)) => format!("{:?}", node.tcp().abort(handle)),
            (5, _) => format!("udp {:?}", node.net().udp_send(now, self.socket, to, 9, &data)),
            (6, _) => format!("ping {:?}", node.net().ping(now, to, 1, 1, &data)),
            (7, _) => format!("udp {:?}", node.net().udp_recv(self.socket, &mut data.clone())),
            (8, _) => {
                node.handle_host_packet(now, &some_packet(random));
                "host".to_owned()
            }
            (9, _) if KIND == LEAF && dice & 64 != 0 => {
                let until = now + Duration::from_micros(u64::from(dice >> 8));
                node.expect(now, now, until);
                format!("expect {until:?}")
            }
            (9, _) if KIND == PARENT => {
                let mut frame = data_request((dice >> 8) as u8);
                let len = frame.len() as u8;
                let event = Event::Received { sfd: now, len, rssi_dbm: 0, lqi: 0, acked: true };
                node.handle_radio(now, event, &mut frame);
                "data request".to_owned()
            }
            _ => {
                let (event, mut frame) = some_event(now, random);
                node.handle_radio(now, event, &mut frame);
                format!("{event:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let node = self.node.get_mut();
        if let Some(submission) = node.poll_radio(now) {
            if let Command::Transmit { .. } = submission.command {
                assert!(Frame::parse(submission.frame).is_ok(), "a malformed frame");
            }
            return Some(format!("{submission:?}"));
        }
        let mut buf = [0; 1280];
        let len = node.poll_host_packet(now, &mut buf)?;
        Some(format!("to the host: {:02x?}", &buf[..len]))
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.borrow().deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.node.get_mut().handle_deadline(now);
    }

    fn observe(&self) -> String {
        let mut node = self.node.borrow_mut();
        let infos: Vec<_> = self.handles.iter().map(|&handle| node.tcp().info(handle)).collect();
        let (net, tcp) = (*node.net().stats(), *node.tcp().stats());
        let (info, stats, mac) = (node.info(), node.stats(), node.mac().stats());
        format!("{info:?} {stats:?} {mac:?} {net:?} {tcp:?} {infos:?}")
    }

    fn refuse(&mut self, now: Instant) -> bool {
        let node = self.node.get_mut();
        // The first command sets the mode, which is the driver's to hold and not to refuse.
        let submitted = match node.poll_radio(now) {
            Some(Submission { command: Command::Transmit { access, .. }, .. }) => Some(access),
            _ => None,
        };
        if let Some(access) = submitted {
            let before = node.info().mac.slots_used;
            node.radio_refused(now);
            assert_eq!(node.info().mac.slots_used, before, "a frame is lost");
            return access != Access::Immediate;
        }
        node.info().net.host_queued > 0 && {
            assert_eq!(node.poll_host_packet(now, &mut [0; 39]), None);
            true
        }
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.node.borrow().info();
        vec![
            (info.mac.slots_used, 4),
            (32 - info.net.free_packets, 32),
            (info.net.reassemblies, 8),
            (info.net.queued, 28 + 2),
            (info.net.host_queued, 16),
            (info.net.indirect, 16),
        ]
    }

    /// Datagrams.
    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        let node = self.node.get_mut();
        Some(node.net().udp_send(now, self.socket, global(9), 9, &[0; 60]).is_ok())
    }

    /// A segment in one frame, which the full queues must not keep away from TCP.
    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        let mut frame = [0; 125];
        let sequence = (now.as_micros() >> 3) as u8;
        let repr = Repr {
            frame_type: FrameType::Data,
            version: Version::V2006,
            ack_request: false,
            frame_pending: false,
            sequence,
            pan_id: PanId(0xabcd),
            dst: Address::Short(1),
            src: Address::Short(8),
            security: None,
            csl: None,
            filling: 0,
        };
        let start = repr.emit(&mut frame).unwrap();
        let (src, dst) = (global(8), global(1));
        let (traffic_class, flow_label, hop_limit, payload_len) = (0, 0, 64, 20);
        let next_header = protocol::TCP;
        let header =
            Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
        frame[start] = 0x41;
        header.emit(&mut frame[start + 1..]).unwrap();
        let len = start + 61;
        let node = self.node.get_mut();
        let before = node.tcp().stats().received;
        let event = Event::Received { sfd: now, len: len as u8, rssi_dbm: 0, lqi: 0, acked: true };
        node.handle_radio(now, event, &mut frame[..len]);
        Some(node.tcp().stats().received != before)
    }
}

#[test]
fn the_node_keeps_the_ten_laws() {
    check::<Device<ROUTER>>(64, 300);
}

#[test]
fn a_node_that_sleeps_keeps_the_ten_laws() {
    check::<Device<LEAF>>(32, 300);
}

#[test]
fn a_node_whose_neighbour_sleeps_keeps_the_ten_laws() {
    check::<Device<PARENT>>(32, 300);
}
