//! A bulk transfer: one side writes the known stream as fast as it can, the other checks it.

use crate::pattern::{fill, is_intact};
use crate::sockets::{Peer, Sockets, StreamApp};
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, ListenConfig, RecvError, State};
use kinglet_time::{BackOff, Instant};

/// Octets moved between application and socket at a time.
const CHUNK: usize = 512;

/// The sending side, which also opens the connection. If it is refused, or has no route, it tries
/// again with [`BackOff`]: the receiver may start later, and so may the network.
#[derive(Debug)]
pub struct Sender<H = Handle> {
    to: Peer,
    start: Instant,
    bytes: Option<u64>,
    config: ConnectionConfig,
    handle: Option<H>,
    written: u64,
    closed: bool,
    back_off: BackOff,
}

impl<H: Copy> Sender<H> {
    /// Creates a transfer of `bytes` octets to `to` that begins at `start`; `None` = without end.
    pub const fn new(
        to: Peer,
        start: Instant,
        bytes: Option<u64>,
        config: ConnectionConfig,
    ) -> Self {
        let back_off = BackOff::NEW;
        Sender { to, start, bytes, config, handle: None, written: 0, closed: false, back_off }
    }

    /// Returns its connection; none before the first attempt, and between attempts.
    pub const fn connection(&self) -> Option<H> {
        self.handle
    }

    /// Returns the number of octets written to the connection.
    pub const fn written(&self) -> u64 {
        self.written
    }

    fn write<S: Sockets<Handle = H>>(&mut self, handle: H, sockets: &mut S) -> bool {
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        while !self.closed {
            let left = self.bytes.map_or(u64::MAX, |bytes| bytes.saturating_sub(self.written));
            if left == 0 {
                // A close would end a connection that is not established yet, with its queued
                // octets.
                if sockets.state(handle) == Some(State::SynSent) {
                    break;
                }
                sockets.close(handle);
                self.closed = true;
                return true;
            }
            let room = sockets.can_send(handle).min(CHUNK);
            let len = room.min(usize::try_from(left).unwrap_or(CHUNK));
            let octets = chunk.get_mut(..len).unwrap_or_default();
            if octets.is_empty() {
                break;
            }
            fill(self.written, octets);
            let taken = sockets.send(handle, octets).unwrap_or(0);
            self.written = self.written.saturating_add(taken as u64);
            busy |= taken > 0;
            if taken < len {
                break;
            }
        }
        busy
    }
}

impl<H: Copy> StreamApp<H> for Sender<H> {
    fn step<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if now < self.start || now < self.back_off.at() {
            return false;
        }
        let Some(handle) = self.handle else {
            self.handle = sockets.connect(now, self.to, self.config);
            if self.handle.is_none() {
                self.back_off.failed(now);
            }
            return true;
        };
        // A refused connection has received no octets, so there is nothing to read.
        if let Err(RecvError::Ended(ConnectionError::Refused | ConnectionError::Unreachable)) =
            sockets.peek(handle, &mut [0])
        {
            sockets.close(handle);
            (self.handle, self.written, self.closed) = (None, 0, false);
            self.back_off.failed(now);
            return true;
        }
        self.write(handle, sockets)
    }

    fn due(&self) -> Option<Instant> {
        self.handle.is_none().then_some(self.start.max(self.back_off.at()))
    }
}

/// The receiving side, for one transfer.
#[derive(Debug)]
pub struct Receiver<H = Handle> {
    port: u16,
    config: ListenConfig,
    listening: bool,
    handle: Option<H>,
    received: u64,
    intact: bool,
    finished: bool,
}

impl<H: Copy> Receiver<H> {
    /// Creates a receiver on `port`.
    pub const fn new(port: u16, config: ListenConfig) -> Self {
        let (handle, received) = (None, 0);
        let (intact, finished) = (true, false);
        Receiver { port, config, listening: false, handle, received, intact, finished }
    }

    /// Returns its connection, once there is one.
    pub const fn connection(&self) -> Option<H> {
        self.handle
    }

    /// Returns the number of octets received in order.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Returns whether all of them were correct.
    pub const fn intact(&self) -> bool {
        self.intact
    }

    /// Returns whether the stream has ended without an error.
    pub const fn finished(&self) -> bool {
        self.finished
    }
}

impl<H: Copy> StreamApp<H> for Receiver<H> {
    fn step<S: Sockets<Handle = H>>(&mut self, _now: Instant, sockets: &mut S) -> bool {
        if !self.listening {
            self.listening = sockets.listen(self.port, self.config);
        }
        let Some(handle) = self.handle else {
            self.handle = sockets.accept(self.port);
            return self.handle.is_some();
        };
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        while !self.finished {
            match sockets.recv(handle, &mut chunk) {
                Ok(0) => {
                    self.finished = true;
                    sockets.close(handle);
                }
                Ok(len) => {
                    let octets = chunk.get(..len).unwrap_or_default();
                    self.intact &= is_intact(self.received, octets);
                    self.received = self.received.saturating_add(len as u64);
                }
                Err(_) => break,
            }
            busy = true;
        }
        busy
    }

    fn due(&self) -> Option<Instant> {
        (!self.listening).then_some(Instant::ZERO)
    }
}
