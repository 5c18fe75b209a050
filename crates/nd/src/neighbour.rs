//! A neighbour, and the reachability state of its link address (RFC 4861, 5.1 and 7.3).

use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Multicast solicitations for an unreachable neighbour (MAX_MULTICAST_SOLICIT, RFC 4861, 10).
pub(crate) const MAX_MULTICAST_SOLICIT: u8 = 3;
/// Unicast solicitations (MAX_UNICAST_SOLICIT).
pub(crate) const MAX_UNICAST_SOLICIT: u8 = 3;

/// Reachability of a neighbour at its link address (RFC 4861, 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Address resolution is in progress.
    Incomplete,
    /// The neighbour was reachable a moment ago.
    Reachable,
    /// Reachability is unknown, and no packet has been sent since.
    Stale,
    /// A packet was sent to it; confirmation may come by itself.
    Delay,
    /// Its reachability is being probed.
    Probe,
    /// It did not respond, and the packets that wait for it are dropped.
    Unreachable,
}

/// A neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    pub(crate) address: Ipv6Addr,
    /// [`Address::None`] until it is known.
    pub(crate) link: Address,
    pub(crate) state: State,
    /// End of the state by timer.
    pub(crate) due: Option<Instant>,
    /// Solicitations sent in this state.
    pub(crate) tries: u8,
    /// True if a solicitation is to be sent.
    pub(crate) asks: bool,
    /// True if its link address was found and this was not reported yet.
    pub(crate) found: bool,
    /// True if its link address was derived from its address and is not confirmed.
    pub(crate) guessed: bool,
    /// True if it is a router.
    pub(crate) router: bool,
    /// Time of the last packet for it; `None`: never, so that any other may evict it.
    pub(crate) used: Option<Instant>,
}

impl Neighbour {
    /// Returns a neighbour with a known address and nothing else.
    pub(crate) const fn new(address: Ipv6Addr) -> Self {
        Neighbour {
            address,
            link: Address::None,
            state: State::Incomplete,
            due: None,
            tries: 0,
            asks: false,
            found: false,
            guessed: false,
            router: false,
            used: None,
        }
    }

    /// Returns its address.
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// Returns its link address, [`Address::None`] while it is unknown.
    pub const fn link(&self) -> Address {
        self.link
    }

    /// Returns its reachability state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Returns whether it has advertised that it is a router.
    pub const fn is_router(&self) -> bool {
        self.router
    }

    /// Returns whether packets may be waiting for it.
    pub(crate) fn waits(&self) -> bool {
        self.link == Address::None || self.found
    }

    /// Starts the solicitations of a state.
    pub(crate) fn ask(&mut self, state: State, again: Instant) {
        self.state = state;
        self.tries = 1;
        self.asks = true;
        self.due = Some(again);
    }

    /// Solicits again if fewer than `most` solicitations were sent. Returns whether it does.
    pub(crate) fn ask_again(&mut self, most: u8, again: Instant) -> bool {
        let may = self.tries < most;
        if may {
            self.tries = self.tries.saturating_add(1);
            self.asks = true;
            self.due = Some(again);
        }
        may
    }

    /// Sets it reachable until then.
    pub(crate) const fn confirm(&mut self, until: Instant) {
        self.state = State::Reachable;
        self.guessed = false;
        self.rest(Some(until));
    }

    /// Sets it stale: its link address was learned, but not confirmed.
    pub(crate) const fn doubt(&mut self) {
        self.state = State::Stale;
        self.rest(None);
    }

    const fn rest(&mut self, due: Option<Instant>) {
        self.due = due;
        self.tries = 0;
        self.asks = false;
    }

    /// Stores a link address. Returns whether it differs from the previous one.
    pub(crate) fn learn(&mut self, link: Address) -> bool {
        let new = self.link != link;
        self.found |= self.link == Address::None;
        self.link = link;
        self.guessed = false;
        new
    }
}
