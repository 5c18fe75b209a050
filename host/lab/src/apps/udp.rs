//! Datagrams at a fixed period.

use core::net::Ipv6Addr;
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant};
use kinglet::{Node, Profile};
use kinglet_apps::App;

/// Octets of the sequence number at the front of each datagram.
const SEQUENCE: usize = 4;
/// The largest UDP payload within the IPv6 minimum MTU.
const MAX_PAYLOAD: usize = 1280 - 40 - 8;

/// Sends a numbered datagram every period.
pub struct UdpSender {
    to: (Ipv6Addr, u16),
    next: Instant,
    period: Duration,
    payload: Vec<u8>,
    socket: Option<UdpHandle>,
    sent: u32,
    refused: u32,
}

impl UdpSender {
    /// Datagrams of `payload_len` octets (4 to 1232) to `to`, the first at `start`.
    pub fn new(to: (Ipv6Addr, u16), start: Instant, period: Duration, payload_len: usize) -> Self {
        let payload = vec![0; payload_len.clamp(SEQUENCE, MAX_PAYLOAD)];
        UdpSender { to, next: start, period, payload, socket: None, sent: 0, refused: 0 }
    }

    /// Datagrams that the stack has taken.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// Datagrams that it has refused for want of room.
    pub fn refused(&self) -> u32 {
        self.refused
    }
}

impl App for UdpSender {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if now < self.next {
            return false;
        }
        self.next += self.period;
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(0).ok();
        }
        let Some(socket) = self.socket else { return false };
        let number = self.sent + self.refused;
        self.payload[..SEQUENCE].copy_from_slice(&number.to_be_bytes());
        match node.datagrams().send(now, socket, self.to.0, self.to.1, &self.payload) {
            Ok(()) => self.sent += 1,
            Err(_) => self.refused += 1,
        }
        true
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }
}

/// Counts what arrives on a port.
pub struct UdpSink {
    port: u16,
    socket: Option<UdpHandle>,
    received: u32,
    bytes: u64,
    last: Instant,
}

impl UdpSink {
    /// A sink on `port`.
    pub fn new(port: u16) -> Self {
        UdpSink { port, socket: None, received: 0, bytes: 0, last: Instant::ZERO }
    }

    /// Datagrams that arrived.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Their payload octets.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last one did.
    pub fn last(&self) -> Instant {
        self.last
    }
}

impl App for UdpSink {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if self.socket.is_none() {
            self.socket = node.datagrams().bind(self.port).ok();
        }
        let Some(socket) = self.socket else { return false };
        let mut buf = [0; MAX_PAYLOAD];
        let mut busy = false;
        while let Ok(Some(datagram)) = node.datagrams().recv(socket, &mut buf) {
            self.received += 1;
            self.bytes += datagram.len as u64;
            self.last = now;
            busy = true;
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.is_none().then_some(Instant::ZERO)
    }
}
