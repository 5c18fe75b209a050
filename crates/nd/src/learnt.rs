//! What is kept of advertisements, each for as long as it is said (`host.rs`).

use crate::detection::Detection;
use crate::neighbour::MAX_UNICAST_SOLICIT;
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_wire::lollipop::Counter;
use kinglet_wire::sixlowpan::Context;

/// A default router.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    pub(crate) address: Ipv6Addr,
    pub(crate) until: Instant,
    /// It registers addresses in the form of RFC 8505 (the E flag, 4.3), else in that of RFC 6775.
    pub(crate) extended: bool,
    /// It is known to register addresses, in whichever form.
    pub(crate) registers: bool,
    /// Frames in a row that it has not acknowledged.
    pub(crate) failures: u8,
}

/// An address of this node that follows from an advertised prefix.
#[derive(Clone, Copy, Debug)]
pub struct Autoconfigured {
    pub(crate) address: Ipv6Addr,
    /// Until when it is this node's, and until when new connections are to begin with it; `None`:
    /// for ever.
    pub(crate) valid: Option<Instant>,
    pub(crate) preferred: Option<Instant>,
    /// The second of them is over.
    pub(crate) deprecated: bool,
    /// Another node has it: it is not this node's for as long as it would have been valid.
    pub(crate) taken: bool,
    /// It does not follow from a prefix: this node was told that it has it.
    pub(crate) given: bool,
    /// Whether another node has it.
    pub(crate) detection: Detection,
    pub(crate) registration: Registration,
    pub(crate) told: bool,
}

/// A context that was advertised.
#[derive(Clone, Copy, Debug)]
pub struct Advertised {
    pub(crate) id: u8,
    pub(crate) context: Context,
    pub(crate) compress: bool,
    pub(crate) until: Instant,
    pub(crate) told: bool,
    pub(crate) gone: bool,
}

/// A name server.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub(crate) address: Ipv6Addr,
    /// `None`: for ever.
    pub(crate) until: Option<Instant>,
}

/// How far the registration of an address with the router has come (RFC 6775, 5.5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    /// When it is asked for again; `None`: this router does not register.
    pub(crate) due: Option<Instant>,
    /// From when on it is, if the node is awake anyway.
    pub(crate) early: Option<Instant>,
    /// Solicitations since the last answer.
    pub(crate) tries: u8,
    /// A solicitation is to be sent.
    pub(crate) asks: bool,
    /// Transaction identifier of the last one (RFC 8505, 5.2).
    pub(crate) tid: Counter,
    /// Refusals since the last success.
    pub(crate) refusals: u8,
}

impl Registration {
    /// So that the first transaction has the number of a restart.
    pub(crate) const NEW: Self = Registration {
        due: None,
        early: None,
        tries: 0,
        asks: false,
        tid: BEFORE_FIRST,
        refusals: 0,
    };

    /// Asks now, and again then. What is asked again is the same transaction.
    //= rfc8505#5.1-1
    pub(crate) fn ask(&mut self, again: Instant) {
        if self.tries == 0 {
            self.tid = self.tid.next();
        }
        self.tries = self.tries.saturating_add(1);
        self.asks = true;
        self.due = Some(again);
        self.early = None;
    }

    /// Asks again, up to three times, and then later one that has said that it `registers`.
    pub(crate) fn handle_deadline(&mut self, now: Instant, registers: bool) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        if self.tries < MAX_UNICAST_SOLICIT {
            self.ask(now + RETRANS);
        } else if registers {
            self.rest(Some(now), now + LATER);
        } else {
            // One that knows RFC 4861 only. The next advertisement is reason to ask again.
            self.restart();
        }
    }

    /// It was refused, and is asked for again after `wait`, which doubles with each refusal in a
    /// row up to [`LATER`].
    pub(crate) fn refuse(&mut self, now: Instant, wait: Duration) {
        let doubled = (0..self.refusals).fold(wait, |wait, _| (wait + wait).min(LATER));
        self.refusals = self.refusals.saturating_add(1);
        self.rest(None, now + doubled);
    }

    /// It was answered, and is asked for again then.
    pub(crate) const fn rest(&mut self, early: Option<Instant>, due: Instant) {
        (self.tries, self.asks) = (0, false);
        (self.early, self.due) = (early, Some(due));
    }

    /// Another router has to be asked.
    pub(crate) const fn restart(&mut self) {
        *self = Registration { tid: self.tid, ..Registration::NEW };
    }

    /// Steps over all numbers that somebody may have seen of this node before it was restarted.
    pub(crate) fn leap(&mut self) {
        for _ in 0..LEAP {
            self.tid = self.tid.next();
        }
    }
}

/// For how long a router is left alone that did not answer, by a node that is not awake anyway; and
/// at most, one that refuses each registration.
const LATER: Duration = Duration::from_secs(300);
/// RETRANS_TIMER (RFC 4861, 10).
pub(crate) const RETRANS: Duration = Duration::from_secs(1);
/// The one before 240 (RFC 6550, 7.2).
const BEFORE_FIRST: Counter = Counter::new(239);
/// SEQUENCE_WINDOW (RFC 6550, 7.2).
const LEAP: u8 = 16;
