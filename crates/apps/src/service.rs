//! Services that need no special client, on their well-known ports: `nc` or `socat` can send a
//! stream to a mote, fetch one, or have it echoed.
//!
//! | port | service | source |
//! |---|---|---|
//! | 7 | [`Echo`]: returns received octets | RFC 862 |
//! | 9 | [`Sink`]: discards received octets | RFC 863 |
//! | 19 | [`Source`]: the known stream without end | RFC 864, except for the characters |

use crate::pattern::fill;
use crate::scarce::LOSS_PATIENCE;
use crate::sockets::{Place, Sockets, StreamApp};
use kinglet::tcp::{Handle, ListenConfig, RecvError, State};
use kinglet_mem::{Array, Held};
use kinglet_time::{Duration, Instant, earliest};

/// Octets moved at a time.
const CHUNK: usize = 256;
/// Idle time after which a connection is closed.
const IDLE: Duration = Duration::from_secs(60);

/// Returns the idle time after which a connection to `port` is released. It is shorter while a
/// client waits for a slot, whose retransmissions trigger this check; then it is only as long as a
/// loss may last.
fn patience(sockets: &impl Sockets, port: u16) -> Duration {
    if sockets.is_wanted(port) { LOSS_PATIENCE } else { IDLE }
}

/// Behaviour on each connection to a port.
pub trait Service {
    /// The port.
    const PORT: u16;
    /// State before anything has moved.
    const NEW: Self;

    /// Moves the octets that can be moved now.
    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress;
}

/// Result of one call for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Octets were moved.
    Moved,
    /// Nothing could be moved.
    Nothing,
    /// The peer has closed its side, and this end closes too.
    Ended,
    /// It has ended with an error.
    Failed,
}

/// Returns received octets. They are read when there is space to send them, so TCP flow control
/// stops a peer that does not read.
#[derive(Clone, Copy, Debug)]
pub struct Echo;

impl Service for Echo {
    const PORT: u16 = 7;
    const NEW: Self = Echo;

    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress {
        let mut chunk = [0; CHUNK];
        let mut found = Progress::Nothing;
        // The length of the receive buffer bounds the iterations.
        loop {
            let room = sockets.can_send(handle).min(CHUNK);
            let stands = matches!(
                sockets.state(handle),
                Some(State::Established | State::CloseWait | State::SynReceived)
            );
            if stands && room == 0 {
                return found;
            }
            let octets = chunk.get_mut(..room.max(1)).unwrap_or_default();
            match sockets.recv(handle, octets) {
                Ok(0) => return Progress::Ended,
                Ok(len) => {
                    // There is space for all of it.
                    let _ = sockets.send(handle, octets.get(..len).unwrap_or_default());
                    found = Progress::Moved;
                }
                Err(RecvError::WouldBlock) => return found,
                Err(_) => return Progress::Failed,
            }
        }
    }
}

/// Discards received octets.
#[derive(Clone, Copy, Debug)]
pub struct Sink;

impl Service for Sink {
    const PORT: u16 = 9;
    const NEW: Self = Sink;

    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress {
        let mut chunk = [0; CHUNK];
        let mut found = Progress::Nothing;
        loop {
            match sockets.recv(handle, &mut chunk) {
                Ok(0) => return Progress::Ended,
                Ok(_) => found = Progress::Moved,
                Err(RecvError::WouldBlock) => return found,
                Err(_) => return Progress::Failed,
            }
        }
    }
}

/// Sends the known stream without end, and discards received octets.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    sent: u64,
}

impl Service for Source {
    const PORT: u16 = 19;
    const NEW: Self = Source { sent: 0 };

    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress {
        let mut found = match Sink.work(sockets, handle) {
            // The peer may still read the stream.
            Progress::Ended => Progress::Nothing,
            found => found,
        };
        let mut chunk = [0; CHUNK];
        loop {
            fill(self.sent, &mut chunk);
            match sockets.send(handle, &chunk) {
                Ok(0) => return found,
                Ok(taken) => {
                    self.sent = self.sent.saturating_add(taken as u64);
                    found = Progress::Moved;
                }
                Err(_) => return Progress::Failed,
            }
        }
    }
}

/// Number of simultaneous connections: a memory plan (see `kinglet_mem`). A further client evicts a
/// connection that was idle for ten seconds.
pub trait Sizes {
    /// Slots for connections.
    type Connections<C>: Array<Place<C>>;
}

/// A connection to a service.
pub struct Connection<V, H> {
    handle: H,
    service: V,
    /// Time of the last octet sent or received.
    moved: Instant,
}

/// A server of the service `V`.
pub struct Server<V: Service, Z: Sizes, H = Handle> {
    config: ListenConfig,
    listening: bool,
    connections: Z::Connections<Connection<V, H>>,
}

impl<V: Service, Z: Sizes, H: Copy> Server<V, Z, H> {
    /// Creates a server whose connections have these settings.
    pub const fn new(config: ListenConfig) -> Self {
        let connections = Z::Connections::<Connection<V, H>>::EMPTY;
        Server { config, listening: false, connections }
    }

    /// Accepts connections while slots are free. Returns whether there was one.
    fn accept(&mut self, now: Instant, sockets: &mut impl Sockets<Handle = H>) -> bool {
        let mut busy = false;
        for place in self.connections.as_mut_slice().iter_mut().filter(|place| place.0.is_none()) {
            let Some(handle) = sockets.accept(V::PORT) else { break };
            place.0 = Some(Held::This(Connection { handle, service: V::NEW, moved: now }));
            busy = true;
        }
        busy
    }

    fn connections(&self) -> impl Iterator<Item = &Connection<V, H>> {
        self.connections.as_slice().iter().filter_map(|place| place.0.as_deref())
    }
}

impl<V: Service, Z: Sizes, H: Copy> StreamApp<H> for Server<V, Z, H> {
    fn step<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if !self.listening {
            self.listening = sockets.listen(V::PORT, self.config);
        }
        // Free slots are filled first: a client that still waits then needs the slot of another
        // connection.
        let mut busy = self.accept(now, sockets);
        for place in self.connections.as_mut_slice() {
            let Some(connection) = place.0.as_deref_mut() else { continue };
            let handle = connection.handle;
            match connection.service.work(sockets, handle) {
                Progress::Moved => {
                    connection.moved = now;
                    busy = true;
                    continue;
                }
                Progress::Nothing if now < connection.moved + patience(sockets, V::PORT) => {
                    continue;
                }
                Progress::Ended => sockets.close(handle),
                Progress::Nothing | Progress::Failed => {
                    sockets.release(now, handle, Some(Duration::ZERO));
                }
            }
            place.0 = None;
            busy = true;
        }
        busy
    }

    fn due(&self) -> Option<Instant> {
        let listen = (!self.listening).then_some(Instant::ZERO);
        self.connections().fold(listen, |soonest, it| earliest(soonest, Some(it.moved + IDLE)))
    }
}
