//! Readings in CoAP messages, confirmable or not.

use super::PACE;
use super::queue::{Piece, Queue};
use super::reading::{TAG, untag};
use crate::apps::coap::CoapSocket;
use kinglet::time::{Expected, Instant, earliest};
use kinglet::{Node, Profile};
use kinglet_apps::coap::Peer;
use kinglet_apps::udp::MAX_DATAGRAM;
use kinglet_coap::{Code, Config, Delivery, Event, HEADER_LEN, Handle, Stats};

/// The resource of readings, named as in the paper's application. With it, a token of four octets
/// and UDP's header a message is as long as a TCP segment with as many octets of readings.
pub(super) const PATH: &str = "anemometer";
/// The most octets of readings in a message: what a datagram holds beside header, token, path,
/// payload marker and tag.
const MOST: usize = MAX_DATAGRAM - AROUND;
/// Octets of a message that are no readings.
pub(crate) const AROUND: usize = HEADER_LEN + 4 + (1 + PATH.len()) + 1 + TAG;

/// One message at a time to the sink.
pub struct CoapUplink {
    to: Peer,
    /// Octets of readings in a message.
    room: usize,
    delivery: Delivery,
    socket: CoapSocket,
    /// The last message, and the exchange that it is in.
    piece: Option<Piece>,
    request: Option<Handle>,
    next: Instant,
    /// What first timeouts were drawn from: their sum in microseconds, and their number.
    timeouts: (u64, u64),
}

impl CoapUplink {
    /// Messages to `to` with `room` octets of readings, or as many as a datagram holds.
    pub fn new(to: Peer, room: usize, delivery: Delivery, config: Config) -> Self {
        let (socket, room) = (CoapSocket::new(0, config), room.min(MOST));
        let (next, timeouts) = (Instant::ZERO, (0, 0));
        CoapUplink { to, room, delivery, socket, piece: None, request: None, next, timeouts }
    }

    /// The counters of its endpoint.
    pub fn stats(&self) -> Stats {
        self.socket.stats()
    }

    /// What first timeouts were drawn from: their sum in microseconds, and their number.
    pub fn timeouts(&self) -> (u64, u64) {
        self.timeouts
    }

    pub(super) fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }

    pub(super) fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }

    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        self.piece.iter().flat_map(|piece| {
            piece.ends.iter().map(|(_, number)| *number).chain([untag(piece.tag).0])
        })
    }

    pub(super) fn deadline(&self, queue: &Queue) -> Option<Instant> {
        let wants = self.request.is_none() && queue.is_ready();
        earliest(self.socket.deadline(), wants.then_some(self.next))
    }

    pub(super) fn poll<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        queue: &mut Queue,
    ) -> bool {
        if self.request.is_none() && now >= self.next && queue.is_ready() {
            self.piece = queue.take(self.room);
            self.ask(now);
        }
        let request = self.request;
        let mut answered = false;
        let mut busy = self.socket.poll(now, node, |_, _, event| {
            answered |= matches!(event, Event::Response { handle, .. } if Some(handle) == request);
        });
        if answered {
            (self.request, self.piece) = (None, None);
        }
        while let Some((handle, _)) = self.socket.endpoint().poll_failure() {
            if Some(handle) == request {
                // Given up, and begun anew with the first timeout: nothing but a full queue loses
                // readings.
                self.ask(now);
            }
            busy = true;
        }
        busy | self.forget_sent(now)
    }

    fn ask(&mut self, now: Instant) {
        let Some(piece) = &self.piece else { return };
        let code = if self.delivery == Delivery::Confirmable { Code::POST } else { Code::PUT };
        let made = self.socket.endpoint().request(now, self.to, self.delivery, code, |request| {
            request.path(PATH)?;
            let space = request.payload_space(TAG + piece.octets.len())?;
            let (tag, octets) = space.split_at_mut(TAG);
            tag.copy_from_slice(&piece.tag.to_be_bytes());
            octets.copy_from_slice(&piece.octets);
            Ok(())
        });
        self.request = made.ok();
        let timeout = self.socket.endpoint().rto(self.to);
        self.timeouts = (self.timeouts.0 + timeout.as_micros(), self.timeouts.1 + 1);
    }

    /// Nobody waits for an answer to what is not confirmable. The message stays: whether it has
    /// arrived is not known yet.
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
