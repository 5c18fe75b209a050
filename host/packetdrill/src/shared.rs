//! The stack, shared by two threads: packetdrill's main thread, which advances the time and
//! delivers packets, and the one that makes blocking calls.

use kinglet_testkit::socket::{Answer, Emitted, Request, Settings, Stack};
use kinglet_time::{Duration, Instant, earliest};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time;

/// Real time without any event after which the main thread is taken to wait for a blocking call:
/// far longer than its pauses between events.
const STILL: time::Duration = time::Duration::from_millis(50);
/// Virtual time for which a blocking call continues without events: packetdrill's main thread waits
/// a second for it.
const ALONE: Duration = Duration::from_secs(1);
/// Real time that a thread may take from the response to its question for the time.
const PROMPT: time::Duration = time::Duration::from_millis(500);

struct State {
    stack: Stack,
    /// Number of blocking calls.
    waiting: usize,
    /// Number of blocking calls that have not processed the last event.
    behind: usize,
    /// Number of events.
    happened: u64,
    /// Earliest timeout of the blocking calls.
    patience: Option<Instant>,
    /// Threads whose blocking call has returned, but that have not asked for the time.
    untimed: Vec<ThreadId>,
    /// Number of packets sent when packetdrill began to clean up, if it has: see
    /// [`Shared::clean_up`].
    accountable: Option<u64>,
}

/// An instance.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Signals an event of the stack.
    changed: Condvar,
    /// Signals that a blocking call has processed it.
    looked: Condvar,
    main: ThreadId,
    /// Thread number of the main thread in the system.
    main_number: libc::c_long,
    /// True if packets without a line in the script end the process with an error.
    pub(crate) strict: bool,
}

/// A real descriptor of the system, so that packetdrill's direct use of it succeeds.
fn descriptor() -> Option<i32> {
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    (fd >= 0).then_some(fd)
}

impl Shared {
    pub(crate) fn new(flags: &str) -> Result<Shared, String> {
        let mut settings = Settings::default();
        let mut strict = false;
        for flag in flags.split([',', ' ', '\n']).filter(|flag| !flag.is_empty()) {
            let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
            if name == "strict" {
                strict = value == "1";
            } else if !settings.set(name, value) && !Settings::is_harmless(name) {
                return Err(format!("`{flag}` is not understood"));
            }
        }
        let stack = Stack::new(settings, Box::new(descriptor));
        Ok(Shared {
            state: Mutex::new(State {
                stack,
                waiting: 0,
                behind: 0,
                happened: 0,
                patience: None,
                untimed: Vec::new(),
                accountable: None,
            }),
            changed: Condvar::new(),
            looked: Condvar::new(),
            main: thread::current().id(),
            // SAFETY: the call takes nothing.
            main_number: unsafe { libc::syscall(libc::SYS_gettid) },
            strict,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if `fd` is a descriptor of the stack.
    pub(crate) fn owns(&self, fd: i32) -> bool {
        self.lock().stack.local_address(fd).is_some()
    }

    /// Changes the stack, and lets all blocking calls process the change.
    pub(crate) fn with<R>(&self, what: impl FnOnce(&mut Stack) -> R) -> R {
        let mut state = self.lock();
        let result = what(&mut state.stack);
        self.settle(state);
        result
    }

    /// As [`Shared::with`], for packetdrill's clean-up after a script: it closes all descriptors
    /// and resets each connection. Responses of the stack to that are not part of the script. A
    /// clean-up is recognised by the lack of later events.
    pub(crate) fn clean_up<R>(&self, what: impl FnOnce(&mut Stack) -> R) -> R {
        let mut state = self.lock();
        let sent = state.stack.count_emitted();
        let accountable = state.accountable.or(Some(sent));
        let result = what(&mut state.stack);
        self.settle(state);
        self.lock().accountable = accountable;
        result
    }

    /// Packets that were sent and not received by packetdrill, except for responses to the
    /// clean-up.
    pub(crate) fn leftovers(&self) -> Vec<Emitted> {
        let mut state = self.lock();
        let mut left: Vec<Emitted> = std::iter::from_fn(|| state.stack.take_emitted()).collect();
        let sent = state.stack.count_emitted();
        let answers = sent - state.accountable.unwrap_or(sent);
        left.truncate(left.len().saturating_sub(usize::try_from(answers).unwrap_or(usize::MAX)));
        left
    }

    /// The time, which increases with every call: packetdrill spins over the last microseconds
    /// before an event.
    pub(crate) fn time(&self) -> Instant {
        let mut state = self.lock();
        state.untimed.retain(|thread| *thread != thread::current().id());
        self.looked.notify_all();
        let (now, accountable) = (state.stack.now() + Duration::from_micros(1), state.accountable);
        drop(state);
        self.advance(now);
        self.lock().accountable = accountable;
        now
    }

    fn settle(&self, mut state: MutexGuard<'_, State>) {
        for note in state.stack.take_notes() {
            eprintln!("kinglet: ignored: {note}");
        }
        state.happened += 1;
        state.accountable = None;
        // Calls that continue to wait set it again.
        state.patience = None;
        state.behind = state.waiting;
        self.changed.notify_all();
        while state.behind > 0 {
            state = self.looked.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.await_times(state);
    }

    /// Stops the time until the threads of completed calls have read it. They do so only when they
    /// run again, which in virtual time may be much later.
    fn await_times(&self, mut state: MutexGuard<'_, State>) {
        let given_up = time::Instant::now() + PROMPT;
        while state.untimed.iter().any(|thread| *thread != thread::current().id()) {
            let left = given_up.saturating_duration_since(time::Instant::now());
            if left.is_zero() {
                // A thread of another caller, which does not ask for the time.
                state.untimed.clear();
            }
            let waited = self.looked.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Advances the time to `until`, with each timer at its own instant.
    pub(crate) fn advance(&self, until: Instant) {
        while self.step(until) {}
    }

    /// A step of [`Shared::advance`]; `false` at its end.
    pub(crate) fn step(&self, until: Instant) -> bool {
        let mut state = self.lock();
        let stop = state.patience.map_or(until, |patience| patience.min(until));
        let more = state.stack.step(stop) || stop < until;
        self.settle(state);
        more
    }

    /// Closes a descriptor.
    pub(crate) fn close(&self, fd: i32) -> Answer {
        let answer = self.clean_up(|stack| stack.call(&mut Request::Close { fd }));
        answer.expect("closing never waits")
    }

    /// Makes a call and waits for its result.
    pub(crate) fn call(&self, mut request: Request) -> Answer {
        let mut state = self.lock();
        if let Some(answer) = state.stack.call(&mut request) {
            self.settle(state);
            return answer;
        }
        if std::thread::current().id() == self.main {
            drop(state);
            return self.call_on_main(request);
        }
        state.waiting += 1;
        let mut limit = None;
        loop {
            state.patience = earliest(state.patience, request.patience());
            (state, limit) = self.await_change(state, limit);
            let answer = state.stack.call(&mut request);
            state.behind = state.behind.saturating_sub(1);
            self.looked.notify_all();
            if let Some(answer) = answer {
                state.waiting -= 1;
                state.untimed.push(thread::current().id());
                return answer;
            }
        }
    }

    /// Waits for an event. If there is none because the main thread sleeps outside this library
    /// until the call has ended, time advances by itself, up to `limit` once that has begun.
    fn await_change<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        limit: Option<Instant>,
    ) -> (MutexGuard<'a, State>, Option<Instant>) {
        let seen = state.happened;
        let pause = match limit {
            None => STILL,
            Some(limit) if state.stack.now() < limit => time::Duration::ZERO,
            Some(_) => time::Duration::MAX,
        };
        let (mut state, still) = self
            .changed
            .wait_timeout_while(state, pause, |state| state.happened == seen)
            .unwrap_or_else(PoisonError::into_inner);
        if !still.timed_out() {
            return (state, None);
        }
        // The main thread may wait for the lock, and would seem to sleep.
        drop(state);
        let asleep = is_asleep(self.main_number);
        state = self.lock();
        if state.happened == seen && asleep {
            let limit = limit.unwrap_or(state.stack.now() + ALONE);
            let stop = state.patience.map_or(limit, |patience| patience.min(limit));
            state.stack.step(stop);
            return (state, Some(limit));
        }
        (state, None)
    }

    /// Makes a blocking call on the main thread, during which no other thread advances the time.
    fn call_on_main(&self, mut request: Request) -> Answer {
        loop {
            let deadline = self.lock().stack.deadline();
            let Some(until) = earliest(deadline, request.patience()) else {
                eprintln!("kinglet: a call waits for an event that cannot occur: {request:?}");
                std::process::exit(1);
            };
            self.step(until);
            let mut state = self.lock();
            if let Some(answer) = state.stack.call(&mut request) {
                self.settle(state);
                return answer;
            }
        }
    }
}

/// Returns true if a thread of this process sleeps.
fn is_asleep(number: libc::c_long) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{number}/stat"));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')))
}
