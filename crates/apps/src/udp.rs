//! Datagrams: sent back, sent at a period or as fast as they go, and counted.

use crate::app::App;
use crate::sockets::Peer;
use core::marker::PhantomData;
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

/// Numbered datagrams to one address: each is its number in four octets, and zeros. `B` is room for
/// the longest.
#[derive(Debug)]
struct Numbered<B> {
    to: Peer,
    payload: B,
    len: usize,
    socket: Option<UdpHandle>,
}

impl<B: Array<u8>> Numbered<B> {
    fn new(to: Peer, len: usize) -> Self {
        Numbered { to, payload: B::EMPTY, len: len.max(SEQUENCE).min(B::LEN), socket: None }
    }

    /// Whether the stack has taken datagram `number`; `None` without a socket.
    fn send<P: Profile>(&mut self, now: Instant, node: &mut Node<P>, number: u32) -> Option<bool> {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(0).ok();
        }
        copy(self.payload.as_mut_slice(), &number.to_be_bytes());
        let payload = self.payload.as_slice().get(..self.len).unwrap_or_default();
        Some(node.datagrams().send(now, self.socket?, self.to.0, self.to.1, payload).is_ok())
    }
}

/// Sends a numbered datagram every period.
#[derive(Debug)]
pub struct Sender<B> {
    datagrams: Numbered<B>,
    next: Instant,
    period: Duration,
    sent: u32,
    refused: u32,
}

impl<B: Array<u8>> Sender<B> {
    /// Datagrams of `len` octets (at least 4, and as many as `B` has at most) to `to`, the first at
    /// `start`.
    pub fn new(to: Peer, start: Instant, period: Duration, len: usize) -> Self {
        Sender { datagrams: Numbered::new(to, len), next: start, period, sent: 0, refused: 0 }
    }

    /// Datagrams that the stack has taken.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Datagrams that it has refused for want of room.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// From now on the next datagram comes so long after the one before.
    pub const fn set_period(&mut self, period: Duration) {
        self.period = period;
    }
}

impl<B: Array<u8>> App for Sender<B> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.period;
        let number = self.sent.wrapping_add(self.refused);
        let count = match self.datagrams.send(now, node, number) {
            Some(true) => &mut self.sent,
            Some(false) => &mut self.refused,
            None => return false,
        };
        *count = count.wrapping_add(1);
        true
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// How long a [`Bulk`] waits for room when it is refused a datagram. Two frames take longer, so a
/// stack that has room for two datagrams never waits for this one.
const AGAIN: Duration = Duration::from_millis(10);

/// Sends numbered datagrams one after the other, as fast as the stack takes them.
#[derive(Debug)]
pub struct Bulk<B> {
    datagrams: Numbered<B>,
    next: Instant,
    most: u32,
    sent: u32,
}

impl<B: Array<u8>> Bulk<B> {
    /// `most` datagrams of `len` octets (at least 4, and as many as `B` has at most) to `to`, from
    /// `start` on.
    pub fn new(to: Peer, start: Instant, most: u32, len: usize) -> Self {
        Bulk { datagrams: Numbered::new(to, len), next: start, most, sent: 0 }
    }

    /// Datagrams that the stack has taken.
    pub const fn sent(&self) -> u32 {
        self.sent
    }
}

impl<B: Array<u8>> App for Bulk<B> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next {
            return false;
        }
        let before = self.sent;
        while self.sent < self.most {
            if self.datagrams.send(now, node, self.sent) != Some(true) {
                self.next = now + AGAIN;
                break;
            }
            self.sent = self.sent.saturating_add(1);
        }
        self.sent != before
    }

    fn deadline(&self) -> Option<Instant> {
        (self.sent < self.most).then_some(self.next)
    }
}

/// Counts what arrives on a port. `B` is room for the longest; one that is longer than
/// [`MAX_DATAGRAM`] is only received where `B` is.
#[derive(Debug)]
pub struct Sink<B = [u8; MAX_DATAGRAM]> {
    port: u16,
    socket: Option<UdpHandle>,
    received: u32,
    bytes: u64,
    room: PhantomData<B>,
}

/// The number of a datagram of a [`Sender`] or a [`Bulk`].
pub fn number_of(datagram: &[u8]) -> Option<u32> {
    datagram.first_chunk::<SEQUENCE>().map(|octets| u32::from_be_bytes(*octets))
}

impl Sink {
    /// A sink on `port`.
    pub const fn new(port: u16) -> Self {
        Self::with_room(port)
    }
}

impl<B: Array<u8>> Sink<B> {
    /// A sink on `port` with room for datagrams as long as `B`.
    pub const fn with_room(port: u16) -> Self {
        Sink { port, socket: None, received: 0, bytes: 0, room: PhantomData }
    }

    /// Datagrams that arrived.
    pub const fn received(&self) -> u32 {
        self.received
    }

    /// Their payload octets.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes what has arrived, and shows each datagram to `look`; whether there was any.
    pub fn take<P: Profile>(&mut self, node: &mut Node<P>, mut look: impl FnMut(&[u8])) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
            if let Some(socket) = self.socket.filter(|_| B::LEN > MAX_DATAGRAM) {
                node.datagrams().accept_long(socket);
            }
        }
        let Some(socket) = self.socket else { return false };
        let mut room = B::EMPTY;
        let buf = room.as_mut_slice();
        let mut busy = false;
        // As many as a socket holds.
        while let Ok(Some(datagram)) = node.datagrams().recv(socket, buf) {
            self.received = self.received.wrapping_add(1);
            self.bytes = self.bytes.saturating_add(datagram.len as u64);
            look(buf.get(..datagram.len).unwrap_or_default());
            busy = true;
        }
        busy
    }
}

impl<B: Array<u8>> App for Sink<B> {
    fn poll<P: Profile>(&mut self, _now: Instant, node: &mut Node<P>) -> bool {
        self.take(node, |_| ())
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.is_none().then_some(Instant::ZERO)
    }
}
