//! One request and its response, at either end.

use crate::info::Failure;
use crate::message::{Code, Header, Kind, Token};
use crate::rto::{self, Estimate, Rto};
use kinglet_mem::{Array, Empty, Held};
use kinglet_time::{Duration, Instant};

/// Identifies a request of this end until its slot is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    pub(crate) index: u8,
    pub(crate) generation: u16,
}

/// Identifies a request of a peer until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(pub(crate) Handle);

/// State of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The message waits for others to the same peer (NSTART).
    Queued,
    /// The message is to be sent, for the first time or again.
    Ready,
    /// The message was sent and is not acknowledged; it is retransmitted at `due`.
    Unacknowledged,
    /// Client: a response is awaited until `due`.
    Waiting,
    /// Client: a response was received, and another one follows whenever the resource changes (RFC
    /// 7641).
    Observing,
    /// Client, and server that notifies: failed; the failure is to be reported.
    Failed(Failure),
    /// Server: the application has the request; it is acknowledged at `due`.
    Received,
    /// Server: the application has the request, and it is acknowledged; the exchange ends at `due`.
    Acknowledged,
    /// Server: the response is to be sent at `due`.
    AtLeisure,
    /// Complete. To detect duplicates, the client stores the response until the slot is needed, and
    /// the server stores the request until `due` at the latest.
    Done,
}

/// An exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange<K> {
    pub(crate) peer: K,
    pub(crate) token: Token,
    /// Type and ID of the message of this end.
    pub(crate) kind: Kind,
    pub(crate) message_id: u16,
    /// ID of the peer's message: the request, or the separate response.
    pub(crate) peer_id: u16,
    /// True if the peer's message was confirmable.
    pub(crate) confirmable: bool,
    /// True if `peer_id` is to be acknowledged in an empty message.
    pub(crate) owes_ack: bool,
    /// True if this end is the server: its message is the response.
    pub(crate) serves: bool,
    /// True for a further response to an answered request (RFC 7641).
    pub(crate) notifies: bool,
    /// Server: true if the peer's address is proven.
    pub(crate) proven: bool,
    pub(crate) state: State,
    /// Server: octets that may be sent to a peer that is not proven, including the headers.
    pub(crate) allowance: u16,
    pub(crate) len: u16,
    pub(crate) order: u16,
    /// Number of transmissions so far.
    pub(crate) tries: u8,
    /// Time of the first transmission.
    pub(crate) first: Instant,
    /// Time of the next action, and the timeout with which it was set.
    pub(crate) due: Instant,
    pub(crate) timeout: Duration,
    pub(crate) first_timeout: Duration,
}

impl<K> Exchange<K> {
    pub(crate) const fn new(now: Instant, peer: K, header: Header) -> Self {
        Exchange {
            peer,
            token: header.token,
            kind: header.kind,
            message_id: header.message_id,
            peer_id: header.message_id,
            confirmable: matches!(header.kind, Kind::Confirmable),
            owes_ack: false,
            serves: false,
            notifies: false,
            proven: false,
            state: State::Queued,
            allowance: 0,
            len: 0,
            order: 0,
            tries: 0,
            first: now,
            due: now,
            timeout: Duration::ZERO,
            first_timeout: Duration::ZERO,
        }
    }

    /// Returns whether `due` is valid.
    pub(crate) const fn is_timed(&self) -> bool {
        match self.state {
            State::Unacknowledged
            | State::Waiting
            | State::Received
            | State::Acknowledged
            | State::AtLeisure => true,
            // That of a client is kept until its slot is needed, and has no timeout.
            State::Done => self.timeout.as_micros() > 0,
            State::Queued | State::Ready | State::Observing | State::Failed(_) => false,
        }
    }

    /// Returns whether the application of a client waits for a response.
    pub(crate) const fn is_pending(&self) -> bool {
        !matches!(self.state, State::Observing | State::Failed(_) | State::Done)
    }

    /// Returns whether a message of the peer is awaited.
    pub(crate) const fn awaits(&self) -> bool {
        matches!(self.state, State::Unacknowledged | State::Waiting)
    }

    /// Returns whether it counts against NSTART.
    pub(crate) const fn is_outstanding(&self) -> bool {
        matches!(self.kind, Kind::Confirmable)
            && matches!(self.state, State::Ready | State::Unacknowledged)
    }

    /// Handles a timeout. Returns whether the message is retransmitted; it is then to be offered.
    pub(crate) fn retransmit(&mut self, rto: Rto, max_retransmit: u8) -> bool {
        if self.state != State::Unacknowledged || self.tries > max_retransmit {
            return false;
        }
        self.timeout = rto::next(rto, self.timeout, self.first_timeout);
        self.state = State::Ready;
        true
    }

    pub(crate) fn set_due(&mut self, now: Instant, after: Duration) {
        (self.due, self.timeout) = (now + after, after);
    }
}

/// Slot for an exchange and the message of this end.
pub struct Slot<K, B> {
    pub(crate) exchange: Option<Held<Exchange<K>>>,
    pub(crate) generation: u16,
    pub(crate) message: B,
}

impl<K, B: Array<u8>> Empty for Slot<K, B> {
    const EMPTY: Self = Slot { exchange: None, generation: 0, message: B::EMPTY };
}

impl<K, B: Array<u8>> Slot<K, B> {
    /// Returns whether the exchange is complete.
    pub(crate) fn is_free(&self) -> bool {
        self.exchange.as_ref().is_none_or(|it| it.state == State::Done && !it.owes_ack)
    }

    /// Returns the eviction priority: complete exchanges before requests that need no response,
    /// each in order of time. `None`: it is not evicted.
    fn rank(&self) -> Option<(bool, Option<Instant>)> {
        let Some(it) = self.exchange.as_deref() else { return Some((false, None)) };
        // A non-confirmable request may remain without a response (RFC 7252 §5.2.3), so an
        // application that never responds must not block other requests. If an evicted request is
        // repeated, it may be carried out again, as §4.5 allows.
        let may_stay = it.serves && it.state == State::Received && !it.confirmable;
        (may_stay || self.is_free()).then_some((may_stay, Some(it.due)))
    }
}

/// Returns the slot for a new exchange, and its index.
pub(crate) fn place<K, B: Array<u8>>(slots: &mut [Slot<K, B>]) -> Option<(&mut Slot<K, B>, u8)> {
    let places = slots.iter_mut().zip(0u8..=u8::MAX);
    let free = places.filter_map(|(slot, index)| Some((slot.rank()?, slot, index)));
    free.min_by_key(|(rank, ..)| *rank).map(|(_, slot, index)| (slot, index))
}

/// Round-trip estimate of a peer.
#[derive(Clone, Copy, Debug)]
pub struct PeerEstimate<K> {
    pub(crate) peer: K,
    pub(crate) estimate: Estimate,
}

/// A Reset that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Reset<K> {
    pub(crate) peer: K,
    pub(crate) message_id: u16,
}

/// Returns the header of an acknowledgement or a Reset.
pub(crate) const fn empty(kind: Kind, message_id: u16) -> Header {
    Header { kind, code: Code::EMPTY, message_id, token: Token::EMPTY }
}
