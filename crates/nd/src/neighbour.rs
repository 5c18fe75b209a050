//! What is known of a neighbour, and how sure that is (RFC 4861, 5.1 and 7.3).

use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

/// Solicitations to all before a neighbour is given up (MAX_MULTICAST_SOLICIT, RFC 4861, 10).
pub(crate) const MAX_MULTICAST_SOLICIT: u8 = 3;
/// Solicitations to one (MAX_UNICAST_SOLICIT).
pub(crate) const MAX_UNICAST_SOLICIT: u8 = 3;

/// How sure the link address of a neighbour is (RFC 4861, 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is being asked for.
    Incomplete,
    /// The neighbour was there a moment ago.
    Reachable,
    /// Nobody knows, and nobody has sent it anything since.
    Stale,
    /// Something was sent to it; evidence may come by itself.
    Delay,
    /// It is being asked whether it is there.
    Probe,
    /// It did not answer, and the packets that wait for it have to go.
    Unreachable,
}

/// A neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    pub(crate) address: Ipv6Addr,
    /// [`Address::None`] until it is known.
    pub(crate) link: Address,
    pub(crate) state: State,
    /// When the state ends by itself.
    pub(crate) due: Option<Instant>,
    /// Solicitations sent in this state.
    pub(crate) tries: u8,
    /// A solicitation is to be sent.
    pub(crate) asks: bool,
    /// Its link address was found and that was not told yet.
    pub(crate) found: bool,
    /// Its link address was derived from its address, and it has not confirmed that.
    pub(crate) guessed: bool,
    /// It is a router.
    pub(crate) router: bool,
    /// When a packet was last for it; `None`: never, so that it may give way to anybody.
    pub(crate) used: Option<Instant>,
}

impl Neighbour {
    /// One of which nothing but its address is known.
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

    /// Its address.
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// Its link address, [`Address::None`] while that is not known.
    pub const fn link(&self) -> Address {
        self.link
    }

    /// How sure that is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether it has said that it is a router.
    pub const fn is_router(&self) -> bool {
        self.router
    }

    /// Whether packets may wait for it.
    pub(crate) fn waits(&self) -> bool {
        self.link == Address::None || self.found
    }

    /// Asks, now and for the first time.
    pub(crate) fn ask(&mut self, state: State, again: Instant) {
        self.state = state;
        self.tries = 1;
        self.asks = true;
        self.due = Some(again);
    }

    /// Asks once more if there have not been `most` solicitations; whether it does.
    pub(crate) fn ask_again(&mut self, most: u8, again: Instant) -> bool {
        let may = self.tries < most;
        if may {
            self.tries = self.tries.saturating_add(1);
            self.asks = true;
            self.due = Some(again);
        }
        may
    }

    /// It is there: until then.
    pub(crate) const fn confirm(&mut self, until: Instant) {
        self.state = State::Reachable;
        self.guessed = false;
        self.rest(Some(until));
    }

    /// Its link address is as good as the last message says, and no better.
    pub(crate) const fn doubt(&mut self) {
        self.state = State::Stale;
        self.rest(None);
    }

    const fn rest(&mut self, due: Option<Instant>) {
        self.due = due;
        self.tries = 0;
        self.asks = false;
    }

    /// Takes a link address; whether it is another one than before.
    pub(crate) fn learn(&mut self, link: Address) -> bool {
        let new = self.link != link;
        self.found |= self.link == Address::None;
        self.link = link;
        self.guessed = false;
        new
    }
}
