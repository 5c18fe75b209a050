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
//! What was sent is what has *left*: while a segment of the node's own is on its way through the
//! queue nothing is asked for, as a data request would only delay it, and the due time counts from
//! the end of the last one. Counted from the moment at which TCP hands a segment over, it let a
//! window of four carry half over one hop of what polling every 100 ms does.
//!
//! A data request that the base interval makes before anything is due says nothing of the due time
//! if it finds nothing; counted as a first attempt in vain it let a base interval shorter than the
//! round trip put the due time off without end. And the base interval waits for a segment of the
//! node's own like everything else, if an answer to it is awaited.
//!
//! Later attempts have distances of 1/8, 1/4, 1/2, … of the due time, and one of them comes with
//! 1/8 of the time left until the transport would send again.

use kinglet_mac::DataRequestOutcome;
use kinglet_mem::{Array, Empty};
use kinglet_net::TableFull;
use kinglet_time::{Duration, Expected, Instant};

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

/// What a node that sleeps remembers of when answers come.
pub trait Sizes {
    /// Connections with a due time of their own; further ones share these. A node that has none
    /// asks its parent for nothing: it never sleeps.
    type Sources: Array<Source>;
    /// Applications that expect something at a time ([`Node::expect`](crate::Node::expect)).
    type Applications: Array<Application>;
}

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
pub struct Source {
    expected: Option<Expected>,
    /// Since when something is, without a pause.
    began: Instant,
    /// Time from the last transmission to the first data request; zero until there was one.
    due: Duration,
    /// Data requests since that transmission that could have found something.
    asked: u8,
    /// One of them has, but not everything.
    partly: bool,
    /// The last of them was made before anything was due, because of the base interval.
    early: bool,
    /// The due time has once been too short: it is no longer a guess.
    settled: bool,
}

impl Empty for Source {
    const EMPTY: Source = Source {
        expected: None,
        began: Instant::ZERO,
        due: Duration::ZERO,
        asked: 0,
        partly: false,
        early: false,
        settled: false,
    };
}

impl Source {
    /// Takes what is expected now. What was is here if that changes and the last data request has
    /// `found` something.
    fn observe(&mut self, now: Instant, expected: Option<Expected>, found: bool) {
        if self.expected.map(|e| e.since) != expected.map(|e| e.since) {
            if found {
                self.learn();
            }
            (self.asked, self.partly) = (0, false);
        }
        if self.expected.is_none() {
            self.began = now;
        }
        self.expected = expected;
    }

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
    fn next(&self, policy: Polling, asked: &Asked) -> Option<Instant> {
        match policy {
            Polling::Fixed { expecting, .. } => {
                self.expected.map(|_| asked.last.max(self.began) + expecting)
            }
            Polling::Predictive { .. } => self.predict(asked),
        }
    }

    fn predict(&self, asked: &Asked) -> Option<Instant> {
        let last_call = last_call(self.expected?);
        let Some(repeats) = self.asked.checked_sub(1) else { return self.first(asked) };
        let last = asked.last;
        // 2^12 times the shortest is 5 s.
        let distance = (self.due / 8).max(SHORTEST) * (1 << repeats.min(12));
        let next = last + distance;
        Some(if last < last_call { next.min(last_call) } else { next })
    }

    /// When to ask for the first time.
    fn first(&self, &Asked { left, sending, .. }: &Asked) -> Option<Instant> {
        let expected = self.expected?;
        let last_call = last_call(expected);
        let guess = expected.until.checked_since(expected.since).unwrap_or_default() / 4;
        let due = if self.due == Duration::ZERO { guess } else { self.due };
        let first = if sending { last_call } else { expected.since.max(left) + due };
        Some(first.min(last_call))
    }
}

/// When to ask at the latest: before the transport sends again.
fn last_call(Expected { since, until, .. }: Expected) -> Instant {
    let time = until.checked_since(since).unwrap_or_default();
    since + time - time / 8
}

/// What matters to every source of when to ask.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// When the last data request was made, or the parent chosen.
    last: Instant,
    /// When the last segment of the node's own left.
    left: Instant,
    /// One is being sent.
    sending: bool,
}

/// What an application expects.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// Who it is, once there was one.
    who: Option<u16>,
    /// What it has said.
    told: Option<Expected>,
    /// This knows of it when no data request is under way: what one has found is with the
    /// application before it is known to have found anything.
    source: Source,
}

impl Empty for Application {
    const EMPTY: Application = Application { who: None, told: None, source: Source::EMPTY };
}

impl Application {
    /// Whether its place may be given to another.
    fn is_over(&self, now: Instant) -> bool {
        self.told.is_none_or(|told| told.until < now)
    }

    /// When to ask next for this. Other than TCP, which sends again when time is up, an application
    /// that expects something anew says so.
    fn next(&self, policy: Polling, asked: &Asked) -> Option<Instant> {
        let until = self.source.expected?.until;
        self.source.next(policy, asked).filter(|at| *at <= until)
    }
}

/// The state of asking. It depends on the tables alone, so that profiles whose tables are alike
/// share its code.
pub(crate) struct Poller<C, A> {
    policy: Polling,
    parent: Option<u16>,
    /// A data request is under way.
    asking: bool,
    asked: Asked,
    /// It has found something.
    found: bool,
    /// No data request before this, …
    not_before: Instant,
    /// … and then one at once.
    at_once: bool,
    /// Data requests without result in a row.
    failures: u8,
    /// What is to come is left to the next sample of the channel.
    learning: bool,
    /// When to ask next.
    next: Option<Instant>,
    /// TCP's.
    connections: C,
    applications: A,
}

impl<C: Array<Source>, A: Array<Application>> Poller<C, A> {
    pub(crate) const fn new(policy: Polling) -> Self {
        Poller {
            policy,
            parent: None,
            asking: false,
            asked: Asked { last: Instant::ZERO, left: Instant::ZERO, sending: false },
            found: false,
            not_before: Instant::ZERO,
            at_once: false,
            failures: 0,
            learning: false,
            next: None,
            connections: C::EMPTY,
            applications: A::EMPTY,
        }
    }

    pub(crate) const fn parent(&self) -> Option<u16> {
        self.parent
    }

    /// When the last data request was made, or the parent chosen.
    pub(crate) const fn last(&self) -> Instant {
        self.asked.last
    }

    /// Unanswered data requests in a row: the parent may be gone.
    pub(crate) const fn failures(&self) -> u8 {
        self.failures
    }

    pub(crate) fn set_parent(&mut self, now: Instant, parent: Option<u16>) {
        if self.parent != parent {
            self.parent = parent;
            self.asked.last = now;
            self.failures = 0;
            self.plan();
        }
    }

    /// Asks the parent as soon as possible, by which it learns that this node sleeps.
    pub(crate) fn ask_soon(&mut self) {
        self.at_once = true;
        self.plan();
    }

    /// Whether what is expected had better come without having been asked for.
    pub(crate) fn set_learning(&mut self, learning: bool) {
        self.learning = learning;
    }

    /// Whether a segment of the node's own is being sent.
    pub(crate) fn set_sending(&mut self, now: Instant, sending: bool) {
        if sending || self.asked.sending {
            self.asked.left = now;
        }
        self.asked.sending = sending;
    }

    /// What the application `who` expects from now on.
    pub(crate) fn expect(
        &mut self,
        now: Instant,
        who: u16,
        expected: Option<Expected>,
    ) -> Result<(), TableFull> {
        let known = self.applications.as_slice().iter().position(|it| it.who == Some(who));
        let place = known.or_else(|| {
            let places = self.applications.as_slice().iter().enumerate();
            let free = places.filter(|(_, it)| expected.is_some() && it.is_over(now));
            // What others have learnt is kept as long as there is a place that nobody has had.
            free.min_by_key(|(_, it)| it.who.is_some()).map(|(index, _)| index)
        });
        let Some(application) =
            place.and_then(|index| self.applications.as_mut_slice().get_mut(index))
        else {
            return if expected.is_some() { Err(TableFull) } else { Ok(()) };
        };
        if application.who != Some(who) {
            *application = Application { who: Some(who), ..Application::EMPTY };
        }
        application.told = expected;
        if !self.asking {
            application.source.observe(now, expected, self.found);
        }
        self.plan();
        Ok(())
    }

    /// A data request has ended; `tcp` is what TCP still expects, before it sends anything new.
    pub(crate) fn handle_outcome(
        &mut self,
        now: Instant,
        outcome: DataRequestOutcome,
        tcp: impl Iterator<Item = Option<Expected>>,
    ) {
        self.asking = false;
        self.at_once = false;
        self.not_before = now;
        match outcome {
            DataRequestOutcome::NothingPending => {
                self.failures = 0;
                // That nothing was there before it was due says nothing of when it is.
                for source in self.sources_mut().filter(|source| source.early) {
                    source.asked = source.asked.saturating_sub(1);
                }
            }
            DataRequestOutcome::Received { more } => {
                (self.failures, self.found, self.at_once) = (0, true, more);
                self.observe(now, tcp);
                for source in self.connections.as_mut_slice() {
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
        for Application { told, source, .. } in self.applications.as_mut_slice() {
            source.observe(now, *told, self.found);
        }
    }

    fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let applications = self.applications.as_mut_slice().iter_mut().map(|it| &mut it.source);
        self.connections.as_mut_slice().iter_mut().chain(applications)
    }

    /// What was asked says nothing of when the answer came. It is asked again, up to `most` times
    /// in a row.
    fn fail(&mut self, most: u8) {
        self.failures = self.failures.saturating_add(1);
        self.at_once = self.failures <= most;
        if self.at_once {
            self.discount();
        }
    }

    /// The next data request says no more of when the answer came than the last one did: it asks
    /// for the same again, or for what is known to wait.
    fn discount(&mut self) {
        for source in self.sources_mut() {
            source.asked = source.asked.saturating_sub(1);
        }
    }

    /// Takes what TCP expects now, and decides when to ask next. While a data request is under way
    /// that rests: what TCP does with the first frame of an answer must not hide that it was one.
    pub(crate) fn update(&mut self, now: Instant, tcp: impl Iterator<Item = Option<Expected>>) {
        if !self.asking {
            self.observe(now, tcp);
        }
        self.plan();
    }

    fn observe(&mut self, now: Instant, tcp: impl Iterator<Item = Option<Expected>>) {
        let mut merged = C::EMPTY;
        let merged = merged.as_mut_slice();
        for (index, expected) in (0..C::LEN).cycle().zip(tcp) {
            let (Some(place), Some(expected)) = (merged.get_mut(index), expected) else { continue };
            // Of two that share a place, the one that is in more of a hurry.
            let sooner = |other: &Expected| expected.until < other.until;
            if place.expected.as_ref().is_none_or(sooner) {
                place.expected = Some(expected);
            }
        }
        for (source, merged) in self.connections.as_mut_slice().iter_mut().zip(merged) {
            source.observe(now, merged.expected, self.found);
        }
    }

    fn plan(&mut self) {
        self.next = None;
        if self.parent.is_none() || self.asking {
            return;
        }
        let base = self.asked.last + self.policy.base();
        let mut next = base;
        if !self.learning {
            let (policy, asked) = (self.policy, &self.asked);
            let connections = self.connections.as_slice().iter().map(|it| it.next(policy, asked));
            let applications = self.applications.as_slice().iter().map(|it| it.next(policy, asked));
            if let Some(due) = connections.chain(applications).flatten().reduce(Instant::min) {
                next = if self.may_wait() { due } else { base.min(due) };
            }
        }
        if self.at_once {
            next = self.not_before;
        }
        self.next = Some(next.max(self.not_before));
    }

    /// Whether also the base interval leaves a segment of the node's own alone while it is on its
    /// way, up to when its answer is asked for at the latest.
    const fn may_wait(&self) -> bool {
        self.asked.sending && matches!(self.policy, Polling::Predictive { .. })
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
        (self.asking, self.next, self.asked.last) = (true, None, now);
        (self.found, self.at_once) = (false, false);
        let when = self.asked;
        for source in self.sources_mut() {
            let Some(Expected { since, .. }) = source.expected else { continue };
            source.early =
                source.asked == 0 && source.first(&when).is_some_and(|first| now < first);
            source.asked = source.asked.saturating_add(1);
            if source.due == Duration::ZERO {
                let sent = since.max(when.left);
                source.due = now.checked_since(sent).unwrap_or_default().max(SHORTEST);
            }
        }
    }
}

#[cfg(test)]
mod tests;
