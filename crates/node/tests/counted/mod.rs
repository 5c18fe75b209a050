//! A border router whose layers count how often they are asked: the network layer by what learns
//! its routes, the MAC by how it reaches who sleeps. Whoever calls one of the two layers, and be it
//! for its deadline, calls that.
#![allow(unreachable_pub, reason = "a module of test files")]

use core::net::Ipv6Addr;
use kinglet::mac::{self, Reach, TableFull, Way};
use kinglet::net::Learnt;
use kinglet::radio::{Capabilities, Command};
use kinglet::time::Instant;
use kinglet::wire::ieee802154::{Address, Csl};
use kinglet::{Change, MAX_MESSAGE, Meshed, Message, Routing, net, tcp};
use std::cell::Cell;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// How often layers were asked, by all nodes of this thread.
pub fn asked() -> u64 {
    ASKED.get()
}

kinglet::profile! {
    /// As [`kinglet::BorderRouter`], and it counts.
    pub struct Counted {
        routing: Counting<Meshed<Self>>,
        listening: mac::Sampled,
        reach: Counting<mac::Sleepers<[mac::Sleeper<mac::Samples>; 16]>>,
        security: mac::CcmStar<mac::Sliced, [mac::Peer; 64]>,
        features: tcp::Full,
        frames: 4,
        neighbours: 32,
        children: 16,
        indirect: 16,
        packets: 32,
        reassemblies: 8,
        output: 28,
        host: 16,
        addresses: 2,
        groups: 2,
        routes: 64,
        static_neighbours: 2,
        contexts: 4,
        udp_sockets: 4,
        forwards: true,
        detects_congestion: true,
        mesh_neighbours: 16,
        mesh_routes: 32,
        mesh_leaves: 32,
        connections: 4,
        send_buffer: 4096,
        receive_buffer: 4096,
        pieces: 2,
        segments: 11,
        listeners: 2,
        half_open: 4,
        time_wait: 4,
        servers: 1,
        sources: 2,
        applications: 3,
    }
}

/// Does what is inside of it, and counts.
pub struct Counting<T>(pub T);

impl<T> Counting<T> {
    fn ask(&self) -> &T {
        ASKED.set(ASKED.get() + 1);
        &self.0
    }

    fn ask_mut(&mut self) -> &mut T {
        ASKED.set(ASKED.get() + 1);
        &mut self.0
    }
}

impl<T: net::Routing> net::Routing for Counting<T> {
    const NONE: Self = Counting(T::NONE);
    const PORT: Option<u16> = T::PORT;

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        self.ask().route(dst)
    }
}

impl<T: Routing> Routing for Counting<T> {
    fn is_on(&self) -> bool {
        self.ask().is_on()
    }

    fn listens(&self) -> bool {
        self.ask().listens()
    }

    fn handle_heard(&mut self, now: Instant, from: u16, rssi_dbm: i8) {
        self.ask_mut().handle_heard(now, from, rssi_dbm);
    }

    fn handle_sent(&mut self, now: Instant, to: u16, acked: bool) {
        self.ask_mut().handle_sent(now, to, acked);
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        self.ask_mut().handle_message(now, from, rssi_dbm, message);
    }

    fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        self.ask_mut().poll_message(now, buf)
    }

    fn poll_change(&mut self) -> Option<Change> {
        self.ask_mut().poll_change()
    }

    fn deadline(&self) -> Option<Instant> {
        self.ask().deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.ask_mut().handle_deadline(now);
    }
}

impl<T: Reach> Reach for Counting<T> {
    const NEW: Self = Counting(T::NEW);
    const ANY: bool = T::ANY;

    fn set_pending(&mut self, short: u16, pending: bool) -> Result<(), TableFull> {
        self.ask_mut().set_pending(short, pending)
    }

    fn is_pending(&self, src: Address) -> bool {
        self.ask().is_pending(src)
    }

    fn poll_command(&mut self, radio: Capabilities) -> Option<Command> {
        self.ask_mut().poll_command(radio)
    }

    fn forget_told(&mut self) {
        self.ask_mut().forget_told();
    }

    fn handle_request(&mut self, radio: Capabilities, src: Address) -> bool {
        self.ask_mut().handle_request(radio, src)
    }

    fn handle_samples(
        &mut self,
        now: Instant,
        radio: Capabilities,
        src: Address,
        sfd: Instant,
        csl: Csl,
    ) {
        self.ask_mut().handle_samples(now, radio, src, sfd, csl);
    }

    fn handle_burst(&mut self, dst: Address) {
        self.ask_mut().handle_burst(dst);
    }

    fn way(&self, dst: Address) -> Way {
        self.ask().way(dst)
    }

    fn poll_listener(&mut self) -> Option<u16> {
        self.ask_mut().poll_listener()
    }

    fn deadline(&self) -> Option<Instant> {
        self.ask().deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.ask_mut().handle_deadline(now);
    }
}
