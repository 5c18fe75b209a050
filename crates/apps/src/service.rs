//! Services that need no client of their own, on the ports where they always were: `nc` or `socat`
//! will do to send a stream to a mote, to fetch one, or to have it come back.
//!
//! | port | service | source |
//! |---|---|---|
//! | 7 | [`Echo`]: what comes goes back | RFC 862 |
//! | 9 | [`Sink`]: what comes is thrown away | RFC 863 |
//! | 19 | [`Source`]: the known stream without end | RFC 864, but for the characters |

use crate::pattern::fill;
use crate::scarce::LOSS_PATIENCE;
use crate::sockets::{Place, Sockets, StreamApp};
use kinglet::tcp::{Handle, ListenConfig, RecvError, State};
use kinglet_mem::{Array, Held};
use kinglet_time::{Duration, Instant, earliest};

/// Octets moved at a time.
const CHUNK: usize = 256;
/// A connection on which nothing has moved for so long makes room for others.
const IDLE: Duration = Duration::from_secs(60);

/// For how long nothing moves on a connection to `port` before it is left: if a client waits for
/// its place, whose repetitions have it looked at again, no longer than a loss may last.
fn patience(sockets: &impl Sockets, port: u16) -> Duration {
    if sockets.is_wanted(port) { LOSS_PATIENCE } else { IDLE }
}

/// What is done on each connection to a port.
pub trait Service {
    /// The port.
    const PORT: u16;
    /// Before anything has moved.
    const NEW: Self;

    /// Moves what can be moved now.
    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress;
}

/// What became of a connection at a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Something has moved.
    Moved,
    /// Nothing could be moved.
    Nothing,
    /// The peer has ended its side, and so does this end.
    Ended,
    /// It has ended with an error.
    Failed,
}

/// What comes goes back. It is taken when there is room to send it, so a peer that does not read is
/// held back by TCP.
#[derive(Clone, Copy, Debug)]
pub struct Echo;

impl Service for Echo {
    const PORT: u16 = 7;
    const NEW: Self = Echo;

    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress {
        let mut chunk = [0; CHUNK];
        let mut found = Progress::Nothing;
        // The receive ring's length bounds the rounds.
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
                    // There is room for all of it.
                    let _ = sockets.send(handle, octets.get(..len).unwrap_or_default());
                    found = Progress::Moved;
                }
                Err(RecvError::WouldBlock) => return found,
                Err(_) => return Progress::Failed,
            }
        }
    }
}

/// What comes is thrown away.
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

/// The known stream without end; what comes is thrown away.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    sent: u64,
}

impl Service for Source {
    const PORT: u16 = 19;
    const NEW: Self = Source { sent: 0 };

    fn work<S: Sockets>(&mut self, sockets: &mut S, handle: S::Handle) -> Progress {
        let mut found = match Sink.work(sockets, handle) {
            // It may still want to have the stream.
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

/// How many connections at a time: a memory plan (see `kinglet_mem`). Who comes later takes the
/// place of one on which nothing has moved for ten seconds.
pub trait Sizes {
    /// Room for connections.
    type Connections<C>: Array<Place<C>>;
}

/// A connection to a service.
pub struct Connection<V, H> {
    handle: H,
    service: V,
    /// When an octet last came or went.
    moved: Instant,
}

/// A server of the service `V`.
pub struct Server<V: Service, Z: Sizes, H = Handle> {
    config: ListenConfig,
    listening: bool,
    connections: Z::Connections<Connection<V, H>>,
}

impl<V: Service, Z: Sizes, H: Copy> Server<V, Z, H> {
    /// A server whose connections have these settings.
    pub const fn new(config: ListenConfig) -> Self {
        let connections = Z::Connections::<Connection<V, H>>::EMPTY;
        Server { config, listening: false, connections }
    }

    /// Takes connections while there are places; whether there was one.
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
    fn turn<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if !self.listening {
            self.listening = sockets.listen(V::PORT, self.config);
        }
        // Clients get free places first: whoever waits after that waits for one that is taken.
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
