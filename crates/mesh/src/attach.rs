//! A leaf's search for a parent, its reports to it and the detection of its loss.

use crate::config::MeshConfig;
use crate::link::{MAX_FAILURES, UNREACHABLE, quality};
use crate::message::{Message, Status};
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Time for which responses to a Parent Request are gathered (OpenThread's
/// `kParentRequestRouterTimeout`).
pub(crate) const GATHERING: Duration = Duration::from_millis(750);
/// Longest delay of a router's response (OpenThread's `kParentResponseMaxDelayRouters`).
pub(crate) const RESPONSE_DELAY: Duration = Duration::from_millis(500);
/// Time for which a response to a Child Id Request is awaited (OpenThread's `kUnicastRetxDelay`).
const RESPONSE_WAIT: Duration = Duration::from_secs(1);
/// Child Id Requests in a row, and seconds between the last report to a parent and its time-out
/// (OpenThread's `kMaxKeepAliveAttempts`).
const ATTEMPTS: u8 = 4;
/// A failed search is repeated after 1 s, then after twice as long, up to this time: a parent that
/// comes back is found within half a minute. Searches take 5 to 10 % of the receiver's time while
/// there is no parent.
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// Doublings until [`LONGEST_WAIT`].
const DOUBLINGS: u8 = 4;
/// Searches in which the best parent may lack a route out of the mesh, before another one with a
/// route is preferred: a mesh that has just been switched on needs a few seconds.
const PATIENCE: u8 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waits for the next search.
    Detached,
    /// Gathers responses to a Parent Request.
    Gathering,
    /// Has requested to become, or to remain, a child of `target`.
    Joining { target: u16, attempts: u8 },
    /// Is a child; reports to its parent when the state ends.
    Attached,
}

/// A parent candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    short: u16,
    quality: u8,
    cost: u8,
    margin_db: i16,
}

impl Candidate {
    /// Compares first the link's quality, then the cost of the rest of the route, then the margin.
    /// After some searches a route out of the mesh takes precedence over all three.
    fn is_better_than(&self, other: &Candidate, patient: bool) -> bool {
        let rank = |c: &Candidate| {
            let rest = UNREACHABLE.saturating_sub(c.cost);
            (!patient && rest > 0, c.quality, rest, c.margin_db)
        };
        rank(self) > rank(other)
    }
}

pub(crate) struct Attach {
    state: State,
    /// End of the state; `None` before the first call.
    at: Option<Instant>,
    parent: Option<u16>,
    /// The parent last reported to the node.
    announced: Option<u16>,
    best: Option<Candidate>,
    /// Number of the current attachment.
    sequence: u8,
    /// Consecutive searches that have failed.
    searches: u8,
    failures: u8,
    /// True if the message of the current state is still to be sent.
    unsent: bool,
    fixed: Option<u16>,
    sleeps: bool,
    /// Interval of reports to the parent.
    refresh: Duration,
}

impl Attach {
    pub(crate) const fn new(config: &MeshConfig) -> Self {
        let MeshConfig { parent: fixed, child_timeout, sleeps, .. } = *config;
        // One second for each attempt.
        let attempts = (ATTEMPTS as u64).saturating_mul(1_000_000);
        let refresh = Duration::from_micros(child_timeout.as_micros().saturating_sub(attempts));
        Attach {
            state: State::Detached,
            at: None,
            parent: None,
            announced: None,
            best: None,
            sequence: 0,
            searches: 0,
            failures: 0,
            unsent: false,
            fixed,
            sleeps,
            refresh,
        }
    }

    pub(crate) const fn parent(&self) -> Option<u16> {
        self.parent
    }

    /// Returns whether a response is awaited, for which the receiver must be on: indirect
    /// transmission works only for children.
    pub(crate) const fn listens(&self) -> bool {
        matches!(self.state, State::Gathering | State::Joining { .. })
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.at.unwrap_or(Instant::ZERO)
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        let Some(at) = self.at else {
            // Spreads the first messages of nodes that are switched on together.
            self.at = Some(now + random.between(Duration::ZERO, RESPONSE_DELAY));
            return;
        };
        if at > now {
            return;
        }
        match (self.state, self.parent.or(self.fixed)) {
            (State::Detached, Some(parent)) => {
                self.sequence = self.sequence.wrapping_add(1);
                self.join(now, parent, 1);
            }
            (State::Attached, Some(parent)) => self.join(now, parent, 1),
            (State::Detached | State::Attached, None) => {
                (self.state, self.best, self.unsent) = (State::Gathering, None, true);
                self.at = Some(now + GATHERING);
            }
            (State::Gathering, _) => self.choose(now, random),
            (State::Joining { target, attempts }, _) if attempts < ATTEMPTS => {
                self.join(now, target, attempts.saturating_add(1));
            }
            (State::Joining { .. }, _) => self.fail(now, random),
        }
    }

    fn join(&mut self, now: Instant, target: u16, attempts: u8) {
        (self.state, self.unsent) = (State::Joining { target, attempts }, true);
        self.at = Some(now + RESPONSE_WAIT);
    }

    fn choose(&mut self, now: Instant, random: &mut Random) {
        let patient = self.is_patient();
        match self.best.take_if(|best| best.cost < UNREACHABLE || !patient) {
            Some(best) => {
                self.sequence = self.sequence.wrapping_add(1);
                self.join(now, best.short, 1);
            }
            None => self.fail(now, random),
        }
    }

    const fn is_patient(&self) -> bool {
        self.searches < PATIENCE
    }

    /// Detaches the leaf and delays the next search.
    fn fail(&mut self, now: Instant, random: &mut Random) {
        let wait = Duration::from_secs(1 << self.searches.min(DOUBLINGS)).min(LONGEST_WAIT);
        self.searches = self.searches.saturating_add(1);
        self.detach(now + random.between(wait / 2, wait));
    }

    fn detach(&mut self, search_at: Instant) {
        (self.state, self.parent, self.unsent) = (State::Detached, None, false);
        (self.failures, self.at) = (0, Some(search_at));
    }

    /// Processes a Parent Response.
    pub(crate) fn offered(&mut self, from: u16, margin_db: i16, quality_out: u8, cost: u8) {
        let quality = quality(margin_db).min(quality_out);
        let offer = Candidate { short: from, quality, cost, margin_db };
        let patient = self.is_patient();
        let better = self.best.is_none_or(|best| offer.is_better_than(&best, patient));
        if self.state == State::Gathering && quality > 0 && better {
            self.best = Some(offer);
        }
    }

    /// Processes a Child Id Response.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        random: &mut Random,
        from: u16,
        status: Status,
        sequence: u8,
    ) {
        let State::Joining { target, attempts } = self.state else { return };
        if target != from {
            return;
        }
        match status {
            // A response to an earlier request.
            Status::Accepted if sequence != self.sequence => {}
            Status::Accepted => {
                (self.state, self.unsent) = (State::Attached, false);
                self.parent = Some(from);
                (self.searches, self.failures) = (0, 0);
                self.at = Some(now + self.refresh);
            }
            Status::Full => self.fail(now, random),
            Status::Stale if attempts < ATTEMPTS => {
                self.sequence = sequence.wrapping_add(1);
                self.join(now, from, attempts.saturating_add(1));
            }
            Status::Stale => self.fail(now, random),
        }
    }

    /// Reports to the parent soon: it has restarted, and knows no children.
    pub(crate) fn report(&mut self, now: Instant, random: &mut Random) {
        if self.state == State::Attached {
            self.at = Some(now + random.between(Duration::ZERO, RESPONSE_DELAY));
        }
    }

    /// Reports to the parent at this time, unless that is due before.
    pub(crate) fn report_by(&mut self, at: Instant) {
        if self.state == State::Attached {
            self.at = self.at.map(|due| due.min(at));
        }
    }

    /// Processes the result of a frame or data request to `to`: acknowledged or given up.
    pub(crate) fn sent(&mut self, now: Instant, to: u16, acked: bool) {
        if self.parent != Some(to) {
            return;
        }
        self.failures = if acked { 0 } else { self.failures.saturating_add(1) };
        if self.failures >= MAX_FAILURES {
            self.detach(now);
        }
    }

    /// Returns the message to be sent: a broadcast, or to one device.
    pub(crate) const fn message(&self) -> Option<(Option<u16>, Message<'static>)> {
        match self.state {
            State::Gathering if self.unsent => Some((None, Message::ParentRequest)),
            State::Joining { target, .. } if self.unsent => {
                let (sequence, sleeps) = (self.sequence, self.sleeps);
                Some((Some(target), Message::ChildIdRequest { sequence, sleeps }))
            }
            _ => None,
        }
    }

    pub(crate) const fn message_sent(&mut self) {
        self.unsent = false;
    }

    /// Returns whether the parent has changed since the last call.
    pub(crate) fn poll_change(&mut self) -> bool {
        core::mem::replace(&mut self.announced, self.parent) != self.parent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Role;

    const TIMEOUT: Duration = Duration::from_secs(240);

    fn leaf(parent: Option<u16>) -> Attach {
        Attach::new(&MeshConfig { parent, sleeps: true, ..MeshConfig::new(1, Role::Leaf, 1) })
    }

    fn due(leaf: &mut Attach, random: &mut Random) -> Instant {
        let now = leaf.deadline();
        leaf.handle_deadline(now, random);
        now
    }

    /// A leaf that gathers responses.
    fn searching() -> (Attach, Random) {
        let (mut leaf, mut random) = (leaf(None), Random::new(1, 0));
        due(&mut leaf, &mut random);
        due(&mut leaf, &mut random);
        assert_eq!(leaf.message(), Some((None, Message::ParentRequest)));
        leaf.message_sent();
        assert_eq!(leaf.message(), None);
        (leaf, random)
    }

    fn target(leaf: &Attach) -> Option<u16> {
        leaf.message().and_then(|(to, _)| to)
    }

    #[test]
    fn the_link_then_the_rest_of_the_path_then_the_margin_decide() {
        for (offers, best) in [
            ([(1, 12, 3, 2), (2, 30, 3, 9), (3, 30, 0, 1)], 2),
            ([(1, 30, 2, 1), (2, 30, 3, 9), (3, 12, 3, 1)], 2),
            ([(1, 30, 3, 2), (2, 40, 3, 3), (3, 29, 3, 2)], 1),
        ] {
            let (mut leaf, mut random) = searching();
            for (short, margin, quality, cost) in offers {
                leaf.offered(short, margin, quality, cost);
            }
            due(&mut leaf, &mut random);
            assert_eq!(target(&leaf), Some(best), "{offers:?}");
        }
    }

    #[test]
    fn the_best_link_is_given_time_to_find_a_route() {
        let (mut leaf, mut random) = searching();
        for search in 0.. {
            leaf.offered(7, 30, 3, UNREACHABLE);
            leaf.offered(8, 12, 3, 4);
            due(&mut leaf, &mut random);
            if let Some(target) = target(&leaf) {
                assert_eq!((search, target), (u32::from(PATIENCE), 8));
                return;
            }
            due(&mut leaf, &mut random);
        }
    }

    #[test]
    fn requests_are_repeated_then_searches_with_growing_distance() {
        let (mut leaf, mut random) = searching();
        leaf.offered(7, 30, 3, 1);
        for _ in 0..ATTEMPTS {
            due(&mut leaf, &mut random);
            assert_eq!(target(&leaf), Some(7));
            leaf.message_sent();
        }
        let mut waits = std::vec::Vec::new();
        for _ in 0..9 {
            let failed = due(&mut leaf, &mut random);
            assert!(!leaf.listens());
            waits.push((leaf.deadline() - failed).as_millis());
            due(&mut leaf, &mut random);
        }
        for (wait, most) in waits.iter().zip([1, 2, 4, 8, 15, 15, 15, 15, 15]) {
            assert!((most * 500..=most * 1000).contains(wait), "{waits:?}");
        }
    }

    #[test]
    fn a_leaf_listens_while_it_awaits_offers_or_a_response() {
        let (mut leaf, mut random) = searching();
        assert!(leaf.listens(), "for offers");
        leaf.offered(7, 30, 3, 1);
        let now = due(&mut leaf, &mut random);
        assert!(leaf.listens(), "for a response to its request");
        leaf.answered(now, &mut random, 7, Status::Accepted, 1);
        assert_eq!((leaf.parent(), leaf.listens()), (Some(7), false));
        due(&mut leaf, &mut random);
        assert!(leaf.listens(), "for a response to its reminder");
    }

    #[test]
    fn a_child_says_so_before_its_time_is_over_and_leaves_after_four_lost_frames() {
        let (mut leaf, mut random) = searching();
        leaf.offered(7, 30, 3, 1);
        let now = due(&mut leaf, &mut random);
        leaf.answered(now, &mut random, 8, Status::Accepted, 1);
        assert_eq!(leaf.parent(), None, "not who was asked");
        leaf.answered(now, &mut random, 7, Status::Stale, 40);
        let again = Message::ChildIdRequest { sequence: 41, sleeps: true };
        assert_eq!(leaf.message(), Some((Some(7), again)));
        leaf.answered(now, &mut random, 7, Status::Accepted, 1);
        assert_eq!(leaf.parent(), None, "not what was asked");
        leaf.answered(now, &mut random, 7, Status::Accepted, 41);
        assert_eq!((leaf.parent(), leaf.listens(), leaf.poll_change()), (Some(7), false, true));
        assert_eq!(leaf.deadline(), now + TIMEOUT - Duration::from_secs(4));
        due(&mut leaf, &mut random);
        assert_eq!(leaf.message(), Some((Some(7), again)), "a reminder, not an attachment");
        assert_eq!((leaf.parent(), leaf.poll_change()), (Some(7), false));
        let now = leaf.deadline();
        for acked in [false, false, false, true, false, false, false] {
            leaf.sent(now, 7, acked);
            leaf.sent(now, 6, false);
            assert_eq!(leaf.parent(), Some(7));
        }
        leaf.sent(now, 7, false);
        assert_eq!((leaf.parent(), leaf.poll_change(), leaf.deadline()), (None, true, now));
    }

    #[test]
    fn a_parent_by_configuration_is_not_searched_for() {
        let (mut leaf, mut random) = (leaf(Some(5)), Random::new(1, 0));
        due(&mut leaf, &mut random);
        due(&mut leaf, &mut random);
        assert_eq!(target(&leaf), Some(5));
        let now = leaf.deadline();
        leaf.answered(now, &mut random, 5, Status::Full, 0);
        assert!(leaf.deadline() > now);
        due(&mut leaf, &mut random);
        assert_eq!(target(&leaf), Some(5));
    }
}
