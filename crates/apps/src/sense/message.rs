//! Readings in CoAP messages, confirmable or not.

use super::readings::{Probe, Readings, TAG, Waiting};
use crate::app::App;
use crate::coap::Socket;
use crate::sockets::Peer;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{CoapConfig, Code, Delivery, Event, HEADER_LEN, Handle, Sizes, Stats};
use kinglet_mem::Array;
use kinglet_time::{Duration, Expected, Instant, earliest};

/// Time between non-confirmable messages, as in the application of TCPlp.
pub const PACE: Duration = Duration::from_millis(500);

/// Octets of a message other than readings and the segments of its path: header, a token of four
/// octets, the payload marker, and the tag.
pub const AROUND: usize = HEADER_LEN + 4 + 1 + TAG;

/// A sensor that sends its readings in messages, one at a time: a confirmable POST, or a
/// non-confirmable PUT. With confirmable messages only a full queue loses readings.
pub struct MessageSensor<P, Q, Z: Sizes> {
    readings: Readings<P, Q>,
    to: Peer,
    path: &'static str,
    /// Octets of readings in a message.
    room: usize,
    delivery: Delivery,
    socket: Socket<Z>,
    /// The readings of the last message, their number of octets, and their tag.
    octets: Z::Message,
    len: usize,
    tag: Option<u32>,
    request: Option<Handle>,
    next: Instant,
    /// Number of requests, and the base from which the first timeout of the last one was drawn.
    asked: u32,
    first_timeout: Duration,
}

impl<P: Probe, Q: Array<Option<Waiting<P::Reading>>>, Z: Sizes> MessageSensor<P, Q, Z> {
    /// Creates a sensor whose messages go to `path` at `to`, with `room` octets of readings in
    /// each, or as many as a message of `Z` holds.
    pub fn new(
        readings: Readings<P, Q>,
        (to, path): (Peer, &'static str),
        room: usize,
        delivery: Delivery,
        config: CoapConfig,
    ) -> Self {
        let around = path.len().saturating_add(1).saturating_add(AROUND);
        MessageSensor {
            readings,
            to,
            path,
            room: room.min(Z::Message::LEN.saturating_sub(around)),
            delivery,
            socket: Socket::new(0, config),
            octets: Z::Message::EMPTY,
            len: 0,
            tag: None,
            request: None,
            next: Instant::ZERO,
            asked: 0,
            first_timeout: Duration::ZERO,
        }
    }

    /// Returns its readings.
    pub const fn readings(&self) -> &Readings<P, Q> {
        &self.readings
    }

    /// Returns the counters of its endpoint.
    pub const fn stats(&self) -> Stats {
        self.socket.stats()
    }

    /// Returns the tag of the last message, unless that has been acknowledged.
    pub const fn tag(&self) -> Option<u32> {
        self.tag
    }

    /// Returns the number of requests so far, including repeated ones.
    pub const fn asked(&self) -> u32 {
        self.asked
    }

    /// Returns the base from which the first timeout of the last request was drawn.
    pub const fn first_timeout(&self) -> Duration {
        self.first_timeout
    }

    fn send<N: Profile>(&mut self, now: Instant, node: &mut Node<N>) -> bool {
        if self.request.is_none() && now >= self.next && self.readings.is_ready() {
            let out = self.octets.as_mut_slice().get_mut(..self.room).unwrap_or_default();
            if let Some(piece) = self.readings.take(out) {
                (self.len, self.tag) = (piece.len, Some(piece.tag));
                self.ask(now);
            }
        }
        let request = self.request;
        let mut answered = false;
        let mut busy = self.socket.poll(now, node, |_, _, event| {
            answered |= matches!(event, Event::Response { handle, .. } if Some(handle) == request);
        });
        if answered {
            (self.request, self.tag) = (None, None);
        }
        while let Some((handle, _)) = self.socket.endpoint().poll_failure() {
            if Some(handle) == request {
                // The request timed out, and starts again with the first timeout.
                self.ask(now);
            }
            busy = true;
        }
        busy | self.forget_sent(now)
    }

    fn ask(&mut self, now: Instant) {
        let Some(tag) = self.tag else { return };
        let code = if self.delivery == Delivery::Confirmable { Code::POST } else { Code::PUT };
        let octets = self.octets.as_slice().get(..self.len).unwrap_or_default();
        let path = self.path;
        let made = self.socket.endpoint().request(now, self.to, self.delivery, code, |request| {
            request.path(path)?;
            let space = request.payload_space(octets.len().saturating_add(TAG))?;
            let (front, rest) = space.split_at_mut_checked(TAG).unwrap_or_default();
            kinglet_mem::copy(front, &tag.to_be_bytes());
            kinglet_mem::copy(rest, octets);
            Ok(())
        });
        self.request = made.ok();
        self.asked = self.asked.wrapping_add(1);
        self.first_timeout = self.socket.endpoint().rto(self.to);
    }

    /// A non-confirmable message gets no response. Its arrival is unknown, so its tag stays.
    fn forget_sent(&mut self, now: Instant) -> bool {
        let Some(request) = self.request.filter(|_| self.delivery != Delivery::Confirmable) else {
            return false;
        };
        let sent = self.socket.endpoint().is_sent(request) == Some(true);
        if sent {
            self.socket.endpoint().cancel(request);
            self.request = None;
            self.next = now + PACE;
        }
        sent
    }
}

impl<P: Probe, Q: Array<Option<Waiting<P::Reading>>>, Z: Sizes> App for MessageSensor<P, Q, Z> {
    fn poll<N: Profile>(&mut self, now: Instant, node: &mut Node<N>) -> bool {
        let sampled = self.readings.sample(now);
        self.send(now, node) | sampled
    }

    fn deadline(&self) -> Option<Instant> {
        let wants = self.request.is_none() && self.readings.is_ready();
        let message = earliest(self.socket.deadline(), wants.then_some(self.next));
        earliest(Some(self.readings.next()), message)
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }

    fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.socket.reasons(each);
    }
}
