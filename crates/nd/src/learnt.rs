//! Information from advertisements, each kept for its advertised lifetime (`host.rs`).

use crate::detection::Detection;
use crate::neighbour::MAX_UNICAST_SOLICIT;
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_wire::lollipop::Counter;
use kinglet_wire::sixlowpan::Context;

/// A default router.
#[derive(Clone, Copy, Debug)]
pub struct DefaultRouter {
    pub(crate) address: Ipv6Addr,
    pub(crate) until: Instant,
    /// True if it registers addresses as in RFC 8505 (the E flag, 4.3), false: as in RFC 6775.
    pub(crate) extended: bool,
    /// True if it is known to register addresses, in either form.
    pub(crate) registers: bool,
    /// Consecutive frames that it has not acknowledged.
    pub(crate) failures: u8,
}

/// An address of this node formed from an advertised prefix.
#[derive(Clone, Copy, Debug)]
pub struct Autoconfigured {
    pub(crate) address: Ipv6Addr,
    /// End of its valid and of its preferred lifetime; `None`: infinite.
    pub(crate) valid: Option<Instant>,
    pub(crate) preferred: Option<Instant>,
    /// True if the preferred lifetime is over.
    pub(crate) deprecated: bool,
    /// True if another node has it: it is then unused for the rest of its valid lifetime.
    pub(crate) taken: bool,
    /// True if it was assigned to this node and not formed from a prefix.
    pub(crate) given: bool,
    /// Duplicate address detection.
    pub(crate) detection: Detection,
    pub(crate) registration: Registration,
    pub(crate) reported: bool,
}

/// An advertised context.
#[derive(Clone, Copy, Debug)]
pub struct Advertised {
    pub(crate) id: u8,
    pub(crate) context: Context,
    pub(crate) compress: bool,
    pub(crate) until: Instant,
    pub(crate) reported: bool,
    pub(crate) gone: bool,
}

/// A name server.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub(crate) address: Ipv6Addr,
    /// End of its lifetime; `None`: infinite.
    pub(crate) until: Option<Instant>,
}

/// Progress of the registration of an address with the router (RFC 6775, 5.5).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    /// Time of the next request; `None`: this router does not register.
    pub(crate) due: Option<Instant>,
    /// Time from which the next request is sent if the node is awake anyway.
    pub(crate) early: Option<Instant>,
    /// Requests since the last response.
    pub(crate) tries: u8,
    /// True if a request is to be sent.
    pub(crate) asks: bool,
    /// Transaction identifier of the last request (RFC 8505, 5.2).
    pub(crate) tid: Counter,
    /// Refusals since the last success.
    pub(crate) refusals: u8,
}

impl Registration {
    /// Not started. The first transaction gets the number of a restart.
    pub(crate) const NEW: Self = Registration {
        due: None,
        early: None,
        tries: 0,
        asks: false,
        tid: BEFORE_FIRST,
        refusals: 0,
    };

    /// Requests the registration now, and again at `again`. A repetition is the same transaction.
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

    /// Repeats the request, up to three in all; a router that `registers` is asked again later.
    pub(crate) fn handle_deadline(&mut self, now: Instant, registers: bool) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        if self.tries < MAX_UNICAST_SOLICIT {
            self.ask(now + RETRANS);
        } else if registers {
            self.rest(Some(now), now + LATER);
        } else {
            // A router that knows RFC 4861 only. Its next advertisement triggers a new request.
            self.restart();
        }
    }

    /// Processes a refusal: the next request follows after `wait`, which doubles with each
    /// consecutive refusal up to [`LATER`].
    pub(crate) fn refuse(&mut self, now: Instant, wait: Duration) {
        let doubled = (0..self.refusals).fold(wait, |wait, _| (wait + wait).min(LATER));
        self.refusals = self.refusals.saturating_add(1);
        self.rest(None, now + doubled);
    }

    /// Processes a response: the next request follows at `due`.
    pub(crate) const fn rest(&mut self, early: Option<Instant>, due: Instant) {
        (self.tries, self.asks) = (0, false);
        (self.early, self.due) = (early, Some(due));
    }

    /// Restarts the registration for another router.
    pub(crate) const fn restart(&mut self) {
        *self = Registration { tid: self.tid, ..Registration::NEW };
    }

    /// Skips all numbers that other nodes may have seen of this node before it was restarted.
    pub(crate) fn leap(&mut self) {
        for _ in 0..LEAP {
            self.tid = self.tid.next();
        }
    }
}

/// Time until the next request to a router that did not respond, by a node that is not awake
/// anyway; and longest time between requests to a router that refuses each registration.
const LATER: Duration = Duration::from_secs(300);
/// RETRANS_TIMER (RFC 4861, 10).
pub(crate) const RETRANS: Duration = Duration::from_secs(1);
/// The value before 240 (RFC 6550, 7.2).
const BEFORE_FIRST: Counter = Counter::new(239);
/// SEQUENCE_WINDOW (RFC 6550, 7.2).
const LEAP: u8 = 16;
