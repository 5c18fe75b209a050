//! Two endpoints and a link between them that loses, delays, reorders and duplicates, driven by a
//! seeded generator, so that every failure repeats.
#![allow(unreachable_pub, reason = "a module of test files")]
#![allow(clippy::arithmetic_side_effects, reason = "tests compute with constants")]

pub mod script;

use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant, earliest};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;
use std::hash::Hasher;

/// An address pair as seen by one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair(pub u8, pub u8);

impl Peer for Pair {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        // Symmetric, as a real pseudo-header's sum is.
        u16::from(self.0) + u16::from(self.1) + tcp_len as u16 + 6
    }
    fn hash_into<H: Hasher>(&self, state: &mut H) {
        state.write(&[self.0, self.1]);
    }
    fn is_unicast(&self) -> bool {
        self.1 != 255
    }
}

/// A memory plan: octets of the buffers, and lengths of tables.
macro_rules! plan {
    ($name:ident {
        congestion: $congestion:ty, send: $send:literal, receive: $receive:literal,
        pieces: $pieces:literal, features: $features:ty, segments: $segments:ty,
        connections: $connections:literal, servers: $servers:literal,
    }) => {
        /// A memory plan.
        pub(crate) struct $name;
        impl Sizes for $name {
            type Congestion = $congestion;
            type SendBuffer = [u8; $send];
            type Pieces = [Piece; $pieces];
            type ReceiveBuffer = [u8; $receive];
            type ReceiveMap = [u8; $receive / 8];
            type Features = $features;
            type Segments = $segments;
            type Connections<K: Peer> = [Slot<K, Self>; $connections];
            type Listeners = [Option<Listener>; 2];
            type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 3];
            type TimeWait<K: Peer> = [Option<TimeWait<K>>; 2];
            type Servers<K: Peer> = [Option<KnownServer<K>>; $servers];
        }
    };
}

plan!(Plan {
    congestion: NewReno,
    send: 8192,
    receive: 8192,
    pieces: 2,
    features: Full,
    segments: [SegmentRecord; 10],
    connections: 3,
    servers: 2,
});

pub type Ep = Endpoint<Pair, Plan>;

/// Settings of a listener.
pub fn listening(backlog: u8, connection: ConnectionConfig) -> ListenConfig {
    ListenConfig { backlog, connection, ..ListenConfig::default() }
}

pub fn endpoint(id: u8) -> Box<Ep> {
    Box::new(Endpoint::new(TcpConfig::new([id; 16])))
}

/// Properties of the link; probabilities in units of 1/1000.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub loss: u32,
    pub duplicate: u32,
    pub reorder: u32,
    /// Share of the ECN-capable segments.
    pub mark: u32,
    pub delay: Duration,
    /// Time a segment occupies the link, per octet.
    pub per_octet: Duration,
}

pub const PERFECT: Link = Link {
    loss: 0,
    duplicate: 0,
    reorder: 0,
    mark: 0,
    delay: Duration::from_millis(20),
    per_octet: Duration::from_micros(50),
};

struct Flying {
    at: Instant,
    ecn: Ecn,
    octets: Vec<u8>,
}

/// Returns whether to drop a segment, given its sender, its ordinal there and its octets.
type Filter = Box<dyn FnMut(usize, usize, &[u8]) -> bool>;

/// A network of endpoints with the usual plan.
pub type Net = Network<Plan>;

pub struct Network<S: Sizes> {
    pub now: Instant,
    pub ends: [Box<Endpoint<Pair, S>>; 2],
    pub link: Link,
    flying: [VecDeque<Flying>; 2],
    busy_until: [Instant; 2],
    rng: Pcg64Mcg,
    /// Drops segments on purpose.
    pub filter: Option<Filter>,
    pub sent: [usize; 2],
    /// All segments sent: (time, sender, octets).
    pub log: Vec<(Instant, usize, Vec<u8>)>,
    pub keep_log: bool,
}

impl<S: Sizes> Network<S> {
    pub fn new(link: Link, seed: u64) -> Self {
        Network {
            now: Instant::from_secs(1),
            ends: [1, 2].map(|id| Box::new(Endpoint::new(TcpConfig::new([id; 16])))),
            link,
            flying: [VecDeque::new(), VecDeque::new()],
            busy_until: [Instant::ZERO; 2],
            rng: Pcg64Mcg::new(0x9e37_79b9_7f4a_7c15 ^ u128::from(seed)),
            filter: None,
            sent: [0; 2],
            log: Vec::new(),
            keep_log: true,
        }
    }

    fn chance(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.rng.next_u32() % 1000 < per_mille
    }

    pub fn pair(side: usize) -> Pair {
        if side == 0 { Pair(1, 2) } else { Pair(2, 1) }
    }

    fn drain(&mut self, side: usize) {
        let mut budget = 1000;
        // A link that is busy is a radio without a free buffer: nothing is polled.
        while self.busy_until[side] <= self.now {
            let Some(packet) = self.ends[side].poll_packet(self.now) else { break };
            assert_eq!(self.ends[side].check(), Ok(()));
            budget -= 1;
            assert!(budget > 0, "poll_packet does not end");
            let mut octets = packet.header.to_vec();
            let mut payload = vec![0; usize::from(packet.payload.len)];
            if !payload.is_empty() {
                self.ends[side].read_payload(packet.payload, 0, &mut payload).unwrap();
            }
            octets.extend_from_slice(&payload);
            self.launch(side, packet.ecn, octets);
        }
    }

    fn launch(&mut self, side: usize, ecn: Ecn, octets: Vec<u8>) {
        let ordinal = self.sent[side];
        self.sent[side] += 1;
        if self.keep_log {
            self.log.push((self.now, side, octets.clone()));
        }
        let air = self.link.per_octet * (octets.len() as u32 + 40);
        self.busy_until[side] = self.now + air;
        let dropped = self.filter.as_mut().is_some_and(|f| f(side, ordinal, &octets));
        if dropped || self.chance(self.link.loss) {
            return;
        }
        let marked = ecn != Ecn::NotEct && self.chance(self.link.mark);
        let ecn = if marked { Ecn::Ce } else { ecn };
        let copies = if self.chance(self.link.duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            let mut at = self.busy_until[side] + self.link.delay;
            if self.chance(self.link.reorder) {
                at += Duration::from_micros(u64::from(self.rng.next_u32() % 150_000));
            }
            let place = self.flying[side].partition_point(|f| f.at <= at);
            self.flying[side].insert(place, Flying { at, ecn, octets: octets.clone() });
        }
    }

    /// Processes one event: drains both ends and advances time to the next event. Returns `false`
    /// if there is none.
    pub fn step(&mut self, until: Instant) -> bool {
        for side in 0..2 {
            self.drain(side);
        }
        let mut next = None;
        for side in 0..2 {
            next = earliest(next, self.flying[side].front().map(|f| f.at));
            next = earliest(next, self.ends[side].deadline());
            if self.busy_until[side] > self.now {
                next = earliest(next, Some(self.busy_until[side]));
            }
        }
        let Some(next) = next.filter(|n| *n <= until) else {
            self.now = until;
            return false;
        };
        assert!(
            next >= self.now
                || self.ends.iter().any(|e| e.deadline().is_some_and(|d| d <= self.now))
        );
        self.now = self.now.max(next);
        for side in 0..2 {
            while self.flying[side].front().is_some_and(|f| f.at <= self.now) {
                let f = self.flying[side].pop_front().unwrap();
                let peer = Self::pair(1 - side);
                let _ = self.ends[1 - side].handle_packet(self.now, peer, f.ecn, &f.octets);
            }
            if self.ends[side].deadline().is_some_and(|d| d <= self.now) {
                self.ends[side].handle_deadline(self.now);
                assert!(self.ends[side].deadline().is_none_or(|d| d > self.now), "stale deadline");
            }
            assert_eq!(self.ends[side].check(), Ok(()));
        }
        true
    }

    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// Runs until `done` or for `limit`; returns whether `done`.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let until = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if !self.step(until) {
                return done(self);
            }
        }
    }

    /// Opens a connection from end 0 to end 1, port 80.
    pub fn open(&mut self, client: ConnectionConfig, server: ConnectionConfig) -> [Handle; 2] {
        let listen = listening(3, server);
        self.ends[1].listen(80, listen).unwrap();
        let c = self.ends[0].connect(self.now, Self::pair(0), 80, client).unwrap();
        let mut s = None;
        let ok = self.run_until(Duration::from_secs(300), |n| {
            s = s.or_else(|| n.ends[1].accept(80));
            s.is_some()
        });
        assert!(ok, "no connection");
        [c, s.unwrap()]
    }
}

/// The octet at position `i` of stream `stream`.
pub fn octet(stream: usize, i: usize) -> u8 {
    ((i as u32).wrapping_mul(2_654_435_761) >> 24) as u8 ^ (stream as u8) ^ (i as u8)
}

/// One end's application: sends `total` octets, closes, reads to the end and verifies.
pub struct App {
    pub handle: Handle,
    pub side: usize,
    pub total: usize,
    pub sent: usize,
    pub got: usize,
    pub eof: bool,
    pub closed: bool,
    pub error: Option<ConnectionError>,
}

impl App {
    pub fn new(side: usize, handle: Handle, total: usize) -> App {
        App { handle, side, total, sent: 0, got: 0, eof: false, closed: false, error: None }
    }

    pub fn run<S: Sizes>(&mut self, net: &mut Network<S>) {
        let ep = &mut net.ends[self.side];
        while self.sent < self.total {
            let end = self.total.min(self.sent + 700);
            let data: Vec<u8> = (self.sent..end).map(|i| octet(self.side, i)).collect();
            match ep.send(self.handle, &data) {
                Ok(0) => break,
                Ok(n) => self.sent += n,
                Err(SendError::Ended(e)) => {
                    self.error = Some(e);
                    break;
                }
                Err(e) => panic!("send: {e}"),
            }
        }
        if self.sent == self.total && !self.closed {
            ep.close(self.handle).unwrap();
            self.closed = true;
        }
        let mut buf = [0; 500];
        while !self.eof {
            match ep.recv(self.handle, &mut buf) {
                Ok(0) => self.eof = true,
                Ok(n) => {
                    for (i, b) in buf[..n].iter().enumerate() {
                        assert_eq!(*b, octet(1 - self.side, self.got + i), "wrong octet");
                    }
                    self.got += n;
                }
                Err(RecvError::WouldBlock) => break,
                Err(RecvError::Ended(e)) => {
                    self.error = Some(e);
                    break;
                }
                Err(e) => panic!("recv: {e}"),
            }
        }
    }
}

/// Moves `totals` octets in both directions; panics unless all arrive within `limit`.
pub fn transfer<S: Sizes>(
    net: &mut Network<S>,
    configs: [ConnectionConfig; 2],
    totals: [usize; 2],
    limit: Duration,
) -> [Handle; 2] {
    let handles = net.open(configs[0], configs[1]);
    let mut apps = [App::new(0, handles[0], totals[0]), App::new(1, handles[1], totals[1])];
    let ok = net.run_until(limit, |n| {
        for app in &mut apps {
            app.run(n);
        }
        apps.iter().all(|a| a.eof || a.error.is_some())
    });
    for (i, app) in apps.iter().enumerate() {
        assert!(
            app.eof && app.error.is_none() && app.got == totals[1 - i],
            "end {i}: ok {ok}, got {} of {}, eof {}, error {:?}, at {:?}, {:?} / {:?}",
            app.got,
            totals[1 - i],
            app.eof,
            app.error,
            net.now,
            net.ends[0].info(handles[0]),
            net.ends[1].info(handles[1]),
        );
    }
    handles
}

/// Sets `count` cases of a property, and no file of failures: the seed is in the output.
pub fn cases(count: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases: count, failure_persistence: None, ..Default::default() }
}
