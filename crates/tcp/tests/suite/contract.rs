//! The endpoint keeps the contract of a layer, whatever segments arrive and in whatever order it is
//! called.

use crate::common::*;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use kinglet_wire::checksum;
use kinglet_wire::tcp::{Cookie, Flags, Header, Options, SackBlock, Timestamps, set_checksum};
use rand_core::Rng;
use rand_pcg::Pcg32;

plan!(Policies {
    congestion: NewReno,
    send: 8192,
    receive: 8192,
    pieces: 2,
    features: WithPolicies,
    segments: [SegmentRecord; 10],
    connections: 3,
    servers: 2,
});

plan!(Slow {
    congestion: NewReno,
    send: 4096,
    receive: 4096,
    pieces: 2,
    features: WithPolicies<Small>,
    segments: ByTimeout,
    connections: 3,
    servers: 0,
});

/// An endpoint, and an attacker that receives all that it sends.
struct World<S: Sizes> {
    ep: Box<Endpoint<Pair, S>>,
    config: ConnectionConfig,
    handles: Vec<Handle>,
    last: Header,
    /// The last Fast Open cookie that was seen, or the request for one.
    cookie: Cookie,
    /// The last payload that was sent.
    payload: Option<PayloadRef>,
}

impl<S: Sizes> World<S> {
    /// A segment near the last one that was sent, or a new SYN, or noise.
    fn segment(&self, random: &mut Pcg32) -> Vec<u8> {
        let [a, b, c, d] = random.next_u32().to_le_bytes();
        if a & 31 == 0 {
            let mut noise = vec![0; usize::from(b)];
            random.fill_bytes(&mut noise);
            return noise;
        }
        let near = |base: u32, by: u8| base.wrapping_add(u32::from(by)).wrapping_sub(60);
        let mut options = Options::NONE;
        if b & 1 == 0 {
            let val = random.next_u32() >> 20;
            options.timestamps = Some(Timestamps { val, ecr: 0 });
        }
        if b & 6 == 0 {
            let left = near(self.last.seq, d);
            options.sack.push(SackBlock { left, right: left.wrapping_add(u32::from(c)) });
            options.sack_permitted = true;
        }
        if c & 3 == 0 {
            options.fast_open = Some(self.cookie);
        } else if c & 31 == 1 {
            options.fast_open = Cookie::new(&[d; 4]);
        }
        let exact = b & 8 == 0;
        let flags = match a & 7 {
            0 => Flags::from_bits(random.next_u32() as u16),
            1 => Flags::SYN,
            3 if b & 0x70 == 0x70 => Flags::SYN | Flags::ACK,
            2 => Flags::FIN | Flags::ACK,
            _ => Flags::ACK,
        };
        let header = Header {
            src_port: if self.last.dst_port == 0 { 9 } else { self.last.dst_port },
            dst_port: if self.last.src_port == 0 { 80 } else { self.last.src_port },
            seq: if exact { self.last.ack } else { near(self.last.ack, c) },
            ack: if exact { self.last.seq.wrapping_add(1) } else { near(self.last.seq, d) },
            flags,
            window: if b & 0x70 == 0 { 0 } else { u16::from(b) * 8 },
            urgent: 0,
            options,
        };
        let mut octets = vec![0; header.header_len()];
        header.emit(&mut octets).unwrap();
        let payload = vec![d; if b & 0x80 == 0 { 0 } else { usize::from(c) }];
        let total = octets.len() + payload.len();
        let sum = checksum::add(checksum::sum(&payload), Pair(1, 2).pseudo_header_sum(total));
        set_checksum(&mut octets, sum);
        octets.extend_from_slice(&payload);
        octets
    }
}

impl<S: Sizes> World<S> {
    /// Calls of link, network, application and node on a connection.
    fn report(&mut self, now: Instant, h: Handle, dice: u32) -> String {
        let Header { seq, src_port, dst_port, .. } = self.last;
        match dice >> 4 & 7 {
            0 => format!("acknowledge {:?}", self.ep.acknowledge(h)),
            1 => format!("mss {:?}", self.ep.set_mss(h, (dice >> 16) as u16 % 400)),
            2 if dice & 0x700 == 0 => {
                let linger = Some(Duration::from_secs(3)).filter(|_| dice & 0x800 == 0);
                format!("release {:?}", self.ep.release(now, h, linger))
            }
            3 => {
                self.config.pacing ^= true;
                self.config.positive_acks ^= dice & 0x700 == 0;
                self.config.delayed_ack = Duration::from_millis(u64::from(dice >> 23));
                format!("configure {:?}", self.ep.configure(now, h, &self.config))
            }
            4 if dice & 0x700 == 0 => {
                self.ep.notify_network_error(
                    &Pair(1, 2),
                    (src_port, dst_port),
                    seq,
                    SoftError::Unreachable,
                );
                "unreachable".to_owned()
            }
            5 => {
                self.ep.notify_packet_too_big(&Pair(1, 2), (src_port, dst_port), seq, dice >> 20);
                "too big".to_owned()
            }
            6 if dice & 0x100 == 0 => format!("release {}", self.ep.release_acks(h)),
            6 => {
                self.ep.hold_acks(h);
                "hold".to_owned()
            }
            _ => {
                self.payload.into_iter().for_each(|payload| self.ep.notify_lost(now, payload));
                format!("lost {:?}", self.payload)
            }
        }
    }
}

impl<S: Sizes> Subject for World<S> {
    /// Three rings of 700 octets, in the worst case an octet a segment, and the small tables.
    const DRAIN_BOUND: usize = 3 * 700 + 32;

    fn fresh(seed: u64) -> Self {
        let keepalive =
            KeepAlive { idle: Duration::from_secs(7), interval: Duration::from_secs(1), probes: 3 };
        let config = ConnectionConfig {
            mss: 64 + (seed % 300) as u16,
            send_buffer: 700,
            receive_buffer: 700,
            sack: seed & 1 == 0,
            timestamps: seed & 2 == 0,
            nagle: seed & 4 == 0,
            keepalive: (seed & 8 == 0).then_some(keepalive),
            fast_open: seed & 16 == 0,
            pacing: seed.is_multiple_of(3),
            lossy_path: seed.is_multiple_of(5),
            ecn: seed % 3 == 1,
            delayed_ack: Duration::from_millis(seed % 5 * 100),
            ack_every: (seed % 7) as u8,
            random_backoff: seed % 5 > 2,
            link_losses: seed % 7 > 1,
            adaptive_mss: seed % 7 == 3,
            user_timeout: (seed % 5 == 1).then_some(Duration::from_secs(9)),
            initial_window: (seed % 11) as u8,
            positive_acks: seed & 32 == 0,
            rto: [Rto::RoundTrips, Rto::AtLeast, Rto::Static, Rto::FirstRoundTrip]
                [(seed >> 2) as usize % 4],
            window_limit: (seed % 9) as u8,
            fast_recovery: !seed.is_multiple_of(3),
            ..Default::default()
        };
        let mut ep: Box<Endpoint<Pair, S>> =
            Box::new(Endpoint::new(TcpConfig::new([seed as u8; 16])));
        ep.listen(80, ListenConfig { fast_open: 2, ..listening(2, config) }).unwrap();
        World {
            ep,
            config,
            handles: Vec::new(),
            last: Header::default(),
            cookie: Cookie::REQUEST,
            payload: None,
        }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let handle = self.handles.last().copied();
        match (dice & 15, handle) {
            (0, _) => {
                let connected = self.ep.connect(now, Pair(1, 2), 9, self.config);
                self.handles.extend(connected);
                format!("connect {connected:?}")
            }
            (1, _) => {
                let accepted = self.ep.accept(80);
                self.handles.extend(accepted);
                format!("accept {accepted:?}")
            }
            (2, Some(h)) => format!("refer {:?}", self.ep.send_static(h, &[2; 333])),
            (3, Some(h)) => format!("send {:?}", self.ep.send(h, &[1; 333])),
            (4, Some(h)) => format!("recv {:?}", self.ep.recv(h, &mut [0; 99])),
            (5, Some(h)) if dice & 0x70 == 0 => format!("close {:?}", self.ep.close(h)),
            (5, Some(h)) if dice & 0x70 == 0x10 => {
                self.handles.pop();
                format!("abort {:?}", self.ep.abort(h))
            }
            (6, Some(h)) => self.report(now, h, dice),
            _ => {
                let octets = self.segment(random);
                let ecn = Ecn::of((dice >> 4) as u8);
                format!("{:?}", self.ep.handle_packet(now, Pair(1, 2), ecn, &octets))
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let packet = self.ep.poll_packet(now)?;
        let mut payload = vec![0; usize::from(packet.payload.len)];
        self.payload = Some(packet.payload).filter(|_| !payload.is_empty()).or(self.payload);
        if !payload.is_empty() {
            self.ep.read_payload(packet.payload, 0, &mut payload).expect("fresh");
        }
        let segment = kinglet_wire::tcp::Segment::parse(&packet.header).expect("well-formed");
        self.last = segment.header;
        self.cookie = segment.header.options.fast_open.unwrap_or(self.cookie);
        Some(format!("{:?} {payload:?}", segment.header))
    }

    fn deadline(&self) -> Option<Instant> {
        self.ep.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.ep.handle_deadline(now);
    }

    fn observe(&self) -> String {
        // Instants of long ago are reported as 36 minutes before the call, at any call.
        let timeless =
            |info| Info { last_sent: Instant::ZERO, last_progress: Instant::ZERO, ..info };
        let infos: Vec<_> = self.handles.iter().map(|h| self.ep.info(*h).map(timeless)).collect();
        let expected: Vec<_> = self.ep.expected_by_each().collect();
        format!("{:?} {infos:?} {expected:?}", self.ep.stats())
    }
}

#[test]
fn the_endpoint_keeps_the_laws() {
    check::<World<Plan>>(0..64, 300);
}

#[test]
fn one_with_the_policies_of_simpler_tcps_keeps_them() {
    check::<World<Policies>>(0..128, 300);
}

#[test]
fn one_that_waits_for_its_timer_keeps_them() {
    check::<World<Slow>>(0..64, 300);
}
