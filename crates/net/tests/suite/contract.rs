//! The network layer satisfies the layer contract, with any frames and any order of calls.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{
    Body, FrameLimits, Indirect, NetConfig, NextHop, Outgoing, QueueDiscipline, Red, Token,
    UdpHandle,
};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// A border router with a socket.
struct Router {
    net: Node,
    socket: UdpHandle,
    /// Tokens of the last frames given to the MAC.
    tokens: Vec<Token>,
    max_payload: usize,
}

/// Maximum number of frames of one packet at the smallest payload here: 1280 octets in units of 56.
const FRAMES: usize = 24;

impl Router {
    fn submit(&mut self, now: Instant, dst: u16, len: u16) -> bool {
        let outgoing = Outgoing {
            src: global(1),
            dst: global(dst),
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
            protocol: protocol::TCP,
            upper: &[0; 32],
            body: Body::External { key: u32::from(len), len },
        };
        self.net.submit(now, outgoing).is_ok()
    }

    fn hear(&mut self, now: Instant, dst: Address, frame: &[u8]) -> String {
        let heard = hear(&mut self.net, now, 9, dst, frame);
        if let Ok(Some(delivery)) = &heard {
            self.net.release(delivery.packet);
        }
        format!("{heard:?}")
    }
}

/// The source of packets by radio, and that of packets from the host.
const NEAR: Ipv6Addr = global(9);
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB9, 0, 0, 0, 0, 0, 9);

/// A packet that is well-formed, damaged or noise.
fn some_packet(random: &mut Pcg32, src: Ipv6Addr) -> Vec<u8> {
    let [a, b, c, d] = random.next_u32().to_le_bytes();
    let far = "2001:db9::1".parse().unwrap();
    let dst = [global(1), global(3), local(1), far, global(4), global(3)][usize::from(a % 6)];
    let kinds = [protocol::TCP, protocol::UDP, 200, 0, protocol::FRAGMENT];
    let next = kinds[usize::from(b) % kinds.len()];
    let mut body = vec![0; usize::from(c) * if d & 7 == 0 { 5 } else { 1 }];
    random.fill_bytes(&mut body);
    if let (protocol::FRAGMENT, [_, _, high, low, ..]) = (next, &mut body[..]) {
        // Mostly the first fragment, the second, or a whole packet.
        (*high, *low) = (0, *low & 0b1001);
        // A fragment of one of four packets.
        if let Some(identification) = body.get_mut(4..8) {
            identification.copy_from_slice(&[0, 0, 0, d >> 6]);
        }
        if c & 1 == 0 {
            body.truncate(body.len() & !7);
        }
    }
    let mut octets = packet(src, dst, next, &body);
    // Any ECN codepoint.
    octets[1] |= a & 0x30;
    if d & 24 == 24 {
        let at = usize::from(d >> 5);
        octets[at] ^= c;
    }
    octets
}

fn some_frame(random: &mut Pcg32) -> Vec<u8> {
    let dice = random.next_u32();
    match dice & 7 {
        0 => {
            let mut noise = vec![0; (dice >> 8 & 127) as usize];
            random.fill_bytes(&mut noise);
            noise
        }
        1..=3 => plain(&some_packet(random, NEAR)),
        _ => {
            // One of eight fragments of one of four tags, of 40 + 256 octets.
            let (tag, part) = ((dice >> 8 & 3) as u8, (dice >> 16 & 7) as u8);
            let whole = packet(global(9), global(3), protocol::TCP, &[tag; 256]);
            // Sometimes of a datagram that is too long.
            let size = if dice >> 24 & 7 == 0 { 0x05 } else { 0x01 };
            let head = [0xC0 | size, 0x28, 0, tag, 0x41];
            let from = usize::from(part) * 40;
            let to = (from + 40).min(whole.len());
            match part {
                0 => [&head[..], &whole[..40]].concat(),
                _ => [&[0xE0 | size, 0x28, 0, tag, part * 5], &whole[from..to]].concat(),
            }
        }
    }
}

impl Subject for Router {
    /// All queues (output 4, control 2, host 2, one external, one in progress) in the smallest
    /// frames, the reports, and changes of children.
    const DRAIN_BOUND: usize = 10 * FRAMES + 8 + 4 + 3;

    fn fresh(seed: u64) -> Self {
        let red = Red {
            min: (seed % 3) as u8,
            max: (seed % 5) as u8,
            max_p: if seed & 8 != 0 { 255 } else { 26 },
            weight: (seed % 10) as u8,
            packet_time: Duration::from_millis(seed % 3 * 25),
        };
        let config = NetConfig {
            forward: true,
            queue: if seed & 2 != 0 {
                QueueDiscipline::Red(red)
            } else {
                QueueDiscipline::TailDrop
            },
            queue_limit: if seed & 4 != 0 { u8::MAX } else { (seed % 7) as u8 },
            indirect: Indirect {
                limit: (seed % 5) as u8,
                lifetime: Duration::from_secs(seed % 4 * 4),
                polls: (seed % 6) as u8,
                burst: seed % 5 > 1,
            },
            ..NetConfig::new(Address::Short(1))
        };
        let mut net = bare(config, 1);
        net.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
        net.add_route(route("::".parse().unwrap(), 0, NextHop::Host)).unwrap();
        let socket = net.udp_bind(5683).unwrap();
        if seed & 1 != 0 {
            net.add_child(3).unwrap();
        }
        Router { net, socket, tokens: vec![Token(0)], max_payload: 70 + (seed % 40) as usize }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let len = (dice >> 16) as u16 % 1208;
        match dice & 15 {
            0 => format!("submit {}", self.submit(now, 3, len)),
            1 => {
                let data = vec![0; usize::from(len)];
                format!("send {:?}", self.net.udp_send(now, self.socket, global(3), 9, &data))
            }
            2 => format!("ping {:?}", self.net.ping(now, global(3), 1, len, &[0; 50])),
            3 => {
                let token = self.tokens[(dice >> 8) as usize % self.tokens.len()];
                format!("{:?}", self.net.handle_outcome(now, token, dice & 16 == 0))
            }
            4 | 5 => {
                let heard = self.net.handle_host_packet(now, &some_packet(random, OUTSIDE));
                if let Ok(Some(delivery)) = &heard {
                    self.net.release(delivery.packet);
                }
                format!("{heard:?}")
            }
            6 => {
                let dst = [Address::BROADCAST, Address::Short(7), Address::None];
                let frame = some_frame(random);
                self.hear(now, dst[(dice >> 8) as usize % 3], &frame)
            }
            7 if dice & 0x170 == 0 => {
                format!("{} {:?}", self.net.remove_child(3), self.net.add_child(4))
            }
            7 if dice & 0x170 == 0x10 => {
                format!("{} {:?}", self.net.remove_child(4), self.net.add_child(3))
            }
            7 | 8 => {
                let child = if dice & 16 == 0 { 3 } else { 4 };
                format!("{child} asks: {}", self.net.handle_data_request(now, child))
            }
            _ => {
                let frame = some_frame(random);
                self.hear(now, Address::Short(1), &frame)
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; 1280];
        let limits = FrameLimits { max_payload: self.max_payload };
        if self.net.pending().is_some() {
            let out = self.net.poll_frame(now, limits, &Pattern, &mut buf);
            let out = out.expect("what is pending is given, and nothing is ever stale here");
            self.tokens.insert(0, out.token);
            self.tokens.truncate(3);
            return Some(format!("{out:?} {:02x?}", &buf[..out.len]));
        }
        if let Some(len) = self.net.poll_host_packet(now, &Pattern, &mut buf) {
            return Some(format!("to the host: {:02x?}", &buf[..len]));
        }
        if let Ok(Some(datagram)) = self.net.udp_recv(self.socket, &mut buf) {
            return Some(format!("{datagram:?}"));
        }
        if let Some(change) = self.net.poll_pending_change() {
            return Some(format!("pending {change:?}"));
        }
        if let Some(reply) = self.net.poll_echo_reply() {
            return Some(format!("{reply:?}"));
        }
        self.net.poll_error().map(|report| format!("{report:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.net.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.net.handle_deadline(now);
    }

    fn observe(&self) -> String {
        format!("{:?} {:?}", self.net.info(), self.net.stats())
    }

    fn refuse(&mut self, now: Instant) -> bool {
        let mut short = [0; 39];
        let limits = FrameLimits { max_payload: self.max_payload };
        if self.net.pending().is_some() {
            assert_eq!(self.net.poll_frame(now, limits, &Pattern, &mut short), None);
            return true;
        }
        self.net.info().host_queued > 0 && {
            assert_eq!(self.net.poll_host_packet(now, &Pattern, &mut short), None);
            true
        }
    }

    fn owed(&self) -> usize {
        let info = self.net.info();
        // The packet in progress holds a slot or is the external one.
        PACKETS - info.free_packets + usize::from(info.external)
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.net.info();
        vec![
            (PACKETS - info.free_packets, PACKETS),
            (info.reassemblies, 2),
            (info.ipv6_partials, 2),
            (info.queued, 4 + 2),
            (info.host_queued, 2),
            (info.indirect, 4),
        ]
    }

    /// Packets to forward.
    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        let octets = packet(global(9), global(3), protocol::TCP, &[0; 40]);
        Some(hear(&mut self.net, now, 9, Address::Short(1), &plain(&octets)).is_ok())
    }

    /// An unfragmented segment for the upper layer: the acknowledgement that empties the queues.
    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        let octets = packet(global(9), global(1), protocol::TCP, &[0; 20]);
        let heard = hear(&mut self.net, now, 9, Address::Short(1), &plain(&octets));
        let delivery = heard.ok()??;
        self.net.release(delivery.packet);
        Some(true)
    }
}

#[test]
fn the_network_layer_keeps_the_laws() {
    check::<Router>(0..64, 250);
}
