//! Received DIS and DIO messages (RFC 6550, 8).

use super::select::cost;
use super::{Reply, Rpl};
use crate::config::{Mode, Sizes};
use crate::dao::{Announce, Urgency};
use crate::dodag::{Dodag, shared, valid, with_identifier};
use crate::link::Link;
use crate::lollipop::Counter;
use crate::parents::Candidate;
use crate::rank::INFINITE_RANK;
use crate::stats::{Discard, count};
use core::cmp::Ordering;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{
    Configuration, ControlOption, Dio, MetricKind, Options, PrefixInformation, RouteInformation,
};

/// The options of a DIO, and its signal margin.
#[derive(Default)]
struct DioContents {
    configuration: Option<Configuration>,
    prefix: Option<PrefixInformation>,
    route: Option<RouteInformation>,
    overloaded: bool,
    /// Received power above noise.
    margin_db: i16,
}

impl DioContents {
    fn of(options: Options<'_>, margin_db: i16) -> Self {
        let mut contents = DioContents { margin_db, ..DioContents::default() };
        for option in options {
            match option {
                ControlOption::Configuration(it) => contents.configuration = Some(it),
                ControlOption::Prefix(it) => contents.prefix = contents.prefix.or(Some(it)),
                ControlOption::Route(it) => contents.route = contents.route.or(valid(it)),
                ControlOption::Metrics(mut metrics) => {
                    let is = |kind| matches!(kind, MetricKind::NodeState { overloaded: true, .. });
                    contents.overloaded |= metrics.any(|metric| is(metric.kind));
                }
                _ => {}
            }
        }
        contents
    }
}

/// Returns whether an interface identifier follows the prefix. Contiki-NG passes on the R flag of
/// the root without one: that is no address of a router.
fn has_identifier(prefix: &PrefixInformation) -> bool {
    let bits = u128::MAX.checked_shr(prefix.prefix_len.into()).unwrap_or(0);
    prefix.prefix.to_bits() & bits != 0
}

impl<S: Sizes> Rpl<S> {
    //= rfc6550#8.3-2 rfc6550#8.3-3 rfc6550#8.3-5 rfc6550#8.3-7 rfc6550#8.5-3
    pub(super) fn take_dis(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        multicast: bool,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        if multicast {
            self.note_restart(from);
        }
        // A node without a route for others answers only a unicast DIS, with a DIO of
        // INFINITE_RANK.
        let answers = !multicast || self.rank() != INFINITE_RANK && !self.is_leaf();
        let dodag = self.dodag.as_ref().filter(|_| answers).ok_or(Discard::NotForRole)?;
        let (instance, id, version) = (self.instance(), dodag.id, dodag.version.value());
        let mut solicited = options.filter_map(|option| match option {
            ControlOption::Solicited(solicited) => Some(solicited),
            _ => None,
        });
        if solicited.any(|solicited| !solicited.asks(instance, id, version)) {
            return Ok(());
        }
        if multicast {
            self.reset(now);
            return Ok(());
        }
        if !self.dio_answers.allows(now) {
            return Err(Discard::Busy);
        }
        self.answer(from, Reply::Information)
    }

    /// A neighbour that multicasts a DIS has no DODAG. If it was the parent, its routes are lost.
    /// In non-storing mode only the root has any.
    fn note_restart(&mut self, from: Ipv6Addr) {
        if let Some(candidate) = self.neighbour_mut(from) {
            candidate.link.revive();
        }
        let Some(dodag) = self.dodag.filter(|dodag| dodag.preferred == Some(from)) else { return };
        let root_rank = dodag.configuration.min_hop_rank_increase;
        if let Some(parent) = self.neighbour_mut(from) {
            parent.restarted = dodag.is_storing() || parent.rank == root_rank;
        }
    }

    //= rfc6550#8.2.3-2
    pub(super) fn take_dio(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        margin_db: i16,
        dio: &Dio,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        let mode = Mode::of(dio.mode);
        if self.is_root() {
            return self.hear_as_root(now, dio);
        }
        if self.config.instance.is_some_and(|instance| instance != dio.instance) {
            self.disown(now, from);
            return Err(Discard::OtherInstance);
        }
        // Another mode is another network, whose routes are kept elsewhere.
        let there = (dio.instance, dio.dodag_id, dio.mode);
        let is_here = |it: &Dodag| (it.instance, it.id, it.operation) == there;
        let is_here = self.dodag.as_ref().is_some_and(is_here);
        if !is_here {
            // A parent that has moved there is no parent here (8.2.1).
            self.disown(now, from);
        }
        let mode = mode.ok_or(Discard::BadMode)?;
        let contents = DioContents::of(options, margin_db);
        let Some(dodag) = self.dodag.filter(|_| is_here) else {
            return self.join(now, from, dio, mode, &contents);
        };
        if dio.rank < dodag.configuration.min_hop_rank_increase {
            return Err(Discard::BadRank);
        }
        let repaired = self.follow_version(now, from, dio, &contents)?;
        self.hear(now, from, dio, &contents)?;
        if repaired && self.parent().is_some() {
            // The parent may have restarted as well.
            self.readvertise(now, Urgency::Now);
        }
        Ok(())
    }

    /// Processes a DIO at a root. After a restart the root may have to start above a version that
    /// other nodes remember.
    //= rfc6550#8.2.1-2
    fn hear_as_root(&mut self, now: Instant, dio: &Dio) -> Result<(), Discard> {
        let Some(dodag) = &mut self.dodag else { return Err(Discard::NotForRole) };
        if dodag.instance != dio.instance {
            return Err(Discard::OtherInstance);
        }
        if dodag.id != dio.dodag_id {
            return Err(Discard::OtherDodag);
        }
        let version = Counter::new(dio.version);
        if !self.start.is_over() {
            dodag.version = self.start.hear(version).unwrap_or(dodag.version);
            return Ok(());
        }
        match version.compare(dodag.version) {
            Some(Ordering::Equal) => {
                if dio.rank != INFINITE_RANK {
                    self.trickle.hear_consistent();
                }
                Ok(())
            }
            Some(Ordering::Less) => {
                self.reset(now);
                Err(Discard::OldVersion)
            }
            Some(Ordering::Greater) | None => {
                if !self.versions.allows(now) {
                    return Err(Discard::DoubtfulVersion);
                }
                dodag.version = version.next();
                count(&mut self.stats.repairs);
                self.hasten(now);
                Ok(())
            }
        }
    }

    /// Joins a DODAG, if there is no parent in another one; or, with
    /// [`RplConfig::joins_better_dodag`], if it is a better one (8.2.2.2: grounded, then
    /// preferred).
    fn join(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        dio: &Dio,
        mode: Mode,
        contents: &DioContents,
    ) -> Result<(), Discard> {
        let better =
            |dodag: &Dodag| (dio.grounded, dio.preference) > (dodag.grounded, dodag.preference);
        let joins_better = self.config.joins_better_dodag;
        let stays = |dodag: &Dodag| dodag.preferred.is_some() && !(joins_better && better(dodag));
        if dio.rank == INFINITE_RANK || self.dodag.as_ref().is_some_and(stays) {
            return Err(Discard::OtherDodag);
        }
        let Some(configuration) = contents.configuration else {
            self.answer(from, Reply::Solicitation)?;
            self.expect_answers(now);
            return Err(Discard::NotConfigured);
        };
        let step = configuration.min_hop_rank_increase;
        if step == 0 || dio.rank < step {
            return Err(Discard::BadRank);
        }
        if self.dodag.is_some() && !self.versions.allows(now) {
            return Err(Discard::DoubtfulVersion);
        }
        self.candidates = S::Candidates::EMPTY;
        self.announce = Announce::new();
        self.trickle = kinglet_trickle::Trickle::new();
        let dtsn = self.first_dtsn();
        self.dodag = Some(Dodag::joined(dio, mode, configuration, dtsn));
        self.hear(now, from, dio, contents)
    }

    /// Moves to a newer version of the DODAG, or to a changed configuration (8.2.2.1). Returns
    /// whether it did.
    //= rfc6550#8.2.2.1-4 rfc6550#8.2.2.1-5 rfc6550#8.3-4
    fn follow_version(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        dio: &Dio,
        contents: &DioContents,
    ) -> Result<bool, Discard> {
        let Some(dodag) = &mut self.dodag else { return Err(Discard::NotForRole) };
        let version = Counter::new(dio.version);
        let newer = match version.compare(dodag.version) {
            Some(Ordering::Equal) => return Ok(self.follow_configuration(now, from, contents)),
            // A version that no other node has would isolate this one for ever.
            Some(Ordering::Less) => dodag.is_forgotten(),
            Some(Ordering::Greater) => true,
            None => dodag.preferred.is_none(),
        };
        if !newer {
            let old = version.is_before(dodag.version);
            if old && dio.rank != INFINITE_RANK {
                self.reset(now);
            }
            // Parents are of the same version (8.2.2.1).
            self.disown(now, from);
            return Err(if old { Discard::OldVersion } else { Discard::DoubtfulVersion });
        }
        let known = self.candidates.as_slice().iter().flatten().find(|c| c.address == from);
        let suits = dio.rank != INFINITE_RANK && known.is_none_or(|c| c.link.is_usable());
        if !suits || !self.versions.allows(now) {
            return Err(Discard::DoubtfulVersion);
        }
        dodag.migrate(version);
        match contents.configuration.filter(|it| it.min_hop_rank_increase > 0) {
            Some(configuration) => dodag.configuration = configuration,
            // The configuration may differ (8.3.1). Without room for the DIS, the old one stays.
            None => drop(self.answer(from, Reply::Solicitation)),
        }
        count(&mut self.stats.repairs);
        if !self.is_leaf() {
            self.hasten(now);
        }
        Ok(true)
    }

    /// Adopts another configuration of the preferred parent. Returns whether there was one. A root
    /// that has restarted may announce it under a version that this node knows.
    fn follow_configuration(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        contents: &DioContents,
    ) -> bool {
        let configuration = contents.configuration.filter(|it| it.min_hop_rank_increase > 0);
        let Some(dodag) = self.dodag.as_mut().filter(|it| it.preferred == Some(from)) else {
            return false;
        };
        let Some(new) = configuration.filter(|new| *new != dodag.configuration) else {
            return false;
        };
        if !self.versions.allows(now) {
            return false;
        }
        dodag.migrate(dodag.version);
        dodag.configuration = new;
        count(&mut self.stats.repairs);
        if !self.is_leaf() {
            self.hasten(now);
        }
        true
    }

    /// Processes a DIO of this node's version of its DODAG.
    fn hear(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        dio: &Dio,
        contents: &DioContents,
    ) -> Result<(), Discard> {
        let leaf = self.is_leaf();
        let Some(dodag) = self.dodag else { return Err(Discard::NotForRole) };
        let new = self.candidate(now, from, dio, contents);
        let answers = self.listens();
        let mut parents = self.parents();
        let mut asked = false;
        if let Some(known) = parents.get_mut(from) {
            // A different DTSN is another request, also from a parent that has restarted.
            asked = new.dtsn != known.dtsn || known.restarted;
            let global = new.global.or(known.global);
            known.link.heard(contents.margin_db);
            // A neighbour that answers a DIS receives this node.
            if asked || answers {
                known.link.revive();
            }
            *known = Candidate { link: known.link, since: known.since, global, ..new };
        } else if new.rank != INFINITE_RANK {
            let of = |candidate: &Candidate| cost::<S::Objective>(&dodag, leaf, false, candidate);
            if !parents.insert(new, dodag.preferred, of) {
                return Err(Discard::CandidatesFull);
            }
        }
        let changed = self.select(now);
        self.learn(now, from, dio, contents);
        if dio.rank == INFINITE_RANK {
            self.note_not_above(now, from);
        }
        // This holds for a parent that has just returned as well: nodes below did not leave.
        if asked
            && self.parent() == Some(from)
            && !self.asked_for_daos(now)
            && let Some(candidate) = self.neighbour_mut(from)
        {
            // Its next DIO asks again.
            candidate.restarted = true;
        }
        let advertises = self.dodag.is_some_and(|dodag| dodag.announcements_left > 0);
        if !changed && !advertises && dio.rank != INFINITE_RANK {
            self.trickle.hear_consistent();
        }
        Ok(())
    }

    fn candidate(
        &self,
        now: Instant,
        from: Ipv6Addr,
        dio: &Dio,
        contents: &DioContents,
    ) -> Candidate {
        let global = contents.prefix.map(|it| match it.router_address && has_identifier(&it) {
            true => it.prefix,
            false => with_identifier(it.prefix, from.to_bits() as u64),
        });
        Candidate {
            address: from,
            global,
            rank: dio.rank,
            version: Counter::new(dio.version),
            dtsn: Counter::new(dio.dtsn),
            overloaded: contents.overloaded,
            restarted: false,
            link: Link::new(contents.margin_db),
            since: now,
        }
    }

    /// Adopts the DODAG's common parameters from the parent, and from no other node.
    //= rfc6550#8.1-1 rfc6550#6.7.10-1
    fn learn(&mut self, now: Instant, from: Ipv6Addr, dio: &Dio, contents: &DioContents) {
        let Some(dodag) = self.dodag.as_mut().filter(|dodag| dodag.preferred == Some(from)) else {
            return;
        };
        (dodag.grounded, dodag.preference) = (dio.grounded, dio.preference);
        if let Some(prefix) = contents.prefix {
            // The bits after the prefix are the sender's; routers do not announce it as on-link.
            let new = PrefixInformation { prefix: shared(&prefix), on_link: false, ..prefix };
            self.prefix_changed |= dodag.prefix != Some(new);
            dodag.prefix = Some(new);
            let forever = new.valid_secs == u32::MAX;
            let valid = Duration::from_secs(new.valid_secs.into());
            dodag.prefix_expires = (!forever).then(|| now + valid);
        }
        dodag.route = contents.route.or(dodag.route);
    }

    /// Processes the parent's request for DAOs (9.6), and passes it on in non-storing mode. Returns
    /// whether the limit allows it now.
    //= rfc6550#9.6-1 rfc6550#9.6-2
    fn asked_for_daos(&mut self, now: Instant) -> bool {
        if !self.resets.allows(now) {
            count(&mut self.stats.resets_refused);
            return false;
        }
        self.readvertise(now, Urgency::Now);
        if let Some(dodag) = &mut self.dodag
            && dodag.mode == Mode::NonStoring
        {
            dodag.dtsn = dodag.dtsn.next();
            if !self.is_leaf() {
                self.hasten(now);
            }
        }
        true
    }
}
