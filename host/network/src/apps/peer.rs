//! Another TCP stack (peer stack) on a node, and at the far end of a border router's wire.
//!
//! On a node, the peer stack is attached to the node's host interface, like a host behind a border
//! router, but without a wire. Link layer, 6LoWPAN, IPv6, routing and radio are Kinglet's and do
//! not know of it. Its address is that of the node, which therefore has a route for the address
//! instead of the address itself. It sends with a hop limit higher by one, so that its frames are
//! as long as those of the node's own TCP.
//!
//! One difference from a stack inside the node remains: its segments wait in the node's packet
//! slots, like TCPlp's in OpenThread's message buffers. Kinglet forms a segment only when it can be
//! sent.

use super::tcp::{Foreign, Socket, Speaker, Tcp};
use crate::profile::STORAGE;
use core::any::Any;
use core::net::Ipv6Addr;
use kinglet::time::{Duration, Expected, Instant, earliest};
use kinglet::wire::ipv6::protocol;
use kinglet::{Node, Profile};
use kinglet_apps::StreamApp;
use kinglet_peers::{Host, Info, Stack, State};
use kinglet_sim::wire::FarEnd;
use kinglet_sim::{Hosted, SameStack};
use std::sync::{Arc, Mutex, PoisonError};

/// 64, as in RFC 1700, and one that the node subtracts.
const HOP_LIMIT: u8 = 65;
/// Identifier of the peer in the node's list of expected responses: TCP's protocol number, which is
/// not a port of any application here.
const EXPECTS: u16 = 6;
/// Maximum time for which a sleepy node polls for an expected response; a renewal costs nothing.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A peer stack that the applications of one node share.
#[derive(Clone)]
pub struct PeerStack {
    host: Arc<Mutex<Host>>,
    foreign: Foreign,
}

impl PeerStack {
    /// A stack at `address`; `seed` determines its sequence numbers and ports, and the phase of its
    /// timer: nodes are switched on independently of each other.
    pub fn new(foreign: Foreign, address: Ipv6Addr, seed: u64) -> Self {
        let foreign = Foreign { phase: Duration::from_micros(seed >> 32), ..foreign };
        PeerStack { host: Arc::new(Mutex::new(Host::new(address, HOP_LIMIT, seed))), foreign }
    }

    /// The same stack, for an application that writes records of `record` octets.
    #[must_use]
    pub fn with_records(self, record: usize) -> Self {
        PeerStack { foreign: Foreign { record, ..self.foreign }, ..self }
    }

    fn with<R>(&self, act: impl FnOnce(&mut Host) -> R) -> R {
        act(&mut self.host.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `app` once. Returns whether it did anything.
    fn step<P: Profile>(&self, now: Instant, app: &mut (impl Speaker<P> + ?Sized)) -> bool {
        self.with(|host| app.step(now, &mut Tcp::Peer(host, self.foreign)))
    }

    fn expires(&self, now: Instant) -> bool {
        self.with(|host| {
            let due = host.deadline().is_some_and(|at| at <= now);
            host.handle_deadline(now);
            due
        })
    }
}

/// Application of a node over a peer's TCP.
pub struct OnPeer<A> {
    app: A,
    peer: PeerStack,
    /// True for the first application of a node, which acts for the stack.
    first: bool,
    expects: bool,
}

impl<A> OnPeer<A> {
    /// Creates `app` with the sockets of `peer`; `first` if it is the first application of its
    /// node.
    pub const fn new(app: A, peer: PeerStack, first: bool) -> Self {
        OnPeer { app, peer, first, expects: false }
    }

    /// True if the stack may pass a packet to the node. Linux's interface to a mote stops while the
    /// mote's queue is full, and TCP then queues little more (`tcp_small_queue_check` in
    /// `net/ipv4/tcp_output.c`); here it queues nothing more.
    fn may_send<P: Profile>(&self, node: &Node<P>) -> bool {
        self.peer.foreign.stack != Stack::Linux || node.takes_host_packet()
    }

    fn flush<P: Profile>(&self, now: Instant, node: &mut Node<P>) -> bool {
        let mut busy = false;
        while self.may_send(node)
            && let Some(packet) = self.peer.with(|host| host.poll_packet(now))
        {
            // A packet that finds the node's queue full is lost, as on any router.
            node.handle_host_packet(now, &packet);
            busy = true;
        }
        busy
    }

    /// Signals a sleepy node that a response is expected: while a connection opens or closes, and
    /// while data is unacknowledged (TCPlp's `gnrc_tcp_freebsd.c`).
    fn expect_response<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) {
        let expects = self.peer.with(|host| host.connections().any(|info| awaits(&info)));
        if expects && !self.expects {
            // The node accepts the requests of three applications.
            let _ = node.expect_response(now, EXPECTS, now, now + PATIENCE);
        } else if !expects && self.expects {
            node.withdraw_response(now, EXPECTS);
        }
        self.expects = expects;
    }
}

fn awaits(info: &Info) -> bool {
    match info.state {
        State::Closed | State::TimeWait => false,
        State::Established | State::CloseWait => info.queued > 0 || info.in_flight > 0,
        _ => true,
    }
}

impl<P: Profile, A: StreamApp<Socket> + Any + Send> Hosted<P> for OnPeer<A> {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let mut busy = self.peer.expires(now);
        let mut buf = [0; STORAGE];
        // One at a time: the response to a packet is sent before the next packet is processed.
        while let Some(len) = node.poll_host_packet(now, &mut buf) {
            self.peer.with(|host| host.handle_packet(now, &buf[..len]));
            self.peer.step::<P>(now, &mut self.app);
            self.flush(now, node);
            busy = true;
        }
        busy |= self.peer.step::<P>(now, &mut self.app);
        busy |= self.flush(now, node);
        if self.first {
            self.expect_response(now, node);
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(StreamApp::due(&self.app), self.peer.with(|host| host.deadline()))
    }

    /// The application signals expected responses to its node directly.
    fn expected(&self, _now: Instant) -> Option<Expected> {
        None
    }

    fn messages(&self) -> (u32, u32) {
        (0, 0)
    }

    fn segments(&self) -> u32 {
        if self.first { self.peer.with(|host| host.segments()) } else { 0 }
    }

    fn as_any(&self) -> &dyn Any {
        &self.app
    }
}

/// A peer stack with its applications at the far end of a wire. Kinglet's stack receives packets
/// other than TCP.
pub struct PeerEnd<P: Profile> {
    peer: PeerStack,
    apps: Vec<Box<dyn Speaker<P>>>,
    beside: SameStack<P>,
}

/// Offset of the Next Header field of IPv6 (RFC 8200 §3); no node here sends TCP after extension
/// headers.
const NEXT_HEADER: usize = 6;

impl<P: Profile> PeerEnd<P> {
    /// `peer` with these applications. Applications of `beside` have the subsequent numbers.
    pub fn new(peer: PeerStack, apps: Vec<Box<dyn Speaker<P>>>, beside: SameStack<P>) -> Self {
        PeerEnd { peer, apps, beside }
    }

    fn steps(&mut self, now: Instant) -> bool {
        let peer = &self.peer;
        self.apps.iter_mut().fold(false, |busy, app| busy | peer.step(now, app.as_mut()))
    }
}

impl<P: Profile> FarEnd for PeerEnd<P> {
    fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        if packet.get(NEXT_HEADER) != Some(&protocol::TCP) {
            return self.beside.handle_packet(now, packet);
        }
        self.peer.with(|host| host.handle_packet(now, packet));
        self.steps(now);
    }

    fn expire(&mut self, now: Instant) -> bool {
        self.peer.expires(now) | self.beside.expire(now)
    }

    fn work(&mut self, now: Instant) -> bool {
        self.steps(now) | self.beside.work(now)
    }

    fn poll_packet(&mut self, now: Instant, buf: &mut [u8]) -> Option<usize> {
        let Some(packet) = self.peer.with(|host| host.poll_packet(now)) else {
            return self.beside.poll_packet(now, buf);
        };
        buf.get_mut(..packet.len())?.copy_from_slice(&packet);
        Some(packet.len())
    }

    fn deadline(&self) -> Option<Instant> {
        let stacks = earliest(self.peer.with(|host| host.deadline()), self.beside.deadline());
        self.apps.iter().fold(stacks, |soonest, app| earliest(soonest, app.due()))
    }

    fn app(&self, index: usize) -> Option<&dyn Any> {
        match index.checked_sub(self.apps.len()) {
            None => self.apps.get(index).map(|app| app.as_ref().as_any()),
            Some(beside) => self.beside.app(beside),
        }
    }
}
