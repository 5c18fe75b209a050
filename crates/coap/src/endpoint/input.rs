//! Input of messages (RFC 7252 §4 and 5).

use super::{Endpoint, Event};
use crate::config::Sizes;
use crate::exchange::{Exchange, Handle, Reset, State, Ticket, place};
use crate::info::{Discard, Failure};
use crate::message::{Code, Kind, Message, ParseError};
use crate::option;
use core::hash::Hash;
use kinglet_mem::{Array, Held};
use kinglet_time::Instant;

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Handles a datagram from `peer`. The automatic replies of the protocol (acknowledgements,
    /// Resets, 4.02 Bad Option, a repeated response) are returned by [`Endpoint::poll_message`].
    ///
    /// # Errors
    /// [`Discard`]: the message is not for the application.
    pub fn handle_message<'a>(
        &mut self,
        now: Instant,
        peer: K,
        octets: &'a [u8],
    ) -> Result<Event<'a>, Discard> {
        let taken = self.take(now, peer, octets);
        match taken {
            Err(Discard::Unknown | Discard::Malformed | Discard::Duplicate) => {}
            _ => self.stats.received = self.stats.received.wrapping_add(1),
        }
        if let Err(reason) = taken {
            self.stats.discard(reason);
        }
        taken
    }

    fn take<'a>(&mut self, now: Instant, peer: K, octets: &'a [u8]) -> Result<Event<'a>, Discard> {
        let message = match Message::parse(octets) {
            Ok(message) => message,
            Err(ParseError::Malformed { kind, message_id }) => {
                self.reject(peer, kind, message_id);
                return Err(Discard::Malformed);
            }
            Err(ParseError::Unknown) => return Err(Discard::Unknown),
        };
        let (kind, code) = (message.header.kind, message.header.code);
        let message_id = message.header.message_id;
        match kind {
            Kind::Acknowledgement if code == Code::EMPTY => {
                self.handle_ack(now, peer, message_id).map(|()| Event::Nothing)
            }
            Kind::Reset if code == Code::EMPTY => {
                self.handle_reset(now, peer, message_id).map(|()| Event::Nothing)
            }
            Kind::Confirmable | Kind::NonConfirmable if code.is_request() => {
                self.handle_request(now, peer, message, octets.len())
            }
            Kind::Confirmable | Kind::NonConfirmable | Kind::Acknowledgement
                if code.is_response() =>
            {
                self.handle_response(now, peer, message)
            }
            // RFC 7252 §4.3: an empty confirmable message is a ping, and gets a Reset; so does a
            // code of a reserved class.
            _ => {
                self.reject(peer, kind, message_id);
                if kind == Kind::Confirmable && code == Code::EMPTY {
                    Ok(Event::Nothing)
                } else {
                    Err(Discard::Malformed)
                }
            }
        }
    }

    /// Rejects a message: with a Reset if it is confirmable, otherwise silently (RFC 7252 §4.2,
    /// 4.3).
    fn reject(&mut self, peer: K, kind: Kind, message_id: u16) {
        let free = self.resets.as_mut_slice().iter_mut().find(|place| place.is_none());
        if let Some(place) = free.filter(|_| kind == Kind::Confirmable) {
            *place = Some(Reset { peer, message_id });
        }
    }

    /// Returns the exchange with an outstanding confirmable message with this ID.
    fn unacknowledged(&mut self, peer: K, message_id: u16) -> Option<&mut Exchange<K>> {
        self.exchanges_mut().find(|it| {
            it.peer == peer && it.message_id == message_id && it.tries > 0 && it.is_outstanding()
        })
    }

    fn handle_ack(&mut self, now: Instant, peer: K, message_id: u16) -> Result<(), Discard> {
        let (response_timeout, lifetime) = (self.config.response_timeout, self.config.lifetimes.0);
        let exchange = self.unacknowledged(peer, message_id).ok_or(Discard::Unexpected)?;
        let Exchange { first, tries, .. } = *exchange;
        if exchange.serves {
            exchange.state = State::Done;
            exchange.set_due(now, lifetime);
        } else {
            exchange.state = State::Waiting;
            exchange.set_due(now, response_timeout);
        }
        self.sample(now, peer, first, tries);
        Ok(())
    }

    fn handle_reset(&mut self, now: Instant, peer: K, message_id: u16) -> Result<(), Discard> {
        let lifetime = self.config.lifetimes.0;
        let mut sent = self.exchanges_mut().filter(|it| it.peer == peer && it.tries > 0);
        let exchange = sent.find(|it| {
            // A non-confirmable message is complete once it is sent.
            let is_over = it.notifies && it.state == State::Done;
            it.message_id == message_id
                && (is_over
                    || matches!(it.state, State::Ready | State::Unacknowledged | State::Waiting))
        });
        let exchange = exchange.ok_or(Discard::Unexpected)?;
        if exchange.serves && !exchange.notifies {
            exchange.state = State::Done;
            exchange.set_due(now, lifetime);
        } else {
            exchange.state = State::Failed(Failure::Reset);
        }
        Ok(())
    }

    fn handle_response<'a>(
        &mut self,
        now: Instant,
        peer: K,
        message: Message<'a>,
    ) -> Result<Event<'a>, Discard> {
        let header = message.header;
        let confirmable = header.kind == Kind::Confirmable;
        let is_bad = bad_option(&message).is_some();
        let slots = self.requests.as_mut_slice().iter_mut().zip(0u8..=u8::MAX);
        let mut slots = slots.filter_map(|(slot, index)| {
            let handle = Handle { index, generation: slot.generation };
            let request = slot.message.as_slice();
            slot.exchange.as_deref_mut().map(|exchange| (handle, exchange, request))
        });
        let found = slots.find(|(_, it, _)| {
            let is_own = it.peer == peer && it.token == header.token;
            is_own
                && match (it.state, header.kind) {
                    (State::Ready | State::Unacknowledged, Kind::Acknowledgement) => {
                        it.tries > 0 && it.message_id == header.message_id
                    }
                    (State::Ready | State::Unacknowledged | State::Waiting, _) => it.tries > 0,
                    // The acknowledgement of a response was lost, and the response is
                    // retransmitted.
                    (State::Done, Kind::Confirmable) => it.peer_id == header.message_id,
                    (State::Observing, kind) => kind != Kind::Acknowledgement,
                    _ => false,
                }
        });
        let Some((handle, exchange, request)) = found.filter(|_| !is_bad) else {
            self.reject(peer, header.kind, header.message_id);
            return Err(if is_bad { Discard::BadOption } else { Discard::Unexpected });
        };
        exchange.owes_ack = confirmable;
        // The first response may have had the ID of the request, which is not an ID of the peer.
        let is_repeated = exchange.state == State::Observing
            && exchange.confirmable
            && exchange.peer_id == header.message_id;
        if exchange.state == State::Done || is_repeated {
            return Err(Discard::Duplicate);
        }
        let Exchange { first, tries, state, .. } = *exchange;
        let goes_on = message.header.code.is_success()
            && message.values(option::OBSERVE).next().is_some()
            && (state == State::Observing || observes(request, exchange.len));
        exchange.state = if goes_on { State::Observing } else { State::Done };
        exchange.peer_id = header.message_id;
        exchange.confirmable = header.kind != Kind::Acknowledgement;
        // Without a timeout: it is kept until its slot is needed.
        exchange.set_due(now, kinglet_time::Duration::ZERO);
        // A response after an acknowledgement, or without one, measures the application's time and
        // not the network's.
        if !matches!(state, State::Waiting | State::Observing) {
            self.sample(now, peer, first, tries);
        }
        Ok(Event::Response { handle, message })
    }

    /// Handles a request of `len` octets.
    fn handle_request<'a>(
        &mut self,
        now: Instant,
        peer: K,
        message: Message<'a>,
        len: usize,
    ) -> Result<Event<'a>, Discard> {
        let header = message.header;
        if self.is_repeated(peer, header.message_id, len) {
            return Err(Discard::Duplicate);
        }
        let bad_option = bad_option(&message);
        let confirmable = header.kind == Kind::Confirmable;
        if bad_option.is_some() && !confirmable {
            return Err(Discard::BadOption);
        }
        let (ack_delay, lifetime) = (self.config.ack_delay, self.config.lifetimes.1);
        let proven = self.proves(now, peer, message.values(option::ECHO).next());
        let (slot, index) = place(self.served.as_mut_slice()).ok_or(Discard::Busy)?;
        let fresh = Exchange::new(now, peer, header);
        let state = State::Received;
        let exchange = Exchange { state, serves: true, proven, ..fresh };
        let exchange = slot.exchange.insert(Held::This(exchange));
        exchange.earn(len);
        exchange.set_due(now, if confirmable { ack_delay } else { lifetime });
        slot.generation = slot.generation.wrapping_add(1);
        let ticket = Ticket(Handle { index, generation: slot.generation });
        if let Some(code) = bad_option {
            // Any working plan has space for a header and a token.
            let _ = self.respond(now, ticket, code, |_| Ok(()));
            return Err(Discard::BadOption);
        }
        Ok(Event::Request { ticket, message })
    }

    /// Returns whether a request is a duplicate; its response is then sent again (RFC 7252 §4.5).
    fn is_repeated(&mut self, peer: K, message_id: u16, len: usize) -> bool {
        let mut served = self.served.as_mut_slice().iter_mut();
        let seen = served.find_map(|slot| {
            let exchange = slot.exchange.as_deref_mut()?;
            let is_it = exchange.peer == peer && exchange.peer_id == message_id;
            (is_it && !exchange.notifies).then_some(exchange)
        });
        let Some(exchange) = seen else { return false };
        exchange.earn(len);
        match (exchange.state, exchange.kind) {
            // The response will follow.
            (State::Received | State::Ready, _) => {}
            (State::Done, Kind::Acknowledgement) if exchange.may_send(exchange.len) => {
                exchange.state = State::Ready;
            }
            _ => exchange.owes_ack = exchange.confirmable,
        }
        true
    }
}

/// Returns whether a request of `len` octets registers an observer.
fn observes(request: &[u8], len: u16) -> bool {
    let request = request.get(..usize::from(len)).unwrap_or_default();
    Message::parse(request).is_ok_and(|request| request.uint(option::OBSERVE) == Some(0))
}

/// Returns the code with which a message is rejected because of one of its options (RFC 7252 §5.4).
fn bad_option(message: &Message<'_>) -> Option<Code> {
    let mut last = None;
    for (number, value) in message.options() {
        let repeated = last.replace(number) == Some(number) && !option::is_repeatable(number);
        if matches!(number, option::PROXY_URI | option::PROXY_SCHEME) {
            return Some(Code::PROXYING_NOT_SUPPORTED);
        }
        if option::is_critical(number) && (repeated || !option::is_recognised(number, value.len()))
        {
            return Some(Code::BAD_OPTION);
        }
    }
    None
}
