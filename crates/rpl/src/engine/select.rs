//! Parent selection and its consequences (RFC 6550, 8.2.2).

use super::{Reply, Rpl};
use crate::config::{Mode, Role, Sizes};
use crate::dao::{Route, Urgency, is_of};
use crate::dodag::Dodag;
use crate::objective::{ETX, MAX_LINK_ETX, Objective, Path};
use crate::parents::{Candidate, Parents};
use crate::rank::{INFINITE_RANK, below};
use crate::stats::count;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};

/// Returns the rank through a candidate, [`INFINITE_RANK`] if it may not be a parent. A leaf, which
/// forwards no packets, may take any. A link that takes too many transmissions is used only if
/// there is none better, as `good` says. If only the link lifts the rank above the limit, the
/// candidate may be a parent: without a parent nothing is sent over the link, so that it would
/// count as bad for ever.
//= rfc6550#8.2.1-4 rfc6550#8.2.1-5 rfc6550#8.2.2.1-1 rfc6550#8.2.2.4-1 rfc6550#8.2.2.5-1
pub(super) fn cost<O: Objective>(
    dodag: &Dodag,
    leaf: bool,
    good: bool,
    candidate: &Candidate,
) -> u16 {
    let configuration = &dodag.configuration;
    let link = &candidate.link;
    let usable = if good { link.is_good() } else { link.is_usable() };
    if !usable || candidate.version != dodag.version || candidate.rank == INFINITE_RANK {
        return INFINITE_RANK;
    }
    let (code, step) = (configuration.objective, configuration.min_hop_rank_increase);
    let rank = match O::serves(code) {
        true => through::<O>(code, &candidate.path(), step),
        false => below(candidate.rank, step),
    };
    // The current parent has followed the same rule, so no node below this one is above that
    // parent.
    let safe = Some(candidate.address) == dodag.preferred || dodag.is_above(candidate.rank);
    if leaf || safe && below(candidate.rank, step) <= dodag.limit() { rank } else { INFINITE_RANK }
}

/// Returns the rank through a neighbour. A link that takes more transmissions than an objective
/// function allows costs all of them: nodes below have to see that there are better routes.
fn through<O: Objective>(code: u16, path: &Path, step: u16) -> u16 {
    let excess = u32::from(path.etx.saturating_sub(MAX_LINK_ETX)).saturating_mul(step.into());
    let excess = excess.checked_div(ETX.into()).and_then(|it| u16::try_from(it).ok());
    let rank = O::rank_through(code, &Path { etx: path.etx.min(MAX_LINK_ETX), ..*path }, step);
    below(rank, excess.unwrap_or(u16::MAX))
}

/// Returns whether this node sends packets down through a neighbour that is not its parent. Such a
/// neighbour is never selected, whatever rank it has advertised: if that is wrong, there is a loop,
/// and all nodes below are unreachable until they refresh their routes. A node that is not below
/// any more withdraws its route.
fn is_child(dodag: &Dodag, routes: &[Option<Route>], candidate: &Candidate) -> bool {
    let through = |route: &Route| route.via == candidate.address && route.is_usable();
    let below = || routes.iter().flatten().any(through);
    let other = dodag.preferred != Some(candidate.address) && !dodag.is_forgotten();
    dodag.is_storing() && other && below()
}

impl<S: Sizes> Rpl<S> {
    /// Returns whether another candidate may be the parent.
    pub(super) fn has_other_parent(&self) -> bool {
        let Some(dodag) = &self.dodag else { return false };
        let leaf = self.is_leaf();
        let candidates = self.candidates.as_slice().iter().flatten();
        let others = candidates.filter(|c| Some(c.address) != dodag.preferred);
        others.map(|c| cost::<S::Objective>(dodag, leaf, true, c)).any(|rank| rank != INFINITE_RANK)
    }

    /// Selects the parent after a change of its inputs. Returns whether parent or rank has changed.
    //= rfc6550#8.2.1-1 rfc6550#8.2.1-3
    pub(super) fn select(&mut self, now: Instant) -> bool {
        if self.is_root() {
            return false;
        }
        let leaf = self.is_leaf();
        let loads = self.config.load;
        let Some(dodag) = self.dodag else { return false };
        let routes = self.routes.as_slice();
        let with = |good| {
            move |c: &Candidate| match cost::<S::Objective>(&dodag, leaf, good, c) {
                rank if rank != INFINITE_RANK && is_child(&dodag, routes, c) => INFINITE_RANK,
                rank => rank,
            }
        };
        let parents = Parents(self.candidates.as_mut_slice());
        let good = parents.best(with(true));
        let (best, of) = match good {
            Some(_) => (good, with(true)),
            None => (parents.best(with(false)), with(false)),
        };
        let configuration = &dodag.configuration;
        let step = configuration.min_hop_rank_increase;
        let threshold = S::Objective::threshold(configuration.objective, step);
        let current = dodag.preferred.and_then(|address| parents.get(address));
        let is_full = current.is_some_and(|current| current.overloaded);
        let current =
            current.map(|c| (of(c), c.address)).filter(|(rank, _)| *rank != INFINITE_RANK);
        // A congested parent is replaced only by an uncongested one whose rank is within the
        // hysteresis of the best, so that the node does not go back for its rank.
        let with_room = |c: &Candidate| if c.overloaded { INFINITE_RANK } else { of(c) };
        let relief = parents.best(with_room).filter(|_| loads && is_full);
        let near = best.map_or(INFINITE_RANK, |(least, _)| least.saturating_add(threshold));
        let relief = relief.filter(|(rank, _)| *rank < near);
        // Over an unprobed link the best has to be better than the threshold by another hop:
        // otherwise all nodes that receive its DIO would move at once, for ranks that their links
        // may not keep.
        let best_link = best.and_then(|(_, address)| parents.get(address)).map(|c| c.link);
        let is_untried = best_link.is_some_and(|link| link.is_untried());
        let threshold = if is_untried { threshold.saturating_add(step) } else { threshold };
        let is_kept = self.restless.stays(now);
        let chosen = match (best, current) {
            (Some((least, _)), Some(current))
                if is_kept || current.0.saturating_sub(least) < threshold =>
            {
                Some(current)
            }
            (best, _) => best,
        };
        let stays = chosen.is_some() && chosen == current;
        let leaves = stays && relief.is_some() && self.load.may_leave(now, &mut self.random);
        let chosen = if leaves { relief } else { chosen };
        if current.is_some() && chosen != current {
            self.restless.note(now);
        }
        let before = (dodag.preferred, dodag.rank());
        match chosen {
            Some((rank, parent)) => self.attach(now, rank, parent),
            None => self.detach(now),
        }
        before != (self.parent(), self.rank())
    }

    /// Selects the parent without a message of a neighbour. A new parent is asked for the prefix if
    /// no parent has announced it yet.
    pub(super) fn select_by_itself(&mut self, now: Instant) {
        let before = self.parent();
        self.select(now);
        if let Some(dodag) = &self.dodag
            && let Some(parent) = dodag.preferred.filter(|it| before != Some(*it))
            && dodag.prefix.is_none()
        {
            // Without room, its next DIO announces it.
            let _ = self.answer(parent, Reply::Solicitation);
        }
    }

    /// Sets parent and rank. The rank is never above the limit, whatever the link costs.
    fn attach(&mut self, now: Instant, rank: u16, parent: Ipv6Addr) {
        let leaf = self.is_leaf();
        let Some(dodag) = &mut self.dodag else { return };
        let rank = if leaf { rank } else { rank.min(dodag.limit()) };
        let urgency = dodag.set_rank(now, rank);
        let old = dodag.preferred.replace(parent);
        if urgency && !leaf {
            self.hasten(now);
        }
        if old == Some(parent) {
            return;
        }
        count(&mut self.stats.parent_changes);
        self.parent_changed = true;
        self.solicit.stop();
        // The parent may have been below this node. It refuses a DAO that announces or withdraws a
        // route to itself.
        self.targets().forget(|route| !route.local && is_of(&route.target, parent));
        let _ = self.targets().lose_child(parent);
        let is_storing = self.dodag.as_ref().is_some_and(Dodag::is_storing);
        // In storing mode the routers on the route are notified at once.
        let known = self.announce.known.filter(|_| !is_storing);
        let works = |via| self.neighbour_mut(via).is_some_and(|candidate| candidate.link.works());
        let urgency = if known.is_some_and(works) { Urgency::Later } else { Urgency::Now };
        if is_storing {
            let old = self.hearing(old);
            self.announce.change(old, parent);
        }
        self.readvertise(now, urgency);
        // In storing mode, the targets below were forgotten. In the other mode, the DIOs received
        // without a parent may have requested DAOs already.
        if old.is_none() {
            self.ask_for_daos(now);
        }
    }

    /// Handles a neighbour that sends up through this node, or has no route. If it is the former
    /// parent on the root's route to this node, that route is a loop, or broken: the root is
    /// notified of the new one at once. In storing mode this happens at once anyway.
    pub(super) fn note_not_above(&mut self, now: Instant, neighbour: Ipv6Addr) {
        let is_former = self.announce.known == Some(neighbour) && self.parent() != Some(neighbour);
        if is_former && self.dodag.as_ref().is_some_and(|dodag| !dodag.is_storing()) {
            self.schedule_dao(now, Urgency::Now);
        }
    }

    /// Returns a former parent, unless it is gone and receives nothing. A leaf notifies it all the
    /// same: a busy channel looks like that too, and packets for the leaf would wait there.
    fn hearing(&mut self, former: Option<Ipv6Addr>) -> Option<Ipv6Addr> {
        let leaf = self.is_leaf();
        let hears = |it: &mut Candidate| leaf || !it.link.is_dead();
        former.filter(|former| self.neighbour_mut(*former).is_none_or(hears))
    }

    /// Completes a parent change: the parent knows all targets. In storing mode the former parent,
    /// through which this node was reached before, gets a No-Path DAO now, and not sooner: before
    /// that, the new route may not work.
    pub(super) fn settle(&mut self) {
        let parent = self.parent();
        let former = self.announce.known.filter(|known| Some(*known) != parent);
        self.announce.known = parent;
        if self.dodag.as_ref().is_some_and(Dodag::is_storing) {
            let former = self.hearing(former);
            self.announce.forget_by(former);
        }
    }

    /// Rejects a neighbour as parent: it has this node as its own parent, as each chose by outdated
    /// ranks; or it has moved to another DODAG, instance, version or mode. The rank that it
    /// advertised before is not accepted any more.
    pub(super) fn disown(&mut self, now: Instant, neighbour: Ipv6Addr) {
        if let Some(candidate) = self.neighbour_mut(neighbour) {
            candidate.rank = INFINITE_RANK;
            self.select(now);
        }
    }

    /// Announces all targets again: there is another parent, or it has requested DAOs.
    pub(super) fn readvertise(&mut self, now: Instant, urgency: Urgency) {
        if self.dodag.as_ref().is_none_or(|dodag| dodag.mode == Mode::UpwardOnly) {
            return;
        }
        self.announce.forget();
        self.targets().announce_all();
        self.announce.renew(now, urgency, &mut self.random);
    }

    /// Detaches from the DODAG: poisons routes (8.2.2.5), and discards the ranks of candidates,
    /// since they may be below this node.
    //= rfc6550#8.2.2.4-3
    fn detach(&mut self, now: Instant) {
        let leaf = self.config.role == Role::Leaf;
        let Some(dodag) = &mut self.dodag else { return };
        if dodag.preferred.take().is_none() {
            return;
        }
        dodag.set_rank(now, INFINITE_RANK);
        // A router's neighbours may be below it: they have to take note first.
        let pause = if leaf { Duration::ZERO } else { dodag.hold_time() / 2 };
        count(&mut self.stats.poisonings);
        self.parent_changed = true;
        let known = self.announce.known.filter(|_| leaf);
        self.announce.stop();
        // Packets for a leaf wait at its former parent, until that gets a No-Path DAO.
        self.announce.known = known;
        // Nodes below learn that this node has no route, and leave without notice to it.
        let _ = self.targets().lose(|route| !route.local);
        self.targets().sweep(true);
        self.parents().forget_ranks();
        let pace = self.solicitation_pace();
        self.solicit.start(now + pause, pace);
        if !self.is_leaf() {
            self.hasten(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Standard;

    #[test]
    fn a_link_that_takes_too_many_transmissions_costs_all_of_them() {
        let rank = |code, etx, step| {
            through::<Standard>(code, &Path { rank: 256, etx, overloaded: false }, step)
        };
        assert_eq!(rank(1, 3 * ETX, 128), 256 + 3 * 128);
        assert_eq!(rank(1, 7 * ETX, 128), 256 + 7 * 128);
        assert_eq!(rank(0, 4 * ETX, 256), 256 + 9 * 256);
        assert_eq!(rank(0, 7 * ETX, 256), 256 + 12 * 256);
        assert_eq!(rank(1, u16::MAX, 128), INFINITE_RANK);
    }
}
