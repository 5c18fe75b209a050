//! The stack between two threads: packetdrill's main one, which lets time pass and brings packets,
//! and the one that makes the calls that block.

use kinglet_testkit::socket::{Answer, Request, Settings, Stack};
use kinglet_time::{Instant, earliest};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

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
}

/// An instance.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something has happened to the stack.
    changed: Condvar,
    /// A call that waits has looked at it.
    looked: Condvar,
    main: ThreadId,
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
            state: Mutex::new(State { stack, waiting: 0, behind: 0, happened: 0, patience: None }),
            changed: Condvar::new(),
            looked: Condvar::new(),
            main: std::thread::current().id(),
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

    fn settle(&self, mut state: MutexGuard<'_, State>) {
        for note in state.stack.take_notes() {
            eprintln!("kinglet: ignored: {note}");
        }
        state.happened += 1;
        // Those that go on waiting tell it again.
        state.patience = None;
        state.behind = state.waiting;
        self.changed.notify_all();
        while state.behind > 0 {
            state = self.looked.wait(state).unwrap_or_else(PoisonError::into_inner);
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
        loop {
            state.patience = earliest(state.patience, request.patience());
            let seen = state.happened;
            while state.happened == seen {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let answer = state.stack.call(&mut request);
            state.behind = state.behind.saturating_sub(1);
            self.looked.notify_all();
            if let Some(answer) = answer {
                state.waiting -= 1;
                return answer;
            }
        }
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
