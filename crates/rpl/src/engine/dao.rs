//! Received DAO and DAO-ACK messages (RFC 6550, 9), and leaves that know no RPL.

use super::{Reply, Rpl};
use crate::config::{Mode, Sizes};
use crate::dao::{Advertised, Outcome, Route, Urgency, covers, is_of};
use crate::dodag::Dodag;
use crate::lollipop::Counter;
use crate::stats::Discard;
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{ControlOption, Dao, DaoAck, Options, PrefixInformation, Target, Transit};

/// Status of a DAO-ACK that rejects (RFC 6550, 6.5.1: above 127).
const REJECTED: u8 = 128;

/// Time for which packets still go through a child that has left. If its routes were withdrawn at
/// once, the root would often have no route before it learns the new one.
const LEAVE_DELAY: Duration = Duration::from_secs(8);

/// Targets and the transit that applies to them (9.4, rule 3).
struct Group<'a> {
    /// The options from the first target on.
    targets: Options<'a>,
    count: usize,
    /// The preferred one of several (6.7.8: the most significant bits of Path Control).
    transit: Transit,
}

impl<'a> Group<'a> {
    /// Returns the next group; an error if targets have no transit or transit has no targets.
    //= rfc6550#9.4-7 rfc6550#9.9-2
    fn next(rest: &mut Options<'a>) -> Option<Result<Self, Discard>> {
        let mut targets;
        loop {
            targets = *rest;
            match rest.next()? {
                ControlOption::Target(_) => break,
                ControlOption::Transit(_) => return Some(Err(Discard::BadTarget)),
                _ => {}
            }
        }
        let (mut count, mut transit) = (1usize, None::<Transit>);
        loop {
            let before = *rest;
            match rest.next() {
                Some(ControlOption::Target(_)) if transit.is_none() => {
                    count = count.saturating_add(1);
                }
                Some(ControlOption::Target(_)) => {
                    *rest = before;
                    break;
                }
                Some(ControlOption::Transit(it)) => {
                    if transit.is_none_or(|best| it.path_control > best.path_control) {
                        transit = Some(it);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        let transit = transit.ok_or(Discard::BadTarget);
        Some(transit.map(|transit| Group { targets, count, transit }))
    }

    fn targets(&self) -> impl Iterator<Item = Target> + use<'a> {
        let targets = self.targets.filter_map(|option| match option {
            ControlOption::Target(target) => Some(target),
            _ => None,
        });
        targets.take(self.count)
    }
}

/// Returns whether an address belongs to the DODAG, according to its prefix.
fn is_inside(dodag: &Dodag, address: Ipv6Addr) -> bool {
    let covered = |it: PrefixInformation| {
        covers(&Target { prefix: it.prefix, prefix_len: it.prefix_len }, address)
    };
    address == dodag.id || dodag.prefix.is_none_or(covered)
}

/// Summary of the targets in a DAO.
#[derive(Default)]
struct Seen {
    /// A route has changed.
    urgency: bool,
    /// A target found no room.
    full: bool,
    /// A target can be below.
    taken: bool,
    /// A target cannot be below.
    bad: bool,
}

/// Returns whether a target cannot be a descendant: its scope is not routed, or it is the root or
/// this node.
fn cannot_be_below(dodag: &Dodag, own: Option<Ipv6Addr>, target: &Target) -> bool {
    target.prefix.is_multicast()
        || target.prefix.is_unicast_link_local()
        || covers(target, dodag.id)
        || own.is_some_and(|own| covers(target, own))
}

impl<S: Sizes> Rpl<S> {
    /// Returns whether DAOs end here: at every router in storing mode, otherwise at the root.
    fn takes_daos(&self, dodag: &Dodag) -> bool {
        match dodag.mode {
            Mode::UpwardOnly => false,
            Mode::NonStoring => self.is_root(),
            Mode::Storing => !self.is_leaf(),
        }
    }

    //= rfc6550#9.1-4 rfc6550#9.2-4 rfc6550#9.8-2 rfc6550#9.8-3
    pub(super) fn take_dao(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        dao: &Dao,
        options: Options<'_>,
    ) -> Result<(), Discard> {
        let dodag = self.dodag.filter(|dodag| self.takes_daos(dodag)).ok_or(Discard::NotForRole)?;
        if dao.dodag_id.is_some_and(|id| id != dodag.id) {
            return Err(Discard::OtherDodag);
        }
        // In storing mode the child itself sends the DAO; in non-storing mode a node sends it to
        // the root from its routable address (9.2).
        let near = from.is_unicast_link_local();
        if !near && (dodag.is_storing() || !is_inside(&dodag, from)) {
            return Err(Discard::BadSource);
        }
        let child = Self::neighbour(from);
        if dodag.preferred == Some(child) {
            self.disown(now, child);
            return Err(Discard::DaoFromParent);
        }
        // A DAO of wrong structure is discarded as a whole (9.4, rule 6).
        let mut rest = options;
        while let Some(group) = Group::next(&mut rest) {
            if group?.transit.parent.is_some() == dodag.is_storing() {
                return Err(Discard::BadTarget);
            }
        }
        let (mut seen, mut rest) = (Seen::default(), options);
        while let Some(Ok(group)) = Group::next(&mut rest) {
            self.take_group(now, &dodag, child, &group, &mut seen);
        }
        if seen.urgency {
            self.schedule_dao(now, Urgency::Now);
        }
        // Valid targets are accepted whatever else the DAO has: a child with another stack may
        // announce targets that it learned from this node.
        let refused = seen.full || seen.bad && !seen.taken;
        if dao.acknowledge {
            let status = if refused { REJECTED } else { 0 };
            self.answer(from, Reply::Acknowledgement { sequence: dao.sequence, status })?;
        }
        match (seen.full, seen.bad) {
            (true, _) => Err(Discard::RoutesFull),
            (false, true) => Err(Discard::BadTarget),
            (false, false) => Ok(()),
        }
    }

    /// Processes the targets of a group that `child` announces.
    fn take_group(
        &mut self,
        now: Instant,
        dodag: &Dodag,
        child: Ipv6Addr,
        group: &Group<'_>,
        seen: &mut Seen,
    ) {
        let Transit { external, path_sequence, path_lifetime, parent, .. } = group.transit;
        let via = if dodag.is_storing() { child } else { parent.unwrap_or(child) };
        let span = match path_lifetime {
            0 => Some(LEAVE_DELAY),
            units => dodag.lifetime(units),
        };
        let own = self.address();
        // One route to the parent is enough, and a target that it refuses is not to be announced.
        let above = |target: &Target| dodag.preferred.is_some_and(|it| is_of(target, it));
        for target in group.targets() {
            if cannot_be_below(dodag, own, &target) {
                seen.bad = true;
                continue;
            }
            seen.taken = true;
            if above(&target) {
                continue;
            }
            let outcome = self.targets().consider(Route {
                target,
                via,
                sequence: Counter::new(path_sequence),
                lifetime: path_lifetime,
                external,
                local: false,
                other: None,
                expires: span.map(|span| now + span),
                advertised: Advertised::No,
            });
            seen.urgency |= outcome == Outcome::Updated;
            seen.full |= outcome == Outcome::Full;
        }
    }

    pub(super) fn take_ack(
        &mut self,
        now: Instant,
        from: Ipv6Addr,
        ack: &DaoAck,
    ) -> Result<(), Discard> {
        // DAOs go to the parent, or in non-storing mode to the root (9.4).
        let awaited = self.dodag.as_ref().is_some_and(|dodag| match dodag.mode {
            Mode::Storing => dodag.preferred == Some(from),
            Mode::NonStoring => is_inside(dodag, from),
            Mode::UpwardOnly => false,
        });
        if !awaited {
            return Err(Discard::BadSource);
        }
        if !self.announce.acknowledged(ack.sequence) {
            return Err(Discard::NotAwaited);
        }
        if ack.status >= REJECTED {
            self.dao_failed(now);
            return Ok(());
        }
        self.targets().mark(Advertised::InFlight, Advertised::Yes);
        self.targets().sweep(false);
        if self.announce.advertised == Advertised::InFlight {
            self.announce.advertised = Advertised::Yes;
        }
        if self.announce.advertised == Advertised::Yes && !self.announce.ready {
            self.settle();
        }
        Ok(())
    }

    /// Returns whether leaves that know no RPL can be announced: the DODAG has downward routes.
    pub fn serves_leaves(&self) -> bool {
        let routes = |dodag: &Dodag| dodag.mode != Mode::UpwardOnly;
        self.dodag.as_ref().is_some_and(routes) && !self.is_leaf()
    }

    /// Registers this address of a leaf at the link-local address `via`, which knows no RPL, for
    /// `lifetime` from now on; zero ends it. The address is announced as a target of this router,
    /// with the transaction of its registration as Path Sequence (RFC 9010, 9.2.2). To be called
    /// again before the lifetime ends.
    ///
    /// # Errors
    /// [`Discard::NotForRole`] without a DODAG that has downward routes, [`Discard::BadTarget`] for
    /// an address that cannot be a leaf's, [`Discard::RoutesFull`].
    //= rfc6550#9.4-14 rfc6550#18.2.4-1
    pub fn handle_leaf(
        &mut self,
        now: Instant,
        address: Ipv6Addr,
        via: Ipv6Addr,
        sequence: u8,
        lifetime: Duration,
    ) -> Result<(), Discard> {
        let dodag = self.dodag.filter(|_| self.serves_leaves()).ok_or(Discard::NotForRole)?;
        if address.is_multicast() || address == dodag.id || Some(address) == self.address() {
            return Err(Discard::BadTarget);
        }
        let target = Target { prefix: address, prefix_len: 128 };
        let lifetime = dodag.units(lifetime);
        let outcome = self.targets().consider(Route {
            target,
            via,
            sequence: Counter::new(sequence),
            lifetime,
            external: true,
            local: true,
            other: None,
            expires: dodag.lifetime(lifetime).map(|span| now + span),
            advertised: Advertised::No,
        });
        if outcome == Outcome::Full {
            return Err(Discard::RoutesFull);
        }
        self.schedule_dao(now, Urgency::Now);
        Ok(())
    }
}
