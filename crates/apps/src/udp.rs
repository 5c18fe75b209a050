//! Datagrams: sent back, sent at a fixed period, and counted.

use crate::app::App;
use crate::sockets::Peer;
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};
use kinglet_mem::{Array, copy};
use kinglet_time::{Duration, Instant};

/// The largest datagram in a packet of IPv6's minimum MTU. One that its reader has no room for
/// would stay, and keep off those behind it.
pub const MAX_DATAGRAM: usize = 1280 - 40 - 8;
/// Octets of the sequence number at the front of each datagram of a [`Sender`].
const SEQUENCE: usize = 4;

/// Sends datagrams back to where they came from (RFC 862).
#[derive(Debug)]
pub struct Echo {
    port: u16,
    socket: Option<UdpHandle>,
    datagram: [u8; MAX_DATAGRAM],
}

impl Echo {
    /// An echo at `port`; it is 7 by the standard.
    pub const fn new(port: u16) -> Self {
        Echo { port, socket: None, datagram: [0; MAX_DATAGRAM] }
    }
}

impl App for Echo {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
        }
        let Some(socket) = self.socket else { return false };
        let mut busy = false;
        // As many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut self.datagram) {
            let octets = self.datagram.get(..received.len).unwrap_or_default();
            // Datagrams may get lost.
            let _ = node.datagrams().send(now, socket, received.src, received.src_port, octets);
            busy = true;
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.is_none().then_some(Instant::ZERO)
    }
}

/// Sends a datagram every period: its number in four octets, and zeros. `B` is room for the
/// longest.
#[derive(Debug)]
pub struct Sender<B> {
    to: Peer,
    next: Instant,
    period: Duration,
    payload: B,
    len: usize,
    socket: Option<UdpHandle>,
    sent: u32,
    refused: u32,
}

impl<B: Array<u8>> Sender<B> {
    /// Datagrams of `len` octets (at least 4, and as many as `B` has at most) to `to`, the first at
    /// `start`.
    pub fn new(to: Peer, start: Instant, period: Duration, len: usize) -> Self {
        let (next, len) = (start, len.max(SEQUENCE).min(B::LEN));
        let (payload, socket) = (B::EMPTY, None);
        Sender { to, next, period, payload, len, socket, sent: 0, refused: 0 }
    }

    /// Datagrams that the stack has taken.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Datagrams that it has refused for want of room.
    pub const fn refused(&self) -> u32 {
        self.refused
    }
}

impl<B: Array<u8>> App for Sender<B> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.period;
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(0).ok();
        }
        let Some(socket) = self.socket else { return false };
        let number = self.sent.wrapping_add(self.refused);
        copy(self.payload.as_mut_slice(), &number.to_be_bytes());
        let payload = self.payload.as_slice().get(..self.len).unwrap_or_default();
        let count = match node.datagrams().send(now, socket, self.to.0, self.to.1, payload) {
            Ok(()) => &mut self.sent,
            Err(_) => &mut self.refused,
        };
        *count = count.wrapping_add(1);
        true
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// Counts what arrives on a port.
#[derive(Debug)]
pub struct Sink {
    port: u16,
    socket: Option<UdpHandle>,
    received: u32,
    bytes: u64,
}

impl Sink {
    /// A sink on `port`.
    pub const fn new(port: u16) -> Self {
        Sink { port, socket: None, received: 0, bytes: 0 }
    }

    /// Datagrams that arrived.
    pub const fn received(&self) -> u32 {
        self.received
    }

    /// Their payload octets.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl App for Sink {
    fn poll<P: Profile>(&mut self, _now: Instant, node: &mut Node<P>) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
        }
        let Some(socket) = self.socket else { return false };
        let mut buf = [0; MAX_DATAGRAM];
        let mut busy = false;
        // As many as a socket holds.
        while let Ok(Some(datagram)) = node.datagrams().recv(socket, &mut buf) {
            self.received = self.received.wrapping_add(1);
            self.bytes = self.bytes.saturating_add(datagram.len as u64);
            busy = true;
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.is_none().then_some(Instant::ZERO)
    }
}
