//! Limits responses to a peer whose address is not proven. A request may carry a forged source
//! address, and a long response then floods that address (RFC 7252 §11.3). An endpoint sends up to
//! three times the octets of the request; for more, the peer proves its address by an Echo option
//! (RFC 9175 §2.4, item 3).
//!
//! The value of that option is a keyed hash of the peer and of the time, so no state is kept for
//! peers that have not answered it. A proven peer stays so while one of its exchanges is stored
//! ([`CoapConfig::lifetimes`](crate::CoapConfig::lifetimes)).

use super::{DICE, Endpoint, RespondError};
use crate::config::Sizes;
use crate::exchange::{Exchange, Ticket};
use crate::message::{Code, WriteError, Writer};
use crate::option;
use core::hash::{Hash, Hasher};
use kinglet_mem::Array;
use kinglet_random::SipHash24;
use kinglet_time::Instant;

/// Octets that may be sent for each octet received (RFC 9000 §8).
const FACTOR: usize = 3;
/// IPv6 and UDP headers, which both messages have.
const HEADERS: usize = 40 + 8;
/// Time for which an Echo value is issued: 2^27 µs, 134 s. It is accepted for the same time after
/// that.
const PERIOD_BITS: u32 = 27;

/// The value of an Echo option: a guess is right with probability 2^-64.
type Echo = [u8; 8];
/// Writes a response.
type Build<'a> = dyn FnMut(&mut Writer<'_>) -> Result<(), WriteError> + 'a;

impl<K: Copy + Eq + Hash, S: Sizes> Endpoint<K, S> {
    /// Returns whether the peer of a request has proven its address. Otherwise it gets at most
    /// three times the octets of its request, and no unrequested messages such as notifications.
    pub fn is_proven(&self, ticket: Ticket) -> bool {
        let slot = self.served.as_slice().get(usize::from(ticket.0.index));
        let exchange = slot.filter(|slot| slot.generation == ticket.0.generation);
        exchange.and_then(|slot| slot.exchange.as_deref()).is_some_and(|it| it.proven)
    }

    /// Answers a request with 4.01 and an Echo option: its peer repeats the request with that
    /// option, and thereby proves its address.
    ///
    /// # Errors
    /// [`RespondError`]; nothing is sent.
    #[inline(never)]
    pub fn challenge(&mut self, now: Instant, ticket: Ticket) -> Result<(), RespondError> {
        let slot = self.served.as_slice().get(usize::from(ticket.0.index));
        let exchange = slot.and_then(|slot| slot.exchange.as_deref());
        let peer = exchange.ok_or(RespondError::Stale)?.peer;
        let echo = self.echo(peer, period(now));
        // The type that servers use as well, so that `respond` is compiled only once.
        let build: &mut Build<'_> = &mut |w| w.option(option::ECHO, &echo);
        self.respond(now, ticket, Code::UNAUTHORIZED, build)
    }

    /// Returns whether a request proves that its sender receives messages to this address: by an
    /// Echo option, or because of an earlier exchange with that proof.
    #[inline(never)]
    pub(super) fn proves(&self, now: Instant, peer: K, echo: Option<&[u8]>) -> bool {
        let now = period(now);
        let right = |echo: &[u8]| {
            let recent = [now, now.wrapping_sub(1)];
            recent.iter().any(|&period| self.echo(peer, period) == echo)
        };
        let mut served = self.served.as_slice().iter().filter_map(|slot| slot.exchange.as_deref());
        served.any(|it| it.peer == peer && it.proven) || echo.is_some_and(right)
    }

    fn echo(&self, peer: K, period: u64) -> Echo {
        let key = u128::from(self.config.seed) << 64 | u128::from(DICE);
        let mut hasher = SipHash24::new(&key.to_le_bytes());
        hasher.write(&period.to_le_bytes());
        peer.hash(&mut hasher);
        hasher.finish().to_le_bytes()
    }
}

impl<K> Exchange<K> {
    /// Adds to the allowance for a request of `len` octets, new or repeated.
    pub(super) fn earn(&mut self, len: usize) {
        let earned = HEADERS.saturating_add(len).saturating_mul(FACTOR);
        self.allowance = self.allowance.saturating_add(u16::try_from(earned).unwrap_or(u16::MAX));
    }

    /// Subtracts from the allowance a sent message of `len` octets.
    pub(super) fn spend(&mut self, len: usize) {
        let spent = u16::try_from(HEADERS.saturating_add(len)).unwrap_or(u16::MAX);
        self.allowance = self.allowance.saturating_sub(spent);
    }

    /// Returns whether a response of `len` octets may be sent, for the first time or again.
    pub(super) fn may_send(&self, len: u16) -> bool {
        self.proven || HEADERS.saturating_add(len.into()) <= self.allowance.into()
    }
}

/// Returns the number of the period that contains `now`.
fn period(now: Instant) -> u64 {
    now.as_micros() >> PERIOD_BITS
}
