//! The applications of `pair` and `leaf`: one sends a pattern, the other checks it.

use core::net::Ipv6Addr;
use kinglet::mac::{Key, Security};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, RecvError, State};
use kinglet::time::Instant;
use kinglet::{Config, Node, Profile};

const PORT: u16 = 7;
/// Short addresses of the receiver and of the sender.
pub const RECEIVER: u16 = 0;
pub const SENDER: u16 = 1;
/// fe80::ff:fe00:0, which follows from the receiver's short address (RFC 6282, 3.2.2).
pub const RECEIVER_ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, RECEIVER);
/// What fits into so many frames, TCP options included: 125 octets less a MAC header of 9 and what
/// link security takes are left in each, and link-local addresses with elided IIDs compress the
/// IPv6 header to 3.
pub const fn mss(frames: u8, security_octets: usize) -> u16 {
    match kinglet::net::mss_for_frames(frames, 116 - security_octets, 3, 20) {
        Some(mss) => mss,
        None => ConnectionConfig::DEFAULT.mss,
    }
}
/// What link security takes of a frame: level, counter and key index, integrity code.
pub const SECURITY_OCTETS: usize = 1 + 4 + 1 + 4;
/// A key that everybody knows: for tests.
pub const SECURITY: Security =
    Security { key: Key(*b"kinglet firmware"), eui64_prefix: [0; 6], first_counter: 0 };
/// A connection whose segments fill five frames.
pub const CONNECTION: ConnectionConfig =
    ConnectionConfig { mss: mss(5, 0), ..ConnectionConfig::DEFAULT };

/// The settings of the node with this short address.
pub fn config(short: u16) -> Config {
    // A product takes seed and secret from a source of entropy; a test must not.
    let seed = u64::from(short) + 1;
    Config::new(short, [0; 8], seed, [seed as u8; 16])
}

/// The octet at `index` of the stream: no period that a segment or buffer length could hide.
fn pattern(index: usize) -> u8 {
    (index.wrapping_mul(0x9e37_79b1) >> 13) as u8
}

/// Sends a number of octets and closes.
pub struct Sender {
    handle: Handle,
    sent: usize,
    total: usize,
}

impl Sender {
    /// Opens the connection.
    ///
    /// # Errors
    /// Why not.
    pub fn new(
        now: Instant,
        node: &mut Node<impl Profile>,
        config: ConnectionConfig,
        total: usize,
    ) -> Result<Self, &'static str> {
        let handle = node.streams().connect(now, RECEIVER_ADDRESS, PORT, config);
        Ok(Sender { handle: handle.map_err(|_| "cannot connect")?, sent: 0, total })
    }

    /// Writes at most `room` octets of what there is room for.
    ///
    /// # Errors
    /// Why not.
    pub fn step(&mut self, node: &mut Node<impl Profile>, room: usize) -> Result<(), &'static str> {
        let gone = "the sender's connection ended";
        let mut chunk = [0; 128];
        let mut room = room;
        let handle = self.handle;
        let open = matches!(node.tcp().state(handle), Some(State::Established | State::CloseWait));
        // The ring's length bounds the rounds.
        while open && self.sent < self.total && room > 0 && node.tcp().can_send(handle) > 0 {
            let len = chunk.len().min(self.total - self.sent).min(room);
            let chunk = chunk.get_mut(..len).unwrap_or_default();
            for (offset, octet) in chunk.iter_mut().enumerate() {
                *octet = pattern(self.sent + offset);
            }
            let written = node.streams().send(handle, chunk).map_err(|_| gone)?;
            self.sent += written;
            room -= written;
            if self.sent == self.total {
                node.streams().close(handle).map_err(|_| gone)?;
            }
        }
        Ok(())
    }

    /// Octets written so far.
    pub const fn sent(&self) -> usize {
        self.sent
    }

    /// Whether the connection stands.
    pub fn is_open(&self, node: &Node<impl Profile>) -> bool {
        node.tcp().state(self.handle) == Some(State::Established)
    }

    /// Segments sent again: after duplicate acknowledgements, and after timeouts.
    pub fn retransmissions(&self, node: &Node<impl Profile>) -> (u16, u16) {
        let counters = node.tcp().info(self.handle).map(|info| info.counters);
        counters.map_or((0, 0), |all| (all.fast_retransmits, all.timeout_retransmits))
    }
}

/// Accepts one connection, checks what comes and closes when the peer does.
pub struct Receiver {
    handle: Option<Handle>,
    received: usize,
    total: usize,
}

impl Receiver {
    /// Listens.
    ///
    /// # Errors
    /// Why not.
    pub fn new(
        node: &mut Node<impl Profile>,
        connection: ConnectionConfig,
        total: usize,
    ) -> Result<Self, &'static str> {
        let config = ListenConfig { backlog: 1, connection, ..ListenConfig::default() };
        node.streams().listen(PORT, config).map_err(|_| "cannot listen")?;
        Ok(Receiver { handle: None, received: 0, total })
    }

    /// Reads what is there; true at the end of the stream.
    ///
    /// # Errors
    /// What is wrong with the stream.
    pub fn step(&mut self, node: &mut Node<impl Profile>) -> Result<bool, &'static str> {
        let mut streams = node.streams();
        self.handle = self.handle.or_else(|| streams.accept(PORT));
        let Some(handle) = self.handle else { return Ok(false) };
        let mut chunk = [0; 512];
        // The ring's length bounds the rounds.
        loop {
            match streams.recv(handle, &mut chunk) {
                Ok(0) if self.received == self.total => {
                    streams.close(handle).map_err(|_| "the receiver's connection ended")?;
                    return Ok(true);
                }
                Ok(0) | Err(RecvError::InvalidHandle | RecvError::Ended(_)) => {
                    return Err("the receiver's connection ended too early");
                }
                Ok(len) => self.check(chunk.get(..len).unwrap_or_default())?,
                Err(RecvError::WouldBlock) => return Ok(false),
            }
        }
    }

    /// Octets checked so far.
    pub const fn received(&self) -> usize {
        self.received
    }

    fn check(&mut self, octets: &[u8]) -> Result<(), &'static str> {
        for &octet in octets {
            if self.received == self.total {
                return Err("more came than was sent");
            }
            if octet != pattern(self.received) {
                return Err("an octet is not the one that was sent");
            }
            self.received += 1;
        }
        Ok(())
    }
}
