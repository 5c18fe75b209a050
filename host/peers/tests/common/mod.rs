//! Two hosts and a link between them that a test observes and disturbs.

use core::net::Ipv6Addr;
use kinglet_peers::{Handle, Host, Info, Settings};
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::Ecn;
use kinglet_wire::ipv6::Packet;
use kinglet_wire::tcp::{Header, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) const CLIENT: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(crate) const SERVER: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
pub(crate) const PORT: u16 = 80;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) by_client: bool,
    pub(crate) header: Header,
    pub(crate) len: usize,
    pub(crate) lost: bool,
}

/// Arrival, number, true if to the client, packet.
type UnderWay = (Instant, usize, bool, Vec<u8>);

/// Returns true if a segment is lost; its number counts those of both directions.
pub(crate) type Loss = Box<dyn FnMut(usize, &Seen) -> bool>;

pub(crate) struct Link {
    pub(crate) now: Instant,
    pub(crate) hosts: [Host; 2],
    pub(crate) handle: Handle,
    pub(crate) accepted: Option<Handle>,
    pub(crate) seen: Vec<Seen>,
    pub(crate) delay: Duration,
    /// Additional delay from the client.
    pub(crate) detour: Duration,
    /// Least time between two arrivals.
    pub(crate) spacing: Duration,
    /// ECN-capable packets are marked in this time span.
    pub(crate) congested: core::ops::Range<Instant>,
    last: Instant,
    pub(crate) loss: Loss,
    /// Data that the client is to send, and number of octets written.
    pub(crate) text: Vec<u8>,
    pub(crate) written: usize,
    pub(crate) closes: bool,
    /// Data that the server has read, and true if it reads.
    pub(crate) read: Vec<u8>,
    pub(crate) reads: bool,
    pub(crate) finished: bool,
    flying: BinaryHeap<Reverse<UnderWay>>,
}

pub(crate) fn text(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

impl Link {
    pub(crate) fn new(client: Settings, server: Settings) -> Link {
        let mut hosts = [Host::new(CLIENT, 64, 1), Host::new(SERVER, 64, 2)];
        hosts[1].listen(PORT, server);
        let now = Instant::from_secs(1);
        let handle = hosts[0].connect(now, SERVER, PORT, client);
        Link {
            now,
            hosts,
            handle,
            accepted: None,
            seen: Vec::new(),
            delay: Duration::from_millis(25),
            detour: Duration::ZERO,
            spacing: Duration::ZERO,
            congested: Instant::ZERO..Instant::ZERO,
            last: Instant::ZERO,
            loss: Box::new(|_, _| false),
            text: Vec::new(),
            written: 0,
            closes: true,
            read: Vec::new(),
            reads: true,
            finished: false,
            flying: BinaryHeap::new(),
        }
    }

    pub(crate) fn sending(mut self, len: usize) -> Link {
        self.text = text(len);
        self
    }

    pub(crate) fn losing(mut self, loss: impl FnMut(usize, &Seen) -> bool + 'static) -> Link {
        self.loss = Box::new(loss);
        self
    }

    fn apps(&mut self) {
        let room = self.hosts[0].can_send(self.handle);
        let rest = &self.text[self.written..];
        self.written += self.hosts[0].send(self.handle, &rest[..rest.len().min(room)]);
        if self.closes && self.written == self.text.len() {
            self.hosts[0].close(self.handle);
        }
        let mut buf = [0; 1000];
        let _ = self.hosts[0].recv(self.handle, &mut buf);
        self.accepted = self.accepted.or_else(|| self.hosts[1].accept(PORT));
        let Some(accepted) = self.accepted.filter(|_| self.reads) else { return };
        while let Some(len) = self.hosts[1].recv(accepted, &mut buf) {
            if len == 0 {
                self.finished = true;
                self.hosts[1].close(accepted);
                break;
            }
            self.read.extend(&buf[..len]);
        }
    }

    fn collect(&mut self) {
        for by_client in [true, false] {
            let host = usize::from(!by_client);
            while let Some(mut packet) = self.hosts[host].poll_packet(self.now) {
                let parsed = Packet::parse(&packet).expect("IPv6");
                let (_, upper) = parsed.upper().expect("TCP");
                let segment = Segment::parse(&packet[upper]).expect("a segment");
                let (at, len) = (self.now, segment.payload.len());
                let mut seen = Seen { at, by_client, header: segment.header, len, lost: false };
                seen.lost = (self.loss)(self.seen.len(), &seen);
                self.seen.push(seen);
                let capable = Ecn::of(packet[1] >> 4) != Ecn::NotEct;
                if capable && self.congested.contains(&self.now) {
                    packet[1] |= Ecn::Ce.traffic_class() << 4;
                }
                if !seen.lost {
                    let number = self.seen.len();
                    let detour = if by_client { self.detour } else { Duration::ZERO };
                    let at = (self.now + self.delay + detour).max(self.last + self.spacing);
                    self.last = at;
                    self.flying.push(Reverse((at, number, !by_client, packet)));
                }
            }
        }
    }

    /// Runs until there are no more events, or to `until`.
    pub(crate) fn run(&mut self, until: Instant) {
        loop {
            self.apps();
            self.collect();
            let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
            let timer = earliest(self.hosts[0].deadline(), self.hosts[1].deadline());
            let Some(next) = earliest(arrival, timer).filter(|next| *next <= until) else { break };
            assert!(next >= self.now, "a deadline in the past: {next:?} at {:?}", self.now);
            self.now = next;
            // One at a time: responses to each are sent before the next.
            if self.flying.peek().is_some_and(|Reverse((at, ..))| *at <= next)
                && let Some(Reverse((_, _, to_client, packet))) = self.flying.pop()
            {
                self.hosts[usize::from(!to_client)].handle_packet(next, &packet);
            }
            for host in &mut self.hosts {
                host.handle_deadline(next);
            }
        }
        self.now = until;
    }

    pub(crate) fn info(&self) -> Info {
        self.hosts[0].info(self.handle)
    }

    pub(crate) fn server(&self) -> Info {
        self.hosts[1].info(self.accepted.expect("a connection"))
    }

    /// Data segments of the client.
    pub(crate) fn data(&self) -> Vec<Seen> {
        self.seen.iter().filter(|seen| seen.by_client && seen.len > 0).copied().collect()
    }

    /// Segments of the server.
    pub(crate) fn answers(&self) -> Vec<Seen> {
        self.seen.iter().filter(|seen| !seen.by_client).copied().collect()
    }

    /// Asserts that all data have arrived and both ends are done.
    pub(crate) fn assert_whole(&self) {
        assert!(self.finished, "the stream ends: {:?}", self.info());
        assert_eq!(self.read, self.text, "all of it, in order");
        assert_eq!(self.info().failure, None);
    }
}

/// Loses one of `one_in` segments at random, from a seed.
pub(crate) fn noise(one_in: u64, seed: u64) -> impl FnMut(usize, &Seen) -> bool {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |_, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33).is_multiple_of(one_in)
    }
}
