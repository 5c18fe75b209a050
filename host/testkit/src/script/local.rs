//! The interface to a stack under test, and the stack in this process.

use crate::socket::{Answer, Emitted, Request, Settings, Stack};
use kinglet_time::Instant;

/// A stack that a script drives, with packetdrill's view of it.
pub trait Interface {
    /// Returns the time of its clock.
    fn now(&mut self) -> Instant;

    /// Lets time pass until `until`.
    fn sleep(&mut self, until: Instant);

    /// Delivers an IPv6 packet.
    fn deliver(&mut self, packet: &[u8]);

    /// Returns the next packet that was sent. If there is none, time passes until one is sent, but
    /// if possible not beyond `limit`.
    fn receive(&mut self, limit: Instant) -> Option<Emitted>;

    /// Makes a call that does not block; `None` if it would have to.
    fn call(&mut self, request: Request) -> Option<Answer>;

    /// Starts a call that may block, made by a second thread. There is at most one at a time.
    fn begin(&mut self, request: Request);

    /// Returns the result of the call that was started, and its time, once.
    fn finished(&mut self) -> Option<(Instant, Answer)>;

    /// Changes a setting during the run; `false` if that is not possible.
    fn set(&mut self, name: &str, value: &str) -> bool;

    /// Returns the requests that were ignored since the last call.
    fn notes(&mut self) -> Vec<String>;

    /// Returns the time of the next timer, if it is known.
    fn next_timer(&mut self) -> Option<Instant> {
        None
    }

    /// Returns the packets that were sent and not taken, if they are known.
    fn leftovers(&mut self) -> Vec<Emitted> {
        Vec::new()
    }
}

/// Largest number of steps until something happens; more indicate an endless loop.
const STEPS: usize = 100_000;

/// The stack in this process.
pub(super) struct Local {
    stack: Stack,
    waiting: Option<Request>,
    finished: Option<(Instant, Answer)>,
}

impl Local {
    pub(super) fn new(settings: Settings) -> Local {
        let mut next = 1000;
        let descriptors = move || {
            next += 1;
            Some(next)
        };
        let stack = Stack::new(settings, Box::new(descriptors));
        Local { stack, waiting: None, finished: None }
    }

    /// Retries the blocked call.
    fn retry(&mut self) {
        let Some(mut request) = self.waiting.take() else { return };
        match self.stack.call(&mut request) {
            Some(answer) => self.finished = Some((self.stack.now(), answer)),
            None => self.waiting = Some(request),
        }
    }

    /// Lets time pass until something happens, but not beyond `limit`, where it returns `false`.
    fn step(&mut self, limit: Instant) -> bool {
        let patience = self.waiting.as_ref().and_then(Request::patience);
        let stop = patience.map_or(limit, |until| until.min(limit));
        let more = self.stack.step(stop) || stop < limit;
        self.retry();
        more
    }
}

impl Interface for Local {
    fn now(&mut self) -> Instant {
        self.stack.now()
    }

    fn sleep(&mut self, until: Instant) {
        for _ in 0..STEPS {
            if !self.step(until) {
                return;
            }
        }
        panic!("timers run without end");
    }

    fn deliver(&mut self, packet: &[u8]) {
        self.stack.deliver(packet);
        self.retry();
    }

    fn receive(&mut self, limit: Instant) -> Option<Emitted> {
        for _ in 0..STEPS {
            let emitted = self.stack.take_emitted();
            if emitted.is_some() {
                return emitted;
            }
            let due = self.stack.deadline().is_some_and(|deadline| deadline <= limit);
            if !due {
                return None;
            }
            self.step(limit);
        }
        panic!("timers run without end");
    }

    fn call(&mut self, mut request: Request) -> Option<Answer> {
        let answer = self.stack.call(&mut request);
        self.retry();
        answer
    }

    fn begin(&mut self, request: Request) {
        self.waiting = Some(request);
        self.retry();
    }

    fn finished(&mut self) -> Option<(Instant, Answer)> {
        self.finished.take()
    }

    fn set(&mut self, name: &str, value: &str) -> bool {
        self.stack.settings().set(name, value)
    }

    fn notes(&mut self) -> Vec<String> {
        self.stack.take_notes()
    }

    fn next_timer(&mut self) -> Option<Instant> {
        self.stack.deadline()
    }

    fn leftovers(&mut self) -> Vec<Emitted> {
        std::iter::from_fn(|| self.stack.take_emitted()).collect()
    }
}
