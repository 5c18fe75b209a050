//! The RPL engine: received messages, sent messages and timers.

mod dao;
mod dio;
mod output;
mod packets;
mod select;

pub use output::{MAX_LEN, Out};

use crate::change::Change;
use crate::config::{Probing, Role, Root, RplConfig, Sizes};
use crate::dao::{Advertised, Announce, Missed, Route, Targets, Urgency, is_of};
use crate::dis::{Pace, Solicit};
use crate::dodag::{Dodag, link_local, spaced};
use crate::link::MAX_FAILURES;
use crate::load::Load;
use crate::lollipop::Counter;
use crate::lost::Lost;
use crate::objective::Objective;
use crate::parents::{Candidate, Parents};
use crate::rank::INFINITE_RANK;
use crate::restless::Restless;
use crate::silent::Silent;
use crate::start::{First, Start};
use crate::stats::{CandidateInfo, Discard, Info, Stats, count};
use core::net::Ipv6Addr;
use core::num::NonZeroU32;
use kinglet_mem::{Array, fingerprint};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, Limit, earliest};
use kinglet_trickle::Trickle;
use kinglet_wire::rpl::Message;

/// First value of a counter's linear region, in which it starts (RFC 6550, 7.2).
const STRAIGHT: u8 = 128;
/// RPL_DEFAULT_INSTANCE (RFC 6550, 17).
const DEFAULT_INSTANCE: u8 = 0;
/// Random stream of this layer: "rplrplrp".
const DICE: u64 = 0x7270_6c72_706c_7270;
/// Unicast messages that may wait to be sent.
pub(crate) const ANSWERS: usize = 4;
/// Trickle resets per minute that other nodes may cause.
const RESETS: u8 = 12;
/// Multicast DIOs per minute, and DIOs that answer a DIS, whatever intervals the DODAG has: more
/// than twice the need of the usual intervals while all nodes restart.
const DIOS: u8 = 60;
const DIO_ANSWERS: u8 = 240;
/// DAOs per second, whatever lifetimes the DODAG has and however many targets there are: as many as
/// a root accepts from all its nodes.
const DAOS: u8 = 50;
const SECOND: Duration = Duration::from_secs(1);
/// DODAG versions per minute that a node may move to.
const VERSIONS: u8 = 4;
const MINUTE: Duration = Duration::from_secs(60);
/// Imin of a DODAG that is unknown yet: the largest of the common stacks (Contiki-NG's
/// `RPL_CONF_DIO_INTERVAL_MIN`).
const UNKNOWN_MIN: Duration = Duration::from_millis(4_096);
/// Longest time until a parent that has not acknowledged a frame is probed, as for neighbours that
/// may be gone (RFC 4861, 10: RETRANS_TIMER).
const DOUBT: Duration = Duration::from_secs(1);

/// A unicast message to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// A DIO.
    Information,
    /// A DIS.
    Solicitation,
    /// A DAO-ACK.
    Acknowledgement { sequence: u8, status: u8 },
}

#[derive(Clone, Copy)]
struct Answer {
    to: Ipv6Addr,
    reply: Reply,
}

/// A node's part in a RPL network; see the crate's documentation for the loop around it.
pub struct Rpl<S: Sizes> {
    config: RplConfig,
    random: Random,
    dodag: Option<Dodag>,
    trickle: Trickle,
    candidates: S::Candidates,
    routes: S::Routes,
    /// The parent that has not acknowledged the last frame, and the time of its probe.
    doubted: Option<(Ipv6Addr, Instant)>,
    lost: Lost,
    silent: Silent,
    restless: Restless,
    solicit: Solicit,
    start: Start,
    announce: Announce,
    answers: [Option<Answer>; ANSWERS],
    /// A multicast DIO is to be sent.
    advertise: bool,
    /// Time of a request for DAOs that the rate limit has delayed.
    asks_at: Option<Instant>,
    overloaded: bool,
    load: Load,
    resets: Limit,
    versions: Limit,
    dios: Limit,
    dio_answers: Limit,
    daos: Limit,
    parent_changed: bool,
    /// A source of upward packets without a downward route, and the time at which that was noticed.
    unknown: Option<(Ipv6Addr, Instant)>,
    prefix_changed: bool,
    stats: Stats,
}

impl<S: Sizes> Rpl<S> {
    /// Creates a node without neighbours.
    pub const fn new(config: RplConfig) -> Self {
        let (dodag, start) = match &config.role {
            Role::Root(root) => {
                let instance = match config.instance {
                    Some(instance) => instance,
                    None => DEFAULT_INSTANCE,
                };
                (Some(Dodag::of_root(root, instance)), Start::New)
            }
            Role::Off | Role::Leaf | Role::Router => (None, Start::Over),
        };
        Rpl {
            config,
            random: Random::new(config.seed, DICE),
            dodag,
            trickle: Trickle::new(),
            candidates: S::Candidates::EMPTY,
            routes: S::Routes::EMPTY,
            doubted: None,
            lost: Lost::new(),
            silent: Silent::new(),
            restless: Restless::new(),
            solicit: Solicit::new(),
            start,
            announce: Announce::new(),
            answers: const { [None; ANSWERS] },
            advertise: false,
            asks_at: None,
            overloaded: false,
            load: Load::new(),
            resets: Limit::new(RESETS, MINUTE),
            versions: Limit::new(VERSIONS, MINUTE),
            dios: Limit::new(DIOS, MINUTE),
            dio_answers: Limit::new(DIO_ANSWERS, MINUTE),
            daos: Limit::new(DAOS, SECOND),
            parent_changed: false,
            unknown: None,
            prefix_changed: false,
            stats: Stats::ZERO,
        }
    }

    /// Returns the node's configuration.
    pub const fn config(&self) -> &RplConfig {
        &self.config
    }

    /// Returns the RPLInstanceID of the DODAG, or of the one that the node may join.
    fn instance(&self) -> u8 {
        let joined = self.dodag.as_ref().map(|dodag| dodag.instance);
        joined.or(self.config.instance).unwrap_or(DEFAULT_INSTANCE)
    }

    /// Returns an initial DTSN of 128 to 255. Children that remember the DTSN from before a restart
    /// take a different one for a request for DAOs (RFC 6550, 7.2 and 9.6).
    fn first_dtsn(&mut self) -> Counter {
        Counter::new(STRAIGHT | self.random.bits(7) as u8)
    }

    /// Draws the initial DTSN of a root that has not kept that of its former life.
    fn draw_dtsn(&mut self) {
        if matches!(self.config.role, Role::Root(Root { sequence: None, .. })) {
            let dtsn = self.first_dtsn();
            self.dodag.iter_mut().for_each(|dodag| dodag.dtsn = dtsn);
        }
    }

    /// Returns a number that stands for the name of the DODAG, its version and the DTSN. It changes
    /// with a restart, another DODAG or a request for DAOs; `None` while this node announces no
    /// DODAG.
    pub fn epoch(&self) -> Option<NonZeroU32> {
        let dodag = self.dodag.as_ref().filter(|_| self.advertises())?;
        let Dodag { id, instance, operation, version, dtsn, .. } = dodag;
        let state = [*instance, *operation, version.value(), dtsn.value()];
        Some(fingerprint(id.octets().iter().chain(&state)))
    }

    /// Queues a DIO to a neighbour that receives no multicast. Returns whether there is room for
    /// it.
    pub fn inform_neighbour(&mut self, neighbour: Ipv6Addr) -> bool {
        self.answer(neighbour, Reply::Information).is_ok()
    }

    const fn is_root(&self) -> bool {
        matches!(self.config.role, Role::Root(_))
    }

    /// Returns whether the node forwards for no other: by its role, or because it does not know the
    /// objective function or the mode of the DODAG (RFC 6550, 8.5 and 9.2).
    //= rfc6550#9.2-1
    fn is_leaf(&self) -> bool {
        let stranger = |dodag: &Dodag| {
            dodag.has_multicast() || !S::Objective::serves(dodag.configuration.objective)
        };
        self.config.role == Role::Leaf
            || !self.is_root() && self.dodag.as_ref().is_some_and(stranger)
    }

    /// Returns the node's routable address: a root's is the DODAGID, another's is made of the
    /// DODAG's prefix.
    pub fn address(&self) -> Option<Ipv6Addr> {
        let dodag = self.dodag.as_ref()?;
        if self.is_root() { Some(dodag.id) } else { dodag.address(self.config.identifier) }
    }

    /// Returns the node's rank; [`INFINITE_RANK`] without a route to the root.
    pub fn rank(&self) -> u16 {
        self.dodag.as_ref().map_or(INFINITE_RANK, Dodag::rank)
    }

    /// Returns the preferred parent's link-local address.
    pub fn parent(&self) -> Option<Ipv6Addr> {
        self.dodag.as_ref()?.preferred
    }

    /// Sets the time that a multicast message takes until all neighbours have been awake. The
    /// intervals of a root's DODAG are at least four times as long.
    pub fn set_broadcast_time(&mut self, time: Duration) {
        if let (Role::Root(root), Some(dodag)) = (&self.config.role, &mut self.dodag) {
            dodag.configuration = spaced(&root.configuration, time);
        }
    }

    fn parents(&mut self) -> Parents<'_> {
        Parents(self.candidates.as_mut_slice())
    }

    fn neighbour_mut(&mut self, address: Ipv6Addr) -> Option<&mut Candidate> {
        let candidates = self.candidates.as_mut_slice().iter_mut().flatten();
        candidates.into_iter().find(|candidate| candidate.address == address)
    }

    fn targets(&mut self) -> Targets<'_> {
        Targets(self.routes.as_mut_slice())
    }

    /// Resets Trickle for a change of this node's own, without a rate limit.
    fn hasten(&mut self, now: Instant) {
        let Some(pace) = self.dodag.as_ref().map(Dodag::pace) else { return };
        count(&mut self.stats.resets);
        self.trickle.hasten(now, &pace, &mut self.random);
    }

    /// Resets Trickle for other nodes that request or need a DIO, up to a rate limit.
    fn reset(&mut self, now: Instant) {
        let Some(pace) = self.dodag.as_ref().map(Dodag::pace) else { return };
        if self.trickle.interval().is_none_or(|interval| interval <= pace.shortest) {
            return;
        }
        if self.resets.allows(now) {
            count(&mut self.stats.resets);
            self.trickle.reset(now, &pace, &mut self.random);
        } else {
            count(&mut self.stats.resets_refused);
        }
    }

    /// Queues a message to one neighbour.
    fn answer(&mut self, to: Ipv6Addr, reply: Reply) -> Result<(), Discard> {
        let same = |place: &Option<Answer>| place.is_some_and(|a| (a.to, a.reply) == (to, reply));
        let table = &mut self.answers;
        let place = table.iter().position(same).or_else(|| table.iter().position(Option::is_none));
        let place = place.and_then(|index| table.get_mut(index)).ok_or(Discard::Busy)?;
        *place = Some(Answer { to, reply });
        Ok(())
    }

    /// Processes an ICMPv6 message of type 155 from `from`, received with `rssi_dbm`, with this
    /// code; `body` follows its checksum. `multicast` is set if its destination was multicast.
    ///
    /// # Errors
    /// The reason of the discard, which is also counted.
    pub fn handle_message(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        rssi_dbm: i8,
        multicast: bool,
        code: u8,
        body: &[u8],
    ) -> Result<(), Discard> {
        let margin_db = i16::from(rssi_dbm).saturating_sub(self.config.noise_floor_dbm.into());
        let result = self.take(now, from, margin_db, multicast, code, body);
        match result {
            Ok(()) => count(&mut self.stats.received),
            Err(reason) => self.stats.discard(reason),
        }
        result
    }

    fn take(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        margin_db: i16,
        multicast: bool,
        code: u8,
        body: &[u8],
    ) -> Result<(), Discard> {
        if self.config.role == Role::Off {
            return Err(Discard::NotForRole);
        }
        let own = self.config.identifier;
        let is_own = from.to_bits() as u64 == own || Some(from) == self.address();
        if from.is_multicast() || from.is_unspecified() || is_own {
            return Err(Discard::BadSource);
        }
        let (message, options) = Message::parse(code, body).map_err(Discard::Malformed)?;
        let near = from.is_unicast_link_local();
        let instance = self.instance();
        match message {
            Message::Dis(_) if near => self.take_dis(now, from, multicast, options),
            Message::Dio(_) | Message::Dis(_) if !near => Err(Discard::BadSource),
            Message::Dis(_) => Err(Discard::BadSource),
            Message::Dio(dio) => self.take_dio(now, from, margin_db, &dio, options),
            // Multicast DAOs are for routers that keep multicast routes (9.10).
            //= rfc6550#9.10-3
            Message::Dao(_) if multicast => Err(Discard::NotForRole),
            Message::Dao(dao) if dao.instance == instance => {
                self.take_dao(now, from, &dao, options)
            }
            Message::DaoAck(ack) if ack.instance == instance => self.take_ack(now, from, &ack),
            _ => Err(Discard::OtherInstance),
        }
    }

    /// Processes a frame to a neighbour that was acknowledged after `transmissions` attempts, or
    /// was given up. Each frame with a fragment of a datagram counts.
    pub fn handle_sent(&mut self, now: Instant, to: Ipv6Addr, transmissions: u8, acked: bool) {
        if self.parent() == Some(to) {
            // A node that sends rarely would miss for long that the parent is gone.
            let at = now + self.random.between(DOUBT / 2, DOUBT);
            self.doubted = (!acked).then_some((to, at));
            if acked {
                self.solicit.confirm();
            }
        }
        if acked {
            self.lost.found(to);
        }
        let failures = self.silent.note(now, to, acked);
        let Some(candidate) = self.neighbour_mut(to) else {
            if failures >= MAX_FAILURES {
                self.forget_child(now, to);
            }
            return;
        };
        candidate.link.sent(now, transmissions, acked);
        let dead = candidate.link.is_dead();
        if dead {
            // Its rank from before it was gone is no reason to return to it.
            candidate.rank = INFINITE_RANK;
            self.forget_child(now, to);
        }
        self.select_by_itself(now);
    }

    /// Returns whether the neighbour with this address of the DODAG acknowledges no frames now.
    pub fn is_silent(&self, now: Instant, address: Ipv6Addr) -> bool {
        self.silent.has(now, Self::neighbour(address))
    }

    /// Drops the routes through a child that is unreachable.
    //= rfc6550#8.2.1-6
    fn forget_child(&mut self, now: Instant, child: Ipv6Addr) {
        if self.targets().lose_child(child) {
            self.schedule_dao(now, Urgency::Now);
            // A child that is still there assumes that its routes are known.
            self.lost.note(now, child);
            self.ask_for_daos(now);
        }
    }

    /// Drops matching routes and notifies the parent. Returns whether there were any.
    fn lose_routes(&mut self, now: Instant, matches: impl Fn(&Route) -> bool) -> bool {
        let lost = self.targets().lose(matches);
        if lost {
            self.schedule_dao(now, Urgency::Now);
        }
        lost
    }

    /// Schedules a DAO after a change in the table of targets, if there is a parent.
    fn schedule_dao(&mut self, now: Instant, urgency: Urgency) {
        if self.parent().is_some() {
            self.announce.schedule(now, urgency, &mut self.random);
        } else {
            self.targets().sweep(true);
        }
    }

    /// Sets whether the node is overloaded: DIOs announce this from now on (RFC 6551, 3.1).
    pub fn set_overloaded(&mut self, overloaded: bool) {
        self.overloaded = overloaded;
    }

    /// Reports that `waiting` of `room` packets wait to be sent. With [`RplConfig::load`] DIOs
    /// announce whether that is too much; otherwise nothing happens. To be called whenever the
    /// number may have changed.
    pub fn handle_queue(&mut self, now: Instant, waiting: usize, room: usize) {
        if !self.config.load {
            return;
        }
        if let Some(overloaded) = self.load.note(now, waiting, room, self.overloaded) {
            self.overloaded = overloaded;
            self.reset(now);
        }
    }

    /// Starts a new version of a root's DODAG, which all nodes join again (RFC 6550, 3.2.2): global
    /// repair. Other nodes do nothing.
    //= rfc6550#8.2.2.1-3
    pub fn repair(&mut self, now: Instant) {
        if self.is_root()
            && let Some(dodag) = &mut self.dodag
        {
            dodag.version = dodag.version.next();
            count(&mut self.stats.repairs);
            self.hasten(now);
        }
    }

    /// Requests all DAOs again at a root (RFC 6550, 9.6). Other nodes do nothing.
    pub fn refresh(&mut self, now: Instant) {
        if self.is_root()
            && let Some(dodag) = &mut self.dodag
        {
            dodag.dtsn = dodag.dtsn.next();
            self.hasten(now);
        }
    }

    /// Requests DAOs from the nodes below, now or as soon as the limit allows (RFC 6550, 9.6).
    fn ask_for_daos(&mut self, now: Instant) {
        let leaf = self.is_leaf();
        let Some(dodag) = self.dodag.as_mut().filter(|_| !leaf) else { return };
        if !self.resets.allows(now) {
            count(&mut self.stats.resets_refused);
            self.asks_at = Some(self.resets.next());
            return;
        }
        dodag.dtsn = dodag.dtsn.next();
        self.asks_at = None;
        self.hasten(now);
    }

    /// Returns one change at a time.
    pub fn poll_change(&mut self) -> Option<Change> {
        if core::mem::take(&mut self.parent_changed) {
            return Some(Change::Parent(self.parent()));
        }
        if core::mem::take(&mut self.prefix_changed) {
            let prefix = self.dodag.as_ref()?.prefix;
            return Some(Change::Prefix(prefix.filter(|prefix| prefix.valid_secs > 0)));
        }
        None
    }

    /// Returns whether the node sends DIOs at all.
    //= rfc6550#8.5-1 rfc6550#8.5-4
    fn advertises(&self) -> bool {
        let has = |dodag: &Dodag| dodag.rank() != INFINITE_RANK || dodag.announcements_left > 0;
        self.start.is_over() && !self.is_leaf() && self.dodag.as_ref().is_some_and(has)
    }

    /// Returns the time of a candidate's next probe.
    fn probe_at(&self, candidate: &Candidate) -> Option<Instant> {
        let Probing::After(silence) = self.config.probing else { return None };
        let useful = candidate.rank < self.rank() && candidate.link.deadline().is_none();
        useful.then(|| candidate.link.sampled.unwrap_or(candidate.since) + silence)
    }

    /// Returns the time of the next call of [`Rpl::handle_deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        if self.config.role == Role::Off {
            return None;
        }
        let solicit = match self.is_root() {
            true => self.start.deadline(),
            false => self.solicit.deadline(),
        };
        let trickle = self.advertises().then(|| self.trickle.deadline());
        let hold = self.dodag.as_ref().and_then(|dodag| dodag.hold);
        let routes = Targets::deadline(self.routes.as_slice());
        let links = self.candidates.as_slice().iter().flatten();
        let links = links.map(|c| earliest(c.link.deadline(), self.probe_at(c)));
        let prefix = self.dodag.as_ref().and_then(|dodag| dodag.prefix_expires);
        let doubt = self.doubted.map(|(_, at)| at);
        let (lost, announce) = (self.lost.deadline(), self.announce.deadline());
        let others = [solicit, trickle, hold, prefix, routes, doubt, lost, announce, self.asks_at];
        others.into_iter().chain(links).fold(None, earliest)
    }

    /// Returns whether a leaf without a parent awaits answers to a DIS.
    pub fn listens(&self) -> bool {
        self.solicit.listens()
    }

    fn solicitation_pace(&self) -> Pace {
        if self.config.role == Role::Leaf { Pace::LEAF } else { Pace::ROUTER }
    }

    /// Notes that a leaf without a parent solicits DIOs now.
    fn expect_answers(&mut self, now: Instant) {
        if self.config.role == Role::Leaf && self.parent().is_none() {
            let shortest = self.dodag.as_ref().map(|dodag| dodag.pace().shortest);
            self.solicit.expect_answers(now, shortest.unwrap_or(UNKNOWN_MIN));
        }
    }

    /// Runs the timers that are due. Does nothing before the deadline.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        if !self.is_root() {
            let pace = self.solicitation_pace();
            if self.solicit.handle_deadline(now, pace, &mut self.random) {
                self.expect_answers(now);
            }
        } else if let Some(pace) = self.dodag.as_ref().map(Dodag::pace) {
            match self.start.handle_deadline(now, pace.shortest) {
                Some(First::Solicitation) => {
                    self.draw_dtsn();
                    self.solicit.due = true;
                }
                Some(First::Information) => self.advertise = true,
                None => {}
            }
        }
        if let Some(dodag) = &mut self.dodag
            && dodag.prefix_expires.take_if(|at| *at <= now).is_some()
        {
            dodag.prefix = None;
            self.prefix_changed = true;
        }
        let advertised = self.dodag.as_mut().is_some_and(|dodag| dodag.end_hold(now));
        let mut resumed = false;
        for candidate in self.candidates.as_mut_slice().iter_mut().flatten() {
            resumed |= candidate.link.handle_deadline(now);
        }
        if advertised || resumed {
            self.select_by_itself(now);
        }
        while let Some(child) = self.targets().silent_child(now) {
            self.lose_routes(now, |route| route.via == child && is_of(&route.target, child));
            self.forget_child(now, child);
        }
        if self.targets().handle_deadline(now) {
            self.schedule_dao(now, Urgency::Now);
        }
        if self.announce.reannounces(now) {
            self.targets().reannounce_others();
            self.schedule_dao(now, Urgency::Later);
        }
        if self.asks_at.take_if(|at| *at <= now).is_some() {
            self.ask_for_daos(now);
        }
        match self.announce.handle_deadline(now, &mut self.random) {
            Missed::Nothing => {}
            Missed::Again => self.announce_again(),
            Missed::GivenUp => self.dao_failed(now),
        }
        if self.advertises()
            && let Some(pace) = self.dodag.as_ref().map(Dodag::pace)
            && self.trickle.handle_deadline(now, &pace, &mut self.random)
        {
            // The next interval sends a DIO that is left out now.
            self.advertise |= self.dios.allows(now);
        }
        // Last, as the probed neighbours depend on the rank.
        self.probe(now);
    }

    fn probe(&mut self, now: Instant) {
        let reply = if self.is_leaf() { Reply::Solicitation } else { Reply::Information };
        if let Some((doubted, _)) = self.doubted.take_if(|(_, at)| *at <= now)
            && self.parent() == Some(doubted)
        {
            let _ = self.answer(doubted, reply);
        }
        while let Some(child) = self.lost.due(now) {
            let _ = self.answer(child, reply);
        }
        for index in 0..S::Candidates::LEN {
            let place = self.candidates.as_slice().get(index).copied().flatten();
            let Some(candidate) = place else { continue };
            if self.probe_at(&candidate).is_none_or(|at| at > now) {
                continue;
            }
            // Without room, the next probe suffices.
            let _ = self.answer(candidate.address, reply);
            if let Some(Some(candidate)) = self.candidates.as_mut_slice().get_mut(index) {
                candidate.link.sampled = Some(now);
            }
        }
    }

    /// Repeats the targets of a DAO that was not acknowledged.
    fn announce_again(&mut self) {
        self.targets().mark(Advertised::InFlight, Advertised::No);
        if self.announce.advertised == Advertised::InFlight {
            self.announce.advertised = Advertised::No;
        }
        self.announce.ready = true;
    }

    /// Handles a parent that accepts no DAOs: selects another one, or retries later.
    fn dao_failed(&mut self, now: Instant) {
        count(&mut self.stats.daos_failed);
        self.announce_again();
        self.announce.ready = false;
        self.announce.try_later(now, &mut self.random);
        let parent = self.parent();
        let storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        if storing
            && self.has_other_parent()
            && let Some(parent) = parent
        {
            if let Some(candidate) = self.neighbour_mut(parent) {
                candidate.link.suspend(now);
            }
            self.select(now);
        }
    }

    /// Returns a snapshot for diagnosis.
    pub fn info(&self) -> Info {
        let dodag = self.dodag.as_ref();
        Info {
            dodag_id: dodag.map(|dodag| dodag.id),
            version: dodag.map_or(0, |dodag| dodag.version.value()),
            dtsn: dodag.map_or(0, |dodag| dodag.dtsn.value()),
            rank: self.rank(),
            parent: self.parent(),
            candidates: self.candidates.as_slice().iter().flatten().count(),
            routes: self.routes.as_slice().iter().flatten().count(),
            interval: self.trickle.interval(),
        }
    }

    /// Returns the targets that have a route.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.as_slice().iter().flatten().filter(|route| route.is_usable())
    }

    /// Returns the parent candidates.
    pub fn candidates(&self) -> impl Iterator<Item = CandidateInfo> {
        self.candidates.as_slice().iter().flatten().map(|candidate| CandidateInfo {
            address: candidate.address,
            rank: candidate.rank,
            etx: candidate.link.etx(),
        })
    }

    /// Returns the event counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Returns the link-local address of the neighbour with this address's identifier.
    fn neighbour(address: Ipv6Addr) -> Ipv6Addr {
        link_local(address)
    }
}
