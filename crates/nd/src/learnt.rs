//! What is kept of advertisements, each for as long as it is said (`host.rs`).

use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::sixlowpan::Context;

/// A default router.
#[derive(Clone, Copy, Debug)]
pub struct Router {
    pub(crate) address: Ipv6Addr,
    pub(crate) until: Instant,
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
    /// Solicitations since the last answer.
    pub(crate) tries: u8,
    /// A solicitation is to be sent.
    pub(crate) asks: bool,
    /// Transaction identifier of the last one (RFC 8505, 5.2).
    pub(crate) tid: u8,
}

impl Registration {
    pub(crate) const NEW: Self = Registration { due: None, tries: 0, asks: false, tid: 0 };

    /// Asks now, and again then.
    pub(crate) fn ask(&mut self, again: Instant) {
        self.tries = self.tries.saturating_add(1);
        self.tid = self.tid.wrapping_add(1);
        self.asks = true;
        self.due = Some(again);
    }
}
