//! Timers of DAOs, and their acknowledgements (RFC 6550, 9.3 and 9.5).

use super::Advertised;
use crate::lollipop::Counter;
use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};

/// DelayDAO: DEFAULT_DAO_DELAY, from half of it on, so that neighbours do not send together.
/// Doubled for each DAO since the last that was acknowledged.
const DELAY: Duration = Duration::from_secs(1);
/// Limit of the doublings: five thousand nodes that wait for as long send a root no more DAOs than
/// it can process.
const DELAY_DOUBLINGS: u8 = 8;
/// DelayDAO if no DAO was sent within the last one: there is nothing to aggregate, and the delays
/// of all hops to the root add up.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// DelayDAO of changes that can wait: with many nodes below, one DAO carries several of them. In a
/// network of 5,000 meters one router near the root changes thousands of parents, and a root
/// processes fifty DAOs a second. Not longer: the former parent may be gone by then.
const LATER_DELAY: Duration = Duration::from_secs(12);
/// Time-out of an acknowledgement, at most half as long again. It does not grow: a DAO that was
/// lost during the repair of the upward route is to be detected soon.
const PATIENCE: Duration = Duration::from_secs(4);
/// Attempts at a DAO before it is given up. Then it is retried later, in storing mode through
/// another parent if there is one.
const TRIES: u8 = 4;
/// The first retry comes within this time, and each further one within twice the previous time, up
/// to a number of doublings: where queues drop DAOs, as when thousands of nodes join at once, more
/// of them would not help.
const LATER: Duration = Duration::from_secs(40);
const LATER_DOUBLINGS: u8 = 5;
/// A node that requests no acknowledgements repeats news after this time: the first DAO may be
/// lost, as routes to a root that has restarted form at the same time.
const AGAIN: Duration = Duration::from_secs(12);
/// Shortest refresh interval, whatever lifetime a DODAG is configured with.
const SHORTEST_REFRESH: Duration = Duration::from_secs(10);

/// A DAO that is to be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaiting {
    pub(crate) sequence: u8,
    until: Instant,
}

/// The timers of DAOs, and the own target.
pub(crate) struct Announce {
    /// End of DelayDAO, and the urgency of the change.
    delay: Option<Instant>,
    waiting: Urgency,
    /// Until this time changes wait for a full DelayDAO, as a DAO was sent just before.
    gathers: Instant,
    /// DelayDAO has ended: DAOs are sent until all targets are announced.
    pub(crate) ready: bool,
    pub(crate) awaiting: Option<Awaiting>,
    tries: u8,
    /// A change of the own address has been announced once at the most.
    urgency: bool,
    /// DAOs that were sent, and that were given up, since the last acknowledgement.
    unanswered: u8,
    given_up: u8,
    /// DAOSequence.
    pub(crate) sequence: Counter,
    /// Path Sequence of the own address.
    pub(crate) path_sequence: Counter,
    pub(crate) advertised: Advertised,
    /// Parent on the route that was acknowledged last.
    pub(crate) known: Option<Ipv6Addr>,
    /// Time of the own address's next refresh.
    refresh: Option<Instant>,
    /// Time of the next refresh of other nodes' targets.
    reannounce: Option<Instant>,
    /// A former parent to send No-Path DAOs to, and the number of routes already withdrawn there.
    pub(crate) withdraw: Option<(Ipv6Addr, usize)>,
}

impl Announce {
    pub(crate) const fn new() -> Self {
        Announce {
            delay: None,
            waiting: Urgency::Now,
            gathers: Instant::ZERO,
            ready: false,
            awaiting: None,
            tries: 0,
            urgency: false,
            unanswered: 0,
            given_up: 0,
            sequence: Counter::FIRST,
            path_sequence: Counter::FIRST,
            advertised: Advertised::No,
            known: None,
            refresh: None,
            reannounce: None,
            withdraw: None,
        }
    }

    /// Schedules a DAO. A scheduled one stays, unless it is scheduled for later.
    pub(crate) fn schedule(&mut self, now: Instant, urgency: Urgency, random: &mut Random) {
        let longest = match urgency {
            Urgency::Now if self.unanswered == 0 && now >= self.gathers => FIRST_DELAY,
            Urgency::Now => self.backoff(),
            Urgency::Later => self.backoff().max(LATER_DELAY),
        };
        let hurries = urgency < self.waiting;
        if !self.ready && (self.delay.is_none() || hurries) {
            let at = now + random.between(longest / 2, longest);
            self.delay = Some(self.delay.map_or(at, |delay| delay.min(at)));
            self.waiting = urgency;
        }
    }

    /// Returns whether the last DAO has not been acknowledged.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered > 0
    }

    /// Returns DelayDAO.
    fn backoff(&self) -> Duration {
        DELAY * (1u32 << self.unanswered.min(DELAY_DOUBLINGS))
    }

    /// Announces the own address with a new Path Sequence, which all routers above process.
    //= rfc6550#9.4-3
    pub(crate) fn renew(&mut self, now: Instant, urgency: Urgency, random: &mut Random) {
        self.path_sequence = self.path_sequence.next();
        self.urgency = true;
        self.repeat(now, urgency, random);
    }

    /// Announces the own address again. A router that knows its Path Sequence sees no change.
    pub(crate) fn repeat(&mut self, now: Instant, urgency: Urgency, random: &mut Random) {
        self.advertised = Advertised::No;
        self.tries = 0;
        self.schedule(now, urgency, random);
    }

    /// Stops all timers, as there is no parent.
    pub(crate) fn stop(&mut self) {
        (self.delay, self.ready, self.awaiting, self.refresh) = (None, false, None, None);
        (self.withdraw, self.reannounce, self.known) = (None, None, None);
        // Missing acknowledgements do not count for the next upward route.
        (self.unanswered, self.given_up) = (0, 0);
        self.advertised = Advertised::No;
    }

    /// Records a change from `old` to another parent. `old` gets a No-Path DAO, unless it is on the
    /// acknowledged route here: then it goes on passing packets down until the new one is known.
    pub(crate) fn change(&mut self, old: Option<Ipv6Addr>, parent: Ipv6Addr) {
        let _ = self.withdraw.take_if(|(former, _)| *former == parent);
        if old != self.known {
            self.forget_by(old);
        }
        // Missing acknowledgements of the former parent do not count for this one.
        (self.delay, self.unanswered, self.given_up) = (None, 0, 0);
    }

    /// Schedules No-Path DAOs to a former parent.
    pub(crate) fn forget_by(&mut self, former: Option<Ipv6Addr>) {
        self.withdraw = former.map(|former| (former, 0)).or(self.withdraw);
    }

    /// Stops waiting for the acknowledgement of a DAO in flight.
    pub(crate) fn forget(&mut self) {
        (self.awaiting, self.tries) = (None, 0);
        if self.advertised == Advertised::InFlight {
            self.advertised = Advertised::No;
        }
    }

    /// Schedules the refresh of the own address before `lifetime` is over, which leaves time for
    /// another attempt. A DAO that is acknowledged may take longer than one that is sent once.
    pub(crate) fn refresh_within(
        &mut self,
        now: Instant,
        lifetime: Option<Duration>,
        acknowledged: bool,
        random: &mut Random,
    ) {
        let again = core::mem::take(&mut self.urgency) && !acknowledged;
        let usual = lifetime.map(|lifetime| before(lifetime, acknowledged, random));
        let again = again.then(|| random.between(AGAIN / 2, AGAIN));
        let wait = again.map_or(usual, |again| Some(usual.map_or(again, |usual| usual.min(again))));
        self.refresh = wait.map(|wait| now + wait);
    }

    /// Schedules the refresh of other nodes' targets before `lifetime` is over since the first of
    /// them.
    pub(crate) fn reannounce_within(
        &mut self,
        now: Instant,
        lifetime: Option<Duration>,
        acknowledged: bool,
        random: &mut Random,
    ) {
        if self.reannounce.is_none() {
            self.reannounce = lifetime.map(|lifetime| now + before(lifetime, acknowledged, random));
        }
    }

    /// Returns whether that refresh is due.
    pub(crate) fn reannounces(&mut self, now: Instant) -> bool {
        self.reannounce.take_if(|at| *at <= now).is_some()
    }

    /// Schedules another attempt after DAOs that were not acknowledged.
    pub(crate) fn try_later(&mut self, now: Instant, random: &mut Random) {
        let longest = LATER * (1u32 << self.given_up.min(LATER_DOUBLINGS));
        self.given_up = self.given_up.saturating_add(1);
        self.refresh = Some(now + random.between(longest / 4, longest / 2));
    }

    /// Delays ready DAOs until `until`, as the rate limit is reached.
    pub(crate) fn put_off(&mut self, until: Instant) {
        (self.ready, self.delay) = (false, Some(until));
    }

    /// Records that a DAO was sent.
    pub(crate) fn left(&mut self, now: Instant) {
        self.gathers = now + DELAY;
    }

    pub(crate) fn await_acknowledgement(&mut self, now: Instant, random: &mut Random) {
        self.unanswered = self.unanswered.saturating_add(1);
        let until = now + random.between(PATIENCE, PATIENCE + PATIENCE / 2);
        self.awaiting = Some(Awaiting { sequence: self.sequence.value(), until });
    }

    /// Returns whether `sequence` acknowledges the awaited DAO.
    pub(crate) fn acknowledged(&mut self, sequence: u8) -> bool {
        let ours = self.awaiting.take_if(|awaiting| awaiting.sequence == sequence).is_some();
        if ours {
            (self.tries, self.unanswered, self.given_up) = (0, 0, 0);
        }
        ours
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let awaited = self.awaiting.map(|awaiting| awaiting.until);
        [self.delay, self.refresh, self.reannounce, awaited].into_iter().fold(None, earliest)
    }

    /// Ends DelayDAO and starts refreshes that are due. Returns the state of the awaited
    /// acknowledgement.
    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) -> Missed {
        if self.delay.take_if(|at| *at <= now).is_some() {
            self.ready = true;
        }
        if self.refresh.take_if(|at| *at <= now).is_some() {
            self.repeat(now, Urgency::Now, random);
        }
        if self.awaiting.take_if(|awaiting| awaiting.until <= now).is_none() {
            return Missed::Nothing;
        }
        self.tries = self.tries.saturating_add(1);
        if self.tries >= TRIES {
            self.tries = 0;
            return Missed::GivenUp;
        }
        Missed::Again
    }
}

/// Returns the part of a lifetime after which it is renewed, so that there is time for other
/// attempts.
fn before(lifetime: Duration, acknowledged: bool, random: &mut Random) -> Duration {
    let after = match acknowledged {
        true => random.between(lifetime / 2, lifetime / 4 * 3),
        false => random.between(lifetime / 4, lifetime / 2),
    };
    after.max(SHORTEST_REFRESH)
}

/// Urgency of a change for the parent; the most urgent is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// After DelayDAO.
    Now,
    /// Together with later changes: it is only a refresh, or there is another route and the old one
    /// is still good.
    Later,
}

/// State of an awaited acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// None was awaited, or it still is.
    Nothing,
    /// It did not come: the DAO is to be repeated.
    Again,
    /// It did not come, too often.
    GivenUp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_after_a_silence_is_announced_sooner() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let now = Instant::from_secs(9);
        announce.schedule(now, Urgency::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + FIRST_DELAY);
        announce.handle_deadline(now + FIRST_DELAY, &mut random);
        announce.ready = false;
        announce.left(now);
        announce.schedule(now + DELAY / 2, Urgency::Now, &mut random);
        assert!(announce.deadline().unwrap() >= now + DELAY);
        announce.handle_deadline(now + DELAY * 2, &mut random);
        announce.ready = false;
        announce.schedule(now + DELAY * 2, Urgency::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + DELAY * 2 + FIRST_DELAY);
    }

    #[test]
    fn a_node_with_a_route_again_waits_less_than_after_missing_answers() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let now = Instant::from_secs(9);
        (0..20).for_each(|_| announce.await_acknowledgement(now, &mut random));
        announce.schedule(now, Urgency::Now, &mut random);
        let longest = DELAY * (1 << DELAY_DOUBLINGS);
        assert!(announce.delay.unwrap() >= now + longest / 2);
        announce.stop();
        announce.schedule(now, Urgency::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + FIRST_DELAY);
    }

    #[test]
    fn a_new_parent_is_notified_at_once_though_the_former_has_not_answered() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let [a, b] = [1, 2].map(|n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n));
        (0..20).for_each(|_| announce.await_acknowledgement(Instant::ZERO, &mut random));
        announce.schedule(Instant::ZERO, Urgency::Now, &mut random);
        announce.change(Some(a), b);
        announce.renew(Instant::ZERO, Urgency::Now, &mut random);
        assert!(announce.delay.unwrap() <= Instant::ZERO + FIRST_DELAY);
    }

    #[test]
    fn the_known_next_hop_to_this_node_is_detached_last() {
        let [a, b, c] = [1, 2, 3].map(|n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n));
        let mut announce = Announce::new();
        announce.known = Some(a);
        announce.change(Some(a), b);
        assert_eq!(announce.withdraw, None);
        announce.change(Some(b), c);
        assert_eq!(announce.withdraw, Some((b, 0)));
        // A former parent that is selected again gets no No-Path DAO.
        announce.change(Some(c), b);
        assert_eq!(announce.withdraw, Some((c, 0)));
        announce.forget_by(Some(a));
        assert_eq!(announce.withdraw, Some((a, 0)));
        announce.forget_by(None);
        announce.change(None, a);
        assert_eq!(announce.withdraw, None);
    }

    #[test]
    fn changes_overtake_what_may_wait() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        announce.schedule(Instant::ZERO, Urgency::Later, &mut random);
        let late = announce.deadline().unwrap();
        assert!(late >= Instant::ZERO + LATER_DELAY / 2);
        announce.schedule(Instant::ZERO, Urgency::Later, &mut random);
        assert_eq!(announce.deadline(), Some(late));
        announce.schedule(Instant::ZERO, Urgency::Now, &mut random);
        assert!(announce.deadline().unwrap() <= Instant::ZERO + DELAY);
    }

    #[test]
    fn a_dao_is_delayed_once_and_its_acknowledgement_awaited_so_often() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let mut now = Instant::ZERO;
        announce.renew(now, Urgency::Now, &mut random);
        let due = announce.deadline().unwrap();
        announce.schedule(now + DELAY / 4, Urgency::Now, &mut random);
        assert_eq!(announce.deadline(), Some(due));
        announce.handle_deadline(due, &mut random);
        assert!(announce.ready && announce.deadline().is_none());
        for expected in [Missed::Again, Missed::Again, Missed::Again, Missed::GivenUp] {
            announce.await_acknowledgement(now, &mut random);
            assert_eq!(announce.handle_deadline(now, &mut random), Missed::Nothing);
            let awaited = announce.deadline().unwrap() - now;
            assert!((PATIENCE..=PATIENCE + PATIENCE / 2).contains(&awaited), "each time");
            now += awaited;
            assert_eq!(announce.handle_deadline(now, &mut random), expected);
        }
        announce.await_acknowledgement(now, &mut random);
        assert!(!announce.acknowledged(announce.sequence.value() ^ 1));
        assert!(announce.acknowledged(announce.sequence.value()));
    }
}
