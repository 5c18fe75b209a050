//! Output: Resets, acknowledgements, then messages in order.

use super::{Endpoint, REFUSED_FOR};
use crate::config::Sizes;
use crate::exchange::{Exchange, Reset, State, empty};
use crate::message::{HEADER_LEN, Kind, Writer};
use core::hash::Hash;
use kinglet_mem::Array;
use kinglet_time::Instant;

/// The next message.
#[derive(Clone, Copy)]
enum Output<K> {
    Reset(Reset<K>),
    /// The acknowledgement of an exchange.
    Ack(K, u16),
    /// The message of a request, or of a served one.
    Request(usize),
    Served(usize),
}

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Passes the next message to `send`, which returns whether the transport has accepted it;
    /// `None` if there is none. A refused message is offered again after 20 ms.
    pub fn poll_message<E>(
        &mut self,
        now: Instant,
        send: impl FnOnce(K, &[u8]) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        if self.hold.is_some_and(|until| until > now) {
            return None;
        }
        let output = self.next_output()?;
        let sent = match output {
            Output::Reset(Reset { peer, message_id }) => {
                send(peer, &short(Kind::Reset, message_id))
            }
            Output::Ack(peer, message_id) => send(peer, &short(Kind::Acknowledgement, message_id)),
            Output::Request(index) => {
                let slot = self.requests.as_slice().get(index)?;
                let exchange = slot.exchange.as_deref()?;
                send(exchange.peer, message(slot.message.as_slice(), exchange.len))
            }
            Output::Served(index) => {
                let slot = self.served.as_slice().get(index)?;
                let exchange = slot.exchange.as_deref()?;
                send(exchange.peer, message(slot.message.as_slice(), exchange.len))
            }
        };
        match sent {
            Ok(()) => {
                self.hold = None;
                self.stats.sent = self.stats.sent.wrapping_add(1);
                self.note_sent(now, output);
            }
            Err(_) => {
                self.hold = Some(now + REFUSED_FOR);
                self.stats.refused = self.stats.refused.wrapping_add(1);
            }
        }
        Some(sent)
    }

    fn next_output(&self) -> Option<Output<K>> {
        if let Some(reset) = self.resets.as_slice().iter().flatten().next() {
            return Some(Output::Reset(*reset));
        }
        if let Some(exchange) = self.exchanges().find(|exchange| exchange.owes_ack) {
            return Some(Output::Ack(exchange.peer, exchange.peer_id));
        }
        let is_next = |exchange: &Exchange<K>| match exchange.state {
            State::Ready => true,
            State::Queued => self.running(exchange.peer) < self.config.nstart.max(1),
            _ => false,
        };
        let served = self.served.as_slice().iter().map(|slot| slot.exchange.as_deref());
        if let Some(index) = served.map(|it| it.is_some_and(is_next)).position(|next| next) {
            return Some(Output::Served(index));
        }
        let requests = self.requests.as_slice().iter().enumerate();
        let waiting = requests
            .filter_map(|(index, slot)| slot.exchange.as_deref().map(|it| (index, it)))
            .filter(|(_, exchange)| is_next(exchange));
        // The one that has waited longest; the counter may have wrapped.
        let age = |exchange: &Exchange<K>| self.order.wrapping_sub(exchange.order);
        let oldest = waiting.max_by_key(|(_, exchange)| age(exchange));
        oldest.map(|(index, _)| Output::Request(index))
    }

    /// Returns the number of outstanding confirmable messages to `peer`.
    fn running(&self, peer: K) -> u8 {
        let running = self.exchanges().filter(|it| it.peer == peer && it.is_outstanding());
        u8::try_from(running.count()).unwrap_or(u8::MAX)
    }

    fn note_sent(&mut self, now: Instant, output: Output<K>) {
        let (index, is_request) = match output {
            Output::Reset(_) => {
                if let Some(place) = self.resets.as_mut_slice().iter_mut().find(|it| it.is_some()) {
                    *place = None;
                }
                return;
            }
            Output::Ack(..) => {
                if let Some(exchange) = self.exchanges_mut().find(|exchange| exchange.owes_ack) {
                    exchange.owes_ack = false;
                    exchange.spend(HEADER_LEN);
                }
                return;
            }
            Output::Request(index) => (index, true),
            Output::Served(index) => (index, false),
        };
        let table = if is_request { self.requests.as_slice() } else { self.served.as_slice() };
        let Some(exchange) = table.get(index).and_then(|slot| slot.exchange) else { return };
        let mut exchange = *exchange;
        exchange.spend(exchange.len.into());
        if exchange.kind == Kind::Confirmable {
            if exchange.tries == 0 {
                let timeout = self.first_timeout(now, exchange.peer, self.running(exchange.peer));
                (exchange.timeout, exchange.first_timeout) = (timeout, timeout);
            } else {
                self.stats.retransmissions = self.stats.retransmissions.wrapping_add(1);
            }
            exchange.state = State::Unacknowledged;
            exchange.set_due(now, exchange.timeout);
        } else if is_request {
            exchange.state = State::Waiting;
            exchange.set_due(now, self.config.response_timeout);
        } else {
            let (confirmable, non_confirmable) = self.config.lifetimes;
            let lifetime = if exchange.confirmable { confirmable } else { non_confirmable };
            exchange.state = State::Done;
            exchange.set_due(now, lifetime);
        }
        if exchange.tries == 0 {
            exchange.first = now;
        }
        exchange.tries = exchange.tries.saturating_add(1);
        let table =
            if is_request { self.requests.as_mut_slice() } else { self.served.as_mut_slice() };
        if let Some(held) = table.get_mut(index).and_then(|slot| slot.exchange.as_deref_mut()) {
            *held = exchange;
        }
    }
}

fn message(octets: &[u8], len: u16) -> &[u8] {
    octets.get(..usize::from(len)).unwrap_or_default()
}

fn short(kind: Kind, message_id: u16) -> [u8; HEADER_LEN] {
    let mut octets = [0; HEADER_LEN];
    // It fits: an empty message consists of a header.
    let _ = Writer::new(&mut octets, empty(kind, message_id));
    octets
}
