//! Who observes which resource (RFC 7641).

use crate::site::Fresh;
use crate::sockets::Peer;
use kinglet_coap::{Delivery, Token};
use kinglet_mem::copy;
use kinglet_time::{Duration, Instant};

/// The longest path that can be observed.
const PATH: usize = 32;
/// From one notification to the next at least (RFC 7641 §4.5.1).
const PAUSE: Duration = Duration::from_secs(3);
/// After so long the next notification is to be acknowledged, so that somebody who has gone without
/// a word is not told for ever; the standard wants it once in 24 hours (§4.5).
const CONFIRM: Duration = Duration::from_secs(600);
/// After so long an observer may be asked whether it still observes, where another one wants its
/// place. An answer takes MAX_TRANSMIT_WAIT at most (RFC 7252 §4.8.2), which is 93 s.
const DOUBT: Duration = Duration::from_secs(60);
/// How much of a sequence number is sent (§2).
const NUMBER: u32 = 0xFF_FFFF;

/// One who observes a resource.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    peer: Peer,
    token: Token,
    path: [u8; PATH],
    path_len: usize,
    /// Blocks have 2 to the power of this plus four octets.
    exponent: u8,
    /// Which version of the resource was sent last, and its number.
    version: u32,
    number: u32,
    sent: Instant,
    confirmed: Instant,
    /// When the resource is to be looked at again.
    next: Instant,
    /// The next notification is sent although nothing has changed, and is to be acknowledged.
    doubted: bool,
}

impl Observer {
    /// One who has just been sent `fresh`; `None` if the path is too long.
    pub(super) fn new(
        now: Instant,
        (peer, token): (Peer, Token),
        path: &[u8],
        exponent: u8,
        fresh: Fresh,
    ) -> Option<Self> {
        let mut kept = [0; PATH];
        let path_len = copy(kept.get_mut(..path.len())?, path);
        let (version, next) = (fresh.version, later(now, fresh));
        let (path, number, sent, confirmed) = (kept, 1, now, now);
        Some(Observer {
            peer,
            token,
            path,
            path_len,
            exponent,
            version,
            number,
            sent,
            confirmed,
            next,
            doubted: false,
        })
    }

    /// Where notifications go.
    pub(super) const fn to(&self) -> (Peer, Token) {
        (self.peer, self.token)
    }

    pub(super) fn path(&self) -> &[u8] {
        self.path.get(..self.path_len).unwrap_or_default()
    }

    pub(super) const fn exponent(&self) -> u8 {
        self.exponent
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Another client wants a place, and there is none: a notification that has to be acknowledged
    /// shows whether this one is still there (RFC 7641 §4.5).
    pub(super) fn doubt(&mut self, now: Instant) {
        if now >= self.confirmed + DOUBT {
            self.doubted = true;
            self.next = now;
        }
    }

    /// Whether it is to be told what the resource holds now.
    pub(super) fn is_due(&mut self, now: Instant, fresh: Fresh) -> bool {
        let is_new = fresh.version != self.version || self.doubted;
        let soonest = self.sent + PAUSE;
        self.next = if is_new && now < soonest { soonest } else { later(now, fresh) };
        is_new && now >= soonest
    }

    /// It is told: with which number, and how.
    pub(super) fn told(&mut self, now: Instant, fresh: Fresh) -> Delivery {
        self.version = fresh.version;
        self.number = self.number.wrapping_add(1) & NUMBER;
        self.sent = now;
        let doubted = core::mem::take(&mut self.doubted);
        if !doubted && now < self.confirmed + CONFIRM {
            return Delivery::NonConfirmable;
        }
        self.confirmed = now;
        Delivery::Confirmable
    }

    /// It could not be told yet.
    pub(super) fn wait(&mut self, now: Instant) {
        self.next = now + PAUSE;
    }
}

/// When a resource is to be looked at again.
fn later(now: Instant, fresh: Fresh) -> Instant {
    fresh.until.max(now + PAUSE)
}
