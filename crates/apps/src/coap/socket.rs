//! CoAP at a UDP port of a node.

use crate::sockets::Peer;
use crate::udp::MAX_DATAGRAM;
use kinglet::net::UdpHandle;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{Config, Endpoint, Event, Expected, Kind, Message, Sizes, Stats};
use kinglet_time::{Duration, Instant};

/// CoAP's port (RFC 7252 §6.1).
pub const PORT: u16 = 5683;
/// For how long a server expects the next block of a transfer: as long as a client's first timeout
/// may be (RFC 7252 §4.8), after which it would ask again.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who has sent it.
    pub peer: Peer,
    /// It went to a group of nodes (RFC 7252 §8), each of which answers at its leisure, and only if
    /// it has something to say.
    pub to_group: bool,
}

/// An endpoint at a UDP port, whose tables are as long as `S` says.
pub struct Socket<S: Sizes> {
    port: u16,
    socket: Option<UdpHandle>,
    endpoint: Endpoint<Peer, S>,
    datagram: [u8; MAX_DATAGRAM],
    /// Until when a request is expected that continues one that was served.
    continued: Option<Instant>,
}

impl<S: Sizes> Socket<S> {
    /// A socket on `port`; 0 chooses one.
    pub const fn new(port: u16, config: Config) -> Self {
        Socket {
            port,
            socket: None,
            endpoint: Endpoint::new(config),
            datagram: [0; MAX_DATAGRAM],
            continued: None,
        }
    }

    /// The endpoint, to send requests from and to answer them.
    pub const fn endpoint(&mut self) -> &mut Endpoint<Peer, S> {
        &mut self.endpoint
    }

    /// The endpoint's counters.
    pub const fn stats(&self) -> Stats {
        self.endpoint.stats()
    }

    /// Every reason of its endpoint, as [`App::reasons`](crate::App::reasons) has them.
    pub fn reasons(&self, each: &mut Each<'_>) {
        self.endpoint.stats().reasons().for_each(|(reason, count)| each("coap", reason, count));
    }

    /// Messages received and sent, as [`App::messages`](crate::App::messages) has them.
    pub const fn messages(&self) -> (u32, u32) {
        let stats = self.stats();
        (stats.received, stats.sent)
    }

    /// Expects a peer's next request within 3 s, or none: a transfer goes on, or is over.
    pub fn expect_request(&mut self, now: Instant, goes_on: bool) {
        self.continued = goes_on.then(|| now + PATIENCE);
    }

    /// What is to come: an acknowledgement, a response, or a peer's next request.
    pub fn expected(&self, now: Instant) -> Option<Expected> {
        let request = |until: Instant| {
            let since = until - PATIENCE;
            Expected { since, from: since, until }
        };
        let continued = self.continued.filter(|until| *until > now);
        self.endpoint.expected().or(continued.map(request))
    }

    /// Receives and sends what there is; `handle` is given what has arrived, and from whom. Whether
    /// anything happened.
    pub fn poll<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        mut handle: impl FnMut(&mut Endpoint<Peer, S>, Origin, Event<'_>),
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
        // As many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut self.datagram) {
            let peer = (received.src, received.src_port);
            let octets = self.datagram.get(..received.len).unwrap_or_default();
            let origin = Origin { peer, to_group: received.dst.is_multicast() };
            busy = true;
            if origin.to_group && !is_for_groups(octets) {
                continue;
            }
            // What is no event the endpoint has counted.
            if let Ok(event) = self.endpoint.handle_message(now, peer, octets) {
                handle(&mut self.endpoint, origin, event);
            }
        }
        let mut send = |endpoint: &mut Endpoint<Peer, S>| {
            endpoint.poll_message(now, |(address, port), octets| {
                node.datagrams().send(now, socket, address, port, octets)
            })
        };
        while send(&mut self.endpoint).is_some() {
            busy = true;
        }
        busy
    }

    /// When it wants to be polled even if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        if self.socket.is_none() { Some(Instant::ZERO) } else { self.endpoint.deadline() }
    }
}

/// Only requests that are not confirmable may go to a group, and nothing else is answered, not even
/// with a Reset (RFC 7252 §8.1).
fn is_for_groups(octets: &[u8]) -> bool {
    Message::parse(octets).is_ok_and(|message| {
        message.header.kind == Kind::NonConfirmable && message.header.code.is_request()
    })
}
