//! Data requests of a sleepy node to its parent.
//!
//! A data request that finds nothing costs some 2 ms of radio time. A late one costs only delay, as
//! long as it comes before the peer retransmits what has already arrived. So
//! [`Polling::Predictive`] polls for the first time when the response has very probably arrived,
//! and learns that time.
//!
//! Measured round trips cannot give that time: they contain the wait for the data request, so that
//! a mean of them would feed on itself. A data request does show on which side of it the response
//! came: before it, if it finds the response; after it, if only a later one does. Each source of
//! expectations (a connection, or a caller of
//! [`Node::expect_response`](crate::Node::expect_response)) therefore has a *due time*, counted
//! from its last transmission. It falls a little (1/64) with every response found at the first
//! attempt, and rises (by 1/4) with every one that was not there yet: it settles where about one
//! first attempt in 17 finds nothing. A response that never comes, because of a loss, does not
//! change it. If the first attempt finds a part of what is awaited and a later one the rest, the
//! due time rises by 1/16: a slightly later data request would have saved one. A part that lets
//! more be sent counts as a response; otherwise the due time of a transfer, in which some data is
//! always missing, would rise without end.
//!
//! A transmission begins to count when it has *left*: while an own segment is in the queue, no data
//! request is made, as it would only delay the segment, and the due time counts from the end of the
//! last segment. When it was counted from the moment at which TCP hands a segment over, a window of
//! four carried half as much over one hop as with polling every 100 ms.
//!
//! A data request that the base interval makes before anything is due does not change the due time
//! if it finds nothing. When it counted as a failed first attempt, a base interval shorter than the
//! round trip postponed the due time without end. The base interval, too, waits for an own segment
//! if a response to it is expected.
//!
//! Later attempts are 1/8, 1/4, 1/2, … of the due time apart, and one of them comes with 1/8 of the
//! time left until the transport would retransmit.

use kinglet_mac::DataRequestOutcome;
use kinglet_mem::{Array, Empty};
use kinglet_net::TableFull;
use kinglet_time::{Duration, Expected, Instant};

/// Policy for the data requests of a node that sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// At fixed intervals (TCPlp §8.1.1, §8.2: 4 min and 100 ms).
    Fixed {
        /// Interval while nothing is expected.
        base: Duration,
        /// Interval while something is expected. The first data request comes after one such
        /// interval.
        fast_poll: Duration,
    },
    /// Polls when the response is due, and then at growing intervals.
    Predictive {
        /// Interval while nothing is expected.
        base: Duration,
    },
}

/// The longest sleep of a Thread child, as TCPlp §8.2 rounds it.
const BASE: Duration = Duration::from_secs(240);

impl Polling {
    /// The policy that TCPlp's authors have measured.
    pub const TCPLP: Polling = Polling::Fixed { base: BASE, fast_poll: Duration::from_millis(100) };
    /// Prediction, and 4 min while nothing is expected.
    pub const DEFAULT: Polling = Polling::Predictive { base: BASE };

    const fn base(&self) -> Duration {
        match *self {
            Polling::Fixed { base, .. } | Polling::Predictive { base } => base,
        }
    }
}

/// Tables in which a node that sleeps keeps its due times.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no memory plan of the polling schedule",
    note = "`kinglet::profile!` makes the plan of a whole node"
)]
pub trait Sizes {
    /// Connections with a due time of their own; further ones share these. A node without any never
    /// polls its parent: it never sleeps.
    type PendingRequests: Array<PendingRequest>;
    /// Applications that expect a response at a time
    /// ([`Node::expect_response`](crate::Node::expect_response)).
    type Applications: Array<Application>;
}

/// Limits of due times; the longer is far above any round trip that is worth waiting for.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(10);
/// Pause after a data request that was not acknowledged. It doubles up to `PATIENCE`, OpenThread's
/// pause (`kRetxPollPeriod`). After `FAILURES` failures the node returns to its schedule.
const PAUSE: Duration = Duration::from_millis(125);
const PATIENCE: Duration = Duration::from_secs(1);
pub(crate) const FAILURES: u8 = 4;
/// Number of consecutive times that a promised frame which did not come is requested again at once
/// (OpenThread: `kQuickPollsAfterTimeout`).
const TIMEOUTS: u8 = 5;
/// Time after which a data request is tried again if the MAC had no room for it.
const NO_ROOM: Duration = Duration::from_millis(10);

/// The expectation of one source, and its due time.
#[derive(Clone, Copy, Debug)]
pub struct PendingRequest {
    expected: Option<Expected>,
    /// Time since which something has been expected without a pause.
    began: Instant,
    /// Time from the last transmission to the first data request; zero until there was one.
    due: Duration,
    /// Number of data requests since that transmission that could have found the response.
    asked: u8,
    /// True if one of them has found something, but not everything.
    partly: bool,
    /// True if the last of them was made before anything was due, because of the base interval.
    early: bool,
    /// True if the due time has once been too short: it is no longer a guess.
    settled: bool,
}

impl Empty for PendingRequest {
    const EMPTY: PendingRequest = PendingRequest {
        expected: None,
        began: Instant::ZERO,
        due: Duration::ZERO,
        asked: 0,
        partly: false,
        early: false,
        settled: false,
    };
}

impl PendingRequest {
    /// Takes the current expectation. If it changes and the last data request has `found`
    /// something, the previous response has arrived.
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

    /// Updates the due time: the response has arrived.
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

    /// Returns the time of the next data request for this source; `None` if nothing is expected.
    fn next(&self, policy: Polling, asked: &Asked) -> Option<Instant> {
        match policy {
            Polling::Fixed { fast_poll, .. } => {
                self.expected.map(|_| asked.last.max(self.began) + fast_poll)
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

    /// Returns the time of the first data request.
    fn first(&self, &Asked { left, sending, .. }: &Asked) -> Option<Instant> {
        let expected = self.expected?;
        let last_call = last_call(expected);
        let guess = expected.until.checked_since(expected.since).unwrap_or_default() / 4;
        let due = if self.due == Duration::ZERO { guess } else { self.due };
        let first = if sending { last_call } else { expected.since.max(left) + due };
        Some(first.min(last_call))
    }
}

/// Returns the latest time of a data request: before the transport retransmits.
fn last_call(Expected { since, until, .. }: Expected) -> Instant {
    let time = until.checked_since(since).unwrap_or_default();
    since + time - time / 8
}

/// State that the data requests of all sources depend on.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// Time at which the last data request was made, or the parent chosen.
    last: Instant,
    /// Time at which the last own segment left.
    left: Instant,
    /// True if an own segment is being sent.
    sending: bool,
}

/// An application and its expectation.
#[derive(Clone, Copy, Debug)]
pub struct Application {
    /// Number of the application, if the place was ever used.
    number: Option<u16>,
    /// Its expectation.
    expected: Option<Expected>,
    /// The source is updated when no data request is in progress: an application has the response
    /// before the data request is known to have found anything.
    pending: PendingRequest,
}

impl Empty for Application {
    const EMPTY: Application =
        Application { number: None, expected: None, pending: PendingRequest::EMPTY };
}

impl Application {
    /// Returns whether its place may be given to another application.
    fn is_over(&self, now: Instant) -> bool {
        self.expected.is_none_or(|expected| expected.until < now)
    }

    /// Returns the time of the next data request for this application. TCP retransmits when time is
    /// up; an application must report each new expectation instead.
    fn next(&self, policy: Polling, asked: &Asked) -> Option<Instant> {
        let until = self.pending.expected?.until;
        self.pending.next(policy, asked).filter(|at| *at <= until)
    }
}

/// The state of polling. It depends on the tables alone, so that profiles with equal tables share
/// its code.
pub(crate) struct Poller<C, A> {
    policy: Polling,
    parent: Option<u16>,
    /// True if a data request is in progress.
    asking: bool,
    asked: Asked,
    /// True if it has found something.
    found: bool,
    /// Earliest time of the next data request.
    not_before: Instant,
    /// True if that data request is due at once.
    at_once: bool,
    /// Number of consecutive data requests without result.
    failures: u8,
    /// True if expected frames are left to the next sample of the channel.
    learning: bool,
    /// Time of the next data request.
    next: Option<Instant>,
    /// Due times of TCP connections.
    connections: C,
    applications: A,
}

impl<C: Array<PendingRequest>, A: Array<Application>> Poller<C, A> {
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

    /// Returns the time at which the last data request was made, or the parent chosen.
    pub(crate) const fn last(&self) -> Instant {
        self.asked.last
    }

    /// Returns the number of consecutive failed data requests: the parent may be gone.
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

    /// Polls the parent as soon as possible, so that it learns that this node sleeps.
    pub(crate) fn ask_soon(&mut self) {
        self.at_once = true;
        self.plan();
    }

    /// Sets whether expected frames should come without a data request.
    pub(crate) fn set_learning(&mut self, learning: bool) {
        self.learning = learning;
    }

    /// Sets whether an own segment is being sent.
    pub(crate) fn set_sending(&mut self, now: Instant, sending: bool) {
        if sending || self.asked.sending {
            self.asked.left = now;
        }
        self.asked.sending = sending;
    }

    /// Sets the expectation of the application `number` from now on.
    pub(crate) fn expect_response(
        &mut self,
        now: Instant,
        number: u16,
        expected: Option<Expected>,
    ) -> Result<(), TableFull> {
        let known = self.applications.as_slice().iter().position(|it| it.number == Some(number));
        let place = known.or_else(|| {
            let places = self.applications.as_slice().iter().enumerate();
            let free = places.filter(|(_, it)| expected.is_some() && it.is_over(now));
            // The due times of other applications are kept as long as there is an unused place.
            free.min_by_key(|(_, it)| it.number.is_some()).map(|(index, _)| index)
        });
        let Some(application) =
            place.and_then(|index| self.applications.as_mut_slice().get_mut(index))
        else {
            return if expected.is_some() { Err(TableFull) } else { Ok(()) };
        };
        if application.number != Some(number) {
            *application = Application { number: Some(number), ..Application::EMPTY };
        }
        application.expected = expected;
        if !self.asking {
            application.pending.observe(now, expected, self.found);
        }
        self.plan();
        Ok(())
    }

    /// Handles the end of a data request. `tcp` is what TCP still expects before it sends anything
    /// new.
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
                // An empty response before the due time says nothing about the due time.
                for pending in self.pending_mut().filter(|pending| pending.early) {
                    pending.asked = pending.asked.saturating_sub(1);
                }
            }
            DataRequestOutcome::Received { more } => {
                (self.failures, self.found, self.at_once) = (0, true, more);
                self.observe(now, tcp);
                for pending in self.connections.as_mut_slice() {
                    pending.partly |= pending.asked > 0;
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
        for Application { expected, pending, .. } in self.applications.as_mut_slice() {
            pending.observe(now, *expected, self.found);
        }
    }

    fn pending_mut(&mut self) -> impl Iterator<Item = &mut PendingRequest> {
        let applications = self.applications.as_mut_slice().iter_mut().map(|it| &mut it.pending);
        self.connections.as_mut_slice().iter_mut().chain(applications)
    }

    /// Notes a data request that says nothing about the arrival of the response. It is repeated, up
    /// to `most` times in a row.
    fn fail(&mut self, most: u8) {
        self.failures = self.failures.saturating_add(1);
        self.at_once = self.failures <= most;
        if self.at_once {
            self.discount();
        }
    }

    /// Excludes the last data request from the count, because the next one requests the same again,
    /// or a frame that is known to wait.
    fn discount(&mut self) {
        for pending in self.pending_mut() {
            pending.asked = pending.asked.saturating_sub(1);
        }
    }

    /// Takes TCP's current expectations, and schedules the next data request. It ignores the
    /// expectations while a data request is in progress: TCP's reaction to the first frame of a
    /// response must not hide that it was one.
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
            // Of two that share a place, the more urgent one.
            let sooner = |other: &Expected| expected.until < other.until;
            if place.expected.as_ref().is_none_or(sooner) {
                place.expected = Some(expected);
            }
        }
        for (pending, merged) in self.connections.as_mut_slice().iter_mut().zip(merged) {
            pending.observe(now, merged.expected, self.found);
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

    /// Returns whether the base interval, too, waits for an own segment that is being sent, until
    /// the latest time of a data request for its response.
    const fn may_wait(&self) -> bool {
        self.asked.sending && matches!(self.policy, Polling::Predictive { .. })
    }

    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the parent if a data request to it is due.
    pub(crate) fn due(&self, now: Instant) -> Option<u16> {
        self.parent.filter(|_| self.next.is_some_and(|at| at <= now))
    }

    /// Notes whether the MAC has taken the data request that was due.
    pub(crate) fn asked(&mut self, now: Instant, taken: bool) {
        if !taken {
            self.not_before = now + NO_ROOM;
            self.next = Some(self.not_before);
            return;
        }
        (self.asking, self.next, self.asked.last) = (true, None, now);
        (self.found, self.at_once) = (false, false);
        let when = self.asked;
        for pending in self.pending_mut() {
            let Some(Expected { since, .. }) = pending.expected else { continue };
            pending.early =
                pending.asked == 0 && pending.first(&when).is_some_and(|first| now < first);
            pending.asked = pending.asked.saturating_add(1);
            if pending.due == Duration::ZERO {
                let sent = since.max(when.left);
                pending.due = now.checked_since(sent).unwrap_or_default().max(SHORTEST);
            }
        }
    }
}

#[cfg(test)]
mod tests;
