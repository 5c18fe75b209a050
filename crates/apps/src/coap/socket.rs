//! CoAP at a UDP port of a node.

use crate::sockets::Peer;
use crate::udp::MAX_DATAGRAM;
use kinglet::net::UdpHandle;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{CoapConfig, Endpoint, Event, Expected, Kind, Message, Sizes, Stats};
use kinglet_time::{Duration, Instant};

/// CoAP's port (RFC 7252 §6.1).
pub const PORT: u16 = 5683;
/// Time for which a server expects the next block of a transfer: the longest first timeout of a
/// client (RFC 7252 §4.8), after which it would retransmit.
const PATIENCE: Duration = Duration::from_secs(3);

/// Origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The sender.
    pub peer: Peer,
    /// True if it was sent to a group of nodes (RFC 7252 §8). Each member responds at its leisure,
    /// and only if it has content.
    pub to_group: bool,
}

/// An endpoint at a UDP port; `S` sets the table sizes.
pub struct Socket<S: Sizes> {
    port: u16,
    socket: Option<UdpHandle>,
    endpoint: Endpoint<Peer, S>,
    datagram: [u8; MAX_DATAGRAM],
    /// Time until which a request is expected that continues the last one.
    continued: Option<Instant>,
}

impl<S: Sizes> Socket<S> {
    /// Creates a socket on `port`; 0 chooses one.
    pub const fn new(port: u16, config: CoapConfig) -> Self {
        Socket {
            port,
            socket: None,
            endpoint: Endpoint::new(config),
            datagram: [0; MAX_DATAGRAM],
            continued: None,
        }
    }

    /// Returns the endpoint, to send requests and responses.
    pub const fn endpoint(&mut self) -> &mut Endpoint<Peer, S> {
        &mut self.endpoint
    }

    /// Returns the endpoint's counters.
    pub const fn stats(&self) -> Stats {
        self.endpoint.stats()
    }

    /// Reports every reason of its endpoint, as [`App::reasons`](crate::App::reasons).
    pub fn reasons(&self, each: &mut Each<'_>) {
        self.endpoint.stats().reasons().for_each(|(reason, count)| each("coap", reason, count));
    }

    /// Returns the messages received and sent, as [`App::messages`](crate::App::messages).
    pub const fn messages(&self) -> (u32, u32) {
        let stats = self.stats();
        (stats.received, stats.sent)
    }

    /// Expects a peer's next request within 3 s if a transfer continues, or none if it has ended.
    pub fn expect_request(&mut self, now: Instant, goes_on: bool) {
        self.continued = goes_on.then(|| now + PATIENCE);
    }

    /// Returns the window of the next expected message: an acknowledgement, a response, or a peer's
    /// next request.
    pub fn expected(&self, now: Instant) -> Option<Expected> {
        let request = |until: Instant| {
            let since = until - PATIENCE;
            Expected { since, from: since, until }
        };
        let continued = self.continued.filter(|until| *until > now);
        self.endpoint.expected().or(continued.map(request))
    }

    /// Receives and sends all messages; `handle` gets the events and their origin. Returns whether
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
        // At most as many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut self.datagram) {
            let peer = (received.src, received.src_port);
            let octets = self.datagram.get(..received.len).unwrap_or_default();
            let origin = Origin { peer, to_group: received.dst.is_multicast() };
            busy = true;
            if origin.to_group && !is_for_groups(octets) {
                continue;
            }
            // The endpoint has counted all other messages.
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

    /// Returns the time of the next poll if nothing happens before.
    pub fn deadline(&self) -> Option<Instant> {
        if self.socket.is_none() { Some(Instant::ZERO) } else { self.endpoint.deadline() }
    }
}

/// Returns whether a message may go to a group: only non-confirmable requests may. Others get no
/// response, not even a Reset (RFC 7252 §8.1).
fn is_for_groups(octets: &[u8]) -> bool {
    Message::parse(octets).is_ok_and(|message| {
        message.header.kind == Kind::NonConfirmable && message.header.code.is_request()
    })
}
