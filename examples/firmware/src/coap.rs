//! CoAP at a UDP port of a node, and the resource of the image `mote`.

use crate::web;
use core::net::Ipv6Addr;
use kinglet::net::{BindError, UdpHandle};
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_coap::{
    Code, Config, Event, Message, Part, PeerEstimate, Reset, Sizes, Slot, Ticket, option,
};

/// CoAP's port (RFC 7252 §6.1).
pub const PORT: u16 = 5683;
/// The largest datagram in a packet of IPv6's minimum MTU. One that its reader has no room for
/// would stay, and keep off those behind it.
pub const MAX_DATAGRAM: usize = 1280 - 40 - 8;
/// Blocks have 2 to the power of this plus four octets: with all headers, and those of link
/// security, 64 fit into one frame.
const EXPONENT: u8 = 2;

/// Who is at the other end: address and port.
pub type Peer = (Ipv6Addr, u16);
/// An endpoint whose tables are as long as `S` says.
pub type Endpoint<S> = kinglet_coap::Endpoint<Peer, S>;

/// The memory plan of a server: two clients at a time.
pub struct Server;

impl Sizes for Server {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 0];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 0];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// The memory plan of a client that asks one peer.
pub struct Client;

impl Sizes for Client {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 0];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// An endpoint of the node with this short address.
pub const fn endpoint<S: Sizes>(short: u16) -> Endpoint<S> {
    // A product takes the seed from its source of entropy.
    kinglet_coap::Endpoint::new(Config::new(short as u64 + 1))
}

/// An endpoint at a UDP port.
pub struct Coap<'a, S: Sizes> {
    socket: UdpHandle,
    /// To send requests from.
    pub endpoint: &'a mut Endpoint<S>,
}

impl<'a, S: Sizes> Coap<'a, S> {
    /// Binds `port`; 0 chooses one.
    ///
    /// # Errors
    /// The port is taken, or no socket is free.
    pub fn new(
        node: &mut Node<impl Profile>,
        port: u16,
        endpoint: &'a mut Endpoint<S>,
    ) -> Result<Self, BindError> {
        Ok(Coap { socket: node.datagrams().bind(port)?, endpoint })
    }

    /// When [`Coap::step`] has to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.endpoint.deadline()
    }

    /// Receives, by way of the buffer `datagram`, and sends what there is; `handle` is given what
    /// has arrived.
    pub fn step(
        &mut self,
        now: Instant,
        node: &mut Node<impl Profile>,
        datagram: &mut [u8],
        mut handle: impl FnMut(&mut Endpoint<S>, Event<'_>),
    ) {
        if self.deadline().is_some_and(|at| at <= now) {
            self.endpoint.handle_deadline(now);
        }
        // As many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(self.socket, datagram) {
            let peer = (received.src, received.src_port);
            let octets = datagram.get(..received.len).unwrap_or_default();
            // What is no event the endpoint has counted.
            if let Ok(event) = self.endpoint.handle_message(now, peer, octets) {
                handle(self.endpoint, event);
            }
        }
        let mut send = |endpoint: &mut Endpoint<S>| {
            endpoint.poll_message(now, |(address, port), octets| {
                node.datagrams().send(now, self.socket, address, port, octets)
            })
        };
        while send(self.endpoint).is_some() {}
    }
}

/// `GET /` gets the page of the web server, block by block.
pub fn serve_page<S: Sizes>(now: Instant, endpoint: &mut Endpoint<S>, event: Event<'_>) {
    let Event::Request { ticket, message } = event else { return };
    if let Err(code) = answer(now, endpoint, ticket, &message) {
        // An answer without anything fits, and nobody has answered before.
        let _ = endpoint.respond(now, ticket, code, |_| Ok(()));
    }
}

fn answer<S: Sizes>(
    now: Instant,
    endpoint: &mut Endpoint<S>,
    ticket: Ticket,
    message: &Message<'_>,
) -> Result<(), Code> {
    if message.values(option::URI_PATH).any(|segment| !segment.is_empty()) {
        return Err(Code::NOT_FOUND);
    }
    if message.header.code != Code::GET {
        return Err(Code::METHOD_NOT_ALLOWED);
    }
    let page = web::page();
    let part = Part::of(message, page.len(), EXPONENT)?;
    let octets = page.get(part.range()).unwrap_or_default();
    let done = endpoint.respond(now, ticket, Code::CONTENT, |response| {
        part.write(response)?;
        response.payload(octets)
    });
    done.map_err(|_| Code::INTERNAL_SERVER_ERROR)
}
