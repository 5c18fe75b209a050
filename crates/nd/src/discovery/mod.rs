//! Neighbour discovery: input, output and timers.

mod neighbours;
mod routers;

use crate::cache::{Cause, find, find_mut, insert};
use crate::config::{NdConfig, Sizes};
use crate::derive::{derived, short};
use crate::host::{Configured, Host};
use crate::listener::Listener;
use crate::message::{HOP_LIMIT, MAX_LEN, Message};
use crate::neighbour::{MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT, Neighbour, State};
use crate::role::Role;
use crate::stats::{Discard, Stats, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_routing::RegisteredHost;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local, protocol};
use kinglet_wire::mld;
use kinglet_wire::nd::{self, Kind};
use kinglet_wire::sixlowpan::derived_iid;
use neighbours::detect;

/// DELAY_FIRST_PROBE_TIME (RFC 4861, 10).
const DELAY: Duration = Duration::from_secs(5);
/// A router solicits an unregistered address once per `STRAY` on average, in bursts that `STRAYS`
/// limits, to bound the cost of a scan: each takes three multicasts. Addresses that respond do not
/// count.
const STRAY: Duration = Duration::from_secs(2);
const STRAYS: Duration = Duration::from_secs(4);
/// Time after its last packet for which a neighbour is not evicted for such an address.
const IN_USE: Duration = Duration::from_secs(60);
/// Responses that wait to be sent.
const ANSWERS: usize = 4;

/// Link address of a neighbour, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The neighbour has this link address.
    To(Address),
    /// The link address has to be resolved ([`Discovery::want`]).
    Unknown,
}

/// A change for packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The link address of this neighbour is known.
    Found(Ipv6Addr),
    /// This neighbour does not respond.
    Lost(Ipv6Addr),
}

/// An advertisement that waits to be sent.
#[derive(Clone, Copy, Debug)]
struct Answer {
    dst: Ipv6Addr,
    via: Address,
    target: Ipv6Addr,
}

/// Neighbour discovery of a node.
pub struct Discovery<S: Sizes> {
    config: NdConfig,
    neighbours: S::Neighbours,
    answers: [Option<Answer>; ANSWERS],
    host: Host<S>,
    role: S::Role,
    listener: S::Listener,
    /// From the configuration, or from a router's advertisement.
    reachable: Duration,
    retrans: Duration,
    /// Time until which a response is awaited that is not repeated later.
    awaits: Option<Instant>,
    /// Time at which a router's budget for solicitations of unregistered addresses is full.
    strays: Instant,
    random: Random,
    stats: Stats,
}

impl<S: Sizes> Discovery<S> {
    /// Returns a node without neighbours; a router has its offer still to learn.
    pub const fn new(config: NdConfig) -> Self {
        Self::with_role(config, S::Role::NONE)
    }

    /// Returns a node with the router functions of `role`.
    pub const fn with_role(config: NdConfig, role: S::Role) -> Self {
        Discovery {
            config,
            neighbours: S::Neighbours::EMPTY,
            answers: [None; ANSWERS],
            host: Host::new(config.has_parent),
            role,
            listener: S::Listener::NEW,
            reachable: config.reachable,
            retrans: config.retrans,
            awaits: None,
            strays: Instant::ZERO,
            random: Random::new(config.seed, 6),
            stats: Stats::ZERO,
        }
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &NdConfig {
        &self.config
    }

    /// Returns the event counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the functions for other nodes.
    pub const fn role(&self) -> &S::Role {
        &self.role
    }

    /// Returns the functions for other nodes, to change what they offer.
    pub const fn role_mut(&mut self) -> &mut S::Role {
        &mut self.role
    }

    /// Returns the known neighbours.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.as_slice().iter().flatten()
    }

    /// Returns the link address of a neighbour, as far as it is known.
    pub fn resolution(&self, neighbour: Ipv6Addr) -> Resolution {
        if let Some(link) = self.role.link(neighbour) {
            return Resolution::To(link);
        }
        let link = match find(self.neighbours.as_slice(), neighbour) {
            Some(known) => Some(known.link).filter(|link| *link != Address::None),
            None => derived(neighbour, self.config.pan),
        };
        link.map_or(Resolution::Unknown, Resolution::To)
    }

    /// Registers that a packet waits for this neighbour. Returns whether resolution is in progress.
    pub fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool {
        if !self.config.on {
            return false;
        }
        let table = self.neighbours.as_mut_slice();
        if let Some(known) = find_mut(table, neighbour) {
            known.used = Some(now);
            return true;
        }
        let stray = S::Role::SERVES && self.role.serves() && !is_link_local(neighbour);
        if stray && self.strays > now + STRAYS {
            bump(&mut self.stats.refused);
            return false;
        }
        let cause = if stray { Cause::Stray(now - IN_USE) } else { Cause::Wanted };
        let Some(new) = insert(table, &mut self.stats, cause, neighbour) else {
            return false;
        };
        new.used = Some(now);
        new.ask(State::Incomplete, now + self.retrans);
        if stray {
            self.strays = self.strays.max(now) + STRAY;
        }
        true
    }

    /// Returns whether this node is a router that resolves this address on its link.
    pub fn solicits(&self, address: Ipv6Addr) -> bool {
        self.config.on && self.role.is_router() && short(address, self.config.pan).is_none()
    }

    /// Processes the sending of a packet to this neighbour, whose link address is known.
    pub fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr) {
        // A registered host is reachable until it says otherwise (RFC 6775, 6).
        if !self.config.on || self.role.link(neighbour).is_some() {
            return;
        }
        let table = self.neighbours.as_mut_slice();
        if let Some(known) = find_mut(table, neighbour) {
            known.used = Some(now);
            if known.state == State::Stale {
                known.state = State::Delay;
                known.due = Some(now + DELAY);
            }
            return;
        }
        // A short address in the identifier is certain. A guessed link address has to be probed.
        if short(neighbour, self.config.pan).is_some() {
            return;
        }
        let Some(link) = derived(neighbour, self.config.pan) else { return };
        let Some(new) = insert(table, &mut self.stats, Cause::Wanted, neighbour) else { return };
        (new.link, new.guessed, new.used) = (link, true, Some(now));
        new.state = State::Delay;
        new.due = Some(now + DELAY);
    }

    /// Processes the result of a frame to this link address: acknowledged or given up. It is
    /// evidence for all neighbours with this link address (RFC 4861, 7.3.1), so neighbours that
    /// receive packets need no probes.
    pub fn handle_sent(&mut self, now: Instant, to: Address, acked: bool) {
        if self.configures()
            && let Some(router) = self.host.router()
            && self.resolution(router) == Resolution::To(to)
        {
            self.host.handle_sent(now, acked);
        }
        let until = now + self.reachable_time();
        let again = now + self.retrans;
        for known in self.neighbours.as_mut_slice().iter_mut().flatten() {
            let usable = !matches!(known.state, State::Incomplete | State::Unreachable);
            if known.link != to || !usable || to == Address::None {
                continue;
            }
            match known.state {
                _ if acked => known.confirm(until),
                State::Probe => {}
                _ => known.ask(State::Probe, again),
            }
        }
    }

    /// Processes an upper layer's confirmation: this neighbour has responded to a recent packet.
    pub fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr) {
        let until = now + self.reachable_time();
        if let Some(known) = find_mut(self.neighbours.as_mut_slice(), neighbour)
            && known.link != Address::None
        {
            known.confirm(until);
        }
    }

    /// Processes a message from the link address `from`, with a valid checksum. `owns` returns
    /// whether an address is this node's.
    ///
    /// # Errors
    /// The reason of the discard.
    pub fn handle_message(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        octets: &[u8],
        owns: impl Fn(&Ipv6Addr) -> bool,
    ) -> Result<(), Discard> {
        let result = self.dispatch(now, from, header, octets, owns);
        if self.awaits.is_some() && !self.is_waiting() {
            self.awaits = None;
        }
        if let Err(reason) = result {
            self.stats.discard(reason);
        }
        result
    }

    //= rfc6775#4.4-1
    fn dispatch(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        octets: &[u8],
        owns: impl Fn(&Ipv6Addr) -> bool,
    ) -> Result<(), Discard> {
        if !self.config.on {
            return Err(Discard::Off);
        }
        if self.reports() && octets.first() == Some(&mld::QUERY) {
            return self.queried(now, header, octets);
        }
        let message = nd::Message::parse(octets).map_err(|_| Discard::Malformed)?;
        if header.hop_limit != HOP_LIMIT && !matches!(message.kind(), Kind::Duplicate(_)) {
            return Err(Discard::HopLimit);
        }
        match message.kind() {
            Kind::NeighbourSolicitation(target) => {
                let own = owns(&target);
                self.solicited(now, from, header, target, own, message.options())
            }
            Kind::NeighbourAdvertisement(advertisement) => {
                let own = owns(&advertisement.target);
                self.handle_advertisement(now, from, header, &advertisement, own, message.options())
            }
            Kind::RouterAdvertisement(router)
                if self.config.autoconfigures || self.role.serves() =>
            {
                self.advertised(now, header, &router, message.options())
            }
            Kind::RouterSolicitation if S::Role::SERVES && self.role.serves() => {
                self.router_solicited(now, from, header, message.options())
            }
            Kind::Duplicate(duplicate) if S::Role::SERVES && owns(&header.dst) => {
                self.role.handle_duplicate(now, header.src, &duplicate)
            }
            Kind::Redirect { .. }
            | Kind::RouterSolicitation
            | Kind::RouterAdvertisement(_)
            | Kind::Duplicate(_) => Err(Discard::Ignored),
        }
    }

    /// Processes a query for this node's groups: from a neighbour, and with an extension header in
    /// front, which carries the Router Alert (RFC 3810, 5.1.14, 6.2).
    fn queried(&mut self, now: Instant, header: &Header, octets: &[u8]) -> Result<(), Discard> {
        let query = mld::Query::parse(octets).map_err(|_| Discard::Malformed)?;
        let alert = header.next_header == protocol::HOP_BY_HOP;
        if header.hop_limit != 1 || !is_link_local(header.src) || !alert {
            return Err(Discard::Invalid);
        }
        self.listener.handle_query(now, &query, &mut self.random);
        Ok(())
    }

    const fn reports(&self) -> bool {
        <S::Listener as Listener>::REPORTS && self.config.reports
    }

    /// Processes a new multicast group, or a new address with its group.
    pub fn handle_join(&mut self) {
        if self.config.on && self.reports() {
            self.listener.handle_join();
        }
    }

    /// Writes a report of the groups of this node, if one is due. It needs a Router Alert
    /// ([`mld::ROUTER_ALERT`]).
    pub fn poll_report(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8; MAX_LEN],
    ) -> Option<Message> {
        let len = self.listener.poll(now, groups, buf)?;
        bump(&mut self.stats.sent);
        let (dst, via) = (mld::ROUTERS, Some(Address::BROADCAST));
        Some(Message { src: None, dst, via, hop_limit: 1, len })
    }

    /// Returns whether a response may come at any time, so that a receiver that is off between
    /// frames must be on.
    pub const fn listens(&self) -> bool {
        self.awaits.is_some()
    }

    fn is_waiting(&self) -> bool {
        let detects = self.host.detection_deadline().is_some();
        detects || self.host.is_waiting() || self.neighbours().any(|known| known.tries > 0)
    }

    /// Processes an assigned address. Unless it follows from the link address, which is unique,
    /// another node's use of it is detected (RFC 4862, 5.4). It is used meanwhile (RFC 4429), and
    /// registered like autoconfigured addresses.
    pub fn add_address(&mut self, address: Ipv6Addr) {
        self.handle_join();
        let own = derived_iid(self.config.link);
        if self.config.on && own.is_none_or(|own| !address.octets().ends_with(&own)) {
            self.host.add_given(address, &mut self.stats);
        }
    }

    /// Sets the only router to be used, as routing has selected it; `None`: any router.
    /// Registrations are to be at the router from which packets come.
    pub fn prefer(&mut self, now: Instant, router: Option<Address>) {
        if self.configures() {
            self.host.prefer(now, router);
        }
    }

    /// Returns the default router, the next hop of packets without another route.
    pub fn router(&self) -> Option<Ipv6Addr> {
        self.host.router()
    }

    /// Returns whether new connections should not use this own address (RFC 4862, 5.5.4).
    pub fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        self.host.is_deprecated(address)
    }

    /// Returns whether a context may compress headers, and not only expand them (RFC 6775, 5.4.2).
    pub fn compresses(&self, context: u8) -> bool {
        self.host.compresses(context)
    }

    /// Processes a frame whose headers need an unknown context. A host solicits its router, which
    /// may know it. The sender cannot be notified: an error message has to quote the packet, which
    /// cannot be expanded.
    pub fn handle_unknown_context(&mut self, now: Instant) {
        bump(&mut self.stats.unknown_contexts);
        if self.configures() {
            self.host.handle_unknown_context(now);
        }
    }

    /// Returns the advertised name servers.
    pub fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.host.servers()
    }

    /// Returns the next setting that routers have changed.
    pub fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        self.host.poll_configured(now)
    }

    /// Writes the next message to `buf`.
    pub fn poll_message(&mut self, now: Instant, buf: &mut [u8; MAX_LEN]) -> Option<Message> {
        let message = match self.answers.first().copied().flatten() {
            Some(answer) => {
                let message = self.advertise(&answer, buf);
                if let Some(first) = self.answers.first_mut() {
                    *first = None;
                }
                self.answers.rotate_left(1);
                message
            }
            None => {
                let asks = self.ask(buf);
                if asks.is_some() {
                    self.awaits = Some(now + self.retrans);
                }
                asks.or_else(|| self.role.poll_message(now, self.config.link, buf))
            }
        };
        if message.is_some() {
            bump(&mut self.stats.sent);
        }
        message
    }

    /// Writes the next solicitation.
    fn ask(&mut self, buf: &mut [u8]) -> Option<Message> {
        if self.host.asks {
            return self.solicit_routers(buf);
        }
        if let Some(target) = self.host.poll_detection() {
            return detect(target, buf);
        }
        self.register(buf).or_else(|| self.solicit(buf))
    }

    /// Returns the next change.
    pub fn poll_change(&mut self) -> Option<Change> {
        for place in self.neighbours.as_mut_slice() {
            let Some(known) = place else { continue };
            let address = known.address;
            if known.state == State::Unreachable {
                *place = None;
                return Some(Change::Lost(address));
            }
            if core::mem::take(&mut known.found) {
                if S::Role::SERVES && !is_link_local(address) {
                    self.strays = self.strays - STRAY;
                }
                return Some(Change::Found(address));
            }
        }
        None
    }

    /// Returns the next registered host that routing has to learn of: a new one, one that has
    /// registered again, or one that is gone.
    pub fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        self.role.poll_routed(now)
    }

    /// Returns the time of the next call of [`Discovery::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        let host = if self.configures() { self.host.deadline() } else { None };
        let role = if self.config.on { self.role.deadline() } else { None };
        let given = earliest(host, self.host.detection_deadline());
        let given = earliest(given, self.listener.deadline());
        let first = earliest(self.awaits, earliest(given, role));
        self.neighbours().fold(first, |first, known| earliest(first, known.due))
    }

    //= rfc6775#14-3
    const fn configures(&self) -> bool {
        self.config.on && self.config.autoconfigures
    }

    /// Runs the timers that are due: one step for each neighbour, however late.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.host.detect(now, self.retrans, &mut self.random);
        if self.config.on {
            let served = self.role.is_router();
            self.role.handle_deadline(now, &mut self.random);
            if served && !self.role.is_router() {
                self.host.search();
            }
        }
        self.listener.handle_deadline(now, &mut self.random);
        if self.awaits.is_some_and(|until| until <= now) {
            self.awaits = None;
        }
        let (pan, again) = (self.config.pan, now + self.retrans);
        for place in self.neighbours.as_mut_slice() {
            let Some(known) = place else { continue };
            if known.due.is_none_or(|due| due > now) {
                continue;
            }
            match known.state {
                State::Incomplete => {
                    if !known.ask_again(MAX_MULTICAST_SOLICIT, again) {
                        bump(&mut self.stats.unreachable);
                        self.host.lose_router(now, known.address);
                        (known.state, known.due) = (State::Unreachable, None);
                    }
                }
                State::Reachable => known.doubt(),
                State::Delay => known.ask(State::Probe, again),
                State::Probe => {
                    if known.ask_again(MAX_UNICAST_SOLICIT, again) {
                        continue;
                    }
                    bump(&mut self.stats.unreachable);
                    // A guessed link address was wrong, and is resolved. Otherwise the entry is
                    // removed, and the next packet starts resolution again (RFC 4861, 7.3.3).
                    if known.guessed && short(known.address, pan).is_none() {
                        (known.link, known.guessed) = (Address::None, false);
                        known.ask(State::Incomplete, again);
                    } else {
                        self.host.lose_router(now, known.address);
                        *place = None;
                    }
                }
                State::Stale | State::Unreachable => known.due = None,
            }
        }
        // Last, because this starts the search for what was lost above.
        if self.configures() {
            self.host.handle_deadline(now, &mut self.random);
        }
    }

    /// RFC 4861, 6.3.2: half to one and a half times the base, so that nodes do not synchronise.
    fn reachable_time(&mut self) -> Duration {
        let base = self.reachable;
        self.random.between(base / 2, base + base / 2)
    }
}
