//! When DAOs are sent, and what of them has arrived (RFC 6550, 9.3 and 9.5).

use super::Told;
use crate::lollipop::Counter;
use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant, earliest};

/// DelayDAO: DEFAULT_DAO_DELAY, from half of it on, so that neighbours do not send together. Twice
/// as long for each DAO since the last that was acknowledged.
const DELAY: Duration = Duration::from_secs(1);
/// Up to so many times: five thousand that wait for as long send a root no more DAOs than it can
/// take.
const DELAY_DOUBLINGS: u8 = 8;
/// The same if none has left for a DelayDAO: there is nothing to gather it with, and each hop on
/// the way to the root adds it up.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The same for what can wait: where many are below, several of them go in one DAO. In a town of
/// 5,000 meters one router near the root changes thousands of parents, and a root takes fifty DAOs
/// a second. No longer: the former parent may be gone by then.
const LATER_DELAY: Duration = Duration::from_secs(12);
/// An acknowledgement is awaited for so long, at most half as long again. Not longer each time:
/// what was lost while the way up healed is to be missed soon.
const PATIENCE: Duration = Duration::from_secs(4);
/// Then a DAO is sent again, so often; after that its parent is thought of as before, and it is
/// tried again later.
const TRIES: u8 = 4;
/// The first time within this, and each time within twice that, up to so many doublings: where DAOs
/// are lost for want of room, as when thousands join at once, more of them would not help.
const LATER: Duration = Duration::from_secs(40);
const LATER_DOUBLINGS: u8 = 5;
/// A node whose DAOs are not acknowledged repeats news after this time: the first DAO may be lost,
/// as routes to a root that has restarted form at the same time.
const AGAIN: Duration = Duration::from_secs(12);
/// Whatever lifetime a DODAG is configured with, its nodes do not tell themselves more often.
const SHORTEST_REFRESH: Duration = Duration::from_secs(10);

/// A DAO that is to be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaiting {
    pub(crate) sequence: u8,
    until: Instant,
}

/// The timers of DAOs, and the own target.
pub(crate) struct Announce {
    /// DelayDAO, and for what.
    delay: Option<Instant>,
    waiting: News,
    /// Until when others are gathered with what was told last.
    gathers: Instant,
    /// It is over: DAOs leave until all is told.
    pub(crate) ready: bool,
    pub(crate) awaiting: Option<Awaiting>,
    tries: u8,
    /// News about the own address has been announced once at the most.
    news: bool,
    /// How many have left, and how often they were given up, since one was acknowledged.
    unanswered: u8,
    given_up: u8,
    /// DAOSequence.
    pub(crate) sequence: Counter,
    /// Path Sequence of the own address.
    pub(crate) path_sequence: Counter,
    pub(crate) told: Told,
    /// Through whom the way leads that was acknowledged last.
    pub(crate) known: Option<Ipv6Addr>,
    /// When the own address is told again.
    refresh: Option<Instant>,
    /// When the targets of others are.
    retell: Option<Instant>,
    /// A former parent that is to forget this node, and of how many routes it was told so.
    pub(crate) withdraw: Option<(Ipv6Addr, usize)>,
}

impl Announce {
    pub(crate) const fn new() -> Self {
        Announce {
            delay: None,
            waiting: News::Now,
            gathers: Instant::ZERO,
            ready: false,
            awaiting: None,
            tries: 0,
            news: false,
            unanswered: 0,
            given_up: 0,
            sequence: Counter::FIRST,
            path_sequence: Counter::FIRST,
            told: Told::Not,
            known: None,
            refresh: None,
            retell: None,
            withdraw: None,
        }
    }

    /// There is something to be told. What is scheduled stays, unless it is scheduled for later.
    pub(crate) fn schedule(&mut self, now: Instant, news: News, random: &mut Random) {
        let longest = match news {
            News::Now if self.unanswered == 0 && now >= self.gathers => FIRST_DELAY,
            News::Now => self.backoff(),
            News::Later => self.backoff().max(LATER_DELAY),
        };
        let hurries = news < self.waiting;
        if !self.ready && (self.delay.is_none() || hurries) {
            let at = now + random.between(longest / 2, longest);
            self.delay = Some(self.delay.map_or(at, |delay| delay.min(at)));
            self.waiting = news;
        }
    }

    /// Whether what was told last has not been acknowledged.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.unanswered > 0
    }

    /// DelayDAO.
    fn backoff(&self) -> Duration {
        DELAY * (1u32 << self.unanswered.min(DELAY_DOUBLINGS))
    }

    /// The own address is told as news, which everybody above is to hear.
    //= rfc6550#9.4-3
    pub(crate) fn renew(&mut self, now: Instant, news: News, random: &mut Random) {
        self.path_sequence = self.path_sequence.next();
        self.news = true;
        self.repeat(now, news, random);
    }

    /// The own address is told again. Who knows it takes its Path Sequence for no news.
    pub(crate) fn repeat(&mut self, now: Instant, news: News, random: &mut Random) {
        self.told = Told::Not;
        self.tries = 0;
        self.schedule(now, news, random);
    }

    /// Nobody is there to be told.
    pub(crate) fn stop(&mut self) {
        (self.delay, self.ready, self.awaiting, self.refresh) = (None, false, None, None);
        (self.withdraw, self.retell, self.known) = (None, None, None);
        // That nobody has answered says nothing of the next way up.
        (self.unanswered, self.given_up) = (0, 0);
        self.told = Told::Not;
    }

    /// Another is the parent now instead of `old`, which is to forget this node, unless others know
    /// that as the way here: it goes on passing packets down until they know the new one.
    pub(crate) fn change(&mut self, old: Option<Ipv6Addr>, parent: Ipv6Addr) {
        let _ = self.withdraw.take_if(|(former, _)| *former == parent);
        if old != self.known {
            self.forget_by(old);
        }
        // That the former has not answered says nothing of this one.
        (self.delay, self.unanswered, self.given_up) = (None, 0, 0);
    }

    /// A former parent is to forget this node.
    pub(crate) fn forget_by(&mut self, former: Option<Ipv6Addr>) {
        self.withdraw = former.map(|former| (former, 0)).or(self.withdraw);
    }

    /// What was on its way is not awaited any more.
    pub(crate) fn forget(&mut self) {
        (self.awaiting, self.tries) = (None, 0);
        if self.told == Told::Sent {
            self.told = Told::Not;
        }
    }

    /// The own address has been told: it is again before `lifetime` is over, which leaves time for
    /// another attempt. What is acknowledged may take longer than what is sent once.
    pub(crate) fn refresh_within(
        &mut self,
        now: Instant,
        lifetime: Option<Duration>,
        acknowledged: bool,
        random: &mut Random,
    ) {
        let again = core::mem::take(&mut self.news) && !acknowledged;
        let usual = lifetime.map(|lifetime| before(lifetime, acknowledged, random));
        let again = again.then(|| random.between(AGAIN / 2, AGAIN));
        let wait = again.map_or(usual, |again| Some(usual.map_or(again, |usual| usual.min(again))));
        self.refresh = wait.map(|wait| now + wait);
    }

    /// Targets of others have been told: all are again before `lifetime` is over since the first
    /// of them.
    pub(crate) fn retell_within(
        &mut self,
        now: Instant,
        lifetime: Option<Duration>,
        acknowledged: bool,
        random: &mut Random,
    ) {
        if self.retell.is_none() {
            self.retell = lifetime.map(|lifetime| now + before(lifetime, acknowledged, random));
        }
    }

    /// Whether that is now.
    pub(crate) fn retells(&mut self, now: Instant) -> bool {
        self.retell.take_if(|at| *at <= now).is_some()
    }

    /// Nobody has acknowledged what was told: it is told again after some time.
    pub(crate) fn try_later(&mut self, now: Instant, random: &mut Random) {
        let longest = LATER * (1u32 << self.given_up.min(LATER_DOUBLINGS));
        self.given_up = self.given_up.saturating_add(1);
        self.refresh = Some(now + random.between(longest / 4, longest / 2));
    }

    /// Too many DAOs have left: what is ready waits until then.
    pub(crate) fn put_off(&mut self, until: Instant) {
        (self.ready, self.delay) = (false, Some(until));
    }

    /// A DAO has left.
    pub(crate) fn left(&mut self, now: Instant) {
        self.gathers = now + DELAY;
    }

    pub(crate) fn await_acknowledgement(&mut self, now: Instant, random: &mut Random) {
        self.unanswered = self.unanswered.saturating_add(1);
        let until = now + random.between(PATIENCE, PATIENCE + PATIENCE / 2);
        self.awaiting = Some(Awaiting { sequence: self.sequence.value(), until });
    }

    /// Whether it acknowledges what is awaited.
    pub(crate) fn acknowledged(&mut self, sequence: u8) -> bool {
        let ours = self.awaiting.take_if(|awaiting| awaiting.sequence == sequence).is_some();
        if ours {
            (self.tries, self.unanswered, self.given_up) = (0, 0, 0);
        }
        ours
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let awaited = self.awaiting.map(|awaiting| awaiting.until);
        [self.delay, self.refresh, self.retell, awaited].into_iter().fold(None, earliest)
    }

    /// What is due: DelayDAO and refreshes here, the answer says of the rest.
    pub(crate) fn handle_deadline(&mut self, now: Instant, random: &mut Random) -> Missed {
        if self.delay.take_if(|at| *at <= now).is_some() {
            self.ready = true;
        }
        if self.refresh.take_if(|at| *at <= now).is_some() {
            self.repeat(now, News::Now, random);
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

/// After which part of a lifetime it is renewed: so that there is time for other attempts.
fn before(lifetime: Duration, acknowledged: bool, random: &mut Random) -> Duration {
    let after = match acknowledged {
        true => random.between(lifetime / 2, lifetime / 4 * 3),
        false => random.between(lifetime / 4, lifetime / 2),
    };
    after.max(SHORTEST_REFRESH)
}

/// How soon the parent is to hear of something; the soonest is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// After DelayDAO.
    Now,
    /// Together with what comes until then: it is only told again, or there is another way and the
    /// old one is still good.
    Later,
}

/// What has become of an awaited acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// None was, or it still is.
    Nothing,
    /// It did not come: what was told is to be told again.
    Again,
    /// It did not come, too often.
    GivenUp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_after_a_silence_leaves_sooner() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let now = Instant::from_secs(9);
        announce.schedule(now, News::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + FIRST_DELAY);
        announce.handle_deadline(now + FIRST_DELAY, &mut random);
        announce.ready = false;
        announce.left(now);
        announce.schedule(now + DELAY / 2, News::Now, &mut random);
        assert!(announce.deadline().unwrap() >= now + DELAY);
        announce.handle_deadline(now + DELAY * 2, &mut random);
        announce.ready = false;
        announce.schedule(now + DELAY * 2, News::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + DELAY * 2 + FIRST_DELAY);
    }

    #[test]
    fn who_finds_a_way_again_does_not_wait_as_long_as_nobody_had_answered() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let now = Instant::from_secs(9);
        (0..20).for_each(|_| announce.await_acknowledgement(now, &mut random));
        announce.schedule(now, News::Now, &mut random);
        let longest = DELAY * (1 << DELAY_DOUBLINGS);
        assert!(announce.delay.unwrap() >= now + longest / 2);
        announce.stop();
        announce.schedule(now, News::Now, &mut random);
        assert!(announce.deadline().unwrap() <= now + FIRST_DELAY);
    }

    #[test]
    fn a_new_parent_is_told_at_once_though_the_former_has_not_answered() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let [a, b] = [1, 2].map(|n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n));
        (0..20).for_each(|_| announce.await_acknowledgement(Instant::ZERO, &mut random));
        announce.schedule(Instant::ZERO, News::Now, &mut random);
        announce.change(Some(a), b);
        announce.renew(Instant::ZERO, News::Now, &mut random);
        assert!(announce.delay.unwrap() <= Instant::ZERO + FIRST_DELAY);
    }

    #[test]
    fn who_is_known_as_the_way_here_is_left_last() {
        let [a, b, c] = [1, 2, 3].map(|n| Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, n));
        let mut announce = Announce::new();
        announce.known = Some(a);
        announce.change(Some(a), b);
        assert_eq!(announce.withdraw, None);
        announce.change(Some(b), c);
        assert_eq!(announce.withdraw, Some((b, 0)));
        // Who comes back has not left.
        announce.change(Some(c), b);
        assert_eq!(announce.withdraw, Some((c, 0)));
        announce.forget_by(Some(a));
        assert_eq!(announce.withdraw, Some((a, 0)));
        announce.forget_by(None);
        announce.change(None, a);
        assert_eq!(announce.withdraw, None);
    }

    #[test]
    fn news_overtake_what_may_wait() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        announce.schedule(Instant::ZERO, News::Later, &mut random);
        let late = announce.deadline().unwrap();
        assert!(late >= Instant::ZERO + LATER_DELAY / 2);
        announce.schedule(Instant::ZERO, News::Later, &mut random);
        assert_eq!(announce.deadline(), Some(late));
        announce.schedule(Instant::ZERO, News::Now, &mut random);
        assert!(announce.deadline().unwrap() <= Instant::ZERO + DELAY);
    }

    #[test]
    fn a_dao_is_delayed_once_and_its_acknowledgement_awaited_so_often() {
        let (mut announce, mut random) = (Announce::new(), Random::new(1, 1));
        let mut now = Instant::ZERO;
        announce.renew(now, News::Now, &mut random);
        let due = announce.deadline().unwrap();
        announce.schedule(now + DELAY / 4, News::Now, &mut random);
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
