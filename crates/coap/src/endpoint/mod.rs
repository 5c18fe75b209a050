//! The endpoint: outstanding requests and requests being served, each with the message that may
//! have to be retransmitted.

mod input;
mod notify;
mod output;
mod proof;

use crate::config::{CoapConfig, Sizes};
use crate::exchange::{Exchange, Handle, PeerEstimate, Slot, State, Ticket, place};
use crate::info::{Failure, Info, Stats};
use crate::message::{Code, Header, Kind, Message, Token, WriteError, Writer};
use crate::rto::{self, Estimate};
use core::hash::Hash;
use kinglet_mem::{Array, Held};
use kinglet_random::Random;
use kinglet_time::{Duration, Expected, Instant, earliest};

/// Stream of this layer's random numbers: "coap".
const DICE: u64 = 0x636f_6170;

/// Confirmable or non-confirmable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is retransmitted until it is acknowledged.
    Confirmable,
    /// It is sent once without an acknowledgement; the application is responsible for the rate of
    /// such messages.
    NonConfirmable,
}

/// Result of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// There is nothing for the application.
    Nothing,
    /// A request, to be answered with [`Endpoint::respond`]. A non-confirmable request may remain
    /// without a response.
    Request {
        /// Identifies it.
        ticket: Ticket,
        /// The message.
        message: Message<'a>,
    },
    /// The response to a request, which ends with it.
    Response {
        /// Identifies the request.
        handle: Handle,
        /// The message.
        message: Message<'a>,
    },
}

/// Reason for which [`Endpoint::request`] failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// The table of outstanding requests is full.
    TableFull,
    /// The message could not be written.
    Write(WriteError),
}

/// Reason for which [`Endpoint::respond`] failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RespondError {
    /// The request was answered already, or its entry was removed: after its lifetime, or, if it is
    /// non-confirmable, in favour of another.
    Stale,
    /// The response could not be written; the request remains to be answered.
    Write(WriteError),
    /// The response has more than three times the octets of the request, and the peer's address is
    /// not proven (RFC 9175 §2.4); the request remains to be answered, with a shorter response or
    /// by [`Endpoint::challenge`].
    Unproven,
}

/// Time until a message that the transport has refused is offered again.
const REFUSED_FOR: Duration = Duration::from_millis(20);
/// Additional time of a response over the round trip: the time for which a peer may wait before it
/// acknowledges without a response.
const HESITATION: Duration = Duration::from_millis(500);

/// CoAP client and server, as RFC 7252 defines an endpoint. `K` identifies a peer: address, port
/// and all else that the caller needs to reach it. Its hash is part of the proof of a peer's
/// address.
pub struct Endpoint<K: Copy + Eq, S: Sizes> {
    config: CoapConfig,
    random: Random,
    /// `None` until the first is drawn.
    message_id: Option<u16>,
    /// Counts requests, so that they are sent in order.
    order: u16,
    requests: S::Requests<K>,
    served: S::Served<K>,
    peers: S::Peers<K>,
    resets: S::Resets<K>,
    /// Time until which no message is offered, because the transport has refused one.
    hold: Option<Instant>,
    stats: Stats,
}

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Creates an idle endpoint.
    pub const fn new(config: CoapConfig) -> Self {
        let config = config.clamped();
        Endpoint {
            random: Random::new(config.seed, DICE),
            config,
            message_id: None,
            order: 0,
            requests: S::Requests::<K>::EMPTY,
            served: S::Served::<K>::EMPTY,
            peers: S::Peers::<K>::EMPTY,
            resets: S::Resets::<K>::EMPTY,
            hold: None,
            stats: Stats::ZERO,
        }
    }

    fn next_message_id(&mut self) -> u16 {
        let next = match self.message_id {
            Some(last) => last.wrapping_add(1),
            None => (self.random.next_u32() >> 16) as u16,
        };
        self.message_id = Some(next);
        next
    }

    /// Sends a request, whose options and payload `build` writes. It ends with one
    /// [`Event::Response`], or with one [`Endpoint::poll_failure`], unless it is cancelled.
    ///
    /// A request with an Observe option of 0 (RFC 7641 §3.1) keeps its slot after a response with
    /// that option. Further responses may follow, each an event of the same handle, until one has
    /// no such option or reports an error, or the request is cancelled; the next confirmable one
    /// then gets a Reset (§3.6). [`Newest`](crate::Newest) detects late ones. A client that has
    /// received none for longer than Max-Age registers again (§3.3.1).
    ///
    /// # Errors
    /// [`RequestError`]; nothing is sent.
    pub fn request(
        &mut self,
        now: Instant,
        peer: K,
        delivery: Delivery,
        code: Code,
        build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<Handle, RequestError> {
        let (message_id, order) = (self.next_message_id(), self.order.wrapping_add(1));
        self.order = order;
        // 32 bits, as RFC 7252 §5.3.1 requires of a client connected to the Internet.
        let token = Token::new(&self.random.next_u32().to_be_bytes());
        let (kind, state) = match delivery {
            Delivery::Confirmable => (Kind::Confirmable, State::Queued),
            Delivery::NonConfirmable => (Kind::NonConfirmable, State::Ready),
        };
        let free = place(self.requests.as_mut_slice());
        let (slot, index) = free.ok_or(RequestError::TableFull)?;
        let header = Header { kind, code, message_id, token };
        let len = write(slot.message.as_mut_slice(), header, build).map_err(RequestError::Write)?;
        let exchange = Exchange { order, len, state, ..Exchange::new(now, peer, header) };
        slot.exchange = Some(Held::This(exchange));
        slot.generation = slot.generation.wrapping_add(1);
        Ok(Handle { index, generation: slot.generation })
    }

    /// Ends a request: it is not retransmitted, and its response is ignored.
    pub fn cancel(&mut self, handle: Handle) {
        if let Some(slot) = self.request_mut(handle) {
            slot.exchange = None;
        }
    }

    /// Returns whether a request has been sent, if it is still outstanding.
    pub fn is_sent(&self, handle: Handle) -> Option<bool> {
        let slot = self.requests.as_slice().get(usize::from(handle.index))?;
        let exchange = slot.exchange.filter(|_| slot.generation == handle.generation)?;
        exchange.is_pending().then_some(exchange.tries > 0)
    }

    fn request_mut(&mut self, handle: Handle) -> Option<&mut Slot<K, S::Message>> {
        let slot = self.requests.as_mut_slice().get_mut(usize::from(handle.index))?;
        (slot.generation == handle.generation).then_some(slot)
    }

    /// Returns a request that has failed, each once.
    pub fn poll_failure(&mut self) -> Option<(Handle, Failure)> {
        let slots = self.requests.as_mut_slice().iter_mut();
        for (slot, index) in slots.zip(0u8..=u8::MAX) {
            let Some(Held::This(Exchange { state: State::Failed(failure), .. })) = slot.exchange
            else {
                continue;
            };
            slot.exchange = None;
            return Some((Handle { index, generation: slot.generation }, failure));
        }
        None
    }

    /// Answers a request with the content that `build` writes: in the acknowledgement if that has
    /// not been sent yet, otherwise in a separate message, which is retransmitted until it is
    /// acknowledged. To a peer whose address is not proven it is sent only as often as three times
    /// the octets of its requests allow.
    ///
    /// # Errors
    /// [`RespondError`]; nothing is sent.
    pub fn respond(
        &mut self,
        _now: Instant,
        ticket: Ticket,
        code: Code,
        build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), RespondError> {
        let Ticket(Handle { index, generation }) = ticket;
        let message_id = self.next_message_id();
        let slot = self.served.as_mut_slice().get_mut(usize::from(index));
        let slot = slot.filter(|slot| slot.generation == generation).ok_or(RespondError::Stale)?;
        let Some(exchange) = &mut slot.exchange else { return Err(RespondError::Stale) };
        let (kind, message_id, state) = match (exchange.state, exchange.confirmable) {
            (State::Received, true) => (Kind::Acknowledgement, exchange.peer_id, State::Ready),
            (State::Received, false) => (Kind::NonConfirmable, message_id, State::Ready),
            (State::Acknowledged, _) => (Kind::Confirmable, message_id, State::Queued),
            _ => return Err(RespondError::Stale),
        };
        let header = Header { kind, code, message_id, token: exchange.token };
        let len = write(slot.message.as_mut_slice(), header, build).map_err(RespondError::Write)?;
        if !exchange.may_send(len) {
            return Err(RespondError::Unproven);
        }
        (exchange.kind, exchange.message_id) = (kind, message_id);
        (exchange.state, exchange.len) = (state, len);
        Ok(())
    }

    /// The same for a request that was sent to a group: the members must not all answer at once, so
    /// the response is sent at a random time within the next `leisure` (RFC 7252 §8.2).
    ///
    /// # Errors
    /// [`RespondError`]; nothing is sent.
    pub fn respond_at_leisure(
        &mut self,
        now: Instant,
        ticket: Ticket,
        leisure: Duration,
        code: Code,
        build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), RespondError> {
        self.respond(now, ticket, code, build)?;
        let pause = self.random.up_to(leisure);
        let slot = self.served.as_mut_slice().get_mut(usize::from(ticket.0.index));
        if let Some(exchange) = slot.and_then(|slot| slot.exchange.as_deref_mut()) {
            exchange.state = State::AtLeisure;
            exchange.set_due(now, pause);
        }
        Ok(())
    }

    /// Returns the window in which an acknowledgement or a response is expected, if one is. It
    /// begins SRTT − 4·RTTVAR after the message, or at once without a round-trip estimate. It ends
    /// after SRTT + 4·RTTVAR and half a second for the delay of the peer, or at the retransmission
    /// of the message; after an acknowledgement without a response, at the response timeout.
    pub fn expected(&self) -> Option<Expected> {
        let exchanges = self.exchanges().filter(|exchange| exchange.awaits());
        exchanges.map(|exchange| self.expected_of(exchange)).reduce(Expected::and)
    }

    /// Returns the base from which the next first timeout of a message to `peer` is drawn: up to
    /// half as much again. With CoCoA it is the overall estimate, as long as that is not too old.
    pub fn rto(&self, peer: K) -> Duration {
        let known = self.peers.as_slice().iter().flatten().find(|known| known.peer == peer);
        rto::base(self.config.rto, self.config.ack_timeout, known.map(|known| &known.estimate))
    }

    fn expected_of(&self, exchange: &Exchange<K>) -> Expected {
        let Exchange { due, timeout, peer, .. } = *exchange;
        let since = due - timeout;
        let known = self.peers.as_slice().iter().flatten().find(|known| known.peer == peer);
        let round_trip = known.and_then(|known| known.estimate.round_trip());
        match round_trip.filter(|_| exchange.state == State::Unacknowledged) {
            None => Expected { since, from: since, until: due },
            Some((srtt, rttvar)) => Expected {
                since,
                from: since + (srtt - rttvar * 4),
                until: (since + srtt + rttvar * 4 + HESITATION).min(due),
            },
        }
    }

    fn exchanges(&self) -> impl Iterator<Item = &Exchange<K>> {
        let slots = self.requests.as_slice().iter().chain(self.served.as_slice());
        slots.filter_map(|slot| slot.exchange.as_deref())
    }

    fn exchanges_mut(&mut self) -> impl Iterator<Item = &mut Exchange<K>> {
        let slots = self.requests.as_mut_slice().iter_mut().chain(self.served.as_mut_slice());
        slots.filter_map(|slot| slot.exchange.as_deref_mut())
    }

    /// Returns the latest time of the next call of [`Endpoint::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let due = self.exchanges().filter(|exchange| exchange.is_timed()).map(|it| it.due);
        earliest(due.min(), self.hold)
    }

    /// Handles due timers: offers retransmissions, and ends exchanges that have timed out.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.hold.is_some_and(|until| until <= now) {
            self.hold = None;
        }
        let CoapConfig { rto, max_retransmit, lifetimes, .. } = self.config;
        let mut timeouts = 0;
        let due = |exchange: &Exchange<K>| exchange.is_timed() && exchange.due <= now;
        for slot in self.requests.as_mut_slice() {
            let Some(exchange) = slot.exchange.as_deref_mut().filter(|it| due(it)) else {
                continue;
            };
            if !exchange.retransmit(rto, max_retransmit) {
                timeouts = u32::saturating_add(timeouts, 1);
                exchange.state = State::Failed(Failure::TimedOut);
            }
        }
        for slot in self.served.as_mut_slice() {
            let Some(exchange) = slot.exchange.as_deref_mut().filter(|it| due(it)) else {
                continue;
            };
            match exchange.state {
                State::Received if exchange.confirmable => {
                    exchange.owes_ack = true;
                    exchange.state = State::Acknowledged;
                    exchange.due = now + lifetimes.0;
                }
                State::Unacknowledged => {
                    let may = exchange.may_send(exchange.len);
                    if !may || !exchange.retransmit(rto, max_retransmit) {
                        timeouts = timeouts.saturating_add(1);
                        exchange.state = match exchange.notifies {
                            true => State::Failed(Failure::TimedOut),
                            false => State::Done,
                        };
                        exchange.due = now + lifetimes.0;
                    }
                }
                State::AtLeisure => exchange.state = State::Ready,
                _ => slot.exchange = None,
            }
        }
        self.stats.timeouts = self.stats.timeouts.wrapping_add(timeouts);
    }

    /// Returns the occupancy of the tables.
    pub fn info(&self) -> Info {
        let served = || self.served.as_slice().iter().filter_map(|slot| slot.exchange);
        let kept = served().filter(|exchange| exchange.state == State::Done).count();
        let requests = self.requests.as_slice().iter();
        Info {
            requests: requests.filter(|slot| !slot.is_free()).count(),
            serving: served().count().saturating_sub(kept),
            kept,
            resets: self.resets.as_slice().iter().flatten().count(),
        }
    }

    /// Returns the counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }
}

fn write(
    out: &mut [u8],
    header: Header,
    build: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
) -> Result<u16, WriteError> {
    let mut writer = Writer::new(out, header)?;
    build(&mut writer)?;
    u16::try_from(writer.finish()).map_err(|_| WriteError::Full)
}

/// Returns the estimate of `peer`; a new one replaces the least recently used.
fn estimate_of<K: Copy + Eq>(
    now: Instant,
    peers: &mut [Option<PeerEstimate<K>>],
    peer: K,
) -> Option<&mut Estimate> {
    let is_known = |known: &Option<PeerEstimate<K>>| known.is_some_and(|it| it.peer == peer);
    let index = peers.iter().position(is_known).or_else(|| {
        let places = peers.iter().enumerate();
        let oldest = places.min_by_key(|(_, place)| place.map(|it| it.estimate.updated()));
        oldest.map(|(index, _)| index)
    })?;
    let place = peers.get_mut(index)?;
    if !is_known(place) {
        *place = Some(PeerEstimate { peer, estimate: Estimate::new(now) });
    }
    place.as_mut().map(|known| &mut known.estimate)
}

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Returns the first timeout of a message to `peer`, with `running` others outstanding.
    fn first_timeout(&mut self, now: Instant, peer: K, running: u8) -> Duration {
        let CoapConfig { rto, ack_timeout, .. } = self.config;
        let known = estimate_of(now, self.peers.as_mut_slice(), peer);
        rto::first(rto, ack_timeout, known, now, running, &mut self.random)
    }

    /// Records an answer from `peer` after `tries` transmissions, the first of them at `first`.
    fn sample(&mut self, now: Instant, peer: K, first: Instant, tries: u8) {
        let rto = self.config.rto;
        if let Some(known) = estimate_of(now, self.peers.as_mut_slice(), peer) {
            known.sample(now, rto, now - first, tries.saturating_sub(1));
        }
    }
}
