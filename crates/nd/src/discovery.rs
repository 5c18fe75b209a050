//! What comes in, what goes out, when.

use crate::cache::{Cause, find, find_mut, insert};
use crate::config::{Config, Sizes};
use crate::derive::{derived, short};
use crate::host::{Configured, Host, REGISTRATION_MIN};
use crate::neighbour::{MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT, Neighbour, State};
use crate::stats::{Discard, Stats, bump};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local};
use kinglet_wire::nd::{self, Advertisement, Builder, Kind, NdOption, Options, solicited_node};

/// Octets that are enough for every message.
pub const MAX_LEN: usize = 256;

/// Only a neighbour can have sent it (RFC 4861, 7.1).
const HOP_LIMIT: u8 = 255;
/// DELAY_FIRST_PROBE_TIME (RFC 4861, 10).
const DELAY: Duration = Duration::from_secs(5);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);
/// Answers that wait to be sent.
const ANSWERS: usize = 4;

/// What is known of the way to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It has this link address.
    To(Address),
    /// Its link address has to be asked for ([`Discovery::want`]).
    Unknown,
}

/// What has changed for packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The way to this neighbour is known.
    Found(Ipv6Addr),
    /// This neighbour does not answer.
    Lost(Ipv6Addr),
}

/// A message to be sent with hop limit 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// From this own address; `None`: the one for the destination.
    pub src: Option<Ipv6Addr>,
    /// To whom.
    pub dst: Ipv6Addr,
    /// To this link address.
    pub via: Address,
    /// How many octets it has, from the type on; the checksum is zero.
    pub len: usize,
}

/// An advertisement that is owed.
#[derive(Clone, Copy, Debug)]
struct Answer {
    dst: Ipv6Addr,
    via: Address,
    target: Ipv6Addr,
}

/// Neighbour discovery of a node.
pub struct Discovery<S: Sizes> {
    config: Config,
    neighbours: S::Neighbours,
    answers: [Option<Answer>; ANSWERS],
    host: Host<S>,
    random: Random,
    stats: Stats,
}

impl<S: Sizes> Discovery<S> {
    /// One that knows nobody yet.
    pub const fn new(config: Config) -> Self {
        Discovery {
            config,
            neighbours: S::Neighbours::EMPTY,
            answers: [None; ANSWERS],
            host: Host::NEW,
            random: Random::new(config.seed, 6),
            stats: Stats {
                sent: 0,
                solicited: 0,
                discarded: 0,
                redirects: 0,
                conflicts: 0,
                unknown_contexts: 0,
                evicted: 0,
                refused: 0,
                unreachable: 0,
            },
        }
    }

    /// What it was told.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What passed.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Whom it knows.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.as_slice().iter().flatten()
    }

    /// The way to a neighbour, as far as it is known.
    pub fn way(&self, neighbour: Ipv6Addr) -> Way {
        let link = match find(self.neighbours.as_slice(), neighbour) {
            Some(known) => Some(known.link).filter(|link| *link != Address::None),
            None => derived(neighbour, self.config.pan),
        };
        link.map_or(Way::Unknown, Way::To)
    }

    /// A packet waits for the way to this neighbour; whether it is worth waiting.
    pub fn want(&mut self, now: Instant, neighbour: Ipv6Addr) -> bool {
        if !self.config.on {
            return false;
        }
        let table = self.neighbours.as_mut_slice();
        if let Some(known) = find_mut(table, neighbour) {
            known.used = Some(now);
            return true;
        }
        let Some(new) = insert(table, &mut self.stats, Cause::Wanted, neighbour) else {
            return false;
        };
        new.used = Some(now);
        new.ask(State::Incomplete, now + self.config.retrans);
        true
    }

    /// A packet is being sent to this neighbour, whose way is known.
    pub fn handle_use(&mut self, now: Instant, neighbour: Ipv6Addr) {
        if !self.config.on {
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
        // Of a short address it is sure whose it is. Of a guess it has to be found out.
        if short(neighbour, self.config.pan).is_some() {
            return;
        }
        let Some(link) = derived(neighbour, self.config.pan) else { return };
        let Some(new) = insert(table, &mut self.stats, Cause::Wanted, neighbour) else { return };
        (new.link, new.guessed, new.used) = (link, true, Some(now));
        new.state = State::Delay;
        new.due = Some(now + DELAY);
    }

    /// A frame to this link address was acknowledged, or given up: evidence for all neighbours
    /// with this link address (RFC 4861, 7.3.1), so that nobody is probed to whom packets go.
    pub fn handle_sent(&mut self, now: Instant, to: Address, acked: bool) {
        let until = now + self.reachable_time();
        let again = now + self.config.retrans;
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

    /// An upper layer has had an answer from this neighbour, to what was sent a moment ago.
    pub fn handle_progress(&mut self, now: Instant, neighbour: Ipv6Addr) {
        let until = now + self.reachable_time();
        if let Some(known) = find_mut(self.neighbours.as_mut_slice(), neighbour)
            && known.link != Address::None
        {
            known.confirm(until);
        }
    }

    /// Takes a message that came from the link address `from`; its checksum is right. `owns` says
    /// which addresses are this node's.
    ///
    /// # Errors
    /// Why it was discarded.
    pub fn handle_message(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        octets: &[u8],
        owns: impl Fn(&Ipv6Addr) -> bool,
    ) -> Result<(), Discard> {
        let result = self.dispatch(now, from, header, octets, owns);
        if matches!(result, Err(Discard::HopLimit | Discard::Malformed | Discard::Invalid)) {
            bump(&mut self.stats.discarded);
        }
        result
    }

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
        let message = nd::Message::parse(octets).map_err(|_| Discard::Malformed)?;
        if header.hop_limit != HOP_LIMIT && !matches!(message.kind(), Kind::Duplicate(_)) {
            return Err(Discard::HopLimit);
        }
        match message.kind() {
            Kind::NeighbourSolicitation(target) => {
                let own = owns(&target);
                self.solicited(from, header, target, own, message.options())
            }
            Kind::NeighbourAdvertisement(told) => {
                let own = owns(&told.target);
                self.told(now, header, &told, own, message.options())
            }
            Kind::Redirect { .. } => {
                bump(&mut self.stats.redirects);
                Err(Discard::Ignored)
            }
            Kind::RouterAdvertisement(router) if self.config.autoconfigures => {
                self.advertised(now, header, &router, message.options())
            }
            Kind::RouterSolicitation | Kind::RouterAdvertisement(_) | Kind::Duplicate(_) => {
                Err(Discard::Ignored)
            }
        }
    }

    /// A Neighbour Solicitation (RFC 4861, 7.2.3 and 7.2.4; RFC 4862, 5.4.3).
    fn solicited(
        &mut self,
        from: Address,
        header: &Header,
        target: Ipv6Addr,
        own: bool,
        mut options: Options<'_>,
    ) -> Result<(), Discard> {
        let link = options.find_map(|option| match option {
            NdOption::SourceLinkAddress(link) => Some(link),
            _ => None,
        });
        let (src, detects) = (header.src, header.src.is_unspecified());
        let to_group = header.dst == solicited_node(target);
        if target.is_multicast() || detects && (!to_group || link.is_some()) {
            return Err(Discard::Invalid);
        }
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if !own {
            return Err(Discard::NotConcerned);
        }
        bump(&mut self.stats.solicited);
        if detects {
            // Somebody wants to take this address: all have to know whose it is.
            self.answer(Answer { dst: ALL_NODES, via: Address::BROADCAST, target });
            return Ok(());
        }
        if let Some(link) = link {
            self.hear(src, link);
        }
        let known = find(self.neighbours.as_slice(), src).map(|known| known.link);
        let known = known.filter(|link| *link != Address::None);
        let via = link.or(known).unwrap_or(from);
        self.answer(Answer { dst: src, via, target });
        Ok(())
    }

    /// A neighbour has said which link address it has, without being asked.
    fn hear(&mut self, neighbour: Ipv6Addr, link: Address) {
        let table = self.neighbours.as_mut_slice();
        let known = match find_mut(table, neighbour) {
            Some(known) => Some(known),
            // Whose address says it already needs no entry.
            None if derived(neighbour, self.config.pan) == Some(link) => None,
            None => insert(table, &mut self.stats, Cause::Heard, neighbour),
        };
        if let Some(known) = known
            && known.learn(link)
        {
            known.doubt();
        }
    }

    /// Owes an advertisement. If there are too many, the oldest is not sent: who asked asks again.
    fn answer(&mut self, answer: Answer) {
        let same = |it: &Answer| it.dst == answer.dst && it.target == answer.target;
        let waiting = self.answers.iter().position(|place| place.as_ref().is_some_and(same));
        let free = self.answers.iter().position(Option::is_none);
        match waiting.or(free) {
            Some(index) => {
                if let Some(place) = self.answers.get_mut(index) {
                    *place = Some(answer);
                }
            }
            None => {
                self.answers.rotate_left(1);
                if let Some(place) = self.answers.last_mut() {
                    *place = Some(answer);
                }
            }
        }
    }

    /// A Neighbour Advertisement (RFC 4861, 7.2.5).
    fn told(
        &mut self,
        now: Instant,
        header: &Header,
        told: &Advertisement,
        own: bool,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        let Advertisement { router, solicited, overriding, target } = *told;
        let mut all = options;
        let link = all.find_map(|option| match option {
            NdOption::TargetLinkAddress(link) => Some(link),
            _ => None,
        });
        if target.is_multicast() || solicited && header.dst.is_multicast() {
            return Err(Discard::Invalid);
        }
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if own && self.registered(now, header.src, target, options) {
            return Ok(());
        }
        if own {
            bump(&mut self.stats.conflicts);
            return Err(Discard::NotConcerned);
        }
        let until = now + self.reachable_time();
        let known = find_mut(self.neighbours.as_mut_slice(), target);
        let known = known.filter(|it| it.state != State::Unreachable);
        let Some(known) = known else { return Err(Discard::NotConcerned) };
        if known.state == State::Incomplete {
            known.learn(link.ok_or(Discard::Invalid)?);
            if solicited {
                known.confirm(until)
            } else {
                known.doubt()
            }
            known.router = router;
            return Ok(());
        }
        let differs = link.is_some_and(|link| link != known.link);
        // What was only guessed has no right to be kept.
        if differs && !overriding && !known.guessed {
            if known.state == State::Reachable {
                known.doubt();
            }
            return Ok(());
        }
        if let Some(link) = link.filter(|_| differs) {
            known.learn(link);
            known.doubt();
        }
        if solicited {
            known.confirm(until);
        }
        known.router = router;
        Ok(())
    }

    /// The answer of the router to a registration of this node's (RFC 6775, 5.5.2), if it is that.
    fn registered(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        target: Ipv6Addr,
        mut options: Options<'_>,
    ) -> bool {
        let answer = options.find_map(|option| match option {
            NdOption::Registration(it) => Some(it),
            _ => None,
        });
        let answer = answer.filter(|it| it.rovr == self.config.eui);
        let asked = self.host.router() == Some(from);
        asked && answer.is_some_and(|answer| self.host.registered(now, target, &answer))
    }

    /// Registers an address (RFC 6775, 5.5.1), in the form that routers of RFC 8505 know as theirs
    /// and others as their own.
    fn register(&mut self, buf: &mut [u8]) -> Option<Message> {
        let router = self.host.router()?;
        let Way::To(via) = self.way(router) else { return None };
        let (address, tid) = self.host.poll_registration()?;
        let option = NdOption::Registration(nd::Registration {
            status: 0,
            opaque: (0, 0),
            routed: true,
            tid: Some(tid),
            lifetime_min: REGISTRATION_MIN,
            rovr: self.config.eui,
        });
        let mut out = Builder::new(buf, &Kind::NeighbourSolicitation(address)).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        out.option(&option).ok()?;
        Some(Message { src: Some(address), dst: router, via, len: out.len() })
    }

    /// A Router Advertisement (RFC 4861, 6.1.2 and 6.3.4).
    fn advertised(
        &mut self,
        now: Instant,
        header: &Header,
        router: &nd::Router,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        if !is_link_local(header.src) {
            return Err(Discard::Invalid);
        }
        let mut all = options;
        let link = all.find_map(|option| match option {
            NdOption::SourceLinkAddress(link) => Some(link),
            _ => None,
        });
        if link.is_some_and(|link| !link.is_unicast()) {
            return Err(Discard::Invalid);
        }
        if let Some(link) = link {
            self.hear(header.src, link);
        }
        let own = self.config.link;
        self.host.advertised(now, header.src, router, own, options, &mut self.stats);
        Ok(())
    }

    /// Where packets go that have no other way: a default router.
    pub fn router(&self) -> Option<Ipv6Addr> {
        self.host.router()
    }

    /// Whether new connections should not begin with this own address (RFC 4862, 5.5.4).
    pub fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        self.host.is_deprecated(address)
    }

    /// Whether headers may be compressed by a context, and not only expanded (RFC 6775, 5.4.2).
    pub fn compresses(&self, context: u8) -> bool {
        self.host.compresses(context)
    }

    /// A frame came whose headers need a context that is not known. Who has sent it
    /// cannot be told: nobody knows its addresses.
    pub fn handle_unknown_context(&mut self) {
        bump(&mut self.stats.unknown_contexts);
    }

    /// Name servers that were advertised.
    pub fn servers(&self) -> impl Iterator<Item = Ipv6Addr> {
        self.host.servers()
    }

    /// What routers have made of this node, one thing at a time.
    pub fn poll_configured(&mut self, now: Instant) -> Option<Configured> {
        self.host.poll_configured(now)
    }

    /// Writes the next message to `buf`.
    pub fn poll_message(&mut self, _now: Instant, buf: &mut [u8; MAX_LEN]) -> Option<Message> {
        let message = match self.answers.first().copied().flatten() {
            Some(answer) => {
                let message = self.advertise(&answer, buf);
                if let Some(first) = self.answers.first_mut() {
                    *first = None;
                }
                self.answers.rotate_left(1);
                message
            }
            None if self.host.asks => self.solicit_routers(buf),
            None => self.register(buf).or_else(|| self.solicit(buf)),
        };
        if message.is_some() {
            bump(&mut self.stats.sent);
        }
        message
    }

    fn advertise(&self, answer: &Answer, buf: &mut [u8]) -> Option<Message> {
        let Answer { dst, via, target } = *answer;
        let (router, solicited, overriding) = (false, !dst.is_multicast(), true);
        let told = Advertisement { router, solicited, overriding, target };
        let mut out = Builder::new(buf, &Kind::NeighbourAdvertisement(told)).ok()?;
        out.option(&NdOption::TargetLinkAddress(self.config.link)).ok()?;
        Some(Message { src: None, dst, via, len: out.len() })
    }

    /// RFC 6775, 5.3.
    fn solicit_routers(&mut self, buf: &mut [u8]) -> Option<Message> {
        self.host.asks = false;
        let known = self.host.asked().and_then(|router| match self.way(router) {
            Way::To(link) => Some((router, link)),
            Way::Unknown => None,
        });
        let (dst, via) = known.unwrap_or((ALL_ROUTERS, Address::BROADCAST));
        let mut out = Builder::new(buf, &Kind::RouterSolicitation).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        Some(Message { src: None, dst, via, len: out.len() })
    }

    fn solicit(&mut self, buf: &mut [u8]) -> Option<Message> {
        let mut known = self.neighbours.as_mut_slice().iter_mut().flatten();
        let known = known.find(|it| it.asks)?;
        known.asks = false;
        let target = known.address;
        // RFC 4861, 7.2.2 and 7.3.3.
        let (dst, via) = match known.state {
            State::Probe => (target, known.link),
            _ => (solicited_node(target), Address::BROADCAST),
        };
        let mut out = Builder::new(buf, &Kind::NeighbourSolicitation(target)).ok()?;
        out.option(&NdOption::SourceLinkAddress(self.config.link)).ok()?;
        Some(Message { src: None, dst, via, len: out.len() })
    }

    /// What has changed, one thing at a time.
    pub fn poll_change(&mut self) -> Option<Change> {
        for place in self.neighbours.as_mut_slice() {
            let Some(known) = place else { continue };
            let address = known.address;
            if known.state == State::Unreachable {
                *place = None;
                return Some(Change::Lost(address));
            }
            if core::mem::take(&mut known.found) {
                return Some(Change::Found(address));
            }
        }
        None
    }

    /// When [`Discovery::handle_deadline`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        let host = if self.configures() { self.host.deadline() } else { None };
        self.neighbours().fold(host, |first, known| earliest(first, known.due))
    }

    const fn configures(&self) -> bool {
        self.config.on && self.config.autoconfigures
    }

    /// Does what is due: a step for each neighbour, however late.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.configures() {
            self.host.handle_deadline(now, &mut self.random);
        }
        let Config { retrans, pan, .. } = self.config;
        let again = now + retrans;
        for place in self.neighbours.as_mut_slice() {
            let Some(known) = place else { continue };
            if known.due.is_none_or(|due| due > now) {
                continue;
            }
            match known.state {
                State::Incomplete => {
                    if !known.ask_again(MAX_MULTICAST_SOLICIT, again) {
                        bump(&mut self.stats.unreachable);
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
                    // What was guessed was wrong, then, and is asked for. Else the entry goes, and
                    // the next packet asks anew (RFC 4861, 7.3.3).
                    if known.guessed && short(known.address, pan).is_none() {
                        (known.link, known.guessed) = (Address::None, false);
                        known.ask(State::Incomplete, again);
                    } else {
                        *place = None;
                    }
                }
                State::Stale | State::Unreachable => known.due = None,
            }
        }
    }

    /// RFC 4861, 6.3.2: half to one and a half times the base, so that nobody falls in step.
    fn reachable_time(&mut self) -> Duration {
        let base = self.config.reachable;
        self.random.between(base / 2, base + base / 2)
    }
}
