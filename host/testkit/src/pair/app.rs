//! An application at one end of a connection: writes its stream, reads and checks the other's.

use super::course::{Ending, MAX_STREAM, Part};
use super::{End, Side};
use kinglet_tcp::congestion::Controller;
use kinglet_tcp::{ConnectionError, Handle, RecvError, SendError, State};
use kinglet_time::{Duration, Instant};

/// Identifies a stream: the client's end, the client's port, and its direction. A stream has the
/// same content whenever its ports are used again, so octets of a late segment of an earlier
/// connection would be correct at the same offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) client: Side,
    pub(super) port: u16,
    pub(super) from_client: bool,
}

/// Source of the contents of streams, each from a different offset: constant, so that it can be
/// sent by reference, and longer than a stream, so that no part of a stream repeats in it.
static CONTENT: [u8; CONTENT_LEN] = content();
const CONTENT_LEN: usize = 1 << 17;

const fn content() -> [u8; CONTENT_LEN] {
    let mut octets = [0; CONTENT_LEN];
    let (mut i, mut state) = (0, 1_u64);
    while i < CONTENT_LEN {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        octets[i] = (state >> 56) as u8;
        i += 1;
    }
    octets
}

impl Stream {
    fn stretch(self, from: usize, to: usize) -> &'static [u8] {
        let stream_offset = (self.client << 1 | usize::from(self.from_client)) * 16_411;
        let start = (usize::from(self.port) * 7 + stream_offset) % (CONTENT_LEN - MAX_STREAM);
        &CONTENT[start + from..start + to]
    }
}

/// Progress of an application.
#[derive(Debug)]
pub(super) struct App {
    pub(super) side: Side,
    pub(super) handle: Handle,
    pub(super) part: Part,
    /// The stream that it reads; it writes the opposite one.
    pub(super) reads: Stream,
    pub(super) sent: usize,
    pub(super) got: usize,
    writes: usize,
    pub(super) eof: bool,
    pub(super) closed: bool,
    pub(super) aborted: bool,
    pub(super) error: Option<ConnectionError>,
    began: Instant,
    /// Time of its next read.
    wake: Instant,
}

impl App {
    pub(super) fn new(now: Instant, side: Side, handle: Handle, part: Part, s: Stream) -> App {
        App {
            side,
            handle,
            part,
            reads: s,
            sent: 0,
            got: 0,
            writes: 0,
            eof: false,
            closed: false,
            aborted: false,
            error: None,
            began: now,
            wake: now,
        }
    }

    /// Returns whether it has nothing more to do.
    pub(super) fn is_over(&self) -> bool {
        self.aborted || (self.closed && (self.eof || self.error.is_some()))
    }

    /// Returns the time of its next call, if nothing happens before.
    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        let abort = match self.part.ending {
            Ending::Abort(after) => Some(self.began + after),
            _ => None,
        };
        let wake = (self.wake > now).then_some(self.wake);
        let times = [abort, wake].into_iter().flatten().filter(|_| !self.is_over());
        times.min()
    }

    pub(super) fn run<C: Controller>(&mut self, now: Instant, end: &mut End<C>) {
        if self.is_over() {
            return;
        }
        if let Ending::Abort(after) = self.part.ending
            && self.began + after <= now
        {
            end.abort(self.handle).expect("a handle of a living connection");
            self.aborted = true;
            return;
        }
        self.write(end);
        if self.wake <= now && self.error.is_none() {
            self.read(now, end);
        }
        // After an error too: until then the connection is kept for queries.
        let done = match self.part.ending {
            Ending::Close => self.sent == self.part.total,
            Ending::AfterEof => self.eof,
            Ending::Abort(_) => false,
        } || self.error.is_some();
        // In SYN-SENT a close would discard the queued octets.
        let opening = end.state(self.handle) == Some(State::SynSent);
        if done && !self.closed && !opening {
            end.close(self.handle).expect("a handle of a living connection");
            self.closed = true;
        }
    }

    fn write<C: Controller>(&mut self, end: &mut End<C>) {
        let stream = Stream { from_client: !self.reads.from_client, ..self.reads };
        while self.sent < self.part.total && !self.closed {
            let until = self.part.total.min(self.sent + self.part.chunk);
            let data = stream.stretch(self.sent, until);
            self.writes += 1;
            let every = self.part.constant_every;
            let result = if every > 0 && self.writes.is_multiple_of(every) {
                end.send_static(self.handle, data)
            } else {
                let room = end.can_send(self.handle);
                let result = end.send(self.handle, data);
                assert!(result.is_err() || result == Ok(room.min(data.len())), "all that fits");
                result
            };
            match result {
                Ok(taken) => {
                    self.sent += taken;
                    if taken < data.len() {
                        return;
                    }
                }
                Err(SendError::Ended(error)) => {
                    self.error = Some(error);
                    return;
                }
                Err(error) => panic!("send: {error}"),
            }
        }
    }

    fn read<C: Controller>(&mut self, now: Instant, end: &mut End<C>) {
        let mut data = vec![0; self.part.chunk];
        while !self.eof {
            match end.recv(self.handle, &mut data) {
                Ok(0) => self.eof = true,
                Ok(count) => {
                    let written = self.reads.stretch(self.got, self.got + count);
                    let (got, reads) = (self.got, self.reads);
                    assert!(data[..count] == *written, "wrong octets after {got} of {reads:?}");
                    self.got += count;
                    if self.part.pause > Duration::ZERO {
                        self.wake = now + self.part.pause;
                        return;
                    }
                }
                Err(RecvError::WouldBlock) => return,
                Err(RecvError::Ended(error)) => {
                    self.error = Some(error);
                    return;
                }
                // It has closed its side, and a new connection has the slot of this one, which had
                // ended: if octets had been unread, the stream would not be complete.
                Err(RecvError::InvalidHandle) if self.closed => self.eof = true,
                Err(error) => panic!("recv: {error}"),
            }
        }
    }
}
