//! The applications: one sends a pattern, the other checks it.

use core::fmt;
use core::net::Ipv6Addr;
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, RecvError, State};
use kinglet::time::Instant;
use kinglet::{Mote, Node};

/// Octets to be moved.
pub const TOTAL: usize = 20_000;
const PORT: u16 = 7;
/// fe80::ff:fe00:0, which follows from node 0's short address (RFC 6282, 3.2.2).
const RECEIVER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 0);
/// What fits into five frames, TCP options included: 125 octets less a MAC header of 9 are left
/// in each, and link-local addresses with elided IIDs compress the IPv6 header to 3.
const MSS: Option<u16> = kinglet::net::mss_for_frames(5, 116, 3, 20);

fn connection() -> ConnectionConfig {
    let mss = MSS.unwrap_or(ConnectionConfig::DEFAULT.mss);
    ConnectionConfig { mss, ..ConnectionConfig::DEFAULT }
}

/// The octet at `index` of the stream: no period that a segment or buffer length could hide.
fn pattern(index: usize) -> u8 {
    (index.wrapping_mul(0x9e37_79b1) >> 13) as u8
}

/// Why the transfer failed.
pub enum Failure {
    Listen,
    Connect,
    Send,
    /// The connection ended at this many octets.
    Receive(usize),
    /// This octet is not the one that was sent.
    Wrong(usize),
    /// The peer sent more than it should have.
    TooMuch,
    /// Nothing is due any more, or time is over.
    Hangs,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Listen => f.write_str("cannot listen"),
            Failure::Connect => f.write_str("cannot connect"),
            Failure::Send => f.write_str("the sender's connection ended"),
            Failure::Receive(at) => write!(f, "the receiver's connection ended after {at} octets"),
            Failure::Wrong(at) => write!(f, "octet {at} is wrong"),
            Failure::TooMuch => f.write_str("more came than was sent"),
            Failure::Hangs => f.write_str("nothing is due any more, or time is over"),
        }
    }
}

/// Sends [`TOTAL`] octets and closes.
pub struct Sender {
    handle: Handle,
    sent: usize,
}

impl Sender {
    pub fn new(now: Instant, node: &mut Node<Mote>) -> Result<Self, Failure> {
        let handle = node.tcp_connect(now, RECEIVER, PORT, connection());
        Ok(Sender { handle: handle.map_err(|_| Failure::Connect)?, sent: 0 })
    }

    /// Writes what there is room for.
    pub fn step(&mut self, node: &mut Node<Mote>) -> Result<(), Failure> {
        let mut chunk = [0; 128];
        let tcp = node.tcp();
        let open = matches!(tcp.state(self.handle), Some(State::Established | State::CloseWait));
        // The ring's length bounds the rounds.
        while open && self.sent < TOTAL && tcp.can_send(self.handle) > 0 {
            let len = chunk.len().min(TOTAL - self.sent);
            for (offset, octet) in chunk[..len].iter_mut().enumerate() {
                *octet = pattern(self.sent + offset);
            }
            self.sent += tcp.send(self.handle, &chunk[..len]).map_err(|_| Failure::Send)?;
            if self.sent == TOTAL {
                tcp.close(self.handle).map_err(|_| Failure::Send)?;
            }
        }
        Ok(())
    }

    /// Segments sent again: after duplicate acknowledgements, and after timeouts.
    pub fn retransmissions(&self, node: &mut Node<Mote>) -> (u32, u32) {
        let counters = node.tcp().info(self.handle).map(|info| info.counters);
        counters.map_or((0, 0), |all| (all.fast_retransmits, all.timeout_retransmits))
    }
}

/// Accepts one connection, checks what comes and closes when the peer does.
pub struct Receiver {
    handle: Option<Handle>,
    received: usize,
}

impl Receiver {
    pub fn new(node: &mut Node<Mote>) -> Result<Self, Failure> {
        let config = ListenConfig { backlog: 1, connection: connection() };
        node.tcp().listen(PORT, config).map_err(|_| Failure::Listen)?;
        Ok(Receiver { handle: None, received: 0 })
    }

    /// Reads what is there; true at the end of the stream.
    pub fn step(&mut self, node: &mut Node<Mote>) -> Result<bool, Failure> {
        let tcp = node.tcp();
        self.handle = self.handle.or_else(|| tcp.accept(PORT));
        let Some(handle) = self.handle else { return Ok(false) };
        let mut chunk = [0; 128];
        // The ring's length bounds the rounds.
        loop {
            match tcp.recv(handle, &mut chunk) {
                Ok(0) if self.received == TOTAL => {
                    tcp.close(handle).map_err(|_| Failure::Receive(self.received))?;
                    return Ok(true);
                }
                Ok(0) | Err(RecvError::InvalidHandle | RecvError::Ended(_)) => {
                    return Err(Failure::Receive(self.received));
                }
                Ok(len) => self.check(&chunk[..len])?,
                Err(RecvError::WouldBlock) => return Ok(false),
            }
        }
    }

    fn check(&mut self, octets: &[u8]) -> Result<(), Failure> {
        for &octet in octets {
            if self.received == TOTAL {
                return Err(Failure::TooMuch);
            }
            if octet != pattern(self.received) {
                return Err(Failure::Wrong(self.received));
            }
            self.received += 1;
        }
        Ok(())
    }
}
