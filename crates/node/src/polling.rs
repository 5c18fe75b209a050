//! When a node that sleeps asks its parent for what waits there.
//!
//! A data request in vain costs some 2 ms of radio; one that comes late costs nothing but time, as
//! long as it comes before somebody sends again what has arrived. So [`Polling::Predictive`] asks
//! for the first time when the answer has very probably arrived, and learns when that is.
//!
//! It cannot learn it from measured round trips: they contain the wait for the data request, so
//! that a mean of them would feed on itself. What a data request does tell is on which side of it
//! the answer came: before, if it finds the answer, after, if only a later one does. Each source
//! of expectations (a connection, or whoever calls [`Node::expect`](crate::Node::expect)) therefore
//! has a *due time*, counted from its last transmission, that falls a little (1/64) with every
//! answer found at the first attempt, and rises (by 1/4) with every one that was not there yet: it
//! settles where about one first attempt in 17 is in vain. An answer that never comes, because
//! something got lost, moves nothing. If the first attempt finds a part of what is awaited and a
//! later one the rest, the due time rises by 1/16: some patience would have saved a data request.
//! A part that lets more be sent is an answer; else the due time of a transfer, of which a rest is
//! always missing, would rise without end.
//!
//! Later attempts have distances of 1/8, 1/4, 1/2, … of the due time, and one of them comes with
//! 1/8 of the time left until the transport would send again.

use kinglet_mac::DataRequestOutcome;
use kinglet_tcp::Expected;
use kinglet_time::{Duration, Instant};

/// How a node that sleeps decides when to ask its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// At fixed intervals (TCPlp §8.1.1, §8.2: 4 min and 100 ms).
    Fixed {
        /// While nothing is expected.
        base: Duration,
        /// While anything is expected, the first time after one such interval.
        expecting: Duration,
    },
    /// When the answer is due, and then at growing distances.
    Predictive {
        /// While nothing is expected.
        base: Duration,
    },
}

/// A Thread child's longest sleep, as TCPlp §8.2 rounds it.
const BASE: Duration = Duration::from_secs(240);

impl Polling {
    /// What TCPlp's authors have measured.
    pub const TCPLP: Polling = Polling::Fixed { base: BASE, expecting: Duration::from_millis(100) };
    /// Prediction, and 4 min while nothing is expected.
    pub const DEFAULT: Polling = Polling::Predictive { base: BASE };

    const fn base(&self) -> Duration {
        match *self {
            Polling::Fixed { base, .. } | Polling::Predictive { base } => base,
        }
    }
}

/// Connections with a due time of their own; further ones share these.
const CONNECTIONS: usize = 2;
const SOURCES: usize = CONNECTIONS + 1;

/// Due times stay between these; the longer is far above any round trip that is worth waiting for.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(10);
/// The first pause after a data request that nobody has acknowledged; it doubles up to `PATIENCE`,
/// OpenThread's pause (`kRetxPollPeriod`), and after so many failures the parent is left alone.
const PAUSE: Duration = Duration::from_millis(125);
const PATIENCE: Duration = Duration::from_secs(1);
const FAILURES: u8 = 4;
/// How often in a row a frame that was promised and did not come is asked for again at once
/// (OpenThread: `kQuickPollsAfterTimeout`).
const TIMEOUTS: u8 = 5;
/// When the MAC has no room for a data request, it is asked again after this.
const NO_ROOM: Duration = Duration::from_millis(10);

/// What one source expects, and what is known of when that comes.
#[derive(Clone, Copy, Debug)]
struct Source {
    expected: Option<Expected>,
    /// Since when something is, without a pause.
    began: Instant,
    /// Time from the last transmission to the first data request; zero until there was one.
    due: Duration,
    /// Data requests since that transmission that could have found something.
    asked: u8,
    /// One of them has, but not everything.
    partly: bool,
    /// The due time has once been too short: it is no longer a guess.
    settled: bool,
}

impl Source {
    const NONE: Source = Source {
        expected: None,
        began: Instant::ZERO,
        due: Duration::ZERO,
        asked: 0,
        partly: false,
        settled: false,
    };

    /// The answer is here.
    fn learn(&mut self) {
        let due = self.due;
        self.due = match self.asked {
            0 => return,
            1 => due - due / if self.settled { 64 } else { 4 },
            _ if self.partly => due + due / 16,
            _ => {
                self.settled = true;
                due + due / 4
            }
        };
        self.due = self.due.max(SHORTEST).min(LONGEST);
    }

    /// When to ask next for this, `last` being the last time; `None` if nothing is expected.
    fn next(&self, policy: Polling, last: Instant) -> Option<Instant> {
        match policy {
            Polling::Fixed { expecting, .. } => {
                self.expected.map(|_| last.max(self.began) + expecting)
            }
            Polling::Predictive { .. } => self.predict(last),
        }
    }

    fn predict(&self, last: Instant) -> Option<Instant> {
        let Expected { since, until, .. } = self.expected?;
        let time = until.checked_since(since).unwrap_or_default();
        let last_call = since + time - time / 8;
        let Some(again) = self.asked.checked_sub(1) else {
            let due = if self.due == Duration::ZERO { time / 4 } else { self.due };
            return Some((since + due).min(last_call));
        };
        // 2^12 times the shortest is 5 s.
        let distance = (self.due / 8).max(SHORTEST) * (1 << again.min(12));
        let next = last + distance;
        Some(if last < last_call { next.min(last_call) } else { next })
    }
}

/// The state of asking.
pub(crate) struct Poller {
    policy: Polling,
    parent: Option<u16>,
    /// A data request is under way.
    asking: bool,
    /// When the last one was made.
    last: Instant,
    /// It has found something.
    found: bool,
    /// No data request before this, …
    not_before: Instant,
    /// … and then one at once.
    again: bool,
    /// Data requests without result in a row.
    failures: u8,
    /// What is to come is left to the next sample of the channel.
    learning: bool,
    /// When to ask next.
    next: Option<Instant>,
    sources: [Source; SOURCES],
    /// What those that are not TCP expect; their source knows of it when no data request is under
    /// way.
    application: Option<Expected>,
}

impl Poller {
    pub(crate) const fn new(policy: Polling) -> Self {
        Poller {
            policy,
            parent: None,
            asking: false,
            last: Instant::ZERO,
            found: false,
            not_before: Instant::ZERO,
            again: false,
            failures: 0,
            learning: false,
            next: None,
            sources: [Source::NONE; SOURCES],
            application: None,
        }
    }

    pub(crate) const fn parent(&self) -> Option<u16> {
        self.parent
    }

    /// When the last data request was made, or the parent chosen.
    pub(crate) const fn last(&self) -> Instant {
        self.last
    }

    /// Unanswered data requests in a row: the parent may be gone.
    pub(crate) const fn failures(&self) -> u8 {
        self.failures
    }

    pub(crate) fn set_parent(&mut self, now: Instant, parent: Option<u16>) {
        if self.parent != parent {
            self.parent = parent;
            self.last = now;
            self.failures = 0;
            self.plan();
        }
    }

    /// Whether what is expected had better come without having been asked for.
    pub(crate) fn set_learning(&mut self, learning: bool) {
        self.learning = learning;
    }

    /// What those that are not TCP expect from now on.
    pub(crate) fn expect(&mut self, now: Instant, expected: Option<Expected>) {
        self.application = expected;
        // What a data request has found is here before it is known to have found anything.
        if !self.asking {
            self.observe_one(now, CONNECTIONS, expected);
        }
        self.plan();
    }

    /// A data request has ended; `tcp` is what TCP still expects, before it sends anything new.
    pub(crate) fn handle_outcome(
        &mut self,
        now: Instant,
        outcome: DataRequestOutcome,
        tcp: impl Iterator<Item = Option<Expected>>,
    ) {
        self.asking = false;
        self.again = false;
        self.not_before = now;
        match outcome {
            DataRequestOutcome::NothingPending => self.failures = 0,
            DataRequestOutcome::Received { more } => {
                (self.failures, self.found, self.again) = (0, true, more);
                self.observe(now, tcp);
                for source in self.sources.iter_mut().take(CONNECTIONS) {
                    source.partly |= source.asked > 0;
                }
                if more {
                    self.discount();
                }
            }
            DataRequestOutcome::NoAck => {
                self.not_before = now + (PAUSE * (1 << self.failures.min(8))).min(PATIENCE);
                self.fail(FAILURES);
            }
            DataRequestOutcome::TimedOut => self.fail(TIMEOUTS),
        }
        self.observe_one(now, CONNECTIONS, self.application);
    }

    /// What was asked says nothing of when the answer came. It is asked again, up to `most` times
    /// in a row.
    fn fail(&mut self, most: u8) {
        self.failures = self.failures.saturating_add(1);
        self.again = self.failures <= most;
        if self.again {
            self.discount();
        }
    }

    /// The next data request says no more of when the answer came than the last one did: it asks
    /// for the same again, or for what is known to wait.
    fn discount(&mut self) {
        for source in &mut self.sources {
            source.asked = source.asked.saturating_sub(1);
        }
    }

    /// Takes what TCP expects now, and decides when to ask next.
    pub(crate) fn update(&mut self, now: Instant, tcp: impl Iterator<Item = Option<Expected>>) {
        self.observe(now, tcp);
        self.plan();
    }

    fn observe(&mut self, now: Instant, tcp: impl Iterator<Item = Option<Expected>>) {
        let mut merged = [None::<Expected>; CONNECTIONS];
        for (index, expected) in (0..CONNECTIONS).cycle().zip(tcp) {
            let (Some(place), Some(expected)) = (merged.get_mut(index), expected) else { continue };
            // Of two that share a place, the one that is in more of a hurry.
            let sooner = |other: &Expected| expected.until < other.until;
            if place.as_ref().is_none_or(sooner) {
                *place = Some(expected);
            }
        }
        for (index, expected) in merged.into_iter().enumerate() {
            self.observe_one(now, index, expected);
        }
    }

    fn observe_one(&mut self, now: Instant, index: usize, expected: Option<Expected>) {
        let Some(source) = self.sources.get_mut(index) else { return };
        if source.expected.map(|e| e.since) != expected.map(|e| e.since) {
            if self.found {
                source.learn();
            }
            (source.asked, source.partly) = (0, false);
        }
        if source.expected.is_none() {
            source.began = now;
        }
        source.expected = expected;
    }

    fn plan(&mut self) {
        self.next = None;
        if self.parent.is_none() || self.asking {
            return;
        }
        let mut next = self.last + self.policy.base();
        let sources = self.sources.iter().filter(|_| !self.learning);
        for (index, source) in sources.enumerate() {
            let at = source.next(self.policy, self.last);
            // TCP sends again when time is up, and expects something anew; the others say so.
            let until = source.expected.filter(|_| index == CONNECTIONS).map(|e| e.until);
            let at = at.filter(|at| until.is_none_or(|until| *at <= until));
            next = at.map_or(next, |at| next.min(at));
        }
        if self.again {
            next = self.not_before;
        }
        self.next = Some(next.max(self.not_before));
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Whom to ask now.
    pub(crate) fn due(&self, now: Instant) -> Option<u16> {
        self.parent.filter(|_| self.next.is_some_and(|at| at <= now))
    }

    /// Whether the MAC has taken the data request that was due.
    pub(crate) fn asked(&mut self, now: Instant, taken: bool) {
        if !taken {
            self.not_before = now + NO_ROOM;
            self.next = Some(self.not_before);
            return;
        }
        (self.asking, self.next, self.last) = (true, None, now);
        (self.found, self.again) = (false, false);
        for source in &mut self.sources {
            let Some(Expected { since, .. }) = source.expected else { continue };
            source.asked = source.asked.saturating_add(1);
            if source.due == Duration::ZERO {
                source.due = now.checked_since(since).unwrap_or_default().max(SHORTEST);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::iter;
    use std::vec::Vec;

    const MS: Duration = Duration::from_millis(1);
    const FOUND: DataRequestOutcome = DataRequestOutcome::Received { more: false };
    const NOTHING: DataRequestOutcome = DataRequestOutcome::NothingPending;

    fn at(ms: u64) -> Instant {
        Instant::from_micros(ms * 1000)
    }

    fn poller(policy: Polling) -> Poller {
        let mut poller = Poller::new(policy);
        poller.set_parent(at(0), Some(7));
        poller
    }

    /// Something sent at `since` that is sent again at `until`.
    fn sent(since: u64, until: u64) -> Option<Expected> {
        Some(Expected { since: at(since), from: at(since), until: at(until) })
    }

    /// Asks at the deadline; when that was.
    fn ask(poller: &mut Poller) -> u64 {
        let now = poller.deadline().unwrap();
        assert_eq!((poller.due(now), poller.due(now - MS)), (Some(7), None));
        poller.asked(now, true);
        assert_eq!(poller.deadline(), None, "one at a time");
        now.as_millis()
    }

    fn answer(poller: &mut Poller, now: u64, outcome: DataRequestOutcome, tcp: Option<Expected>) {
        poller.handle_outcome(at(now), outcome, iter::once(tcp));
        poller.update(at(now), iter::once(tcp));
    }

    /// Sends at `since` what is answered after `latency`, and asks until the answer is found: at
    /// how many attempts, and when.
    fn round(poller: &mut Poller, since: u64, latency: u64) -> (u32, u64) {
        let expected = sent(since, since + 1000);
        poller.update(at(since), iter::once(expected));
        for attempt in 1.. {
            let now = ask(poller);
            if now >= since + latency {
                answer(poller, now, FOUND, None);
                return (attempt, now);
            }
            answer(poller, now, NOTHING, expected);
        }
        unreachable!()
    }

    /// A segment that comes as five frames, with a data request each, and the next after the
    /// acknowledgement of this one.
    #[test]
    fn the_fragments_of_a_segment_do_not_delay_the_next_one() {
        let mut poller = poller(Polling::DEFAULT);
        let mut now = 0;
        let mut waited = Vec::new();
        for _ in 0..40 {
            let (since, expected) = (now, sent(now, now + 1000));
            poller.update(at(now), iter::once(expected));
            now = ask(&mut poller);
            while now < since + 200 {
                answer(&mut poller, now, NOTHING, expected);
                now = ask(&mut poller);
            }
            waited.push(now - since);
            for _ in 0..4 {
                let more = DataRequestOutcome::Received { more: true };
                answer(&mut poller, now + 5, more, expected);
                now = ask(&mut poller);
            }
            answer(&mut poller, now + 5, FOUND, None);
            now += 5;
        }
        assert!(waited[10..].iter().all(|ms| *ms < 260), "{waited:?}");
    }

    #[test]
    fn while_nothing_is_expected_only_the_base_interval_counts() {
        for policy in [Polling::TCPLP, Polling::DEFAULT] {
            let mut poller = poller(policy);
            for minutes in [4, 8, 12] {
                let now = ask(&mut poller);
                assert_eq!(now, minutes * 60_000);
                answer(&mut poller, now, NOTHING, None);
            }
        }
        assert_eq!(Poller::new(Polling::DEFAULT).deadline(), None, "nobody to ask");
    }

    #[test]
    fn fixed_intervals_begin_with_the_expectation() {
        let mut poller = poller(Polling::TCPLP);
        poller.update(at(1000), iter::once(sent(1000, 2000)));
        // More is sent: the interval goes on.
        poller.update(at(1060), iter::once(sent(1060, 2000)));
        for now in [1100, 1200, 1300] {
            assert_eq!(ask(&mut poller), now);
            answer(&mut poller, now + 5, NOTHING, sent(1060, 2000));
        }
        assert_eq!(ask(&mut poller), 1400);
        answer(&mut poller, 1405, FOUND, None);
        assert_eq!(ask(&mut poller), 1400 + 240_000);
    }

    #[test]
    fn the_due_time_settles_just_behind_the_answers() {
        let mut poller = poller(Polling::DEFAULT);
        // The first guess is a quarter of the time that there is.
        assert_eq!(round(&mut poller, 1000, 100), (1, 1250));
        let attempts: u32 = (2..200).map(|n| round(&mut poller, n * 1000, 100).0).sum();
        assert!(attempts < 198 + 30, "{attempts} attempts for 198 answers");
        let late: u64 = (200..300).map(|n| round(&mut poller, n * 1000, 100).1 - n * 1000).sum();
        assert!((100 * 100..100 * 130).contains(&late), "{} ms on average", late / 100);
        // And follows when the path becomes slower, and faster again.
        for n in 300..310 {
            round(&mut poller, n * 1000, 600);
        }
        let slow: u32 = (310..400).map(|n| round(&mut poller, n * 1000, 600).0).sum();
        assert!(slow < 90 + 15, "{slow} attempts for 90 answers");
        for n in 400..500 {
            round(&mut poller, n * 1000, 150);
        }
        let (attempts, now) = round(&mut poller, 500_000, 150);
        assert!(attempts == 1 && now < 500_000 + 200, "{now}");
    }

    #[test]
    fn what_is_late_is_asked_for_at_growing_distances_and_once_more_before_it_is_sent_again() {
        let mut poller = poller(Polling::DEFAULT);
        for n in 1..100 {
            round(&mut poller, n * 1000, 160);
        }
        let expected = sent(200_000, 201_000);
        poller.update(at(200_000), iter::once(expected));
        let mut asked = Vec::new();
        for _ in 0..7 {
            let now = ask(&mut poller);
            asked.push(now - 200_000);
            answer(&mut poller, now, NOTHING, expected);
        }
        let distances: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(distances[..3].windows(2).all(|pair| pair[1].abs_diff(2 * pair[0]) <= 1));
        assert!(asked.contains(&875), "{asked:?}");
        // Nobody has answered: the next segment is due when this one was.
        poller.update(at(201_000), iter::once(sent(201_000, 203_000)));
        let now = ask(&mut poller);
        assert_eq!(now - 201_000, asked[0]);
    }

    #[test]
    fn the_first_attempt_comes_before_the_transport_sends_again() {
        let mut poller = poller(Polling::DEFAULT);
        for n in 1..100 {
            round(&mut poller, n * 1000, 800);
        }
        poller.update(at(100_000), iter::once(sent(100_000, 100_400)));
        assert_eq!(ask(&mut poller), 100_350);
    }

    #[test]
    fn a_part_that_lets_more_be_sent_is_an_answer() {
        let mut poller = poller(Polling::DEFAULT);
        round(&mut poller, 1000, 100);
        let (mut since, mut waits) = (10_000, Vec::new());
        for _ in 0..200 {
            poller.update(at(since), iter::once(sent(since, since + 1000)));
            let now = ask(&mut poller);
            // The first half is acknowledged, and more is sent.
            poller.handle_outcome(at(now), FOUND, iter::once(sent(since, since + 1000)));
            poller.update(at(now), iter::once(sent(now, now + 1000)));
            waits.push(now - since);
            since = now;
        }
        // A transfer does not wait ever longer for a rest that there always is.
        assert!(waits.windows(2).all(|pair| pair[1] <= pair[0]), "{waits:?}");
    }

    #[test]
    fn the_rest_of_an_answer_is_waited_for_a_little_longer() {
        let mut poller = poller(Polling::DEFAULT);
        round(&mut poller, 1000, 100);
        for since in (10..20).map(|n| n * 1000) {
            let expected = sent(since, since + 1000);
            poller.update(at(since), iter::once(expected));
            let before = ask(&mut poller) - since;
            answer(&mut poller, since + before, FOUND, expected);
            let now = ask(&mut poller);
            answer(&mut poller, now, FOUND, None);
            poller.update(at(now), iter::once(sent(now, now + 1000)));
            let after = ask(&mut poller) - now;
            assert!(after > before && after < before + before / 8, "{before} ms, then {after}");
            answer(&mut poller, now + after, NOTHING, None);
        }
    }

    #[test]
    fn what_does_not_come_from_the_wait_teaches_nothing() {
        let mut poller = poller(Polling::DEFAULT);
        round(&mut poller, 1000, 100);
        let due = poller.sources[0].due;
        // Lost and sent again; nobody there; promised and not delivered.
        poller.update(at(5000), iter::once(sent(5000, 5100)));
        let now = ask(&mut poller);
        answer(&mut poller, now, NOTHING, sent(5100, 5300));
        let now = ask(&mut poller);
        answer(&mut poller, now, DataRequestOutcome::NoAck, sent(5100, 5300));
        let now = ask(&mut poller);
        answer(&mut poller, now, DataRequestOutcome::TimedOut, sent(5100, 5300));
        assert_eq!(poller.sources[0].due, due);
    }

    #[test]
    fn a_promise_is_asked_for_again_at_once_and_a_silent_parent_after_a_pause() {
        let mut poller = poller(Polling::DEFAULT);
        let mut now = ask(&mut poller);
        for _ in 0..TIMEOUTS {
            answer(&mut poller, now + 100, DataRequestOutcome::TimedOut, None);
            assert_eq!(ask(&mut poller), now + 100);
            now += 100;
        }
        answer(&mut poller, now + 100, DataRequestOutcome::TimedOut, None);
        assert_eq!(ask(&mut poller), now + 240_000);
        now += 240_000;
        answer(&mut poller, now, DataRequestOutcome::Received { more: true }, None);
        assert_eq!((ask(&mut poller), poller.failures()), (now, 0));
        for pause in [125, 250, 500, 1000] {
            answer(&mut poller, now, DataRequestOutcome::NoAck, None);
            assert_eq!(ask(&mut poller), now + pause);
            now += pause;
        }
        answer(&mut poller, now, DataRequestOutcome::NoAck, None);
        assert_eq!(poller.failures(), 5);
        assert_eq!(ask(&mut poller), now + 240_000, "it is gone");
    }

    #[test]
    fn a_busy_mac_is_asked_again_soon() {
        let mut poller = poller(Polling::DEFAULT);
        let now = poller.deadline().unwrap();
        poller.asked(now, false);
        assert_eq!(poller.deadline(), Some(now + NO_ROOM));
    }

    #[test]
    fn applications_that_answer_before_the_data_request_has_ended_are_learnt_from() {
        let mut poller = poller(Polling::DEFAULT);
        let (mut since, mut waited) = (1000, Vec::new());
        poller.expect(at(since), sent(since, since + 3000));
        // The next block of a transfer comes 100 ms after the answer to the one before.
        for _ in 0..40 {
            let mut now = ask(&mut poller);
            while now < since + 100 {
                answer(&mut poller, now, NOTHING, None);
                now = ask(&mut poller);
            }
            waited.push(now - since);
            since = now;
            poller.expect(at(since), sent(since, since + 3000));
            answer(&mut poller, now, FOUND, None);
        }
        assert_eq!(waited[0], 750, "a quarter of the time that it has");
        assert!(waited[20..].iter().all(|ms| (100..150).contains(ms)), "{waited:?}");
    }

    #[test]
    fn applications_say_until_when_and_take_it_back() {
        for policy in [Polling::TCPLP, Polling::DEFAULT] {
            let mut poller = poller(policy);
            poller.expect(at(1000), sent(1000, 2000));
            let mut asked = Vec::new();
            while poller.deadline().unwrap() < at(60_000) {
                let now = ask(&mut poller);
                asked.push(now);
                answer(&mut poller, now, NOTHING, None);
            }
            assert!(asked.first() > Some(&1000) && asked.last() <= Some(&2000), "{asked:?}");
            poller.expect(at(3000), sent(3000, 4000));
            assert!(poller.deadline() < Some(at(4000)));
            poller.expect(at(3001), None);
            assert!(poller.deadline() > Some(at(200_000)));
        }
    }
}
