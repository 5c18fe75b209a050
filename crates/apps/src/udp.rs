//! Datagrams: echoed, sent at a period or as fast as possible, and counted.

use crate::app::App;
use crate::sockets::Peer;
use core::marker::PhantomData;
use kinglet::net::UdpHandle;
use kinglet::{Node, Profile};
use kinglet_mem::{Array, copy};
use kinglet_time::{Duration, Instant};

/// Largest datagram in a packet of IPv6's minimum MTU. A datagram that is too long for its reader
/// would stay in the socket, and block the ones behind it.
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
    /// Creates an echo at `port`; the standard port is 7.
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
        // At most as many as a socket holds.
        while let Ok(Some(received)) = node.datagrams().recv(socket, &mut self.datagram) {
            let octets = self.datagram.get(..received.len).unwrap_or_default();
            // The loss of a datagram is acceptable.
            let _ = node.datagrams().send(now, socket, received.src, received.src_port, octets);
            busy = true;
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.is_none().then_some(Instant::ZERO)
    }
}

/// Numbered datagrams to one address: each is its number in four octets, and zeros. `B` is a buffer
/// for the longest.
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

    /// Returns whether the stack has accepted datagram `number`; `None` without a socket.
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
    /// Creates a sender of datagrams of `len` octets (at least 4, and at most the length of `B`) to
    /// `to`, the first at `start`.
    pub fn new(to: Peer, start: Instant, period: Duration, len: usize) -> Self {
        Sender { datagrams: Numbered::new(to, len), next: start, period, sent: 0, refused: 0 }
    }

    /// Returns the number of datagrams that the stack has accepted.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Returns the number of datagrams that it has refused for lack of space.
    pub const fn refused(&self) -> u32 {
        self.refused
    }

    /// Sets the time between datagrams from now on.
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

/// Time for which a [`Bulk`] waits after a refused datagram. Two frames take longer, so a stack
/// with space for two datagrams never runs dry.
const AGAIN: Duration = Duration::from_millis(10);

/// Sends numbered datagrams one after the other, as fast as the stack accepts them.
#[derive(Debug)]
pub struct Bulk<B> {
    datagrams: Numbered<B>,
    next: Instant,
    most: u32,
    sent: u32,
}

impl<B: Array<u8>> Bulk<B> {
    /// Creates a sender of `most` datagrams of `len` octets (at least 4, and at most the length of
    /// `B`) to `to`, from `start` on.
    pub fn new(to: Peer, start: Instant, most: u32, len: usize) -> Self {
        Bulk { datagrams: Numbered::new(to, len), next: start, most, sent: 0 }
    }

    /// Returns the number of datagrams that the stack has accepted.
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

/// Counts datagrams received on a port. `B` is a buffer for the longest; one that is longer than
/// [`MAX_DATAGRAM`] is only received if `B` is.
#[derive(Debug)]
pub struct Sink<B = [u8; MAX_DATAGRAM]> {
    port: u16,
    socket: Option<UdpHandle>,
    received: u32,
    bytes: u64,
    room: PhantomData<B>,
}

/// Returns the number of a datagram of a [`Sender`] or a [`Bulk`].
pub fn number_of(datagram: &[u8]) -> Option<u32> {
    datagram.first_chunk::<SEQUENCE>().map(|octets| u32::from_be_bytes(*octets))
}

impl Sink {
    /// Creates a sink on `port`.
    pub const fn new(port: u16) -> Self {
        Self::with_room(port)
    }
}

impl<B: Array<u8>> Sink<B> {
    /// Creates a sink on `port` for datagrams as long as `B`.
    pub const fn with_room(port: u16) -> Self {
        Sink { port, socket: None, received: 0, bytes: 0, room: PhantomData }
    }

    /// Returns the number of datagrams received.
    pub const fn received(&self) -> u32 {
        self.received
    }

    /// Returns the number of their payload octets.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Receives all datagrams, and passes each to `look`. Returns whether there was any.
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
        // At most as many as a socket holds.
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
