//! Readings over a connection that is kept open, or over one for each batch.

use super::readings::{Probe, Readings, Waiting};
use crate::sockets::{Peer, Sockets, StreamApp};
use kinglet::tcp::{ConnectionConfig, Handle, State};
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant, earliest};

/// Time from the end of a connection to the next attempt, as in the application of TCPlp.
const RETRY: Duration = Duration::from_secs(3);
/// Octets moved at a time; more than the front of any reading.
const CHUNK: usize = 128;

/// A sensor that sends its readings one after another over a connection. When a connection fails,
/// the content of its send buffer is lost, and the next one begins with a whole reading.
///
/// With [`StreamSensor::connection_per_batch`] each batch has a connection of its own.
#[derive(Debug)]
pub struct StreamSensor<P, Q, H = Handle> {
    readings: Readings<P, Q>,
    to: Peer,
    config: ConnectionConfig,
    handle: Option<H>,
    next_attempt: Instant,
    written: u64,
    connection_per_batch: bool,
}

impl<P: Probe, Q: Array<Option<Waiting<P::Reading>>>, H: Copy> StreamSensor<P, Q, H> {
    /// Creates a sensor whose connections go to `to`, the first one at `start`.
    pub const fn new(
        readings: Readings<P, Q>,
        to: Peer,
        start: Instant,
        config: ConnectionConfig,
    ) -> Self {
        let (handle, next_attempt, written, connection_per_batch) = (None, start, 0, false);
        StreamSensor { readings, to, config, handle, next_attempt, written, connection_per_batch }
    }

    /// Returns the same with connections that are opened when a batch waits, and closed when all
    /// sent octets have been acknowledged.
    #[must_use]
    pub const fn connection_per_batch(mut self) -> Self {
        self.connection_per_batch = true;
        self
    }

    /// Returns its readings.
    pub const fn readings(&self) -> &Readings<P, Q> {
        &self.readings
    }

    /// Returns its connection, if there is one.
    pub const fn connection(&self) -> Option<H> {
        self.handle
    }

    /// Returns the number of octets written to the connection.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Returns whether a connection is to be opened if there is none.
    fn calls(&self) -> bool {
        self.readings.is_ready() || !self.connection_per_batch
    }

    fn connect<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if now < self.next_attempt || !self.calls() {
            return false;
        }
        self.handle = sockets.connect(now, self.to, self.config);
        self.next_attempt = now + RETRY;
        true
    }

    fn send<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let Some(handle) = self.handle else { return self.connect(now, sockets) };
        let state = sockets.state(handle).unwrap_or(State::Closed);
        if state == State::Closed {
            self.next_attempt = now + RETRY;
            self.readings.restart();
            return self.forget();
        }
        // If there is no response, the batch still waits for the next attempt.
        if self.connection_per_batch && state == State::SynSent {
            return false;
        }
        let (mut busy, mut chunk) = (false, [0; CHUNK]);
        loop {
            let room = sockets.can_send(handle).min(CHUNK);
            let out = chunk.get_mut(..room).unwrap_or_default();
            let Some(piece) = self.readings.take(out) else {
                return self.hang_up(now, sockets, handle) || busy;
            };
            // There is space, and the next call of this function detects the end of the connection.
            let _ = sockets.send(handle, out.get(..piece.len).unwrap_or_default());
            self.written = self.written.saturating_add(piece.len as u64);
            busy = true;
        }
    }

    fn hang_up<S: Sockets<Handle = H>>(
        &mut self,
        now: Instant,
        sockets: &mut S,
        handle: H,
    ) -> bool {
        let all = self.connection_per_batch && self.written > 0 && !self.readings.is_ready();
        if !all || sockets.info(handle).is_some_and(|info| info.bytes_queued > 0) {
            return false;
        }
        sockets.release(now, handle, None);
        self.next_attempt = now;
        self.forget()
    }

    /// Records that there is no connection any more.
    const fn forget(&mut self) -> bool {
        (self.handle, self.written) = (None, 0);
        true
    }
}

impl<P: Probe, Q: Array<Option<Waiting<P::Reading>>>, H: Copy> StreamApp<H>
    for StreamSensor<P, Q, H>
{
    fn step<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let sampled = self.readings.sample(now);
        self.send(now, sockets) | sampled
    }

    fn due(&self) -> Option<Instant> {
        // An existing connection wakes the node by itself.
        let attempt = (self.handle.is_none() && self.calls()).then_some(self.next_attempt);
        earliest(Some(self.readings.next()), attempt)
    }
}
