//! Three services that need no client of their own, on the ports where they always were: `nc` or
//! `socat` will do to send a stream to a mote, to fetch one, or to have it come back.
//!
//! | port | service | source |
//! |---|---|---|
//! | 7 | what comes goes back | RFC 862 |
//! | 9 | what comes is thrown away: a sink | RFC 863 |
//! | 19 | the known stream without end: a source | RFC 864, but for the characters |

use kinglet::tcp::{Handle, ListenConfig, RecvError};
use kinglet::time::{Duration, Instant, earliest};
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_apps::fill;

/// The ports, and what they do.
pub const PORTS: [(u16, &str); 3] = [(7, "echo"), (9, "sink"), (19, "source")];

const ECHO: u16 = PORTS[0].0;
const SINK: u16 = PORTS[1].0;

/// Octets moved at a time, and kept by an echo whose peer does not read.
const CHUNK: usize = 512;
/// Connections at a time: a mote has others, and who comes later waits.
const MOST: usize = 4;
/// A connection on which nothing has moved for so long makes room.
const IDLE: Duration = Duration::from_secs(60);

struct Open {
    handle: Handle,
    port: u16,
    /// When an octet last came or went.
    moved: Instant,
    /// What has come and has not gone back.
    held: Vec<u8>,
    /// Octets of the stream that have gone.
    sent: u64,
    /// The peer has ended its side.
    ended: bool,
}

/// The services of a node.
pub struct Services {
    config: ListenConfig,
    listening: bool,
    open: Vec<Open>,
}

impl Services {
    /// Services whose connections have these settings.
    pub fn new(config: ListenConfig) -> Self {
        Services { config, listening: false, open: Vec::new() }
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        self.open.len()
    }
}

impl Open {
    /// Moves what can be moved; whether the connection stays.
    fn work<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        loop {
            let (Ok(came), Ok(went)) = (self.take(node), self.give(node)) else {
                return false;
            };
            if self.ended && self.held.is_empty() && self.port <= SINK {
                return node.streams().close(self.handle).is_err();
            }
            if came + went == 0 {
                break;
            }
            self.moved = now;
        }
        if now >= self.moved + IDLE {
            return node.streams().abort(self.handle).is_err();
        }
        true
    }

    /// Takes octets that have come; how many.
    fn take<P: Profile>(&mut self, node: &mut Node<P>) -> Result<usize, RecvError> {
        let mut chunk = [0; CHUNK];
        let room = CHUNK - self.held.len();
        if self.ended || room == 0 {
            return Ok(0);
        }
        match node.streams().recv(self.handle, &mut chunk[..room]) {
            Ok(0) => self.ended = true,
            Ok(len) => {
                if self.port == ECHO {
                    self.held.extend(&chunk[..len]);
                }
                return Ok(len);
            }
            Err(RecvError::WouldBlock) => {}
            Err(error) => return Err(error),
        }
        Ok(0)
    }

    /// Gives octets that are to go; how many.
    fn give<P: Profile>(&mut self, node: &mut Node<P>) -> Result<usize, kinglet::tcp::SendError> {
        let mut chunk = [0; CHUNK];
        let octets = match self.port {
            SINK => return Ok(0),
            ECHO if self.held.is_empty() => return Ok(0),
            ECHO => &self.held[..],
            _ => {
                fill(self.sent, &mut chunk);
                &chunk[..]
            }
        };
        let taken = node.streams().send(self.handle, octets)?;
        match self.port {
            ECHO => drop(self.held.drain(..taken)),
            _ => self.sent += taken as u64,
        }
        Ok(taken)
    }
}

impl App for Services {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if !self.listening {
            // Ports and room have been checked with the scenario.
            self.listening =
                PORTS.iter().all(|(port, _)| node.streams().listen(*port, self.config).is_ok());
        }
        let mut busy = false;
        for (port, _) in PORTS {
            while self.open.len() < MOST
                && let Some(handle) = node.streams().accept(port)
            {
                let (held, moved) = (Vec::new(), now);
                self.open.push(Open { handle, port, moved, held, sent: 0, ended: false });
                busy = true;
            }
        }
        let before = self.open.len();
        self.open.retain_mut(|open| open.work(now, node));
        busy | (self.open.len() < before)
    }

    fn deadline(&self) -> Option<Instant> {
        let listen = (!self.listening).then_some(Instant::ZERO);
        self.open.iter().fold(listen, |soonest, open| earliest(soonest, Some(open.moved + IDLE)))
    }
}
