//! CoAP over a node's UDP sockets: what servers, clients and sensors share.

mod client;
mod server;

pub use client::{CoapClient, Exchange, Method, Requests};
pub use server::CoapServer;

use core::net::Ipv6Addr;
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant};
use kinglet::{Node, Profile};
use kinglet_coap::{Config, Endpoint, Event, Expected, PeerEstimate, Reset, Sizes, Slot, Stats};

/// CoAP's port (RFC 7252 §6.1).
pub const PORT: u16 = 5683;
/// The largest datagram within the IPv6 minimum MTU.
pub const MAX_DATAGRAM: usize = 1280 - 40 - 8;
/// For how long a server expects the next block of a transfer: as long as a client's first timeout
/// may be (RFC 7252 §4.8), after which it would ask again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Who is at the other end: address and port.
pub type Peer = (Ipv6Addr, u16);

/// The memory plan of a simulated node's CoAP.
pub struct CoapPlan;

impl Sizes for CoapPlan {
    type Message = [u8; MAX_DATAGRAM];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 4];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 4];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 2];
}

/// CoAP at a UDP port of a node.
pub struct CoapSocket {
    port: u16,
    socket: Option<UdpHandle>,
    endpoint: Box<Endpoint<Peer, CoapPlan>>,
    /// Until when a request is expected that continues one that was served.
    continued: Option<Instant>,
    /// What the node was last told to expect.
    told: Option<Expected>,
}

impl CoapSocket {
    /// A socket on `port`; 0 chooses one.
    pub fn new(port: u16, config: Config) -> Self {
        CoapSocket {
            port,
            socket: None,
            endpoint: Box::new(Endpoint::new(config)),
            continued: None,
            told: None,
        }
    }

    /// The endpoint, to send requests from and to look at.
    pub fn endpoint(&mut self) -> &mut Endpoint<Peer, CoapPlan> {
        &mut self.endpoint
    }

    /// The endpoint's counters.
    pub fn stats(&self) -> Stats {
        self.endpoint.stats()
    }

    /// Messages received and sent, as [`kinglet_sim::App::messages`] has them.
    pub(crate) fn messages(&self) -> (u32, u32) {
        let stats = self.stats();
        (stats.received, stats.sent)
    }

    /// Expects a peer's next request within 3 s, or none: a transfer goes on, or is over.
    pub fn expect_request(&mut self, now: Instant, goes_on: bool) {
        self.continued = goes_on.then(|| now + PATIENCE);
    }

    /// Tells the node what is to come, for the case that it sleeps.
    fn tell<P: Profile>(&mut self, now: Instant, node: &mut Node<P>, socket: UdpHandle) {
        let Some(port) = node.net().udp_port(socket) else { return };
        self.continued = self.continued.filter(|until| *until > now);
        let request = |until: Instant| Expected { since: until - PATIENCE, from: now, until };
        let expected = self.endpoint.expected().or(self.continued.map(request));
        if expected.map(|it| it.since) == self.told.map(|it| it.since) {
            return;
        }
        match expected {
            // While there is no room it is said again.
            Some(Expected { since, until, .. }) => {
                if node.expect(now, port, since, until).is_err() {
                    return;
                }
            }
            None => node.expect_nothing(now, port),
        }
        self.told = expected;
    }

    /// Receives and sends what there is; `handle` is given what has arrived. Whether anything
    /// happened.
    pub fn poll<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        mut handle: impl FnMut(&mut Endpoint<Peer, CoapPlan>, Peer, Event<'_>),
    ) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
        }
        let Some(socket) = self.socket else { return false };
        let mut busy = false;
        if self.endpoint.deadline().is_some_and(|at| at <= now) {
            self.endpoint.handle_deadline(now);
            busy = true;
        }
        let mut datagram = [0; MAX_DATAGRAM];
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut datagram) {
            let peer = (received.src, received.src_port);
            // What is discarded the endpoint has counted.
            if let Ok(event) = self.endpoint.handle_message(now, peer, &datagram[..received.len]) {
                handle(&mut self.endpoint, peer, event);
            }
            busy = true;
        }
        let sent = |endpoint: &mut Endpoint<Peer, CoapPlan>, node: &mut Node<P>| {
            endpoint.poll_message(now, |(address, port), octets| {
                node.datagrams().send(now, socket, address, port, octets)
            })
        };
        while sent(&mut self.endpoint, node).is_some() {
            busy = true;
        }
        self.tell(now, node, socket);
        busy
    }

    /// When it wants to be polled even if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        if self.socket.is_none() { Some(Instant::ZERO) } else { self.endpoint.deadline() }
    }
}
