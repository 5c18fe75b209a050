//! The stack between two threads: packetdrill's main one, which lets time pass and brings packets,
//! and the one that makes the calls that block.

use kinglet_testkit::socket::{Answer, Emitted, Request, Settings, Stack};
use kinglet_time::{Duration, Instant, earliest};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time;

/// How long, in real time, nothing has to happen until the main thread may be taken to wait for a
/// call that waits: far longer than it needs from one thing to the next.
const STILL: time::Duration = time::Duration::from_millis(50);
/// How long, in virtual time, a call that nothing else happens to goes on: packetdrill's main
/// thread waits a second for it.
const ALONE: Duration = Duration::from_secs(1);
/// How long, in real time, a thread may take from its answer to the question what time it is.
const PROMPT: time::Duration = time::Duration::from_millis(500);

struct State {
    stack: Stack,
    /// Calls that wait.
    waiting: usize,
    /// Those of them that have not looked yet at what has happened.
    behind: usize,
    /// Counts what has happened.
    happened: u64,
    /// When the first of them gives up.
    patience: Option<Instant>,
    /// Threads whose call has waited and has its answer, but which have not asked for the time.
    untimed: Vec<ThreadId>,
    /// Packets that had left when packetdrill began to clean up, if it does: see
    /// [`Shared::clean_up`].
    accountable: Option<u64>,
}

/// An instance.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something has happened to the stack.
    changed: Condvar,
    /// A call that waits has looked at it.
    looked: Condvar,
    main: ThreadId,
    /// Its number, as the system counts threads.
    main_number: libc::c_long,
    /// What the script has not mentioned ends the process with an error.
    pub(crate) strict: bool,
}

/// A descriptor of the system, so that what packetdrill does with it behind our back succeeds.
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

    /// Whether `fd` is a descriptor of the stack.
    pub(crate) fn owns(&self, fd: i32) -> bool {
        self.lock().stack.local_address(fd).is_some()
    }

    /// Does something to the stack, and lets every call that waits look at it.
    pub(crate) fn with<R>(&self, what: impl FnOnce(&mut Stack) -> R) -> R {
        let mut state = self.lock();
        let result = what(&mut state.stack);
        self.settle(state);
        result
    }

    /// As [`Shared::with`], for what packetdrill does after a script: it closes what is open and
    /// resets each connection. What the stack answers to that no script can mention; it is known
    /// by nothing else following.
    pub(crate) fn clean_up<R>(&self, what: impl FnOnce(&mut Stack) -> R) -> R {
        let mut state = self.lock();
        let sent = state.stack.count_emitted();
        let accountable = state.accountable.or(Some(sent));
        let result = what(&mut state.stack);
        self.settle(state);
        self.lock().accountable = accountable;
        result
    }

    /// Packets that have left, that nobody has taken, and that are no answer to the clean-up.
    pub(crate) fn leftovers(&self) -> Vec<Emitted> {
        let mut state = self.lock();
        let mut left: Vec<Emitted> = std::iter::from_fn(|| state.stack.take_emitted()).collect();
        let sent = state.stack.count_emitted();
        let answers = sent - state.accountable.unwrap_or(sent);
        left.truncate(left.len().saturating_sub(usize::try_from(answers).unwrap_or(usize::MAX)));
        left
    }

    /// The time, later with every call: packetdrill spins over the last microseconds before an
    /// event.
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
        // Those that go on waiting tell it again.
        state.patience = None;
        state.behind = state.waiting;
        self.changed.notify_all();
        while state.behind > 0 {
            state = self.looked.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.await_times(state);
    }

    /// Lets no time pass until those whose calls have ended know when that was: they ask only when
    /// they run again, which in virtual time may be much later.
    fn await_times(&self, mut state: MutexGuard<'_, State>) {
        let given_up = time::Instant::now() + PROMPT;
        while state.untimed.iter().any(|thread| *thread != thread::current().id()) {
            let left = given_up.saturating_duration_since(time::Instant::now());
            if left.is_zero() {
                // Somebody else's thread, which does not ask.
                state.untimed.clear();
            }
            let waited = self.looked.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets time pass until `until`, each timer at its own instant.
    pub(crate) fn advance(&self, until: Instant) {
        while self.step(until) {}
    }

    /// A part of [`Shared::advance`]; `false` at its end.
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

    /// Makes a call and waits for its answer.
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

    /// Waits until something happens. If nothing does because the main thread sleeps, outside of
    /// this library, until the call has ended, time passes by itself; `limit` says up to when, once
    /// it has begun to.
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
        // The main thread may want the lock, and would seem to sleep for that.
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

    /// Nobody else lets time pass while the main thread waits.
    fn call_on_main(&self, mut request: Request) -> Answer {
        loop {
            let deadline = self.lock().stack.deadline();
            let Some(until) = earliest(deadline, request.patience()) else {
                eprintln!("kinglet: a call waits for what will never happen: {request:?}");
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

/// Whether a thread of this process sleeps.
fn is_asleep(number: libc::c_long) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{number}/stat"));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')))
}
