//! Observers of resources (RFC 7641).

use crate::site::Fresh;
use crate::sockets::Peer;
use kinglet_coap::{Delivery, Token};
use kinglet_mem::copy;
use kinglet_time::{Duration, Instant};

/// Longest path that can be observed.
const PATH: usize = 32;
/// Shortest time between two notifications (RFC 7641 §4.5.1).
const PAUSE: Duration = Duration::from_secs(3);
/// Age of the last confirmation after which the next notification is confirmable, so that an
/// observer that has vanished is not notified without end. RFC 7641 §4.5 requires one in 24 hours.
const CONFIRM: Duration = Duration::from_secs(600);
/// Age of the last confirmation after which an observer has to confirm its interest if a new
/// observer finds the table full. An acknowledgement takes at most MAX_TRANSMIT_WAIT (RFC 7252
/// §4.8.2), which is 93 s.
const DOUBT: Duration = Duration::from_secs(60);
/// Bits of a sequence number that are sent (§2).
const NUMBER: u32 = 0xFF_FFFF;

/// A client that observes a resource.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    peer: Peer,
    token: Token,
    path: [u8; PATH],
    path_len: usize,
    /// Blocks have 2 to the power of this plus four octets.
    exponent: u8,
    /// Version of the resource that was sent last, and its sequence number.
    version: u32,
    number: u32,
    sent: Instant,
    confirmed: Instant,
    /// Time at which the resource is checked again.
    next: Instant,
    /// True if the next notification is sent although nothing has changed, and is to be
    /// acknowledged.
    doubted: bool,
}

impl Observer {
    /// Creates an observer to which `fresh` was just sent; `None` if the path is too long.
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

    /// Returns the destination of notifications.
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

    /// Makes the next notification confirmable, and due now, because a new observer finds the table
    /// full: it shows whether this observer still exists (RFC 7641 §4.5).
    pub(super) fn doubt(&mut self, now: Instant) {
        if now >= self.confirmed + DOUBT {
            self.doubted = true;
            self.next = now;
        }
    }

    /// Returns whether a notification is due.
    pub(super) fn is_due(&mut self, now: Instant, fresh: Fresh) -> bool {
        let is_new = fresh.version != self.version || self.doubted;
        let soonest = self.sent + PAUSE;
        self.next = if is_new && now < soonest { soonest } else { later(now, fresh) };
        is_new && now >= soonest
    }

    /// Records that a notification with `fresh` is sent, and returns its delivery.
    pub(super) fn notified(&mut self, now: Instant, fresh: Fresh) -> Delivery {
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

    /// Records that no notification could be sent yet.
    pub(super) fn wait(&mut self, now: Instant) {
        self.next = now + PAUSE;
    }
}

/// Returns the time at which a resource is checked again.
fn later(now: Instant, fresh: Fresh) -> Instant {
    fresh.until.max(now + PAUSE)
}
